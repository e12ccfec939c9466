// Resolves every name in the bodies of a file, so that a misspelt one is an error even where the
// body is never evaluated.
#include "compiler/sema/names.h"

#include <ctype.h>
#include <string.h>

static void resolve_body(struct dtg_resolver *r, const struct dtg_ast_body *body);

// ---- types ----

static const char *const attribute_types[] = {"int", "float", "bool", "str", "fn", "list"};
enum { ATTRIBUTE_TYPES = sizeof attribute_types / sizeof *attribute_types };

static void check_type_name(struct dtg_resolver *r, const struct dtg_ast_type *type) {
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

static bool binds_dim(struct dtg_resolver *r, const struct dtg_ast_dim *dim) {
  return !dim->is_ellipsis && dim->size->kind == DTG_EXPR_NAME &&
         isupper((unsigned char)dim->size->name[0]) &&
         !dtg_locals_find(&r->locals, dim->size->name) &&
         !dtg_scope_lookup(r->file, dim->size->name);
}

static void bind_dims(struct dtg_resolver *r, const struct dtg_ast_type *type) {
  for (size_t i = 0; i < type->dims.len; i++) {
    const struct dtg_ast_dim *dim = &type->dims.data[i];
    if (binds_dim(r, dim))
      dtg_locals_bind(&r->locals, (struct dtg_ast_name){dim->size->name, dim->span}, DTG_LOCAL_DIM);
  }
}

static void resolve_type(struct dtg_resolver *r, const struct dtg_ast_type *type, bool ellipsis) {
  int ellipses = 0;
  check_type_name(r, type);
  for (size_t i = 0; i < type->dims.len; i++) {
    if (!type->dims.data[i].is_ellipsis)
      dtg_resolve_expr(r, type->dims.data[i].size);
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

static void resolve_initializer(struct dtg_resolver *r, const struct dtg_ast_stmt *stmt) {
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
    dtg_resolve_expr(r, expr->call.arguments.data[j].value);
}

static void misplaced(struct dtg_resolver *r, const struct dtg_ast_stmt *stmt, const char *what,
                      const char *where) {
  dtg_error(&r->sema->ctx->diags, stmt->span, "%s %s", what, where);
}

static void resolve_declare(struct dtg_resolver *r, const struct dtg_ast_stmt *stmt) {
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
  else if (r->depth > 0)
    misplaced(r, stmt, what, "cannot stand inside a loop: put it into a layer and label its call");
  if (stmt->declare.type)
    resolve_type(r, stmt->declare.type, false);
  resolve_initializer(r, stmt);
  dtg_locals_bind(&r->locals, stmt->name,
                  r->item == DTG_ITEM_OPTIMIZER ? DTG_LOCAL_GIVEN
                  : param                       ? DTG_LOCAL_PARAM
                                                : DTG_LOCAL_STATE);
}

// A running total `s = s + n by sum` grows by its old value once more for each shard.
static void warn_of_own_sum(struct dtg_resolver *r, const struct dtg_ast_stmt *stmt) {
  const char *name = stmt->name.text;
  struct dtg_diag *diag = dtg_warning(&r->sema->ctx->diags, stmt->span,
                                      "the old value of `%s` is in each shard's candidate, and "
                                      "`by sum` adds all of them",
                                      name);
  dtg_diag_hint(diag, "write a value of this step alone, or combine the candidates by max");
}

static void resolve_update(struct dtg_resolver *r, const struct dtg_ast_stmt *stmt) {
  struct dtg_local *local = dtg_locals_find(&r->locals, stmt->name.text);
  bool used = local && local->used;
  if (local)
    local->used = false;
  dtg_resolve_expr(r, stmt->update.value);
  local = dtg_locals_find(&r->locals, stmt->name.text);
  if (local && local->kind == DTG_LOCAL_STATE) {
    if (local->used && stmt->update.by == DTG_UPDATE_BY_SUM)
      warn_of_own_sum(r, stmt);
    local->used = true;
    return;
  }
  if (local)
    local->used |= used;
  struct dtg_diag *diag =
      dtg_error(&r->sema->ctx->diags, stmt->name.span, "`%s` is not a state of this %s",
                stmt->name.text, r->item == DTG_ITEM_LAYER ? "layer" : "body");
  if (local)
    dtg_diag_note(diag, local->span, "it is defined here");
}

// What a loop collects is a name of the region around it, and none inside.
static void resolve_loop(struct dtg_resolver *r, const struct dtg_ast_stmt *stmt) {
  size_t outer_collected = r->collected_first;
  dtg_resolve_expr(r, stmt->for_in.first);
  dtg_resolve_expr(r, stmt->for_in.end);
  size_t first = r->locals.list.len;
  r->collected_first = r->collected.len;
  r->depth++;
  dtg_locals_enter(&r->locals);
  dtg_locals_bind(&r->locals, stmt->name, DTG_LOCAL_LOOP);
  if (stmt->kind == DTG_STMT_FOR)
    dtg_vec_push(&r->sema->ctx->arena, &r->loops, stmt->name);
  resolve_body(r, stmt->for_in.body);
  if (stmt->kind == DTG_STMT_FOR)
    r->loops.len--;
  dtg_locals_leave(&r->locals, first);
  for (size_t i = r->collected_first; i < r->collected.len; i++)
    dtg_locals_bind(&r->locals, r->collected.data[i], DTG_LOCAL_NAME);
  r->depth--;
  r->collected.len = r->collected_first;
  r->collected_first = outer_collected;
}

static void resolve_collect(struct dtg_resolver *r, const struct dtg_ast_stmt *stmt) {
  dtg_resolve_expr(r, stmt->value);
  if (r->depth == 0) {
    misplaced(r, stmt, "`collect`", "belongs in a `for` or `scan`");
    return;
  }
  for (size_t i = r->collected_first; i < r->collected.len; i++) {
    if (r->collected.data[i].text == stmt->name.text) {
      dtg_sema_twice(r->sema, stmt->name.span, stmt->name.text, r->collected.data[i].span);
      return;
    }
  }
  dtg_vec_push(&r->sema->ctx->arena, &r->collected, stmt->name);
}

static void resolve_branch(struct dtg_resolver *r, const struct dtg_ast_body *body) {
  dtg_locals_enter(&r->locals);
  if (body)
    resolve_body(r, body);
  dtg_locals_close(&r->locals);
}

static void resolve_if(struct dtg_resolver *r, const struct dtg_ast_stmt *stmt) {
  size_t first = r->locals.list.len;
  dtg_resolve_expr(r, stmt->if_else.condition);
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
static void resolve_result(struct dtg_resolver *r, const struct dtg_ast_stmt *stmt) {
  dtg_resolve_expr(r, stmt->value);
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

static void resolve_loss(struct dtg_resolver *r, const struct dtg_ast_stmt *stmt) {
  dtg_resolve_expr(r, stmt->value);
  if (r->depth > 0)
    misplaced(r, stmt, "`loss`", "cannot stand inside a loop");
  dtg_locals_bind(&r->locals, stmt->name, DTG_LOCAL_NAME);
  struct dtg_local *local = dtg_locals_find(&r->locals, stmt->name.text);
  if (local)
    local->used = true;
}

static void resolve_return(struct dtg_resolver *r, const struct dtg_ast_stmt *stmt) {
  dtg_resolve_expr(r, stmt->value);
  if (r->item != DTG_ITEM_FN && r->item != DTG_ITEM_LAYER)
    misplaced(r, stmt, "`return`", "belongs in a function or a layer");
  else if (r->depth > 0)
    misplaced(r, stmt, "`return`", "cannot stand inside a loop");
}

static void resolve_label_stmt(struct dtg_resolver *r, const struct dtg_ast_stmt *stmt) {
  const struct dtg_ast_label *label = stmt->label.label;
  dtg_resolve_label(r, label);
  dtg_resolve_expr(r, stmt->label.call);
  if (label->parts.len != 1)
    return;
  struct dtg_ast_name name = {label->parts.data[0].name, label->parts.data[0].span};
  dtg_locals_bind(&r->locals, name, DTG_LOCAL_NAME);
}

static void resolve_stmt(struct dtg_resolver *r, const struct dtg_ast_stmt *stmt) {
  switch (stmt->kind) {
  case DTG_STMT_ASSIGN:
    dtg_resolve_expr(r, stmt->value);
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
  case DTG_STMT_SCAN:
    resolve_loop(r, stmt);
    break;
  case DTG_STMT_COLLECT:
    resolve_collect(r, stmt);
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
static bool returns(struct dtg_resolver *r, const struct dtg_ast_body *body) {
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

static void resolve_body(struct dtg_resolver *r, const struct dtg_ast_body *body) {
  for (size_t i = 0; i < body->stmts.len; i++)
    resolve_stmt(r, body->stmts.data[i]);
}

// ---- items ----

static void resolve_parameters(struct dtg_resolver *r, const struct dtg_ast_item *item) {
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
      dtg_resolve_expr(r, parameter->default_value);
  }
}

static void give(struct dtg_resolver *r, const char *text, struct dtg_span span) {
  struct dtg_ast_name name = {dtg_intern_z(&r->sema->ctx->names, text), span};
  dtg_locals_bind(&r->locals, name, DTG_LOCAL_GIVEN);
}

static void resolve_function(struct dtg_resolver *r, const struct dtg_ast_item *item) {
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
    dtg_resolve_expr(r, item->function.value);
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

static void resolve_optimizer_call(struct dtg_resolver *r, const struct dtg_ast_expr *expr) {
  const struct dtg_symbol *symbol =
      expr->kind == DTG_EXPR_CALL ? dtg_resolve_callee(r, expr->call.callee) : NULL;
  if (symbol && symbol->kind == DTG_SYMBOL_OPTIMIZER) {
    dtg_resolve_arguments(r, expr, symbol);
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

static void resolve_train(struct dtg_resolver *r, const struct dtg_ast_item *item) {
  dtg_locals_enter(&r->locals);
  for (size_t i = 0; i < item->train.entries.len; i++) {
    const struct dtg_ast_entry *entry = &item->train.entries.data[i];
    if (strcmp(entry->key.text, "optimizer") == 0)
      resolve_optimizer_call(r, entry->value);
    else if (strcmp(entry->key.text, "gradient") == 0)
      dtg_resolve_expr(r, entry->value);
  }
  dtg_locals_leave(&r->locals, 0);
}

void dtg_sema_names(struct dtg_sema *sema, struct dtg_scope_file *file) {
  struct dtg_resolver r = {.sema = sema, .file = file};
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
