#include "runtime/sim/scenario.h"

#include <string.h>

enum { PURPOSE = 0x5CE4A, SLOWER = 10 };

/* ---- names ---- */

static const struct {
  const char *word, *help;
} names[DTR_SIM_FAULTS] = {
#define X(name, word, help) {word, help},
#include "runtime/sim/faults.def"
#undef X
};

static bool add_word(const char *word, size_t length, uint32_t *faults, struct dtr_error *error) {
  char list[512] = "";
  if (length == 3 && memcmp(word, "all", 3) == 0) {
    *faults |= (1u << DTR_SIM_FAULTS) - 1;
    *faults &= ~(1u << DTR_SIM_FAULT_BIT_DISK_ERRORS | 1u << DTR_SIM_FAULT_BIT_LOSE |
                 1u << DTR_SIM_FAULT_BIT_SLOW_LAST | 1u << DTR_SIM_FAULT_BIT_GONE);
    return true;
  }
  for (uint32_t i = 0; i < DTR_SIM_FAULTS; i++) {
    if (strlen(names[i].word) == length && memcmp(names[i].word, word, length) == 0) {
      *faults |= 1u << i;
      return true;
    }
    strcat(strcat(list, ", "), names[i].word);
  }
  dtr_error_set(error, DTR_STATUS_USAGE, "--sim: \"%.*s\" is no fault that can be simulated",
                (int)length, word);
  return dtr_error_hint(error, "faults are all%s", list);
}

bool dtr_sim_faults_parse(const char *text, uint32_t *faults, struct dtr_error *error) {
  uint32_t read = 0;
  while (*text) {
    size_t length = strcspn(text, ",");
    if (!add_word(text, length, &read, error))
      return false;
    text += length + (text[length] == ',');
  }
  *faults = read;
  return true;
}

/* ---- what they mean ---- */

/* Sizes over several powers of ten, each as likely: few runs are all alike. */
static int64_t spread(struct dtr_sim_random *random, int64_t least, int64_t most) {
  int64_t limit = least;
  while (limit < most && dtr_sim_random_below(random, 4) != 0)
    limit *= 3;
  if (limit > most)
    limit = most;
  return least + dtr_sim_random_below(random, limit - least + 1);
}

static void make_partitions(struct dtr_sim_random *random, uint32_t tasks,
                            struct dtr_sim_scenario *scenario) {
  uint32_t count = 1 + (uint32_t)dtr_sim_random_below(random, DTR_SIM_PARTITIONS);
  for (uint32_t i = 0; i < count; i++) {
    struct dtr_sim_partition *partition = &scenario->partitions[i];
    partition->a = (uint32_t)dtr_sim_random_below(random, tasks);
    partition->b = dtr_sim_random_below(random, 3) == 0
                       ? DTR_SIM_ANY
                       : (uint32_t)dtr_sim_random_below(random, tasks);
    partition->from = spread(random, 0, dtr_sim_second) + spread(random, 1000, dtr_sim_second);
    partition->until = partition->from + spread(random, DTR_SIM_MILLISECOND, 10 * dtr_sim_second);
  }
  scenario->network.partitions = scenario->partitions;
  scenario->network.partition_count = count;
}

static void make_network(struct dtr_sim_random *random, uint32_t faults, uint32_t tasks,
                         struct dtr_sim_scenario *scenario) {
  struct dtr_sim_network *network = &scenario->network;
  *network = (struct dtr_sim_network){.latency = 20 * DTR_SIM_MICROSECOND,
                                      .jitter = 10 * DTR_SIM_MICROSECOND,
                                      .bytes_per_second = INT64_C(10000000000)};
  if (DTR_SIM_HAS(faults, DELAY)) {
    network->latency = spread(random, DTR_SIM_MICROSECOND, 20 * DTR_SIM_MILLISECOND);
    network->jitter = spread(random, DTR_SIM_MICROSECOND, 200 * DTR_SIM_MILLISECOND);
    network->bytes_per_second = spread(random, 100000, INT64_C(1000000000));
  }
  if (DTR_SIM_HAS(faults, STALL)) {
    network->stall = spread(random, 1000, 100000);
    network->stall_time = dtr_sim_second;
  }
  if (DTR_SIM_HAS(faults, BREAK)) {
    network->breaks = spread(random, 1000, 200000);
    network->reconnect = spread(random, DTR_SIM_MILLISECOND, dtr_sim_second);
  }
  if (DTR_SIM_HAS(faults, LOSE))
    network->lose = 1 + dtr_sim_random_below(random, 100);
  if (DTR_SIM_HAS(faults, PARTITION) && tasks > 1)
    make_partitions(random, tasks, scenario);
}

