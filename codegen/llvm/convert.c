// Types of values and of memory, and conversions. In values a bool is one bit and a bf16 its 16
// bits; in memory a bool is a byte, 0 or 1.
#include "codegen/llvm/emit.h"
#include "codegen/llvm/float.h"
#include "compiler/base/bug.h"

LLVMTypeRef cg_value_type(struct cg_module *module, enum dtg_dtype dtype) {
  switch (dtype) {
  case DTG_F32:
    return LLVMFloatTypeInContext(module->context);
  case DTG_F64:
    return LLVMDoubleTypeInContext(module->context);
  case DTG_BF16:
    return LLVMInt16TypeInContext(module->context);
  case DTG_I32:
    return LLVMInt32TypeInContext(module->context);
  case DTG_I64:
    return LLVMInt64TypeInContext(module->context);
  case DTG_U8:
    return LLVMInt8TypeInContext(module->context);
  case DTG_BOOL:
    return LLVMInt1TypeInContext(module->context);
  default:
    dtg_bug("no such type: %d", (int)dtype);
  }
}

LLVMTypeRef cg_memory_type(struct cg_module *module, enum dtg_dtype dtype) {
  return dtype == DTG_BOOL ? LLVMInt8TypeInContext(module->context) : cg_value_type(module, dtype);
}

static LLVMTypeRef cg_type(struct cg_emit *emit, enum dtg_dtype dtype, uint32_t lanes) {
  return cg_vector_of(cg_value_type(emit->module, dtype), lanes);
}

static LLVMValueRef cg_from_bf16(const struct cg_float *f, LLVMValueRef half) {
  LLVMValueRef bits = LLVMBuildZExt(f->builder, half, f->itype, "");
  return cg_from_bits(f, LLVMBuildShl(f->builder, bits, cg_iconst(f, 16), ""));
}

// To nearest, ties to even; NaN keeps its upper bits and becomes quiet.
static LLVMValueRef cg_to_bf16(const struct cg_float *f, LLVMValueRef value, LLVMTypeRef type) {
  LLVMBuilderRef b = f->builder;
  LLVMValueRef bits = cg_fbits(f, value);
  LLVMValueRef upper = LLVMBuildLShr(b, bits, cg_iconst(f, 16), "");
  LLVMValueRef odd = LLVMBuildAnd(b, upper, cg_iconst(f, 1), "");
  LLVMValueRef sum = LLVMBuildAdd(b, LLVMBuildAdd(b, bits, cg_iconst(f, 0x7fff), ""), odd, "");
  LLVMValueRef rounded = LLVMBuildLShr(b, sum, cg_iconst(f, 16), "");
  LLVMValueRef quiet = LLVMBuildOr(b, upper, cg_iconst(f, 0x40), "");
  LLVMValueRef nan = cg_fcompare(f, LLVMRealUNO, value, value);
  return LLVMBuildTrunc(b, cg_choose(f, nan, quiet, rounded), type, "");
}

static LLVMValueRef cg_float_to_integer(struct cg_emit *emit, LLVMValueRef value, enum dtg_dtype to,
                                        uint32_t lanes) {
  LLVMTypeRef types[] = {cg_type(emit, to, lanes), LLVMTypeOf(value)};
  return cg_intrinsic(emit->module, emit->builder,
                      to == DTG_U8 ? "llvm.fptoui.sat" : "llvm.fptosi.sat", types, 2, &value, 1);
}

static LLVMValueRef cg_is_nonzero(struct cg_emit *emit, LLVMValueRef value, bool is_float) {
  LLVMValueRef zero = LLVMConstNull(LLVMTypeOf(value));
  return is_float ? LLVMBuildFCmp(emit->builder, LLVMRealUNE, value, zero, "")
                  : LLVMBuildICmp(emit->builder, LLVMIntNE, value, zero, "");
}

static LLVMValueRef cg_integer_to_integer(struct cg_emit *emit, LLVMValueRef value,
                                          enum dtg_dtype from, enum dtg_dtype to, uint32_t lanes) {
  LLVMTypeRef type = cg_type(emit, to, lanes);
  size_t from_size = from == DTG_BOOL ? 0 : dtg_dtype_size(from);
  if (dtg_dtype_size(to) < from_size)
    return LLVMBuildTrunc(emit->builder, value, type, "");
  if (from == DTG_BOOL || from == DTG_U8)
    return LLVMBuildZExt(emit->builder, value, type, "");
  return LLVMBuildSExt(emit->builder, value, type, "");
}

static LLVMValueRef cg_to_real(struct cg_emit *emit, LLVMValueRef value, enum dtg_dtype from,
                               enum dtg_dtype to, uint32_t lanes) {
  LLVMTypeRef type = cg_type(emit, to, lanes);
  if (from == DTG_F32)
    return LLVMBuildFPExt(emit->builder, value, type, "");
  if (from == DTG_F64)
    return LLVMBuildFPTrunc(emit->builder, value, type, "");
  if (from == DTG_BOOL || from == DTG_U8)
    return LLVMBuildUIToFP(emit->builder, value, type, "");
  return LLVMBuildSIToFP(emit->builder, value, type, "");
}

LLVMValueRef cg_convert_value(struct cg_emit *emit, LLVMValueRef value, enum dtg_dtype from,
                              enum dtg_dtype to, uint32_t lanes) {
  struct cg_float f = cg_float_make(emit->module, emit->builder, lanes, false);
  if (from == to)
    return value;
  if (from == DTG_BF16)
    return cg_convert_value(emit, cg_from_bf16(&f, value), DTG_F32, to, lanes);
  if (to == DTG_BF16)
    return cg_to_bf16(&f, cg_convert_value(emit, value, from, DTG_F32, lanes),
                      cg_type(emit, to, lanes));
  bool from_float = dtg_dtype_is_float(from);
  if (to == DTG_BOOL)
    return cg_is_nonzero(emit, value, from_float);
  if (dtg_dtype_is_float(to))
    return cg_to_real(emit, value, from, to, lanes);
  return from_float ? cg_float_to_integer(emit, value, to, lanes)
                    : cg_integer_to_integer(emit, value, from, to, lanes);
}
