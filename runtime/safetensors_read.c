#include "runtime/safetensors.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

enum { HEADER_LIMIT = 100000000, TENSOR_LIMIT = 1000000, PREFIX_BYTES = 8 };

struct dtr_safetensors {
  const struct dtr_env *env;
  char *path;
  int file;
  int64_t data_begin, size; /* in the file */
  json_t *header;           /* owns names and metadata */
  uint32_t count;
  struct dtr_tensor *tensors; /* sorted by name once open */
};

/* The name that the format gives to each element type. */
static const char *const format_types[DTR_ELEMENT_COUNT] = {
    [DTR_ELEMENT_F32] = "F32",   [DTR_ELEMENT_F64] = "F64", [DTR_ELEMENT_BF16] = "BF16",
    [DTR_ELEMENT_I32] = "I32",   [DTR_ELEMENT_I64] = "I64", [DTR_ELEMENT_U8] = "U8",
    [DTR_ELEMENT_BOOL] = "BOOL", [DTR_ELEMENT_I8] = "I8",   [DTR_ELEMENT_I16] = "I16",
    [DTR_ELEMENT_U16] = "U16",   [DTR_ELEMENT_U32] = "U32", [DTR_ELEMENT_U64] = "U64",
    [DTR_ELEMENT_F16] = "F16",
};

const char *dtr_safetensors_type(enum dtr_element element) {
  return format_types[element];
}

static bool damaged(struct dtr_safetensors *file, const char *what, struct dtr_error *error) {
  return dtr_error_set(error, DTR_STATUS_CHECKPOINT, "%s: %s", file->path, what);
}

static bool tensor_damaged(struct dtr_safetensors *file, const struct dtr_tensor *tensor,
                           const char *what, struct dtr_error *error) {
  return dtr_error_set(error, DTR_STATUS_CHECKPOINT, "%s: tensor \"%s\": %s", file->path,
                       tensor->name, what);
}

/* ---- one entry of the header ---- */

static bool element_parse(struct dtr_safetensors *file, const json_t *entry,
                          struct dtr_tensor *tensor, struct dtr_error *error) {
  const char *type = json_string_value(json_object_get(entry, "dtype"));
  if (!type)
    return tensor_damaged(file, tensor, "it has no dtype", error);
  for (int element = 0; element < DTR_ELEMENT_COUNT; element++)
    if (strcmp(type, format_types[element]) == 0) {
      tensor->element = (enum dtr_element)element;
      return true;
    }
  return dtr_error_set(error, DTR_STATUS_CHECKPOINT,
                       "%s: tensor \"%s\": element type \"%.40s\" is not supported", file->path,
                       tensor->name, type);
}

static bool shape_parse(struct dtr_safetensors *file, const json_t *entry,
                        struct dtr_tensor *tensor, struct dtr_error *error) {
  const json_t *shape = json_object_get(entry, "shape");
  if (!json_is_array(shape))
    return tensor_damaged(file, tensor, "it has no shape", error);
  if (json_array_size(shape) > DTR_MAX_RANK)
    return dtr_error_set(error, DTR_STATUS_CHECKPOINT,
                         "%s: tensor \"%s\": %zu axes, at most %d are supported", file->path,
                         tensor->name, json_array_size(shape), DTR_MAX_RANK);
  tensor->rank = (uint32_t)json_array_size(shape);
  for (uint32_t axis = 0; axis < tensor->rank; axis++) {
    const json_t *dim = json_array_get(shape, axis);
    tensor->dims[axis] = json_is_integer(dim) ? json_integer_value(dim) : -1;
    if (tensor->dims[axis] < 0)
      return tensor_damaged(file, tensor, "its shape is not a list of sizes", error);
  }
  int64_t bytes = dtr_element_bytes(tensor->element);
  if (!dtr_shape_elements(tensor->rank, tensor->dims, bytes, &tensor->elements))
    return tensor_damaged(file, tensor, "its shape is too large", error);
  tensor->bytes = tensor->elements * bytes;
  return true;
}

