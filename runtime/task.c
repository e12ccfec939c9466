#include "runtime/task_parts.h"

#include "runtime/report.h"
#include "runtime/update.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- a step ---- */

static enum dtr_task_state feed(struct dtr_task *task) {
  if (dtr_task_ending(task)) {
    dtr_task_schedule(task);
    return dtr_task_next(task);
  }
  int64_t begin = dtr_task_begin_phase(task);
  task->batch = dtr_feed_next(task->feed);
  dtr_task_end_phase(task, "feed", begin);
  task->scalars.step = task->step;
  task->scalars.updates = task->step + 1;
  return DTR_TASK_COMPUTE;
}

static struct dtr_rows rows_of(const struct dtr_task *task, int64_t shard) {
  const struct dtr_batch *batch = task->batch;
  int64_t first = batch->step % task->steps_per_epoch * task->program->train.batch;
  return (struct dtr_rows){.data = task->data,
                           .epoch = batch->epoch,
                           .first = first + shard * batch->rows,
                           .count = batch->rows};
}

/* Runs the shards again, watched, until one shows what is wrong. */
static bool examine(struct dtr_task *task, int64_t shard, struct dtr_watch *watch,
                    struct dtr_fault *fault) {
  struct dtr_scalars scalars = task->scalars;
  scalars.shard = shard;
  return dtr_executor_examine(task->executor, &task->program->shard,
                              dtr_batch_feeds(task->batch, shard), NULL, &scalars, watch, fault);
}

static enum dtr_task_state explain_fault(struct dtr_task *task) {
  struct dtr_watch watch = {0};
  struct dtr_fault fault = {0};
  int64_t shard = 0;
  for (; shard < task->program->train.shards; shard++) {
    examine(task, shard, &watch, &fault);
    if (watch.found_fault)
      break;
  }
  struct dtr_rows rows = rows_of(task, shard);
  dtr_report_fault(task->program, &watch, &fault, &rows, &task->error);
  dtr_error_step(&task->error, task->step + 1);
  return DTR_TASK_FINISH;
}

static enum dtr_task_state compute(struct dtr_task *task) {
  int64_t begin = dtr_task_begin_phase(task);
  task->contribution = dtr_executor_shards(task->executor, task->batch, &task->scalars);
  dtr_task_end_phase(task, "compute", begin);
  return task->contribution ? DTR_TASK_REDUCE : explain_fault(task);
}

static void find_origin(struct dtr_task *task, struct dtr_finding *finding) {
  const struct dtr_program *program = task->program;
  if (dtr_find_variable(program, task->executor->variables, finding))
    return;
  for (int64_t shard = 0; shard < program->train.shards; shard++) {
    struct dtr_rows rows = rows_of(task, shard);
    if (dtr_find_input(program, dtr_batch_feeds(task->batch, shard), &rows, finding))
      return;
  }
  for (int64_t shard = 0; shard < program->train.shards; shard++) {
    struct dtr_watch watch;
    struct dtr_fault fault;
    if (examine(task, shard, &watch, &fault) && watch.found_value) {
      *finding = (struct dtr_finding){.origin = DTR_ORIGIN_KERNEL,
                                      .index = watch.kernel,
                                      .output = watch.output,
                                      .element = watch.element,
                                      .value = watch.value};
      return;
    }
  }
  *finding = (struct dtr_finding){.origin = DTR_ORIGIN_SUM, .value = task->results[0]};
}

void dtr_task_keep_hint(struct dtr_task *task) {
  const char *folder = task->options.flags->checkpoint_dir;
  char *hint = task->error.hint;
  size_t length = strlen(hint), room = sizeof task->error.hint - length;
  if (folder && task->saved_step >= 0)
    snprintf(hint + length, room, "; the checkpoint of step %lld is in %s",
             (long long)task->saved_step, folder);
}

/* The loss is looked at before the update, so that a bad step changes nothing. */
static enum dtr_task_state explain_loss(struct dtr_task *task) {
  struct dtr_finding finding;
  dtr_executor_release(task->executor, task->contribution);
  find_origin(task, &finding);
  dtr_report_not_finite(task->program, task->results[0], &finding, &task->error);
  dtr_task_keep_hint(task);
  dtr_error_step(&task->error, task->step + 1);
  return DTR_TASK_FINISH;
}

/* Contributions of other tasks would be awaited here; one device has the whole sum already. */
static enum dtr_task_state reduce(struct dtr_task *task) {
  const struct dtr_program *program = task->program;
  float shards = (float)program->train.shards;
  for (uint32_t i = 0; i <= program->metric_count; i++) {
    float sum;
    memcpy(&sum, task->contribution + program->contributions[i].offset, sizeof sum);
    task->results[i] = (double)(sum / shards);
  }
  return isfinite(task->results[0]) ? DTR_TASK_UPDATE : explain_loss(task);
}

