#include "compiler/ir/type.h"

#include "compiler/base/bug.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const struct {
  const char *name;
  uint8_t size;
  bool is_float;
  bool is_integer;
} dtypes[DTG_DTYPE_COUNT] = {
    [DTG_F32] = {"f32", 4, true, false},    [DTG_F64] = {"f64", 8, true, false},
    [DTG_BF16] = {"bf16", 2, true, false},  [DTG_I32] = {"i32", 4, false, true},
    [DTG_I64] = {"i64", 8, false, true},    [DTG_U8] = {"u8", 1, false, true},
    [DTG_BOOL] = {"bool", 1, false, false},
};

const char *dtg_dtype_name(enum dtg_dtype dtype) {
  return dtypes[dtype].name;
}

bool dtg_dtype_from_name(const char *name, size_t length, enum dtg_dtype *out) {
  for (int i = 0; i < DTG_DTYPE_COUNT; i++) {
    if (strlen(dtypes[i].name) == length && memcmp(dtypes[i].name, name, length) == 0) {
      *out = (enum dtg_dtype)i;
      return true;
    }
  }
  return false;
}

size_t dtg_dtype_size(enum dtg_dtype dtype) {
  return dtypes[dtype].size;
}

bool dtg_dtype_is_float(enum dtg_dtype dtype) {
  return dtypes[dtype].is_float;
}

bool dtg_dtype_is_integer(enum dtg_dtype dtype) {
  return dtypes[dtype].is_integer;
}

struct dtg_shape dtg_shape_make(uint32_t rank, const int64_t *dims) {
  struct dtg_shape shape = {.rank = rank};
  DTG_ASSERT(rank <= DTG_MAX_RANK);
  for (uint32_t i = 0; i < rank; i++)
    shape.dims[i] = dims[i];
  return shape;
}

bool dtg_shape_equal(const struct dtg_shape *a, const struct dtg_shape *b) {
  if (a->rank != b->rank)
    return false;
  for (uint32_t i = 0; i < a->rank; i++) {
    if (a->dims[i] != b->dims[i])
      return false;
  }
  return true;
}

bool dtg_type_equal(const struct dtg_type *a, const struct dtg_type *b) {
  return a->dtype == b->dtype && dtg_shape_equal(&a->shape, &b->shape);
}

bool dtg_shape_count_checked(const struct dtg_shape *shape, int64_t *out) {
  int64_t count = 1;
  bool zero = false;
  for (uint32_t i = 0; i < shape->rank; i++) {
    if (shape->dims[i] < 0)
      return false;
    if (shape->dims[i] == 0)
      zero = true;
    else if (__builtin_mul_overflow(count, shape->dims[i], &count))
      return false;
  }
  *out = zero ? 0 : count;
  return true;
}

int64_t dtg_shape_count(const struct dtg_shape *shape) {
  int64_t count;
  if (!dtg_shape_count_checked(shape, &count))
    dtg_bug("the shape was not checked");
  return count;
}

int64_t dtg_type_bytes(const struct dtg_type *type) {
  int64_t bytes;
  if (__builtin_mul_overflow(dtg_shape_count(&type->shape), (int64_t)dtypes[type->dtype].size,
                             &bytes))
    dtg_bug("the type was not checked");
  return bytes;
}

/* The dim `from_end` places before the end, 1 where the shape has none. */
static int64_t dim_from_end(const struct dtg_shape *shape, uint32_t from_end) {
  return from_end < shape->rank ? shape->dims[shape->rank - 1 - from_end] : 1;
}

bool dtg_shape_broadcast(const struct dtg_shape *a, const struct dtg_shape *b,
                         struct dtg_shape *out) {
  struct dtg_shape result = {.rank = a->rank > b->rank ? a->rank : b->rank};
  for (uint32_t i = 0; i < result.rank; i++) {
    int64_t x = dim_from_end(a, i), y = dim_from_end(b, i);
    if (x != y && x != 1 && y != 1)
      return false;
    result.dims[result.rank - 1 - i] = x == 1 ? y : x;
  }
  *out = result;
  return true;
}

void dtg_shape_strides(const struct dtg_shape *shape, int64_t strides[DTG_MAX_RANK]) {
  int64_t stride = 1;
  for (uint32_t i = shape->rank; i-- > 0;) {
    strides[i] = stride;
    stride *= shape->dims[i];
  }
}

int dtg_type_format(const struct dtg_type *type, char *buffer, size_t size) {
  size_t length = 0;
#define ROOM (length < size ? buffer + length : NULL), (length < size ? size - length : 0)
  length += (size_t)snprintf(ROOM, "%s[", dtypes[type->dtype].name);
  for (uint32_t i = 0; i < type->shape.rank; i++)
    length += (size_t)snprintf(ROOM, "%s%" PRId64, i ? ", " : "", type->shape.dims[i]);
  length += (size_t)snprintf(ROOM, "]");
#undef ROOM
  return (int)length;
}
