/* What a step costs beside its kernels: a classifier at batch 1, run by the runtime and by a bare
 * loop that calls the same functions on the same data. The bits must agree; the times are printed.
 */
#include "run.h"

#include "runtime/init.h"
#include "runtime/memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { STEPS = 20000, WINDOW = 500 }; /* the fastest window counts: others may use the machine */

static struct sample_options small(void) {
  struct sample_options options = sample_defaults();
  options.batch = 1;
  options.shards = 1;
  options.width = 64;
  options.hidden = 32;
  options.classes = 10;
  options.evaluate_epochs = 0;
  options.epochs = 0;
  options.steps = STEPS;
  options.rate = 0.001;
  return options;
}

/* Before step `step`. */
static void window_begins(int64_t step, int64_t *begin, int64_t *best) {
  if (step % WINDOW != 0)
    return;
  int64_t now = dtr_env_now(dtr_env_real());
  if (step >= 2 * WINDOW && now - *begin < *best)
    *best = now - *begin;
  *begin = now;
}

/* Nanoseconds of the fastest window; `rows` are those that the runtime would feed, in its order. */
static int64_t run_bare(const struct dtr_program *program, const struct dtr_data *data,
                        char *variables) {
  struct dtr_error error;
  char why[256];
  dtr_error_clear(&error);
  struct dtr_library_calls calls = dtr_library_calls_of(program);
  struct dtr_library *library = dtr_library_new(&calls, program->cpu_arch, why, sizeof why);
  assert_non_null(library);
  assert_true(dtr_init_variables(program, program->train.seed, variables, &error));
  char *arena = dtr_memory_new(program->shard.arena_bytes);
  char *contribution = dtr_memory_new(program->contribution_bytes);
  int64_t count = dtr_data_count(data), row = dtr_memory_round(dtr_data_scratch(data, 1)) + 64;
  char *scratch = dtr_memory_new(row * STEPS);
  char **feeds = calloc(2 * STEPS, sizeof *feeds);
  for (int64_t i = 0; i < STEPS; i++)
    dtr_data_view(data, i / count, i % count, 1, scratch + i * row, feeds + 2 * i);
  struct dtr_scalars scalars = {.total_steps = STEPS, .seed = program->train.seed};
  struct dtr_frame frame = {.arena = arena,
                            .variables = variables,
                            .contribution = contribution,
                            .scalars = &scalars,
                            .program = program,
                            .library = library,
                            .plain = true};
  int64_t begin = 0, time = INT64_MAX;
  for (int64_t i = 0; i < STEPS; i++) {
    window_begins(i, &begin, &time);
    scalars.step = i;
    scalars.updates = i + 1;
    frame.feeds = feeds + 2 * i;
    program->shard.run(&frame);
    program->update.run(&frame);
  }
  window_begins(STEPS, &begin, &time);
  dtr_library_free(library);
  dtr_memory_free(arena);
  dtr_memory_free(contribution);
  dtr_memory_free(scratch);
  free(feeds);
  return time;
}

static void a_step_is_its_kernels(void **state) {
  (void)state;
  struct sample_options options = small();
  struct run *run = calloc(1, sizeof *run);
  run_begin(run, &options, 1);
  run->flags.quiet = true;
  while (!run->task || run->task->step < 1)
    assert_true(run_poll(run));
  int64_t begin = 0, time = INT64_MAX;
  for (int64_t i = 1; i < STEPS; i++) {
    window_begins(i, &begin, &time);
    run_poll(run);
  }
  assert_int_equal(run->task->step, STEPS);
  window_begins(STEPS, &begin, &time);
  char *variables = dtr_memory_new(run->program->variables_bytes);
  int64_t bare = run_bare(run->program, run->task->data, variables);
  assert_memory_equal(variables, run->task->executor->variables,
                      (size_t)run->program->variables_bytes);
  print_message("step: %.3f us, bare loop: %.3f us, overhead: %.3f us\n",
                (double)time / WINDOW / 1e3, (double)bare / WINDOW / 1e3,
                (double)(time - bare) / WINDOW / 1e3);
  dtr_memory_free(variables);
  run_end(run);
  free(run);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(a_step_is_its_kernels)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
