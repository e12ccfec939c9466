/* Every reader against damaged files: seeded changes of good ones. Nothing may crash, leak or read
 * out of bounds (the sanitizers watch), and what fails must say why. */
#include "help.h"

#include "runtime/checkpoint.h"
#include "runtime/data/sources.h"
#include "runtime/philox.h"
#include "tests/fuzz/fuzz_input.h"

#include <stdio.h>

enum { SEED = 1, ROUNDS = 4000, SIZE_LIMIT = 4096 };

/* A file in memory that is being changed. */
struct mutant {
  unsigned char bytes[SIZE_LIMIT];
  size_t size;
};

static uint64_t draw(uint64_t *counter, uint64_t bound) {
  return dtr_random_below(dtr_random_named(SEED, "mutate"), (*counter)++, bound);
}

static void byte_change(struct mutant *mutant, uint64_t *counter) {
  static const unsigned char favourites[] = {0,   1,   0x7f, 0x80, 0xff, '"', '{',
                                             '}', '[', ',',  '9',  '-',  '\n'};
  size_t at = draw(counter, mutant->size);
  switch (draw(counter, 3)) {
  case 0:
    mutant->bytes[at] ^= (unsigned char)(1 << draw(counter, 8));
    break;
  case 1:
    mutant->bytes[at] = favourites[draw(counter, sizeof favourites)];
    break;
  default:
    mutant->bytes[at] = (unsigned char)draw(counter, 256);
  }
}

static void range_change(struct mutant *mutant, uint64_t *counter) {
  size_t at = draw(counter, mutant->size), length = draw(counter, 16);
  if (length > mutant->size - at)
    length = mutant->size - at;
  if (draw(counter, 2)) { /* taken out */
    memmove(mutant->bytes + at, mutant->bytes + at + length, mutant->size - at - length);
    mutant->size -= length;
  } else if (mutant->size + length <= SIZE_LIMIT) { /* doubled */
    memmove(mutant->bytes + at + length, mutant->bytes + at, mutant->size - at);
    mutant->size += length;
  }
}

static void mutate(struct mutant *mutant, uint64_t *counter) {
  for (uint64_t changes = 1 + draw(counter, 4); changes > 0 && mutant->size > 0; changes--)
    switch (draw(counter, 8)) {
    case 0:
      mutant->size = draw(counter, mutant->size + 1);
      break;
    case 1:
    case 2:
      range_change(mutant, counter);
      break;
    default:
      byte_change(mutant, counter);
    }
}

typedef bool reader(const struct dtr_env *env, struct dtr_error *error);

static int folder_list(void *context, const char *path, dtr_list_visitor *visit,
                       void *visitor_context) {
  (void)context;
  (void)path;
  visit(visitor_context, "step-000000000001.safetensors");
  return 0;
}

/* One read of a file in memory: thousands of files on a disk would take their time. */
static bool read_bytes(reader *read, const void *bytes, size_t size, struct dtr_error *error) {
  struct fuzz_input input = {bytes, size, 0};
  struct dtr_env env = fuzz_env(&input);
  env.path_list = folder_list;
  dtr_error_clear(error);
  return read(&env, error);
}

static void check_outcome(bool done, const struct dtr_error *error) {
  assert_int_equal(done, !dtr_error_is_set(error));
  if (!done)
    assert_true(strlen(error->message) > 4);
}

/* Good files first: a reader that fails them would make the rest pass for nothing. */
static void run(const char *name, const void *good, size_t size, reader *read) {
  struct dtr_error error;
  uint64_t counter = 0;
  int accepted = 0;
  assert_true(size <= SIZE_LIMIT);
  bool done = read_bytes(read, good, size, &error);
  help_expect_none(&error);
  assert_true(done);
  print_message("%s: seed %d, %d rounds\n", name, SEED, ROUNDS);
  for (int round = 0; round < ROUNDS; round++) {
    struct mutant mutant = {.size = size};
    memcpy(mutant.bytes, good, size);
    mutate(&mutant, &counter);
    done = read_bytes(read, mutant.bytes, mutant.size, &error);
    check_outcome(done, &error);
    accepted += done;
  }
  assert_true(accepted < ROUNDS);
}

static bool values_outcome(bool done, struct dtr_values *values) {
  if (done)
    dtr_values_free(values);
  return done;
}

static bool idx_file(const struct dtr_env *env, struct dtr_error *error) {
  struct dtr_values values;
  return values_outcome(dtr_idx_read(env, "input", &values, error), &values);
}

static bool idx_gzip_file(const struct dtr_env *env, struct dtr_error *error) {
  struct dtr_values values;
  return values_outcome(dtr_idx_read(env, "input", &values, error), &values);
}

static bool npy_file(const struct dtr_env *env, struct dtr_error *error) {
  struct dtr_values values;
  return values_outcome(dtr_npy_read(env, "input", &values, error), &values);
}

static bool csv_file(const struct dtr_env *env, struct dtr_error *error) {
  struct dtr_values values;
  static const struct dtr_column column = {.member = "x"};
  return values_outcome(dtr_csv_read(env, "input", &column, DTR_F32, &values, error), &values);
}

static const char *const category_names[] = {"b", "a", "long name"};

static bool category_file(const struct dtr_env *env, struct dtr_error *error) {
  struct dtr_values values;
  static const struct dtr_column column = {
      .member = "x", .category_count = 3, .categories = category_names};
  return values_outcome(dtr_csv_read(env, "input", &column, DTR_I32, &values, error), &values);
}

