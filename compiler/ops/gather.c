/* Rows by index, and their sums back by index. */
#include "compiler/ops/elementwise.h"

#include <inttypes.h>
#include <string.h>

/* The table's shape with `axis` replaced by the axes of the index. */
static bool picked_shape(const struct dtg_infer_call *call, int64_t axis, struct dtg_shape *out) {
  const struct dtg_type *table = &call->inputs[0], *index = &call->inputs[1];
  struct dtg_shape shape = {.rank = table->shape.rank - 1 + index->shape.rank};
  uint32_t at = 0;
  if (!dtg_check_dtype(call, 1, DTG_IN_INTEGER) || !dtg_check_axis(call, axis, table))
    return false;
  if (shape.rank > DTG_MAX_RANK)
    return dtg_fail(call, "`%s` of %s by %s has %" PRIu32 " dims, but at most %d are possible",
                    call->op->name, DTG_TYPE(table), DTG_TYPE(index), shape.rank, DTG_MAX_RANK);
  for (uint32_t i = 0; i < table->shape.rank; i++) {
    if (i != axis)
      shape.dims[at++] = table->shape.dims[i];
    for (uint32_t j = 0; i == axis && j < index->shape.rank; j++)
      shape.dims[at++] = index->shape.dims[j];
  }
  *out = shape;
  return true;
}

static bool gather_infer(const struct dtg_infer_call *call, struct dtg_type *out) {
  struct dtg_type type = {.dtype = call->inputs[0].dtype};
  if (!picked_shape(call, dtg_call_int(call, "axis", 0), &type.shape))
    return false;
  *out = type;
  return true;
}

/* The element of the table (-1: none) that element `flat` of the gathered tensor stands for. */
static int64_t table_element(const struct dtg_ref_tensor *table, const struct dtg_ref_tensor *index,
                             int64_t axis, int64_t flat) {
  int64_t strides[DTG_MAX_RANK];
  dtg_shape_strides(&table->type.shape, strides);
  int64_t inner = strides[axis], extent = table->type.shape.dims[axis];
  int64_t picks = dtg_shape_count(&index->type.shape);
  double row = index->data[flat / inner % picks];
  if (!(row >= 0 && row < (double)extent))
    return -1;
  return (flat / inner / picks * extent + (int64_t)row) * inner + flat % inner;
}

/* An index out of range gives 0; `check_range` before it stops the run. */
static void gather_ref(const struct dtg_ref_call *call) {
  int64_t axis = dtg_node_int(call->node, "axis", 0);
  for (int64_t i = 0; i < dtg_shape_count(&call->out->type.shape); i++) {
    int64_t from = table_element(&call->inputs[0], &call->inputs[1], axis, i);
    call->out->data[i] = from < 0 ? 0 : call->inputs[0].data[from];
  }
}

static void gather_grad(const struct dtg_grad_call *call) {
  struct dtg_graph *graph = call->graph;
  uint32_t table = dtg_grad_input(call, 0), index = dtg_grad_input(call, 1);
  struct dtg_attr axis =
      dtg_attr_int("axis", dtg_node_int(dtg_graph_node(graph, call->node), "axis", 0));
  if (!call->needed[0])
    return;
  uint32_t zero = LIKE(table, 0);
  call->grads[0] =
      dtg_add(graph, "scatter_add", (uint32_t[]){zero, index, call->grad}, 3, &axis, 1);
}

static const struct dtg_op_sample gather_samples[] = {
    {"f32[5,3] i32[4]", "axis=0", -3, 3, 5},     {"f32[3,7] i64[5]", "axis=1", -3, 3, 7},
    {"f32[2,5,3] i32[3,2]", "axis=1", -3, 3, 5}, {"f32[1,3] u8[2,1]", "axis=0", -3, 3, 1},
    {"f32[9] i32[131]", "axis=0", -3, 3, 9},     {"f32[9] i32[]", "axis=0", -3, 3, 9},
};

const struct dtg_op_def dtg_row_gather = {
    .name = "gather",
    .doc = "Slices of a table by index: axis `axis` is replaced by the axes of the index.",
    .class = DTG_CLASS_GATHER,
    .min_inputs = 2,
    .max_inputs = 2,
    .attributes = "axis:int",
    .shard = "",
    .infer = gather_infer,
    .grad = gather_grad,
    .cost = dtg_cost_move,
    .ref = gather_ref,
    DTG_SAMPLES(gather_samples),
};

static bool scatter_infer(const struct dtg_infer_call *call, struct dtg_type *out) {
  struct dtg_type wanted = {.dtype = call->inputs[0].dtype};
  if (!dtg_check_dtype(call, 0, DTG_IN_WIDE) ||
      !picked_shape(call, dtg_call_int(call, "axis", 0), &wanted.shape))
    return false;
  if (!dtg_type_equal(&wanted, &call->inputs[2]))
    return dtg_fail(call, "`scatter_add` into %s by %s needs updates of %s, got %s",
                    DTG_TYPE(&call->inputs[0]), DTG_TYPE(&call->inputs[1]), DTG_TYPE(&wanted),
                    DTG_TYPE(&call->inputs[2]));
  *out = call->inputs[0];
  return true;
}

/* Updates in row-major order. */
static void scatter_ref(const struct dtg_ref_call *call) {
  int64_t axis = dtg_node_int(call->node, "axis", 0);
  size_t count = (size_t)dtg_shape_count(&call->out->type.shape);
  memcpy(call->out->data, call->inputs[0].data, count * sizeof *call->out->data);
  for (int64_t i = 0; i < dtg_shape_count(&call->inputs[2].type.shape); i++) {
    int64_t to = table_element(&call->inputs[0], &call->inputs[1], axis, i);
    if (to >= 0)
      call->out->data[to] =
          dtg_ref_store(call->out->type.dtype, call->out->data[to] + call->inputs[2].data[i]);
  }
}

static void scatter_grad(const struct dtg_grad_call *call) {
  uint32_t index = dtg_grad_input(call, 1);
  struct dtg_attr axis =
      dtg_attr_int("axis", dtg_node_int(dtg_graph_node(call->graph, call->node), "axis", 0));
  if (call->needed[0])
    call->grads[0] = call->grad;
  if (call->needed[2])
    call->grads[2] = dtg_add(call->graph, "gather", (uint32_t[]){call->grad, index}, 2, &axis, 1);
}

static const struct dtg_op_sample scatter_samples[] = {
    {"f32[6,3] i32[5] f32[5,3]", "axis=0", -3, 3, 6},
    {"f32[5] i64[4] f32[4]", "axis=0", -3, 3, 5},
    {"f32[3,2,4] i32[3] f32[3,2,4]", "axis=0", -3, 3, 3},
    {"f32[2,5,3] i32[2,2] f32[2,2,2,3]", "axis=1", -3, 3, 5},
};

const struct dtg_op_def dtg_row_scatter_add = {
    .name = "scatter_add",
    .doc = "The base with each update added to the slice at its index; repeats add up in order.",
    .class = DTG_CLASS_SCATTER,
    .min_inputs = 3,
    .max_inputs = 3,
    .attributes = "axis:int",
    .shard = "",
    .infer = scatter_infer,
    .grad = scatter_grad,
    .cost = dtg_cost_move,
    .ref = scatter_ref,
    DTG_SAMPLES(scatter_samples),
};
