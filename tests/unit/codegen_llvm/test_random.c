// Compiled kernels against the interpreter, on seeded random kernels and data: every instruction
// set that this machine runs, and every way of cutting the parallel loop.
#include "compiled.h"
#include "generate.h"

#include "compiler/base/arena.h"
#include "compiler/base/strbuf.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>

#include <cmocka.h>

enum { MAX_BUFFERS = 24 };

static uint64_t first_seed = 1;
static uint32_t seeds_per_family = 16;

struct memory {
  char *data[MAX_BUFFERS];
  size_t size[MAX_BUFFERS];
  uint32_t count;
};

static float draw_float(struct cg_random *random) {
  static const float edges[] = {0.0f,    -0.0f, 1.0f,        -1.0f,      INFINITY, -INFINITY,
                                NAN,     0.5f,  1e-40f,      -3e-45f,    3e38f,    2147483648.0f,
                                -2.5e9f, 1e20f, 0.99999994f, 16777216.0f};
  if (cg_random_below(random, 12) == 0)
    return edges[cg_random_below(random, 16)];
  return ((float)(int32_t)cg_random_next(random)) * 0x1p-28f;
}

// Reductions are compared relative to the largest input, so these stay tame.
static float draw_tame(struct cg_random *random) {
  return ((float)(int32_t)cg_random_next(random)) * 0x1p-31f;
}

static void fill_element(struct cg_random *random, const struct cg_sample *sample,
                         enum dtg_dtype dtype, char *to) {
  float f = sample->tolerance.exact || sample->tolerance.relative == 0 ? draw_float(random)
                                                                       : draw_tame(random);
  double d = (double)f * (1 + 0x1p-40);
  uint32_t bits;
  uint64_t any = cg_random_next(random);
  int64_t l = (int64_t)(any % (uint64_t)sample->index_limit);
  int32_t i = (int32_t)l;
  uint8_t u = (uint8_t)any;
  switch (dtype) {
  case DTG_F32:
    memcpy(to, &f, 4);
    break;
  case DTG_F64:
    memcpy(to, &d, 8);
    break;
  case DTG_BF16:
    memcpy(&bits, &f, 4);
    bits >>= 16;
    memcpy(to, &bits, 2);
    break;
  case DTG_I32:
    memcpy(to, &i, 4);
    break;
  case DTG_I64:
    memcpy(to, &l, 8);
    break;
  case DTG_U8:
    *to = (char)u;
    break;
  default:
    *to = (char)(u & 1);
    break;
  }
}

static void memory_make(struct memory *memory, const struct cg_sample *sample, uint64_t seed) {
  struct cg_random random = {seed};
  memory->count = (uint32_t)sample->kernel->buffers.len;
  assert_true(memory->count <= MAX_BUFFERS);
  for (uint32_t i = 0; i < memory->count; i++) {
    const struct cg_buffer *buffer = &sample->kernel->buffers.data[i];
    size_t element = dtg_dtype_size(buffer->dtype);
    memory->size[i] = (size_t)buffer->elements * element;
    memory->data[i] = cg_guarded_new(memory->size[i]);
    for (int64_t j = 0; j < buffer->elements; j++)
      fill_element(&random, sample, buffer->dtype, memory->data[i] + (size_t)j * element);
  }
}

static void memory_free(struct memory *memory) {
  for (uint32_t i = 0; i < memory->count; i++)
    cg_guarded_free(memory->data[i], memory->size[i]);
}

static double read_float(enum dtg_dtype dtype, const char *from) {
  float f = 0;
  double d = 0;
  uint16_t h;
  uint32_t bits;
  switch (dtype) {
  case DTG_F32:
    memcpy(&f, from, 4);
    return (double)f;
  case DTG_F64:
    memcpy(&d, from, 8);
    return d;
  default:
    memcpy(&h, from, 2);
    bits = (uint32_t)h << 16;
    memcpy(&f, &bits, 4);
    return (double)f;
  }
}

