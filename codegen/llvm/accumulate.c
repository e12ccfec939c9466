// Accumulators live in stack slots, which become registers later.
//
// A wide one is CG_UNROLL vectors: iteration i of a VECTOR loop goes to vector i / lanes mod
// CG_UNROLL, lane i mod lanes. It is read by a fixed tree: vectors 0+1 and 2+3, their sums, then
// the upper half of the lanes onto the lower until one is left.
#include "codegen/llvm/emit.h"
#include "codegen/llvm/float.h"

struct cg_candidate {
  LLVMValueRef value;
  LLVMValueRef index; // arg kinds, else NULL
};

static const struct cg_inst *cg_acc_inst(const struct cg_emit *emit, uint32_t acc) {
  return &emit->kernel->insts.data[acc];
}

static LLVMValueRef cg_start_value(struct cg_emit *emit, const struct cg_inst *inst) {
  LLVMTypeRef type = cg_value_type(emit->module, inst->dtype);
  bool low = inst->u.accumulate == CG_ACCUMULATE_MAX || inst->u.accumulate == CG_ACCUMULATE_ARGMAX;
  if (inst->u.accumulate == CG_ACCUMULATE_SUM)
    return LLVMConstNull(type);
  if (dtg_dtype_is_float(inst->dtype)) {
    double infinity = low ? -__builtin_inf() : __builtin_inf();
    return LLVMConstReal(type, inst->u.accumulate == CG_ACCUMULATE_PROD ? 1 : infinity);
  }
  if (inst->u.accumulate == CG_ACCUMULATE_PROD)
    return LLVMConstInt(type, 1, false);
  if (inst->dtype == DTG_U8)
    return LLVMConstInt(type, low ? 0 : UINT8_MAX, false);
  uint64_t least = inst->dtype == DTG_I32 ? (uint64_t)1 << 31 : (uint64_t)1 << 63;
  return LLVMConstInt(type, low ? least : least - 1, false);
}

static LLVMValueRef cg_stack_slot(struct cg_emit *emit, LLVMValueRef initial) {
  LLVMValueRef slot = LLVMBuildAlloca(emit->entry_builder, LLVMTypeOf(initial), "");
  LLVMBuildStore(emit->builder, initial, slot);
  return slot;
}

void cg_emit_acc_new(struct cg_emit *emit, uint32_t id) {
  const struct cg_inst *inst = cg_acc_inst(emit, id);
  struct cg_accumulator *acc = &emit->accumulators[id];
  uint32_t lanes = acc->place == CG_PLACE_SCALAR ? 1 : emit->lanes;
  uint32_t count = acc->place == CG_PLACE_SCALAR ? 1
                   : acc->place == CG_PLACE_WIDE ? CG_UNROLL
                                                 : emit->group;
  LLVMValueRef start = cg_constant_splat(cg_start_value(emit, inst), lanes);
  LLVMValueRef index = cg_constant_splat(cg_i64_const(emit, INT64_MAX), lanes);
  for (uint32_t i = 0; i < count; i++) {
    acc->value[i] = cg_stack_slot(emit, start);
    if (cg_accumulate_is_arg(inst->u.accumulate))
      acc->index[i] = cg_stack_slot(emit, index);
  }
}

static LLVMValueRef cg_integer_combine(LLVMBuilderRef b, const struct cg_inst *inst, LLVMValueRef a,
                                       LLVMValueRef v) {
  bool is_unsigned = inst->dtype == DTG_U8;
  LLVMIntPredicate greater = is_unsigned ? LLVMIntUGT : LLVMIntSGT;
  LLVMIntPredicate less = is_unsigned ? LLVMIntULT : LLVMIntSLT;
  switch (inst->u.accumulate) {
  case CG_ACCUMULATE_SUM:
    return LLVMBuildAdd(b, a, v, "");
  case CG_ACCUMULATE_PROD:
    return LLVMBuildMul(b, a, v, "");
  case CG_ACCUMULATE_MAX:
    return LLVMBuildSelect(b, LLVMBuildICmp(b, greater, v, a, ""), v, a, "");
  default:
    return LLVMBuildSelect(b, LLVMBuildICmp(b, less, v, a, ""), v, a, "");
  }
}

static LLVMValueRef cg_float_combine(const struct cg_float *f, enum cg_accumulate kind,
                                     LLVMValueRef a, LLVMValueRef v) {
  switch (kind) {
  case CG_ACCUMULATE_SUM:
    return cg_fadd(f, a, v);
  case CG_ACCUMULATE_PROD:
    return cg_fmul(f, a, v);
  case CG_ACCUMULATE_MAX:
    return cg_fmax(f, a, v);
  default:
    return cg_fmin(f, a, v);
  }
}

