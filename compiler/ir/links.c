/* Links between kernels, found by walking through the nodes that are computed where they are used.
 */
#include "compiler/ir/links.h"

struct walk {
  struct dtg_arena *arena;
  const struct dtg_links *links;
  uint32_t *seen; /* per node: the last reader that came by, plus 1 */
  uint32_t reader;
  DTG_VEC(uint32_t) found;
  DTG_VEC(uint32_t) stack;
};

bool dtg_links_inline(const struct dtg_links *links, uint32_t node) {
  return links->group[node] == DTG_NO_GROUP &&
         dtg_graph_node(links->graph, node)->op->class != DTG_CLASS_LEAF;
}

bool dtg_links_in_memory(const struct dtg_links *links, uint32_t node, uint32_t group) {
  if (links->group[node] == DTG_NO_GROUP)
    return dtg_graph_node(links->graph, node)->op->class == DTG_CLASS_LEAF;
  return links->group[node] != group;
}

bool dtg_links_stored(const struct dtg_links *links, uint32_t node) {
  if (links->root[node])
    return true;
  for (uint32_t i = links->reader_start[node]; i < links->reader_start[node + 1]; i++) {
    if (links->group[links->readers[i]] != links->group[node])
      return true;
  }
  return false;
}

uint32_t dtg_links_base(const struct dtg_links *links, uint32_t node) {
  while (dtg_links_inline(links, node)) {
    const struct dtg_node *view = dtg_graph_node(links->graph, node);
    if (view->op->class != DTG_CLASS_VIEW)
      return DTG_NO_NODE;
    node = view->inputs[0];
  }
  return node;
}

static void visit(struct walk *walk, uint32_t node) {
  if (walk->seen[node] == walk->reader + 1)
    return;
  walk->seen[node] = walk->reader + 1;
  if (dtg_links_inline(walk->links, node))
    dtg_vec_push(walk->arena, &walk->stack, node);
  else
    dtg_vec_push(walk->arena, &walk->found, node);
}

static void visit_inputs(struct walk *walk, uint32_t node) {
  const struct dtg_node *it = dtg_graph_node(walk->links->graph, node);
  for (uint32_t i = 0; i < it->input_count; i++)
    visit(walk, it->inputs[i]);
}

static void find_reads(struct walk *walk, uint32_t reader) {
  walk->reader = reader;
  walk->stack.len = 0;
  visit_inputs(walk, reader);
  while (walk->stack.len > 0)
    visit_inputs(walk, walk->stack.data[--walk->stack.len]);
}

static void find_readers(struct dtg_arena *arena, struct dtg_links *links, uint32_t count) {
  uint32_t total = links->read_start[count];
  links->reader_start = DTG_NEW_ARRAY(arena, uint32_t, count + 1);
  links->readers = DTG_NEW_ARRAY(arena, uint32_t, total);
  uint32_t *fill = DTG_NEW_ARRAY(arena, uint32_t, count + 1);
  for (uint32_t i = 0; i < total; i++)
    links->reader_start[links->reads[i] + 1]++;
  for (uint32_t i = 0; i < count; i++)
    fill[i + 1] = links->reader_start[i + 1] += links->reader_start[i];
  for (uint32_t reader = 0; reader < count; reader++) {
    for (uint32_t i = links->read_start[reader]; i < links->read_start[reader + 1]; i++)
      links->readers[fill[links->reads[i]]++] = reader;
  }
}

struct dtg_links *dtg_links_new(struct dtg_arena *arena, const struct dtg_graph *graph) {
  uint32_t count = (uint32_t)graph->nodes.len;
  struct dtg_links *links = DTG_NEW(arena, struct dtg_links);
  links->graph = graph;
  links->group = DTG_NEW_ARRAY(arena, uint32_t, count);
  links->root = DTG_NEW_ARRAY(arena, bool, count);
  links->read_start = DTG_NEW_ARRAY(arena, uint32_t, count + 1);
  for (uint32_t i = 0; i < count; i++)
    links->group[i] = graph->nodes.data[i].group;
  struct walk walk = {.arena = arena, .links = links};
  walk.seen = DTG_NEW_ARRAY(arena, uint32_t, count);
  for (uint32_t i = 0; i < count; i++) {
    if (links->group[i] != DTG_NO_GROUP)
      find_reads(&walk, i);
    links->read_start[i + 1] = (uint32_t)walk.found.len;
  }
  links->reads = walk.found.data;
  find_readers(arena, links, count);
  for (size_t i = 0; i < graph->roots.len; i++) {
    uint32_t base = dtg_links_base(links, graph->roots.data[i].node);
    if (base != DTG_NO_NODE)
      links->root[base] = true;
  }
  return links;
}
