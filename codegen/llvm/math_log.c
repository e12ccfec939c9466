// log and log1p: x = m 2^e, log x = e ln2 + log(1 + f), f = m - 1.
#include "codegen/llvm/math.h"
#include "codegen/llvm/math_coefficients.h"

#define CG_COUNT(array) ((uint32_t)(sizeof(array) / sizeof *(array)))

struct cg_math_split cg_math_split(const struct cg_float *f, LLVMValueRef x) {
  uint32_t digits = f->wide ? 52 : 23;
  int64_t root = f->wide ? 0x3fe6a09e667f3bcd : 0x3f3504f3; // bits of sqrt(1/2)
  LLVMBuilderRef b = f->builder;
  LLVMValueRef denormal = cg_fcompare_const(f, LLVMRealOLT, x, f->wide ? 0x1p-1022 : 0x1p-126);
  LLVMValueRef lifted = cg_fmul(f, x, cg_fconst(f, f->wide ? 0x1p52 : 0x1p23));
  LLVMValueRef bits = cg_fbits(f, cg_choose(f, denormal, lifted, x));
  LLVMValueRef above = LLVMBuildSub(b, bits, cg_iconst(f, root), "");
  LLVMValueRef exponent = LLVMBuildAShr(b, above, cg_iconst(f, digits), "");
  LLVMValueRef whole = LLVMBuildShl(b, exponent, cg_iconst(f, digits), "");
  LLVMValueRef lift = cg_choose(f, denormal, cg_iconst(f, -(int64_t)digits), cg_iconst(f, 0));
  return (struct cg_math_split){
      cg_from_bits(f, LLVMBuildSub(b, bits, whole, "")),
      LLVMBuildAdd(b, exponent, lift, ""),
  };
}

LLVMValueRef cg_math_int_to_float(const struct cg_float *f, LLVMValueRef n) {
  if (!f->wide)
    return LLVMBuildSIToFP(f->builder, n, f->type, "");
  // Through i32, which every processor converts in vectors.
  LLVMTypeRef narrow = cg_vector_of(LLVMInt32TypeInContext(f->module->context), f->lanes);
  return LLVMBuildSIToFP(f->builder, LLVMBuildTrunc(f->builder, n, narrow, ""), f->type, "");
}

// e ln2 + log(1 + x) + rest, where rest is far below x.
static LLVMValueRef cg_log_f32(const struct cg_float *f, LLVMValueRef e, LLVMValueRef x,
                               LLVMValueRef rest) {
  LLVMValueRef square = cg_fmul(f, x, x);
  LLVMValueRef p = cg_horner(f, x, cg_log_terms_f32, CG_COUNT(cg_log_terms_f32));
  LLVMValueRef low = cg_fmul(f, e, cg_fconst(f, cg_math_ln2_f32[1]));
  if (rest)
    low = cg_fadd(f, low, rest);
  LLVMValueRef tail = cg_fmadd(f, cg_fmul(f, square, x), p, low);
  tail = cg_fmadd(f, square, cg_fconst(f, -0.5), tail);
  return cg_fmadd(f, e, cg_fconst(f, cg_math_ln2_f32[0]), cg_fadd(f, x, tail));
}

// The same with s = x / (2 + x): log(1 + x) = x - (x^2/2 - s (x^2/2 + R(s^2))).
static LLVMValueRef cg_log_f64(const struct cg_float *f, LLVMValueRef e, LLVMValueRef x,
                               LLVMValueRef rest) {
  LLVMValueRef half_square = cg_fmul(f, cg_fmul(f, x, x), cg_fconst(f, 0.5));
  LLVMValueRef s = cg_fdiv(f, x, cg_fadd(f, x, cg_fconst(f, 2)));
  LLVMValueRef z = cg_fmul(f, s, s);
  LLVMValueRef r = cg_fmul(f, z, cg_horner(f, z, cg_log_terms_f64, CG_COUNT(cg_log_terms_f64)));
  LLVMValueRef low = cg_fmul(f, e, cg_fconst(f, cg_math_ln2_f64[1]));
  if (rest)
    low = cg_fadd(f, low, rest);
  LLVMValueRef tail = cg_fmadd(f, s, cg_fadd(f, half_square, r), low);
  LLVMValueRef down = cg_fsub(f, cg_fsub(f, half_square, tail), x);
  return cg_fsub(f, cg_fmul(f, e, cg_fconst(f, cg_math_ln2_f64[0])), down);
}

static LLVMValueRef cg_log_parts(const struct cg_float *f, LLVMValueRef e, LLVMValueRef x,
                                 LLVMValueRef rest) {
  return f->wide ? cg_log_f64(f, e, x, rest) : cg_log_f32(f, e, x, rest);
}

// log of 0, of negative numbers, infinity and NaN.
static LLVMValueRef cg_log_edges(const struct cg_float *f, LLVMValueRef x, LLVMValueRef value) {
  LLVMValueRef infinity = cg_fconst(f, __builtin_inf());
  LLVMValueRef finite = cg_fcompare(f, LLVMRealULT, x, infinity);
  value = cg_choose(f, finite, value, infinity);
  LLVMValueRef zero = cg_fcompare_const(f, LLVMRealOEQ, x, 0);
  value = cg_choose(f, zero, cg_fneg(f, infinity), value);
  LLVMValueRef valid = cg_fcompare_const(f, LLVMRealOGE, x, 0);
  return cg_choose(f, valid, value, cg_fconst(f, __builtin_nan("")));
}

LLVMValueRef cg_math_log(const struct cg_float *f, LLVMValueRef x) {
  struct cg_math_split split = cg_math_split(f, x);
  LLVMValueRef value = cg_log_parts(f, cg_math_int_to_float(f, split.exponent),
                                    cg_fsub(f, split.mantissa, cg_fconst(f, 1)), NULL);
  return cg_log_edges(f, x, value);
}

// log(u) + c / u, where u = 1 + x rounded and c is what the rounding lost.
LLVMValueRef cg_math_log1p(const struct cg_float *f, LLVMValueRef x) {
  LLVMValueRef one = cg_fconst(f, 1);
  LLVMValueRef u = cg_fadd(f, x, one);
  LLVMValueRef large = cg_fcompare(f, LLVMRealOGE, x, one);
  LLVMValueRef lost_large = cg_fsub(f, one, cg_fsub(f, u, x));
  LLVMValueRef lost_small = cg_fsub(f, x, cg_fsub(f, u, one));
  LLVMValueRef rest = cg_fdiv(f, cg_choose(f, large, lost_large, lost_small), u);
  struct cg_math_split split = cg_math_split(f, u);
  LLVMValueRef value = cg_log_parts(f, cg_math_int_to_float(f, split.exponent),
                                    cg_fsub(f, split.mantissa, one), rest);
  LLVMValueRef tiny = cg_fcompare_const(f, LLVMRealOLT, cg_fabs(f, x), f->wide ? 0x1p-54 : 0x1p-25);
  return cg_choose(f, tiny, x, cg_log_edges(f, u, value));
}