// Whether candidate `v` replaces `a`: NaN before numbers, then the better value, then the lower
// index.
static LLVMValueRef cg_beats(LLVMBuilderRef b, const struct cg_inst *inst, struct cg_candidate a,
                             struct cg_candidate v) {
  bool most = inst->u.accumulate == CG_ACCUMULATE_ARGMAX;
  LLVMValueRef earlier = LLVMBuildICmp(b, LLVMIntSLT, v.index, a.index, "");
  if (!dtg_dtype_is_float(inst->dtype)) {
    bool is_unsigned = inst->dtype == DTG_U8;
    LLVMIntPredicate greater = is_unsigned ? LLVMIntUGT : LLVMIntSGT;
    LLVMIntPredicate less = is_unsigned ? LLVMIntULT : LLVMIntSLT;
    LLVMValueRef better = LLVMBuildICmp(b, most ? greater : less, v.value, a.value, "");
    LLVMValueRef equal = LLVMBuildICmp(b, LLVMIntEQ, v.value, a.value, "");
    return LLVMBuildOr(b, better, LLVMBuildAnd(b, equal, earlier, ""), "");
  }
  LLVMValueRef better = LLVMBuildFCmp(b, most ? LLVMRealOGT : LLVMRealOLT, v.value, a.value, "");
  LLVMValueRef equal = LLVMBuildFCmp(b, LLVMRealOEQ, v.value, a.value, "");
  LLVMValueRef new_nan = LLVMBuildFCmp(b, LLVMRealUNO, v.value, v.value, "");
  LLVMValueRef old_nan = LLVMBuildFCmp(b, LLVMRealUNO, a.value, a.value, "");
  LLVMValueRef tie = LLVMBuildOr(b, equal, LLVMBuildAnd(b, new_nan, old_nan, ""), "");
  LLVMValueRef first_nan = LLVMBuildAnd(b, new_nan, LLVMBuildNot(b, old_nan, ""), "");
  LLVMValueRef won = LLVMBuildOr(b, better, first_nan, "");
  return LLVMBuildOr(b, won, LLVMBuildAnd(b, tie, earlier, ""), "");
}

static struct cg_candidate cg_combine(struct cg_emit *emit, const struct cg_inst *inst,
                                      uint32_t lanes, struct cg_candidate a,
                                      struct cg_candidate v) {
  LLVMBuilderRef b = emit->builder;
  if (cg_accumulate_is_arg(inst->u.accumulate)) {
    LLVMValueRef beats = cg_beats(b, inst, a, v);
    return (struct cg_candidate){LLVMBuildSelect(b, beats, v.value, a.value, ""),
                                 LLVMBuildSelect(b, beats, v.index, a.index, "")};
  }
  if (!dtg_dtype_is_float(inst->dtype))
    return (struct cg_candidate){cg_integer_combine(b, inst, a.value, v.value), NULL};
  struct cg_float f = cg_float_make(emit->module, b, lanes, inst->dtype == DTG_F64);
  return (struct cg_candidate){cg_float_combine(&f, inst->u.accumulate, a.value, v.value), NULL};
}

static struct cg_candidate cg_acc_load(struct cg_emit *emit, uint32_t id, uint32_t part,
                                       uint32_t lanes) {
  const struct cg_inst *inst = cg_acc_inst(emit, id);
  const struct cg_accumulator *acc = &emit->accumulators[id];
  LLVMTypeRef type = cg_vector_of(cg_value_type(emit->module, inst->dtype), lanes);
  LLVMTypeRef index = cg_vector_of(cg_value_type(emit->module, DTG_I64), lanes);
  struct cg_candidate now = {LLVMBuildLoad2(emit->builder, type, acc->value[part], ""), NULL};
  if (cg_accumulate_is_arg(inst->u.accumulate))
    now.index = LLVMBuildLoad2(emit->builder, index, acc->index[part], "");
  return now;
}

static void cg_acc_store(struct cg_emit *emit, uint32_t id, uint32_t part,
                         struct cg_candidate now) {
  LLVMBuildStore(emit->builder, now.value, emit->accumulators[id].value[part]);
  if (now.index)
    LLVMBuildStore(emit->builder, now.index, emit->accumulators[id].index[part]);
}

// Combines `v` into part `part` of the accumulator, in the lanes of `mask` (NULL: all).
static void cg_acc_update(struct cg_emit *emit, uint32_t id, uint32_t part, uint32_t lanes,
                          struct cg_candidate v, LLVMValueRef mask) {
  struct cg_candidate old = cg_acc_load(emit, id, part, lanes);
  struct cg_candidate now = cg_combine(emit, cg_acc_inst(emit, id), lanes, old, v);
  if (mask) {
    now.value = LLVMBuildSelect(emit->builder, mask, now.value, old.value, "");
    if (now.index)
      now.index = LLVMBuildSelect(emit->builder, mask, now.index, old.index, "");
  }
  cg_acc_store(emit, id, part, now);
}

