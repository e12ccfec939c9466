/* Values of a nest, by demand: who reads a node says at which indices. */
#include "compiler/ir/nest_build.h"

#include <string.h>

bool dtg_nest_refuse(struct dtg_nest_builder *build, const char *why) {
  *build->why = why;
  return false;
}

void dtg_reduced_axes(const struct dtg_node *node, const struct dtg_shape *shape,
                      bool reduced[DTG_MAX_RANK]) {
  const int64_t *axes = NULL;
  uint32_t count = dtg_node_ints(node, "axes", &axes);
  bool all = node->op->form != DTG_REDUCE_AXES;
  for (uint32_t i = 0; i < DTG_MAX_RANK; i++)
    reduced[i] = all && i < shape->rank;
  for (uint32_t i = 0; i < count && !all; i++)
    reduced[axes[i]] = true;
  if (dtg_node_attr(node, "axis") && !all)
    reduced[dtg_node_int(node, "axis", 0)] = true;
}

static bool add_value(struct dtg_nest_builder *build, const struct dtg_nest_value *value,
                      uint32_t *out) {
  struct dtg_nest *nest = build->nest;
  if (nest->values.len == DTG_NEST_VALUES)
    return dtg_nest_refuse(build, "it has too many values");
  dtg_vec_push(build->arena, &nest->values, *value);
  *out = (uint32_t)nest->values.len - 1;
  return true;
}

static bool find_value(const struct dtg_nest *nest, const struct dtg_nest_value *wanted,
                       uint32_t index_count, uint32_t *out) {
  for (size_t i = 0; i < nest->values.len; i++) {
    const struct dtg_nest_value *value = &nest->values.data[i];
    if (value->kind == wanted->kind && value->node == wanted->node &&
        memcmp(value->index, wanted->index, index_count * sizeof *value->index) == 0) {
      *out = (uint32_t)i;
      return true;
    }
  }
  return false;
}

static uint32_t read_buffer(struct dtg_nest_builder *build, uint32_t node) {
  struct dtg_nest *nest = build->nest;
  struct dtg_nest_buffer buffer = {
      .node = node, .type = dtg_graph_node(build->graph, node)->type, .read = true};
  for (size_t i = 0; i < nest->buffers.len; i++) {
    if (nest->buffers.data[i].node == node)
      return (uint32_t)i;
  }
  dtg_vec_push(build->arena, &nest->buffers, buffer);
  return (uint32_t)nest->buffers.len - 1;
}

static bool want_load(struct dtg_nest_builder *build, uint32_t id, struct dtg_form address,
                      uint32_t *out) {
  struct dtg_nest_value value = {.kind = DTG_VALUE_LOAD, .node = id, .index = {address}};
  if (find_value(build->nest, &value, 1, out))
    return true;
  value.buffer = read_buffer(build, id);
  value.axes = dtg_form_axes(&address);
  return add_value(build, &value, out);
}

static void join(struct dtg_nest_builder *build, struct dtg_nest_value *value, uint32_t operand) {
  const struct dtg_nest_value *it = &build->nest->values.data[operand];
  value->axes |= it->axes;
  if (it->level > value->level)
    value->level = it->level;
}

/* An element-wise, generating or constant op: its operands are wanted where it is. */
static bool want_compute(struct dtg_nest_builder *build, uint32_t id, const struct dtg_form *index,
                         uint32_t *out) {
  const struct dtg_node *node = dtg_graph_node(build->graph, id);
  struct dtg_nest_value value = {
      .kind = DTG_VALUE_COMPUTE, .node = id, .operand_count = node->input_count};
  uint32_t rank = node->type.shape.rank;
  uint32_t *operands = DTG_NEW_ARRAY(build->arena, uint32_t, node->input_count);
  bool generate = node->op->class == DTG_CLASS_GENERATE;
  memcpy(value.index, index, rank * sizeof *index);
  if (find_value(build->nest, &value, rank, out))
    return true;
  for (uint32_t i = 0; i < node->input_count; i++) {
    if (!dtg_nest_want(build, node->inputs[i], index, &operands[i]))
      return false;
    join(build, &value, operands[i]);
  }
  for (uint32_t i = 0; i < rank && (generate || node->op->flags & DTG_OP_INDEXED); i++)
    value.axes |= dtg_form_axes(&index[i]);
  value.operands = operands;
  return add_value(build, &value, out);
}

