#include "codegen/llvm/float.h"

struct cg_float cg_float_make(struct cg_module *module, LLVMBuilderRef builder, uint32_t lanes,
                              bool wide) {
  LLVMContextRef context = module->context;
  return (struct cg_float){
      .module = module,
      .builder = builder,
      .lanes = lanes,
      .wide = wide,
      .type = cg_vector_of(
          wide ? LLVMDoubleTypeInContext(context) : LLVMFloatTypeInContext(context), lanes),
      .itype = cg_vector_of(
          wide ? LLVMInt64TypeInContext(context) : LLVMInt32TypeInContext(context), lanes),
  };
}

static LLVMTypeRef cg_scalar_of(LLVMTypeRef type) {
  return LLVMGetTypeKind(type) == LLVMVectorTypeKind ? LLVMGetElementType(type) : type;
}

LLVMValueRef cg_fconst(const struct cg_float *f, double value) {
  return cg_constant_splat(LLVMConstReal(cg_scalar_of(f->type), value), f->lanes);
}

LLVMValueRef cg_iconst(const struct cg_float *f, int64_t value) {
  return cg_constant_splat(LLVMConstInt(cg_scalar_of(f->itype), (uint64_t)value, true), f->lanes);
}

LLVMValueRef cg_fadd(const struct cg_float *f, LLVMValueRef a, LLVMValueRef b) {
  return LLVMBuildFAdd(f->builder, a, b, "");
}

LLVMValueRef cg_fsub(const struct cg_float *f, LLVMValueRef a, LLVMValueRef b) {
  return LLVMBuildFSub(f->builder, a, b, "");
}

LLVMValueRef cg_fmul(const struct cg_float *f, LLVMValueRef a, LLVMValueRef b) {
  return LLVMBuildFMul(f->builder, a, b, "");
}

LLVMValueRef cg_fdiv(const struct cg_float *f, LLVMValueRef a, LLVMValueRef b) {
  return LLVMBuildFDiv(f->builder, a, b, "");
}

static LLVMValueRef cg_fcall(const struct cg_float *f, const char *name, LLVMValueRef *args,
                             uint32_t count) {
  LLVMTypeRef types[] = {f->type};
  return cg_intrinsic(f->module, f->builder, name, types, 1, args, count);
}

// The product of two floats is exact in double. Their sum with c is rounded to odd: a double has
// enough bits more that rounding it to float then gives what one rounding of the exact sum would.
static LLVMValueRef cg_ffma_by_double(const struct cg_float *f, LLVMValueRef a, LLVMValueRef b,
                                      LLVMValueRef c) {
  struct cg_float d = cg_float_make(f->module, f->builder, f->lanes, true);
  LLVMValueRef product = cg_fmul(&d, LLVMBuildFPExt(f->builder, a, d.type, ""),
                                 LLVMBuildFPExt(f->builder, b, d.type, ""));
  struct cg_pair sum = cg_two_sum(&d, product, LLVMBuildFPExt(f->builder, c, d.type, ""));
  LLVMValueRef bits = cg_fbits(&d, sum.high);
  LLVMValueRef even =
      LLVMBuildICmp(f->builder, LLVMIntEQ, LLVMBuildAnd(f->builder, bits, cg_iconst(&d, 1), ""),
                    cg_iconst(&d, 0), "");
  LLVMValueRef inexact = cg_fcompare_const(&d, LLVMRealONE, sum.low, 0);
  // One step away from zero if the rest has the sum's sign, else one step towards it.
  LLVMValueRef differ = LLVMBuildXor(f->builder, bits, cg_fbits(&d, sum.low), "");
  LLVMValueRef away = LLVMBuildICmp(f->builder, LLVMIntSGE, differ, cg_iconst(&d, 0), "");
  LLVMValueRef step = cg_choose(&d, away, cg_iconst(&d, 1), cg_iconst(&d, -1));
  LLVMValueRef odd = LLVMBuildAdd(f->builder, bits, step, "");
  LLVMValueRef chosen = cg_choose(&d, LLVMBuildAnd(f->builder, even, inexact, ""), odd, bits);
  return LLVMBuildFPTrunc(f->builder, cg_from_bits(&d, chosen), f->type, "");
}

