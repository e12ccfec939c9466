// Operators and functions of values that are known at compile time.
#include "compiler/sema/value.h"
#include "grammar/print.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

static struct dtg_value out_of_range(struct dtg_ctx *ctx, struct dtg_span span) {
  struct dtg_diag *diag =
      dtg_error(&ctx->diags, span, "the result is out of the range of int (64 bits)");
  dtg_diag_hint(diag, "write one operand as a float if it need not be whole");
  return dtg_value_error();
}

static struct dtg_value by_zero(struct dtg_ctx *ctx, struct dtg_span span) {
  dtg_error(&ctx->diags, span, "division by zero");
  return dtg_value_error();
}

struct dtg_value dtg_value_unary(struct dtg_ctx *ctx, enum dtg_ast_unary_op op,
                                 const struct dtg_value *a, struct dtg_span span) {
  if (a->kind == DTG_VALUE_ERROR)
    return *a;
  if (op == DTG_UNARY_NOT && a->kind == DTG_VALUE_BOOL)
    return dtg_value_bool(!a->b);
  if (op == DTG_UNARY_NEG && a->kind == DTG_VALUE_INT)
    return a->i == INT64_MIN ? out_of_range(ctx, span) : dtg_value_int(-a->i);
  if (op == DTG_UNARY_NEG && a->kind == DTG_VALUE_FLOAT)
    return dtg_value_float(-a->f);
  dtg_error(&ctx->diags, span, "`%s` does not apply to %s", op == DTG_UNARY_NOT ? "not" : "-",
            dtg_value_kind_text(a));
  return dtg_value_error();
}

static bool int_power(int64_t base, int64_t exponent, int64_t *out) {
  int64_t result = 1;
  while (exponent > 0) {
    if (exponent % 2 != 0 && __builtin_mul_overflow(result, base, &result))
      return false;
    exponent /= 2;
    if (exponent > 0 && __builtin_mul_overflow(base, base, &base))
      return false;
  }
  *out = result;
  return true;
}

static struct dtg_value int_binary(struct dtg_ctx *ctx, enum dtg_ast_binary_op op, int64_t a,
                                   int64_t b, struct dtg_span span) {
  int64_t result = 0;
  bool overflow = false;
  switch (op) {
  case DTG_BINARY_ADD:
    overflow = __builtin_add_overflow(a, b, &result);
    break;
  case DTG_BINARY_SUB:
    overflow = __builtin_sub_overflow(a, b, &result);
    break;
  case DTG_BINARY_MUL:
    overflow = __builtin_mul_overflow(a, b, &result);
    break;
  case DTG_BINARY_POW:
    if (b < 0)
      return dtg_value_float(pow((double)a, (double)b));
    overflow = !int_power(a, b, &result);
    break;
  case DTG_BINARY_DIV:
    if (b == 0)
      return by_zero(ctx, span);
    if (b == -1)
      overflow = __builtin_sub_overflow(0, a, &result);
    else if (a % b != 0)
      return dtg_value_float((double)a / (double)b);
    else
      result = a / b;
    break;
  default: // DTG_BINARY_MOD, with the sign of the divisor
    if (b == 0)
      return by_zero(ctx, span);
    result = b == -1 ? 0 : a % b;
    if (result != 0 && (result < 0) != (b < 0))
      result += b;
    break;
  }
  return overflow ? out_of_range(ctx, span) : dtg_value_int(result);
}

static struct dtg_value float_binary(struct dtg_ctx *ctx, enum dtg_ast_binary_op op, double a,
                                     double b, struct dtg_span span) {
  switch (op) {
  case DTG_BINARY_ADD:
    return dtg_value_float(a + b);
  case DTG_BINARY_SUB:
    return dtg_value_float(a - b);
  case DTG_BINARY_MUL:
    return dtg_value_float(a * b);
  case DTG_BINARY_POW:
    return dtg_value_float(pow(a, b));
  case DTG_BINARY_DIV:
    return b == 0 ? by_zero(ctx, span) : dtg_value_float(a / b);
  default:
    return b == 0 ? by_zero(ctx, span) : dtg_value_float(a - b * floor(a / b));
  }
}

// -1, 0 or 1.
static int number_order(const struct dtg_value *a, const struct dtg_value *b) {
  if (a->kind == DTG_VALUE_INT && b->kind == DTG_VALUE_INT)
    return (a->i > b->i) - (a->i < b->i);
  double x = dtg_value_number(a), y = dtg_value_number(b);
  return (x > y) - (x < y);
}

