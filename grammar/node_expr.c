#include "grammar/node.h"
#include "grammar/print.h"

#include "compiler/base/strbuf.h"

static struct dtg_ast_expr *new_expr(struct dtg_parser *parser, enum dtg_ast_expr_kind kind,
                                     struct dtg_span span) {
  struct dtg_ast_expr *expr = DTG_NEW(&parser->ctx->arena, struct dtg_ast_expr);
  expr->kind = kind;
  expr->span = span;
  expr->depth = 1;
  return expr;
}

void dtg_report_depth(struct dtg_parser *parser, struct dtg_span span) {
  if (parser->reported_depth)
    return;
  parser->reported_depth = true;
  struct dtg_diag *diag = dtg_error(&parser->ctx->diags, span, "this is nested too deeply");
  dtg_diag_hint(diag, "give parts of it names of their own");
}

// Accounts for `child`. A tree that got too deep is cut off here, so that no later stage recurses
// without bound.
static struct dtg_ast_expr *adopt(struct dtg_parser *parser, struct dtg_ast_expr *parent,
                                  struct dtg_ast_expr *child) {
  if (child->depth >= DTG_AST_MAX_DEPTH) {
    dtg_report_depth(parser, child->span);
    child = new_expr(parser, DTG_EXPR_ERROR, child->span);
  }
  if (parent->depth <= child->depth)
    parent->depth = (uint16_t)(child->depth + 1);
  return child;
}

struct dtg_ast_expr *dtg_node_literal(struct dtg_parser *parser, struct dtg_lexed token) {
  struct dtg_ast_expr *expr = new_expr(parser, DTG_EXPR_INT, token.span);
  switch (token.token) {
  case DTG_TOKEN_FLOAT:
    expr->kind = DTG_EXPR_FLOAT;
    expr->float_value = token.value.float_value;
    break;
  case DTG_TOKEN_STRING:
    expr->kind = DTG_EXPR_STRING;
    expr->string = *token.value.string;
    break;
  case DTG_TOKEN_TRUE:
  case DTG_TOKEN_FALSE:
    expr->kind = DTG_EXPR_BOOL;
    expr->bool_value = token.token == DTG_TOKEN_TRUE;
    break;
  default:
    expr->kind = token.token == DTG_TOKEN_SIZE ? DTG_EXPR_SIZE : DTG_EXPR_INT;
    expr->int_value = token.value.int_value;
    break;
  }
  return expr;
}

struct dtg_ast_expr *dtg_node_name(struct dtg_parser *parser, struct dtg_ast_name name) {
  struct dtg_ast_expr *expr = new_expr(parser, DTG_EXPR_NAME, name.span);
  expr->name = name.text;
  return expr;
}

struct dtg_ast_expr *dtg_node_member(struct dtg_parser *parser, struct dtg_span span,
                                     struct dtg_ast_expr *object, struct dtg_ast_name name) {
  struct dtg_ast_expr *expr = new_expr(parser, DTG_EXPR_MEMBER, span);
  expr->member.object = adopt(parser, expr, object);
  expr->member.name = name;
  return expr;
}

struct dtg_ast_expr *dtg_node_call(struct dtg_parser *parser) {
  return new_expr(parser, DTG_EXPR_CALL, DTG_SPAN_NONE);
}

void dtg_node_add_argument(struct dtg_parser *parser, struct dtg_ast_expr *call,
                           struct dtg_ast_argument argument) {
  argument.value = adopt(parser, call, argument.value);
  size_t count = call->call.arguments.len;
  if (!argument.name.text && count && call->call.arguments.data[count - 1].name.text) {
    struct dtg_diag *diag =
        dtg_error(&parser->ctx->diags, argument.span, "positional argument after a named one");
    dtg_diag_hint(diag, "name it, or move it before `%s = ...`",
                  call->call.arguments.data[count - 1].name.text);
    return;
  }
  dtg_vec_push(&parser->ctx->arena, &call->call.arguments, argument);
}

struct dtg_ast_expr *dtg_node_finish_call(struct dtg_parser *parser, struct dtg_span span,
                                          struct dtg_ast_expr *callee, struct dtg_ast_expr *call) {
  call->span = span;
  call->call.callee = adopt(parser, call, callee);
  return call;
}

struct dtg_ast_expr *dtg_node_subscript(struct dtg_parser *parser) {
  return new_expr(parser, DTG_EXPR_SUBSCRIPT, DTG_SPAN_NONE);
}

void dtg_node_add_part(struct dtg_parser *parser, struct dtg_ast_expr *subscript,
                       struct dtg_ast_subscript_part part) {
  struct dtg_ast_expr **children[] = {&part.index, &part.begin, &part.end, &part.stride};
  for (size_t i = 0; i < 4; i++)
    if (*children[i])
      *children[i] = adopt(parser, subscript, *children[i]);
  dtg_vec_push(&parser->ctx->arena, &subscript->subscript.parts, part);
}

