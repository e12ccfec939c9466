/* What a finished nest is asked: the passes over a row, collapsed axes, memory that can be shared.
 */
#include "compiler/ir/nest_build.h"

#include <string.h>

/* Not where the output repeats the value along an axis: it would be known in the loop of that axis
 * only, and what is computed of it outside. */
static uint32_t stored_before(const struct dtg_nest *nest, uint32_t value, uint32_t pass) {
  for (size_t i = 0; i < nest->outputs.len; i++) {
    const struct dtg_nest_output *output = &nest->outputs.data[i];
    if (output->in_row && output->value == value && nest->values.data[value].level < pass &&
        (dtg_form_axes(&output->address) & ~nest->values.data[value].axes) == 0)
      return (uint32_t)i + 1;
  }
  return 0;
}

static void mark(const struct dtg_nest *nest, uint32_t value, bool *needed) {
  if (dtg_nest_in_row(nest, &nest->values.data[value]))
    needed[value] = true;
}

void dtg_nest_pass(const struct dtg_nest *nest, uint32_t pass, bool *needed, uint32_t *cached) {
  memset(needed, 0, nest->values.len * sizeof *needed);
  memset(cached, 0, nest->values.len * sizeof *cached);
  for (size_t i = 0; i < nest->values.len; i++) {
    const struct dtg_nest_value *value = &nest->values.data[i];
    if (value->kind == DTG_VALUE_REDUCED && value->level == pass + 1)
      mark(nest, value->operands[0], needed);
  }
  for (size_t i = 0; i < nest->outputs.len; i++) {
    const struct dtg_nest_output *output = &nest->outputs.data[i];
    if (output->in_row && nest->values.data[output->value].level == pass)
      mark(nest, output->value, needed);
  }
  for (uint32_t i = (uint32_t)nest->values.len; i-- > 0;) {
    const struct dtg_nest_value *value = &nest->values.data[i];
    if (!needed[i])
      continue;
    cached[i] = stored_before(nest, i, pass);
    for (uint32_t k = 0; k < value->operand_count && !cached[i]; k++)
      mark(nest, value->operands[k], needed);
  }
}

/* Calls `visit` for every form that the code of the nest will use. */
static bool each_form(struct dtg_nest *nest, bool (*visit)(struct dtg_form *, const void *),
                      const void *data) {
  bool all = true;
  for (size_t i = 0; i < nest->values.len; i++) {
    struct dtg_nest_value *value = &nest->values.data[i];
    const struct dtg_node *node = dtg_graph_node(nest->links->graph, value->node);
    bool indexed = node->op->class == DTG_CLASS_GENERATE || (node->op->flags & DTG_OP_INDEXED) != 0;
    bool position = node->op->accumulate == CG_ACCUMULATE_ARGMAX ||
                    node->op->accumulate == CG_ACCUMULATE_ARGMIN;
    uint32_t count = value->kind == DTG_VALUE_COMPUTE   ? (indexed ? node->type.shape.rank : 0)
                     : value->kind == DTG_VALUE_REDUCED ? position
                                                        : 1;
    for (uint32_t k = 0; k < count; k++)
      all = visit(&value->index[k], data) && all;
  }
  for (size_t i = 0; i < nest->outputs.len; i++)
    all = visit(&nest->outputs.data[i].address, data) && all;
  return all;
}

struct axis_pair {
  uint32_t first;
  int64_t inner; /* extent of the second */
};

static bool walks_as_one(struct dtg_form *form, const void *data) {
  const struct axis_pair *pair = data;
  return form->coef[pair->first] == form->coef[pair->first + 1] * pair->inner;
}

static bool merge_form(struct dtg_form *form, const void *data) {
  const struct axis_pair *pair = data;
  for (uint32_t i = pair->first; i + 1 < DTG_FORM_AXES; i++)
    form->coef[i] = form->coef[i + 1];
  form->coef[DTG_FORM_AXES - 1] = 0;
  return true;
}

static uint32_t merge_mask(uint32_t mask, uint32_t first) {
  uint32_t low = mask & ((1u << first) - 1), pair = mask >> first & 3;
  return low | (pair != 0 ? 1u << first : 0) | mask >> (first + 2) << (first + 1);
}

static void merge_axes(struct dtg_nest *nest, const struct axis_pair *pair) {
  uint32_t first = pair->first;
  each_form(nest, merge_form, pair);
  nest->axes[first].extent *= pair->inner;
  nest->axes[first].block *= pair->inner;
  nest->rank--;
  for (uint32_t i = first + 1; i < nest->rank; i++)
    nest->axes[i] = nest->axes[i + 1];
  nest->full_mask = merge_mask(nest->full_mask, first);
  nest->kept_mask = merge_mask(nest->kept_mask, first);
  for (size_t i = 0; i < nest->values.len; i++)
    nest->values.data[i].axes = merge_mask(nest->values.data[i].axes, first);
}

void dtg_nest_collapse(struct dtg_nest *nest) {
  for (uint32_t i = nest->blocked ? 1 : 0; i + 1 < nest->rank;) {
    struct axis_pair pair = {.first = i, .inner = nest->axes[i + 1].extent};
    if (nest->axes[i].reduced == nest->axes[i + 1].reduced && nest->axes[i + 1].block == 0 &&
        each_form(nest, walks_as_one, &pair))
      merge_axes(nest, &pair);
    else
      i++;
  }
}

static bool read_after(const struct dtg_nest *nest, uint32_t value, uint32_t pass) {
  bool needed[DTG_NEST_VALUES];
  uint32_t cached[DTG_NEST_VALUES];
  for (uint32_t later = pass + 1; later < nest->passes; later++) {
    dtg_nest_pass(nest, later, needed, cached);
    if (needed[value] && !cached[value])
      return true;
  }
  return false;
}

bool dtg_nest_may_overwrite(const struct dtg_nest *nest, const struct dtg_nest_output *output,
                            uint32_t buffer) {
  const struct dtg_nest_buffer *from = &nest->buffers.data[buffer];
  const struct dtg_nest_buffer *to = &nest->buffers.data[output->buffer];
  if (!from->read || from->written || from->type.dtype != to->type.dtype ||
      dtg_type_bytes(&from->type) != dtg_type_bytes(&to->type))
    return false;
  for (uint32_t i = 0; i < nest->values.len; i++) {
    const struct dtg_nest_value *value = &nest->values.data[i];
    if (value->kind != DTG_VALUE_LOAD && value->kind != DTG_VALUE_GATHER)
      continue;
    if (value->buffer != buffer)
      continue;
    if (value->kind == DTG_VALUE_GATHER || !dtg_form_equal(&value->index[0], &output->address))
      return false;
    if (output->in_row && read_after(nest, i, nest->values.data[output->value].level))
      return false;
  }
  return true;
}
