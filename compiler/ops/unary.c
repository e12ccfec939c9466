/* Element-wise functions of one operand that take a few instructions. */
#include "compiler/ops/elementwise.h"

#include <math.h>

/* A row from the functions NAME_ref, NAME_lower and what follows. */
#define ROW1(name_, doc_, infer_, samples_, ...)                             \
  const struct dtg_op_def dtg_row_##name_ = {.name = #name_,                 \
                                             .doc = doc_,                    \
                                             .class = DTG_CLASS_ELEMENTWISE, \
                                             .min_inputs = 1,                \
                                             .max_inputs = 1,                \
                                             .shard = "elementwise",         \
                                             .infer = infer_,                \
                                             .cost = dtg_cost_elementwise,   \
                                             .lower = name_##_lower,         \
                                             .ref = name_##_ref,             \
                                             DTG_SAMPLES(samples_),          \
                                             __VA_ARGS__}

static const struct dtg_op_sample number_samples[] = {
    {"f32[3,1,5]", "", -3, 3, 0}, {"f32[131]", "", -3, 3, 0}, {"f32[]", "", -3, 3, 0},
    {"i32[7]", "", 0, 0, 50},     {"i64[7]", "", 0, 0, 50},   {"u8[9]", "", 0, 0, 256},
    {"f64[5]", "", -3, 3, 0},     {"bf16[5]", "", -3, 3, 0},
};
static const struct dtg_op_sample float_samples[] = {
    {"f32[3,1,5]", "", -3, 3, 0},
    {"f32[131]", "", -3, 3, 0},
    {"f64[5]", "", -3, 3, 0},
    {"bf16[5]", "", -3, 3, 0},
};
static const struct dtg_op_sample positive_samples[] = {
    {"f32[3,1,5]", "", 0.1, 6, 0},
    {"f32[131]", "", 0.1, 6, 0},
    {"f64[5]", "", 0.1, 6, 0},
};

/* f(f(x)) = x */
static uint32_t neg_simplify(struct dtg_graph *graph, uint32_t node) {
  return dtg_match1(graph, dtg_input_of(graph, node, 0), "neg");
}

DTG_REF1(neg, -x)
DTG_LOWER1(neg, cg_unary(b, CG_NEG, x))
DTG_GRAD1(neg, NEG(g))
ROW1(neg, "-x.", dtg_infer_number1, number_samples, .grad = neg_grad, .simplify = neg_simplify);

static uint32_t abs_simplify(struct dtg_graph *graph, uint32_t node) {
  uint32_t x = dtg_input_of(graph, node, 0), inner = dtg_match1(graph, x, "neg");
  if (inner != DTG_NO_NODE)
    return dtg_add_unary(graph, "abs", inner);
  return dtg_match1(graph, x, "abs") == DTG_NO_NODE ? DTG_NO_NODE : x;
}

DTG_REF1(abs, fabs(x))
DTG_LOWER1(abs, cg_unary(b, CG_ABS, x))
DTG_GRAD1(abs, MUL(g, UNARY("sign", x)))
ROW1(abs, "The absolute value; its slope at 0 is 0.", dtg_infer_number1, number_samples,
     .grad = abs_grad, .simplify = abs_simplify);

static uint32_t sign_of(const struct dtg_lower_call *call, uint32_t x) {
  struct cg_builder *b = call->builder;
  uint32_t zero = dtg_lower_const(call, 0);
  uint32_t below = cg_select(b, cg_binary(b, CG_LT, x, zero), dtg_lower_const(call, -1), x);
  return cg_select(b, cg_binary(b, CG_GT, x, zero), dtg_lower_const(call, 1), below);
}

DTG_REF1(sign, x > 0 ? 1 : x < 0 ? -1 : x)
DTG_LOWER1(sign, sign_of(call, x))
ROW1(sign, "-1, 0 or 1.", dtg_infer_number1, number_samples, .flags = DTG_OP_ZERO_GRAD);

DTG_REF1(floor, floor(x))
DTG_LOWER1(floor, cg_unary(b, CG_FLOOR, x))
ROW1(floor, "The largest whole number that is not above x.", dtg_infer_float1, float_samples,
     .flags = DTG_OP_ZERO_GRAD);

