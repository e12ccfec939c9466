// Kernel IR as CUDA C: one `__global__` function a kernel, readable, without any header.
//
// Purpose: the text that NVRTC compiles. A kernel's loops become the grid in one of two shapes:
//   flat: every iteration of the outer loops and of the vector loop is a thread;
//   rows: an outer iteration is a row, computed by 1 to 512 neighbouring threads ("lanes"), which
//         share its vector loops and combine accumulators by shuffles and shared memory in a fixed
//         order. So the bits do not depend on how many blocks run at a time.
// Ownership: texts are appended to the caller's buffer, shapes live in the caller's arena. Thread
// rule: pure; one thread per arena.
#ifndef CG_CUDA_H
#define CG_CUDA_H

#include "compiler/ir/kernel.h"

enum { CG_CUDA_BLOCK = 256, CG_CUDA_MAX_LANES = 512 };

// How a kernel is launched.
struct cg_cuda_shape {
  int64_t blocks;            // of the grid, one-dimensional
  uint32_t block_x, block_y; // threads of a block: lanes, rows; flat: block_x alone
};

// Appends the functions that kernels share, once per module, before the first kernel.
void cg_cuda_prelude(struct dtg_strbuf *out);
// Appends one kernel. Arguments: a pointer per buffer in their order, then the fault record (int64
// x 3: code, position, value). False with a reason in `why`: more blocks than a grid takes.
bool cg_cuda_kernel(struct dtg_arena *arena, const struct cg_kernel *kernel,
                    struct cg_cuda_shape *shape, struct dtg_strbuf *out, struct dtg_strbuf *why);
// The whole module.
bool cg_cuda_module(struct dtg_arena *arena, const struct cg_kernel *const *kernels, size_t count,
                    struct cg_cuda_shape *shapes, struct dtg_strbuf *out, struct dtg_strbuf *why);

#endif
