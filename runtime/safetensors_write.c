#include "runtime/safetensors.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A tensor and where its bytes are. */
struct writer_entry {
  struct dtr_tensor tensor;
  const void *bytes;
};

struct dtr_safetensors_writer {
  uint32_t count;
  struct writer_entry *entries; /* in the order of the names */
  char *header;
  size_t capacity, length;
};

static int compare_entries(const void *left, const void *right) {
  return strcmp(((const struct writer_entry *)left)->tensor.name,
                ((const struct writer_entry *)right)->tensor.name);
}

/* A byte of a JSON string takes at most 6: \u001f. */
enum { ESCAPED = 6, ENTRY_BYTES = 96, NUMBER_BYTES = 21, FRAME_BYTES = 64 };

static size_t header_limit(uint32_t count, const struct dtr_tensor *tensors,
                           int64_t metadata_bytes) {
  size_t limit = FRAME_BYTES + ESCAPED * (size_t)metadata_bytes;
  for (uint32_t i = 0; i < count; i++)
    limit += ESCAPED * strlen(tensors[i].name) + ENTRY_BYTES + NUMBER_BYTES * tensors[i].rank;
  return limit;
}

bool dtr_safetensors_writer_make(uint32_t count, const struct dtr_tensor *tensors,
                                 const void *const *bytes, int64_t metadata_bytes,
                                 struct dtr_safetensors_writer **writer, struct dtr_error *error) {
  struct dtr_safetensors_writer *made = calloc(1, sizeof *made);
  if (!made)
    return dtr_error_memory(error, sizeof *made, "writing tensors");
  made->count = count;
  made->capacity = header_limit(count, tensors, metadata_bytes);
  made->entries = calloc((size_t)count + 1, sizeof *made->entries);
  made->header = malloc(made->capacity);
  if (!made->entries || !made->header) {
    dtr_safetensors_writer_free(made);
    return dtr_error_memory(error, (int64_t)made->capacity, "writing tensors");
  }
  for (uint32_t i = 0; i < count; i++)
    made->entries[i] = (struct writer_entry){tensors[i], bytes[i]};
  qsort(made->entries, count, sizeof *made->entries, compare_entries);
  *writer = made;
  return true;
}

void dtr_safetensors_writer_free(struct dtr_safetensors_writer *writer) {
  if (!writer)
    return;
  free(writer->entries);
  free(writer->header);
  free(writer);
}

const struct dtr_tensor *dtr_safetensors_writer_at(const struct dtr_safetensors_writer *writer,
                                                   uint32_t index, const void **bytes) {
  *bytes = writer->entries[index].bytes;
  return &writer->entries[index].tensor;
}

/* ---- the header ---- */

/* What does not fit is counted all the same: the caller compares length and capacity. */
static void put(struct dtr_safetensors_writer *writer, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void put(struct dtr_safetensors_writer *writer, const char *format, ...) {
  size_t room = writer->length < writer->capacity ? writer->capacity - writer->length : 0;
  va_list args;
  va_start(args, format);
  writer->length +=
      (size_t)vsnprintf(room ? writer->header + writer->length : NULL, room, format, args);
  va_end(args);
}

static void put_string(struct dtr_safetensors_writer *writer, const char *text) {
  put(writer, "\"");
  for (const unsigned char *at = (const unsigned char *)text; *at; at++)
    if (*at == '"' || *at == '\\')
      put(writer, "\\%c", *at);
    else if (*at < ' ')
      put(writer, "\\u%04x", *at);
    else
      put(writer, "%c", *at);
  put(writer, "\"");
}

static void put_metadata(struct dtr_safetensors_writer *writer, uint32_t count,
                         const struct dtr_metadata *metadata) {
  put(writer, "\"__metadata__\":{");
  for (uint32_t i = 0; i < count; i++) {
    put(writer, "%s", i ? "," : "");
    put_string(writer, metadata[i].key);
    put(writer, ":");
    put_string(writer, metadata[i].value);
  }
  put(writer, "}");
}

static void put_tensor(struct dtr_safetensors_writer *writer, const struct dtr_tensor *tensor,
                       int64_t begin) {
  put_string(writer, tensor->name);
  put(writer, ":{\"dtype\":\"%s\",\"shape\":[", dtr_safetensors_type(tensor->element));
  for (uint32_t axis = 0; axis < tensor->rank; axis++)
    put(writer, "%s%" PRId64, axis ? "," : "", tensor->dims[axis]);
  put(writer, "],\"data_offsets\":[%" PRId64 ",%" PRId64 "]}", begin, begin + tensor->bytes);
}

/* Padded with spaces to a multiple of 8. */
static bool header_make(struct dtr_safetensors_writer *writer, const char *name, uint32_t count,
                        const struct dtr_metadata *metadata, struct dtr_error *error) {
  int64_t begin = 0;
  writer->length = 0;
  put(writer, "{");
  if (count > 0)
    put_metadata(writer, count, metadata);
  for (uint32_t i = 0; i < writer->count; i++) {
    put(writer, "%s", i || count ? "," : "");
    put_tensor(writer, &writer->entries[i].tensor, begin);
    begin += writer->entries[i].tensor.bytes;
  }
  put(writer, "}");
  while (writer->length % 8 != 0)
    put(writer, " ");
  if (writer->length >= writer->capacity)
    return dtr_error_set(error, DTR_STATUS_BUG, "%s: a header of %zu bytes in room for %zu", name,
                         writer->length, writer->capacity);
  return true;
}

/* ---- the file ---- */

/* 0 or a negative errno. */
static int stream_write(const struct dtr_safetensors_writer *writer, const struct dtr_env *env,
                        int file) {
  unsigned char prefix[8];
  for (int i = 0; i < 8; i++)
    prefix[i] = (unsigned char)((uint64_t)writer->length >> 8 * i);
  int result = dtr_env_write_all(env, file, prefix, sizeof prefix);
  if (result == 0)
    result = dtr_env_write_all(env, file, writer->header, writer->length);
  for (uint32_t i = 0; i < writer->count && result == 0; i++)
    result = dtr_env_write_all(env, file, writer->entries[i].bytes,
                               (size_t)writer->entries[i].tensor.bytes);
  return result;
}

bool dtr_safetensors_writer_write(struct dtr_safetensors_writer *writer, const struct dtr_env *env,
                                  const char *path, const char *name, uint32_t metadata_count,
                                  const struct dtr_metadata *metadata, bool sync,
                                  struct dtr_error *error) {
  if (!header_make(writer, name, metadata_count, metadata, error))
    return false;
  int file = env->file_open(env->context, path, DTR_FILE_CREATE);
  if (file < 0)
    return dtr_error_system(error, DTR_STATUS_IO, file, "cannot create %s", name);
  int result = stream_write(writer, env, file);
  if (result == 0 && sync)
    result = env->file_sync(env->context, file);
  int closed = env->file_close(env->context, file);
  if (result == 0)
    result = closed;
  if (result < 0)
    return dtr_error_system(error, DTR_STATUS_IO, result, "cannot write %s", name);
  return true;
}
