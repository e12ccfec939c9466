/* The safetensors file format: 8 bytes little-endian header length, JSON header, raw tensors.
 *
 * Reading checks the header's limits (100 MB, 1,000,000 tensors, rank 8), every shape against its
 * byte range, that ranges neither overlap nor leave gaps, and the file's size, before anything is
 * allocated for tensors. Writing streams: header first, then the tensors in the order of their
 * names. Ownership: a reader owns its descriptions; names live as long as it does. Threads: one at
 * a time, except dtr_safetensors_read on an open reader. Messages start with the file's path.
 */
#ifndef DTR_SAFETENSORS_H
#define DTR_SAFETENSORS_H

#include "dtr_abi.h"
#include "runtime/env.h"
#include "runtime/error.h"

/* Types of the format that the runtime reads; the first seven are those of enum dtr_dtype. */
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

struct dtr_tensor {
  const char *name;
  enum dtr_element element;
  uint32_t rank;
  int64_t dims[DTR_MAX_RANK];
  int64_t elements, bytes;
  int64_t offset; /* reading: in the file. writing: unused */
};

/* "[784, 10]"; returns `text`. */
const char *dtr_shape_text(uint32_t rank, const int64_t *dims, char *text, size_t size);
enum { DTR_SHAPE_TEXT = 192 };

struct dtr_metadata {
  const char *key, *value;
};

struct dtr_safetensors; /* an open file */

bool dtr_safetensors_open(const struct dtr_env *env, const char *path,
                          struct dtr_safetensors **file, struct dtr_error *error);
void dtr_safetensors_close(struct dtr_safetensors *file);
uint32_t dtr_safetensors_count(const struct dtr_safetensors *file);
/* Sorted by name. */
const struct dtr_tensor *dtr_safetensors_at(const struct dtr_safetensors *file, uint32_t index);
const struct dtr_tensor *dtr_safetensors_find(const struct dtr_safetensors *file, const char *name);
const char *dtr_safetensors_metadata(const struct dtr_safetensors *file, const char *key);
/* All bytes of a tensor. */
bool dtr_safetensors_read(const struct dtr_safetensors *file, const struct dtr_tensor *tensor,
                          void *bytes, struct dtr_error *error);

/* Writes `path` in place (no temporary name, no fsync): see checkpoint.h for the safe way.
 * `bytes[i]` are those of tensors[i]; any order, names distinct. */
bool dtr_safetensors_write(const struct dtr_env *env, const char *path, uint32_t count,
                           const struct dtr_tensor *tensors, const void *const *bytes,
                           uint32_t metadata_count, const struct dtr_metadata *metadata, bool sync,
                           struct dtr_error *error);

#endif