static bool range_parse(struct dtr_safetensors *file, const json_t *entry,
                        struct dtr_tensor *tensor, struct dtr_error *error) {
  const json_t *offsets = json_object_get(entry, "data_offsets");
  const json_t *begin = json_array_get(offsets, 0), *end = json_array_get(offsets, 1);
  if (json_array_size(offsets) != 2 || !json_is_integer(begin) || !json_is_integer(end))
    return tensor_damaged(file, tensor, "it has no data_offsets", error);
  int64_t first = json_integer_value(begin), last = json_integer_value(end);
  if (first < 0 || last < first)
    return tensor_damaged(file, tensor, "its data_offsets are no range", error);
  if (last - first != tensor->bytes) {
    char shape[DTR_SHAPE_TEXT];
    return dtr_error_set(error, DTR_STATUS_CHECKPOINT,
                         "%s: tensor \"%s\": %s of shape %s needs %" PRId64
                         " bytes, its range has %" PRId64,
                         file->path, tensor->name, dtr_element_name(tensor->element),
                         dtr_shape_text(tensor->rank, tensor->dims, shape, sizeof shape),
                         tensor->bytes, last - first);
  }
  if (first > file->size)
    return tensor_damaged(file, tensor, "it lies beyond the end of the file", error);
  tensor->offset = file->data_begin + first;
  return true;
}

static bool metadata_check(struct dtr_safetensors *file, const json_t *metadata,
                           struct dtr_error *error) {
  const char *key;
  json_t *value;
  if (!json_is_object(metadata))
    return damaged(file, "__metadata__ is not an object", error);
  json_object_foreach((json_t *)metadata, key, value) {
    if (!json_is_string(value))
      return damaged(file, "__metadata__ has a value that is not a string", error);
  }
  return true;
}

static bool entries_parse(struct dtr_safetensors *file, struct dtr_error *error) {
  size_t count = json_object_size(file->header);
  if (count > TENSOR_LIMIT)
    return dtr_error_set(error, DTR_STATUS_CHECKPOINT, "%s: %zu tensors, at most %d are supported",
                         file->path, count, TENSOR_LIMIT);
  file->tensors = calloc(count + 1, sizeof *file->tensors);
  if (!file->tensors)
    return dtr_error_memory(error, (int64_t)(count * sizeof *file->tensors), file->path);
  const char *name;
  json_t *entry;
  json_object_foreach(file->header, name, entry) {
    if (strcmp(name, "__metadata__") == 0) {
      if (!metadata_check(file, entry, error))
        return false;
      continue;
    }
    struct dtr_tensor *tensor = &file->tensors[file->count];
    tensor->name = name;
    if (!element_parse(file, entry, tensor, error) || !shape_parse(file, entry, tensor, error) ||
        !range_parse(file, entry, tensor, error))
      return false;
    file->count++;
  }
  return true;
}

/* ---- the whole file ---- */

static int compare_offsets(const void *left, const void *right) {
  const struct dtr_tensor *a = left, *b = right;
  if (a->offset != b->offset)
    return a->offset < b->offset ? -1 : 1;
  if (a->bytes != b->bytes) /* empty tensors share an offset with what follows them */
    return a->bytes < b->bytes ? -1 : 1;
  return strcmp(a->name, b->name);
}

static int compare_names(const void *left, const void *right) {
  return strcmp(((const struct dtr_tensor *)left)->name, ((const struct dtr_tensor *)right)->name);
}

/* The ranges fill the data exactly. */
static bool layout_check(struct dtr_safetensors *file, struct dtr_error *error) {
  int64_t end = file->data_begin;
  qsort(file->tensors, file->count, sizeof *file->tensors, compare_offsets);
  for (uint32_t i = 0; i < file->count; i++) {
    const struct dtr_tensor *tensor = &file->tensors[i];
    if (tensor->offset < end)
      return dtr_error_set(error, DTR_STATUS_CHECKPOINT, "%s: tensors \"%s\" and \"%s\" overlap",
                           file->path, file->tensors[i - 1].name, tensor->name);
    if (tensor->offset > end)
      return tensor_damaged(file, tensor, "there is a gap before it", error);
    if (__builtin_add_overflow(end, tensor->bytes, &end))
      return tensor_damaged(file, tensor, "it lies beyond the end of the file", error);
  }
  if (end > file->size)
    return dtr_error_set(error, DTR_STATUS_CHECKPOINT,
                         "%s: truncated: %" PRId64 " bytes of %" PRId64, file->path, file->size,
                         end);
  if (end < file->size)
    return dtr_error_set(error, DTR_STATUS_CHECKPOINT,
                         "%s: %" PRId64 " bytes follow the last tensor", file->path,
                         file->size - end);
  qsort(file->tensors, file->count, sizeof *file->tensors, compare_names);
  return true;
}

static bool header_read(struct dtr_safetensors *file, uint64_t length, struct dtr_error *error) {
  char *text = malloc(length + 1);
  if (!text)
    return dtr_error_memory(error, (int64_t)length, file->path);
  int result = dtr_env_pread_all(file->env, file->file, text, length, PREFIX_BYTES);
  if (result < 0) {
    free(text);
    return dtr_error_system(error, DTR_STATUS_IO, result, "%s", file->path);
  }
  json_error_t problem;
  file->header = json_loadb(text, length, JSON_REJECT_DUPLICATES, &problem);
  free(text);
  if (!file->header)
    return dtr_error_set(error, DTR_STATUS_CHECKPOINT, "%s: the header is not JSON: byte %d: %s",
                         file->path, problem.position, problem.text);
  if (!json_is_object(file->header))
    return damaged(file, "the header is not a JSON object", error);
  return true;
}

