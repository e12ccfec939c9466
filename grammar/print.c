// One-line printing of parts of a tree, with the parentheses that the grammar needs.
#include "grammar/print.h"
#include "grammar/flat.h"

#include <string.h>

static const char *const binary_texts[] = {
    [DTG_BINARY_OR] = "or", [DTG_BINARY_AND] = "and",  [DTG_BINARY_LT] = "<",
    [DTG_BINARY_LE] = "<=", [DTG_BINARY_GT] = ">",     [DTG_BINARY_GE] = ">=",
    [DTG_BINARY_EQ] = "==", [DTG_BINARY_NE] = "!=",    [DTG_BINARY_ADD] = "+",
    [DTG_BINARY_SUB] = "-", [DTG_BINARY_MUL] = "*",    [DTG_BINARY_DIV] = "/",
    [DTG_BINARY_MOD] = "%", [DTG_BINARY_MATMUL] = "@", [DTG_BINARY_POW] = "**",
};

const char *dtg_ast_binary_text(enum dtg_ast_binary_op op) {
  return binary_texts[op];
}

enum dtg_level dtg_binary_level(enum dtg_ast_binary_op op) {
  switch (op) {
  case DTG_BINARY_OR:
    return DTG_LEVEL_OR;
  case DTG_BINARY_AND:
    return DTG_LEVEL_AND;
  case DTG_BINARY_ADD:
  case DTG_BINARY_SUB:
    return DTG_LEVEL_SUM;
  case DTG_BINARY_MUL:
  case DTG_BINARY_DIV:
  case DTG_BINARY_MOD:
  case DTG_BINARY_MATMUL:
    return DTG_LEVEL_TERM;
  case DTG_BINARY_POW:
    return DTG_LEVEL_POWER;
  default:
    return DTG_LEVEL_COMPARISON;
  }
}

enum dtg_level dtg_binary_left_level(enum dtg_ast_binary_op op) {
  enum dtg_level level = dtg_binary_level(op);
  if (level == DTG_LEVEL_COMPARISON)
    return DTG_LEVEL_SUM; // no chains
  return level == DTG_LEVEL_POWER ? DTG_LEVEL_OPERAND : level;
}

enum dtg_level dtg_binary_right_level(enum dtg_ast_binary_op op) {
  enum dtg_level level = dtg_binary_level(op);
  return level == DTG_LEVEL_POWER ? DTG_LEVEL_FACTOR : level + 1;
}

enum dtg_level dtg_expr_level(const struct dtg_ast_expr *expr) {
  switch (expr->kind) {
  case DTG_EXPR_LAMBDA:
  case DTG_EXPR_IF:
    return DTG_LEVEL_ANY;
  case DTG_EXPR_PIPE:
    return DTG_LEVEL_PIPE;
  case DTG_EXPR_UNARY:
    return expr->unary.op == DTG_UNARY_NOT ? DTG_LEVEL_NOT : DTG_LEVEL_FACTOR;
  case DTG_EXPR_BINARY:
    return dtg_binary_level(expr->binary.op);
  case DTG_EXPR_LABELED:
    return expr->labeled.value->kind == DTG_EXPR_CALL ? DTG_LEVEL_POSTFIX : DTG_LEVEL_OPERAND;
  default:
    return DTG_LEVEL_POSTFIX;
  }
}

bool dtg_needs_parentheses(const struct dtg_ast_expr *expr, enum dtg_level level,
                           bool in_subscript) {
  bool has_label = expr->kind == DTG_EXPR_LABELED ||
                   (expr->kind == DTG_EXPR_PIPE && expr->pipe.right->kind == DTG_EXPR_LABELED);
  return expr->parenthesized || dtg_expr_level(expr) < level || (in_subscript && has_label);
}

bool dtg_member_needs_parentheses(const struct dtg_ast_expr *object) {
  return object->kind == DTG_EXPR_INT || object->kind == DTG_EXPR_FLOAT ||
         object->kind == DTG_EXPR_SIZE;
}

