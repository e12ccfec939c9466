// pow = e^(y log x), with log x carried to more digits than the result has.
#include "codegen/llvm/math.h"
#include "codegen/llvm/math_coefficients.h"

#define CG_COUNT(array) ((uint32_t)(sizeof(array) / sizeof *(array)))

static LLVMValueRef cg_and(const struct cg_float *f, LLVMValueRef a, LLVMValueRef b) {
  return LLVMBuildAnd(f->builder, a, b, "");
}

static LLVMValueRef cg_or(const struct cg_float *f, LLVMValueRef a, LLVMValueRef b) {
  return LLVMBuildOr(f->builder, a, b, "");
}

// |x|^y for f32 through double: log2 and 2^t to about 1e-11, whose product with y <= 2^7 stays well
// below half an ulp of f32. log2 of 0 and infinity are infinite, NaN stays.
static LLVMValueRef cg_pow_magnitude_f32(const struct cg_float *f, LLVMValueRef magnitude,
                                         LLVMValueRef y) {
  struct cg_float d = cg_float_make(f->module, f->builder, f->lanes, true);
  LLVMValueRef x = LLVMBuildFPExt(f->builder, magnitude, d.type, "");
  LLVMValueRef one = cg_fconst(&d, 1), infinity = cg_fconst(&d, __builtin_inf());
  struct cg_math_split split = cg_math_split(&d, x);
  LLVMValueRef s = cg_fdiv(&d, cg_fsub(&d, split.mantissa, one), cg_fadd(&d, split.mantissa, one));
  LLVMValueRef p = cg_horner(&d, cg_fmul(&d, s, s), cg_pow_log2_f32, CG_COUNT(cg_pow_log2_f32));
  LLVMValueRef log2 = cg_fmadd(&d, s, p, cg_math_int_to_float(&d, split.exponent));
  log2 = cg_choose(&d, cg_fcompare_const(&d, LLVMRealOEQ, x, 0), cg_fneg(&d, infinity), log2);
  log2 = cg_choose(&d, cg_fcompare(&d, LLVMRealULT, x, infinity), log2, infinity);
  log2 = cg_choose(&d, cg_fcompare(&d, LLVMRealUNO, x, x), x, log2);
  LLVMValueRef t = cg_fmul(&d, LLVMBuildFPExt(f->builder, y, d.type, ""), log2);
  t = cg_fclamp(&d, t, -200, 200);
  LLVMValueRef n;
  LLVMValueRef fraction = cg_fsub(&d, t, cg_round(&d, t, &n));
  LLVMValueRef power = cg_horner(&d, fraction, cg_pow_exp2_f32, CG_COUNT(cg_pow_exp2_f32));
  return LLVMBuildFPTrunc(f->builder, cg_fmul(&d, power, cg_pow2(&d, n)), f->type, "");
}

// (a + b)(c + d) to twice the precision.
static struct cg_pair cg_pair_multiply(const struct cg_float *f, struct cg_pair a,
                                       struct cg_pair b) {
  struct cg_pair product = cg_two_product(f, a.high, b.high);
  LLVMValueRef cross = cg_fadd(f, cg_fmul(f, a.high, b.low), cg_fmul(f, a.low, b.high));
  return cg_quick_two_sum(f, product.high,
                          cg_fadd(f, product.low, cg_fmadd(f, a.low, b.low, cross)));
}

static struct cg_pair cg_pair_add(const struct cg_float *f, struct cg_pair a, struct cg_pair b) {
  struct cg_pair sum = cg_two_sum(f, a.high, b.high);
  return cg_quick_two_sum(f, sum.high, cg_fadd(f, sum.low, cg_fadd(f, a.low, b.low)));
}

// s = (m - 1) / (m + 1), quotient and remainder.
static struct cg_pair cg_pow_ratio(const struct cg_float *f, LLVMValueRef m) {
  LLVMValueRef one = cg_fconst(f, 1);
  LLVMValueRef top = cg_fsub(f, m, one);
  struct cg_pair bottom = cg_two_sum(f, m, one);
  LLVMValueRef s = cg_fdiv(f, top, bottom.high);
  struct cg_pair back = cg_two_product(f, s, bottom.high);
  LLVMValueRef left = cg_fsub(f, cg_fsub(f, top, back.high), back.low);
  left = cg_fsub(f, left, cg_fmul(f, s, bottom.low));
  return cg_quick_two_sum(f, s, cg_fdiv(f, left, bottom.high));
}