LLVMValueRef cg_ffma(const struct cg_float *f, LLVMValueRef a, LLVMValueRef b, LLVMValueRef c) {
  if (!f->module->arch->has_fma && !f->wide)
    return cg_ffma_by_double(f, a, b, c);
  LLVMValueRef args[] = {a, b, c};
  return cg_fcall(f, "llvm.fma", args, 3);
}

LLVMValueRef cg_fmadd(const struct cg_float *f, LLVMValueRef a, LLVMValueRef b, LLVMValueRef c) {
  return f->module->arch->has_fma ? cg_ffma(f, a, b, c) : cg_fadd(f, cg_fmul(f, a, b), c);
}

LLVMValueRef cg_fabs(const struct cg_float *f, LLVMValueRef a) {
  return cg_fcall(f, "llvm.fabs", &a, 1);
}

LLVMValueRef cg_fneg(const struct cg_float *f, LLVMValueRef a) {
  return LLVMBuildFNeg(f->builder, a, "");
}

LLVMValueRef cg_fsqrt(const struct cg_float *f, LLVMValueRef a) {
  return cg_fcall(f, "llvm.sqrt", &a, 1);
}

LLVMValueRef cg_copysign(const struct cg_float *f, LLVMValueRef magnitude, LLVMValueRef sign) {
  LLVMValueRef args[] = {magnitude, sign};
  return cg_fcall(f, "llvm.copysign", args, 2);
}

// Adding and subtracting 2^23 (f64: 2^52) rounds to an integer; larger numbers are integers
// already.
static LLVMValueRef cg_ffloor_by_adding(const struct cg_float *f, LLVMValueRef a) {
  LLVMValueRef big = cg_fconst(f, f->wide ? 0x1p52 : 0x1p23);
  LLVMValueRef magnitude = cg_fabs(f, a);
  LLVMValueRef near = cg_copysign(f, cg_fsub(f, cg_fadd(f, magnitude, big), big), a);
  LLVMValueRef above = cg_fcompare(f, LLVMRealOGT, near, a);
  LLVMValueRef down = cg_choose(f, above, cg_fsub(f, near, cg_fconst(f, 1)), near);
  LLVMValueRef fraction = cg_fcompare(f, LLVMRealOLT, magnitude, big);
  return cg_choose(f, fraction, down, a);
}

LLVMValueRef cg_ffloor(const struct cg_float *f, LLVMValueRef a) {
  if (!f->module->arch->has_round)
    return cg_ffloor_by_adding(f, a);
  return cg_fcall(f, "llvm.floor", &a, 1);
}

LLVMValueRef cg_fmax(const struct cg_float *f, LLVMValueRef a, LLVMValueRef b) {
  LLVMValueRef larger = cg_choose(f, cg_fcompare(f, LLVMRealOGT, b, a), b, a);
  return cg_choose(f, cg_fcompare(f, LLVMRealUNO, b, b), b, larger);
}

LLVMValueRef cg_fmin(const struct cg_float *f, LLVMValueRef a, LLVMValueRef b) {
  LLVMValueRef smaller = cg_choose(f, cg_fcompare(f, LLVMRealOLT, b, a), b, a);
  return cg_choose(f, cg_fcompare(f, LLVMRealUNO, b, b), b, smaller);
}

LLVMValueRef cg_fclamp(const struct cg_float *f, LLVMValueRef a, double low, double high) {
  return cg_fmin(f, cg_fmax(f, a, cg_fconst(f, low)), cg_fconst(f, high));
}

LLVMValueRef cg_fcompare(const struct cg_float *f, LLVMRealPredicate predicate, LLVMValueRef a,
                         LLVMValueRef b) {
  return LLVMBuildFCmp(f->builder, predicate, a, b, "");
}

LLVMValueRef cg_fcompare_const(const struct cg_float *f, LLVMRealPredicate predicate,
                               LLVMValueRef a, double b) {
  return cg_fcompare(f, predicate, a, cg_fconst(f, b));
}