static bool npz_file(const struct dtr_env *env, struct dtr_error *error) {
  struct dtr_values values;
  return values_outcome(dtr_npz_read(env, "input", "x", &values, error), &values);
}

static int path_info(void *context, const char *path, struct dtr_file_info *info) {
  (void)path;
  return fuzz_info(context, 3, info);
}

static bool cifar10_file(const struct dtr_env *env, struct dtr_error *error) {
  struct dtr_values values;
  struct dtr_env with_paths = *env;
  static const struct dtr_column column = {.path = "/input", .member = "image"};
  with_paths.path_info = path_info;
  return values_outcome(dtr_cifar10_read(&with_paths, &column, NULL, NULL, &values, error),
                        &values);
}

static bool tokens_file(const struct dtr_env *env, struct dtr_error *error) {
  struct dtr_values values;
  static const struct dtr_column column = {.member = "u16", .limit = 300};
  if (!dtr_tokens_read(env, "input", &column, &values, error))
    return false;
  bool done = dtr_values_window(&values, "column x", 3, 2, error);
  dtr_values_free(&values);
  return done;
}

static bool tensor_file(const struct dtr_env *env, struct dtr_error *error) {
  struct dtr_values values;
  return values_outcome(dtr_tensor_file_read(env, "input", "w", &values, error), &values);
}

static const struct dtr_variable variables[] = {
    {.path = "b", .dtype = DTR_F32, .rank = 1, .dims = {3}, .elements = 3},
    {.path = "w", .dtype = DTR_F32, .rank = 2, .dims = {2, 3}, .elements = 6, .offset = 64},
};
static const struct dtr_program program = {
    .model_id = "m", .variable_count = 2, .variables = variables, .variables_bytes = 128};
#define CHECKPOINT "step-000000000001.safetensors"

static bool checkpoint_file(const struct dtr_env *env, struct dtr_error *error) {
  struct dtr_checkpoint_state state;
  char block[128];
  return dtr_checkpoint_load(env, &program, ".", block, (struct dtr_remarks){0}, &state, NULL, 0,
                             error);
}

static void idx(void **state) {
  (void)state;
  unsigned char good[64] = {0, 0, 0x0c, 2, 0, 0, 0, 3, 0, 0, 0, 4};
  run("idx", good, 12 + 48, idx_file);
  help_write_gzip("made", good, 12 + 48);
  size_t size;
  char *bytes = help_read("made", &size);
  run("idx_gzip", bytes, size, idx_gzip_file);
  free(bytes);
}

static void npy(void **state) {
  (void)state;
  static const char good[] =
      "\x93NUMPY\1\0\x40\0{'descr': '<f4', 'fortran_order': False, 'shape': (2, 2), }    \n"
      "0123456789abcdef";
  run("npy", good, sizeof good - 1, npy_file);
}

static void csv(void **state) {
  (void)state;
  static const char good[] = "a,x,\"b \"\"c\"\"\"\r\n1,2.5,\"q,\nr\"\r\n2,-3e2,\n3,\"4\",z\n";
  run("csv", good, sizeof good - 1, csv_file);
  static const char named[] = "a,x,c\n1,b,\n2,\"long name\",q\n3,b,z\n4,a,\"\"\n";
  run("csv with categories", named, sizeof named - 1, category_file);
}

static void npz(void **state) {
  (void)state;
  static const char array[] =
      "\x93NUMPY\1\0\x40\0{'descr': '<f4', 'fortran_order': False, 'shape': (2, 2), }    \n"
      "0123456789abcdef";
  for (int deflated = 0; deflated < 2; deflated++) {
    const struct help_member members[] = {{"y.npy", array, sizeof array - 1, deflated},
                                          {"x.npy", array, sizeof array - 1, deflated}};
    help_write_zip("made", members, 2);
    size_t size;
    char *bytes = help_read("made", &size);
    run(deflated ? "npz, deflated" : "npz, stored", bytes, size, npz_file);
    free(bytes);
  }
}

static void records(void **state) {
  (void)state;
  char good[3073] = {7};
  run("cifar10", good, sizeof good, cifar10_file);
  static const char tokens[] = "\1\0\2\1\5\0\6\0\7\0\1\1";
  run("tokens", tokens, sizeof tokens - 1, tokens_file);
}

static void safetensors(void **state) {
  (void)state;
  struct dtr_error error;
  char block[128] = {1, 2, 3};
  size_t size;
  dtr_error_clear(&error);
  assert_true(dtr_tensors_save(dtr_env_real(), &program, "made", block, &error));
  char *bytes = help_read("made", &size);
  run("tensor", bytes, size, tensor_file);
  free(bytes);
}

static void checkpoint(void **state) {
  (void)state;
  struct dtr_error error;
  struct dtr_checkpoint_state run_state = {.step = 1, .seed = 1};
  char block[128] = {1, 2, 3};
  size_t size;
  dtr_error_clear(&error);
  assert_true(
      dtr_checkpoint_save(dtr_env_real(), &program, ".", 0, block, &run_state, NULL, 0, &error));
  char *bytes = help_read(CHECKPOINT, &size);
  run(CHECKPOINT, bytes, size, checkpoint_file);
  free(bytes);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(idx),        cmocka_unit_test(npy),     cmocka_unit_test(csv),
      cmocka_unit_test(npz),        cmocka_unit_test(records), cmocka_unit_test(safetensors),
      cmocka_unit_test(checkpoint),
  };
  return cmocka_run_group_tests(tests, help_folder_enter, help_folder_leave);
}
