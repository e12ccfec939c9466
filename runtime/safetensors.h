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
#include "runtime/value.h"

struct dtr_tensor {
  const char *name;
  enum dtr_element element;
  uint32_t rank;
  int64_t dims[DTR_MAX_RANK];
  int64_t elements, bytes;
  int64_t offset; /* reading: in the file. writing: unused */
};

struct dtr_metadata {
  const char *key, *value;
};

/* The format's name of an element type: "F32". */
const char *dtr_safetensors_type(enum dtr_element element);

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

/* Writes files of the same tensors again and again; all memory is taken when it is made.
 * `bytes[i]` are those of tensors[i], read at each write; any order, names distinct; names and
 * bytes must outlive the writer. `metadata_bytes`: room for all keys and values, with 6 for the
 * punctuation of each pair. */
struct dtr_safetensors_writer;
bool dtr_safetensors_writer_make(uint32_t count, const struct dtr_tensor *tensors,
                                 const void *const *bytes, int64_t metadata_bytes,
                                 struct dtr_safetensors_writer **writer, struct dtr_error *error);
void dtr_safetensors_writer_free(struct dtr_safetensors_writer *writer);
/* Tensor `index` in the order of the file, and its bytes. */
const struct dtr_tensor *dtr_safetensors_writer_at(const struct dtr_safetensors_writer *writer,
                                                   uint32_t index, const void **bytes);
/* Writes `path` in place (no temporary name): see checkpoint.h for the safe way. Messages call the
 * file `name`, what the user knows it by. */
bool dtr_safetensors_writer_write(struct dtr_safetensors_writer *writer, const struct dtr_env *env,
                                  const char *path, const char *name, uint32_t metadata_count,
                                  const struct dtr_metadata *metadata, bool sync,
                                  struct dtr_error *error);

#endif
