/* The values of one column, as a source gives them and as an input takes them.
 *
 * Ownership: `bytes` is 64-byte aligned memory of the struct; dtr_values_free frees it and empties
 * the struct. Byte order is the machine's. Threads: one at a time.
 */
#ifndef DTR_DATA_VALUES_H
#define DTR_DATA_VALUES_H

#include "runtime/env.h"
#include "runtime/error.h"
#include "runtime/value.h"

struct dtr_values {
  enum dtr_element element;
  int64_t rows;  /* examples */
  uint32_t rank; /* of one example */
  int64_t dims[DTR_MAX_RANK];
  int64_t row_elements;
  int64_t row_step; /* elements from an example to the next; windows may overlap or leave gaps */
  char *bytes;
};

/* 64-byte aligned memory, rounded up to whole lines; NULL without memory. free() frees it. */
void *dtr_aligned_alloc(int64_t bytes);

/* Fills in everything but the bytes from a file's shape, whose first axis is the examples, and
 * takes memory for them. `available`: bytes the file can have for them at most, checked first. */
bool dtr_values_make(const struct dtr_env *env, const char *path, enum dtr_element element,
                     uint32_t rank, const int64_t *dims, int64_t available,
                     struct dtr_values *values, struct dtr_error *error);
void dtr_values_free(struct dtr_values *values);
int64_t dtr_values_elements(const struct dtr_values *values); /* held, not one per example */
int64_t dtr_values_bytes(const struct dtr_values *values);

/* Makes examples of `size` rows each, one every `stride` rows; copies nothing. Fewer rows than one
 * window is an error that names `what`. */
bool dtr_values_window(struct dtr_values *values, const char *what, int64_t size, int64_t stride,
                       struct dtr_error *error);

/* Reverses the bytes of every element. */
void dtr_values_swap(struct dtr_values *values);

/* Checks the shape of an example and turns the values into the input's element type, in place of
 * the old ones. `column` is for messages. */
bool dtr_values_convert(const struct dtr_env *env, struct dtr_values *values, const char *column,
                        const struct dtr_input *input, struct dtr_error *error);

#endif
