/* Matrix products. */
#include "compiler/ops/elementwise.h"

#include <inttypes.h>
#include <string.h>

/* C[m, n] = sum over k of op(A)[m, k] op(B)[k, n], for each index of the leading axes. */
struct product {
  int64_t m, n, k_left, k_right;
  struct dtg_shape batch_a, batch_b;
};

static struct product product_of(const struct dtg_type *a, const struct dtg_type *b,
                                 bool transpose_a, bool transpose_b) {
  const int64_t *tail_a = &a->shape.dims[a->shape.rank - 2];
  const int64_t *tail_b = &b->shape.dims[b->shape.rank - 2];
  return (struct product){
      .m = tail_a[transpose_a ? 1 : 0],
      .k_left = tail_a[transpose_a ? 0 : 1],
      .k_right = tail_b[transpose_b ? 1 : 0],
      .n = tail_b[transpose_b ? 0 : 1],
      .batch_a = dtg_shape_make(a->shape.rank - 2, a->shape.dims),
      .batch_b = dtg_shape_make(b->shape.rank - 2, b->shape.dims),
  };
}

static bool matmul_infer(const struct dtg_infer_call *call, struct dtg_type *out) {
  const struct dtg_type *a = &call->inputs[0], *b = &call->inputs[1];
  struct dtg_type type = {.dtype = DTG_F32};
  if (!dtg_check_dtype(call, 0, DTG_IN_F32) || !dtg_check_dtype(call, 1, DTG_IN_F32))
    return false;
  if (a->shape.rank < 2 || b->shape.rank < 2)
    return dtg_fail(call, "`matmul` needs operands of two axes at least, got %s and %s",
                    DTG_TYPE(a), DTG_TYPE(b));
  bool transpose_a = dtg_call_bool(call, "transpose_a", false);
  bool transpose_b = dtg_call_bool(call, "transpose_b", false);
  struct product p = product_of(a, b, transpose_a, transpose_b);
  if (p.k_left != p.k_right)
    return dtg_fail(call,
                    "`matmul` cannot multiply %s%s by %s%s: %" PRId64 " and %" PRId64 " differ",
                    DTG_TYPE(a), transpose_a ? " transposed" : "", DTG_TYPE(b),
                    transpose_b ? " transposed" : "", p.k_left, p.k_right);
  if (!dtg_shape_broadcast(&p.batch_a, &p.batch_b, &type.shape))
    return dtg_fail(call, "`matmul` cannot pair the leading axes of %s and %s", DTG_TYPE(a),
                    DTG_TYPE(b));
  type.shape.dims[type.shape.rank++] = p.m;
  type.shape.dims[type.shape.rank++] = p.n;
  *out = type;
  return true;
}

/* Number of the matrix that a broadcast batch index takes. */
static int64_t matrix_at(const struct dtg_shape *batch, const int64_t *index, uint32_t rank) {
  int64_t flat = 0;
  for (uint32_t i = 0; i < batch->rank; i++) {
    int64_t at = index[rank - batch->rank + i];
    flat = flat * batch->dims[i] + (batch->dims[i] == 1 ? 0 : at);
  }
  return flat;
}

static void matmul_ref(const struct dtg_ref_call *call) {
  bool transpose_a = dtg_node_bool(call->node, "transpose_a", false);
  bool transpose_b = dtg_node_bool(call->node, "transpose_b", false);
  struct product p =
      product_of(&call->inputs[0].type, &call->inputs[1].type, transpose_a, transpose_b);
  const struct dtg_shape *to = &call->out->type.shape;
  int64_t index[DTG_MAX_RANK], k = p.k_left;
  for (int64_t i = 0; i < dtg_shape_count(to); i++) {
    dtg_ref_coordinates(to, i, index);
    const double *a = call->inputs[0].data + matrix_at(&p.batch_a, index, to->rank - 2) * p.m * k;
    const double *b = call->inputs[1].data + matrix_at(&p.batch_b, index, to->rank - 2) * k * p.n;
    int64_t row = index[to->rank - 2], column = index[to->rank - 1];
    double total = 0;
    for (int64_t j = 0; j < k; j++)
      total += a[transpose_a ? j * p.m + row : row * k + j] *
               b[transpose_b ? column * k + j : j * p.n + column];
    call->out->data[i] = total;
  }
}

static uint32_t add_product(struct dtg_graph *graph, uint32_t a, uint32_t b, bool transpose_a,
                            bool transpose_b) {
  struct dtg_attr attrs[2];
  uint32_t count = 0;
  if (transpose_a)
    attrs[count++] = dtg_attr_bool("transpose_a", true);
  if (transpose_b)
    attrs[count++] = dtg_attr_bool("transpose_b", true);
  return dtg_add(graph, "matmul", (uint32_t[]){a, b}, 2, attrs, count);
}

/* All axes but the last as rows. */
static uint32_t as_rows(struct dtg_graph *graph, uint32_t x) {
  struct dtg_shape shape = dtg_graph_node(graph, x)->type.shape;
  int64_t width = shape.dims[shape.rank - 1];
  struct dtg_shape rows = {.rank = 2, .dims = {dtg_shape_count(&shape) / width, width}};
  return dtg_add_reshape(graph, x, &rows);
}

