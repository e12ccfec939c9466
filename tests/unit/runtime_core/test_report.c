/* Words and records: texts, JSON, what the progress line shows, memory, and when threads are used.
 */
#include "runtime/choice.h"
#include "runtime/json.h"
#include "runtime/memory.h"
#include "runtime/progress.h"
#include "runtime/report.h"
#include "runtime/trace.h"

#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* ---- an env whose outputs are caught, one text per handle ---- */

struct caught {
  char text[4][65536];
  size_t used[4];
  int fail; /* errno of every write, or 0 */
};

static int64_t catch_write(void *context, int file, const void *bytes, size_t size) {
  struct caught *caught = context;
  if (caught->fail)
    return -caught->fail;
  assert_true(caught->used[file] + size < sizeof caught->text[file]);
  memcpy(caught->text[file] + caught->used[file], bytes, size);
  caught->used[file] += size;
  return (int64_t)size;
}

/* Keeps what fits. */
static int64_t catch_head(void *context, int file, const void *bytes, size_t size) {
  struct caught *caught = context;
  size_t room = sizeof caught->text[file] - 1 - caught->used[file];
  size_t kept = size < room ? size : room;
  memcpy(caught->text[file] + caught->used[file], bytes, kept);
  caught->used[file] += kept;
  return (int64_t)size;
}

static int catch_open(void *context, const char *path, enum dtr_file_mode mode) {
  (void)context, (void)mode;
  return strcmp(path, "missing/file") == 0 ? -ENOENT : 3;
}

static int catch_close(void *context, int file) {
  (void)context, (void)file;
  return 0;
}

static int64_t catch_now(void *context) {
  (void)context;
  return 5000;
}

static struct dtr_env catching(struct caught *caught) {
  return (struct dtr_env){.context = caught,
                          .now = catch_now,
                          .file_open = catch_open,
                          .file_close = catch_close,
                          .file_write = catch_write};
}

/* ---- texts ---- */

static void counts_have_commas(void **state) {
  (void)state;
  char text[32];
  assert_string_equal(dtr_count_text(0, text, sizeof text), "0");
  assert_string_equal(dtr_count_text(999, text, sizeof text), "999");
  assert_string_equal(dtr_count_text(10000, text, sizeof text), "10,000");
  assert_string_equal(dtr_count_text(1234567, text, sizeof text), "1,234,567");
  assert_string_equal(dtr_count_text(-100, text, sizeof text), "-100");
}

static void durations_are_short(void **state) {
  (void)state;
  char text[32];
  assert_string_equal(dtr_duration_text(0.2, text, sizeof text), "0s");
  assert_string_equal(dtr_duration_text(59, text, sizeof text), "59s");
  assert_string_equal(dtr_duration_text(185, text, sizeof text), "3m05s");
  assert_string_equal(dtr_duration_text(7800, text, sizeof text), "2h10m");
}

static const char *const metrics[] = {"accuracy", "error"};
static const struct dtr_program program = {
    .name = "m", .metric_count = 2, .metrics = metrics, .train = {.batch = 50}};

static void results_show_small_values(void **state) {
  (void)state;
  char text[128];
  const double results[] = {0.34412, 0.8774, 1.25e-6};
  dtr_results_text(&program, results, text, sizeof text);
  assert_string_equal(text, "loss 0.3441, accuracy 0.8774, error 1.250e-06");
  assert_true(dtr_results_text(&program, results, text, 20) < 20);
}

static void bytes_have_units(void **state) {
  (void)state;
  char text[32];
  assert_string_equal(dtr_memory_text(999, text, sizeof text), "999 bytes");
  assert_string_equal(dtr_memory_text(3100000000, text, sizeof text), "3.1 GB");
  assert_string_equal(dtr_memory_text(INT64_MAX, text, sizeof text), "9.2 EB");
}

static void memory_that_is_not_there_is_refused(void **state) {
  (void)state;
  struct dtr_error error;
  dtr_error_clear(&error);
  assert_true(dtr_memory_available(dtr_env_real()) > 0);
  assert_true(dtr_memory_check(dtr_env_real(), 1000, "m", &error));
  assert_false(dtr_memory_check(dtr_env_real(), INT64_C(5000000000000000000), "m", &error));
  assert_int_equal(error.status, DTR_STATUS_MEMORY);
  assert_non_null(strstr(error.message, "m needs 5.0 EB of memory, "));
  assert_non_null(strstr(error.message, "B are available"));
  assert_int_equal(dtr_memory_round(INT64_MAX), INT64_MAX);
  assert_int_equal(dtr_memory_round(65), 128);
  assert_null(dtr_memory_new(INT64_MAX));
}

