/* The first words of a connection: who belongs together, and what noise does. */
#include "runtime/control/handshake.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static bool welcome(void *context, const struct dtr_hello *theirs, char *text, size_t size) {
  (void)theirs;
  const char *why = context;
  if (why)
    snprintf(text, size, "%s", why);
  return why == NULL;
}

static struct dtr_handshake side(uint32_t task, int secret, const char *refuses) {
  struct dtr_handshake made = {.own = {.kind = DTR_HELLO_CONTROL, .run = 7, .task = task},
                               .context = (void *)refuses,
                               .admit = welcome};
  snprintf(made.own.plan, sizeof made.own.plan, "plan");
  memset(made.own.nonce, (int)task + 1, sizeof made.own.nonce);
  memset(made.secret, secret, sizeof made.secret);
  return made;
}

/* Byte by byte, if `slowly`. */
static void pass(struct dtr_handshake *from, struct dtr_handshake *to, bool slowly) {
  while (from->output_count > 0 && dtr_handshake_wants(to) > 0) {
    size_t count = dtr_handshake_wants(to);
    count = count < from->output_count ? count : from->output_count;
    count = slowly ? 1 : count;
    dtr_handshake_input(to, from->output, count);
    dtr_handshake_sent(from, count);
  }
}

static void meet(struct dtr_handshake *dialer, struct dtr_handshake *listener, bool slowly) {
  dtr_handshake_begin(dialer, true);
  dtr_handshake_begin(listener, false);
  for (int i = 0; i < 4; i++) {
    pass(dialer, listener, slowly);
    pass(listener, dialer, slowly);
  }
}

static void two_of_a_run_meet(void **state) {
  (void)state;
  for (int slowly = 0; slowly < 2; slowly++) {
    struct dtr_handshake dialer = side(1, 5, NULL), listener = side(0, 5, NULL);
    meet(&dialer, &listener, slowly);
    assert_int_equal(dialer.state, DTR_HANDSHAKE_DONE);
    assert_int_equal(listener.state, DTR_HANDSHAKE_DONE);
    assert_int_equal(dialer.theirs.task, 0);
    assert_int_equal(listener.theirs.task, 1);
    assert_string_equal(listener.theirs.plan, "plan");
  }
}

static void another_secret_is_refused_by_who_dials(void **state) {
  (void)state;
  struct dtr_handshake dialer = side(1, 5, NULL), listener = side(0, 6, NULL);
  meet(&dialer, &listener, false);
  assert_int_equal(dialer.state, DTR_HANDSHAKE_REFUSING);
  assert_int_equal(listener.state, DTR_HANDSHAKE_REFUSED);
  assert_string_equal(dialer.text, "the cluster secret is another");
  assert_string_equal(listener.text, dialer.text);
}

/* Who does not check the listener's proof has none of its own. */
static void a_wrong_proof_is_refused_by_who_listens(void **state) {
  (void)state;
  struct dtr_handshake dialer = side(1, 5, NULL), listener = side(0, 5, NULL);
  dtr_handshake_begin(&dialer, true);
  dtr_handshake_begin(&listener, false);
  pass(&dialer, &listener, false);
  pass(&listener, &dialer, false);
  dialer.output[dialer.output_count - 1] ^= 1;
  pass(&dialer, &listener, false);
  assert_int_equal(listener.state, DTR_HANDSHAKE_REFUSING);
  assert_string_equal(listener.text, "the cluster secret is another");
  pass(&listener, &dialer, false);
  assert_int_equal(dialer.state, DTR_HANDSHAKE_REFUSED);
}

static void either_side_may_refuse(void **state) {
  (void)state;
  struct dtr_handshake dialer = side(1, 5, NULL), listener = side(0, 5, "not you");
  meet(&dialer, &listener, true);
  assert_int_equal(listener.state, DTR_HANDSHAKE_REFUSING);
  assert_int_equal(dialer.state, DTR_HANDSHAKE_REFUSED);
  assert_string_equal(dialer.text, "not you");
  dialer = side(1, 5, "nor you");
  listener = side(0, 5, NULL);
  meet(&dialer, &listener, true);
  assert_int_equal(dialer.state, DTR_HANDSHAKE_REFUSING);
  assert_int_equal(listener.state, DTR_HANDSHAKE_REFUSED);
  assert_string_equal(listener.text, "nor you");
}

/* Recorded proofs fit no other handshake. */
static void proofs_cannot_be_used_twice(void **state) {
  (void)state;
  struct dtr_handshake dialer = side(1, 5, NULL), listener = side(0, 5, NULL);
  unsigned char proof[256];
  dtr_handshake_begin(&dialer, true);
  dtr_handshake_begin(&listener, false);
  pass(&dialer, &listener, false);
  pass(&listener, &dialer, false);
  size_t size = dialer.output_count;
  memcpy(proof, dialer.output, size);
  struct dtr_handshake again = side(1, 0, NULL);
  listener = side(0, 5, NULL);
  listener.own.nonce[0] ^= 1;
  dtr_handshake_begin(&again, true);
  dtr_handshake_begin(&listener, false);
  pass(&again, &listener, false);
  for (size_t at = 0; at < size && dtr_handshake_wants(&listener) > 0;) {
    size_t count = dtr_handshake_wants(&listener);
    count = count < size - at ? count : size - at;
    dtr_handshake_input(&listener, proof + at, count);
    at += count;
  }
  assert_int_equal(listener.state, DTR_HANDSHAKE_REFUSING);
}

/* No noise is let in, whatever a real hello comes before it. */
static void noise_is_never_let_in(void **state) {
  (void)state;
  unsigned seed = 20261201;
  print_message("seed %u\n", seed);
  srand(seed);
  for (int round = 0; round < 20000; round++) {
    struct dtr_handshake listener = side(0, 5, NULL), dialer = side(1, 5, NULL);
    bool dials = round % 2;
    struct dtr_handshake *it = dials ? &dialer : &listener;
    dtr_handshake_begin(&dialer, true);
    dtr_handshake_begin(&listener, false);
    if (round % 3 == 0)
      pass(&dialer, &listener, false);
    for (int i = 0; i < 50 && dtr_handshake_wants(it) > 0; i++) {
      unsigned char bytes[DTR_HANDSHAKE_ROOM];
      size_t count = dtr_handshake_wants(it);
      assert_true(count <= sizeof bytes);
      for (size_t b = 0; b < count; b++)
        bytes[b] = (unsigned char)(rand() % 4 ? rand() % 3 : rand());
      dtr_handshake_input(it, bytes, count);
    }
    assert_int_not_equal(it->state, DTR_HANDSHAKE_DONE);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(two_of_a_run_meet),
      cmocka_unit_test(another_secret_is_refused_by_who_dials),
      cmocka_unit_test(a_wrong_proof_is_refused_by_who_listens),
      cmocka_unit_test(either_side_may_refuse),
      cmocka_unit_test(proofs_cannot_be_used_twice),
      cmocka_unit_test(noise_is_never_let_in),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
