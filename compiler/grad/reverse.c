/* The engine: marks what lies between the wanted nodes and the scalar, then walks back. */
#include "compiler/base/bug.h"
#include "compiler/grad/grad.h"
#include "compiler/grad/internal.h"

struct reverse {
  struct dtg_graph *graph;
  struct dtg_arena *scratch;
  uint32_t count;   /* forward nodes */
  bool *depends;    /* on a wanted node, by a way that carries a gradient */
  uint32_t *totals; /* gradient so far, or DTG_NO_NODE */
  const struct dtg_node *culprit;
};

static bool carries(const struct dtg_node *node) {
  if (dtg_is_loop(node))
    return true; /* to its results */
  return dtg_dtype_is_float(node->type.dtype) && !(node->op->flags & DTG_OP_ZERO_GRAD);
}

static void mark(struct reverse *reverse, const uint32_t *wrt, uint32_t count) {
  for (uint32_t i = 0; i < count; i++)
    reverse->depends[wrt[i]] = true;
  for (uint32_t id = 0; id < reverse->count; id++) {
    const struct dtg_node *node = dtg_graph_node(reverse->graph, id);
    for (uint32_t i = 0; carries(node) && i < node->input_count; i++)
      reverse->depends[id] = reverse->depends[id] || reverse->depends[node->inputs[i]];
  }
}

/* Users of a node come after it, so contributions arrive from the last user to the first. */
static void accumulate(struct reverse *reverse, uint32_t id, uint32_t grad) {
  uint32_t *total = &reverse->totals[id];
  *total = *total == DTG_NO_NODE ? grad : dtg_add_binary(reverse->graph, "add", *total, grad);
}

/* Backward nodes tell where they come from. */
static void set_origin(struct dtg_graph *graph, uint32_t id, size_t first) {
  struct dtg_node origin = *dtg_graph_node(graph, id);
  for (size_t i = first; i < graph->nodes.len; i++) {
    struct dtg_node *node = &graph->nodes.data[i];
    node->path = origin.path;
    node->name = origin.name;
    node->span = origin.span;
  }
}

static bool differentiate(struct reverse *reverse, uint32_t id) {
  struct dtg_graph *graph = reverse->graph;
  struct dtg_node node = *dtg_graph_node(graph, id);
  size_t first = graph->nodes.len;
  bool *needed = DTG_NEW_ARRAY(reverse->scratch, bool, node.input_count);
  uint32_t *grads = DTG_NEW_ARRAY(reverse->scratch, uint32_t, node.input_count);
  for (uint32_t i = 0; i < node.input_count; i++) {
    needed[i] = reverse->depends[node.inputs[i]];
    grads[i] = DTG_NO_NODE;
  }
  if (!node.op->grad)
    return false;
  reverse->totals[id] = dtg_grad_join(graph, reverse->totals[id]);
  struct dtg_grad_call call = {
      .graph = graph, .node = id, .grad = reverse->totals[id], .needed = needed, .grads = grads};
  node.op->grad(&call);
  for (uint32_t i = 0; i < node.input_count; i++) {
    if (needed[i] && grads[i] != DTG_NO_NODE)
      accumulate(reverse, node.inputs[i], grads[i]);
  }
  set_origin(graph, id, first);
  return true;
}

/* All results of a scan come behind it: their gradients are complete when it is reached. */
static bool differentiate_loop(struct reverse *reverse, uint32_t id) {
  struct dtg_graph *graph = reverse->graph;
  struct dtg_node node = *dtg_graph_node(graph, id);
  size_t first = graph->nodes.len, results = node.body->roots.len;
  uint32_t *result_grads = DTG_NEW_ARRAY(reverse->scratch, uint32_t, results);
  bool *needed = DTG_NEW_ARRAY(reverse->scratch, bool, node.input_count), any = false;
  uint32_t *grads = DTG_NEW_ARRAY(reverse->scratch, uint32_t, node.input_count);
  for (size_t i = 0; i < results; i++)
    result_grads[i] = DTG_NO_NODE;
  for (uint32_t i = 0; i < node.input_count; i++) {
    grads[i] = DTG_NO_NODE;
    needed[i] = reverse->depends[node.inputs[i]] &&
                dtg_dtype_is_float(dtg_graph_node(graph, node.inputs[i])->type.dtype);
  }
  for (uint32_t i = id + 1; i < reverse->count; i++) {
    const struct dtg_node *result = dtg_graph_node(graph, i);
    if (!dtg_is_loop_result(result) || result->inputs[0] != id || reverse->totals[i] == DTG_NO_NODE)
      continue;
    uint32_t *total = &result_grads[dtg_node_int(result, "index", 0)];
    *total = *total == DTG_NO_NODE ? reverse->totals[i]
                                   : dtg_add_binary(graph, "add", *total, reverse->totals[i]);
    any = true;
  }
  if (any && !dtg_grad_loop(graph, id, result_grads, needed, grads, &reverse->culprit))
    return false;
  for (uint32_t i = 0; i < node.input_count; i++) {
    if (needed[i] && grads[i] != DTG_NO_NODE)
      accumulate(reverse, node.inputs[i], grads[i]);
  }
  set_origin(graph, id, first);
  return true;
}

static bool walk_back(struct reverse *reverse, uint32_t *culprit) {
  for (uint32_t id = reverse->count; id-- > 0;) {
    const struct dtg_node *node = dtg_graph_node(reverse->graph, id);
    bool inner = node->input_count != 0 && carries(node), loop = dtg_is_loop(node);
    if (!reverse->depends[id] || !inner || dtg_is_loop_result(node) ||
        (!loop && reverse->totals[id] == DTG_NO_NODE))
      continue;
    if (!(loop ? differentiate_loop(reverse, id) : differentiate(reverse, id))) {
      *culprit = id;
      return false;
    }
  }
  return true;
}

bool dtg_grad_nodes(struct dtg_graph *graph, uint32_t of, const uint32_t *wrt, uint32_t count,
                    uint32_t *grads, uint32_t *culprit) {
  size_t first = graph->nodes.len;
  struct dtg_type type = dtg_graph_node(graph, of)->type;
  struct dtg_grad_seed seed = {of, dtg_add_const(graph, 1, type.dtype, &type.shape)};
  set_origin(graph, of, first);
  return dtg_grad_seeds(graph, &seed, 1, wrt, count, grads, culprit);
}

bool dtg_grad_seeds(struct dtg_graph *graph, const struct dtg_grad_seed *seeds, uint32_t seed_count,
                    const uint32_t *wrt, uint32_t count, uint32_t *grads, uint32_t *culprit) {
  struct dtg_arena scratch;
  dtg_arena_init(&scratch);
  struct reverse reverse = {
      .graph = graph, .scratch = &scratch, .count = (uint32_t)graph->nodes.len};
  reverse.depends = DTG_NEW_ARRAY(&scratch, bool, reverse.count);
  reverse.totals = DTG_NEW_ARRAY(&scratch, uint32_t, reverse.count);
  for (uint32_t i = 0; i < reverse.count; i++)
    reverse.totals[i] = DTG_NO_NODE;
  mark(&reverse, wrt, count);
  for (uint32_t i = 0; i < seed_count; i++) {
    if (reverse.depends[seeds[i].node])
      accumulate(&reverse, seeds[i].node, seeds[i].grad);
  }
  bool good = walk_back(&reverse, culprit);
  for (uint32_t i = 0; i < count && good; i++)
    grads[i] = reverse.totals[wrt[i]];
  dtg_arena_free(&scratch);
  return good;
}
