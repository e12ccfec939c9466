/* Sums over a whole tensor that do not depend on how the tensor is cut among owners. */
#include "compiler/ops/support.h"

#include <inttypes.h>

enum { BLOCK_ELEMENTS = 16384 };

int64_t dtg_block_rows(const struct dtg_shape *shape) {
  int64_t rows = shape->rank == 0 ? 1 : shape->dims[0];
  int64_t width = dtg_shape_count(shape) / rows;
  return (BLOCK_ELEMENTS - 1) / width + 1;
}

int64_t dtg_block_count(const struct dtg_shape *shape) {
  int64_t rows = shape->rank == 0 ? 1 : shape->dims[0];
  return (rows - 1) / dtg_block_rows(shape) + 1;
}

static bool block_infer(const struct dtg_infer_call *call, struct dtg_type *out) {
  if (!dtg_check_dtype(call, 0, DTG_IN_F32))
    return false;
  *out = (struct dtg_type){.dtype = DTG_F32,
                           .shape = {.rank = 1, .dims = {dtg_block_count(&call->inputs[0].shape)}}};
  return true;
}

static void block_ref(const struct dtg_ref_call *call) {
  const struct dtg_shape *from = &call->inputs[0].type.shape;
  int64_t rows = from->rank == 0 ? 1 : from->dims[0], count = dtg_shape_count(from);
  int64_t block = dtg_block_rows(from) * (count / rows);
  for (int64_t i = 0; i < count; i++) {
    double *total = &call->out->data[i / block];
    *total = (i % block == 0 ? 0 : *total) + call->inputs[0].data[i];
  }
}

static const struct dtg_op_sample block_samples[] = {
    {"f32[]", "", -3, 3, 0},        {"f32[7,5]", "", -3, 3, 0},     {"f32[40000]", "", -3, 3, 0},
    {"f32[100,300]", "", -3, 3, 0}, {"f32[3,20000]", "", -3, 3, 0},
};

const struct dtg_op_def dtg_row_block_sum = {
    .name = "block_sum",
    .doc = "Sums of blocks of 16,384 elements, rounded up to whole rows of axis 0.",
    .class = DTG_CLASS_REDUCE,
    .min_inputs = 1,
    .max_inputs = 1,
    .shard = "",
    .infer = block_infer,
    .cost = dtg_cost_reduce,
    .accumulate = CG_ACCUMULATE_SUM,
    .form = DTG_REDUCE_BLOCKS,
    .ref = block_ref,
    DTG_SAMPLES(block_samples),
};

static bool tree_infer(const struct dtg_infer_call *call, struct dtg_type *out) {
  if (!dtg_check_dtype(call, 0, DTG_IN_F32))
    return false;
  if (call->inputs[0].shape.rank != 1)
    return dtg_fail(call, "`tree_sum` needs one axis, got %s", DTG_TYPE(&call->inputs[0]));
  *out = (struct dtg_type){.dtype = DTG_F32};
  return true;
}

/* Depth is the logarithm of the count. */
static double tree(const double *values, int64_t count) {
  int64_t left = 1;
  if (count == 1)
    return values[0];
  while (left * 2 < count)
    left *= 2;
  return tree(values, left) + tree(values + left, count - left);
}

static void tree_ref(const struct dtg_ref_call *call) {
  call->out->data[0] = tree(call->inputs[0].data, call->inputs[0].type.shape.dims[0]);
}

static const struct dtg_op_sample tree_samples[] = {
    {"f32[1]", "", -3, 3, 0},  {"f32[2]", "", -3, 3, 0},  {"f32[6]", "", -3, 3, 0},
    {"f32[13]", "", -3, 3, 0}, {"f32[64]", "", -3, 3, 0},
};

const struct dtg_op_def dtg_row_tree_sum = {
    .name = "tree_sum",
    .doc = "The sum by the binary tree that splits at the largest power of two below the count.",
    .class = DTG_CLASS_REDUCE,
    .min_inputs = 1,
    .max_inputs = 1,
    .shard = "",
    .infer = tree_infer,
    .cost = dtg_cost_reduce,
    .accumulate = CG_ACCUMULATE_SUM,
    .form = DTG_REDUCE_TREE,
    .ref = tree_ref,
    DTG_SAMPLES(tree_samples),
};

uint32_t dtg_add_whole_sum(struct dtg_graph *graph, uint32_t x) {
  return dtg_add_unary(graph, "tree_sum", dtg_add_unary(graph, "block_sum", x));
}
