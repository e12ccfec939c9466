#include "runtime/tensors.h"

#include "runtime/checkpoint.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#define TEMPORARY ".tmp"

struct dtr_tensor dtr_tensor_of(const struct dtr_variable *variable) {
  struct dtr_tensor tensor = {
      .name = variable->path,
      .element = (enum dtr_element)variable->dtype,
      .rank = variable->rank,
      .elements = variable->elements,
      .bytes = variable->elements * dtr_dtype_bytes(variable->dtype),
  };
  memcpy(tensor.dims, variable->dims, sizeof tensor.dims);
  return tensor;
}

static bool same_shape(const struct dtr_tensor *tensor, const struct dtr_variable *variable) {
  return tensor->rank == variable->rank &&
         memcmp(tensor->dims, variable->dims, variable->rank * sizeof tensor->dims[0]) == 0;
}

bool dtr_tensor_check(const char *path, const struct dtr_tensor *tensor,
                      const struct dtr_variable *variable, struct dtr_error *error) {
  if (tensor->element == (enum dtr_element)variable->dtype && same_shape(tensor, variable))
    return true;
  char file_shape[DTR_SHAPE_TEXT], model_shape[DTR_SHAPE_TEXT];
  dtr_shape_text(tensor->rank, tensor->dims, file_shape, sizeof file_shape);
  dtr_shape_text(variable->rank, variable->dims, model_shape, sizeof model_shape);
  dtr_error_set(error, DTR_STATUS_CHECKPOINT,
                "%s: tensor \"%s\" is %s%s in the file and %s%s in the model", path, tensor->name,
                dtr_element_name(tensor->element), file_shape, dtr_dtype_name(variable->dtype),
                model_shape);
  return dtr_error_where(error, variable->where);
}

bool dtr_tensor_missing(const char *path, const struct dtr_variable *variable,
                        struct dtr_error *error) {
  char shape[DTR_SHAPE_TEXT];
  dtr_error_set(error, DTR_STATUS_CHECKPOINT, "%s: there is no tensor \"%s\" (%s%s in the model)",
                path, variable->path, dtr_dtype_name(variable->dtype),
                dtr_shape_text(variable->rank, variable->dims, shape, sizeof shape));
  return dtr_error_where(error, variable->where);
}

/* ---- writing ---- */

bool dtr_tensors_writer_make(const struct dtr_program *program, const char *variables,
                             int64_t metadata_bytes, struct dtr_safetensors_writer **writer,
                             struct dtr_error *error) {
  uint32_t count = program->variable_count;
  struct dtr_tensor *tensors = calloc((size_t)count + 1, sizeof *tensors);
  const void **bytes = calloc((size_t)count + 1, sizeof *bytes);
  bool done = false;
  if (tensors && bytes) {
    for (uint32_t i = 0; i < count; i++) {
      tensors[i] = dtr_tensor_of(&program->variables[i]);
      bytes[i] = variables + program->variables[i].offset;
    }
    done = dtr_safetensors_writer_make(count, tensors, bytes, metadata_bytes, writer, error);
  } else {
    dtr_error_memory(error, count * (int64_t)sizeof *tensors, "writing tensors");
  }
  free(bytes);
  free(tensors);
  return done;
}

static int folder_sync(const struct dtr_env *env, const char *path) {
  char folder[PATH_MAX];
  const char *slash = strrchr(path, '/');
  if (!slash)
    return env->path_sync(env->context, ".");
  size_t length = slash == path ? 1 : (size_t)(slash - path);
  memcpy(folder, path, length);
  folder[length] = 0;
  return env->path_sync(env->context, folder);
}

