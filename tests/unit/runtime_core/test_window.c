/* Convolutions and poolings by the library against their meaning in kernel IR, on a table and on
 * random geometries; the same bytes on every call and every thread. */
#include "compiler/ir/kernel.h"
#include "compiler/program.h"
#include "dtr_library.h"

#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum {
  SEED = 20240601,
  RANDOM = 40,
  TABLE = 8,
  KINDS = CG_WINDOW_AVG_POOL_GRAD,
  CASES = RANDOM + TABLE * KINDS
};

static const char *arch;
static char why_not[100];
static struct cg_window cases[CASES];
static struct dtr_window calls[CASES];

/* x rows, columns, channels; y channels; kernel, stride, dilation, border before and after for rows
 * and columns; groups, batch, images of a tile. */
static const int64_t table[TABLE][19] = {
    {12, 12, 1, 6, 5, 5, 1, 1, 1, 1, 2, 2, 2, 2, 1, 3, 3},
    {9, 8, 3, 16, 3, 3, 2, 2, 1, 1, 1, 1, 1, 0, 1, 5, 2},
    {7, 11, 16, 32, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1, 1, 4, 3},
    {6, 6, 64, 64, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 1, 3, 1},
    {8, 8, 32, 32, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1, 32, 2, 2},
    {10, 5, 12, 12, 3, 2, 1, 2, 2, 1, 2, 0, 2, 1, 4, 2, 2},
    {1, 23, 5, 5, 1, 4, 1, 3, 1, 1, 0, 1, 0, 2, 5, 3, 2},
    {1, 1, 2, 4, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1, 2, 7, 4},
};

static uint64_t next(uint64_t *state) {
  *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return *state >> 33;
}

static int64_t between(uint64_t *state, int64_t low, int64_t high) {
  return low + (int64_t)(next(state) % (uint64_t)(high - low + 1));
}

static void finish(struct cg_window *w, enum cg_window_kind kind) {
  w->kind = kind;
  if (kind >= CG_WINDOW_MAX_POOL) {
    w->y_channels = w->x_channels;
    w->groups = 1;
    w->dilation[0] = w->dilation[1] = 1;
  }
  if (kind == CG_WINDOW_CONV_WEIGHTS)
    w->tile_images = w->batch;
  for (int i = 0; i < 2; i++) {
    int64_t span = (w->kernel[i] - 1) * w->dilation[i] + 1;
    w->before[i] = w->before[i] < span ? w->before[i] : span - 1;
    w->after[i] = w->after[i] < span ? w->after[i] : span - 1;
    if (w->x_size[i] + w->before[i] + w->after[i] < span)
      w->x_size[i] = span;
    w->y_size[i] = (w->x_size[i] + w->before[i] + w->after[i] - span) / w->stride[i] + 1;
  }
}

static struct cg_window from_table(const int64_t row[19]) {
  return (struct cg_window){.x_size = {row[0], row[1]},
                            .x_channels = row[2],
                            .y_channels = row[3],
                            .kernel = {row[4], row[5]},
                            .stride = {row[6], row[7]},
                            .dilation = {row[8], row[9]},
                            .before = {row[10], row[11]},
                            .after = {row[12], row[13]},
                            .groups = row[14],
                            .batch = row[15],
                            .tile_images = row[16]};
}

static struct cg_window draw(uint64_t *state) {
  struct cg_window w = {.batch = between(state, 1, 6), .groups = between(state, 1, 4)};
  w.tile_images = between(state, 1, w.batch);
  w.x_channels = w.groups * between(state, 1, 9);
  w.y_channels = w.groups * between(state, 1, 9);
  for (int i = 0; i < 2; i++) {
    w.x_size[i] = between(state, 1, 14);
    w.kernel[i] = between(state, 1, 5);
    w.stride[i] = between(state, 1, 3);
    w.dilation[i] = between(state, 1, 2);
    w.before[i] = between(state, 0, 3);
    w.after[i] = between(state, 0, 3);
  }
  finish(&w, (enum cg_window_kind)between(state, CG_WINDOW_CONV, KINDS));
  return w;
}

static void make_cases(uint64_t state) {
  int count = 0;
  for (int i = 0; i < TABLE; i++)
    for (int kind = CG_WINDOW_CONV; kind <= KINDS; kind++, count++) {
      cases[count] = from_table(table[i]);
      finish(&cases[count], (enum cg_window_kind)kind);
    }
  while (count < CASES)
    cases[count++] = draw(&state);
  for (int i = 0; i < CASES; i++) {
    calls[i] = dtg_program_window(&cases[i]);
    calls[i].scratch_bytes = dtr_library_window_scratch(&calls[i], arch);
    if (calls[i].scratch_bytes < 0)
      fail_msg("case %d is refused", i);
  }
}

