#include "runtime/data/sources.h"
#include "runtime/philox.h"

#include <inttypes.h>
#include <string.h>

static bool is_integer(enum dtr_dtype dtype) {
  return dtype == DTR_I32 || dtype == DTR_I64 || dtype == DTR_U8 || dtype == DTR_BOOL;
}

static void integer_store(enum dtr_dtype dtype, void *array, int64_t index, int64_t value) {
  if (dtype == DTR_I64)
    ((int64_t *)array)[index] = value;
  else
    dtr_value_store(dtype, array, index, (double)value);
}

/* All values of [low, high] fit the column's type; floats hold integers up to 2^53 (f64). */
static bool limits_check(const struct dtr_column *column, double low, double high,
                         struct dtr_error *error) {
  static const struct {
    double low, high;
  } limits[] = {[DTR_F32] = {-0x1p53, 0x1p53},
                [DTR_F64] = {-0x1p53, 0x1p53},
                [DTR_BF16] = {-0x1p53, 0x1p53},
                [DTR_I32] = {INT32_MIN, INT32_MAX},
                [DTR_I64] = {-0x1p61, 0x1p61},
                [DTR_U8] = {0, UINT8_MAX},
                [DTR_BOOL] = {0, 1}};
  if (low >= limits[column->dtype].low && high <= limits[column->dtype].high)
    return true;
  return dtr_error_set(error, DTR_STATUS_DATA, "column %s: values from %.0f to %.0f do not fit %s",
                       column->name, low, high, dtr_dtype_name(column->dtype));
}

/* Normals come in pairs. */
static void fill_normal(const struct dtr_column *column, struct dtr_random random, int64_t count,
                        void *bytes) {
  for (int64_t i = 0; i < count; i += 2) {
    double pair[2];
    dtr_random_normal_pair(random, (uint64_t)i >> 1, pair);
    for (int64_t half = 0; half < 2 && i + half < count; half++)
      dtr_value_store(column->dtype, bytes, i + half, column->a + column->b * pair[half]);
  }
}

static void fill_uniform(const struct dtr_column *column, struct dtr_random random, int64_t count,
                         void *bytes) {
  for (int64_t i = 0; i < count; i++)
    dtr_value_store(column->dtype, bytes, i,
                    column->a + (column->b - column->a) * dtr_random_uniform(random, (uint64_t)i));
}

static bool fill_integer(const struct dtr_column *column, struct dtr_random random, int64_t count,
                         void *bytes, struct dtr_error *error) {
  if (!(column->b > column->a))
    return dtr_error_set(error, DTR_STATUS_DATA,
                         "column %s: random_int from %.0f up to but not %.0f has no values",
                         column->name, column->a, column->b);
  if (!limits_check(column, column->a, column->b - 1, error))
    return false;
  int64_t low = (int64_t)column->a;
  uint64_t width = (uint64_t)(int64_t)(column->b - column->a);
  for (int64_t i = 0; i < count; i++) {
    int64_t value = low + (int64_t)dtr_random_below(random, (uint64_t)i, width);
    integer_store(column->dtype, bytes, i, value);
  }
  return true;
}

static bool fill_range(const struct dtr_column *column, const struct dtr_values *values,
                       struct dtr_error *error) {
  if (!limits_check(column, column->a, column->a + (double)(values->rows - 1), error))
    return false;
  for (int64_t row = 0; row < values->rows; row++)
    for (int64_t i = 0; i < values->row_elements; i++)
      integer_store(column->dtype, values->bytes, row * values->row_elements + i,
                    (int64_t)column->a + row);
  return true;
}

static bool values_fill(const struct dtr_column *column, const struct dtr_values *values,
                        struct dtr_error *error) {
  struct dtr_random random = dtr_random_named(column->seed, column->name);
  int64_t count = values->rows * values->row_elements;
  if (column->kind == DTR_SOURCE_RANGE)
    return fill_range(column, values, error);
  if (column->kind == DTR_SOURCE_RANDOM_INT)
    return fill_integer(column, random, count, values->bytes, error);
  if (is_integer(column->dtype))
    return dtr_error_set(error, DTR_STATUS_DATA, "column %s: random real numbers are not %s",
                         column->name, dtr_dtype_name(column->dtype));
  if (column->kind == DTR_SOURCE_RANDOM_NORMAL)
    fill_normal(column, random, count, values->bytes);
  else
    fill_uniform(column, random, count, values->bytes);
  return true;
}

bool dtr_generate(const struct dtr_env *env, const struct dtr_column *column,
                  struct dtr_values *values, struct dtr_error *error) {
  int64_t dims[DTR_MAX_RANK + 1] = {column->rows};
  memcpy(dims + 1, column->dims, column->rank * sizeof *dims);
  if (!dtr_values_make(env, column->name, (enum dtr_element)column->dtype, column->rank + 1, dims,
                       INT64_MAX, values, error))
    return false;
  if (!values_fill(column, values, error)) {
    dtr_values_free(values);
    return false;
  }
  return true;
}
