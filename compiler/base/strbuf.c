#include "compiler/base/strbuf.h"

#include "compiler/base/bug.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void dtg_strbuf_free(struct dtg_strbuf *buf) {
  free(buf->data);
  *buf = (struct dtg_strbuf){0};
}

void dtg_strbuf_clear(struct dtg_strbuf *buf) {
  buf->len = 0;
  if (buf->data)
    buf->data[0] = '\0';
}

const char *dtg_strbuf_text(const struct dtg_strbuf *buf) {
  return buf->data ? buf->data : "";
}

// Room for `more` bytes and the NUL behind them.
static void reserve(struct dtg_strbuf *buf, size_t more) {
  if (more >= SIZE_MAX / 4 - buf->len)
    dtg_fatal("out of memory (a text of more than %zu bytes)", buf->len);
  size_t need = buf->len + more + 1;
  if (need <= buf->cap)
    return;
  size_t cap = buf->cap ? buf->cap : 128;
  while (cap < need)
    cap *= 2;
  char *data = realloc(buf->data, cap);
  if (!data)
    dtg_fatal("out of memory (%zu bytes asked for)", cap);
  buf->data = data;
  buf->cap = cap;
}

void dtg_strbuf_write(struct dtg_strbuf *buf, const char *bytes, size_t size) {
  reserve(buf, size);
  if (size)
    memcpy(buf->data + buf->len, bytes, size);
  buf->len += size;
  buf->data[buf->len] = '\0';
}

void dtg_strbuf_putc(struct dtg_strbuf *buf, char c) {
  dtg_strbuf_write(buf, &c, 1);
}

void dtg_strbuf_puts(struct dtg_strbuf *buf, const char *text) {
  dtg_strbuf_write(buf, text, strlen(text));
}

void dtg_strbuf_repeat(struct dtg_strbuf *buf, char c, size_t count) {
  reserve(buf, count);
  memset(buf->data + buf->len, c, count);
  buf->len += count;
  buf->data[buf->len] = '\0';
}

void dtg_strbuf_vprintf(struct dtg_strbuf *buf, const char *format, va_list args) {
  va_list again;
  va_copy(again, args);
  int length = vsnprintf(NULL, 0, format, again);
  va_end(again);
  DTG_ASSERT(length >= 0);
  reserve(buf, (size_t)length);
  vsnprintf(buf->data + buf->len, (size_t)length + 1, format, args);
  buf->len += (size_t)length;
}

void dtg_strbuf_printf(struct dtg_strbuf *buf, const char *format, ...) {
  va_list args;
  va_start(args, format);
  dtg_strbuf_vprintf(buf, format, args);
  va_end(args);
}

// Decimal digits d1d2d3... and exponent e with value = d1.d2d3... * 10^e.
static void shortest_digits(double value, char digits[32], int *exponent) {
  char text[48];
  for (int precision = 0; precision <= 16; precision++) {
    snprintf(text, sizeof text, "%.*e", precision, value);
    if (strtod(text, NULL) == value)
      break;
  }
  size_t count = 0;
  const char *at = text;
  for (; *at != 'e'; at++)
    if (*at != '.')
      digits[count++] = *at;
  while (count > 1 && digits[count - 1] == '0')
    count--;
  digits[count] = '\0';
  *exponent = atoi(at + 1);
}

static void put_positional(struct dtg_strbuf *buf, const char *digits, int exponent) {
  int count = (int)strlen(digits);
  if (exponent < 0) {
    dtg_strbuf_puts(buf, "0.");
    dtg_strbuf_repeat(buf, '0', (size_t)(-exponent - 1));
    dtg_strbuf_puts(buf, digits);
    return;
  }
  int whole = exponent + 1;
  dtg_strbuf_write(buf, digits, (size_t)(count < whole ? count : whole));
  if (count < whole)
    dtg_strbuf_repeat(buf, '0', (size_t)(whole - count));
  dtg_strbuf_putc(buf, '.');
  dtg_strbuf_puts(buf, count > whole ? digits + whole : "0");
}

void dtg_strbuf_f64(struct dtg_strbuf *buf, double value) {
  if (isnan(value)) {
    dtg_strbuf_puts(buf, "nan");
    return;
  }
  if (signbit(value)) {
    dtg_strbuf_putc(buf, '-');
    value = -value;
  }
  if (isinf(value)) {
    dtg_strbuf_puts(buf, "inf");
    return;
  }
  char digits[32];
  int exponent;
  shortest_digits(value, digits, &exponent);
  if (exponent >= -5 && exponent < 16) {
    put_positional(buf, digits, exponent);
    return;
  }
  dtg_strbuf_putc(buf, digits[0]);
  if (digits[1])
    dtg_strbuf_printf(buf, ".%s", digits + 1);
  dtg_strbuf_printf(buf, "e%d", exponent);
}

void dtg_strbuf_quote(struct dtg_strbuf *buf, const char *bytes, size_t size) {
  dtg_strbuf_putc(buf, '"');
  for (size_t i = 0; i < size; i++) {
    unsigned char c = (unsigned char)bytes[i];
    switch (c) {
    case '\n':
      dtg_strbuf_puts(buf, "\\n");
      break;
    case '\t':
      dtg_strbuf_puts(buf, "\\t");
      break;
    case '\r':
      dtg_strbuf_puts(buf, "\\r");
      break;
    case '"':
      dtg_strbuf_puts(buf, "\\\"");
      break;
    case '\\':
      dtg_strbuf_puts(buf, "\\\\");
      break;
    default:
      if (c < 0x20 || c == 0x7f)
        dtg_strbuf_printf(buf, "\\x%02x", c);
      else
        dtg_strbuf_putc(buf, (char)c);
    }
  }
  dtg_strbuf_putc(buf, '"');
}
