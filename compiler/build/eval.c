// Expressions.
#include "compiler/build/internal.h"

#include <inttypes.h>
#include <string.h>

static struct dtg_value function_value(struct dtg_build *b, struct dtg_build_function function) {
  struct dtg_build_function *copy = DTG_NEW(&b->ctx->arena, struct dtg_build_function);
  *copy = function;
  return (struct dtg_value){.kind = DTG_VALUE_FUNCTION, .function = copy};
}

// ---- names ----

static struct dtg_value symbol_value(struct dtg_build *b, const struct dtg_symbol *symbol,
                                     struct dtg_span span) {
  switch (symbol->kind) {
  case DTG_SYMBOL_CONST:
    return symbol->value;
  case DTG_SYMBOL_FN:
  case DTG_SYMBOL_LAYER:
  case DTG_SYMBOL_OPTIMIZER:
    return function_value(b, (struct dtg_build_function){.kind = DTG_FUNCTION_ITEM,
                                                         .name = symbol->name,
                                                         .symbol = symbol});
  default:
    return dtg_build_fail(b, span, "`%s` is %s, not a value", symbol->name,
                          dtg_symbol_kind_text(symbol->kind));
  }
}

static struct dtg_value builtin_value(struct dtg_build *b, const char *name, struct dtg_span span) {
  struct dtg_value out = {.kind = DTG_VALUE_DTYPE};
  switch (dtg_builtin_find(name)) {
  case DTG_BUILTIN_DTYPE:
    dtg_dtype_from_name(name, strlen(name), &out.dtype);
    return out;
  case DTG_BUILTIN_SCALAR:
    if (strcmp(name, "training") == 0)
      return dtg_value_bool(b->training);
    return dtg_build_scalar(b, name, span);
  case DTG_BUILTIN_OP:
    return function_value(b, (struct dtg_build_function){
                                 .kind = DTG_FUNCTION_OP, .name = name, .op = dtg_op_find(name)});
  case DTG_BUILTIN_FUNCTION:
    return function_value(b,
                          (struct dtg_build_function){.kind = DTG_FUNCTION_BUILTIN, .name = name});
  case DTG_BUILTIN_NONE:
    break;
  }
  return dtg_build_fail(b, span, "`%s` has no value here", name);
}

static struct dtg_value eval_name(struct dtg_build *b, struct dtg_build_env *env, const char *name,
                                  struct dtg_span span) {
  const struct dtg_binding *binding = dtg_env_find(env, name);
  if (binding)
    return binding->value;
  const struct dtg_symbol *symbol = dtg_scope_lookup(env->file, name);
  return symbol ? symbol_value(b, symbol, span) : builtin_value(b, name, span);
}

static struct dtg_value eval_member(struct dtg_build *b, struct dtg_build_env *env,
                                    const struct dtg_ast_expr *expr) {
  const struct dtg_ast_expr *object = expr->member.object;
  if (object->kind == DTG_EXPR_NAME && !dtg_env_find(env, object->name)) {
    const struct dtg_symbol *module = dtg_scope_lookup(env->file, object->name);
    if (module && module->kind == DTG_SYMBOL_MODULE) {
      const struct dtg_symbol *symbol = dtg_scope_item(module->home, expr->member.name.text);
      return symbol ? symbol_value(b, symbol, expr->span) : dtg_value_error();
    }
  }
  struct dtg_value value = dtg_build_eval(b, env, object);
  if (value.kind == DTG_VALUE_ERROR)
    return value;
  if (value.kind == DTG_VALUE_INSTANCE)
    return dtg_build_member(b, value.instance, &expr->member.name);
  return dtg_build_fail(b, expr->span, "%s has no member `%s`: only layer instances have some",
                        dtg_value_kind_text(&value), expr->member.name.text);
}

// ---- parts ----

struct place {
  struct dtg_build *b;
  struct dtg_build_env *env;
};

static struct dtg_value read_name(void *scope, const char *name, struct dtg_span span) {
  const struct place *place = scope;
  return eval_name(place->b, place->env, name, span);
}

static struct dtg_value read_expression(void *scope, const struct dtg_ast_expr *expr) {
  const struct place *place = scope;
  return dtg_build_eval(place->b, place->env, expr);
}

static struct dtg_value eval_parts(struct dtg_build *b, struct dtg_build_env *env,
                                   const struct dtg_ast_expr *expr) {
  struct place place = {b, env};
  struct dtg_value_reader reader = {b->ctx, &place, read_name, read_expression};
  return expr->kind == DTG_EXPR_STRING ? dtg_value_of_string(&reader, &expr->string)
                                       : dtg_value_of_list(&reader, expr);
}

static struct dtg_value eval_if(struct dtg_build *b, struct dtg_build_env *env,
                                const struct dtg_ast_expr *expr) {
  struct dtg_value condition = dtg_build_eval(b, env, expr->if_else.condition);
  if (condition.kind == DTG_VALUE_ERROR)
    return condition;
  if (condition.kind != DTG_VALUE_BOOL) {
    struct dtg_diag *diag =
        dtg_build_error(b, expr->if_else.condition->span,
                        "the condition of `if` must be a bool known at compile time, not %s",
                        dtg_value_kind_text(&condition));
    if (condition.kind == DTG_VALUE_TENSOR)
      dtg_diag_hint(diag, "where(condition, a, b) chooses per element");
    return dtg_value_error();
  }
  return dtg_build_eval(b, env, condition.b ? expr->if_else.then_value : expr->if_else.else_value);
}

static struct dtg_value eval_lambda(struct dtg_build *b, struct dtg_build_env *env,
                                    const struct dtg_ast_expr *expr) {
  return function_value(b, (struct dtg_build_function){.kind = DTG_FUNCTION_LAMBDA,
                                                       .name = "a lambda",
                                                       .lambda = expr,
                                                       .env = dtg_env_snapshot(b, env)});
}

