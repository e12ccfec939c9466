/* Dead code. Requires: a typed graph. Guarantees: every node reaches a root. Cost: linear. */
#include "compiler/opt/opt.h"
#include "compiler/opt/rewrite.h"

struct dtg_graph *dtg_opt_dce(const struct dtg_graph *graph) {
  struct dtg_rewrite rewrite = dtg_rewrite_begin(graph);
  bool *live = DTG_NEW_ARRAY(graph->arena, bool, graph->nodes.len);
  for (size_t i = 0; i < graph->roots.len; i++)
    live[graph->roots.data[i].node] = true;
  for (uint32_t id = (uint32_t)graph->nodes.len; id-- > 0;) {
    const struct dtg_node *node = dtg_graph_node(graph, id);
    for (uint32_t i = 0; i < node->input_count && live[id]; i++)
      live[node->inputs[i]] = true;
  }
  for (uint32_t id = 0; id < graph->nodes.len; id++) {
    if (live[id])
      dtg_rewrite_copy(&rewrite, id);
  }
  return dtg_rewrite_end(&rewrite);
}
