// The state of the formatter, shared by format.c (files, items, statements) and format_expr.c.
//
// Comments are kept in source order behind a cursor. They are put out at places where a line may
// end: around statements, items, arguments, elements, entries and stages of a pipe. A comment
// anywhere else moves on to the next such place. Ownership: borrows everything but the scratch
// buffer. Thread rule: that of the context.
#ifndef DTG_GRAMMAR_FORMAT_H
#define DTG_GRAMMAR_FORMAT_H

#include "compiler/base/ctx.h"
#include "compiler/base/strbuf.h"
#include "grammar/ast.h"
#include "grammar/flat.h"

struct dtg_format {
  const struct dtg_ast_file *ast;
  const struct dtg_source *source; // NULL for a tree that was not parsed: no comments, no gaps
  struct dtg_strbuf *out;
  struct dtg_strbuf scratch;
  size_t comment;    // cursor into ast->comments
  size_t indent;     // columns of the current block or continuation
  uint32_t last_end; // source offset up to which everything was put out
  bool is_block_start;
};

// ---- format.c ----

// A printer of single lines into `out`.
struct dtg_flat dtg_format_flat(const struct dtg_format *format, struct dtg_strbuf *out);
void dtg_format_puts(struct dtg_format *format, const char *text);
// A line break and the current indentation.
void dtg_format_newline(struct dtg_format *format);
size_t dtg_format_column(const struct dtg_format *format);

// The next comment that no item's documentation holds, or NULL.
const struct dtg_ast_comment *dtg_format_next_comment(struct dtg_format *format);
bool dtg_format_has_comment_before(struct dtg_format *format, uint32_t offset);
// Comments before `offset`, each on a line of its own; begins and ends at the start of a line.
void dtg_format_comments_before(struct dtg_format *format, uint32_t offset);
// The same where the line so far is not empty; ends behind the last comment.
void dtg_format_comments_after(struct dtg_format *format, uint32_t offset);
// A comment behind what ended at `end`, on its line and before `limit`.
void dtg_format_trailing_comment(struct dtg_format *format, uint32_t end, uint32_t limit);

// ---- format_expr.c ----

// `reserve`: columns that must stay free behind the expression.
void dtg_format_expr(struct dtg_format *format, const struct dtg_ast_expr *expr,
                     enum dtg_level level, size_t reserve);

#endif
