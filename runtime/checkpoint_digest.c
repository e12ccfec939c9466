#include "runtime/checkpoint_digest.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

const char *dtr_checkpoint_key_name(enum dtr_checkpoint_key key) {
  static const char *const names[] = {"format", "step", "epoch", "seed", "model_id"};
  return names[key];
}

void dtr_checksum_text(XXH64_hash_t hash, char text[DTR_CHECKSUM_TEXT]) {
  snprintf(text, DTR_CHECKSUM_TEXT, "%016" PRIx64, (uint64_t)hash);
}

void dtr_checkpoint_digest_string(XXH3_state_t *state, const char *text) {
  XXH3_64bits_update(state, text ? text : "", (text ? strlen(text) : 0) + 1);
}

void dtr_checkpoint_digest_tensor(XXH3_state_t *state, const struct dtr_tensor *tensor,
                                  const char *checksum) {
  char shape[DTR_SHAPE_TEXT];
  dtr_checkpoint_digest_string(state, tensor->name);
  dtr_checkpoint_digest_string(state, dtr_element_name(tensor->element));
  dtr_checkpoint_digest_string(state,
                               dtr_shape_text(tensor->rank, tensor->dims, shape, sizeof shape));
  dtr_checkpoint_digest_string(state, checksum);
}
