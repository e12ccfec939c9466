// Printing on one line, shared by print.c and the formatter.
//
// Ownership: a dtg_flat borrows its buffer. Printing stops soon after `limit` bytes, so that asking
// whether something fits on a line costs no more than a line. Thread rule: that of the buffer.
#ifndef DTG_GRAMMAR_FLAT_H
#define DTG_GRAMMAR_FLAT_H

#include "compiler/base/strbuf.h"
#include "grammar/ast.h"

#include <stdbool.h>

// How tightly an expression binds; those of the rules in dtg.y.
enum dtg_level {
  DTG_LEVEL_ANY, // lambda, if
  DTG_LEVEL_PIPE,
  DTG_LEVEL_OR,
  DTG_LEVEL_AND,
  DTG_LEVEL_NOT,
  DTG_LEVEL_COMPARISON,
  DTG_LEVEL_SUM,
  DTG_LEVEL_TERM,
  DTG_LEVEL_FACTOR, // unary minus
  DTG_LEVEL_POWER,
  DTG_LEVEL_OPERAND, // a labelled name
  DTG_LEVEL_POSTFIX,
};

struct dtg_flat {
  struct dtg_strbuf *out;
  size_t limit;       // of out->len
  bool in_subscript;  // directly inside `[ ]` of a subscript, where `:` makes a slice
  const char *source; // text of the file, to keep the spelling of numbers; or NULL
};

enum dtg_level dtg_expr_level(const struct dtg_ast_expr *expr);
enum dtg_level dtg_binary_level(enum dtg_ast_binary_op op);
enum dtg_level dtg_binary_left_level(enum dtg_ast_binary_op op);
enum dtg_level dtg_binary_right_level(enum dtg_ast_binary_op op);
bool dtg_needs_parentheses(const struct dtg_ast_expr *expr, enum dtg_level level,
                           bool in_subscript);
// `(1).w`: without them the point would belong to the number.
bool dtg_member_needs_parentheses(const struct dtg_ast_expr *object);

// `level`: what the place asks for at least; parentheses are put around what binds looser.
void dtg_flat_expr(struct dtg_flat *flat, const struct dtg_ast_expr *expr, enum dtg_level level);
void dtg_flat_object(struct dtg_flat *flat, const struct dtg_ast_expr *object);
void dtg_flat_argument(struct dtg_flat *flat, const struct dtg_ast_argument *argument);
void dtg_flat_subscript_parts(struct dtg_flat *flat, const struct dtg_ast_expr *subscript);
void dtg_flat_label(struct dtg_flat *flat, const struct dtg_ast_label *label);
void dtg_flat_string(struct dtg_flat *flat, const struct dtg_ast_string *string);
void dtg_flat_type(struct dtg_flat *flat, const struct dtg_ast_type *type);

#endif
