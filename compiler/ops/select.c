/* Element-wise ops that pass values through: choice, conversion, barriers and checks. */
#include "compiler/ops/elementwise.h"

#include "dtr_abi.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

static bool where_infer(const struct dtg_infer_call *call, struct dtg_type *out) {
  const struct dtg_type *condition = &call->inputs[0], *x = &call->inputs[1];
  if (condition->dtype != DTG_BOOL)
    return dtg_fail(call, "`where` needs a bool condition, got %s", DTG_TYPE(condition));
  if (!dtg_check_same(call, 1))
    return false;
  if (!dtg_shape_equal(&condition->shape, &x->shape))
    return dtg_fail(call, "`where` needs one shape, got %s and %s", DTG_TYPE(condition),
                    DTG_TYPE(x));
  *out = *x;
  return true;
}

static void where_ref(const struct dtg_ref_call *call) {
  int64_t count = dtg_shape_count(&call->out->type.shape);
  for (int64_t i = 0; i < count; i++)
    call->out->data[i] = call->inputs[call->inputs[0].data[i] != 0 ? 1 : 2].data[i];
}

static uint32_t where_lower(const struct dtg_lower_call *call) {
  return cg_select(call->builder, call->values[0], call->values[1], call->values[2]);
}

static void where_grad(const struct dtg_grad_call *call) {
  struct dtg_graph *graph = call->graph;
  uint32_t condition = dtg_grad_input(call, 0), g = call->grad;
  if (!call->needed[1] && !call->needed[2])
    return;
  uint32_t zero = LIKE(g, 0);
  if (call->needed[1])
    call->grads[1] = dtg_add(graph, "where", (uint32_t[]){condition, g, zero}, 3, NULL, 0);
  if (call->needed[2])
    call->grads[2] = dtg_add(graph, "where", (uint32_t[]){condition, zero, g}, 3, NULL, 0);
}

static uint32_t where_simplify(struct dtg_graph *graph, uint32_t node) {
  uint32_t x = dtg_input_of(graph, node, 1), y = dtg_input_of(graph, node, 2);
  double condition;
  if (x == y)
    return x;
  if (!dtg_graph_splat(graph, dtg_input_of(graph, node, 0), &condition))
    return DTG_NO_NODE;
  return condition != 0 ? x : y;
}

static const struct dtg_op_sample where_samples[] = {
    {"bool[3,5] f32[3,5] f32[3,5]", "", -3, 3, 2},
    {"bool[131] f32[131] f32[131]", "", -3, 3, 2},
    {"bool[7] i32[7] i32[7]", "", 0, 0, 9},
    {"bool[7] bool[7] bool[7]", "", 0, 0, 2},
};

const struct dtg_op_def dtg_row_where = {
    .name = "where",
    .doc = "x where the condition holds, else y.",
    .class = DTG_CLASS_ELEMENTWISE,
    .min_inputs = 3,
    .max_inputs = 3,
    .shard = "elementwise",
    .infer = where_infer,
    .grad = where_grad,
    .simplify = where_simplify,
    .cost = dtg_cost_elementwise,
    .lower = where_lower,
    .ref = where_ref,
    DTG_SAMPLES(where_samples),
};

static bool cast_infer(const struct dtg_infer_call *call, struct dtg_type *out) {
  *out = call->inputs[0];
  out->dtype = dtg_attrs_find(call->attrs, call->attr_count, "dtype")->value.dtype;
  return true;
}

/* Float to integer truncates and saturates, NaN gives 0; integers wrap; to bool: is it not 0. */
static double cast_value(enum dtg_dtype from, enum dtg_dtype to, double x) {
  static const struct {
    double low, high;
  } range[DTG_DTYPE_COUNT] = {
      [DTG_I32] = {INT32_MIN, INT32_MAX}, [DTG_I64] = {-0x1p63, 0x1p63}, [DTG_U8] = {0, UINT8_MAX}};
  if (!dtg_dtype_is_float(from) || !dtg_dtype_is_integer(to))
    return dtg_ref_store(to, x);
  return isnan(x) ? 0 : fmin(fmax(trunc(x), range[to].low), range[to].high);
}

DTG_REF1(cast, cast_value(call->inputs[0].type.dtype, dtype, x))

