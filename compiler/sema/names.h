// The resolver of names while it walks a file: names_expr.c the expressions, names.c the rest.
// Private to compiler/sema/.
//
// Ownership and thread rule: those of the context.
#ifndef DTG_SEMA_NAMES_H
#define DTG_SEMA_NAMES_H

#include "compiler/sema/locals.h"

struct dtg_resolver {
  struct dtg_sema *sema;
  struct dtg_scope_file *file;
  enum dtg_ast_item_kind item;
  struct dtg_locals locals;
  DTG_VEC(struct dtg_ast_name) loops;     // variables of the `for` around, outermost first
  uint32_t depth;                         // loops around, `for` and `scan`
  DTG_VEC(struct dtg_ast_name) collected; // by the loops around; the innermost's from here on:
  size_t collected_first;
  DTG_VEC(struct dtg_ast_name) results; // metrics and outputs so far
};

void dtg_resolve_expr(struct dtg_resolver *r, const struct dtg_ast_expr *expr);
void dtg_resolve_label(struct dtg_resolver *r, const struct dtg_ast_label *label);
// The arguments of a call of `symbol` (NULL: not known), whose names are checked against it.
void dtg_resolve_arguments(struct dtg_resolver *r, const struct dtg_ast_expr *call,
                           const struct dtg_symbol *symbol);
// The item that a callee names, or NULL.
struct dtg_symbol *dtg_resolve_callee(struct dtg_resolver *r, const struct dtg_ast_expr *callee);

#endif
