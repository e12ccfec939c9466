// NVRTC, NVIDIA's compiler for CUDA C at run time, loaded when a GPU plan is compiled.
//
// Purpose: dtgc needs no CUDA to be built, and CPU programs none at all. Ownership: an open library
// is closed by cg_nvrtc_close; results live in the caller's arena. Thread rule: after it is open,
// several threads may compile at a time, each with an arena of its own.
#ifndef CG_CUDA_NVRTC_H
#define CG_CUDA_NVRTC_H

#include "compiler/base/arena.h"

#include <stdbool.h>
#include <stddef.h>

struct dtg_strbuf;
struct cg_nvrtc;

struct cg_nvrtc_input {
  const char *text;
  const char *name; // of the source, in messages
  const char *arch; // "sm_90": machine code (a cubin); "compute_90": PTX
};

struct cg_nvrtc_output {
  const void *code;
  size_t size;     // bytes; PTX: without the NUL that follows
  const char *log; // warnings and the reports of ptxas; "" without any
};

// False with a reason in `why`: no library, with the places that were searched.
bool cg_nvrtc_open(struct cg_nvrtc **library, struct dtg_strbuf *why);
void cg_nvrtc_close(struct cg_nvrtc *library);
// "13.0"
const char *cg_nvrtc_version(struct dtg_arena *arena, const struct cg_nvrtc *library);
// Whether "sm_90" or "compute_90" is known; appends the known ones to `known` if not.
bool cg_nvrtc_knows(const struct cg_nvrtc *library, const char *arch, struct dtg_strbuf *known);
// The numbers of the architectures that are known: 75, 80, 90, ... in the caller's arena.
size_t cg_nvrtc_archs(struct dtg_arena *arena, const struct cg_nvrtc *library, const int **archs);
// False with the compiler's messages in `why`.
bool cg_nvrtc_compile(const struct cg_nvrtc *library, struct dtg_arena *arena,
                      const struct cg_nvrtc_input *input, struct cg_nvrtc_output *output,
                      struct dtg_strbuf *why);

#endif