static bool is_full(const struct dtg_flat *flat) {
  return flat->out->len > flat->limit;
}

static void put(struct dtg_flat *flat, const char *text) {
  dtg_strbuf_puts(flat->out, text);
}

static void put_size(struct dtg_flat *flat, int64_t bytes) {
  static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  size_t unit = 0;
  while (unit < 4 && bytes && bytes % 1024 == 0) {
    bytes /= 1024;
    unit++;
  }
  dtg_strbuf_printf(flat->out, "%lld%s", (long long)bytes, units[unit]);
}

static void put_string_text(struct dtg_strbuf *out, const char *text) {
  for (; *text; text++) {
    switch (*text) {
    case '\n':
      dtg_strbuf_puts(out, "\\n");
      break;
    case '\t':
      dtg_strbuf_puts(out, "\\t");
      break;
    case '\r':
      dtg_strbuf_puts(out, "\\r");
      break;
    case '"':
      dtg_strbuf_puts(out, "\\\"");
      break;
    case '\\':
      dtg_strbuf_puts(out, "\\\\");
      break;
    case '$':
      dtg_strbuf_puts(out, text[1] == '{' ? "\\$" : "$");
      break;
    default:
      dtg_strbuf_putc(out, *text);
    }
  }
}

void dtg_flat_string(struct dtg_flat *flat, const struct dtg_ast_string *string) {
  put(flat, "\"");
  for (size_t i = 0; i < string->parts.len; i++) {
    if (string->parts.data[i].is_name)
      dtg_strbuf_printf(flat->out, "${%s}", string->parts.data[i].text);
    else
      put_string_text(flat->out, string->parts.data[i].text);
  }
  put(flat, "\"");
}

void dtg_flat_label(struct dtg_flat *flat, const struct dtg_ast_label *label) {
  for (size_t i = 0; i < label->parts.len; i++) {
    const struct dtg_ast_label_part *part = &label->parts.data[i];
    if (part->kind == DTG_LABEL_NAME) {
      dtg_strbuf_printf(flat->out, "%s%s", i ? "." : "", part->name);
      continue;
    }
    bool outer = flat->in_subscript;
    flat->in_subscript = true;
    put(flat, "[");
    dtg_flat_expr(flat, part->index, DTG_LEVEL_ANY);
    put(flat, "]");
    flat->in_subscript = outer;
  }
}

static void put_arguments(struct dtg_flat *flat, const struct dtg_ast_expr *call) {
  put(flat, "(");
  for (size_t i = 0; i < call->call.arguments.len && !is_full(flat); i++) {
    if (i)
      put(flat, ", ");
    dtg_flat_argument(flat, &call->call.arguments.data[i]);
  }
  put(flat, ")");
}

void dtg_flat_argument(struct dtg_flat *flat, const struct dtg_ast_argument *argument) {
  bool outer = flat->in_subscript;
  flat->in_subscript = false;
  if (argument->name.text)
    dtg_strbuf_printf(flat->out, "%s = ", argument->name.text);
  dtg_flat_expr(flat, argument->value, DTG_LEVEL_ANY);
  flat->in_subscript = outer;
}

static void put_subscript_part(struct dtg_flat *flat, const struct dtg_ast_subscript_part *part) {
  switch (part->kind) {
  case DTG_SUBSCRIPT_INDEX:
    dtg_flat_expr(flat, part->index, DTG_LEVEL_ANY);
    break;
  case DTG_SUBSCRIPT_ELLIPSIS:
    put(flat, "...");
    break;
  case DTG_SUBSCRIPT_SLICE:
    if (part->begin)
      dtg_flat_expr(flat, part->begin, DTG_LEVEL_SUM);
    put(flat, ":");
    if (part->end)
      dtg_flat_expr(flat, part->end, DTG_LEVEL_SUM);
    if (part->stride) {
      put(flat, ":");
      dtg_flat_expr(flat, part->stride, DTG_LEVEL_SUM);
    }
    break;
  }
}

