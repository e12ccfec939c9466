/* What a seed and a set of faults mean for one run: how fast, how bad, and when.
 *
 * Ownership: a scenario holds all its tables. Threads: one.
 */
#ifndef DTR_SIM_SCENARIO_H
#define DTR_SIM_SCENARIO_H

#include "runtime/sim/sim.h"

enum { DTR_SIM_PARTITIONS = 4, DTR_SIM_CRASHES = 4 };

/* Of this task, some polls after so many steps of the chief, or after all have stopped. */
struct dtr_sim_crash {
  uint32_t task;
  bool in_recovery;
  int64_t step, polls;
  int64_t at_call;     /* the chief's instead, at this call to the disk; 0: not so */
  int64_t detection;   /* ns until the others know, at most; at most a second */
  int64_t return_time; /* ns until the task is back; -1: never */
};

struct dtr_sim_scenario {
  struct dtr_sim_network network; /* its partitions lie in the field below */
  struct dtr_sim_partition partitions[DTR_SIM_PARTITIONS];
  struct dtr_sim_disk_faults disk;
  int64_t compute;    /* ns: a poll that did something takes up to so long */
  uint32_t slow_task; /* ten times slower; DTR_SIM_ANY: none */
  struct dtr_sim_crash crashes[DTR_SIM_CRASHES];
  uint32_t crash_count;
};

void dtr_sim_scenario_make(uint64_t seed, uint32_t faults, uint32_t tasks, int64_t steps,
                           struct dtr_sim_scenario *scenario);

#endif
