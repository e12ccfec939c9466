#include "runtime/data/find.h"
#include "runtime/data/sources.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum { PIXELS = 3 * 32 * 32, RECORD = 1 + PIXELS, CLASSES = 10, MOST_FILES = 5 };

/* The files of a column, as they were read. */
struct cifar10_files {
  uint32_t count;
  char *bytes[MOST_FILES];
  int64_t records[MOST_FILES];
};

static bool records_check(const char *path, const char *bytes, int64_t size,
                          struct dtr_error *error) {
  if (size == 0 || size % RECORD != 0)
    return dtr_error_set(error, DTR_STATUS_DATA,
                         "%s: %" PRId64 " bytes are not a whole number of records of %d bytes",
                         path, size, RECORD);
  for (int64_t record = 0; record < size / RECORD; record++) {
    unsigned char label = (unsigned char)bytes[record * RECORD];
    if (label >= CLASSES)
      return dtr_error_set(error, DTR_STATUS_DATA,
                           "%s: record %" PRId64 " has the label %d, the classes are 0 to %d", path,
                           record, label, CLASSES - 1);
  }
  return true;
}

static bool file_load(const struct dtr_env *env, const char *path, struct cifar10_files *files,
                      struct dtr_error *error) {
  struct dtr_stream *stream;
  char *bytes = NULL;
  int64_t size = 0;
  if (!dtr_stream_open(env, path, &stream, error))
    return false;
  bool done = dtr_stream_load(stream, &bytes, &size, error);
  dtr_stream_close(stream);
  if (!done || !records_check(path, bytes, size, error)) {
    if (done)
      free(bytes);
    return false;
  }
  files->bytes[files->count] = bytes;
  files->records[files->count++] = size / RECORD;
  return true;
}

static bool folder_load(const struct dtr_env *env, const char *folder, bool is_test,
                        struct cifar10_files *files, struct dtr_error *error) {
  static const char *const training[] = {"data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin",
                                         "data_batch_4.bin", "data_batch_5.bin"};
  char path[PATH_MAX];
  for (uint32_t i = 0; i < (is_test ? 1 : MOST_FILES); i++) {
    const char *name = is_test ? "test_batch.bin" : training[i];
    struct dtr_file_info info;
    if (snprintf(path, sizeof path, "%s/%s", folder, name) >= (int)sizeof path)
      return dtr_error_set(error, DTR_STATUS_DATA, "%s: the path is too long", folder);
    if (env->path_info(env->context, path, &info) == -ENOENT) {
      dtr_error_set(error, DTR_STATUS_DATA, "%s: there is no %s in this folder", folder, name);
      return dtr_error_hint(error, "the folder of CIFAR-10 has data_batch_1.bin to "
                                   "data_batch_5.bin and test_batch.bin; name it, or one file");
    }
    if (!file_load(env, path, files, error))
      return false;
  }
  return true;
}

static bool values_take(const struct dtr_env *env, const char *path,
                        const struct cifar10_files *files, bool is_label, struct dtr_values *values,
                        struct dtr_error *error) {
  int64_t dims[] = {0, 3, 32, 32}, bytes = is_label ? 1 : PIXELS, row = 0;
  for (uint32_t i = 0; i < files->count; i++)
    dims[0] += files->records[i];
  if (!dtr_values_make(env, path, DTR_ELEMENT_U8, is_label ? 1 : 4, dims, INT64_MAX, values, error))
    return false;
  for (uint32_t i = 0; i < files->count; i++)
    for (int64_t record = 0; record < files->records[i]; record++, row++)
      memcpy(values->bytes + row * bytes, files->bytes[i] + record * RECORD + !is_label,
             (size_t)bytes);
  return true;
}

bool dtr_cifar10_read(const struct dtr_env *env, const struct dtr_column *column,
                      const char *model_dir, const char *data_dir, struct dtr_values *values,
                      struct dtr_error *error) {
  struct cifar10_files files = {0};
  char path[PATH_MAX];
  bool is_folder;
  if (!dtr_data_find_any(env, column->path, model_dir, data_dir, path, sizeof path, &is_folder,
                         error))
    return false;
  bool done = (is_folder ? folder_load(env, path, column->is_test, &files, error)
                         : file_load(env, path, &files, error)) &&
              values_take(env, path, &files, strcmp(column->member, "label") == 0, values, error);
  for (uint32_t i = 0; i < files.count; i++)
    free(files.bytes[i]);
  return done;
}
