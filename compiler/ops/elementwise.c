#include "compiler/ops/elementwise.h"

#include <math.h>
#include <string.h>

static bool infer_in(const struct dtg_infer_call *call, int set, struct dtg_type *out) {
  if (!dtg_check_dtype(call, 0, set) || !dtg_check_same(call, 0))
    return false;
  *out = call->inputs[0];
  return true;
}

bool dtg_infer_float1(const struct dtg_infer_call *call, struct dtg_type *out) {
  return infer_in(call, DTG_IN_FLOAT, out);
}

bool dtg_infer_number1(const struct dtg_infer_call *call, struct dtg_type *out) {
  return infer_in(call, DTG_IN_NUMBER, out);
}

bool dtg_infer_float2(const struct dtg_infer_call *call, struct dtg_type *out) {
  return infer_in(call, DTG_IN_FLOAT, out);
}

bool dtg_infer_number2(const struct dtg_infer_call *call, struct dtg_type *out) {
  return infer_in(call, DTG_IN_NUMBER, out);
}

uint32_t dtg_match1(const struct dtg_graph *graph, uint32_t id, const char *name) {
  const struct dtg_node *node = dtg_graph_node(graph, id);
  return strcmp(node->op->name, name) == 0 ? node->inputs[0] : DTG_NO_NODE;
}

uint32_t dtg_input_of(const struct dtg_graph *graph, uint32_t id, uint32_t input) {
  return dtg_graph_node(graph, id)->inputs[input];
}

bool dtg_is_splat(const struct dtg_graph *graph, uint32_t id, double value) {
  double found;
  return dtg_graph_splat(graph, id, &found) && found == value && signbit(found) == signbit(value);
}
