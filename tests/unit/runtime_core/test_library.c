/* Every way the library is called, alone: right values, and the same bytes on every call, on every
 * thread and whatever number of threads OpenMP would like to use. */
#include "dtr_library.h"

#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const char *arch; /* the process can be limited to one instruction set only */

/* Shapes: batch-1 rows, shard-sized rows, weight gradients, degenerate axes, short last tiles. */
static struct dtr_gemm cases[] = {
    {.batch = 1, .m = 1, .n = 128, .k = 784, .tile_rows = 1, .row_tiles = 1},
    {.batch = 1, .m = 32, .n = 128, .k = 784, .tile_rows = 32, .row_tiles = 1},
    {.batch = 1, .m = 32, .n = 10, .k = 128, .tile_rows = 8, .row_tiles = 4},
    {.batch = 1,
     .m = 784,
     .n = 128,
     .k = 32,
     .transpose_a = true,
     .tile_rows = 100,
     .row_tiles = 8},
    {.batch = 1, .m = 784, .n = 128, .k = 1, .transpose_a = true, .tile_rows = 784, .row_tiles = 1},
    {.batch = 1, .m = 32, .n = 128, .k = 10, .transpose_b = true, .tile_rows = 32, .row_tiles = 1},
    {.batch = 1, .m = 1, .n = 784, .k = 128, .transpose_b = true, .tile_rows = 1, .row_tiles = 1},
    {.batch = 1, .m = 33, .n = 7, .k = 5, .beta = 1, .tile_rows = 16, .row_tiles = 3},
    {.batch = 1, .m = 1, .n = 1, .k = 1, .tile_rows = 1, .row_tiles = 1},
    {.batch = 1, .m = 9, .n = 1, .k = 17, .tile_rows = 4, .row_tiles = 3},
    {.batch = 1, .m = 9, .n = 1, .k = 17, .transpose_a = true, .tile_rows = 9, .row_tiles = 1},
    {.batch = 1,
     .m = 5,
     .n = 3,
     .k = 1,
     .transpose_a = true,
     .transpose_b = true,
     .beta = 1,
     .tile_rows = 5,
     .row_tiles = 1},
    {.batch = 1, .m = 1, .n = 9, .k = 1, .transpose_b = true, .tile_rows = 1, .row_tiles = 1},
    {.batch = 3,
     .m = 6,
     .n = 5,
     .k = 4,
     .stride_a = 24,
     .stride_b = 20,
     .stride_c = 30,
     .tile_rows = 4,
     .row_tiles = 2},
    {.batch = 3,
     .m = 6,
     .n = 5,
     .k = 4,
     .stride_a = 24,
     .stride_b = 0,
     .stride_c = 30,
     .transpose_a = true,
     .transpose_b = true,
     .tile_rows = 6,
     .row_tiles = 1},
    {.batch = 1, .m = 70, .n = 96, .k = 3000, .tile_rows = 32, .row_tiles = 3},
};
enum { CASES = sizeof cases / sizeof *cases };

struct data {
  int64_t count_a, count_b, count_c;
  float *a, *b, *c;
};

static void *allocate(int64_t bytes) {
  void *p = aligned_alloc(DTR_ALIGN, ((size_t)bytes + DTR_ALIGN) / DTR_ALIGN * DTR_ALIGN);
  assert_non_null(p);
  return p;
}

static float value_at(int64_t i, int64_t salt) {
  uint64_t x = (uint64_t)(i * 2654435761 + salt * 97531) * UINT64_C(0x9E3779B97F4A7C15);
  return (float)(int32_t)(x >> 33) / 1073741824.0f - 1.0f;
}

static struct dtr_library *library_of(const struct dtr_gemm *gemms, uint32_t count, char *why,
                                      size_t why_size) {
  struct dtr_library_calls calls = {.gemms = gemms, .gemm_count = count};
  return dtr_library_new(&calls, arch, why, why_size);
}

