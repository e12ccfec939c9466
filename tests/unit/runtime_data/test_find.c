#include "help.h"

#include "runtime/data/find.h"

#include <sys/stat.h>

static struct dtr_error error;
static char found[256];

static const char *const variables[] = {
    "DTG_DATA_PATH", "one:two", "XDG_DATA_HOME", "home", "XDG_DATA_DIRS", "share", NULL};

static int reset(void **state) {
  (void)state;
  help_folder_clear();
  dtr_error_clear(&error);
  static const char *const folders[] = {"model",
                                        "data",
                                        "one",
                                        "two",
                                        "two/sub",
                                        "home",
                                        "share",
                                        "share/datasets",
                                        "share/datasets/fashion",
                                        "share/datasets/mnist",
                                        "home/datasets"};
  for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
    assert_int_equal(mkdir(folders[i], 0777), 0);
  return 0;
}

static void expect_found(const char *path, const char *where) {
  struct dtr_env env = help_env(variables);
  assert_true(dtr_data_find(&env, path, "model", "data", found, sizeof found, &error));
  assert_string_equal(found, where);
}

static void the_order_of_the_places(void **state) {
  (void)state;
  help_write_text("share/datasets/mnist/f", "");
  expect_found("f", "share/datasets/mnist/f");
  help_write_text("home/datasets/f", "");
  expect_found("f", "home/datasets/f");
  help_write_text("two/sub/f", "");
  expect_found("f", "two/sub/f");
  help_write_text("two/f", "");
  expect_found("f", "two/f");
  help_write_text("one/f", "");
  expect_found("f", "one/f");
  help_write_text("data/f", "");
  expect_found("f", "data/f");
  help_write_text("model/f", "");
  expect_found("f", "model/f");
  expect_found("../one/f", "model/../one/f");
}

static void a_folder_is_no_file(void **state) {
  (void)state;
  mkdir("model/f", 0777);
  help_write_text("data/f", "");
  expect_found("f", "data/f");
}

static void missing(void **state) {
  (void)state;
  struct dtr_env env = help_env(variables);
  assert_false(dtr_data_find(&env, "f.gz", "model", "data", found, sizeof found, &error));
  help_expect(&error, DTR_STATUS_DATA,
              "f.gz: there is no such data file | looked in model, data, one and the folders in "
              "it, two and the folders in it, home/datasets and the folders in it, share/datasets "
              "and the folders in it");
  static const char *const none[] = {"XDG_DATA_DIRS", "share", NULL};
  env = help_env(none);
  assert_false(dtr_data_find(&env, "f.gz", NULL, NULL, found, sizeof found, &error));
  help_expect(&error, DTR_STATUS_DATA,
              "f.gz: there is no such data file | looked in ., share/datasets and the folders in "
              "it; --data-dir names another folder");
  assert_false(dtr_data_find(&env, "/no/f.gz", NULL, NULL, found, sizeof found, &error));
  help_expect(&error, DTR_STATUS_DATA,
              "/no/f.gz: there is no such data file | correct the "
              "path, or write one that --data-dir can complete");
}

static void two_of_one_name(void **state) {
  (void)state;
  struct dtr_env env = help_env(variables);
  help_write_text("share/datasets/mnist/f", "");
  help_write_text("share/datasets/fashion/f", "");
  assert_false(dtr_data_find(&env, "f", "model", NULL, found, sizeof found, &error));
  help_expect(&error, DTR_STATUS_DATA,
              "f: which one is meant: share/datasets/fashion/f or share/datasets/mnist/f? | name "
              "the folder with --data-dir, or write it into the path");
  expect_found("mnist/f", "share/datasets/mnist/f");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup(the_order_of_the_places, reset),
      cmocka_unit_test_setup(a_folder_is_no_file, reset),
      cmocka_unit_test_setup(missing, reset),
      cmocka_unit_test_setup(two_of_one_name, reset),
  };
  return cmocka_run_group_tests(tests, help_folder_enter, help_folder_leave);
}