static bool prefix_read(struct dtr_safetensors *file, uint64_t *length, struct dtr_error *error) {
  unsigned char prefix[PREFIX_BYTES];
  if (file->size < PREFIX_BYTES)
    return dtr_error_set(error, DTR_STATUS_CHECKPOINT,
                         "%s: not a safetensors file: it has %" PRId64 " bytes", file->path,
                         file->size);
  int result = dtr_env_pread_all(file->env, file->file, prefix, sizeof prefix, 0);
  if (result < 0)
    return dtr_error_system(error, DTR_STATUS_IO, result, "%s", file->path);
  *length = 0;
  for (int i = PREFIX_BYTES - 1; i >= 0; i--)
    *length = *length << 8 | prefix[i];
  if (*length < 2 || *length > HEADER_LIMIT)
    return dtr_error_set(error, DTR_STATUS_CHECKPOINT,
                         "%s: not a safetensors file: its header would have %" PRIu64 " bytes",
                         file->path, *length);
  if ((int64_t)*length > file->size - PREFIX_BYTES)
    return dtr_error_set(error, DTR_STATUS_CHECKPOINT,
                         "%s: truncated: %" PRId64 " bytes, the header alone has %" PRIu64,
                         file->path, file->size, *length + PREFIX_BYTES);
  file->data_begin = PREFIX_BYTES + (int64_t)*length;
  return true;
}

static bool file_open(struct dtr_safetensors *file, struct dtr_error *error) {
  file->file = file->env->file_open(file->env->context, file->path, DTR_FILE_READ);
  if (file->file < 0)
    return dtr_error_system(error, DTR_STATUS_IO, file->file, "cannot open %s", file->path);
  struct dtr_file_info info;
  int result = file->env->file_info(file->env->context, file->file, &info);
  if (result == 0 && info.is_directory)
    result = -EISDIR;
  if (result < 0)
    return dtr_error_system(error, DTR_STATUS_IO, result, "%s", file->path);
  if (!info.is_regular)
    return damaged(file, "a pipe or a device, not a file", error);
  file->size = info.size;
  return true;
}

bool dtr_safetensors_open(const struct dtr_env *env, const char *path,
                          struct dtr_safetensors **file, struct dtr_error *error) {
  struct dtr_safetensors *opened = calloc(1, sizeof *opened);
  if (!opened)
    return dtr_error_memory(error, sizeof *opened, path);
  opened->env = env;
  opened->file = -1;
  opened->path = strdup(path);
  uint64_t length = 0;
  if (!opened->path) {
    dtr_error_memory(error, (int64_t)strlen(path), path);
  } else if (file_open(opened, error) && prefix_read(opened, &length, error) &&
             header_read(opened, length, error) && entries_parse(opened, error) &&
             layout_check(opened, error)) {
    *file = opened;
    return true;
  }
  dtr_safetensors_close(opened);
  return false;
}

void dtr_safetensors_close(struct dtr_safetensors *file) {
  if (!file)
    return;
  if (file->file >= 0)
    file->env->file_close(file->env->context, file->file);
  json_decref(file->header);
  free(file->tensors);
  free(file->path);
  free(file);
}

uint32_t dtr_safetensors_count(const struct dtr_safetensors *file) {
  return file->count;
}

const struct dtr_tensor *dtr_safetensors_at(const struct dtr_safetensors *file, uint32_t index) {
  return &file->tensors[index];
}

const struct dtr_tensor *dtr_safetensors_find(const struct dtr_safetensors *file,
                                              const char *name) {
  const struct dtr_tensor key = {.name = name};
  return bsearch(&key, file->tensors, file->count, sizeof *file->tensors, compare_names);
}

const char *dtr_safetensors_metadata(const struct dtr_safetensors *file, const char *key) {
  return json_string_value(json_object_get(json_object_get(file->header, "__metadata__"), key));
}

bool dtr_safetensors_read(const struct dtr_safetensors *file, const struct dtr_tensor *tensor,
                          void *bytes, struct dtr_error *error) {
  int result =
      dtr_env_pread_all(file->env, file->file, bytes, (size_t)tensor->bytes, tensor->offset);
  if (result < 0)
    return dtr_error_system(error, DTR_STATUS_IO, result, "%s: tensor \"%s\"", file->path,
                            tensor->name);
  return true;
}
