/* Gradients against central differences of the double-precision oracle: every sample of every op,
 * and random composite graphs. */
#include "compiler/base/strbuf.h"
#include "compiler/grad/grad.h"
#include "tests/unit/ops/testing.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { ENTRIES = 24, RANDOM_GRAPHS = 60 };

static double value_of(const struct dtg_graph *graph, uint32_t node, struct leaf_table *table) {
  struct dtg_arena scratch;
  dtg_arena_init(&scratch);
  double value = dtg_evaluate(graph, &scratch, leaf_value, table)[node].data[0];
  dtg_arena_free(&scratch);
  return value;
}

/* The slope of node `of` in element `i` of a leaf. */
static double slope(const struct dtg_graph *graph, uint32_t of, struct leaf_table *table,
                    double *x) {
  double centre = *x, step = 1e-5 * fmax(1, fabs(centre));
  *x = centre + step;
  double high = value_of(graph, of, table);
  *x = centre - step;
  double low = value_of(graph, of, table);
  *x = centre;
  return (high - low) / (2 * step);
}

/* Does the graph go through whole numbers? Then the gradient is 0, and differences meet the jumps.
 */
static bool has_steps(const struct dtg_graph *graph, uint32_t leaf_count) {
  return leaf_count < graph->nodes.len &&
         !dtg_dtype_is_float(graph->nodes.data[leaf_count].type.dtype);
}

/* Compares up to ENTRIES entries of each leaf, spread evenly. */
static void check_leaf(struct bench *bench, const char *what, const struct dtg_graph *forward,
                       const struct dtg_graph *full, uint32_t of, struct leaf_table *table,
                       struct leaf_entry *entry, uint32_t grad, bool steps) {
  int64_t count = dtg_shape_count(&entry->value.type.shape);
  const double *found = NULL;
  if (grad != DTG_NO_NODE) {
    struct dtg_type type = dtg_graph_node(full, grad)->type;
    assert_true(dtg_type_equal(&type, &entry->value.type));
    found = dtg_evaluate(full, &bench->arena, leaf_value, table)[grad].data;
  }
  for (int64_t i = 0; i < count; i += 1 + count / ENTRIES) {
    double wanted = steps ? 0 : slope(forward, of, table, &entry->value.data[i]);
    double value = found ? found[i] : 0;
    if (!(fabs(value - wanted) <= 2e-6 * (1 + fabs(wanted))))
      fail_msg("%s: gradient of %s[%lld] is %.12g, differences give %.12g", what, entry->key,
               (long long)i, value, wanted);
  }
}

/* A graph with the nodes before `count` only. */
static struct dtg_graph *head_of(struct bench *bench, const struct dtg_graph *graph, size_t count) {
  struct dtg_graph *head = DTG_NEW(&bench->arena, struct dtg_graph);
  *head = *graph;
  head->nodes.len = count;
  return head;
}

static void check_graph(struct bench *bench, const char *what, struct dtg_graph *graph, uint32_t of,
                        struct leaf_table *table) {
  uint32_t wrt[64], grads[64], count = 0, culprit;
  struct leaf_entry *entries[64];
  for (uint32_t id = 0; id < graph->nodes.len; id++) {
    const struct dtg_node *node = dtg_graph_node(graph, id);
    const char *key = dtg_node_string(node, "name", dtg_node_string(node, "path", NULL));
    bool wanted = node->op->class == DTG_CLASS_LEAF && strcmp(key, "weights") != 0 &&
                  (node->type.dtype == DTG_F32 || node->type.dtype == DTG_F64);
    for (uint32_t i = 0; wanted && i < table->count; i++) {
      if (strcmp(table->entries[i].key, key) == 0) {
        entries[count] = &table->entries[i];
        wrt[count++] = id;
      }
    }
  }
  bool steps = has_steps(graph, table->count - 1);
  struct dtg_graph *forward = head_of(bench, graph, graph->nodes.len);
  if (!dtg_grad_nodes(graph, of, wrt, count, grads, &culprit))
    fail_msg("%s: %s has no gradient", what, dtg_graph_node(graph, culprit)->op->name);
  for (uint32_t i = 0; i < count; i++)
    check_leaf(bench, what, forward, graph, of, table, entries[i], grads[i], steps);
}

