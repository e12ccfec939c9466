/* libFuzzer: TF_CONFIG, for a plan of two jobs. */
#include "runtime/start/tf_config.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
  static const struct dtr_job jobs[] = {{.name = "ps", .tasks = 1}, {.name = "worker", .tasks = 2}};
  static const struct dtr_replication plan = {.job_count = 2, .jobs = jobs};
  struct dtr_identity identity = {.source = DTR_IDENTITY_TF_CONFIG};
  struct dtr_error error;
  char *text = malloc(size + 1);
  memcpy(text, bytes, size);
  text[size] = '\0';
  dtr_error_clear(&error);
  if (dtr_tf_config_read(text, &plan, &identity, &error) && identity.task >= 3)
    abort();
  dtr_identity_free(&identity);
  free(text);
  return 0;
}
