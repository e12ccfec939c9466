#include "runtime/checkpoint.h"

#include "runtime/tensors.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

/* Metadata keys. Version 1 of the format. */
#define KEY_FORMAT "format"
#define FORMAT "dtg checkpoint 1"
#define KEY_STEP "step"
#define KEY_EPOCH "epoch"
#define KEY_SEED "seed"
#define KEY_MODEL "model_id"
#define KEY_DIGEST "xxh3"  /* of all that the header says */
#define KEY_TENSOR "xxh3." /* + path */

enum { NAME_DIGITS = 12, HASH_TEXT = 17, CHUNK_BYTES = 1 << 20, STATE_KEYS = 6 };

static const char *const state_keys[] = {KEY_FORMAT, KEY_STEP, KEY_EPOCH, KEY_SEED, KEY_MODEL};

/* ---- folder ---- */

/* "step-000000000500.safetensors" -> 500; false for other names. */
static bool name_parse(const char *name, int64_t *step) {
  int64_t number = 0;
  if (strncmp(name, "step-", 5) != 0)
    return false;
  const char *at = name + 5;
  for (; *at >= '0' && *at <= '9'; at++)
    if (at - name > 22 || __builtin_mul_overflow(number, 10, &number) ||
        __builtin_add_overflow(number, *at - '0', &number))
      return false;
  if (at - name < 5 + NAME_DIGITS || strcmp(at, ".safetensors") != 0)
    return false;
  *step = number;
  return true;
}

static bool path_make(const char *folder, int64_t step, char *path, size_t size,
                      struct dtr_error *error) {
  int length = snprintf(path, size, "%s/step-%0*" PRId64 ".safetensors", folder, NAME_DIGITS, step);
  if (length >= (int)size)
    return dtr_error_system(error, DTR_STATUS_IO, ENAMETOOLONG, "%s", folder);
  return true;
}

struct step_list {
  int64_t *steps; /* newest first once listed */
  size_t count, capacity;
  bool no_memory;
};

static void step_collect(void *context, const char *name) {
  struct step_list *list = context;
  int64_t step;
  if (!name_parse(name, &step))
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
  if (result < 0 && result != -ENOENT)
    return dtr_error_system(error, DTR_STATUS_IO, result, "checkpoint folder %s", folder);
  if (list->count > 0)
    qsort(list->steps, list->count, sizeof *list->steps, compare_newest);
  return true;
}

bool dtr_checkpoint_newest(const struct dtr_env *env, const char *folder, int64_t *step,
                           struct dtr_error *error) {
  struct step_list list;
  bool done = steps_list(env, folder, &list, error);
  if (done)
    *step = list.count > 0 ? list.steps[0] : -1;
  free(list.steps);
  return done;
}

/* ---- digests ---- */

static void hash_text(XXH64_hash_t hash, char text[HASH_TEXT]) {
  snprintf(text, HASH_TEXT, "%016" PRIx64, (uint64_t)hash);
}

static void digest_string(XXH3_state_t *state, const char *text) {
  XXH3_64bits_update(state, text ? text : "", (text ? strlen(text) : 0) + 1);
}

static void digest_tensor(XXH3_state_t *state, const struct dtr_tensor *tensor,
                          const char *checksum) {
  char shape[DTR_SHAPE_TEXT];
  digest_string(state, tensor->name);
  digest_string(state, dtr_element_name(tensor->element));
  digest_string(state, dtr_shape_text(tensor->rank, tensor->dims, shape, sizeof shape));
  digest_string(state, checksum);
}

/* ---- saving ---- */

/* Metadata of a checkpoint being written, with the texts it points to. */
struct save_metadata {
  struct dtr_metadata *entries;
  uint32_t count;
  char *texts; /* per variable: checksum and key */
  char step[24], epoch[24], seed[24], digest[HASH_TEXT];
};

static void metadata_add(struct save_metadata *metadata, const char *key, const char *value) {
  metadata->entries[metadata->count++] = (struct dtr_metadata){key, value};
}

static int compare_variables(const void *left, const void *right) {
  const struct dtr_variable *const *a = left, *const *b = right;
  return strcmp((*a)->path, (*b)->path);
}