static bool ordered(enum dtg_ast_binary_op op, int order) {
  switch (op) {
  case DTG_BINARY_LT:
    return order < 0;
  case DTG_BINARY_LE:
    return order <= 0;
  case DTG_BINARY_GT:
    return order > 0;
  default:
    return order >= 0;
  }
}

static struct dtg_value number_binary(struct dtg_ctx *ctx, enum dtg_ast_binary_op op,
                                      const struct dtg_value *a, const struct dtg_value *b,
                                      struct dtg_span span) {
  if (op >= DTG_BINARY_LT && op <= DTG_BINARY_GE)
    return dtg_value_bool(ordered(op, number_order(a, b)));
  if (a->kind == DTG_VALUE_INT && b->kind == DTG_VALUE_INT)
    return int_binary(ctx, op, a->i, b->i, span);
  return float_binary(ctx, op, dtg_value_number(a), dtg_value_number(b), span);
}

static struct dtg_value concatenate(struct dtg_ctx *ctx, const struct dtg_value *a,
                                    const struct dtg_value *b) {
  if (a->kind == DTG_VALUE_STRING) {
    char *text = dtg_arena_printf(&ctx->arena, "%s%s", a->s, b->s);
    return dtg_value_string(dtg_intern_z(&ctx->names, text));
  }
  struct dtg_value out = {.kind = DTG_VALUE_LIST, .list.count = a->list.count + b->list.count};
  out.list.items = DTG_NEW_ARRAY(&ctx->arena, struct dtg_value, out.list.count);
  for (size_t i = 0; i < out.list.count; i++)
    out.list.items[i] = i < a->list.count ? a->list.items[i] : b->list.items[i - a->list.count];
  return out;
}

struct dtg_value dtg_value_binary(struct dtg_ctx *ctx, enum dtg_ast_binary_op op,
                                  const struct dtg_value *a, const struct dtg_value *b,
                                  struct dtg_span span) {
  if (a->kind == DTG_VALUE_ERROR || b->kind == DTG_VALUE_ERROR)
    return dtg_value_error();
  if (op == DTG_BINARY_EQ || op == DTG_BINARY_NE)
    return dtg_value_bool(dtg_value_equal(a, b) == (op == DTG_BINARY_EQ));
  bool logic = op == DTG_BINARY_AND || op == DTG_BINARY_OR;
  if (logic && a->kind == DTG_VALUE_BOOL && b->kind == DTG_VALUE_BOOL)
    return dtg_value_bool(op == DTG_BINARY_AND ? a->b && b->b : a->b || b->b);
  bool numbers = dtg_value_is_number(a) && dtg_value_is_number(b);
  if (numbers && !logic && op != DTG_BINARY_MATMUL)
    return number_binary(ctx, op, a, b, span);
  if (op == DTG_BINARY_ADD && a->kind == b->kind &&
      (a->kind == DTG_VALUE_STRING || a->kind == DTG_VALUE_LIST))
    return concatenate(ctx, a, b);
  dtg_error(&ctx->diags, span, "`%s` does not apply to %s and %s", dtg_ast_binary_text(op),
            dtg_value_kind_text(a), dtg_value_kind_text(b));
  return dtg_value_error();
}

struct dtg_value dtg_value_index(struct dtg_ctx *ctx, const struct dtg_value *list,
                                 const struct dtg_value *index, struct dtg_span span) {
  if (list->kind == DTG_VALUE_ERROR || index->kind == DTG_VALUE_ERROR)
    return dtg_value_error();
  if (index->kind != DTG_VALUE_INT) {
    dtg_error(&ctx->diags, span, "the index of a list must be an int, not %s",
              dtg_value_kind_text(index));
    return dtg_value_error();
  }
  int64_t count = (int64_t)list->list.count;
  if (index->i < -count || index->i >= count) {
    dtg_error(&ctx->diags, span, "index %" PRId64 " is outside a list of %" PRId64, index->i,
              count);
    return dtg_value_error();
  }
  return list->list.items[index->i < 0 ? index->i + count : index->i];
}

// ---- functions ----

static double reciprocal(double x) {
  return 1 / x;
}

static double square(double x) {
  return x * x;
}