uint32_t dtg_add_matmul(struct dtg_graph *graph, uint32_t a, uint32_t b, bool transpose_a,
                        bool transpose_b) {
  struct dtg_type left = dtg_graph_node(graph, a)->type, right = dtg_graph_node(graph, b)->type;
  if (transpose_a || left.shape.rank == 2 || right.shape.rank != 2)
    return add_product(graph, a, b, transpose_a, transpose_b);
  struct dtg_shape shape = left.shape;
  shape.dims[shape.rank - 1] = right.shape.dims[transpose_b ? 0 : 1];
  return dtg_add_reshape(graph, add_product(graph, as_rows(graph, a), b, false, transpose_b),
                         &shape);
}

/* With C = op(A) op(B): d op(A) = G op(B)', d op(B) = op(A)' G; a transposed operand takes the
 * transposed product. Sums over the leading axes that were broadcast. */
static uint32_t grad_a(const struct dtg_grad_call *call, bool transpose_a, bool transpose_b) {
  uint32_t a = dtg_grad_input(call, 0), b = dtg_grad_input(call, 1), g = call->grad;
  struct dtg_shape shape = dtg_grad_type(call, a).shape;
  uint32_t full = transpose_a ? dtg_add_matmul(call->graph, b, g, transpose_b, true)
                              : dtg_add_matmul(call->graph, g, b, false, !transpose_b);
  return dtg_add_unbroadcast(call->graph, full, &shape);
}

static uint32_t grad_b(const struct dtg_grad_call *call, bool transpose_a, bool transpose_b) {
  uint32_t a = dtg_grad_input(call, 0), b = dtg_grad_input(call, 1), g = call->grad;
  struct dtg_shape shape = dtg_grad_type(call, b).shape;
  /* One matrix for all leading axes of A: they join the summed axis, in place of a sum of products.
   */
  if (shape.rank == 2 && !transpose_a) {
    a = as_rows(call->graph, a);
    g = as_rows(call->graph, g);
  }
  uint32_t full = transpose_b ? dtg_add_matmul(call->graph, g, a, true, transpose_a)
                              : dtg_add_matmul(call->graph, a, g, !transpose_a, false);
  return dtg_add_unbroadcast(call->graph, full, &shape);
}

static void matmul_grad(const struct dtg_grad_call *call) {
  const struct dtg_node *node = dtg_graph_node(call->graph, call->node);
  bool transpose_a = dtg_node_bool(node, "transpose_a", false);
  bool transpose_b = dtg_node_bool(node, "transpose_b", false);
  if (call->needed[0])
    call->grads[0] = grad_a(call, transpose_a, transpose_b);
  if (call->needed[1])
    call->grads[1] = grad_b(call, transpose_a, transpose_b);
}

static void matmul_cost(const struct dtg_node *node, const struct dtg_type *inputs, double *flops,
                        double *bytes) {
  struct product p = product_of(&inputs[0], &inputs[1], dtg_node_bool(node, "transpose_a", false),
                                dtg_node_bool(node, "transpose_b", false));
  dtg_cost_bytes(node, inputs, bytes);
  *flops = 2.0 * (double)p.k_left * (double)dtg_shape_count(&node->type.shape);
}

static const struct dtg_op_sample samples[] = {
    {"f32[3,4] f32[4,5]", "", -1, 1, 0},
    {"f32[7,1] f32[1,9]", "", -1, 1, 0},
    {"f32[1,13] f32[13,1]", "", -1, 1, 0},
    {"f32[37,65] f32[65,33]", "", -1, 1, 0},
    {"f32[4,3] f32[4,5]", "transpose_a=true", -1, 1, 0},
    {"f32[3,4] f32[5,4]", "transpose_b=true", -1, 1, 0},
    {"f32[4,3] f32[5,4]", "transpose_a=true transpose_b=true", -1, 1, 0},
    {"f32[2,3,4] f32[2,4,5]", "", -1, 1, 0},
    {"f32[2,5,7] f32[2,3,7]", "transpose_b=true", -1, 1, 0},
    {"f32[3,7,2] f32[3,7,5]", "transpose_a=true", -1, 1, 0},
    {"f32[2,1,3,4] f32[5,4,6]", "", -1, 1, 0},
    {"f32[2,3,4] f32[4,5]", "", -1, 1, 0},
    {"f32[2,4,3] f32[5,4]", "transpose_a=true transpose_b=true", -1, 1, 0},
    {"f32[3,4] f32[6,4,2]", "", -1, 1, 0},
};

const struct dtg_op_def dtg_row_matmul = {
    .name = "matmul",
    .doc = "Matrix product over the last two axes; leading axes broadcast.",
    .class = DTG_CLASS_LIBRARY,
    .min_inputs = 2,
    .max_inputs = 2,
    .attributes = "transpose_a:bool=false transpose_b:bool=false",
    .shard = "m k, k n -> m n",
    .infer = matmul_infer,
    .grad = matmul_grad,
    .cost = matmul_cost,
    .ref = matmul_ref,
    DTG_SAMPLES(samples),
};
