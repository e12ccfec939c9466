// Values of literals, and errors for what only looks like one.
#include "compiler/base/strbuf.h"
#include "grammar/lexer.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *text_of(const struct dtg_lexer *lexer, struct dtg_span span) {
  return lexer->source->text + span.begin;
}

// The digits of the literal at the start of the span, without `_`, up to the first other character.
static bool read_digits(const struct dtg_lexer *lexer, struct dtg_span span, int64_t *value,
                        size_t *length) {
  const char *text = text_of(lexer, span);
  size_t size = span.end - span.begin, at = 0;
  int64_t result = 0;
  bool fits = true;
  for (; at < size && ((text[at] >= '0' && text[at] <= '9') || text[at] == '_'); at++) {
    if (text[at] == '_')
      continue;
    fits = fits && !__builtin_mul_overflow(result, 10, &result) &&
           !__builtin_add_overflow(result, text[at] - '0', &result);
  }
  *length = at;
  *value = fits ? result : 0;
  return fits;
}

int64_t dtg_literal_int(struct dtg_lexer *lexer, struct dtg_span span) {
  int64_t value;
  size_t length;
  struct dtg_diags *diags = &lexer->ctx->diags;
  const char *text = text_of(lexer, span);
  if (!read_digits(lexer, span, &value, &length)) {
    struct dtg_diag *diag = dtg_error(diags, span, "integer out of range");
    dtg_diag_hint(diag, "the largest integer is 9223372036854775807");
  } else if (text[0] == '0' && value != 0) {
    struct dtg_diag *diag = dtg_error(diags, span, "an integer does not begin with 0");
    dtg_diag_hint(diag, "write %lld", (long long)value);
  }
  return value;
}

double dtg_literal_float(struct dtg_lexer *lexer, struct dtg_span span) {
  struct dtg_strbuf digits = {0};
  for (uint32_t at = span.begin; at < span.end; at++)
    if (lexer->source->text[at] != '_')
      dtg_strbuf_putc(&digits, lexer->source->text[at]);
  double value = strtod(dtg_strbuf_text(&digits), NULL);
  dtg_strbuf_free(&digits);
  if (isinf(value)) {
    struct dtg_diag *diag = dtg_error(&lexer->ctx->diags, span, "float out of range");
    dtg_diag_hint(diag, "the largest float is about 1.8e308");
    return 0;
  }
  return value;
}

struct unit {
  const char *name;
  int shift;
};

static const struct unit units[] = {
    {"B", 0}, {"KiB", 10}, {"MiB", 20}, {"GiB", 30}, {"TiB", 40},
};

static const char *suggest_unit(const char *suffix) {
  static const char *const near[][2] = {
      {"K", "KiB"},  {"k", "KiB"},  {"KB", "KiB"}, {"kB", "KiB"}, {"kb", "KiB"}, {"M", "MiB"},
      {"m", "MiB"},  {"MB", "MiB"}, {"mb", "MiB"}, {"G", "GiB"},  {"g", "GiB"},  {"GB", "GiB"},
      {"gb", "GiB"}, {"T", "TiB"},  {"TB", "TiB"}, {"b", "B"},
  };
  for (size_t i = 0; i < sizeof near / sizeof near[0]; i++)
    if (strcmp(suffix, near[i][0]) == 0)
      return near[i][1];
  static const char *const names[] = {"KiB", "MiB", "GiB", "TiB"};
  return dtg_suggest(suffix, names, 4);
}

static void report_suffix(struct dtg_lexer *lexer, struct dtg_span span, size_t digits) {
  if (lexer->skipping)
    return;
  const char *text = text_of(lexer, span);
  const char *suffix =
      dtg_intern(&lexer->ctx->names, text + digits, span.end - span.begin - digits);
  struct dtg_span suffix_span = {span.file, span.begin + (uint32_t)digits, span.end};
  if (digits == 1 && text[0] == '0' && (suffix[0] == 'x' || suffix[0] == 'X')) {
    struct dtg_diag *diag = dtg_error(&lexer->ctx->diags, span, "a number is written in decimal");
    char *end;
    unsigned long long value = strtoull(text, &end, 16);
    if (end == text + (span.end - span.begin) && value <= INT64_MAX && suffix[1])
      dtg_diag_hint(diag, "write %llu", value);
    return;
  }
  if (suffix[0] == '\0' || strcmp(suffix, "e") == 0 || strcmp(suffix, "E") == 0) {
    dtg_lex_bad_number(lexer, span);
    return;
  }
  struct dtg_diag *diag =
      dtg_error(&lexer->ctx->diags, suffix_span, "unknown unit `%s` behind a number", suffix);
  const char *unit = suggest_unit(suffix);
  if (unit)
    dtg_diag_hint(diag, "did you mean `%.*s%s`?", (int)digits, text, unit);
  else
    dtg_diag_hint(diag, "sizes are written in B, KiB, MiB, GiB or TiB; a name does not begin with "
                        "a digit");
}

