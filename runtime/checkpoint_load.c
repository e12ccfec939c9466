#include "runtime/checkpoint.h"

#include "runtime/checkpoint_digest.h"
#include "runtime/checkpoint_folder.h"
#include "runtime/tensors.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CHUNK_BYTES = 1 << 20 };

/* ---- which files there are ---- */

struct step_list {
  int64_t *steps; /* newest first once listed */
  size_t count, capacity;
  bool no_memory;
};

static void step_collect(void *context, const char *name) {
  struct step_list *list = context;
  int64_t step;
  if (!dtr_checkpoint_name_parse(name, &step))
    return;
  if (list->count == list->capacity) {
    size_t capacity = list->capacity ? 2 * list->capacity : 16;
    int64_t *grown = realloc(list->steps, capacity * sizeof *grown);
    if (!grown) {
      list->no_memory = true;
      return;
    }
    list->steps = grown;
    list->capacity = capacity;
  }
  list->steps[list->count++] = step;
}

static int compare_newest(const void *left, const void *right) {
  int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;
  return a < b ? 1 : a > b ? -1 : 0;
}

/* The list is empty if the folder is missing. The caller frees list->steps, also after a failure.
 */
static bool steps_list(const struct dtr_env *env, const char *folder, struct step_list *list,
                       struct dtr_error *error) {
  *list = (struct step_list){0};
  int result = env->path_list(env->context, folder, step_collect, list);
  if (list->no_memory)
    return dtr_error_memory(error, (int64_t)(list->capacity * sizeof(int64_t)), folder);
  if (result < 0 && result != -ENOENT) {
    dtr_error_system(error, DTR_STATUS_IO, result, "cannot list the checkpoints in %s", folder);
    return dtr_error_hint(error, "--checkpoint-dir names a folder that you may read");
  }
  if (list->count > 0)
    qsort(list->steps, list->count, sizeof *list->steps, compare_newest);
  return true;
}

/* ---- one file ---- */

/* What became of one file. */
enum load_result { LOAD_DONE, LOAD_DAMAGED, LOAD_FAILED, LOAD_OTHER /* another run's */ };

static const char *state_value(const struct dtr_safetensors *file, enum dtr_checkpoint_key key) {
  return dtr_safetensors_metadata(file, dtr_checkpoint_key_name(key));
}

static bool number_read(const struct dtr_safetensors *file, enum dtr_checkpoint_key key,
                        int64_t *number) {
  const char *text = state_value(file, key);
  char *end;
  if (!text || !*text)
    return false;
  errno = 0;
  *number = strtoll(text, &end, 10);
  return errno == 0 && *end == 0;
}

static const char *tensor_checksum(const struct dtr_safetensors *file, const char *name) {
  char stack[512];
  size_t size = sizeof DTR_CHECKPOINT_KEY_TENSOR + strlen(name);
  char *key = size <= sizeof stack ? stack : malloc(size);
  if (!key)
    return NULL;
  stpcpy(stpcpy(key, DTR_CHECKPOINT_KEY_TENSOR), name);
  const char *sum = dtr_safetensors_metadata(file, key);
  if (key != stack)
    free(key);
  return sum;
}

/* The header says what was written. */
static bool digest_check(const struct dtr_safetensors *file, const char *path,
                         struct dtr_error *error) {
  const char *format = state_value(file, DTR_CHECKPOINT_KEY_FORMAT);
  const char *expected = dtr_safetensors_metadata(file, DTR_CHECKPOINT_KEY_DIGEST);
  if (!format || strcmp(format, DTR_CHECKPOINT_FORMAT) != 0 || !expected)
    return dtr_error_set(error, DTR_STATUS_CHECKPOINT, "%s: not a checkpoint of version 1", path);
  XXH3_state_t state;
  XXH3_64bits_reset(&state);
  for (int key = 0; key < DTR_CHECKPOINT_KEYS; key++)
    dtr_checkpoint_digest_string(&state, state_value(file, (enum dtr_checkpoint_key)key));
  for (uint32_t i = 0; i < dtr_safetensors_count(file); i++) {
    const struct dtr_tensor *tensor = dtr_safetensors_at(file, i);
    dtr_checkpoint_digest_tensor(&state, tensor, tensor_checksum(file, tensor->name));
  }
  const char *run = dtr_safetensors_metadata(file, DTR_CHECKPOINT_KEY_RUN);
  if (run)
    dtr_checkpoint_digest_string(&state, run);
  char actual[DTR_CHECKSUM_TEXT];
  dtr_checksum_text(XXH3_64bits_digest(&state), actual);
  if (strcmp(actual, expected) != 0)
    return dtr_error_set(error, DTR_STATUS_CHECKPOINT,
                         "%s: wrong checksum of the header: %s, written as %.16s", path, actual,
                         expected);
  return true;
}