static bool update_failed(struct dtr_task *task, const struct dtr_fault *fault) {
  dtr_update_failed(fault, &task->error);
  return dtr_error_step(&task->error, task->step + 1);
}

void dtr_task_count_step(struct dtr_task *task, int64_t epoch) {
  task->step++;
  int64_t now = dtr_env_now(task->options.env);
  struct dtr_record record = {.step = task->step, .epoch = epoch, .results = task->results};
  dtr_progress_step(&task->progress, &record, now);
  dtr_log_step(&task->log, &record, now);
  dtr_task_schedule(task);
}

static enum dtr_task_state update(struct dtr_task *task) {
  struct dtr_fault fault;
  int64_t begin = dtr_task_begin_phase(task);
  bool good = dtr_executor_update(task->executor, task->contribution, &task->scalars, &fault);
  dtr_executor_release(task->executor, task->contribution);
  dtr_task_end_phase(task, "update", begin);
  if (!good) {
    update_failed(task, &fault);
    return DTR_TASK_FINISH;
  }
  dtr_task_count_step(task, task->batch->epoch);
  return dtr_task_next(task);
}

/* ---- the machine ---- */

static const struct {
  const char *name;
  dtr_task_step *run;
} states[DTR_TASK_STATES] = {
    [DTR_TASK_START] = {"start", dtr_task_start},
    [DTR_TASK_RESTORE] = {"restore", dtr_task_restore},
    [DTR_TASK_FEED] = {"feed", feed},
    [DTR_TASK_COMPUTE] = {"compute", compute},
    [DTR_TASK_REDUCE] = {"reduce", reduce},
    [DTR_TASK_UPDATE] = {"update", update},
    [DTR_TASK_EVALUATE] = {"evaluate", dtr_task_evaluate},
    [DTR_TASK_CHECKPOINT] = {"checkpoint", dtr_task_checkpoint},
    [DTR_TASK_FINISH] = {"finish", dtr_task_finish},
    [DTR_TASK_DONE] = {"done", NULL},
};

int64_t dtr_task_poll(struct dtr_task *task, int64_t now) {
  do {
    if (task->state == DTR_TASK_DONE)
      return INT64_MAX;
    task->deadline = now;
    enum dtr_task_state next = states[task->state].run(task);
    if (next == task->state)
      return task->deadline;
    task->state = next;
    task->since = now;
  } while (task->state != DTR_TASK_FEED);
  return now;
}

bool dtr_task_finished(const struct dtr_task *task) {
  return task->state == DTR_TASK_DONE;
}

struct dtr_ledger *dtr_task_ledger(struct dtr_task *task) {
  return &task->ledger;
}

struct dtr_error *dtr_task_error(struct dtr_task *task) {
  return &task->error;
}

void dtr_task_stop(struct dtr_task *task, const char *reason) {
  if (!task->stop)
    task->stop = reason;
}

void dtr_task_describe(const struct dtr_task *task, int64_t now, char *text, size_t size) {
  snprintf(text, size, "%s: %s, step %lld of %lld, for %.1f s; waits for no other task",
           task->options.name, states[task->state].name, (long long)task->step,
           (long long)task->end_step, (double)(now - task->since) * 1e-9);
}

void dtr_task_close_line(struct dtr_task *task) {
  dtr_progress_close(&task->progress);
}

bool dtr_task_new(const struct dtr_task_options *options, struct dtr_task **task,
                  struct dtr_error *error) {
  struct dtr_task *made = calloc(1, sizeof *made);
  double *results = calloc((size_t)options->program->metric_count + 1, sizeof *results);
  if (!made || !results) {
    free(made);
    free(results);
    return dtr_error_memory(error, (int64_t)sizeof *made, "the task");
  }
  made->options = *options;
  made->program = options->program;
  made->results = results;
  made->batch_examples = options->program->train.batch;
  made->evaluated_step = made->saved_step = DTR_NO_STEP;
  made->checkpoint_lock = -1;
  made->since = dtr_env_now(options->env);
  dtr_error_clear(&made->error);
  dtr_progress_init(&made->progress, options->program, options->env, options->flags->quiet,
                    options->terminal);
  *task = made;
  return true;
}

void dtr_task_free(struct dtr_task *task) {
  if (!task)
    return;
  dtr_feed_close(task->feed);
  dtr_evaluator_free(task->evaluator);
  if (task->evaluate_on != task->data)
    dtr_data_close(task->evaluate_on);
  dtr_data_close(task->data);
  dtr_executor_free(task->executor);
  if (task->checkpoint_lock >= 0)
    task->options.env->file_close(task->options.env->context, task->checkpoint_lock);
  dtr_trace_free(task->trace);
  free(task->results);
  free(task);
}
