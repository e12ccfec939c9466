/* When one kernel is better than two. */
#include "compiler/opt/fuse.h"

/* Elements below which nothing but the number of launches counts. */
enum { SMALL = 16384, ROW = 65536, ENOUGH_ROWS = 16, CHEAP = 1, COSTLY = 8, PASSES = 3 };

static double flops_per_element(const struct dtg_nest *nest, uint32_t id) {
  const struct dtg_graph *graph = nest->links->graph;
  const struct dtg_node *node = dtg_graph_node(graph, id);
  struct dtg_type types[16];
  double flops = 1, bytes;
  if (!node->op->cost || node->input_count > 16)
    return COSTLY;
  for (uint32_t i = 0; i < node->input_count; i++)
    types[i] = dtg_graph_node(graph, node->inputs[i])->type;
  node->op->cost(node, types, &flops, &bytes);
  return flops / (double)dtg_shape_count(&node->type.shape);
}

/* Times that the value is computed for each of its elements: the loops around it, kept axes first,
 * that it does not depend on but that lie outside one that it does. */
static int64_t repeats(const struct dtg_nest *nest, const struct dtg_nest_value *value) {
  int64_t total = 1, open = 1;
  for (int phase = 0; phase < 2; phase++) {
    for (uint32_t i = 0; i < nest->rank; i++) {
      bool kept = nest->kept_mask >> i & 1;
      if (kept != (phase == 0))
        continue;
      if (value->axes >> i & 1)
        total = open;
      else if (nest->axes[i].block == 0)
        open *= nest->axes[i].extent;
    }
  }
  return total;
}

static uint32_t passes_with(const struct dtg_nest *nest, uint32_t value) {
  bool needed[DTG_NEST_VALUES];
  uint32_t cached[DTG_NEST_VALUES], count = 0;
  for (uint32_t pass = 0; pass < nest->passes; pass++) {
    dtg_nest_pass(nest, pass, needed, cached);
    count += needed[value] && !cached[value];
  }
  return count;
}

static bool computed_twice(const struct dtg_nest *nest, uint32_t value) {
  for (uint32_t i = 0; i < value; i++) {
    if (nest->values.data[i].kind != DTG_VALUE_LOAD &&
        nest->values.data[i].node == nest->values.data[value].node)
      return true;
  }
  return false;
}

static bool wasteful(const struct dtg_nest *nest, uint32_t index) {
  const struct dtg_nest_value *value = &nest->values.data[index];
  if (value->kind == DTG_VALUE_LOAD || value->kind == DTG_VALUE_REDUCED)
    return false;
  double flops = flops_per_element(nest, value->node);
  if (flops > CHEAP && (computed_twice(nest, index) || repeats(nest, value) > 1))
    return true;
  return flops >= COSTLY && dtg_nest_in_row(nest, value) && passes_with(nest, index) > PASSES;
}

static bool last_axis_reduced(const struct dtg_nest *nest) {
  return nest->rank > 0 && nest->axes[nest->rank - 1].reduced;
}

bool dtg_fuse_pays(const struct dtg_nest *nest) {
  int64_t full = dtg_nest_count(nest, nest->full_mask);
  int64_t rows = dtg_nest_count(nest, nest->kept_mask);
  for (size_t i = 0; i < nest->outputs.len; i++) {
    const struct dtg_nest_output *output = &nest->outputs.data[i];
    if (!output->in_row || full <= SMALL)
      continue;
    if (nest->values.data[output->value].level > 0 &&
        !(last_axis_reduced(nest) && full / rows <= ROW))
      return false;
    if (rows < ENOUGH_ROWS && full > ROW)
      return false;
  }
  for (uint32_t i = 0; i < nest->values.len; i++) {
    if (wasteful(nest, i))
      return false;
  }
  return true;
}
