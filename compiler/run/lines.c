#include "compiler/run/lines.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool dtg_lines_open(struct dtg_lines *lines, int file) {
  *lines = (struct dtg_lines){.file = file, .bytes = malloc(DTG_LINE_LIMIT)};
  return lines->bytes;
}

void dtg_lines_close(struct dtg_lines *lines) {
  if (lines->file >= 0)
    close(lines->file);
  free(lines->bytes);
  *lines = (struct dtg_lines){.file = -1};
}

// On a terminal the chief's progress line may be open; it comes again by itself.
static void put_line(const char *name, const char *bytes, size_t length) {
  fprintf(stderr, "%s[%s] %.*s\n", isatty(STDERR_FILENO) ? "\r\033[K" : "", name, (int)length,
          bytes);
}

static void put_whole_lines(struct dtg_lines *lines, const char *name) {
  size_t begin = 0;
  char *end;
  while ((end = memchr(lines->bytes + begin, '\n', lines->length - begin))) {
    size_t length = (size_t)(end - lines->bytes) - begin;
    put_line(name, lines->bytes + begin, length);
    begin += length + 1;
  }
  if (begin == 0 && lines->length == DTG_LINE_LIMIT) {
    put_line(name, lines->bytes, lines->length);
    begin = lines->length;
  }
  lines->length -= begin;
  memmove(lines->bytes, lines->bytes + begin, lines->length);
}

bool dtg_lines_forward(struct dtg_lines *lines, const char *name) {
  while (true) {
    ssize_t count = read(lines->file, lines->bytes + lines->length, DTG_LINE_LIMIT - lines->length);
    if (count < 0 && (errno == EAGAIN || errno == EINTR))
      return true;
    if (count <= 0)
      break;
    lines->length += (size_t)count;
    put_whole_lines(lines, name);
  }
  if (lines->length > 0)
    put_line(name, lines->bytes, lines->length);
  lines->length = 0;
  return false;
}
