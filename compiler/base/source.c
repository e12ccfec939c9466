#include "compiler/base/source.h"

#include "compiler/base/bug.h"
#include "compiler/base/diag.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define MAX_TEXT_ERRORS 5

void dtg_source_set_init(struct dtg_source_set *set) {
  *set = (struct dtg_source_set){0};
}

void dtg_source_set_free(struct dtg_source_set *set) {
  dtg_arena_free(&set->arena);
  *set = (struct dtg_source_set){0};
}

size_t dtg_utf8_length(const char *text, size_t size) {
  const unsigned char *byte = (const unsigned char *)text;
  if (size == 0)
    return 0;
  if (byte[0] < 0x80)
    return 1;
  size_t length = byte[0] >= 0xf0 ? 4 : byte[0] >= 0xe0 ? 3 : 2;
  if (byte[0] < 0xc2 || byte[0] > 0xf4 || size < length)
    return 0;
  unsigned low = 0x80, high = 0xbf; // allowed range of the second byte
  switch (byte[0]) {
  case 0xe0:
    low = 0xa0;
    break;
  case 0xed:
    high = 0x9f;
    break;
  case 0xf0:
    low = 0x90;
    break;
  case 0xf4:
    high = 0x8f;
    break;
  default:
    break;
  }
  if (byte[1] < low || byte[1] > high)
    return 0;
  for (size_t i = 2; i < length; i++)
    if ((byte[i] & 0xc0) != 0x80)
      return 0;
  return length;
}

static void find_lines(struct dtg_source_set *set, struct dtg_source *source) {
  dtg_vec_push(&set->arena, &source->line_starts, 0);
  for (size_t i = 0; i < source->size; i++)
    if (source->text[i] == '\n')
      dtg_vec_push(&set->arena, &source->line_starts, (uint32_t)(i + 1));
}

static bool check_line_lengths(const struct dtg_source *source, uint32_t file,
                               struct dtg_diags *diags) {
  for (size_t i = 0; i < source->line_starts.len; i++) {
    uint32_t begin = source->line_starts.data[i];
    size_t end = i + 1 < source->line_starts.len ? source->line_starts.data[i + 1] : source->size;
    if (end - begin <= DTG_SOURCE_MAX_LINE)
      continue;
    struct dtg_diag *diag =
        dtg_error(diags, (struct dtg_span){file, begin, begin + 1},
                  "line of %zu bytes; the limit is %zu", end - begin, DTG_SOURCE_MAX_LINE);
    dtg_diag_hint(diag, "break the line");
    return false;
  }
  return true;
}

static void report_byte(struct dtg_diags *diags, uint32_t file, size_t at, unsigned char byte) {
  struct dtg_span span = {file, (uint32_t)at, (uint32_t)at + 1};
  if (byte == 0) {
    struct dtg_diag *diag = dtg_error(diags, span, "NUL byte in the text");
    dtg_diag_hint(diag, "is this a binary file?");
    return;
  }
  struct dtg_diag *diag = dtg_error(diags, span, "byte 0x%02x is not valid UTF-8", byte);
  dtg_diag_hint(diag, "save the file as UTF-8");
}

static bool check_text(const struct dtg_source *source, uint32_t file, struct dtg_diags *diags) {
  size_t errors = 0;
  for (size_t at = 0; at < source->size && errors < MAX_TEXT_ERRORS;) {
    size_t length = dtg_utf8_length(source->text + at, source->size - at);
    if (length == 0 || source->text[at] == '\0') {
      report_byte(diags, file, at, (unsigned char)source->text[at]);
      errors++;
      length = 1;
    }
    at += length;
  }
  return errors == 0;
}

bool dtg_source_add(struct dtg_source_set *set, struct dtg_diags *diags, const char *path,
                    const char *text, size_t size, uint32_t *file) {
  if (size > DTG_SOURCE_MAX_SIZE || set->files.len >= DTG_SOURCE_MAX_FILES) {
    dtg_error(diags, DTG_SPAN_NONE,
              "%s: too large (%zu bytes; the limit is %zu bytes and %d files)", path, size,
              DTG_SOURCE_MAX_SIZE, DTG_SOURCE_MAX_FILES);
    return false;
  }
  if (size >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0) {
    text += 3;
    size -= 3;
  }
  struct dtg_source *source = DTG_NEW(&set->arena, struct dtg_source);
  source->path = dtg_arena_strdup(&set->arena, path);
  source->text = dtg_arena_strndup(&set->arena, text, size);
  source->size = size;
  find_lines(set, source);
  uint32_t index = (uint32_t)set->files.len;
  dtg_vec_push(&set->arena, &set->files, source);
  if (!check_line_lengths(source, index, diags) || !check_text(source, index, diags))
    return false;
  *file = index;
  return true;
}

