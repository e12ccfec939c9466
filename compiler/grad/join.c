/* Gradients of parts: where a tensor is only read in slices that cover it, the sum of their padded
 * gradients is the gradients side by side. */
#include "compiler/grad/internal.h"

#include <string.h>

enum { MAX_PARTS = 16 };

struct parts {
  const struct dtg_graph *graph;
  uint32_t count;
  uint32_t pads[MAX_PARTS];
};

/* The pads that a tree of additions adds up; false if it adds anything else. */
static bool list_parts(struct parts *parts, uint32_t id, int depth) {
  const struct dtg_node *node = dtg_graph_node(parts->graph, id);
  if (strcmp(node->op->name, "pad") == 0 && parts->count < MAX_PARTS &&
      dtg_node_float(node, "value", 0) == 0) {
    parts->pads[parts->count++] = id;
    return true;
  }
  return strcmp(node->op->name, "add") == 0 && depth < MAX_PARTS &&
         list_parts(parts, node->inputs[0], depth + 1) &&
         list_parts(parts, node->inputs[1], depth + 1);
}

/* The entries along `axis` that the pad fills: false if it pads another axis. */
static bool range_of(const struct dtg_graph *graph, uint32_t pad, uint32_t axis, int64_t *first,
                     int64_t *count) {
  const struct dtg_node *node = dtg_graph_node(graph, pad);
  const struct dtg_shape *shape = &dtg_graph_node(graph, node->inputs[0])->type.shape;
  const int64_t *before = NULL;
  if (dtg_node_ints(node, "before", &before) != shape->rank)
    return false;
  for (uint32_t i = 0; i < shape->rank; i++) {
    if (i != axis && shape->dims[i] != node->type.shape.dims[i])
      return false;
  }
  *first = before[axis];
  *count = shape->dims[axis];
  return true;
}

/* The operands of the pads in the order of their places, if these follow one another. */
static bool sort_parts(const struct parts *parts, uint32_t axis, uint32_t *out) {
  int64_t size = dtg_graph_node(parts->graph, parts->pads[0])->type.shape.dims[axis], at = 0;
  for (uint32_t done = 0; at < size; done++) {
    uint32_t next = 0;
    int64_t first = -1, count = 0;
    while (next < parts->count &&
           (!range_of(parts->graph, parts->pads[next], axis, &first, &count) || first != at))
      next++;
    if (next == parts->count || done == parts->count)
      return false;
    out[done] = dtg_graph_node(parts->graph, parts->pads[next])->inputs[0];
    at += count;
    if (at == size)
      return done + 1 == parts->count;
  }
  return false;
}

uint32_t dtg_grad_join(struct dtg_graph *graph, uint32_t total) {
  struct parts parts = {.graph = graph};
  uint32_t inputs[MAX_PARTS];
  if (!list_parts(&parts, total, 0) || parts.count < 2)
    return total;
  for (uint32_t axis = 0; axis < dtg_graph_node(graph, total)->type.shape.rank; axis++) {
    struct dtg_attr attr = dtg_attr_int("axis", axis);
    if (sort_parts(&parts, axis, inputs))
      return dtg_add(graph, "concat", inputs, parts.count, &attr, 1);
  }
  return total;
}
