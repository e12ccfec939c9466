// exp and what is made of it. e^x = 2^n e^r with n = round(x / ln2), r = x - n ln2 in two parts.
#include "codegen/llvm/math.h"
#include "codegen/llvm/math_coefficients.h"

#define CG_COUNT(array) ((uint32_t)(sizeof(array) / sizeof *(array)))

const double cg_math_ln2_f32[2] = {0x1.62e4p-1, 0x1.7f7d1cp-20};
const double cg_math_ln2_f64[2] = {0x1.62e42feep-1, 0x1.a39ef35793c76p-33};

struct cg_math_reduced cg_math_reduce_ln2(const struct cg_float *f, LLVMValueRef x) {
  const double *ln2 = f->wide ? cg_math_ln2_f64 : cg_math_ln2_f32;
  struct cg_math_reduced reduced = {NULL, NULL, NULL, NULL};
  LLVMValueRef n = cg_round(f, cg_fmul(f, x, cg_fconst(f, 0x1.71547652b82fep0)), &reduced.n);
  reduced.whole = n;
  LLVMValueRef high = cg_fsub(f, x, cg_fmul(f, n, cg_fconst(f, ln2[0])));
  if (!f->wide) {
    reduced.r = cg_fmadd(f, n, cg_fconst(f, -ln2[1]), high);
    return reduced;
  }
  LLVMValueRef low = cg_fmul(f, n, cg_fconst(f, ln2[1]));
  reduced.r = cg_fsub(f, high, low);
  reduced.c = cg_fsub(f, cg_fsub(f, high, reduced.r), low);
  return reduced;
}

LLVMValueRef cg_math_expm1_near(const struct cg_float *f, LLVMValueRef r, LLVMValueRef c) {
  LLVMValueRef p = f->wide ? cg_horner(f, r, cg_exp_f64, CG_COUNT(cg_exp_f64))
                           : cg_horner(f, r, cg_exp_f32, CG_COUNT(cg_exp_f32));
  LLVMValueRef square = cg_fmul(f, r, r);
  if (!c)
    return cg_fmadd(f, square, p, r);
  return cg_fadd(f, r, cg_fmadd(f, square, p, c));
}

// The instruction for it, where there is one: the same bits in one step.
static LLVMValueRef cg_scale_instruction(const struct cg_float *f, LLVMValueRef value,
                                         LLVMValueRef whole) {
  LLVMContextRef context = f->module->context;
  LLVMValueRef current_rounding = LLVMConstInt(LLVMInt32TypeInContext(context), 4, false);
  LLVMValueRef args[] = {value, whole, value, LLVMConstAllOnes(LLVMInt16TypeInContext(context)),
                         current_rounding};
  return cg_intrinsic(f->module, f->builder, "llvm.x86.avx512.mask.scalef.ps.512", NULL, 0, args,
                      5);
}

LLVMValueRef cg_math_scale(const struct cg_float *f, LLVMValueRef value,
                           const struct cg_math_reduced *reduced) {
  if (f->module->arch->vector_bits == 512 && f->lanes == 16 && !f->wide)
    return cg_scale_instruction(f, value, reduced->whole);
  // The first factor leaves the value normal, so that only the second product rounds.
  LLVMValueRef half = LLVMBuildAShr(f->builder, reduced->n, cg_iconst(f, 1), "");
  LLVMValueRef rest = LLVMBuildSub(f->builder, reduced->n, half, "");
  return cg_fmul(f, cg_fmul(f, value, cg_pow2(f, half)), cg_pow2(f, rest));
}

LLVMValueRef cg_math_exp(const struct cg_float *f, LLVMValueRef x) {
  x = f->wide ? cg_fclamp(f, x, -746, 710) : cg_fclamp(f, x, -104, 89);
  struct cg_math_reduced reduced = cg_math_reduce_ln2(f, x);
  LLVMValueRef near = cg_math_expm1_near(f, reduced.r, reduced.c);
  return cg_math_scale(f, cg_fadd(f, near, cg_fconst(f, 1)), &reduced);
}

// For arguments cut to where 2^n is normal.
static LLVMValueRef cg_expm1_normal(const struct cg_float *f, LLVMValueRef x) {
  struct cg_math_reduced reduced = cg_math_reduce_ln2(f, x);
  LLVMValueRef near = cg_math_expm1_near(f, reduced.r, reduced.c);
  LLVMValueRef scale = cg_pow2(f, reduced.n);
  return cg_fmadd(f, scale, near, cg_fsub(f, scale, cg_fconst(f, 1)));
}