static bool want_view(struct dtg_nest_builder *build, uint32_t id, const struct dtg_form *index,
                      uint32_t *out) {
  const struct dtg_node *node = dtg_graph_node(build->graph, id);
  struct dtg_form flat = dtg_form_flatten(&node->type.shape, index), inner[DTG_MAX_RANK];
  int64_t extents[DTG_FORM_AXES] = {0};
  const struct dtg_links *links = build->nest->links;
  while (node->op->class == DTG_CLASS_VIEW && !dtg_links_in_memory(links, id, build->nest->group)) {
    id = node->inputs[0];
    node = dtg_graph_node(build->graph, id);
  }
  if (dtg_links_in_memory(links, id, build->nest->group))
    return want_load(build, id, flat, out);
  for (uint32_t i = 0; i < build->nest->rank; i++)
    extents[i] = build->nest->axes[i].extent;
  if (!dtg_form_split(&flat, extents, &node->type.shape, inner))
    return dtg_nest_refuse(build, "a reshape cuts its axes otherwise");
  return dtg_nest_want(build, id, inner, out);
}

/* The same gather of the same elements. */
static bool find_gather(const struct dtg_nest *nest, const struct dtg_nest_value *wanted,
                        uint32_t *out) {
  for (size_t i = 0; i < nest->values.len; i++) {
    const struct dtg_nest_value *it = &nest->values.data[i];
    if (it->kind == DTG_VALUE_GATHER && it->node == wanted->node &&
        it->operands[0] == wanted->operands[0] &&
        dtg_form_equal(&it->index[0], &wanted->index[0])) {
      *out = (uint32_t)i;
      return true;
    }
  }
  return false;
}

static bool want_gather(struct dtg_nest_builder *build, uint32_t id, const struct dtg_form *index,
                        uint32_t *out) {
  const struct dtg_node *node = dtg_graph_node(build->graph, id);
  const struct dtg_shape *table = &dtg_graph_node(build->graph, node->inputs[0])->type.shape;
  uint32_t picks = dtg_graph_node(build->graph, node->inputs[1])->type.shape.rank;
  uint32_t axis = (uint32_t)dtg_node_int(node, "axis", 0);
  struct dtg_nest_value value = {.kind = DTG_VALUE_GATHER, .node = id, .operand_count = 1};
  uint32_t *operand = DTG_NEW(build->arena, uint32_t);
  struct dtg_form rest[DTG_MAX_RANK] = {0};
  uint32_t base = dtg_links_base(build->nest->links, node->inputs[0]);
  if (base == DTG_NO_NODE || !dtg_links_in_memory(build->nest->links, base, build->nest->group))
    return dtg_nest_refuse(build, "a table is computed in the same kernel");
  if (!dtg_nest_want(build, node->inputs[1], index + axis, operand))
    return false;
  for (uint32_t i = 0; i < table->rank; i++) {
    if (i != axis)
      rest[i] = index[i < axis ? i : i + picks - 1];
  }
  value.index[0] = dtg_form_flatten(table, rest);
  value.operands = operand;
  value.axes = dtg_form_axes(&value.index[0]);
  join(build, &value, *operand);
  if (find_gather(build->nest, &value, out))
    return true;
  value.buffer = read_buffer(build, base);
  return add_value(build, &value, out);
}

/* Gives the reduced dims the reduced axes, in order; the others keep the index of the result. */
static bool reduce_index(const struct dtg_nest *nest, const struct dtg_node *node,
                         const struct dtg_shape *operand, const struct dtg_form *index,
                         struct dtg_form *inner) {
  bool reduced[DTG_MAX_RANK];
  struct dtg_shape walked = {0};
  struct dtg_form walked_index[DTG_MAX_RANK];
  bool keepdims = operand->rank == node->type.shape.rank && operand->rank > 0;
  uint32_t next = 0, walk = 0;
  dtg_reduced_axes(node, operand, reduced);
  for (uint32_t i = 0; i < operand->rank; i++) {
    if (reduced[i])
      walked.dims[walked.rank++] = operand->dims[i];
  }
  if (!dtg_nest_match(nest, &walked, nest->full_mask & ~nest->kept_mask, walked_index))
    return false;
  /* Equal ranks also arise where nothing is reduced: then the result's dims are the operand's. */
  keepdims = keepdims && node->op->form == DTG_REDUCE_AXES;
  for (uint32_t i = 0; i < operand->rank; i++) {
    inner[i] = reduced[i] ? walked_index[walk++] : index[next];
    next += !reduced[i] || keepdims;
  }
  return true;
}

/* Position along the reduced axes, which is what argmax and argmin give. */
static struct dtg_form reduced_position(const struct dtg_node *node,
                                        const struct dtg_shape *operand,
                                        const struct dtg_form *inner) {
  bool reduced[DTG_MAX_RANK];
  struct dtg_shape walked = {0};
  struct dtg_form index[DTG_MAX_RANK];
  dtg_reduced_axes(node, operand, reduced);
  for (uint32_t i = 0; i < operand->rank; i++) {
    if (!reduced[i])
      continue;
    index[walked.rank] = inner[i];
    walked.dims[walked.rank++] = operand->dims[i];
  }
  return dtg_form_flatten(&walked, index);
}

