/* The order that groups must keep. */
#include "compiler/ir/links.h"

#include <string.h>

enum dtg_leaf dtg_leaf_of(const struct dtg_node *node, const char **key) {
  static const struct {
    const char *op;
    enum dtg_leaf leaf;
  } leaves[] = {{"input", DTG_LEAF_INPUT},      {"param", DTG_LEAF_VARIABLE},
                {"state", DTG_LEAF_VARIABLE},   {"slot", DTG_LEAF_VARIABLE},
                {"grad_in", DTG_LEAF_GRADIENT}, {"scalar", DTG_LEAF_SCALAR}};
  for (size_t i = 0; node->op->class == DTG_CLASS_LEAF && i < sizeof leaves / sizeof *leaves; i++) {
    if (strcmp(node->op->name, leaves[i].op) != 0)
      continue;
    *key = node->attrs[0].value.s;
    return leaves[i].leaf;
  }
  return DTG_LEAF_NONE;
}

struct edge_list {
  struct dtg_arena *arena;
  DTG_VEC(uint32_t) from;
  DTG_VEC(uint32_t) to;
};

static void add_edge(struct edge_list *list, uint32_t from, uint32_t to) {
  if (from == to || from == DTG_NO_GROUP || to == DTG_NO_GROUP)
    return;
  dtg_vec_push(list->arena, &list->from, from);
  dtg_vec_push(list->arena, &list->to, to);
}

static void add_data_edges(struct edge_list *list, const struct dtg_links *links) {
  for (uint32_t node = 0; node < links->graph->nodes.len; node++) {
    for (uint32_t i = links->reader_start[node]; i < links->reader_start[node + 1]; i++)
      add_edge(list, links->group[node], links->group[links->readers[i]]);
  }
}

static bool writes_variable(const struct dtg_root *root) {
  return root->kind == DTG_ROOT_UPDATE;
}

/* Names are interned, so equal keys are equal pointers. */
static void add_overwrite_edges(struct edge_list *list, const struct dtg_links *links,
                                uint32_t leaf, const char *key) {
  for (size_t r = 0; r < links->graph->roots.len; r++) {
    const struct dtg_root *root = &links->graph->roots.data[r];
    uint32_t base = writes_variable(root) && root->name == key ? dtg_links_base(links, root->node)
                                                               : DTG_NO_NODE;
    for (uint32_t i = links->reader_start[leaf]; i < links->reader_start[leaf + 1]; i++) {
      if (base != DTG_NO_NODE)
        add_edge(list, links->group[links->readers[i]], links->group[base]);
    }
  }
}

static void add_leaf_edges(struct edge_list *list, const struct dtg_links *links) {
  bool any = false;
  for (size_t r = 0; r < links->graph->roots.len; r++)
    any = any || writes_variable(&links->graph->roots.data[r]);
  for (uint32_t leaf = 0; any && leaf < links->graph->nodes.len; leaf++) {
    const char *key = NULL;
    if (dtg_leaf_of(dtg_graph_node(links->graph, leaf), &key) == DTG_LEAF_VARIABLE)
      add_overwrite_edges(list, links, leaf, key);
  }
}

struct dtg_edges *dtg_edges_new(struct dtg_arena *arena, const struct dtg_links *links) {
  struct edge_list list = {.arena = arena};
  struct dtg_edges *edges = DTG_NEW(arena, struct dtg_edges);
  edges->count = links->graph->group_count;
  add_data_edges(&list, links);
  add_leaf_edges(&list, links);
  edges->start = DTG_NEW_ARRAY(arena, uint32_t, edges->count + 1);
  edges->indegree = DTG_NEW_ARRAY(arena, uint32_t, edges->count + 1);
  edges->to = DTG_NEW_ARRAY(arena, uint32_t, list.to.len);
  uint32_t *fill = DTG_NEW_ARRAY(arena, uint32_t, edges->count + 1);
  for (size_t i = 0; i < list.from.len; i++)
    edges->start[list.from.data[i] + 1]++;
  for (uint32_t i = 0; i < edges->count; i++)
    fill[i + 1] = edges->start[i + 1] += edges->start[i];
  for (size_t i = 0; i < list.from.len; i++) {
    edges->to[fill[list.from.data[i]]++] = list.to.data[i];
    edges->indegree[list.to.data[i]]++;
  }
  return edges;
}
