/* Ops that show the same elements in another order or shape. */
#include "compiler/ops/elementwise.h"

#include <inttypes.h>
#include <string.h>

static bool reshape_infer(const struct dtg_infer_call *call, struct dtg_type *out) {
  struct dtg_type type = {.dtype = call->inputs[0].dtype};
  int64_t count;
  if (!dtg_call_shape(call, "shape", &type.shape) || !dtg_check_shape(call, &type))
    return false;
  if (!dtg_shape_count_checked(&type.shape, &count) ||
      count != dtg_shape_count(&call->inputs[0].shape))
    return dtg_fail(call, "`reshape` cannot make %s of %s: the numbers of elements differ",
                    DTG_TYPE(&type), DTG_TYPE(&call->inputs[0]));
  *out = type;
  return true;
}

static void copy_ref(const struct dtg_ref_call *call) {
  size_t count = (size_t)dtg_shape_count(&call->out->type.shape);
  memcpy(call->out->data, call->inputs[0].data, count * sizeof *call->out->data);
}

static void reshape_grad(const struct dtg_grad_call *call) {
  struct dtg_shape shape = dtg_grad_type(call, dtg_grad_input(call, 0)).shape;
  if (call->needed[0])
    call->grads[0] = dtg_add_reshape(call->graph, call->grad, &shape);
}

/* The operand if the op keeps its shape. */
static uint32_t same_shape(const struct dtg_graph *graph, uint32_t node) {
  uint32_t x = dtg_input_of(graph, node, 0);
  bool same = dtg_shape_equal(&dtg_graph_node(graph, node)->type.shape,
                              &dtg_graph_node(graph, x)->type.shape);
  return same ? x : DTG_NO_NODE;
}

static uint32_t reshape_simplify(struct dtg_graph *graph, uint32_t node) {
  uint32_t x = dtg_input_of(graph, node, 0), inner = dtg_match1(graph, x, "reshape");
  struct dtg_shape shape = dtg_graph_node(graph, node)->type.shape;
  if (inner != DTG_NO_NODE)
    return dtg_add_reshape(graph, inner, &shape);
  return same_shape(graph, node);
}

static void view_cost(const struct dtg_node *node, const struct dtg_type *inputs, double *flops,
                      double *bytes) {
  (void)node;
  (void)inputs;
  *flops = *bytes = 0;
}

static const struct dtg_op_sample reshape_samples[] = {
    {"f32[2,3,5]", "shape=[30]", -3, 3, 0},
    {"f32[6,4]", "shape=[2, 3, 2, 2]", -3, 3, 0},
    {"f32[1,1]", "shape=[]", -3, 3, 0},
    {"i32[4]", "shape=[2, 2]", 0, 0, 9},
};

const struct dtg_op_def dtg_row_reshape = {
    .name = "reshape",
    .doc = "The same elements in row-major order under another shape.",
    .class = DTG_CLASS_VIEW,
    .min_inputs = 1,
    .max_inputs = 1,
    .attributes = "shape:ints",
    .shard = "",
    .infer = reshape_infer,
    .grad = reshape_grad,
    .simplify = reshape_simplify,
    .cost = view_cost,
    .ref = copy_ref,
    DTG_SAMPLES(reshape_samples),
};

static bool broadcast_infer(const struct dtg_infer_call *call, struct dtg_type *out) {
  struct dtg_type type = {.dtype = call->inputs[0].dtype};
  struct dtg_shape joined;
  if (!dtg_call_shape(call, "shape", &type.shape))
    return false;
  if (!dtg_shape_broadcast(&call->inputs[0].shape, &type.shape, &joined) ||
      !dtg_shape_equal(&joined, &type.shape))
    return dtg_fail(call, "`broadcast_to` cannot stretch %s to %s", DTG_TYPE(&call->inputs[0]),
                    DTG_TYPE(&type));
  *out = type;
  return true;
}

static void broadcast_ref(const struct dtg_ref_call *call) {
  const struct dtg_shape *to = &call->out->type.shape, *from = &call->inputs[0].type.shape;
  int64_t index[DTG_MAX_RANK], source[DTG_MAX_RANK];
  for (int64_t i = 0; i < dtg_shape_count(to); i++) {
    dtg_ref_coordinates(to, i, index);
    for (uint32_t axis = 0; axis < from->rank; axis++)
      source[axis] = from->dims[axis] == 1 ? 0 : index[to->rank - from->rank + axis];
    call->out->data[i] = call->inputs[0].data[dtg_ref_flat(from, source)];
  }
}

