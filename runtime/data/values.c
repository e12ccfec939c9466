#include "runtime/data/values.h"

#include "runtime/memory.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SMALL_BYTES = 1 << 26 }; /* below, nothing is asked */

void *dtr_aligned_alloc(int64_t bytes) {
  int64_t rounded;
  if (bytes < 0 || __builtin_add_overflow(bytes, DTR_ALIGN, &rounded))
    return NULL;
  return aligned_alloc(DTR_ALIGN, (size_t)(rounded / DTR_ALIGN * DTR_ALIGN));
}

/* Memory that is promised and not there ends the process when it is used, so it is asked for. */
static char *room_take(const struct dtr_env *env, const char *what, int64_t bytes,
                       struct dtr_error *error) {
  char need[32], have[32];
  int64_t available = bytes < SMALL_BYTES ? -1 : dtr_memory_available(env);
  if (available >= 0 && bytes > available) {
    dtr_error_set(error, DTR_STATUS_MEMORY, "%s needs %s of memory, %s are available", what,
                  dtr_memory_text(bytes, need, sizeof need),
                  dtr_memory_text(available, have, sizeof have));
    dtr_error_hint(error, "data is kept in memory: take a part of it, or another machine");
    return NULL;
  }
  char *memory = dtr_aligned_alloc(bytes);
  if (!memory)
    dtr_error_memory(error, bytes, what);
  return memory;
}

bool dtr_values_make(const struct dtr_env *env, const char *path, enum dtr_element element,
                     uint32_t rank, const int64_t *dims, int64_t available,
                     struct dtr_values *values, struct dtr_error *error) {
  char text[DTR_SHAPE_TEXT];
  int64_t elements, width = dtr_element_bytes(element);
  dtr_shape_text(rank, dims, text, sizeof text);
  if (rank == 0 || rank - 1 > DTR_MAX_RANK)
    return dtr_error_set(error, DTR_STATUS_DATA,
                         "%s: its shape %s must have 1 to %d axes, the first of them the examples",
                         path, text, DTR_MAX_RANK + 1);
  if (!dtr_shape_elements(rank, dims, width, &elements))
    return dtr_error_set(error, DTR_STATUS_DATA, "%s: its shape %s is too large", path, text);
  if (elements * width > available)
    return dtr_error_set(error, DTR_STATUS_DATA,
                         "%s: truncated: %s%s needs %" PRId64
                         " bytes after the header, there are at most %" PRId64,
                         path, dtr_element_name(element), text, elements * width, available);
  struct dtr_values made = {.element = element, .rows = dims[0], .rank = rank - 1};
  made.row_elements = 1;
  for (uint32_t axis = 1; axis < rank; axis++) {
    made.dims[axis - 1] = dims[axis];
    made.row_elements *= dims[0] == 0 ? 0 : dims[axis];
  }
  made.row_step = made.row_elements;
  made.bytes = room_take(env, path, elements * width, error);
  if (!made.bytes)
    return false;
  *values = made;
  return true;
}

void dtr_values_free(struct dtr_values *values) {
  free(values->bytes);
  memset(values, 0, sizeof *values);
}

int64_t dtr_values_elements(const struct dtr_values *values) {
  return values->rows > 0 ? (values->rows - 1) * values->row_step + values->row_elements : 0;
}

int64_t dtr_values_bytes(const struct dtr_values *values) {
  return dtr_values_elements(values) * dtr_element_bytes(values->element);
}

bool dtr_values_window(struct dtr_values *values, const char *what, int64_t size, int64_t stride,
                       struct dtr_error *error) {
  if (values->rows < size) {
    dtr_error_set(error, DTR_STATUS_DATA,
                  "%s has %" PRId64 " rows, less than one window of %" PRId64, what, values->rows,
                  size);
    return dtr_error_hint(error, "take a smaller window, or a longer file");
  }
  if (values->rank == DTR_MAX_RANK)
    return dtr_error_set(error, DTR_STATUS_DATA,
                         "%s: windows of examples with %d axes have too many", what, DTR_MAX_RANK);
  memmove(values->dims + 1, values->dims, values->rank * sizeof values->dims[0]);
  values->dims[0] = size;
  values->rank++;
  values->rows = (values->rows - size) / stride + 1;
  values->row_step = stride * values->row_elements;
  values->row_elements *= size;
  return true;
}

