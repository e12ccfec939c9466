// The range checks of a kernel, for messages that name the example.
#include "codegen/host/internal.h"

#include "compiler/ir/links.h"

#include <string.h>

// The node keeps the examples where they are: each example's elements stay together and in order.
static bool keeps_examples(const struct dtg_graph *graph, const struct dtg_node *node) {
  const int64_t *start = NULL, *step = NULL;
  if (node->op->class == DTG_CLASS_ELEMENTWISE || node->op->class == DTG_CLASS_VIEW)
    return true;
  if (strcmp(node->op->name, "slice") != 0)
    return false;
  dtg_node_ints(node, "start", &start);
  dtg_node_ints(node, "step", &step);
  return start[0] == 0 && step[0] == 1 &&
         node->type.shape.dims[0] == dtg_graph_node(graph, node->inputs[0])->type.shape.dims[0];
}

// The input that the values of a node come from, example by example; DTG_NO_NODE if there is none.
static uint32_t input_of(struct dtg_arena *arena, const struct dtg_graph *graph, uint32_t id) {
  uint32_t *from = DTG_NEW_ARRAY(arena, uint32_t, id + 1);
  for (uint32_t n = 0; n <= id; n++) {
    const struct dtg_node *node = dtg_graph_node(graph, n);
    const char *key;
    bool leaf = node->op->class == DTG_CLASS_LEAF;
    from[n] = leaf && dtg_leaf_of(node, &key) == DTG_LEAF_INPUT ? n : DTG_NO_NODE;
    if (leaf || node->type.shape.rank == 0 || !keeps_examples(graph, node))
      continue;
    for (uint32_t i = 0; i < node->input_count && from[n] == DTG_NO_NODE; i++)
      from[n] = from[node->inputs[i]];
  }
  return from[id];
}

static void put_check(const struct cg_host *h, const struct dtg_graph *graph, uint32_t id) {
  const struct dtg_node *check = dtg_graph_node(graph, id);
  uint32_t input = input_of(h->arena, graph, id);
  const char *name = NULL;
  int64_t row = 0;
  if (input != DTG_NO_NODE) {
    const struct dtg_node *leaf = dtg_graph_node(graph, input);
    dtg_leaf_of(leaf, &name);
    row = dtg_shape_count(&check->type.shape) / leaf->type.shape.dims[0];
  }
  dtg_strbuf_puts(h->out, "{");
  cg_host_put_string(h, dtg_node_string(check, "what", "value"));
  dtg_strbuf_puts(h->out, ", ");
  cg_host_put_string(h, dtg_span_short(h->arena, h->in->sources, check->span));
  dtg_strbuf_puts(h->out, ", ");
  cg_host_put_string(h, name);
  dtg_strbuf_printf(h->out, ", %lld, %lld}", (long long)dtg_node_int(check, "limit", 0),
                    (long long)row);
}

void cg_host_put_checks(const struct cg_host *h, const struct dtg_graph *graph, uint32_t group) {
  uint32_t count = 0;
  for (uint32_t n = 0; n < graph->nodes.len; n++) {
    const struct dtg_node *node = dtg_graph_node(graph, n);
    if (node->group != group || !(node->op->flags & DTG_OP_CHECKS))
      continue;
    dtg_strbuf_puts(h->out, count++ == 0 ? "(const struct dtr_check[]){" : ", ");
    put_check(h, graph, n);
  }
  dtg_strbuf_printf(h->out, count > 0 ? "}, %u" : "NULL, %u", count);
}