static bool write_by(struct dtr_safetensors_writer *writer, const struct dtr_env *env,
                     const char *temporary, const char *path, uint32_t metadata_count,
                     const struct dtr_metadata *metadata, struct dtr_error *error) {
  if (!dtr_safetensors_writer_write(writer, env, temporary, path, metadata_count, metadata, true,
                                    error)) {
    env->path_unlink(env->context, temporary);
    return false;
  }
  int result = env->path_rename(env->context, temporary, path);
  if (result < 0) {
    env->path_unlink(env->context, temporary);
    return dtr_error_system(error, DTR_STATUS_IO, result, "cannot rename %s to %s", temporary,
                            path);
  }
  result = folder_sync(env, path);
  if (result < 0)
    return dtr_error_system(error, DTR_STATUS_IO, result, "cannot sync the folder of %s", path);
  return true;
}

bool dtr_tensors_write(struct dtr_safetensors_writer *writer, const struct dtr_env *env,
                       const char *path, uint32_t metadata_count,
                       const struct dtr_metadata *metadata, struct dtr_error *error) {
  char temporary[PATH_MAX];
  if (snprintf(temporary, sizeof temporary, "%s" TEMPORARY, path) >= (int)sizeof temporary)
    return dtr_error_system(error, DTR_STATUS_IO, ENAMETOOLONG, "cannot write %s", path);
  return write_by(writer, env, temporary, path, metadata_count, metadata, error);
}

/* A temporary name that no other program writes to: it is locked as long as its writer lives, so
 * that what a killed one left is used again. A handle, or a negative errno; -EWOULDBLOCK: another
 * program has it. `locked` false: this file system knows no locks. */
static int temporary_take(const struct dtr_env *env, const char *name, bool *locked) {
  int file = env->file_open(env->context, name, DTR_FILE_APPEND);
  if (file < 0)
    return file;
  env->file_close(env->context, file);
  int lock = env->path_lock(env->context, name);
  *locked = lock >= 0;
  if (lock >= 0 || lock == -EWOULDBLOCK)
    return lock;
  return lock == -ENOENT ? -EWOULDBLOCK : 0; /* renamed by its writer in between */
}

bool dtr_tensors_write_alone(struct dtr_safetensors_writer *writer, const struct dtr_env *env,
                             const char *path, struct dtr_error *error) {
  enum { MOST_WRITERS = 100 };
  char name[PATH_MAX];
  for (int n = 1; n <= MOST_WRITERS; n++) {
    bool locked = false;
    int length = n == 1 ? snprintf(name, sizeof name, "%s" TEMPORARY, path)
                        : snprintf(name, sizeof name, "%s.%d" TEMPORARY, path, n);
    int taken = length < (int)sizeof name ? temporary_take(env, name, &locked) : -ENAMETOOLONG;
    if (taken == -EWOULDBLOCK)
      continue;
    if (taken < 0)
      return dtr_error_system(error, DTR_STATUS_IO, taken, "cannot write %s", path);
    bool done = write_by(writer, env, name, path, 0, NULL, error);
    if (locked)
      env->file_close(env->context, taken);
    return done;
  }
  dtr_error_set(error, DTR_STATUS_IO, "cannot write %s: %d other programs write it now", path,
                MOST_WRITERS);
  return dtr_error_hint(error, "let every run write a file of its own");
}

/* ---- whether a file can be written ---- */

int dtr_output_probe(const struct dtr_env *env, const char *path) {
  char name[PATH_MAX];
  if (snprintf(name, sizeof name, "%s.probe", path) >= (int)sizeof name)
    return -ENAMETOOLONG;
  int file = env->file_open(env->context, name, DTR_FILE_CREATE);
  if (file < 0)
    return file;
  int result = env->file_close(env->context, file);
  env->path_unlink(env->context, name);
  return result;
}

/* "" for a name alone. */
static void folder_of(const char *path, char *folder, size_t size) {
  const char *slash = strrchr(path, '/');
  snprintf(folder, size, "%.*s", slash ? (int)(slash - path) + (slash == path) : 0, path);
}

