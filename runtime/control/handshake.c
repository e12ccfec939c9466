#include "runtime/control/handshake.h"

#include "runtime/control/bytes.h"

#include <sodium.h>
#include <stdio.h>
#include <string.h>

/* ---- hellos ---- */

static const unsigned char magic[4] = {'d', 't', 'g', 1};
enum { ACCEPT = 1, REFUSE = 2, HEAD_BYTES = 8 };

void dtr_hello_pack(const struct dtr_hello *hello, unsigned char *bytes) {
  memset(bytes, 0, DTR_HELLO_BYTES);
  memcpy(bytes, magic, sizeof magic);
  dtr_bytes_put(bytes + 4, (uint64_t)hello->kind, 4);
  dtr_bytes_put(bytes + 8, hello->run, 8);
  memcpy(bytes + 16, hello->plan, strnlen(hello->plan, DTR_PLAN_BYTES));
  dtr_bytes_put(bytes + 80, hello->task, 4);
  dtr_bytes_put(bytes + 84, hello->peer, 4);
  dtr_bytes_put(bytes + 88, hello->incarnation, 8);
  dtr_bytes_put(bytes + 96, hello->peer_incarnation, 8);
  dtr_bytes_put(bytes + 104, hello->end, 4);
  dtr_bytes_put(bytes + 108, hello->other, 4);
  memcpy(bytes + 112, hello->nonce, DTR_NONCE_BYTES);
}

/* Texts of others are shown to people: printable bytes only. */
static bool is_printable(const char *text) {
  for (; *text; text++)
    if (*text < ' ' || *text > '~')
      return false;
  return true;
}

bool dtr_hello_unpack(const unsigned char *bytes, struct dtr_hello *hello) {
  uint64_t kind = dtr_bytes_get(bytes + 4, 4);
  if (memcmp(bytes, magic, sizeof magic) != 0 ||
      (kind != DTR_HELLO_CONTROL && kind != DTR_HELLO_DATA))
    return false;
  *hello = (struct dtr_hello){.kind = (enum dtr_hello_kind)kind,
                              .run = dtr_bytes_get(bytes + 8, 8),
                              .task = (uint32_t)dtr_bytes_get(bytes + 80, 4),
                              .peer = (uint32_t)dtr_bytes_get(bytes + 84, 4),
                              .incarnation = dtr_bytes_get(bytes + 88, 8),
                              .peer_incarnation = dtr_bytes_get(bytes + 96, 8),
                              .end = (uint32_t)dtr_bytes_get(bytes + 104, 4),
                              .other = (uint32_t)dtr_bytes_get(bytes + 108, 4)};
  memcpy(hello->plan, bytes + 16, DTR_PLAN_BYTES);
  memcpy(hello->nonce, bytes + 112, DTR_NONCE_BYTES);
  return is_printable(hello->plan);
}

/* ---- proofs ---- */

/* Of the side that says `label`. Both hellos are in it, so it fits no other handshake. */
static void prove(const struct dtr_handshake *handshake, bool by_dialer, unsigned char *proof) {
  unsigned char bytes[8 + 2 * DTR_HELLO_BYTES] = {0};
  const struct dtr_hello *dialer = handshake->is_dialing ? &handshake->own : &handshake->theirs;
  const struct dtr_hello *listener = handshake->is_dialing ? &handshake->theirs : &handshake->own;
  bytes[0] = by_dialer ? 'D' : 'L';
  dtr_hello_pack(dialer, bytes + 8);
  dtr_hello_pack(listener, bytes + 8 + DTR_HELLO_BYTES);
  crypto_generichash(proof, DTR_PROOF_BYTES, bytes, sizeof bytes, handshake->secret,
                     DTR_SECRET_BYTES);
}

static bool is_proved(const struct dtr_handshake *handshake, bool by_dialer,
                      const unsigned char *proof) {
  unsigned char right[DTR_PROOF_BYTES];
  prove(handshake, by_dialer, right);
  return sodium_memcmp(right, proof, sizeof right) == 0;
}

/* ---- what is sent ---- */

static void put(struct dtr_handshake *handshake, const void *bytes, size_t count) {
  memcpy(handshake->output + handshake->output_count, bytes, count);
  handshake->output_count += count;
}

static void put_answer(struct dtr_handshake *handshake, uint32_t answer, size_t length) {
  unsigned char head[HEAD_BYTES];
  dtr_bytes_put(head, answer, 4);
  dtr_bytes_put(head + 4, length, 4);
  put(handshake, head, sizeof head);
}

static void refuse(struct dtr_handshake *handshake) {
  size_t length = strlen(handshake->text);
  handshake->state = DTR_HANDSHAKE_REFUSING;
  put_answer(handshake, REFUSE, length);
  put(handshake, handshake->text, length);
}

void dtr_handshake_begin(struct dtr_handshake *handshake, bool is_dialing) {
  unsigned char bytes[DTR_HELLO_BYTES];
  handshake->is_dialing = is_dialing;
  handshake->input_count = handshake->output_count = 0;
  handshake->text[0] = '\0';
  handshake->state = is_dialing ? DTR_HANDSHAKE_ANSWER : DTR_HANDSHAKE_HELLO;
  if (!is_dialing)
    return;
  dtr_hello_pack(&handshake->own, bytes);
  put(handshake, bytes, sizeof bytes);
}

