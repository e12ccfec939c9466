#include "compiler/base/ctx.h"

void dtg_ctx_init(struct dtg_ctx *ctx) {
  dtg_arena_init(&ctx->arena);
  dtg_intern_init(&ctx->names);
  dtg_source_set_init(&ctx->sources);
  dtg_diags_init(&ctx->diags, &ctx->sources);
}

void dtg_ctx_free(struct dtg_ctx *ctx) {
  dtg_diags_free(&ctx->diags);
  dtg_source_set_free(&ctx->sources);
  dtg_intern_free(&ctx->names);
  dtg_arena_free(&ctx->arena);
}
