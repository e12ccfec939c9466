#include "runtime/value.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const struct dtr_element_row {
  const char *name;
  int64_t bytes;
} element_rows[DTR_ELEMENT_COUNT] = {
    [DTR_ELEMENT_F32] = {"f32", 4},   [DTR_ELEMENT_F64] = {"f64", 8},
    [DTR_ELEMENT_BF16] = {"bf16", 2}, [DTR_ELEMENT_I32] = {"i32", 4},
    [DTR_ELEMENT_I64] = {"i64", 8},   [DTR_ELEMENT_U8] = {"u8", 1},
    [DTR_ELEMENT_BOOL] = {"bool", 1}, [DTR_ELEMENT_I8] = {"i8", 1},
    [DTR_ELEMENT_I16] = {"i16", 2},   [DTR_ELEMENT_U16] = {"u16", 2},
    [DTR_ELEMENT_U32] = {"u32", 4},   [DTR_ELEMENT_U64] = {"u64", 8},
    [DTR_ELEMENT_F16] = {"f16", 2},
};

const char *dtr_element_name(enum dtr_element element) {
  return element_rows[element].name;
}

int64_t dtr_element_bytes(enum dtr_element element) {
  return element_rows[element].bytes;
}

int64_t dtr_dtype_bytes(enum dtr_dtype dtype) {
  return element_rows[dtype].bytes;
}

const char *dtr_dtype_name(enum dtr_dtype dtype) {
  return element_rows[dtype].name;
}

const char *dtr_shape_text(uint32_t rank, const int64_t *dims, char *text, size_t size) {
  size_t length = (size_t)snprintf(text, size, "[");
  for (uint32_t axis = 0; axis < rank && length < size; axis++)
    length +=
        (size_t)snprintf(text + length, size - length, "%s%" PRId64, axis ? ", " : "", dims[axis]);
  if (length < size)
    snprintf(text + length, size - length, "]");
  return text;
}

bool dtr_shape_elements(uint32_t rank, const int64_t *dims, int64_t unit, int64_t *elements) {
  int64_t product = 1, bytes;
  for (uint32_t axis = 0; axis < rank; axis++)
    if (dims[axis] < 0 || __builtin_mul_overflow(product, dims[axis], &product))
      return false;
  if (__builtin_mul_overflow(product, unit, &bytes))
    return false;
  *elements = product;
  return true;
}

/* To odd first, so that the second rounding (to bf16) sees on which side the value was. */
static uint32_t float_bits_to_odd(double value) {
  float rounded = (float)value;
  uint32_t bits;
  memcpy(&bits, &rounded, 4);
  if ((double)rounded == value || rounded != rounded)
    return bits;
  bool too_large = (value > 0) == ((double)rounded > value);
  return too_large ? (bits - 1) | 1 : bits | 1;
}

static uint16_t bf16_of(double value) {
  uint32_t bits = float_bits_to_odd(value);
  if ((bits & 0x7fffffff) > 0x7f800000)
    return (uint16_t)(bits >> 16 | 0x40);
  return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

void dtr_value_store(enum dtr_dtype dtype, void *array, int64_t index, double value) {
  switch (dtype) {
  case DTR_F32:
    ((float *)array)[index] = (float)value;
    break;
  case DTR_F64:
    ((double *)array)[index] = value;
    break;
  case DTR_BF16:
    ((uint16_t *)array)[index] = bf16_of(value);
    break;
  case DTR_I32:
    ((int32_t *)array)[index] = (int32_t)value;
    break;
  case DTR_I64:
    ((int64_t *)array)[index] = (int64_t)value;
    break;
  case DTR_U8:
    ((uint8_t *)array)[index] = (uint8_t)value;
    break;
  case DTR_BOOL:
    ((uint8_t *)array)[index] = value != 0;
    break;
  }
}

static float bf16_value(uint16_t half) {
  uint32_t bits = (uint32_t)half << 16;
  float value;
  memcpy(&value, &bits, 4);
  return value;
}

double dtr_value_load(enum dtr_dtype dtype, const void *array, int64_t index) {
  switch (dtype) {
  case DTR_F32:
    return ((const float *)array)[index];
  case DTR_F64:
    return ((const double *)array)[index];
  case DTR_BF16:
    return bf16_value(((const uint16_t *)array)[index]);
  case DTR_I32:
    return ((const int32_t *)array)[index];
  case DTR_I64:
    return (double)((const int64_t *)array)[index];
  case DTR_U8:
  case DTR_BOOL:
    return ((const uint8_t *)array)[index];
  }
  return 0;
}
