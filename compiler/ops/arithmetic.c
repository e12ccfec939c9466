/* Element-wise arithmetic of two operands. */
#include "compiler/ops/elementwise.h"

#include <math.h>

static bool is_float(const struct dtg_lower_call *call) {
  return dtg_dtype_is_float(call->node->type.dtype);
}

static bool node_is_float(const struct dtg_graph *graph, uint32_t id) {
  return dtg_dtype_is_float(dtg_graph_node(graph, id)->type.dtype);
}

static const struct dtg_op_sample samples[] = {
    {"f32[3,5] f32[3,5]", "", -3, 3, 0},   {"f32[] f32[]", "", -3, 3, 0},
    {"f32[131] f32[131]", "", -3, 3, 0},   {"i32[7] i32[7]", "", 0, 0, 50},
    {"i64[2,3] i64[2,3]", "", 0, 0, 1000}, {"u8[9] u8[9]", "", 0, 0, 256},
    {"f64[4] f64[4]", "", -3, 3, 0},       {"bf16[4] bf16[4]", "", -3, 3, 0},
};

DTG_REF2(add, x + y)
DTG_LOWER2(add, cg_binary(b, CG_ADD, x, y))
DTG_GRAD2(add, g, g)

/* x + 0.0 turns -0.0 into 0.0, x + -0.0 does not; integers have one zero. */
static bool is_neutral_zero(const struct dtg_graph *graph, uint32_t id) {
  return dtg_is_splat(graph, id, -0.0) ||
         (!node_is_float(graph, id) && dtg_is_splat(graph, id, 0.0));
}

static uint32_t add_simplify(struct dtg_graph *graph, uint32_t node) {
  uint32_t x = dtg_input_of(graph, node, 0), y = dtg_input_of(graph, node, 1);
  if (is_neutral_zero(graph, y))
    return x;
  return is_neutral_zero(graph, x) ? y : DTG_NO_NODE;
}

const struct dtg_op_def dtg_row_add = {
    .name = "add",
    .doc = "x + y; integers wrap.",
    .class = DTG_CLASS_ELEMENTWISE,
    .flags = DTG_OP_COMMUTES | DTG_OP_KEEP_LEFT | DTG_OP_KEEP_RIGHT,
    .min_inputs = 2,
    .max_inputs = 2,
    .shard = "elementwise",
    .infer = dtg_infer_number2,
    .grad = add_grad,
    .simplify = add_simplify,
    .cost = dtg_cost_elementwise,
    .lower = add_lower,
    .ref = add_ref,
    DTG_SAMPLES(samples),
};

DTG_REF2(sub, x - y)
DTG_LOWER2(sub, cg_binary(b, CG_SUB, x, y))
DTG_GRAD2(sub, g, NEG(g))

static uint32_t sub_simplify(struct dtg_graph *graph, uint32_t node) {
  uint32_t y = dtg_input_of(graph, node, 1);
  return dtg_is_splat(graph, y, 0.0) ? dtg_input_of(graph, node, 0) : DTG_NO_NODE;
}

const struct dtg_op_def dtg_row_sub = {
    .name = "sub",
    .doc = "x - y; integers wrap.",
    .class = DTG_CLASS_ELEMENTWISE,
    .flags = DTG_OP_KEEP_LEFT,
    .min_inputs = 2,
    .max_inputs = 2,
    .shard = "elementwise",
    .infer = dtg_infer_number2,
    .grad = sub_grad,
    .simplify = sub_simplify,
    .cost = dtg_cost_elementwise,
    .lower = sub_lower,
    .ref = sub_ref,
    DTG_SAMPLES(samples),
};

DTG_REF2(mul, x *y)
DTG_LOWER2(mul, cg_binary(b, CG_MUL, x, y))
DTG_GRAD2(mul, MUL(g, y), MUL(g, x))

static uint32_t mul_simplify(struct dtg_graph *graph, uint32_t node) {
  for (uint32_t i = 0; i < 2; i++) {
    uint32_t constant = dtg_input_of(graph, node, i);
    uint32_t other = dtg_input_of(graph, node, 1 - i);
    if (dtg_is_splat(graph, constant, 1))
      return other;
    if (dtg_is_splat(graph, constant, -1))
      return dtg_add_unary(graph, "neg", other);
  }
  return DTG_NO_NODE;
}

