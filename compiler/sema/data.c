// Data sets: `table(column = source, ...) |> shuffle() |> take(n) |> skip(n)`.
#include "compiler/sema/internal.h"

#include <inttypes.h>
#include <string.h>

// ---- table ----

static bool same_rows(struct dtg_sema *sema, const struct dtg_dataset *set,
                      const struct dtg_column *column) {
  for (size_t i = 0; i < set->columns.len; i++) {
    const struct dtg_column *other = &set->columns.data[i];
    int64_t have = dtg_column_examples(column), want = dtg_column_examples(other);
    if (have == 0 || want == 0 || have == want)
      continue;
    struct dtg_diag *diag = dtg_error(&sema->ctx->diags, column->span,
                                      "column `%s` has %" PRId64 " examples, but `%s` has %" PRId64,
                                      column->name, have, other->name, want);
    dtg_diag_note(diag, other->span, "`%s` comes from here", other->name);
    return false;
  }
  return true;
}

static bool table_column(struct dtg_sema *sema, struct dtg_scope_file *file,
                         const struct dtg_ast_argument *argument, struct dtg_dataset *set) {
  if (!argument->name.text) {
    struct dtg_diag *diag =
        dtg_error(&sema->ctx->diags, argument->span, "a column of `table` needs a name");
    dtg_diag_hint(diag, "write name = source; the names are those of the model's inputs");
    return false;
  }
  struct dtg_column column = {.name = argument->name.text};
  for (size_t i = 0; i < set->columns.len; i++) {
    if (set->columns.data[i].name == column.name) {
      dtg_sema_twice(sema, argument->name.span, column.name, set->columns.data[i].span);
      return false;
    }
  }
  if (!dtg_sema_source(sema, file, argument->value, &column) || !same_rows(sema, set, &column))
    return false;
  dtg_vec_push(&sema->ctx->arena, &set->columns, column);
  return true;
}

static bool table(struct dtg_sema *sema, struct dtg_scope_file *file,
                  const struct dtg_ast_expr *call, struct dtg_dataset *set) {
  bool good = true;
  for (size_t i = 0; i < call->call.arguments.len; i++)
    good &= table_column(sema, file, &call->call.arguments.data[i], set);
  if (call->call.arguments.len == 0) {
    dtg_error(&sema->ctx->diags, call->span, "a table needs at least one column");
    good = false;
  }
  return good;
}

// ---- pipelines ----

static bool pipeline(struct dtg_sema *sema, struct dtg_scope_file *file,
                     const struct dtg_ast_expr *expr, int depth, struct dtg_dataset *set);

static bool transform(struct dtg_sema *sema, struct dtg_scope_file *file,
                      const struct dtg_ast_expr *expr, struct dtg_dataset *set) {
  static const char *const names[] = {"shuffle", "take", "skip"};
  static const struct dtg_sema_parameter seed = {"seed", DTG_VALUE_INT, false};
  static const struct dtg_sema_parameter count = {"count", DTG_VALUE_INT, true};
  if (expr->kind != DTG_EXPR_CALL || expr->call.callee->kind != DTG_EXPR_NAME) {
    struct dtg_diag *diag =
        dtg_error(&sema->ctx->diags, expr->span, "this is no step of a data pipeline");
    dtg_diag_hint(diag, "the steps are shuffle(), take(n) and skip(n)");
    return false;
  }
  const char *name = expr->call.callee->name;
  struct dtg_transform step = {.span = expr->span};
  while (step.kind <= DTG_TRANSFORM_SKIP && strcmp(names[step.kind], name) != 0)
    step.kind++;
  if (step.kind > DTG_TRANSFORM_SKIP) {
    dtg_sema_unknown(sema, expr->call.callee->span, "step of a data pipeline:", name, names, 3);
    return false;
  }
  struct dtg_sema_argument given;
  bool shuffle = step.kind == DTG_TRANSFORM_SHUFFLE;
  if (!dtg_sema_arguments(sema, file, expr, name, shuffle ? &seed : &count, 1, &given))
    return false;
  step.has_seed = shuffle && given.given;
  step.value = given.given ? given.value.i : 0;
  int64_t lowest = step.kind == DTG_TRANSFORM_TAKE;
  if (!shuffle && step.value < lowest) {
    dtg_error(&sema->ctx->diags, given.expr->span,
              "`%s` needs at least %" PRId64 " example%s, not %" PRId64, name, lowest,
              lowest == 1 ? "" : "s", step.value);
    return false;
  }
  dtg_vec_push(&sema->ctx->arena, &set->transforms, step);
  return true;
}

