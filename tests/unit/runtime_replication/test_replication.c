/* The same bits under every strategy, whoever polls in whatever order. */
#include "replicated.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static char folder[64], path[96];

static int make_folder(void **state) {
  (void)state;
  strcpy(folder, "/tmp/dtg_test_replication_XXXXXX");
  if (!mkdtemp(folder))
    return -1;
  snprintf(path, sizeof path, "%s/saved.safetensors", folder);
  return 0;
}

static int remove_folder(void **state) {
  (void)state;
  char command[128];
  snprintf(command, sizeof command, "rm -rf '%s'", folder);
  return system(command);
}

static size_t read_file(const char *name, char **bytes) {
  FILE *file = fopen(name, "rb");
  assert_non_null(file);
  fseek(file, 0, SEEK_END);
  size_t size = (size_t)ftell(file);
  rewind(file);
  *bytes = malloc(size);
  assert_int_equal(fread(*bytes, 1, size, file), size);
  fclose(file);
  return size;
}

struct outcome {
  char *saved;
  size_t size;
  double loss;
  char line[512]; /* the last one: results of the evaluation */
};

static void keep(struct replicated *run, struct outcome *outcome) {
  outcome->size = read_file(path, &outcome->saved);
  outcome->loss = replicated_task(run)->results[0];
  char *last = run->out + run->used - 1;
  while (last > run->out && last[-1] != '\n')
    last--;
  snprintf(outcome->line, sizeof outcome->line, "%s", last);
  replicated_end(run);
  free(run);
}

static struct outcome run_whole(const struct sample_options *options, int threads) {
  struct replicated *run = calloc(1, sizeof *run);
  struct outcome outcome;
  replicated_begin(run, options, threads);
  run->flags.save = path;
  int status = replicated_finish(run);
  if (status != 0)
    fail_msg("%s", dtr_task_error(replicated_task(run))->message);
  keep(run, &outcome);
  return outcome;
}

static void expect_same(const struct outcome *got, const struct outcome *expected) {
  assert_int_equal(got->size, expected->size);
  assert_memory_equal(got->saved, expected->saved, got->size);
  assert_memory_equal(&got->loss, &expected->loss, sizeof got->loss);
  assert_string_equal(got->line, expected->line);
  free(got->saved);
}

/* 12 shards: 1, 2, 3, 4, 6 and 12 replicas divide them, most with several subtrees each. */
static struct sample_options options_for_all(void) {
  struct sample_options options = sample_defaults();
  options.shards = 12;
  options.epochs = 0;
  options.steps = 12;
  options.evaluate_epochs = 2;
  return options;
}

static const struct sample_strategy strategies[] = {
    {.ps = 1, .workers = 2, .cpu = 1},
    {.ps = 1, .workers = 2, .cpu = 1, .in_graph = true},
    {.ps = 2, .workers = 4, .cpu = 1, .split = true},
    {.ps = 3, .workers = 6, .cpu = 1, .split = true, .in_graph = true},
    {.ps = 0, .workers = 1, .cpu = 2, .mirrored = true},
    {.ps = 0, .workers = 2, .cpu = 1, .mirrored = true},
    {.ps = 0, .workers = 2, .cpu = 1, .mirrored = true, .split = true},
    {.ps = 0, .workers = 2, .cpu = 2, .mirrored = true, .split = true},
    {.ps = 0, .workers = 3, .cpu = 1, .mirrored = true, .split = true, .in_graph = true},
    {.ps = 2, .workers = 1, .cpu = 4, .split = true},
    {.ps = 1, .workers = 1, .cpu = 1},
    {.ps = 1, .workers = 12, .cpu = 1}};
enum { STRATEGIES = sizeof strategies / sizeof *strategies };

static void every_strategy_gives_the_same_bits(void **state) {
  (void)state;
  struct sample_options options = options_for_all();
  struct outcome single = run_whole(&options, 1);
  for (size_t i = 0; i < STRATEGIES; i++)
    for (int threads = 1; threads <= 3; threads++) {
      options.strategy = strategies[i];
      struct outcome outcome = run_whole(&options, threads);
      expect_same(&outcome, &single);
    }
  free(single.saved);
}

static void any_order_of_polls_gives_the_same_bits(void **state) {
  (void)state;
  struct sample_options options = options_for_all();
  struct outcome single = run_whole(&options, 1);
  for (size_t i = 0; i < STRATEGIES; i++)
    for (uint64_t seed = 1; seed <= 3; seed++) {
      struct replicated *run = calloc(1, sizeof *run);
      struct outcome outcome;
      options.strategy = strategies[i];
      replicated_begin(run, &options, 1);
      run->flags.save = path;
      assert_int_equal(replicated_finish_alone(run, seed), 0);
      keep(run, &outcome);
      expect_same(&outcome, &single);
    }
  free(single.saved);
}

/* ---- first values, checkpoints, evaluation alone ---- */

