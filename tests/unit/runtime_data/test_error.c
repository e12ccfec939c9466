#include "help.h"

#include <errno.h>
#include <stdio.h>

static void the_first_text_wins(void **state) {
  (void)state;
  struct dtr_error error;
  dtr_error_clear(&error);
  assert_false(dtr_error_is_set(&error));
  assert_false(dtr_error_set(&error, DTR_STATUS_DATA, "%s: bad", "x.gz"));
  assert_false(dtr_error_set(&error, DTR_STATUS_BUG, "later"));
  dtr_error_where(&error, "m.dtg:3:1");
  dtr_error_where(&error, "m.dtg:9:9");
  dtr_error_step(&error, 7);
  dtr_error_step(&error, 8);
  dtr_error_task(&error, "worker/0");
  dtr_error_hint(&error, "do %d", 1);
  dtr_error_hint(&error, "do %d", 2);
  char text[512];
  dtr_error_format(&error, text, sizeof text);
  assert_string_equal(text, "m.dtg:3:1: error: x.gz: bad (step 7, task worker/0)\n  hint: do 1\n");
  assert_int_equal(dtr_status_exit(error.status), 1);
}

static void texts_of_little(void **state) {
  (void)state;
  struct dtr_error error;
  char text[512];
  dtr_error_clear(&error);
  dtr_error_system(&error, DTR_STATUS_IO, -ENOSPC, "cannot write %s", "f");
  dtr_error_format(&error, text, sizeof text);
  assert_string_equal(text, "error: cannot write f: No space left on device\n");
  dtr_error_step(&error, 0);
  dtr_error_format(&error, text, sizeof text);
  assert_string_equal(text, "error: cannot write f: No space left on device (step 0)\n");
  dtr_error_clear(&error);
  dtr_error_memory(&error, 100, "batches");
  help_expect(&error, DTR_STATUS_MEMORY,
              "out of memory: 100 bytes for batches | end other programs, or use a smaller batch "
              "or a larger machine");
}

static void long_texts_are_cut(void **state) {
  (void)state;
  struct dtr_error error;
  char text[4000];
  memset(text, 'x', sizeof text);
  text[sizeof text - 1] = 0;
  dtr_error_clear(&error);
  dtr_error_system(&error, DTR_STATUS_IO, EIO, "%s", text);
  assert_int_equal(strlen(error.message), sizeof error.message - 1);
  assert_string_equal(error.message + sizeof error.message - 5, "x...");
  dtr_error_hint(&error, "%s", text);
  dtr_error_where(&error, text);
  assert_string_equal(error.where + sizeof error.where - 5, "x...");
}

static void an_error_is_printed_once(void **state) {
  (void)state;
  struct dtr_error error;
  char *text;
  size_t size;
  FILE *stream = open_memstream(&text, &size);
  dtr_error_clear(&error);
  dtr_error_report(&error, stream);
  dtr_error_set(&error, DTR_STATUS_USAGE, "what");
  dtr_error_report(&error, stream);
  dtr_error_report(&error, stream);
  fclose(stream);
  assert_string_equal(text, "error: what\n");
  free(text);
}

static void exit_statuses(void **state) {
  (void)state;
  for (int status = 0; status < DTR_STATUS_COUNT; status++) {
    int code = dtr_status_exit((enum dtr_status)status);
    assert_true((code >= 0 && code <= 4) || code == 70);
    assert_true(strlen(dtr_status_text((enum dtr_status)status)) > 0);
  }
  assert_int_equal(dtr_status_exit(DTR_STATUS_OK), 0);
  assert_int_equal(dtr_status_exit(DTR_STATUS_CONFIG), 2);
  assert_int_equal(dtr_status_exit(DTR_STATUS_PEER_LOST), 3);
  assert_int_equal(dtr_status_exit(DTR_STATUS_REFUSED), 4);
  assert_int_equal(dtr_status_exit(DTR_STATUS_BUG), 70);
  assert_string_equal(dtr_status_name(DTR_STATUS_DATA), "DATA");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_first_text_wins), cmocka_unit_test(texts_of_little),
      cmocka_unit_test(long_texts_are_cut),  cmocka_unit_test(an_error_is_printed_once),
      cmocka_unit_test(exit_statuses),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
