// Constants: their values, and what -D says of them.
#include "compiler/sema/internal.h"
#include "grammar/parse.h"

#include <string.h>

static struct dtg_value constant(struct dtg_sema *sema, struct dtg_symbol *symbol,
                                 struct dtg_span use);

static struct dtg_value error(void) {
  return dtg_value_error();
}

static struct dtg_value not_constant(struct dtg_sema *sema, struct dtg_span span,
                                     const char *what) {
  struct dtg_diag *diag =
      dtg_error(&sema->ctx->diags, span, "%s is not a value known at compile time", what);
  dtg_diag_hint(diag, "a constant is made of numbers, strings, lists and other constants");
  return error();
}

static struct dtg_value eval_symbol(struct dtg_sema *sema, struct dtg_symbol *symbol,
                                    struct dtg_span span) {
  if (symbol->kind == DTG_SYMBOL_CONST)
    return constant(sema, symbol, span);
  const char *what = dtg_arena_printf(&sema->ctx->arena, "`%s`, %s,", symbol->name,
                                      dtg_symbol_kind_text(symbol->kind));
  return not_constant(sema, span, what);
}

static struct dtg_value eval_name(struct dtg_sema *sema, struct dtg_scope_file *file,
                                  const char *name, struct dtg_span span) {
  struct dtg_symbol *symbol = dtg_scope_lookup(file, name);
  struct dtg_value out = {.kind = DTG_VALUE_DTYPE};
  if (symbol)
    return eval_symbol(sema, symbol, span);
  if (dtg_dtype_from_name(name, strlen(name), &out.dtype))
    return out;
  if (dtg_builtin_find(name) != DTG_BUILTIN_NONE)
    return not_constant(sema, span, dtg_arena_printf(&sema->ctx->arena, "`%s`", name));
  struct dtg_name_list list = {0};
  dtg_scope_candidates(&sema->ctx->arena, file, &list);
  dtg_sema_unknown(sema, span, "name", name, list.names.data, list.names.len);
  return error();
}

struct place {
  struct dtg_sema *sema;
  struct dtg_scope_file *file;
};

static struct dtg_value read_name(void *scope, const char *name, struct dtg_span span) {
  const struct place *place = scope;
  return eval_name(place->sema, place->file, name, span);
}

static struct dtg_value read_expression(void *scope, const struct dtg_ast_expr *expr) {
  const struct place *place = scope;
  return dtg_sema_eval(place->sema, place->file, expr);
}

static struct dtg_value eval_parts(struct dtg_sema *sema, struct dtg_scope_file *file,
                                   const struct dtg_ast_expr *expr) {
  struct place place = {sema, file};
  struct dtg_value_reader reader = {sema->ctx, &place, read_name, read_expression};
  return expr->kind == DTG_EXPR_STRING ? dtg_value_of_string(&reader, &expr->string)
                                       : dtg_value_of_list(&reader, expr);
}

static struct dtg_value eval_if(struct dtg_sema *sema, struct dtg_scope_file *file,
                                const struct dtg_ast_expr *expr) {
  struct dtg_value condition = dtg_sema_eval(sema, file, expr->if_else.condition);
  if (condition.kind == DTG_VALUE_ERROR)
    return condition;
  if (condition.kind != DTG_VALUE_BOOL) {
    dtg_error(&sema->ctx->diags, expr->if_else.condition->span,
              "the condition of `if` must be a bool, not %s", dtg_value_kind_text(&condition));
    return error();
  }
  return dtg_sema_eval(sema, file,
                       condition.b ? expr->if_else.then_value : expr->if_else.else_value);
}

static struct dtg_value eval_subscript(struct dtg_sema *sema, struct dtg_scope_file *file,
                                       const struct dtg_ast_expr *expr) {
  struct dtg_value list = dtg_sema_eval(sema, file, expr->subscript.object);
  if (list.kind == DTG_VALUE_ERROR)
    return list;
  if (list.kind != DTG_VALUE_LIST || expr->subscript.parts.len != 1 ||
      expr->subscript.parts.data[0].kind != DTG_SUBSCRIPT_INDEX)
    return not_constant(sema, expr->span, "this subscript");
  struct dtg_value index = dtg_sema_eval(sema, file, expr->subscript.parts.data[0].index);
  return dtg_value_index(sema->ctx, &list, &index, expr->span);
}

