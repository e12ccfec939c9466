/* Rewrites of single nodes: which happen, and that they keep every value. */
#include "compiler/base/strbuf.h"
#include "compiler/ir/graph_text.h"
#include "compiler/ir/rewrite.h"
#include "tests/unit/ops/testing.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

/* Simplifies the last node of the graph; DTG_NO_NODE if nothing is found. */
static uint32_t simplify_last(struct dtg_graph *graph) {
  uint32_t last = (uint32_t)graph->nodes.len - 1;
  const struct dtg_op_def *op = dtg_graph_node(graph, last)->op;
  return op->simplify ? op->simplify(graph, last) : DTG_NO_NODE;
}

/* Reads nodes, simplifies the last one and compares the one it becomes: its line behind the id, or
 * "" where nothing must be found. */
static void check(const char *nodes, const char *wanted) {
  struct bench bench;
  struct dtg_strbuf text = {0}, why = {0}, out = {0};
  struct dtg_graph *graph;
  bench_open(&bench, 0);
  dtg_strbuf_printf(&text, "graph \"g\" {\n%s}\n", nodes);
  if (!dtg_graph_read(&bench.arena, &bench.names, text.data, text.len, &why, &graph))
    fail_msg("%s\n%s", dtg_strbuf_text(&why), text.data);
  uint32_t found = simplify_last(graph);
  if (found == DTG_NO_NODE) {
    assert_string_equal(wanted, "");
  } else {
    char prefix[16];
    dtg_graph_print(graph, NULL, &out);
    snprintf(prefix, sizeof prefix, "  %%%u ", found);
    char *line = strstr(out.data, prefix) + strlen(prefix);
    *strchr(line, '\n') = '\0';
    assert_string_equal(line, wanted);
  }
  dtg_strbuf_free(&text);
  dtg_strbuf_free(&out);
  bench_close(&bench);
}

#define X "  %0 input {name=\"x\"} : f32[3]\n"
#define N "  %0 input {name=\"n\"} : i32[3]\n"
#define INPUT_X "input {name=\"x\"} : f32[3]"
#define INPUT_N "input {name=\"n\"} : i32[3]"
#define FLOAT(value)                                  \
  "  %1 const {dtype=f32, value=" value "} : f32[]\n" \
  "  %2 broadcast_to %1 {shape=[3]} : f32[3]\n"
#define INT(value)                                    \
  "  %1 const {dtype=i32, value=" value "} : i32[]\n" \
  "  %2 broadcast_to %1 {shape=[3]} : i32[3]\n"

static void test_neutral(void **state) {
  (void)state;
  check(X FLOAT("1.0") "  %3 mul %0, %2 : f32[3]\n", INPUT_X);
  check(X FLOAT("1.0") "  %3 mul %2, %0 : f32[3]\n", INPUT_X);
  check(X FLOAT("-1.0") "  %3 mul %2, %0 : f32[3]\n", "neg %0 : f32[3]");
  check(X FLOAT("1.0") "  %3 div %0, %2 : f32[3]\n", INPUT_X);
  check(X FLOAT("1.0") "  %3 pow %0, %2 : f32[3]\n", INPUT_X);
  check(X FLOAT("0.0") "  %3 sub %0, %2 : f32[3]\n", INPUT_X);
  check(N INT("0") "  %3 add %0, %2 : i32[3]\n", INPUT_N);
  check(X FLOAT("-0.0") "  %3 add %2, %0 : f32[3]\n", INPUT_X);
}

/* -0.0 + 0.0 is 0.0, and -0.0 - -0.0 is 0.0: no identities. */
static void test_signed_zero(void **state) {
  (void)state;
  check(X FLOAT("0.0") "  %3 add %0, %2 : f32[3]\n", "");
  check(X FLOAT("-0.0") "  %3 sub %0, %2 : f32[3]\n", "");
  check(X FLOAT("0.0") "  %3 mul %0, %2 : f32[3]\n", "");
}

static void test_power_of_two(void **state) {
  (void)state;
  check(X FLOAT("8.0") "  %3 div %0, %2 : f32[3]\n", "mul %0, %5 : f32[3]");
  check(X FLOAT("-0.5") "  %3 div %0, %2 : f32[3]\n", "mul %0, %5 : f32[3]");
  check(X FLOAT("3.0") "  %3 div %0, %2 : f32[3]\n", "");
  check(X FLOAT("0.0") "  %3 div %0, %2 : f32[3]\n", "");
  check(X FLOAT("1e-38") "  %3 div %0, %2 : f32[3]\n", "");
  check(N INT("8") "  %3 div %0, %2 : i32[3]\n", "");
}

static void test_twice(void **state) {
  (void)state;
  check(X "  %1 neg %0 : f32[3]\n  %2 neg %1 : f32[3]\n", INPUT_X);
  check(X "  %1 neg %0 : f32[3]\n  %2 abs %1 : f32[3]\n", "abs %0 : f32[3]");
  check(X "  %1 relu %0 : f32[3]\n  %2 relu %1 : f32[3]\n", "relu %0 : f32[3]");
  check(X "  %1 maximum %0, %0 : f32[3]\n", INPUT_X);
  check("  %0 input {name=\"x\"} : f32[2, 3, 5]\n"
        "  %1 transpose %0 {perm=[2, 0, 1]} : f32[5, 2, 3]\n"
        "  %2 transpose %1 {perm=[1, 0, 2]} : f32[2, 5, 3]\n",
        "transpose %0 {perm=[0, 2, 1]} : f32[2, 5, 3]");
  check("  %0 input {name=\"x\"} : f32[2, 3]\n"
        "  %1 reverse %0 {axes=[1]} : f32[2, 3]\n"
        "  %2 reverse %1 {axes=[1]} : f32[2, 3]\n",
        "input {name=\"x\"} : f32[2, 3]");
}

