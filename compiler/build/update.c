// The update graph: the optimizer for every parameter, and the combined states.
#include "compiler/build/internal.h"

#include <inttypes.h>
#include <string.h>

// Slots of one parameter while the optimizer runs.
struct optimizer_run {
  struct dtg_build *b;
  const struct dtg_symbol *symbol;
  const struct dtg_build_given *given;
  struct dtg_span call;
};

struct dtg_value dtg_build_scalar(struct dtg_build *b, const char *name, struct dtg_span span) {
  if (!b->updating) {
    struct dtg_diag *diag =
        dtg_build_error(b, span, "`%s` is known while parameters are updated only", name);
    dtg_diag_hint(diag, "use it in an optimizer or in a schedule");
    return dtg_value_error();
  }
  struct dtg_attr attr = dtg_attr_string("name", name);
  return dtg_build_tensor(dtg_add(b->graph, "scalar", NULL, 0, &attr, 1), true);
}

// ---- gradients ----

// Mean over the shards of what they contributed: the tree has added it up.
static uint32_t mean_over_shards(struct dtg_build *b, const char *path, struct dtg_type type) {
  uint32_t sum = dtg_add_leaf(b->graph, "grad_in", path, type);
  if (b->model->train.shards == 1)
    return sum;
  double scale = 1.0 / (double)b->model->train.shards;
  uint32_t factor = dtg_add_const(b->graph, scale, type.dtype, &type.shape);
  return dtg_add_binary(b->graph, "mul", sum, factor);
}

static void at_variable(struct dtg_build *b, uint32_t variable) {
  b->graph->path = b->module->variables.data[variable].path;
  b->graph->span = b->module->variables.data[variable].span;
}

// `gradient = f` of the training block, applied to one gradient.
static bool transform_gradient(struct dtg_build *b, const struct dtg_value *function,
                               uint32_t variable, uint32_t *gradient) {
  if (function->kind == DTG_VALUE_ERROR)
    return true;
  struct dtg_span span = b->model->train.gradient->span;
  struct dtg_build_argument argument = {.span = span, .value = dtg_build_tensor(*gradient, false)};
  struct dtg_build_env *env = dtg_env_new(b, b->model->scope, DTG_ITEM_TRAIN);
  struct dtg_build_call call = {.env = env, .span = span, .count = 1, .arguments = &argument};
  b->gradient = *gradient;
  struct dtg_value value = dtg_build_call_value(b, function, &call);
  const struct dtg_type type = b->module->variables.data[variable].type;
  if (value.kind == DTG_VALUE_ERROR)
    return false;
  if (value.kind == DTG_VALUE_TENSOR && dtg_type_equal(dtg_build_type(b, value.node), &type)) {
    *gradient = value.node;
    return true;
  }
  struct dtg_diag *diag =
      dtg_build_error(b, span, "`gradient` must give a tensor of the parameter's type, %s, not %s",
                      dtg_build_type_text(b, &type),
                      value.kind == DTG_VALUE_TENSOR ? dtg_build_node_text(b, value.node)
                                                     : dtg_value_kind_text(&value));
  dtg_diag_hint(diag, "for example gradient = clip_by_global_norm(1.0)");
  return false;
}

// The function of `gradient =`; kind ERROR where there is none. False after an error.
static bool gradient_function(struct dtg_build *b, struct dtg_value *out) {
  const struct dtg_ast_expr *expr = b->model->train.gradient;
  *out = dtg_value_error();
  if (!expr)
    return true;
  *out = dtg_build_eval(b, dtg_env_new(b, b->model->scope, DTG_ITEM_TRAIN), expr);
  if (out->kind == DTG_VALUE_FUNCTION)
    return true;
  if (out->kind != DTG_VALUE_ERROR)
    dtg_build_error(b, expr->span, "`gradient` must be a function of one gradient, not %s",
                    dtg_value_kind_text(out));
  return false;
}

// ---- slots ----

static void declare_slot(struct optimizer_run *run, struct dtg_build_env *env, uint32_t param,
                         const struct dtg_ast_stmt *stmt) {
  struct dtg_build *b = run->b;
  const struct dtg_variable *owner = &b->module->variables.data[param];
  struct dtg_variable slot = {
      .kind = DTG_VARIABLE_SLOT, .type = owner->type, .param = param, .span = stmt->span};
  slot.path = dtg_intern_z(&b->ctx->names,
                           dtg_arena_printf(&b->ctx->arena, "%s:%s", owner->path, stmt->name.text));
  struct dtg_value value = dtg_value_error();
  if (dtg_build_initializer(b, env, stmt->declare.initializer, &slot.init)) {
    value = dtg_build_tensor(dtg_add_leaf(b->graph, "slot", slot.path, slot.type), false);
    dtg_graph_node(b->graph, value.node)->name = stmt->name.text;
    dtg_vec_push(&b->ctx->arena, &b->module->variables, slot);
  }
  dtg_env_bind(b, env, stmt->name.text, value);
}

