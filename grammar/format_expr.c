// Expressions over several lines. What fits is put on one line; else lists, calls, pipes and
// operators are broken, one element, argument, stage or operand a line.
#include "grammar/format.h"
#include "grammar/print.h"

#include <stdint.h>
#include <string.h>

static void put_broken(struct dtg_format *format, const struct dtg_ast_expr *expr, size_t reserve);

static bool is_leaf(const struct dtg_ast_expr *expr) {
  return expr->depth == 1 && expr->kind != DTG_EXPR_CALL && expr->kind != DTG_EXPR_LIST;
}

// A pipe of two or more labelled stages is easier read one layer a line.
static bool wants_lines(const struct dtg_ast_expr *expr) {
  size_t labels = 0;
  for (; expr->kind == DTG_EXPR_PIPE; expr = expr->pipe.left)
    labels += expr->pipe.right->kind == DTG_EXPR_LABELED;
  return labels >= 2;
}

// Whether printing `expr` puts out the next comment: whether it lies before a place in the
// expression where a line may end. Other comments must not influence how lines are broken, or
// formatting the result, where they have moved on, would give another one.
static bool takes_comment(struct dtg_format *format, const struct dtg_ast_expr *expr) {
  if (!dtg_format_has_comment_before(format, expr->span.end))
    return false;
  switch (expr->kind) {
  case DTG_EXPR_CALL:
  case DTG_EXPR_LIST:
    return true;
  case DTG_EXPR_PIPE:
    return dtg_format_has_comment_before(format, expr->pipe.right->span.begin) ||
           takes_comment(format, expr->pipe.right);
  case DTG_EXPR_BINARY:
    return takes_comment(format, expr->binary.left) || takes_comment(format, expr->binary.right);
  case DTG_EXPR_IF:
    return takes_comment(format, expr->if_else.condition) ||
           takes_comment(format, expr->if_else.then_value) ||
           takes_comment(format, expr->if_else.else_value);
  case DTG_EXPR_MEMBER:
    return takes_comment(format, expr->member.object);
  case DTG_EXPR_SUBSCRIPT:
    return takes_comment(format, expr->subscript.object);
  case DTG_EXPR_UNARY:
    return takes_comment(format, expr->unary.operand);
  case DTG_EXPR_LAMBDA:
    return takes_comment(format, expr->lambda.body);
  case DTG_EXPR_LABELED:
    return takes_comment(format, expr->labeled.value);
  default:
    return false;
  }
}

static bool put_if_fits(struct dtg_format *format, const struct dtg_ast_expr *expr,
                        enum dtg_level level, size_t reserve) {
  if (takes_comment(format, expr) || wants_lines(expr))
    return false;
  size_t used = dtg_format_column(format) + reserve;
  dtg_strbuf_clear(&format->scratch);
  struct dtg_flat flat = dtg_format_flat(format, &format->scratch);
  // Bytes are no fewer than columns; four bytes a column bound the work for any text.
  if (!is_leaf(expr))
    flat.limit = used < DTG_FMT_COLUMNS ? 4 * (DTG_FMT_COLUMNS - used) : 0;
  dtg_flat_expr(&flat, expr, level);
  size_t columns = 0;
  for (size_t i = 0; i < format->scratch.len; i++)
    columns += (format->scratch.data[i] & 0xc0) != 0x80;
  if (!is_leaf(expr) && (used + columns > DTG_FMT_COLUMNS || format->scratch.len > flat.limit))
    return false;
  dtg_format_puts(format, dtg_strbuf_text(&format->scratch));
  return true;
}

static void put_flat_parts(struct dtg_format *format, const struct dtg_ast_expr *expr) {
  struct dtg_flat flat = dtg_format_flat(format, format->out);
  dtg_flat_subscript_parts(&flat, expr);
}

