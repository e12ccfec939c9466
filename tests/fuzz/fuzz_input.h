/* A file system of one file, "input", whose contents are a fuzzer's bytes.
 *
 * The bytes are borrowed. One thread. Everything else that a reader may ask for is missing.
 */
#ifndef FUZZ_INPUT_H
#define FUZZ_INPUT_H

#include "runtime/env.h"

#include <errno.h>
#include <string.h>

struct fuzz_input {
  const uint8_t *bytes;
  size_t size, at;
};

static inline int fuzz_open(void *context, const char *path, enum dtr_file_mode mode) {
  (void)path;
  ((struct fuzz_input *)context)->at = 0;
  return mode == DTR_FILE_READ ? 3 : -EROFS;
}

static inline int fuzz_close(void *context, int file) {
  (void)context;
  (void)file;
  return 0;
}

static inline int64_t fuzz_pread(void *context, int file, void *bytes, size_t size,
                                 int64_t offset) {
  const struct fuzz_input *input = context;
  (void)file;
  size_t left = (size_t)offset < input->size ? input->size - (size_t)offset : 0;
  size_t count = size < left ? size : left;
  if (count > 0)
    memcpy(bytes, input->bytes + offset, count);
  return (int64_t)count;
}

static inline int64_t fuzz_read(void *context, int file, void *bytes, size_t size) {
  struct fuzz_input *input = context;
  int64_t count = fuzz_pread(context, file, bytes, size, (int64_t)input->at);
  input->at += (size_t)count;
  return count;
}

static inline int fuzz_info(void *context, int file, struct dtr_file_info *info) {
  (void)file;
  *info = (struct dtr_file_info){.size = (int64_t)((struct fuzz_input *)context)->size,
                                 .is_regular = true};
  return 0;
}

static inline struct dtr_env fuzz_env(struct fuzz_input *input) {
  return (struct dtr_env){.context = input,
                          .file_open = fuzz_open,
                          .file_close = fuzz_close,
                          .file_read = fuzz_read,
                          .file_pread = fuzz_pread,
                          .file_info = fuzz_info};
}

#endif
