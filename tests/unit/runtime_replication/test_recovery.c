/* Recovery without tasks: its messages as bytes, whatever comes, and its deadlines as text. What
 * the machines do is shown by whole simulated jobs (tests/sim). */
#include "runtime/replicate/recovery.h"
#include "runtime/sim/world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static struct dtr_recovery_message sample(void) {
  struct dtr_recovery_message message;
  memset(&message, 0, sizeof message); /* padding, too: messages are compared */
  message.kind = DTR_RECOVERY_END;
  message.incarnation = UINT64_C(0xFEDCBA9876543210);
  message.generation = 7;
  message.task = DTR_NONE;
  message.source = DTR_RECOVERY_CHECKPOINT;
  message.step = -1;
  message.round = INT64_MAX;
  message.state.has_owners = true;
  message.state.low = INT64_MIN;
  message.costs.losses[DTR_RECOVERY_TASKS - 1] = 3;
  message.error.status = DTR_STATUS_PEER_LOST;
  message.error.step = 12;
  strcpy(message.error.message, "worker/1 was lost");
  memset(message.text, 'x', sizeof message.text - 1);
  return message;
}

static void messages_come_back(void **state) {
  (void)state;
  char bytes[DTR_RECOVERY_BYTES];
  struct dtr_recovery_message sent = sample(), got;
  memset(&got, 0xAA, sizeof got);
  size_t size = dtr_recovery_pack(&sent, bytes);
  assert_true(size <= DTR_RECOVERY_BYTES);
  assert_true(dtr_recovery_unpack(bytes, size, &got));
  assert_int_equal(got.incarnation, sent.incarnation);
  assert_int_equal(got.task, DTR_NONE);
  assert_int_equal(got.round, INT64_MAX);
  assert_int_equal(got.state.low, INT64_MIN);
  assert_int_equal(got.costs.losses[DTR_RECOVERY_TASKS - 1], 3);
  assert_string_equal(got.error.message, sent.error.message);
  assert_string_equal(got.text, sent.text);
  char again[DTR_RECOVERY_BYTES];
  assert_int_equal(dtr_recovery_pack(&got, again), size);
  assert_memory_equal(again, bytes, size);
}

static void the_largest_fits(void **state) {
  (void)state;
  char bytes[DTR_RECOVERY_BYTES];
  struct dtr_recovery_message full = sample(), got;
  memset(full.error.task, 'x', sizeof full.error.task - 1);
  memset(full.error.where, 'x', sizeof full.error.where - 1);
  memset(full.error.message, 'x', sizeof full.error.message - 1);
  memset(full.error.hint, 'x', sizeof full.error.hint - 1);
  assert_true(dtr_recovery_unpack(bytes, dtr_recovery_pack(&full, bytes), &got));
  assert_string_equal(got.error.hint, full.error.hint);
}

/* Cut, lengthened or changed at random: refused, or read as a message whose values are in range. */
static void anything_is_read_or_refused(void **state) {
  (void)state;
  struct dtr_sim_random random = dtr_sim_random_make(20261, 1);
  int refused = 0;
  print_message("seed 20261\n");
  for (int round = 0; round < 20000; round++) {
    char bytes[DTR_RECOVERY_BYTES + 8] = {0};
    struct dtr_recovery_message message = sample();
    size_t size = dtr_recovery_pack(&message, bytes);
    int64_t changes = 1 + dtr_sim_random_below(&random, 8);
    for (int64_t i = 0; i < changes; i++)
      bytes[dtr_sim_random_below(&random, (int64_t)size)] =
          (char)dtr_sim_random_below(&random, 256);
    if (dtr_sim_random_below(&random, 3) == 0)
      size = (size_t)dtr_sim_random_below(&random, (int64_t)size + 8);
    if (!dtr_recovery_unpack(bytes, size, &message)) {
      refused++;
      continue;
    }
    assert_in_range(message.kind, 0, DTR_RECOVERY_KINDS - 1);
    assert_in_range(message.source, 0, DTR_RECOVERY_SOURCES - 1);
    assert_true(strnlen(message.text, sizeof message.text) < sizeof message.text);
    assert_true(strnlen(message.error.message, sizeof message.error.message) <
                sizeof message.error.message);
  }
  assert_true(refused > 5000);
  assert_true(refused < 20000); /* a changed number is a number */
}

static void deadlines_are_read(void **state) {
  (void)state;
  struct dtr_error error;
  struct dtr_deadlines deadlines;
  dtr_error_clear(&error);
  assert_true(dtr_deadlines_parse("step=1500ms", &deadlines, &error));
  assert_int_equal(deadlines.step, INT64_C(1500000000));
  assert_int_equal(deadlines.start, INT64_C(120000000000));
  assert_true(dtr_deadlines_parse("start=2h,shutdown=1m,step=5s", &deadlines, &error));
  assert_int_equal(deadlines.start, INT64_C(7200000000000));
  assert_int_equal(deadlines.shutdown, INT64_C(60000000000));
  assert_int_equal(deadlines.step, INT64_C(5000000000));
}

static void wrong_deadlines_are_named(void **state) {
  (void)state;
  static const char *const wrong[][2] = {{"step", "step"},
                                         {"step=", "step="},
                                         {"step=5", "step=5"},
                                         {"step=0s", "step=0s"},
                                         {"step=-5s", "step=-5s"},
                                         {"step=5d", "step=5d"},
                                         {"stop=5s", "stop=5s"},
                                         {"step=5s,", NULL},
                                         {"start=1s,step=x", "step=x"},
                                         {"step=99999999999s", "step=99999999999s"}};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    char text[256];
    struct dtr_error error;
    struct dtr_deadlines deadlines = {.step = 1};
    dtr_error_clear(&error);
    bool good = dtr_deadlines_parse(wrong[i][0], &deadlines, &error);
    assert_int_equal(good, wrong[i][1] == NULL);
    if (good)
      continue;
    snprintf(text, sizeof text, "--deadline: \"%s\" is no class with a time", wrong[i][1]);
    assert_string_equal(error.message, text);
    assert_string_equal(error.hint, "classes are start, step and shutdown, units ms, s, m and h: "
                                    "--deadline start=120s,step=60s,shutdown=30s");
    assert_int_equal(error.status, DTR_STATUS_USAGE);
    assert_int_equal(deadlines.step, 1); /* as before */
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(messages_come_back),          cmocka_unit_test(the_largest_fits),
      cmocka_unit_test(anything_is_read_or_refused), cmocka_unit_test(deadlines_are_read),
      cmocka_unit_test(wrong_deadlines_are_named),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