// Outside VECTOR loops a wide accumulator takes values into its first lane.
static void cg_acc_update_first(struct cg_emit *emit, uint32_t id, struct cg_candidate v) {
  LLVMBuilderRef b = emit->builder;
  LLVMValueRef zero = cg_i32_const(emit, 0);
  struct cg_candidate all = cg_acc_load(emit, id, 0, emit->lanes);
  struct cg_candidate first = {LLVMBuildExtractElement(b, all.value, zero, ""), NULL};
  if (all.index)
    first.index = LLVMBuildExtractElement(b, all.index, zero, "");
  struct cg_candidate now = cg_combine(emit, cg_acc_inst(emit, id), 1, first, v);
  all.value = LLVMBuildInsertElement(b, all.value, now.value, zero, "");
  if (all.index)
    all.index = LLVMBuildInsertElement(b, all.index, now.index, zero, "");
  cg_acc_store(emit, id, 0, all);
}

// A tail of unknown length: the vector's place among the parts is known at run time.
static void cg_acc_update_tail(struct cg_emit *emit, uint32_t id, struct cg_candidate v) {
  LLVMBuilderRef b = emit->builder;
  for (uint32_t part = 0; part < CG_UNROLL; part++) {
    LLVMValueRef here = LLVMBuildICmp(b, LLVMIntEQ, emit->position, cg_i32_const(emit, part), "");
    LLVMValueRef mask = LLVMBuildAnd(b, emit->mask[0], cg_splat(b, here, emit->lanes), "");
    cg_acc_update(emit, id, part, emit->lanes, v, mask);
  }
}

void cg_emit_acc_add(struct cg_emit *emit, uint32_t id, uint32_t vector) {
  const struct cg_inst *inst = &emit->kernel->insts.data[id];
  uint32_t target = inst->operands[0];
  enum cg_accumulator_place place = emit->accumulators[target].place;
  bool in_vector = emit->vector_loop != CG_NO_VALUE;
  uint32_t lanes = in_vector ? emit->lanes : 1;
  struct cg_candidate v = {cg_operand_value(emit, inst->operands[1], vector, lanes), NULL};
  if (inst->operands[2] != CG_NO_VALUE)
    v.index = cg_operand_value(emit, inst->operands[2], vector, lanes);
  if (place == CG_PLACE_LANES)
    cg_acc_update(emit, target, vector, lanes, v, NULL);
  else if (!in_vector && place == CG_PLACE_WIDE)
    cg_acc_update_first(emit, target, v);
  else if (!in_vector)
    cg_acc_update(emit, target, 0, 1, v, NULL);
  else if (emit->position)
    cg_acc_update_tail(emit, target, v);
  else
    cg_acc_update(emit, target, vector, lanes, v, emit->mask[vector]);
}

static LLVMValueRef cg_half(struct cg_emit *emit, LLVMValueRef value, uint32_t lanes, bool upper) {
  LLVMValueRef picks[CG_MAX_LANES];
  uint32_t half = lanes / 2;
  if (half == 1)
    return LLVMBuildExtractElement(emit->builder, value, cg_i32_const(emit, upper), "");
  for (uint32_t i = 0; i < half; i++)
    picks[i] = cg_i32_const(emit, upper ? half + i : i);
  return LLVMBuildShuffleVector(emit->builder, value, LLVMGetPoison(LLVMTypeOf(value)),
                                LLVMConstVector(picks, half), "");
}

static struct cg_candidate cg_halves(struct cg_emit *emit, struct cg_candidate all, uint32_t lanes,
                                     bool upper) {
  struct cg_candidate part = {cg_half(emit, all.value, lanes, upper), NULL};
  if (all.index)
    part.index = cg_half(emit, all.index, lanes, upper);
  return part;
}

static struct cg_candidate cg_reduce_wide(struct cg_emit *emit, uint32_t id) {
  const struct cg_inst *inst = cg_acc_inst(emit, id);
  struct cg_candidate parts[CG_UNROLL];
  for (uint32_t i = 0; i < CG_UNROLL; i++)
    parts[i] = cg_acc_load(emit, id, i, emit->lanes);
  for (uint32_t width = 1; width < CG_UNROLL; width *= 2)
    for (uint32_t i = 0; i < CG_UNROLL; i += 2 * width)
      parts[i] = cg_combine(emit, inst, emit->lanes, parts[i], parts[i + width]);
  struct cg_candidate all = parts[0];
  for (uint32_t lanes = emit->lanes; lanes > 1; lanes /= 2)
    all = cg_combine(emit, inst, lanes / 2, cg_halves(emit, all, lanes, false),
                     cg_halves(emit, all, lanes, true));
  return all;
}

void cg_emit_acc_read(struct cg_emit *emit, uint32_t id) {
  uint32_t acc = emit->kernel->insts.data[id].operands[0];
  bool arg = cg_accumulate_is_arg(cg_acc_inst(emit, acc)->u.accumulate);
  if (emit->accumulators[acc].place == CG_PLACE_LANES) {
    for (uint32_t i = 0; i < emit->group; i++) {
      struct cg_candidate now = cg_acc_load(emit, acc, i, emit->lanes);
      emit->slots[id].lane[i] = arg ? now.index : now.value;
    }
    return;
  }
  struct cg_candidate now = emit->accumulators[acc].place == CG_PLACE_WIDE
                                ? cg_reduce_wide(emit, acc)
                                : cg_acc_load(emit, acc, 0, 1);
  emit->slots[id].scalar = arg ? now.index : now.value;
}
