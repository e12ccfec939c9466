// State of the printing of one kernel. Private to this folder.
#ifndef CG_CUDA_EMIT_H
#define CG_CUDA_EMIT_H

#include "codegen/cuda/cuda.h"
#include "compiler/base/strbuf.h"

enum cg_cuda_form {
  CG_CUDA_FLAT, // a thread per iteration
  CG_CUDA_ROWS  // lanes per row
};

struct cg_cuda_emit {
  struct dtg_arena *arena;
  const struct cg_kernel *kernel;
  struct dtg_strbuf *out;
  enum cg_cuda_form form;
  uint32_t lanes;          // of a row
  DTG_VEC(uint32_t) chain; // loops that the grid runs, from the root inwards; flat: with the vector
  uint32_t row;            // ROWS: the loop whose body is a row
  bool *across;            // per CG_ACC_NEW: lanes are combined at the read
  bool *written;           // per buffer
  bool *used;              // per instruction: its value, or the index of the loop, is read
  bool has_barriers;       // lanes read what others have written
  bool wide;               // indices need 64 bits
  uint32_t vector;         // the open vector loop, or CG_NO_VALUE
  uint32_t indent;
};

// shape.c: chooses the form, the chain and the lanes.
void cg_cuda_analyse(struct cg_cuda_emit *emit);
// Threads of the kernel: iterations of the chain (flat), or rows.
int64_t cg_cuda_iterations(const struct cg_cuda_emit *emit);

// value.c
const char *cg_cuda_type(enum dtg_dtype dtype);        // of a value
const char *cg_cuda_memory_type(enum dtg_dtype dtype); // of an element
// Appends the statement of one instruction that is no loop.
void cg_cuda_statement(struct cg_cuda_emit *emit, uint32_t id);

// gemm.c
void cg_cuda_gemm(const struct cg_kernel *kernel, struct cg_cuda_shape *shape,
                  struct dtg_strbuf *out);

// kernel.c: the parameters that every kernel begins with.
void cg_cuda_signature(const struct cg_kernel *kernel, uint32_t threads, struct dtg_strbuf *out);
void cg_cuda_line(struct cg_cuda_emit *emit, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
