/* The double-precision oracle and the gradient rules against tests/reference/ops: every case whose
 * op is a row of the table. (Composite ops are tested where the language defines them.) */
#include "compiler/base/strbuf.h"
#include "compiler/grad/grad.h"
#include "tests/unit/ops/tensor_file.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One case: the graph under construction and its operands. */
struct setup {
  struct bench *bench;
  struct dtg_graph *graph;
  json_t *attrs;
  uint32_t inputs[8];
  uint32_t count;
};

static struct dtg_shape shape_of(const struct setup *setup, uint32_t input) {
  return dtg_graph_node(setup->graph, setup->inputs[input])->type.shape;
}

static uint32_t ints_of(json_t *array, int64_t *values) {
  for (size_t i = 0; i < json_array_size(array); i++)
    values[i] = json_integer_value(json_array_get(array, i));
  return (uint32_t)json_array_size(array);
}

static int64_t positive(int64_t axis, uint32_t rank) {
  return axis < 0 ? axis + rank : axis;
}

static uint32_t build_plain(struct setup *setup, const char *op) {
  return dtg_add(setup->graph, op, setup->inputs, setup->count, NULL, 0);
}

/* All operands (all but the first `skip`) broadcast to one shape. */
static uint32_t build_broadcast(struct setup *setup, const char *op) {
  struct dtg_shape shape = shape_of(setup, 0);
  for (uint32_t i = 1; i < setup->count; i++) {
    struct dtg_shape other = shape_of(setup, i);
    assert_true(dtg_shape_broadcast(&shape, &other, &shape));
  }
  uint32_t wide[8];
  for (uint32_t i = 0; i < setup->count; i++)
    wide[i] = dtg_add_broadcast(setup->graph, setup->inputs[i], &shape);
  return dtg_add(setup->graph, op, wide, setup->count, NULL, 0);
}

static uint32_t build_matmul(struct setup *setup, const char *op) {
  (void)op;
  return dtg_add_matmul(setup->graph, setup->inputs[0], setup->inputs[1],
                        json_is_true(json_object_get(setup->attrs, "transpose_a")),
                        json_is_true(json_object_get(setup->attrs, "transpose_b")));
}

static uint32_t build_reduce(struct setup *setup, const char *op) {
  json_t *list = json_object_get(setup->attrs, "axes");
  uint32_t rank = shape_of(setup, 0).rank, count = rank;
  int64_t axes[DTG_MAX_RANK];
  for (uint32_t i = 0; i < rank; i++)
    axes[i] = i;
  if (json_is_array(list))
    count = ints_of(list, axes);
  for (uint32_t i = 0; i < count; i++)
    axes[i] = positive(axes[i], rank);
  return dtg_add_reduce(setup->graph, op, setup->inputs[0], count, axes,
                        json_is_true(json_object_get(setup->attrs, "keepdims")));
}

static uint32_t build_axis(struct setup *setup, const char *op) {
  int64_t axis = json_integer_value(json_object_get(setup->attrs, "axis"));
  struct dtg_attr attr = dtg_attr_int("axis", positive(axis, shape_of(setup, 0).rank));
  return dtg_add(setup->graph, op, setup->inputs, setup->count, &attr, 1);
}

static uint32_t build_ints(struct setup *setup, const char *op, const char *name) {
  int64_t values[DTG_MAX_RANK];
  uint32_t count = ints_of(json_object_get(setup->attrs, name), values);
  struct dtg_attr attr = dtg_attr_ints(name, count, values);
  return dtg_add(setup->graph, op, setup->inputs, 1, &attr, 1);
}

static uint32_t build_shape(struct setup *setup, const char *op) {
  return build_ints(setup, op, "shape");
}

static uint32_t build_transpose(struct setup *setup, const char *op) {
  return build_ints(setup, op, "perm");
}

static uint32_t build_reverse(struct setup *setup, const char *op) {
  return build_ints(setup, op, "axes");
}