/* A file is replaced by renaming, so what is no file of its own would be lost. */
bool dtr_output_check(const struct dtr_env *env, const char *flag, const char *path,
                      struct dtr_error *error) {
  struct dtr_file_info info;
  char folder[PATH_MAX];
  folder_of(path, folder, sizeof folder);
  if (folder[0] && (env->path_info(env->context, folder, &info) < 0 || !info.is_directory)) {
    dtr_error_set(error, DTR_STATUS_IO, "--%s %s: there is no folder %s", flag, path, folder);
    return dtr_error_hint(error, "make the folder first");
  }
  if (env->path_info(env->context, path, &info) == 0 && !info.is_regular) {
    dtr_error_set(error, DTR_STATUS_IO, "--%s %s: it is %s", flag, path,
                  info.is_directory ? "a folder" : "a pipe or a device, not a file");
    return dtr_error_hint(error, "name a file");
  }
  int result = dtr_output_probe(env, path);
  if (result == 0)
    return true;
  dtr_error_system(error, DTR_STATUS_IO, result, "--%s %s: cannot write there", flag, path);
  return dtr_error_hint(error, "name a file in a folder that you may write to");
}

bool dtr_tensors_save(const struct dtr_env *env, const struct dtr_program *program,
                      const char *path, const char *variables, struct dtr_error *error) {
  struct dtr_safetensors_writer *writer;
  if (!dtr_tensors_writer_make(program, variables, 0, &writer, error))
    return false;
  bool done = dtr_tensors_write_alone(writer, env, path, error);
  dtr_safetensors_writer_free(writer);
  return done;
}

/* ---- --init ---- */

static bool init_check(const struct dtr_program *program, const char *path,
                       const struct dtr_safetensors *file, struct dtr_error *error) {
  for (uint32_t i = 0; i < program->variable_count; i++) {
    const struct dtr_variable *variable = &program->variables[i];
    const struct dtr_tensor *tensor = dtr_safetensors_find(file, variable->path);
    if (tensor && !dtr_tensor_check(path, tensor, variable, error))
      return false;
    if (!tensor && variable->kind == DTR_VARIABLE_PARAM)
      return dtr_tensor_missing(path, variable, error);
  }
  return true;
}

static bool init_read(const struct dtr_program *program, const struct dtr_safetensors *file,
                      char *variables, struct dtr_error *error) {
  for (uint32_t i = 0; i < program->variable_count; i++) {
    const struct dtr_variable *variable = &program->variables[i];
    const struct dtr_tensor *tensor = dtr_safetensors_find(file, variable->path);
    if (tensor && !dtr_safetensors_read(file, tensor, variables + variable->offset, error))
      return false;
  }
  return true;
}

static const struct dtr_variable *variable_find(const struct dtr_program *program,
                                                const char *path) {
  for (uint32_t i = 0; i < program->variable_count; i++)
    if (strcmp(program->variables[i].path, path) == 0)
      return &program->variables[i];
  return NULL;
}

static void surplus_remark(const struct dtr_program *program, const char *path,
                           const struct dtr_safetensors *file, struct dtr_remarks remarks) {
  uint32_t surplus = 0;
  const char *first = NULL;
  for (uint32_t i = 0; i < dtr_safetensors_count(file); i++) {
    const char *name = dtr_safetensors_at(file, i)->name;
    if (variable_find(program, name))
      continue;
    first = first ? first : name;
    surplus++;
  }
  if (surplus == 0 || !remarks.write)
    return;
  char text[512];
  if (surplus == 1)
    snprintf(text, sizeof text, "%s: tensor \"%s\" is not in the model; it is not used", path,
             first);
  else
    snprintf(text, sizeof text,
             "%s: %u tensors are not in the model (\"%s\" is the first); they are not used", path,
             surplus, first);
  remarks.write(remarks.context, text);
}

bool dtr_tensors_init(const struct dtr_env *env, const struct dtr_program *program,
                      const char *path, char *variables, struct dtr_remarks remarks,
                      struct dtr_error *error) {
  struct dtr_safetensors *file;
  if (!dtr_safetensors_open(env, path, &file, error))
    return false;
  bool done = init_check(program, path, file, error) && init_read(program, file, variables, error);
  if (done)
    surplus_remark(program, path, file, remarks);
  dtr_safetensors_close(file);
  return done;
}
