/* Shapes that are cut into tiles: the tiles cover everything, once, whatever their order, and
 * compiled code gives the same as the reference. */
#include "compiled.h"
#include "plan_run.h"

#include "compiler/base/strbuf.h"
#include "compiler/ir/graph_text.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void launch(void *context, const struct dtg_plan *plan, uint32_t number,
                   void *const *buffers) {
  const struct cg_kernel *kernel = plan->kernels.data[number];
  struct dtr_fault fault = {0};
  dtr_kernel_fn *fn = cg_compiled_find(context, kernel->name);
  for (int64_t tile = kernel->tiles; tile-- > 0;)
    fn((char *const *)(char **)(uintptr_t)buffers, &fault, tile, tile + 1);
}

static void check_root(const struct dtg_ref_tensor *expected, const double *got, const char *how) {
  int64_t count = dtg_shape_count(&expected->type.shape);
  double scale = 1;
  for (int64_t i = 0; i < count; i++)
    scale = fmax(scale, fabs(expected->data[i]));
  for (int64_t i = 0; i < count; i++) {
    if (!(fabs(expected->data[i] - got[i]) <= 1e-4 * scale))
      fail_msg("%s, element %lld: %.9g expected, %.9g computed", how, (long long)i,
               expected->data[i], got[i]);
  }
}

/* `tiles`: of the first kernel. */
static void check(const char *text, int64_t tiles) {
  struct dtg_ctx ctx;
  struct dtg_strbuf why = {0};
  struct dtg_graph *graph = NULL;
  uint64_t seed = 3;
  const char *const *archs = cg_runnable_archs();
  while (archs[1])
    archs++;
  dtg_ctx_init(&ctx);
  if (!dtg_graph_read(&ctx.arena, &ctx.names, text, strlen(text), &why, &graph))
    fail_msg("%s", dtg_strbuf_text(&why));
  const struct dtg_ref_tensor *expected = dtg_evaluate(graph, &ctx.arena, plan_leaf, &seed);
  struct dtg_plan *plan = plan_make(&ctx, graph, true);
  assert_int_equal(plan->kernels.data[0]->tiles, tiles);
  struct cg_compiled compiled =
      cg_compile((const struct cg_kernel *const *)plan->kernels.data, plan->kernels.len, *archs);
  struct plan_memory *plain = plan_run(&ctx.arena, plan, DTG_PLAN_TRAIN, plan_leaf, &seed);
  struct plan_memory *fast =
      plan_run_with(&ctx.arena, plan, DTG_PLAN_TRAIN, plan_leaf, &seed, launch, &compiled);
  for (size_t i = 0; i < graph->roots.len; i++) {
    const struct dtg_ref_tensor *root = &expected[graph->roots.data[i].node];
    check_root(root, plan_run_root(&ctx.arena, plain, i), "interpreted");
    check_root(root, plan_run_root(&ctx.arena, fast, i), "compiled");
  }
  cg_compiled_free(&compiled);
  dtg_ctx_free(&ctx);
}

static void test_elementwise(void **state) {
  (void)state;
  check("graph \"train\" { %0 input {name=\"x\"} : f32[50001]\n"
        "%1 tanh %0 : f32[50001]\n"
        "%2 mul %1, %0 : f32[50001]\n"
        "root state \"y\" %2 sum }",
        4);
  check("graph \"train\" { %0 input {name=\"x\"} : f32[700, 130]\n"
        "%1 input {name=\"b\"} : f32[130]\n"
        "%2 broadcast_to %1 {shape=[700, 130]} : f32[700, 130]\n"
        "%3 add %0, %2 : f32[700, 130]\n"
        "root state \"y\" %3 sum }",
        6);
  check("graph \"train\" { %0 input {name=\"x\"} : f32[300, 200]\n"
        "%1 transpose %0 {perm=[1, 0]} : f32[200, 300]\n"
        "%2 exp %1 : f32[200, 300]\n"
        "root state \"y\" %2 sum }",
        3);
}

static void test_rows(void **state) {
  (void)state;
  check("graph \"train\" { %0 input {name=\"x\"} : f32[900, 97]\n"
        "%1 max %0 {axes=[1], keepdims=true} : f32[900, 1]\n"
        "%2 broadcast_to %1 {shape=[900, 97]} : f32[900, 97]\n"
        "%3 sub %0, %2 : f32[900, 97]\n"
        "%4 exp %3 : f32[900, 97]\n"
        "%5 sum %4 {axes=[1], keepdims=true} : f32[900, 1]\n"
        "%6 broadcast_to %5 {shape=[900, 97]} : f32[900, 97]\n"
        "%7 div %4, %6 : f32[900, 97]\n"
        "%8 argmax %0 {axis=1} : i64[900]\n"
        "%9 log %5 : f32[900, 1]\n"
        "root state \"y\" %7 sum root state \"a\" %8 sum root state \"l\" %9 sum }",
        6);
}

static void test_columns(void **state) {
  (void)state;
  check("graph \"train\" { %0 input {name=\"x\"} : f32[300, 333]\n"
        "%1 relu %0 : f32[300, 333]\n"
        "%2 sum %1 {axes=[0]} : f32[333]\n"
        "root state \"r\" %1 sum root state \"y\" %2 sum }",
        6);
  check("graph \"train\" { %0 input {name=\"x\"} : f32[40, 70, 50]\n"
        "%1 sum %0 {axes=[0, 2]} : f32[70]\n"
        "root state \"y\" %1 sum }",
        8);
  check("graph \"train\" { %0 input {name=\"x\"} : f32[30000, 4]\n"
        "%1 sum %0 {axes=[0]} : f32[4]\n"
        "root state \"y\" %1 sum }",
        1);
}

static void test_blocks(void **state) {
  (void)state;
  check("graph \"train\" { %0 input {name=\"x\"} : f32[500, 101]\n"
        "%1 square %0 : f32[500, 101]\n"
        "%2 block_sum %1 : f32[4]\n"
        "%3 tree_sum %2 : f32[]\n"
        "root state \"y\" %2 sum root state \"z\" %3 sum }",
        4);
}

static void test_scatter(void **state) {
  (void)state;
  check("graph \"train\" { %0 const {dtype=f32, value=0.0} : f32[]\n"
        "%1 broadcast_to %0 {shape=[5, 200]} : f32[5, 200]\n"
        "%2 input {name=\"i\"} : i32[300]\n"
        "%3 input {name=\"u\"} : f32[300, 200]\n"
        "%4 scatter_add %1, %2, %3 {axis=0} : f32[5, 200]\n"
        "root state \"y\" %4 sum }",
        4);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_elementwise),
                                     cmocka_unit_test(test_rows), cmocka_unit_test(test_columns),
                                     cmocka_unit_test(test_blocks), cmocka_unit_test(test_scatter)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
