// Calls: arguments to parameters, and what a function does with them.
#include "compiler/build/internal.h"

#include <inttypes.h>

// ---- arguments ----

struct dtg_value dtg_build_call_expr(struct dtg_build *b, struct dtg_build_env *env,
                                     const struct dtg_ast_expr *expr,
                                     const struct dtg_build_argument *piped,
                                     const struct dtg_build_naming *naming) {
  struct dtg_value callee = dtg_build_eval(b, env, expr->call.callee);
  bool failed = callee.kind == DTG_VALUE_ERROR;
  struct dtg_build_call call = {.env = env, .span = expr->span, .naming = naming};
  call.arguments =
      DTG_NEW_ARRAY(&b->ctx->arena, struct dtg_build_argument, expr->call.arguments.len + 1);
  if (piped)
    call.arguments[call.count++] = *piped;
  for (size_t i = 0; i < expr->call.arguments.len; i++) {
    const struct dtg_ast_argument *argument = &expr->call.arguments.data[i];
    call.arguments[call.count++] =
        (struct dtg_build_argument){.name = argument->name.text,
                                    .span = argument->span,
                                    .value = dtg_build_eval(b, env, argument->value)};
  }
  for (size_t i = 0; i < call.count; i++)
    failed |= call.arguments[i].value.kind == DTG_VALUE_ERROR;
  return failed ? dtg_value_error() : dtg_build_call_value(b, &callee, &call);
}

static size_t parameter_index(const struct dtg_symbol *symbol, const char *name) {
  size_t count = symbol->item->function.parameters.len, i = 0;
  while (i < count && symbol->item->function.parameters.data[i].name.text != name)
    i++;
  return i;
}

bool dtg_build_match(struct dtg_build *b, const struct dtg_symbol *symbol,
                     const struct dtg_build_call *call, struct dtg_build_given *given) {
  size_t count = symbol->item->function.parameters.len, position = 0;
  for (size_t i = 0; i < call->count; i++) {
    const struct dtg_build_argument *argument = &call->arguments[i];
    size_t index = argument->name ? parameter_index(symbol, argument->name) : position++;
    if (index >= count) {
      if (argument->name)
        dtg_build_error(b, argument->span, "`%s` has no parameter `%s`", symbol->name,
                        argument->name);
      else
        dtg_build_error(b, argument->span, "`%s` takes at most %zu argument%s", symbol->name, count,
                        count == 1 ? "" : "s");
      return false;
    }
    if (given[index].value.kind != DTG_VALUE_ERROR) {
      dtg_build_error(b, argument->span, "`%s` of `%s` is given twice",
                      symbol->item->function.parameters.data[index].name.text, symbol->name);
      return false;
    }
    given[index] = (struct dtg_build_given){argument->value, argument->span};
  }
  return true;
}

// ---- parameters ----

static const char *quoted(struct dtg_build *b, const struct dtg_ast_parameter *parameter) {
  return dtg_arena_printf(&b->ctx->arena, "`%s`", parameter->name.text);
}

static bool bind_given(struct dtg_build *b, struct dtg_build_env *env,
                       const struct dtg_ast_parameter *parameter, struct dtg_value value,
                       struct dtg_span span) {
  if (parameter->type &&
      !dtg_build_check_type(b, env, parameter->type, &value, quoted(b, parameter), span))
    return false;
  dtg_env_bind(b, env, parameter->name.text, value);
  return true;
}

static bool bind_default(struct dtg_build *b, struct dtg_build_env *env,
                         const struct dtg_symbol *symbol, const struct dtg_ast_parameter *parameter,
                         struct dtg_span span) {
  if (!parameter->default_value) {
    struct dtg_diag *diag =
        dtg_build_error(b, span, "`%s` needs `%s`", symbol->name, parameter->name.text);
    dtg_diag_note(diag, parameter->span, "it is declared here");
    return false;
  }
  struct dtg_value value = dtg_build_eval(b, env, parameter->default_value);
  return value.kind != DTG_VALUE_ERROR &&
         bind_given(b, env, parameter, value, parameter->default_value->span);
}

bool dtg_build_bind_parameters(struct dtg_build *b, struct dtg_build_env *env,
                               const struct dtg_symbol *symbol, const struct dtg_build_given *given,
                               struct dtg_span span) {
  size_t count = symbol->item->function.parameters.len;
  // What was given first: its dims may stand in the defaults and in types with expressions.
  for (size_t i = 0; i < count; i++) {
    if (given[i].value.kind != DTG_VALUE_ERROR &&
        !bind_given(b, env, &symbol->item->function.parameters.data[i], given[i].value,
                    given[i].span))
      return false;
  }
  for (size_t i = 0; i < count; i++) {
    if (given[i].value.kind == DTG_VALUE_ERROR &&
        !bind_default(b, env, symbol, &symbol->item->function.parameters.data[i], span))
      return false;
  }
  for (size_t i = 0; i < count; i++) {
    const struct dtg_ast_parameter *parameter = &symbol->item->function.parameters.data[i];
    const struct dtg_binding *binding = dtg_env_find(env, parameter->name.text);
    if (parameter->type &&
        !dtg_build_check_dims(b, env, parameter->type, &binding->value, quoted(b, parameter),
                              given[i].value.kind == DTG_VALUE_ERROR ? span : given[i].span))
      return false;
  }
  return true;
}

