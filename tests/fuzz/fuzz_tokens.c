/* libFuzzer: the reader of token files. */
#include "fuzz_input.h"

#include "runtime/data/sources.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
  struct fuzz_input input = {bytes, size, 0};
  struct dtr_env env = fuzz_env(&input);
  struct dtr_error error;
  struct dtr_values values;
  static const struct dtr_column column = {.member = "u16", .limit = 50257};
  dtr_error_clear(&error);
  if (dtr_tokens_read(&env, "input", &column, &values, &error))
    dtr_values_free(&values);
  return 0;
}
