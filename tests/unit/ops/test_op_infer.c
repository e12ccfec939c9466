/* Types that ops infer, and the exact sentences with which they refuse operands. */
#include "compiler/base/strbuf.h"
#include "tests/unit/ops/testing.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

struct refusal {
  const char *op, *inputs, *attrs, *why;
};

static void check(const struct refusal *c) {
  struct bench bench;
  struct dtg_strbuf why = {0};
  struct dtg_op_sample sample = {c->inputs, c->attrs, 0, 0, 0};
  bench_open(&bench, 0);
  assert_non_null(dtg_op_find(c->op));
  if (dtg_sample_graph(&bench.arena, &bench.names, dtg_op_find(c->op), &sample, &why))
    fail_msg("%s of %s {%s} was accepted", c->op, c->inputs, c->attrs);
  assert_string_equal(dtg_strbuf_text(&why), c->why);
  dtg_strbuf_free(&why);
  bench_close(&bench);
}

static const struct refusal refusals[] = {
    /* operand counts and attributes */
    {"add", "f32[3]", "", "`add` takes 2 operands, got 1"},
    {"neg", "f32[3] f32[3]", "", "`neg` takes 1 operand, got 2"},
    {"concat", "", "axis=0", "`concat` takes at least 1 operand, got 0"},
    {"neg", "f32[3]", "axis=0", "`neg` has no attribute `axis`"},
    {"sum", "f32[3]", "", "`sum` needs attribute `axes`"},
    {"sum", "f32[3]", "axes=0", "attribute `axes` of `sum` is of kind int, but must be ints"},
    {"sum", "f32[3]", "axes=[0] axes=[0]", "`sum` has attribute `axes` twice"},
    /* element-wise */
    {"add", "f32[3, 5] f32[3, 4]", "", "`add` needs one shape, got f32[3, 5] and f32[3, 4]"},
    {"add", "f32[3] i32[3]", "", "`add` needs one element type, got f32[3] and i32[3]"},
    {"mul", "bool[3] bool[3]", "", "`mul` needs numbers, got bool[3]"},
    {"pow", "i32[3] i32[3]", "", "`pow` needs floats, got i32[3]"},
    {"exp", "i64[]", "", "`exp` needs floats, got i64[]"},
    {"lt", "bool[2] bool[2]", "", "`lt` needs numbers, got bool[2]"},
    {"and", "i32[2] i32[2]", "", "`and` needs bool, got i32[2]"},
    {"where", "f32[2] f32[2] f32[2]", "", "`where` needs a bool condition, got f32[2]"},
    {"where", "bool[3] f32[2] f32[2]", "", "`where` needs one shape, got bool[3] and f32[2]"},
    {"where", "bool[2] f32[2] i32[2]", "", "`where` needs one element type, got f32[2] and i32[2]"},
    {"check_range", "f32[2]", "limit=3", "`check_range` needs integers, got f32[2]"},
    {"check_range", "i32[2]", "limit=0", "`check_range` needs a limit of at least 1, got 0"},
    /* leaves and generators */
    {"scalar", "", "name=\"epoch\"", "there is no run-time scalar `epoch`"},
    {"const", "", "dtype=u8 value=256", "256 is out of the range of u8"},
    {"const", "", "dtype=i32 value=2147483648", "2147483648 is out of the range of i32"},
    {"const", "", "dtype=f32 value=1", "a constant of f32 has a value of another kind"},
    {"iota", "", "axis=1 dtype=i64 shape=[3]", "`iota` has no axis 1: the operand is i64[3]"},
    {"iota", "", "axis=0 dtype=i64 shape=[-3]",
     "`iota` would give i64[-3], but a dim is at least 1"},
    {"iota", "", "axis=0 dtype=i64 shape=[9223372036854775807]",
     "`iota` would give i64[9223372036854775807], which is too large"},
    {"iota", "", "axis=0 dtype=i64 shape=[1, 1, 1, 1, 1, 1, 1, 1, 1]",
     "`iota` has a shape of 9 dims, but at most 8 are possible"},
    {"random", "i64[] i64[] i64[]", "distribution=\"cauchy\" shape=[3] stream=0",
     "`random` knows the distributions uniform and normal, not `cauchy`"},
    {"random", "i32[] i64[] i64[]", "distribution=\"normal\" shape=[3] stream=0",
     "`random` needs seed, step and shard as i64[], got i32[]"},
    /* shapes */
    {"reshape", "f32[2, 3]", "shape=[4]",
     "`reshape` cannot make f32[4] of f32[2, 3]: the numbers of elements differ"},
    {"reshape", "f32[2, 3]", "shape=[0]", "`reshape` would give f32[0], but a dim is at least 1"},
    {"broadcast_to", "f32[2, 3]", "shape=[3]", "`broadcast_to` cannot stretch f32[2, 3] to f32[3]"},
    {"broadcast_to", "f32[2]", "shape=[3]", "`broadcast_to` cannot stretch f32[2] to f32[3]"},
    {"transpose", "f32[2, 3]", "perm=[0]",
     "`transpose` needs a permutation of the 2 axes of f32[2, 3]"},
    {"transpose", "f32[2, 3]", "perm=[0, 0]", "`transpose` has axis 0 twice"},
    {"transpose", "f32[2, 3]", "perm=[0, 2]",
     "`transpose` has no axis 2: the operand is f32[2, 3]"},
    {"reverse", "f32[2, 3]", "axes=[1, 0]",
     "`reverse` needs its axes in ascending order, got 0 after 1"},
    {"slice", "f32[5]", "start=[0] step=[1] stop=[6]",
     "`slice` cannot take 0:6 of axis 0 of f32[5]"},
    {"slice", "f32[5]", "start=[3] step=[1] stop=[3]",
     "`slice` cannot take 3:3 of axis 0 of f32[5]"},
    {"slice", "f32[5]", "start=[0] step=[0] stop=[3]", "`slice` needs steps of at least 1, got 0"},
    {"slice", "f32[5]", "start=[] step=[1] stop=[3]",
     "`slice` needs a start for each axis of f32[5], got 0"},
    {"pad", "f32[5]", "after=[1] before=[-1]", "`pad` needs counts of at least 0, got -1 and 1"},
    {"pad", "f32[5]", "after=[9223372036854775807] before=[0]",
     "`pad` makes axis 0 of f32[5] too large"},
    {"concat", "f32[2, 3] f32[2, 4]", "axis=0",
     "`concat` cannot join f32[2, 3] and f32[2, 4] along axis 0"},
    {"concat", "f32[2] i32[2]", "axis=0", "`concat` cannot join f32[2] and i32[2] along axis 0"},
    /* reductions */
    {"sum", "u8[3]", "axes=[0]", "`sum` needs f32, f64, i32 or i64, got u8[3]"},
    {"sum", "f32[3]", "axes=[-1]", "`sum` has no axis -1: the operand is f32[3]"},
    {"max", "f32[3, 4]", "axes=[0, 0]", "`max` needs its axes in ascending order, got 0 after 0"},
    {"argmax", "f32[3]", "axis=1", "`argmax` has no axis 1: the operand is f32[3]"},
    {"block_sum", "f64[3]", "", "`block_sum` needs f32, got f64[3]"},
    {"tree_sum", "f32[3, 4]", "", "`tree_sum` needs one axis, got f32[3, 4]"},
    /* indices and products */
    {"gather", "f32[3] f32[2]", "axis=0", "`gather` needs integers, got f32[2]"},
    {"gather", "f32[] i32[2]", "axis=0", "`gather` has no axis 0: the operand is f32[]"},
    {"gather", "f32[2,2,2,2,2] i32[2,2,2,2,2]", "axis=0",
     "`gather` of f32[2, 2, 2, 2, 2] by i32[2, 2, 2, 2, 2] has 9 dims, but at most 8 are possible"},
    {"scatter_add", "f32[6, 3] i32[5] f32[5, 2]", "axis=0",
     "`scatter_add` into f32[6, 3] by i32[5] needs updates of f32[5, 3], got f32[5, 2]"},
    {"matmul", "f32[3, 4] f32[5, 6]", "",
     "`matmul` cannot multiply f32[3, 4] by f32[5, 6]: 4 and 5 differ"},
    {"matmul", "f32[3, 4] f32[5, 6]", "transpose_a=true transpose_b=true",
     "`matmul` cannot multiply f32[3, 4] transposed by f32[5, 6] transposed: 3 and 6 differ"},
    {"matmul", "f32[2, 3, 4] f32[3, 4, 5]", "",
     "`matmul` cannot pair the leading axes of f32[2, 3, 4] and f32[3, 4, 5]"},
    {"matmul", "f32[3] f32[3, 4]", "",
     "`matmul` needs operands of two axes at least, got f32[3] and f32[3, 4]"},
    {"matmul", "f64[3, 3] f64[3, 3]", "", "`matmul` needs f32, got f64[3, 3]"},
};