static const struct sample_strategy some[] = {
    {.ps = 2, .workers = 3, .cpu = 1, .split = true},
    {.ps = 2, .workers = 3, .cpu = 1, .split = true, .in_graph = true},
    {.workers = 2, .cpu = 2, .mirrored = true, .split = true}};
enum { SOME = sizeof some / sizeof *some };

static void checkpoint_name(int64_t step, char *name, size_t size) {
  snprintf(name, size, "%s/step-%012lld.safetensors", folder, (long long)step);
}

/* Steps 0..6 under one strategy, the rest under another, are steps 0..11 of one device. */
static void any_strategy_goes_on_from_any_checkpoint(void **state) {
  (void)state;
  struct sample_options options = options_for_all();
  options.checkpoint_steps = 7;
  struct outcome single = run_whole(&options, 1);
  char *expected = NULL, *got, name[128];
  size_t size = 0;
  checkpoint_name(7, name, sizeof name);
  for (size_t i = 0; i <= SOME; i++) {
    struct replicated *run = calloc(1, sizeof *run);
    options.strategy = i == 0 ? (struct sample_strategy){0} : some[i - 1];
    replicated_begin(run, &options, 2);
    run->flags.checkpoint_dir = folder;
    run->flags.steps = 7;
    assert_int_equal(replicated_finish(run), 0);
    replicated_end(run);
    size_t bytes = read_file(name, &got);
    if (i == 0) {
      expected = got;
      size = bytes;
    } else {
      assert_int_equal(bytes, size);
      assert_memory_equal(got, expected, size);
      free(got);
    }
    options.strategy = some[(i + 1) % SOME];
    replicated_begin(run, &options, 1);
    run->flags.checkpoint_dir = folder;
    run->flags.resume = true;
    run->flags.save = path;
    assert_int_equal(replicated_finish(run), 0);
    assert_non_null(strstr(run->out, "at step 7\n"));
    struct outcome outcome;
    keep(run, &outcome);
    expect_same(&outcome, &single);
    remove_folder(NULL);
    assert_int_equal(mkdir(folder, 0700), 0);
  }
  free(expected);
  free(single.saved);
}

static struct outcome evaluate_saved(const struct sample_options *options, const char *init) {
  struct replicated *run = calloc(1, sizeof *run);
  struct outcome outcome = {0};
  replicated_begin(run, options, 2);
  run->flags.init = init;
  run->flags.eval_only = true;
  assert_int_equal(replicated_finish(run), 0);
  snprintf(outcome.line, sizeof outcome.line, "%s", run->out);
  replicated_end(run);
  free(run);
  return outcome;
}

static void saved_values_are_scattered(void **state) {
  (void)state;
  struct sample_options options = options_for_all();
  struct outcome trained = run_whole(&options, 1);
  struct outcome single = evaluate_saved(&options, path);
  assert_string_equal(single.line, trained.line);
  for (size_t i = 0; i < SOME; i++) {
    options.strategy = some[i];
    struct outcome outcome = evaluate_saved(&options, path);
    assert_string_equal(outcome.line, single.line);
  }
  free(trained.saved);
}

/* ---- failures ---- */

static void expect_failure(const struct sample_options *options, const struct dtr_error *expected,
                           bool eval_only) {
  for (size_t i = 0; i < SOME; i++)
    for (uint64_t seed = 0; seed < 3; seed++) {
      struct replicated *run = calloc(1, sizeof *run);
      struct sample_options with = *options;
      with.strategy = some[i];
      replicated_begin(run, &with, 1);
      run->flags.eval_only = eval_only;
      run->flags.checkpoint_dir = NULL;
      int status = seed == 0 ? replicated_finish(run) : replicated_finish_alone(run, seed);
      const struct dtr_error *error = dtr_task_error(replicated_task(run));
      assert_int_equal(status, dtr_status_exit(expected->status));
      assert_string_equal(error->message, expected->message);
      assert_string_equal(error->where, expected->where);
      assert_int_equal(error->step, expected->step);
      assert_true(error->task[0] != 0);
      replicated_end(run);
      free(run);
    }
}

static struct dtr_error failure_of_one(const struct sample_options *options, bool eval_only) {
  struct replicated *run = calloc(1, sizeof *run);
  replicated_begin(run, options, 1);
  run->flags.eval_only = eval_only;
  assert_int_equal(replicated_finish(run), 1);
  struct dtr_error error = *dtr_task_error(replicated_task(run));
  replicated_end(run);
  free(run);
  return error;
}

static void a_nan_ends_every_task(void **state) {
  (void)state;
  struct sample_options options = options_for_all();
  for (int64_t shard = 0; shard < 12; shard += 5) {
    options.nan_step = 9;
    options.nan_shard = shard;
    struct dtr_error expected = failure_of_one(&options, false);
    expect_failure(&options, &expected, false);
  }
}

