/* How many kernels the usual pieces of a network become, and what stays apart. */
#include "plan_run.h"

#include "compiler/base/strbuf.h"
#include "compiler/grad/grad.h"
#include "compiler/ir/graph_text.h"
#include "compiler/ir/group.h"
#include "compiler/opt/opt.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* The graph of a text, fused. `grad`: the text is a module, whose train graph is differentiated. */
static struct dtg_graph *fused_graph(struct dtg_ctx *ctx, const char *text, bool grad) {
  struct dtg_strbuf why = {0};
  struct dtg_graph *graph = NULL;
  struct dtg_module *module = NULL;
  dtg_ctx_init(ctx);
  bool good = grad ? dtg_module_read(&ctx->arena, &ctx->names, text, strlen(text), &why, &module)
                   : dtg_graph_read(&ctx->arena, &ctx->names, text, strlen(text), &why, &graph);
  if (!good)
    fail_msg("%s", dtg_strbuf_text(&why));
  if (grad) {
    assert_true(dtg_grad(ctx, module));
    graph = module->train;
  }
  dtg_strbuf_free(&why);
  return dtg_opt_graph(graph);
}

/* The number of kernels of each kind; on a surprise the graph is shown. */
static void expect_kernels(const char *text, bool grad, uint32_t loops, uint32_t products) {
  struct dtg_ctx ctx;
  const struct dtg_graph *graph = fused_graph(&ctx, text, grad);
  const struct dtg_groups *groups = dtg_groups_new(&ctx.arena, graph);
  uint32_t counts[2] = {0, 0};
  for (uint32_t i = 0; i < groups->count; i++)
    counts[groups->groups[i].kind == DTG_GROUP_GEMM]++;
  if (counts[0] != loops || counts[1] != products) {
    struct dtg_strbuf out = {0};
    dtg_graph_print(graph, NULL, &out);
    fprintf(stderr, "%s", dtg_strbuf_text(&out));
    dtg_strbuf_free(&out);
    fail_msg("%u loops and %u products, expected %u and %u", counts[0], counts[1], loops, products);
  }
  dtg_ctx_free(&ctx);
}

static const char cross_entropy[] = "variables { param \"z\" : f32[64, 10] ~ zeros(0.0, 0.0) }\n"
                                    "graph \"train\" {\n"
                                    "  %0 param {path=\"z\"} : f32[64, 10]\n"
                                    "  %1 input {name=\"label\"} : u8[64]\n"
                                    "  %2 max %0 {axes=[1], keepdims=true} : f32[64, 1]\n"
                                    "  %3 stop_gradient %2 : f32[64, 1]\n"
                                    "  %4 broadcast_to %3 {shape=[64, 10]} : f32[64, 10]\n"
                                    "  %5 sub %0, %4 : f32[64, 10]\n"
                                    "  %6 check_range %1 {limit=10, what=\"label\"} : u8[64]\n"
                                    "  %7 reshape %6 {shape=[64, 1]} : u8[64, 1]\n"
                                    "  %8 cast %7 {dtype=i64} : i64[64, 1]\n"
                                    "  %9 broadcast_to %8 {shape=[64, 10]} : i64[64, 10]\n"
                                    "  %10 iota {axis=1, dtype=i64, shape=[64, 10]} : i64[64, 10]\n"
                                    "  %11 eq %9, %10 : bool[64, 10]\n"
                                    "  %12 const {dtype=f32, value=0.0} : f32[]\n"
                                    "  %13 broadcast_to %12 {shape=[64, 10]} : f32[64, 10]\n"
                                    "  %14 where %11, %5, %13 : f32[64, 10]\n"
                                    "  %15 sum %14 {axes=[1]} : f32[64]\n"
                                    "  %16 exp %5 : f32[64, 10]\n"
                                    "  %17 sum %16 {axes=[1]} : f32[64]\n"
                                    "  %18 log %17 : f32[64]\n"
                                    "  %19 sub %18, %15 : f32[64]\n"
                                    "  %20 sum %19 {axes=[0]} : f32[]\n"
                                    "  %21 const {dtype=f32, value=0.015625} : f32[]\n"
                                    "  %22 mul %20, %21 : f32[]\n"
                                    "  %23 argmax %0 {axis=1} : i64[64]\n"
                                    "  %24 cast %1 {dtype=i64} : i64[64]\n"
                                    "  %25 eq %23, %24 : bool[64]\n"
                                    "  %26 cast %25 {dtype=f32} : f32[64]\n"
                                    "  %27 sum %26 {axes=[0]} : f32[]\n"
                                    "  %28 mul %27, %21 : f32[]\n"
                                    "  root loss \"\" %22 mean\n"
                                    "  root metric \"accuracy\" %28 mean\n"
                                    "}\n";

