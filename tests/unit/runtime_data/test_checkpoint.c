#include "help.h"

#include "runtime/checkpoint.h"

#include <errno.h>
#include <stdio.h>

static struct dtr_error error;

/* A program of two parameters, a slot and an integer state. */
static struct dtr_variable variables[4];
static struct dtr_program program;
enum { BLOCK = 512 };
static char block[BLOCK], loaded[BLOCK];
static char remarks_text[2048];

static void remark_write(void *context, const char *text) {
  (void)context;
  strcat(strcat(remarks_text, text), "\n");
}
static const struct dtr_remarks remarks = {remark_write, NULL};

static void variable_set(int index, const char *path, enum dtr_variable_kind kind,
                         enum dtr_dtype dtype, int64_t rows, int64_t columns) {
  variables[index] = (struct dtr_variable){.path = path,
                                           .kind = kind,
                                           .dtype = dtype,
                                           .rank = columns ? 2 : 1,
                                           .dims = {rows, columns},
                                           .elements = rows * (columns ? columns : 1),
                                           .offset = index * 128,
                                           .where = "m.dtg:3:1"};
}

static int reset(void **state) {
  (void)state;
  help_folder_clear();
  dtr_error_clear(&error);
  remarks_text[0] = 0;
  variable_set(0, "fc.w", DTR_VARIABLE_PARAM, DTR_F32, 4, 3);
  variable_set(1, "fc.b", DTR_VARIABLE_PARAM, DTR_F32, 3, 0);
  variable_set(2, "fc.w:v", DTR_VARIABLE_SLOT, DTR_F32, 4, 3);
  variable_set(3, "count", DTR_VARIABLE_STATE, DTR_I64, 2, 0);
  program = (struct dtr_program){.name = "m",
                                 .model_id = "aaaa",
                                 .variable_count = 4,
                                 .variables = variables,
                                 .variables_bytes = BLOCK};
  memset(block, 0, BLOCK);
  memset(loaded, 0, BLOCK);
  for (int i = 0; i < 4; i++)
    for (int byte = 0; byte < 12; byte++)
      block[128 * i + byte] = (char)(i * 16 + byte + 1);
  return 0;
}

static bool save(const struct dtr_env *env, int64_t step, int64_t keep) {
  struct dtr_checkpoint_state run = {.step = step, .epoch = step / 10, .seed = 7};
  return dtr_checkpoint_save(env, &program, "ck", keep, block, &run, NULL, 0, &error);
}

static void save_good(int64_t step, int64_t keep) {
  bool saved = save(dtr_env_real(), step, keep);
  help_expect_none(&error);
  assert_true(saved);
}

static bool load(struct dtr_checkpoint_state *run, char used[128]) {
  return dtr_checkpoint_load(dtr_env_real(), &program, "ck", loaded, remarks, run, used, 128,
                             &error);
}

static void expect_step(int64_t step) {
  struct dtr_checkpoint_state run;
  char used[128], path[128];
  bool good = load(&run, used);
  help_expect_none(&error);
  assert_true(good);
  assert_int_equal(run.step, step);
  snprintf(path, sizeof path, "ck/step-%012d.safetensors", (int)step);
  assert_string_equal(used, path);
}

static void a_checkpoint_comes_back(void **state) {
  (void)state;
  struct dtr_checkpoint_state run;
  char used[128];
  save_good(25, 0);
  assert_true(load(&run, used));
  assert_memory_equal(loaded, block, BLOCK);
  assert_int_equal(run.step, 25);
  assert_int_equal(run.epoch, 2);
  assert_int_equal(run.seed, 7);
  assert_string_equal(used, "ck/step-000000000025.safetensors");
  assert_string_equal(remarks_text, "");
}

static void equal_runs_write_equal_bytes(void **state) {
  (void)state;
  size_t first_size, second_size;
  save_good(1, 0);
  char *first = help_read("ck/step-000000000001.safetensors", &first_size);
  save_good(1, 0);
  char *second = help_read("ck/step-000000000001.safetensors", &second_size);
  assert_int_equal(first_size, second_size);
  assert_memory_equal(first, second, first_size);
  free(first);
  free(second);
}

/* A writer reads the variables at each save. */
static void a_writer_follows_the_variables(void **state) {
  (void)state;
  struct dtr_checkpoint_writer *writer;
  char path[128];
  assert_true(
      dtr_checkpoint_writer_make(dtr_env_real(), &program, "ck", 2, block, &writer, &error));
  for (int64_t step = 1; step <= 5; step++) {
    struct dtr_checkpoint_state run = {.step = step, .seed = INT64_MIN};
    block[0] = (char)step;
    assert_true(dtr_checkpoint_writer_save(writer, &run, path, sizeof path, &error));
    expect_step(step);
    assert_memory_equal(loaded, block, BLOCK);
  }
  assert_string_equal(path, "ck/step-000000000005.safetensors");
  assert_false(help_exists("ck/step-000000000003.safetensors"));
  assert_true(help_exists("ck/step-000000000004.safetensors"));
  dtr_checkpoint_writer_free(writer);
}

