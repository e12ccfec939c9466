/* Values of the reference at the points where definitions differ between libraries. */
#include "compiler/base/strbuf.h"
#include "compiler/ops/support.h"
#include "tests/unit/ops/testing.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <math.h>
#include <string.h>

/* Evaluates an op on operands given one after another; compares the result exactly, NaN with NaN.
 */
static void check(const char *op, const char *inputs, const char *attrs, const double *operands,
                  const double *wanted) {
  struct bench bench;
  struct leaf_table table = {0};
  struct dtg_strbuf why = {0};
  struct dtg_op_sample sample = {inputs, attrs, 0, 0, 0};
  bench_open(&bench, 0);
  struct dtg_graph *graph =
      dtg_sample_graph(&bench.arena, &bench.names, dtg_op_find(op), &sample, &why);
  if (!graph)
    fail_msg("%s", dtg_strbuf_text(&why));
  uint32_t last = (uint32_t)graph->nodes.len - 1;
  for (uint32_t id = 0; id < last; id++) {
    const struct dtg_node *leaf = dtg_graph_node(graph, id);
    size_t count = (size_t)dtg_shape_count(&leaf->type.shape);
    memcpy(leaf_add(&table, &bench, dtg_node_string(leaf, "name", ""), leaf->type)->data, operands,
           count * sizeof *operands);
    operands += count;
  }
  struct dtg_ref_tensor out = dtg_evaluate(graph, &bench.arena, leaf_value, &table)[last];
  for (int64_t i = 0; i < dtg_shape_count(&out.type.shape); i++) {
    bool same = out.data[i] == wanted[i] || (isnan(out.data[i]) && isnan(wanted[i]));
    if (!same)
      fail_msg("%s %s {%s}: element %lld is %g, not %g", op, inputs, attrs, (long long)i,
               out.data[i], wanted[i]);
  }
  bench_close(&bench);
}

#define V(...) ((const double[]){__VA_ARGS__})

static void test_integers(void **state) {
  (void)state;
  check("div", "i32[4] i32[4]", "", V(7, -7, 7, 5, 2, 2, -1, 0), V(3, -3, -7, 0));
  check("mod", "i32[4] i32[4]", "", V(7, -7, 7, 5, 3, 3, -3, 0), V(1, 2, -2, 0));
  check("mod", "f32[3] f32[3]", "", V(7.5, -7.5, 7.5, 3, 3, -3), V(1.5, 1.5, -1.5));
  check("add", "i32[1] i32[1]", "", V(2147483647, 1), V(-2147483648.0));
  check("add", "u8[1] u8[1]", "", V(200, 100), V(44));
  check("neg", "u8[2]", "", V(0, 1), V(0, 255));
  check("sum", "i32[2]", "axes=[0]", V(2147483647, 1), V(-2147483648.0));
}

static void test_casts(void **state) {
  (void)state;
  check("cast", "f32[5]", "dtype=i32", V(1.9, -1.9, 1e10, -1e10, NAN),
        V(1, -1, 2147483647, -2147483648.0, 0));
  check("cast", "f32[3]", "dtype=u8", V(300, -5, 7.9), V(255, 0, 7));
  check("cast", "i32[2]", "dtype=u8", V(257, -1), V(1, 255));
  check("cast", "f32[4]", "dtype=bool", V(0, 0.1, -3, NAN), V(0, 1, 1, 1));
  check("cast", "f32[2]", "dtype=bf16", V(1.00390625, 3), V(1, 3)); /* halfway: to even */
}

static void test_rounding(void **state) {
  (void)state;
  check("round", "f32[6]", "", V(0.5, 1.5, 2.5, -0.5, -1.5, 2.4), V(0, 2, 2, 0, -2, 2));
  check("floor", "f32[2]", "", V(-0.5, 1.5), V(-1, 1));
  check("ceil", "f32[2]", "", V(-1.5, 1.5), V(-1, 2));
  check("sign", "f32[4]", "", V(-2, 0, 3, NAN), V(-1, 0, 1, NAN));
  check("is_finite", "f32[4]", "", V(1, INFINITY, -INFINITY, NAN), V(1, 0, 0, 0));
}

static void test_nan_wins(void **state) {
  (void)state;
  check("maximum", "f32[3] f32[3]", "", V(NAN, 1, 2, 1, NAN, 3), V(NAN, NAN, 3));
  check("minimum", "f32[3] f32[3]", "", V(NAN, 1, 2, 1, NAN, 3), V(NAN, NAN, 2));
  check("max", "f32[3]", "axes=[0]", V(1, NAN, 2), V(NAN));
  check("min", "f32[3]", "axes=[0]", V(NAN, 1, 2), V(NAN));
  check("relu", "f32[3]", "", V(NAN, -1, 2), V(NAN, 0, 2));
  check("argmax", "f32[4]", "axis=0", V(1, NAN, 9, NAN), V(1));
  check("argmin", "f32[4]", "axis=0", V(3, 1, 1, 2), V(1));
  check("ne", "f32[1] f32[1]", "", V(NAN, NAN), V(1));
}

