// Builds float arithmetic on scalars or vectors of one width, f32 or f64, and the integers of the
// same size. Private to this folder.
#ifndef CG_LLVM_FLOAT_H
#define CG_LLVM_FLOAT_H

#include "codegen/llvm/module.h"

struct cg_float {
  struct cg_module *module;
  LLVMBuilderRef builder;
  uint32_t lanes;
  bool wide;         // f64
  LLVMTypeRef type;  // float
  LLVMTypeRef itype; // integers of the same size
};

struct cg_float cg_float_make(struct cg_module *module, LLVMBuilderRef builder, uint32_t lanes,
                              bool wide);
LLVMValueRef cg_fconst(const struct cg_float *f, double value);
LLVMValueRef cg_iconst(const struct cg_float *f, int64_t value);

LLVMValueRef cg_fadd(const struct cg_float *f, LLVMValueRef a, LLVMValueRef b);
LLVMValueRef cg_fsub(const struct cg_float *f, LLVMValueRef a, LLVMValueRef b);
LLVMValueRef cg_fmul(const struct cg_float *f, LLVMValueRef a, LLVMValueRef b);
LLVMValueRef cg_fdiv(const struct cg_float *f, LLVMValueRef a, LLVMValueRef b);
// a * b + c, rounded once, on any processor.
LLVMValueRef cg_ffma(const struct cg_float *f, LLVMValueRef a, LLVMValueRef b, LLVMValueRef c);
// a * b + c as the processor does it best: one rounding if it has FMA, else two.
LLVMValueRef cg_fmadd(const struct cg_float *f, LLVMValueRef a, LLVMValueRef b, LLVMValueRef c);
LLVMValueRef cg_fabs(const struct cg_float *f, LLVMValueRef a);
LLVMValueRef cg_fneg(const struct cg_float *f, LLVMValueRef a);
LLVMValueRef cg_ffloor(const struct cg_float *f, LLVMValueRef a);
LLVMValueRef cg_fsqrt(const struct cg_float *f, LLVMValueRef a);
// |magnitude| with the sign of `sign`.
LLVMValueRef cg_copysign(const struct cg_float *f, LLVMValueRef magnitude, LLVMValueRef sign);
// NaN wins; of equal zeros the first.
LLVMValueRef cg_fmax(const struct cg_float *f, LLVMValueRef a, LLVMValueRef b);
LLVMValueRef cg_fmin(const struct cg_float *f, LLVMValueRef a, LLVMValueRef b);
// `a` cut to [low, high]; NaN stays.
LLVMValueRef cg_fclamp(const struct cg_float *f, LLVMValueRef a, double low, double high);

LLVMValueRef cg_fcompare(const struct cg_float *f, LLVMRealPredicate predicate, LLVMValueRef a,
                         LLVMValueRef b);
LLVMValueRef cg_fcompare_const(const struct cg_float *f, LLVMRealPredicate predicate,
                               LLVMValueRef a, double b);
LLVMValueRef cg_choose(const struct cg_float *f, LLVMValueRef condition, LLVMValueRef a,
                       LLVMValueRef b);

LLVMValueRef cg_fbits(const struct cg_float *f, LLVMValueRef a);
LLVMValueRef cg_from_bits(const struct cg_float *f, LLVMValueRef a);
// 2^n, n an integer within the range of normal exponents.
LLVMValueRef cg_pow2(const struct cg_float *f, LLVMValueRef n);
// The integer nearest to x (|x| below 2^22, f64: 2^51), as a float and, if asked, as an integer.
LLVMValueRef cg_round(const struct cg_float *f, LLVMValueRef x, LLVMValueRef *integer);
// sum coefficients[i] x^i
LLVMValueRef cg_horner(const struct cg_float *f, LLVMValueRef x, const double *coefficients,
                       uint32_t count);

// high + low = a + b, a * b exactly. quick: |a| >= |b|.
struct cg_pair {
  LLVMValueRef high, low;
};
struct cg_pair cg_two_sum(const struct cg_float *f, LLVMValueRef a, LLVMValueRef b);
struct cg_pair cg_quick_two_sum(const struct cg_float *f, LLVMValueRef a, LLVMValueRef b);
struct cg_pair cg_two_product(const struct cg_float *f, LLVMValueRef a, LLVMValueRef b);

#endif
