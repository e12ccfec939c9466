#include "runtime/checkpoint.h"

#include "runtime/checkpoint_digest.h"
#include "runtime/checkpoint_folder.h"
#include "runtime/tensors.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NUMBER_TEXT = 24, PUNCTUATION = 6 };

struct dtr_checkpoint_writer {
  const struct dtr_env *env;
  const struct dtr_program *program;
  const char *folder;
  int64_t keep;
  struct dtr_safetensors_writer *tensors;

  /* Metadata: the keys of the run's state, the digest, then a checksum a tensor in the order of the
   * file. The values are in the buffers below and change with every checkpoint. */
  uint32_t count; /* with the run's number, which is the last and may be left out */
  struct dtr_metadata *metadata;
  char *keys; /* of the tensors' checksums */
  char (*checksums)[DTR_CHECKSUM_TEXT];
  char run[NUMBER_TEXT], step[NUMBER_TEXT], epoch[NUMBER_TEXT], seed[NUMBER_TEXT],
      digest[DTR_CHECKSUM_TEXT];
};

static size_t keys_bytes(const struct dtr_program *program) {
  size_t bytes = 1;
  for (uint32_t i = 0; i < program->variable_count; i++)
    bytes += sizeof DTR_CHECKPOINT_KEY_TENSOR + strlen(program->variables[i].path);
  return bytes;
}

static void metadata_add(struct dtr_checkpoint_writer *writer, const char *key, const char *value) {
  writer->metadata[writer->count++] = (struct dtr_metadata){key, value};
}

/* Connects keys and buffers, once. */
static void metadata_lay_out(struct dtr_checkpoint_writer *writer) {
  const char *const values[] = {DTR_CHECKPOINT_FORMAT, writer->step, writer->epoch, writer->seed,
                                writer->program->model_id};
  for (int key = 0; key < DTR_CHECKPOINT_KEYS; key++)
    metadata_add(writer, dtr_checkpoint_key_name((enum dtr_checkpoint_key)key), values[key]);
  metadata_add(writer, DTR_CHECKPOINT_KEY_DIGEST, writer->digest);
  char *key = writer->keys;
  for (uint32_t i = 0; i < writer->program->variable_count; i++) {
    const void *bytes;
    const struct dtr_tensor *tensor = dtr_safetensors_writer_at(writer->tensors, i, &bytes);
    char *end = stpcpy(stpcpy(key, DTR_CHECKPOINT_KEY_TENSOR), tensor->name);
    metadata_add(writer, key, writer->checksums[i]);
    key = end + 1;
  }
  metadata_add(writer, DTR_CHECKPOINT_KEY_RUN, writer->run);
}

static bool memory_take(struct dtr_checkpoint_writer *writer, const char *variables,
                        struct dtr_error *error) {
  const struct dtr_program *program = writer->program;
  size_t count = program->variable_count, keys = keys_bytes(program);
  size_t state_bytes = 512 + strlen(program->model_id); /* seven short keys with their values */
  writer->metadata = calloc(count + DTR_CHECKPOINT_KEYS + 2, sizeof *writer->metadata);
  writer->checksums = calloc(count + 1, sizeof *writer->checksums);
  writer->keys = malloc(keys);
  if (!writer->metadata || !writer->checksums || !writer->keys)
    return dtr_error_memory(error, (int64_t)keys, "checkpoints");
  return dtr_tensors_writer_make(
      program, variables, (int64_t)(keys + state_bytes + count * (DTR_CHECKSUM_TEXT + PUNCTUATION)),
      &writer->tensors, error);
}

bool dtr_checkpoint_writer_make(const struct dtr_env *env, const struct dtr_program *program,
                                const char *folder, int64_t keep, const char *variables,
                                struct dtr_checkpoint_writer **writer, struct dtr_error *error) {
  struct dtr_checkpoint_writer *made = calloc(1, sizeof *made);
  if (!made)
    return dtr_error_memory(error, sizeof *made, "checkpoints");
  made->env = env;
  made->program = program;
  made->folder = folder;
  made->keep = keep;
  if (!memory_take(made, variables, error)) {
    dtr_checkpoint_writer_free(made);
    return false;
  }
  metadata_lay_out(made);
  *writer = made;
  return true;
}

void dtr_checkpoint_writer_free(struct dtr_checkpoint_writer *writer) {
  if (!writer)
    return;
  dtr_safetensors_writer_free(writer->tensors);
  free(writer->metadata);
  free(writer->checksums);
  free(writer->keys);
  free(writer);
}