static struct dtg_value eval_call(struct dtg_sema *sema, struct dtg_scope_file *file,
                                  const struct dtg_ast_expr *expr) {
  const struct dtg_ast_expr *callee = expr->call.callee;
  if (callee->kind != DTG_EXPR_NAME || dtg_scope_lookup(file, callee->name) ||
      !dtg_value_is_function(callee->name))
    return not_constant(sema, expr->span, "this call");
  size_t count = expr->call.arguments.len;
  struct dtg_value *values = DTG_NEW_ARRAY(&sema->ctx->arena, struct dtg_value, count);
  for (size_t i = 0; i < count; i++) {
    values[i] = dtg_sema_eval(sema, file, expr->call.arguments.data[i].value);
    if (values[i].kind == DTG_VALUE_ERROR)
      return error();
  }
  struct dtg_value out;
  if (dtg_value_call(sema->ctx, callee->name, values, count, expr->span, &out))
    return out;
  dtg_error(&sema->ctx->diags, expr->span, "`%s` does not apply to these values", callee->name);
  return error();
}

static struct dtg_value eval_member(struct dtg_sema *sema, struct dtg_scope_file *file,
                                    const struct dtg_ast_expr *expr) {
  const struct dtg_ast_expr *object = expr->member.object;
  struct dtg_symbol *module =
      object->kind == DTG_EXPR_NAME ? dtg_scope_lookup(file, object->name) : NULL;
  if (!module || module->kind != DTG_SYMBOL_MODULE)
    return not_constant(sema, expr->span, "this member");
  struct dtg_symbol *symbol = dtg_scope_item(module->home, expr->member.name.text);
  if (symbol)
    return eval_symbol(sema, symbol, expr->span);
  dtg_error(&sema->ctx->diags, expr->member.name.span, "`%s` has no `%s`", module->home->title,
            expr->member.name.text);
  return error();
}

struct dtg_value dtg_sema_eval(struct dtg_sema *sema, struct dtg_scope_file *file,
                               const struct dtg_ast_expr *expr) {
  struct dtg_value a, b;
  switch (expr->kind) {
  case DTG_EXPR_ERROR:
    return error();
  case DTG_EXPR_INT:
  case DTG_EXPR_SIZE:
    return dtg_value_int(expr->int_value);
  case DTG_EXPR_FLOAT:
    return dtg_value_float(expr->float_value);
  case DTG_EXPR_BOOL:
    return dtg_value_bool(expr->bool_value);
  case DTG_EXPR_STRING:
  case DTG_EXPR_LIST:
    return eval_parts(sema, file, expr);
  case DTG_EXPR_NAME:
    return eval_name(sema, file, expr->name, expr->span);
  case DTG_EXPR_MEMBER:
    return eval_member(sema, file, expr);
  case DTG_EXPR_UNARY:
    a = dtg_sema_eval(sema, file, expr->unary.operand);
    return dtg_value_unary(sema->ctx, expr->unary.op, &a, expr->span);
  case DTG_EXPR_BINARY:
    a = dtg_sema_eval(sema, file, expr->binary.left);
    b = dtg_sema_eval(sema, file, expr->binary.right);
    return dtg_value_binary(sema->ctx, expr->binary.op, &a, &b, expr->span);
  case DTG_EXPR_IF:
    return eval_if(sema, file, expr);
  case DTG_EXPR_SUBSCRIPT:
    return eval_subscript(sema, file, expr);
  case DTG_EXPR_CALL:
    return eval_call(sema, file, expr);
  case DTG_EXPR_LABELED:
    return not_constant(sema, expr->span, "a labelled call");
  case DTG_EXPR_LAMBDA:
    return not_constant(sema, expr->span, "a function");
  case DTG_EXPR_PIPE:
    return not_constant(sema, expr->span, "this pipeline");
  }
  return error();
}

static struct dtg_value constant(struct dtg_sema *sema, struct dtg_symbol *symbol,
                                 struct dtg_span use) {
  if (symbol->progress == DTG_CONST_RUNNING) {
    struct dtg_diag *diag =
        dtg_error(&sema->ctx->diags, use, "the value of `%s` depends on itself", symbol->name);
    dtg_diag_note(diag, symbol->span, "`%s` is defined here", symbol->name);
    symbol->value = error();
    symbol->progress = DTG_CONST_DONE;
  }
  if (symbol->progress == DTG_CONST_NEW) {
    symbol->progress = DTG_CONST_RUNNING;
    struct dtg_value value = dtg_sema_eval(sema, symbol->home, symbol->item->value);
    if (symbol->progress == DTG_CONST_RUNNING)
      symbol->value = value;
    symbol->progress = DTG_CONST_DONE;
  }
  return symbol->value;
}

