/* Element-wise functions of one operand that the backends compute by polynomials. */
#include "compiler/ops/elementwise.h"

#include <math.h>

#define ROW(name_, doc_, samples_)                                           \
  const struct dtg_op_def dtg_row_##name_ = {.name = #name_,                 \
                                             .doc = doc_,                    \
                                             .class = DTG_CLASS_ELEMENTWISE, \
                                             .min_inputs = 1,                \
                                             .max_inputs = 1,                \
                                             .shard = "elementwise",         \
                                             .infer = dtg_infer_float1,      \
                                             .grad = name_##_grad,           \
                                             .cost = dtg_cost_math,          \
                                             .lower = name_##_lower,         \
                                             .ref = name_##_ref,             \
                                             DTG_SAMPLES(samples_)}

#define RANGE(low, high)                                                                          \
  {"f32[3,1,5]", "", low, high, 0}, {"f32[131]", "", low, high, 0}, {"f64[5]", "", low, high, 0}, \
  {                                                                                               \
    "bf16[5]", "", low, high, 0                                                                   \
  }

static const struct dtg_op_sample middle_samples[] = {RANGE(-4, 4)};
static const struct dtg_op_sample wave_samples[] = {RANGE(-7, 7)};
static const struct dtg_op_sample positive_samples[] = {RANGE(0.1, 6)};
static const struct dtg_op_sample flat_samples[] = {RANGE(-4, 4), {"f32[41]", "", -60, 60, 0}};
static const struct dtg_op_sample near_samples[] = {RANGE(-0.6, 3),
                                                    {"f32[41]", "", -0.001, 0.001, 0}};

DTG_REF1(exp, exp(x))
DTG_LOWER1(exp, cg_unary(b, CG_EXP, x))
DTG_GRAD1(exp, MUL(g, r))
ROW(exp, "e to the power x.", middle_samples);

DTG_REF1(log, log(x))
DTG_LOWER1(log, cg_unary(b, CG_LOG, x))
DTG_GRAD1(log, DIV(g, x))
ROW(log, "The natural logarithm.", positive_samples);

DTG_REF1(log1p, log1p(x))
DTG_LOWER1(log1p, cg_unary(b, CG_LOG1P, x))
DTG_GRAD1(log1p, DIV(g, ADD(x, LIKE(x, 1))))
ROW(log1p, "log(1 + x), exact near 0.", near_samples);

DTG_REF1(expm1, expm1(x))
DTG_LOWER1(expm1, cg_unary(b, CG_EXPM1, x))
DTG_GRAD1(expm1, MUL(g, ADD(r, LIKE(r, 1))))
ROW(expm1, "exp(x) - 1, exact near 0.", near_samples);

DTG_REF1(tanh, tanh(x))
DTG_LOWER1(tanh, cg_unary(b, CG_TANH, x))
DTG_GRAD1(tanh, MUL(g, SUB(LIKE(r, 1), MUL(r, r))))
ROW(tanh, "The hyperbolic tangent.", flat_samples);

DTG_REF1(sigmoid, 1 / (1 + exp(-x)))
DTG_LOWER1(sigmoid, cg_unary(b, CG_SIGMOID, x))
DTG_GRAD1(sigmoid, MUL(g, MUL(r, SUB(LIKE(r, 1), r))))
ROW(sigmoid, "1 / (1 + exp(-x)).", flat_samples);

/* d erf / dx = 2 / sqrt(pi) exp(-x^2) */
DTG_REF1(erf, erf(x))
DTG_LOWER1(erf, cg_unary(b, CG_ERF, x))
DTG_GRAD1(erf, MUL(g, SCALE(UNARY("exp", NEG(MUL(x, x))), M_2_SQRTPI)))
ROW(erf, "The error function.", flat_samples);

DTG_REF1(sin, sin(x))
DTG_LOWER1(sin, cg_unary(b, CG_SIN, x))
DTG_GRAD1(sin, MUL(g, UNARY("cos", x)))
ROW(sin, "The sine of x in radians.", wave_samples);

DTG_REF1(cos, cos(x))
DTG_LOWER1(cos, cg_unary(b, CG_COS, x))
DTG_GRAD1(cos, NEG(MUL(g, UNARY("sin", x))))
ROW(cos, "The cosine of x in radians.", wave_samples);
