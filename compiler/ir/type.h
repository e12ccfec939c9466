/* Element types and shapes of tensors.
 *
 * Purpose: the value types shared by the graph, the kernels and the plan. Plain values, copied
 * freely; nothing here owns memory. Shapes are concrete: symbolic dims are bound while a model is
 * built.
 */
#ifndef DTG_IR_TYPE_H
#define DTG_IR_TYPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { DTG_MAX_RANK = 8 };

enum dtg_dtype { DTG_F32, DTG_F64, DTG_BF16, DTG_I32, DTG_I64, DTG_U8, DTG_BOOL, DTG_DTYPE_COUNT };

struct dtg_shape {
  uint32_t rank;
  int64_t dims[DTG_MAX_RANK]; /* elements; entries at and after rank are 0 */
};

struct dtg_type {
  enum dtg_dtype dtype;
  struct dtg_shape shape;
};

/* "f32", "i64", ... */
const char *dtg_dtype_name(enum dtg_dtype dtype);
/* False if `name` (length `length`) is no element type. */
bool dtg_dtype_from_name(const char *name, size_t length, enum dtg_dtype *out);
/* Bytes per element; bool is one byte. */
size_t dtg_dtype_size(enum dtg_dtype dtype);
bool dtg_dtype_is_float(enum dtg_dtype dtype);
bool dtg_dtype_is_integer(enum dtg_dtype dtype); /* i32 i64 u8, not bool */

struct dtg_shape dtg_shape_make(uint32_t rank, const int64_t *dims);
bool dtg_shape_equal(const struct dtg_shape *a, const struct dtg_shape *b);
bool dtg_type_equal(const struct dtg_type *a, const struct dtg_type *b);
/* Product of the dims (1 for a scalar); false on overflow of int64 or a negative dim. */
bool dtg_shape_count_checked(const struct dtg_shape *shape, int64_t *out);
/* Product of the dims of a shape that has been checked. */
int64_t dtg_shape_count(const struct dtg_shape *shape);
/* Elements times element size of a checked type, in bytes. */
int64_t dtg_type_bytes(const struct dtg_type *type);
/* NumPy broadcasting of two shapes, aligned at the last axis; false if they do not fit. */
bool dtg_shape_broadcast(const struct dtg_shape *a, const struct dtg_shape *b,
                         struct dtg_shape *out);
/* Row-major strides in elements. */
void dtg_shape_strides(const struct dtg_shape *shape, int64_t strides[DTG_MAX_RANK]);
/* Writes "f32[64, 128]" (scalar: "f32[]"); returns the length as snprintf does. */
int dtg_type_format(const struct dtg_type *type, char *buffer, size_t size);

#endif