/* sum(cast(out, float) * weights) */
static uint32_t weighted_sum(struct bench *bench, struct dtg_graph *graph,
                             struct leaf_table *table) {
  uint32_t out = (uint32_t)graph->nodes.len - 1;
  struct dtg_type type = dtg_graph_node(graph, out)->type;
  if (type.dtype != DTG_F64)
    type.dtype = DTG_F32;
  struct dtg_ref_tensor *weights = leaf_add(table, bench, "weights", type);
  for (int64_t i = 0; i < dtg_shape_count(&type.shape); i++)
    weights->data[i] = bench_uniform(bench, -1, 1);
  uint32_t leaf = dtg_add_leaf(graph, "input", "weights", type);
  uint32_t product = dtg_add_binary(graph, "mul", dtg_add_cast(graph, out, type.dtype), leaf);
  return dtg_add_unbroadcast(graph, product, &(struct dtg_shape){0});
}

static void check_sample(const struct dtg_op_def *op, uint32_t index) {
  const struct dtg_op_sample *sample = &op->samples[index];
  struct bench bench;
  struct leaf_table table = {0};
  struct dtg_strbuf why = {0};
  bench_open(&bench, 1000 + index);
  struct dtg_graph *graph = dtg_sample_graph(&bench.arena, &bench.names, op, sample, &why);
  if (!graph)
    fail_msg("%s, sample %u: %s", op->name, index, dtg_strbuf_text(&why));
  for (uint32_t id = 0; id + 1 < graph->nodes.len; id++) {
    const struct dtg_node *leaf = dtg_graph_node(graph, id);
    struct dtg_ref_tensor *value =
        leaf_add(&table, &bench, dtg_node_string(leaf, "name", ""), leaf->type);
    for (int64_t i = 0; i < dtg_shape_count(&leaf->type.shape); i++)
      value->data[i] = dtg_sample_value(sample, leaf->type.dtype, bench_bits(&bench));
  }
  /* bf16 results are rounded: no slope to measure. */
  if (!strstr(sample->inputs, "bf16") && !strstr(sample->attrs, "bf16")) {
    char what[64];
    snprintf(what, sizeof what, "%s, sample %u", op->name, index);
    check_graph(&bench, what, graph, weighted_sum(&bench, graph, &table), &table);
  }
  bench_close(&bench);
}

static bool has_gradient(const struct dtg_op_def *op) {
  bool constant = (op->flags & DTG_OP_ZERO_GRAD) && strcmp(op->name, "stop_gradient") != 0;
  return op->class != DTG_CLASS_LEAF && (op->grad || constant);
}

static void test_samples(void **state) {
  (void)state;
  for (uint32_t i = 0; i < dtg_op_count(); i++) {
    const struct dtg_op_def *op = dtg_op_at(i);
    for (uint32_t j = 0; has_gradient(op) && j < op->sample_count; j++)
      check_sample(op, j);
  }
}

static void test_random_graphs(void **state) {
  (void)state;
  for (uint64_t seed = 1; seed <= RANDOM_GRAPHS; seed++) {
    struct bench bench;
    struct leaf_table table = {0};
    char what[64];
    bench_open(&bench, seed);
    struct dtg_graph *graph = random_graph(&bench, 14, &table);
    snprintf(what, sizeof what, "random graph of seed %llu", (unsigned long long)seed);
    check_graph(&bench, what, graph, (uint32_t)graph->nodes.len - 1, &table);
    bench_close(&bench);
  }
}

