/* The simulated disk: files, what a crash leaves of them, and faults; then real checkpoints on it.
 */
#include "runtime/sim/env_sim.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

struct machine {
  struct dtr_sim_world world;
  struct dtr_sim_disk *disk;
  const struct dtr_env *env;
};

static void start(struct machine *machine, uint64_t seed,
                  const struct dtr_sim_disk_faults *faults) {
  static const struct dtr_sim_disk_faults none = {0};
  struct dtr_error error;
  dtr_error_clear(&error);
  *machine = (struct machine){.world = {.seed = seed}};
  assert_true(dtr_sim_disk_new(&machine->world, faults ? faults : &none, NULL, false,
                               &machine->disk, &error));
  machine->env = dtr_sim_disk_env(machine->disk);
}

static int put(struct machine *machine, const char *path, const char *text, bool sync) {
  const struct dtr_env *env = machine->env;
  int file = env->file_open(env->context, path, DTR_FILE_CREATE);
  if (file < 0)
    return file;
  int result = dtr_env_write_all(env, file, text, strlen(text));
  if (result == 0 && sync)
    result = env->file_sync(env->context, file);
  int closed = env->file_close(env->context, file);
  return result < 0 ? result : closed;
}

static void expect(struct machine *machine, const char *path, const char *text) {
  int64_t size;
  const char *bytes = dtr_sim_disk_bytes(machine->disk, path, &size);
  assert_non_null(bytes);
  assert_int_equal(size, strlen(text));
  assert_memory_equal(bytes, text, strlen(text));
}

static bool is_there(struct machine *machine, const char *path) {
  int64_t size;
  return dtr_sim_disk_bytes(machine->disk, path, &size) != NULL;
}

static void count_name(void *context, const char *name) {
  *(int *)context += strcmp(name, "a") == 0 ? 1 : 100;
}

static void files_are_files(void **state) {
  (void)state;
  struct machine machine;
  struct dtr_file_info info;
  char text[16] = "";
  int count = 0;
  start(&machine, 1, NULL);
  const struct dtr_env *env = machine.env;
  assert_int_equal(put(&machine, "no/such/folder", "x", false), -ENOENT);
  assert_int_equal(dtr_env_mkdir_all(env, "d//e/"), 0);
  assert_int_equal(env->path_mkdir(env->context, "d"), -EEXIST);
  assert_int_equal(put(&machine, "./d/e//a", "hello", false), 0);
  expect(&machine, "d/e/a", "hello");
  assert_int_equal(env->path_list(env->context, "d/e/", count_name, &count), 0);
  assert_int_equal(count, 1);
  assert_int_equal(env->path_info(env->context, "d/e", &info), 0);
  assert_true(info.is_directory);
  assert_int_equal(env->path_info(env->context, "d/f", &info), -ENOENT);

  int file = env->file_open(env->context, "d/e/a", DTR_FILE_APPEND);
  assert_int_equal(env->file_write(env->context, file, " you", 4), 4);
  env->file_close(env->context, file);
  assert_int_equal(env->file_write(env->context, file, "x", 1), -EBADF);
  file = env->file_open(env->context, "d/e/a", DTR_FILE_READ);
  assert_int_equal(dtr_env_pread_all(env, file, text, 3, 6), 0);
  assert_string_equal(text, "you");
  assert_int_equal(dtr_env_pread_all(env, file, text, 4, 6), -ENODATA);
  env->file_close(env->context, file);

  assert_int_equal(env->path_rename(env->context, "d/e/a", "b"), 0);
  assert_false(is_there(&machine, "d/e/a"));
  expect(&machine, "b", "hello you");
  assert_int_equal(env->path_unlink(env->context, "b"), 0);
  assert_int_equal(env->path_unlink(env->context, "b"), -ENOENT);
  dtr_sim_disk_free(machine.disk);
}

