#include "tests/unit/ops/tensor_file.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *read_all(struct bench *bench, const char *path, size_t *size) {
  FILE *stream = fopen(path, "rb");
  if (!stream)
    fail_msg("cannot open %s", path);
  fseek(stream, 0, SEEK_END);
  *size = (size_t)ftell(stream);
  rewind(stream);
  char *bytes = dtg_alloc(&bench->arena, *size + 1);
  assert_int_equal(fread(bytes, 1, *size, stream), *size);
  fclose(stream);
  return bytes;
}

static enum dtg_dtype dtype_of(const char *name) {
  if (strcmp(name, "F32") == 0)
    return DTG_F32;
  if (strcmp(name, "I32") == 0)
    return DTG_I32;
  assert_string_equal(name, "BOOL");
  return DTG_BOOL;
}

static double element(const char *bytes, enum dtg_dtype dtype, int64_t i) {
  float f;
  int32_t n;
  switch (dtype) {
  case DTG_F32:
    memcpy(&f, bytes + i * 4, 4);
    return f;
  case DTG_I32:
    memcpy(&n, bytes + i * 4, 4);
    return n;
  default:
    return bytes[i];
  }
}

static void add_tensor(struct tensor_file *file, struct bench *bench, const char *name,
                       json_t *entry, const char *body, size_t size) {
  struct tensor_entry *tensor = &file->tensors[file->count++];
  json_t *shape = json_object_get(entry, "shape"),
         *offsets = json_object_get(entry, "data_offsets");
  size_t begin = (size_t)json_integer_value(json_array_get(offsets, 0));
  assert_true(file->count <= 64);
  tensor->name = dtg_arena_strdup(&bench->arena, name);
  tensor->value.type.dtype = dtype_of(json_string_value(json_object_get(entry, "dtype")));
  tensor->value.type.shape.rank = (uint32_t)json_array_size(shape);
  for (uint32_t i = 0; i < tensor->value.type.shape.rank; i++)
    tensor->value.type.shape.dims[i] = json_integer_value(json_array_get(shape, i));
  int64_t count = dtg_shape_count(&tensor->value.type.shape);
  assert_true(begin + (size_t)dtg_type_bytes(&tensor->value.type) <= size);
  tensor->value.data = DTG_NEW_ARRAY(&bench->arena, double, count);
  for (int64_t i = 0; i < count; i++)
    tensor->value.data[i] = element(body + begin, tensor->value.type.dtype, i);
}

void tensor_file_open(struct tensor_file *file, struct bench *bench, const char *path) {
  size_t size;
  char *bytes = read_all(bench, path, &size);
  uint64_t length;
  const char *name;
  json_t *entry;
  *file = (struct tensor_file){0};
  assert_true(size >= 8);
  memcpy(&length, bytes, 8);
  assert_true(length <= size - 8);
  json_t *header = json_loadb(bytes + 8, (size_t)length, 0, NULL);
  assert_non_null(header);
  json_object_foreach(header, name, entry) {
    if (strcmp(name, "__metadata__") == 0)
      file->metadata = json_incref(entry);
    else
      add_tensor(file, bench, name, entry, bytes + 8 + length, size - 8 - (size_t)length);
  }
  json_decref(header);
}

void tensor_file_close(struct tensor_file *file) {
  json_decref(file->metadata);
}

const struct dtg_ref_tensor *tensor_file_find(const struct tensor_file *file, const char *name) {
  for (uint32_t i = 0; i < file->count; i++) {
    if (strcmp(file->tensors[i].name, name) == 0)
      return &file->tensors[i].value;
  }
  return NULL;
}

json_t *tensor_file_json(const struct tensor_file *file, const char *key) {
  const char *text = json_string_value(json_object_get(file->metadata, key));
  json_t *value = text ? json_loads(text, JSON_DECODE_ANY, NULL) : NULL;
  if (!value)
    fail_msg("the metadata lack %s", key);
  return value;
}