static void put_arguments(struct dtg_format *format, const struct dtg_ast_expr *call) {
  dtg_format_puts(format, "(");
  format->indent += 2;
  for (size_t i = 0; i < call->call.arguments.len; i++) {
    const struct dtg_ast_argument *argument = &call->call.arguments.data[i];
    dtg_format_newline(format);
    dtg_format_comments_before(format, argument->span.begin);
    if (argument->name.text) {
      dtg_format_puts(format, argument->name.text);
      dtg_format_puts(format, " = ");
    }
    dtg_format_expr(format, argument->value, DTG_LEVEL_ANY, 1);
    dtg_format_puts(format, ",");
    dtg_format_trailing_comment(format, argument->span.end, call->span.end);
  }
  dtg_format_comments_after(format, call->span.end);
  format->indent -= 2;
  dtg_format_newline(format);
  dtg_format_puts(format, ")");
}

static void put_call(struct dtg_format *format, const struct dtg_ast_expr *call) {
  dtg_format_expr(format, call->call.callee, DTG_LEVEL_POSTFIX, 1);
  if (call->call.arguments.len == 0 && !dtg_format_has_comment_before(format, call->span.end))
    dtg_format_puts(format, "()");
  else
    put_arguments(format, call);
}

static void put_list(struct dtg_format *format, const struct dtg_ast_expr *list) {
  if (list->list.elements.len == 0 && !dtg_format_has_comment_before(format, list->span.end)) {
    dtg_format_puts(format, "[]");
    return;
  }
  dtg_format_puts(format, "[");
  format->indent += 2;
  for (size_t i = 0; i < list->list.elements.len; i++) {
    const struct dtg_ast_expr *element = list->list.elements.data[i];
    dtg_format_newline(format);
    dtg_format_comments_before(format, element->span.begin);
    dtg_format_expr(format, element, DTG_LEVEL_ANY, 1);
    dtg_format_puts(format, ",");
    dtg_format_trailing_comment(format, element->span.end, list->span.end);
  }
  dtg_format_comments_after(format, list->span.end);
  format->indent -= 2;
  dtg_format_newline(format);
  dtg_format_puts(format, "]");
}

// Behind a call broken over lines, `) |> next()` goes on in the line of the parenthesis.
static bool is_behind_parenthesis(const struct dtg_format *format) {
  const char *line = format->out->data + format->out->len;
  while (line > format->out->data && line[-1] != '\n')
    line--;
  return line[strspn(line, " ")] == ')';
}

static void put_stage(struct dtg_format *format, const struct dtg_ast_expr *stage) {
  dtg_format_puts(format, "|> ");
  dtg_format_expr(format, stage, DTG_LEVEL_OR, 0);
}

static bool put_stage_behind(struct dtg_format *format, const struct dtg_ast_expr *stage,
                             size_t reserve) {
  if (!is_behind_parenthesis(format) || stage->kind == DTG_EXPR_LABELED ||
      dtg_format_has_comment_before(format, stage->span.begin) || takes_comment(format, stage))
    return false;
  size_t length = format->out->len;
  dtg_format_puts(format, " |> ");
  if (put_if_fits(format, stage, DTG_LEVEL_OR, reserve))
    return true;
  format->out->len = length;
  format->out->data[length] = '\0';
  return false;
}

static void put_pipe(struct dtg_format *format, const struct dtg_ast_expr *pipe, size_t reserve) {
  const struct dtg_ast_expr *left = pipe->pipe.left;
  const struct dtg_ast_expr *stage = pipe->pipe.right;
  if (left->kind == DTG_EXPR_PIPE && !left->parenthesized)
    put_pipe(format, left, 0);
  else
    dtg_format_expr(format, left, DTG_LEVEL_PIPE, 0);
  if (put_stage_behind(format, stage, reserve))
    return;
  format->indent += 2;
  dtg_format_trailing_comment(format, left->span.end, stage->span.begin);
  dtg_format_newline(format);
  dtg_format_comments_before(format, stage->span.begin);
  put_stage(format, stage);
  format->indent -= 2;
}

// `a + b - c`: operands of one level stand below each other, each behind its operator.
static void put_binary(struct dtg_format *format, const struct dtg_ast_expr *expr, size_t reserve) {
  enum dtg_ast_binary_op op = expr->binary.op;
  const struct dtg_ast_expr *left = expr->binary.left;
  bool is_chain = left->kind == DTG_EXPR_BINARY && !left->parenthesized &&
                  dtg_binary_level(left->binary.op) == dtg_binary_level(op) &&
                  dtg_binary_left_level(op) == dtg_binary_level(op);
  if (is_chain)
    put_binary(format, left, 0);
  else
    dtg_format_expr(format, left, dtg_binary_left_level(op), 0);
  format->indent += 2;
  dtg_format_newline(format);
  dtg_format_puts(format, dtg_ast_binary_text(op));
  dtg_format_puts(format, " ");
  dtg_format_expr(format, expr->binary.right, dtg_binary_right_level(op), reserve);
  format->indent -= 2;
}

