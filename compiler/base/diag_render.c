#include "compiler/base/diag.h"

#include <string.h>

// Columns of source text shown at most; longer lines are cut around the caret.
#define MAX_COLUMNS 100
#define CONTEXT_COLUMNS 40

static const char *severity_word(enum dtg_severity severity) {
  switch (severity) {
  case DTG_NOTE:
    return "note";
  case DTG_WARNING:
    return "warning";
  case DTG_ERROR:
    return "error";
  }
  return "error";
}

static uint32_t decode(const char *text, size_t length) {
  const unsigned char *byte = (const unsigned char *)text;
  switch (length) {
  case 1:
    return byte[0];
  case 2:
    return (byte[0] & 0x1fu) << 6 | (byte[1] & 0x3fu);
  case 3:
    return (byte[0] & 0x0fu) << 12 | (byte[1] & 0x3fu) << 6 | (byte[2] & 0x3fu);
  default:
    return (byte[0] & 0x07u) << 18 | (byte[1] & 0x3fu) << 12 | (byte[2] & 0x3fu) << 6 |
           (byte[3] & 0x3fu);
  }
}

// Terminal columns of a character: the wide blocks of East Asian scripts and emoji take two,
// combining marks none. Blocks, not single characters: only the caret's place depends on it.
static size_t character_width(uint32_t c) {
  if ((c >= 0x300 && c <= 0x36f) || (c >= 0x200b && c <= 0x200f) || (c >= 0xfe00 && c <= 0xfe0f))
    return 0;
  if ((c >= 0x1100 && c <= 0x115f) || (c >= 0x2e80 && c <= 0xa4cf) ||
      (c >= 0xac00 && c <= 0xd7a3) || (c >= 0xf900 && c <= 0xfaff) ||
      (c >= 0xfe30 && c <= 0xfe6f) || (c >= 0xff00 && c <= 0xff60) ||
      (c >= 0xffe0 && c <= 0xffe6) || (c >= 0x1f300 && c <= 0x1faff) ||
      (c >= 0x20000 && c <= 0x3fffd))
    return 2;
  return 1;
}

struct character {
  size_t bytes;  // in the source
  size_t width;  // columns
  bool is_plain; // printed as it is
};

static struct character character_at(const char *text, size_t size) {
  size_t length = dtg_utf8_length(text, size);
  unsigned char first = (unsigned char)text[0];
  if (first == '\t')
    return (struct character){1, 1, true};
  if (length == 0 || first < 0x20 || first == 0x7f)
    return (struct character){1, 1, false};
  return (struct character){length, character_width(decode(text, length)), true};
}

static void put_character(struct dtg_strbuf *out, const char *text, struct character c) {
  if (c.is_plain)
    dtg_strbuf_write(out, text, c.bytes);
  else
    dtg_strbuf_puts(out, "\xef\xbf\xbd"); // U+FFFD stands for what cannot be shown
}

static size_t width_of(const char *text, size_t size) {
  size_t width = 0;
  for (size_t at = 0; at < size;) {
    struct character c = character_at(text + at, size - at);
    at += c.bytes;
    width += c.width;
  }
  return width;
}

// First offset in [begin, end) from which at most `columns` columns remain up to `end`.
static size_t cut_before(const char *text, size_t begin, size_t end, size_t columns) {
  size_t width = width_of(text + begin, end - begin);
  while (width > columns) {
    struct character c = character_at(text + begin, end - begin);
    begin += c.bytes;
    width -= c.width;
  }
  return begin;
}

// Last offset in [begin, end] up to which at most `columns` columns are used.
static size_t cut_after(const char *text, size_t begin, size_t end, size_t columns) {
  size_t width = 0;
  while (begin < end) {
    struct character c = character_at(text + begin, end - begin);
    width += c.width;
    if (width > columns)
      break;
    begin += c.bytes;
  }
  return begin;
}

static void put_source_line(struct dtg_strbuf *out, const char *text, size_t begin, size_t end) {
  for (size_t at = begin; at < end;) {
    struct character c = character_at(text + at, end - at);
    put_character(out, text + at, c);
    at += c.bytes;
  }
}

