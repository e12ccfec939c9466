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
/* Writes them to `path`: under a temporary name, synced, renamed, its folder synced. */
bool dtr_tensors_write(struct dtr_safetensors_writer *writer, const struct dtr_env *env,
                       const char *path, uint32_t metadata_count,
                       const struct dtr_metadata *metadata, struct dtr_error *error);

#endif