// ---- frames ----

bool dtg_build_enter(struct dtg_build *b, struct dtg_build_frame *frame) {
  for (const struct dtg_build_frame *outer = frame->parent; outer; outer = outer->parent) {
    if (outer->symbol != frame->symbol)
      continue;
    struct dtg_diag *diag =
        dtg_build_error(b, frame->call, "`%s` leads back to itself: recursion is not possible",
                        frame->symbol->name);
    dtg_diag_hint(diag, "use `for` to repeat");
    return false;
  }
  b->frame = frame;
  return true;
}

void dtg_build_leave(struct dtg_build *b, const struct dtg_build_frame *frame) {
  b->frame = frame->parent;
}

// ---- functions ----

static struct dtg_value function_result(struct dtg_build *b, struct dtg_build_env *env,
                                        const struct dtg_ast_item *item) {
  bool returned = false;
  struct dtg_value value = item->function.value
                               ? dtg_build_eval(b, env, item->function.value)
                               : dtg_build_body(b, env, item->function.body, &returned);
  if (value.kind == DTG_VALUE_ERROR || !item->function.result)
    return value;
  struct dtg_span span = item->function.result->span;
  if (!dtg_build_check_type(b, env, item->function.result, &value, "the result", span) ||
      !dtg_build_check_dims(b, env, item->function.result, &value, "the result", span))
    return dtg_value_error();
  return value;
}

// A label of a function call names the ops that it makes.
static const char *labeled_path(struct dtg_build *b, const struct dtg_build_call *call) {
  const char *outer = b->graph->path;
  if (!call->naming || !call->naming->label)
    return outer;
  const char *label = dtg_build_label_text(b, call->env, call->naming->label);
  if (!label || outer[0] == '\0')
    return label ? label : outer;
  return dtg_intern_z(&b->ctx->names, dtg_arena_printf(&b->ctx->arena, "%s.%s", outer, label));
}

static struct dtg_value call_function(struct dtg_build *b, const struct dtg_symbol *symbol,
                                      const struct dtg_build_call *call) {
  size_t count = symbol->item->function.parameters.len;
  struct dtg_build_given *given = DTG_NEW_ARRAY(&b->ctx->arena, struct dtg_build_given, count);
  struct dtg_build_frame *frame = DTG_NEW(&b->ctx->arena, struct dtg_build_frame);
  *frame = (struct dtg_build_frame){.parent = b->frame, .symbol = symbol, .call = call->span};
  struct dtg_value value = dtg_value_error();
  if (!dtg_build_match(b, symbol, call, given) || !dtg_build_enter(b, frame))
    return value;
  const char *outer = b->graph->path;
  b->graph->path = labeled_path(b, call);
  struct dtg_build_env *env = dtg_env_new(b, symbol->home, DTG_ITEM_FN);
  if (dtg_build_bind_parameters(b, env, symbol, given, call->span))
    value = function_result(b, env, symbol->item);
  b->graph->path = outer;
  dtg_build_leave(b, frame);
  return value;
}

static struct dtg_value call_lambda(struct dtg_build *b, const struct dtg_build_function *function,
                                    const struct dtg_build_call *call) {
  if (call->count != 1 || call->arguments[0].name)
    return dtg_build_fail(b, call->span, "a lambda takes one positional argument, not %zu",
                          call->count);
  const struct dtg_build_frame *outer = b->frame;
  struct dtg_build_env *env = dtg_env_snapshot(b, function->env);
  b->frame = function->env->frame;
  dtg_env_bind(b, env, function->lambda->lambda.parameter.text, call->arguments[0].value);
  struct dtg_value value = dtg_build_eval(b, env, function->lambda->lambda.body);
  b->frame = outer;
  return value;
}

static struct dtg_value call_item(struct dtg_build *b, const struct dtg_symbol *symbol,
                                  const struct dtg_build_call *call) {
  if (symbol->kind == DTG_SYMBOL_LAYER)
    return dtg_build_call_layer(b, symbol, call);
  if (symbol->kind == DTG_SYMBOL_FN)
    return call_function(b, symbol, call);
  return dtg_build_fail(b, call->span, "`%s`, an optimizer, can be called in `train` only",
                        symbol->name);
}

struct dtg_value dtg_build_call_value(struct dtg_build *b, const struct dtg_value *callee,
                                      const struct dtg_build_call *call) {
  if (callee->kind == DTG_VALUE_INSTANCE)
    return dtg_build_apply(b, callee->instance, call);
  if (callee->kind != DTG_VALUE_FUNCTION)
    return dtg_build_fail(b, call->span, "%s cannot be called", dtg_value_kind_text(callee));
  const struct dtg_build_function *function = callee->function;
  switch (function->kind) {
  case DTG_FUNCTION_ITEM:
    return call_item(b, function->symbol, call);
  case DTG_FUNCTION_LAMBDA:
    return call_lambda(b, function, call);
  case DTG_FUNCTION_OP:
    return dtg_build_call_op(b, function->op, call);
  case DTG_FUNCTION_BUILTIN:
    return dtg_build_call_builtin(b, function->name, call);
  }
  return dtg_value_error();
}