// log x to about 2^-64: 2 s + 2/3 s^3 in pairs, s^5 T(s^2) in one double, and e ln2.
static struct cg_pair cg_pow_log(const struct cg_float *f, LLVMValueRef x) {
  static const double third_high = 0x1.5555555555555p-1, third_low = 0x1.5555555555555p-55;
  struct cg_math_split split = cg_math_split(f, x);
  struct cg_pair s = cg_pow_ratio(f, split.mantissa);
  struct cg_pair z = cg_pair_multiply(f, s, s);
  struct cg_pair cube = cg_pair_multiply(f, z, s);
  struct cg_pair factor = {cg_fconst(f, third_high), cg_fconst(f, third_low)};
  LLVMValueRef fifth = cg_fmul(f, z.high, cube.high);
  LLVMValueRef tail =
      cg_fmul(f, fifth, cg_horner(f, z.high, cg_pow_log_f64, CG_COUNT(cg_pow_log_f64)));
  struct cg_pair twice = {cg_fadd(f, s.high, s.high), cg_fadd(f, s.low, s.low)};
  struct cg_pair third = cg_pair_multiply(f, cube, factor);
  third.low = cg_fadd(f, third.low, tail);
  struct cg_pair near = cg_pair_add(f, twice, third);
  LLVMValueRef e = cg_math_int_to_float(f, split.exponent);
  struct cg_pair whole = {cg_fmul(f, e, cg_fconst(f, cg_math_ln2_f64[0])),
                          cg_fmul(f, e, cg_fconst(f, cg_math_ln2_f64[1]))};
  return cg_pair_add(f, whole, near);
}

// e^(t + low), t within the range of results.
static LLVMValueRef cg_pow_exp(const struct cg_float *f, LLVMValueRef t, LLVMValueRef low) {
  struct cg_math_reduced reduced = cg_math_reduce_ln2(f, t);
  struct cg_pair r = cg_two_sum(f, reduced.r, cg_fadd(f, reduced.c, low));
  LLVMValueRef power = cg_fadd(f, cg_math_expm1_near(f, r.high, r.low), cg_fconst(f, 1));
  return cg_math_scale(f, power, &reduced);
}

static LLVMValueRef cg_pow_magnitude_f64(const struct cg_float *f, LLVMValueRef x, LLVMValueRef y) {
  LLVMValueRef infinity = cg_fconst(f, __builtin_inf()), zero = cg_fconst(f, 0);
  struct cg_pair log = cg_pow_log(f, x);
  LLVMValueRef high = log.high;
  high = cg_choose(f, cg_fcompare_const(f, LLVMRealOEQ, x, 0), cg_fneg(f, infinity), high);
  high = cg_choose(f, cg_fcompare(f, LLVMRealULT, x, infinity), high, infinity);
  high = cg_choose(f, cg_fcompare(f, LLVMRealUNO, x, x), x, high);
  struct cg_pair t = cg_two_product(f, y, high);
  LLVMValueRef low = cg_fadd(f, t.low, cg_fmul(f, y, log.low));
  LLVMValueRef in_range = cg_fcompare_const(f, LLVMRealOLT, cg_fabs(f, t.high), 800);
  low = cg_choose(f, in_range, low, zero);
  return cg_pow_exp(f, cg_fclamp(f, t.high, -800, 800), low);
}

LLVMValueRef cg_math_pow(const struct cg_float *f, LLVMValueRef x, LLVMValueRef y) {
  LLVMValueRef one = cg_fconst(f, 1), zero = cg_fconst(f, 0);
  LLVMValueRef infinity = cg_fconst(f, __builtin_inf());
  LLVMValueRef magnitude = cg_fabs(f, x);
  LLVMValueRef value =
      f->wide ? cg_pow_magnitude_f64(f, magnitude, y) : cg_pow_magnitude_f32(f, magnitude, y);
  // 1 to any power but NaN, here also for -1 to an infinite one.
  LLVMValueRef unit =
      cg_and(f, cg_fcompare(f, LLVMRealOEQ, magnitude, one), cg_fcompare(f, LLVMRealORD, y, y));
  value = cg_choose(f, unit, one, value);
  // The sign of x counts if y is odd; a negative x has no power that is no integer.
  LLVMValueRef half = cg_fmul(f, y, cg_fconst(f, 0.5));
  LLVMValueRef integer = cg_fcompare(f, LLVMRealOEQ, cg_ffloor(f, y), y);
  LLVMValueRef uneven = cg_fcompare(f, LLVMRealONE, cg_ffloor(f, half), half);
  LLVMValueRef odd = cg_and(f, integer, uneven);
  value = cg_choose(f, odd, cg_copysign(f, value, x), value);
  LLVMValueRef negative = cg_and(f, cg_fcompare(f, LLVMRealOLT, x, zero),
                                 cg_fcompare(f, LLVMRealOLT, magnitude, infinity));
  LLVMValueRef undefined = cg_and(f, negative, LLVMBuildNot(f->builder, integer, ""));
  value = cg_choose(f, undefined, cg_fconst(f, __builtin_nan("")), value);
  LLVMValueRef always =
      cg_or(f, cg_fcompare(f, LLVMRealOEQ, y, zero), cg_fcompare(f, LLVMRealOEQ, x, one));
  return cg_choose(f, always, one, value);
}
