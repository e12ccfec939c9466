// Stage 13, bundle: the output folder with the program in it.
//
// Purpose: writes host source, kernels (LLVM IR and object) and plan, and has `cc` compile and
// link the executable.
// Ownership: nothing is kept. Thread rule: one caller per output folder.
#ifndef CG_LINK_LINK_H
#define CG_LINK_LINK_H

#include "compiler/base/ctx.h"

struct cg_link_input {
  const char *folder;
  const char *name;      // of the program
  const char *host_text; // C
  const char *llvm_text; // LLVM IR
  const char *plan_json;
  const void *object; // the kernels; size 0: none
  size_t object_size;
  const char *source_dir;  // folder of the model file relative to `folder`, for data look-up
  const char *include_dir; // holds dtr_abi.h and library.map
  bool library;            // write lib`name`.so too
  const char *runtime;     // path of libdtgrt.a
};

// Creates the folder if it is missing.
bool cg_link_folder(struct dtg_ctx *ctx, const char *folder);
// The folder must exist. False with errors in ctx->diags: folder not writable, disk full, no
// compiler, or its failure.
bool cg_link(struct dtg_ctx *ctx, const struct cg_link_input *input);

#endif