/* Rows with their gradient in one, the means of loss and accuracy in the other. */
static void test_cross_entropy(void **state) {
  (void)state;
  expect_kernels(cross_entropy, true, 2, 0);
}

static void test_dense_relu(void **state) {
  (void)state;
  expect_kernels("graph \"train\" {\n"
                 "  %0 input {name=\"x\"} : f32[32, 784]\n"
                 "  %1 param {path=\"w\"} : f32[784, 128]\n"
                 "  %2 param {path=\"b\"} : f32[128]\n"
                 "  %3 matmul %0, %1 : f32[32, 128]\n"
                 "  %4 broadcast_to %2 {shape=[32, 128]} : f32[32, 128]\n"
                 "  %5 add %3, %4 : f32[32, 128]\n"
                 "  %6 relu %5 : f32[32, 128]\n"
                 "  root output \"y\" %6 mean\n"
                 "}\n",
                 false, 1, 1);
}

/* The cast of a column, its scaling and the reshape to rows are one kernel. */
static void test_input_column(void **state) {
  (void)state;
  expect_kernels("graph \"train\" {\n"
                 "  %0 input {name=\"image\"} : u8[32, 28, 28]\n"
                 "  %1 cast %0 {dtype=f32} : f32[32, 28, 28]\n"
                 "  %2 const {dtype=f32, value=255.0} : f32[]\n"
                 "  %3 broadcast_to %2 {shape=[32, 28, 28]} : f32[32, 28, 28]\n"
                 "  %4 div %1, %3 : f32[32, 28, 28]\n"
                 "  %5 reshape %4 {shape=[32, 784]} : f32[32, 784]\n"
                 "  %6 param {path=\"w\"} : f32[784, 10]\n"
                 "  %7 matmul %5, %6 : f32[32, 10]\n"
                 "  root output \"y\" %7 mean\n"
                 "}\n",
                 false, 1, 1);
}

static const char layer_norm[] = "graph \"train\" {\n"
                                 "  %0 input {name=\"x\"} : f32[32, 100]\n"
                                 "  %1 param {path=\"g\"} : f32[100]\n"
                                 "  %2 param {path=\"b\"} : f32[100]\n"
                                 "  %3 sum %0 {axes=[1], keepdims=true} : f32[32, 1]\n"
                                 "  %4 const {dtype=f32, value=0.01} : f32[]\n"
                                 "  %5 broadcast_to %4 {shape=[32, 1]} : f32[32, 1]\n"
                                 "  %6 mul %3, %5 : f32[32, 1]\n"
                                 "  %7 broadcast_to %6 {shape=[32, 100]} : f32[32, 100]\n"
                                 "  %8 sub %0, %7 : f32[32, 100]\n"
                                 "  %9 square %8 : f32[32, 100]\n"
                                 "  %10 sum %9 {axes=[1], keepdims=true} : f32[32, 1]\n"
                                 "  %11 mul %10, %5 : f32[32, 1]\n"
                                 "  %12 const {dtype=f32, value=1e-5} : f32[]\n"
                                 "  %13 broadcast_to %12 {shape=[32, 1]} : f32[32, 1]\n"
                                 "  %14 add %11, %13 : f32[32, 1]\n"
                                 "  %15 rsqrt %14 : f32[32, 1]\n"
                                 "  %16 broadcast_to %15 {shape=[32, 100]} : f32[32, 100]\n"
                                 "  %17 mul %8, %16 : f32[32, 100]\n"
                                 "  %18 broadcast_to %1 {shape=[32, 100]} : f32[32, 100]\n"
                                 "  %19 mul %17, %18 : f32[32, 100]\n"
                                 "  %20 broadcast_to %2 {shape=[32, 100]} : f32[32, 100]\n"
                                 "  %21 add %19, %20 : f32[32, 100]\n"
                                 "  root output \"y\" %21 mean\n"
                                 "}\n";

