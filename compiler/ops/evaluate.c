#include "compiler/ops/evaluate.h"

#include "compiler/base/bug.h"
#include "compiler/base/strbuf.h"
#include "compiler/ir/graph_text.h"
#include "compiler/ops/support.h"

#include <stdio.h>

static void evaluate_node(const struct dtg_node *node, struct dtg_arena *arena,
                          struct dtg_ref_tensor *values, struct dtg_ref_tensor *out) {
  struct dtg_ref_tensor *inputs = DTG_NEW_ARRAY(arena, struct dtg_ref_tensor, node->input_count);
  for (uint32_t i = 0; i < node->input_count; i++)
    inputs[i] = values[node->inputs[i]];
  struct dtg_ref_call call = {
      .node = node, .inputs = inputs, .input_count = node->input_count, .out = out};
  if (!node->op->ref)
    dtg_bug("`%s` has no reference", node->op->name);
  node->op->ref(&call);
}

struct dtg_ref_tensor *dtg_evaluate(const struct dtg_graph *graph, struct dtg_arena *arena,
                                    dtg_leaf_value *leaf, void *context) {
  struct dtg_ref_tensor *values = DTG_NEW_ARRAY(arena, struct dtg_ref_tensor, graph->nodes.len);
  for (size_t i = 0; i < graph->nodes.len; i++) {
    const struct dtg_node *node = &graph->nodes.data[i];
    values[i].type = node->type;
    values[i].data = DTG_NEW_ARRAY(arena, double, dtg_shape_count(&node->type.shape));
    if (node->op->class == DTG_CLASS_LEAF)
      leaf(context, node, &values[i]);
    else
      evaluate_node(node, arena, values, &values[i]);
  }
  return values;
}

struct dtg_graph *dtg_sample_graph(struct dtg_arena *arena, struct dtg_intern *names,
                                   const struct dtg_op_def *op, const struct dtg_op_sample *sample,
                                   struct dtg_strbuf *why) {
  struct dtg_graph *graph = dtg_graph_new(arena, names, "sample");
  struct dtg_type_list types;
  struct dtg_attr_list attrs;
  DTG_VEC(uint32_t) inputs = {0};
  uint32_t node;
  if (!dtg_types_read(arena, sample->inputs, why, &types) ||
      !dtg_attrs_read(arena, names, sample->attrs, why, &attrs))
    return NULL;
  for (size_t i = 0; i < types.list.len; i++) {
    char name[32];
    snprintf(name, sizeof name, "x%zu", i);
    dtg_vec_push(arena, &inputs, dtg_add_leaf(graph, "input", name, types.list.data[i]));
  }
  if (!dtg_try_add(graph, op, inputs.data, (uint32_t)inputs.len, attrs.list.data,
                   (uint32_t)attrs.list.len, why, &node))
    return NULL;
  return graph;
}

double dtg_sample_value(const struct dtg_op_sample *sample, enum dtg_dtype dtype, uint64_t bits) {
  double unit = (double)(bits >> 11) * 0x1p-53;
  if (!dtg_dtype_is_float(dtype)) {
    int64_t limit = sample->integer_limit > 0 ? sample->integer_limit : 1;
    return dtg_ref_store(dtype, (double)(bits % (uint64_t)limit));
  }
  double value = sample->low + unit * (sample->high - sample->low);
  /* What a kernel can be given. */
  return dtype == DTG_F32 ? (double)(float)value : dtg_ref_store(dtype, value);
}