void dtg_sema_constants(struct dtg_sema *sema) {
  for (size_t i = 0; i < sema->files.len; i++) {
    struct dtg_scope_file *file = sema->files.data[i];
    for (size_t j = 0; j < file->entries.len; j++) {
      struct dtg_symbol *symbol = file->entries.data[j].symbol;
      if (symbol->kind == DTG_SYMBOL_CONST && symbol->home == file)
        constant(sema, symbol, symbol->span);
    }
  }
}

// ---- -D name=value ----

// A literal of the language, read by its own parser; false after an error.
static bool read_literal(struct dtg_sema *sema, const char *name, const char *text,
                         struct dtg_value *out) {
  struct dtg_ctx *ctx = sema->ctx;
  const char *title = dtg_arena_printf(&ctx->arena, "-D %s", name);
  const char *source = dtg_arena_printf(&ctx->arena, "const %s = %s\n", name, text);
  uint32_t file;
  size_t errors = ctx->diags.errors;
  if (!dtg_source_add(&ctx->sources, &ctx->diags, title, source, strlen(source), &file))
    return false;
  const struct dtg_ast_file *ast = dtg_parse(ctx, file);
  if (ctx->diags.errors > errors)
    return false;
  if (ast->items.len != 1) {
    dtg_error(&ctx->diags, DTG_SPAN_NONE, "-D %s: `%s` is not one value", name, text);
    return false;
  }
  struct dtg_scope_file empty = {.title = title, .ast = ast};
  *out = dtg_sema_eval(sema, &empty, ast->items.data[0]->value);
  return out->kind != DTG_VALUE_ERROR;
}

static bool same_kind(const struct dtg_value *declared, struct dtg_value *given) {
  if (declared->kind == DTG_VALUE_FLOAT && given->kind == DTG_VALUE_INT)
    *given = dtg_value_float((double)given->i);
  return declared->kind == given->kind;
}

static void define_one(struct dtg_sema *sema, const char *define) {
  struct dtg_ctx *ctx = sema->ctx;
  struct dtg_scope_file *file = sema->model->scope;
  const char *equals = strchr(define, '=');
  if (!equals) {
    struct dtg_diag *diag = dtg_error(&ctx->diags, DTG_SPAN_NONE, "-D %s has no value", define);
    dtg_diag_hint(diag, "write -D name=value");
    return;
  }
  const char *name = dtg_intern(&ctx->names, define, (size_t)(equals - define));
  struct dtg_symbol *symbol = dtg_scope_item(file, name);
  if (!symbol || symbol->kind != DTG_SYMBOL_CONST) {
    struct dtg_name_list list = {0};
    for (size_t i = 0; i < file->entries.len; i++) {
      if (file->entries.data[i].symbol->kind == DTG_SYMBOL_CONST && !file->entries.data[i].imported)
        dtg_vec_push(&ctx->arena, &list.names, file->entries.data[i].name);
    }
    dtg_sema_unknown(sema, DTG_SPAN_NONE, "constant in -D:", name, list.names.data, list.names.len);
    return;
  }
  struct dtg_value declared = constant(sema, symbol, symbol->span), given;
  if (declared.kind == DTG_VALUE_ERROR)
    return;
  if (declared.kind == DTG_VALUE_STRING && equals[1] != '"')
    given = dtg_value_string(dtg_intern_z(&ctx->names, equals + 1));
  else if (!read_literal(sema, name, equals + 1, &given))
    return;
  if (!same_kind(&declared, &given)) {
    struct dtg_diag *diag =
        dtg_error(&ctx->diags, DTG_SPAN_NONE, "-D %s: `%s` is %s, not %s", name, equals + 1,
                  dtg_value_kind_text(&given), dtg_value_kind_text(&declared));
    dtg_diag_note(diag, symbol->span, "`%s` is declared here", name);
    return;
  }
  symbol->value = given;
  symbol->overridden = true;
}

static void forget_values(struct dtg_scope_file *file) {
  for (size_t i = 0; i < file->entries.len; i++) {
    struct dtg_symbol *symbol = file->entries.data[i].symbol;
    if (!symbol->overridden && symbol->value.kind != DTG_VALUE_ERROR)
      symbol->progress = DTG_CONST_NEW;
  }
}

// The declared values give the types, so they are computed first; what may depend on an overridden
// constant is computed again.
void dtg_sema_defines(struct dtg_sema *sema) {
  for (size_t i = 0; i < sema->options->define_count; i++)
    define_one(sema, sema->options->defines[i]);
  for (size_t i = 0; i < sema->files.len; i++)
    forget_values(sema->files.data[i]);
}