enum dtg_token dtg_literal_size(struct dtg_lexer *lexer, struct dtg_span span, int64_t *bytes) {
  int64_t count;
  size_t digits;
  bool fits = read_digits(lexer, span, &count, &digits);
  const char *suffix = text_of(lexer, span) + digits;
  size_t suffix_size = span.end - span.begin - digits;
  for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
    if (strlen(units[i].name) != suffix_size || memcmp(suffix, units[i].name, suffix_size) != 0)
      continue;
    if (!fits || __builtin_mul_overflow(count, (int64_t)1 << units[i].shift, bytes)) {
      struct dtg_diag *diag = dtg_error(&lexer->ctx->diags, span, "size out of range");
      dtg_diag_hint(diag, "the largest size is 9223372036854775807 bytes");
      *bytes = 0;
    }
    return DTG_TOKEN_SIZE;
  }
  report_suffix(lexer, span, digits);
  return DTG_TOKEN_INVALID;
}

void dtg_lex_bad_number(struct dtg_lexer *lexer, struct dtg_span span) {
  if (lexer->skipping)
    return;
  const char *text = text_of(lexer, span);
  size_t size = span.end - span.begin;
  struct dtg_diag *diag = dtg_error(&lexer->ctx->diags, span, "this is not a number");
  if (text[0] == '.' && text[size - 1] >= '0' && text[size - 1] <= '9')
    dtg_diag_hint(diag, "a float has digits on both sides of the point: write `0%.*s`", (int)size,
                  text);
  else if (text[size - 1] == '.')
    dtg_diag_hint(diag, "a float has digits on both sides of the point: write `%.*s0`", (int)size,
                  text);
  else if (text[size - 1] == '+' || text[size - 1] == '-' || text[size - 1] == 'e' ||
           text[size - 1] == 'E')
    dtg_diag_hint(diag, "digits are missing behind the exponent");
  else if (memchr(text, '_', size))
    dtg_diag_hint(diag, "a single `_` may stand between two digits");
  else
    dtg_diag_hint(diag, "floats are written like `0.5` and `1e-3`");
}

void dtg_lex_bad_character(struct dtg_lexer *lexer, struct dtg_span span) {
  if (lexer->skipping)
    return;
  static const char *const hints[][2] = {
      {"&&", "write `and`"},
      {"||", "write `or`"},
      {"&", "write `and`"},
      {"!", "write `not`"},
      {"'", "strings stand in double quotes"},
      {"`", "strings stand in double quotes"},
      {";", "statements need no terminator"},
      {"|", "a pipe is written `|>`"},
      {"^", "a power is written `**`"},
  };
  const char *text = text_of(lexer, span);
  size_t size = span.end - span.begin;
  unsigned char first = (unsigned char)text[0];
  struct dtg_diag *diag;
  if (first < 0x20 || first == 0x7f)
    diag = dtg_error(&lexer->ctx->diags, span, "unexpected control character 0x%02x", first);
  else
    diag = dtg_error(&lexer->ctx->diags, span, "unexpected character `%.*s`", (int)size, text);
  for (size_t i = 0; i < sizeof hints / sizeof hints[0]; i++)
    if (strlen(hints[i][0]) == size && memcmp(hints[i][0], text, size) == 0)
      dtg_diag_hint(diag, "%s", hints[i][1]);
  if (first >= 0x80)
    dtg_diag_hint(diag, "names are made of the letters a-z and A-Z, digits and `_`");
}

