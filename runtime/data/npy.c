#include "runtime/data/sources.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { HEADER_LIMIT = 1 << 20 };

/* What the header's dictionary says. */
struct npy_header {
  char type[8];
  bool has_type, has_order, has_shape;
  bool fortran;
  uint32_t rank;
  int64_t dims[DTR_MAX_RANK + 1];
};

/* The dictionary's text, ended by a zero. */
struct npy_cursor {
  const char *path, *text, *at;
  struct dtr_error *error;
};

static bool header_fail(struct npy_cursor *cursor, const char *expected) {
  return dtr_error_set(cursor->error, DTR_STATUS_DATA, "%s: header, byte %td: expected %s",
                       cursor->path, cursor->at - cursor->text, expected);
}

static void space_skip(struct npy_cursor *cursor) {
  while (*cursor->at == ' ' || *cursor->at == '\t' || *cursor->at == '\n')
    cursor->at++;
}

static bool accept(struct npy_cursor *cursor, char wanted) {
  space_skip(cursor);
  if (*cursor->at != wanted)
    return false;
  cursor->at++;
  return true;
}

/* 'text' or "text" without escapes. */
static bool string_parse(struct npy_cursor *cursor, char *text, size_t size) {
  space_skip(cursor);
  char quote = *cursor->at;
  if (quote != '\'' && quote != '"')
    return header_fail(cursor, "a string");
  const char *begin = cursor->at + 1, *end = strchr(begin, quote);
  if (!end || (size_t)(end - begin) >= size)
    return header_fail(cursor, "a short string");
  memcpy(text, begin, (size_t)(end - begin));
  text[end - begin] = 0;
  cursor->at = end + 1;
  return true;
}

static bool shape_parse(struct npy_cursor *cursor, struct npy_header *header) {
  if (!accept(cursor, '('))
    return header_fail(cursor, "'(' and the shape");
  while (!accept(cursor, ')')) {
    int64_t size = 0;
    if (!isdigit((unsigned char)*cursor->at))
      return header_fail(cursor, "a size");
    for (; isdigit((unsigned char)*cursor->at); cursor->at++)
      if (__builtin_mul_overflow(size, 10, &size) ||
          __builtin_add_overflow(size, *cursor->at - '0', &size))
        return header_fail(cursor, "a size below 2^63");
    if (header->rank == DTR_MAX_RANK + 1)
      return header_fail(cursor, "at most 9 axes");
    header->dims[header->rank++] = size;
    if (!accept(cursor, ',') && *cursor->at != ')')
      return header_fail(cursor, "',' or ')'");
  }
  return true;
}

static bool order_parse(struct npy_cursor *cursor, bool *fortran) {
  space_skip(cursor);
  *fortran = strncmp(cursor->at, "True", 4) == 0;
  if (!*fortran && strncmp(cursor->at, "False", 5) != 0)
    return header_fail(cursor, "True or False");
  cursor->at += *fortran ? 4 : 5;
  return true;
}

static bool entry_parse(struct npy_cursor *cursor, struct npy_header *header) {
  char key[16];
  if (!string_parse(cursor, key, sizeof key))
    return false;
  if (!accept(cursor, ':'))
    return header_fail(cursor, "':'");
  if (strcmp(key, "descr") == 0 && !header->has_type) {
    header->has_type = true;
    space_skip(cursor);
    if (*cursor->at == '[')
      return dtr_error_set(cursor->error, DTR_STATUS_DATA,
                           "%s: records of several fields are not supported", cursor->path);
    return string_parse(cursor, header->type, sizeof header->type);
  }
  if (strcmp(key, "fortran_order") == 0 && !header->has_order) {
    header->has_order = true;
    return order_parse(cursor, &header->fortran);
  }
  if (strcmp(key, "shape") == 0 && !header->has_shape) {
    header->has_shape = true;
    return shape_parse(cursor, header);
  }
  return header_fail(cursor, "descr, fortran_order and shape, each once");
}

static bool dictionary_parse(struct npy_cursor *cursor, struct npy_header *header) {
  if (!accept(cursor, '{'))
    return header_fail(cursor, "'{'");
  while (!accept(cursor, '}')) {
    if (!entry_parse(cursor, header))
      return false;
    if (!accept(cursor, ',') && *cursor->at != '}')
      return header_fail(cursor, "',' or '}'");
  }
  space_skip(cursor);
  if (*cursor->at)
    return header_fail(cursor, "nothing after '}'");
  if (!header->has_type || !header->has_order || !header->has_shape)
    return header_fail(cursor, "descr, fortran_order and shape, each once");
  return true;
}

