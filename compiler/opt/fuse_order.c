/* Numbering the groups. */
#include "compiler/opt/fuse.h"

#include "compiler/base/bug.h"

/* Labels 0.. in the order of first members. */
static void compact(struct dtg_arena *arena, struct dtg_graph *graph) {
  uint32_t *label = DTG_NEW_ARRAY(arena, uint32_t, graph->group_count);
  uint32_t count = 0;
  for (size_t i = 0; i < graph->nodes.len; i++) {
    struct dtg_node *node = &graph->nodes.data[i];
    if (node->group == DTG_NO_GROUP)
      continue;
    if (label[node->group] == 0)
      label[node->group] = ++count;
    node->group = label[node->group] - 1;
  }
  graph->group_count = count;
}

/* The group of the root's node reads the variable in a way that forbids to write over it. */
static bool reads_too_late(const struct dtg_groups *groups, const struct dtg_root *root) {
  uint32_t base = dtg_links_base(groups->links, root->node);
  const struct dtg_graph *graph = groups->links->graph;
  if (root->kind != DTG_ROOT_UPDATE || groups->links->group[base] == DTG_NO_GROUP)
    return false;
  const struct dtg_group *group = &groups->groups[groups->links->group[base]];
  for (uint32_t i = 0; i < group->buffers.len; i++) {
    const char *key = NULL;
    uint32_t node = group->buffers.data[i].node;
    if (node == DTG_NO_NODE ||
        dtg_leaf_of(dtg_graph_node(graph, node), &key) != DTG_LEAF_VARIABLE || key != root->name)
      continue;
    if (group->kind != DTG_GROUP_LOOPS)
      return true;
    for (size_t k = 0; k < group->nest->outputs.len; k++) {
      const struct dtg_nest_output *output = &group->nest->outputs.data[k];
      if (group->buffers.data[output->buffer].node == base &&
          !dtg_nest_may_overwrite(group->nest, output, i))
        return true;
    }
  }
  return false;
}

static void copy_late_writes(struct dtg_arena *arena, struct dtg_graph *graph) {
  const struct dtg_groups *groups = dtg_groups_new(arena, graph);
  size_t count = graph->roots.len;
  bool *late = DTG_NEW_ARRAY(arena, bool, count);
  for (size_t i = 0; i < count; i++)
    late[i] = reads_too_late(groups, &graph->roots.data[i]);
  for (size_t i = 0; i < count; i++) {
    if (late[i])
      graph->roots.data[i].node = dtg_fuse_add_copy(graph, graph->roots.data[i].node);
  }
}

/* Kahn's algorithm, lowest label first. False if some groups wait for one another; `order` has the
 * new number of each group, UINT32_MAX for those. */
static bool sort(struct dtg_edges *edges, uint32_t *order) {
  uint32_t next = 0;
  for (uint32_t i = 0; i < edges->count; i++)
    order[i] = UINT32_MAX;
  for (;;) {
    uint32_t group = 0;
    while (group < edges->count && (order[group] != UINT32_MAX || edges->indegree[group] != 0))
      group++;
    if (group == edges->count)
      return next == edges->count;
    order[group] = next++;
    for (uint32_t i = edges->start[group]; i < edges->start[group + 1]; i++)
      edges->indegree[edges->to[i]]--;
  }
}

/* A copy of what another group computes: no group waits for it, so it is on no cycle. */
static bool copies_result(const struct dtg_links *links, uint32_t node) {
  const struct dtg_node *copy = dtg_graph_node(links->graph, node);
  return copy->op->class == DTG_CLASS_VIEW &&
         links->group[dtg_links_base(links, copy->inputs[0])] != DTG_NO_GROUP;
}

/* A root whose group waits although it only overwrites a variable: it is written by a copy. */
static void break_cycle(const struct dtg_links *links, struct dtg_graph *graph,
                        const uint32_t *order) {
  for (size_t i = 0; i < graph->roots.len; i++) {
    struct dtg_root *root = &graph->roots.data[i];
    uint32_t base = dtg_links_base(links, root->node);
    uint32_t group = links->group[base];
    if (root->kind == DTG_ROOT_UPDATE && group != DTG_NO_GROUP && order[group] == UINT32_MAX &&
        !copies_result(links, base)) {
      root->node = dtg_fuse_add_copy(graph, root->node);
      return;
    }
  }
  dtg_bug("the groups of graph %s have a cycle", graph->name);
}

void dtg_fuse_number(struct dtg_graph *graph) {
  struct dtg_arena arena = {0};
  compact(&arena, graph);
  copy_late_writes(&arena, graph);
  for (;;) {
    struct dtg_links *links = dtg_links_new(&arena, graph);
    uint32_t *order = DTG_NEW_ARRAY(&arena, uint32_t, graph->group_count);
    if (sort(dtg_edges_new(&arena, links), order)) {
      for (size_t i = 0; i < graph->nodes.len; i++) {
        struct dtg_node *node = &graph->nodes.data[i];
        node->group = node->group == DTG_NO_GROUP ? DTG_NO_GROUP : order[node->group];
      }
      break;
    }
    break_cycle(links, graph, order);
  }
  dtg_arena_free(&arena);
}