DTG_REF1(ceil, ceil(x))
DTG_LOWER1(ceil, cg_unary(b, CG_NEG, cg_unary(b, CG_FLOOR, cg_unary(b, CG_NEG, x))))
ROW1(ceil, "The smallest whole number that is not below x.", dtg_infer_float1, float_samples,
     .flags = DTG_OP_ZERO_GRAD);

/* Adding 2^23 (f64: 2^52) leaves no bits after the point, rounded to even; larger numbers have
 * none. */
static uint32_t round_of(const struct dtg_lower_call *call, uint32_t x) {
  struct cg_builder *b = call->builder;
  bool wide = call->input_types[0].dtype == DTG_F64;
  uint32_t zero = dtg_lower_const(call, 0);
  uint32_t limit = dtg_lower_const(call, wide ? 0x1p52 : 0x1p23);
  uint32_t size = cg_unary(b, CG_ABS, x);
  uint32_t whole = cg_binary(b, CG_SUB, cg_binary(b, CG_ADD, size, limit), limit);
  uint32_t is_small = cg_binary(b, CG_LT, size, limit);
  uint32_t is_below = cg_binary(b, CG_LT, x, zero);
  return cg_select(b, is_small, cg_select(b, is_below, cg_unary(b, CG_NEG, whole), whole), x);
}

DTG_REF1(round, nearbyint(x))
DTG_LOWER1(round, round_of(call, x))
ROW1(round, "The nearest whole number; halves go to the even one.", dtg_infer_float1, float_samples,
     .flags = DTG_OP_ZERO_GRAD);

DTG_REF1(sqrt, sqrt(x))
DTG_LOWER1(sqrt, cg_unary(b, CG_SQRT, x))
DTG_GRAD1(sqrt, DIV(SCALE(g, 0.5), r))
ROW1(sqrt, "The square root.", dtg_infer_float1, positive_samples, .grad = sqrt_grad);

DTG_REF1(rsqrt, 1 / sqrt(x))
DTG_LOWER1(rsqrt, cg_binary(b, CG_DIV, dtg_lower_const(call, 1), cg_unary(b, CG_SQRT, x)))
DTG_GRAD1(rsqrt, MUL(SCALE(g, -0.5), MUL(r, MUL(r, r))))
ROW1(rsqrt, "1 / sqrt(x).", dtg_infer_float1, positive_samples, .grad = rsqrt_grad);

DTG_REF1(reciprocal, 1 / x)
DTG_LOWER1(reciprocal, cg_binary(b, CG_DIV, dtg_lower_const(call, 1), x))
DTG_GRAD1(reciprocal, NEG(MUL(g, MUL(r, r))))
ROW1(reciprocal, "1 / x.", dtg_infer_float1, positive_samples, .grad = reciprocal_grad);

DTG_REF1(square, x *x)
DTG_LOWER1(square, cg_binary(b, CG_MUL, x, x))
DTG_GRAD1(square, MUL(g, SCALE(x, 2)))
ROW1(square, "x * x.", dtg_infer_number1, number_samples, .grad = square_grad);

static uint32_t relu_simplify(struct dtg_graph *graph, uint32_t node) {
  uint32_t x = dtg_input_of(graph, node, 0);
  return dtg_match1(graph, x, "relu") == DTG_NO_NODE ? DTG_NO_NODE : x;
}

static uint32_t relu_slope(struct dtg_graph *graph, uint32_t x, uint32_t g) {
  uint32_t above = dtg_add_binary(graph, "gt", x, LIKE(x, 0));
  return dtg_add(graph, "where", (uint32_t[]){above, g, LIKE(g, 0)}, 3, NULL, 0);
}

DTG_REF1(relu, isnan(x) || x > 0 ? x : 0)
DTG_LOWER1(relu, cg_binary(b, CG_MAX, x, dtg_lower_const(call, 0)))
DTG_GRAD1(relu, relu_slope(graph, x, g))
ROW1(relu, "x where it is above 0, else 0; its slope at 0 is 0.", dtg_infer_number1, number_samples,
     .grad = relu_grad, .simplify = relu_simplify);