static uint32_t build_slice(struct setup *setup, const char *op) {
  int64_t start[DTG_MAX_RANK], stop[DTG_MAX_RANK], step[DTG_MAX_RANK];
  struct dtg_shape shape = shape_of(setup, 0);
  ints_of(json_object_get(setup->attrs, "starts"), start);
  ints_of(json_object_get(setup->attrs, "stops"), stop);
  ints_of(json_object_get(setup->attrs, "steps"), step);
  for (uint32_t i = 0; i < shape.rank; i++) {
    start[i] += start[i] < 0 ? shape.dims[i] : 0;
    stop[i] += stop[i] < 0 ? shape.dims[i] : 0;
  }
  struct dtg_attr attrs[] = {dtg_attr_ints("start", shape.rank, start),
                             dtg_attr_ints("step", shape.rank, step),
                             dtg_attr_ints("stop", shape.rank, stop)};
  return dtg_add(setup->graph, op, setup->inputs, 1, attrs, 3);
}

static uint32_t build_pad(struct setup *setup, const char *op) {
  json_t *pads = json_object_get(setup->attrs, "pads");
  uint32_t rank = (uint32_t)json_array_size(pads);
  int64_t before[DTG_MAX_RANK], after[DTG_MAX_RANK], pair[2];
  for (uint32_t i = 0; i < rank; i++) {
    ints_of(json_array_get(pads, i), pair);
    before[i] = pair[0];
    after[i] = pair[1];
  }
  double value = json_number_value(json_object_get(setup->attrs, "value"));
  struct dtg_attr attrs[] = {dtg_attr_ints("before", rank, before),
                             dtg_attr_ints("after", rank, after), dtg_attr_float("value", value)};
  return dtg_add(setup->graph, op, setup->inputs, 1, attrs, 3);
}

/* embedding and scatter_add work on axis 0. */
static uint32_t build_rows(struct setup *setup, const char *op) {
  struct dtg_attr attr = dtg_attr_int("axis", 0);
  return dtg_add(setup->graph, op, setup->inputs, setup->count, &attr, 1);
}

static const struct rule {
  const char *reference, *op;
  uint32_t (*build)(struct setup *setup, const char *op);
} rules[] = {
    {"add", "add", build_broadcast},
    {"sub", "sub", build_broadcast},
    {"mul", "mul", build_broadcast},
    {"div", "div", build_broadcast},
    {"pow", "pow", build_broadcast},
    {"maximum", "maximum", build_broadcast},
    {"minimum", "minimum", build_broadcast},
    {"equal", "eq", build_broadcast},
    {"not_equal", "ne", build_broadcast},
    {"less", "lt", build_broadcast},
    {"less_equal", "le", build_broadcast},
    {"greater", "gt", build_broadcast},
    {"greater_equal", "ge", build_broadcast},
    {"where", "where", build_broadcast},
    {"matmul", "matmul", build_matmul},
    {"sum", "sum", build_reduce},
    {"max", "max", build_reduce},
    {"min", "min", build_reduce},
    {"prod", "prod", build_reduce},
    {"argmax", "argmax", build_axis},
    {"argmin", "argmin", build_axis},
    {"concat", "concat", build_axis},
    {"gather", "gather", build_axis},
    {"embedding", "gather", build_rows},
    {"scatter_add", "scatter_add", build_rows},
    {"transpose", "transpose", build_transpose},
    {"reshape", "reshape", build_shape},
    {"broadcast_to", "broadcast_to", build_shape},
    {"reverse", "reverse", build_reverse},
    {"slice", "slice", build_slice},
    {"pad", "pad", build_pad},
};

/* Other ops of the table with one operand and no attributes go by their own name. */
static struct rule find_rule(const char *reference) {
  for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
    if (strcmp(rules[i].reference, reference) == 0)
      return rules[i];
  }
  const struct dtg_op_def *op = dtg_op_find(reference);
  bool unary = op && op->class == DTG_CLASS_ELEMENTWISE && op->max_inputs == 1;
  return (struct rule){reference, reference, unary ? build_plain : NULL};
}

static void compare(const char *path, const char *what, const struct dtg_ref_tensor *found,
                    const struct dtg_ref_tensor *stored) {
  if (!dtg_shape_equal(&found->type.shape, &stored->type.shape))
    fail_msg("%s: the shape of %s differs", path, what);
  for (int64_t i = 0; i < dtg_shape_count(&stored->type.shape); i++) {
    double gap = fabs(found->data[i] - stored->data[i]);
    /* One float32 rounding of the stored value. */
    if (!(gap <= 6.1e-8 * fabs(stored->data[i]) + 1e-30))
      fail_msg("%s: %s[%lld] is %.9g, stored is %.9g", path, what, (long long)i, found->data[i],
               stored->data[i]);
  }
}

