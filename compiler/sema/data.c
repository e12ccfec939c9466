// Data sets: `table(column = source, ...) |> shuffle() |> take(n) |> skip(n)`.
#include "compiler/sema/internal.h"

#include <inttypes.h>
#include <string.h>

// ---- sources ----

struct source_row {
  const char *name;
  enum dtg_source_kind kind;
  bool generator;
  enum dtg_dtype dtype; // generators: the default
  size_t count;
  struct dtg_sema_parameter parameters[5];
};

static const struct source_row sources[] = {
    {"idx", DTG_SOURCE_IDX, false, DTG_F32, 1, {{"path", DTG_VALUE_STRING, true}}},
    {"npy", DTG_SOURCE_NPY, false, DTG_F32, 1, {{"path", DTG_VALUE_STRING, true}}},
    {"csv",
     DTG_SOURCE_CSV,
     false,
     DTG_F32,
     2,
     {{"path", DTG_VALUE_STRING, true}, {"column", DTG_VALUE_STRING, true}}},
    {"safetensors",
     DTG_SOURCE_SAFETENSORS,
     false,
     DTG_F32,
     2,
     {{"path", DTG_VALUE_STRING, true}, {"name", DTG_VALUE_STRING, true}}},
    {"random_normal",
     DTG_SOURCE_RANDOM_NORMAL,
     true,
     DTG_F32,
     5,
     {{"shape", DTG_VALUE_LIST, true},
      {"seed", DTG_VALUE_INT, false},
      {"mean", DTG_VALUE_FLOAT, false},
      {"stddev", DTG_VALUE_FLOAT, false},
      {"dtype", DTG_VALUE_DTYPE, false}}},
    {"random_uniform",
     DTG_SOURCE_RANDOM_UNIFORM,
     true,
     DTG_F32,
     5,
     {{"shape", DTG_VALUE_LIST, true},
      {"seed", DTG_VALUE_INT, false},
      {"low", DTG_VALUE_FLOAT, false},
      {"high", DTG_VALUE_FLOAT, false},
      {"dtype", DTG_VALUE_DTYPE, false}}},
    {"random_int",
     DTG_SOURCE_RANDOM_INT,
     true,
     DTG_I32,
     5,
     {{"shape", DTG_VALUE_LIST, true},
      {"seed", DTG_VALUE_INT, false},
      {"low", DTG_VALUE_INT, false},
      {"high", DTG_VALUE_INT, true},
      {"dtype", DTG_VALUE_DTYPE, false}}},
    {"range", DTG_SOURCE_RANGE, true, DTG_I64, 1, {{"count", DTG_VALUE_INT, true}}},
};

// Of the language, but not of this compiler yet.
static const char *const later_sources[] = {"npz", "cifar10", "bytes", "tokens", "window"};

enum { SOURCE_COUNT = sizeof sources / sizeof *sources };

static void unknown_source(struct dtg_sema *sema, const char *name, struct dtg_span span) {
  for (size_t i = 0; i < sizeof later_sources / sizeof *later_sources; i++) {
    if (strcmp(later_sources[i], name) == 0) {
      struct dtg_diag *diag =
          dtg_error(&sema->ctx->diags, span, "the data source `%s` is not supported yet", name);
      dtg_diag_hint(diag, "convert the data to .npy or .safetensors");
      return;
    }
  }
  const char *names[SOURCE_COUNT];
  for (size_t i = 0; i < SOURCE_COUNT; i++)
    names[i] = sources[i].name;
  dtg_sema_unknown(sema, span, "data source", name, names, SOURCE_COUNT);
}

static const struct source_row *find_source(struct dtg_sema *sema,
                                            const struct dtg_ast_expr *expr) {
  if (expr->kind != DTG_EXPR_CALL || expr->call.callee->kind != DTG_EXPR_NAME) {
    struct dtg_diag *diag =
        dtg_error(&sema->ctx->diags, expr->span, "a column is the call of a data source");
    dtg_diag_hint(diag,
                  "for example idx(\"train-images.gz\") or random_normal([1000, 4], seed = 1)");
    return NULL;
  }
  const char *name = expr->call.callee->name;
  for (size_t i = 0; i < SOURCE_COUNT; i++) {
    if (strcmp(sources[i].name, name) == 0)
      return &sources[i];
  }
  unknown_source(sema, name, expr->call.callee->span);
  return NULL;
}

// The first dim counts the examples, the others are the shape of one.
static bool generator_shape(struct dtg_sema *sema, const struct dtg_sema_argument *argument,
                            struct dtg_column *out) {
  const struct dtg_value *list = &argument->value;
  struct dtg_shape whole = {.rank = 0};
  bool good = list->list.count >= 1 && list->list.count <= DTG_MAX_RANK;
  for (size_t i = 0; good && i < list->list.count; i++) {
    const struct dtg_value *dim = &list->list.items[i];
    good = dim->kind == DTG_VALUE_INT && dim->i >= 1;
    if (good)
      whole.dims[whole.rank++] = dim->i;
  }
  if (!good) {
    struct dtg_diag *diag =
        dtg_error(&sema->ctx->diags, argument->expr->span,
                  "the shape of a generator is a list of 1 to %d positive ints", DTG_MAX_RANK);
    dtg_diag_hint(diag, "the first is the number of examples: [1000, 28, 28]");
    return false;
  }
  int64_t elements;
  if (!dtg_shape_count_checked(&whole, &elements)) {
    dtg_error(&sema->ctx->diags, argument->expr->span,
              "this shape has more elements than can be counted in 64 bits");
    return false;
  }
  out->rows = whole.dims[0];
  out->type.shape = dtg_shape_make(whole.rank - 1, whole.dims + 1);
  return true;
}

