#include "tests/fuzz/fuzz_parse.h"

#include "compiler/base/bug.h"
#include "compiler/base/ctx.h"
#include "grammar/parse.h"
#include "grammar/print.h"

#include <string.h>

static struct dtg_ast_file *parse_text(struct dtg_ctx *ctx, const char *text, size_t size) {
  uint32_t file;
  if (!dtg_source_add(&ctx->sources, &ctx->diags, "fuzz.dtg", text, size, &file))
    return NULL;
  struct dtg_strbuf tokens = {0};
  dtg_tokens_dump(ctx, file, &tokens);
  dtg_strbuf_free(&tokens);
  return dtg_parse(ctx, file);
}

static void check_format(struct dtg_ctx *ctx, const struct dtg_ast_file *ast) {
  struct dtg_strbuf text = {0}, again = {0}, tree = {0}, tree_again = {0};
  dtg_ast_format(ctx, ast, &text);
  struct dtg_ast_file *second = parse_text(ctx, dtg_strbuf_text(&text), text.len);
  if (dtg_diags_failed(&ctx->diags))
    dtg_bug("formatted text does not parse:\n%s", dtg_strbuf_text(&text));
  dtg_ast_dump(ast, false, &tree);
  dtg_ast_dump(second, false, &tree_again);
  if (strcmp(dtg_strbuf_text(&tree), dtg_strbuf_text(&tree_again)) != 0)
    dtg_bug("formatting changed the tree:\n%s", dtg_strbuf_text(&text));
  if (ast->comments.len != second->comments.len)
    dtg_bug("formatting lost a comment:\n%s\n%s", dtg_source_get(&ctx->sources, ast->file)->text,
            dtg_strbuf_text(&text));
  dtg_ast_format(ctx, second, &again);
  if (strcmp(dtg_strbuf_text(&text), dtg_strbuf_text(&again)) != 0)
    dtg_bug("formatting twice differs:\n%s\n%s", dtg_strbuf_text(&text), dtg_strbuf_text(&again));
  dtg_strbuf_free(&text);
  dtg_strbuf_free(&again);
  dtg_strbuf_free(&tree);
  dtg_strbuf_free(&tree_again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct dtg_ctx ctx;
  dtg_ctx_init(&ctx);
  struct dtg_ast_file *ast = parse_text(&ctx, (const char *)data, size);
  struct dtg_strbuf out = {0};
  if (ast)
    dtg_ast_dump(ast, true, &out);
  if (ast && !dtg_diags_failed(&ctx.diags))
    check_format(&ctx, ast);
  dtg_diags_render(&ctx.diags, &out);
  dtg_strbuf_free(&out);
  dtg_ctx_free(&ctx);
  return 0;
}
