// The CPU backend: kernel IR to an x86-64 object through LLVM.
//
// A loop kernel becomes `void NAME(char *const *buffers, struct dtr_fault *fault, int64_t begin,
// int64_t end)`, which runs iterations [begin, end) of the parallel loop. Buffers are aligned to 64
// bytes and have no padding: nothing past `elements` is touched. A buffer that may lie on another
// (may_alias) must share its first byte or no byte with it. The objects need libm (fmod, and fma
// where the processor has none).
// Vectors are made here and not by LLVM's vectorisers, so the order of every sum and the bits of
// every element follow from the kernel and cpu_arch alone.
// Ownership: results live in the arena. Thread rule: one thread per arena; calls share nothing.
#ifndef CG_LLVM_LLVM_H
#define CG_LLVM_LLVM_H

#include "codegen/target.h"

#define cg_llvm_output cg_target_output

// "x86-64", "x86-64-v2", "x86-64-v3" or "x86-64-v4": the largest that this machine runs.
const char *cg_llvm_native_arch(void);
// The canonical name of an instruction set ("native" is resolved), or NULL.
const char *cg_llvm_find_arch(const char *name);
// f32 lanes of a vector: 4, 4, 8, 16. The arch must exist.
uint32_t cg_llvm_lanes(const char *cpu_arch);

// One module for all kernels; names must differ. opt_level 0..3 is that of the instruction
// selector. GEMM kernels are skipped.
bool cg_llvm_emit(struct dtg_arena *arena, const struct cg_kernel *const *kernels, size_t count,
                  const char *cpu_arch, int opt_level, struct cg_llvm_output *out,
                  struct dtg_strbuf *why);

#endif
