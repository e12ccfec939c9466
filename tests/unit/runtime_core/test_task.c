/* Whole runs of the sample: bits, evaluation, going on, stopping, and what failures say. */
#include "run.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* ---- the same bits ---- */

struct result {
  char *variables;
  int64_t bytes;
  double loss;
  char out[16384];
};

static struct result run_whole(const struct sample_options *options, int threads) {
  struct run *run = calloc(1, sizeof *run);
  struct result result = {0};
  run_begin(run, options, threads);
  assert_int_equal(run_finish(run), 0);
  result.bytes = run->program->variables_bytes;
  result.variables = malloc((size_t)result.bytes);
  memcpy(result.variables, run->task->executor->variables, (size_t)result.bytes);
  result.loss = run->task->results[0];
  /* Rates and times differ; the last line has the results only. */
  char *last = run->out + run->used - 1;
  while (last > run->out && last[-1] != '\n')
    last--;
  memcpy(result.out, last, strlen(last) + 1);
  run_end(run);
  free(run);
  return result;
}

static void expect_same(const struct sample_options *options, int threads,
                        const struct result *expected) {
  struct result result = run_whole(options, threads);
  assert_memory_equal(result.variables, expected->variables, (size_t)expected->bytes);
  assert_memory_equal(&result.loss, &expected->loss, sizeof result.loss);
  assert_string_equal(result.out, expected->out);
  free(result.variables);
}

static void any_number_of_threads_gives_the_same_bits(void **state) {
  (void)state;
  static const int64_t shards[] = {1, 2, 3, 6, 24};
  for (size_t i = 0; i < sizeof shards / sizeof *shards; i++) {
    struct sample_options options = sample_defaults();
    options.shards = shards[i];
    struct result alone = run_whole(&options, 1);
    assert_true(alone.loss < 1);
    for (int threads = 2; threads <= 7; threads++)
      expect_same(&options, threads, &alone);
    free(alone.variables);
  }
}

static void result_line_has_the_evaluation(void **state) {
  (void)state;
  struct sample_options options = sample_defaults();
  struct result result = run_whole(&options, 2);
  assert_non_null(strstr(result.out, "test_set: loss "));
  assert_non_null(strstr(result.out, ", accuracy "));
  assert_non_null(strstr(result.out, " (70 examples)\n"));
  free(result.variables);
}

/* ---- evaluation ---- */

static void evaluate(int64_t batch, int64_t shards, int threads, double results[2]) {
  struct run *run = calloc(1, sizeof *run);
  struct sample_options options = sample_defaults();
  options.batch = batch;
  options.shards = shards;
  run_begin(run, &options, threads);
  run->flags.eval_only = true;
  assert_int_equal(run_finish(run), 0);
  memcpy(results, dtr_evaluator_results(run->task->evaluator), 2 * sizeof *results);
  assert_int_equal(dtr_evaluator_examples(run->task->evaluator), 70);
  run_end(run);
  free(run);
}

/* 70 examples: whole chunks, tails of several lengths, and nothing but a tail. */
static void every_example_counts_once(void **state) {
  (void)state;
  static const int64_t batches[][2] = {{24, 6}, {24, 1}, {70, 1}, {96, 1}, {64, 2}, {35, 5}};
  double one_by_one[2];
  evaluate(1, 1, 1, one_by_one);
  double hits = one_by_one[1] * 70;
  assert_true(fabs(hits - round(hits)) < 1e-9);
  for (size_t i = 0; i < sizeof batches / sizeof *batches; i++) {
    double results[2], again[2];
    evaluate(batches[i][0], batches[i][1], 1, results);
    assert_true(fabs(results[0] - one_by_one[0]) < 1e-6);
    assert_true(fabs(results[1] - one_by_one[1]) < 1e-6);
    evaluate(batches[i][0], batches[i][1], 3, again);
    assert_memory_equal(results, again, sizeof results);
  }
}

static void evaluations_come_when_they_are_due(void **state) {
  (void)state;
  struct run *run = calloc(1, sizeof *run);
  struct sample_options options = sample_defaults(); /* 4 steps an epoch, every 10 epochs */
  run_begin(run, &options, 1);
  assert_int_equal(run_finish(run), 0);
  assert_non_null(strstr(run->out, "\nstep 40: test_set: loss "));
  assert_non_null(strstr(run->out, "\nstep 80: test_set: loss "));
  assert_null(strstr(run->out, "step 120: test_set")); /* that is the result */
  int lines = 0;
  for (const char *c = run->out; *c; c++)
    lines += *c == '\n';
  assert_true(lines <= 21 + 2 + 1 + 1);
  run_end(run);
  free(run);
}

/* ---- going on and stopping ---- */

static char folder[64];

static int make_folder(void **state) {
  (void)state;
  strcpy(folder, "/tmp/dtg_test_task_XXXXXX");
  return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state) {
  (void)state;
  char command[128];
  snprintf(command, sizeof command, "rm -rf '%s'", folder);
  return system(command);
}