const struct dtg_op_def dtg_row_mul = {
    .name = "mul",
    .doc = "x * y; integers wrap.",
    .class = DTG_CLASS_ELEMENTWISE,
    .flags = DTG_OP_COMMUTES | DTG_OP_ZERO_LEFT | DTG_OP_ZERO_RIGHT,
    .min_inputs = 2,
    .max_inputs = 2,
    .shard = "elementwise",
    .infer = dtg_infer_number2,
    .grad = mul_grad,
    .simplify = mul_simplify,
    .cost = dtg_cost_elementwise,
    .lower = mul_lower,
    .ref = mul_ref,
    DTG_SAMPLES(samples),
};

/* Integer division by 0 gives 0: the hardware would trap on it, and on the least integer over -1.
 */
static uint32_t integer_quotient(const struct dtg_lower_call *call, uint32_t x, uint32_t y) {
  struct cg_builder *b = call->builder;
  uint32_t zero = dtg_lower_const(call, 0), one = dtg_lower_const(call, 1);
  uint32_t is_zero = cg_binary(b, CG_EQ, y, zero);
  uint32_t is_minus = cg_binary(b, CG_EQ, y, dtg_lower_const(call, -1));
  uint32_t safe = cg_select(b, cg_binary(b, CG_OR, is_zero, is_minus), one, y);
  uint32_t quotient = cg_select(b, is_zero, zero, cg_binary(b, CG_DIV, x, safe));
  return cg_select(b, is_minus, cg_binary(b, CG_SUB, zero, x), quotient);
}

static double quotient_ref(enum dtg_dtype dtype, double x, double y) {
  if (dtg_dtype_is_float(dtype))
    return x / y;
  return y == 0 ? 0 : trunc(x / y);
}

DTG_REF2(div, quotient_ref(dtype, x, y))
DTG_LOWER2(div, is_float(call) ? cg_binary(b, CG_DIV, x, y) : integer_quotient(call, x, y))

static void div_grad(const struct dtg_grad_call *call) {
  struct dtg_graph *graph = call->graph;
  uint32_t y = dtg_grad_input(call, 1), dx = DIV(call->grad, y);
  if (call->needed[0])
    call->grads[0] = dx;
  if (call->needed[1])
    call->grads[1] = NEG(MUL(dx, call->node));
}

/* The reciprocal of a power of two is exact, and so both products are rounded from one real number.
 */
static bool exact_reciprocal(enum dtg_dtype dtype, double value) {
  int exponent;
  int limit = dtype == DTG_F64 ? 1000 : 120;
  return fabs(frexp(value, &exponent)) == 0.5 && exponent > -limit && exponent < limit;
}

static uint32_t div_simplify(struct dtg_graph *graph, uint32_t node) {
  uint32_t x = dtg_input_of(graph, node, 0), y = dtg_input_of(graph, node, 1);
  double value;
  if (!dtg_graph_splat(graph, y, &value))
    return DTG_NO_NODE;
  if (value == 1)
    return x;
  struct dtg_type type = dtg_graph_node(graph, y)->type;
  if (!dtg_dtype_is_float(type.dtype) || !exact_reciprocal(type.dtype, value))
    return DTG_NO_NODE;
  return MUL(x, LIKE(y, 1 / value));
}

static const struct dtg_op_sample div_samples[] = {
    {"f32[3,5] f32[3,5]", "", 0.5, 3, 0}, {"f32[131] f32[131]", "", -3, -0.5, 0},
    {"i32[37] i32[37]", "", 0, 0, 9},     {"i64[2,3] i64[2,3]", "", 0, 0, 9},
    {"u8[64] u8[64]", "", 0, 0, 256},     {"f64[4] f64[4]", "", 0.5, 3, 0},
};