void dtg_flat_subscript_parts(struct dtg_flat *flat, const struct dtg_ast_expr *subscript) {
  bool outer = flat->in_subscript;
  flat->in_subscript = true;
  put(flat, "[");
  for (size_t i = 0; i < subscript->subscript.parts.len && !is_full(flat); i++) {
    if (i)
      put(flat, ", ");
    put_subscript_part(flat, &subscript->subscript.parts.data[i]);
  }
  put(flat, "]");
  flat->in_subscript = outer;
}

static void put_list(struct dtg_flat *flat, const struct dtg_ast_expr *list) {
  bool outer = flat->in_subscript;
  flat->in_subscript = false;
  put(flat, "[");
  for (size_t i = 0; i < list->list.elements.len && !is_full(flat); i++) {
    if (i)
      put(flat, ", ");
    dtg_flat_expr(flat, list->list.elements.data[i], DTG_LEVEL_ANY);
  }
  put(flat, "]");
  flat->in_subscript = outer;
}

static void put_binary(struct dtg_flat *flat, const struct dtg_ast_expr *expr) {
  enum dtg_ast_binary_op op = expr->binary.op;
  dtg_flat_expr(flat, expr->binary.left, dtg_binary_left_level(op));
  dtg_strbuf_printf(flat->out, " %s ", dtg_ast_binary_text(op));
  dtg_flat_expr(flat, expr->binary.right, dtg_binary_right_level(op));
}

static void put_if(struct dtg_flat *flat, const struct dtg_ast_expr *expr) {
  put(flat, "if ");
  dtg_flat_expr(flat, expr->if_else.condition, DTG_LEVEL_ANY);
  put(flat, " then ");
  dtg_flat_expr(flat, expr->if_else.then_value, DTG_LEVEL_ANY);
  put(flat, " else ");
  dtg_flat_expr(flat, expr->if_else.else_value, DTG_LEVEL_ANY);
}

// Numbers as they were written: `1_000` and `1e5` say more than `1000` and `100000.0`.
static bool put_as_written(struct dtg_flat *flat, const struct dtg_ast_expr *expr) {
  bool is_number = expr->kind == DTG_EXPR_INT || expr->kind == DTG_EXPR_FLOAT;
  if (!flat->source || !is_number)
    return false;
  dtg_strbuf_write(flat->out, flat->source + expr->span.begin, expr->span.end - expr->span.begin);
  return true;
}

static void put_bare(struct dtg_flat *flat, const struct dtg_ast_expr *expr) {
  if (put_as_written(flat, expr))
    return;
  switch (expr->kind) {
  case DTG_EXPR_ERROR:
    put(flat, "<error>");
    break;
  case DTG_EXPR_INT:
    dtg_strbuf_printf(flat->out, "%lld", (long long)expr->int_value);
    break;
  case DTG_EXPR_FLOAT:
    dtg_strbuf_f64(flat->out, expr->float_value);
    break;
  case DTG_EXPR_BOOL:
    put(flat, expr->bool_value ? "true" : "false");
    break;
  case DTG_EXPR_STRING:
    dtg_flat_string(flat, &expr->string);
    break;
  case DTG_EXPR_SIZE:
    put_size(flat, expr->int_value);
    break;
  case DTG_EXPR_NAME:
    put(flat, expr->name);
    break;
  case DTG_EXPR_MEMBER:
    dtg_flat_object(flat, expr->member.object);
    dtg_strbuf_printf(flat->out, ".%s", expr->member.name.text);
    break;
  case DTG_EXPR_CALL:
    dtg_flat_expr(flat, expr->call.callee, DTG_LEVEL_POSTFIX);
    put_arguments(flat, expr);
    break;
  case DTG_EXPR_LABELED:
    dtg_flat_label(flat, expr->labeled.label);
    put(flat, ": ");
    dtg_flat_expr(flat, expr->labeled.value, DTG_LEVEL_ANY);
    break;
  case DTG_EXPR_SUBSCRIPT:
    dtg_flat_expr(flat, expr->subscript.object, DTG_LEVEL_POSTFIX);
    dtg_flat_subscript_parts(flat, expr);
    break;
  case DTG_EXPR_UNARY:
    put(flat, expr->unary.op == DTG_UNARY_NOT ? "not " : "-");
    dtg_flat_expr(flat, expr->unary.operand, dtg_expr_level(expr));
    break;
  case DTG_EXPR_BINARY:
    put_binary(flat, expr);
    break;
  case DTG_EXPR_IF:
    put_if(flat, expr);
    break;
  case DTG_EXPR_LIST:
    put_list(flat, expr);
    break;
  case DTG_EXPR_LAMBDA:
    dtg_strbuf_printf(flat->out, "%s -> ", expr->lambda.parameter.text);
    dtg_flat_expr(flat, expr->lambda.body, DTG_LEVEL_ANY);
    break;
  case DTG_EXPR_PIPE:
    dtg_flat_expr(flat, expr->pipe.left, DTG_LEVEL_PIPE);
    put(flat, " |> ");
    dtg_flat_expr(flat, expr->pipe.right, DTG_LEVEL_OR);
    break;
  }
}

