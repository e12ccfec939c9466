/* What each kind of data source reads or makes. A file's first axis is the examples.
 *
 * Each fills in `values` (freed by the caller) or an error whose message starts with the path.
 * Sizes in headers are checked against the file before memory is taken.
 */
#ifndef DTR_DATA_SOURCES_H
#define DTR_DATA_SOURCES_H

#include "runtime/data/stream.h"
#include "runtime/data/values.h"
#include "runtime/env.h"

/* The rest of a stream into memory made for it, and the end of the stream behind it. */
bool dtr_payload_read(struct dtr_stream *stream, struct dtr_values *values,
                      struct dtr_error *error);

/* IDX (the format of MNIST): 0, 0, type, axes, big-endian u32 sizes, big-endian values. u8 i8 i16
 * i32 f32 f64; plain or gzip. */
bool dtr_idx_read(const struct dtr_env *env, const char *path, struct dtr_values *values,
                  struct dtr_error *error);

/* NumPy's .npy, versions 1 to 3, either byte order, C order; plain or gzip. */
bool dtr_npy_read(const struct dtr_env *env, const char *path, struct dtr_values *values,
                  struct dtr_error *error);

bool dtr_npy_stream_read(const struct dtr_env *env, struct dtr_stream *stream,
                         struct dtr_values *values, struct dtr_error *error);
/* The array `name` of a .npz archive, stored or deflated. */
bool dtr_npz_read(const struct dtr_env *env, const char *path, const char *name,
                  struct dtr_values *values, struct dtr_error *error);

/* The column `column->member`, by the name in the first record (RFC 4180: comma, double quotes,
 * CRLF or LF); plain or gzip. One scalar an example, in `dtype`: each cell must be a number that
 * fits it, whole for integers, and is rounded once for floats. With categories it must be one of
 * them, and the scalar is its place among them, from 0. */
bool dtr_csv_read(const struct dtr_env *env, const char *path, const struct dtr_column *column,
                  enum dtr_dtype dtype, struct dtr_values *values, struct dtr_error *error);

bool dtr_tensor_file_read(const struct dtr_env *env, const char *path, const char *tensor,
                          struct dtr_values *values, struct dtr_error *error);

/* CIFAR-10, binary version: records of a label and 3 x 32 x 32 bytes, red, green, blue. The path is
 * one file, plain or gzip, or the folder of all: then the five of training, in order, or the one of
 * test. Gives u8[3, 32, 32] or u8[], by `column->member`. Looks the path up itself. */
bool dtr_cifar10_read(const struct dtr_env *env, const struct dtr_column *column,
                      const char *model_dir, const char *data_dir, struct dtr_values *values,
                      struct dtr_error *error);

/* Every byte of a file is an example; plain or gzip. */
bool dtr_bytes_read(const struct dtr_env *env, const char *path, struct dtr_values *values,
                    struct dtr_error *error);
/* Every number of a file is an example, in the file's type `column->member`, little-endian; plain
 * or gzip. Each must be below `column->limit`, if there is one. */
bool dtr_tokens_read(const struct dtr_env *env, const char *path, const struct dtr_column *column,
                     struct dtr_values *values, struct dtr_error *error);

/* Generators: element e of the whole column is a function of (seed, column name, e).
 * range: a, a + 1, ... counting examples, the same in every element of an example. */
bool dtr_generate(const struct dtr_env *env, const struct dtr_column *column,
                  struct dtr_values *values, struct dtr_error *error);

#endif
