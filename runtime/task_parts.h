/* Inside of a task; for the files task*.c only.
 *
 * Threads and ownership: see task.h.
 */
#ifndef DTR_TASK_PARTS_H
#define DTR_TASK_PARTS_H

#include "runtime/checkpoint.h"
#include "runtime/data/data.h"
#include "runtime/data/feed.h"
#include "runtime/eval.h"
#include "runtime/executor.h"
#include "runtime/log.h"
#include "runtime/progress.h"
#include "runtime/task.h"
#include "runtime/trace.h"

enum dtr_task_state {
  DTR_TASK_START,
  DTR_TASK_RESTORE,
  DTR_TASK_FEED,
  DTR_TASK_COMPUTE,
  DTR_TASK_REDUCE,
  DTR_TASK_UPDATE,
  DTR_TASK_EVALUATE,
  DTR_TASK_CHECKPOINT,
  DTR_TASK_FINISH,
  DTR_TASK_DONE,
  DTR_TASK_STATES
};

enum { DTR_NO_STEP = -1 };

struct dtr_task {
  struct dtr_task_options options;
  const struct dtr_program *program;
  enum dtr_task_state state;
  int64_t since;    /* when the state was entered */
  int64_t deadline; /* of a state that stays as it is */
  struct dtr_error error;

  struct dtr_trace *trace;       /* NULL: off */
  struct dtr_ledger ledger;      /* one device */
  struct dtr_executor *executor; /* NULL: its replicas have their own */
  char *variables;               /* the program's block; NULL: no copy here */
  struct dtr_data *data;         /* training; NULL: evaluates only */
  struct dtr_data *evaluate_on;  /* NULL: none; may be `data` */
  struct dtr_feed *feed;
  struct dtr_evaluator *evaluator;
  struct dtr_progress progress;
  struct dtr_log log;

  struct dtr_scalars scalars;
  int64_t step; /* steps done */
  int64_t first_step;
  int64_t end_step;
  int64_t steps_per_epoch; /* 0: evaluates only */
  const struct dtr_batch *batch;
  char *contribution;       /* reduced, between compute and update */
  double *results;          /* of the last step: loss, metrics */
  int64_t batch_examples;   /* that `results` are of */
  const double *evaluation; /* of the last evaluation */

  int checkpoint_lock; /* a handle; negative: none */
  bool evaluate_due, checkpoint_due, evaluating;
  int64_t evaluated_step, saved_step; /* DTR_NO_STEP: not yet */
  const char *stop;                   /* why, or NULL */
};

typedef enum dtr_task_state dtr_task_step(struct dtr_task *task);
dtr_task_step dtr_task_start, dtr_task_restore;
/* What is written later must not fail then for a reason that is known now. Takes the checkpoint
 * folder for this process. */
bool dtr_task_check_outputs(struct dtr_task *task);
dtr_task_step dtr_task_evaluate, dtr_task_checkpoint, dtr_task_finish;

/* The parts of start and restore, in this order; false: the error says why. */
bool dtr_task_open_outputs(struct dtr_task *task, int threads); /* threads: of the trace */
bool dtr_task_open_data(struct dtr_task *task);
bool dtr_task_plan_steps(struct dtr_task *task);
bool dtr_task_load(struct dtr_task *task); /* the first values, into `variables` */
/* shard_count 0: all. */
bool dtr_task_open_feed(struct dtr_task *task, int64_t first_shard, int64_t shard_count);
void dtr_task_begin(struct dtr_task *task);
/* Forgets the steps behind `step` and what was under way. */
void dtr_task_go_back(struct dtr_task *task);
/* `results` are those of step `step`, which is done: shows them, and decides what is due. */
void dtr_task_count_step(struct dtr_task *task, int64_t epoch);
/* `evaluation` has been filled in, unless it is not complete. */
enum dtr_task_state dtr_task_end_evaluation(struct dtr_task *task, bool complete);

/* After a step, an evaluation or a checkpoint: what is due next. */
enum dtr_task_state dtr_task_next(const struct dtr_task *task);
/* Decides what is due now that `step` steps are done. */
void dtr_task_schedule(struct dtr_task *task);
/* Adds to the hint of an error what there is to go back to. */
void dtr_task_keep_hint(struct dtr_task *task);
bool dtr_task_ending(const struct dtr_task *task);
static inline int64_t dtr_task_begin_phase(const struct dtr_task *task) {
  return task->trace ? dtr_trace_now(task->trace) : 0;
}
static inline void dtr_task_end_phase(struct dtr_task *task, const char *name, int64_t begin) {
  if (task->trace)
    dtr_trace_add(task->trace, 0, name, NULL, task->step, begin);
}

#endif
