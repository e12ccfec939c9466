// dtg_stage STAGE FILE: runs the front of the compiler up to one stage and prints its dump on
// standard output, the diagnostics on standard error. Exit status 1 if there were errors.
// Stages: tokens, ast, ast-spans, fmt, parse (diagnostics alone).
#include "compiler/base/ctx.h"
#include "grammar/parse.h"
#include "grammar/print.h"

#include <stdio.h>
#include <string.h>

static void run_stage(struct dtg_ctx *ctx, const char *stage, uint32_t file,
                      struct dtg_strbuf *out) {
  if (strcmp(stage, "tokens") == 0) {
    dtg_tokens_dump(ctx, file, out);
    return;
  }
  struct dtg_ast_file *ast = dtg_parse(ctx, file);
  if (strcmp(stage, "ast") == 0)
    dtg_ast_dump(ast, false, out);
  else if (strcmp(stage, "ast-spans") == 0)
    dtg_ast_dump(ast, true, out);
  else if (strcmp(stage, "fmt") == 0 && !dtg_diags_failed(&ctx->diags))
    dtg_ast_format(ctx, ast, out);
}

int main(int argc, char **argv) {
  if (argc != 3) {
    fprintf(stderr, "usage: %s tokens|ast|ast-spans|fmt|parse FILE\n", argv[0]);
    return 2;
  }
  struct dtg_ctx ctx;
  dtg_ctx_init(&ctx);
  struct dtg_strbuf out = {0}, messages = {0};
  uint32_t file;
  if (dtg_source_load(&ctx.sources, &ctx.diags, argv[2], DTG_SPAN_NONE, &file))
    run_stage(&ctx, argv[1], file, &out);
  dtg_diags_render(&ctx.diags, &messages);
  fputs(dtg_strbuf_text(&out), stdout);
  fputs(dtg_strbuf_text(&messages), stderr);
  int status = dtg_diags_failed(&ctx.diags) ? 1 : 0;
  dtg_strbuf_free(&out);
  dtg_strbuf_free(&messages);
  dtg_ctx_free(&ctx);
  return status;
}
