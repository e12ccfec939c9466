/* Each pass alone: what it makes smaller, and what it must leave as it is. */
#include "plan_run.h"

#include "compiler/base/strbuf.h"
#include "compiler/ir/graph_text.h"
#include "compiler/ir/verify.h"
#include "compiler/opt/opt.h"
#include "random_graph.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

typedef struct dtg_graph *pass_fn(const struct dtg_graph *);

static struct dtg_graph *read_graph(struct dtg_ctx *ctx, const char *text) {
  struct dtg_strbuf why = {0};
  struct dtg_graph *graph = NULL;
  if (!dtg_graph_read(&ctx->arena, &ctx->names, text, strlen(text), &why, &graph))
    fail_msg("%s", dtg_strbuf_text(&why));
  return graph;
}

static void expect_text(pass_fn *pass, const char *before, const char *after) {
  struct dtg_ctx ctx;
  struct dtg_strbuf got = {0}, wanted = {0};
  dtg_ctx_init(&ctx);
  dtg_graph_print(dtg_opt_dce(pass(read_graph(&ctx, before))), NULL, &got);
  dtg_graph_print(read_graph(&ctx, after), NULL, &wanted);
  assert_string_equal(dtg_strbuf_text(&got), dtg_strbuf_text(&wanted));
  dtg_strbuf_free(&got);
  dtg_strbuf_free(&wanted);
  dtg_ctx_free(&ctx);
}

static void test_fold(void **state) {
  (void)state;
  expect_text(dtg_opt_fold,
              "graph \"train\" { %0 const {dtype=f32, value=0.1} : f32[]\n"
              "%1 const {dtype=f32, value=0.2} : f32[]\n"
              "%2 broadcast_to %0 {shape=[3]} : f32[3]\n"
              "%3 broadcast_to %1 {shape=[3]} : f32[3]\n"
              "%4 add %2, %3 : f32[3]\n"
              "root output \"y\" %4 mean }",
              /* the f32 nearest to f32(0.1) + f32(0.2) */
              "graph \"train\" { %0 const {dtype=f32, value=0.30000001192092896} : f32[]\n"
              "%1 broadcast_to %0 {shape=[3]} : f32[3]\n"
              "root output \"y\" %1 mean }");
  /* The bits of a math function are the backend's. */
  const char *math = "graph \"train\" { %0 const {dtype=f32, value=0.5} : f32[]\n"
                     "%1 exp %0 : f32[]\n"
                     "root output \"y\" %1 mean }";
  expect_text(dtg_opt_fold, math, math);
  expect_text(dtg_opt_fold,
              "graph \"train\" { %0 const {dtype=i64, value=9007199254740993} : i64[]\n"
              "%1 const {dtype=i64, value=2} : i64[]\n"
              "%2 mul %0, %1 : i64[]\n"
              "root output \"y\" %2 mean }",
              "graph \"train\" { %0 const {dtype=i64, value=18014398509481986} : i64[]\n"
              "root output \"y\" %0 mean }");
}

static void test_cse(void **state) {
  (void)state;
  expect_text(dtg_opt_cse,
              "graph \"train\" { %0 input {name=\"x\"} : f32[3]\n"
              "%1 input {name=\"y\"} : f32[3]\n"
              "%2 add %0, %1 : f32[3]\n"
              "%3 add %1, %0 : f32[3]\n"
              "%4 sub %2, %3 : f32[3]\n"
              "%5 sub %0, %1 : f32[3]\n"
              "%6 sub %1, %0 : f32[3]\n"
              "root output \"a\" %4 mean root output \"b\" %5 mean root output \"c\" %6 mean }",
              "graph \"train\" { %0 input {name=\"x\"} : f32[3]\n"
              "%1 input {name=\"y\"} : f32[3]\n"
              "%2 add %0, %1 : f32[3]\n"
              "%3 sub %2, %2 : f32[3]\n"
              "%4 sub %0, %1 : f32[3]\n"
              "%5 sub %1, %0 : f32[3]\n"
              "root output \"a\" %3 mean root output \"b\" %4 mean root output \"c\" %5 mean }");
  /* 0.0 and -0.0 are two constants, and two streams are two draws. */
  const char *apart =
      "graph \"train\" { %0 const {dtype=f32, value=0.0} : f32[]\n"
      "%1 const {dtype=f32, value=-0.0} : f32[]\n"
      "%2 scalar {name=\"seed\"} : i64[]\n"
      "%3 random %2, %2, %2 {distribution=\"uniform\", shape=[2], stream=1} : f32[2]\n"
      "%4 random %2, %2, %2 {distribution=\"uniform\", shape=[2], stream=2} : f32[2]\n"
      "root output \"a\" %0 mean root output \"b\" %1 mean\n"
      "root output \"c\" %3 mean root output \"d\" %4 mean }";
  expect_text(dtg_opt_cse, apart, apart);
}

