/* Common subexpressions. Requires: a typed graph. Guarantees: no two nodes have the same op, type,
 * attributes and operands (operands in either order where the op commutes); a random op has its
 * stream among its attributes, so only equal draws are merged. Cost: linear, by hashing. */
#include "compiler/ir/op.h"
#include "compiler/ir/rewrite.h"
#include "compiler/opt/opt.h"

#include <string.h>

struct table {
  uint32_t *slots; /* new node + 1 */
  uint64_t mask;
};

static uint64_t mix(uint64_t hash, uint64_t value) {
  hash ^= value + 0x9E3779B97F4A7C15u + (hash << 6) + (hash >> 2);
  return hash * 0xBF58476D1CE4E5B9u;
}

/* Operands in the order in which they are compared. */
static void ordered_inputs(const struct dtg_node *node, uint32_t out[2]) {
  bool swap = node->inputs[0] > node->inputs[1];
  out[0] = node->inputs[swap ? 1 : 0];
  out[1] = node->inputs[swap ? 0 : 1];
}

static bool commutes(const struct dtg_node *node) {
  return node->op->flags & DTG_OP_COMMUTES && node->input_count == 2;
}

static uint64_t node_hash(const struct dtg_node *node) {
  uint64_t hash = 0;
  uint32_t pair[2];
  const uint32_t *inputs = node->inputs;
  for (const char *c = node->op->name; *c; c++)
    hash = mix(hash, (unsigned char)*c);
  if (commutes(node)) {
    ordered_inputs(node, pair);
    inputs = pair;
  }
  for (uint32_t i = 0; i < node->input_count; i++)
    hash = mix(hash, inputs[i]);
  for (uint32_t i = 0; i < node->type.shape.rank; i++)
    hash = mix(hash, (uint64_t)node->type.shape.dims[i]);
  for (uint32_t i = 0; i < node->attr_count; i++)
    hash = mix(hash, (uint64_t)node->attrs[i].kind);
  return mix(hash, node->type.dtype);
}

static bool attr_equal(const struct dtg_attr *a, const struct dtg_attr *b) {
  if (a->name != b->name || a->kind != b->kind)
    return false;
  switch (a->kind) {
  case DTG_ATTR_INT:
    return a->value.i == b->value.i;
  case DTG_ATTR_FLOAT: /* by bits: 0.0 is not -0.0 */
    return memcmp(&a->value.f, &b->value.f, sizeof a->value.f) == 0;
  case DTG_ATTR_BOOL:
    return a->value.b == b->value.b;
  case DTG_ATTR_STRING:
    return a->value.s == b->value.s;
  case DTG_ATTR_INTS:
    return a->value.ints.count == b->value.ints.count &&
           (a->value.ints.count == 0 ||
            memcmp(a->value.ints.values, b->value.ints.values,
                   a->value.ints.count * sizeof *a->value.ints.values) == 0);
  case DTG_ATTR_DTYPE:
    return a->value.dtype == b->value.dtype;
  }
  return false;
}

static bool node_equal(const struct dtg_node *a, const struct dtg_node *b) {
  uint32_t left[2], right[2];
  if (a->op != b->op || !dtg_type_equal(&a->type, &b->type) || a->input_count != b->input_count ||
      a->attr_count != b->attr_count || a->body != b->body)
    return false;
  for (uint32_t i = 0; i < a->attr_count; i++) {
    if (!attr_equal(&a->attrs[i], &b->attrs[i]))
      return false;
  }
  if (commutes(a)) {
    ordered_inputs(a, left);
    ordered_inputs(b, right);
    return memcmp(left, right, sizeof left) == 0;
  }
  return a->input_count == 0 ||
         memcmp(a->inputs, b->inputs, a->input_count * sizeof *a->inputs) == 0;
}

/* An earlier equal node, or the node itself, which is then remembered. */
static uint32_t find_or_add(struct table *table, const struct dtg_graph *graph, uint32_t id) {
  const struct dtg_node *node = dtg_graph_node(graph, id);
  uint64_t at = node_hash(node) & table->mask;
  while (table->slots[at] != 0) {
    uint32_t other = table->slots[at] - 1;
    if (node_equal(node, dtg_graph_node(graph, other)))
      return other;
    at = (at + 1) & table->mask;
  }
  table->slots[at] = id + 1;
  return id;
}

struct dtg_graph *dtg_opt_cse(const struct dtg_graph *graph) {
  struct dtg_rewrite rewrite = dtg_rewrite_begin(graph);
  uint64_t size = 16;
  while (size < graph->nodes.len * 2)
    size *= 2;
  struct table table = {DTG_NEW_ARRAY(graph->arena, uint32_t, size), size - 1};
  for (uint32_t id = 0; id < graph->nodes.len; id++) {
    uint32_t copy = dtg_rewrite_copy(&rewrite, id);
    dtg_rewrite_set(&rewrite, id, find_or_add(&table, rewrite.to, copy));
  }
  return dtg_rewrite_end(&rewrite);
}