static struct data make_data(const struct dtr_gemm *g) {
  struct data d = {.count_a = (g->batch - 1) * g->stride_a + g->m * g->k,
                   .count_b = (g->batch - 1) * g->stride_b + g->k * g->n,
                   .count_c = (g->batch - 1) * g->stride_c + g->m * g->n};
  d.a = allocate(d.count_a * 4);
  d.b = allocate(d.count_b * 4);
  d.c = allocate(d.count_c * 4);
  for (int64_t i = 0; i < d.count_a; i++)
    d.a[i] = value_at(i, 1);
  for (int64_t i = 0; i < d.count_b; i++)
    d.b[i] = value_at(i, 2);
  for (int64_t i = 0; i < d.count_c; i++)
    d.c[i] = g->beta != 0 ? value_at(i, 3) : NAN;
  return d;
}

static void free_data(struct data *d) {
  free(d->a);
  free(d->b);
  free(d->c);
}

static void run_case(struct dtr_library *library, uint32_t index, struct data *d, char *scratch) {
  for (int64_t tile = dtr_library_gemm_tiles(&cases[index]); tile-- > 0;)
    assert_int_equal(dtr_library_gemm(library, index, tile, (const char *)d->a, (const char *)d->b,
                                      (char *)d->c, scratch),
                     0);
}

static int64_t plan_scratch(void) {
  int64_t largest = 0;
  for (uint32_t i = 0; i < CASES; i++) {
    cases[i].scratch_bytes = dtr_library_gemm_scratch(&cases[i], arch);
    assert_true(cases[i].scratch_bytes >= 0);
    if (cases[i].scratch_bytes > largest)
      largest = cases[i].scratch_bytes;
  }
  return largest;
}

static double expected_at(const struct dtr_gemm *g, const struct data *d, int64_t entry, int64_t i,
                          int64_t j) {
  const float *a = d->a + entry * g->stride_a, *b = d->b + entry * g->stride_b;
  double sum = g->beta != 0 ? (double)value_at(entry * g->stride_c + i * g->n + j, 3) : 0;
  for (int64_t p = 0; p < g->k; p++)
    sum += (double)a[g->transpose_a ? p * g->m + i : i * g->k + p] *
           (double)b[g->transpose_b ? j * g->k + p : p * g->n + j];
  return sum;
}

static void products_are_right(void **state) {
  (void)state;
  char why[200] = "", *scratch = allocate(plan_scratch());
  struct dtr_library *library = library_of(cases, CASES, why, sizeof why);
  assert_string_equal(why, "");
  assert_non_null(library);
  for (uint32_t i = 0; i < CASES; i++) {
    const struct dtr_gemm *g = &cases[i];
    struct data d = make_data(g);
    run_case(library, i, &d, scratch);
    for (int64_t e = 0; e < g->batch; e++)
      for (int64_t r = 0; r < g->m; r++)
        for (int64_t j = 0; j < g->n; j++) {
          double want = expected_at(g, &d, e, r, j);
          double got = (double)d.c[e * g->stride_c + r * g->n + j];
          if (!(fabs(got - want) <= 1e-6 * (double)(g->k + 4)))
            fail_msg("case %u, element %lld, %lld: %g, expected %g", i, (long long)r, (long long)j,
                     got, want);
        }
    free_data(&d);
  }
  dtr_library_free(library);
  free(scratch);
}

struct job {
  int64_t scratch_bytes;
  float *results[CASES];
};

static void *compute_all(void *argument) {
  struct job *job = argument;
  char why[200], *scratch = allocate(job->scratch_bytes);
  struct dtr_library *library = library_of(cases, CASES, why, sizeof why);
  assert_non_null(library);
  for (int round = 0; round < 2; round++)
    for (uint32_t i = 0; i < CASES; i++) {
      struct data d = make_data(&cases[i]);
      run_case(library, i, &d, scratch);
      if (round == 0) {
        job->results[i] = d.c;
        d.c = NULL;
      } else {
        assert_memory_equal(job->results[i], d.c, (size_t)d.count_c * 4);
      }
      free_data(&d);
    }
  dtr_library_free(library);
  free(scratch);
  return NULL;
}

