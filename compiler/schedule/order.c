/* Orders of the groups: as numbered, and greedily by what a step adds to the live memory. */
#include "compiler/schedule/internal.h"

#include <string.h>

struct ordering {
  const struct dtg_schedule_state *state;
  struct dtg_edges *edges;
  uint32_t *pending; /* per node: readers that have not run */
  bool *done;        /* per group */
};

static int64_t node_bytes(const struct ordering *it, uint32_t node) {
  const struct dtg_links *links = it->state->groups->links;
  bool arena = links->group[node] != DTG_NO_GROUP && !links->root[node];
  return arena ? dtg_align(dtg_type_bytes(&dtg_graph_node(links->graph, node)->type)) : 0;
}

/* Bytes that come to life less those that die when the group runs. */
static int64_t growth(const struct ordering *it, uint32_t group) {
  const struct dtg_group *g = &it->state->groups->groups[group];
  int64_t bytes = 0;
  for (size_t i = 0; i < g->buffers.len; i++) {
    const struct dtg_nest_buffer *buffer = &g->buffers.data[i];
    if (buffer->node == DTG_NO_NODE)
      continue;
    if (it->state->groups->links->group[buffer->node] == group)
      bytes += node_bytes(it, buffer->node);
    else if (it->pending[buffer->node] == 1)
      bytes -= node_bytes(it, buffer->node);
  }
  return bytes;
}

static void run(struct ordering *it, uint32_t group) {
  const struct dtg_group *g = &it->state->groups->groups[group];
  it->done[group] = true;
  for (size_t i = 0; i < g->buffers.len; i++) {
    uint32_t node = g->buffers.data[i].node;
    if (node != DTG_NO_NODE && it->pending[node] > 0)
      it->pending[node]--;
  }
  for (uint32_t i = it->edges->start[group]; i < it->edges->start[group + 1]; i++)
    it->edges->indegree[it->edges->to[i]]--;
}

static uint32_t best_ready(const struct ordering *it) {
  uint32_t best = DTG_NO_GROUP;
  int64_t least = 0;
  for (uint32_t i = 0; i < it->edges->count; i++) {
    if (it->done[i] || it->edges->indegree[i] != 0)
      continue;
    int64_t bytes = growth(it, i);
    if (best == DTG_NO_GROUP || bytes < least) {
      best = i;
      least = bytes;
    }
  }
  return best;
}

static void count_readers(struct ordering *it) {
  for (uint32_t i = 0; i < it->state->groups->count; i++) {
    const struct dtg_group *g = &it->state->groups->groups[i];
    for (size_t k = 0; k < g->buffers.len; k++) {
      uint32_t node = g->buffers.data[k].node;
      if (node != DTG_NO_NODE && it->state->groups->links->group[node] != i)
        it->pending[node]++;
    }
  }
}

bool dtg_schedule_order(const struct dtg_schedule_state *state, uint32_t number, uint32_t *order) {
  uint32_t count = state->groups->count;
  struct ordering it = {.state = state};
  if (number == 0) {
    for (uint32_t i = 0; i < count; i++)
      order[i] = i;
    return true;
  }
  if (number > 1)
    return false;
  it.edges = dtg_edges_new(state->scratch, state->groups->links);
  it.pending = DTG_NEW_ARRAY(state->scratch, uint32_t, state->groups->links->graph->nodes.len);
  it.done = DTG_NEW_ARRAY(state->scratch, bool, count);
  count_readers(&it);
  for (uint32_t i = 0; i < count; i++) {
    order[i] = best_ready(&it);
    run(&it, order[i]);
  }
  return true;
}