static bool covers(const struct dtg_nest *nest, const struct dtg_form *index, uint32_t rank) {
  uint32_t axes = 0;
  for (uint32_t i = 0; i < rank; i++)
    axes |= dtg_form_axes(&index[i]);
  for (uint32_t i = 0; i < nest->rank; i++)
    axes |= nest->axes[i].extent == 1 ? 1u << i : 0;
  return (nest->full_mask & ~axes) == 0;
}

static bool is_arg(const struct dtg_node *node) {
  return node->op->accumulate == CG_ACCUMULATE_ARGMAX ||
         node->op->accumulate == CG_ACCUMULATE_ARGMIN;
}

static bool want_reduced(struct dtg_nest_builder *build, uint32_t id, const struct dtg_form *index,
                         uint32_t *out) {
  struct dtg_nest *nest = build->nest;
  const struct dtg_node *node = dtg_graph_node(build->graph, id);
  const struct dtg_shape *operand = &dtg_graph_node(build->graph, node->inputs[0])->type.shape;
  struct dtg_nest_value value = {.kind = DTG_VALUE_REDUCED, .node = id, .operand_count = 1};
  uint32_t *input = DTG_NEW(build->arena, uint32_t), rank = node->type.shape.rank;
  struct dtg_form inner[DTG_MAX_RANK];
  for (size_t i = 0; i < nest->values.len; i++) {
    const struct dtg_nest_value *it = &nest->values.data[i];
    if (it->kind == DTG_VALUE_REDUCED && it->node == id) {
      *out = (uint32_t)i;
      return memcmp(&it->index[1], index, rank * sizeof *index) == 0 ||
             dtg_nest_refuse(build, "a reduction is read at two places");
    }
  }
  for (uint32_t i = 0; i < rank; i++) {
    if (dtg_form_axes(&index[i]) & ~nest->kept_mask)
      return dtg_nest_refuse(build, "a reduction is not the same for a whole row");
  }
  bool blocks = node->op->form == DTG_REDUCE_BLOCKS;
  if (blocks != (build->reduce->op->form == DTG_REDUCE_BLOCKS) ||
      !reduce_index(nest, node, operand, index, inner) || !covers(nest, inner, operand->rank))
    return dtg_nest_refuse(build, "its reductions walk different axes");
  if (!dtg_nest_want(build, node->inputs[0], inner, input))
    return false;
  if (dtg_nest_count(nest, nest->full_mask & ~nest->kept_mask) == 1 && !is_arg(node)) {
    *out = *input; /* of one element, whatever its sign of zero */
    return true;
  }
  value.operands = input;
  value.index[0] = reduced_position(node, operand, inner);
  memcpy(&value.index[1], index, rank * sizeof *index);
  value.axes = nest->kept_mask;
  value.level = nest->values.data[*input].level + 1;
  return add_value(build, &value, out);
}

static bool want(struct dtg_nest_builder *build, uint32_t id, const struct dtg_form *index,
                 uint32_t *out) {
  const struct dtg_node *node = dtg_graph_node(build->graph, id);
  struct dtg_form source[DTG_MAX_RANK];
  if (dtg_links_in_memory(build->nest->links, id, build->nest->group))
    return want_load(build, id, dtg_form_flatten(&node->type.shape, index), out);
  switch (node->op->class) {
  case DTG_CLASS_CONST:
  case DTG_CLASS_ELEMENTWISE:
  case DTG_CLASS_GENERATE:
    return want_compute(build, id, index, out);
  case DTG_CLASS_VIEW:
    return want_view(build, id, index, out);
  case DTG_CLASS_INDEX:
    if (!dtg_index_map(build->graph, node, index, source))
      return dtg_nest_refuse(build, "an operand is assembled of several parts");
    return dtg_nest_want(build, node->inputs[0], source, out);
  case DTG_CLASS_REDUCE:
    return want_reduced(build, id, index, out);
  case DTG_CLASS_GATHER:
    return want_gather(build, id, index, out);
  default:
    return dtg_nest_refuse(build, "it has an op that is a kernel of its own");
  }
}

bool dtg_nest_want(struct dtg_nest_builder *build, uint32_t id, const struct dtg_form *index,
                   uint32_t *value) {
  if (build->depth == 2 * DTG_NEST_MEMBERS)
    return dtg_nest_refuse(build, "its chains are too long");
  build->depth++;
  bool found = want(build, id, index, value);
  build->depth--;
  return found;
}