static void test_layer_norm(void **state) {
  (void)state;
  expect_kernels(layer_norm, false, 1, 0);
}

/* The backward of relu and the bias gradient: one walk over columns writes both. */
static void test_bias_gradient(void **state) {
  (void)state;
  expect_kernels("graph \"train\" {\n"
                 "  %0 input {name=\"h\"} : f32[32, 128]\n"
                 "  %1 input {name=\"d\"} : f32[32, 128]\n"
                 "  %2 const {dtype=f32, value=0.0} : f32[]\n"
                 "  %3 broadcast_to %2 {shape=[32, 128]} : f32[32, 128]\n"
                 "  %4 gt %0, %3 : bool[32, 128]\n"
                 "  %5 where %4, %1, %3 : f32[32, 128]\n"
                 "  %6 sum %5 {axes=[0]} : f32[128]\n"
                 "  root grad \"b\" %6 mean\n"
                 "  root output \"d\" %5 mean\n"
                 "}\n",
                 false, 1, 0);
}

static void test_dropout(void **state) {
  (void)state;
  expect_kernels("graph \"train\" {\n"
                 "  %0 input {name=\"x\"} : f32[32, 128]\n"
                 "  %1 scalar {name=\"seed\"} : i64[]\n"
                 "  %2 scalar {name=\"step\"} : i64[]\n"
                 "  %3 scalar {name=\"shard\"} : i64[]\n"
                 "  %4 random %1, %2, %3 {distribution=\"uniform\", shape=[32, 128], stream=1} : "
                 "f32[32, 128]\n"
                 "  %5 const {dtype=f32, value=0.5} : f32[]\n"
                 "  %6 broadcast_to %5 {shape=[32, 128]} : f32[32, 128]\n"
                 "  %7 lt %4, %6 : bool[32, 128]\n"
                 "  %8 const {dtype=f32, value=0.0} : f32[]\n"
                 "  %9 broadcast_to %8 {shape=[32, 128]} : f32[32, 128]\n"
                 "  %10 where %7, %0, %9 : f32[32, 128]\n"
                 "  root output \"y\" %10 mean\n"
                 "}\n",
                 false, 1, 0);
}

/* Two parameters and their moments: what both need of the step count is computed once, then one
 * pass over memory for each. */
static void put_adam(struct dtg_strbuf *out, const char *name, const char *type, const char *shape,
                     uint32_t n) {
  dtg_strbuf_printf(out, "  %%%u param {path=\"%s\"} : %s\n", n, name, type);
  dtg_strbuf_printf(out, "  %%%u grad_in {path=\"%s\"} : %s\n", n + 1, name, type);
  dtg_strbuf_printf(out, "  %%%u slot {path=\"%s:m\"} : %s\n", n + 2, name, type);
  dtg_strbuf_printf(out, "  %%%u slot {path=\"%s:v\"} : %s\n", n + 3, name, type);
  for (uint32_t i = 0; i < 3; i++)
    dtg_strbuf_printf(out, "  %%%u broadcast_to %%%u {shape=%s} : %s\n", n + 4 + i, 2 + i, shape,
                      type);
  dtg_strbuf_printf(out, "  %%%u broadcast_to %%8 {shape=%s} : %s\n", n + 7, shape, type);
  dtg_strbuf_printf(out, "  %%%u mul %%%u, %%%u : %s\n", n + 8, n + 2, n + 4, type);
  dtg_strbuf_printf(out, "  %%%u mul %%%u, %%%u : %s\n", n + 9, n + 1, n + 5, type);
  dtg_strbuf_printf(out, "  %%%u add %%%u, %%%u : %s\n", n + 10, n + 8, n + 9, type);
  dtg_strbuf_printf(out, "  %%%u mul %%%u, %%%u : %s\n", n + 11, n + 9, n + 1, type);
  dtg_strbuf_printf(out, "  %%%u add %%%u, %%%u : %s\n", n + 12, n + 3, n + 11, type);
  dtg_strbuf_printf(out, "  %%%u sqrt %%%u : %s\n", n + 13, n + 12, type);
  dtg_strbuf_printf(out, "  %%%u add %%%u, %%%u : %s\n", n + 14, n + 13, n + 6, type);
  dtg_strbuf_printf(out, "  %%%u div %%%u, %%%u : %s\n", n + 15, n + 10, n + 14, type);
  dtg_strbuf_printf(out, "  %%%u mul %%%u, %%%u : %s\n", n + 16, n + 15, n + 7, type);
  dtg_strbuf_printf(out, "  %%%u sub %%%u, %%%u : %s\n", n + 17, n, n + 16, type);
  dtg_strbuf_printf(out, "  root update \"%s\" %%%u mean\n", name, n + 17);
  dtg_strbuf_printf(out, "  root update \"%s:m\" %%%u mean\n", name, n + 10);
  dtg_strbuf_printf(out, "  root update \"%s:v\" %%%u mean\n", name, n + 12);
}

