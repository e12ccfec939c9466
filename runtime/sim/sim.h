/* A whole job on one thread, in virtual time, decided by a seed.
 *
 * Purpose: runs a program with all its tasks over the rows `sim` of network and disk, polling them
 * in seeded order, and finds what a few runs on real machines would not: jobs that stop moving,
 * that depend on the order of messages, or that break the rules of the transport. The same seed,
 * faults and program give the same run. Files are the simulated disk's: data sets are read from
 * below, nothing is written there. Ownership: a run frees everything it made. Threads: one.
 */
#ifndef DTR_SIM_H
#define DTR_SIM_H

#include "runtime/flags.h"
#include "runtime/replicate/recovery.h"
#include "runtime/sim/env_sim.h"
#include "runtime/sim/transport_sim.h"

enum dtr_sim_fault {
#define X(name, word, help) DTR_SIM_FAULT_BIT_##name,
#include "runtime/sim/faults.def"
#undef X
  DTR_SIM_FAULTS
};
#define DTR_SIM_HAS(faults, name) (((faults) >> DTR_SIM_FAULT_BIT_##name & 1) != 0)

/* "delay,stall"; "all" is everything after which a run still ends well. Errors (status USAGE) list
 * the words. */
bool dtr_sim_faults_parse(const char *text, uint32_t *faults, struct dtr_error *error);

struct dtr_sim_options {
  const struct dtr_program *program;
  const struct dtr_flags *flags; /* steps, init, eval_only, data_dir; others mean nothing here */
  const char *model_dir;
  const struct dtr_env *below; /* where data sets are */
  uint64_t seed;
  uint32_t faults;
  bool echo; /* shows what tasks print */
};

enum { DTR_SIM_DIGEST = 65 };

enum dtr_sim_outcome {
  DTR_SIM_DONE,    /* the job ended well; `digest` is of what it saved */
  DTR_SIM_FAILED,  /* the job ended with `error` */
  DTR_SIM_RUNNING, /* not yet decided */
  DTR_SIM_WRONG    /* it did what must not happen: `error` says what, on several lines */
};

struct dtr_sim_result {
  enum dtr_sim_outcome outcome;
  struct dtr_error error;
  char digest[DTR_SIM_DIGEST]; /* SHA-256 of the file, as text */
  char loss[1024];             /* the last loss that stopped all, as the chief told it; "": none */
  int64_t virtual_time, polls, restarts;
  int64_t crashes, needed_crashes; /* needed: of tasks that the others cannot do without */
  int64_t lead;                    /* steps that a client was ahead of the slowest, at most */
  int64_t stop_time;               /* ns from a crash until the last task stood still, at most */
  struct dtr_recovery_costs costs;
  struct dtr_sim_net_counts net;
  struct dtr_sim_disk_counts disk;
};

void dtr_sim_run(const struct dtr_sim_options *options, struct dtr_sim_result *result);

/* `flags->sim` is "FIRST[-LAST][:FAULTS]": runs every seed, tells of each that went wrong how to
 * run it again, and prints the digest that all agree on. Returns an exit status. */
int dtr_sim_main(const struct dtr_program *program, const struct dtr_flags *flags,
                 const char *model_dir);

#endif