const struct dtg_op_def dtg_row_div = {
    .name = "div",
    .doc = "x / y; integers: towards zero, and 0 where y is 0.",
    .class = DTG_CLASS_ELEMENTWISE,
    .flags = DTG_OP_ZERO_LEFT,
    .min_inputs = 2,
    .max_inputs = 2,
    .shard = "elementwise",
    .infer = dtg_infer_number2,
    .grad = div_grad,
    .simplify = div_simplify,
    .cost = dtg_cost_elementwise,
    .lower = div_lower,
    .ref = div_ref,
    DTG_SAMPLES(div_samples),
};

/* As in Python: the result has the sign of y. */
static double mod_value(enum dtg_dtype dtype, double x, double y) {
  if (y == 0 && !dtg_dtype_is_float(dtype))
    return 0;
  double rest = fmod(x, y);
  return rest != 0 && (rest < 0) != (y < 0) ? rest + y : rest;
}

static uint32_t mod_value_lower(const struct dtg_lower_call *call, uint32_t x, uint32_t y) {
  struct cg_builder *b = call->builder;
  uint32_t zero = dtg_lower_const(call, 0);
  uint32_t rest = is_float(call) ? cg_binary(b, CG_REM, x, y)
                                 : cg_binary(b, CG_SUB, x,
                                             cg_binary(b, CG_MUL, integer_quotient(call, x, y), y));
  uint32_t differs =
      cg_binary(b, CG_XOR, cg_binary(b, CG_LT, rest, zero), cg_binary(b, CG_LT, y, zero));
  uint32_t moved = cg_binary(b, CG_AND, cg_binary(b, CG_NE, rest, zero), differs);
  uint32_t result = cg_select(b, moved, cg_binary(b, CG_ADD, rest, y), rest);
  if (is_float(call))
    return result;
  return cg_select(b, cg_binary(b, CG_EQ, y, zero), zero, result);
}

DTG_REF2(mod, mod_value(dtype, x, y))
DTG_LOWER2(mod, mod_value_lower(call, x, y))
DTG_GRAD2(mod, g, NEG(MUL(g, UNARY("floor", DIV(x, y)))))

static const struct dtg_op_sample mod_samples[] = {
    {"f32[3,5] f32[3,5]", "", 2, 3.9, 0}, {"i32[37] i32[37]", "", 0, 0, 9},
    {"i64[2,3] i64[2,3]", "", 0, 0, 9},   {"u8[64] u8[64]", "", 0, 0, 256},
    {"f32[7] f32[7]", "", -3.9, -2, 0},
};

const struct dtg_op_def dtg_row_mod = {
    .name = "mod",
    .doc = "Remainder with the sign of y, as in Python; integers: 0 where y is 0.",
    .class = DTG_CLASS_ELEMENTWISE,
    .min_inputs = 2,
    .max_inputs = 2,
    .shard = "elementwise",
    .infer = dtg_infer_number2,
    .grad = mod_grad,
    .cost = dtg_cost_elementwise,
    .lower = mod_lower,
    .ref = mod_ref,
    DTG_SAMPLES(mod_samples),
};

DTG_REF2(pow, pow(x, y))
DTG_LOWER2(pow, cg_binary(b, CG_POW, x, y))

/* d x^y / dx = y x^(y-1), and 0 where y is 0, also at x = 0.
 * d x^y / dy = x^y log x, and 0 where x is 0: the limit for y > 0. */
static void pow_grad(const struct dtg_grad_call *call) {
  struct dtg_graph *graph = call->graph;
  uint32_t x = dtg_grad_input(call, 0), y = dtg_grad_input(call, 1), g = call->grad;
  if (call->needed[0]) {
    uint32_t slope = MUL(y, dtg_add_binary(graph, "pow", x, SUB(y, LIKE(y, 1))));
    uint32_t flat = dtg_add_binary(graph, "eq", y, LIKE(y, 0));
    uint32_t safe = dtg_add(graph, "where", (uint32_t[]){flat, LIKE(y, 0), slope}, 3, NULL, 0);
    call->grads[0] = MUL(g, safe);
  }
  if (call->needed[1]) {
    uint32_t zero = dtg_add_binary(graph, "eq", x, LIKE(x, 0));
    uint32_t base = dtg_add(graph, "where", (uint32_t[]){zero, LIKE(x, 1), x}, 3, NULL, 0);
    call->grads[1] = MUL(g, MUL(call->node, UNARY("log", base)));
  }
}