static bool tensor_verify(const struct dtr_env *env, int handle, const char *path,
                          const struct dtr_tensor *tensor, const char *expected, char *chunk,
                          struct dtr_error *error) {
  XXH3_state_t state;
  XXH3_64bits_reset(&state);
  for (int64_t done = 0; done < tensor->bytes;) {
    size_t size = (size_t)(tensor->bytes - done < CHUNK_BYTES ? tensor->bytes - done : CHUNK_BYTES);
    int result = dtr_env_pread_all(env, handle, chunk, size, tensor->offset + done);
    if (result < 0)
      return dtr_error_system(error, DTR_STATUS_IO, result, "%s", path);
    XXH3_64bits_update(&state, chunk, size);
    done += (int64_t)size;
  }
  char actual[DTR_CHECKSUM_TEXT];
  dtr_checksum_text(XXH3_64bits_digest(&state), actual);
  if (strcmp(actual, expected) != 0)
    return dtr_error_set(error, DTR_STATUS_CHECKPOINT,
                         "%s: tensor \"%s\": wrong checksum: %s, written as %.16s", path,
                         tensor->name, actual, expected);
  return true;
}

/* Reads every tensor once against its checksum, in pieces: no second copy of the variables. */
static bool tensors_verify(const struct dtr_env *env, const char *path,
                           const struct dtr_safetensors *file, struct dtr_error *error) {
  char *chunk = malloc(CHUNK_BYTES);
  int handle = env->file_open(env->context, path, DTR_FILE_READ);
  bool done = chunk != NULL;
  if (!done)
    dtr_error_memory(error, CHUNK_BYTES, path);
  else if (handle < 0)
    done = dtr_error_system(error, DTR_STATUS_IO, handle, "%s", path);
  for (uint32_t i = 0; done && i < dtr_safetensors_count(file); i++) {
    const struct dtr_tensor *tensor = dtr_safetensors_at(file, i);
    const char *sum = tensor_checksum(file, tensor->name);
    done = tensor_verify(env, handle, path, tensor, sum ? sum : "", chunk, error);
  }
  if (handle >= 0)
    env->file_close(env->context, handle);
  free(chunk);
  return done;
}

static bool variables_check(const struct dtr_program *program, const char *path,
                            const struct dtr_safetensors *file, struct dtr_error *error) {
  for (uint32_t i = 0; i < program->variable_count; i++) {
    const struct dtr_variable *variable = &program->variables[i];
    const struct dtr_tensor *tensor = dtr_safetensors_find(file, variable->path);
    if (!tensor)
      return dtr_tensor_missing(path, variable, error);
    if (!dtr_tensor_check(path, tensor, variable, error))
      return false;
  }
  if (dtr_safetensors_count(file) > program->variable_count)
    return dtr_error_set(error, DTR_STATUS_CHECKPOINT,
                         "%s: %u tensors in the file, %u in the model", path,
                         dtr_safetensors_count(file), program->variable_count);
  return true;
}

/* A good file of another model: says so, with the first difference as the reason. */
static bool model_check(const struct dtr_program *program, const char *path,
                        const struct dtr_safetensors *file, struct dtr_error *error) {
  const char *model = state_value(file, DTR_CHECKPOINT_KEY_MODEL);
  if (model && strcmp(model, program->model_id) == 0)
    return true;
  struct dtr_error difference;
  dtr_error_clear(&difference);
  dtr_error_set(error, DTR_STATUS_CHECKPOINT,
                "%s: from another model: its id is %.12s, this program's is %.12s", path,
                model ? model : "missing", program->model_id);
  if (!variables_check(program, path, file, &difference))
    return dtr_error_hint(error, "%s: name the folder of this program's own checkpoints",
                          difference.message + strlen(path) + 2);
  return dtr_error_hint(error, "the tensors are the same; --init takes their values alone");
}

static bool variables_read(const struct dtr_program *program, const struct dtr_safetensors *file,
                           char *variables, struct dtr_error *error) {
  for (uint32_t i = 0; i < program->variable_count; i++) {
    const struct dtr_variable *variable = &program->variables[i];
    if (!dtr_safetensors_read(file, dtr_safetensors_find(file, variable->path),
                              variables + variable->offset, error))
      return false;
  }
  return true;
}

static uint64_t run_of(const struct dtr_safetensors *file) {
  const char *text = dtr_safetensors_metadata(file, DTR_CHECKPOINT_KEY_RUN);
  return text ? strtoull(text, NULL, 16) : 0;
}

