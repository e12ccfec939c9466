#include "compiler/ops/evaluate.h"

#include "compiler/base/bug.h"
#include "compiler/base/strbuf.h"
#include "compiler/ir/graph_text.h"
#include "compiler/ir/loop.h"
#include "compiler/ops/support.h"

#include <stdio.h>
#include <string.h>

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

/* One iteration's leaves: the body's own evaluation asks for them. */
struct iteration {
  const struct dtg_loop *loop;
  const struct dtg_ref_tensor *carries, *slices, *values;
  int64_t index;
};

static void body_leaf(void *context, const struct dtg_node *leaf, struct dtg_ref_tensor *out) {
  const struct iteration *it = context;
  int64_t count = dtg_shape_count(&leaf->type.shape);
  const double *from = NULL;
  uint32_t index = 0;
  switch (dtg_loop_leaf_of(leaf, &index)) {
  case DTG_LOOP_CARRY:
    from = it->carries[index].data;
    break;
  case DTG_LOOP_SLICE:
    from = it->slices[index].data + it->index * count;
    break;
  case DTG_LOOP_VALUE:
    from = it->values[index].data;
    break;
  default:
    out->data[0] = (double)it->index;
    return;
  }
  memcpy(out->data, from, (size_t)count * sizeof *from);
}

/* All results of a scan, in the order of its roots. */
static struct dtg_ref_tensor *evaluate_loop(const struct dtg_graph *graph, uint32_t id,
                                            struct dtg_arena *arena,
                                            const struct dtg_ref_tensor *values) {
  struct dtg_loop loop = dtg_loop_of(graph, id);
  const struct dtg_node *node = dtg_graph_node(graph, id);
  struct dtg_ref_tensor *operands = DTG_NEW_ARRAY(arena, struct dtg_ref_tensor, node->input_count);
  struct dtg_ref_tensor *results = DTG_NEW_ARRAY(arena, struct dtg_ref_tensor, loop.results);
  for (uint32_t i = 0; i < node->input_count; i++)
    operands[i] = values[node->inputs[i]];
  for (uint32_t i = 0; i < loop.results; i++) {
    results[i].type = dtg_loop_result_type(&loop, i);
    results[i].data = DTG_NEW_ARRAY(arena, double, dtg_shape_count(&results[i].type.shape));
  }
  struct iteration it = {.loop = &loop,
                         .carries = operands,
                         .slices = operands + loop.carries,
                         .values = operands + loop.carries + loop.slices};
  for (int64_t n = 0; n < loop.count; n++) {
    it.index = loop.reverse ? loop.count - 1 - n : n;
    const struct dtg_ref_tensor *body = dtg_evaluate(loop.body, arena, body_leaf, &it);
    for (uint32_t i = 0; i < loop.results; i++) {
      const struct dtg_ref_tensor *made = &body[loop.body->roots.data[i].node];
      size_t count = (size_t)dtg_shape_count(&made->type.shape);
      double *to = results[i].data + (i < loop.carries ? 0 : (size_t)it.index * count);
      memcpy(to, made->data, count * sizeof *to);
    }
    it.carries = results; /* the roots of the carries come first */
  }
  return results;
}

struct dtg_ref_tensor *dtg_evaluate(const struct dtg_graph *graph, struct dtg_arena *arena,
                                    dtg_leaf_value *leaf, void *context) {
  struct dtg_ref_tensor *values = DTG_NEW_ARRAY(arena, struct dtg_ref_tensor, graph->nodes.len);
  struct dtg_ref_tensor **results = DTG_NEW_ARRAY(arena, struct dtg_ref_tensor *, graph->nodes.len);
  for (size_t i = 0; i < graph->nodes.len; i++) {
    const struct dtg_node *node = &graph->nodes.data[i];
    values[i].type = node->type;
    values[i].data = DTG_NEW_ARRAY(arena, double, dtg_shape_count(&node->type.shape));
    if (node->op->class == DTG_CLASS_LEAF)
      leaf(context, node, &values[i]);
    else if (dtg_is_loop(node))
      results[i] = evaluate_loop(graph, (uint32_t)i, arena, values);
    else if (dtg_is_loop_result(node))
      values[i] = results[node->inputs[0]][dtg_node_int(node, "index", 0)];
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
