// Parameters and states: their declarations, initial values, and the leaves that stand for them.
#include "compiler/build/internal.h"

#include <inttypes.h>
#include <string.h>

// ---- initialisers ----

static const struct initializer_row {
  const char *name;
  uint32_t required, count;
  const char *arguments[2];
  double defaults[2];
} rows[] = {
    {"zeros", 0, 0, {NULL, NULL}, {0, 0}},
    {"ones", 0, 0, {NULL, NULL}, {0, 0}},
    {"constant", 1, 1, {"value", NULL}, {0, 0}},
    {"normal", 0, 2, {"mean", "stddev"}, {0, 1}},
    {"truncated_normal", 0, 2, {"mean", "stddev"}, {0, 1}},
    {"uniform", 2, 2, {"low", "high"}, {0, 0}},
    {"glorot_uniform", 0, 0, {NULL, NULL}, {0, 0}},
    {"glorot_normal", 0, 0, {NULL, NULL}, {0, 0}},
    {"he_normal", 0, 0, {NULL, NULL}, {0, 0}},
    {"he_uniform", 0, 0, {NULL, NULL}, {0, 0}},
    {"orthogonal", 0, 0, {NULL, NULL}, {0, 0}},
};

static bool take_argument(struct dtg_build *b, struct dtg_build_env *env,
                          const struct initializer_row *row,
                          const struct dtg_ast_argument *argument, uint32_t position,
                          double values[2], bool given[2]) {
  uint32_t index = position;
  if (argument->name.text) {
    index = 0;
    while (index < row->count && strcmp(row->arguments[index], argument->name.text) != 0)
      index++;
  }
  if (index >= row->count || given[index]) {
    dtg_build_error(b, argument->span, "`%s` does not take this argument", row->name);
    return false;
  }
  struct dtg_value value = dtg_build_eval(b, env, argument->value);
  if (value.kind == DTG_VALUE_ERROR)
    return false;
  if (!dtg_value_is_number(&value)) {
    dtg_build_error(b, argument->span, "`%s` of `%s` must be a number, not %s",
                    row->arguments[index], row->name, dtg_value_kind_text(&value));
    return false;
  }
  values[index] = dtg_value_number(&value);
  given[index] = true;
  return true;
}

static bool check_values(struct dtg_build *b, const struct initializer_row *row,
                         const double values[2], struct dtg_span span) {
  bool normal = strcmp(row->name, "normal") == 0 || strcmp(row->name, "truncated_normal") == 0;
  if (normal && !(values[1] > 0))
    dtg_build_error(b, span, "`stddev` must be positive");
  else if (strcmp(row->name, "uniform") == 0 && !(values[0] < values[1]))
    dtg_build_error(b, span, "`low` must be below `high`");
  else
    return true;
  return false;
}

bool dtg_build_initializer(struct dtg_build *b, struct dtg_build_env *env,
                           const struct dtg_ast_expr *expr, struct dtg_initializer *out) {
  // Stage 3 has checked that this is the call of a known name.
  const struct initializer_row *row = rows;
  while (strcmp(row->name, expr->call.callee->name) != 0)
    row++;
  double values[2] = {row->defaults[0], row->defaults[1]};
  bool given[2] = {false, false};
  for (size_t i = 0; i < expr->call.arguments.len; i++) {
    if (!take_argument(b, env, row, &expr->call.arguments.data[i], (uint32_t)i, values, given))
      return false;
  }
  for (uint32_t i = 0; i < row->required; i++) {
    if (!given[i]) {
      dtg_build_error(b, expr->span, "`%s` needs `%s`", row->name, row->arguments[i]);
      return false;
    }
  }
  if (!check_values(b, row, values, expr->span))
    return false;
  *out = (struct dtg_initializer){
      .kind = dtg_intern_z(&b->ctx->names, row->name), .a = values[0], .b = values[1]};
  return true;
}

// ---- variables ----

static uint32_t find_variable(const struct dtg_build *b, const char *path) {
  for (uint32_t i = 0; i < b->module->variables.len; i++) {
    if (b->module->variables.data[i].path == path)
      return i;
  }
  return DTG_NO_NODE;
}

const struct dtg_build_leaf *dtg_build_find_leaf(const struct dtg_build *b, const char *path) {
  for (size_t i = 0; i < b->leaves.len; i++) {
    if (b->leaves.data[i].path == path)
      return &b->leaves.data[i];
  }
  return NULL;
}

