#include "compiler/ir/loop.h"

#include "compiler/base/bug.h"
#include "compiler/base/intern.h"
#include "compiler/base/strbuf.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char *const leaf_ops[] = {[DTG_LOOP_CARRY] = "scan_carry",
                                       [DTG_LOOP_SLICE] = "scan_slice",
                                       [DTG_LOOP_VALUE] = "scan_value",
                                       [DTG_LOOP_INDEX] = "scan_index"};

bool dtg_is_loop(const struct dtg_node *node) {
  return node->op->class == DTG_CLASS_SCAN && node->body;
}

bool dtg_is_loop_result(const struct dtg_node *node) {
  return node->op->class == DTG_CLASS_SCAN && !node->body;
}

struct dtg_loop dtg_loop_of(const struct dtg_graph *graph, uint32_t id) {
  const struct dtg_node *node = dtg_graph_node(graph, id);
  struct dtg_loop loop = {.node = id,
                          .body = node->body,
                          .count = dtg_node_int(node, "count", 0),
                          .carries = (uint32_t)dtg_node_int(node, "carries", 0),
                          .slices = (uint32_t)dtg_node_int(node, "slices", 0),
                          .results = (uint32_t)node->body->roots.len,
                          .reverse = dtg_node_bool(node, "reverse", false),
                          .recompute = dtg_node_bool(node, "recompute", false)};
  loop.values = node->input_count - loop.carries - loop.slices;
  return loop;
}

enum dtg_loop_leaf dtg_loop_leaf_of(const struct dtg_node *node, uint32_t *index) {
  for (int leaf = DTG_LOOP_CARRY; node->op->class == DTG_CLASS_LEAF && leaf <= DTG_LOOP_INDEX;
       leaf++) {
    if (strcmp(node->op->name, leaf_ops[leaf]) != 0)
      continue;
    *index = (uint32_t)dtg_node_int(node, "index", 0);
    return (enum dtg_loop_leaf)leaf;
  }
  return DTG_LOOP_NONE;
}

struct dtg_graph *dtg_loop_body_new(const struct dtg_graph *around) {
  return dtg_graph_new(around->arena, around->names, "body");
}

uint32_t dtg_loop_add_leaf(struct dtg_graph *body, enum dtg_loop_leaf leaf, uint32_t index,
                           struct dtg_type type) {
  struct dtg_attr attr = dtg_attr_int("index", index);
  return dtg_graph_add_typed(body, dtg_op_find(leaf_ops[leaf]), type, NULL, 0, &attr,
                             leaf == DTG_LOOP_INDEX ? 0 : 1);
}

uint32_t dtg_loop_find_leaf(const struct dtg_graph *body, enum dtg_loop_leaf leaf, uint32_t index) {
  for (uint32_t i = 0; i < body->nodes.len; i++) {
    uint32_t found = 0;
    if (dtg_loop_leaf_of(dtg_graph_node(body, i), &found) == leaf && found == index)
      return i;
  }
  return DTG_NO_NODE;
}

void dtg_loop_add_root(struct dtg_graph *body, bool carry, uint32_t node, struct dtg_span span) {
  char name[32];
  snprintf(name, sizeof name, "%zu", body->roots.len);
  dtg_graph_add_root(body, carry ? DTG_ROOT_CARRY : DTG_ROOT_STACK, name, node, DTG_REDUCE_MEAN,
                     span);
}

uint32_t dtg_loop_add(struct dtg_graph *graph, const struct dtg_loop *loop,
                      const uint32_t *inputs) {
  struct dtg_attr attrs[] = {dtg_attr_int("carries", loop->carries),
                             dtg_attr_int("count", loop->count),
                             dtg_attr_int("slices", loop->slices), dtg_attr_bool("reverse", true),
                             dtg_attr_bool("recompute", true)};
  uint32_t count = 3;
  if (loop->reverse)
    count++;
  if (loop->recompute)
    attrs[count++] = attrs[4];
  uint32_t node =
      dtg_graph_add_typed(graph, dtg_op_find("scan"), (struct dtg_type){.dtype = DTG_BOOL}, inputs,
                          loop->carries + loop->slices + loop->values, attrs, count);
  dtg_graph_node(graph, node)->body = loop->body;
  return node;
}

