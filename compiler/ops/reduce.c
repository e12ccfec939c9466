/* Reductions over axes. */
#include "compiler/ops/elementwise.h"

#include <math.h>
#include <string.h>

static void drop_axes(struct dtg_shape *shape, const bool dropped[DTG_MAX_RANK], bool keepdims) {
  struct dtg_shape result = {0};
  for (uint32_t i = 0; i < shape->rank; i++) {
    if (!dropped[i])
      result.dims[result.rank++] = shape->dims[i];
    else if (keepdims)
      result.dims[result.rank++] = 1;
  }
  *shape = result;
}

static bool reduce_infer(const struct dtg_infer_call *call, struct dtg_type *out) {
  bool dropped[DTG_MAX_RANK] = {false};
  const int64_t *axes;
  struct dtg_type type = call->inputs[0];
  if (!dtg_check_dtype(call, 0, DTG_IN_WIDE) || !dtg_check_axes(call))
    return false;
  uint32_t count = dtg_call_ints(call, "axes", &axes);
  for (uint32_t i = 0; i < count; i++)
    dropped[axes[i]] = true;
  drop_axes(&type.shape, dropped, dtg_call_bool(call, "keepdims", false));
  *out = type;
  return true;
}

static double combine(enum cg_accumulate kind, double total, double x) {
  switch (kind) {
  case CG_ACCUMULATE_PROD:
    return total * x;
  case CG_ACCUMULATE_MAX:
    return isnan(total) || total > x ? total : x;
  case CG_ACCUMULATE_MIN:
    return isnan(total) || total < x ? total : x;
  default:
    return total + x;
  }
}

/* Elements in row-major order; the first one starts the accumulator. */
static void reduce_ref(const struct dtg_ref_call *call) {
  const struct dtg_shape *from = &call->inputs[0].type.shape;
  enum cg_accumulate kind = call->node->op->accumulate;
  struct dtg_shape kept = *from;
  bool dropped[DTG_MAX_RANK];
  int64_t index[DTG_MAX_RANK];
  dtg_axes_mask(call->node, dropped);
  for (uint32_t i = 0; i < from->rank; i++)
    kept.dims[i] = dropped[i] ? 1 : kept.dims[i];
  for (int64_t i = 0; i < dtg_shape_count(from); i++) {
    bool first = true;
    dtg_ref_coordinates(from, i, index);
    for (uint32_t axis = 0; axis < from->rank; axis++) {
      first = first && (!dropped[axis] || index[axis] == 0);
      index[axis] = dropped[axis] ? 0 : index[axis];
    }
    double *total = &call->out->data[dtg_ref_flat(&kept, index)], x = call->inputs[0].data[i];
    *total = dtg_ref_store(call->out->type.dtype, first ? x : combine(kind, *total, x));
  }
}

/* The shape of the operand with 1 for each reduced axis. */
static struct dtg_shape kept_shape(const struct dtg_grad_call *call) {
  struct dtg_shape shape = dtg_grad_type(call, dtg_grad_input(call, 0)).shape;
  bool dropped[DTG_MAX_RANK];
  dtg_axes_mask(dtg_graph_node(call->graph, call->node), dropped);
  drop_axes(&shape, dropped, true);
  return shape;
}

/* Back to the shape of the operand. */
static uint32_t expand(const struct dtg_grad_call *call, uint32_t x) {
  struct dtg_shape kept = kept_shape(call);
  struct dtg_shape full = dtg_grad_type(call, dtg_grad_input(call, 0)).shape;
  return dtg_add_broadcast(call->graph, dtg_add_reshape(call->graph, x, &kept), &full);
}

/* The same reduction as the node's, but a sum of another tensor. */
static uint32_t sum_like(const struct dtg_grad_call *call, uint32_t x) {
  const int64_t *axes = NULL;
  uint32_t count = dtg_node_ints(dtg_graph_node(call->graph, call->node), "axes", &axes);
  return dtg_add_reduce(call->graph, "sum", x, count, axes, true);
}

/* A reduction over axes of size 1 moves nothing. */
static uint32_t reduce_simplify(struct dtg_graph *graph, uint32_t node) {
  uint32_t x = dtg_input_of(graph, node, 0);
  struct dtg_shape shape = dtg_graph_node(graph, node)->type.shape;
  if (dtg_shape_count(&shape) != dtg_shape_count(&dtg_graph_node(graph, x)->type.shape))
    return DTG_NO_NODE;
  return dtg_add_reshape(graph, x, &shape);
}

