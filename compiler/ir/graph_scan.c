#include "compiler/ir/graph_scan.h"

#include "compiler/base/intern.h"
#include "compiler/base/strbuf.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

bool dtg_scan_fail(struct dtg_scan *scan, const char *format, ...) {
  if (scan->failed)
    return false;
  scan->failed = true;
  va_list args;
  va_start(args, format);
  dtg_strbuf_printf(scan->why, "line %" PRIu32 ": ", scan->line);
  dtg_strbuf_vprintf(scan->why, format, args);
  va_end(args);
  return false;
}

static int peek(const struct dtg_scan *scan) {
  return scan->at < scan->size ? (unsigned char)scan->text[scan->at] : -1;
}

bool dtg_scan_more(struct dtg_scan *scan) {
  for (int c; (c = peek(scan)) >= 0; scan->at++) {
    if (c == ';') {
      while (scan->at < scan->size && scan->text[scan->at] != '\n')
        scan->at++;
      c = peek(scan);
    }
    if (c == '\n')
      scan->line++;
    else if (c != ' ' && c != '\t' && c != '\r')
      break;
  }
  return scan->at < scan->size;
}

bool dtg_scan_try(struct dtg_scan *scan, char c) {
  if (scan->failed || !dtg_scan_more(scan) || scan->text[scan->at] != c)
    return false;
  scan->at++;
  return true;
}

static bool is_word_byte(int c) {
  return isalnum(c) || c == '_' || c == '-';
}

/* Bytes of the word that is next. */
static size_t word_length(const struct dtg_scan *scan) {
  size_t end = scan->at;
  while (end < scan->size && is_word_byte((unsigned char)scan->text[end]))
    end++;
  return end - scan->at;
}

bool dtg_scan_try_word(struct dtg_scan *scan, const char *word) {
  if (scan->failed || !dtg_scan_more(scan))
    return false;
  size_t length = word_length(scan);
  if (length != strlen(word) || memcmp(scan->text + scan->at, word, length) != 0)
    return false;
  scan->at += length;
  return true;
}

/* What is next, for messages. */
static const char *seen(struct dtg_scan *scan) {
  if (!dtg_scan_more(scan))
    return "the end of the text";
  size_t length = word_length(scan);
  if (length == 0 && isprint(peek(scan)))
    length = 1;
  if (length == 0)
    return dtg_arena_printf(scan->arena, "byte 0x%02x", (unsigned)peek(scan));
  return dtg_arena_printf(scan->arena, "`%.*s`", (int)(length > 40 ? 40 : length),
                          scan->text + scan->at);
}

bool dtg_scan_expect(struct dtg_scan *scan, char c, const char *where) {
  if (dtg_scan_try(scan, c))
    return true;
  return !scan->failed && dtg_scan_fail(scan, "expected `%c` %s, saw %s", c, where, seen(scan));
}

static bool expected(struct dtg_scan *scan, const char *what) {
  return !scan->failed && dtg_scan_fail(scan, "expected %s, saw %s", what, seen(scan));
}

bool dtg_scan_word(struct dtg_scan *scan, const char *what, const char **out) {
  size_t length = !scan->failed && dtg_scan_more(scan) ? word_length(scan) : 0;
  if (length == 0)
    return expected(scan, what);
  *out = dtg_intern(scan->names, scan->text + scan->at, length);
  scan->at += length;
  return true;
}

static int hex_digit(int c) {
  return isdigit(c)             ? c - '0'
         : c >= 'a' && c <= 'f' ? c - 'a' + 10
         : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                : -1;
}

/* The byte that an escape stands for; -1: none. `at` is behind the backslash. */
static int escape(struct dtg_scan *scan) {
  int c = peek(scan);
  scan->at++;
  switch (c) {
  case 'n':
    return '\n';
  case 't':
    return '\t';
  case 'r':
    return '\r';
  case '"':
  case '\\':
    return c;
  case 'x':
    break;
  default:
    return -1;
  }
  if (scan->size - scan->at < 2)
    return -1;
  int high = hex_digit((unsigned char)scan->text[scan->at]);
  int low = hex_digit((unsigned char)scan->text[scan->at + 1]);
  scan->at += 2;
  return high < 0 || low < 0 ? -1 : high * 16 + low;
}