static void broadcast_grad(const struct dtg_grad_call *call) {
  struct dtg_shape shape = dtg_grad_type(call, dtg_grad_input(call, 0)).shape;
  if (call->needed[0])
    call->grads[0] = dtg_add_unbroadcast(call->graph, call->grad, &shape);
}

static uint32_t broadcast_simplify(struct dtg_graph *graph, uint32_t node) {
  uint32_t x = dtg_input_of(graph, node, 0), inner = dtg_match1(graph, x, "broadcast_to");
  struct dtg_shape shape = dtg_graph_node(graph, node)->type.shape;
  if (inner != DTG_NO_NODE)
    return dtg_add_broadcast(graph, inner, &shape);
  return same_shape(graph, node);
}

static const struct dtg_op_sample broadcast_samples[] = {
    {"f32[3]", "shape=[4, 3]", -3, 3, 0},   {"f32[2,1,3]", "shape=[2, 5, 3]", -3, 3, 0},
    {"f32[]", "shape=[3, 7]", -3, 3, 0},    {"f32[5,1]", "shape=[2, 5, 4]", -3, 3, 0},
    {"bool[1,3]", "shape=[4, 3]", 0, 0, 2},
};

const struct dtg_op_def dtg_row_broadcast_to = {
    .name = "broadcast_to",
    .doc = "Repeats axes of size 1 and missing leading axes, by NumPy's rules.",
    .class = DTG_CLASS_INDEX,
    .min_inputs = 1,
    .max_inputs = 1,
    .attributes = "shape:ints",
    .shard = "",
    .infer = broadcast_infer,
    .grad = broadcast_grad,
    .simplify = broadcast_simplify,
    .cost = dtg_cost_move,
    .ref = broadcast_ref,
    DTG_SAMPLES(broadcast_samples),
};

static bool transpose_infer(const struct dtg_infer_call *call, struct dtg_type *out) {
  const struct dtg_type *x = &call->inputs[0];
  const int64_t *perm;
  bool seen[DTG_MAX_RANK] = {false};
  struct dtg_type type = {.dtype = x->dtype, .shape.rank = x->shape.rank};
  if (dtg_call_ints(call, "perm", &perm) != x->shape.rank)
    return dtg_fail(call, "`transpose` needs a permutation of the %" PRIu32 " axes of %s",
                    x->shape.rank, DTG_TYPE(x));
  for (uint32_t i = 0; i < x->shape.rank; i++) {
    if (!dtg_check_axis(call, perm[i], x))
      return false;
    if (seen[perm[i]])
      return dtg_fail(call, "`transpose` has axis %" PRId64 " twice", perm[i]);
    seen[perm[i]] = true;
    type.shape.dims[i] = x->shape.dims[perm[i]];
  }
  *out = type;
  return true;
}

static void transpose_ref(const struct dtg_ref_call *call) {
  const struct dtg_shape *to = &call->out->type.shape;
  const int64_t *perm = NULL;
  int64_t index[DTG_MAX_RANK], source[DTG_MAX_RANK];
  dtg_node_ints(call->node, "perm", &perm);
  for (int64_t i = 0; i < dtg_shape_count(to); i++) {
    dtg_ref_coordinates(to, i, index);
    for (uint32_t axis = 0; axis < to->rank; axis++)
      source[perm[axis]] = index[axis];
    call->out->data[i] = call->inputs[0].data[dtg_ref_flat(&call->inputs[0].type.shape, source)];
  }
}

static uint32_t add_transpose(struct dtg_graph *graph, uint32_t x, uint32_t rank,
                              const int64_t *perm) {
  struct dtg_attr attr = dtg_attr_ints("perm", rank, perm);
  return dtg_add(graph, "transpose", &x, 1, &attr, 1);
}

static void transpose_grad(const struct dtg_grad_call *call) {
  const int64_t *perm = NULL;
  uint32_t rank = dtg_node_ints(dtg_graph_node(call->graph, call->node), "perm", &perm);
  int64_t inverse[DTG_MAX_RANK];
  for (uint32_t i = 0; i < rank; i++)
    inverse[perm[i]] = i;
  if (call->needed[0])
    call->grads[0] = add_transpose(call->graph, call->grad, rank, inverse);
}

