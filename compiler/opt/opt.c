/* The order of the passes. */
#include "compiler/opt/opt.h"

enum { ROUNDS = 4 };

static const struct dtg_graph *shrink(const struct dtg_graph *graph) {
  graph = dtg_opt_simplify(graph);
  graph = dtg_opt_fold(graph);
  graph = dtg_opt_cse(graph);
  return dtg_opt_dce(graph);
}

struct dtg_graph *dtg_opt_graph(const struct dtg_graph *graph) {
  for (uint32_t round = 0; round < ROUNDS; round++) {
    size_t before = graph->nodes.len;
    graph = shrink(graph);
    if (graph->nodes.len == before && round > 0)
      break;
  }
  return dtg_opt_fuse(graph);
}

void dtg_opt(struct dtg_ctx *ctx, struct dtg_module *module) {
  struct dtg_graph **graphs[] = {&module->train, &module->eval, &module->tail, &module->update};
  (void)ctx; /* fusion and rewriting cannot fail: there is nothing to report */
  for (size_t i = 0; i < sizeof graphs / sizeof *graphs; i++) {
    if (*graphs[i])
      *graphs[i] = dtg_opt_graph(*graphs[i]);
  }
}