static void test_shapes(void **state) {
  (void)state;
  check(X "  %1 reshape %0 {shape=[3]} : f32[3]\n", INPUT_X);
  check(X
        "  %1 reshape %0 {shape=[1, 3]} : f32[1, 3]\n  %2 reshape %1 {shape=[3, 1]} : f32[3, 1]\n",
        "reshape %0 {shape=[3, 1]} : f32[3, 1]");
  check(X "  %1 broadcast_to %0 {shape=[2, 3]} : f32[2, 3]\n"
          "  %2 broadcast_to %1 {shape=[4, 2, 3]} : f32[4, 2, 3]\n",
        "broadcast_to %0 {shape=[4, 2, 3]} : f32[4, 2, 3]");
  check(X "  %1 slice %0 {start=[0], step=[1], stop=[3]} : f32[3]\n", INPUT_X);
  check(X "  %1 slice %0 {start=[0], step=[1], stop=[2]} : f32[2]\n", "");
  check(X "  %1 pad %0 {after=[0], before=[0]} : f32[3]\n", INPUT_X);
  check(X "  %1 concat %0 {axis=0} : f32[3]\n", INPUT_X);
  check("  %0 input {name=\"x\"} : f32[1, 3]\n  %1 sum %0 {axes=[0]} : f32[3]\n",
        "reshape %0 {shape=[3]} : f32[3]");
}

static void test_casts(void **state) {
  (void)state;
  check(X "  %1 cast %0 {dtype=f32} : f32[3]\n", INPUT_X);
  check("  %0 input {name=\"x\"} : u8[3]\n"
        "  %1 cast %0 {dtype=i32} : i32[3]\n"
        "  %2 cast %1 {dtype=f32} : f32[3]\n",
        "cast %0 {dtype=f32} : f32[3]");
  check(X "  %1 cast %0 {dtype=i32} : i32[3]\n  %2 cast %1 {dtype=f32} : f32[3]\n", "");
  check(N "  %1 cast %0 {dtype=f32} : f32[3]\n  %2 cast %1 {dtype=i64} : i64[3]\n", "");
  check(N "  %1 cast %0 {dtype=i64} : i64[3]\n  %2 cast %1 {dtype=u8} : u8[3]\n",
        "cast %0 {dtype=u8} : u8[3]");
}

static void test_choice(void **state) {
  (void)state;
  check(X "  %1 const {dtype=bool, value=false} : bool[]\n"
          "  %2 broadcast_to %1 {shape=[3]} : bool[3]\n"
          "  %3 neg %0 : f32[3]\n"
          "  %4 where %2, %0, %3 : f32[3]\n",
        "neg %0 : f32[3]");
  check("  %0 input {name=\"n\"} : u8[3]\n  %1 check_range %0 {limit=256} : u8[3]\n",
        "input {name=\"n\"} : u8[3]");
  check("  %0 input {name=\"n\"} : u8[3]\n  %1 check_range %0 {limit=255} : u8[3]\n", "");
}

/* The whole of a random graph, node by node: the last value stays, to the bit. */
static void test_random(void **state) {
  (void)state;
  size_t found = 0;
  for (uint64_t seed = 1; seed <= 100; seed++) {
    struct bench bench;
    struct leaf_table table = {0};
    bench_open(&bench, seed);
    struct dtg_graph *graph = random_graph(&bench, 25, &table);
    struct dtg_rewrite rewrite = dtg_rewrite_begin(graph);
    for (uint32_t id = 0; id < graph->nodes.len; id++) {
      uint32_t node = dtg_rewrite_copy(&rewrite, id), better;
      const struct dtg_op_def *op = dtg_graph_node(rewrite.to, node)->op;
      while (op->simplify && (better = op->simplify(rewrite.to, node)) != DTG_NO_NODE) {
        found++;
        node = better;
        op = dtg_graph_node(rewrite.to, node)->op;
      }
      dtg_rewrite_set(&rewrite, id, node);
    }
    uint32_t last = (uint32_t)graph->nodes.len - 1;
    double before = dtg_evaluate(graph, &bench.arena, leaf_value, &table)[last].data[0];
    struct dtg_ref_tensor *after = dtg_evaluate(rewrite.to, &bench.arena, leaf_value, &table);
    if (after[rewrite.map[last]].data[0] != before)
      fail_msg("seed %llu: %.17g becomes %.17g", (unsigned long long)seed, before,
               after[rewrite.map[last]].data[0]);
    bench_close(&bench);
  }
  assert_true(found > 20);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_neutral),      cmocka_unit_test(test_signed_zero),
      cmocka_unit_test(test_power_of_two), cmocka_unit_test(test_twice),
      cmocka_unit_test(test_shapes),       cmocka_unit_test(test_casts),
      cmocka_unit_test(test_choice),       cmocka_unit_test(test_random),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
