#include "grammar/parse.h"

#include "compiler/base/strbuf.h"
#include "grammar/parser.h"

#include <string.h>

static bool is_doc(const struct dtg_lexer *lexer, const struct dtg_ast_comment *comment) {
  const char *text = lexer->source->text + comment->span.begin;
  return comment->is_own_line && text[1] == '#' && text[2] != '#';
}

static uint32_t line_at(const struct dtg_lexer *lexer, uint32_t offset) {
  return dtg_source_position(&lexer->ctx->sources, lexer->file, offset).line;
}

// The `##` lines right above the item, which are among the comments [begin, end).
static void attach_doc(struct dtg_lexer *lexer, struct dtg_ast_item *item, size_t begin,
                       size_t end) {
  struct dtg_ast_comment *comments = lexer->comments.data;
  uint32_t line = line_at(lexer, item->span.begin);
  size_t first = end;
  while (first > begin && is_doc(lexer, &comments[first - 1]) &&
         line_at(lexer, comments[first - 1].span.begin) + 1 == line) {
    first--;
    line--;
  }
  if (first == end)
    return;
  struct dtg_strbuf doc = {0};
  for (size_t i = first; i < end; i++) {
    const char *text = lexer->source->text + comments[i].span.begin + 2;
    size_t size = comments[i].span.end - comments[i].span.begin - 2;
    size_t blank = size && text[0] == ' ';
    if (i > first)
      dtg_strbuf_putc(&doc, '\n');
    dtg_strbuf_write(&doc, text + blank, size - blank);
    comments[i].is_doc = true;
  }
  item->doc = dtg_arena_strdup(&lexer->ctx->arena, dtg_strbuf_text(&doc));
  dtg_strbuf_free(&doc);
}

static void attach_docs(struct dtg_lexer *lexer, struct dtg_ast_file *ast) {
  size_t comment = 0;
  for (size_t i = 0; i < ast->items.len; i++) {
    struct dtg_ast_item *item = ast->items.data[i];
    size_t begin = comment;
    while (comment < lexer->comments.len &&
           lexer->comments.data[comment].span.begin < item->span.begin)
      comment++;
    attach_doc(lexer, item, begin, comment);
  }
}

struct dtg_ast_file *dtg_parse(struct dtg_ctx *ctx, uint32_t file) {
  struct dtg_parser *parser = DTG_NEW(&ctx->arena, struct dtg_parser);
  parser->ctx = ctx;
  parser->ast = DTG_NEW(&ctx->arena, struct dtg_ast_file);
  parser->ast->file = file;
  dtg_lexer_init(&parser->lexer, ctx, file);
  parser->ast->span = (struct dtg_span){file, 0, (uint32_t)parser->lexer.source->size};
  dtg_bison_parse(parser);
  attach_docs(&parser->lexer, parser->ast);
  DTG_MOVE_VEC(parser->ast->comments, parser->lexer.comments);
  dtg_lexer_free(&parser->lexer);
  return parser->ast;
}