/* ---- JSON ---- */

static void json_escapes_and_numbers(void **state) {
  (void)state;
  struct caught *caught = calloc(1, sizeof *caught);
  struct dtr_env env = catching(caught);
  struct dtr_error error;
  struct dtr_json json;
  dtr_error_clear(&error);
  assert_true(dtr_json_open(&env, "file", &json, &error));
  dtr_json_string(&json, "a \"b\" \\ \n \x01");
  dtr_json_raw(&json, ",");
  dtr_json_integer(&json, INT64_MIN);
  dtr_json_raw(&json, ",");
  dtr_json_number(&json, (double)0.1f, 9);
  dtr_json_raw(&json, ",");
  dtr_json_number(&json, NAN, 9);
  dtr_json_number(&json, -INFINITY, 9);
  assert_true(dtr_json_close(&json, "file", &error));
  assert_true(dtr_json_close(&json, "file", &error)); /* once more does nothing */
  assert_string_equal(caught->text[3], "\"a \\\"b\\\" \\\\ \\u000a \\u0001\",-9223372036854775808,"
                                       "0.100000001,nullnull");
  free(caught);
}

static void json_tells_of_a_full_disk(void **state) {
  (void)state;
  struct caught *caught = calloc(1, sizeof *caught);
  struct dtr_env env = catching(caught);
  struct dtr_error error;
  struct dtr_json json;
  dtr_error_clear(&error);
  assert_false(dtr_json_open(&env, "missing/file", &json, &error));
  assert_non_null(strstr(error.message, "missing/file cannot be written"));
  dtr_error_clear(&error);
  assert_true(dtr_json_open(&env, "file", &json, &error));
  caught->fail = ENOSPC;
  dtr_json_raw(&json, "text");
  assert_false(dtr_json_flush(&json));
  dtr_json_raw(&json, "more");
  assert_false(dtr_json_close(&json, "file", &error));
  assert_non_null(strstr(error.message, "file cannot be written: No space left on device"));
  assert_int_equal(error.status, DTR_STATUS_IO);
  free(caught);
}

static void a_full_trace_counts_what_it_drops(void **state) {
  (void)state;
  struct caught *caught = calloc(1, sizeof *caught);
  struct dtr_env env = catching(caught);
  struct dtr_error error;
  struct dtr_trace *trace;
  dtr_error_clear(&error);
  assert_true(dtr_trace_new(&env, "file", 2, &trace, &error));
  for (int i = 0; i < DTR_TRACE_EVENTS + 7; i++)
    dtr_trace_add(trace, 0, "k", NULL, i, 4000);
  dtr_trace_add(trace, 1, "k", "what", 3, 4000);
  env.file_write = catch_head;
  assert_true(dtr_trace_write(trace, "m worker/0", &error));
  assert_non_null(strstr(caught->text[3], "{\"name\":\"thread 0\",\"dropped_events\":7}"));
  assert_non_null(strstr(caught->text[3], ",\n{\"ph\":\"X\",\"pid\":0,\"tid\":0,\"ts\":-1.000,"));
  dtr_trace_free(trace);
  free(caught);
}

/* ---- progress ---- */

static int count_lines(const char *text) {
  int lines = 0;
  for (; *text; text++)
    lines += *text == '\n';
  return lines;
}

static void plain_lines_are_bounded(void **state) {
  (void)state;
  static const int64_t lengths[] = {1, 2, 19, 20, 21, 100, 700, 12345};
  const double results[] = {1, 0.5, 2};
  for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
    struct caught *caught = calloc(1, sizeof *caught);
    struct dtr_env env = catching(caught);
    struct dtr_progress progress;
    char last[64];
    dtr_progress_init(&progress, &program, &env, false, false);
    dtr_progress_begin(&progress, 10, 10 + lengths[i], 0);
    for (int64_t step = 11; step <= 10 + lengths[i]; step++) {
      struct dtr_record record = {.step = step, .epoch = 2, .results = results};
      dtr_progress_step(&progress, &record, step * 1000000);
      record.set = "test_set";
      record.examples = 1000;
      dtr_progress_evaluation(&progress, &record);
    }
    assert_true(count_lines(caught->text[1]) <= 22 + 40 * 15);
    snprintf(last, sizeof last, "step %lld/%lld, epoch 3, loss 1.0000, ",
             (long long)(10 + lengths[i]), (long long)(10 + lengths[i]));
    assert_non_null(strstr(caught->text[1], last));
    assert_non_null(strstr(caught->text[1], "step 11/"));
    assert_int_equal(caught->used[2], 0);
    free(caught);
  }
}