static void same_bits_on_every_thread(void **state) {
  (void)state;
  enum { THREADS = 3 };
  struct job jobs[THREADS] = {0};
  pthread_t threads[THREADS];
  int64_t scratch = plan_scratch();
  for (int t = 0; t < THREADS; t++) {
    jobs[t].scratch_bytes = scratch;
    assert_int_equal(pthread_create(&threads[t], NULL, compute_all, &jobs[t]), 0);
  }
  for (int t = 0; t < THREADS; t++)
    assert_int_equal(pthread_join(threads[t], NULL), 0);
  for (uint32_t i = 0; i < CASES; i++) {
    struct data d = make_data(&cases[i]);
    for (int t = 1; t < THREADS; t++)
      assert_memory_equal(jobs[0].results[i], jobs[t].results[i], (size_t)d.count_c * 4);
    free_data(&d);
  }
  for (int t = 0; t < THREADS; t++)
    for (uint32_t i = 0; i < CASES; i++)
      free(jobs[t].results[i]);
}

/* Prints a hash of all results; the test that runs this compares it for several OMP_NUM_THREADS. */
static int print_digest(void) {
  struct job job = {.scratch_bytes = plan_scratch()};
  uint64_t hash = UINT64_C(14695981039346656037);
  compute_all(&job);
  for (uint32_t i = 0; i < CASES; i++) {
    struct data d = make_data(&cases[i]);
    const unsigned char *bytes = (const unsigned char *)job.results[i];
    for (int64_t j = 0; j < d.count_c * 4; j++)
      hash = (hash ^ bytes[j]) * UINT64_C(1099511628211);
    free_data(&d);
    free(job.results[i]);
  }
  printf("%016llx\n", (unsigned long long)hash);
  return 0;
}

static void too_much_scratch_is_refused(void **state) {
  (void)state;
  char why[300] = "";
  plan_scratch();
  for (uint32_t i = 0; i < CASES; i++)
    if (cases[i].scratch_bytes > 0) {
      struct dtr_gemm small = cases[i];
      small.scratch_bytes--;
      assert_null(library_of(&small, 1, why, sizeof why));
      assert_non_null(strstr(why, "bytes of scratch for the matrix product 0, the plan has"));
      return;
    }
  skip(); /* no product of this instruction set needs scratch */
}

static void unknown_architecture_is_refused(void **state) {
  (void)state;
  assert_int_equal(dtr_library_gemm_scratch(&cases[0], "pdp-11"), -1);
}

/* Strides of axes of one element do not count when oneDNN looks into its cache of products: none
 * may be given another's needs, whichever came first. */
static void needs_do_not_depend_on_order(void **state) {
  (void)state;
  enum { SIZES = 3, ALL = 4 * SIZES * SIZES * SIZES };
  static const int64_t sizes[2][SIZES] = {{1, 3, 17},
                                          {1, 5, 18}}; /* the cache remembers the first */
  for (int reversed = 0; reversed < 2; reversed++) {
    struct dtr_gemm all[ALL];
    for (int i = 0; i < ALL; i++) {
      struct dtr_gemm *gemm = &all[reversed ? ALL - 1 - i : i];
      *gemm = (struct dtr_gemm){.batch = 1,
                                .m = sizes[reversed][i / 4 % SIZES],
                                .n = sizes[reversed][i / 4 / SIZES % SIZES],
                                .k = sizes[reversed][i / 4 / SIZES / SIZES],
                                .transpose_a = (i & 1) != 0,
                                .transpose_b = (i & 2) != 0,
                                .row_tiles = 1};
      gemm->tile_rows = gemm->m;
      gemm->scratch_bytes = dtr_library_gemm_scratch(gemm, arch);
    }
    char why[300] = "";
    struct dtr_library *library = library_of(all, ALL, why, sizeof why);
    assert_string_equal(why, "");
    assert_non_null(library);
    dtr_library_free(library);
  }
}

/* usage: test_library ARCH [--digest] */
int main(int argc, char **argv) {
  if (argc < 2)
    return 2;
  arch = argv[1];
  if (argc == 3 && strcmp(argv[2], "--digest") == 0)
    return print_digest();
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(needs_do_not_depend_on_order), /* first: the cache is still empty */
      cmocka_unit_test(products_are_right),
      cmocka_unit_test(same_bits_on_every_thread),
      cmocka_unit_test(too_much_scratch_is_refused),
      cmocka_unit_test(unknown_architecture_is_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