struct dtg_type dtg_loop_result_type(const struct dtg_loop *loop, uint32_t result) {
  struct dtg_type type = dtg_graph_node(loop->body, loop->body->roots.data[result].node)->type;
  if (result < loop->carries)
    return type;
  DTG_ASSERT(type.shape.rank < DTG_MAX_RANK);
  memmove(type.shape.dims + 1, type.shape.dims, type.shape.rank * sizeof *type.shape.dims);
  type.shape.dims[0] = loop->count;
  type.shape.rank++;
  return type;
}

/* A result node of the scan behind `from`. */
static uint32_t find_result(const struct dtg_graph *graph, uint32_t node, uint32_t result,
                            uint32_t from) {
  for (uint32_t i = from; i < graph->nodes.len; i++) {
    const struct dtg_node *other = &graph->nodes.data[i];
    if (dtg_is_loop_result(other) && other->inputs[0] == node &&
        dtg_node_int(other, "index", -1) == result)
      return i;
  }
  return DTG_NO_NODE;
}

uint32_t dtg_loop_add_result(struct dtg_graph *graph, uint32_t node, uint32_t result) {
  uint32_t found = find_result(graph, node, result, node + 1);
  if (found != DTG_NO_NODE)
    return found;
  struct dtg_loop loop = dtg_loop_of(graph, node);
  struct dtg_attr attr = dtg_attr_int("index", result);
  return dtg_graph_add_typed(graph, dtg_op_find("scan_result"), dtg_loop_result_type(&loop, result),
                             &node, 1, &attr, 1);
}

uint32_t dtg_loop_copy_node(struct dtg_graph *to, const struct dtg_node *node,
                            const uint32_t *map) {
  struct dtg_node copy = *node;
  uint32_t *inputs = DTG_NEW_ARRAY(to->arena, uint32_t, copy.input_count);
  for (uint32_t i = 0; i < copy.input_count; i++) {
    inputs[i] = map[node->inputs[i]];
    DTG_ASSERT(inputs[i] != DTG_NO_NODE);
  }
  copy.inputs = inputs;
  dtg_vec_push(to->arena, &to->nodes, copy);
  return (uint32_t)to->nodes.len - 1;
}

/* ---- verifier ---- */

static bool has_type(struct dtg_strbuf *why, const char *what, uint32_t index,
                     const struct dtg_type *wanted, const struct dtg_type *found) {
  char first[256], second[256];
  if (dtg_type_equal(wanted, found))
    return true;
  dtg_type_format(wanted, first, sizeof first);
  dtg_type_format(found, second, sizeof second);
  dtg_strbuf_printf(why, "%s %" PRIu32 " is %s, not %s", what, index, second, first);
  return false;
}

/* What the leaf stands for by the operands. */
static bool leaf_type(const struct dtg_graph *graph, const struct dtg_loop *loop,
                      enum dtg_loop_leaf leaf, uint32_t index, struct dtg_type *out) {
  const struct dtg_node *node = dtg_graph_node(graph, loop->node);
  const uint32_t counts[] = {[DTG_LOOP_CARRY] = loop->carries,
                             [DTG_LOOP_SLICE] = loop->slices,
                             [DTG_LOOP_VALUE] = loop->values,
                             [DTG_LOOP_INDEX] = 1};
  if (index >= counts[leaf])
    return false;
  uint32_t operand = index + (leaf > DTG_LOOP_CARRY ? loop->carries : 0) +
                     (leaf > DTG_LOOP_SLICE ? loop->slices : 0);
  *out = (struct dtg_type){.dtype = DTG_I64};
  if (leaf == DTG_LOOP_INDEX)
    return true;
  *out = dtg_graph_node(graph, node->inputs[operand])->type;
  if (leaf != DTG_LOOP_SLICE)
    return true;
  if (out->shape.rank == 0 || out->shape.dims[0] != loop->count)
    return false;
  out->shape.rank--;
  memmove(out->shape.dims, out->shape.dims + 1, out->shape.rank * sizeof *out->shape.dims);
  return true;
}

