#include "compiler/grad/grad.h"

#include "compiler/base/bug.h"
#include "compiler/ir/op.h"

#include <string.h>

static const struct dtg_root *loss_root(const struct dtg_graph *graph) {
  for (size_t i = 0; i < graph->roots.len; i++) {
    if (graph->roots.data[i].kind == DTG_ROOT_LOSS)
      return &graph->roots.data[i];
  }
  dtg_bug("graph `%s` has no loss", graph->name);
}

/* The variable that a node reads, if it is a parameter; DTG_NO_NODE for others. */
static uint32_t param_of(const struct dtg_module *module, const struct dtg_node *node) {
  if (node->op->class != DTG_CLASS_LEAF || strcmp(node->op->name, "param") != 0)
    return DTG_NO_NODE;
  const char *path = dtg_node_string(node, "path", "");
  for (uint32_t i = 0; i < module->variables.len; i++) {
    const struct dtg_variable *variable = &module->variables.data[i];
    if (variable->kind == DTG_VARIABLE_PARAM && strcmp(variable->path, path) == 0)
      return i;
  }
  dtg_bug("parameter `%s` is no variable of the module", path);
}

struct reads {
  DTG_VEC(uint32_t) nodes;
  DTG_VEC(uint32_t) variables;
};

static struct reads find_reads(const struct dtg_module *module) {
  struct reads reads = {0};
  for (uint32_t id = 0; id < module->train->nodes.len; id++) {
    uint32_t variable = param_of(module, dtg_graph_node(module->train, id));
    if (variable == DTG_NO_NODE)
      continue;
    dtg_vec_push(module->arena, &reads.nodes, id);
    dtg_vec_push(module->arena, &reads.variables, variable);
  }
  return reads;
}

static void report_culprit(struct dtg_ctx *ctx, const struct dtg_graph *graph, uint32_t id) {
  const struct dtg_node *node = dtg_graph_node(graph, id);
  struct dtg_diag *diag = dtg_error(
      &ctx->diags, node->span, "`%s` has no gradient, but a parameter reaches the loss through it",
      node->op->name);
  dtg_diag_hint(diag, "put `stop_gradient` around its operand, or compute it in another way");
}

static void report_idle(struct dtg_ctx *ctx, const struct dtg_variable *variable) {
  struct dtg_diag *diag = dtg_error(&ctx->diags, variable->span,
                                    "parameter `%s` does not influence the loss", variable->path);
  dtg_diag_hint(diag, "use it on the way to the loss, or make it a `state`");
}

/* A parameter may be read by several nodes: their gradients add up in node order. */
static uint32_t total_of(struct dtg_graph *graph, const struct reads *reads, const uint32_t *grads,
                         uint32_t variable) {
  uint32_t total = DTG_NO_NODE;
  for (size_t i = 0; i < reads->nodes.len; i++) {
    if (reads->variables.data[i] != variable || grads[i] == DTG_NO_NODE)
      continue;
    total = total == DTG_NO_NODE ? grads[i] : dtg_add_binary(graph, "add", total, grads[i]);
  }
  return total;
}

bool dtg_grad(struct dtg_ctx *ctx, struct dtg_module *module) {
  struct dtg_graph *graph = module->train;
  struct reads reads = find_reads(module);
  uint32_t *grads = DTG_NEW_ARRAY(module->arena, uint32_t, reads.nodes.len), culprit;
  if (!dtg_grad_nodes(graph, loss_root(graph)->node, reads.nodes.data, (uint32_t)reads.nodes.len,
                      grads, &culprit)) {
    report_culprit(ctx, graph, culprit);
    return false;
  }
  bool good = true;
  for (uint32_t i = 0; i < module->variables.len; i++) {
    const struct dtg_variable *variable = &module->variables.data[i];
    if (variable->kind != DTG_VARIABLE_PARAM)
      continue;
    uint32_t total = total_of(graph, &reads, grads, i);
    if (total == DTG_NO_NODE) {
      report_idle(ctx, variable);
      good = false;
      continue;
    }
    dtg_graph_add_root(graph, DTG_ROOT_GRAD, variable->path, total, DTG_REDUCE_MEAN,
                       variable->span);
  }
  return good;
}