void dtg_flat_expr(struct dtg_flat *flat, const struct dtg_ast_expr *expr, enum dtg_level level) {
  if (is_full(flat))
    return;
  if (!dtg_needs_parentheses(expr, level, flat->in_subscript)) {
    put_bare(flat, expr);
    return;
  }
  bool outer = flat->in_subscript;
  flat->in_subscript = false;
  put(flat, "(");
  put_bare(flat, expr);
  put(flat, ")");
  flat->in_subscript = outer;
}

void dtg_flat_object(struct dtg_flat *flat, const struct dtg_ast_expr *object) {
  bool extra = dtg_member_needs_parentheses(object) && !object->parenthesized;
  put(flat, extra ? "(" : "");
  dtg_flat_expr(flat, object, DTG_LEVEL_POSTFIX);
  put(flat, extra ? ")" : "");
}

void dtg_flat_type(struct dtg_flat *flat, const struct dtg_ast_type *type) {
  put(flat, type->name.text);
  if (!type->has_shape)
    return;
  bool outer = flat->in_subscript;
  flat->in_subscript = true;
  put(flat, "[");
  for (size_t i = 0; i < type->dims.len; i++) {
    if (i)
      put(flat, ", ");
    if (type->dims.data[i].is_ellipsis)
      put(flat, "...");
    else
      dtg_flat_expr(flat, type->dims.data[i].size, DTG_LEVEL_ANY);
  }
  put(flat, "]");
  flat->in_subscript = outer;
}

void dtg_ast_expr_print(const struct dtg_ast_expr *expr, struct dtg_strbuf *out) {
  struct dtg_flat flat = {out, SIZE_MAX, false, NULL};
  dtg_flat_expr(&flat, expr, DTG_LEVEL_ANY);
}

static void put_upper(struct dtg_strbuf *out, const char *text) {
  for (; *text; text++)
    dtg_strbuf_putc(out, (char)(*text >= 'a' && *text <= 'z' ? *text - 'a' + 'A' : *text));
}

void dtg_ast_device_print(const struct dtg_ast_device *device, struct dtg_strbuf *out) {
  if (device->name) {
    dtg_strbuf_puts(out, device->name);
    return;
  }
  if (!device->job) {
    dtg_strbuf_printf(out, "%s:%d", device->type ? device->type : "cpu", device->index);
    return;
  }
  dtg_strbuf_printf(out, "/job:%s", device->job);
  if (device->task >= 0)
    dtg_strbuf_printf(out, "/task:%d", device->task);
  if (device->type) {
    dtg_strbuf_puts(out, "/device:");
    put_upper(out, device->type);
    dtg_strbuf_printf(out, ":%d", device->index);
  }
}
