/* Random graphs: fusion, schedule and lowering together compute what the graph means.
 *
 * Fused and unfused plans must agree bit for bit: that is the passes' promise. Graphs without
 * comparisons of computed values must also agree with the double-precision reference. */
#include "plan_run.h"
#include "random_graph.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { GRAPHS = 400 };

static uint64_t first_seed = 1;
static uint64_t graph_count = GRAPHS;

static void test_bits(void **state) {
  (void)state;
  size_t steps[2] = {0, 0};
  for (uint64_t seed = first_seed; seed < first_seed + graph_count; seed++) {
    struct dtg_ctx ctx;
    uint64_t leaf_seed = seed;
    struct plan_memory *memory[2];
    dtg_ctx_init(&ctx);
    struct dtg_graph *graph = random_graph_make(&ctx, seed, 5 + (int)(seed % 40), false);
    for (int fused = 0; fused < 2; fused++) {
      struct dtg_plan *plan = plan_make(&ctx, graph, fused);
      steps[fused] += plan->functions[DTG_PLAN_TRAIN].steps.len;
      memory[fused] = plan_run(&ctx.arena, plan, DTG_PLAN_TRAIN, plan_leaf, &leaf_seed);
    }
    for (size_t i = 0; i < graph->roots.len; i++) {
      size_t size, same;
      const void *plain = plan_run_root_bytes(memory[0], i, &size);
      const void *fused = plan_run_root_bytes(memory[1], i, &same);
      assert_int_equal(size, same);
      if (memcmp(plain, fused, size) != 0)
        fail_msg("seed %llu: root %s differs between fused and unfused", (unsigned long long)seed,
                 graph->roots.data[i].name);
    }
    dtg_ctx_free(&ctx);
  }
  printf("%zu kernels fused, %zu unfused\n", steps[1], steps[0]);
  assert_true(steps[1] < steps[0]);
}

static double scale_of(const struct dtg_ref_tensor *tensor) {
  double max = 1;
  for (int64_t i = 0; i < dtg_shape_count(&tensor->type.shape); i++)
    max = fmax(max, fabs(tensor->data[i]));
  return max;
}

static void check_root(uint64_t seed, const char *name, const struct dtg_ref_tensor *expected,
                       const double *got) {
  double scale = scale_of(expected);
  if (scale > 1e6) /* the chain has grown beyond what f32 can follow */
    return;
  for (int64_t i = 0; i < dtg_shape_count(&expected->type.shape); i++) {
    double error = fabs(expected->data[i] - got[i]);
    if (!(error <= 2e-3 * scale))
      fail_msg("seed %llu: root %s, element %lld: %.9g expected, %.9g computed",
               (unsigned long long)seed, name, (long long)i, expected->data[i], got[i]);
  }
}

static void test_values(void **state) {
  (void)state;
  for (uint64_t seed = first_seed; seed < first_seed + graph_count; seed++) {
    struct dtg_ctx ctx;
    uint64_t leaf_seed = seed;
    dtg_ctx_init(&ctx);
    struct dtg_graph *graph = random_graph_make(&ctx, seed, 4 + (int)(seed % 16), true);
    const struct dtg_ref_tensor *expected = dtg_evaluate(graph, &ctx.arena, plan_leaf, &leaf_seed);
    struct dtg_plan *plan = plan_make(&ctx, graph, true);
    struct plan_memory *memory = plan_run(&ctx.arena, plan, DTG_PLAN_TRAIN, plan_leaf, &leaf_seed);
    for (size_t i = 0; i < graph->roots.len; i++)
      check_root(seed, graph->roots.data[i].name, &expected[graph->roots.data[i].node],
                 plan_run_root(&ctx.arena, memory, i));
    dtg_ctx_free(&ctx);
  }
}

/* usage: test_lower_random [FIRST_SEED [COUNT]] */
int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_bits), cmocka_unit_test(test_values)};
  if (argc > 1)
    first_seed = strtoull(argv[1], NULL, 10);
  if (argc > 2)
    graph_count = strtoull(argv[2], NULL, 10);
  printf("seeds %llu to %llu\n", (unsigned long long)first_seed,
         (unsigned long long)(first_seed + graph_count - 1));
  return cmocka_run_group_tests(tests, NULL, NULL);
}
