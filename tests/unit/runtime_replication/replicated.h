/* Runs the sample under a strategy in this process, with its output caught.
 *
 * Ownership: a run holds its job until replicated_end. Threads: one run at a time.
 */
#ifndef REPLICATED_H
#define REPLICATED_H

#include "runtime/replicate/job.h"
#include "runtime/task_parts.h"
#include "tests/unit/runtime_core/sample.h"

struct replicated {
  struct dtr_env env;
  struct dtr_flags flags;
  const struct dtr_program *program;
  struct dtr_job_run *job;
  struct dtr_task *single; /* without a strategy */
  char out[16384];         /* what went to standard output */
  size_t used;
  int threads;
};

/* Flags all unset. */
void replicated_begin(struct replicated *run, const struct sample_options *options, int threads);
/* Makes the job; false: it could not be made. */
bool replicated_make(struct replicated *run, struct dtr_error *error);
/* To the end with threads (makes the job if need be); the exit status. */
int replicated_finish(struct replicated *run);
/* To the end on this thread alone, groups in an order made of `seed`. */
int replicated_finish_alone(struct replicated *run, uint64_t seed);
/* The same; group `slow` (-1: none) gets a sixteenth of the turns that it would. */
int replicated_finish_with_slow(struct replicated *run, uint64_t seed, int slow);
struct dtr_task *replicated_task(struct replicated *run);
void replicated_end(struct replicated *run);

#endif
