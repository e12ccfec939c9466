// Instructions that compute a value, and the dispatch to those that do more.
#include "codegen/llvm/emit.h"
#include "codegen/llvm/math.h"
#include "compiler/base/bug.h"

uint32_t cg_inst_lanes(const struct cg_emit *emit, uint32_t id) {
  return emit->varying[id] ? emit->lanes : 1;
}

LLVMValueRef cg_operand_value(struct cg_emit *emit, uint32_t id, uint32_t vector, uint32_t lanes) {
  if (emit->varying[id])
    return emit->slots[id].lane[vector];
  return cg_splat(emit->builder, emit->slots[id].scalar, lanes);
}

static LLVMValueRef cg_emit_index(struct cg_emit *emit, uint32_t id, uint32_t vector) {
  uint32_t loop = emit->kernel->insts.data[id].u.loop;
  if (!emit->varying[id])
    return emit->index[loop];
  LLVMValueRef first = LLVMBuildAdd(emit->builder, emit->index[loop],
                                    cg_i64_const(emit, (int64_t)vector * emit->lanes), "");
  return LLVMBuildAdd(emit->builder, cg_splat(emit->builder, first, emit->lanes),
                      cg_iota(emit, LLVMTypeOf(first), 1), "");
}

// A bf16 constant is rounded like a stored value.
static uint64_t cg_bf16_bits(double value) {
  union {
    float f;
    uint32_t u;
  } bits = {(float)value};
  if (value != value)
    return bits.u >> 16 | 0x40;
  return (bits.u + 0x7fff + (bits.u >> 16 & 1)) >> 16 & 0xffff;
}

static LLVMValueRef cg_emit_const(struct cg_emit *emit, const struct cg_inst *inst) {
  LLVMTypeRef type = cg_value_type(emit->module, inst->dtype);
  if (inst->dtype == DTG_BF16)
    return LLVMConstInt(type, cg_bf16_bits(inst->u.f), false);
  if (dtg_dtype_is_float(inst->dtype))
    return LLVMConstReal(type, inst->dtype == DTG_F32 ? (double)(float)inst->u.f : inst->u.f);
  if (inst->dtype == DTG_BOOL)
    return LLVMConstInt(type, inst->u.i != 0, false);
  return LLVMConstInt(type, (uint64_t)inst->u.i, true);
}

static LLVMValueRef cg_float_value(const struct cg_float *f, enum cg_op op, LLVMValueRef a,
                                   LLVMValueRef b, LLVMValueRef c) {
  switch (op) {
  case CG_ADD:
    return cg_fadd(f, a, b);
  case CG_SUB:
    return cg_fsub(f, a, b);
  case CG_MUL:
    return cg_fmul(f, a, b);
  case CG_DIV:
    return cg_fdiv(f, a, b);
  case CG_REM:
    return LLVMBuildFRem(f->builder, a, b, "");
  case CG_FMA:
    return cg_ffma(f, a, b, c);
  case CG_MIN:
    return cg_fmin(f, a, b);
  case CG_MAX:
    return cg_fmax(f, a, b);
  case CG_NEG:
    return cg_fneg(f, a);
  case CG_ABS:
    return cg_fabs(f, a);
  case CG_FLOOR:
    return cg_ffloor(f, a);
  case CG_SQRT:
    return cg_fsqrt(f, a);
  default:
    return cg_math_call(f, op, a, b);
  }
}