static uint32_t pow_simplify(struct dtg_graph *graph, uint32_t node) {
  return dtg_is_splat(graph, dtg_input_of(graph, node, 1), 1) ? dtg_input_of(graph, node, 0)
                                                              : DTG_NO_NODE;
}

static const struct dtg_op_sample pow_samples[] = {
    {"f32[3,5] f32[3,5]", "", 0.3, 2.5, 0},
    {"f32[131] f32[131]", "", 0.3, 2.5, 0},
    {"f64[4] f64[4]", "", 0.3, 2.5, 0},
};

const struct dtg_op_def dtg_row_pow = {
    .name = "pow",
    .doc = "x to the power y.",
    .class = DTG_CLASS_ELEMENTWISE,
    .min_inputs = 2,
    .max_inputs = 2,
    .shard = "elementwise",
    .infer = dtg_infer_float2,
    .grad = pow_grad,
    .simplify = pow_simplify,
    .cost = dtg_cost_math,
    .lower = pow_lower,
    .ref = pow_ref,
    DTG_SAMPLES(pow_samples),
};

/* The operand that wins gets the gradient; in a tie each gets half. */
static uint32_t winner_grad(struct dtg_graph *graph, const char *wins, uint32_t g, uint32_t x,
                            uint32_t y) {
  uint32_t tie = dtg_add_binary(graph, "eq", x, y), won = dtg_add_binary(graph, wins, x, y);
  uint32_t half = dtg_add(graph, "where", (uint32_t[]){tie, SCALE(g, 0.5), LIKE(g, 0)}, 3, NULL, 0);
  return dtg_add(graph, "where", (uint32_t[]){won, g, half}, 3, NULL, 0);
}

static uint32_t same_operands(struct dtg_graph *graph, uint32_t node) {
  uint32_t x = dtg_input_of(graph, node, 0);
  return x == dtg_input_of(graph, node, 1) ? x : DTG_NO_NODE;
}

DTG_REF2(maximum, isnan(x) ? x : isnan(y) ? y : fmax(x, y))
DTG_LOWER2(maximum, cg_binary(b, CG_MAX, x, y))
DTG_GRAD2(maximum, winner_grad(graph, "gt", g, x, y), winner_grad(graph, "gt", g, y, x))

const struct dtg_op_def dtg_row_maximum = {
    .name = "maximum",
    .doc = "The larger of x and y; NaN if one of them is.",
    .class = DTG_CLASS_ELEMENTWISE,
    .flags = DTG_OP_COMMUTES,
    .min_inputs = 2,
    .max_inputs = 2,
    .shard = "elementwise",
    .infer = dtg_infer_number2,
    .grad = maximum_grad,
    .simplify = same_operands,
    .cost = dtg_cost_elementwise,
    .lower = maximum_lower,
    .ref = maximum_ref,
    DTG_SAMPLES(samples),
};

DTG_REF2(minimum, isnan(x) ? x : isnan(y) ? y : fmin(x, y))
DTG_LOWER2(minimum, cg_binary(b, CG_MIN, x, y))
DTG_GRAD2(minimum, winner_grad(graph, "lt", g, x, y), winner_grad(graph, "lt", g, y, x))

const struct dtg_op_def dtg_row_minimum = {
    .name = "minimum",
    .doc = "The smaller of x and y; NaN if one of them is.",
    .class = DTG_CLASS_ELEMENTWISE,
    .flags = DTG_OP_COMMUTES,
    .min_inputs = 2,
    .max_inputs = 2,
    .shard = "elementwise",
    .infer = dtg_infer_number2,
    .grad = minimum_grad,
    .simplify = same_operands,
    .cost = dtg_cost_elementwise,
    .lower = minimum_lower,
    .ref = minimum_ref,
    DTG_SAMPLES(samples),
};
