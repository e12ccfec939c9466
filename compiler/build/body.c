// Statements.
#include "compiler/build/internal.h"

#include <inttypes.h>
#include <string.h>

// The graph remembers the variable's name, for comments and messages: that of the outermost body
// that names the value. Leaves keep their own.
static void name_node(struct dtg_build *b, const struct dtg_value *value, const char *name) {
  if (value->kind != DTG_VALUE_TENSOR)
    return;
  struct dtg_node *node = dtg_graph_node(b->graph, value->node);
  if (node->op->class != DTG_CLASS_LEAF)
    node->name = name;
}

void dtg_build_bind(struct dtg_build *b, struct dtg_build_env *env, const char *name,
                    struct dtg_value value) {
  struct dtg_binding *old = dtg_env_find(env, name);
  if (old)
    old->value = value;
  else
    dtg_env_bind(b, env, name, value);
}

// ---- assignments ----

static void run_assign(struct dtg_build *b, struct dtg_build_env *env,
                       const struct dtg_ast_stmt *stmt) {
  struct dtg_build_naming naming = {.name = stmt->name.text};
  struct dtg_value value = dtg_build_eval_named(b, env, stmt->value, &naming);
  if (stmt->value->kind != DTG_EXPR_NAME)
    name_node(b, &value, stmt->name.text);
  dtg_build_bind(b, env, stmt->name.text, value);
}

static void run_label(struct dtg_build *b, struct dtg_build_env *env,
                      const struct dtg_ast_stmt *stmt) {
  struct dtg_build_naming naming = {.label = stmt->label.label};
  struct dtg_value value = dtg_build_eval_named(b, env, stmt->label.call, &naming);
  const char *name = stmt->label.label->parts.data[0].name;
  if (stmt->label.label->parts.len != 1)
    return;
  name_node(b, &value, name);
  dtg_build_bind(b, env, name, value);
}

static void run_declare(struct dtg_build *b, struct dtg_build_env *env,
                        const struct dtg_ast_stmt *stmt) {
  struct dtg_value value = dtg_value_error();
  if (env->activation &&
      dtg_build_claim(b, env->activation, stmt->name.text, stmt->name.span, false))
    value = dtg_build_declare(b, env, stmt);
  dtg_env_bind(b, env, stmt->name.text, value);
}

// ---- states ----

static bool find_reduce(struct dtg_build *b, const struct dtg_ast_stmt *stmt, enum dtg_dtype dtype,
                        enum dtg_reduce *out) {
  bool by_default = stmt->update.by == DTG_UPDATE_BY_DEFAULT;
  if (dtype != DTG_F32 && (by_default || stmt->update.by == DTG_UPDATE_BY_MEAN)) {
    struct dtg_diag *diag =
        dtg_build_error(b, stmt->span, "the candidates of `%s`, which is %s, have no mean",
                        stmt->name.text, dtg_dtype_name(dtype));
    dtg_diag_hint(diag, "write update %s = ... by sum, or by max", stmt->name.text);
    return false;
  }
  *out = stmt->update.by == DTG_UPDATE_BY_SUM   ? DTG_REDUCE_SUM
         : stmt->update.by == DTG_UPDATE_BY_MAX ? DTG_REDUCE_MAX
                                                : DTG_REDUCE_MEAN;
  return true;
}

static const struct dtg_root *find_root(const struct dtg_graph *graph, enum dtg_root_kind kind,
                                        const char *name) {
  for (size_t i = 0; i < graph->roots.len; i++) {
    if (graph->roots.data[i].kind == kind && graph->roots.data[i].name == name)
      return &graph->roots.data[i];
  }
  return NULL;
}

static void add_candidate(struct dtg_build *b, const struct dtg_ast_stmt *stmt, uint32_t state,
                          uint32_t candidate) {
  const char *path = dtg_node_string(dtg_graph_node(b->graph, state), "path", "");
  const struct dtg_type *type = dtg_build_type(b, state);
  enum dtg_reduce reduce;
  if (!dtg_type_equal(type, dtg_build_type(b, candidate))) {
    struct dtg_diag *diag = dtg_build_error(
        b, stmt->span, "the state `%s` is %s, but its update is %s", stmt->name.text,
        dtg_build_type_text(b, type), dtg_build_node_text(b, candidate));
    dtg_build_note(b, diag, candidate);
    return;
  }
  const struct dtg_root *first = find_root(b->graph, DTG_ROOT_STATE, path);
  if (first) {
    struct dtg_diag *diag =
        dtg_build_error(b, stmt->span, "the state `%s` is updated twice in a step", path);
    dtg_diag_note(diag, first->span, "the other update");
    return;
  }
  if (find_reduce(b, stmt, type->dtype, &reduce))
    dtg_graph_add_root(b->graph, DTG_ROOT_STATE, path, candidate, reduce, stmt->span);
}