bool dtg_scan_string(struct dtg_scan *scan, const char *what, const char **out) {
  struct dtg_strbuf bytes = {0};
  if (!dtg_scan_try(scan, '"'))
    return expected(scan, what);
  for (int c; (c = peek(scan)) != '"';) {
    if (c < 0 || c == '\n') {
      dtg_strbuf_free(&bytes);
      return dtg_scan_fail(scan, "a string has no closing quote");
    }
    scan->at++;
    c = c == '\\' && scan->at < scan->size ? escape(scan) : c;
    if (c <= 0) {
      dtg_strbuf_free(&bytes);
      return dtg_scan_fail(scan, "a string has a bad escape or a NUL byte");
    }
    dtg_strbuf_putc(&bytes, (char)c);
  }
  scan->at++;
  *out = dtg_intern(scan->names, dtg_strbuf_text(&bytes), bytes.len);
  dtg_strbuf_free(&bytes);
  return true;
}

/* A number's bytes into a buffer; false if there is none or it is absurdly long. */
static bool number_text(struct dtg_scan *scan, char buffer[64]) {
  size_t length = 0;
  if (scan->failed || !dtg_scan_more(scan))
    return false;
  while (scan->at + length < scan->size && length < 63) {
    int c = (unsigned char)scan->text[scan->at + length];
    if (!isalnum(c) && c != '.' && c != '+' && c != '-')
      break;
    /* A range such as 3-9 of a span is two numbers. */
    if (c == '-' && length > 0 && buffer[length - 1] != 'e')
      break;
    buffer[length++] = (char)c;
  }
  buffer[length] = '\0';
  scan->at += length;
  return length > 0;
}

static bool parse_int(struct dtg_scan *scan, const char *text, int64_t *out) {
  char *end;
  errno = 0;
  long long value = strtoll(text, &end, 10);
  if (end == text || *end != '\0')
    return dtg_scan_fail(scan, "`%s` is no whole number", text);
  if (errno == ERANGE)
    return dtg_scan_fail(scan, "%s is out of the range of 64 bits", text);
  *out = value;
  return true;
}

static bool parse_float(struct dtg_scan *scan, const char *text, double *out) {
  char *end;
  double value = strtod(text, &end);
  if (end == text || *end != '\0')
    return dtg_scan_fail(scan, "`%s` is no number", text);
  *out = value;
  return true;
}

static bool scan_int(struct dtg_scan *scan, const char *what, int64_t *out) {
  char text[64];
  return number_text(scan, text) ? parse_int(scan, text, out) : expected(scan, what);
}

bool dtg_scan_u32(struct dtg_scan *scan, const char *what, uint32_t *out) {
  int64_t value = 0;
  if (!scan_int(scan, what, &value))
    return false;
  if (value < 0 || value > UINT32_MAX)
    return dtg_scan_fail(scan, "%" PRId64 " is out of range", value);
  *out = (uint32_t)value;
  return true;
}

bool dtg_scan_float(struct dtg_scan *scan, double *out) {
  char text[64];
  return number_text(scan, text) ? parse_float(scan, text, out) : expected(scan, "a number");
}

bool dtg_scan_span(struct dtg_scan *scan, struct dtg_span *out) {
  struct dtg_span span;
  if (!dtg_scan_u32(scan, "the file of a span", &span.file) ||
      !dtg_scan_expect(scan, ':', "in a span") ||
      !dtg_scan_u32(scan, "the begin of a span", &span.begin) ||
      !dtg_scan_expect(scan, '-', "in a span") ||
      !dtg_scan_u32(scan, "the end of a span", &span.end) ||
      !dtg_scan_expect(scan, '>', "after a span"))
    return false;
  *out = span;
  return true;
}