static void test_simplify(void **state) {
  (void)state;
  expect_text(dtg_opt_simplify,
              "graph \"train\" { %0 input {name=\"x\"} : f32[4, 3]\n"
              "%1 input {name=\"y\"} : f32[5, 3]\n"
              "%2 transpose %1 {perm=[1, 0]} : f32[3, 5]\n"
              "%3 matmul %0, %2 : f32[4, 5]\n"
              "%4 transpose %0 {perm=[1, 0]} : f32[3, 4]\n"
              "%5 matmul %4, %2 {transpose_a=true} : f32[4, 5]\n"
              "root output \"a\" %3 mean root output \"b\" %5 mean }",
              "graph \"train\" { %0 input {name=\"x\"} : f32[4, 3]\n"
              "%1 input {name=\"y\"} : f32[5, 3]\n"
              "%2 matmul %0, %1 {transpose_b=true} : f32[4, 5]\n"
              "%3 matmul %0, %1 {transpose_b=true} : f32[4, 5]\n"
              "root output \"a\" %2 mean root output \"b\" %3 mean }");
  /* x + 0.0 turns -0.0 into 0.0, so it is no identity. */
  const char *kept = "graph \"train\" { %0 input {name=\"x\"} : f32[3]\n"
                     "%1 const {dtype=f32, value=0.0} : f32[]\n"
                     "%2 broadcast_to %1 {shape=[3]} : f32[3]\n"
                     "%3 add %0, %2 : f32[3]\n"
                     "root output \"y\" %3 mean }";
  expect_text(dtg_opt_simplify, kept, kept);
  expect_text(dtg_opt_simplify,
              "graph \"train\" { %0 input {name=\"x\"} : f32[2, 6]\n"
              "%1 reshape %0 {shape=[12]} : f32[12]\n"
              "%2 reshape %1 {shape=[3, 4]} : f32[3, 4]\n"
              "%3 const {dtype=f32, value=1.0} : f32[]\n"
              "%4 broadcast_to %3 {shape=[3, 4]} : f32[3, 4]\n"
              "%5 mul %2, %4 : f32[3, 4]\n"
              "root output \"y\" %5 mean }",
              "graph \"train\" { %0 input {name=\"x\"} : f32[2, 6]\n"
              "%1 reshape %0 {shape=[3, 4]} : f32[3, 4]\n"
              "root output \"y\" %1 mean }");
}

static void test_dce(void **state) {
  (void)state;
  expect_text(dtg_opt_dce,
              "graph \"train\" { %0 input {name=\"x\"} : f32[3]\n"
              "%1 exp %0 : f32[3]\n"
              "%2 neg %0 : f32[3]\n"
              "root output \"y\" %2 mean }",
              "graph \"train\" { %0 input {name=\"x\"} : f32[3]\n"
              "%1 neg %0 : f32[3]\n"
              "root output \"y\" %1 mean }");
}

/* After each pass alone, kernels of single nodes give the same bits as before it. */
static void check_bits(pass_fn *pass, const char *name, uint64_t seed) {
  struct dtg_ctx ctx;
  struct dtg_strbuf why = {0};
  uint64_t leaf_seed = seed;
  dtg_ctx_init(&ctx);
  const struct dtg_graph *graph = random_graph_make(&ctx, seed, 25, false);
  const struct dtg_graph *after = pass(graph);
  if (!dtg_graph_verify(after, DTG_VERIFY_BUILD, &why))
    fail_msg("seed %llu, %s: %s", (unsigned long long)seed, name, dtg_strbuf_text(&why));
  struct plan_memory *first =
      plan_run(&ctx.arena, plan_make(&ctx, graph, false), DTG_PLAN_TRAIN, plan_leaf, &leaf_seed);
  struct plan_memory *second =
      plan_run(&ctx.arena, plan_make(&ctx, after, false), DTG_PLAN_TRAIN, plan_leaf, &leaf_seed);
  for (size_t i = 0; i < graph->roots.len; i++) {
    size_t size, same;
    const void *a = plan_run_root_bytes(first, i, &size);
    const void *b = plan_run_root_bytes(second, i, &same);
    if (size != same || memcmp(a, b, size) != 0)
      fail_msg("seed %llu: %s changes root %s", (unsigned long long)seed, name,
               graph->roots.data[i].name);
  }
  dtg_ctx_free(&ctx);
}

static void test_bits(void **state) {
  (void)state;
  for (uint64_t seed = 1; seed <= 100; seed++) {
    check_bits(dtg_opt_simplify, "simplify", seed);
    check_bits(dtg_opt_fold, "fold", seed);
    check_bits(dtg_opt_cse, "cse", seed);
    check_bits(dtg_opt_dce, "dce", seed);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_fold), cmocka_unit_test(test_cse),
                                     cmocka_unit_test(test_simplify), cmocka_unit_test(test_dce),
                                     cmocka_unit_test(test_bits)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
