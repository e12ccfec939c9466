/* Files that are nothing but values: bytes and tokens. */
#include "runtime/data/sources.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Room for `size` bytes as one axis of `element`. */
static bool room_make(const struct dtr_env *env, const char *path, enum dtr_element element,
                      int64_t size, struct dtr_values *values, struct dtr_error *error) {
  int64_t width = dtr_element_bytes(element), rows = size / width;
  if (size % width != 0)
    return dtr_error_set(error, DTR_STATUS_DATA,
                         "%s: %" PRId64 " bytes are not a whole number of %s tokens", path, size,
                         dtr_element_name(element));
  return dtr_values_make(env, path, element, 1, &rows, size, values, error);
}

/* Of gzip data the size is known at its end only. */
static bool inflated_read(const struct dtr_env *env, struct dtr_stream *stream,
                          enum dtr_element element, struct dtr_values *values,
                          struct dtr_error *error) {
  char *bytes;
  int64_t size;
  if (!dtr_stream_load(stream, &bytes, &size, error))
    return false;
  bool done = room_make(env, dtr_stream_path(stream), element, size, values, error);
  if (done)
    memcpy(values->bytes, bytes, (size_t)size);
  free(bytes);
  return done;
}

static bool plain_read(const struct dtr_env *env, struct dtr_stream *stream,
                       enum dtr_element element, struct dtr_values *values,
                       struct dtr_error *error) {
  if (!room_make(env, dtr_stream_path(stream), element, dtr_stream_available(stream), values,
                 error))
    return false;
  if (dtr_payload_read(stream, values, error))
    return true;
  dtr_values_free(values);
  return false;
}

/* The whole contents as one axis of `element`. */
static bool contents_read(const struct dtr_env *env, const char *path, enum dtr_element element,
                          struct dtr_values *values, struct dtr_error *error) {
  struct dtr_stream *stream;
  if (!dtr_stream_open(env, path, &stream, error))
    return false;
  bool done = dtr_stream_is_gzip(stream) ? inflated_read(env, stream, element, values, error)
                                         : plain_read(env, stream, element, values, error);
  dtr_stream_close(stream);
  return done;
}

bool dtr_bytes_read(const struct dtr_env *env, const char *path, struct dtr_values *values,
                    struct dtr_error *error) {
  return contents_read(env, path, DTR_ELEMENT_U8, values, error);
}

/* As unsigned: a negative token is above every vocabulary. */
static uint64_t token_at(const struct dtr_values *values, int64_t index) {
  switch (dtr_element_bytes(values->element)) {
  case 1:
    return ((const uint8_t *)values->bytes)[index];
  case 2:
    return ((const uint16_t *)values->bytes)[index];
  case 4:
    return values->element == DTR_ELEMENT_I32
               ? (uint64_t)(int64_t)((const int32_t *)values->bytes)[index]
               : ((const uint32_t *)values->bytes)[index];
  default:
    return ((const uint64_t *)values->bytes)[index];
  }
}

static bool vocabulary_check(const char *path, const struct dtr_values *values, int64_t limit,
                             struct dtr_error *error) {
  for (int64_t i = 0; i < values->rows; i++) {
    uint64_t token = token_at(values, i);
    if (token < (uint64_t)limit)
      continue;
    bool negative = values->element >= DTR_ELEMENT_I32 && values->element <= DTR_ELEMENT_I64;
    return negative ? dtr_error_set(error, DTR_STATUS_DATA,
                                    "%s: token %" PRId64 " is %" PRId64
                                    ", the vocabulary has 0 to %" PRId64,
                                    path, i, (int64_t)token, limit - 1)
                    : dtr_error_set(error, DTR_STATUS_DATA,
                                    "%s: token %" PRId64 " is %" PRIu64
                                    ", the vocabulary has 0 to %" PRId64,
                                    path, i, token, limit - 1);
  }
  return true;
}

static bool element_named(const char *name, enum dtr_element *element) {
  for (int e = 0; e < DTR_ELEMENT_COUNT; e++) {
    *element = (enum dtr_element)e;
    if (strcmp(dtr_element_name(*element), name) == 0)
      return true;
  }
  return false;
}

bool dtr_tokens_read(const struct dtr_env *env, const char *path, const struct dtr_column *column,
                     struct dtr_values *values, struct dtr_error *error) {
  enum dtr_element element;
  if (!element_named(column->member, &element))
    return dtr_error_set(error, DTR_STATUS_BUG, "column %s: unknown type of tokens \"%s\"",
                         column->name, column->member);
  if (!contents_read(env, path, element, values, error))
    return false;
  if (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__)
    dtr_values_swap(values);
  if (column->limit == 0 || vocabulary_check(path, values, column->limit, error))
    return true;
  dtr_values_free(values);
  return false;
}