void dtr_values_swap(struct dtr_values *values) {
  int64_t count = dtr_values_elements(values), width = dtr_element_bytes(values->element);
  if (width == 2)
    for (int64_t i = 0; i < count; i++)
      ((uint16_t *)values->bytes)[i] = __builtin_bswap16(((uint16_t *)values->bytes)[i]);
  else if (width == 4)
    for (int64_t i = 0; i < count; i++)
      ((uint32_t *)values->bytes)[i] = __builtin_bswap32(((uint32_t *)values->bytes)[i]);
  else if (width == 8)
    for (int64_t i = 0; i < count; i++)
      ((uint64_t *)values->bytes)[i] = __builtin_bswap64(((uint64_t *)values->bytes)[i]);
}

/* ---- conversion ---- */

#define BIT(name) (1u << DTR_ELEMENT_##name)
enum {
  BYTES = BIT(U8) | BIT(I8) | BIT(BOOL),
  WORDS = BYTES | BIT(I16) | BIT(U16),
  FLOATS = BIT(F16) | BIT(BF16) | BIT(F32),
};

/* The types whose values each input type holds without loss. u8 for bool: if they are 0 and 1. */
static const uint32_t lossless[] = {
    [DTR_F32] = FLOATS | WORDS,
    [DTR_F64] = FLOATS | BIT(F64) | WORDS | BIT(I32) | BIT(U32),
    [DTR_BF16] = BIT(BF16) | BYTES,
    [DTR_I32] = BIT(I32) | WORDS,
    [DTR_I64] = BIT(I64) | BIT(I32) | BIT(U32) | WORDS,
    [DTR_U8] = BIT(U8) | BIT(BOOL),
    [DTR_BOOL] = BIT(BOOL) | BIT(U8),
};

static double f16_value(uint16_t half) {
  int exponent = half >> 10 & 31, fraction = half & 1023;
  double magnitude = exponent == 31  ? (fraction ? NAN : INFINITY)
                     : exponent == 0 ? ldexp(fraction, -24)
                                     : ldexp(1024 + fraction, exponent - 25);
  return half >> 15 ? -magnitude : magnitude;
}

static void load_block(const struct dtr_values *values, int64_t first, int64_t count,
                       double *block) {
#define LOAD(type, expression)                             \
  for (int64_t i = 0; i < count; i++) {                    \
    type value = ((const type *)values->bytes)[first + i]; \
    block[i] = (double)(expression);                       \
  }                                                        \
  break
  switch (values->element) {
  case DTR_ELEMENT_I8:
    LOAD(int8_t, value);
  case DTR_ELEMENT_I16:
    LOAD(int16_t, value);
  case DTR_ELEMENT_U16:
    LOAD(uint16_t, value);
  case DTR_ELEMENT_U32:
    LOAD(uint32_t, value);
  case DTR_ELEMENT_U64:
    LOAD(uint64_t, value);
  case DTR_ELEMENT_F16:
    LOAD(uint16_t, f16_value(value));
  case DTR_ELEMENT_U8:
  case DTR_ELEMENT_BOOL:
    LOAD(uint8_t, value);
  case DTR_ELEMENT_I32:
    LOAD(int32_t, value);
  case DTR_ELEMENT_F32:
    LOAD(float, value);
  default:
    for (int64_t i = 0; i < count; i++)
      block[i] = dtr_value_load((enum dtr_dtype)values->element, values->bytes, first + i);
  }
#undef LOAD
}

static void store_block(enum dtr_dtype dtype, char *bytes, int64_t first, int64_t count,
                        const double *block) {
  if (dtype == DTR_F32)
    for (int64_t i = 0; i < count; i++)
      ((float *)bytes)[first + i] = (float)block[i];
  else
    for (int64_t i = 0; i < count; i++)
      dtr_value_store(dtype, bytes, first + i, block[i]);
}