static void make_disk(struct dtr_sim_random *random, uint32_t faults,
                      struct dtr_sim_disk_faults *disk) {
  memset(disk, 0, sizeof *disk);
  if (DTR_SIM_HAS(faults, DISK)) {
    disk->slowest = spread(random, DTR_SIM_MICROSECOND, 100 * DTR_SIM_MILLISECOND);
    disk->short_transfer = spread(random, 1000, 500000);
  }
  if (DTR_SIM_HAS(faults, DISK_ERRORS)) {
    int64_t rate = spread(random, 100, 30000);
    disk->write = disk->sync = disk->rename = disk->open = disk->read = disk->close = rate;
    disk->capacity = dtr_sim_random_below(random, 4) == 0 ? spread(random, 1000, 10000000) : 0;
  }
}

static struct dtr_sim_crash a_crash(struct dtr_sim_random *random, uint32_t tasks, int64_t steps) {
  struct dtr_sim_crash crash = {.task = (uint32_t)dtr_sim_random_below(random, tasks),
                                .step = dtr_sim_random_below(random, steps + 1),
                                .polls = dtr_sim_random_below(random, 40 * (int64_t)tasks)};
  crash.detection = dtr_sim_random_below(random, dtr_sim_second);
  crash.return_time = spread(random, DTR_SIM_MILLISECOND, 20 * dtr_sim_second);
  return crash;
}

/* One in three runs has a crash in a call to the disk, one in two crashes follows another closely.
 */
static void make_crashes(struct dtr_sim_random *random, uint32_t tasks, int64_t steps,
                         struct dtr_sim_scenario *scenario) {
  scenario->crash_count = 1;
  while (scenario->crash_count < DTR_SIM_CRASHES && dtr_sim_random_below(random, 2) == 0)
    scenario->crash_count++;
  for (uint32_t i = 0; i < scenario->crash_count; i++) {
    scenario->crashes[i] = a_crash(random, tasks, steps);
    if (i > 0)
      scenario->crashes[i].in_recovery = dtr_sim_random_below(random, 2) == 0;
  }
  if (dtr_sim_random_below(random, 3) == 0)
    scenario->crashes[0].at_call = 1 + dtr_sim_random_below(random, 200);
}

static void make_loss(struct dtr_sim_random *random, uint32_t tasks, int64_t steps,
                      struct dtr_sim_scenario *scenario) {
  uint32_t at = scenario->crash_count < DTR_SIM_CRASHES ? scenario->crash_count++ : 1;
  scenario->crashes[at] = a_crash(random, tasks, steps);
  scenario->crashes[at].return_time = -1;
}

void dtr_sim_scenario_make(uint64_t seed, uint32_t faults, uint32_t tasks, int64_t steps,
                           struct dtr_sim_scenario *scenario) {
  struct dtr_sim_random random = dtr_sim_random_make(seed, PURPOSE);
  memset(scenario, 0, sizeof *scenario);
  make_network(&random, faults, tasks, scenario);
  make_disk(&random, faults, &scenario->disk);
  scenario->compute = spread(&random, 10 * DTR_SIM_MICROSECOND, 3 * DTR_SIM_MILLISECOND);
  scenario->slow_task = DTR_SIM_ANY;
  if (DTR_SIM_HAS(faults, SLOW))
    scenario->slow_task = (uint32_t)dtr_sim_random_below(&random, tasks);
  if (DTR_SIM_HAS(faults, SLOW_LAST))
    scenario->slow_task = tasks - 1;
  if (DTR_SIM_HAS(faults, CRASH))
    make_crashes(&random, tasks, steps, scenario);
  if (DTR_SIM_HAS(faults, GONE))
    make_loss(&random, tasks, steps, scenario);
}
