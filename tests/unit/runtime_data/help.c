#include "help.h"

#include <ftw.h>
#include <minizip/zip.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

static char folder[64];
static char before[4096];

static int entry_remove(const char *path, const struct stat *status, int kind, struct FTW *walk) {
  (void)status;
  (void)kind;
  return walk->level == 0 ? 0 : remove(path);
}

int help_folder_enter(void **state) {
  (void)state;
  strcpy(folder, "runtime_data_XXXXXX");
  return !getcwd(before, sizeof before) || !mkdtemp(folder) || chdir(folder);
}

void help_folder_clear(void) {
  assert_int_equal(nftw(".", entry_remove, 8, FTW_DEPTH | FTW_PHYS), 0);
}

int help_folder_leave(void **state) {
  (void)state;
  help_folder_clear();
  return chdir(before) || rmdir(folder);
}

void help_write(const char *path, const void *bytes, size_t size) {
  FILE *file = fopen(path, "wb");
  assert_non_null(file);
  assert_int_equal(fwrite(bytes, 1, size, file), size);
  assert_int_equal(fclose(file), 0);
}

void help_write_text(const char *path, const char *text) {
  help_write(path, text, strlen(text));
}

void help_write_gzip(const char *path, const void *bytes, size_t size) {
  gzFile file = gzopen(path, "wb");
  assert_non_null(file);
  assert_int_equal(gzwrite(file, bytes, (unsigned)size), size);
  assert_int_equal(gzclose(file), Z_OK);
}

void help_write_zip(const char *path, const struct help_member *members, size_t count) {
  zipFile zip = zipOpen64(path, APPEND_STATUS_CREATE);
  assert_non_null(zip);
  for (size_t i = 0; i < count; i++) {
    const struct help_member *member = &members[i];
    assert_int_equal(zipOpenNewFileInZip64(zip, member->name, NULL, NULL, 0, NULL, 0, NULL,
                                           member->deflated ? Z_DEFLATED : 0, 6, 0),
                     ZIP_OK);
    assert_int_equal(zipWriteInFileInZip(zip, member->bytes, (unsigned)member->size), ZIP_OK);
    assert_int_equal(zipCloseFileInZip(zip), ZIP_OK);
  }
  assert_int_equal(zipClose(zip, NULL), ZIP_OK);
}

char *help_read(const char *path, size_t *size) {
  FILE *file = fopen(path, "rb");
  assert_non_null(file);
  fseek(file, 0, SEEK_END);
  *size = (size_t)ftell(file);
  rewind(file);
  char *bytes = malloc(*size + 1);
  assert_int_equal(fread(bytes, 1, *size, file), *size);
  fclose(file);
  return bytes;
}

int help_exists(const char *path) {
  return access(path, F_OK) == 0;
}

static const char *variable_of(void *context, const char *name) {
  for (const char *const *pair = context; *pair; pair += 2)
    if (strcmp(pair[0], name) == 0)
      return pair[1];
  return NULL;
}

struct dtr_env help_env(const char *const *pairs) {
  struct dtr_env env = *dtr_env_real();
  env.context = (void *)pairs;
  env.variable = variable_of;
  return env;
}

void help_expect(struct dtr_error *error, enum dtr_status status, const char *text) {
  char actual[2 * sizeof error->message + 8];
  snprintf(actual, sizeof actual, "%s%s%s", error->message, error->hint[0] ? " | " : "",
           error->hint);
  assert_string_equal(actual, text);
  assert_string_equal(dtr_status_name(error->status), dtr_status_name(status));
  dtr_error_clear(error);
}

void help_expect_none(const struct dtr_error *error) {
  if (!dtr_error_is_set(error))
    return;
  print_error("unexpected error: %s\n", error->message);
  fail();
}