// Tabs are kept in the blank part, so that the caret stands right under any tab width.
static void put_blank(struct dtg_strbuf *out, const char *text, size_t begin, size_t end) {
  for (size_t at = begin; at < end;) {
    struct character c = character_at(text + at, end - at);
    dtg_strbuf_repeat(out, text[at] == '\t' ? '\t' : ' ', c.width);
    at += c.bytes;
  }
}

static void render_excerpt(const struct dtg_source *source, struct dtg_span span, uint32_t line,
                           struct dtg_strbuf *out) {
  const char *text = source->text;
  size_t begin = source->line_starts.data[line - 1];
  size_t end = line < source->line_starts.len ? source->line_starts.data[line] : source->size;
  while (end > begin && (text[end - 1] == '\n' || text[end - 1] == '\r'))
    end--;
  size_t mark = span.begin < end ? span.begin : end;
  size_t mark_end = span.end < end ? span.end : end;
  size_t left = begin, right = end;
  if (width_of(text + begin, end - begin) > MAX_COLUMNS) {
    left = cut_before(text, begin, mark, CONTEXT_COLUMNS);
    right = cut_after(text, left, end, MAX_COLUMNS);
  }
  mark_end = mark_end < right ? mark_end : right;
  dtg_strbuf_printf(out, "%5u | %s", line, left > begin ? "..." : "");
  put_source_line(out, text, left, right);
  dtg_strbuf_printf(out, "%s\n      | %s", right < end ? "..." : "", left > begin ? "   " : "");
  put_blank(out, text, left, mark);
  dtg_strbuf_putc(out, '^');
  size_t width = mark_end > mark ? width_of(text + mark, mark_end - mark) : 1;
  dtg_strbuf_repeat(out, '~', width > 1 ? width - 1 : 0);
  dtg_strbuf_putc(out, '\n');
}

static void render_place(const struct dtg_source_set *sources, struct dtg_span span,
                         struct dtg_strbuf *out) {
  if (span.file == DTG_NO_FILE)
    return;
  struct dtg_position at = dtg_source_position(sources, span.file, span.begin);
  dtg_strbuf_printf(out, "%s:%u:%u: ", dtg_source_get(sources, span.file)->path, at.line,
                    at.column);
}

static void render_one(const struct dtg_diags *diags, const struct dtg_diag *diag,
                       struct dtg_strbuf *out) {
  render_place(diags->sources, diag->span, out);
  dtg_strbuf_printf(out, "%s: %s\n", severity_word(diag->severity), diag->message);
  if (diag->span.file != DTG_NO_FILE) {
    struct dtg_position at = dtg_source_position(diags->sources, diag->span.file, diag->span.begin);
    render_excerpt(dtg_source_get(diags->sources, diag->span.file), diag->span, at.line, out);
  }
  if (diag->hint)
    dtg_strbuf_printf(out, "  hint: %s\n", diag->hint);
  for (size_t i = 0; i < diag->notes.len; i++) {
    dtg_strbuf_puts(out, "  note: ");
    render_place(diags->sources, diag->notes.data[i].span, out);
    dtg_strbuf_printf(out, "%s\n", diag->notes.data[i].message);
  }
}

void dtg_diags_render(const struct dtg_diags *diags, struct dtg_strbuf *out) {
  for (size_t i = 0; i < diags->list.len; i++) {
    if (!diags->errors_only || diags->list.data[i]->severity == DTG_ERROR)
      render_one(diags, diags->list.data[i], out);
  }
  size_t errors_hidden = diags->errors > DTG_DIAGS_MAX ? diags->errors - DTG_DIAGS_MAX : 0;
  size_t warnings_hidden = diags->warnings > DTG_DIAGS_MAX ? diags->warnings - DTG_DIAGS_MAX : 0;
  if (errors_hidden)
    dtg_strbuf_printf(out, "%zu more error%s not shown\n", errors_hidden,
                      errors_hidden == 1 ? "" : "s");
  if (warnings_hidden && !diags->errors_only)
    dtg_strbuf_printf(out, "%zu more warning%s not shown\n", warnings_hidden,
                      warnings_hidden == 1 ? "" : "s");
}
