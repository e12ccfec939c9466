/* Cheaper equal forms. Requires: a typed graph. Guarantees: no op's own `simplify` applies to a
 * node whose operands are settled; matrix products read plain transposes through their flags. May
 * leave dead nodes. Cost: linear; every step makes a node that is nearer to its leaves. */
#include "compiler/ir/op.h"
#include "compiler/ir/rewrite.h"
#include "compiler/opt/opt.h"

#include <string.h>

enum { STEPS = 32 };

/* x where `id` is x with its last two axes exchanged; DTG_NO_NODE if it is not. */
static uint32_t untransposed(const struct dtg_graph *graph, uint32_t id) {
  const struct dtg_node *node = dtg_graph_node(graph, id);
  const int64_t *perm = NULL;
  uint32_t rank = dtg_node_ints(node, "perm", &perm);
  if (node->op->class != DTG_CLASS_INDEX || rank < 2)
    return DTG_NO_NODE;
  for (uint32_t i = 0; i + 2 < rank; i++) {
    if (perm[i] != i)
      return DTG_NO_NODE;
  }
  return perm[rank - 1] == rank - 2 ? node->inputs[0] : DTG_NO_NODE;
}

static bool has_flag(const struct dtg_node *node, const char *name) {
  return strstr(node->op->attributes ? node->op->attributes : "", name) != NULL;
}

/* A library op with flags transpose_a and transpose_b: toggles them for transposed operands. */
static uint32_t absorb_transposes(struct dtg_graph *graph, uint32_t id) {
  const struct dtg_node *node = dtg_graph_node(graph, id);
  struct dtg_attr attrs[2];
  uint32_t inputs[2], count = 0;
  bool changed = false;
  static const char *const names[2] = {"transpose_a", "transpose_b"};
  if (node->op->class != DTG_CLASS_LIBRARY || node->input_count != 2 || !has_flag(node, names[0]) ||
      !has_flag(node, names[1]))
    return DTG_NO_NODE;
  for (uint32_t i = 0; i < 2; i++) {
    uint32_t inner = untransposed(graph, node->inputs[i]);
    bool flag = dtg_node_bool(node, names[i], false) != (inner != DTG_NO_NODE);
    inputs[i] = inner == DTG_NO_NODE ? node->inputs[i] : inner;
    changed = changed || inner != DTG_NO_NODE;
    if (flag)
      attrs[count++] = dtg_attr_bool(names[i], true);
  }
  return changed ? dtg_add(graph, node->op->name, inputs, 2, attrs, count) : DTG_NO_NODE;
}

static uint32_t simplify_node(struct dtg_graph *graph, uint32_t id) {
  const struct dtg_op_def *op = dtg_graph_node(graph, id)->op;
  uint32_t next = op->simplify ? op->simplify(graph, id) : DTG_NO_NODE;
  return next != DTG_NO_NODE ? next : absorb_transposes(graph, id);
}

struct dtg_graph *dtg_opt_simplify(const struct dtg_graph *graph) {
  struct dtg_rewrite rewrite = dtg_rewrite_begin(graph);
  for (uint32_t id = 0; id < graph->nodes.len; id++) {
    uint32_t copy = dtg_rewrite_copy(&rewrite, id), node = copy;
    for (uint32_t step = 0; step < STEPS; step++) {
      uint32_t next = simplify_node(rewrite.to, node);
      if (next == DTG_NO_NODE || next == node)
        break;
      node = next;
    }
    dtg_rewrite_origin(&rewrite, id, copy + 1);
    dtg_rewrite_set(&rewrite, id, node);
  }
  return dtg_rewrite_end(&rewrite);
}