static void a_terminal_has_one_line(void **state) {
  (void)state;
  struct caught *caught = calloc(1, sizeof *caught);
  struct dtr_env env = catching(caught);
  struct dtr_progress progress;
  const double results[] = {1, 0.5, 2};
  dtr_progress_init(&progress, &program, &env, false, true);
  dtr_progress_begin(&progress, 0, 1000, 0);
  for (int64_t step = 1; step <= 1000; step++) { /* 1 s in all: ten times */
    struct dtr_record record = {.step = step, .results = results};
    dtr_progress_step(&progress, &record, step * 1000000);
  }
  assert_int_equal(count_lines(caught->text[2]), 0);
  int shown = 0;
  for (const char *c = caught->text[2]; *c; c++)
    shown += *c == '\r';
  assert_int_equal(shown, 10);
  assert_non_null(strstr(caught->text[2],
                         "step 101/1000, epoch 1, loss 1.0000, accuracy 0.5000, error 2.0000, "
                         "50,000 examples/s, 1s left"));
  dtr_progress_note(&progress, "a remark");
  assert_true(caught->text[2][caught->used[2] - 1] == '\n');
  assert_string_equal(caught->text[1], "a remark\n");
  free(caught);
}

static void quiet_shows_results_only(void **state) {
  (void)state;
  struct caught *caught = calloc(1, sizeof *caught);
  struct dtr_env env = catching(caught);
  struct dtr_progress progress;
  const double results[] = {1, 0.5, 2};
  struct dtr_record record = {.step = 1, .results = results, .set = "test_set", .examples = 10000};
  dtr_progress_init(&progress, &program, &env, true, true);
  dtr_progress_begin(&progress, 0, 10, 0);
  dtr_progress_step(&progress, &record, 1000);
  dtr_progress_evaluation(&progress, &record);
  dtr_progress_note(&progress, "a remark");
  assert_int_equal(caught->used[1] + caught->used[2], 0);
  dtr_progress_result(&progress, &record);
  assert_string_equal(caught->text[1],
                      "test_set: loss 1.0000, accuracy 0.5000, error 2.0000 (10,000 examples)\n");
  free(caught);
}

/* ---- alone or together ---- */

static int64_t run_choice(int64_t alone, int64_t together, int steps) {
  struct dtr_choice choice = {0};
  int64_t shared = 0;
  for (int i = 0; i < steps; i++) {
    bool use = dtr_choice_together(&choice);
    shared += use;
    dtr_choice_note(&choice, use, use ? together : alone);
  }
  return shared;
}

static void the_faster_way_is_found(void **state) {
  (void)state;
  assert_int_equal(run_choice(10000, 100000, 512), 4);
  assert_int_equal(run_choice(100000, 60000, 512), 512 - 4);
  assert_int_equal(run_choice(9000000, 5000000, 100), 100); /* long steps are never tried alone */
  assert_true(run_choice(10000, 100000, 100000) < 300);
}

static void a_change_of_load_is_noticed(void **state) {
  (void)state;
  struct dtr_choice choice = {0};
  for (int i = 0; i < 100; i++) {
    bool use = dtr_choice_together(&choice);
    dtr_choice_note(&choice, use, use ? 50000 : 100000);
  }
  assert_true(dtr_choice_together(&choice));
  for (int i = 0; i < 40; i++) /* somebody else takes the other processors */
    dtr_choice_note(&choice, true, 400000);
  assert_false(dtr_choice_together(&choice));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(counts_have_commas),
      cmocka_unit_test(durations_are_short),
      cmocka_unit_test(results_show_small_values),
      cmocka_unit_test(bytes_have_units),
      cmocka_unit_test(memory_that_is_not_there_is_refused),
      cmocka_unit_test(json_escapes_and_numbers),
      cmocka_unit_test(json_tells_of_a_full_disk),
      cmocka_unit_test(a_full_trace_counts_what_it_drops),
      cmocka_unit_test(plain_lines_are_bounded),
      cmocka_unit_test(a_terminal_has_one_line),
      cmocka_unit_test(quiet_shows_results_only),
      cmocka_unit_test(the_faster_way_is_found),
      cmocka_unit_test(a_change_of_load_is_noticed),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