/* Over many seeds, each thing that may happen does, and nothing else. */
static void a_crash_keeps_what_is_synced(void **state) {
  (void)state;
  int lost = 0, torn = 0, whole = 0;
  for (uint64_t seed = 1; seed <= 200; seed++) {
    struct machine machine;
    int64_t size = -1;
    start(&machine, seed, NULL);
    put(&machine, "kept", "all of it", true);
    machine.env->path_sync(machine.env->context, "");
    put(&machine, "loose", "0123456789", false);
    dtr_sim_disk_crash(machine.disk);
    expect(&machine, "kept", "all of it");
    const char *bytes = dtr_sim_disk_bytes(machine.disk, "loose", &size);
    lost += !bytes;
    torn += bytes && size < 10;
    whole += bytes && size == 10;
    assert_true(!bytes || memcmp(bytes, "0123456789", (size_t)size) == 0);
    dtr_sim_disk_free(machine.disk);
  }
  assert_true(lost > 50 && torn > 50 && whole > 0);
}

/* The way of checkpoints: a reader finds the old contents or the new, whole. */
static void replace(struct machine *machine, const char *text) {
  const struct dtr_env *env = machine->env;
  if (put(machine, "x.tmp", text, true) == 0 && env->path_rename(env->context, "x.tmp", "x") == 0)
    env->path_sync(env->context, "");
}

static void replacing_is_all_or_nothing(void **state) {
  (void)state;
  int before = 0, after = 0;
  for (int64_t call = 1; call <= 8; call++)
    for (uint64_t seed = 1; seed <= 20; seed++) {
      struct machine machine;
      int64_t size;
      start(&machine, seed, NULL);
      replace(&machine, "old");
      dtr_sim_disk_crash_at(machine.disk, call);
      replace(&machine, "newer");
      if (!dtr_sim_disk_has_stopped(machine.disk))
        dtr_sim_disk_crash(machine.disk);
      dtr_sim_disk_start(machine.disk);
      const char *bytes = dtr_sim_disk_bytes(machine.disk, "x", &size);
      assert_non_null(bytes);
      assert_true((size == 3 && memcmp(bytes, "old", 3) == 0) ||
                  (size == 5 && memcmp(bytes, "newer", 5) == 0));
      *(size == 3 ? &before : &after) += 1;
      dtr_sim_disk_free(machine.disk);
    }
  assert_true(before > 20 && after > 20);
}

/* Without the sync of the file, the same is not safe, and the disk shows it. */
static void forgetting_to_sync_is_found(void **state) {
  (void)state;
  int bad = 0;
  for (uint64_t seed = 1; seed <= 50; seed++) {
    struct machine machine;
    int64_t size;
    start(&machine, seed, NULL);
    put(&machine, "x.tmp", "newer", false);
    machine.env->path_rename(machine.env->context, "x.tmp", "x");
    machine.env->path_sync(machine.env->context, "");
    dtr_sim_disk_crash(machine.disk);
    const char *bytes = dtr_sim_disk_bytes(machine.disk, "x", &size);
    bad += !bytes || size != 5;
    dtr_sim_disk_free(machine.disk);
  }
  assert_true(bad > 20);
}

static void a_lost_folder_takes_its_files(void **state) {
  (void)state;
  int lost = 0;
  for (uint64_t seed = 1; seed <= 50; seed++) {
    struct machine machine;
    struct dtr_file_info info;
    start(&machine, seed, NULL);
    machine.env->path_mkdir(machine.env->context, "d");
    put(&machine, "d/x", "1", true);
    machine.env->path_sync(machine.env->context, "d");
    dtr_sim_disk_crash(machine.disk);
    bool gone = machine.env->path_info(machine.env->context, "d", &info) < 0;
    assert_int_equal(is_there(&machine, "d/x"), !gone);
    lost += gone;
    dtr_sim_disk_free(machine.disk);
  }
  assert_true(lost > 10 && lost < 40);
}

