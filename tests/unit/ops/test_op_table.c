/* What every row must have, and that every sample of it is sound. */
#include "compiler/base/strbuf.h"
#include "tests/unit/ops/testing.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <string.h>

static void check_row(const struct dtg_op_def *op) {
  bool computes = op->class != DTG_CLASS_LEAF && op->class != DTG_CLASS_SCAN;
  bool lowers = op->class == DTG_CLASS_ELEMENTWISE || op->class == DTG_CLASS_GENERATE ||
                op->class == DTG_CLASS_CONST;
  size_t length = strlen(op->doc);
  if (length < 3 || op->doc[length - 1] != '.')
    fail_msg("%s: the doc is no sentence", op->name);
  if (computes != (op->ref != NULL) || lowers != (op->lower != NULL) || !op->cost || !op->shard)
    fail_msg("%s: a function is missing or too many", op->name);
  if ((op->class == DTG_CLASS_REDUCE) != (op->accumulate != CG_ACCUMULATE_NONE))
    fail_msg("%s: accumulate does not fit the class", op->name);
  if ((op->flags & DTG_OP_ZERO_GRAD) && op->grad)
    fail_msg("%s: has a gradient that is zero by definition", op->name);
  if (computes && op->class != DTG_CLASS_CONST && op->sample_count == 0)
    fail_msg("%s: has no samples", op->name);
  if (op->min_inputs > op->max_inputs)
    fail_msg("%s: takes at least %u and at most %u operands", op->name, op->min_inputs,
             op->max_inputs);
}

static void test_rows(void **state) {
  (void)state;
  assert_true(dtg_op_count() > 60);
  for (uint32_t i = 0; i < dtg_op_count(); i++) {
    const struct dtg_op_def *op = dtg_op_at(i);
    check_row(op);
    assert_ptr_equal(dtg_op_find(op->name), op); /* names are unique */
  }
  assert_null(dtg_op_find("splat"));
  assert_null(dtg_op_find(""));
}

static void test_schemas(void **state) {
  (void)state;
  for (uint32_t i = 0; i < dtg_op_count(); i++) {
    const struct dtg_op_def *op = dtg_op_at(i);
    const char *cursor = op->attributes ? op->attributes : "";
    struct dtg_attr_schema schema, last = {.name = "", .name_length = 0};
    while (dtg_attr_schema_next(&cursor, &schema)) {
      assert_true(schema.name_length > 0);
      assert_true(schema.kind >= 0 || strcmp(op->name, "const") == 0);
      size_t shared = schema.name_length < last.name_length ? schema.name_length : last.name_length;
      int order = memcmp(last.name, schema.name, shared);
      if (order > 0 || (order == 0 && last.name_length >= schema.name_length))
        fail_msg("%s: attributes are not in order", op->name);
      last = schema;
    }
  }
}

static void check_sample(const struct dtg_op_def *op, uint32_t index) {
  struct bench bench;
  struct dtg_strbuf why = {0};
  struct leaf_table table = {0};
  bench_open(&bench, index + 1);
  struct dtg_graph *graph =
      dtg_sample_graph(&bench.arena, &bench.names, op, &op->samples[index], &why);
  if (!graph)
    fail_msg("%s, sample %u: %s", op->name, index, dtg_strbuf_text(&why));
  uint32_t last = (uint32_t)graph->nodes.len - 1;
  struct dtg_type types[8];
  for (uint32_t id = 0; id < last; id++) {
    const struct dtg_node *leaf = dtg_graph_node(graph, id);
    struct dtg_ref_tensor *value =
        leaf_add(&table, &bench, dtg_node_string(leaf, "name", ""), leaf->type);
    types[id] = leaf->type;
    for (int64_t i = 0; i < dtg_shape_count(&leaf->type.shape); i++)
      value->data[i] = dtg_sample_value(&op->samples[index], leaf->type.dtype, bench_bits(&bench));
  }
  struct dtg_ref_tensor out = dtg_evaluate(graph, &bench.arena, leaf_value, &table)[last];
  for (int64_t i = 0; i < dtg_shape_count(&out.type.shape); i++) {
    if (out.data[i] != out.data[i])
      fail_msg("%s, sample %u: element %lld is NaN", op->name, index, (long long)i);
  }
  double flops = -1, bytes = -1;
  op->cost(dtg_graph_node(graph, last), types, &flops, &bytes);
  assert_true(flops >= 0 && bytes >= 0);
  bench_close(&bench);
}

static void test_samples(void **state) {
  (void)state;
  for (uint32_t i = 0; i < dtg_op_count(); i++) {
    for (uint32_t j = 0; j < dtg_op_at(i)->sample_count; j++)
      check_sample(dtg_op_at(i), j);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_rows),
      cmocka_unit_test(test_schemas),
      cmocka_unit_test(test_samples),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
