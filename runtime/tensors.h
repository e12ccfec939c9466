/* The variables of a program as tensors of a file: what the checkpoint files and tensors.c share.
 *
 * Ownership: descriptions point into the program's table. Threads: pure functions of their
 * arguments and the file system.
 */
#ifndef DTR_TENSORS_H
#define DTR_TENSORS_H

#include "runtime/safetensors.h"

struct dtr_tensor dtr_tensor_of(const struct dtr_variable *variable);

/* Compares a file's tensor with the variable of its name. */
bool dtr_tensor_check(const char *path, const struct dtr_tensor *tensor,
                      const struct dtr_variable *variable, struct dtr_error *error);
bool dtr_tensor_missing(const char *path, const struct dtr_variable *variable,
                        struct dtr_error *error);

/* A writer of all variables of the block. */
bool dtr_tensors_writer_make(const struct dtr_program *program, const char *variables,
                             int64_t metadata_bytes, struct dtr_safetensors_writer **writer,
                             struct dtr_error *error);
/* Writes them to `path`: under a temporary name, synced, renamed, its folder synced. For a folder
 * that no other program writes to. */
bool dtr_tensors_write(struct dtr_safetensors_writer *writer, const struct dtr_env *env,
                       const char *path, uint32_t metadata_count,
                       const struct dtr_metadata *metadata, struct dtr_error *error);
/* The same without metadata, where other programs may write the same file at the same time: each
 * writes all of it under a name of its own, and the last one to end stays. */
bool dtr_tensors_write_alone(struct dtr_safetensors_writer *writer, const struct dtr_env *env,
                             const char *path, struct dtr_error *error);

/* Whether `path` can be written, asked before there is anything to write. `flag`: for messages. */
bool dtr_output_check(const struct dtr_env *env, const char *flag, const char *path,
                      struct dtr_error *error);
/* Makes a file beside those to come and removes it: 0 or a negative errno. */
int dtr_output_probe(const struct dtr_env *env, const char *path);

#endif