LLVMValueRef cg_math_expm1(const struct cg_float *f, LLVMValueRef x) {
  LLVMValueRef cut = f->wide ? cg_fclamp(f, x, -40, 710) : cg_fclamp(f, x, -20, 89);
  struct cg_math_reduced reduced = cg_math_reduce_ln2(f, cut);
  LLVMValueRef near = cg_math_expm1_near(f, reduced.r, reduced.c);
  // Half of the result first: 2^n itself may be past the largest number.
  LLVMValueRef n = LLVMBuildSub(f->builder, reduced.n, cg_iconst(f, 1), "");
  LLVMValueRef scale = cg_pow2(f, n);
  LLVMValueRef half = cg_fmadd(f, scale, near, cg_fsub(f, scale, cg_fconst(f, 0.5)));
  LLVMValueRef tiny = cg_fcompare_const(f, LLVMRealOLT, cg_fabs(f, x), f->wide ? 0x1p-54 : 0x1p-25);
  return cg_choose(f, tiny, x, cg_fadd(f, half, half));
}

// tanh |x| = 1 - 2 / (e^(2|x|) + 1), or x + x^3 P(x^2) below 1/2, where that loses digits.
static LLVMValueRef cg_tanh_f32_magnitude(const struct cg_float *f, LLVMValueRef x,
                                          LLVMValueRef twice) {
  struct cg_math_reduced reduced = cg_math_reduce_ln2(f, twice);
  LLVMValueRef one = cg_fconst(f, 1);
  LLVMValueRef near = cg_fadd(f, cg_math_expm1_near(f, reduced.r, reduced.c), one);
  LLVMValueRef power = cg_fmadd(f, near, cg_pow2(f, reduced.n), one);
  LLVMValueRef large = cg_fsub(f, one, cg_fdiv(f, cg_fconst(f, 2), power));
  LLVMValueRef square = cg_fmul(f, x, x);
  LLVMValueRef p = cg_horner(f, square, cg_tanh_f32, CG_COUNT(cg_tanh_f32));
  LLVMValueRef small = cg_fmadd(f, cg_fmul(f, square, x), p, x);
  return cg_choose(f, cg_fcompare_const(f, LLVMRealOLT, x, 0.5), small, large);
}

// f64: tanh |x| = m / (m + 2), m = e^(2|x|) - 1. Past 20 it is 1 in either type.
LLVMValueRef cg_math_tanh(const struct cg_float *f, LLVMValueRef x) {
  LLVMValueRef magnitude = cg_fabs(f, x);
  LLVMValueRef twice = cg_fmin(f, cg_fadd(f, magnitude, magnitude), cg_fconst(f, 40));
  if (!f->wide)
    return cg_copysign(f, cg_tanh_f32_magnitude(f, magnitude, twice), x);
  LLVMValueRef m = cg_expm1_normal(f, twice);
  return cg_copysign(f, cg_fdiv(f, m, cg_fadd(f, m, cg_fconst(f, 2))), x);
}

// With e = e^-|x|: 1 / (1 + e), or e / (1 + e) on the negative side. What 1 + e loses by rounding
// is put right at the end: the quotient q changes by -q lost / (1 + e), and 1 / (1 + e) is q or 1 -
// q.
LLVMValueRef cg_math_sigmoid(const struct cg_float *f, LLVMValueRef x) {
  LLVMValueRef e = cg_math_exp(f, cg_fneg(f, cg_fabs(f, x)));
  LLVMValueRef one = cg_fconst(f, 1);
  LLVMValueRef negative = cg_fcompare_const(f, LLVMRealOLT, x, 0);
  struct cg_pair bottom = cg_quick_two_sum(f, one, e);
  LLVMValueRef q = cg_fdiv(f, cg_choose(f, negative, e, one), bottom.high);
  LLVMValueRef inverse = cg_choose(f, negative, cg_fsub(f, one, q), q);
  LLVMValueRef change = cg_fmul(f, cg_fmul(f, q, bottom.low), inverse);
  return cg_fsub(f, q, change);
}

// Small: x + x P(x^2). Large: 1 - e^(P(x - 1)), P fitted to the logarithm of erfc; the subtraction
// is exact where the result is most sensitive to it.
LLVMValueRef cg_math_erf(const struct cg_float *f, LLVMValueRef x) {
  LLVMValueRef magnitude = cg_fabs(f, x);
  LLVMValueRef square = cg_fmul(f, magnitude, magnitude);
  LLVMValueRef p = f->wide ? cg_horner(f, square, cg_erf_small_f64, CG_COUNT(cg_erf_small_f64))
                           : cg_horner(f, square, cg_erf_small_f32, CG_COUNT(cg_erf_small_f32));
  LLVMValueRef small = cg_fmadd(f, magnitude, p, magnitude);
  LLVMValueRef cut = cg_fmin(f, magnitude, cg_fconst(f, f->wide ? 6 : 4));
  LLVMValueRef t = cg_fsub(f, cut, cg_fconst(f, 1));
  LLVMValueRef power = f->wide ? cg_horner(f, t, cg_erf_large_f64, CG_COUNT(cg_erf_large_f64))
                               : cg_horner(f, t, cg_erf_large_f32, CG_COUNT(cg_erf_large_f32));
  LLVMValueRef large = cg_fneg(f, cg_expm1_normal(f, power));
  LLVMValueRef is_small = cg_fcompare_const(f, LLVMRealOLT, magnitude, 1);
  return cg_copysign(f, cg_choose(f, is_small, small, large), x);
}
