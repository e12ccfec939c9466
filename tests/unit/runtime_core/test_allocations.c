/* After the first step nothing of ours allocates. Linked with --wrap for every way to allocate. */
#include "replicated.h"
#include "run.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static _Atomic bool armed;
static _Atomic int allocations;

static void count(void) {
  if (armed)
    allocations++;
}

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *memory, size_t size);
void *__real_aligned_alloc(size_t alignment, size_t size);
int __real_posix_memalign(void **memory, size_t alignment, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *memory, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);
int __wrap_posix_memalign(void **memory, size_t alignment, size_t size);

void *__wrap_malloc(size_t size) {
  count();
  return __real_malloc(size);
}

void *__wrap_calloc(size_t number, size_t size) {
  count();
  return __real_calloc(number, size);
}

void *__wrap_realloc(void *memory, size_t size) {
  count();
  return __real_realloc(memory, size);
}

void *__wrap_aligned_alloc(size_t alignment, size_t size) {
  count();
  return __real_aligned_alloc(alignment, size);
}

int __wrap_posix_memalign(void **memory, size_t alignment, size_t size) {
  count();
  return __real_posix_memalign(memory, alignment, size);
}

/* Training, evaluation during it and at its end, log and trace. */
static void steps_and_evaluations_allocate_nothing(void **state) {
  (void)state;
  for (int threads = 1; threads <= 3; threads++) {
    struct run *run = calloc(1, sizeof *run);
    struct sample_options options = sample_defaults();
    run_begin(run, &options, threads);
    run->flags.log = "/dev/null";
    run->flags.trace = "/dev/null";
    while (!run->task || run->task->step < 1)
      assert_true(run_poll(run));
    allocations = 0;
    armed = true;
    assert_int_equal(run_finish(run), 0);
    armed = false;
    assert_int_equal(allocations, 0);
    run_end(run);
    free(run);
  }
}

/* Replicated: polled by one thread, so that the first step is seen to end everywhere. The chief has
 * made two steps, so each party has made one. */
static void replicas_and_owners_allocate_nothing(void **state) {
  (void)state;
  static const struct sample_strategy strategies[] = {
      {.ps = 2, .workers = 2, .cpu = 1, .split = true},
      {.ps = 1, .workers = 3, .cpu = 1, .in_graph = true},
      {.workers = 1, .cpu = 2, .mirrored = true},
      {.ps = 1, .workers = 2, .cpu = 1, .backup = 1},
      {.ps = 1, .workers = 2, .cpu = 1, .is_async = true, .staleness = 2}};
  for (size_t i = 0; i < sizeof strategies / sizeof *strategies; i++) {
    struct replicated *run = calloc(1, sizeof *run);
    struct dtr_error error;
    struct sample_options options = sample_defaults();
    options.strategy = strategies[i];
    replicated_begin(run, &options, 2);
    run->flags.log = "/dev/null";
    run->flags.trace = "/dev/null";
    assert_true(replicated_make(run, &error));
    for (uint32_t g = 0; replicated_task(run)->step < 2; g++)
      dtr_job_poll(run->job, g % dtr_job_groups(run->job));
    allocations = 0;
    armed = true;
    int status = replicated_finish_alone(run, i);
    armed = false;
    assert_int_equal(status, 0);
    assert_int_equal(allocations, 0);
    replicated_end(run);
    free(run);
  }
}

/* The counter itself. */
static void an_allocation_would_be_seen(void **state) {
  (void)state;
  allocations = 0;
  armed = true;
  struct dtr_pool *pool;
  struct dtr_error error;
  dtr_error_clear(&error);
  assert_true(dtr_pool_new(1, &pool, &error));
  armed = false;
  assert_true(allocations > 0);
  dtr_pool_free(pool);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(steps_and_evaluations_allocate_nothing),
      cmocka_unit_test(replicas_and_owners_allocate_nothing),
      cmocka_unit_test(an_allocation_would_be_seen),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
