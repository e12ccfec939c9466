#include "runtime/data/sources.h"
#include "runtime/safetensors.h"

static bool tensor_read(const struct dtr_env *env, const struct dtr_safetensors *file,
                        const char *path, const char *name, struct dtr_values *values,
                        struct dtr_error *error) {
  const struct dtr_tensor *tensor = dtr_safetensors_find(file, name);
  if (!tensor) {
    dtr_error_set(error, DTR_STATUS_DATA, "%s: there is no tensor \"%s\"", path, name);
    uint32_t count = dtr_safetensors_count(file);
    if (count == 0)
      return dtr_error_hint(error, "the file has no tensors");
    return dtr_error_hint(error, "it has %u, from \"%s\" to \"%s\"", count,
                          dtr_safetensors_at(file, 0)->name,
                          dtr_safetensors_at(file, count - 1)->name);
  }
  if (!dtr_values_make(env, path, tensor->element, tensor->rank, tensor->dims, tensor->bytes,
                       values, error))
    return false;
  if (!dtr_safetensors_read(file, tensor, values->bytes, error)) {
    dtr_values_free(values);
    return false;
  }
  return true;
}

bool dtr_tensor_file_read(const struct dtr_env *env, const char *path, const char *tensor,
                          struct dtr_values *values, struct dtr_error *error) {
  struct dtr_safetensors *file;
  if (!dtr_safetensors_open(env, path, &file, error))
    return false;
  bool done = tensor_read(env, file, path, tensor, values, error);
  dtr_safetensors_close(file);
  return done;
}