static uint32_t transpose_simplify(struct dtg_graph *graph, uint32_t node) {
  const int64_t *perm = NULL, *before = NULL;
  uint32_t x = dtg_input_of(graph, node, 0), inner = dtg_match1(graph, x, "transpose");
  uint32_t rank = dtg_node_ints(dtg_graph_node(graph, node), "perm", &perm);
  int64_t both[DTG_MAX_RANK];
  bool identity = true;
  for (uint32_t i = 0; i < rank; i++)
    identity = identity && perm[i] == i;
  if (identity)
    return x;
  if (inner == DTG_NO_NODE)
    return DTG_NO_NODE;
  dtg_node_ints(dtg_graph_node(graph, x), "perm", &before);
  for (uint32_t i = 0; i < rank; i++)
    both[i] = before[perm[i]];
  return add_transpose(graph, inner, rank, both);
}

static const struct dtg_op_sample transpose_samples[] = {
    {"f32[3,5]", "perm=[1, 0]", -3, 3, 0},           {"f32[2,3,5]", "perm=[2, 0, 1]", -3, 3, 0},
    {"f32[2,1,3,4]", "perm=[0, 2, 1, 3]", -3, 3, 0}, {"f32[37,65]", "perm=[1, 0]", -3, 3, 0},
    {"u8[3,4]", "perm=[1, 0]", 0, 0, 256},
};

const struct dtg_op_def dtg_row_transpose = {
    .name = "transpose",
    .doc = "Axis i of the result is axis perm[i] of the operand.",
    .class = DTG_CLASS_INDEX,
    .min_inputs = 1,
    .max_inputs = 1,
    .attributes = "perm:ints",
    .shard = "",
    .infer = transpose_infer,
    .grad = transpose_grad,
    .simplify = transpose_simplify,
    .cost = dtg_cost_move,
    .ref = transpose_ref,
    DTG_SAMPLES(transpose_samples),
};

static bool reverse_infer(const struct dtg_infer_call *call, struct dtg_type *out) {
  if (!dtg_check_axes(call))
    return false;
  *out = call->inputs[0];
  return true;
}

static void reverse_ref(const struct dtg_ref_call *call) {
  const struct dtg_shape *shape = &call->out->type.shape;
  bool turned[DTG_MAX_RANK];
  int64_t index[DTG_MAX_RANK];
  dtg_axes_mask(call->node, turned);
  for (int64_t i = 0; i < dtg_shape_count(shape); i++) {
    dtg_ref_coordinates(shape, i, index);
    for (uint32_t axis = 0; axis < shape->rank; axis++)
      index[axis] = turned[axis] ? shape->dims[axis] - 1 - index[axis] : index[axis];
    call->out->data[i] = call->inputs[0].data[dtg_ref_flat(shape, index)];
  }
}

static void reverse_grad(const struct dtg_grad_call *call) {
  const struct dtg_attr *axes = dtg_node_attr(dtg_graph_node(call->graph, call->node), "axes");
  if (call->needed[0])
    call->grads[0] = dtg_add(call->graph, "reverse", &call->grad, 1, axes, 1);
}

static uint32_t reverse_simplify(struct dtg_graph *graph, uint32_t node) {
  const int64_t *axes = NULL, *before = NULL;
  uint32_t x = dtg_input_of(graph, node, 0), inner = dtg_match1(graph, x, "reverse");
  uint32_t count = dtg_node_ints(dtg_graph_node(graph, node), "axes", &axes);
  if (count == 0)
    return x;
  if (inner == DTG_NO_NODE || dtg_node_ints(dtg_graph_node(graph, x), "axes", &before) != count)
    return DTG_NO_NODE;
  return memcmp(axes, before, count * sizeof *axes) == 0 ? inner : DTG_NO_NODE;
}

static const struct dtg_op_sample reverse_samples[] = {
    {"f32[3,5]", "axes=[1]", -3, 3, 0},
    {"f32[2,3,4]", "axes=[0, 2]", -3, 3, 0},
    {"i32[9]", "axes=[0]", 0, 0, 9},
};

const struct dtg_op_def dtg_row_reverse = {
    .name = "reverse",
    .doc = "The elements in the opposite order along the axes.",
    .class = DTG_CLASS_INDEX,
    .min_inputs = 1,
    .max_inputs = 1,
    .attributes = "axes:ints",
    .shard = "",
    .infer = reverse_infer,
    .grad = reverse_grad,
    .simplify = reverse_simplify,
    .cost = dtg_cost_move,
    .ref = reverse_ref,
    DTG_SAMPLES(reverse_samples),
};