static double ulp_of(enum dtg_dtype dtype, double value) {
  int exponent;
  frexp(value, &exponent);
  int least = dtype == DTG_F32 ? -149 : -1074;
  int ulp = exponent - (dtype == DTG_F32 ? 24 : 53);
  return ldexp(1, ulp < least ? least : ulp);
}

static bool near(const struct cg_tolerance *tolerance, enum dtg_dtype dtype, const char *want,
                 const char *got) {
  size_t size = dtg_dtype_size(dtype);
  if (memcmp(want, got, size) == 0)
    return true;
  if (!dtg_dtype_is_float(dtype))
    return false;
  double w = read_float(dtype, want), g = read_float(dtype, got);
  if (isnan(w) || isnan(g))
    return isnan(w) && isnan(g);
  if (tolerance->exact)
    return false;
  if (isinf(w) || isinf(g))
    return w == g;
  if (tolerance->relative > 0)
    return fabs(w - g) <= tolerance->relative * (1 + fabs(w));
  return fabs(w - g) <= 5 * ulp_of(dtype, w); // bound of the interpreter's and of ours
}

static void compare(const struct cg_sample *sample, const struct memory *want,
                    const struct memory *got, const struct cg_tolerance *tolerance,
                    const char *what, uint64_t seed) {
  for (uint32_t i = 0; i < want->count; i++) {
    enum dtg_dtype dtype = sample->kernel->buffers.data[i].dtype;
    size_t size = dtg_dtype_size(dtype);
    for (size_t at = 0; at < want->size[i]; at += size) {
      if (near(tolerance, dtype, want->data[i] + at, got->data[i] + at))
        continue;
      struct dtg_strbuf text = {0};
      cg_kernel_print(sample->kernel, &text);
      fail_msg("seed %llu, %s: buffer %u element %zu: want %a, got %a\n%s",
               (unsigned long long)seed, what, i, at / size,
               dtg_dtype_is_float(dtype) ? read_float(dtype, want->data[i] + at) : 0.0,
               dtg_dtype_is_float(dtype) ? read_float(dtype, got->data[i] + at) : 0.0,
               dtg_strbuf_text(&text));
    }
  }
}

// Runs [0, tiles) in pieces cut at random, or as a whole.
static struct dtr_fault run(dtr_kernel_fn *function, const struct cg_sample *sample,
                            struct memory *memory, struct cg_random *cuts) {
  struct dtr_fault fault = {0, 0, 0};
  int64_t tiles = sample->kernel->tiles;
  for (int64_t begin = 0, end; begin < tiles; begin = end) {
    end = cuts ? begin + 1 + cg_random_below(cuts, (uint32_t)tiles) : tiles;
    end = end < tiles ? end : tiles;
    function(memory->data, &fault, begin, end);
  }
  return fault;
}

static void check_sample(const struct cg_compiled *compiled, const struct cg_sample *sample,
                         const char *arch, uint64_t seed) {
  static const struct cg_tolerance equal = {.exact = true};
  struct memory want, got, cut;
  int64_t want_fault[3] = {0, 0, 0};
  memory_make(&want, sample, seed);
  memory_make(&got, sample, seed);
  memory_make(&cut, sample, seed);
  cg_kernel_interpret_fault(sample->kernel, (void *const *)want.data, want_fault);
  dtr_kernel_fn *function = cg_compiled_find(compiled, sample->kernel->name);
  struct dtr_fault fault = run(function, sample, &got, NULL);
  compare(sample, &want, &got, &sample->tolerance, arch, seed);
  assert_int_equal(fault.code != 0, want_fault[0] != 0);
  struct cg_random cuts = {seed ^ 77};
  run(function, sample, &cut, &cuts);
  compare(sample, &got, &cut, &equal, "cut into pieces", seed);
  memory_free(&want);
  memory_free(&got);
  memory_free(&cut);
}