/* Sums and their keys, and the digest over all in the order of the names. */
static bool checksums_add(struct save_metadata *metadata, const struct dtr_program *program,
                          const char *variables, XXH3_state_t *state) {
  uint32_t count = program->variable_count;
  size_t bytes = 1;
  for (uint32_t i = 0; i < count; i++)
    bytes += HASH_TEXT + sizeof KEY_TENSOR + strlen(program->variables[i].path);
  const struct dtr_variable **order = calloc(count + 1, sizeof *order);
  char *text = metadata->texts = malloc(bytes);
  if (!order || !text) {
    free(order);
    return false;
  }
  for (uint32_t i = 0; i < count; i++)
    order[i] = &program->variables[i];
  qsort(order, count, sizeof *order, compare_variables);
  for (uint32_t i = 0; i < count; i++) {
    struct dtr_tensor tensor = dtr_tensor_of(order[i]);
    char *sum = text, *key = text + HASH_TEXT;
    hash_text(XXH3_64bits(variables + order[i]->offset, (size_t)tensor.bytes), sum);
    text = stpcpy(stpcpy(key, KEY_TENSOR), tensor.name) + 1;
    digest_tensor(state, &tensor, sum);
    metadata_add(metadata, key, sum);
  }
  free(order);
  return true;
}

static void metadata_free(struct save_metadata *metadata) {
  free(metadata->entries);
  free(metadata->texts);
}

static bool metadata_make(const struct dtr_program *program, const char *variables,
                          const struct dtr_checkpoint_state *run, struct save_metadata *metadata,
                          struct dtr_error *error) {
  *metadata = (struct save_metadata){0};
  metadata->entries = calloc(program->variable_count + STATE_KEYS, sizeof *metadata->entries);
  XXH3_state_t *state = XXH3_createState();
  bool done = metadata->entries && state;
  if (done) {
    snprintf(metadata->step, sizeof metadata->step, "%" PRId64, run->step);
    snprintf(metadata->epoch, sizeof metadata->epoch, "%" PRId64, run->epoch);
    snprintf(metadata->seed, sizeof metadata->seed, "%" PRId64, run->seed);
    const char *values[] = {FORMAT, metadata->step, metadata->epoch, metadata->seed,
                            program->model_id};
    XXH3_64bits_reset(state);
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
      digest_string(state, values[i]);
      metadata_add(metadata, state_keys[i], values[i]);
    }
    done = checksums_add(metadata, program, variables, state);
    hash_text(XXH3_64bits_digest(state), metadata->digest);
    metadata_add(metadata, KEY_DIGEST, metadata->digest);
  }
  XXH3_freeState(state);
  if (!done) {
    metadata_free(metadata);
    return dtr_error_memory(error, program->variable_count * (int64_t)64, "a checkpoint");
  }
  return true;
}

/* Removes what is older than the newest `keep` at or before `step`. Later ones are another run's.
 */
static bool folder_prune(const struct dtr_env *env, const char *folder, int64_t keep, int64_t step,
                         struct dtr_error *error) {
  struct step_list list;
  bool done = steps_list(env, folder, &list, error);
  int64_t kept = 0;
  for (size_t i = 0; done && i < list.count; i++) {
    if (list.steps[i] > step || kept++ < keep)
      continue;
    char path[PATH_MAX];
    done = path_make(folder, list.steps[i], path, sizeof path, error);
    int result = done ? env->path_unlink(env->context, path) : 0;
    if (result < 0 && result != -ENOENT)
      done = dtr_error_system(error, DTR_STATUS_IO, result, "cannot remove %s", path);
  }
  free(list.steps);
  return done;
}

/* Says what is left after a failed save. */
static bool save_failed(const struct dtr_env *env, const struct dtr_program *program,
                        const char *folder, struct dtr_error *error) {
  struct dtr_error ignored;
  int64_t newest;
  dtr_error_clear(&ignored);
  if (!dtr_checkpoint_newest(env, folder, &newest, &ignored))
    return false;
  if (newest >= 0)
    return dtr_error_hint(error,
                          "the checkpoint of step %" PRId64 " is still there; a checkpoint needs "
                          "about %" PRId64 " bytes",
                          newest, program->variables_bytes);
  return dtr_error_hint(error, "a checkpoint needs about %" PRId64 " bytes",
                        program->variables_bytes);
}