static bool verify_leaves(const struct dtg_graph *graph, const struct dtg_loop *loop,
                          struct dtg_strbuf *why) {
  for (uint32_t i = 0; i < loop->body->nodes.len; i++) {
    const struct dtg_node *node = &loop->body->nodes.data[i];
    uint32_t index = 0;
    struct dtg_type type;
    enum dtg_loop_leaf leaf = dtg_loop_leaf_of(node, &index);
    if (node->op->class == DTG_CLASS_LEAF && leaf == DTG_LOOP_NONE) {
      dtg_strbuf_printf(why, "the body reads `%s`, which is no leaf of a body", node->op->name);
      return false;
    }
    if (leaf == DTG_LOOP_NONE)
      continue;
    if (!leaf_type(graph, loop, leaf, index, &type)) {
      dtg_strbuf_printf(why, "`%s` %" PRIu32 " of the body has no such operand", node->op->name,
                        index);
      return false;
    }
    if (!has_type(why, node->op->name, index, &type, &node->type))
      return false;
    if (dtg_loop_find_leaf(loop->body, leaf, index) != i) {
      dtg_strbuf_printf(why, "`%s` %" PRIu32 " stands twice in the body", node->op->name, index);
      return false;
    }
  }
  return true;
}

static bool verify_roots(const struct dtg_graph *graph, const struct dtg_loop *loop,
                         struct dtg_strbuf *why) {
  const uint32_t *inputs = dtg_graph_node(graph, loop->node)->inputs;
  if (loop->results < loop->carries) {
    dtg_strbuf_printf(why, "%" PRIu32 " carries, but %" PRIu32 " roots", loop->carries,
                      loop->results);
    return false;
  }
  for (uint32_t i = 0; i < loop->results; i++) {
    const struct dtg_root *root = &loop->body->roots.data[i];
    const struct dtg_type *type = &dtg_graph_node(loop->body, root->node)->type;
    if (root->kind != (i < loop->carries ? DTG_ROOT_CARRY : DTG_ROOT_STACK)) {
      dtg_strbuf_printf(why, "root %" PRIu32 " of the body must be a %s", i,
                        i < loop->carries ? "carry" : "stack");
      return false;
    }
    if (i < loop->carries &&
        !has_type(why, "carry", i, &dtg_graph_node(graph, inputs[i])->type, type))
      return false;
    if (i >= loop->carries && type->shape.rank == DTG_MAX_RANK) {
      dtg_strbuf_printf(why, "stack %" PRIu32 " has no room for another axis", i);
      return false;
    }
  }
  return true;
}

bool dtg_loop_verify(const struct dtg_graph *graph, uint32_t id, struct dtg_strbuf *why) {
  const struct dtg_node *node = dtg_graph_node(graph, id);
  int64_t carries = dtg_node_int(node, "carries", -1), slices = dtg_node_int(node, "slices", -1);
  if (!node->body) {
    dtg_strbuf_puts(why, "the scan has no body");
    return false;
  }
  if (carries < 0 || slices < 0 || dtg_node_int(node, "count", 0) < 1 ||
      carries > node->input_count || slices > node->input_count - carries) {
    dtg_strbuf_puts(why, "the scan's numbers do not fit its operands");
    return false;
  }
  struct dtg_loop loop = dtg_loop_of(graph, id);
  return verify_roots(graph, &loop, why) && verify_leaves(graph, &loop, why);
}

bool dtg_loop_verify_result(const struct dtg_graph *graph, uint32_t id, struct dtg_strbuf *why) {
  const struct dtg_node *node = dtg_graph_node(graph, id);
  int64_t index = dtg_node_int(node, "index", -1);
  if (!dtg_is_loop(dtg_graph_node(graph, node->inputs[0]))) {
    dtg_strbuf_puts(why, "a scan_result needs a scan");
    return false;
  }
  struct dtg_loop loop = dtg_loop_of(graph, node->inputs[0]);
  if (find_result(graph, node->inputs[0], (uint32_t)index, node->inputs[0] + 1) < id) {
    dtg_strbuf_printf(why, "result %" PRId64 " of the scan stands twice", index);
    return false;
  }
  if (index < 0 || index >= loop.results) {
    dtg_strbuf_printf(why, "the scan has no result %" PRId64, index);
    return false;
  }
  struct dtg_type type = dtg_loop_result_type(&loop, (uint32_t)index);
  return has_type(why, "result", (uint32_t)index, &type, &node->type);
}