/* sum(out * grad_out), whose gradients are stored. */
static uint32_t weighted(struct setup *setup, uint32_t out, const struct dtg_ref_tensor *weights,
                         struct leaf_table *table) {
  struct dtg_ref_tensor *leaf = leaf_add(table, setup->bench, "grad_out", weights->type);
  leaf->data = weights->data;
  uint32_t node = dtg_add_leaf(setup->graph, "input", "grad_out", weights->type);
  uint32_t product = dtg_add_binary(setup->graph, "mul", out, node);
  return dtg_add_unbroadcast(setup->graph, product, &(struct dtg_shape){0});
}

static void check_gradients(struct setup *setup, const struct tensor_file *file, json_t *names,
                            const char *path, uint32_t out, struct leaf_table *table) {
  const struct dtg_ref_tensor *weights = tensor_file_find(file, "grad_out");
  uint32_t grads[8], culprit;
  if (!weights)
    return;
  uint32_t of = weighted(setup, out, weights, table);
  assert_true(dtg_grad_nodes(setup->graph, of, setup->inputs, setup->count, grads, &culprit));
  struct dtg_ref_tensor *values =
      dtg_evaluate(setup->graph, &setup->bench->arena, leaf_value, table);
  for (uint32_t i = 0; i < setup->count; i++) {
    char name[80];
    snprintf(name, sizeof name, "grad.%s", json_string_value(json_array_get(names, i)));
    const struct dtg_ref_tensor *stored = tensor_file_find(file, name);
    if (!stored)
      continue;
    if (grads[i] == DTG_NO_NODE)
      fail_msg("%s: %s has no gradient", path, name);
    compare(path, name, &values[grads[i]], stored);
  }
}

/* False if the op is none of the table. */
static bool check_case(const char *path) {
  struct bench bench;
  struct tensor_file file;
  struct leaf_table table = {0};
  bench_open(&bench, 0);
  tensor_file_open(&file, &bench, path);
  struct rule rule = find_rule(json_string_value(json_object_get(file.metadata, "op")));
  if (rule.build) {
    struct setup setup = {.bench = &bench,
                          .graph = dtg_graph_new(&bench.arena, &bench.names, "case"),
                          .attrs = tensor_file_json(&file, "attrs")};
    json_t *names = tensor_file_json(&file, "inputs");
    for (; setup.count < json_array_size(names); setup.count++) {
      char name[80];
      snprintf(name, sizeof name, "in.%s", json_string_value(json_array_get(names, setup.count)));
      const struct dtg_ref_tensor *value = tensor_file_find(&file, name);
      assert_non_null(value);
      leaf_add(&table, &bench, name, value->type)->data = value->data;
      setup.inputs[setup.count] = dtg_add_leaf(setup.graph, "input", name, value->type);
    }
    uint32_t out = rule.build(&setup, rule.op);
    struct dtg_ref_tensor *values = dtg_evaluate(setup.graph, &bench.arena, leaf_value, &table);
    compare(path, "out", &values[out], tensor_file_find(&file, "out"));
    check_gradients(&setup, &file, names, path, out, &table);
    json_decref(names);
    json_decref(setup.attrs);
  }
  tensor_file_close(&file);
  bench_close(&bench);
  return rule.build != NULL;
}

static void test_cases(void **state) {
  (void)state;
  const char *source = getenv("DTG_SOURCE_DIR");
  char folder[1024], path[2048];
  int checked = 0, others = 0;
  assert_non_null(source);
  snprintf(folder, sizeof folder, "%s/tests/reference/ops", source);
  DIR *directory = opendir(folder);
  assert_non_null(directory);
  for (struct dirent *entry; (entry = readdir(directory));) {
    if (!strstr(entry->d_name, ".safetensors"))
      continue;
    snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
    if (check_case(path))
      checked++;
    else
      others++;
  }
  closedir(directory);
  printf("%d cases of ops of the table, %d of composite ops\n", checked, others);
  assert_true(checked >= 182);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_cases)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
