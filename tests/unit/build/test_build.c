/* Graphs from models: what is in them, and the limits of what a model may ask for. */
#include "compiler/ops/evaluate.h"
#include "tests/unit/build/model_text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#define TRAIN                                                    \
  "optimizer descent(lr: float) { param = param - lr * grad }\n" \
  "data d = table(x = random_normal([64, 3]))\n"                 \
  "train { data = d  batch = 24  steps = 1  optimizer = descent(lr = 0.5) }\n"

/* Every input is 1, 2, 3, ...; variables are all 2. */
static void counting(void *context, const struct dtg_node *leaf, struct dtg_ref_tensor *out) {
  (void)context;
  for (int64_t i = 0; i < dtg_shape_count(&out->type.shape); i++)
    out->data[i] = strcmp(leaf->op->name, "input") == 0 ? (double)(i + 1) : 2;
}

/* Value of the only element (or the first) of an output of the evaluation graph. */
static double output(struct model_text *text, const char *name) {
  struct dtg_graph *graph = text->module->eval;
  uint32_t node = model_text_root(graph, DTG_ROOT_OUTPUT, name);
  assert_true(node != DTG_NO_NODE);
  return dtg_evaluate(graph, &text->ctx.arena, counting, NULL)[node].data[0];
}

static void expect_output(const char *body, double value) {
  struct model_text text;
  char source[2048];
  snprintf(source, sizeof source, "model m(x: f32[B, 3]) {\n%s\n}\n", body);
  model_text_build(&text, source);
  model_text_expect(&text, NULL);
  double found = output(&text, "y");
  if (found != value)
    fail_msg("%s\ngives %g, not %g", body, found, value);
  model_text_close(&text);
}

static void test_values(void **state) {
  (void)state;
  expect_output("output y = x + 1", 2);
  expect_output("output y = sum(x)", 6);
  expect_output("output y = x[0, 1:] * 2 ** 3", 16);
  expect_output("output y = -x[0, -1] ** 2", -9);
  expect_output("output y = mean(x == 2)", 1.0 / 3);
  expect_output("output y = cast(7 % 4 + -7 % 4, f32)", 4);
  expect_output("output y = full([2], 7 / 2) + 64 / 2", 35.5);
  expect_output("h = 0\n for i in 0..4 { h = h + i }\n output y = full([1], h)", 6);
  expect_output("h = x\n for i in 0..3 { t = h * 2\n h = t }\n output y = h", 8);
  expect_output("if training { h = 1 } else { h = 2 }\n output y = full([1], h)", 2);
  expect_output("f = v -> v + 10\n output y = f(x) |> f", 21);
  expect_output("k = 1\n f = v -> v + k\n for i in 0..3 { k = k + 1 }\n output y = f(x)", 2);
  expect_output("output y = full([1], len(shape(x)) + dim(x, -1) + rank(x))", 7);
  expect_output("output y = where(x > 2, x, -x)", -1);
  expect_output("output y = if 2 < 3 and not false then x else -x", 1);
  expect_output("output y = [1, 2.5, x][1] * x", 2.5);
  expect_output("output y = full([1], max(3, 4.5) + min([2, 1]) + floor(2.7))", 7.5);
  expect_output("output y = concat([x, x * 2])[1, 0]", 2);
  expect_output("output y = x @ transpose(x)", 14);
  expect_output("output y = cast(argmax(x), f32)", 2);
}

static void test_graphs(void **state) {
  (void)state;
  struct model_text text;
  model_text_build(&text, "layer l(x: f32[N, C]) -> f32[N, C] {\n"
                          "  param w: f32[C] ~ ones()\n  state s: f32[C] ~ zeros()\n"
                          "  update s = mean(x, axis = 0)\n  return x * w + s\n}\n"
                          "model m(x: f32[B, 3]) {\n  h = l(x)\n  loss = mean(h)\n"
                          "  metric top = max(h)\n  output h = h\n}\n" TRAIN);
  model_text_expect(&text, NULL);
  const struct dtg_module *module = text.module;
  assert_int_equal(module->variables.len, 2);
  assert_string_equal(module->variables.data[0].path, "h.w");
  assert_string_equal(module->variables.data[1].path, "h.s");
  /* 24 examples in 8 shards */
  assert_int_equal(dtg_graph_node(module->train, 0)->type.shape.dims[0], 3);
  assert_int_equal(dtg_graph_node(module->eval, 0)->type.shape.dims[0], 3);
  assert_int_equal(dtg_graph_node(module->tail, 0)->type.shape.dims[0], 1);
  for (int i = 0; i < 3; i++) {
    const struct dtg_graph *graphs[] = {module->train, module->eval, module->tail};
    bool training = i == 0;
    assert_true(model_text_root(graphs[i], DTG_ROOT_LOSS, "") != DTG_NO_NODE);
    assert_true(model_text_root(graphs[i], DTG_ROOT_METRIC, "top") != DTG_NO_NODE);
    assert_int_equal(model_text_root(graphs[i], DTG_ROOT_OUTPUT, "h") == DTG_NO_NODE, training);
    assert_int_equal(model_text_root(graphs[i], DTG_ROOT_STATE, "h.s") != DTG_NO_NODE, training);
  }
  assert_true(model_text_root(module->update, DTG_ROOT_UPDATE, "h.w") != DTG_NO_NODE);
  assert_true(model_text_root(module->update, DTG_ROOT_UPDATE, "h.s") != DTG_NO_NODE);
  model_text_close(&text);
}