static void run_update(struct dtg_build *b, struct dtg_build_env *env,
                       const struct dtg_ast_stmt *stmt) {
  if (!b->training)
    return;
  struct dtg_value value = dtg_build_eval(b, env, stmt->update.value);
  const struct dtg_binding *state = dtg_env_find(env, stmt->name.text);
  uint32_t candidate;
  if (value.kind == DTG_VALUE_ERROR || !state || state->value.kind != DTG_VALUE_TENSOR)
    return;
  if (dtg_build_as_tensor(b, &value, "the update", stmt->update.value->span, &candidate))
    add_candidate(b, stmt, state->value.node, candidate);
}

// ---- control ----

static bool bound(struct dtg_build *b, struct dtg_build_env *env, const struct dtg_ast_expr *expr,
                  int64_t *out) {
  struct dtg_value value = dtg_build_eval(b, env, expr);
  if (value.kind == DTG_VALUE_INT)
    *out = value.i;
  else if (value.kind != DTG_VALUE_ERROR)
    dtg_build_error(b, expr->span,
                    "the bound of a loop must be an int known at compile time, not %s",
                    dtg_value_kind_text(&value));
  return value.kind == DTG_VALUE_INT;
}

static void run_for(struct dtg_build *b, struct dtg_build_env *env, const struct dtg_ast_stmt *stmt,
                    int64_t first, int64_t end) {
  bool returned = false;
  struct dtg_build_collection collected = {0}, *around = b->collection;
  size_t outer = env->bindings.len;
  b->collection = &collected;
  for (int64_t i = first; i < end && !b->stopped; i++) {
    b->iterations++;
    dtg_env_bind(b, env, stmt->name.text, dtg_value_int(i));
    dtg_build_body(b, env, stmt->for_in.body, &returned);
    env->bindings.len = outer;
  }
  b->collection = around;
  dtg_build_bind_collected(b, env, &collected);
  if (first >= end)
    dtg_build_miss_collected(b, env, stmt->for_in.body, true);
}

static void run_loop(struct dtg_build *b, struct dtg_build_env *env,
                     const struct dtg_ast_stmt *stmt) {
  int64_t first, end, count;
  if (!bound(b, env, stmt->for_in.first, &first) || !bound(b, env, stmt->for_in.end, &end))
    return;
  if (__builtin_sub_overflow(end, first, &count) ||
      (stmt->kind == DTG_STMT_FOR && count > DTG_BUILD_MAX_ITERATIONS - b->iterations)) {
    dtg_build_error(b, stmt->span, "the loops of this model make more than %d iterations",
                    DTG_BUILD_MAX_ITERATIONS);
    b->stopped = true;
    return;
  }
  if (stmt->kind == DTG_STMT_SCAN)
    dtg_build_run_scan(b, env, stmt, first, count);
  else
    run_for(b, env, stmt, first, end);
}

static struct dtg_value run_if(struct dtg_build *b, struct dtg_build_env *env,
                               const struct dtg_ast_stmt *stmt, bool *returned) {
  struct dtg_value condition = dtg_build_eval(b, env, stmt->if_else.condition);
  if (condition.kind == DTG_VALUE_ERROR)
    return condition;
  if (condition.kind != DTG_VALUE_BOOL) {
    struct dtg_diag *diag =
        dtg_build_error(b, stmt->if_else.condition->span,
                        "the condition of `if` must be a bool known at compile time, not %s",
                        dtg_value_kind_text(&condition));
    if (condition.kind == DTG_VALUE_TENSOR)
      dtg_diag_hint(diag, "where(condition, a, b) chooses per element");
    return dtg_value_error();
  }
  const struct dtg_ast_body *body = condition.b ? stmt->if_else.then_body : stmt->if_else.else_body;
  return body ? dtg_build_body(b, env, body, returned) : dtg_value_error();
}