/* "<f4" -> f32, little-endian. */
static bool type_parse(const char *type, enum dtr_element *element, bool *big_endian) {
  static const struct {
    const char *name;
    enum dtr_element element;
  } types[] = {{"f4", DTR_ELEMENT_F32}, {"f8", DTR_ELEMENT_F64}, {"f2", DTR_ELEMENT_F16},
               {"i1", DTR_ELEMENT_I8},  {"i2", DTR_ELEMENT_I16}, {"i4", DTR_ELEMENT_I32},
               {"i8", DTR_ELEMENT_I64}, {"u1", DTR_ELEMENT_U8},  {"u2", DTR_ELEMENT_U16},
               {"u4", DTR_ELEMENT_U32}, {"u8", DTR_ELEMENT_U64}, {"b1", DTR_ELEMENT_BOOL}};
  if (!*type || !strchr("<>|=", *type))
    return false;
  *big_endian = *type == '>' || (*type != '<' && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__);
  for (size_t i = 0; i < sizeof types / sizeof *types; i++)
    if (strcmp(type + 1, types[i].name) == 0) {
      *element = types[i].element;
      return true;
    }
  return false;
}

/* Magic, version and length of the dictionary. */
static bool prefix_read(struct dtr_stream *stream, int64_t *length, struct dtr_error *error) {
  const char *path = dtr_stream_path(stream);
  unsigned char prefix[12] = {0};
  int64_t got, more = 0;
  if (!dtr_stream_read(stream, prefix, 10, &got, error))
    return false;
  if (got < 10 || memcmp(prefix, "\x93NUMPY", 6) != 0)
    return dtr_error_set(error, DTR_STATUS_DATA, "%s: not an .npy file", path);
  int version = prefix[6];
  if (version < 1 || version > 3)
    return dtr_error_set(error, DTR_STATUS_DATA, "%s: version %d of .npy is not supported", path,
                         version);
  if (version > 1 && !dtr_stream_read(stream, prefix + 10, 2, &more, error))
    return false;
  *length = prefix[8] | prefix[9] << 8;
  if (version > 1)
    *length |= (int64_t)prefix[10] << 16 | (int64_t)prefix[11] << 24;
  if ((version > 1 && more < 2) || *length > dtr_stream_available(stream))
    return dtr_error_set(error, DTR_STATUS_DATA, "%s: truncated in the header", path);
  if (*length > HEADER_LIMIT)
    return dtr_error_set(error, DTR_STATUS_DATA, "%s: a header of %" PRId64 " bytes", path,
                         *length);
  return true;
}

static bool header_read(struct dtr_stream *stream, struct npy_header *header,
                        struct dtr_error *error) {
  int64_t length = 0, got;
  if (!prefix_read(stream, &length, error))
    return false;
  char *text = malloc((size_t)length + 1);
  if (!text)
    return dtr_error_memory(error, length, dtr_stream_path(stream));
  bool done = dtr_stream_read(stream, text, length, &got, error);
  if (done && got < length)
    done = dtr_error_set(error, DTR_STATUS_DATA, "%s: truncated in the header",
                         dtr_stream_path(stream));
  text[length] = 0;
  struct npy_cursor cursor = {dtr_stream_path(stream), text, text, error};
  done = done && dictionary_parse(&cursor, header);
  free(text);
  return done;
}

bool dtr_npy_stream_read(const struct dtr_env *env, struct dtr_stream *stream,
                         struct dtr_values *values, struct dtr_error *error) {
  const char *path = dtr_stream_path(stream);
  struct npy_header header = {0};
  enum dtr_element element = DTR_ELEMENT_F32;
  bool big_endian = false;
  if (!header_read(stream, &header, error))
    return false;
  if (!type_parse(header.type, &element, &big_endian))
    return dtr_error_set(error, DTR_STATUS_DATA, "%s: element type \"%s\" is not supported", path,
                         header.type);
  if (header.fortran && header.rank > 1) {
    dtr_error_set(error, DTR_STATUS_DATA, "%s: it is in Fortran order", path);
    return dtr_error_hint(error, "save numpy.ascontiguousarray(x)");
  }
  if (!dtr_values_make(env, path, element, header.rank, header.dims, dtr_stream_available(stream),
                       values, error))
    return false;
  if (!dtr_payload_read(stream, values, error)) {
    dtr_values_free(values);
    return false;
  }
  if (big_endian == (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__))
    dtr_values_swap(values);
  return true;
}

bool dtr_npy_read(const struct dtr_env *env, const char *path, struct dtr_values *values,
                  struct dtr_error *error) {
  struct dtr_stream *stream;
  if (!dtr_stream_open(env, path, &stream, error))
    return false;
  bool done = dtr_npy_stream_read(env, stream, values, error);
  dtr_stream_close(stream);
  return done;
}