static void report_unreadable(struct dtg_diags *diags, struct dtg_span origin, const char *path,
                              const char *why) {
  dtg_error(diags, origin, "cannot read `%s`: %s", path, why);
}

// Reads up to one byte more than the limit, so that a growing file is seen as too large.
static char *read_all(FILE *stream, size_t *size) {
  size_t cap = 1 << 16, len = 0;
  char *text = NULL;
  for (;;) {
    char *grown = realloc(text, cap);
    if (!grown)
      dtg_fatal("out of memory (%zu bytes asked for)", cap);
    text = grown;
    len += fread(text + len, 1, cap - len, stream);
    if (len < cap || len > DTG_SOURCE_MAX_SIZE)
      break;
    cap *= 2;
  }
  *size = len;
  return text;
}

bool dtg_source_load(struct dtg_source_set *set, struct dtg_diags *diags, const char *path,
                     struct dtg_span origin, uint32_t *file) {
  struct stat status;
  FILE *stream = fopen(path, "rb");
  if (!stream || fstat(fileno(stream), &status) != 0) {
    report_unreadable(diags, origin, path, strerror(errno));
    if (stream)
      fclose(stream);
    return false;
  }
  if (S_ISDIR(status.st_mode)) {
    report_unreadable(diags, origin, path, "it is a directory");
    fclose(stream);
    return false;
  }
  size_t size;
  errno = 0;
  char *text = read_all(stream, &size);
  bool ok = false;
  if (ferror(stream))
    report_unreadable(diags, origin, path, strerror(errno ? errno : EIO));
  else if (size > DTG_SOURCE_MAX_SIZE)
    dtg_error(diags, origin, "`%s` is too large: the limit for a source file is %zu bytes", path,
              DTG_SOURCE_MAX_SIZE);
  else
    ok = dtg_source_add(set, diags, path, text, size, file);
  free(text);
  fclose(stream);
  return ok;
}

const struct dtg_source *dtg_source_get(const struct dtg_source_set *set, uint32_t file) {
  DTG_ASSERT(file < set->files.len);
  return set->files.data[file];
}

struct dtg_position dtg_source_position(const struct dtg_source_set *set, uint32_t file,
                                        uint32_t offset) {
  const struct dtg_source *source = dtg_source_get(set, file);
  size_t low = 0, high = source->line_starts.len; // the line lies in [low, high)
  while (high - low > 1) {
    size_t middle = low + (high - low) / 2;
    if (source->line_starts.data[middle] <= offset)
      low = middle;
    else
      high = middle;
  }
  struct dtg_position position = {(uint32_t)low + 1, 1};
  for (size_t at = source->line_starts.data[low]; at < offset && at < source->size;) {
    size_t length = dtg_utf8_length(source->text + at, source->size - at);
    at += length ? length : 1;
    position.column++;
  }
  return position;
}

const char *dtg_span_text(struct dtg_arena *arena, const struct dtg_source_set *set,
                          struct dtg_span span) {
  if (span.file == DTG_NO_FILE)
    return "";
  struct dtg_position at = dtg_source_position(set, span.file, span.begin);
  return dtg_arena_printf(arena, "%s:%u:%u", dtg_source_get(set, span.file)->path, at.line,
                          at.column);
}

const char *dtg_span_short(struct dtg_arena *arena, const struct dtg_source_set *set,
                           struct dtg_span span) {
  return dtg_base_name(dtg_span_text(arena, set, span));
}

const char *dtg_base_name(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash ? slash + 1 : path;
}

struct dtg_span dtg_span_join(struct dtg_span first, struct dtg_span second) {
  if (first.file == DTG_NO_FILE)
    return second;
  if (second.file == DTG_NO_FILE || second.file != first.file)
    return first;
  first.begin = first.begin < second.begin ? first.begin : second.begin;
  first.end = first.end > second.end ? first.end : second.end;
  return first;
}
