/* The loop row: order, zero copy, refusals, and two tasks on threads that pass messages in a ring.
 */
#include "runtime/transport.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const struct dtr_edge edges[] = {{0, 1, 8, false}, {1, 0, 16, false}};

static struct dtr_loop *new_loop(void) {
  struct dtr_error error;
  struct dtr_loop *loop = NULL;
  dtr_error_clear(&error);
  assert_true(dtr_loop_new(2, edges, 2, &loop, &error));
  return loop;
}

static void a_message_is_a_pointer(void **state) {
  (void)state;
  struct dtr_loop *loop = new_loop();
  struct dtr_endpoint a = dtr_loop_endpoint(loop, 0), b = dtr_loop_endpoint(loop, 1);
  struct dtr_error error;
  int64_t value = 42;
  const void *got = NULL;
  dtr_error_clear(&error);
  assert_string_equal(a.row->name, "loop");
  assert_int_equal(dtr_transport_receive(&b, 0, 7, 8, &got, &error), DTR_TRANSFER_PENDING);
  assert_int_equal(dtr_transport_sent(&a, 0), DTR_TRANSFER_DONE);
  assert_int_equal(dtr_transport_send(&a, 0, 7, &value, 8, &error), DTR_TRANSFER_DONE);
  assert_int_equal(dtr_transport_sent(&a, 0), DTR_TRANSFER_PENDING);
  assert_int_equal(dtr_transport_send(&a, 0, 8, &value, 8, &error), DTR_TRANSFER_PENDING);
  assert_int_equal(dtr_transport_receive(&b, 0, 7, 8, &got, &error), DTR_TRANSFER_DONE);
  assert_ptr_equal(got, &value);
  assert_int_equal(dtr_transport_receive(&b, 0, 7, 8, &got, &error), DTR_TRANSFER_PENDING);
  assert_int_equal(dtr_transport_sent(&a, 0), DTR_TRANSFER_PENDING);
  dtr_transport_release(&b, 0);
  assert_int_equal(dtr_transport_sent(&a, 0), DTR_TRANSFER_DONE);
  assert_false(dtr_error_is_set(&error));
  dtr_loop_free(loop);
}

static void expect_refusal(enum dtr_transfer result, struct dtr_error *error, const char *text) {
  assert_int_equal(result, DTR_TRANSFER_REFUSED);
  assert_string_equal(error->message, text);
  dtr_error_clear(error);
}

static void what_the_plan_does_not_name_is_refused(void **state) {
  (void)state;
  struct dtr_loop *loop = new_loop();
  struct dtr_endpoint a = dtr_loop_endpoint(loop, 0), b = dtr_loop_endpoint(loop, 1);
  struct dtr_error error;
  char bytes[16] = {0};
  const void *got;
  dtr_error_clear(&error);
  expect_refusal(dtr_transport_send(&a, 1, 0, bytes, 16, &error), &error,
                 "task 0 has no edge 1 to send on");
  expect_refusal(dtr_transport_send(&a, 5, 0, bytes, 16, &error), &error,
                 "task 0 has no edge 5 to send on");
  expect_refusal(dtr_transport_receive(&b, 1, 0, 16, &got, &error), &error,
                 "task 1 has no edge 1 to receive from");
  expect_refusal(dtr_transport_send(&a, 0, 0, bytes, 9, &error), &error,
                 "9 bytes on edge 0, which is planned for 8");
  assert_int_equal(dtr_transport_send(&a, 0, 3, bytes, 8, &error), DTR_TRANSFER_DONE);
  expect_refusal(dtr_transport_receive(&b, 0, 4, 8, &got, &error), &error,
                 "edge 0 carries step 3 in 8 bytes, step 4 in 8 was expected");
  dtr_loop_free(loop);
}