// Division of integers without traps: by 0 gives 0, and the one quotient that overflows wraps.
static LLVMValueRef cg_integer_divide(LLVMBuilderRef b, enum cg_op op, bool is_unsigned,
                                      LLVMValueRef x, LLVMValueRef y) {
  LLVMTypeRef type = LLVMTypeOf(x);
  LLVMValueRef zero = LLVMConstNull(type), all_ones = LLVMConstAllOnes(type);
  LLVMValueRef by_zero = LLVMBuildICmp(b, LLVMIntEQ, y, zero, "");
  LLVMValueRef one = LLVMConstNeg(all_ones);
  LLVMValueRef unsafe = by_zero;
  if (!is_unsigned)
    unsafe = LLVMBuildOr(b, by_zero, LLVMBuildICmp(b, LLVMIntEQ, y, all_ones, ""), "");
  LLVMValueRef divisor = LLVMBuildSelect(b, unsafe, one, y, "");
  if (is_unsigned) {
    LLVMValueRef value =
        op == CG_DIV ? LLVMBuildUDiv(b, x, divisor, "") : LLVMBuildURem(b, x, divisor, "");
    return LLVMBuildSelect(b, by_zero, zero, value, "");
  }
  if (op == CG_REM) // the remainder by -1 is that by 1: 0
    return LLVMBuildSelect(b, by_zero, zero, LLVMBuildSRem(b, x, divisor, ""), "");
  LLVMValueRef quotient = LLVMBuildSDiv(b, x, divisor, "");
  LLVMValueRef by_minus_one = LLVMBuildICmp(b, LLVMIntEQ, y, all_ones, "");
  quotient = LLVMBuildSelect(b, by_minus_one, LLVMBuildNeg(b, x, ""), quotient, "");
  return LLVMBuildSelect(b, by_zero, zero, quotient, "");
}

static LLVMValueRef cg_integer_extreme(LLVMBuilderRef b, enum cg_op op, bool is_unsigned,
                                       LLVMValueRef x, LLVMValueRef y) {
  LLVMIntPredicate greater = is_unsigned ? LLVMIntUGT : LLVMIntSGT;
  LLVMIntPredicate less = is_unsigned ? LLVMIntULT : LLVMIntSLT;
  LLVMValueRef second = LLVMBuildICmp(b, op == CG_MAX ? greater : less, y, x, "");
  return LLVMBuildSelect(b, second, y, x, "");
}

static LLVMValueRef cg_integer_abs(LLVMBuilderRef b, bool is_unsigned, LLVMValueRef x) {
  if (is_unsigned)
    return x;
  LLVMValueRef negative = LLVMBuildICmp(b, LLVMIntSLT, x, LLVMConstNull(LLVMTypeOf(x)), "");
  return LLVMBuildSelect(b, negative, LLVMBuildNeg(b, x, ""), x, "");
}

static LLVMValueRef cg_integer_shift(LLVMBuilderRef b, enum cg_op op, LLVMValueRef x,
                                     LLVMValueRef count, uint32_t bits, uint32_t lanes) {
  LLVMTypeRef type = LLVMTypeOf(x);
  LLVMTypeRef scalar = lanes == 1 ? type : LLVMGetElementType(type);
  LLVMValueRef mask = cg_constant_splat(LLVMConstInt(scalar, bits - 1, false), lanes);
  count = LLVMBuildAnd(b, count, mask, "");
  return op == CG_SHL ? LLVMBuildShl(b, x, count, "") : LLVMBuildLShr(b, x, count, "");
}

static LLVMValueRef cg_integer_value(LLVMBuilderRef b, const struct cg_inst *inst, LLVMValueRef x,
                                     LLVMValueRef y, uint32_t lanes) {
  bool is_unsigned = inst->dtype == DTG_U8 || inst->dtype == DTG_BOOL;
  switch (inst->op) {
  case CG_ADD:
    return LLVMBuildAdd(b, x, y, "");
  case CG_SUB:
    return LLVMBuildSub(b, x, y, "");
  case CG_MUL:
    return LLVMBuildMul(b, x, y, "");
  case CG_DIV:
  case CG_REM:
    return cg_integer_divide(b, inst->op, is_unsigned, x, y);
  case CG_MIN:
  case CG_MAX:
    return cg_integer_extreme(b, inst->op, is_unsigned, x, y);
  case CG_NEG:
    return LLVMBuildNeg(b, x, "");
  case CG_ABS:
    return cg_integer_abs(b, is_unsigned, x);
  case CG_AND:
    return LLVMBuildAnd(b, x, y, "");
  case CG_OR:
    return LLVMBuildOr(b, x, y, "");
  case CG_XOR:
    return LLVMBuildXor(b, x, y, "");
  case CG_NOT:
    return LLVMBuildNot(b, x, "");
  case CG_SHL:
  case CG_SHR:
    return cg_integer_shift(b, inst->op, x, y, (uint32_t)dtg_dtype_size(inst->dtype) * 8, lanes);
  default:
    dtg_bug("%s is not defined for %s", cg_op_name(inst->op), dtg_dtype_name(inst->dtype));
  }
}

