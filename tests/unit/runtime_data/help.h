/* What the tests of the runtime's data share: a folder of their own, files, and errors to expect.
 */
#ifndef RUNTIME_DATA_HELP_H
#define RUNTIME_DATA_HELP_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "runtime/env.h"
#include "runtime/error.h"

/* Group set-up and tear-down: an empty folder becomes the working folder, so that paths in messages
 * are short and the same everywhere; then it is removed. */
int help_folder_enter(void **state);
int help_folder_leave(void **state);

/* Group set-up may be called per test too: removes every file below the working folder. */
void help_folder_clear(void);

void help_write(const char *path, const void *bytes, size_t size);
void help_write_text(const char *path, const char *text);
void help_write_gzip(const char *path, const void *bytes, size_t size);
/* A zip archive of these members. */
struct help_member {
  const char *name;
  const void *bytes;
  size_t size;
  bool deflated;
};
void help_write_zip(const char *path, const struct help_member *members, size_t count);
/* The caller frees. */
char *help_read(const char *path, size_t *size);
int help_exists(const char *path);

/* The real row, but the environment's variables are those of `pairs`: name, value, ..., NULL. */
struct dtr_env help_env(const char *const *pairs);

/* Message and hint as one text, "MESSAGE" or "MESSAGE | HINT"; clears the error. */
void help_expect(struct dtr_error *error, enum dtr_status status, const char *text);
/* Nothing has gone wrong; prints what has. */
void help_expect_none(const struct dtr_error *error);

#endif