static bool generator_dtype(struct dtg_sema *sema, const struct source_row *row,
                            const struct dtg_sema_argument *argument, struct dtg_column *out) {
  out->type.dtype = row->dtype;
  if (!argument->given)
    return true;
  enum dtg_dtype dtype = argument->value.dtype;
  bool floats = row->dtype == DTG_F32;
  bool fits = floats ? dtype == DTG_F32 || dtype == DTG_F64 : dtg_dtype_is_integer(dtype);
  if (!fits)
    dtg_error(&sema->ctx->diags, argument->expr->span, "`%s` cannot make %s, only %s", row->name,
              dtg_dtype_name(dtype), floats ? "f32 and f64" : "i32, i64 and u8");
  out->type.dtype = dtype;
  return fits;
}

static bool int_range(struct dtg_sema *sema, const struct dtg_ast_expr *expr,
                      const struct dtg_column *column, int64_t low, int64_t high) {
  int64_t least = column->type.dtype == DTG_U8 ? 0 : INT32_MIN;
  int64_t most = column->type.dtype == DTG_U8 ? UINT8_MAX : INT32_MAX;
  if (column->type.dtype == DTG_I64) {
    least = -((int64_t)1 << 53); // a and b are doubles
    most = (int64_t)1 << 53;
  }
  if (low < high && low >= least && high - 1 <= most)
    return true;
  dtg_error(&sema->ctx->diags, expr->span, "the range %" PRId64 " to %" PRId64 " (exclusive) is %s",
            low, high, low >= high ? "empty" : "more than the element type holds");
  return false;
}

static bool random_source(struct dtg_sema *sema, const struct source_row *row,
                          const struct dtg_ast_expr *expr, const struct dtg_sema_argument *given,
                          struct dtg_column *out) {
  if (!generator_shape(sema, &given[0], out) || !generator_dtype(sema, row, &given[4], out))
    return false;
  out->seed = given[1].given ? given[1].value.i : 0;
  if (row->kind == DTG_SOURCE_RANDOM_INT) {
    int64_t low = given[2].given ? given[2].value.i : 0, high = given[3].value.i;
    out->a = (double)low;
    out->b = (double)high;
    return int_range(sema, expr, out, low, high);
  }
  out->a = given[2].given ? given[2].value.f : 0;
  out->b = given[3].given ? given[3].value.f : 1;
  bool good = row->kind == DTG_SOURCE_RANDOM_NORMAL ? out->b > 0 : out->a < out->b;
  if (!good)
    dtg_error(&sema->ctx->diags, expr->span, "%s",
              row->kind == DTG_SOURCE_RANDOM_NORMAL ? "`stddev` must be positive"
                                                    : "`low` must be below `high`");
  return good;
}

static bool range_source(struct dtg_sema *sema, const struct dtg_sema_argument *given,
                         struct dtg_column *out) {
  out->rows = given[0].value.i;
  out->type = (struct dtg_type){.dtype = DTG_I64};
  if (out->rows >= 1)
    return true;
  dtg_error(&sema->ctx->diags, given[0].expr->span, "a range has at least 1 example, not %" PRId64,
            out->rows);
  return false;
}

static bool source(struct dtg_sema *sema, struct dtg_scope_file *file,
                   const struct dtg_ast_expr *expr, struct dtg_column *out) {
  struct dtg_sema_argument given[DTG_SEMA_MAX_PARAMETERS];
  const struct source_row *row = find_source(sema, expr);
  if (!row || !dtg_sema_arguments(sema, file, expr, row->name, row->parameters, row->count, given))
    return false;
  out->kind = row->kind;
  out->span = expr->span;
  if (row->kind == DTG_SOURCE_RANGE)
    return range_source(sema, given, out);
  if (row->generator)
    return random_source(sema, row, expr, given, out);
  out->path = given[0].value.s;
  out->member = row->count > 1 ? given[1].value.s : NULL;
  if (out->path[0] != '\0')
    return true;
  dtg_error(&sema->ctx->diags, given[0].expr->span, "the path is empty");
  return false;
}

// ---- table ----

static bool same_rows(struct dtg_sema *sema, const struct dtg_dataset *set,
                      const struct dtg_column *column) {
  for (size_t i = 0; i < set->columns.len; i++) {
    const struct dtg_column *other = &set->columns.data[i];
    if (other->rows == 0 || column->rows == 0 || other->rows == column->rows)
      continue;
    struct dtg_diag *diag = dtg_error(&sema->ctx->diags, column->span,
                                      "column `%s` has %" PRId64 " examples, but `%s` has %" PRId64,
                                      column->name, column->rows, other->name, other->rows);
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
  if (!source(sema, file, argument->value, &column) || !same_rows(sema, set, &column))
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
