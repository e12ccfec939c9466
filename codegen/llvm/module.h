// One LLVM module under construction, and shorthands to build values in it. Private to this folder.
//
// Ownership: the module owns its LLVM objects until cg_module_free. Thread rule: one thread.
#ifndef CG_LLVM_MODULE_H
#define CG_LLVM_MODULE_H

#include <llvm-c/Core.h>
#include <llvm-c/TargetMachine.h>

#include <stdbool.h>
#include <stdint.h>

enum { CG_MAX_LANES = 16 };

struct cg_arch {
  const char *name;
  uint32_t vector_bits;
  bool has_fma;
  bool has_round; // SSE4.1
};

struct cg_module {
  LLVMContextRef context;
  LLVMModuleRef module;
  LLVMTargetMachineRef machine;
  const struct cg_arch *arch;
};

const struct cg_arch *cg_arch_find(const char *name);

// A function of this module with the attributes that all of them share.
LLVMValueRef cg_module_function(struct cg_module *module, const char *name, LLVMTypeRef type);
void cg_function_flag(struct cg_module *module, LLVMValueRef function, const char *attribute);
// Calls an intrinsic, overloaded by `types`.
LLVMValueRef cg_intrinsic(struct cg_module *module, LLVMBuilderRef builder, const char *name,
                          LLVMTypeRef *types, uint32_t type_count, LLVMValueRef *args,
                          uint32_t arg_count);

// `lanes` 1: the scalar itself.
LLVMTypeRef cg_vector_of(LLVMTypeRef scalar, uint32_t lanes);
LLVMValueRef cg_constant_splat(LLVMValueRef scalar, uint32_t lanes);
LLVMValueRef cg_splat(LLVMBuilderRef builder, LLVMValueRef scalar, uint32_t lanes);

#endif