/* f(x) of one f32[count] leaf "x" with given values; checks the gradient of sum(f(x)) exactly. */
static void check_exact(const char *op, const char *attrs, int64_t count, const double *x,
                        const double *wanted) {
  struct bench bench;
  struct leaf_table table = {0};
  struct dtg_strbuf why = {0};
  char inputs[32];
  uint32_t grad, culprit;
  bench_open(&bench, 1);
  snprintf(inputs, sizeof inputs, "f32[%lld]", (long long)count);
  struct dtg_op_sample sample = {inputs, attrs, 0, 0, 0};
  struct dtg_graph *graph =
      dtg_sample_graph(&bench.arena, &bench.names, dtg_op_find(op), &sample, &why);
  assert_non_null(graph);
  memcpy(leaf_add(&table, &bench, "x0", dtg_graph_node(graph, 0)->type)->data, x,
         (size_t)count * sizeof *x);
  uint32_t of = dtg_add_unbroadcast(graph, (uint32_t)graph->nodes.len - 1, &(struct dtg_shape){0});
  assert_true(dtg_grad_nodes(graph, of, (uint32_t[]){0}, 1, &grad, &culprit));
  const double *found = dtg_evaluate(graph, &bench.arena, leaf_value, &table)[grad].data;
  for (int64_t i = 0; i < count; i++) {
    if (found[i] != wanted[i])
      fail_msg("%s: gradient %lld is %g, not %g", op, (long long)i, found[i], wanted[i]);
  }
  bench_close(&bench);
}

static void test_kinks(void **state) {
  (void)state;
  check_exact("relu", "", 3, (double[]){-1, 0, 2}, (double[]){0, 0, 1});
  check_exact("abs", "", 3, (double[]){-1, 0, 2}, (double[]){-1, 0, 1});
  check_exact("max", "axes=[0]", 4, (double[]){3, 1, 3, 2}, (double[]){0.5, 0, 0.5, 0});
  check_exact("min", "axes=[0]", 3, (double[]){3, 1, 2}, (double[]){0, 1, 0});
}

static void test_prod_with_zeros(void **state) {
  (void)state;
  check_exact("prod", "axes=[0]", 3, (double[]){2, 3, 4}, (double[]){12, 8, 6});
  check_exact("prod", "axes=[0]", 3, (double[]){2, 0, 4}, (double[]){0, 8, 0});
  check_exact("prod", "axes=[0]", 3, (double[]){0, 0, 4}, (double[]){0, 0, 0});
}

/* Gradient of x op y at scalars. */
static void check_pair(const char *op, double x, double y, double dx, double dy) {
  struct bench bench;
  struct leaf_table table = {0};
  uint32_t grads[2], culprit;
  struct dtg_type type = {.dtype = DTG_F32};
  bench_open(&bench, 1);
  struct dtg_graph *graph = dtg_graph_new(&bench.arena, &bench.names, "pair");
  uint32_t leaves[] = {dtg_add_leaf(graph, "input", "x", type),
                       dtg_add_leaf(graph, "input", "y", type)};
  *leaf_add(&table, &bench, "x", type)->data = x;
  *leaf_add(&table, &bench, "y", type)->data = y;
  uint32_t of = dtg_add(graph, op, leaves, 2, NULL, 0);
  assert_true(dtg_grad_nodes(graph, of, leaves, 2, grads, &culprit));
  struct dtg_ref_tensor *values = dtg_evaluate(graph, &bench.arena, leaf_value, &table);
  if (values[grads[0]].data[0] != dx || values[grads[1]].data[0] != dy)
    fail_msg("%s(%g, %g): %g and %g, not %g and %g", op, x, y, values[grads[0]].data[0],
             values[grads[1]].data[0], dx, dy);
  bench_close(&bench);
}

static void test_pairs(void **state) {
  (void)state;
  check_pair("pow", 0, 2, 0, 0);
  check_pair("pow", 0, 1, 1, 0);
  check_pair("pow", 0, 0, 0, 0);
  check_pair("pow", 3, 2, 6, 9 * log(3));
  check_pair("maximum", 2, 2, 0.5, 0.5);
  check_pair("maximum", 3, 2, 1, 0);
  check_pair("minimum", 3, 2, 0, 1);
  check_pair("minimum", 2, 2, 0.5, 0.5);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_samples), cmocka_unit_test(test_random_graphs),
      cmocka_unit_test(test_kinks),   cmocka_unit_test(test_prod_with_zeros),
      cmocka_unit_test(test_pairs),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