/* ---- data ---- */

struct data {
  int count;
  int64_t elements[3];
  float *buffers[3];
  float *expected; /* of the last buffer */
};

static void sizes_of(const struct cg_window *w, int64_t out[3]) {
  int64_t x = w->batch * w->x_size[0] * w->x_size[1] * w->x_channels;
  int64_t y = w->batch * w->y_size[0] * w->y_size[1] * w->y_channels;
  int64_t k = w->kernel[0] * w->kernel[1] * (w->x_channels / w->groups) * w->y_channels;
  const int64_t all[][3] = {
      [CG_WINDOW_CONV] = {x, k, y},          [CG_WINDOW_CONV_DATA] = {y, k, x},
      [CG_WINDOW_CONV_WEIGHTS] = {x, y, k},  [CG_WINDOW_MAX_POOL] = {x, y, 0},
      [CG_WINDOW_MAX_POOL_GRAD] = {x, y, x}, [CG_WINDOW_AVG_POOL] = {x, y, 0},
      [CG_WINDOW_AVG_POOL_GRAD] = {y, x, 0},
  };
  memcpy(out, all[w->kind], sizeof all[0]);
}

static float *aligned(int64_t elements) {
  size_t bytes = ((size_t)elements * sizeof(float) + 63) / 64 * 64;
  float *out = aligned_alloc(64, bytes);
  assert_non_null(out);
  memset(out, 0x7f, bytes); /* what is not written shows */
  return out;
}

/* Small integers: sums are exact, and ties of the maximum happen. */
static struct data make_data(const struct cg_window *w) {
  struct data d = {.count = (int)cg_window_buffers(w->kind)};
  uint64_t state = 7;
  sizes_of(w, d.elements);
  for (int i = 0; i < d.count; i++) {
    d.buffers[i] = aligned(d.elements[i]);
    for (int64_t j = 0; i + 1 < d.count && j < d.elements[i]; j++)
      d.buffers[i][j] = (float)between(&state, -9, 9);
  }
  d.expected = aligned(d.elements[d.count - 1]);
  return d;
}

static void free_data(struct data *d) {
  for (int i = 0; i < d->count; i++)
    free(d->buffers[i]);
  free(d->expected);
}

static void compute(struct dtr_library *library, uint32_t index, struct data *d, char *scratch) {
  for (int64_t tile = dtr_library_window_tiles(&calls[index]); tile-- > 0;)
    assert_int_equal(
        dtr_library_window(library, index, tile, (char *const *)(void *)d->buffers, scratch), 0);
}

static int64_t largest_scratch(void) {
  int64_t bytes = 64;
  for (int i = 0; i < CASES; i++)
    bytes = calls[i].scratch_bytes > bytes ? calls[i].scratch_bytes : bytes;
  return (bytes + 63) / 64 * 64;
}

static struct dtr_library *open_library(void) {
  char why[300] = "";
  struct dtr_library_calls all = {.windows = calls, .window_count = CASES};
  struct dtr_library *library = dtr_library_new(&all, arch, why, sizeof why);
  if (!library)
    fail_msg("%s", why);
  return library;
}

/* ---- tests ---- */

static void calls_are_right(void **state) {
  (void)state;
  struct dtr_library *library = open_library();
  char *scratch = (char *)aligned(largest_scratch() / 4);
  for (uint32_t i = 0; i < CASES; i++) {
    struct data d = make_data(&cases[i]);
    void *buffers[3] = {d.buffers[0], d.buffers[1], d.buffers[2]};
    float *result = d.buffers[d.count - 1];
    buffers[d.count - 1] = d.expected;
    cg_window_interpret(&cases[i], buffers);
    compute(library, i, &d, scratch);
    for (int64_t j = 0; j < d.elements[d.count - 1]; j++)
      if (!(fabsf(result[j] - d.expected[j]) <= 1e-5f * (1 + fabsf(d.expected[j]))))
        fail_msg("case %u, %s, element %lld: %g, not %g", i, cg_window_name(cases[i].kind),
                 (long long)j, (double)result[j], (double)d.expected[j]);
    free_data(&d);
  }
  free(scratch);
  dtr_library_free(library);
}

struct job {
  float *results[CASES];
};