/* `state->run`: only of this run; 0: of any. */
static enum load_result file_load(const struct dtr_env *env, const struct dtr_program *program,
                                  const char *path, char *variables,
                                  struct dtr_checkpoint_state *state, struct dtr_error *error) {
  struct dtr_safetensors *file;
  struct dtr_checkpoint_state found;
  enum load_result result = LOAD_DAMAGED;
  if (!dtr_safetensors_open(env, path, &file, error))
    return error->status == DTR_STATUS_MEMORY ? LOAD_FAILED : LOAD_DAMAGED;
  found.run = run_of(file);
  if (state->run != 0 && found.run != state->run) {
    dtr_safetensors_close(file);
    return LOAD_OTHER;
  }
  if (digest_check(file, path, error) && tensors_verify(env, path, file, error)) {
    result = LOAD_FAILED;
    if (!number_read(file, DTR_CHECKPOINT_KEY_STEP, &found.step) ||
        !number_read(file, DTR_CHECKPOINT_KEY_EPOCH, &found.epoch) ||
        !number_read(file, DTR_CHECKPOINT_KEY_SEED, &found.seed)) {
      dtr_error_set(error, DTR_STATUS_CHECKPOINT, "%s: step, epoch or seed is not a number", path);
    } else if (model_check(program, path, file, error) &&
               variables_check(program, path, file, error) &&
               variables_read(program, file, variables, error)) {
      *state = found;
      result = LOAD_DONE;
    }
  } else if (error->status == DTR_STATUS_MEMORY) {
    result = LOAD_FAILED;
  }
  dtr_safetensors_close(file);
  return result;
}

static void damage_remark(struct dtr_remarks remarks, const struct dtr_error *damage) {
  char text[sizeof damage->message + 64];
  snprintf(text, sizeof text, "%s; trying the checkpoint before it", damage->message);
  if (remarks.write)
    remarks.write(remarks.context, text);
}

/* The newest good one of the list; LOAD_DAMAGED: there is none, and `damage` says why the last one
 * is not. `state->run` as above. */
static enum load_result newest_load(const struct dtr_env *env, const struct dtr_program *program,
                                    const char *folder, const struct step_list *list,
                                    char *variables, struct dtr_remarks remarks,
                                    struct dtr_checkpoint_state *state, char path[PATH_MAX],
                                    struct dtr_error *damage) {
  enum load_result result = LOAD_DAMAGED;
  for (size_t i = 0; result != LOAD_DONE && result != LOAD_FAILED && i < list->count; i++) {
    dtr_error_clear(damage);
    if (!dtr_checkpoint_path(folder, list->steps[i], path, PATH_MAX, damage))
      return LOAD_FAILED;
    result = file_load(env, program, path, variables, state, damage);
    if (result == LOAD_DAMAGED && i + 1 < list->count)
      damage_remark(remarks, damage);
  }
  return result;
}

bool dtr_checkpoint_load(const struct dtr_env *env, const struct dtr_program *program,
                         const char *folder, char *variables, struct dtr_remarks remarks,
                         struct dtr_checkpoint_state *state, char *used, size_t used_size,
                         struct dtr_error *error) {
  struct step_list list;
  struct dtr_checkpoint_state found = {.run = 0};
  struct dtr_error damage;
  char path[PATH_MAX];
  if (!steps_list(env, folder, &list, error)) {
    free(list.steps);
    return false;
  }
  dtr_error_clear(&damage);
  enum load_result result =
      newest_load(env, program, folder, &list, variables, remarks, &found, path, &damage);
  if (result == LOAD_DONE) {
    *state = found;
    if (used)
      snprintf(used, used_size, "%s", path);
  } else if (result == LOAD_FAILED) {
    *error = damage;
  } else if (list.count == 0) {
    dtr_error_set(error, DTR_STATUS_CHECKPOINT, "there is no checkpoint in %s", folder);
    dtr_error_hint(error, "start without --resume, or name the folder with --checkpoint-dir");
  } else {
    *error = damage;
    dtr_error_hint(error,
                   "no checkpoint in %s is valid: bring back a copy, or start without "
                   "--resume",
                   folder);
  }
  free(list.steps);
  return result == LOAD_DONE;
}

bool dtr_checkpoint_load_run(const struct dtr_env *env, const struct dtr_program *program,
                             const char *folder, uint64_t run, char *variables,
                             struct dtr_remarks remarks, struct dtr_checkpoint_state *state,
                             bool *found, struct dtr_error *error) {
  struct step_list list;
  struct dtr_checkpoint_state newest = {.run = run};
  struct dtr_error damage;
  char path[PATH_MAX];
  enum load_result result = LOAD_FAILED;
  dtr_error_clear(&damage);
  if (!steps_list(env, folder, &list, error)) {
    free(list.steps);
    return false;
  }
  result = newest_load(env, program, folder, &list, variables, remarks, &newest, path, &damage);
  free(list.steps);
  if (result == LOAD_FAILED) {
    *error = damage;
    return false;
  }
  *found = result == LOAD_DONE;
  if (*found)
    *state = newest;
  return true;
}