static LLVMValueRef cg_compare_value(LLVMBuilderRef b, enum cg_op op, enum dtg_dtype dtype,
                                     LLVMValueRef x, LLVMValueRef y) {
  static const LLVMRealPredicate reals[] = {LLVMRealOEQ, LLVMRealUNE, LLVMRealOLT,
                                            LLVMRealOLE, LLVMRealOGT, LLVMRealOGE};
  static const LLVMIntPredicate signs[] = {LLVMIntEQ,  LLVMIntNE,  LLVMIntSLT,
                                           LLVMIntSLE, LLVMIntSGT, LLVMIntSGE};
  static const LLVMIntPredicate unsigns[] = {LLVMIntEQ,  LLVMIntNE,  LLVMIntULT,
                                             LLVMIntULE, LLVMIntUGT, LLVMIntUGE};
  uint32_t row = (uint32_t)(op - CG_EQ);
  if (dtg_dtype_is_float(dtype))
    return LLVMBuildFCmp(b, reals[row], x, y, "");
  bool is_unsigned = dtype == DTG_U8 || dtype == DTG_BOOL;
  return LLVMBuildICmp(b, is_unsigned ? unsigns[row] : signs[row], x, y, "");
}

LLVMValueRef cg_emit_value(struct cg_emit *emit, uint32_t id, uint32_t vector) {
  const struct cg_inst *inst = &emit->kernel->insts.data[id];
  LLVMBuilderRef b = emit->builder;
  uint32_t lanes = cg_inst_lanes(emit, id);
  LLVMValueRef v[3] = {NULL, NULL, NULL};
  for (uint32_t i = 0; i < 3; i++)
    if (inst->operands[i] != CG_NO_VALUE)
      v[i] = cg_operand_value(emit, inst->operands[i], vector, lanes);
  enum dtg_dtype from = emit->kernel->insts.data[inst->operands[0]].dtype;
  if (inst->op >= CG_EQ && inst->op <= CG_GE)
    return cg_compare_value(b, inst->op, from, v[0], v[1]);
  switch (inst->op) {
  case CG_SELECT:
    return LLVMBuildSelect(b, v[0], v[1], v[2], "");
  case CG_CAST:
    return cg_convert_value(emit, v[0], from, inst->dtype, lanes);
  case CG_BITCAST:
    return LLVMBuildBitCast(b, v[0], cg_vector_of(cg_value_type(emit->module, inst->dtype), lanes),
                            "");
  case CG_PHILOX:
    return cg_philox_emit(emit->module, b, lanes, v[0], v[1], v[2], (uint32_t)inst->u.i);
  default:
    break;
  }
  if (!dtg_dtype_is_float(inst->dtype))
    return cg_integer_value(b, inst, v[0], v[1], lanes);
  struct cg_float f = cg_float_make(emit->module, b, lanes, inst->dtype == DTG_F64);
  return cg_float_value(&f, inst->op, v[0], v[1], v[2]);
}

void cg_emit_inst(struct cg_emit *emit, uint32_t id, uint32_t vector) {
  const struct cg_inst *inst = &emit->kernel->insts.data[id];
  LLVMValueRef value;
  switch (inst->op) {
  case CG_STORE:
    cg_emit_store(emit, id, vector);
    return;
  case CG_ACC_NEW:
    if (vector == 0)
      cg_emit_acc_new(emit, id);
    return;
  case CG_ACC_ADD:
    cg_emit_acc_add(emit, id, vector);
    return;
  case CG_ACC_READ:
    if (vector == 0)
      cg_emit_acc_read(emit, id);
    return;
  case CG_CHECK:
    cg_emit_check(emit, id, vector);
    return;
  case CG_INDEX:
    value = cg_emit_index(emit, id, vector);
    break;
  case CG_LOAD:
    value = cg_emit_load(emit, id, vector);
    break;
  case CG_CONST:
    value = cg_emit_const(emit, inst);
    break;
  default:
    value = cg_emit_value(emit, id, vector);
    break;
  }
  if (emit->varying[id])
    emit->slots[id].lane[vector] = value;
  else
    emit->slots[id].scalar = value;
}