/* Every call twice, which must agree. */
static void *compute_all(void *context) {
  struct job *job = context;
  struct dtr_library *library = open_library();
  char *scratch = (char *)aligned(largest_scratch() / 4);
  for (int round = 0; round < 2; round++)
    for (uint32_t i = 0; i < CASES; i++) {
      struct data d = make_data(&cases[i]);
      size_t bytes = (size_t)d.elements[d.count - 1] * sizeof(float);
      for (int b = 0; b + 1 < d.count; b++) /* values whose sums round */
        for (int64_t j = 0; j < d.elements[b]; j++)
          d.buffers[b][j] *= 0.37f;
      compute(library, i, &d, scratch);
      if (round == 0) {
        job->results[i] = malloc(bytes);
        memcpy(job->results[i], d.buffers[d.count - 1], bytes);
      } else {
        assert_memory_equal(job->results[i], d.buffers[d.count - 1], bytes);
      }
      free_data(&d);
    }
  free(scratch);
  dtr_library_free(library);
  return NULL;
}

static void same_bits_on_every_thread(void **state) {
  (void)state;
  enum { THREADS = 3 };
  struct job jobs[THREADS] = {0};
  pthread_t threads[THREADS];
  for (int t = 0; t < THREADS; t++)
    assert_int_equal(pthread_create(&threads[t], NULL, compute_all, &jobs[t]), 0);
  for (int t = 0; t < THREADS; t++)
    assert_int_equal(pthread_join(threads[t], NULL), 0);
  for (uint32_t i = 0; i < CASES; i++) {
    int64_t sizes[3];
    sizes_of(&cases[i], sizes);
    size_t bytes = (size_t)sizes[cg_window_buffers(cases[i].kind) - 1] * sizeof(float);
    for (int t = 1; t < THREADS; t++)
      assert_memory_equal(jobs[0].results[i], jobs[t].results[i], bytes);
  }
  for (int t = 0; t < THREADS; t++)
    for (uint32_t i = 0; i < CASES; i++)
      free(jobs[t].results[i]);
}

/* Prints a hash of all results, as test_library does. */
static int print_digest(void) {
  struct job job;
  uint64_t hash = UINT64_C(14695981039346656037);
  compute_all(&job);
  for (uint32_t i = 0; i < CASES; i++) {
    int64_t sizes[3];
    sizes_of(&cases[i], sizes);
    const unsigned char *bytes = (const unsigned char *)job.results[i];
    for (int64_t j = 0; j < sizes[cg_window_buffers(cases[i].kind) - 1] * 4; j++)
      hash = (hash ^ bytes[j]) * UINT64_C(1099511628211);
    free(job.results[i]);
  }
  printf("%016llx\n", (unsigned long long)hash);
  return 0;
}

static void too_much_scratch_is_refused(void **state) {
  (void)state;
  char why[300] = "";
  for (uint32_t i = 0; i < CASES; i++) {
    struct dtr_window small = calls[i];
    struct dtr_library_calls one = {.windows = &small, .window_count = 1};
    if (small.scratch_bytes == 0)
      continue;
    small.scratch_bytes = 0;
    assert_null(dtr_library_new(&one, arch, why, sizeof why));
    assert_non_null(strstr(why, "bytes of scratch for the window call 0, the plan has 0"));
    return;
  }
  fail_msg("no case needs scratch");
}

/* With its name and what it reorders, and never its plain loops where there is a vector unit. */
static void calls_are_described(void **state) {
  (void)state;
  for (uint32_t i = 0; i < TABLE * KINDS; i++) {
    char text[100] = "";
    assert_true(dtr_library_window_text(&calls[i], arch, text, sizeof text));
    assert_true(strlen(text) > 3);
    if (strcmp(arch, "x86-64-v2") != 0 && cases[i].kind <= CG_WINDOW_CONV_WEIGHTS &&
        i / KINDS < 5 && strncmp(text, "ref", 3) == 0)
      fail_msg("case %u, %s: %s", i, cg_window_name(cases[i].kind), text);
  }
  assert_false(dtr_library_window_text(&calls[0], "pdp-11", why_not, sizeof why_not));
}

int main(int argc, char **argv) {
  if (argc < 2)
    return 2;
  arch = argv[1];
  make_cases(SEED);
  if (argc > 2)
    return print_digest();
  printf("seed %d, %d cases\n", SEED, CASES);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(calls_are_right),
      cmocka_unit_test(same_bits_on_every_thread),
      cmocka_unit_test(too_much_scratch_is_refused),
      cmocka_unit_test(calls_are_described),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