/* Names that only look like a checkpoint's are left alone. */
static void other_files_are_left_alone(void **state) {
  (void)state;
  static const char *const names[] = {"ck/step-0000000000001.safetensors", "ck/step-1.safetensors",
                                      "ck/step-000000000001.safetensors.tmp",
                                      "ck/step-99999999999999999999.safetensors"};
  save_good(10, 0);
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    help_write_text(names[i], "");
  save_good(20, 1);
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    assert_true(help_exists(names[i]));
  expect_step(20);
}

static void the_newest_are_kept(void **state) {
  (void)state;
  for (int64_t step = 10; step <= 50; step += 10)
    save_good(step, 2);
  assert_false(help_exists("ck/step-000000000030.safetensors"));
  assert_true(help_exists("ck/step-000000000040.safetensors"));
  assert_true(help_exists("ck/step-000000000050.safetensors"));
  help_write_text("ck/notes.txt", "mine");
  save_good(20, 1); /* an earlier step: what lies after it is not touched */
  assert_true(help_exists("ck/step-000000000020.safetensors"));
  assert_true(help_exists("ck/step-000000000050.safetensors"));
  assert_true(help_exists("ck/notes.txt"));
  int64_t newest;
  assert_true(dtr_checkpoint_newest(dtr_env_real(), "ck", &newest, &error));
  assert_int_equal(newest, 50);
  assert_true(dtr_checkpoint_newest(dtr_env_real(), "none", &newest, &error));
  assert_int_equal(newest, -1);
}

static void nothing_to_load(void **state) {
  (void)state;
  struct dtr_checkpoint_state run;
  char used[128];
  assert_false(load(&run, used));
  help_expect(&error, DTR_STATUS_CHECKPOINT,
              "there is no checkpoint in ck | start without --resume, or name the folder with "
              "--checkpoint-dir");
}

/* Whatever byte is changed or wherever the file ends: the one before is used, and it is said. */
static void every_damage_is_found(void **state) {
  (void)state;
  const char *path = "ck/step-000000000020.safetensors";
  size_t size;
  save_good(10, 0);
  block[0] ^= 1;
  save_good(20, 0);
  char *bytes = help_read(path, &size);
  for (size_t at = 0; at < size; at++) {
    struct dtr_checkpoint_state run;
    char used[128];
    bytes[at] ^= 4;
    help_write(path, bytes, size);
    remarks_text[0] = 0;
    assert_true(load(&run, used));
    if (run.step == 20) /* a space between header and data, or a key that nobody reads */
      assert_memory_equal(loaded, block, BLOCK);
    else
      assert_non_null(strstr(remarks_text, "; trying the checkpoint before it\n"));
    bytes[at] ^= 4;
  }
  for (size_t length = 0; length < size; length += 5) {
    help_write(path, bytes, length);
    remarks_text[0] = 0;
    expect_step(10);
    assert_non_null(strstr(remarks_text, "; trying the checkpoint before it\n"));
  }
  free(bytes);
}

static void damage_is_named(void **state) {
  (void)state;
  const char *path = "ck/step-000000000020.safetensors";
  struct dtr_checkpoint_state run;
  char used[128];
  size_t size;
  save_good(20, 0);
  char *bytes = help_read(path, &size);
  bytes[size - 1] ^= 1;
  help_write(path, bytes, size);
  assert_false(load(&run, used));
  const char *text = "ck/step-000000000020.safetensors: tensor \"fc.w:v\": wrong checksum: ";
  assert_ptr_equal(strstr(error.message, text), error.message);
  assert_string_equal(error.hint,
                      "no checkpoint in ck is valid: bring back a copy, or start without --resume");
  dtr_error_clear(&error);
  help_write(path, bytes, size - 1);
  assert_false(load(&run, used));
  char truncated[128];
  snprintf(truncated, sizeof truncated, "%s: truncated: %zu bytes of %zu", path, size - 1, size);
  assert_string_equal(error.message, truncated);
  dtr_error_clear(&error);
  free(bytes);
}