static void declare_slots(struct optimizer_run *run, struct dtg_build_env *env, uint32_t param) {
  const struct dtg_ast_body *body = run->symbol->item->function.body;
  for (size_t i = 0; i < body->stmts.len; i++) {
    if (body->stmts.data[i]->kind == DTG_STMT_STATE)
      declare_slot(run, env, param, body->stmts.data[i]);
  }
}

// ---- one parameter ----

static void add_root(struct dtg_build *b, struct dtg_build_env *env, const char *local,
                     const char *path, const struct dtg_type *type, struct dtg_span span) {
  const struct dtg_binding *binding = dtg_env_find(env, local);
  if (!binding || binding->value.kind == DTG_VALUE_ERROR)
    return;
  const struct dtg_value *value = &binding->value;
  uint32_t node = value->node;
  if (dtg_value_is_number(value) || (value->kind == DTG_VALUE_TENSOR && value->weak)) {
    if (!dtg_build_as_tensor(b, value, local, span, &node))
      return;
  } else if (value->kind != DTG_VALUE_TENSOR) {
    dtg_build_error(b, span, "the optimizer gives `%s` %s", local, dtg_value_kind_text(value));
    return;
  }
  struct dtg_shape wide;
  const struct dtg_type have = *dtg_build_type(b, node);
  bool fits = have.dtype == type->dtype && dtg_shape_broadcast(&have.shape, &type->shape, &wide) &&
              dtg_shape_equal(&wide, &type->shape);
  if (!fits) {
    dtg_build_error(b, span, "the optimizer gives `%s` the type %s, but it is %s", local,
                    dtg_build_type_text(b, &have), dtg_build_type_text(b, type));
    return;
  }
  node = dtg_add_broadcast(b->graph, node, &type->shape);
  dtg_graph_add_root(b->graph, DTG_ROOT_UPDATE, path, node, DTG_REDUCE_MEAN, span);
}

static void add_roots(struct optimizer_run *run, struct dtg_build_env *env, uint32_t param,
                      uint32_t leaf) {
  struct dtg_build *b = run->b;
  const char *name = dtg_intern_z(&b->ctx->names, "param");
  const struct dtg_variable owner = b->module->variables.data[param];
  const struct dtg_ast_body *body = run->symbol->item->function.body;
  const struct dtg_binding *binding = dtg_env_find(env, name);
  if (binding->value.kind == DTG_VALUE_TENSOR && binding->value.node == leaf) {
    struct dtg_diag *diag = dtg_build_error(
        b, run->symbol->span, "the optimizer `%s` does not change `param`", run->symbol->name);
    dtg_diag_hint(diag, "add a line such as param = param - lr * grad");
    return;
  }
  add_root(b, env, name, owner.path, &owner.type, run->symbol->span);
  for (size_t i = 0; i < body->stmts.len; i++) {
    const struct dtg_ast_stmt *stmt = body->stmts.data[i];
    if (stmt->kind != DTG_STMT_STATE)
      continue;
    const char *path = dtg_intern_z(
        &b->ctx->names, dtg_arena_printf(&b->ctx->arena, "%s:%s", owner.path, stmt->name.text));
    add_root(b, env, stmt->name.text, path, &owner.type, stmt->span);
  }
}

static void update_param(struct optimizer_run *run, uint32_t param, uint32_t gradient) {
  struct dtg_build *b = run->b;
  bool returned = false;
  struct dtg_build_frame *frame = DTG_NEW(&b->ctx->arena, struct dtg_build_frame);
  *frame = (struct dtg_build_frame){.parent = b->frame, .symbol = run->symbol, .call = run->call};
  if (!dtg_build_enter(b, frame))
    return;
  at_variable(b, param);
  struct dtg_build_env *env = dtg_env_new(b, run->symbol->home, DTG_ITEM_OPTIMIZER);
  const struct dtg_variable *owner = &b->module->variables.data[param];
  uint32_t leaf = dtg_add_leaf(b->graph, "param", owner->path, owner->type);
  dtg_graph_node(b->graph, leaf)->name = owner->path;
  dtg_env_bind(b, env, dtg_intern_z(&b->ctx->names, "param"), dtg_build_tensor(leaf, false));
  dtg_env_bind(b, env, dtg_intern_z(&b->ctx->names, "grad"), dtg_build_tensor(gradient, false));
  if (dtg_build_bind_parameters(b, env, run->symbol, run->given, run->call)) {
    declare_slots(run, env, param);
    dtg_build_body(b, env, run->symbol->item->function.body, &returned);
    add_roots(run, env, param, leaf);
  }
  dtg_build_leave(b, frame);
}

// ---- states ----

static uint32_t find_variable(const struct dtg_module *module, const char *path) {
  uint32_t i = 0;
  while (module->variables.data[i].path != path)
    i++;
  return i;
}

