// Resolves every name in the bodies of a file, so that a misspelt one is an error even where the
// body is never evaluated.
#include "compiler/sema/locals.h"

#include <ctype.h>
#include <string.h>

struct resolver {
  struct dtg_sema *sema;
  struct dtg_scope_file *file;
  enum dtg_ast_item_kind item;
  struct dtg_locals locals;
  DTG_VEC(struct dtg_ast_name) loops;   // variables of the `for` around, outermost first
  DTG_VEC(struct dtg_ast_name) results; // metrics and outputs so far
};

static void resolve_expr(struct resolver *r, const struct dtg_ast_expr *expr);
static void resolve_body(struct resolver *r, const struct dtg_ast_body *body);

// ---- names ----

static void unknown_name(struct resolver *r, const char *name, struct dtg_span span) {
  struct dtg_name_list list = {0};
  for (size_t i = 0; i < r->locals.list.len; i++)
    dtg_vec_push(&r->sema->ctx->arena, &list.names, r->locals.list.data[i].name);
  dtg_scope_candidates(&r->sema->ctx->arena, r->file, &list);
  dtg_sema_unknown(r->sema, span, "name", name, list.names.data, list.names.len);
}

static bool is_value(enum dtg_symbol_kind kind) {
  return kind == DTG_SYMBOL_CONST || kind == DTG_SYMBOL_FN || kind == DTG_SYMBOL_LAYER;
}

static void no_value(struct resolver *r, const struct dtg_symbol *symbol, struct dtg_span span) {
  struct dtg_diag *diag = dtg_error(&r->sema->ctx->diags, span, "`%s` is %s, not a value",
                                    symbol->name, dtg_symbol_kind_text(symbol->kind));
  dtg_diag_note(diag, symbol->span, "it comes from here");
}