static void put_if(struct dtg_format *format, const struct dtg_ast_expr *expr, size_t reserve) {
  dtg_format_puts(format, "if ");
  dtg_format_expr(format, expr->if_else.condition, DTG_LEVEL_ANY, 0);
  format->indent += 2;
  dtg_format_newline(format);
  dtg_format_puts(format, "then ");
  dtg_format_expr(format, expr->if_else.then_value, DTG_LEVEL_ANY, 0);
  dtg_format_newline(format);
  dtg_format_puts(format, "else ");
  dtg_format_expr(format, expr->if_else.else_value, DTG_LEVEL_ANY, reserve);
  format->indent -= 2;
}

static void put_member(struct dtg_format *format, const struct dtg_ast_expr *expr) {
  const struct dtg_ast_expr *object = expr->member.object;
  bool extra = dtg_member_needs_parentheses(object) && !object->parenthesized;
  dtg_format_puts(format, extra ? "(" : "");
  dtg_format_expr(format, object, DTG_LEVEL_POSTFIX, 1);
  dtg_format_puts(format, extra ? ")." : ".");
  dtg_format_puts(format, expr->member.name.text);
}

static void put_labeled(struct dtg_format *format, const struct dtg_ast_expr *expr,
                        size_t reserve) {
  struct dtg_flat flat = dtg_format_flat(format, format->out);
  dtg_flat_label(&flat, expr->labeled.label);
  dtg_format_puts(format, ": ");
  dtg_format_expr(format, expr->labeled.value, DTG_LEVEL_ANY, reserve);
}

static void put_broken(struct dtg_format *format, const struct dtg_ast_expr *expr, size_t reserve) {
  switch (expr->kind) {
  case DTG_EXPR_CALL:
    put_call(format, expr);
    break;
  case DTG_EXPR_LIST:
    put_list(format, expr);
    break;
  case DTG_EXPR_PIPE:
    put_pipe(format, expr, reserve);
    break;
  case DTG_EXPR_BINARY:
    put_binary(format, expr, reserve);
    break;
  case DTG_EXPR_IF:
    put_if(format, expr, reserve);
    break;
  case DTG_EXPR_MEMBER:
    put_member(format, expr);
    break;
  case DTG_EXPR_LABELED:
    put_labeled(format, expr, reserve);
    break;
  case DTG_EXPR_SUBSCRIPT:
    dtg_format_expr(format, expr->subscript.object, DTG_LEVEL_POSTFIX, 1);
    put_flat_parts(format, expr);
    break;
  case DTG_EXPR_UNARY:
    dtg_format_puts(format, expr->unary.op == DTG_UNARY_NOT ? "not " : "-");
    dtg_format_expr(format, expr->unary.operand, dtg_expr_level(expr), reserve);
    break;
  case DTG_EXPR_LAMBDA:
    dtg_format_puts(format, expr->lambda.parameter.text);
    dtg_format_puts(format, " -> ");
    dtg_format_expr(format, expr->lambda.body, DTG_LEVEL_ANY, reserve);
    break;
  default: {
    struct dtg_flat flat = dtg_format_flat(format, format->out);
    dtg_flat_expr(&flat, expr, DTG_LEVEL_ANY);
  }
  }
}

void dtg_format_expr(struct dtg_format *format, const struct dtg_ast_expr *expr,
                     enum dtg_level level, size_t reserve) {
  if (put_if_fits(format, expr, level, reserve))
    return;
  if (!dtg_needs_parentheses(expr, level, false)) {
    put_broken(format, expr, reserve);
    return;
  }
  dtg_format_puts(format, "(");
  put_broken(format, expr, reserve + 1);
  dtg_format_puts(format, ")");
}
