/* What a checkpoint's metadata says, and the digest over all of it; inside of checkpoint_save.c and
 * checkpoint_load.c. Pure functions.
 */
#ifndef DTR_CHECKPOINT_DIGEST_H
#define DTR_CHECKPOINT_DIGEST_H

#include "runtime/safetensors.h"

#define XXH_STATIC_LINKING_ONLY /* for states on the stack */
#include <xxhash.h>

/* Version 1 of the format. */
#define DTR_CHECKPOINT_FORMAT "dtg checkpoint 1"
#define DTR_CHECKPOINT_KEY_DIGEST "xxh3"  /* of all that the header says */
#define DTR_CHECKPOINT_KEY_RUN "run"      /* of a run that can go back to it; may be missing */
#define DTR_CHECKPOINT_KEY_TENSOR "xxh3." /* + path: of that tensor's bytes */

/* The keys of the run's state, in the order of the digest. */
enum dtr_checkpoint_key {
  DTR_CHECKPOINT_KEY_FORMAT,
  DTR_CHECKPOINT_KEY_STEP,
  DTR_CHECKPOINT_KEY_EPOCH,
  DTR_CHECKPOINT_KEY_SEED,
  DTR_CHECKPOINT_KEY_MODEL,
  DTR_CHECKPOINT_KEYS
};
const char *dtr_checkpoint_key_name(enum dtr_checkpoint_key key);

enum { DTR_CHECKSUM_TEXT = 17 }; /* 16 digits and a zero */
void dtr_checksum_text(XXH64_hash_t hash, char text[DTR_CHECKSUM_TEXT]);

/* First the values of the keys in their order, then the tensors in the order of their names. */
void dtr_checkpoint_digest_string(XXH3_state_t *state, const char *text);
void dtr_checkpoint_digest_tensor(XXH3_state_t *state, const struct dtr_tensor *tensor,
                                  const char *checksum);

#endif