static void resolve_name(struct resolver *r, const char *name, struct dtg_span span) {
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

static struct dtg_symbol *module_of(struct resolver *r, const struct dtg_ast_expr *object) {
  if (object->kind != DTG_EXPR_NAME || dtg_locals_find(&r->locals, object->name))
    return NULL;
  struct dtg_symbol *symbol = dtg_scope_lookup(r->file, object->name);
  return symbol && symbol->kind == DTG_SYMBOL_MODULE ? symbol : NULL;
}

static void resolve_member(struct resolver *r, const struct dtg_ast_expr *expr) {
  struct dtg_symbol *module = module_of(r, expr->member.object);
  if (!module) {
    resolve_expr(r, expr->member.object);
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

static void resolve_string(struct resolver *r, const struct dtg_ast_string *string) {
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

static void resolve_label(struct resolver *r, const struct dtg_ast_label *label) {
  for (size_t i = 0; i < label->parts.len; i++) {
    if (label->parts.data[i].kind == DTG_LABEL_INDEX)
      resolve_expr(r, label->parts.data[i].index);
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

static struct dtg_symbol *callee_symbol(struct resolver *r, const struct dtg_ast_expr *callee) {
  if (callee->kind == DTG_EXPR_MEMBER) {
    struct dtg_symbol *module = module_of(r, callee->member.object);
    return module ? dtg_scope_item(module->home, callee->member.name.text) : NULL;
  }
  if (callee->kind != DTG_EXPR_NAME || dtg_locals_find(&r->locals, callee->name))
    return NULL;
  return dtg_scope_lookup(r->file, callee->name);
}

static void check_argument_name(struct resolver *r, const struct dtg_symbol *symbol,
                                const struct dtg_ast_name *name) {
  struct dtg_name_list list = {0};
  for (size_t i = 0; i < symbol->item->function.parameters.len; i++) {
    const char *known = symbol->item->function.parameters.data[i].name.text;
    if (known == name->text)
      return;
    dtg_vec_push(&r->sema->ctx->arena, &list.names, known);
  }
  const char *what = dtg_arena_printf(&r->sema->ctx->arena, "argument of `%s`:", symbol->name);
  dtg_sema_unknown(r->sema, name->span, what, name->text, list.names.data, list.names.len);
}

static void resolve_arguments(struct resolver *r, const struct dtg_ast_expr *call,
                              const struct dtg_symbol *symbol) {
  bool known = symbol && (symbol->kind == DTG_SYMBOL_FN || symbol->kind == DTG_SYMBOL_LAYER ||
                          symbol->kind == DTG_SYMBOL_OPTIMIZER);
  for (size_t i = 0; i < call->call.arguments.len; i++) {
    const struct dtg_ast_argument *argument = &call->call.arguments.data[i];
    if (known && argument->name.text)
      check_argument_name(r, symbol, &argument->name);
    resolve_expr(r, argument->value);
  }
}

static void resolve_call(struct resolver *r, const struct dtg_ast_expr *expr) {
  resolve_expr(r, expr->call.callee);
  resolve_arguments(r, expr, callee_symbol(r, expr->call.callee));
}

// ---- expressions ----

static void resolve_subscript(struct resolver *r, const struct dtg_ast_expr *expr) {
  resolve_expr(r, expr->subscript.object);
  for (size_t i = 0; i < expr->subscript.parts.len; i++) {
    const struct dtg_ast_subscript_part *part = &expr->subscript.parts.data[i];
    const struct dtg_ast_expr *bounds[] = {part->index, part->begin, part->end, part->stride};
    for (size_t j = 0; j < 4; j++) {
      if (bounds[j])
        resolve_expr(r, bounds[j]);
    }
  }
}

static void resolve_lambda(struct resolver *r, const struct dtg_ast_expr *expr) {
  size_t first = r->locals.list.len;
  dtg_locals_enter(&r->locals);
  // A parameter of its own hides a name outside.
  struct dtg_local parameter = {.name = expr->lambda.parameter.text,
                                .span = expr->lambda.parameter.span,
                                .kind = DTG_LOCAL_GIVEN,
                                .region = dtg_vec_last(&r->locals.open)};
  dtg_vec_push(&r->sema->ctx->arena, &r->locals.list, parameter);
  resolve_expr(r, expr->lambda.body);
  dtg_locals_leave(&r->locals, first);
}

static void resolve_expr(struct resolver *r, const struct dtg_ast_expr *expr) {
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
    resolve_label(r, expr->labeled.label);
    resolve_expr(r, expr->labeled.value);
    break;
  case DTG_EXPR_SUBSCRIPT:
    resolve_subscript(r, expr);
    break;
  case DTG_EXPR_UNARY:
    resolve_expr(r, expr->unary.operand);
    break;
  case DTG_EXPR_BINARY:
    resolve_expr(r, expr->binary.left);
    resolve_expr(r, expr->binary.right);
    break;
  case DTG_EXPR_IF:
    resolve_expr(r, expr->if_else.condition);
    resolve_expr(r, expr->if_else.then_value);
    resolve_expr(r, expr->if_else.else_value);
    break;
  case DTG_EXPR_LIST:
    for (size_t i = 0; i < expr->list.elements.len; i++)
      resolve_expr(r, expr->list.elements.data[i]);
    break;
  case DTG_EXPR_LAMBDA:
    resolve_lambda(r, expr);
    break;
  case DTG_EXPR_PIPE:
    resolve_expr(r, expr->pipe.left);
    resolve_expr(r, expr->pipe.right);
    break;
  }
}

// ---- types ----

static const char *const attribute_types[] = {"int", "float", "bool", "str", "fn", "list"};
enum { ATTRIBUTE_TYPES = sizeof attribute_types / sizeof *attribute_types };

static void check_type_name(struct resolver *r, const struct dtg_ast_type *type) {
  enum dtg_dtype dtype;
  const char *names[ATTRIBUTE_TYPES + DTG_DTYPE_COUNT];
  if (!type->name.text || dtg_dtype_from_name(type->name.text, strlen(type->name.text), &dtype))
    return;
  for (int i = 0; i < ATTRIBUTE_TYPES; i++) {
    if (strcmp(attribute_types[i], type->name.text) == 0 && !type->has_shape)
      return;
    names[i] = attribute_types[i];
  }
  for (enum dtg_dtype i = 0; i < DTG_DTYPE_COUNT; i++)
    names[ATTRIBUTE_TYPES + i] = dtg_dtype_name(i);
  dtg_sema_unknown(r->sema, type->name.span, "type", type->name.text, names,
                   ATTRIBUTE_TYPES + DTG_DTYPE_COUNT);
}

static bool binds_dim(struct resolver *r, const struct dtg_ast_dim *dim) {
  return !dim->is_ellipsis && dim->size->kind == DTG_EXPR_NAME &&
         isupper((unsigned char)dim->size->name[0]) &&
         !dtg_locals_find(&r->locals, dim->size->name) &&
         !dtg_scope_lookup(r->file, dim->size->name);
}

static void bind_dims(struct resolver *r, const struct dtg_ast_type *type) {
  for (size_t i = 0; i < type->dims.len; i++) {
    const struct dtg_ast_dim *dim = &type->dims.data[i];
    if (binds_dim(r, dim))
      dtg_locals_bind(&r->locals, (struct dtg_ast_name){dim->size->name, dim->span}, DTG_LOCAL_DIM);
  }
}

static void resolve_type(struct resolver *r, const struct dtg_ast_type *type, bool ellipsis) {
  int ellipses = 0;
  check_type_name(r, type);
  for (size_t i = 0; i < type->dims.len; i++) {
    if (!type->dims.data[i].is_ellipsis)
      resolve_expr(r, type->dims.data[i].size);
    else if (!ellipsis || ++ellipses > 1)
      dtg_error(&r->sema->ctx->diags, type->dims.data[i].span, "%s",
                ellipsis ? "`...` may stand once in a shape"
                         : "`...` has no meaning here: every dim must be given");
  }
}

// ---- statements ----

static const char *const initializers[] = {
    "zeros",          "ones",          "constant",  "normal",     "truncated_normal", "uniform",
    "glorot_uniform", "glorot_normal", "he_normal", "he_uniform", "orthogonal"};

static void resolve_initializer(struct resolver *r, const struct dtg_ast_stmt *stmt) {
  const struct dtg_ast_expr *expr = stmt->declare.initializer;
  if (!expr) {
    struct dtg_diag *diag =
        dtg_error(&r->sema->ctx->diags, stmt->span, "`%s` has no initial value", stmt->name.text);
    dtg_diag_hint(diag, "add `~ zeros()` or another initialiser");
    return;
  }
  if (expr->kind != DTG_EXPR_CALL || expr->call.callee->kind != DTG_EXPR_NAME) {
    if (expr->kind != DTG_EXPR_ERROR) {
      struct dtg_diag *diag = dtg_error(&r->sema->ctx->diags, expr->span,
                                        "the initial value is the call of an initialiser");
      dtg_diag_hint(diag, "for example ~ zeros() or ~ constant(0.1)");
    }
    return;
  }
  size_t count = sizeof initializers / sizeof *initializers, i = 0;
  while (i < count && strcmp(initializers[i], expr->call.callee->name) != 0)
    i++;
  if (i == count)
    dtg_sema_unknown(r->sema, expr->call.callee->span, "initialiser", expr->call.callee->name,
                     initializers, count);
  for (size_t j = 0; j < expr->call.arguments.len; j++)
    resolve_expr(r, expr->call.arguments.data[j].value);
}

static void misplaced(struct resolver *r, const struct dtg_ast_stmt *stmt, const char *what,
                      const char *where) {
  dtg_error(&r->sema->ctx->diags, stmt->span, "%s %s", what, where);
}

static void resolve_declare(struct resolver *r, const struct dtg_ast_stmt *stmt) {
  bool param = stmt->kind == DTG_STMT_PARAM;
  const char *what = param ? "`param`" : "`state`";
  if (r->item == DTG_ITEM_FN)
    misplaced(r, stmt, what, "belongs in a layer: a function has no parameters of its own");
  else if (r->item == DTG_ITEM_OPTIMIZER && (param || stmt->declare.type))
    misplaced(r, stmt, what,
              param ? "belongs in a layer, not into an optimizer"
                    : "of an optimizer has the parameter's shape: write no type");
  else if (r->item != DTG_ITEM_OPTIMIZER && !stmt->declare.type)
    misplaced(r, stmt, what, "needs a type, such as f32[I, out]");
  else if (r->loops.len > 0)
    misplaced(r, stmt, what, "cannot stand inside `for`: put it into a layer and label its call");
  if (stmt->declare.type)
    resolve_type(r, stmt->declare.type, false);
  resolve_initializer(r, stmt);
  dtg_locals_bind(&r->locals, stmt->name,
                  r->item == DTG_ITEM_OPTIMIZER ? DTG_LOCAL_GIVEN
                  : param                       ? DTG_LOCAL_PARAM
                                                : DTG_LOCAL_STATE);
}

static void resolve_update(struct resolver *r, const struct dtg_ast_stmt *stmt) {
  resolve_expr(r, stmt->update.value);
  struct dtg_local *local = dtg_locals_find(&r->locals, stmt->name.text);
  if (local && local->kind == DTG_LOCAL_STATE) {
    local->used = true;
    return;
  }
  struct dtg_diag *diag =
      dtg_error(&r->sema->ctx->diags, stmt->name.span, "`%s` is not a state of this %s",
                stmt->name.text, r->item == DTG_ITEM_LAYER ? "layer" : "body");
  if (local)
    dtg_diag_note(diag, local->span, "it is defined here");
}

static void resolve_for(struct resolver *r, const struct dtg_ast_stmt *stmt) {
  resolve_expr(r, stmt->for_in.first);
  resolve_expr(r, stmt->for_in.end);
  size_t first = r->locals.list.len;
  dtg_locals_enter(&r->locals);
  dtg_locals_bind(&r->locals, stmt->name, DTG_LOCAL_LOOP);
  dtg_vec_push(&r->sema->ctx->arena, &r->loops, stmt->name);
  resolve_body(r, stmt->for_in.body);
  r->loops.len--;
  dtg_locals_leave(&r->locals, first);
}

static void resolve_branch(struct resolver *r, const struct dtg_ast_body *body) {
  dtg_locals_enter(&r->locals);
  if (body)
    resolve_body(r, body);
  dtg_locals_close(&r->locals);
}

static void resolve_if(struct resolver *r, const struct dtg_ast_stmt *stmt) {
  size_t first = r->locals.list.len;
  resolve_expr(r, stmt->if_else.condition);
  resolve_branch(r, stmt->if_else.then_body);
  size_t count = r->locals.list.len - first;
  struct dtg_local *then_names = DTG_NEW_ARRAY(&r->sema->ctx->arena, struct dtg_local, count);
  for (size_t i = 0; i < count; i++)
    then_names[i] = r->locals.list.data[first + i];
  r->locals.list.len = first;
  resolve_branch(r, stmt->if_else.else_body);
  dtg_locals_merge(&r->locals, first, then_names, count);
}

// A metric or output; its name can be used below unless a local has it already.
static void resolve_result(struct resolver *r, const struct dtg_ast_stmt *stmt) {
  resolve_expr(r, stmt->value);
  if (r->item != DTG_ITEM_MODEL) {
    misplaced(r, stmt, stmt->kind == DTG_STMT_METRIC ? "`metric`" : "`output`",
              "belongs in a model");
    return;
  }
  for (size_t i = 0; i < r->results.len; i++) {
    if (r->results.data[i].text == stmt->name.text) {
      dtg_sema_twice(r->sema, stmt->name.span, stmt->name.text, r->results.data[i].span);
      return;
    }
  }
  dtg_vec_push(&r->sema->ctx->arena, &r->results, stmt->name);
  if (dtg_locals_find(&r->locals, stmt->name.text))
    return;
  dtg_locals_bind(&r->locals, stmt->name, DTG_LOCAL_NAME);
  dtg_locals_find(&r->locals, stmt->name.text)->used = true;
}

static void resolve_loss(struct resolver *r, const struct dtg_ast_stmt *stmt) {
  resolve_expr(r, stmt->value);
  if (r->loops.len > 0)
    misplaced(r, stmt, "`loss`", "cannot stand inside `for`");
  dtg_locals_bind(&r->locals, stmt->name, DTG_LOCAL_NAME);
  struct dtg_local *local = dtg_locals_find(&r->locals, stmt->name.text);
  if (local)
    local->used = true;
}

static void resolve_return(struct resolver *r, const struct dtg_ast_stmt *stmt) {
  resolve_expr(r, stmt->value);
  if (r->item != DTG_ITEM_FN && r->item != DTG_ITEM_LAYER)
    misplaced(r, stmt, "`return`", "belongs in a function or a layer");
  else if (r->loops.len > 0)
    misplaced(r, stmt, "`return`", "cannot stand inside `for`");
}

static void resolve_label_stmt(struct resolver *r, const struct dtg_ast_stmt *stmt) {
  const struct dtg_ast_label *label = stmt->label.label;
  resolve_label(r, label);
  resolve_expr(r, stmt->label.call);
  if (label->parts.len != 1)
    return;
  struct dtg_ast_name name = {label->parts.data[0].name, label->parts.data[0].span};
  dtg_locals_bind(&r->locals, name, DTG_LOCAL_NAME);
}

static void resolve_stmt(struct resolver *r, const struct dtg_ast_stmt *stmt) {
  switch (stmt->kind) {
  case DTG_STMT_ASSIGN:
    resolve_expr(r, stmt->value);
    dtg_locals_bind(&r->locals, stmt->name, DTG_LOCAL_NAME);
    break;
  case DTG_STMT_LABEL:
    resolve_label_stmt(r, stmt);
    break;
  case DTG_STMT_PARAM:
  case DTG_STMT_STATE:
    resolve_declare(r, stmt);
    break;
  case DTG_STMT_UPDATE:
    resolve_update(r, stmt);
    break;
  case DTG_STMT_FOR:
    resolve_for(r, stmt);
    break;
  case DTG_STMT_IF:
    resolve_if(r, stmt);
    break;
  case DTG_STMT_RETURN:
    resolve_return(r, stmt);
    break;
  case DTG_STMT_LOSS:
    resolve_loss(r, stmt);
    break;
  case DTG_STMT_METRIC:
  case DTG_STMT_OUTPUT:
    resolve_result(r, stmt);
    break;
  }
}

// Whether every way through the body ends with `return`; what follows one is an error.
static bool returns(struct resolver *r, const struct dtg_ast_body *body) {
  bool found = false;
  for (size_t i = 0; i < body->stmts.len; i++) {
    const struct dtg_ast_stmt *stmt = body->stmts.data[i];
    if (found) {
      dtg_error(&r->sema->ctx->diags, stmt->span, "nothing is computed after `return`");
      return true;
    }
    if (stmt->kind == DTG_STMT_RETURN)
      found = true;
    if (stmt->kind == DTG_STMT_IF && stmt->if_else.else_body) {
      bool then_returns = returns(r, stmt->if_else.then_body);
      found = returns(r, stmt->if_else.else_body) && then_returns;
    }
  }
  return found;
}

static void resolve_body(struct resolver *r, const struct dtg_ast_body *body) {
  for (size_t i = 0; i < body->stmts.len; i++)
    resolve_stmt(r, body->stmts.data[i]);
}

// ---- items ----

static void resolve_parameters(struct resolver *r, const struct dtg_ast_item *item) {
  for (size_t i = 0; i < item->function.parameters.len; i++)
    dtg_locals_bind(&r->locals, item->function.parameters.data[i].name, DTG_LOCAL_PARAMETER);
  for (size_t i = 0; i < item->function.parameters.len; i++) {
    if (item->function.parameters.data[i].type)
      bind_dims(r, item->function.parameters.data[i].type);
  }
  for (size_t i = 0; i < item->function.parameters.len; i++) {
    const struct dtg_ast_parameter *parameter = &item->function.parameters.data[i];
    if (parameter->type)
      resolve_type(r, parameter->type, item->kind != DTG_ITEM_MODEL);
    if (parameter->default_value)
      resolve_expr(r, parameter->default_value);
  }
}

static void give(struct resolver *r, const char *text, struct dtg_span span) {
  struct dtg_ast_name name = {dtg_intern_z(&r->sema->ctx->names, text), span};
  dtg_locals_bind(&r->locals, name, DTG_LOCAL_GIVEN);
}

static void resolve_function(struct resolver *r, const struct dtg_ast_item *item) {
  r->item = item->kind;
  r->results.len = 0;
  dtg_locals_enter(&r->locals);
  if (item->kind == DTG_ITEM_OPTIMIZER) {
    give(r, "param", item->name.span);
    give(r, "grad", item->name.span);
  }
  resolve_parameters(r, item);
  if (item->function.result)
    resolve_type(r, item->function.result, true);
  if (item->function.value)
    resolve_expr(r, item->function.value);
  if (item->function.body) {
    resolve_body(r, item->function.body);
    bool needs_return = item->kind == DTG_ITEM_FN || item->kind == DTG_ITEM_LAYER;
    if (needs_return && !returns(r, item->function.body)) {
      struct dtg_diag *diag =
          dtg_error(&r->sema->ctx->diags, item->name.span,
                    "the body of `%s` does not end with `return`", item->name.text);
      dtg_diag_hint(diag, "add `return value` as its last line");
    }
  }
  dtg_locals_leave(&r->locals, 0);
}

static void resolve_optimizer_call(struct resolver *r, const struct dtg_ast_expr *expr) {
  const struct dtg_symbol *symbol =
      expr->kind == DTG_EXPR_CALL ? callee_symbol(r, expr->call.callee) : NULL;
  if (symbol && symbol->kind == DTG_SYMBOL_OPTIMIZER) {
    resolve_arguments(r, expr, symbol);
    return;
  }
  const struct dtg_ast_expr *name = expr->kind == DTG_EXPR_CALL ? expr->call.callee : expr;
  if (name->kind == DTG_EXPR_NAME && !dtg_scope_lookup(r->file, name->name)) {
    struct dtg_name_list list = {0};
    for (size_t i = 0; i < r->file->entries.len; i++) {
      if (r->file->entries.data[i].symbol->kind == DTG_SYMBOL_OPTIMIZER)
        dtg_vec_push(&r->sema->ctx->arena, &list.names, r->file->entries.data[i].name);
    }
    dtg_sema_unknown(r->sema, name->span, "optimizer", name->name, list.names.data, list.names.len);
    return;
  }
  if (expr->kind == DTG_EXPR_ERROR)
    return;
  struct dtg_diag *diag =
      dtg_error(&r->sema->ctx->diags, expr->span, "`optimizer` must be the call of an optimizer");
  dtg_diag_hint(diag, "for example sgd(lr = 0.1), after import std.optimizers { sgd }");
}

static void resolve_train(struct resolver *r, const struct dtg_ast_item *item) {
  dtg_locals_enter(&r->locals);
  for (size_t i = 0; i < item->train.entries.len; i++) {
    const struct dtg_ast_entry *entry = &item->train.entries.data[i];
    if (strcmp(entry->key.text, "optimizer") == 0)
      resolve_optimizer_call(r, entry->value);
    else if (strcmp(entry->key.text, "gradient") == 0)
      resolve_expr(r, entry->value);
  }
  dtg_locals_leave(&r->locals, 0);
}

void dtg_sema_names(struct dtg_sema *sema, struct dtg_scope_file *file) {
  struct resolver r = {.sema = sema, .file = file};
  r.locals = (struct dtg_locals){.sema = sema, .silent = file->is_std};
  for (size_t i = 0; i < file->ast->items.len; i++) {
    const struct dtg_ast_item *item = file->ast->items.data[i];
    bool function = item->kind == DTG_ITEM_FN || item->kind == DTG_ITEM_LAYER ||
                    item->kind == DTG_ITEM_MODEL || item->kind == DTG_ITEM_OPTIMIZER;
    if (function && item->name.text)
      resolve_function(&r, item);
    else if (item->kind == DTG_ITEM_TRAIN && file == sema->model->scope)
      resolve_train(&r, item);
  }
}
