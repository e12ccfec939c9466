#include "grammar/node.h"

#include <string.h>

// ---- labels ----

struct dtg_ast_label *dtg_node_label(struct dtg_parser *parser, struct dtg_ast_name name) {
  struct dtg_ast_label *label = DTG_NEW(&parser->ctx->arena, struct dtg_ast_label);
  dtg_node_label_name(parser, label, name.span, name);
  return label;
}

void dtg_node_label_name(struct dtg_parser *parser, struct dtg_ast_label *label,
                         struct dtg_span span, struct dtg_ast_name name) {
  struct dtg_ast_label_part part = {DTG_LABEL_NAME, name.span, name.text, NULL};
  dtg_vec_push(&parser->ctx->arena, &label->parts, part);
  label->span = span;
}

void dtg_node_label_index(struct dtg_parser *parser, struct dtg_ast_label *label,
                          struct dtg_span span, struct dtg_ast_expr *index) {
  struct dtg_ast_label_part part = {DTG_LABEL_INDEX, index->span, NULL, index};
  dtg_vec_push(&parser->ctx->arena, &label->parts, part);
  label->span = span;
}

// ---- statements ----

struct dtg_ast_body *dtg_node_body(struct dtg_parser *parser) {
  return DTG_NEW(&parser->ctx->arena, struct dtg_ast_body);
}

void dtg_node_add_stmt(struct dtg_parser *parser, struct dtg_ast_body *body,
                       struct dtg_ast_stmt *stmt) {
  if (stmt)
    dtg_vec_push(&parser->ctx->arena, &body->stmts, stmt);
}

struct dtg_ast_stmt *dtg_node_stmt(struct dtg_parser *parser, enum dtg_ast_stmt_kind kind,
                                   struct dtg_span span, struct dtg_ast_name name) {
  struct dtg_ast_stmt *stmt = DTG_NEW(&parser->ctx->arena, struct dtg_ast_stmt);
  stmt->kind = kind;
  stmt->span = span;
  stmt->name = name;
  return stmt;
}

struct dtg_ast_stmt *dtg_node_value_stmt(struct dtg_parser *parser, enum dtg_ast_stmt_kind kind,
                                         struct dtg_span span, struct dtg_ast_name name,
                                         struct dtg_ast_expr *value) {
  struct dtg_ast_stmt *stmt = dtg_node_stmt(parser, kind, span, name);
  stmt->value = value;
  return stmt;
}

struct dtg_ast_stmt *dtg_node_assign(struct dtg_parser *parser, struct dtg_span span,
                                     struct dtg_ast_label *label, struct dtg_ast_expr *value) {
  const struct dtg_ast_label_part *first = &label->parts.data[0];
  if (label->parts.len > 1) {
    struct dtg_diag *diag =
        dtg_error(&parser->ctx->diags, label->span, "only a name can be assigned");
    dtg_diag_hint(diag, "tensors are not changed in place: make a new value under a new name");
    return NULL;
  }
  return dtg_node_value_stmt(parser, DTG_STMT_ASSIGN, span,
                             (struct dtg_ast_name){first->name, first->span}, value);
}

struct dtg_ast_stmt *dtg_node_label_stmt(struct dtg_parser *parser, struct dtg_span span,
                                         struct dtg_ast_label *label, struct dtg_ast_expr *call) {
  if (call->kind == DTG_EXPR_ERROR)
    return NULL;
  if (call->kind != DTG_EXPR_CALL || call->parenthesized) {
    struct dtg_diag *diag =
        dtg_error(&parser->ctx->diags, call->span, "a label stands before one call");
    if (label->parts.len == 1)
      dtg_diag_hint(diag,
                    "to name the value, write `%s = ...`; a label can also stand inside the "
                    "expression, before the call",
                    label->parts.data[0].name);
    else
      dtg_diag_hint(diag, "the label can also stand inside an expression, before the call");
    return NULL;
  }
  struct dtg_ast_stmt *stmt = dtg_node_stmt(parser, DTG_STMT_LABEL, span, (struct dtg_ast_name){0});
  stmt->label.label = label;
  stmt->label.call = call;
  return stmt;
}

struct dtg_ast_stmt *dtg_node_declare(struct dtg_parser *parser, enum dtg_ast_stmt_kind kind,
                                      struct dtg_span span, struct dtg_ast_name name,
                                      struct dtg_ast_type *type, struct dtg_ast_expr *initializer) {
  struct dtg_ast_stmt *stmt = dtg_node_stmt(parser, kind, span, name);
  stmt->declare.type = type;
  stmt->declare.initializer = initializer;
  return stmt;
}

static enum dtg_ast_update_by update_rule(struct dtg_parser *parser, struct dtg_ast_name by) {
  static const char *const words[] = {"mean", "sum", "max"};
  if (!by.text)
    return DTG_UPDATE_BY_DEFAULT;
  for (size_t i = 0; i < 3; i++)
    if (strcmp(by.text, words[i]) == 0)
      return (enum dtg_ast_update_by)(DTG_UPDATE_BY_MEAN + i);
  struct dtg_diag *diag =
      dtg_error(&parser->ctx->diags, by.span,
                "an update is combined by `mean`, `sum` or `max`, not by `%s`", by.text);
  const char *near = dtg_suggest(by.text, words, 3);
  if (near)
    dtg_diag_hint(diag, "did you mean `%s`?", near);
  return DTG_UPDATE_BY_DEFAULT;
}

struct dtg_ast_stmt *dtg_node_update(struct dtg_parser *parser, struct dtg_span span,
                                     struct dtg_ast_name name, struct dtg_ast_expr *value,
                                     struct dtg_ast_name by) {
  struct dtg_ast_stmt *stmt = dtg_node_stmt(parser, DTG_STMT_UPDATE, span, name);
  stmt->update.value = value;
  stmt->update.by = update_rule(parser, by);
  return stmt;
}

struct dtg_ast_stmt *dtg_node_for(struct dtg_parser *parser, struct dtg_span span,
                                  struct dtg_ast_name name, struct dtg_ast_expr *first,
                                  struct dtg_ast_expr *end, struct dtg_ast_body *body) {
  struct dtg_ast_stmt *stmt = dtg_node_stmt(parser, DTG_STMT_FOR, span, name);
  stmt->for_in.first = first;
  stmt->for_in.end = end;
  stmt->for_in.body = body;
  return stmt;
}

struct dtg_ast_stmt *dtg_node_if_stmt(struct dtg_parser *parser, struct dtg_span span,
                                      struct dtg_ast_expr *condition,
                                      struct dtg_ast_body *then_body,
                                      struct dtg_ast_body *else_body) {
  struct dtg_ast_stmt *stmt = dtg_node_stmt(parser, DTG_STMT_IF, span, (struct dtg_ast_name){0});
  stmt->if_else.condition = condition;
  stmt->if_else.then_body = then_body;
  stmt->if_else.else_body = else_body;
  // A body in braces begins before its first statement, that of `else if` with it.
  stmt->if_else.is_else_if = else_body && else_body->stmts.len == 1 &&
                             else_body->stmts.data[0]->span.begin == else_body->span.begin;
  return stmt;
}

struct dtg_ast_body *dtg_node_else_if(struct dtg_parser *parser, struct dtg_ast_stmt *inner) {
  struct dtg_ast_body *body = dtg_node_body(parser);
  dtg_node_add_stmt(parser, body, inner);
  body->span = inner->span;
  return body;
}
