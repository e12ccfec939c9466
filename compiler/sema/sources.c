// Data sources: the columns of a table.
#include "compiler/sema/internal.h"

#include <inttypes.h>
#include <string.h>

struct source_row {
  const char *name;
  enum dtg_source_kind kind;
  bool generator;
  enum dtg_dtype dtype; // generators: the default
  size_t count;
  struct dtg_sema_parameter parameters[5];
};

// `window` is not among them: it is made of another source.
static const struct source_row sources[] = {
    {"idx", DTG_SOURCE_IDX, false, DTG_F32, 1, {{"path", DTG_VALUE_STRING, true}}},
    {"npy", DTG_SOURCE_NPY, false, DTG_F32, 1, {{"path", DTG_VALUE_STRING, true}}},
    {"npz",
     DTG_SOURCE_NPZ,
     false,
     DTG_F32,
     2,
     {{"path", DTG_VALUE_STRING, true}, {"name", DTG_VALUE_STRING, true}}},
    {"csv",
     DTG_SOURCE_CSV,
     false,
     DTG_F32,
     3,
     {{"path", DTG_VALUE_STRING, true},
      {"column", DTG_VALUE_STRING, true},
      {"categories", DTG_VALUE_LIST, false}}},
    {"safetensors",
     DTG_SOURCE_SAFETENSORS,
     false,
     DTG_F32,
     2,
     {{"path", DTG_VALUE_STRING, true}, {"name", DTG_VALUE_STRING, true}}},
    {"cifar10",
     DTG_SOURCE_CIFAR10,
     false,
     DTG_U8,
     3,
     {{"path", DTG_VALUE_STRING, true},
      {"field", DTG_VALUE_STRING, false},
      {"split", DTG_VALUE_STRING, false}}},
    {"bytes", DTG_SOURCE_BYTES, false, DTG_U8, 1, {{"path", DTG_VALUE_STRING, true}}},
    {"tokens",
     DTG_SOURCE_TOKENS,
     false,
     DTG_I32,
     3,
     {{"path", DTG_VALUE_STRING, true},
      {"dtype", DTG_VALUE_ERROR, true},
      {"vocabulary", DTG_VALUE_INT, false}}},
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

enum { SOURCE_COUNT = sizeof sources / sizeof *sources };
static const char window_name[] = "window";

static const struct source_row *unknown_source(struct dtg_sema *sema, const char *name,
                                               struct dtg_span span) {
  const char *names[SOURCE_COUNT + 1] = {window_name};
  for (size_t i = 0; i < SOURCE_COUNT; i++)
    names[i + 1] = sources[i].name;
  dtg_sema_unknown(sema, span, "data source", name, names, SOURCE_COUNT + 1);
  return NULL;
}

static bool is_source_call(struct dtg_sema *sema, const struct dtg_ast_expr *expr) {
  if (expr->kind == DTG_EXPR_CALL && expr->call.callee->kind == DTG_EXPR_NAME)
    return true;
  struct dtg_diag *diag =
      dtg_error(&sema->ctx->diags, expr->span, "a column is the call of a data source");
  dtg_diag_hint(diag, "for example idx(\"train-images.gz\") or random_normal([1000, 4], seed = 1)");
  return false;
}

static const struct source_row *find_source(struct dtg_sema *sema,
                                            const struct dtg_ast_expr *expr) {
  const char *name = expr->call.callee->name;
  for (size_t i = 0; i < SOURCE_COUNT; i++) {
    if (strcmp(sources[i].name, name) == 0)
      return &sources[i];
  }
  return unknown_source(sema, name, expr->call.callee->span);
}

// ---- generators ----

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

// ---- files ----

static bool categories(struct dtg_sema *sema, const struct dtg_sema_argument *argument,
                       struct dtg_column *out) {
  const struct dtg_value *list = &argument->value;
  if (!argument->given)
    return true;
  if (list->list.count == 0) {
    dtg_error(&sema->ctx->diags, argument->expr->span, "a column has at least one category");
    return false;
  }
  for (size_t i = 0; i < list->list.count; i++) {
    const struct dtg_value *item = &list->list.items[i];
    if (item->kind != DTG_VALUE_STRING) {
      dtg_error(&sema->ctx->diags, argument->expr->span,
                "`categories` of `csv` must be a list of strings, not of %s",
                dtg_value_kind_text(item));
      return false;
    }
    for (size_t before = 0; before < i; before++) {
      if (out->categories.data[before] != item->s)
        continue;
      dtg_error(&sema->ctx->diags, argument->expr->span, "the category \"%s\" is there twice",
                item->s);
      return false;
    }
    dtg_vec_push(&sema->ctx->arena, &out->categories, item->s);
  }
  return true;
}

static bool one_of(struct dtg_sema *sema, const struct dtg_sema_argument *argument,
                   const char *what, const char *value, const char *first, const char *second) {
  if (strcmp(value, first) == 0 || strcmp(value, second) == 0)
    return true;
  dtg_error(&sema->ctx->diags, argument->expr->span,
            "%s of `cifar10` is \"%s\" or \"%s\", not \"%s\"", what, first, second, value);
  return false;
}

// The field is the column's name unless it is given.
static bool cifar10(struct dtg_sema *sema, const struct dtg_ast_expr *expr,
                    const struct dtg_sema_argument *given, struct dtg_column *out) {
  const char *field = given[1].given ? given[1].value.s : out->name;
  const char *split = given[2].given ? given[2].value.s : "train";
  bool known = strcmp(field, "image") == 0 || strcmp(field, "label") == 0;
  if (!given[1].given && !known) {
    struct dtg_diag *diag = dtg_error(
        &sema->ctx->diags, expr->span,
        "`cifar10` cannot tell from the column's name `%s` which field is meant", out->name);
    dtg_diag_hint(diag, "add field = \"image\" or field = \"label\"");
    return false;
  }
  if (given[1].given && !one_of(sema, &given[1], "`field`", field, "image", "label"))
    return false;
  if (given[2].given && !one_of(sema, &given[2], "`split`", split, "train", "test"))
    return false;
  out->member = field;
  out->is_test = strcmp(split, "test") == 0;
  return true;
}

// The type of a file's tokens is a bare name, and may be one that only files have.
static bool tokens(struct dtg_sema *sema, const struct dtg_sema_argument *given,
                   struct dtg_column *out) {
  static const char *const types[] = {"u8", "u16", "u32", "i32", "i64"};
  const struct dtg_ast_expr *type = given[1].expr;
  for (size_t i = 0; type->kind == DTG_EXPR_NAME && i < sizeof types / sizeof *types; i++)
    if (strcmp(type->name, types[i]) == 0)
      out->member = types[i];
  if (!out->member) {
    dtg_error(
        &sema->ctx->diags, type->span,
        "`dtype` of `tokens` is u8, u16, u32, i32 or i64: the type of the numbers in the file");
    return false;
  }
  out->limit = given[2].given ? given[2].value.i : 0;
  if (!given[2].given || out->limit >= 1)
    return true;
  dtg_error(&sema->ctx->diags, given[2].expr->span,
            "a vocabulary has at least 1 token, not %" PRId64, out->limit);
  return false;
}

static bool file_source(struct dtg_sema *sema, const struct dtg_ast_expr *expr,
                        const struct dtg_sema_argument *given, struct dtg_column *out) {
  out->path = given[0].value.s;
  if (out->path[0] == '\0') {
    dtg_error(&sema->ctx->diags, given[0].expr->span, "the path is empty");
    return false;
  }
  switch (out->kind) {
  case DTG_SOURCE_CIFAR10:
    return cifar10(sema, expr, given, out);
  case DTG_SOURCE_TOKENS:
    return tokens(sema, given, out);
  case DTG_SOURCE_CSV:
    out->member = given[1].value.s;
    return categories(sema, &given[2], out);
  case DTG_SOURCE_NPZ:
  case DTG_SOURCE_SAFETENSORS:
    out->member = given[1].value.s;
    return true;
  default:
    return true;
  }
}

// ---- calls ----

static bool plain_source(struct dtg_sema *sema, struct dtg_scope_file *file,
                         const struct dtg_ast_expr *expr, struct dtg_column *out) {
  struct dtg_sema_argument given[DTG_SEMA_MAX_PARAMETERS];
  const struct source_row *row = find_source(sema, expr);
  if (!row || !dtg_sema_arguments(sema, file, expr, row->name, row->parameters, row->count, given))
    return false;
  out->kind = row->kind;
  if (row->kind == DTG_SOURCE_RANGE)
    return range_source(sema, given, out);
  if (row->generator)
    return random_source(sema, row, expr, given, out);
  return file_source(sema, expr, given, out);
}

static bool is_window(const struct dtg_ast_expr *expr) {
  return strcmp(expr->call.callee->name, window_name) == 0;
}

static bool positive(struct dtg_sema *sema, const struct dtg_sema_argument *argument,
                     const char *name) {
  if (argument->value.i >= 1)
    return true;
  dtg_error(&sema->ctx->diags, argument->expr->span,
            "`%s` of `window` must be at least 1, not %" PRId64, name, argument->value.i);
  return false;
}

static bool window_fits(struct dtg_sema *sema, const struct dtg_ast_expr *expr,
                        const struct dtg_column *column) {
  if (column->rows == 0 || column->rows >= column->window)
    return true;
  dtg_error(&sema->ctx->diags, expr->span,
            "a window of %" PRId64 " rows over a column that has %" PRId64, column->window,
            column->rows);
  return false;
}

// `window(source, size, stride = size)`.
static bool window_source(struct dtg_sema *sema, struct dtg_scope_file *file,
                          const struct dtg_ast_expr *expr, struct dtg_column *out) {
  static const struct dtg_sema_parameter parameters[] = {{"source", DTG_VALUE_ERROR, true},
                                                         {"size", DTG_VALUE_INT, true},
                                                         {"stride", DTG_VALUE_INT, false}};
  struct dtg_sema_argument given[3];
  if (!dtg_sema_arguments(sema, file, expr, window_name, parameters, 3, given) ||
      !is_source_call(sema, given[0].expr))
    return false;
  if (is_window(given[0].expr)) {
    dtg_error(&sema->ctx->diags, given[0].expr->span, "there are no windows of windows");
    return false;
  }
  if (!plain_source(sema, file, given[0].expr, out) || !positive(sema, &given[1], "size") ||
      (given[2].given && !positive(sema, &given[2], "stride")))
    return false;
  out->window = given[1].value.i;
  out->stride = given[2].given ? given[2].value.i : out->window;
  return window_fits(sema, expr, out);
}

bool dtg_sema_source(struct dtg_sema *sema, struct dtg_scope_file *file,
                     const struct dtg_ast_expr *expr, struct dtg_column *out) {
  if (!is_source_call(sema, expr))
    return false;
  out->span = expr->span;
  return is_window(expr) ? window_source(sema, file, expr, out)
                         : plain_source(sema, file, expr, out);
}

int64_t dtg_column_examples(const struct dtg_column *column) {
  if (column->rows == 0 || column->window == 0)
    return column->rows;
  return (column->rows - column->window) / column->stride + 1;
}