// ---- strings ----

struct string_reader {
  struct dtg_lexer *lexer;
  struct dtg_ast_string *string;
  struct dtg_strbuf text;
  uint32_t text_begin;
};

static void end_text(struct string_reader *reader, uint32_t end) {
  if (reader->text.len == 0)
    return;
  struct dtg_ast_string_part part = {
      {reader->lexer->file, reader->text_begin, end},
      false,
      dtg_intern(&reader->lexer->ctx->names, reader->text.data, reader->text.len)};
  dtg_vec_push(&reader->lexer->ctx->arena, &reader->string->parts, part);
  dtg_strbuf_clear(&reader->text);
}

static char escaped(char c) {
  switch (c) {
  case 'n':
    return '\n';
  case 't':
    return '\t';
  case 'r':
    return '\r';
  case '"':
  case '\\':
  case '$':
    return c;
  default:
    return '\0';
  }
}

static uint32_t read_escape(struct string_reader *reader, uint32_t at) {
  const char *text = reader->lexer->source->text;
  size_t length = dtg_utf8_length(text + at + 1, reader->lexer->source->size - at - 1);
  uint32_t end = at + 1 + (uint32_t)(length ? length : 1);
  char c = escaped(text[at + 1]);
  if (c) {
    dtg_strbuf_putc(&reader->text, c);
    return end;
  }
  struct dtg_span span = {reader->lexer->file, at, end};
  struct dtg_diag *diag = dtg_error(&reader->lexer->ctx->diags, span, "unknown escape in a string");
  dtg_diag_hint(diag, "the escapes are \\n \\t \\r \\\" \\\\ \\$");
  return end;
}

// `${name}` at `at`; the closing quote lies at or behind `limit`.
static uint32_t read_name(struct string_reader *reader, uint32_t at, uint32_t limit) {
  const char *text = reader->lexer->source->text;
  uint32_t begin = at + 2, end = begin;
  while (end < limit &&
         (text[end] == '_' || (text[end] >= '0' && text[end] <= '9') ||
          (text[end] >= 'a' && text[end] <= 'z') || (text[end] >= 'A' && text[end] <= 'Z')))
    end++;
  bool is_name = end > begin && !(text[begin] >= '0' && text[begin] <= '9') &&
                 dtg_token_is_name(dtg_token_of_word(text + begin, end - begin, false));
  if (!is_name || end >= limit || text[end] != '}') {
    struct dtg_span span = {reader->lexer->file, at, end > begin ? end : begin};
    struct dtg_diag *diag = dtg_error(&reader->lexer->ctx->diags, span,
                                      "`${` in a string takes the name of a constant and `}`");
    dtg_diag_hint(diag, "for the two characters themselves, write `\\${`");
    return span.end;
  }
  end_text(reader, at);
  struct dtg_ast_string_part part = {
      {reader->lexer->file, at, end + 1},
      true,
      dtg_intern(&reader->lexer->ctx->names, text + begin, end - begin)};
  dtg_vec_push(&reader->lexer->ctx->arena, &reader->string->parts, part);
  return end + 1;
}

struct dtg_ast_string *dtg_literal_string(struct dtg_lexer *lexer, struct dtg_span span,
                                          bool is_terminated) {
  struct string_reader reader = {lexer, DTG_NEW(&lexer->ctx->arena, struct dtg_ast_string), {0}, 0};
  reader.string->span = span;
  if (!is_terminated) {
    struct dtg_diag *diag =
        dtg_error(&lexer->ctx->diags, span, "a string does not end on its line");
    dtg_diag_hint(diag, "close it with `\"`; a line break is written `\\n`");
    return reader.string;
  }
  const char *text = lexer->source->text;
  uint32_t limit = span.end - 1;
  for (uint32_t at = span.begin + 1; at < limit;) {
    if (reader.text.len == 0)
      reader.text_begin = at;
    if (text[at] == '\\')
      at = read_escape(&reader, at);
    else if (text[at] == '$' && text[at + 1] == '{')
      at = read_name(&reader, at, limit);
    else
      dtg_strbuf_putc(&reader.text, text[at++]);
  }
  end_text(&reader, limit);
  dtg_strbuf_free(&reader.text);
  return reader.string;
}
