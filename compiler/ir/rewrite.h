/* Rewriting: walk an old graph in order and add to a new one.
 *
 * Purpose: the one way in which passes change graphs; node order stays an execution order.
 *
 *   struct dtg_rewrite rewrite = dtg_rewrite_begin(graph);
 *   for (uint32_t id = 0; id < graph->nodes.len; id++)
 *     dtg_rewrite_set(&rewrite, id, want_other ? other(&rewrite, id) : dtg_rewrite_copy(&rewrite,
 * id)); graph = dtg_rewrite_end(&rewrite);
 *
 * Ownership: the new graph and the map live in the old graph's arena. Threads: none.
 */
#ifndef DTG_IR_REWRITE_H
#define DTG_IR_REWRITE_H

#include "compiler/ir/graph.h"

struct dtg_rewrite {
  const struct dtg_graph *from;
  struct dtg_graph *to;
  uint32_t *map; /* old id to new id; DTG_NO_NODE: not set, or dropped */
};

struct dtg_rewrite dtg_rewrite_begin(const struct dtg_graph *from);
/* The node's operand, as a node of the new graph. */
uint32_t dtg_rewrite_input(const struct dtg_rewrite *rewrite, uint32_t id, uint32_t input);
/* A copy of the node, path, name, span, group, device and cause included, on the operands' new
 * nodes. Does not set the map. */
uint32_t dtg_rewrite_copy(struct dtg_rewrite *rewrite, uint32_t id);
void dtg_rewrite_set(struct dtg_rewrite *rewrite, uint32_t id, uint32_t node);
/* Gives nodes added from `first` on the path, name, span, device and cause of an old node. */
void dtg_rewrite_origin(struct dtg_rewrite *rewrite, uint32_t id, uint32_t first);
/* Copies the roots and gives the new graph. Every root's node must have been set. */
struct dtg_graph *dtg_rewrite_end(struct dtg_rewrite *rewrite);

/* Which nodes the roots need: an array in `arena`, one bool a node. */
bool *dtg_graph_live(const struct dtg_graph *graph, struct dtg_arena *arena);
/* The graph without the nodes that no root needs; the graph itself if there are none. */
struct dtg_graph *dtg_graph_prune(struct dtg_graph *graph);

#endif
