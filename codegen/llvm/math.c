// The table of math functions: finds or builds the one for a type and width.
#include "codegen/llvm/math.h"
#include "compiler/base/bug.h"

#include <stdio.h>

struct cg_math_row {
  enum cg_op op;
  bool inlined; // short enough to be copied into loops
  LLVMValueRef (*unary)(const struct cg_float *f, LLVMValueRef x);
  LLVMValueRef (*binary)(const struct cg_float *f, LLVMValueRef x, LLVMValueRef y);
};

static const struct cg_math_row cg_math_rows[] = {
    {CG_EXP, true, cg_math_exp, NULL},     {CG_LOG, true, cg_math_log, NULL},
    {CG_TANH, true, cg_math_tanh, NULL},   {CG_SIGMOID, true, cg_math_sigmoid, NULL},
    {CG_ERF, true, cg_math_erf, NULL},     {CG_SIN, false, cg_math_sin, NULL},
    {CG_COS, false, cg_math_cos, NULL},    {CG_POW, false, NULL, cg_math_pow},
    {CG_LOG1P, true, cg_math_log1p, NULL}, {CG_EXPM1, true, cg_math_expm1, NULL},
};

static const struct cg_math_row *cg_math_find(enum cg_op op) {
  for (size_t i = 0; i < sizeof cg_math_rows / sizeof *cg_math_rows; i++)
    if (cg_math_rows[i].op == op)
      return &cg_math_rows[i];
  dtg_bug("%s is no math function", cg_op_name(op));
}

static LLVMValueRef cg_math_build(const struct cg_float *caller, const struct cg_math_row *row,
                                  const char *name) {
  struct cg_module *module = caller->module;
  LLVMTypeRef params[] = {caller->type, caller->type};
  uint32_t count = row->binary ? 2 : 1;
  LLVMTypeRef type = LLVMFunctionType(caller->type, params, count, false);
  LLVMValueRef function = cg_module_function(module, name, type);
  LLVMSetLinkage(function, LLVMInternalLinkage);
  cg_function_flag(module, function, row->inlined ? "alwaysinline" : "noinline");
  LLVMBuilderRef builder = LLVMCreateBuilderInContext(module->context);
  LLVMPositionBuilderAtEnd(builder,
                           LLVMAppendBasicBlockInContext(module->context, function, "entry"));
  struct cg_float f = cg_float_make(module, builder, caller->lanes, caller->wide);
  LLVMValueRef x = LLVMGetParam(function, 0);
  LLVMBuildRet(builder,
               row->binary ? row->binary(&f, x, LLVMGetParam(function, 1)) : row->unary(&f, x));
  LLVMDisposeBuilder(builder);
  return function;
}

LLVMValueRef cg_math_call(const struct cg_float *f, enum cg_op op, LLVMValueRef a, LLVMValueRef b) {
  const struct cg_math_row *row = cg_math_find(op);
  char name[48];
  snprintf(name, sizeof name, "dtg.%s.%sx%u", cg_op_name(op), f->wide ? "f64" : "f32", f->lanes);
  LLVMValueRef function = LLVMGetNamedFunction(f->module->module, name);
  if (!function)
    function = cg_math_build(f, row, name);
  LLVMValueRef args[] = {a, b};
  return LLVMBuildCall2(f->builder, LLVMGlobalGetValueType(function), function, args,
                        row->binary ? 2 : 1, "");
}