static void edges_must_join_endpoints(void **state) {
  (void)state;
  static const struct dtr_edge wrong[] = {{0, 2, 8, false}, {2, 1, 8, false}};
  for (size_t i = 0; i < 2; i++) {
    struct dtr_error error;
    struct dtr_loop *loop;
    dtr_error_clear(&error);
    assert_false(dtr_loop_new(2, &wrong[i], 1, &loop, &error));
    assert_int_equal(error.status, DTR_STATUS_BUG);
  }
}

/* A wait must see what happened between the last progress and itself. */
static void an_event_before_the_wait_ends_it(void **state) {
  (void)state;
  struct dtr_loop *loop = new_loop();
  struct dtr_endpoint a = dtr_loop_endpoint(loop, 0), b = dtr_loop_endpoint(loop, 1);
  struct dtr_error error;
  int64_t value = 1;
  dtr_error_clear(&error);
  assert_int_equal(dtr_transport_progress(&b, 0), INT64_MAX);
  assert_int_equal(dtr_transport_send(&a, 0, 0, &value, 8, &error), DTR_TRANSFER_DONE);
  dtr_transport_wait(&b, INT64_MAX);
  dtr_transport_progress(&b, 0);
  dtr_transport_wait(&b, 1); /* long past */
  dtr_loop_free(loop);
}

enum { STEPS = 2000 };

static bool receive(struct dtr_endpoint *end, uint32_t edge, int64_t step, int64_t size,
                    const void **bytes) {
  struct dtr_error error;
  enum dtr_transfer result;
  dtr_error_clear(&error);
  for (;;) {
    dtr_transport_progress(end, 0);
    result = dtr_transport_receive(end, edge, step, size, bytes, &error);
    if (result != DTR_TRANSFER_PENDING)
      return result == DTR_TRANSFER_DONE;
    dtr_transport_wait(end, INT64_MAX);
  }
}

static bool send(struct dtr_endpoint *end, uint32_t edge, int64_t step, const void *bytes,
                 int64_t size) {
  struct dtr_error error;
  dtr_error_clear(&error);
  if (dtr_transport_send(end, edge, step, bytes, size, &error) != DTR_TRANSFER_DONE)
    return false;
  for (;;) {
    dtr_transport_progress(end, 0);
    if (dtr_transport_sent(end, edge) == DTR_TRANSFER_DONE)
      return true;
    dtr_transport_wait(end, INT64_MAX);
  }
}

/* Task 1 answers every number n with (n, 2 n). */
static void *answer(void *argument) {
  struct dtr_endpoint end = dtr_loop_endpoint(argument, 1);
  for (int64_t step = 0; step < STEPS; step++) {
    const void *bytes;
    int64_t pair[2];
    if (!receive(&end, 0, step, 8, &bytes))
      return "receive";
    memcpy(pair, bytes, 8);
    dtr_transport_release(&end, 0);
    pair[1] = 2 * pair[0];
    if (!send(&end, 1, step, pair, 16))
      return "send";
  }
  return NULL;
}

static void two_tasks_talk(void **state) {
  (void)state;
  struct dtr_loop *loop = new_loop();
  struct dtr_endpoint end = dtr_loop_endpoint(loop, 0);
  pthread_t thread;
  void *failed = NULL;
  assert_int_equal(pthread_create(&thread, NULL, answer, loop), 0);
  for (int64_t step = 0; step < STEPS; step++) {
    const void *bytes;
    int64_t value = step * 3, pair[2];
    assert_true(send(&end, 0, step, &value, 8));
    assert_true(receive(&end, 1, step, 16, &bytes));
    memcpy(pair, bytes, 16);
    dtr_transport_release(&end, 1);
    assert_int_equal(pair[0], step * 3);
    assert_int_equal(pair[1], step * 6);
  }
  assert_int_equal(pthread_join(thread, &failed), 0);
  assert_null(failed);
  dtr_loop_free(loop);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_message_is_a_pointer),
      cmocka_unit_test(what_the_plan_does_not_name_is_refused),
      cmocka_unit_test(edges_must_join_endpoints),
      cmocka_unit_test(an_event_before_the_wait_ends_it),
      cmocka_unit_test(two_tasks_talk),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
