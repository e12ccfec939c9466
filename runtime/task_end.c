/* What follows a step: evaluation, checkpoints, and the end of the run. */
#include "runtime/report.h"
#include "runtime/task_parts.h"

#include <string.h>

/* ---- what is due ---- */

bool dtr_task_ending(const struct dtr_task *task) {
  return task->stop || task->step >= task->end_step || dtr_error_is_set(&task->error);
}

static bool every(const struct dtr_task *task, int64_t epochs, int64_t steps) {
  if (steps > 0 && task->step % steps == 0)
    return true;
  return epochs > 0 && task->step % task->steps_per_epoch == 0 &&
         task->step / task->steps_per_epoch % epochs == 0;
}

void dtr_task_schedule(struct dtr_task *task) {
  const struct dtr_train *train = &task->program->train;
  bool ending = dtr_task_ending(task);
  bool trained = task->step > task->first_step;
  task->evaluate_due =
      task->evaluate_on && !task->stop &&
      (ending || (trained && every(task, train->evaluate_epochs, train->evaluate_steps)));
  task->checkpoint_due = task->options.flags->checkpoint_dir && trained &&
                         task->saved_step != task->step &&
                         (ending || every(task, train->checkpoint_epochs, train->checkpoint_steps));
}

enum dtr_task_state dtr_task_next(const struct dtr_task *task) {
  if (task->evaluate_due)
    return DTR_TASK_EVALUATE;
  if (task->checkpoint_due)
    return DTR_TASK_CHECKPOINT;
  return dtr_task_ending(task) ? DTR_TASK_FINISH : DTR_TASK_FEED;
}

/* ---- evaluation ---- */

static struct dtr_record evaluation_record(const struct dtr_task *task) {
  int64_t epoch =
      task->step > 0 && task->steps_per_epoch > 0 ? (task->step - 1) / task->steps_per_epoch : 0;
  return (struct dtr_record){.step = task->step,
                             .epoch = epoch,
                             .results = task->evaluation,
                             .set = dtr_data_name(task->evaluate_on),
                             .examples = dtr_data_count(task->evaluate_on)};
}

enum dtr_task_state dtr_task_end_evaluation(struct dtr_task *task, bool complete) {
  task->evaluating = false;
  task->evaluate_due = false;
  if (complete) {
    struct dtr_record record = evaluation_record(task);
    task->evaluated_step = task->step;
    if (!dtr_task_ending(task)) /* the last one is the result, shown at the end */
      dtr_progress_evaluation(&task->progress, &record);
    dtr_log_evaluation(&task->log, &record, dtr_env_now(task->options.env));
  } else {
    dtr_task_schedule(task); /* stopped: a checkpoint may be due now */
  }
  return dtr_task_next(task);
}

enum dtr_task_state dtr_task_evaluate(struct dtr_task *task) {
  if (task->stop)
    return dtr_task_end_evaluation(task, false);
  if (!task->evaluating) {
    dtr_evaluator_begin(task->evaluator, &task->scalars);
    task->evaluating = true;
  }
  int64_t begin = dtr_task_begin_phase(task);
  enum dtr_eval_state state = dtr_evaluator_advance(task->evaluator);
  dtr_task_end_phase(task, "evaluate", begin);
  if (state == DTR_EVAL_MORE)
    return DTR_TASK_EVALUATE;
  if (state == DTR_EVAL_DONE) {
    task->evaluation = dtr_evaluator_results(task->evaluator);
    return dtr_task_end_evaluation(task, true);
  }
  dtr_evaluator_explain(task->evaluator, &task->error);
  return DTR_TASK_FINISH;
}

/* ---- checkpoints ---- */

/* What is saved must be worth it: a finite loss can have a gradient that is not. */
static bool parameters_are_good(struct dtr_task *task) {
  const struct dtr_program *program = task->program;
  struct dtr_finding finding;
  if (!dtr_find_variable(program, task->variables, &finding))
    return true;
  dtr_report_variable(program, &finding, &task->error);
  dtr_task_keep_hint(task);
  return dtr_error_step(&task->error, task->step);
}

