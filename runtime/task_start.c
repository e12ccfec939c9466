/* The states start and restore: everything that is allocated, opened and read. */
#include "runtime/task_parts.h"

#include "runtime/init.h"

enum { NO_DATASET = UINT32_MAX };

static bool open_data(struct dtr_task *task, uint32_t index, struct dtr_data **data) {
  const struct dtr_program *program = task->program;
  struct dtr_data_options options = {.model_dir = task->options.model_dir,
                                     .data_dir = task->options.flags->data_dir,
                                     .seed = program->train.seed,
                                     .input_count = program->input_count,
                                     .inputs = program->inputs};
  return dtr_data_open(task->options.env, &program->datasets[index], &options, data, &task->error);
}

bool dtr_task_open_data(struct dtr_task *task) {
  const struct dtr_train *train = &task->program->train;
  bool trains = !task->options.flags->eval_only;
  uint32_t evaluate = train->evaluate_data;
  if (!trains && evaluate == NO_DATASET)
    evaluate = train->data;
  if (trains && !open_data(task, train->data, &task->data))
    return false;
  if (evaluate == NO_DATASET)
    return true;
  if (trains && evaluate == train->data) {
    task->evaluate_on = task->data;
    return true;
  }
  return open_data(task, evaluate, &task->evaluate_on);
}

bool dtr_task_open_outputs(struct dtr_task *task, int threads) {
  const struct dtr_task_options *options = &task->options;
  if (!dtr_task_check_outputs(task))
    return false;
  if (options->flags->trace &&
      !dtr_trace_new(options->env, options->flags->trace, threads, &task->trace, &task->error))
    return dtr_error_hint(&task->error, "--trace names a file that you may write to");
  if (!dtr_log_open(options->env, task->program, options->flags->log, &task->log, &task->error))
    return dtr_error_hint(&task->error, "--log names a file that you may write to");
  return true;
}

static bool start(struct dtr_task *task) {
  const struct dtr_task_options *options = &task->options;
  if (!dtr_task_open_outputs(task, options->threads))
    return false;
  struct dtr_executor_options executor = {.program = task->program,
                                          .env = options->env,
                                          .trace = task->trace,
                                          .threads = options->threads,
                                          .evaluate_only = options->flags->eval_only,
                                          .ledger = &task->ledger,
                                          .always_share = options->always_share};
  if (!dtr_task_open_data(task) || !dtr_executor_new(&executor, &task->executor, &task->error))
    return false;
  task->variables = task->executor->variables;
  return !task->evaluate_on ||
         dtr_evaluator_new(task->executor, task->evaluate_on, &task->evaluator, &task->error);
}

enum dtr_task_state dtr_task_start(struct dtr_task *task) {
  return start(task) ? DTR_TASK_RESTORE : DTR_TASK_FINISH;
}

/* ---- restore ---- */

/* Steps of the whole run as the model file has it; 0: it does not say. What schedules see, whatever
 * --steps says, so that stopping early and going on gives the same bits. */
static int64_t planned_steps(const struct dtr_task *task) {
  const struct dtr_train *train = &task->program->train;
  int64_t by_epochs = 0;
  if (__builtin_mul_overflow(train->epochs, task->steps_per_epoch, &by_epochs))
    by_epochs = INT64_MAX;
  if (train->steps > 0 && (by_epochs == 0 || train->steps < by_epochs))
    return train->steps;
  return by_epochs;
}

bool dtr_task_plan_steps(struct dtr_task *task) {
  int64_t asked = task->options.flags->steps;
  task->steps_per_epoch =
      task->data ? dtr_feed_steps_per_epoch(task->data, task->program->train.batch) : 0;
  task->scalars.total_steps = planned_steps(task);
  task->end_step = asked != DTR_FLAG_UNSET ? asked : task->scalars.total_steps;
  if (task->options.flags->eval_only)
    task->end_step = 0;
  else if (task->end_step == 0 && asked == DTR_FLAG_UNSET && task->steps_per_epoch > 0) {
    dtr_error_set(&task->error, DTR_STATUS_USAGE,
                  "the model file says neither \"epochs\" nor \"steps\" of its training");
    return dtr_error_hint(&task->error, "say how long to train: --steps N");
  }
  return true;
}

static void remark(void *context, const char *text) {
  struct dtr_task *task = context;
  dtr_progress_warn(&task->progress, text);
}

