/* The same bits under every strategy, whoever polls in whatever order. */
#include "replicated.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
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

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_strategy_gives_the_same_bits),
      cmocka_unit_test(any_order_of_polls_gives_the_same_bits),
  };
  return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
