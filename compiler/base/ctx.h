// The context of one compilation: memory, names, sources, diagnostics.
//
// Ownership: owns all four. Lifetime: one run over one main file; everything that the stages keep
// past their own scratch lives in `arena`. Thread rule: one thread at a time per context; contexts
// share nothing.
#ifndef DTG_BASE_CTX_H
#define DTG_BASE_CTX_H

#include "compiler/base/arena.h"
#include "compiler/base/diag.h"
#include "compiler/base/intern.h"
#include "compiler/base/source.h"

struct dtg_ctx {
  struct dtg_arena arena;
  struct dtg_intern names;
  struct dtg_source_set sources;
  struct dtg_diags diags; // points to `sources`: do not move an initialised context
};

void dtg_ctx_init(struct dtg_ctx *ctx);
void dtg_ctx_free(struct dtg_ctx *ctx);

#endif