// ---- results of a model ----

// A scalar f32, or false after an error.
static bool scalar_result(struct dtg_build *b, const struct dtg_ast_stmt *stmt,
                          const struct dtg_value *value, uint32_t *out) {
  const char *what = stmt->kind == DTG_STMT_LOSS ? "the loss" : "a metric";
  uint32_t node;
  if (!dtg_build_as_tensor(b, value, what, stmt->value->span, &node))
    return false;
  const struct dtg_type type = *dtg_build_type(b, node);
  if (type.shape.rank == 0 && (type.dtype == DTG_F32 || stmt->kind == DTG_STMT_METRIC)) {
    *out = dtg_add_cast(b->graph, node, DTG_F32);
    return true;
  }
  struct dtg_diag *diag = dtg_build_error(b, stmt->value->span, "%s must be f32[], but it is %s",
                                          what, dtg_build_type_text(b, &type));
  dtg_build_note(b, diag, node);
  if (type.shape.rank > 0)
    dtg_diag_hint(diag, "take the mean over the examples: mean(...)");
  return false;
}

static void run_result(struct dtg_build *b, struct dtg_build_env *env,
                       const struct dtg_ast_stmt *stmt) {
  if (stmt->kind == DTG_STMT_OUTPUT && b->training)
    return;
  struct dtg_build_naming naming = {.name = stmt->name.text};
  struct dtg_value value = dtg_build_eval_named(b, env, stmt->value, &naming);
  uint32_t node;
  if (stmt->value->kind != DTG_EXPR_NAME)
    name_node(b, &value, stmt->name.text);
  if (!dtg_env_find(env, stmt->name.text))
    dtg_build_bind(b, env, stmt->name.text, value);
  if (value.kind == DTG_VALUE_ERROR)
    return;
  b->graph->span = stmt->value->span;
  if (stmt->kind == DTG_STMT_OUTPUT) {
    if (dtg_build_as_tensor(b, &value, "an output", stmt->value->span, &node))
      dtg_graph_add_root(b->graph, DTG_ROOT_OUTPUT, stmt->name.text, node, DTG_REDUCE_MEAN,
                         stmt->span);
    return;
  }
  bool loss = stmt->kind == DTG_STMT_LOSS;
  if (scalar_result(b, stmt, &value, &node))
    dtg_graph_add_root(b->graph, loss ? DTG_ROOT_LOSS : DTG_ROOT_METRIC,
                       loss ? "" : stmt->name.text, node, DTG_REDUCE_MEAN, stmt->span);
}

// ---- the list ----

static struct dtg_value run_stmt(struct dtg_build *b, struct dtg_build_env *env,
                                 const struct dtg_ast_stmt *stmt, bool *returned) {
  switch (stmt->kind) {
  case DTG_STMT_ASSIGN:
    run_assign(b, env, stmt);
    break;
  case DTG_STMT_LABEL:
    run_label(b, env, stmt);
    break;
  case DTG_STMT_PARAM:
    run_declare(b, env, stmt);
    break;
  case DTG_STMT_STATE:
    if (env->item != DTG_ITEM_OPTIMIZER) // slots are declared before the body runs
      run_declare(b, env, stmt);
    break;
  case DTG_STMT_UPDATE:
    run_update(b, env, stmt);
    break;
  case DTG_STMT_FOR:
  case DTG_STMT_SCAN:
    run_loop(b, env, stmt);
    break;
  case DTG_STMT_COLLECT:
    dtg_build_collect(b, env, stmt);
    break;
  case DTG_STMT_IF:
    return run_if(b, env, stmt, returned);
  case DTG_STMT_RETURN:
    *returned = true;
    return dtg_build_eval(b, env, stmt->value);
  case DTG_STMT_LOSS:
  case DTG_STMT_METRIC:
  case DTG_STMT_OUTPUT:
    run_result(b, env, stmt);
    break;
  }
  return dtg_value_error();
}

struct dtg_value dtg_build_body(struct dtg_build *b, struct dtg_build_env *env,
                                const struct dtg_ast_body *body, bool *returned) {
  for (size_t i = 0; i < body->stmts.len && !b->stopped; i++) {
    struct dtg_value value = run_stmt(b, env, body->stmts.data[i], returned);
    if (*returned)
      return value;
  }
  return dtg_value_error();
}
