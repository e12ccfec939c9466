// Names in expressions.
#include "compiler/sema/names.h"

// ---- names ----

static void unknown_name(struct dtg_resolver *r, const char *name, struct dtg_span span) {
  struct dtg_name_list list = {0};
  for (size_t i = 0; i < r->locals.list.len; i++)
    dtg_vec_push(&r->sema->ctx->arena, &list.names, r->locals.list.data[i].name);
  dtg_scope_candidates(&r->sema->ctx->arena, r->file, &list);
  dtg_sema_unknown(r->sema, span, "name", name, list.names.data, list.names.len);
}

static bool is_value(enum dtg_symbol_kind kind) {
  return kind == DTG_SYMBOL_CONST || kind == DTG_SYMBOL_FN || kind == DTG_SYMBOL_LAYER;
}

static void no_value(struct dtg_resolver *r, const struct dtg_symbol *symbol,
                     struct dtg_span span) {
  struct dtg_diag *diag = dtg_error(&r->sema->ctx->diags, span, "`%s` is %s, not a value",
                                    symbol->name, dtg_symbol_kind_text(symbol->kind));
  dtg_diag_note(diag, symbol->span, "it comes from here");
}

static void resolve_name(struct dtg_resolver *r, const char *name, struct dtg_span span) {
  struct dtg_local *local = dtg_locals_find(&r->locals, name);
  if (local) {
    local->used = true;
    return;
  }
  struct dtg_symbol *symbol = dtg_scope_lookup(r->file, name);
  if (symbol && !is_value(symbol->kind))
    no_value(r, symbol, span);
  else if (!symbol && dtg_builtin_find(name) == DTG_BUILTIN_NONE)
    unknown_name(r, name, span);
}

static struct dtg_symbol *module_of(struct dtg_resolver *r, const struct dtg_ast_expr *object) {
  if (object->kind != DTG_EXPR_NAME || dtg_locals_find(&r->locals, object->name))
    return NULL;
  struct dtg_symbol *symbol = dtg_scope_lookup(r->file, object->name);
  return symbol && symbol->kind == DTG_SYMBOL_MODULE ? symbol : NULL;
}

static void resolve_member(struct dtg_resolver *r, const struct dtg_ast_expr *expr) {
  struct dtg_symbol *module = module_of(r, expr->member.object);
  if (!module) {
    dtg_resolve_expr(r, expr->member.object);
    return;
  }
  const char *name = expr->member.name.text;
  struct dtg_symbol *symbol = dtg_scope_item(module->home, name);
  if (symbol && !is_value(symbol->kind))
    no_value(r, symbol, expr->span);
  if (symbol)
    return;
  struct dtg_name_list list = {0};
  for (size_t i = 0; i < module->home->entries.len; i++)
    dtg_vec_push(&r->sema->ctx->arena, &list.names, module->home->entries.data[i].name);
  const char *what = dtg_arena_printf(&r->sema->ctx->arena, "name in `%s`:", module->home->title);
  dtg_sema_unknown(r->sema, expr->member.name.span, what, name, list.names.data, list.names.len);
}

static void resolve_string(struct dtg_resolver *r, const struct dtg_ast_string *string) {
  for (size_t i = 0; i < string->parts.len; i++) {
    if (string->parts.data[i].is_name)
      resolve_name(r, string->parts.data[i].text, string->parts.data[i].span);
  }
}

// ---- labels ----

static bool mentions(const struct dtg_ast_expr *expr, const char *name) {
  switch (expr->kind) {
  case DTG_EXPR_NAME:
    return expr->name == name;
  case DTG_EXPR_UNARY:
    return mentions(expr->unary.operand, name);
  case DTG_EXPR_BINARY:
    return mentions(expr->binary.left, name) || mentions(expr->binary.right, name);
  default:
    return false;
  }
}

static bool label_mentions(const struct dtg_ast_label *label, const char *name) {
  for (size_t i = 0; i < label->parts.len; i++) {
    if (label->parts.data[i].kind == DTG_LABEL_INDEX && mentions(label->parts.data[i].index, name))
      return true;
  }
  return false;
}

void dtg_resolve_label(struct dtg_resolver *r, const struct dtg_ast_label *label) {
  for (size_t i = 0; i < label->parts.len; i++) {
    if (label->parts.data[i].kind == DTG_LABEL_INDEX)
      dtg_resolve_expr(r, label->parts.data[i].index);
  }
  for (size_t i = 0; i < r->loops.len; i++) {
    const struct dtg_ast_name *loop = &r->loops.data[i];
    if (label_mentions(label, loop->text))
      continue;
    struct dtg_diag *diag =
        dtg_error(&r->sema->ctx->diags, label->span,
                  "a label inside `for` must contain the loop variable `%s`", loop->text);
    dtg_diag_note(diag, loop->span, "the loop");
    dtg_diag_hint(diag, "write %s[%s]: ...", label->parts.data[0].name, loop->text);
    return;
  }
}

// ---- calls ----

struct dtg_symbol *dtg_resolve_callee(struct dtg_resolver *r, const struct dtg_ast_expr *callee) {
  if (callee->kind == DTG_EXPR_MEMBER) {
    struct dtg_symbol *module = module_of(r, callee->member.object);
    return module ? dtg_scope_item(module->home, callee->member.name.text) : NULL;
  }
  if (callee->kind != DTG_EXPR_NAME || dtg_locals_find(&r->locals, callee->name))
    return NULL;
  return dtg_scope_lookup(r->file, callee->name);
}