static void run_to(int64_t steps, bool resume, int threads, struct run *run) {
  struct sample_options options = sample_defaults();
  run_begin(run, &options, threads);
  run->flags.steps = steps;
  run->flags.checkpoint_dir = folder;
  run->flags.resume = resume;
  assert_int_equal(run_finish(run), 0);
  assert_int_equal(run->task->step, steps);
}

static void resuming_gives_the_same_bits(void **state) {
  (void)state;
  struct run *run = calloc(1, sizeof *run);
  struct sample_options options = sample_defaults();
  run_begin(run, &options, 1);
  run->flags.steps = 100;
  assert_int_equal(run_finish(run), 0);
  int64_t bytes = run->program->variables_bytes;
  char *expected = malloc((size_t)bytes);
  memcpy(expected, run->task->executor->variables, (size_t)bytes);
  run_end(run);

  run_to(60, false, 2, run);
  run_end(run);
  run_to(100, true, 3, run);
  assert_memory_equal(run->task->executor->variables, expected, (size_t)bytes);
  assert_non_null(strstr(run->out, "at step 60\n"));
  run_end(run);
  run_to(100, true, 1, run); /* nothing left to do: evaluates and changes nothing */
  assert_memory_equal(run->task->executor->variables, expected, (size_t)bytes);
  assert_non_null(strstr(run->out, "\ntest_set: loss "));
  run_end(run);
  free(expected);
  free(run);
}

static void stopping_keeps_the_state(void **state) {
  (void)state;
  struct run *run = calloc(1, sizeof *run);
  struct sample_options options = sample_defaults();
  run_begin(run, &options, 2);
  run->flags.checkpoint_dir = folder;
  while (!run->task || run->task->step < 7)
    assert_true(run_poll(run));
  dtr_task_stop(run->task, "SIGINT");
  assert_int_equal(run_finish(run), 1);
  char hint[256];
  snprintf(hint, sizeof hint, "go on with --checkpoint-dir %s --resume", folder);
  assert_string_equal(dtr_task_error(run->task)->message, "stopped by SIGINT after step 7 of 120");
  assert_string_equal(dtr_task_error(run->task)->hint, hint);
  run_end(run);
  run_to(12, true, 1, run);
  assert_non_null(strstr(run->out, "at step 7\n"));
  run_end(run);
  free(run);
}

static void a_folder_that_is_a_file_is_told(void **state) {
  (void)state;
  struct run *run = calloc(1, sizeof *run);
  struct sample_options options = sample_defaults();
  run_begin(run, &options, 1);
  run->flags.checkpoint_dir = "/dev/null";
  assert_int_equal(run_finish(run), 1);
  assert_non_null(strstr(dtr_task_error(run->task)->message, "/dev/null"));
  assert_int_equal(run->task->step, 0); /* told before training, not when one is due */
  run_end(run);
  free(run);
}

static void a_task_tells_what_it_does(void **state) {
  (void)state;
  struct run *run = calloc(1, sizeof *run);
  struct sample_options options = sample_defaults();
  char text[256];
  run_begin(run, &options, 1);
  run_poll(run);
  run_poll(run);
  dtr_task_describe(run->task, run->task->since + 1500000000, text, sizeof text);
  assert_string_equal(text, "worker/0: feed, step 1 of 120, for 1.5 s; waits for no other task");
  run_finish(run);
  run_end(run);
  free(run);
}

/* ---- failures ---- */

static void expect_failure(struct run *run, const char *where, int64_t step, const char *message) {
  assert_int_equal(run_finish(run), 1);
  struct dtr_error *error = dtr_task_error(run->task);
  assert_string_equal(error->message, message);
  assert_string_equal(error->where, where);
  assert_int_equal(error->step, step);
}

static void a_nan_is_named_and_nothing_is_lost(void **state) {
  (void)state;
  for (int threads = 1; threads <= 3; threads++) {
    struct run *run = calloc(1, sizeof *run);
    struct sample_options options = sample_defaults();
    options.nan_step = 9;
    options.nan_shard = 4;
    run_begin(run, &options, threads);
    expect_failure(run, "sample.dtg:3:1", 10,
                   "the loss is NaN; the first tensor that is not finite is h, NaN at element 1, "
                   "made by k1_relu (relu(x @ w1 + b1))");
    int64_t bytes = run->program->variables_bytes;
    char *kept = malloc((size_t)bytes);
    memcpy(kept, run->task->executor->variables, (size_t)bytes);
    run_end(run);
    run_begin(run, &options, 1);
    run->flags.steps = 9;
    assert_int_equal(run_finish(run), 0);
    assert_memory_equal(run->task->executor->variables, kept, (size_t)bytes);
    run_end(run);
    free(kept);
    free(run);
  }
}

