/* Which nodes need a kernel at all. */
#include "compiler/ir/loop.h"
#include "compiler/opt/fuse.h"

#include "compiler/base/bug.h"

/* Is the node a leaf, shown through views and index maps that need no kernel? */
static bool shows_leaf(const struct dtg_graph *graph, uint32_t id) {
  const struct dtg_node *node = dtg_graph_node(graph, id);
  while (node->group == DTG_NO_GROUP &&
         (node->op->class == DTG_CLASS_VIEW || node->op->class == DTG_CLASS_INDEX))
    node = dtg_graph_node(graph, node->inputs[0]);
  return node->op->class == DTG_CLASS_LEAF;
}

static bool is_cheap(const struct dtg_graph *graph, const struct dtg_node *node) {
  struct dtg_type types[2];
  double flops, bytes;
  if (node->op->class != DTG_CLASS_ELEMENTWISE || node->input_count > 2 ||
      node->op->flags & (DTG_OP_CHECKS | DTG_OP_INDEXED))
    return false;
  for (uint32_t i = 0; i < node->input_count; i++)
    types[i] = dtg_graph_node(graph, node->inputs[i])->type;
  node->op->cost(node, types, &flops, &bytes);
  return flops <= (double)dtg_shape_count(&node->type.shape);
}

static bool converts_leaf(const struct dtg_graph *graph, const struct dtg_node *node) {
  return is_cheap(graph, node) && node->input_count == 1 &&
         dtg_graph_node(graph, node->inputs[0])->type.dtype != node->type.dtype &&
         shows_leaf(graph, node->inputs[0]);
}

/* A leaf times a constant, and the like. */
static bool adjusts_leaf(const struct dtg_graph *graph, const struct dtg_node *node) {
  double value;
  if (!is_cheap(graph, node) || node->input_count != 2 || dtg_shape_count(&node->type.shape) == 1)
    return false;
  uint32_t constant = dtg_graph_splat(graph, node->inputs[1], &value) ? 1 : 0;
  const struct dtg_node *x = dtg_graph_node(graph, node->inputs[1 - constant]);
  return dtg_graph_splat(graph, node->inputs[constant], &value) &&
         (shows_leaf(graph, node->inputs[1 - constant]) || converts_leaf(graph, x));
}

/* Conversions and scalings of what is in memory cost less than another tensor: they are made where
 * they are used. */
static bool made_in_passing(const struct dtg_graph *graph, const struct dtg_node *node) {
  return converts_leaf(graph, node) || adjusts_leaf(graph, node);
}

static bool needs_kernel(const struct dtg_graph *graph, const struct dtg_node *node) {
  switch (node->op->class) {
  case DTG_CLASS_LEAF:
  case DTG_CLASS_CONST:
  case DTG_CLASS_VIEW:
    return false;
  case DTG_CLASS_INDEX:
    return dtg_group_kind_of(graph, node) != DTG_GROUP_LOOPS;
  case DTG_CLASS_GENERATE:
    return (node->op->flags & DTG_OP_RANDOM) != 0;
  case DTG_CLASS_ELEMENTWISE:
    return !made_in_passing(graph, node);
  default:
    return true;
  }
}

static void put_in_memory(struct dtg_graph *graph, uint32_t id) {
  struct dtg_node *node = dtg_graph_node(graph, id);
  while (node->op->class == DTG_CLASS_VIEW && node->group == DTG_NO_GROUP)
    node = dtg_graph_node(graph, node->inputs[0]);
  if (node->group == DTG_NO_GROUP && node->op->class != DTG_CLASS_LEAF)
    node->group = graph->group_count++;
}

/* Puts into memory what a reshape inside the kernel of `id` would cut otherwise than it is
 * computed. */
static bool settle_views(struct dtg_graph *graph, uint32_t id) {
  const struct dtg_node *node = dtg_graph_node(graph, id);
  bool changed = false;
  for (uint32_t i = 0; i < node->input_count; i++) {
    struct dtg_node *operand = dtg_graph_node(graph, node->inputs[i]);
    enum dtg_op_class class = operand->op->class;
    if (operand->group != DTG_NO_GROUP || class == DTG_CLASS_LEAF || class == DTG_CLASS_CONST)
      continue;
    if (node->op->class == DTG_CLASS_VIEW && class != DTG_CLASS_VIEW) {
      operand->group = graph->group_count++;
      changed = true;
    } else {
      changed = settle_views(graph, node->inputs[i]) || changed;
    }
  }
  return changed;
}

