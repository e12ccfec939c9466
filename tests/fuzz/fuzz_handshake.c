/* libFuzzer: what either side of a handshake may be told by a stranger. None is let in. */
#include "runtime/control/handshake.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static bool welcome(void *context, const struct dtr_hello *theirs, char *text, size_t size) {
  (void)context;
  (void)theirs;
  (void)text;
  (void)size;
  return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
  struct dtr_handshake handshake = {.own = {.kind = DTR_HELLO_CONTROL, .run = 7}, .admit = welcome};
  if (size == 0)
    return 0;
  memset(handshake.secret, 5, sizeof handshake.secret);
  dtr_handshake_begin(&handshake, bytes[0] & 1);
  for (size_t at = 1; at < size && dtr_handshake_wants(&handshake) > 0;) {
    size_t count = dtr_handshake_wants(&handshake);
    count = count < size - at ? count : size - at;
    dtr_handshake_input(&handshake, bytes + at, count);
    dtr_handshake_sent(&handshake, handshake.output_count);
    at += count;
  }
  if (handshake.state == DTR_HANDSHAKE_DONE)
    abort();
  return 0;
}