static void faults_come_as_often_as_asked(void **state) {
  (void)state;
  static const struct dtr_sim_disk_faults faults = {
      .write = 200000, .short_transfer = 500000, .slowest = 1000};
  struct machine machine;
  int failed = 0;
  start(&machine, 7, &faults);
  for (int i = 0; i < 500; i++) {
    int result = put(&machine, "x", "0123456789", true);
    assert_true(result == 0 || result == -EIO || result == -ENOSPC);
    failed += result < 0;
    if (result == 0)
      expect(&machine, "x", "0123456789");
  }
  struct dtr_sim_disk_counts counts = dtr_sim_disk_counts(machine.disk);
  assert_int_equal(counts.failures, failed);
  assert_true(failed > 100 && failed < 400 && counts.short_transfers > 100);
  assert_true(machine.world.spent > 500 && machine.world.spent <= counts.calls * 1000);
  assert_int_equal(machine.world.now, 0); /* the driver's */
  dtr_sim_disk_free(machine.disk);
}

static void a_full_disk_stays_full(void **state) {
  (void)state;
  static const struct dtr_sim_disk_faults faults = {.capacity = 12};
  struct machine machine;
  start(&machine, 1, &faults);
  assert_int_equal(put(&machine, "a", "0123456789", true), 0);
  assert_int_equal(put(&machine, "b", "0123456789", true), -ENOSPC);
  assert_int_equal(machine.env->path_unlink(machine.env->context, "a"), 0);
  assert_int_equal(put(&machine, "b", "0123456789", true), 0);
  dtr_sim_disk_free(machine.disk);
}

static void a_dead_machine_does_nothing(void **state) {
  (void)state;
  struct machine machine;
  start(&machine, 1, NULL);
  put(&machine, "a", "1", true);
  machine.env->path_sync(machine.env->context, "");
  dtr_sim_disk_crash_at(machine.disk, 1);
  assert_true(put(&machine, "a", "22", true) < 0);
  assert_true(dtr_sim_disk_has_stopped(machine.disk));
  assert_true(machine.env->path_unlink(machine.env->context, "a") < 0);
  dtr_sim_disk_start(machine.disk);
  expect(&machine, "a", "1");
  assert_int_equal(dtr_sim_disk_counts(machine.disk).crashes, 1);
  dtr_sim_disk_free(machine.disk);
}

/* Data sets lie on the real disk: files and folders are found there, and only read. */
static void data_is_read_through(void **state) {
  (void)state;
  char folder[] = "disk-XXXXXX", path[64];
  assert_non_null(mkdtemp(folder));
  snprintf(path, sizeof path, "%s/a", folder);
  FILE *file = fopen(path, "w");
  assert_non_null(file);
  fclose(file);
  struct dtr_sim_world world = {.seed = 1};
  static const struct dtr_sim_disk_faults none = {0};
  struct dtr_sim_disk *disk;
  struct dtr_error error;
  dtr_error_clear(&error);
  assert_true(dtr_sim_disk_new(&world, &none, dtr_env_real(), false, &disk, &error));
  const struct dtr_env *env = dtr_sim_disk_env(disk);
  int names = 0;
  assert_int_equal(env->path_list(env->context, folder, count_name, &names), 0);
  assert_int_equal(names, 1);
  /* Reading a file does not make its folder one of the simulated disk. */
  int handle = env->file_open(env->context, path, DTR_FILE_READ);
  assert_true(handle >= 0);
  env->file_close(env->context, handle);
  assert_int_equal(env->path_list(env->context, folder, count_name, &names), 0);
  assert_int_equal(names, 2);
  /* Nor does a crash take it: nothing of the real disk is ever lost. */
  dtr_sim_disk_crash(disk);
  dtr_sim_disk_start(disk);
  handle = env->file_open(env->context, path, DTR_FILE_READ);
  assert_true(handle >= 0);
  env->file_close(env->context, handle);
  assert_int_equal(env->path_list(env->context, "no-such-folder", count_name, &names), -ENOENT);
  dtr_sim_disk_free(disk);
  remove(path);
  remove(folder);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(files_are_files),
      cmocka_unit_test(a_crash_keeps_what_is_synced),
      cmocka_unit_test(replacing_is_all_or_nothing),
      cmocka_unit_test(forgetting_to_sync_is_found),
      cmocka_unit_test(a_lost_folder_takes_its_files),
      cmocka_unit_test(faults_come_as_often_as_asked),
      cmocka_unit_test(a_full_disk_stays_full),
      cmocka_unit_test(a_dead_machine_does_nothing),
      cmocka_unit_test(data_is_read_through),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
