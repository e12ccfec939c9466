/* One task of a cluster in a process of its own.
 *
 * Purpose: joins the groups of one task (replicate/job.h) to those of other processes: the control
 * channel on a thread of its own, data by the row `tcp`. Tells what it waits for, ends when the run
 * ends, when a task is lost or a deadline has passed, and leaves nobody without a word.
 * Ownership: everything is made and freed within dtr_process_run. Threads: one calls.
 */
#ifndef DTR_PROCESS_H
#define DTR_PROCESS_H

#include "runtime/flags.h"
#include "runtime/replicate/job.h"
#include "runtime/replicate/recovery.h"

struct dtr_process_options {
  const struct dtr_program *program;
  const struct dtr_env *env;
  const struct dtr_flags *flags;
  const char *model_dir;
  bool terminal;
  uint32_t task;
  char *const *addresses; /* [task] "host:port" */
  int listener;           /* listens already; -1: no */
  uint64_t incarnation;   /* larger than that of every earlier start of the task */
  uint64_t run;           /* of all tasks alike */
  uint64_t checkpoints;   /* number of those that the run may go back to (start/run.h) */
  struct dtr_deadlines deadlines;
};

/* The exit status; what went wrong has been told. */
int dtr_process_run(const struct dtr_process_options *options);

#endif