static void test_refusals(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++)
    check(&refusals[i]);
}

struct result {
  const char *op, *inputs, *attrs, *type;
};

static const struct result results[] = {
    {"eq", "f32[3] f32[3]", "", "bool[3]"},
    {"cast", "u8[3, 4]", "dtype=f32", "f32[3, 4]"},
    {"sum", "f32[2, 3, 4]", "axes=[0, 2]", "f32[3]"},
    {"sum", "f32[2, 3, 4]", "axes=[0, 2] keepdims=true", "f32[1, 3, 1]"},
    {"sum", "f32[2, 3]", "axes=[]", "f32[2, 3]"},
    {"argmax", "f32[2, 3, 4]", "axis=1", "i64[2, 4]"},
    {"argmin", "f32[2, 3, 4]", "axis=1 keepdims=true", "i64[2, 1, 4]"},
    {"slice", "f32[9]", "start=[2] step=[3] stop=[9]", "f32[3]"},
    {"pad", "f32[9]", "after=[2] before=[1]", "f32[12]"},
    {"concat", "f32[2, 3] f32[2, 4]", "axis=1", "f32[2, 7]"},
    {"gather", "f32[2, 5, 3] i32[3, 2]", "axis=1", "f32[2, 3, 2, 3]"},
    {"matmul", "f32[2, 1, 3, 4] f32[5, 4, 6]", "", "f32[2, 5, 3, 6]"},
    {"transpose", "f32[2, 3, 5]", "perm=[2, 0, 1]", "f32[5, 2, 3]"},
    {"block_sum", "f32[100, 300]", "", "f32[2]"},
    {"block_sum", "f32[3, 20000]", "", "f32[3]"},
    {"block_sum", "f32[]", "", "f32[1]"},
    {"scalar", "", "name=\"total_steps\"", "i64[]"},
};

static void test_results(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof results / sizeof *results; i++) {
    struct bench bench;
    struct dtg_strbuf why = {0};
    struct dtg_op_sample sample = {results[i].inputs, results[i].attrs, 0, 0, 0};
    char text[64];
    bench_open(&bench, 0);
    struct dtg_graph *graph =
        dtg_sample_graph(&bench.arena, &bench.names, dtg_op_find(results[i].op), &sample, &why);
    if (!graph)
      fail_msg("%s: %s", results[i].op, dtg_strbuf_text(&why));
    dtg_type_format(&graph->nodes.data[graph->nodes.len - 1].type, text, sizeof text);
    assert_string_equal(text, results[i].type);
    bench_close(&bench);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_refusals),
                                     cmocka_unit_test(test_results)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
