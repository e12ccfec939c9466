#include "compiler/ir/rewrite.h"

#include "compiler/base/bug.h"

struct dtg_rewrite dtg_rewrite_begin(const struct dtg_graph *from) {
  struct dtg_rewrite rewrite = {.from = from,
                                .to = dtg_graph_new(from->arena, from->names, from->name)};
  rewrite.map = DTG_NEW_ARRAY(from->arena, uint32_t, from->nodes.len);
  for (size_t i = 0; i < from->nodes.len; i++)
    rewrite.map[i] = DTG_NO_NODE;
  rewrite.to->group_count = from->group_count;
  return rewrite;
}

uint32_t dtg_rewrite_input(const struct dtg_rewrite *rewrite, uint32_t id, uint32_t input) {
  uint32_t node = rewrite->map[dtg_graph_node(rewrite->from, id)->inputs[input]];
  DTG_ASSERT(node != DTG_NO_NODE);
  return node;
}

uint32_t dtg_rewrite_copy(struct dtg_rewrite *rewrite, uint32_t id) {
  struct dtg_node copy = *dtg_graph_node(rewrite->from, id);
  uint32_t *inputs = DTG_NEW_ARRAY(rewrite->to->arena, uint32_t, copy.input_count);
  for (uint32_t i = 0; i < copy.input_count; i++)
    inputs[i] = dtg_rewrite_input(rewrite, id, i);
  copy.inputs = inputs;
  dtg_vec_push(rewrite->to->arena, &rewrite->to->nodes, copy);
  return (uint32_t)rewrite->to->nodes.len - 1;
}

void dtg_rewrite_set(struct dtg_rewrite *rewrite, uint32_t id, uint32_t node) {
  rewrite->map[id] = node;
}

void dtg_rewrite_origin(struct dtg_rewrite *rewrite, uint32_t id, uint32_t first) {
  const struct dtg_node *origin = dtg_graph_node(rewrite->from, id);
  for (size_t i = first; i < rewrite->to->nodes.len; i++) {
    struct dtg_node *node = &rewrite->to->nodes.data[i];
    node->path = origin->path;
    node->name = origin->name;
    node->span = origin->span;
    node->device = origin->device;
    node->cause = origin->cause;
  }
}

struct dtg_graph *dtg_rewrite_end(struct dtg_rewrite *rewrite) {
  for (size_t i = 0; i < rewrite->from->roots.len; i++) {
    struct dtg_root root = rewrite->from->roots.data[i];
    root.node = rewrite->map[root.node];
    DTG_ASSERT(root.node != DTG_NO_NODE);
    dtg_vec_push(rewrite->to->arena, &rewrite->to->roots, root);
  }
  return rewrite->to;
}

bool *dtg_graph_live(const struct dtg_graph *graph, struct dtg_arena *arena) {
  bool *live = DTG_NEW_ARRAY(arena, bool, graph->nodes.len);
  for (size_t i = 0; i < graph->roots.len; i++)
    live[graph->roots.data[i].node] = true;
  for (size_t i = graph->nodes.len; i-- > 0;) {
    const struct dtg_node *node = &graph->nodes.data[i];
    for (uint32_t j = 0; live[i] && j < node->input_count; j++)
      live[node->inputs[j]] = true;
  }
  return live;
}

struct dtg_graph *dtg_graph_prune(struct dtg_graph *graph) {
  const bool *live = dtg_graph_live(graph, graph->arena);
  size_t count = 0;
  for (size_t i = 0; i < graph->nodes.len; i++)
    count += live[i];
  if (count == graph->nodes.len)
    return graph;
  struct dtg_rewrite rewrite = dtg_rewrite_begin(graph);
  for (uint32_t id = 0; id < graph->nodes.len; id++) {
    if (live[id])
      dtg_rewrite_set(&rewrite, id, dtg_rewrite_copy(&rewrite, id));
  }
  return dtg_rewrite_end(&rewrite);
}