/* The values of this checkpoint. */
static void metadata_fill(struct dtr_checkpoint_writer *writer,
                          const struct dtr_checkpoint_state *run) {
  XXH3_state_t state;
  snprintf(writer->step, sizeof writer->step, "%" PRId64, run->step);
  snprintf(writer->epoch, sizeof writer->epoch, "%" PRId64, run->epoch);
  snprintf(writer->seed, sizeof writer->seed, "%" PRId64, run->seed);
  snprintf(writer->run, sizeof writer->run, "%" PRIx64, run->run);
  XXH3_64bits_reset(&state);
  for (int key = 0; key < DTR_CHECKPOINT_KEYS; key++)
    dtr_checkpoint_digest_string(&state, writer->metadata[key].value);
  for (uint32_t i = 0; i < writer->program->variable_count; i++) {
    const void *bytes;
    const struct dtr_tensor *tensor = dtr_safetensors_writer_at(writer->tensors, i, &bytes);
    dtr_checksum_text(XXH3_64bits(bytes, (size_t)tensor->bytes), writer->checksums[i]);
    dtr_checkpoint_digest_tensor(&state, tensor, writer->checksums[i]);
  }
  if (run->run != 0)
    dtr_checkpoint_digest_string(&state, writer->run);
  dtr_checksum_text(XXH3_64bits_digest(&state), writer->digest);
}

/* Removes the oldest until `keep` are left, of those at or before `step`. */
static bool folder_prune(const struct dtr_checkpoint_writer *writer, int64_t step,
                         struct dtr_error *error) {
  const struct dtr_env *env = writer->env;
  struct dtr_checkpoint_range range;
  while (writer->keep > 0) {
    char path[PATH_MAX];
    if (!dtr_checkpoint_range_find(env, writer->folder, step, &range, error))
      return false;
    if (range.count <= writer->keep)
      break;
    if (!dtr_checkpoint_path(writer->folder, range.oldest, path, sizeof path, error))
      return false;
    int result = env->path_unlink(env->context, path);
    if (result < 0)
      return dtr_error_system(error, DTR_STATUS_IO, result, "cannot remove %s", path);
  }
  return true;
}

/* Says what is left after a failed save. */
static bool save_failed(const struct dtr_checkpoint_writer *writer, struct dtr_error *error) {
  int64_t newest, bytes = writer->program->variables_bytes;
  struct dtr_error ignored;
  dtr_error_clear(&ignored);
  if (!dtr_checkpoint_newest(writer->env, writer->folder, &newest, &ignored))
    return false;
  if (newest >= 0)
    return dtr_error_hint(error,
                          "the checkpoint of step %" PRId64 " is still there; a checkpoint needs "
                          "about %" PRId64 " bytes",
                          newest, bytes);
  return dtr_error_hint(error, "a checkpoint needs about %" PRId64 " bytes", bytes);
}

bool dtr_checkpoint_writer_save(struct dtr_checkpoint_writer *writer,
                                const struct dtr_checkpoint_state *state, char *written,
                                size_t written_size, struct dtr_error *error) {
  char path[PATH_MAX];
  int result = dtr_env_mkdir_all(writer->env, writer->folder);
  if (result < 0)
    return dtr_error_system(error, DTR_STATUS_IO, result, "cannot make the folder %s",
                            writer->folder);
  if (!dtr_checkpoint_path(writer->folder, state->step, path, sizeof path, error))
    return false;
  metadata_fill(writer, state);
  uint32_t count = writer->count - (state->run == 0);
  if (!dtr_tensors_write(writer->tensors, writer->env, path, count, writer->metadata, error))
    return save_failed(writer, error);
  if (written)
    snprintf(written, written_size, "%s", path);
  return folder_prune(writer, state->step, error);
}

bool dtr_checkpoint_save(const struct dtr_env *env, const struct dtr_program *program,
                         const char *folder, int64_t keep, const char *variables,
                         const struct dtr_checkpoint_state *state, char *written,
                         size_t written_size, struct dtr_error *error) {
  struct dtr_checkpoint_writer *writer;
  if (!dtr_checkpoint_writer_make(env, program, folder, keep, variables, &writer, error))
    return false;
  bool done = dtr_checkpoint_writer_save(writer, state, written, written_size, error);
  dtr_checkpoint_writer_free(writer);
  return done;
}