static void other_models_are_refused(void **state) {
  (void)state;
  struct dtr_checkpoint_state run;
  char used[128];
  save_good(20, 0);
  program.model_id = "bbbb";
  assert_false(load(&run, used));
  help_expect(&error, DTR_STATUS_CHECKPOINT,
              "ck/step-000000000020.safetensors: from another model: its id is aaaa, this "
              "program's is bbbb | the tensors are the same; --init takes their values alone");
  variables[0].dims[1] = 2;
  assert_false(load(&run, used));
  help_expect(&error, DTR_STATUS_CHECKPOINT,
              "ck/step-000000000020.safetensors: from another model: its id is aaaa, this "
              "program's is bbbb | tensor \"fc.w\" is f32[4, 3] in the file and f32[4, 2] in the "
              "model: name the folder of this program's own checkpoints");
  program.model_id = "aaaa";
  assert_false(load(&run, used));
  assert_string_equal(error.where, "m.dtg:3:1");
  help_expect(&error, DTR_STATUS_CHECKPOINT,
              "ck/step-000000000020.safetensors: tensor \"fc.w\" is f32[4, 3] in the file and "
              "f32[4, 2] in the model");
  variable_set(0, "fc.u", DTR_VARIABLE_PARAM, DTR_F32, 4, 3);
  assert_false(load(&run, used));
  help_expect(&error, DTR_STATUS_CHECKPOINT,
              "ck/step-000000000020.safetensors: there is no tensor \"fc.u\" (f32[4, 3] in the "
              "model)");
  variable_set(0, "fc.w", DTR_VARIABLE_PARAM, DTR_F32, 4, 3);
  program.variable_count = 3;
  assert_false(load(&run, used));
  help_expect(&error, DTR_STATUS_CHECKPOINT,
              "ck/step-000000000020.safetensors: 4 tensors in the file, 3 in the model");
  for (int i = 0; i < BLOCK; i++)
    assert_int_equal(loaded[i], 0);
}

/* The disk fails at each call in turn: the checkpoint before is there, and no other file. */
static void a_failing_disk_leaves_the_older_one(void **state) {
  (void)state;
  save_good(10, 0);
  struct dtr_env_fault fault = {.below = dtr_env_real()};
  struct dtr_env env = dtr_env_faulty(&fault);
  assert_true(save(&env, 20, 0));
  const struct dtr_env_fault calls = fault;
  assert_true(calls.writes >= 6 && calls.syncs == 2 && calls.renames == 1 && calls.closes == 1);
  remove("ck/step-000000000020.safetensors");
  int64_t *const sites[] = {&fault.fail_write, &fault.fail_sync, &fault.fail_rename,
                            &fault.fail_open, &fault.fail_close};
  const int64_t counts[] = {calls.writes, 1, 1, 1, 1};
  for (int site = 0; site < 5; site++)
    for (int64_t nth = 1; nth <= counts[site]; nth++) {
      memset(&fault, 0, sizeof fault);
      fault.below = dtr_env_real();
      fault.error = ENOSPC;
      fault.sticky = true;
      *sites[site] = nth;
      assert_false(save(&env, 20, 1));
      assert_int_equal(error.status, DTR_STATUS_IO);
      assert_non_null(strstr(error.message, "No space left on device"));
      assert_string_equal(error.hint, "the checkpoint of step 10 is still there; a checkpoint "
                                      "needs about 512 bytes");
      dtr_error_clear(&error);
      assert_false(help_exists("ck/step-000000000020.safetensors"));
      assert_false(help_exists("ck/step-000000000020.safetensors.tmp"));
      expect_step(10);
    }
}

static void a_full_disk_is_named(void **state) {
  (void)state;
  struct dtr_env_fault fault = {.below = dtr_env_real(), .fail_write = 3, .error = ENOSPC};
  struct dtr_env env = dtr_env_faulty(&fault);
  assert_false(save(&env, 20, 0));
  help_expect(&error, DTR_STATUS_IO,
              "cannot write ck/step-000000000020.safetensors: No space left on device | a "
              "checkpoint needs about 512 bytes");
  fault = (struct dtr_env_fault){.below = dtr_env_real(), .longest_transfer = 5};
  assert_true(save(&env, 20, 0));
  expect_step(20);
  help_write_text("file", "");
  struct dtr_checkpoint_state run = {0};
  assert_false(
      dtr_checkpoint_save(dtr_env_real(), &program, "file/ck", 0, block, &run, NULL, 0, &error));
  help_expect(&error, DTR_STATUS_IO, "cannot make the folder file/ck: Not a directory");
}

static void an_unreadable_disk_is_like_damage(void **state) {
  (void)state;
  struct dtr_checkpoint_state run;
  save_good(10, 0);
  save_good(20, 0);
  struct dtr_env_fault fault = {.below = dtr_env_real(), .fail_read = 3, .error = EIO};
  struct dtr_env env = dtr_env_faulty(&fault);
  assert_true(dtr_checkpoint_load(&env, &program, "ck", loaded, remarks, &run, NULL, 0, &error));
  assert_int_equal(run.step, 10);
  assert_string_equal(remarks_text, "ck/step-000000000020.safetensors: Input/output error; trying "
                                    "the checkpoint before it\n");
}

/* ---- --save and --init ---- */

