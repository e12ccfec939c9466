// Text forms of the syntax tree: the canonical source (`dtgc fmt`) and the dumps of the stages
// `tokens` and `ast`.
//
// The functions append to `out` and change nothing else. Deterministic. Thread rule: that of the
// context.
#ifndef DTG_GRAMMAR_PRINT_H
#define DTG_GRAMMAR_PRINT_H

#include "compiler/base/ctx.h"
#include "compiler/base/strbuf.h"
#include "grammar/ast.h"

#include <stdbool.h>

#define DTG_FMT_COLUMNS 100

// The canonical source text of a tree that was parsed without errors. Comments are kept. Parsing
// the text gives the same tree, and printing that gives the same text. Lines are broken at
// DTG_FMT_COLUMNS where the grammar allows it.
void dtg_ast_format(struct dtg_ctx *ctx, const struct dtg_ast_file *ast, struct dtg_strbuf *out);

// One expression or device on one line, for messages: `dense(out = 10)`, `gpu:1`.
void dtg_ast_expr_print(const struct dtg_ast_expr *expr, struct dtg_strbuf *out);
void dtg_ast_device_print(const struct dtg_ast_device *device, struct dtg_strbuf *out);
const char *dtg_ast_binary_text(enum dtg_ast_binary_op op);

// --emit=ast: the tree as nested lists, with `@begin-end` byte ranges if `with_spans`. Two trees
// are equal when their dumps without spans are.
void dtg_ast_dump(const struct dtg_ast_file *ast, bool with_spans, struct dtg_strbuf *out);

// --emit=tokens: one token a line, `line:column kind text`. Lexical errors go to the diagnostics.
void dtg_tokens_dump(struct dtg_ctx *ctx, uint32_t file, struct dtg_strbuf *out);

#endif