static uint32_t cast_lower(const struct dtg_lower_call *call) {
  enum dtg_dtype from = call->input_types[0].dtype, to = call->node->type.dtype;
  if (from == to)
    return call->values[0];
  /* The kernel IR converts bf16 from and to f32 only. */
  if (to == DTG_BF16 && from != DTG_F32)
    return cg_cast(call->builder, cg_cast(call->builder, dtg_lower_widen(call, 0), DTG_F32), to);
  uint32_t x = from == DTG_BF16 ? dtg_lower_widen(call, 0) : call->values[0];
  return from == DTG_BF16 && to == DTG_F32 ? x : cg_cast(call->builder, x, to);
}

static void cast_grad(const struct dtg_grad_call *call) {
  enum dtg_dtype from = dtg_grad_type(call, dtg_grad_input(call, 0)).dtype;
  if (call->needed[0] && dtg_dtype_is_float(from))
    call->grads[0] = dtg_add_cast(call->graph, call->grad, from);
}

/* Does every value of `from` have its own value in `to`? */
static bool lossless(enum dtg_dtype from, enum dtg_dtype to) {
  static const uint32_t wider[DTG_DTYPE_COUNT] = {
      [DTG_BOOL] = 1 << DTG_U8 | 1 << DTG_I32 | 1 << DTG_I64 | DTG_IN_FLOAT,
      [DTG_U8] = 1 << DTG_I32 | 1 << DTG_I64 | DTG_IN_FLOAT,
      [DTG_I32] = 1 << DTG_I64 | 1 << DTG_F64,
      [DTG_BF16] = 1 << DTG_F32 | 1 << DTG_F64,
      [DTG_F32] = 1 << DTG_F64,
  };
  return wider[from] >> to & 1;
}

static uint32_t cast_simplify(struct dtg_graph *graph, uint32_t node) {
  uint32_t x = dtg_input_of(graph, node, 0);
  enum dtg_dtype to = dtg_graph_node(graph, node)->type.dtype;
  enum dtg_dtype middle = dtg_graph_node(graph, x)->type.dtype;
  if (middle == to)
    return x;
  uint32_t inner = dtg_match1(graph, x, "cast");
  if (inner == DTG_NO_NODE || !lossless(dtg_graph_node(graph, inner)->type.dtype, middle))
    return DTG_NO_NODE;
  return dtg_add_cast(graph, inner, to);
}

static const struct dtg_op_sample cast_samples[] = {
    {"u8[3,5]", "dtype=f32", 0, 0, 256},    {"u8[131]", "dtype=i32", 0, 0, 256},
    {"bool[17]", "dtype=f32", 0, 0, 2},     {"i32[17]", "dtype=i64", 0, 0, 1000},
    {"i64[17]", "dtype=f32", 0, 0, 1000},   {"i64[17]", "dtype=u8", 0, 0, 1000},
    {"f32[17]", "dtype=i32", -30, 30, 0},   {"f32[17]", "dtype=u8", -30, 300, 0},
    {"f32[17]", "dtype=f64", -3, 3, 0},     {"f32[17]", "dtype=bf16", -3, 3, 0},
    {"bf16[17]", "dtype=f32", -3, 3, 0},    {"f64[17]", "dtype=f32", -3, 3, 0},
    {"f32[17]", "dtype=i64", -5e9, 5e9, 0}, {"i32[17]", "dtype=bool", 0, 0, 3},
    {"f32[17]", "dtype=i32", -4e9, 4e9, 0}, {"u8[17]", "dtype=bf16", 0, 0, 256},
};

const struct dtg_op_def dtg_row_cast = {
    .name = "cast",
    .doc = "Another element type: float to integer truncates and saturates, integers wrap, to bool "
           "asks whether it is not 0.",
    .class = DTG_CLASS_ELEMENTWISE,
    .min_inputs = 1,
    .max_inputs = 1,
    .attributes = "dtype:dtype",
    .shard = "elementwise",
    .infer = cast_infer,
    .grad = cast_grad,
    .simplify = cast_simplify,
    .cost = dtg_cost_elementwise,
    .lower = cast_lower,
    .ref = cast_ref,
    DTG_SAMPLES(cast_samples),
};

static bool same_infer(const struct dtg_infer_call *call, struct dtg_type *out) {
  *out = call->inputs[0];
  return true;
}

static uint32_t stop_gradient_lower(const struct dtg_lower_call *call) {
  return call->values[0];
}

DTG_REF1(stop_gradient, x)

static const struct dtg_op_sample stop_samples[] = {{"f32[3,5]", "", -3, 3, 0}};