enum dtr_task_state dtr_task_checkpoint(struct dtr_task *task) {
  const struct dtr_task_options *options = &task->options;
  struct dtr_checkpoint_state state = {.step = task->step,
                                       .epoch = task->step / task->steps_per_epoch,
                                       .seed = task->program->train.seed,
                                       .run = options->run};
  if (!parameters_are_good(task))
    return DTR_TASK_FINISH;
  int64_t begin = dtr_task_begin_phase(task);
  bool saved = dtr_checkpoint_save(options->env, task->program, options->flags->checkpoint_dir,
                                   task->program->train.checkpoint_keep, task->variables, &state,
                                   NULL, 0, &task->error);
  dtr_task_end_phase(task, "checkpoint", begin);
  task->checkpoint_due = false;
  if (!saved) {
    dtr_error_step(&task->error, task->step);
    return DTR_TASK_FINISH;
  }
  task->saved_step = task->step;
  return dtr_task_next(task);
}

/* ---- the end ---- */

static bool stopped_early(const struct dtr_task *task) {
  bool evaluated = !task->evaluate_on || task->evaluated_step == task->step;
  return task->stop && (task->step < task->end_step || !evaluated);
}

static void explain_stop(struct dtr_task *task) {
  const char *folder = task->options.flags->checkpoint_dir;
  dtr_error_set(&task->error, DTR_STATUS_STOPPED, "stopped by %s after step %lld of %lld",
                task->stop, (long long)task->step, (long long)task->end_step);
  if (!folder)
    dtr_error_hint(&task->error,
                   "nothing was saved: --checkpoint-dir DIR would have kept the state");
  else if (task->saved_step == task->step)
    dtr_error_hint(&task->error, "go on with --checkpoint-dir %s --resume", folder);
}

static void show_results(struct dtr_task *task) {
  struct dtr_record record;
  if (task->evaluated_step == task->step && task->evaluate_on) {
    record = evaluation_record(task);
  } else if (task->step > task->first_step) {
    record = (struct dtr_record){.step = task->step,
                                 .results = task->results,
                                 .set = "last batch",
                                 .examples = task->batch_examples};
  } else {
    return;
  }
  dtr_progress_result(&task->progress, &record);
  if (task->progress.failure < 0)
    dtr_error_system(&task->error, DTR_STATUS_IO, task->progress.failure,
                     "cannot write the results to the standard output");
  if (task->progress.failure < 0)
    dtr_error_hint(&task->error, "all else is done; --log FILE writes results, too");
}

static bool save(struct dtr_task *task) {
  const struct dtr_flags *flags = task->options.flags;
  if (!parameters_are_good(task))
    return false;
  if (dtr_tensors_save(task->options.env, task->program, flags->save, task->variables,
                       &task->error))
    return true;
  if (flags->checkpoint_dir && task->saved_step == task->step)
    return dtr_error_hint(&task->error,
                          "the checkpoint of step %lld is good: make room, then --checkpoint-dir "
                          "%s --resume with --save",
                          (long long)task->step, flags->checkpoint_dir);
  return dtr_error_hint(&task->error,
                        "--save needs about %lld bytes; --checkpoint-dir DIR would "
                        "have kept the state",
                        (long long)task->program->variables_bytes);
}

static void write_trace(struct dtr_task *task) {
  char process[256];
  if (!task->trace)
    return;
  snprintf(process, sizeof process, "%s %s", task->program->name, task->options.name);
  dtr_trace_write(task->trace, process, &task->error);
}

/* The log and the trace are written whatever has happened: a failed run is when they are read. The
 * first error stays. */
enum dtr_task_state dtr_task_finish(struct dtr_task *task) {
  const struct dtr_flags *flags = task->options.flags;
  bool good = !dtr_error_is_set(&task->error);
  if (good && flags->save && !flags->eval_only && task->step >= task->end_step)
    save(task);
  if (good && stopped_early(task))
    explain_stop(task);
  dtr_progress_close(&task->progress);
  if (!dtr_error_is_set(&task->error))
    show_results(task);
  good = !dtr_error_is_set(&task->error);
  write_trace(task);
  dtr_log_close(&task->log, &task->error);
  if (good && dtr_error_is_set(&task->error))
    dtr_error_hint(&task->error, "all else is done; --log and --trace need room to write");
  return DTR_TASK_DONE;
}