/* The gradient is the mean over the shards of what they contributed. */
static void test_mean_over_shards(void **state) {
  (void)state;
  struct model_text text;
  model_text_build(&text, "layer l(x: f32[N, C]) -> f32[N, C] {\n"
                          "  param w: f32[C] ~ ones()\n  return x * w\n}\n"
                          "model m(x: f32[B, 3]) {\n  loss = mean(l(x))\n}\n" TRAIN);
  model_text_expect(&text, NULL);
  struct dtg_graph *graph = text.module->update;
  uint32_t node = model_text_root(graph, DTG_ROOT_UPDATE, "l.w");
  struct dtg_ref_tensor *values = dtg_evaluate(graph, &text.ctx.arena, counting, NULL);
  assert_true(values[node].data[0] == 2 - 0.5 * (2.0 / 8));
  model_text_close(&text);
}

/* Streams of random numbers depend on the path and the number of the node, nothing else. */
static void test_random_streams(void **state) {
  (void)state;
  int64_t seen[2][3];
  for (int i = 0; i < 2; i++) {
    struct model_text text;
    char source[1024];
    snprintf(source, sizeof source,
             "layer n(x: f32[N, C]) -> f32[N, C] {\n"
             "  return x + random(shape(x)) + random(shape(x), \"normal\")\n}\n"
             "model m(x: f32[B, 3]) {\n  h = x%s\n  a = h |> first: n()\n"
             "  output y = a |> second: n()\n}\n",
             i == 0 ? "" : " * 2 + 1");
    model_text_build(&text, source);
    model_text_expect(&text, NULL);
    int count = 0;
    for (size_t j = 0; j < text.module->eval->nodes.len && count < 3; j++) {
      const struct dtg_node *node = &text.module->eval->nodes.data[j];
      if (strcmp(node->op->name, "random") == 0)
        seen[i][count++] = dtg_node_int(node, "stream", -1);
    }
    assert_int_equal(count, 3);
    model_text_close(&text);
  }
  for (int i = 0; i < 3; i++)
    assert_true(seen[0][i] == seen[1][i] && seen[0][i] >= 0);
  assert_true(seen[0][0] != seen[0][1] && seen[0][1] != seen[0][2] && seen[0][0] != seen[0][2]);
}

static void expect_error(const char *source, const char *part) {
  struct model_text text;
  model_text_build(&text, source);
  model_text_expect(&text, part);
  model_text_close(&text);
}

static void test_limits(void **state) {
  (void)state;
  expect_error("model m(x: f32[B]) {\n  h = x\n  for i in 0..1000000 { h = h + 1 }\n"
               "  output y = h\n}\n",
               "more than 1048576 nodes");
  expect_error(
      "model m(x: f32[B]) {\n  h = 0\n  for i in 0..2000 { for j in 0..2000 { h = h + 1 } }\n"
      "  output y = x + h\n}\n",
      "more than 1048576 iterations");
  expect_error("model m(x: f32[B]) {\n  output y = (f -> f(f) + 1)(f -> f(f) + 1)\n}\n",
               "nested more than 1500 deep");
  expect_error("model m(x: f32[B]) {\n  output y = reshape(x, [1, 1, 1, 1, 1, 1, 1, 1, 1])\n}\n",
               "a list of at most 8 ints");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_values),           cmocka_unit_test(test_graphs),
      cmocka_unit_test(test_mean_over_shards), cmocka_unit_test(test_random_streams),
      cmocka_unit_test(test_limits),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
