/* The order of the passes. */
#include "compiler/opt/opt.h"

enum { ROUNDS = 4 };

static bool has_loops(const struct dtg_graph *graph) {
  for (size_t i = 0; i < graph->nodes.len; i++) {
    if (graph->nodes.data[i].body)
      return true;
  }
  return false;
}

const struct dtg_graph *dtg_opt_shrink(const struct dtg_graph *graph) {
  graph = dtg_opt_simplify(graph);
  graph = dtg_opt_fold(graph);
  graph = dtg_opt_cse(graph);
  graph = dtg_opt_dce(graph);
  return has_loops(graph) ? dtg_opt_dce(dtg_opt_loops(graph)) : graph;
}

struct dtg_graph *dtg_opt_graph(const struct dtg_graph *graph) {
  for (uint32_t round = 0; round < ROUNDS; round++) {
    size_t before = graph->nodes.len;
    graph = dtg_opt_shrink(graph);
    if (graph->nodes.len == before && round > 0 && !has_loops(graph))
      break;
  }
  return dtg_opt_fuse(graph);
}

static void for_graphs(struct dtg_module *module,
                       struct dtg_graph *(*pass)(const struct dtg_graph *graph)) {
  struct dtg_graph **graphs[] = {&module->train, &module->eval, &module->tail, &module->update};
  for (size_t i = 0; i < sizeof graphs / sizeof *graphs; i++) {
    if (*graphs[i])
      *graphs[i] = pass(*graphs[i]);
  }
}

void dtg_opt(struct dtg_ctx *ctx, struct dtg_module *module) {
  (void)ctx; /* fusion and rewriting cannot fail: there is nothing to report */
  for_graphs(module, dtg_opt_graph);
}

static struct dtg_graph *live_unfused(const struct dtg_graph *graph) {
  return dtg_opt_unfused(dtg_opt_dce(graph));
}

void dtg_opt_nothing(struct dtg_module *module) {
  for_graphs(module, live_unfused);
}