static void check_argument_name(struct dtg_resolver *r, const struct dtg_symbol *symbol,
                                const struct dtg_ast_name *name) {
  struct dtg_name_list list = {0};
  for (size_t i = 0; i < symbol->item->function.parameters.len; i++) {
    const char *known = symbol->item->function.parameters.data[i].name.text;
    if (known == name->text)
      return;
    dtg_vec_push(&r->sema->ctx->arena, &list.names, known);
  }
  if (symbol->kind == DTG_SYMBOL_OPTIMIZER) { // every optimizer can be called so
    const char *lazy = dtg_intern_z(&r->sema->ctx->names, "lazy");
    if (name->text == lazy)
      return;
    dtg_vec_push(&r->sema->ctx->arena, &list.names, lazy);
  }
  const char *what = dtg_arena_printf(&r->sema->ctx->arena, "argument of `%s`:", symbol->name);
  dtg_sema_unknown(r->sema, name->span, what, name->text, list.names.data, list.names.len);
}

void dtg_resolve_arguments(struct dtg_resolver *r, const struct dtg_ast_expr *call,
                           const struct dtg_symbol *symbol) {
  bool known = symbol && (symbol->kind == DTG_SYMBOL_FN || symbol->kind == DTG_SYMBOL_LAYER ||
                          symbol->kind == DTG_SYMBOL_OPTIMIZER);
  for (size_t i = 0; i < call->call.arguments.len; i++) {
    const struct dtg_ast_argument *argument = &call->call.arguments.data[i];
    if (known && argument->name.text)
      check_argument_name(r, symbol, &argument->name);
    dtg_resolve_expr(r, argument->value);
  }
}

static void resolve_call(struct dtg_resolver *r, const struct dtg_ast_expr *expr) {
  dtg_resolve_expr(r, expr->call.callee);
  dtg_resolve_arguments(r, expr, dtg_resolve_callee(r, expr->call.callee));
}

// ---- expressions ----

static void resolve_subscript(struct dtg_resolver *r, const struct dtg_ast_expr *expr) {
  dtg_resolve_expr(r, expr->subscript.object);
  for (size_t i = 0; i < expr->subscript.parts.len; i++) {
    const struct dtg_ast_subscript_part *part = &expr->subscript.parts.data[i];
    const struct dtg_ast_expr *bounds[] = {part->index, part->begin, part->end, part->stride};
    for (size_t j = 0; j < 4; j++) {
      if (bounds[j])
        dtg_resolve_expr(r, bounds[j]);
    }
  }
}

static void resolve_lambda(struct dtg_resolver *r, const struct dtg_ast_expr *expr) {
  size_t first = r->locals.list.len;
  dtg_locals_enter(&r->locals);
  // A parameter of its own hides a name outside.
  struct dtg_local parameter = {.name = expr->lambda.parameter.text,
                                .span = expr->lambda.parameter.span,
                                .kind = DTG_LOCAL_GIVEN,
                                .region = dtg_vec_last(&r->locals.open)};
  dtg_vec_push(&r->sema->ctx->arena, &r->locals.list, parameter);
  dtg_resolve_expr(r, expr->lambda.body);
  dtg_locals_leave(&r->locals, first);
}

void dtg_resolve_expr(struct dtg_resolver *r, const struct dtg_ast_expr *expr) {
  switch (expr->kind) {
  case DTG_EXPR_ERROR:
  case DTG_EXPR_INT:
  case DTG_EXPR_FLOAT:
  case DTG_EXPR_BOOL:
  case DTG_EXPR_SIZE:
    break;
  case DTG_EXPR_STRING:
    resolve_string(r, &expr->string);
    break;
  case DTG_EXPR_NAME:
    resolve_name(r, expr->name, expr->span);
    break;
  case DTG_EXPR_MEMBER:
    resolve_member(r, expr);
    break;
  case DTG_EXPR_CALL:
    resolve_call(r, expr);
    break;
  case DTG_EXPR_LABELED:
    dtg_resolve_label(r, expr->labeled.label);
    dtg_resolve_expr(r, expr->labeled.value);
    break;
  case DTG_EXPR_SUBSCRIPT:
    resolve_subscript(r, expr);
    break;
  case DTG_EXPR_UNARY:
    dtg_resolve_expr(r, expr->unary.operand);
    break;
  case DTG_EXPR_BINARY:
    dtg_resolve_expr(r, expr->binary.left);
    dtg_resolve_expr(r, expr->binary.right);
    break;
  case DTG_EXPR_IF:
    dtg_resolve_expr(r, expr->if_else.condition);
    dtg_resolve_expr(r, expr->if_else.then_value);
    dtg_resolve_expr(r, expr->if_else.else_value);
    break;
  case DTG_EXPR_LIST:
    for (size_t i = 0; i < expr->list.elements.len; i++)
      dtg_resolve_expr(r, expr->list.elements.data[i]);
    break;
  case DTG_EXPR_LAMBDA:
    resolve_lambda(r, expr);
    break;
  case DTG_EXPR_PIPE:
    dtg_resolve_expr(r, expr->pipe.left);
    dtg_resolve_expr(r, expr->pipe.right);
    break;
  }
}
