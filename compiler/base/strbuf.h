// Growable text buffer on the heap; every dump is written through it.
//
// Ownership: the buffer owns its bytes; free it with dtg_strbuf_free. A zeroed struct is empty.
// The text is always NUL-terminated after the first append. Thread rule: one thread at a time.
#ifndef DTG_BASE_STRBUF_H
#define DTG_BASE_STRBUF_H

#include <stdarg.h>
#include <stddef.h>

struct dtg_strbuf {
  char *data;
  size_t len;
  size_t cap;
};

void dtg_strbuf_free(struct dtg_strbuf *buf);
void dtg_strbuf_clear(struct dtg_strbuf *buf);
// The text so far, "" when nothing was appended; valid until the next append.
const char *dtg_strbuf_text(const struct dtg_strbuf *buf);

void dtg_strbuf_putc(struct dtg_strbuf *buf, char c);
void dtg_strbuf_puts(struct dtg_strbuf *buf, const char *text);
void dtg_strbuf_write(struct dtg_strbuf *buf, const char *bytes, size_t size);
void dtg_strbuf_repeat(struct dtg_strbuf *buf, char c, size_t count);
void dtg_strbuf_printf(struct dtg_strbuf *buf, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void dtg_strbuf_vprintf(struct dtg_strbuf *buf, const char *format, va_list args)
    __attribute__((format(printf, 2, 0)));

// The fewest digits that read back as the same double, in a form that reads as a float and never as
// an integer: `1.0`, `0.1`, `1e-7`, `2.5e20`, `inf`, `-inf`, `nan`.
void dtg_strbuf_f64(struct dtg_strbuf *buf, double value);
// The bytes in double quotes, with \n \t \r \" \\ and \xHH for the other control bytes.
void dtg_strbuf_quote(struct dtg_strbuf *buf, const char *bytes, size_t size);

#endif
