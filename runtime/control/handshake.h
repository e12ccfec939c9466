/* How two processes find out that they belong together: the first bytes of every connection.
 *
 * Purpose: a state machine over bytes. The dialing side says who it is (a hello of fixed size); the
 * listening side checks that and answers with its own hello and a proof that it knows the cluster's
 * secret; the dialing side checks both and answers with its proof; the last word is the listening
 * side's. Either side may refuse with a text instead. Proofs are keyed BLAKE2b hashes of both
 * hellos, which hold a fresh random number each, so none can be used twice. Without a secret the
 * key is zero: a check that both speak the protocol, no protection. PROTOCOL.md has the layout.
 * Ownership: self-contained. Threads: one at a time.
 */
#ifndef DTR_CONTROL_HANDSHAKE_H
#define DTR_CONTROL_HANDSHAKE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
  DTR_HELLO_BYTES = 144,
  DTR_PROOF_BYTES = 32,
  DTR_SECRET_BYTES = 32,
  DTR_NONCE_BYTES = 32,
  DTR_PLAN_BYTES = 64,
  DTR_REFUSAL_BYTES = 512 /* of the text, with its end */
};

enum dtr_hello_kind { DTR_HELLO_CONTROL = 1, DTR_HELLO_DATA = 2 };

struct dtr_hello {
  enum dtr_hello_kind kind;
  uint64_t run;
  char plan[DTR_PLAN_BYTES + 1];
  uint32_t task, peer; /* who says it, and to whom it believes to speak */
  uint64_t incarnation;
  uint64_t peer_incarnation; /* data: of whom its control connection is with */
  uint32_t end, other;       /* data: its end, and the peer's */
  unsigned char nonce[DTR_NONCE_BYTES];
};
void dtr_hello_pack(const struct dtr_hello *hello, unsigned char *bytes);
/* False: no hello of this protocol and version. */
bool dtr_hello_unpack(const unsigned char *bytes, struct dtr_hello *hello);

enum dtr_handshake_state {
  DTR_HANDSHAKE_HELLO,  /* the listening side waits for the hello */
  DTR_HANDSHAKE_ANSWER, /* either waits for the head of an answer */
  DTR_HANDSHAKE_BODY,   /* and for its body */
  DTR_HANDSHAKE_DONE,
  DTR_HANDSHAKE_REFUSED,  /* by the other side; `text` is its reason */
  DTR_HANDSHAKE_REFUSING, /* by this side; `text` is the reason, to be sent */
  DTR_HANDSHAKE_GARBAGE   /* what came is no word of the protocol */
};

enum { DTR_HANDSHAKE_ROOM = 1024 };

struct dtr_handshake {
  enum dtr_handshake_state state;
  bool is_dialing;
  unsigned char secret[DTR_SECRET_BYTES];
  struct dtr_hello own, theirs;
  uint32_t answer, length; /* of the answer that is being read */
  unsigned char input[DTR_HANDSHAKE_ROOM], output[DTR_HANDSHAKE_ROOM];
  size_t input_count, output_count;
  char text[DTR_REFUSAL_BYTES];
  /* Whether the hello is welcome; false: `text` says why not. */
  void *context;
  bool (*admit)(void *context, const struct dtr_hello *theirs, char *text, size_t size);
};

/* Set `secret`, `own`, `admit` first. The dialing side's hello is in `output` then. */
void dtr_handshake_begin(struct dtr_handshake *handshake, bool is_dialing);
/* How many bytes to read next, never more: what follows the handshake is not ours. 0: it is over.
 */
size_t dtr_handshake_wants(const struct dtr_handshake *handshake);
/* At most as many as it wants. */
void dtr_handshake_input(struct dtr_handshake *handshake, const void *bytes, size_t count);
/* `count` bytes of `output` have been sent. */
void dtr_handshake_sent(struct dtr_handshake *handshake, size_t count);

#endif