void dtr_handshake_sent(struct dtr_handshake *handshake, size_t count) {
  handshake->output_count -= count;
  memmove(handshake->output, handshake->output + count, handshake->output_count);
}

/* ---- what comes ---- */

size_t dtr_handshake_wants(const struct dtr_handshake *handshake) {
  switch (handshake->state) {
  case DTR_HANDSHAKE_HELLO:
    return DTR_HELLO_BYTES - handshake->input_count;
  case DTR_HANDSHAKE_ANSWER:
    return HEAD_BYTES - handshake->input_count;
  case DTR_HANDSHAKE_BODY:
    return handshake->length - handshake->input_count;
  default:
    return 0;
  }
}

static bool admit(struct dtr_handshake *handshake) {
  return handshake->admit(handshake->context, &handshake->theirs, handshake->text,
                          sizeof handshake->text);
}

static void take_hello(struct dtr_handshake *handshake) {
  unsigned char bytes[DTR_HELLO_BYTES + DTR_PROOF_BYTES];
  if (!dtr_hello_unpack(handshake->input, &handshake->theirs)) {
    handshake->state = DTR_HANDSHAKE_GARBAGE;
    return;
  }
  if (!admit(handshake)) {
    refuse(handshake);
    return;
  }
  handshake->own.kind = handshake->theirs.kind;
  handshake->own.peer = handshake->theirs.task;
  handshake->own.peer_incarnation = handshake->theirs.incarnation;
  handshake->own.end = handshake->theirs.other;
  handshake->own.other = handshake->theirs.end;
  dtr_hello_pack(&handshake->own, bytes);
  prove(handshake, false, bytes + DTR_HELLO_BYTES);
  put_answer(handshake, ACCEPT, sizeof bytes);
  put(handshake, bytes, sizeof bytes);
  handshake->state = DTR_HANDSHAKE_ANSWER;
}

/* Lengths are checked before anything is read. */
static void take_head(struct dtr_handshake *handshake) {
  handshake->answer = (uint32_t)dtr_bytes_get(handshake->input, 4);
  handshake->length = (uint32_t)dtr_bytes_get(handshake->input + 4, 4);
  bool is_last = handshake->is_dialing && handshake->theirs.kind != 0;
  size_t right = is_last                 ? 0
                 : handshake->is_dialing ? DTR_HELLO_BYTES + DTR_PROOF_BYTES
                                         : DTR_PROOF_BYTES;
  bool good = handshake->answer == REFUSE   ? handshake->length < DTR_REFUSAL_BYTES
              : handshake->answer == ACCEPT ? handshake->length == right
                                            : false;
  handshake->state = !good                    ? DTR_HANDSHAKE_GARBAGE
                     : handshake->length > 0  ? DTR_HANDSHAKE_BODY
                     : handshake->answer == 1 ? DTR_HANDSHAKE_DONE
                                              : DTR_HANDSHAKE_REFUSED;
}

static void wrong_secret(struct dtr_handshake *handshake) {
  snprintf(handshake->text, sizeof handshake->text, "the cluster secret is another");
  refuse(handshake);
}

static void take_listener(struct dtr_handshake *handshake) {
  unsigned char proof[DTR_PROOF_BYTES];
  if (!dtr_hello_unpack(handshake->input, &handshake->theirs)) {
    handshake->state = DTR_HANDSHAKE_GARBAGE;
    return;
  }
  if (!is_proved(handshake, false, handshake->input + DTR_HELLO_BYTES)) {
    wrong_secret(handshake);
    return;
  }
  if (!admit(handshake)) {
    refuse(handshake);
    return;
  }
  prove(handshake, true, proof);
  put_answer(handshake, ACCEPT, sizeof proof);
  put(handshake, proof, sizeof proof);
  handshake->state = DTR_HANDSHAKE_ANSWER;
}

static void take_body(struct dtr_handshake *handshake) {
  if (handshake->answer == REFUSE) {
    memcpy(handshake->text, handshake->input, handshake->length);
    handshake->text[handshake->length] = '\0';
    handshake->state =
        is_printable(handshake->text) ? DTR_HANDSHAKE_REFUSED : DTR_HANDSHAKE_GARBAGE;
  } else if (handshake->is_dialing) {
    take_listener(handshake);
  } else if (is_proved(handshake, true, handshake->input)) {
    put_answer(handshake, ACCEPT, 0);
    handshake->state = DTR_HANDSHAKE_DONE;
  } else {
    wrong_secret(handshake);
  }
}

void dtr_handshake_input(struct dtr_handshake *handshake, const void *bytes, size_t count) {
  memcpy(handshake->input + handshake->input_count, bytes, count);
  handshake->input_count += count;
  if (dtr_handshake_wants(handshake) > 0)
    return;
  handshake->input_count = 0;
  if (handshake->state == DTR_HANDSHAKE_HELLO)
    take_hello(handshake);
  else if (handshake->state == DTR_HANDSHAKE_ANSWER)
    take_head(handshake);
  else
    take_body(handshake);
}
