/* libFuzzer: the reader of CIFAR-10 records. */
#include "fuzz_input.h"

#include "runtime/data/sources.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static int path_info(void *context, const char *path, struct dtr_file_info *info) {
  (void)path;
  return fuzz_info(context, 3, info);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
  struct fuzz_input input = {bytes, size, 0};
  struct dtr_env env = fuzz_env(&input);
  struct dtr_error error;
  struct dtr_values values;
  static const struct dtr_column column = {.path = "/input", .member = "image"};
  env.path_info = path_info;
  dtr_error_clear(&error);
  if (dtr_cifar10_read(&env, &column, NULL, NULL, &values, &error))
    dtr_values_free(&values);
  return 0;
}