bool dtr_checkpoint_save(const struct dtr_env *env, const struct dtr_program *program,
                         const char *folder, int64_t keep, const char *variables,
                         const struct dtr_checkpoint_state *state, char *written,
                         size_t written_size, struct dtr_error *error) {
  char path[PATH_MAX];
  struct save_metadata metadata;
  int result = dtr_env_mkdir_all(env, folder);
  if (result < 0)
    return dtr_error_system(error, DTR_STATUS_IO, result, "cannot make the folder %s", folder);
  if (!path_make(folder, state->step, path, sizeof path, error) ||
      !metadata_make(program, variables, state, &metadata, error))
    return false;
  bool done =
      dtr_tensors_write(env, program, path, variables, metadata.count, metadata.entries, error);
  metadata_free(&metadata);
  if (!done)
    return save_failed(env, program, folder, error);
  if (written)
    snprintf(written, written_size, "%s", path);
  return keep == 0 || folder_prune(env, folder, keep, state->step, error);
}

/* ---- loading ---- */

/* What became of one file. */
enum load_result { LOAD_DONE, LOAD_DAMAGED, LOAD_FAILED };

static bool number_read(const struct dtr_safetensors *file, const char *key, int64_t *number) {
  const char *text = dtr_safetensors_metadata(file, key);
  char *end;
  if (!text || !*text)
    return false;
  errno = 0;
  *number = strtoll(text, &end, 10);
  return errno == 0 && *end == 0;
}

static const char *tensor_checksum(const struct dtr_safetensors *file, const char *name) {
  char stack[512];
  size_t size = sizeof KEY_TENSOR + strlen(name);
  char *key = size <= sizeof stack ? stack : malloc(size);
  if (!key)
    return NULL;
  stpcpy(stpcpy(key, KEY_TENSOR), name);
  const char *sum = dtr_safetensors_metadata(file, key);
  if (key != stack)
    free(key);
  return sum;
}

/* The header says what was written. */
static bool digest_check(const struct dtr_safetensors *file, const char *path,
                         struct dtr_error *error) {
  const char *format = dtr_safetensors_metadata(file, KEY_FORMAT);
  const char *expected = dtr_safetensors_metadata(file, KEY_DIGEST);
  if (!format || strcmp(format, FORMAT) != 0 || !expected)
    return dtr_error_set(error, DTR_STATUS_CHECKPOINT, "%s: not a checkpoint of version 1", path);
  XXH3_state_t *state = XXH3_createState();
  if (!state)
    return dtr_error_memory(error, 1024, path);
  XXH3_64bits_reset(state);
  for (size_t i = 0; i < sizeof state_keys / sizeof *state_keys; i++)
    digest_string(state, dtr_safetensors_metadata(file, state_keys[i]));
  for (uint32_t i = 0; i < dtr_safetensors_count(file); i++) {
    const struct dtr_tensor *tensor = dtr_safetensors_at(file, i);
    digest_tensor(state, tensor, tensor_checksum(file, tensor->name));
  }
  char actual[HASH_TEXT];
  hash_text(XXH3_64bits_digest(state), actual);
  XXH3_freeState(state);
  if (strcmp(actual, expected) != 0)
    return dtr_error_set(error, DTR_STATUS_CHECKPOINT,
                         "%s: wrong checksum of the header: %s, written as %.16s", path, actual,
                         expected);
  return true;
}

