// Run-time checks: one test per vector, and a rare path that finds the first lane and records it.
#include "codegen/llvm/emit.h"

// void record(ptr fault, i64 code, i64 position, i64 value): keeps the first failure.
static LLVMValueRef cg_record_function(struct cg_emit *emit) {
  struct cg_module *module = emit->module;
  const char *name = "dtg.record_fault";
  LLVMValueRef function = LLVMGetNamedFunction(module->module, name);
  if (function)
    return function;
  LLVMContextRef context = module->context;
  LLVMTypeRef i64 = LLVMInt64TypeInContext(context);
  LLVMTypeRef params[] = {LLVMPointerTypeInContext(context, 0), i64, i64, i64};
  function = cg_module_function(module, name,
                                LLVMFunctionType(LLVMVoidTypeInContext(context), params, 4, false));
  LLVMSetLinkage(function, LLVMInternalLinkage);
  cg_function_flag(module, function, "noinline");
  cg_function_flag(module, function, "cold");
  LLVMBuilderRef b = LLVMCreateBuilderInContext(context);
  LLVMBasicBlockRef entry = LLVMAppendBasicBlockInContext(context, function, "entry");
  LLVMBasicBlockRef first = LLVMAppendBasicBlockInContext(context, function, "first");
  LLVMBasicBlockRef done = LLVMAppendBasicBlockInContext(context, function, "done");
  LLVMPositionBuilderAtEnd(b, entry);
  LLVMValueRef fault = LLVMGetParam(function, 0);
  LLVMValueRef code = LLVMBuildLoad2(b, i64, fault, "");
  LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntEQ, code, LLVMConstNull(i64), ""), first, done);
  LLVMPositionBuilderAtEnd(b, first);
  for (unsigned i = 0; i < 3; i++) {
    LLVMValueRef at = LLVMConstInt(i64, i, false);
    LLVMBuildStore(b, LLVMGetParam(function, i + 1), LLVMBuildGEP2(b, i64, fault, &at, 1, ""));
  }
  LLVMBuildBr(b, done);
  LLVMPositionBuilderAtEnd(b, done);
  LLVMBuildRetVoid(b);
  LLVMDisposeBuilder(b);
  return function;
}

static void cg_record(struct cg_emit *emit, int64_t code, LLVMValueRef position,
                      LLVMValueRef value) {
  LLVMValueRef function = cg_record_function(emit);
  LLVMValueRef args[] = {emit->fault, cg_i64_const(emit, code), position, value};
  LLVMBuildCall2(emit->builder, LLVMGlobalGetValueType(function), function, args, 4, "");
}

// Opens the rare block if `failed`; returns the block after it.
static LLVMBasicBlockRef cg_branch_rare(struct cg_emit *emit, LLVMValueRef failed) {
  LLVMBasicBlockRef rare = cg_new_block(emit, "failed"), after = cg_new_block(emit, "checked");
  LLVMBuildCondBr(emit->builder, failed, rare, after);
  LLVMPositionBuilderAtEnd(emit->builder, rare);
  return after;
}

static void cg_end_rare(struct cg_emit *emit, LLVMBasicBlockRef after) {
  LLVMBuildBr(emit->builder, after);
  LLVMPositionBuilderAtEnd(emit->builder, after);
}

void cg_emit_check(struct cg_emit *emit, uint32_t id, uint32_t vector) {
  const struct cg_inst *inst = &emit->kernel->insts.data[id];
  LLVMBuilderRef b = emit->builder;
  uint32_t lanes = cg_inst_lanes(emit, id);
  LLVMValueRef v[3];
  for (uint32_t i = 0; i < 3; i++)
    v[i] = cg_operand_value(emit, inst->operands[i], vector, lanes);
  LLVMValueRef failed = LLVMBuildNot(b, v[0], "");
  if (lanes == 1) {
    LLVMBasicBlockRef after = cg_branch_rare(emit, failed);
    cg_record(emit, inst->u.i, v[1], v[2]);
    cg_end_rare(emit, after);
    return;
  }
  if (emit->mask[vector])
    failed = LLVMBuildAnd(b, failed, emit->mask[vector], "");
  LLVMTypeRef bits = LLVMIntTypeInContext(emit->module->context, lanes);
  LLVMValueRef set = LLVMBuildBitCast(b, failed, bits, "");
  LLVMBasicBlockRef after =
      cg_branch_rare(emit, LLVMBuildICmp(b, LLVMIntNE, set, LLVMConstNull(bits), ""));
  LLVMValueRef never_zero = LLVMConstInt(LLVMInt1TypeInContext(emit->module->context), 1, false);
  LLVMValueRef args[] = {set, never_zero};
  LLVMValueRef lane = cg_intrinsic(emit->module, b, "llvm.cttz", &bits, 1, args, 2);
  cg_record(emit, inst->u.i, LLVMBuildExtractElement(b, v[1], lane, ""),
            LLVMBuildExtractElement(b, v[2], lane, ""));
  cg_end_rare(emit, after);
}