static void update_states(struct dtg_build *b) {
  const struct dtg_graph *train = b->module->train;
  for (size_t i = 0; i < train->roots.len; i++) {
    const struct dtg_root *root = &train->roots.data[i];
    if (root->kind != DTG_ROOT_STATE)
      continue;
    uint32_t variable = find_variable(b->module, root->name);
    const struct dtg_type type = b->module->variables.data[variable].type;
    at_variable(b, variable);
    uint32_t node = root->reduce == DTG_REDUCE_MEAN
                        ? mean_over_shards(b, root->name, type)
                        : dtg_add_leaf(b->graph, "grad_in", root->name, type);
    dtg_graph_add_root(b->graph, DTG_ROOT_UPDATE, root->name, node, DTG_REDUCE_MEAN, root->span);
  }
}

// ---- the whole ----

// `lazy = true`, which every optimizer takes: for sparse tables, absent rows are left alone.
static bool read_lazy(struct dtg_build *b, const struct dtg_ast_argument *argument,
                      const struct dtg_value *value) {
  if (value->kind != DTG_VALUE_BOOL) {
    dtg_build_error(b, argument->span, "`lazy` must be true or false, not %s",
                    dtg_value_kind_text(value));
    return false;
  }
  b->module->lazy = value->b;
  return true;
}

// An optimizer may declare an argument of that name itself.
static bool declares(const struct dtg_symbol *symbol, const char *name) {
  for (size_t i = 0; i < symbol->item->function.parameters.len; i++)
    if (symbol->item->function.parameters.data[i].name.text == name)
      return true;
  return false;
}

// The call `momentum(lr = ..., mu = 0.9)`: its arguments, evaluated once for all parameters.
static bool read_optimizer(struct optimizer_run *run) {
  struct dtg_build *b = run->b;
  const struct dtg_ast_expr *expr = b->model->train.optimizer;
  struct dtg_build_env *env = dtg_env_new(b, b->model->scope, DTG_ITEM_TRAIN);
  struct dtg_value callee = dtg_build_eval(b, env, expr->call.callee);
  if (callee.kind != DTG_VALUE_FUNCTION || callee.function->kind != DTG_FUNCTION_ITEM)
    return false;
  run->symbol = callee.function->symbol;
  run->call = expr->span;
  struct dtg_build_call call = {.env = env, .span = expr->span};
  const char *lazy = dtg_intern_z(&b->ctx->names, "lazy");
  call.arguments =
      DTG_NEW_ARRAY(&b->ctx->arena, struct dtg_build_argument, expr->call.arguments.len);
  for (size_t i = 0; i < expr->call.arguments.len; i++) {
    const struct dtg_ast_argument *argument = &expr->call.arguments.data[i];
    struct dtg_value value = dtg_build_eval(b, env, argument->value);
    if (value.kind == DTG_VALUE_ERROR)
      return false;
    if (argument->name.text == lazy && !declares(run->symbol, lazy)) {
      if (!read_lazy(b, argument, &value))
        return false;
      continue;
    }
    call.arguments[call.count++] = (struct dtg_build_argument){
        .name = argument->name.text, .span = argument->span, .value = value};
  }
  size_t count = run->symbol->item->function.parameters.len;
  struct dtg_build_given *given = DTG_NEW_ARRAY(&b->ctx->arena, struct dtg_build_given, count);
  run->given = given;
  return dtg_build_match(b, run->symbol, &call, given);
}

static void update_params(struct dtg_build *b, uint32_t *gradients) {
  struct optimizer_run run = {.b = b};
  struct dtg_value function;
  b->graph->path = dtg_intern_z(&b->ctx->names, "");
  bool good = gradient_function(b, &function);
  if (!read_optimizer(&run) || !good)
    return;
  for (uint32_t i = 0; i < b->param_count && !b->stopped; i++) {
    uint32_t gradient = gradients[i];
    at_variable(b, i);
    if (transform_gradient(b, &function, i, &gradient))
      update_param(&run, i, gradient);
  }
}

struct dtg_graph *dtg_build_update(struct dtg_build *b) {
  // Parameters stand first and in path order.
  while (b->param_count < b->module->variables.len &&
         b->module->variables.data[b->param_count].kind == DTG_VARIABLE_PARAM)
    b->param_count++;
  uint32_t *gradients = DTG_NEW_ARRAY(&b->ctx->arena, uint32_t, b->param_count);
  for (uint32_t i = 0; i < b->param_count; i++) {
    at_variable(b, i);
    gradients[i] =
        mean_over_shards(b, b->module->variables.data[i].path, b->module->variables.data[i].type);
    dtg_graph_node(b->graph, gradients[i])->name = dtg_intern_z(&b->ctx->names, "grad");
  }
  b->gradients = gradients;
  update_params(b, gradients);
  update_states(b);
  return b->graph;
}
