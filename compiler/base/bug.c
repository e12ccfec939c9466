#include "compiler/base/bug.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

void dtg_bug_at(const char *file, int line, const char *format, ...) {
  va_list args;
  va_start(args, format);
  fflush(stdout);
  fprintf(stderr, "bug in the compiler (%s:%d): ", file, line);
  vfprintf(stderr, format, args);
  fputs("\nThis is not your mistake. Please report it with the input that caused it.\n", stderr);
  va_end(args);
  exit(DTG_EXIT_BUG);
}

void dtg_fatal(const char *format, ...) {
  va_list args;
  va_start(args, format);
  fflush(stdout);
  fputs("fatal: ", stderr);
  vfprintf(stderr, format, args);
  fputc('\n', stderr);
  va_end(args);
  exit(1);
}