static void saved_tensors_come_back(void **state) {
  (void)state;
  assert_true(dtr_tensors_save(dtr_env_real(), &program, "s", block, &error));
  assert_false(help_exists("s.tmp"));
  assert_true(dtr_tensors_init(dtr_env_real(), &program, "s", loaded, remarks, &error));
  assert_memory_equal(loaded, block, BLOCK);
  assert_string_equal(remarks_text, "");
}

static void slots_may_be_missing_parameters_not(void **state) {
  (void)state;
  struct dtr_program fewer = program;
  fewer.variable_count = 2;
  assert_true(dtr_tensors_save(dtr_env_real(), &fewer, "s", block, &error));
  assert_true(dtr_tensors_init(dtr_env_real(), &program, "s", loaded, remarks, &error));
  assert_memory_equal(loaded, block, 256);
  assert_int_equal(loaded[256], 0);
  fewer.variable_count = 1;
  assert_true(dtr_tensors_save(dtr_env_real(), &fewer, "s", block, &error));
  assert_false(dtr_tensors_init(dtr_env_real(), &program, "s", loaded, remarks, &error));
  assert_string_equal(error.where, "m.dtg:3:1");
  help_expect(&error, DTR_STATUS_CHECKPOINT,
              "s: there is no tensor \"fc.b\" (f32[3] in the model)");
}

static void surplus_tensors_are_remarked(void **state) {
  (void)state;
  assert_true(dtr_tensors_save(dtr_env_real(), &program, "s", block, &error));
  program.variable_count = 3;
  assert_true(dtr_tensors_init(dtr_env_real(), &program, "s", loaded, remarks, &error));
  assert_string_equal(remarks_text, "s: tensor \"count\" is not in the model; it is not used\n");
  remarks_text[0] = 0;
  program.variable_count = 1;
  assert_true(dtr_tensors_init(dtr_env_real(), &program, "s", loaded, remarks, &error));
  assert_string_equal(remarks_text, "s: 3 tensors are not in the model (\"count\" is the first); "
                                    "they are not used\n");
}

static void initial_shapes_and_types_must_match(void **state) {
  (void)state;
  assert_true(dtr_tensors_save(dtr_env_real(), &program, "s", block, &error));
  variables[2].dims[0] = 3;
  variables[2].dims[1] = 4;
  assert_false(dtr_tensors_init(dtr_env_real(), &program, "s", loaded, remarks, &error));
  help_expect(&error, DTR_STATUS_CHECKPOINT,
              "s: tensor \"fc.w:v\" is f32[4, 3] in the file and f32[3, 4] in the model");
  variable_set(2, "fc.w:v", DTR_VARIABLE_SLOT, DTR_I32, 4, 3);
  assert_false(dtr_tensors_init(dtr_env_real(), &program, "s", loaded, remarks, &error));
  help_expect(&error, DTR_STATUS_CHECKPOINT,
              "s: tensor \"fc.w:v\" is f32[4, 3] in the file and i32[4, 3] in the model");
  assert_false(dtr_tensors_init(dtr_env_real(), &program, "none", loaded, remarks, &error));
  help_expect(&error, DTR_STATUS_IO, "cannot open none: No such file or directory");
  struct dtr_env_fault fault = {.below = dtr_env_real(), .fail_rename = 1, .error = EXDEV};
  struct dtr_env env = dtr_env_faulty(&fault);
  assert_false(dtr_tensors_save(&env, &program, "s", block, &error));
  help_expect(&error, DTR_STATUS_IO, "cannot rename s.tmp to s: Invalid cross-device link");
  assert_false(help_exists("s.tmp"));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup(a_checkpoint_comes_back, reset),
      cmocka_unit_test_setup(equal_runs_write_equal_bytes, reset),
      cmocka_unit_test_setup(a_writer_follows_the_variables, reset),
      cmocka_unit_test_setup(other_files_are_left_alone, reset),
      cmocka_unit_test_setup(the_newest_are_kept, reset),
      cmocka_unit_test_setup(nothing_to_load, reset),
      cmocka_unit_test_setup(every_damage_is_found, reset),
      cmocka_unit_test_setup(damage_is_named, reset),
      cmocka_unit_test_setup(other_models_are_refused, reset),
      cmocka_unit_test_setup(a_failing_disk_leaves_the_older_one, reset),
      cmocka_unit_test_setup(a_full_disk_is_named, reset),
      cmocka_unit_test_setup(an_unreadable_disk_is_like_damage, reset),
      cmocka_unit_test_setup(saved_tensors_come_back, reset),
      cmocka_unit_test_setup(slots_may_be_missing_parameters_not, reset),
      cmocka_unit_test_setup(surplus_tensors_are_remarked, reset),
      cmocka_unit_test_setup(initial_shapes_and_types_must_match, reset),
  };
  return cmocka_run_group_tests(tests, help_folder_enter, help_folder_leave);
}
