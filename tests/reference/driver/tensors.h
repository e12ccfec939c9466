/* Tensors of safetensors files, all elements as double: exact for every type of the reference data.
 * Ownership: the driver's arena. */
#ifndef REF_TENSORS_H
#define REF_TENSORS_H

#include "driver.h"
#include "runtime/safetensors.h"

struct ref_tensor {
  struct dtr_tensor type; /* name, element type, shape */
  double *values;
};

struct ref_tensors {
  const char *path;
  size_t count, cap;
  struct ref_tensor *items;
};

/* False after an error, which is then in `why`. */
bool ref_tensors_read(struct ref_driver *driver, const char *path, struct ref_tensors *out,
                      const char **why);
/* The same for a file of the reference data; one that is not readable ends the process. */
struct ref_tensors ref_tensors_stored(struct ref_driver *driver, const char *path);
const struct ref_tensor *ref_tensors_find(const struct ref_tensors *tensors, const char *name);

/* Adds a tensor under another name; the values are shared. */
void ref_tensors_add(struct ref_driver *driver, struct ref_tensors *tensors, const char *name,
                     const struct ref_tensor *tensor);
/* Row `index` of the first axis, which is dropped. */
struct ref_tensor ref_tensor_row(const struct ref_tensor *tensor, int64_t index);
/* The first rows. */
struct ref_tensor ref_tensor_head(const struct ref_tensor *tensor, int64_t rows);
/* The same elements with the first two axes joined into one. */
struct ref_tensor ref_tensor_join(const struct ref_tensor *tensor);
/* With a first axis of one element in front. */
struct ref_tensor ref_tensor_example(const struct ref_tensor *tensor);
void ref_tensors_write(struct ref_driver *driver, const struct ref_tensors *tensors,
                       const char *path);

#endif