#define ROW(name_, kind_, doc_, samples_)                                                   \
  const struct dtg_op_def dtg_row_##name_ = {.name = #name_,                                \
                                             .doc = doc_,                                   \
                                             .class = DTG_CLASS_REDUCE,                     \
                                             .min_inputs = 1,                               \
                                             .max_inputs = 1,                               \
                                             .attributes = "axes:ints keepdims:bool=false", \
                                             .shard = "",                                   \
                                             .infer = reduce_infer,                         \
                                             .grad = name_##_grad,                          \
                                             .simplify = reduce_simplify,                   \
                                             .cost = dtg_cost_reduce,                       \
                                             .accumulate = kind_,                           \
                                             .ref = reduce_ref,                             \
                                             DTG_SAMPLES(samples_)}

static const struct dtg_op_sample samples[] = {
    {"f32[3,5]", "axes=[0, 1]", -3, 3, 0}, {"f32[3,1,5]", "axes=[0, 1, 2] keepdims=true", -3, 3, 0},
    {"f32[4,7]", "axes=[1]", -3, 3, 0},    {"f32[5,3]", "axes=[0] keepdims=true", -3, 3, 0},
    {"f32[2,5,3]", "axes=[1]", -3, 3, 0},  {"f32[2,5,3]", "axes=[0, 2] keepdims=true", -3, 3, 0},
    {"f32[3,133]", "axes=[1]", -3, 3, 0},  {"f32[4,1,3]", "axes=[1]", -3, 3, 0},
    {"f64[4,3]", "axes=[1]", -3, 3, 0},    {"i32[4,9]", "axes=[1]", 0, 0, 4},
    {"i64[4,9]", "axes=[0]", 0, 0, 4},
};
static const struct dtg_op_sample prod_samples[] = {
    {"f32[3,5]", "axes=[0, 1]", -1.5, 1.5, 0},
    {"f32[2,5,3]", "axes=[1]", -1.5, 1.5, 0},
    {"f32[2,5,3]", "axes=[0, 2] keepdims=true", -1.5, 1.5, 0},
    {"i32[4,9]", "axes=[1]", 0, 0, 4},
};

static void sum_grad(const struct dtg_grad_call *call) {
  if (call->needed[0])
    call->grads[0] = expand(call, call->grad);
}

ROW(sum, CG_ACCUMULATE_SUM, "The sum over the axes.", samples);

/* Elements that reach the extreme share its gradient in equal parts. */
static void extreme_grad(const struct dtg_grad_call *call) {
  struct dtg_graph *graph = call->graph;
  uint32_t x = dtg_grad_input(call, 0);
  struct dtg_shape kept = kept_shape(call);
  if (!call->needed[0])
    return;
  enum dtg_dtype dtype = dtg_grad_type(call, x).dtype;
  uint32_t hit = dtg_add_binary(graph, "eq", x, expand(call, call->node));
  uint32_t hits = sum_like(call, dtg_add_cast(graph, hit, dtype));
  uint32_t share = expand(call, DIV(dtg_add_reshape(graph, call->grad, &kept), hits));
  call->grads[0] = dtg_add(graph, "where", (uint32_t[]){hit, share, LIKE(share, 0)}, 3, NULL, 0);
}

#define max_grad extreme_grad
#define min_grad extreme_grad
ROW(max, CG_ACCUMULATE_MAX, "The largest element along the axes; NaN if one is.", samples);
ROW(min, CG_ACCUMULATE_MIN, "The smallest element along the axes; NaN if one is.", samples);

/* The product of the others: with p the product of the elements that are not 0 and z the number of
 * zeros, it is p / x where z = 0, and p at the only zero where z = 1. */
