/* Dead code. Requires: a typed graph. Guarantees: every node reaches a root. Cost: linear. */
#include "compiler/ir/rewrite.h"
#include "compiler/opt/opt.h"

struct dtg_graph *dtg_opt_dce(const struct dtg_graph *graph) {
  struct dtg_rewrite rewrite = dtg_rewrite_begin(graph);
  const bool *live = dtg_graph_live(graph, graph->arena);
  for (uint32_t id = 0; id < graph->nodes.len; id++) {
    if (!live[id])
      continue;
    uint32_t copy = dtg_rewrite_copy(&rewrite, id);
    struct dtg_node *node = dtg_graph_node(rewrite.to, copy);
    if (node->body)
      node->body = dtg_opt_dce(node->body);
    dtg_rewrite_set(&rewrite, id, copy);
  }
  return dtg_rewrite_end(&rewrite);
}