struct dtg_ast_expr *dtg_node_finish_subscript(struct dtg_parser *parser, struct dtg_span span,
                                               struct dtg_ast_expr *object,
                                               struct dtg_ast_expr *subscript) {
  subscript->span = span;
  subscript->subscript.object = adopt(parser, subscript, object);
  return subscript;
}

struct dtg_ast_expr *dtg_node_list(struct dtg_parser *parser) {
  return new_expr(parser, DTG_EXPR_LIST, DTG_SPAN_NONE);
}

void dtg_node_add_element(struct dtg_parser *parser, struct dtg_ast_expr *list,
                          struct dtg_ast_expr *element) {
  element = adopt(parser, list, element);
  dtg_vec_push(&parser->ctx->arena, &list->list.elements, element);
}

struct dtg_ast_expr *dtg_node_unary(struct dtg_parser *parser, struct dtg_span span,
                                    enum dtg_ast_unary_op op, struct dtg_ast_expr *operand) {
  struct dtg_ast_expr *expr = new_expr(parser, DTG_EXPR_UNARY, span);
  expr->unary.op = op;
  expr->unary.operand = adopt(parser, expr, dtg_node_check_labeled(parser, operand));
  return expr;
}

static bool is_comparison(const struct dtg_ast_expr *expr) {
  return expr->kind == DTG_EXPR_BINARY && expr->binary.op >= DTG_BINARY_LT &&
         expr->binary.op <= DTG_BINARY_NE;
}

// The text of `expr` if it is short enough to stand in a hint, else `...`.
static const char *hint_text(struct dtg_parser *parser, const struct dtg_ast_expr *expr) {
  struct dtg_strbuf text = {0};
  if (expr->depth < 20)
    dtg_ast_expr_print(expr, &text);
  bool fits = text.len > 0 && text.len <= 32;
  const char *result = fits ? dtg_arena_strndup(&parser->ctx->arena, text.data, text.len) : "...";
  dtg_strbuf_free(&text);
  return result;
}

static void report_chain(struct dtg_parser *parser, const struct dtg_ast_expr *expr) {
  const struct dtg_ast_expr *left = expr->binary.left;
  struct dtg_diag *diag =
      dtg_error(&parser->ctx->diags, expr->binary.op_span, "comparisons do not chain");
  const char *middle = hint_text(parser, left->binary.right);
  dtg_diag_hint(diag, "write `%s %s %s and %s %s %s`", hint_text(parser, left->binary.left),
                dtg_ast_binary_text(left->binary.op), middle, middle,
                dtg_ast_binary_text(expr->binary.op), hint_text(parser, expr->binary.right));
}

struct dtg_ast_expr *dtg_node_binary(struct dtg_parser *parser, struct dtg_span span,
                                     enum dtg_ast_binary_op op, struct dtg_span op_span,
                                     struct dtg_ast_expr *left, struct dtg_ast_expr *right) {
  struct dtg_ast_expr *expr = new_expr(parser, DTG_EXPR_BINARY, span);
  expr->binary.op = op;
  expr->binary.op_span = op_span;
  expr->binary.left = adopt(parser, expr, dtg_node_check_labeled(parser, left));
  expr->binary.right = adopt(parser, expr, dtg_node_check_labeled(parser, right));
  if (is_comparison(expr) && is_comparison(left) && !left->parenthesized)
    report_chain(parser, expr);
  return expr;
}

struct dtg_ast_expr *dtg_node_if(struct dtg_parser *parser, struct dtg_span span,
                                 struct dtg_ast_expr *condition, struct dtg_ast_expr *then_value,
                                 struct dtg_ast_expr *else_value) {
  struct dtg_ast_expr *expr = new_expr(parser, DTG_EXPR_IF, span);
  expr->if_else.condition = adopt(parser, expr, condition);
  expr->if_else.then_value = adopt(parser, expr, then_value);
  expr->if_else.else_value = adopt(parser, expr, else_value);
  return expr;
}

struct dtg_ast_expr *dtg_node_lambda(struct dtg_parser *parser, struct dtg_span span,
                                     struct dtg_ast_name parameter, struct dtg_ast_expr *body) {
  struct dtg_ast_expr *expr = new_expr(parser, DTG_EXPR_LAMBDA, span);
  expr->lambda.parameter = parameter;
  expr->lambda.body = adopt(parser, expr, body);
  return expr;
}

struct dtg_ast_expr *dtg_node_parenthesized(struct dtg_ast_expr *expr) {
  expr->parenthesized = true;
  return expr;
}

// ---- pipes ----

static bool is_path(const struct dtg_ast_expr *expr) {
  while (expr->kind == DTG_EXPR_MEMBER || expr->kind == DTG_EXPR_SUBSCRIPT)
    expr = expr->kind == DTG_EXPR_MEMBER ? expr->member.object : expr->subscript.object;
  return expr->kind == DTG_EXPR_NAME;
}