bool dtg_scan_type(struct dtg_scan *scan, struct dtg_type *out) {
  const char *name;
  struct dtg_type type = {0};
  int64_t count, bytes;
  if (!dtg_scan_word(scan, "an element type", &name))
    return false;
  if (!dtg_dtype_from_name(name, strlen(name), &type.dtype))
    return dtg_scan_fail(scan, "`%s` is no element type", name);
  if (!dtg_scan_expect(scan, '[', "after an element type"))
    return false;
  while (!dtg_scan_try(scan, ']')) {
    if (type.shape.rank > 0 && !dtg_scan_expect(scan, ',', "between dims"))
      return false;
    if (type.shape.rank == DTG_MAX_RANK)
      return dtg_scan_fail(scan, "a shape has at most %d dims", DTG_MAX_RANK);
    int64_t *dim = &type.shape.dims[type.shape.rank++];
    if (!scan_int(scan, "a dim", dim))
      return false;
    if (*dim < 1)
      return dtg_scan_fail(scan, "a dim is at least 1, got %" PRId64, *dim);
  }
  if (!dtg_shape_count_checked(&type.shape, &count) ||
      __builtin_mul_overflow(count, (int64_t)dtg_dtype_size(type.dtype), &bytes))
    return dtg_scan_fail(scan, "a tensor is too large");
  *out = type;
  return true;
}

static bool scan_ints(struct dtg_scan *scan, struct dtg_attr *attr) {
  DTG_VEC(int64_t) values = {0};
  while (!dtg_scan_try(scan, ']')) {
    int64_t value = 0;
    if (values.len > 0 && !dtg_scan_expect(scan, ',', "between numbers"))
      return false;
    if (!scan_int(scan, "a number", &value))
      return false;
    dtg_vec_push(scan->arena, &values, value);
  }
  attr->kind = DTG_ATTR_INTS;
  attr->value.ints.count = (uint32_t)values.len;
  attr->value.ints.values = values.data;
  return true;
}

static bool scan_number(struct dtg_scan *scan, struct dtg_attr *attr) {
  char text[64];
  if (!number_text(scan, text))
    return expected(scan, "a value");
  const char *digits = text[0] == '-' ? text + 1 : text;
  if (!strpbrk(digits, ".ein")) {
    attr->kind = DTG_ATTR_INT;
    return parse_int(scan, text, &attr->value.i);
  }
  attr->kind = DTG_ATTR_FLOAT;
  return parse_float(scan, text, &attr->value.f);
}

static bool scan_value(struct dtg_scan *scan, struct dtg_attr *attr) {
  if (dtg_scan_try(scan, '['))
    return scan_ints(scan, attr);
  if (dtg_scan_more(scan) && peek(scan) == '"') {
    attr->kind = DTG_ATTR_STRING;
    return dtg_scan_string(scan, "a string", &attr->value.s);
  }
  size_t length = word_length(scan);
  if (dtg_dtype_from_name(scan->text + scan->at, length, &attr->value.dtype)) {
    attr->kind = DTG_ATTR_DTYPE;
    scan->at += length;
    return true;
  }
  attr->kind = DTG_ATTR_BOOL;
  if (dtg_scan_try_word(scan, "true"))
    return attr->value.b = true;
  if (dtg_scan_try_word(scan, "false")) {
    attr->value.b = false;
    return true;
  }
  return scan_number(scan, attr);
}

bool dtg_scan_attr(struct dtg_scan *scan, struct dtg_attr *out) {
  struct dtg_attr attr = {0};
  if (!dtg_scan_word(scan, "the name of an attribute", &attr.name) ||
      !dtg_scan_expect(scan, '=', "after the name of an attribute") || !scan_value(scan, &attr))
    return false;
  *out = attr;
  return true;
}
