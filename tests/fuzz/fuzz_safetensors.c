/* libFuzzer: the reader of safetensors files, with all tensors read. */
#include "fuzz_input.h"

#include "runtime/safetensors.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
  struct fuzz_input input = {bytes, size, 0};
  struct dtr_env env = fuzz_env(&input);
  struct dtr_error error;
  struct dtr_safetensors *file;
  dtr_error_clear(&error);
  if (!dtr_safetensors_open(&env, "input", &file, &error))
    return 0;
  char *values = malloc(size);
  for (uint32_t i = 0; i < dtr_safetensors_count(file); i++)
    if (!dtr_safetensors_read(file, dtr_safetensors_at(file, i), values, &error))
      abort();
  free(values);
  dtr_safetensors_close(file);
  return 0;
}
