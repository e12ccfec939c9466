// Compiled kernels for tests: emits an object, links it into a shared object, loads that.
//
// Ownership: cg_compiled_free unloads; the temporary files are gone as soon as they are loaded.
#ifndef TESTS_CODEGEN_LLVM_COMPILED_H
#define TESTS_CODEGEN_LLVM_COMPILED_H

#include "codegen/llvm/llvm.h"
#include "dtr_abi.h"

struct cg_compiled {
  void *handle;
};

// The instruction sets that this machine runs, smallest first, NULL at the end.
const char *const *cg_runnable_archs(void);

struct cg_compiled cg_compile(const struct cg_kernel *const *kernels, size_t count,
                              const char *arch);
dtr_kernel_fn *cg_compiled_find(const struct cg_compiled *compiled, const char *name);
void cg_compiled_free(struct cg_compiled *compiled);

// Memory aligned as the runtime's buffers, with a guard after `size` bytes that cg_guarded_free
// checks.
void *cg_guarded_new(size_t size);
void cg_guarded_free(void *memory, size_t size);

#endif