// `left |> right`: the left value is the first argument of the right side.
static struct dtg_value eval_pipe(struct dtg_build *b, struct dtg_build_env *env,
                                  const struct dtg_ast_expr *expr,
                                  const struct dtg_build_naming *naming) {
  struct dtg_build_argument piped = {.span = expr->pipe.left->span,
                                     .value = dtg_build_eval(b, env, expr->pipe.left)};
  const struct dtg_ast_expr *right = expr->pipe.right;
  struct dtg_build_naming labeled = {0};
  if (right->kind == DTG_EXPR_LABELED) {
    labeled.label = right->labeled.label;
    naming = &labeled;
    right = right->labeled.value;
  }
  if (right->kind == DTG_EXPR_CALL)
    return dtg_build_call_expr(b, env, right, &piped, naming);
  struct dtg_value callee = dtg_build_eval(b, env, right);
  if (callee.kind == DTG_VALUE_ERROR || piped.value.kind == DTG_VALUE_ERROR)
    return dtg_value_error();
  struct dtg_build_call call = {
      .env = env, .span = right->span, .naming = naming, .count = 1, .arguments = &piped};
  return dtg_build_call_value(b, &callee, &call);
}

static struct dtg_value eval_labeled(struct dtg_build *b, struct dtg_build_env *env,
                                     const struct dtg_ast_expr *expr) {
  struct dtg_build_naming naming = {.label = expr->labeled.label};
  if (expr->labeled.value->kind == DTG_EXPR_CALL)
    return dtg_build_call_expr(b, env, expr->labeled.value, NULL, &naming);
  return dtg_build_fail(b, expr->span, "a label stands before a call");
}

static struct dtg_value eval_kind(struct dtg_build *b, struct dtg_build_env *env,
                                  const struct dtg_ast_expr *expr,
                                  const struct dtg_build_naming *naming) {
  struct dtg_value left, right;
  switch (expr->kind) {
  case DTG_EXPR_ERROR:
    return dtg_value_error();
  case DTG_EXPR_INT:
  case DTG_EXPR_SIZE:
    return dtg_value_int(expr->int_value);
  case DTG_EXPR_FLOAT:
    return dtg_value_float(expr->float_value);
  case DTG_EXPR_BOOL:
    return dtg_value_bool(expr->bool_value);
  case DTG_EXPR_STRING:
  case DTG_EXPR_LIST:
    return eval_parts(b, env, expr);
  case DTG_EXPR_NAME:
    return eval_name(b, env, expr->name, expr->span);
  case DTG_EXPR_MEMBER:
    return eval_member(b, env, expr);
  case DTG_EXPR_CALL:
    return dtg_build_call_expr(b, env, expr, NULL, naming);
  case DTG_EXPR_LABELED:
    return eval_labeled(b, env, expr);
  case DTG_EXPR_SUBSCRIPT:
    return dtg_build_subscript(b, env, expr);
  case DTG_EXPR_UNARY:
    left = dtg_build_eval(b, env, expr->unary.operand);
    return dtg_build_unary(b, expr->unary.op, &left, expr->span);
  case DTG_EXPR_BINARY:
    left = dtg_build_eval(b, env, expr->binary.left);
    right = dtg_build_eval(b, env, expr->binary.right);
    b->graph->span = expr->span;
    return dtg_build_binary(b, expr->binary.op, &left, &right, expr->span);
  case DTG_EXPR_IF:
    return eval_if(b, env, expr);
  case DTG_EXPR_LAMBDA:
    return eval_lambda(b, env, expr);
  case DTG_EXPR_PIPE:
    return eval_pipe(b, env, expr, naming);
  }
  return dtg_value_error();
}

struct dtg_value dtg_build_eval_named(struct dtg_build *b, struct dtg_build_env *env,
                                      const struct dtg_ast_expr *expr,
                                      const struct dtg_build_naming *naming) {
  if (b->stopped)
    return dtg_value_error();
  if (b->depth >= DTG_BUILD_MAX_DEPTH) {
    b->stopped = true;
    struct dtg_diag *diag =
        dtg_build_error(b, expr->span, "calls and expressions are nested more than %d deep here",
                        DTG_BUILD_MAX_DEPTH);
    dtg_diag_hint(diag, "a function must not lead back to itself; use `for` to repeat");
    return dtg_value_error();
  }
  struct dtg_span outer = b->graph->span;
  b->graph->span = expr->span;
  b->depth++;
  struct dtg_value value = eval_kind(b, env, expr, naming);
  b->depth--;
  b->graph->span = outer;
  return value;
}

struct dtg_value dtg_build_eval(struct dtg_build *b, struct dtg_build_env *env,
                                const struct dtg_ast_expr *expr) {
  return dtg_build_eval_named(b, env, expr, NULL);
}

bool dtg_build_int(struct dtg_build *b, struct dtg_build_env *env, const struct dtg_ast_expr *expr,
                   const char *what, int64_t *out) {
  struct dtg_value value = dtg_build_eval(b, env, expr);
  if (value.kind == DTG_VALUE_ERROR)
    return false;
  if (value.kind == DTG_VALUE_INT) {
    *out = value.i;
    return true;
  }
  if (value.kind == DTG_VALUE_FLOAT) {
    struct dtg_strbuf text = {0};
    dtg_value_print(&value, &text);
    dtg_build_error(b, expr->span, "%s must be a whole number, not %s", what,
                    dtg_strbuf_text(&text));
    dtg_strbuf_free(&text);
  } else {
    dtg_build_error(b, expr->span, "%s must be an int known at compile time, not %s", what,
                    dtg_value_kind_text(&value));
  }
  return false;
}
