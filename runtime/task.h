/* One task of a job: a state machine that is polled.
 *
 * Purpose: owns a training run from the first file to the last. A poll never waits for a peer or
 * for time to pass: it does what can be done, at most one step or one wave of an evaluation, and
 * tells until when there is nothing to do. So one thread can drive one task, or all tasks of a
 * simulated job. Ownership: everything the run needs is allocated in the states start and restore;
 * after the first step nothing is. Borrows its options and what they point to. Threads: polled by
 * one thread.
 *
 * States: start (memory, data) -> restore (first values) -> feed -> compute -> reduce -> update,
 * then evaluate and checkpoint when they are due, back to feed, and finish at the end.
 */
#ifndef DTR_TASK_H
#define DTR_TASK_H

#include "dtr_abi.h"
#include "runtime/env.h"
#include "runtime/error.h"
#include "runtime/flags.h"

struct dtr_task_options {
  const struct dtr_program *program;
  const struct dtr_env *env;
  const struct dtr_flags *flags;
  const char *name;      /* "worker/0" */
  const char *model_dir; /* where data files are looked for first */
  int threads;
  bool terminal;     /* stderr is one: a progress line */
  bool always_share; /* for tests: threads also where one would be faster */
  bool synchronous;  /* no thread reads ahead */
  uint64_t run;      /* number of a run that goes on when tasks are lost; 0: it does not */
};

struct dtr_task;

bool dtr_task_new(const struct dtr_task_options *options, struct dtr_task **task,
                  struct dtr_error *error);
void dtr_task_free(struct dtr_task *task);

/* Returns the time of the next poll (`now`: at once), or INT64_MAX when finished. */
int64_t dtr_task_poll(struct dtr_task *task, int64_t now);
bool dtr_task_finished(const struct dtr_task *task);
/* What went wrong, once finished; not set if nothing did. */
struct dtr_error *dtr_task_error(struct dtr_task *task);
/* What its arenas have taken. */
struct dtr_ledger *dtr_task_ledger(struct dtr_task *task);

/* Ends after the current step, with a checkpoint if there is a folder for it. `reason`: "SIGINT".
 */
void dtr_task_stop(struct dtr_task *task, const char *reason);

/* "worker/0: compute, step 57 of 700, for 0.2 s": what the task does, and what it waits for. */
void dtr_task_describe(const struct dtr_task *task, int64_t now, char *text, size_t size);
/* Ends an open progress line, before others write to the terminal. */
void dtr_task_close_line(struct dtr_task *task);

#endif