/* Which of the bad labels is told depends on who meets one first. */
static void a_label_out_of_range_ends_every_task(void **state) {
  (void)state;
  struct sample_options options = options_for_all();
  options.test_labels = 6;
  struct dtr_error expected = failure_of_one(&options, true);
  assert_non_null(strstr(expected.message, "of test_set is out of range"));
  for (size_t i = 0; i < SOME; i++) {
    struct replicated *run = calloc(1, sizeof *run);
    options.strategy = some[i];
    replicated_begin(run, &options, 1);
    run->flags.eval_only = true;
    assert_int_equal(replicated_finish(run), 1);
    assert_non_null(
        strstr(dtr_task_error(replicated_task(run))->message, "of test_set is out of range"));
    replicated_end(run);
    free(run);
  }
}

static void infinite_inputs_end_every_task(void **state) {
  (void)state;
  struct sample_options options = options_for_all();
  options.x_scale = INFINITY;
  for (size_t i = 0; i < SOME; i++) {
    struct replicated *run = calloc(1, sizeof *run);
    options.strategy = some[i];
    replicated_begin(run, &options, 1);
    assert_int_equal(replicated_finish(run), 1);
    assert_non_null(strstr(dtr_task_error(replicated_task(run))->message,
                           "the first tensor that is not finite is the input x"));
    replicated_end(run);
    free(run);
  }
}

/* ---- stopping ---- */

static void stopping_keeps_one_step_for_all(void **state) {
  (void)state;
  struct sample_options options = options_for_all();
  struct outcome single = run_whole(&options, 1);
  for (size_t i = 0; i < SOME; i++) {
    struct replicated *run = calloc(1, sizeof *run);
    struct dtr_error error;
    options.strategy = some[i];
    replicated_begin(run, &options, 1);
    run->flags.checkpoint_dir = folder;
    assert_true(replicated_make(run, &error));
    for (uint32_t g = 0; replicated_task(run)->step < 5; g++)
      dtr_job_poll(run->job, g % dtr_job_groups(run->job));
    dtr_task_stop(replicated_task(run), "SIGINT");
    assert_int_equal(replicated_finish_alone(run, i), 1);
    assert_string_equal(dtr_task_error(replicated_task(run))->message,
                        "stopped by SIGINT after step 5 of 12");
    replicated_end(run);
    options.strategy = (struct sample_strategy){0};
    replicated_begin(run, &options, 1);
    run->flags.checkpoint_dir = folder;
    run->flags.resume = true;
    run->flags.save = path;
    assert_int_equal(replicated_finish(run), 0);
    struct outcome outcome;
    keep(run, &outcome);
    expect_same(&outcome, &single);
    remove_folder(NULL);
    assert_int_equal(mkdir(folder, 0700), 0);
  }
  free(single.saved);
}

/* ---- the bill ---- */

static int64_t bytes_of(struct replicated *run, enum dtr_channel_kind kind, uint32_t from,
                        uint32_t to) {
  return dtr_job_traffic(run->job, kind, from, to).bytes;
}

static void payload_is_what_the_slices_are(void **state) {
  (void)state;
  struct replicated *run = calloc(1, sizeof *run);
  struct sample_options options = sample_defaults();
  int64_t parameters = (24 + 20 * 24 + 5 + 24 * 5) * 4, state_bytes = 4, steps = 8;
  options.shards = 6;
  options.epochs = options.evaluate_epochs = 0;
  options.steps = steps;
  options.strategy = (struct sample_strategy){.ps = 1, .workers = 2, .cpu = 1, .in_graph = true};
  replicated_begin(run, &options, 1);
  assert_int_equal(replicated_finish(run), 0);
  for (uint32_t worker = 1; worker <= 2; worker++) {
    /* Blocks of 3 of 6 shards: two subtrees each. */
    assert_int_equal(bytes_of(run, DTR_CHANNEL_PUSH, worker, 0),
                     2 * steps * (parameters + state_bytes));
    assert_int_equal(bytes_of(run, DTR_CHANNEL_PUBLISH, 0, worker),
                     (steps + 1) * (parameters + state_bytes));
  }
  assert_int_equal(bytes_of(run, DTR_CHANNEL_FEED, 1, 1), 0);
  /* 12 of 24 rows; then the last evaluation: 70 examples are 17 chunks of 4 and 2 of 1; the second
   * replica has chunks 3..5, 9..11 and 15..17. */
  assert_int_equal(bytes_of(run, DTR_CHANNEL_FEED, 1, 2), (steps * 12 + 33) * (20 + 1) * 4);
  assert_int_equal(bytes_of(run, DTR_CHANNEL_FETCH, 2, 1), steps * 2 * 2 * 4);
  replicated_end(run);
  free(run);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_strategy_gives_the_same_bits),
      cmocka_unit_test(any_order_of_polls_gives_the_same_bits),
      cmocka_unit_test(any_strategy_goes_on_from_any_checkpoint),
      cmocka_unit_test(saved_values_are_scattered),
      cmocka_unit_test(a_nan_ends_every_task),
      cmocka_unit_test(a_label_out_of_range_ends_every_task),
      cmocka_unit_test(infinite_inputs_end_every_task),
      cmocka_unit_test(stopping_keeps_one_step_for_all),
      cmocka_unit_test(payload_is_what_the_slices_are),
  };
  return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
