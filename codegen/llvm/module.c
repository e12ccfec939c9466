// Instruction sets, modules and the shorthands of module.h.
#include "codegen/llvm/module.h"
#include "codegen/llvm/llvm.h"
#include "compiler/base/bug.h"

#include <stdio.h>
#include <string.h>

static const struct cg_arch cg_archs[] = {
    {"x86-64", 128, false, false},
    {"x86-64-v2", 128, false, true},
    {"x86-64-v3", 256, true, true},
    {"x86-64-v4", 512, true, true},
};

const char *cg_llvm_native_arch(void) {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("x86-64-v4"))
    return "x86-64-v4";
  if (__builtin_cpu_supports("x86-64-v3"))
    return "x86-64-v3";
  if (__builtin_cpu_supports("x86-64-v2"))
    return "x86-64-v2";
#endif
  return "x86-64";
}

const struct cg_arch *cg_arch_find(const char *name) {
  if (strcmp(name, "native") == 0)
    name = cg_llvm_native_arch();
  for (size_t i = 0; i < sizeof cg_archs / sizeof *cg_archs; i++)
    if (strcmp(cg_archs[i].name, name) == 0)
      return &cg_archs[i];
  return NULL;
}

const char *cg_llvm_find_arch(const char *name) {
  const struct cg_arch *arch = cg_arch_find(name);
  return arch ? arch->name : NULL;
}

uint32_t cg_llvm_lanes(const char *cpu_arch) {
  const struct cg_arch *arch = cg_arch_find(cpu_arch);
  DTG_ASSERT(arch);
  return arch->vector_bits / 32;
}

static void cg_function_attribute(struct cg_module *module, LLVMValueRef function, const char *key,
                                  const char *value) {
  LLVMAttributeRef attribute = LLVMCreateStringAttribute(
      module->context, key, (unsigned)strlen(key), value, (unsigned)strlen(value));
  LLVMAddAttributeAtIndex(function, (LLVMAttributeIndex)LLVMAttributeFunctionIndex, attribute);
}

void cg_function_flag(struct cg_module *module, LLVMValueRef function, const char *attribute) {
  unsigned kind = LLVMGetEnumAttributeKindForName(attribute, strlen(attribute));
  LLVMAddAttributeAtIndex(function, (LLVMAttributeIndex)LLVMAttributeFunctionIndex,
                          LLVMCreateEnumAttribute(module->context, kind, 0));
}

LLVMValueRef cg_module_function(struct cg_module *module, const char *name, LLVMTypeRef type) {
  LLVMValueRef function = LLVMAddFunction(module->module, name, type);
  char bits[16];
  snprintf(bits, sizeof bits, "%u", module->arch->vector_bits);
  cg_function_attribute(module, function, "target-cpu", module->arch->name);
  // x86-64-v4 would otherwise be held to half of its vectors.
  cg_function_attribute(module, function, "prefer-vector-width", bits);
  cg_function_attribute(module, function, "min-legal-vector-width", bits);
  cg_function_flag(module, function, "nounwind");
  return function;
}

LLVMValueRef cg_intrinsic(struct cg_module *module, LLVMBuilderRef builder, const char *name,
                          LLVMTypeRef *types, uint32_t type_count, LLVMValueRef *args,
                          uint32_t arg_count) {
  unsigned id = LLVMLookupIntrinsicID(name, strlen(name));
  if (id == 0)
    dtg_bug("no intrinsic %s", name);
  LLVMValueRef function = LLVMGetIntrinsicDeclaration(module->module, id, types, type_count);
  LLVMTypeRef type = LLVMIntrinsicGetType(module->context, id, types, type_count);
  return LLVMBuildCall2(builder, type, function, args, arg_count, "");
}

LLVMTypeRef cg_vector_of(LLVMTypeRef scalar, uint32_t lanes) {
  return lanes == 1 ? scalar : LLVMVectorType(scalar, lanes);
}

LLVMValueRef cg_constant_splat(LLVMValueRef scalar, uint32_t lanes) {
  LLVMValueRef values[CG_MAX_LANES];
  if (lanes == 1)
    return scalar;
  for (uint32_t i = 0; i < lanes; i++)
    values[i] = scalar;
  return LLVMConstVector(values, lanes);
}

LLVMValueRef cg_splat(LLVMBuilderRef builder, LLVMValueRef scalar, uint32_t lanes) {
  if (lanes == 1)
    return scalar;
  if (LLVMIsConstant(scalar))
    return cg_constant_splat(scalar, lanes);
  LLVMTypeRef type = LLVMVectorType(LLVMTypeOf(scalar), lanes);
  LLVMTypeRef index = LLVMInt32TypeInContext(LLVMGetTypeContext(type));
  LLVMValueRef first =
      LLVMBuildInsertElement(builder, LLVMGetPoison(type), scalar, LLVMConstNull(index), "");
  return LLVMBuildShuffleVector(builder, first, LLVMGetPoison(type),
                                LLVMConstNull(LLVMVectorType(index, lanes)), "");
}
