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

bool dtr_tensors_write(struct dtr_safetensors_writer *writer, const struct dtr_env *env,
                       const char *path, uint32_t metadata_count,
                       const struct dtr_metadata *metadata, struct dtr_error *error) {
  char temporary[PATH_MAX];
  if (snprintf(temporary, sizeof temporary, "%s" TEMPORARY, path) >= (int)sizeof temporary)
    return dtr_error_system(error, DTR_STATUS_IO, ENAMETOOLONG, "cannot write %s", path);
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

bool dtr_tensors_save(const struct dtr_env *env, const struct dtr_program *program,
                      const char *path, const char *variables, struct dtr_error *error) {
  struct dtr_safetensors_writer *writer;
  if (!dtr_tensors_writer_make(program, variables, 0, &writer, error))
    return false;
  bool done = dtr_tensors_write(writer, env, path, 0, NULL, error);
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