static void prod_grad(const struct dtg_grad_call *call) {
  struct dtg_graph *graph = call->graph;
  uint32_t x = dtg_grad_input(call, 0);
  const int64_t *axes = NULL;
  if (!call->needed[0])
    return;
  uint32_t count = dtg_node_ints(dtg_graph_node(graph, call->node), "axes", &axes);
  uint32_t is_zero = dtg_add_binary(graph, "eq", x, LIKE(x, 0));
  uint32_t safe = dtg_add(graph, "where", (uint32_t[]){is_zero, LIKE(x, 1), x}, 3, NULL, 0);
  uint32_t zeros =
      expand(call, sum_like(call, dtg_add_cast(graph, is_zero, dtg_grad_type(call, x).dtype)));
  uint32_t product = expand(call, dtg_add_reduce(graph, "prod", safe, count, axes, true));
  uint32_t none = dtg_add_binary(graph, "eq", zeros, LIKE(zeros, 0));
  uint32_t one = dtg_add_binary(graph, "eq", zeros, LIKE(zeros, 1));
  uint32_t counts = dtg_add_binary(graph, "or", none, dtg_add_binary(graph, "and", one, is_zero));
  uint32_t others =
      dtg_add(graph, "where", (uint32_t[]){counts, DIV(product, safe), LIKE(x, 0)}, 3, NULL, 0);
  call->grads[0] = MUL(expand(call, call->grad), others);
}

ROW(prod, CG_ACCUMULATE_PROD, "The product over the axes.", prod_samples);

static bool index_infer(const struct dtg_infer_call *call, struct dtg_type *out) {
  int64_t axis = dtg_call_int(call, "axis", 0);
  bool dropped[DTG_MAX_RANK] = {false};
  struct dtg_type type = {.dtype = DTG_I64, .shape = call->inputs[0].shape};
  if (!dtg_check_dtype(call, 0, DTG_IN_WIDE) || !dtg_check_axis(call, axis, &call->inputs[0]))
    return false;
  dropped[axis] = true;
  drop_axes(&type.shape, dropped, dtg_call_bool(call, "keepdims", false));
  *out = type;
  return true;
}

/* The first NaN wins, then the first extreme element. */
static bool beats(enum cg_accumulate kind, double x, double best) {
  if (isnan(best))
    return false;
  return isnan(x) || (kind == CG_ACCUMULATE_ARGMAX ? x > best : x < best);
}

static void index_ref(const struct dtg_ref_call *call) {
  const struct dtg_shape *from = &call->inputs[0].type.shape;
  int64_t axis = dtg_node_int(call->node, "axis", 0), strides[DTG_MAX_RANK];
  dtg_shape_strides(from, strides);
  int64_t stride = strides[axis], extent = from->dims[axis];
  for (int64_t i = 0; i < dtg_shape_count(&call->out->type.shape); i++) {
    const double *x = &call->inputs[0].data[i / stride * stride * extent + i % stride];
    int64_t best = 0;
    for (int64_t j = 1; j < extent; j++) {
      if (beats(call->node->op->accumulate, x[j * stride], x[best * stride]))
        best = j;
    }
    call->out->data[i] = (double)best;
  }
}

#define INDEX_ROW(name_, kind_, doc_)                                                      \
  const struct dtg_op_def dtg_row_##name_ = {.name = #name_,                               \
                                             .doc = doc_,                                  \
                                             .class = DTG_CLASS_REDUCE,                    \
                                             .flags = DTG_OP_ZERO_GRAD,                    \
                                             .min_inputs = 1,                              \
                                             .max_inputs = 1,                              \
                                             .attributes = "axis:int keepdims:bool=false", \
                                             .shard = "",                                  \
                                             .infer = index_infer,                         \
                                             .cost = dtg_cost_reduce,                      \
                                             .accumulate = kind_,                          \
                                             .ref = index_ref,                             \
                                             DTG_SAMPLES(index_samples)}

static const struct dtg_op_sample index_samples[] = {
    {"f32[3,7]", "axis=1", -3, 3, 0}, {"f32[2,5,3]", "axis=1 keepdims=true", -3, 3, 0},
    {"f32[6,1]", "axis=0", -3, 3, 0}, {"f32[2,133]", "axis=1", -3, 3, 0},
    {"i32[5,9]", "axis=1", 0, 0, 3},
};

INDEX_ROW(argmax, CG_ACCUMULATE_ARGMAX, "Where the largest element stands: the first of equals.");
INDEX_ROW(argmin, CG_ACCUMULATE_ARGMIN, "Where the smallest element stands: the first of equals.");