static void test_adam(void **state) {
  (void)state;
  struct dtg_strbuf text = {0};
  dtg_strbuf_puts(&text, "graph \"update\" {\n"
                         "  %0 scalar {name=\"updates\"} : i64[]\n"
                         "  %1 cast %0 {dtype=f32} : f32[]\n"
                         "  %2 const {dtype=f32, value=0.9} : f32[]\n"
                         "  %3 const {dtype=f32, value=0.1} : f32[]\n"
                         "  %4 const {dtype=f32, value=1e-8} : f32[]\n"
                         "  %5 pow %2, %1 : f32[]\n"
                         "  %6 const {dtype=f32, value=1.0} : f32[]\n"
                         "  %7 sub %6, %5 : f32[]\n"
                         "  %8 div %3, %7 : f32[]\n");
  put_adam(&text, "b", "f32[128]", "[128]", 9);
  put_adam(&text, "w", "f32[784, 128]", "[784, 128]", 27);
  dtg_strbuf_puts(&text, "}\n");
  expect_kernels(dtg_strbuf_text(&text), false, 3, 0);
  dtg_strbuf_free(&text);
}

/* A norm of two tensors: the blocks of each, the tree of each, the numbers behind them. A tree is a
 * kernel of its own, since other owners may hold some of the blocks. */
static void test_global_norm(void **state) {
  (void)state;
  expect_kernels("graph \"update\" {\n"
                 "  %0 grad_in {path=\"a\"} : f32[300, 100]\n"
                 "  %1 grad_in {path=\"b\"} : f32[100]\n"
                 "  %2 square %0 : f32[300, 100]\n"
                 "  %3 block_sum %2 : f32[2]\n"
                 "  %4 tree_sum %3 : f32[]\n"
                 "  %5 square %1 : f32[100]\n"
                 "  %6 block_sum %5 : f32[1]\n"
                 "  %7 tree_sum %6 : f32[]\n"
                 "  %8 add %4, %7 : f32[]\n"
                 "  %9 sqrt %8 : f32[]\n"
                 "  root output \"norm\" %9 mean\n"
                 "}\n",
                 false, 5, 0);
}

/* exp of what a long row shares stays out of the loop over the rows; so does a cycle. */
static void test_apart(void **state) {
  (void)state;
  expect_kernels("graph \"train\" {\n"
                 "  %0 input {name=\"x\"} : f32[32, 128]\n"
                 "  %1 input {name=\"b\"} : f32[128]\n"
                 "  %2 exp %1 : f32[128]\n"
                 "  %3 broadcast_to %2 {shape=[32, 128]} : f32[32, 128]\n"
                 "  %4 mul %0, %3 : f32[32, 128]\n"
                 "  root output \"y\" %4 mean\n"
                 "}\n",
                 false, 2, 0);
  expect_kernels("graph \"train\" {\n"
                 "  %0 input {name=\"x\"} : f32[32, 32]\n"
                 "  %1 tanh %0 : f32[32, 32]\n"
                 "  %2 matmul %1, %0 : f32[32, 32]\n"
                 "  %3 add %1, %2 : f32[32, 32]\n"
                 "  root output \"y\" %3 mean\n"
                 "}\n",
                 false, 2, 1);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_cross_entropy), cmocka_unit_test(test_dense_relu),
      cmocka_unit_test(test_input_column),  cmocka_unit_test(test_layer_norm),
      cmocka_unit_test(test_bias_gradient), cmocka_unit_test(test_dropout),
      cmocka_unit_test(test_adam),          cmocka_unit_test(test_global_norm),
      cmocka_unit_test(test_apart)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
