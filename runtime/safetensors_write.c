#include "runtime/safetensors.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

/* Positions in the caller's arrays, in the order of the names. */
struct tensor_order {
  const struct dtr_tensor *tensor;
  const void *bytes;
};

static int compare_order(const void *left, const void *right) {
  return strcmp(((const struct tensor_order *)left)->tensor->name,
                ((const struct tensor_order *)right)->tensor->name);
}

static json_t *entry_make(const struct dtr_tensor *tensor, int64_t begin) {
  json_t *shape = json_array();
  for (uint32_t axis = 0; axis < tensor->rank; axis++)
    json_array_append_new(shape, json_integer(tensor->dims[axis]));
  return json_pack("{s:s, s:o, s:[I, I]}", "dtype", dtr_safetensors_type(tensor->element), "shape",
                   shape, "data_offsets", (json_int_t)begin, (json_int_t)(begin + tensor->bytes));
}

/* The header's text, padded with spaces to a multiple of 8; NULL without memory. */
static char *header_make(uint32_t count, const struct tensor_order *order, uint32_t metadata_count,
                         const struct dtr_metadata *metadata, size_t *length) {
  json_t *header = json_object();
  int failed = 0;
  if (metadata_count > 0) {
    json_t *map = json_object();
    for (uint32_t i = 0; i < metadata_count; i++)
      failed |= json_object_set_new(map, metadata[i].key, json_string(metadata[i].value));
    failed |= json_object_set_new(header, "__metadata__", map);
  }
  int64_t begin = 0;
  for (uint32_t i = 0; i < count; i++) {
    failed |=
        json_object_set_new(header, order[i].tensor->name, entry_make(order[i].tensor, begin));
    begin += order[i].tensor->bytes;
  }
  char *dump = failed ? NULL : json_dumps(header, JSON_COMPACT);
  json_decref(header);
  if (!dump)
    return NULL;
  size_t used = strlen(dump);
  *length = (used + 7) / 8 * 8;
  char *text = malloc(*length);
  if (text) {
    memset(text, ' ', *length);
    memcpy(text, dump, used);
  }
  free(dump);
  return text;
}

/* 0 or a negative errno. */
static int stream_write(const struct dtr_env *env, int file, const char *header, size_t length,
                        uint32_t count, const struct tensor_order *order) {
  unsigned char prefix[8];
  for (int i = 0; i < 8; i++)
    prefix[i] = (unsigned char)((uint64_t)length >> 8 * i);
  int result = dtr_env_write_all(env, file, prefix, sizeof prefix);
  if (result == 0)
    result = dtr_env_write_all(env, file, header, length);
  for (uint32_t i = 0; i < count && result == 0; i++)
    result = dtr_env_write_all(env, file, order[i].bytes, (size_t)order[i].tensor->bytes);
  return result;
}

static bool file_write(const struct dtr_env *env, const char *path, const char *name,
                       const char *header, size_t length, uint32_t count,
                       const struct tensor_order *order, bool sync, struct dtr_error *error) {
  int file = env->file_open(env->context, path, DTR_FILE_CREATE);
  if (file < 0)
    return dtr_error_system(error, DTR_STATUS_IO, file, "cannot create %s", name);
  int result = stream_write(env, file, header, length, count, order);
  if (result == 0 && sync)
    result = env->file_sync(env->context, file);
  int closed = env->file_close(env->context, file);
  if (result == 0)
    result = closed;
  if (result < 0)
    return dtr_error_system(error, DTR_STATUS_IO, result, "cannot write %s", name);
  return true;
}

bool dtr_safetensors_write(const struct dtr_env *env, const char *path, const char *name,
                           uint32_t count, const struct dtr_tensor *tensors,
                           const void *const *bytes, uint32_t metadata_count,
                           const struct dtr_metadata *metadata, bool sync,
                           struct dtr_error *error) {
  struct tensor_order *order = calloc(count + 1, sizeof *order);
  if (!order)
    return dtr_error_memory(error, (int64_t)(count * sizeof *order), name);
  for (uint32_t i = 0; i < count; i++)
    order[i] = (struct tensor_order){&tensors[i], bytes[i]};
  qsort(order, count, sizeof *order, compare_order);
  size_t length;
  char *header = header_make(count, order, metadata_count, metadata, &length);
  bool done = header ? file_write(env, path, name, header, length, count, order, sync, error)
                     : dtr_error_memory(error, (int64_t)count * 64, name);
  free(header);
  free(order);
  return done;
}
