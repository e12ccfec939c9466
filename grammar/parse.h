// From source text to the syntax tree (stages `tokens` and `ast`).
//
// Ownership: the tree lives in the context. Errors go to the context's diagnostics, several per
// run: after one the parser goes on at the next statement, clause or item. Thread rule: one thread
// at a time per context.
#ifndef DTG_GRAMMAR_PARSE_H
#define DTG_GRAMMAR_PARSE_H

#include "compiler/base/ctx.h"
#include "grammar/ast.h"

// Parses the loaded source `file`. Never NULL: what could not be parsed is missing from the tree.
// The tree is complete if no error was added to ctx->diags.
struct dtg_ast_file *dtg_parse(struct dtg_ctx *ctx, uint32_t file);

#endif