static void test_range(void **state) {
  (void)state;
  check("check_range", "i32[4]", "limit=3", V(0, 2, 3, -1), V(0, 2, 0, 0));
  check("gather", "f32[2] i32[3]", "axis=0", V(5, 6, 1, 2, -1), V(6, 0, 0));
}

/* The tree of 6: ((a + b) + (c + d)) + (e + f). */
static void test_tree(void **state) {
  (void)state;
  check("tree_sum", "f32[6]", "", V(1e16, 1, -1e16, 1, 1, 1), V(((1e16 + 1) + (-1e16 + 1)) + 2));
  check("tree_sum", "f32[3]", "", V(1, 1e16, -1e16), V((1 + 1e16) - 1e16));
}

static void test_blocks(void **state) {
  (void)state;
  struct dtg_shape shapes[] = {{0},
                               {.rank = 1, .dims = {16384}},
                               {.rank = 1, .dims = {16385}},
                               {.rank = 2, .dims = {100, 300}},
                               {.rank = 2, .dims = {3, 20000}}};
  int64_t rows[] = {16384, 16384, 16384, 55, 1}, blocks[] = {1, 1, 2, 2, 3};
  for (int i = 0; i < 5; i++) {
    assert_int_equal(dtg_block_rows(&shapes[i]), rows[i]);
    assert_int_equal(dtg_block_count(&shapes[i]), blocks[i]);
  }
}

/* Known answers of the Random123 library's kat_vectors for philox4x32 with 10 rounds. */
static void test_philox(void **state) {
  (void)state;
  uint32_t out[4];
  dtg_philox((uint32_t[]){0, 0}, (uint32_t[]){0, 0, 0, 0}, out);
  assert_int_equal(out[0], 0x6627e8d5);
  assert_int_equal(out[1], 0xe169c58d);
  assert_int_equal(out[2], 0xbc57ac4c);
  assert_int_equal(out[3], 0x9b00dbd8);
  dtg_philox((uint32_t[]){0xa4093822, 0x299f31d0},
             (uint32_t[]){0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, out);
  assert_int_equal(out[0], 0xd16cfe09);
  assert_int_equal(out[1], 0x94fdcceb);
  assert_int_equal(out[2], 0x5001e420);
  assert_int_equal(out[3], 0x24126ea1);
}

enum { DRAWS = 20000 };

static void draw(struct bench *bench, const char *attrs, double step, double *mean, double *spread,
                 double *low, double *high) {
  struct leaf_table table = {0};
  struct dtg_strbuf why = {0};
  struct dtg_op_sample sample = {"i64[] i64[] i64[]", attrs, 0, 0, 0};
  struct dtg_graph *graph =
      dtg_sample_graph(&bench->arena, &bench->names, dtg_op_find("random"), &sample, &why);
  assert_non_null(graph);
  for (uint32_t id = 0; id < 3; id++) {
    const struct dtg_node *leaf = dtg_graph_node(graph, id);
    *leaf_add(&table, bench, dtg_node_string(leaf, "name", ""), leaf->type)->data =
        id == 1 ? step : 1;
  }
  const double *x = dtg_evaluate(graph, &bench->arena, leaf_value, &table)[3].data;
  double sum = 0, squares = 0;
  *low = *high = x[0];
  for (int i = 0; i < DRAWS; i++) {
    sum += x[i];
    squares += x[i] * x[i];
    *low = fmin(*low, x[i]);
    *high = fmax(*high, x[i]);
  }
  *mean = sum / DRAWS;
  *spread = squares / DRAWS - *mean * *mean;
}

static void test_random(void **state) {
  (void)state;
  struct bench bench;
  double mean, spread, low, high, other;
  bench_open(&bench, 0);
  draw(&bench, "distribution=\"uniform\" shape=[20000] stream=3", 0, &mean, &spread, &low, &high);
  assert_true(low >= 0 && high < 1 && fabs(mean - 0.5) < 0.01 && fabs(spread - 1.0 / 12) < 0.002);
  draw(&bench, "distribution=\"uniform\" shape=[20000] stream=3", 1, &other, &spread, &low, &high);
  assert_true(other != mean);
  draw(&bench, "distribution=\"uniform\" shape=[20000] stream=4", 1, &mean, &spread, &low, &high);
  assert_true(other != mean);
  draw(&bench, "distribution=\"normal\" shape=[20000] stream=3", 0, &mean, &spread, &low, &high);
  assert_true(fabs(mean) < 0.03 && fabs(spread - 1) < 0.04 && low < -3 && high > 3);
  bench_close(&bench);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_integers), cmocka_unit_test(test_casts),
      cmocka_unit_test(test_rounding), cmocka_unit_test(test_nan_wins),
      cmocka_unit_test(test_range),    cmocka_unit_test(test_tree),
      cmocka_unit_test(test_blocks),   cmocka_unit_test(test_philox),
      cmocka_unit_test(test_random),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
