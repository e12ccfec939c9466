/* Every sample of every op: the kernels of its plan compute what the reference computes. */
#include "plan_run.h"

#include "compiler/base/strbuf.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

struct sample_leaf {
  const struct dtg_op_sample *sample;
  uint64_t state;
};

static void sample_leaf(void *context, const struct dtg_node *leaf, struct dtg_ref_tensor *out) {
  struct sample_leaf *it = context;
  uint64_t state = it->state;
  for (const char *c = dtg_node_string(leaf, "name", ""); *c; c++)
    state = (state ^ (unsigned char)*c) * 0x100000001B3u;
  for (int64_t i = 0; i < dtg_shape_count(&out->type.shape); i++) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    out->data[i] = dtg_sample_value(it->sample, out->type.dtype, state ^ state >> 29);
  }
}

/* f32 against double: the kernel's rounding and the library's math. */
static bool close_enough(double expected, double got, double scale) {
  if (isnan(expected) || isnan(got))
    return isnan(expected) && isnan(got);
  if (isinf(expected) || isinf(got))
    return expected == got;
  return fabs(expected - got) <= 2e-5 * scale + 2e-5 * fabs(expected);
}

static double largest(const struct dtg_ref_tensor *tensor) {
  double max = 1;
  for (int64_t i = 0; i < dtg_shape_count(&tensor->type.shape); i++)
    max = isfinite(tensor->data[i]) ? fmax(max, fabs(tensor->data[i])) : max;
  return max;
}

static void check_sample(const struct dtg_op_def *op, const struct dtg_op_sample *sample) {
  struct dtg_ctx ctx;
  struct dtg_strbuf why = {0};
  struct sample_leaf leaf = {sample, 7};
  dtg_ctx_init(&ctx);
  struct dtg_graph *graph = dtg_sample_graph(&ctx.arena, &ctx.names, op, sample, &why);
  if (!graph)
    fail_msg("%s", dtg_strbuf_text(&why));
  uint32_t last = (uint32_t)graph->nodes.len - 1;
  dtg_graph_add_root(graph, DTG_ROOT_STATE, "y", last, DTG_REDUCE_SUM, DTG_SPAN_NONE);
  const struct dtg_ref_tensor *expected =
      &dtg_evaluate(graph, &ctx.arena, sample_leaf, &leaf)[last];
  for (int fused = 0; fused < 2; fused++) {
    struct dtg_plan *plan = plan_make(&ctx, graph, fused);
    struct plan_memory *memory = plan_run(&ctx.arena, plan, DTG_PLAN_TRAIN, sample_leaf, &leaf);
    const double *got = plan_run_root(&ctx.arena, memory, 0);
    double scale = expected->type.dtype == DTG_BF16 ? 200 * largest(expected) : largest(expected);
    for (int64_t i = 0; i < dtg_shape_count(&expected->type.shape); i++) {
      if (!close_enough(expected->data[i], got[i], scale))
        fail_msg("%s(%s) {%s}, element %lld: %.9g expected, %.9g computed", op->name,
                 sample->inputs, sample->attrs, (long long)i, expected->data[i], got[i]);
    }
  }
  dtg_ctx_free(&ctx);
}

static void test_samples(void **state) {
  (void)state;
  uint32_t samples = 0;
  for (uint32_t i = 0; i < dtg_op_count(); i++) {
    const struct dtg_op_def *op = dtg_op_at(i);
    for (uint32_t k = 0; k < op->sample_count; k++, samples++)
      check_sample(op, &op->samples[k]);
  }
  printf("%u samples\n", samples);
  assert_true(samples > 100);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_samples)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