LLVMValueRef cg_choose(const struct cg_float *f, LLVMValueRef condition, LLVMValueRef a,
                       LLVMValueRef b) {
  return LLVMBuildSelect(f->builder, condition, a, b, "");
}

LLVMValueRef cg_fbits(const struct cg_float *f, LLVMValueRef a) {
  return LLVMBuildBitCast(f->builder, a, f->itype, "");
}

LLVMValueRef cg_from_bits(const struct cg_float *f, LLVMValueRef a) {
  return LLVMBuildBitCast(f->builder, a, f->type, "");
}

LLVMValueRef cg_pow2(const struct cg_float *f, LLVMValueRef n) {
  LLVMValueRef biased = LLVMBuildAdd(f->builder, n, cg_iconst(f, f->wide ? 1023 : 127), "");
  return cg_from_bits(f, LLVMBuildShl(f->builder, biased, cg_iconst(f, f->wide ? 52 : 23), ""));
}

LLVMValueRef cg_round(const struct cg_float *f, LLVMValueRef x, LLVMValueRef *integer) {
  // In [2^23, 2^24) (f64: [2^52, 2^53)) floats are the integers, and their low bits count them.
  LLVMValueRef magic = cg_fconst(f, f->wide ? 0x1.8p52 : 0x1.8p23);
  LLVMValueRef shifted = cg_fadd(f, x, magic);
  if (integer)
    *integer = LLVMBuildSub(f->builder, cg_fbits(f, shifted), cg_fbits(f, magic), "");
  return cg_fsub(f, shifted, magic);
}

LLVMValueRef cg_horner(const struct cg_float *f, LLVMValueRef x, const double *coefficients,
                       uint32_t count) {
  LLVMValueRef sum = cg_fconst(f, coefficients[count - 1]);
  for (uint32_t i = count - 1; i-- > 0;)
    sum = cg_fmadd(f, sum, x, cg_fconst(f, coefficients[i]));
  return sum;
}

struct cg_pair cg_two_sum(const struct cg_float *f, LLVMValueRef a, LLVMValueRef b) {
  LLVMValueRef sum = cg_fadd(f, a, b);
  LLVMValueRef b_part = cg_fsub(f, sum, a);
  LLVMValueRef a_part = cg_fsub(f, sum, b_part);
  LLVMValueRef rest = cg_fadd(f, cg_fsub(f, a, a_part), cg_fsub(f, b, b_part));
  return (struct cg_pair){sum, rest};
}

struct cg_pair cg_quick_two_sum(const struct cg_float *f, LLVMValueRef a, LLVMValueRef b) {
  LLVMValueRef sum = cg_fadd(f, a, b);
  return (struct cg_pair){sum, cg_fsub(f, b, cg_fsub(f, sum, a))};
}

// Upper half of the bits of a double (Dekker), the rest in `low`.
static struct cg_pair cg_split(const struct cg_float *f, LLVMValueRef a) {
  LLVMValueRef scaled = cg_fmul(f, a, cg_fconst(f, f->wide ? 0x1p27 + 1 : 0x1p12 + 1));
  LLVMValueRef high = cg_fsub(f, scaled, cg_fsub(f, scaled, a));
  return (struct cg_pair){high, cg_fsub(f, a, high)};
}

struct cg_pair cg_two_product(const struct cg_float *f, LLVMValueRef a, LLVMValueRef b) {
  LLVMValueRef product = cg_fmul(f, a, b);
  if (f->module->arch->has_fma)
    return (struct cg_pair){product, cg_ffma(f, a, b, cg_fneg(f, product))};
  struct cg_pair x = cg_split(f, a), y = cg_split(f, b);
  LLVMValueRef rest = cg_fsub(f, cg_fmul(f, x.high, y.high), product);
  rest = cg_fadd(f, rest, cg_fmul(f, x.high, y.low));
  rest = cg_fadd(f, rest, cg_fmul(f, x.low, y.high));
  return (struct cg_pair){product, cg_fadd(f, rest, cg_fmul(f, x.low, y.low))};
}
