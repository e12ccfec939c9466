#include "compiler/opt/rewrite.h"

#include "compiler/base/bug.h"

struct dtg_rewrite dtg_rewrite_begin(const struct dtg_graph *from) {
  struct dtg_rewrite rewrite = {.from = from};
  rewrite.to = dtg_graph_new(from->arena, from->names, from->name);
  rewrite.map = DTG_NEW_ARRAY(from->arena, uint32_t, from->nodes.len);
  for (size_t i = 0; i < from->nodes.len; i++)
    rewrite.map[i] = DTG_NO_NODE;
  return rewrite;
}

uint32_t dtg_rewrite_copy(struct dtg_rewrite *rewrite, uint32_t id) {
  const struct dtg_node *node = dtg_graph_node(rewrite->from, id);
  uint32_t *inputs = DTG_NEW_ARRAY(rewrite->to->arena, uint32_t, node->input_count);
  for (uint32_t i = 0; i < node->input_count; i++)
    inputs[i] = rewrite->map[node->inputs[i]];
  rewrite->to->path = node->path;
  rewrite->to->span = node->span;
  uint32_t copy = dtg_graph_add_typed(rewrite->to, node->op, node->type, inputs,
                                      node->input_count, node->attrs, node->attr_count);
  struct dtg_node *added = dtg_graph_node(rewrite->to, copy);
  added->name = node->name;
  added->device = node->device;
  added->cause = node->cause;
  rewrite->map[id] = copy;
  return copy;
}

struct dtg_graph *dtg_rewrite_end(struct dtg_rewrite *rewrite) {
  for (size_t i = 0; i < rewrite->from->roots.len; i++) {
    const struct dtg_root *root = &rewrite->from->roots.data[i];
    DTG_ASSERT(rewrite->map[root->node] != DTG_NO_NODE);
    dtg_graph_add_root(rewrite->to, root->kind, root->name, rewrite->map[root->node],
                       root->reduce, root->span);
  }
  return rewrite->to;
}