/* The checkpoint counts epochs of the data as it was. */
static void warn_of_other_data(struct dtr_task *task, const struct dtr_checkpoint_state *state) {
  char text[256];
  if (task->steps_per_epoch == 0 || state->step / task->steps_per_epoch == state->epoch)
    return;
  snprintf(text, sizeof text,
           "data %s has another size than before: step %lld was in epoch %lld, now it is in epoch "
           "%lld",
           dtr_data_name(task->data), (long long)state->step, (long long)state->epoch + 1,
           (long long)(state->step / task->steps_per_epoch + 1));
  dtr_progress_warn(&task->progress, text);
}

static bool resume(struct dtr_task *task, struct dtr_remarks remarks) {
  const struct dtr_task_options *options = &task->options;
  struct dtr_checkpoint_state state;
  char used[512], text[640];
  if (!dtr_checkpoint_load(options->env, task->program, options->flags->checkpoint_dir,
                           task->variables, remarks, &state, used, sizeof used, &task->error))
    return false;
  warn_of_other_data(task, &state);
  task->step = state.step;
  task->saved_step = state.step;
  snprintf(text, sizeof text, "resuming from %s at step %lld", used, (long long)state.step);
  dtr_progress_note(&task->progress, text);
  if (task->data && state.step > task->end_step) {
    snprintf(text, sizeof text, "nothing is trained: step %lld is beyond step %lld, the last one",
             (long long)state.step, (long long)task->end_step);
    dtr_progress_warn(&task->progress, text);
  }
  return true;
}

bool dtr_task_load(struct dtr_task *task) {
  const struct dtr_task_options *options = &task->options;
  struct dtr_remarks remarks = {.write = remark, .context = task};
  if (options->flags->resume)
    return resume(task, remarks);
  if (!dtr_init_variables(task->program, task->program->train.seed, task->variables, &task->error))
    return false;
  if (!options->flags->init || dtr_tensors_init(options->env, task->program, options->flags->init,
                                                task->variables, remarks, &task->error))
    return true;
  return dtr_error_hint(&task->error,
                        "--init takes a safetensors file, such as --save writes, with "
                        "every parameter of the model");
}

/* `end_step` of the feed: 0 would mean no end, so a run without steps ends at -1. */
bool dtr_task_open_feed(struct dtr_task *task, int64_t first_shard, int64_t shard_count) {
  const struct dtr_train *train = &task->program->train;
  struct dtr_feed_options options = {.batch = train->batch,
                                     .shards = train->shards,
                                     .first_shard = first_shard,
                                     .shard_count = shard_count,
                                     .first_step = task->step,
                                     .end_step = task->end_step > 0 ? task->end_step : -1,
                                     .synchronous = task->options.synchronous,
                                     .where = task->program->datasets[train->data].where};
  return dtr_feed_open(task->data, &options, &task->feed, &task->error);
}

static void remark_on_checkpoints(struct dtr_task *task) {
  const struct dtr_train *train = &task->program->train;
  bool wanted = train->checkpoint_epochs > 0 || train->checkpoint_steps > 0;
  if (wanted && !task->options.flags->checkpoint_dir && !task->options.flags->eval_only)
    dtr_progress_note(&task->progress,
                      "no checkpoints will be written: --checkpoint-dir DIR says where");
}

void dtr_task_begin(struct dtr_task *task) {
  task->first_step = task->step;
  task->scalars.step = task->step;
  task->scalars.seed = task->program->train.seed;
  remark_on_checkpoints(task);
  int64_t now = dtr_env_now(task->options.env);
  dtr_progress_begin(&task->progress, task->step, task->end_step, now);
  dtr_log_begin(&task->log, now);
}

void dtr_task_go_back(struct dtr_task *task) {
  dtr_feed_close(task->feed);
  task->feed = NULL;
  task->batch = NULL;
  task->evaluation = NULL;
  task->evaluating = task->evaluate_due = task->checkpoint_due = false;
  task->evaluated_step = task->saved_step = DTR_NO_STEP;
}

static bool restore(struct dtr_task *task) {
  if (!dtr_task_plan_steps(task) || !dtr_task_load(task))
    return false;
  if (task->data && !dtr_task_open_feed(task, 0, 0))
    return false;
  dtr_task_begin(task);
  return true;
}

enum dtr_task_state dtr_task_restore(struct dtr_task *task) {
  return restore(task) ? DTR_TASK_FEED : DTR_TASK_FINISH;
}
