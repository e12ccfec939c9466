/* Single values of the runtime's element types. Thread rule: pure functions. */
#ifndef DTR_VALUE_H
#define DTR_VALUE_H

#include "dtr_abi.h"

int64_t dtr_dtype_bytes(enum dtr_dtype dtype);
const char *dtr_dtype_name(enum dtr_dtype dtype); /* "f32" */

/* Writes `value` as element `index` of an array: rounded to nearest even for floats, truncated for
 * integers (the value must be in range), 0 or 1 for bool. */
void dtr_value_store(enum dtr_dtype dtype, void *array, int64_t index, double value);
double dtr_value_load(enum dtr_dtype dtype, const void *array, int64_t index);

#endif