/* Every node with a kernel of its own can have it. */
static void settle(struct dtg_graph *graph) {
  for (bool changed = true; changed;) {
    struct dtg_arena scratch = {0};
    const struct dtg_links *links = dtg_links_new(&scratch, graph);
    changed = false;
    for (uint32_t i = 0; i < graph->nodes.len; i++) {
      const struct dtg_node *node = dtg_graph_node(graph, i);
      const char *why = "";
      if (node->group == DTG_NO_GROUP || links->group[i] != node->group ||
          dtg_group_kind_of(graph, node) != DTG_GROUP_LOOPS ||
          dtg_nest_new(&scratch, links, node->group, &i, 1, &why))
        continue;
      /* What another node of this round has put into memory counts from the next round on. */
      if (settle_views(graph, i))
        changed = true;
      else if (!changed)
        dtg_bug("`%s` is no kernel: %s", node->op->name, why);
    }
    dtg_arena_free(&scratch);
  }
}

static uint32_t base_of(const struct dtg_graph *graph, uint32_t id) {
  const struct dtg_node *node = dtg_graph_node(graph, id);
  while (node->op->class == DTG_CLASS_VIEW && node->group == DTG_NO_GROUP) {
    id = node->inputs[0];
    node = dtg_graph_node(graph, id);
  }
  return id;
}

uint32_t dtg_fuse_add_copy(struct dtg_graph *graph, uint32_t id) {
  const struct dtg_node from = *dtg_graph_node(graph, id);
  struct dtg_attr shape = dtg_attr_ints("shape", from.type.shape.rank, from.type.shape.dims);
  graph->path = from.path;
  graph->span = from.span;
  uint32_t copy = dtg_add(graph, "reshape", &id, 1, &shape, 1);
  dtg_graph_node(graph, copy)->name = from.name;
  dtg_graph_node(graph, copy)->device = from.device;
  dtg_graph_node(graph, copy)->group = graph->group_count++;
  return copy;
}

/* The root is the unchanged value of the variable that it would overwrite. */
static bool unchanged(const struct dtg_root *root, const struct dtg_node *base) {
  const char *key = NULL;
  return root->kind == DTG_ROOT_UPDATE && dtg_leaf_of(base, &key) == DTG_LEAF_VARIABLE &&
         key == root->name;
}

static void place_roots(struct dtg_graph *graph) {
  size_t count = graph->nodes.len;
  bool *taken = DTG_NEW_ARRAY(graph->arena, bool, count);
  for (size_t i = 0; i < graph->roots.len; i++) {
    struct dtg_root *root = &graph->roots.data[i];
    put_in_memory(graph, root->node);
    uint32_t base = base_of(graph, root->node);
    const struct dtg_node *node = dtg_graph_node(graph, base);
    if (root->kind == DTG_ROOT_OUTPUT || unchanged(root, node))
      continue;
    if (node->op->class == DTG_CLASS_LEAF || taken[base])
      root->node = dtg_fuse_add_copy(graph, root->node);
    else
      taken[base] = true;
  }
}

void dtg_fuse_prepare(struct dtg_graph *graph) {
  graph->group_count = 0;
  for (uint32_t i = 0; i < graph->nodes.len; i++) {
    struct dtg_node *node = dtg_graph_node(graph, i);
    if (dtg_is_loop_result(node)) /* the loop computes them all */
      node->group = dtg_graph_node(graph, node->inputs[0])->group;
    else
      node->group = needs_kernel(graph, node) ? graph->group_count++ : DTG_NO_GROUP;
  }
  for (uint32_t i = 0; i < graph->nodes.len; i++) {
    const struct dtg_node *node = dtg_graph_node(graph, i);
    for (uint32_t k = 0; k < node->input_count; k++) {
      if (dtg_group_needs_memory(graph, node, k))
        put_in_memory(graph, node->inputs[k]);
    }
  }
  place_roots(graph);
  settle(graph);
}
