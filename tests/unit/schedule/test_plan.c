/* The verifier of plans: a good plan passes, and each way of spoiling it is named. */
#include "plan_run.h"

#include "compiler/base/strbuf.h"
#include "compiler/ir/graph_text.h"
#include "random_graph.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static const char mlp[] = "graph \"train\" {\n"
                          "  %0 input {name=\"x\"} : f32[32, 64]\n"
                          "  %1 input {name=\"w\"} : f32[64, 64]\n"
                          "  %2 input {name=\"v\"} : f32[64, 64]\n"
                          "  %3 matmul %0, %1 : f32[32, 64]\n"
                          "  %4 tanh %3 : f32[32, 64]\n"
                          "  %5 matmul %4, %2 : f32[32, 64]\n"
                          "  %6 add %5, %4 : f32[32, 64]\n"
                          "  %7 matmul %6, %1 : f32[32, 64]\n"
                          "  %8 sum %7 {axes=[0, 1]} : f32[]\n"
                          "  root loss \"\" %8 mean\n"
                          "}\n";

struct bench {
  struct dtg_ctx ctx;
  struct dtg_plan *plan;
  struct dtg_plan_function *train;
};

static void open_bench(struct bench *bench) {
  struct dtg_strbuf why = {0};
  struct dtg_graph *graph = NULL;
  dtg_ctx_init(&bench->ctx);
  if (!dtg_graph_read(&bench->ctx.arena, &bench->ctx.names, mlp, strlen(mlp), &why, &graph))
    fail_msg("%s", dtg_strbuf_text(&why));
  bench->plan = plan_make(&bench->ctx, graph, true);
  bench->train = &bench->plan->functions[DTG_PLAN_TRAIN];
}

static void expect_reason(struct bench *bench, const char *reason) {
  struct dtg_strbuf why = {0};
  assert_false(dtg_plan_verify(bench->plan, &why));
  if (!strstr(dtg_strbuf_text(&why), reason))
    fail_msg("\"%s\" expected, got \"%s\"", reason, dtg_strbuf_text(&why));
  dtg_strbuf_free(&why);
  dtg_ctx_free(&bench->ctx);
}

/* Moves buffer `index` with the arguments that point to it. */
static void move_buffer(struct bench *bench, size_t index, int64_t offset) {
  struct dtg_plan_buffer *buffer = &bench->train->buffers.data[index];
  for (size_t s = 0; s < bench->train->steps.len; s++) {
    struct dtg_plan_step *step = &bench->train->steps.data[s];
    for (size_t i = 0; i < step->args.len; i++) {
      if (step->nodes.data[i] == buffer->node)
        step->args.data[i].offset = offset;
    }
  }
  buffer->at.offset = offset;
}

static size_t arena_buffer(const struct bench *bench, size_t number) {
  for (size_t i = 0; i < bench->train->buffers.len; i++) {
    if (bench->train->buffers.data[i].at.space == DTG_SPACE_ARENA && number-- == 0)
      return i;
  }
  fail_msg("the plan has too few buffers");
  return 0;
}

static void test_good(void **state) {
  (void)state;
  struct bench bench;
  struct dtg_strbuf why = {0};
  open_bench(&bench);
  assert_int_equal(bench.train->steps.len, 6);
  assert_true(dtg_plan_verify(bench.plan, &why));
  assert_true(bench.train->arena_bytes <= bench.train->live_peak_bytes * 105 / 100);
  dtg_ctx_free(&bench.ctx);
}

static void test_moved(void **state) {
  (void)state;
  struct bench bench;
  open_bench(&bench);
  /* tanh's result lives while the second product is made. */
  size_t product = DTG_NO_NODE, tanh = DTG_NO_NODE;
  for (size_t i = 0; i < bench.train->buffers.len; i++) {
    uint32_t node = bench.train->buffers.data[i].node;
    if (node == 4)
      tanh = i;
    if (node == 5)
      product = i;
  }
  assert_true(product != DTG_NO_NODE && tanh != DTG_NO_NODE);
  move_buffer(&bench, product, bench.train->buffers.data[tanh].at.offset);
  expect_reason(&bench, "live at the same time in the same memory");
}

