// Compiled kernels against the interpreter, on seeded random kernels and data: every instruction
// set that this machine runs, and every way of cutting the parallel loop.
#include "compiled.h"
#include "sample_memory.h"

#include "compiler/base/arena.h"
#include "compiler/base/strbuf.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>

#include <cmocka.h>

static uint64_t first_seed = 1;
static uint32_t seeds_per_family = 16;

// Runs [0, tiles) in pieces cut at random, or as a whole.
static struct dtr_fault run(dtr_kernel_fn *function, const struct cg_sample *sample,
                            struct sample_memory *memory, struct cg_random *cuts) {
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
  struct sample_memory want, got, cut;
  int64_t want_fault[3] = {0, 0, 0};
  sample_memory_make(&want, sample, seed);
  sample_memory_make(&got, sample, seed);
  sample_memory_make(&cut, sample, seed);
  cg_kernel_interpret_fault(sample->kernel, (void *const *)want.data, want_fault);
  dtr_kernel_fn *function = cg_compiled_find(compiled, sample->kernel->name);
  struct dtr_fault fault = run(function, sample, &got, NULL);
  sample_compare(sample, &want, &got, &sample->tolerance, arch, seed);
  assert_int_equal(fault.code != 0, want_fault[0] != 0);
  struct cg_random cuts = {seed ^ 77};
  run(function, sample, &cut, &cuts);
  sample_compare(sample, &got, &cut, &equal, "cut into pieces", seed);
  sample_memory_free(&want);
  sample_memory_free(&got);
  sample_memory_free(&cut);
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
