// Math functions as LLVM IR, on scalars and on vectors of any width, without calls of libm.
//
// Largest errors in ulp of the result, over all arguments (denormal results and arguments
// included; measured by tests/unit/codegen_llvm/test_math.c, which fails above them):
//
//          exp  log  tanh  sigmoid  erf  sin  cos  pow  log1p  expm1
//   f32     2    2     2      2      2    2    2    4     2      2
//   f64     2    2     4      4      4    2    2    4     4      4
//
// Infinities, NaN and negative zero give what C11 annex F says. sin and cos reduce any argument
// exactly. The bits depend on the processor level (with or without FMA), not on the width.
//
// A function is built once per type and width and inlined where it is short. Thread rule: one
// thread per module.
#ifndef CG_LLVM_MATH_H
#define CG_LLVM_MATH_H

#include "codegen/llvm/float.h"
#include "compiler/ir/kernel.h"

// CG_EXP .. CG_EXPM1 of `a` (CG_POW: and `b`), whose type is that of `f`.
LLVMValueRef cg_math_call(const struct cg_float *f, enum cg_op op, LLVMValueRef a, LLVMValueRef b);

// The bodies, for math.c; `f` builds inside the function.
LLVMValueRef cg_math_exp(const struct cg_float *f, LLVMValueRef x);
LLVMValueRef cg_math_expm1(const struct cg_float *f, LLVMValueRef x);
LLVMValueRef cg_math_tanh(const struct cg_float *f, LLVMValueRef x);
LLVMValueRef cg_math_sigmoid(const struct cg_float *f, LLVMValueRef x);
LLVMValueRef cg_math_erf(const struct cg_float *f, LLVMValueRef x);
LLVMValueRef cg_math_log(const struct cg_float *f, LLVMValueRef x);
LLVMValueRef cg_math_log1p(const struct cg_float *f, LLVMValueRef x);
LLVMValueRef cg_math_pow(const struct cg_float *f, LLVMValueRef x, LLVMValueRef y);
LLVMValueRef cg_math_sin(const struct cg_float *f, LLVMValueRef x);
LLVMValueRef cg_math_cos(const struct cg_float *f, LLVMValueRef x);

// ln2 in two parts; n times the first is exact for every n in use.
extern const double cg_math_ln2_f32[2], cg_math_ln2_f64[2];

// e^(r + c) - 1 for |r| <= 0.35, c far below r (NULL: 0), to the precision of the type.
LLVMValueRef cg_math_expm1_near(const struct cg_float *f, LLVMValueRef r, LLVMValueRef c);
// x = n ln2 + r + c, |r| <= 0.35; c is NULL for f32. `whole` is n as a float.
struct cg_math_reduced {
  LLVMValueRef n, whole, r, c;
};
struct cg_math_reduced cg_math_reduce_ln2(const struct cg_float *f, LLVMValueRef x);
// value * 2^n for n far outside the range of exponents, rounded once.
LLVMValueRef cg_math_scale(const struct cg_float *f, LLVMValueRef value,
                           const struct cg_math_reduced *reduced);
// x = m 2^e, sqrt(1/2) <= m < sqrt(2), for x > 0, denormal or not; e as an integer.
struct cg_math_split {
  LLVMValueRef mantissa, exponent;
};
struct cg_math_split cg_math_split(const struct cg_float *f, LLVMValueRef x);
LLVMValueRef cg_math_int_to_float(const struct cg_float *f, LLVMValueRef n);

#endif