static void test_outside(void **state) {
  (void)state;
  struct bench bench;
  open_bench(&bench);
  move_buffer(&bench, arena_buffer(&bench, 0), bench.train->arena_bytes);
  expect_reason(&bench, "outside its");
  open_bench(&bench);
  move_buffer(&bench, arena_buffer(&bench, 0), 4);
  expect_reason(&bench, "no multiple of 64");
}

static void test_dropped(void **state) {
  (void)state;
  struct bench bench;
  open_bench(&bench);
  bench.train->steps.len--;
  expect_reason(&bench, "has no step");
  open_bench(&bench);
  bench.train->steps.data[1] = bench.train->steps.data[0];
  expect_reason(&bench, "runs twice");
}

static void test_swapped(void **state) {
  (void)state;
  struct bench bench;
  open_bench(&bench);
  struct dtg_plan_step step = bench.train->steps.data[1];
  bench.train->steps.data[1] = bench.train->steps.data[2];
  bench.train->steps.data[2] = step;
  expect_reason(&bench, "which step 2 computes");
}

static void test_argument(void **state) {
  (void)state;
  struct bench bench;
  open_bench(&bench);
  bench.train->steps.data[1].args.data[0].offset += 64;
  expect_reason(&bench, "where it is not");
}

static void test_short_life(void **state) {
  (void)state;
  struct bench bench;
  open_bench(&bench);
  for (size_t i = 0; i < bench.train->buffers.len; i++) {
    if (bench.train->buffers.data[i].node == 4)
      bench.train->buffers.data[i].last_step--;
  }
  expect_reason(&bench, "does not live as long as it is used");
}

static void test_root(void **state) {
  (void)state;
  struct bench bench;
  open_bench(&bench);
  for (size_t i = 0; i < bench.train->buffers.len; i++) {
    struct dtg_plan_buffer *buffer = &bench.train->buffers.data[i];
    if (buffer->at.space != DTG_SPACE_CONTRIBUTION)
      continue;
    buffer->at.space = DTG_SPACE_ARENA;
    buffer->last_step = 100;
    for (size_t s = 0; s < bench.train->steps.len; s++) {
      for (size_t k = 0; k < bench.train->steps.data[s].args.len; k++) {
        if (bench.train->steps.data[s].nodes.data[k] == buffer->node)
          bench.train->steps.data[s].args.data[k].space = DTG_SPACE_ARENA;
      }
    }
    move_buffer(&bench, i, bench.train->arena_bytes);
    bench.train->arena_bytes += 64;
  }
  expect_reason(&bench, "is not written to its place");
}

/* Arenas of random graphs are hardly larger than what lives at once. */
static void test_arena_size(void **state) {
  (void)state;
  double planned = 0, live = 0;
  for (uint64_t seed = 1; seed <= 60; seed++) {
    struct dtg_ctx ctx;
    dtg_ctx_init(&ctx);
    const struct dtg_plan *plan = plan_make(&ctx, random_graph_make(&ctx, seed, 60, false), true);
    planned += (double)plan->functions[DTG_PLAN_TRAIN].arena_bytes;
    live += (double)plan->functions[DTG_PLAN_TRAIN].live_peak_bytes;
    dtg_ctx_free(&ctx);
  }
  printf("planned arenas are %.4f of the largest live sets\n", planned / live);
  assert_true(planned <= 1.05 * live);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_good),       cmocka_unit_test(test_moved),
      cmocka_unit_test(test_outside),    cmocka_unit_test(test_dropped),
      cmocka_unit_test(test_swapped),    cmocka_unit_test(test_argument),
      cmocka_unit_test(test_short_life), cmocka_unit_test(test_root),
      cmocka_unit_test(test_arena_size)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
