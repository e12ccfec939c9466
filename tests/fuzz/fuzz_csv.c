/* libFuzzer: the reader of csv files. */
#include "fuzz_input.h"

#include "runtime/data/sources.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
  struct fuzz_input input = {bytes, size, 0};
  struct dtr_env env = fuzz_env(&input);
  struct dtr_error error;
  struct dtr_values values;
  static const char *const names[] = {"a", "b"};
  const struct dtr_column numbers = {.member = "x"};
  const struct dtr_column categories = {.member = "x", .category_count = 2, .categories = names};
  dtr_error_clear(&error);
  if (dtr_csv_read(&env, "input", &numbers, DTR_F32, &values, &error))
    dtr_values_free(&values);
  dtr_error_clear(&error);
  if (dtr_csv_read(&env, "input", &categories, DTR_I32, &values, &error))
    dtr_values_free(&values);
  return 0;
}