static bool tensor_verify(const struct dtr_env *env, int handle, const char *path,
                          const struct dtr_tensor *tensor, const char *expected, char *chunk,
                          XXH3_state_t *state, struct dtr_error *error) {
  XXH3_64bits_reset(state);
  for (int64_t done = 0; done < tensor->bytes;) {
    size_t size = (size_t)(tensor->bytes - done < CHUNK_BYTES ? tensor->bytes - done : CHUNK_BYTES);
    int result = dtr_env_pread_all(env, handle, chunk, size, tensor->offset + done);
    if (result < 0)
      return dtr_error_system(error, DTR_STATUS_IO, result, "%s", path);
    XXH3_64bits_update(state, chunk, size);
    done += (int64_t)size;
  }
  char actual[HASH_TEXT];
  hash_text(XXH3_64bits_digest(state), actual);
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
  XXH3_state_t *state = XXH3_createState();
  int handle = env->file_open(env->context, path, DTR_FILE_READ);
  bool done = chunk && state;
  if (!done)
    dtr_error_memory(error, CHUNK_BYTES, path);
  else if (handle < 0)
    done = dtr_error_system(error, DTR_STATUS_IO, handle, "%s", path);
  for (uint32_t i = 0; done && i < dtr_safetensors_count(file); i++) {
    const struct dtr_tensor *tensor = dtr_safetensors_at(file, i);
    const char *sum = tensor_checksum(file, tensor->name);
    done = tensor_verify(env, handle, path, tensor, sum ? sum : "", chunk, state, error);
  }
  if (handle >= 0)
    env->file_close(env->context, handle);
  XXH3_freeState(state);
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
  const char *model = dtr_safetensors_metadata(file, KEY_MODEL);
  if (model && strcmp(model, program->model_id) == 0)
    return true;
  struct dtr_error difference;
  dtr_error_clear(&difference);
  dtr_error_set(error, DTR_STATUS_CHECKPOINT,
                "%s: from another model: its id is %.80s, this program's is %s", path,
                model ? model : "missing", program->model_id);
  if (!variables_check(program, path, file, &difference))
    return dtr_error_hint(error, "%s", difference.message + strlen(path) + 2);
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

static enum load_result file_load(const struct dtr_env *env, const struct dtr_program *program,
                                  const char *path, char *variables,
                                  struct dtr_checkpoint_state *state, struct dtr_error *error) {
  struct dtr_safetensors *file;
  struct dtr_checkpoint_state found;
  enum load_result result = LOAD_DAMAGED;
  if (!dtr_safetensors_open(env, path, &file, error))
    return error->status == DTR_STATUS_MEMORY ? LOAD_FAILED : LOAD_DAMAGED;
  if (digest_check(file, path, error) && tensors_verify(env, path, file, error)) {
    result = LOAD_FAILED;
    if (!number_read(file, KEY_STEP, &found.step) || !number_read(file, KEY_EPOCH, &found.epoch) ||
        !number_read(file, KEY_SEED, &found.seed)) {
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

bool dtr_checkpoint_load(const struct dtr_env *env, const struct dtr_program *program,
                         const char *folder, char *variables, struct dtr_remarks remarks,
                         struct dtr_checkpoint_state *state, char *used, size_t used_size,
                         struct dtr_error *error) {
  struct step_list list;
  enum load_result result = steps_list(env, folder, &list, error) ? LOAD_DAMAGED : LOAD_FAILED;
  struct dtr_error damage;
  for (size_t i = 0; result == LOAD_DAMAGED && i < list.count; i++) {
    char path[PATH_MAX];
    dtr_error_clear(&damage);
    if (!path_make(folder, list.steps[i], path, sizeof path, error)) {
      result = LOAD_FAILED;
      break;
    }
    result = file_load(env, program, path, variables, state, &damage);
    if (result == LOAD_FAILED)
      *error = damage;
    else if (result == LOAD_DAMAGED && i + 1 < list.count)
      damage_remark(remarks, &damage);
    else if (result == LOAD_DONE && used)
      snprintf(used, used_size, "%s", path);
  }
  if (result == LOAD_DAMAGED && list.count == 0) {
    dtr_error_set(error, DTR_STATUS_CHECKPOINT, "there is no checkpoint in %s", folder);
    dtr_error_hint(error, "start without --resume, or name the folder with --checkpoint-dir");
  } else if (result == LOAD_DAMAGED) {
    *error = damage;
    dtr_error_hint(error, "no checkpoint in %s is valid; start without --resume", folder);
  }
  free(list.steps);
  return result == LOAD_DONE;
}
