// A target: turns loop kernels into an object.
//
// Purpose: what the driver knows of a backend. A backend sees kernel IR, never an op. Ownership:
// results live in the caller's arena. Thread rule: calls share nothing; one thread per arena.
#ifndef CG_TARGET_H
#define CG_TARGET_H

#include "compiler/ir/kernel.h"

#include <stddef.h>

struct dtg_arena;
struct dtg_strbuf;

struct cg_target_output {
  const void *object; // relocatable, position independent
  size_t object_size; // bytes
  const char *text;   // the backend's own form, as compiled
};

struct cg_target {
  const char *name; // "cpu"
  // The canonical name of an instruction set ("native" included), NULL if there is none such.
  const char *(*find_arch)(const char *name);
  // Loop kernels become functions of the type dtr_kernel_fn; GEMM kernels give no code. The same
  // inputs give the same bytes. False with a reason in `why` for an unknown instruction set or a
  // kernel that is not valid.
  bool (*emit)(struct dtg_arena *arena, const struct cg_kernel *const *kernels, size_t count,
               const char *arch, int opt_level, struct cg_target_output *out,
               struct dtg_strbuf *why);
};

extern const struct cg_target cg_target_cpu;

#endif
