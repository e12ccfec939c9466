#include "tensors.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- reading ---- */

static double load(enum dtr_element element, const unsigned char *bytes, int64_t index) {
  float f;
  int32_t i;
  int64_t l;
  switch (element) {
  case DTR_ELEMENT_F32:
    memcpy(&f, bytes + index * 4, sizeof f);
    return f;
  case DTR_ELEMENT_I32:
    memcpy(&i, bytes + index * 4, sizeof i);
    return i;
  case DTR_ELEMENT_I64:
    memcpy(&l, bytes + index * 8, sizeof l);
    return (double)l;
  default: /* u8 and bool: the callers let nothing else in */
    return bytes[index];
  }
}

static bool is_known(enum dtr_element element) {
  return element == DTR_ELEMENT_F32 || element == DTR_ELEMENT_I32 || element == DTR_ELEMENT_I64 ||
         element == DTR_ELEMENT_U8 || element == DTR_ELEMENT_BOOL;
}

static struct ref_tensor *grow(struct ref_driver *driver, struct ref_tensors *tensors) {
  if (tensors->count == tensors->cap) {
    size_t cap = tensors->cap ? 2 * tensors->cap : 32;
    struct ref_tensor *items = DTG_NEW_ARRAY(&driver->arena, struct ref_tensor, cap);
    if (tensors->count > 0)
      memcpy(items, tensors->items, tensors->count * sizeof *items);
    tensors->items = items;
    tensors->cap = cap;
  }
  return &tensors->items[tensors->count++];
}

static bool read_one(struct ref_driver *driver, const struct dtr_safetensors *file,
                     const struct dtr_tensor *tensor, struct ref_tensors *out,
                     struct dtr_error *error) {
  unsigned char *bytes = dtg_alloc(&driver->arena, (size_t)tensor->bytes);
  if (!is_known(tensor->element))
    return dtr_error_set(error, DTR_STATUS_DATA, "\"%s\" has a type that no case has",
                         tensor->name);
  if (!dtr_safetensors_read(file, tensor, bytes, error))
    return false;
  struct ref_tensor *item = grow(driver, out);
  item->type = *tensor;
  item->type.name = dtg_arena_strdup(&driver->arena, tensor->name);
  item->values = DTG_NEW_ARRAY(&driver->arena, double, tensor->elements);
  for (int64_t i = 0; i < tensor->elements; i++)
    item->values[i] = load(tensor->element, bytes, i);
  return true;
}

bool ref_tensors_read(struct ref_driver *driver, const char *path, struct ref_tensors *out,
                      const char **why) {
  struct dtr_safetensors *file;
  struct dtr_error error;
  dtr_error_clear(&error);
  *out = (struct ref_tensors){.path = path};
  bool good = dtr_safetensors_open(dtr_env_real(), path, &file, &error);
  if (good) {
    for (uint32_t i = 0; good && i < dtr_safetensors_count(file); i++)
      good = read_one(driver, file, dtr_safetensors_at(file, i), out, &error);
    dtr_safetensors_close(file);
  }
  *why = dtg_arena_strdup(&driver->arena, error.message);
  return good;
}

struct ref_tensors ref_tensors_stored(struct ref_driver *driver, const char *path) {
  struct ref_tensors tensors;
  const char *why;
  if (ref_tensors_read(driver, ref_format(driver, "%s/%s", driver->reference, path), &tensors,
                       &why))
    return tensors;
  fprintf(stderr, "%s\n", why);
  exit(2);
}

const struct ref_tensor *ref_tensors_find(const struct ref_tensors *tensors, const char *name) {
  for (size_t i = 0; i < tensors->count; i++) {
    if (strcmp(tensors->items[i].type.name, name) == 0)
      return &tensors->items[i];
  }
  return NULL;
}

/* ---- making others of them ---- */

void ref_tensors_add(struct ref_driver *driver, struct ref_tensors *tensors, const char *name,
                     const struct ref_tensor *tensor) {
  struct ref_tensor *item = grow(driver, tensors);
  *item = *tensor;
  item->type.name = name;
}

static void set_shape(struct ref_tensor *tensor, uint32_t rank, const int64_t *dims) {
  int64_t bytes = tensor->type.elements ? tensor->type.bytes / tensor->type.elements : 0;
  tensor->type.elements = 1;
  for (uint32_t i = 0; i < rank; i++)
    tensor->type.elements *= dims[i];
  tensor->type.bytes = bytes * tensor->type.elements;
  tensor->type.rank = rank;
  memmove(tensor->type.dims, dims, rank * sizeof *dims);
}

struct ref_tensor ref_tensor_row(const struct ref_tensor *tensor, int64_t index) {
  struct ref_tensor row = *tensor;
  set_shape(&row, tensor->type.rank - 1, tensor->type.dims + 1);
  row.values = tensor->values + index * row.type.elements;
  return row;
}

struct ref_tensor ref_tensor_head(const struct ref_tensor *tensor, int64_t rows) {
  struct ref_tensor head = *tensor;
  int64_t dims[DTR_MAX_RANK];
  memcpy(dims, tensor->type.dims, tensor->type.rank * sizeof *dims);
  dims[0] = rows;
  set_shape(&head, tensor->type.rank, dims);
  return head;
}

struct ref_tensor ref_tensor_join(const struct ref_tensor *tensor) {
  struct ref_tensor joined = *tensor;
  int64_t dims[DTR_MAX_RANK];
  memcpy(dims, tensor->type.dims + 1, (tensor->type.rank - 1) * sizeof *dims);
  dims[0] *= tensor->type.dims[0];
  set_shape(&joined, tensor->type.rank - 1, dims);
  return joined;
}

struct ref_tensor ref_tensor_example(const struct ref_tensor *tensor) {
  struct ref_tensor example = *tensor;
  int64_t dims[DTR_MAX_RANK] = {1};
  memcpy(dims + 1, tensor->type.dims, tensor->type.rank * sizeof *dims);
  set_shape(&example, tensor->type.rank + 1, dims);
  return example;
}

/* ---- writing ---- */

static const void *encode(struct ref_driver *driver, const struct ref_tensor *tensor) {
  char *bytes = dtg_alloc(&driver->arena, (size_t)tensor->type.bytes);
  for (int64_t i = 0; i < tensor->type.elements; i++)
    dtr_value_store((enum dtr_dtype)tensor->type.element, bytes, i, tensor->values[i]);
  return bytes;
}

void ref_tensors_write(struct ref_driver *driver, const struct ref_tensors *tensors,
                       const char *path) {
  struct dtr_tensor *types = DTG_NEW_ARRAY(&driver->arena, struct dtr_tensor, tensors->count);
  const void **bytes = DTG_NEW_ARRAY(&driver->arena, const void *, tensors->count);
  struct dtr_error error;
  dtr_error_clear(&error);
  for (size_t i = 0; i < tensors->count; i++) {
    types[i] = tensors->items[i].type;
    bytes[i] = encode(driver, &tensors->items[i]);
  }
  struct dtr_safetensors_writer *writer = NULL;
  bool good =
      dtr_safetensors_writer_make((uint32_t)tensors->count, types, bytes, 0, &writer, &error) &&
      dtr_safetensors_writer_write(writer, dtr_env_real(), path, path, 0, NULL, false, &error);
  if (writer)
    dtr_safetensors_writer_free(writer);
  if (good)
    return;
  fprintf(stderr, "%s\n", error.message);
  exit(2);
}