static const struct {
  const char *name;
  double (*function)(double);
  bool whole; // the result is an int where it fits
} math_table[] = {
    {"sqrt", sqrt, false},     {"exp", exp, false},
    {"log", log, false},       {"log1p", log1p, false},
    {"expm1", expm1, false},   {"tanh", tanh, false},
    {"sin", sin, false},       {"cos", cos, false},
    {"erf", erf, false},       {"reciprocal", reciprocal, false},
    {"floor", floor, true},    {"ceil", ceil, true},
    {"round", rint, true},     {"abs", fabs, false},
    {"square", square, false},
};

static struct dtg_value math_call(struct dtg_ctx *ctx, size_t row, const struct dtg_value *x,
                                  struct dtg_span span) {
  const char *name = math_table[row].name;
  if (x->kind == DTG_VALUE_INT && math_table[row].whole)
    return *x;
  if (x->kind == DTG_VALUE_INT && strcmp(name, "abs") == 0)
    return x->i < 0 ? dtg_value_unary(ctx, DTG_UNARY_NEG, x, span) : *x;
  if (x->kind == DTG_VALUE_INT && strcmp(name, "square") == 0)
    return int_binary(ctx, DTG_BINARY_MUL, x->i, x->i, span);
  double result = math_table[row].function(dtg_value_number(x));
  if (!isfinite(result)) {
    dtg_error(&ctx->diags, span, "`%s` of this number is not a finite number", name);
    return dtg_value_error();
  }
  if (math_table[row].whole && fabs(result) < 0x1p62)
    return dtg_value_int((int64_t)result);
  return dtg_value_float(result);
}

static bool extreme_call(bool largest, const struct dtg_value *values, size_t count,
                         struct dtg_value *out) {
  if (count == 0)
    return false;
  for (size_t i = 0; i < count; i++) {
    if (!dtg_value_is_number(&values[i]))
      return false;
  }
  size_t best = 0;
  for (size_t i = 1; i < count; i++) {
    int order = number_order(&values[i], &values[best]);
    if (largest ? order > 0 : order < 0)
      best = i;
  }
  *out = values[best];
  return true;
}

static bool convert_call(struct dtg_ctx *ctx, bool to_int, const struct dtg_value *x,
                         struct dtg_span span, struct dtg_value *out) {
  if (x->kind == DTG_VALUE_BOOL)
    *out = dtg_value_int(x->b);
  else if (dtg_value_is_number(x))
    *out = *x;
  else
    return false;
  if (!to_int)
    *out = dtg_value_float(dtg_value_number(out));
  else if (out->kind == DTG_VALUE_FLOAT)
    *out = fabs(out->f) < 0x1p62 ? dtg_value_int((int64_t)out->f) : out_of_range(ctx, span);
  return true;
}

static size_t math_row(const char *name) {
  size_t count = sizeof math_table / sizeof *math_table, row = 0;
  while (row < count && strcmp(math_table[row].name, name) != 0)
    row++;
  return row;
}

bool dtg_value_is_function(const char *name) {
  static const char *const others[] = {"min", "max", "minimum", "maximum", "len", "int", "float"};
  for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
    if (strcmp(others[i], name) == 0)
      return true;
  }
  return math_row(name) < sizeof math_table / sizeof *math_table;
}

bool dtg_value_call(struct dtg_ctx *ctx, const char *name, const struct dtg_value *arguments,
                    size_t count, struct dtg_span span, struct dtg_value *out) {
  size_t row = math_row(name);
  if (row < sizeof math_table / sizeof *math_table) {
    if (count != 1 || !dtg_value_is_number(&arguments[0]))
      return false;
    *out = math_call(ctx, row, &arguments[0], span);
    return true;
  }
  bool largest = strcmp(name, "max") == 0 || strcmp(name, "maximum") == 0;
  if (largest || strcmp(name, "min") == 0 || strcmp(name, "minimum") == 0) {
    if (count == 1 && arguments[0].kind == DTG_VALUE_LIST)
      return extreme_call(largest, arguments[0].list.items, arguments[0].list.count, out);
    return count > 1 && extreme_call(largest, arguments, count, out);
  }
  if (count != 1)
    return false;
  if (strcmp(name, "len") == 0 && arguments[0].kind == DTG_VALUE_LIST) {
    *out = dtg_value_int((int64_t)arguments[0].list.count);
    return true;
  }
  if (strcmp(name, "int") == 0 || strcmp(name, "float") == 0)
    return convert_call(ctx, name[0] == 'i', &arguments[0], span, out);
  return false;
}