/* Exact: every lossless pair fits a double. */
static bool widen(const struct dtr_env *env, struct dtr_values *values, const char *column,
                  enum dtr_dtype dtype, struct dtr_error *error) {
  enum { BLOCK = 1024 };
  int64_t elements = dtr_values_elements(values), bytes;
  if (__builtin_mul_overflow(elements, dtr_dtype_bytes(dtype), &bytes))
    return dtr_error_memory(error, INT64_MAX, column);
  char *wide = room_take(env, column, bytes, error);
  if (!wide)
    return false;
  double block[BLOCK];
  for (int64_t first = 0; first < elements; first += BLOCK) {
    int64_t count = elements - first < BLOCK ? elements - first : BLOCK;
    load_block(values, first, count, block);
    store_block(dtype, wide, first, count, block);
  }
  free(values->bytes);
  values->bytes = wide;
  values->element = (enum dtr_element)dtype;
  return true;
}

/* A type of the language that holds what an element type holds; NULL if there is none. */
static const char *language_type(enum dtr_element element) {
  static const enum dtr_dtype types[] = {DTR_I32, DTR_I64, DTR_F32};
  if (element <= (enum dtr_element)DTR_BOOL)
    return dtr_element_name(element);
  for (size_t i = 0; i < sizeof types / sizeof *types; i++)
    if (lossless[types[i]] & 1u << element)
      return dtr_dtype_name(types[i]);
  return NULL;
}

static bool type_hint(const struct dtr_values *values, struct dtr_error *error) {
  const char *type = language_type(values->element);
  if (!type)
    return dtr_error_hint(error, "convert the file: no type of the language holds all of these");
  return dtr_error_hint(error,
                        "declare the input as %s and cast it in the model, or convert the file: "
                        "only conversions that lose nothing are made",
                        type);
}

static bool truth_check(const struct dtr_values *values, const char *column,
                        struct dtr_error *error) {
  const uint8_t *bytes = (const uint8_t *)values->bytes;
  int64_t count = dtr_values_elements(values);
  for (int64_t i = 0; i < count; i++)
    if (bytes[i] > 1)
      return dtr_error_set(error, DTR_STATUS_DATA,
                           "column %s: example %" PRId64 " has %d where a bool is 0 or 1", column,
                           i / values->row_step, bytes[i]);
  return true;
}

static bool shape_check(const struct dtr_values *values, const char *column,
                        const struct dtr_input *input, struct dtr_error *error) {
  if (values->rank == input->rank &&
      memcmp(values->dims, input->dims, input->rank * sizeof input->dims[0]) == 0)
    return true;
  char have[DTR_SHAPE_TEXT], want[DTR_SHAPE_TEXT];
  dtr_error_set(error, DTR_STATUS_DATA,
                "column %s: an example has shape %s, the input \"%s\" of the model (%s) has %s",
                column, dtr_shape_text(values->rank, values->dims, have, sizeof have), input->name,
                input->where ? input->where : "",
                dtr_shape_text(input->rank, input->dims, want, sizeof want));
  return dtr_error_hint(error,
                        "declare the input as [B%s%.*s and reshape it in the model, or "
                        "convert the file",
                        values->rank ? ", " : "]", values->rank ? (int)strlen(have) : 0, have + 1);
}

bool dtr_values_convert(const struct dtr_env *env, struct dtr_values *values, const char *column,
                        const struct dtr_input *input, struct dtr_error *error) {
  if (!shape_check(values, column, input, error))
    return false;
  if (!(lossless[input->dtype] & 1u << values->element)) {
    dtr_error_set(error, DTR_STATUS_DATA,
                  "column %s: its values are %s, the input \"%s\" of the model (%s) is %s", column,
                  dtr_element_name(values->element), input->name, input->where ? input->where : "",
                  dtr_dtype_name(input->dtype));
    return type_hint(values, error);
  }
  if (input->dtype == DTR_BOOL && !truth_check(values, column, error))
    return false;
  if (values->element == (enum dtr_element)input->dtype)
    return true;
  return widen(env, values, column, input->dtype, error);
}
