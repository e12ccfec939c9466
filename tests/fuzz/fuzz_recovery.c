/* libFuzzer: messages of recovery. What is read can be written, and read again. */
#include "runtime/replicate/recovery.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
  char packed[DTR_RECOVERY_BYTES];
  struct dtr_recovery_message message, again;
  if (dtr_recovery_unpack((const char *)bytes, size, &message) &&
      !dtr_recovery_unpack(packed, dtr_recovery_pack(&message, packed), &again))
    abort();
  return 0;
}
