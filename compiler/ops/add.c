/* Adding nodes: what the stages and the gradient rules build graphs with. */
#include "compiler/base/bug.h"
#include "compiler/base/strbuf.h"
#include "compiler/ops/support.h"

#include <string.h>

enum { SMALL = 16 };

bool dtg_try_add(struct dtg_graph *graph, const struct dtg_op_def *op, const uint32_t *inputs,
                 uint32_t input_count, const struct dtg_attr *attrs, uint32_t attr_count,
                 struct dtg_strbuf *why, uint32_t *out) {
  struct dtg_type few[SMALL], type = {0};
  struct dtg_type *types =
      input_count <= SMALL ? few : DTG_NEW_ARRAY(graph->arena, struct dtg_type, input_count);
  for (uint32_t i = 0; i < input_count; i++)
    types[i] = dtg_graph_node(graph, inputs[i])->type;
  struct dtg_infer_call call = {.inputs = types,
                                .input_count = input_count,
                                .attrs = attrs,
                                .attr_count = attr_count,
                                .why = why};
  if (!op->infer)
    dtg_bug("the type of a leaf is given: `%s` is added by dtg_add_leaf", op->name);
  if (!dtg_op_infer(op, &call, &type))
    return false;
  *out = dtg_graph_add_typed(graph, op, type, inputs, input_count, attrs, attr_count);
  return true;
}

static const struct dtg_op_def *row(const char *name) {
  const struct dtg_op_def *op = dtg_op_find(name);
  if (!op)
    dtg_bug("there is no op `%s`", name);
  return op;
}

uint32_t dtg_add_leaf(struct dtg_graph *graph, const char *op, const char *key,
                      struct dtg_type type) {
  bool is_input = strcmp(op, "input") == 0;
  struct dtg_attr attr = dtg_attr_string(is_input ? "name" : "path", key);
  return dtg_graph_add_typed(graph, row(op), type, NULL, 0, &attr, 1);
}

uint32_t dtg_add(struct dtg_graph *graph, const char *name, const uint32_t *inputs,
                 uint32_t input_count, const struct dtg_attr *attrs, uint32_t attr_count) {
  struct dtg_strbuf why = {0};
  uint32_t id;
  if (!dtg_try_add(graph, row(name), inputs, input_count, attrs, attr_count, &why, &id))
    dtg_bug("%s", dtg_strbuf_text(&why));
  dtg_strbuf_free(&why);
  return id;
}

uint32_t dtg_add_unary(struct dtg_graph *graph, const char *name, uint32_t x) {
  return dtg_add(graph, name, &x, 1, NULL, 0);
}

uint32_t dtg_add_binary(struct dtg_graph *graph, const char *name, uint32_t a, uint32_t b) {
  return dtg_add(graph, name, (uint32_t[]){a, b}, 2, NULL, 0);
}

static uint32_t add_const(struct dtg_graph *graph, struct dtg_attr value, enum dtg_dtype dtype,
                          const struct dtg_shape *shape) {
  struct dtg_attr attrs[] = {dtg_attr_dtype("dtype", dtype), value};
  return dtg_add_broadcast(graph, dtg_add(graph, "const", NULL, 0, attrs, 2), shape);
}

uint32_t dtg_add_const(struct dtg_graph *graph, double value, enum dtg_dtype dtype,
                       const struct dtg_shape *shape) {
  struct dtg_attr attr = dtg_dtype_is_float(dtype)     ? dtg_attr_float("value", value)
                         : dtg_dtype_is_integer(dtype) ? dtg_attr_int("value", (int64_t)value)
                                                       : dtg_attr_bool("value", value != 0);
  return add_const(graph, attr, dtype, shape);
}

uint32_t dtg_add_const_int(struct dtg_graph *graph, int64_t value, enum dtg_dtype dtype,
                           const struct dtg_shape *shape) {
  if (!dtg_dtype_is_integer(dtype))
    return dtg_add_const(graph, (double)value, dtype, shape);
  return add_const(graph, dtg_attr_int("value", value), dtype, shape);
}

uint32_t dtg_add_cast(struct dtg_graph *graph, uint32_t x, enum dtg_dtype dtype) {
  struct dtg_attr attr = dtg_attr_dtype("dtype", dtype);
  if (dtg_graph_node(graph, x)->type.dtype == dtype)
    return x;
  return dtg_add(graph, "cast", &x, 1, &attr, 1);
}

uint32_t dtg_add_reshape(struct dtg_graph *graph, uint32_t x, const struct dtg_shape *shape) {
  struct dtg_attr attr = dtg_attr_ints("shape", shape->rank, shape->dims);
  if (dtg_shape_equal(&dtg_graph_node(graph, x)->type.shape, shape))
    return x;
  return dtg_add(graph, "reshape", &x, 1, &attr, 1);
}

uint32_t dtg_add_broadcast(struct dtg_graph *graph, uint32_t x, const struct dtg_shape *shape) {
  struct dtg_attr attr = dtg_attr_ints("shape", shape->rank, shape->dims);
  if (dtg_shape_equal(&dtg_graph_node(graph, x)->type.shape, shape))
    return x;
  return dtg_add(graph, "broadcast_to", &x, 1, &attr, 1);
}

uint32_t dtg_add_reduce(struct dtg_graph *graph, const char *name, uint32_t x, uint32_t axis_count,
                        const int64_t *axes, bool keepdims) {
  int64_t sorted[DTG_MAX_RANK];
  uint32_t count = 0;
  for (int64_t axis = 0; axis < DTG_MAX_RANK; axis++) {
    for (uint32_t i = 0; i < axis_count; i++) {
      if (axes[i] == axis) {
        sorted[count++] = axis;
        break;
      }
    }
  }
  struct dtg_attr attrs[] = {dtg_attr_ints("axes", count, sorted), dtg_attr_bool("keepdims", true)};
  return dtg_add(graph, name, &x, 1, attrs, keepdims ? 2 : 1);
}

uint32_t dtg_add_unbroadcast(struct dtg_graph *graph, uint32_t x, const struct dtg_shape *from) {
  struct dtg_shape shape = dtg_graph_node(graph, x)->type.shape;
  int64_t axes[DTG_MAX_RANK];
  uint32_t count = 0, added = shape.rank - from->rank;
  for (uint32_t i = 0; i < shape.rank; i++) {
    if (i < added || (from->dims[i - added] == 1 && shape.dims[i] != 1))
      axes[count++] = i;
  }
  if (count != 0)
    x = dtg_add_reduce(graph, "sum", x, count, axes, false);
  return dtg_add_reshape(graph, x, from);
}

bool dtg_graph_splat(const struct dtg_graph *graph, uint32_t id, double *out) {
  const struct dtg_node *node = dtg_graph_node(graph, id);
  for (;; node = dtg_graph_node(graph, node->inputs[0])) {
    if (node->op->class == DTG_CLASS_CONST) {
      *out = dtg_const_float(node);
      return true;
    }
    bool same = node->op->class == DTG_CLASS_VIEW || strcmp(node->op->name, "broadcast_to") == 0;
    if (!same)
      return false;
  }
}