/* No `simplify`: a pass may run before the gradient. */
const struct dtg_op_def dtg_row_stop_gradient = {
    .name = "stop_gradient",
    .doc = "x, through which no gradient flows.",
    .class = DTG_CLASS_ELEMENTWISE,
    .flags = DTG_OP_ZERO_GRAD,
    .min_inputs = 1,
    .max_inputs = 1,
    .shard = "elementwise",
    .infer = same_infer,
    .cost = dtg_cost_elementwise,
    .lower = stop_gradient_lower,
    .ref = stop_gradient_ref,
    DTG_SAMPLES(stop_samples),
};

static bool check_range_infer(const struct dtg_infer_call *call, struct dtg_type *out) {
  int64_t limit = dtg_call_int(call, "limit", 0);
  if (!dtg_check_dtype(call, 0, DTG_IN_INTEGER))
    return false;
  if (limit < 1)
    return dtg_fail(call, "`check_range` needs a limit of at least 1, got %" PRId64, limit);
  *out = call->inputs[0];
  return true;
}

/* What is out of range becomes 0: the kernel runs on to its end before the fault is seen, and the
 * value may be an address. */
static void check_range_ref(const struct dtg_ref_call *call) {
  double limit = (double)dtg_node_int(call->node, "limit", 0);
  int64_t count = dtg_shape_count(&call->out->type.shape);
  for (int64_t i = 0; i < count; i++) {
    double x = call->inputs[0].data[i];
    call->out->data[i] = x >= 0 && x < limit ? x : 0;
  }
}

/* Row-major number of the element. */
static uint32_t flat_position(const struct dtg_lower_call *call) {
  const struct dtg_shape *shape = &call->node->type.shape;
  struct cg_builder *b = call->builder;
  uint32_t position = cg_const_i(b, DTG_I64, 0);
  for (uint32_t i = 0; i < shape->rank; i++) {
    uint32_t dim = cg_const_i(b, DTG_I64, shape->dims[i]);
    position = cg_binary(b, CG_ADD, cg_binary(b, CG_MUL, position, dim), call->index[i]);
  }
  return position;
}

static uint32_t check_range_lower(const struct dtg_lower_call *call) {
  struct cg_builder *b = call->builder;
  enum dtg_dtype dtype = call->node->type.dtype;
  uint32_t x = call->values[0];
  uint32_t wide = dtype == DTG_I64 ? x : cg_cast(b, x, DTG_I64);
  uint32_t limit = cg_const_i(b, DTG_I64, dtg_node_int(call->node, "limit", 0));
  uint32_t inside = cg_binary(b, CG_AND, cg_binary(b, CG_GE, wide, cg_const_i(b, DTG_I64, 0)),
                              cg_binary(b, CG_LT, wide, limit));
  cg_check(b, inside, flat_position(call), wide,
           DTR_FAULT_RANGE + DTR_FAULT_STEP * (int)call->check);
  return cg_select(b, inside, x, cg_const_i(b, dtype, 0));
}

/* A check that every value of the type passes. */
static uint32_t check_range_simplify(struct dtg_graph *graph, uint32_t node) {
  const struct dtg_node *check = dtg_graph_node(graph, node);
  bool always = check->type.dtype == DTG_U8 && dtg_node_int(check, "limit", 0) > UINT8_MAX;
  return always ? check->inputs[0] : DTG_NO_NODE;
}

static const struct dtg_op_sample range_samples[] = {
    {"i32[3,5]", "limit=10 what=\"label\"", 0, 0, 10},
    {"u8[131]", "limit=10 what=\"label\"", 0, 0, 10},
    {"i64[7]", "limit=1000 what=\"id\"", 0, 0, 1000},
};

const struct dtg_op_def dtg_row_check_range = {
    .name = "check_range",
    .doc = "Integers, each of which must be at least 0 and below the limit, else the run stops.",
    .class = DTG_CLASS_ELEMENTWISE,
    .flags = DTG_OP_CHECKS | DTG_OP_ZERO_GRAD | DTG_OP_INDEXED,
    .min_inputs = 1,
    .max_inputs = 1,
    .attributes = "limit:int what:string=index",
    .shard = "elementwise",
    .infer = check_range_infer,
    .simplify = check_range_simplify,
    .cost = dtg_cost_elementwise,
    .lower = check_range_lower,
    .ref = check_range_ref,
    DTG_SAMPLES(range_samples),
};