static bool same_as_before(struct dtg_build *b, const struct dtg_variable *before,
                           const struct dtg_type *type, const struct dtg_ast_stmt *stmt) {
  if (dtg_type_equal(&before->type, type))
    return true;
  struct dtg_diag *diag = dtg_build_error(
      b, stmt->span, "the shape of `%s` is not the same everywhere: %s, now %s", before->path,
      dtg_build_type_text(b, &before->type), dtg_build_type_text(b, type));
  dtg_diag_hint(diag, b->may_declare
                          ? "an instance that is applied several times has one set of parameters"
                          : "a shape must not depend on the batch or on `training`");
  return false;
}

// Index of the variable, or DTG_NO_NODE after an error.
static uint32_t variable(struct dtg_build *b, const char *path, const struct dtg_ast_stmt *stmt,
                         const struct dtg_type *type, const struct dtg_initializer *init) {
  uint32_t index = find_variable(b, path);
  if (index != DTG_NO_NODE)
    return same_as_before(b, &b->module->variables.data[index], type, stmt) ? index : DTG_NO_NODE;
  if (!b->may_declare) {
    dtg_build_error(b, stmt->span, "`%s` exists in evaluation but not in training", path);
    return DTG_NO_NODE;
  }
  struct dtg_variable new = {.kind = stmt->kind == DTG_STMT_PARAM ? DTG_VARIABLE_PARAM
                                                                  : DTG_VARIABLE_STATE,
                             .path = path,
                             .type = *type,
                             .init = *init,
                             .param = DTG_NO_NODE,
                             .span = stmt->span};
  dtg_vec_push(&b->ctx->arena, &b->module->variables, new);
  return (uint32_t)b->module->variables.len - 1;
}

static bool check_kind(struct dtg_build *b, const struct dtg_ast_stmt *stmt,
                       const struct dtg_type *type) {
  if (stmt->kind != DTG_STMT_PARAM || type->dtype == DTG_F32)
    return true;
  struct dtg_diag *diag = dtg_build_error(
      b, stmt->declare.type->span, "a parameter must be f32, not %s", dtg_dtype_name(type->dtype));
  dtg_diag_hint(diag, "what is not trained is a `state`");
  return false;
}

static struct dtg_value shared_leaf(struct dtg_build *b, const struct dtg_build_leaf *leaf,
                                    const struct dtg_ast_stmt *stmt, const char *owner,
                                    const struct dtg_type *type) {
  if (leaf->stmt != stmt || leaf->owner != owner) {
    struct dtg_diag *diag =
        dtg_build_error(b, stmt->span, "two parameters are called `%s`", leaf->path);
    dtg_diag_note(diag, leaf->stmt->span, "the other one");
    dtg_diag_hint(diag, "change one of the labels");
    return dtg_value_error();
  }
  if (!same_as_before(b, &b->module->variables.data[leaf->variable], type, stmt))
    return dtg_value_error();
  return dtg_build_tensor(leaf->node, false);
}

struct dtg_value dtg_build_declare(struct dtg_build *b, struct dtg_build_env *env,
                                   const struct dtg_ast_stmt *stmt) {
  const char *owner = env->activation->path;
  const char *path =
      dtg_intern_z(&b->ctx->names, dtg_arena_printf(&b->ctx->arena, "%s%s%s", owner,
                                                    owner[0] ? "." : "", stmt->name.text));
  struct dtg_type type;
  struct dtg_initializer init;
  if (!dtg_build_declared_type(b, env, stmt->declare.type, &type) ||
      !dtg_build_initializer(b, env, stmt->declare.initializer, &init) ||
      !check_kind(b, stmt, &type))
    return dtg_value_error();
  const struct dtg_build_leaf *leaf = dtg_build_find_leaf(b, path);
  if (leaf)
    return shared_leaf(b, leaf, stmt, owner, &type);
  uint32_t index = variable(b, path, stmt, &type, &init);
  if (index == DTG_NO_NODE)
    return dtg_value_error();
  struct dtg_build_leaf new = {.path = path, .variable = index, .stmt = stmt, .owner = owner};
  b->graph->span = stmt->span;
  new.node = dtg_add_leaf(b->graph, stmt->kind == DTG_STMT_PARAM ? "param" : "state", path, type);
  dtg_graph_node(b->graph, new.node)->name = stmt->name.text;
  dtg_vec_push(&b->ctx->arena, &b->leaves, new);
  return dtg_build_tensor(new.node, false);
}
