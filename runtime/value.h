/* Element types, of memory and of files, single values and shapes. Thread rule: pure functions. */
#ifndef DTR_VALUE_H
#define DTR_VALUE_H

#include "dtr_abi.h"

/* Types that files have; the first seven are those of enum dtr_dtype, in its order. */
enum dtr_element {
  DTR_ELEMENT_F32,
  DTR_ELEMENT_F64,
  DTR_ELEMENT_BF16,
  DTR_ELEMENT_I32,
  DTR_ELEMENT_I64,
  DTR_ELEMENT_U8,
  DTR_ELEMENT_BOOL,
  DTR_ELEMENT_I8,
  DTR_ELEMENT_I16,
  DTR_ELEMENT_U16,
  DTR_ELEMENT_U32,
  DTR_ELEMENT_U64,
  DTR_ELEMENT_F16,
  DTR_ELEMENT_COUNT
};
const char *dtr_element_name(enum dtr_element element); /* "f32" */
int64_t dtr_element_bytes(enum dtr_element element);

enum { DTR_SHAPE_TEXT = 192 };
/* "[784, 10]"; returns `text`. */
const char *dtr_shape_text(uint32_t rank, const int64_t *dims, char *text, size_t size);
/* The product of the dims; false if it, times `unit`, is negative or above INT64_MAX. */
bool dtr_shape_elements(uint32_t rank, const int64_t *dims, int64_t unit, int64_t *elements);

int64_t dtr_dtype_bytes(enum dtr_dtype dtype);
const char *dtr_dtype_name(enum dtr_dtype dtype); /* "f32" */

/* Writes `value` as element `index` of an array: rounded to nearest even for floats, truncated for
 * integers (the value must be in range), 0 or 1 for bool. */
void dtr_value_store(enum dtr_dtype dtype, void *array, int64_t index, double value);
double dtr_value_load(enum dtr_dtype dtype, const void *array, int64_t index);

#endif
