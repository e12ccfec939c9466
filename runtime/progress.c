#include "runtime/progress.h"

#include "runtime/report.h"

#include <stdio.h>
#include <string.h>

enum {
  STDOUT = 1,
  STDERR = 2,
  PLAIN_LINES = 20,      /* of steps, in a whole run */
  EVALUATION_LINES = 40, /* then every second, fourth, eighth, ... */
  LINE = 1024
};
static const int64_t refresh = 100 * 1000 * 1000; /* ns */

/* A failure to show is no failure of the run, but for its result. */
static int put(struct dtr_progress *progress, int file, const char *text) {
  return dtr_env_write_all(progress->env, file, text, strlen(text));
}

void dtr_progress_close(struct dtr_progress *progress) {
  if (progress->line_open)
    put(progress, STDERR, "\n");
  progress->line_open = false;
}

static int put_line(struct dtr_progress *progress, const char *text) {
  char line[LINE + 64];
  dtr_progress_close(progress);
  snprintf(line, sizeof line, "%s\n", text);
  return put(progress, STDOUT, line);
}

void dtr_progress_init(struct dtr_progress *progress, const struct dtr_program *program,
                       const struct dtr_env *env, bool quiet, bool terminal) {
  *progress = (struct dtr_progress){
      .program = program, .env = env, .quiet = quiet, .terminal = terminal, .next_step = INT64_MAX};
}

void dtr_progress_begin(struct dtr_progress *progress, int64_t first_step, int64_t end_step,
                        int64_t now) {
  progress->first_step = first_step;
  progress->end_step = end_step;
  progress->last_time = now;
  progress->last_step = first_step;
  progress->stride = 1 + (end_step - first_step) / PLAIN_LINES;
  if (!progress->quiet)
    progress->next_step = first_step + 1;
}

/* "step 120/700, epoch 1, loss 0.5123, accuracy 0.8412, 51,200 examples/s, 12s left" */
static void step_text(const struct dtr_progress *progress, const struct dtr_record *record,
                      int64_t now, char *text, size_t size) {
  char results[512], rate[32], left[32];
  int64_t done = record->step - progress->last_step;
  double seconds = (double)(now - progress->last_time) * 1e-9;
  double per_step = done > 0 ? seconds / (double)done : 0;
  double examples = per_step > 0 ? (double)progress->program->train.batch / per_step : 0;
  dtr_results_text(progress->program, record->results, results, sizeof results);
  dtr_count_text((int64_t)examples, rate, sizeof rate);
  dtr_duration_text(per_step * (double)(progress->end_step - record->step), left, sizeof left);
  snprintf(text, size, "step %lld/%lld, epoch %lld, %s, %s examples/s, %s left",
           (long long)record->step, (long long)progress->end_step, (long long)record->epoch + 1,
           results, rate, left);
}

void dtr_progress_show(struct dtr_progress *progress, const struct dtr_record *record,
                       int64_t now) {
  char text[LINE];
  step_text(progress, record, now, text, sizeof text);
  progress->last_time = now;
  progress->last_step = record->step;
  if (progress->terminal) {
    char line[LINE + 8];
    snprintf(line, sizeof line, "\r%s\033[K", text);
    put(progress, STDERR, line);
    progress->line_open = true;
    progress->next_time = now + refresh;
    return;
  }
  put_line(progress, text);
  /* The first step, then each stride counted from the start, then the last. */
  int64_t done = record->step - progress->first_step;
  progress->next_step = progress->first_step + (done / progress->stride + 1) * progress->stride;
  if (progress->next_step > progress->end_step)
    progress->next_step = progress->end_step;
  if (record->step >= progress->end_step)
    progress->next_step = INT64_MAX;
}

static void evaluation_text(const struct dtr_progress *progress, const struct dtr_record *record,
                            char *text, size_t size) {
  char results[512], count[32];
  dtr_results_text(progress->program, record->results, results, sizeof results);
  dtr_count_text(record->examples, count, sizeof count);
  snprintf(text, size, "%s: %s (%s examples)", record->set, results, count);
}

void dtr_progress_evaluation(struct dtr_progress *progress, const struct dtr_record *record) {
  char text[LINE], line[LINE + 40];
  int64_t every = 1;
  progress->lines++;
  for (int64_t shown = EVALUATION_LINES; shown < progress->lines; shown *= 2)
    every *= 2;
  if (progress->quiet || progress->lines % every != 0)
    return;
  evaluation_text(progress, record, text, sizeof text);
  snprintf(line, sizeof line, "step %lld: %s", (long long)record->step, text);
  put_line(progress, line);
}

void dtr_progress_result(struct dtr_progress *progress, const struct dtr_record *record) {
  char text[LINE];
  evaluation_text(progress, record, text, sizeof text);
  progress->failure = put_line(progress, text);
}

void dtr_progress_note(struct dtr_progress *progress, const char *text) {
  if (!progress->quiet)
    put_line(progress, text);
}

void dtr_progress_warn(struct dtr_progress *progress, const char *text) {
  char line[LINE + 64];
  dtr_progress_close(progress);
  snprintf(line, sizeof line, "warning: %s\n", text);
  put(progress, STDERR, line);
}
