#include "compiler/ir/graph.h"

#include "compiler/base/bug.h"
#include "compiler/base/intern.h"

#include <string.h>

struct dtg_graph *dtg_graph_new(struct dtg_arena *arena, struct dtg_intern *names,
                                const char *name) {
  struct dtg_graph *graph = DTG_NEW(arena, struct dtg_graph);
  graph->name = dtg_intern_z(names, name);
  graph->arena = arena;
  graph->names = names;
  graph->path = dtg_intern_z(names, "");
  graph->span = DTG_SPAN_NONE;
  return graph;
}

static struct dtg_attr attr_copy(struct dtg_graph *graph, const struct dtg_attr *attr) {
  struct dtg_attr copy = *attr;
  copy.name = dtg_intern_z(graph->names, attr->name);
  if (attr->kind == DTG_ATTR_STRING)
    copy.value.s = dtg_intern_z(graph->names, attr->value.s);
  if (attr->kind == DTG_ATTR_INTS) {
    int64_t *values = DTG_NEW_ARRAY(graph->arena, int64_t, attr->value.ints.count);
    if (attr->value.ints.count != 0)
      memcpy(values, attr->value.ints.values, attr->value.ints.count * sizeof *values);
    copy.value.ints.values = values;
  }
  return copy;
}

/* Insertion sort: nodes have a handful of attributes. */
static const struct dtg_attr *attrs_copy_sorted(struct dtg_graph *graph,
                                                const struct dtg_attr *attrs, uint32_t count) {
  struct dtg_attr *sorted = DTG_NEW_ARRAY(graph->arena, struct dtg_attr, count);
  for (uint32_t i = 0; i < count; i++) {
    struct dtg_attr copy = attr_copy(graph, &attrs[i]);
    uint32_t at = i;
    for (; at > 0 && strcmp(sorted[at - 1].name, copy.name) > 0; at--)
      sorted[at] = sorted[at - 1];
    sorted[at] = copy;
  }
  return sorted;
}

uint32_t dtg_graph_add_typed(struct dtg_graph *graph, const struct dtg_op_def *op,
                             struct dtg_type type, const uint32_t *inputs, uint32_t input_count,
                             const struct dtg_attr *attrs, uint32_t attr_count) {
  struct dtg_node node = {
      .op = op,
      .type = type,
      .input_count = input_count,
      .attr_count = attr_count,
      .path = graph->path,
      .span = graph->span,
      .group = DTG_NO_GROUP,
      .device = DTG_NO_DEVICE,
      .cause = {.span = DTG_SPAN_NONE},
  };
  uint32_t *copy = DTG_NEW_ARRAY(graph->arena, uint32_t, input_count);
  for (uint32_t i = 0; i < input_count; i++) {
    DTG_ASSERT(inputs[i] < graph->nodes.len);
    copy[i] = inputs[i];
  }
  node.inputs = copy;
  node.attrs = attrs_copy_sorted(graph, attrs, attr_count);
  DTG_ASSERT(graph->nodes.len < DTG_NO_NODE);
  dtg_vec_push(graph->arena, &graph->nodes, node);
  return (uint32_t)graph->nodes.len - 1;
}

void dtg_graph_add_root(struct dtg_graph *graph, enum dtg_root_kind kind, const char *name,
                        uint32_t node, enum dtg_reduce reduce, struct dtg_span span) {
  DTG_ASSERT(node < graph->nodes.len);
  struct dtg_root root = {.kind = kind,
                          .name = dtg_intern_z(graph->names, name),
                          .node = node,
                          .reduce = reduce,
                          .span = span};
  dtg_vec_push(graph->arena, &graph->roots, root);
}

struct dtg_node *dtg_graph_node(const struct dtg_graph *graph, uint32_t id) {
  DTG_ASSERT(id < graph->nodes.len);
  return &graph->nodes.data[id];
}

size_t dtg_graph_size(const struct dtg_graph *graph) {
  size_t size = graph->nodes.len;
  for (size_t i = 0; i < graph->nodes.len; i++)
    size += graph->nodes.data[i].body ? dtg_graph_size(graph->nodes.data[i].body) : 0;
  return size;
}

const struct dtg_attr *dtg_attrs_find(const struct dtg_attr *attrs, uint32_t count,
                                      const char *name) {
  for (uint32_t i = 0; i < count; i++) {
    if (strcmp(attrs[i].name, name) == 0)
      return &attrs[i];
  }
  return NULL;
}

const struct dtg_attr *dtg_node_attr(const struct dtg_node *node, const char *name) {
  return dtg_attrs_find(node->attrs, node->attr_count, name);
}

/* The attribute if it is there and of that kind. */
static const struct dtg_attr *attr_of(const struct dtg_node *node, const char *name,
                                      enum dtg_attr_kind kind) {
  const struct dtg_attr *attr = dtg_node_attr(node, name);
  return attr && attr->kind == kind ? attr : NULL;
}

int64_t dtg_node_int(const struct dtg_node *node, const char *name, int64_t fallback) {
  const struct dtg_attr *attr = attr_of(node, name, DTG_ATTR_INT);
  return attr ? attr->value.i : fallback;
}

double dtg_node_float(const struct dtg_node *node, const char *name, double fallback) {
  const struct dtg_attr *attr = attr_of(node, name, DTG_ATTR_FLOAT);
  return attr ? attr->value.f : fallback;
}

bool dtg_node_bool(const struct dtg_node *node, const char *name, bool fallback) {
  const struct dtg_attr *attr = attr_of(node, name, DTG_ATTR_BOOL);
  return attr ? attr->value.b : fallback;
}

const char *dtg_node_string(const struct dtg_node *node, const char *name, const char *fallback) {
  const struct dtg_attr *attr = attr_of(node, name, DTG_ATTR_STRING);
  return attr ? attr->value.s : fallback;
}

uint32_t dtg_node_ints(const struct dtg_node *node, const char *name, const int64_t **values) {
  const struct dtg_attr *attr = attr_of(node, name, DTG_ATTR_INTS);
  if (!attr)
    return 0;
  *values = attr->value.ints.values;
  return attr->value.ints.count;
}

struct dtg_attr dtg_attr_int(const char *name, int64_t value) {
  return (struct dtg_attr){.name = name, .kind = DTG_ATTR_INT, .value.i = value};
}

struct dtg_attr dtg_attr_float(const char *name, double value) {
  return (struct dtg_attr){.name = name, .kind = DTG_ATTR_FLOAT, .value.f = value};
}

struct dtg_attr dtg_attr_bool(const char *name, bool value) {
  return (struct dtg_attr){.name = name, .kind = DTG_ATTR_BOOL, .value.b = value};
}

struct dtg_attr dtg_attr_string(const char *name, const char *value) {
  return (struct dtg_attr){.name = name, .kind = DTG_ATTR_STRING, .value.s = value};
}

struct dtg_attr dtg_attr_ints(const char *name, uint32_t count, const int64_t *values) {
  return (struct dtg_attr){
      .name = name, .kind = DTG_ATTR_INTS, .value.ints = {.count = count, .values = values}};
}

struct dtg_attr dtg_attr_dtype(const char *name, enum dtg_dtype value) {
  return (struct dtg_attr){.name = name, .kind = DTG_ATTR_DTYPE, .value.dtype = value};
}
