/* Runs the sample in this process, with its output caught.
 *
 * Ownership: a run holds its task until run_end. Threads: one run at a time.
 */
#ifndef RUN_H
#define RUN_H

#include "runtime/task_parts.h"
#include "sample.h"

struct run {
  struct dtr_env env;
  struct dtr_flags flags;
  const struct dtr_program *program;
  struct dtr_task *task;
  char out[16384]; /* what went to standard output */
  size_t used;
  int threads;
};

/* Flags all unset. */
void run_begin(struct run *run, const struct sample_options *options, int threads);
/* Makes the task, unless it is there, and polls once. False: finished. */
bool run_poll(struct run *run);
/* Polls to the end; the exit status. */
int run_finish(struct run *run);
void run_end(struct run *run);

#endif