static bool named_data(struct dtg_sema *sema, struct dtg_scope_file *file,
                       const struct dtg_ast_expr *expr, int depth, struct dtg_dataset *set) {
  struct dtg_symbol *symbol = dtg_scope_lookup(file, expr->name);
  if (!symbol) {
    struct dtg_name_list list = {0};
    for (size_t i = 0; i < file->entries.len; i++) {
      if (file->entries.data[i].symbol->kind == DTG_SYMBOL_DATA)
        dtg_vec_push(&sema->ctx->arena, &list.names, file->entries.data[i].name);
    }
    dtg_sema_unknown(sema, expr->span, "data set", expr->name, list.names.data, list.names.len);
    return false;
  }
  if (symbol->kind != DTG_SYMBOL_DATA) {
    struct dtg_diag *diag = dtg_error(&sema->ctx->diags, expr->span, "`%s` is %s, not a data set",
                                      expr->name, dtg_symbol_kind_text(symbol->kind));
    dtg_diag_note(diag, symbol->span, "it is defined here");
    return false;
  }
  if (depth > DTG_IMPORT_MAX_DEPTH) {
    dtg_error(&sema->ctx->diags, expr->span, "the data set `%s` is defined through itself",
              expr->name);
    return false;
  }
  if (!symbol->failed)
    symbol->failed = !pipeline(sema, symbol->home, symbol->item->value, depth + 1, set);
  return !symbol->failed;
}

static bool pipeline(struct dtg_sema *sema, struct dtg_scope_file *file,
                     const struct dtg_ast_expr *expr, int depth, struct dtg_dataset *set) {
  if (expr->kind == DTG_EXPR_PIPE)
    return pipeline(sema, file, expr->pipe.left, depth, set) &&
           transform(sema, file, expr->pipe.right, set);
  if (expr->kind == DTG_EXPR_NAME)
    return named_data(sema, file, expr, depth, set);
  bool is_table = expr->kind == DTG_EXPR_CALL && expr->call.callee->kind == DTG_EXPR_NAME &&
                  strcmp(expr->call.callee->name, "table") == 0;
  if (is_table)
    return table(sema, file, expr, set);
  if (expr->kind != DTG_EXPR_ERROR) {
    struct dtg_diag *diag = dtg_error(&sema->ctx->diags, expr->span, "this is no data set");
    dtg_diag_hint(diag, "write table(column = source, ...), the name of a `data` item, or a "
                        "pipeline that starts with one of them");
  }
  return false;
}

static uint32_t add_dataset(struct dtg_sema *sema, struct dtg_scope_file *file, const char *name,
                            struct dtg_span span, const struct dtg_ast_expr *expr) {
  struct dtg_dataset set = {.name = name, .span = span};
  if (!pipeline(sema, file, expr, 0, &set))
    return DTG_NO_DATASET;
  dtg_vec_push(&sema->ctx->arena, &sema->model->datasets, set);
  return (uint32_t)sema->model->datasets.len - 1;
}

uint32_t dtg_sema_dataset(struct dtg_sema *sema, struct dtg_scope_file *file,
                          const struct dtg_ast_expr *expr) {
  struct dtg_symbol *symbol =
      expr->kind == DTG_EXPR_NAME ? dtg_scope_lookup(file, expr->name) : NULL;
  if (symbol && symbol->kind == DTG_SYMBOL_DATA) {
    for (size_t i = 0; i < sema->model->datasets.len; i++) {
      if (sema->model->datasets.data[i].span.begin == symbol->span.begin &&
          sema->model->datasets.data[i].span.file == symbol->span.file)
        return (uint32_t)i;
    }
    if (symbol->home == sema->model->scope)
      return DTG_NO_DATASET; // its error has been reported
    return add_dataset(sema, file, symbol->name, symbol->span, expr);
  }
  return add_dataset(sema, file, "", expr->span, expr);
}

void dtg_sema_data(struct dtg_sema *sema) {
  struct dtg_scope_file *file = sema->model->scope;
  for (size_t i = 0; i < file->entries.len; i++) {
    struct dtg_symbol *symbol = file->entries.data[i].symbol;
    if (symbol->kind != DTG_SYMBOL_DATA || symbol->home != file || symbol->failed)
      continue;
    uint32_t index = add_dataset(sema, file, symbol->name, symbol->span, symbol->item->value);
    symbol->failed = index == DTG_NO_DATASET;
  }
}
