/* libFuzzer: the reader of arrays in npz archives. */
#include "fuzz_input.h"

#include "runtime/data/sources.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
  struct fuzz_input input = {bytes, size, 0};
  struct dtr_env env = fuzz_env(&input);
  struct dtr_error error;
  struct dtr_values values;
  dtr_error_clear(&error);
  if (dtr_npz_read(&env, "input", "x", &values, &error))
    dtr_values_free(&values);
  return 0;
}
