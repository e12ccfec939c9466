#include "runtime/data/sources.h"
#include "runtime/data/stream.h"

#include <inttypes.h>

/* Element types by the third byte of the file; 0 width = unknown. */
static bool idx_element(unsigned char code, enum dtr_element *element) {
  switch (code) {
  case 0x08:
    *element = DTR_ELEMENT_U8;
    return true;
  case 0x09:
    *element = DTR_ELEMENT_I8;
    return true;
  case 0x0b:
    *element = DTR_ELEMENT_I16;
    return true;
  case 0x0c:
    *element = DTR_ELEMENT_I32;
    return true;
  case 0x0d:
    *element = DTR_ELEMENT_F32;
    return true;
  case 0x0e:
    *element = DTR_ELEMENT_F64;
    return true;
  }
  return false;
}

static bool magic_check(struct dtr_stream *stream, const unsigned char magic[4], int64_t got,
                        enum dtr_element *element, struct dtr_error *error) {
  const char *path = dtr_stream_path(stream);
  if (got < 4)
    return dtr_error_set(error, DTR_STATUS_DATA,
                         "%s: truncated: %" PRId64 " bytes, an IDX header has at least 8", path,
                         got);
  if (magic[0] != 0 || magic[1] != 0)
    return dtr_error_set(error, DTR_STATUS_DATA,
                         "%s: not an IDX file: it starts with %02x %02x %02x %02x", path, magic[0],
                         magic[1], magic[2], magic[3]);
  if (!idx_element(magic[2], element))
    return dtr_error_set(error, DTR_STATUS_DATA, "%s: not an IDX file: element type 0x%02x", path,
                         magic[2]);
  if (magic[3] == 0 || magic[3] > DTR_MAX_RANK + 1)
    return dtr_error_set(error, DTR_STATUS_DATA, "%s: %d axes, an IDX file has 1 to %d", path,
                         magic[3], DTR_MAX_RANK + 1);
  return true;
}

static bool header_read(struct dtr_stream *stream, enum dtr_element *element, uint32_t *rank,
                        int64_t *dims, struct dtr_error *error) {
  unsigned char magic[4], sizes[4 * (DTR_MAX_RANK + 1)];
  int64_t got;
  if (!dtr_stream_read(stream, magic, 4, &got, error) ||
      !magic_check(stream, magic, got, element, error))
    return false;
  *rank = magic[3];
  if (!dtr_stream_read(stream, sizes, 4 * *rank, &got, error))
    return false;
  if (got < 4 * *rank)
    return dtr_error_set(error, DTR_STATUS_DATA, "%s: truncated in the header",
                         dtr_stream_path(stream));
  for (uint32_t axis = 0; axis < *rank; axis++)
    dims[axis] = (int64_t)sizes[4 * axis] << 24 | sizes[4 * axis + 1] << 16 |
                 sizes[4 * axis + 2] << 8 | sizes[4 * axis + 3];
  return true;
}

bool dtr_payload_read(struct dtr_stream *stream, struct dtr_values *values,
                      struct dtr_error *error) {
  int64_t size = dtr_values_bytes(values), got;
  if (!dtr_stream_read(stream, values->bytes, size, &got, error))
    return false;
  if (got < size)
    return dtr_error_set(error, DTR_STATUS_DATA,
                         "%s: truncated: %" PRId64 " of the %" PRId64 " bytes after the header",
                         dtr_stream_path(stream), got, size);
  return dtr_stream_end(stream, error);
}

static bool stream_read(const struct dtr_env *env, struct dtr_stream *stream,
                        struct dtr_values *values, struct dtr_error *error) {
  enum dtr_element element = DTR_ELEMENT_U8;
  uint32_t rank = 0;
  int64_t dims[DTR_MAX_RANK + 1];
  if (!header_read(stream, &element, &rank, dims, error) ||
      !dtr_values_make(env, dtr_stream_path(stream), element, rank, dims,
                       dtr_stream_available(stream), values, error))
    return false;
  if (!dtr_payload_read(stream, values, error)) {
    dtr_values_free(values);
    return false;
  }
  if (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__)
    dtr_values_swap(values);
  return true;
}

bool dtr_idx_read(const struct dtr_env *env, const char *path, struct dtr_values *values,
                  struct dtr_error *error) {
  struct dtr_stream *stream;
  if (!dtr_stream_open(env, path, &stream, error))
    return false;
  bool done = stream_read(env, stream, values, error);
  dtr_stream_close(stream);
  return done;
}