// The path without the parentheses around it.
static const char *path_text(struct dtg_parser *parser, const struct dtg_ast_expr *path) {
  struct dtg_ast_expr bare = *path;
  bare.parenthesized = false;
  return hint_text(parser, &bare);
}

static bool is_pipe_target(const struct dtg_ast_expr *expr) {
  if (expr->parenthesized)
    return expr->kind == DTG_EXPR_ERROR;
  switch (expr->kind) {
  case DTG_EXPR_CALL:
  case DTG_EXPR_LABELED:
  case DTG_EXPR_ERROR:
    return true;
  case DTG_EXPR_NAME:
  case DTG_EXPR_MEMBER:
  case DTG_EXPR_SUBSCRIPT:
    return is_path(expr);
  default:
    return false;
  }
}

static void report_pipe_target(struct dtg_parser *parser, const struct dtg_ast_expr *left,
                               const struct dtg_ast_expr *right) {
  struct dtg_diag *diag =
      dtg_error(&parser->ctx->diags, right->span, "the right side of `|>` is one call or name");
  const struct dtg_ast_expr *first = right;
  while (first->kind == DTG_EXPR_BINARY && !first->parenthesized &&
         first->binary.left->kind == DTG_EXPR_BINARY && !first->binary.left->parenthesized)
    first = first->binary.left;
  if (first->kind == DTG_EXPR_BINARY && !first->parenthesized && is_pipe_target(first->binary.left))
    dtg_diag_hint(diag, "put the pipe in parentheses: `(%s |> %s) %s %s`", hint_text(parser, left),
                  hint_text(parser, first->binary.left), dtg_ast_binary_text(first->binary.op),
                  hint_text(parser, first->binary.right));
  else if (right->parenthesized && is_path(right))
    dtg_diag_hint(diag, "leave out the parentheses: `%s`", path_text(parser, right));
  else
    dtg_diag_hint(diag, "call a function there, or give the left side a name and use the name");
}

struct dtg_ast_expr *dtg_node_pipe(struct dtg_parser *parser, struct dtg_span span,
                                   struct dtg_ast_expr *left, struct dtg_ast_expr *right) {
  struct dtg_ast_expr *expr = new_expr(parser, DTG_EXPR_PIPE, span);
  if (!is_pipe_target(right)) {
    report_pipe_target(parser, left, right);
    right = new_expr(parser, DTG_EXPR_ERROR, right->span);
  }
  expr->pipe.left = adopt(parser, expr, left);
  expr->pipe.right = adopt(parser, expr, right);
  return expr;
}

// ---- labels ----

static struct dtg_ast_label *label_of(struct dtg_parser *parser, struct dtg_ast_expr *expr) {
  if (expr->parenthesized)
    return NULL;
  struct dtg_ast_label *label = NULL;
  switch (expr->kind) {
  case DTG_EXPR_NAME:
    return dtg_node_label(parser, (struct dtg_ast_name){expr->name, expr->span});
  case DTG_EXPR_MEMBER:
    label = label_of(parser, expr->member.object);
    if (label)
      dtg_node_label_name(parser, label, expr->span, expr->member.name);
    return label;
  case DTG_EXPR_SUBSCRIPT:
    if (expr->subscript.parts.len != 1 || expr->subscript.parts.data[0].kind != DTG_SUBSCRIPT_INDEX)
      return NULL;
    label = label_of(parser, expr->subscript.object);
    if (label)
      dtg_node_label_index(parser, label, expr->span, expr->subscript.parts.data[0].index);
    return label;
  default:
    return NULL;
  }
}

struct dtg_ast_expr *dtg_node_labeled(struct dtg_parser *parser, struct dtg_span span,
                                      struct dtg_ast_expr *label_expr, struct dtg_ast_expr *value) {
  struct dtg_ast_expr *expr = new_expr(parser, DTG_EXPR_LABELED, span);
  expr->labeled.value = adopt(parser, expr, value);
  adopt(parser, expr, label_expr);
  expr->labeled.label = label_of(parser, label_expr);
  if (expr->labeled.label)
    return expr;
  struct dtg_diag *diag =
      dtg_error(&parser->ctx->diags, label_expr->span, "this cannot be the label of a call");
  dtg_diag_hint(diag, label_expr->kind == DTG_EXPR_LABELED
                          ? "a call has one label"
                          : "a label is a name, with parts `.name` and `[index]`");
  return new_expr(parser, DTG_EXPR_ERROR, span);
}

struct dtg_ast_expr *dtg_node_check_labeled(struct dtg_parser *parser, struct dtg_ast_expr *expr) {
  if (expr->kind != DTG_EXPR_LABELED || expr->parenthesized ||
      expr->labeled.value->kind == DTG_EXPR_CALL)
    return expr;
  struct dtg_diag *diag =
      dtg_error(&parser->ctx->diags, expr->span, "a label stands before a call");
  dtg_diag_hint(diag, "call it: `%s(...)`", hint_text(parser, expr->labeled.value));
  return new_expr(parser, DTG_EXPR_ERROR, expr->span);
}