static void a_variable_gone_bad_is_named(void **state) {
  (void)state;
  struct run *run = calloc(1, sizeof *run);
  struct sample_options options = sample_defaults();
  run_begin(run, &options, 2);
  while (!run->task || run->task->step < 3)
    assert_true(run_poll(run));
  float *values = (float *)(run->task->executor->variables + run->program->variables[2].offset);
  values[5] = -INFINITY;
  expect_failure(run, "sample.dtg:2:1", 4,
                 "the loss is NaN; the first tensor that is not finite is the variable fc1.w, "
                 "-infinite at element 5: an earlier update made it so");
  run_end(run);
  free(run);
}

static void a_bad_input_is_named(void **state) {
  (void)state;
  struct run *run = calloc(1, sizeof *run);
  struct sample_options options = sample_defaults();
  char *scratch = aligned_alloc(64, 1 << 16), *feeds[2], text[256];
  options.x_scale = INFINITY;
  run_begin(run, &options, 2);
  run_poll(run);
  int64_t example = dtr_data_example(run->task->data, 0, 0);
  dtr_data_view(run->task->data, DTR_NATURAL_ORDER, example, 1, scratch, feeds);
  float value = *(float *)feeds[0];
  assert_true(isinf(value));
  snprintf(text, sizeof text,
           "the loss is NaN; the first tensor that is not finite is the input x, %s at element 0 "
           "of example %lld",
           value > 0 ? "infinite" : "-infinite", (long long)example);
  expect_failure(run, "sample.dtg:1:7", 1, text);
  run_end(run);
  free(scratch);
  free(run);
}

/* The first example in order of training, or in natural order, with a label of 5. */
static int64_t first_bad(const struct dtr_data *data, int64_t epoch) {
  char *scratch = aligned_alloc(64, 1 << 16), *feeds[2];
  for (int64_t i = 0; i < dtr_data_count(data); i++) {
    int64_t example = dtr_data_example(data, epoch, i);
    int32_t label;
    dtr_data_view(data, DTR_NATURAL_ORDER, example, 1, scratch, feeds);
    memcpy(&label, feeds[1], sizeof label);
    if (label == 5) {
      free(scratch);
      return example;
    }
  }
  fail_msg("no label is 5");
  return -1;
}

static void a_label_out_of_range_is_named(void **state) {
  (void)state;
  for (int threads = 1; threads <= 3; threads++) {
    struct run *run = calloc(1, sizeof *run);
    struct sample_options options = sample_defaults();
    char text[256];
    options.labels = 6;
    run_begin(run, &options, threads);
    run_poll(run);
    snprintf(text, sizeof text, "label 5 of example %lld of train_set is out of range 0..4",
             (long long)first_bad(run->task->data, 0));
    expect_failure(run, "sample.dtg:1:20", 1, text);
    run_end(run);
    free(run);
  }
}

static void a_label_out_of_range_in_evaluation_is_named(void **state) {
  (void)state;
  for (int threads = 1; threads <= 3; threads++) {
    struct run *run = calloc(1, sizeof *run);
    struct sample_options options = sample_defaults();
    char text[256];
    options.test_labels = 6;
    run_begin(run, &options, threads);
    run->flags.eval_only = true;
    run_poll(run);
    snprintf(text, sizeof text, "label 5 of example %lld of test_set is out of range 0..4",
             (long long)first_bad(run->task->evaluate_on, DTR_NATURAL_ORDER));
    expect_failure(run, "sample.dtg:1:20", -1, text);
    run_end(run);
    free(run);
  }
}

static void no_length_needs_steps(void **state) {
  (void)state;
  struct run *run = calloc(1, sizeof *run);
  struct sample_options options = sample_defaults();
  options.epochs = 0;
  run_begin(run, &options, 1);
  assert_int_equal(run_finish(run), 2);
  assert_string_equal(dtr_task_error(run->task)->hint, "say how long to train: --steps N");
  run_end(run);
  run_begin(run, &options, 1);
  run->flags.steps = 5;
  assert_int_equal(run_finish(run), 0);
  assert_int_equal(run->task->step, 5);
  run_end(run);
  free(run);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(any_number_of_threads_gives_the_same_bits),
      cmocka_unit_test(result_line_has_the_evaluation),
      cmocka_unit_test(every_example_counts_once),
      cmocka_unit_test(evaluations_come_when_they_are_due),
      cmocka_unit_test_setup_teardown(resuming_gives_the_same_bits, make_folder, remove_folder),
      cmocka_unit_test_setup_teardown(stopping_keeps_the_state, make_folder, remove_folder),
      cmocka_unit_test(a_folder_that_is_a_file_is_told),
      cmocka_unit_test(a_task_tells_what_it_does),
      cmocka_unit_test(a_nan_is_named_and_nothing_is_lost),
      cmocka_unit_test(a_variable_gone_bad_is_named),
      cmocka_unit_test(a_bad_input_is_named),
      cmocka_unit_test(a_label_out_of_range_is_named),
      cmocka_unit_test(a_label_out_of_range_in_evaluation_is_named),
      cmocka_unit_test(no_length_needs_steps),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