static void check_arch(const char *arch, struct cg_sample *samples, const uint64_t *seeds,
                       uint32_t count) {
  const struct cg_kernel **kernels = calloc(count, sizeof *kernels);
  assert_non_null(kernels);
  for (uint32_t i = 0; i < count; i++)
    kernels[i] = samples[i].kernel;
  struct cg_compiled compiled = cg_compile(kernels, count, arch);
  for (uint32_t i = 0; i < count; i++)
    check_sample(&compiled, &samples[i], arch, seeds[i]);
  cg_compiled_free(&compiled);
  free(kernels);
}

static void test_random_kernels(void **state) {
  (void)state;
  uint32_t count = cg_family_count() * seeds_per_family;
  struct cg_sample *samples = calloc(count, sizeof *samples);
  uint64_t *seeds = calloc(count, sizeof *seeds);
  assert_true(samples && seeds);
  struct dtg_arena arena;
  dtg_arena_init(&arena);
  print_message("seeds %llu to %llu of each family\n", (unsigned long long)first_seed,
                (unsigned long long)first_seed + seeds_per_family - 1);
  for (uint32_t i = 0; i < count; i++) {
    uint32_t family = i / seeds_per_family;
    seeds[i] = first_seed + i % seeds_per_family;
    char *name = dtg_arena_printf(&arena, "k%u_%s", i, cg_family_name(family));
    samples[i] = cg_generate(&arena, family, seeds[i], name);
  }
  for (const char *const *arch = cg_runnable_archs(); *arch; arch++)
    check_arch(*arch, samples, seeds, count);
  free(samples);
  free(seeds);
  dtg_arena_free(&arena);
}

static void test_deterministic(void **state) {
  (void)state;
  struct dtg_arena arenas[2];
  struct cg_llvm_output output[2];
  struct dtg_strbuf why = {0};
  for (int i = 0; i < 2; i++) {
    dtg_arena_init(&arenas[i]);
    const struct cg_kernel *kernels[12];
    for (uint32_t j = 0; j < cg_family_count(); j++)
      kernels[j] = cg_generate(&arenas[i], j, 5, cg_family_name(j)).kernel;
    assert_true(
        cg_llvm_emit(&arenas[i], kernels, cg_family_count(), "x86-64-v3", 2, &output[i], &why));
  }
  assert_int_equal(output[0].object_size, output[1].object_size);
  assert_memory_equal(output[0].object, output[1].object, output[0].object_size);
  assert_string_equal(output[0].text, output[1].text);
  assert_null(strstr(output[0].text, " fast "));
  assert_null(strstr(output[0].text, " contract "));
  dtg_arena_free(&arenas[0]);
  dtg_arena_free(&arenas[1]);
}

static void test_unknown_arch(void **state) {
  (void)state;
  struct dtg_arena arena;
  struct dtg_strbuf why = {0};
  struct cg_llvm_output output;
  dtg_arena_init(&arena);
  assert_false(cg_llvm_emit(&arena, NULL, 0, "x86-64-v5", 2, &output, &why));
  assert_string_equal(dtg_strbuf_text(&why),
                      "no instruction set 'x86-64-v5': x86-64, x86-64-v2, x86-64-v3, x86-64-v4 "
                      "and native are known");
  assert_null(cg_llvm_find_arch("x86-64-v5"));
  assert_string_equal(cg_llvm_find_arch("native"), cg_llvm_native_arch());
  dtg_strbuf_free(&why);
  dtg_arena_free(&arena);
}

// Arguments: first seed, seeds per family.
int main(int argc, char **argv) {
  if (argc > 1)
    first_seed = strtoull(argv[1], NULL, 10);
  if (argc > 2)
    seeds_per_family = (uint32_t)strtoul(argv[2], NULL, 10);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_random_kernels),
      cmocka_unit_test(test_deterministic),
      cmocka_unit_test(test_unknown_arch),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
