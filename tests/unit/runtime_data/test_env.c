#include "help.h"

#include <errno.h>
#include <stdio.h>

static int sum_of_lengths;

static void entry_count(void *context, const char *name) {
  *(int *)context += (int)strlen(name);
}

static void real_row_reads_and_writes(void **state) {
  (void)state;
  const struct dtr_env *env = dtr_env_real();
  int file = env->file_open(env->context, "a", DTR_FILE_CREATE);
  assert_true(file >= 0);
  assert_int_equal(dtr_env_write_all(env, file, "hello", 5), 0);
  assert_int_equal(env->file_sync(env->context, file), 0);
  assert_int_equal(env->file_close(env->context, file), 0);
  file = env->file_open(env->context, "a", DTR_FILE_APPEND);
  assert_int_equal(dtr_env_write_all(env, file, "!", 1), 0);
  env->file_close(env->context, file);
  file = env->file_open(env->context, "a", DTR_FILE_READ);
  char text[8] = {0};
  assert_int_equal(dtr_env_pread_all(env, file, text, 3, 3), 0);
  assert_string_equal(text, "lo!");
  assert_int_equal(dtr_env_pread_all(env, file, text, 4, 3), -ENODATA);
  struct dtr_file_info info;
  assert_int_equal(env->file_info(env->context, file, &info), 0);
  assert_int_equal(info.size, 6);
  env->file_close(env->context, file);
  assert_int_equal(env->path_rename(env->context, "a", "bcd"), 0);
  assert_int_equal(env->path_info(env->context, "a", &info), -ENOENT);
  assert_int_equal(env->file_open(env->context, "a", DTR_FILE_READ), -ENOENT);
  sum_of_lengths = 0;
  assert_int_equal(env->path_list(env->context, ".", entry_count, &sum_of_lengths), 0);
  assert_int_equal(sum_of_lengths, 3);
  assert_int_equal(env->path_sync(env->context, "."), 0);
  assert_int_equal(env->path_unlink(env->context, "bcd"), 0);
  assert_int_equal(env->path_list(env->context, "nowhere", entry_count, NULL), -ENOENT);
}

static void time_goes_on(void **state) {
  (void)state;
  const struct dtr_env *env = dtr_env_real();
  int64_t first = dtr_env_now(env), second = dtr_env_now(env);
  assert_true(second >= first);
  assert_true(env->wall_time(env->context) > INT64_C(1600000000000000000));
}

static void folders_are_made_with_parents(void **state) {
  (void)state;
  const struct dtr_env *env = dtr_env_real();
  assert_int_equal(dtr_env_mkdir_all(env, "x//y/z/"), 0);
  assert_int_equal(dtr_env_mkdir_all(env, "x/y/z"), 0);
  help_write_text("x/file", "");
  assert_int_equal(dtr_env_mkdir_all(env, "x/file"), -ENOTDIR);
  assert_int_equal(dtr_env_mkdir_all(env, "x/file/more"), -ENOTDIR);
  assert_int_equal(dtr_env_mkdir_all(env, ""), -ENOENT);
}

static void the_nth_write_fails(void **state) {
  (void)state;
  struct dtr_env_fault fault = {.below = dtr_env_real(), .fail_write = 2, .error = ENOSPC};
  struct dtr_env env = dtr_env_faulty(&fault);
  int file = env.file_open(env.context, "f", DTR_FILE_CREATE);
  assert_int_equal(dtr_env_write_all(&env, file, "abc", 3), 0);
  assert_int_equal(dtr_env_write_all(&env, file, "def", 3), -ENOSPC);
  assert_int_equal(dtr_env_write_all(&env, file, "ghi", 3), 0);
  env.file_close(env.context, file);
  fault = (struct dtr_env_fault){
      .below = dtr_env_real(), .fail_write = 1, .error = ENOSPC, .sticky = true};
  file = env.file_open(env.context, "f", DTR_FILE_CREATE);
  assert_int_equal(dtr_env_write_all(&env, file, "abc", 3), -ENOSPC);
  assert_int_equal(dtr_env_write_all(&env, file, "def", 3), -ENOSPC);
  env.file_close(env.context, file);
}

static void short_transfers_are_put_together(void **state) {
  (void)state;
  struct dtr_env_fault fault = {.below = dtr_env_real(), .longest_transfer = 3};
  struct dtr_env env = dtr_env_faulty(&fault);
  int file = env.file_open(env.context, "s", DTR_FILE_CREATE);
  assert_int_equal(dtr_env_write_all(&env, file, "0123456789", 10), 0);
  assert_int_equal(fault.writes, 4);
  env.file_close(env.context, file);
  char text[11] = {0};
  file = env.file_open(env.context, "s", DTR_FILE_READ);
  assert_int_equal(dtr_env_pread_all(&env, file, text, 10, 0), 0);
  assert_string_equal(text, "0123456789");
  assert_int_equal(fault.reads, 4);
  env.file_close(env.context, file);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(real_row_reads_and_writes),        cmocka_unit_test(time_goes_on),
      cmocka_unit_test(folders_are_made_with_parents),    cmocka_unit_test(the_nth_write_fails),
      cmocka_unit_test(short_transfers_are_put_together),
  };
  return cmocka_run_group_tests(tests, help_folder_enter, help_folder_leave);
}
