#include "help.h"

#include "runtime/safetensors.h"

#include <errno.h>
#include <stdio.h>

static struct dtr_error error;

static bool write_once(const struct dtr_env *env, const char *path, const char *name,
                       uint32_t count, const struct dtr_tensor *tensors, const void *const *bytes,
                       uint32_t metadata_count, const struct dtr_metadata *metadata, bool sync,
                       struct dtr_error *problem) {
  struct dtr_safetensors_writer *writer;
  assert_true(dtr_safetensors_writer_make(count, tensors, bytes, 100, &writer, problem));
  bool done = dtr_safetensors_writer_write(writer, env, path, name, metadata_count, metadata, sync,
                                           problem);
  dtr_safetensors_writer_free(writer);
  return done;
}

/* A file with this header and so many bytes of data behind it. */
static void file_make(const char *header, size_t data) {
  size_t length = strlen(header);
  unsigned char *bytes = calloc(1, 8 + length + data);
  for (int i = 0; i < 8; i++)
    bytes[i] = (unsigned char)(length >> 8 * i);
  memcpy(bytes + 8, header, length);
  help_write("t", bytes, 8 + length + data);
  free(bytes);
}

static void expect_bad(const char *header, size_t data, const char *text) {
  struct dtr_safetensors *file = NULL;
  file_make(header, data);
  dtr_error_clear(&error);
  assert_false(dtr_safetensors_open(dtr_env_real(), "t", &file, &error));
  assert_null(file);
  help_expect(&error, DTR_STATUS_CHECKPOINT, text);
}

static void tensors_go_and_come_back(void **state) {
  (void)state;
  const struct dtr_tensor tensors[] = {
      {.name = "w",
       .element = DTR_ELEMENT_F32,
       .rank = 2,
       .dims = {2, 3},
       .elements = 6,
       .bytes = 24},
      {.name = "block[3].b:v", .element = DTR_ELEMENT_U8, .rank = 0, .elements = 1, .bytes = 1},
      {.name = "empty", .element = DTR_ELEMENT_I64, .rank = 1, .dims = {0}},
  };
  const float w[] = {1, 2, 3, 4, 5, 6};
  const unsigned char b = 7;
  const void *bytes[] = {w, &b, NULL};
  const struct dtr_metadata metadata[] = {{"step", "500"}, {"quote", "a\"b\n"}};
  dtr_error_clear(&error);
  assert_true(write_once(dtr_env_real(), "t", "t", 3, tensors, bytes, 2, metadata, true, &error));
  struct dtr_safetensors *file;
  assert_true(dtr_safetensors_open(dtr_env_real(), "t", &file, &error));
  assert_int_equal(dtr_safetensors_count(file), 3);
  assert_string_equal(dtr_safetensors_at(file, 0)->name, "block[3].b:v");
  assert_string_equal(dtr_safetensors_at(file, 2)->name, "w");
  const struct dtr_tensor *tensor = dtr_safetensors_find(file, "w");
  assert_int_equal(tensor->rank, 2);
  assert_int_equal(tensor->dims[1], 3);
  assert_int_equal(tensor->offset % 8, 1); /* behind the byte of the first: packed */
  float back[6];
  assert_true(dtr_safetensors_read(file, tensor, back, &error));
  assert_memory_equal(back, w, sizeof w);
  assert_null(dtr_safetensors_find(file, "v"));
  assert_string_equal(dtr_safetensors_metadata(file, "quote"), "a\"b\n");
  assert_null(dtr_safetensors_metadata(file, "none"));
  dtr_safetensors_close(file);
}

/* The room for the header is enough for the worst names and shapes. */
static void headers_of_the_worst_kind(void **state) {
  (void)state;
  enum { COUNT = 40 };
  char names[COUNT][64];
  struct dtr_tensor tensors[COUNT];
  const void *bytes[COUNT];
  char value[101] = {0};
  memset(value, 1, 93);
  for (int i = 0; i < COUNT; i++) {
    memset(names[i], i % 3 == 0 ? 1 : i % 3 == 1 ? '"' : '\\', 60);
    snprintf(names[i] + 60, 4, "%d", i);
    tensors[i] = (struct dtr_tensor){.name = names[i], .element = DTR_ELEMENT_BOOL, .rank = 8};
    for (int axis = 1; axis < 8; axis++)
      tensors[i].dims[axis] = INT64_MAX;
    bytes[i] = NULL;
  }
  const struct dtr_metadata metadata = {"k", value};
  struct dtr_safetensors *file;
  dtr_error_clear(&error);
  bool done =
      write_once(dtr_env_real(), "t", "t", COUNT, tensors, bytes, 1, &metadata, false, &error);
  help_expect_none(&error);
  assert_true(done);
  assert_true(dtr_safetensors_open(dtr_env_real(), "t", &file, &error));
  assert_int_equal(dtr_safetensors_count(file), COUNT);
  assert_string_equal(dtr_safetensors_metadata(file, "k"), value);
  for (int i = 0; i < COUNT; i++)
    assert_non_null(dtr_safetensors_find(file, names[i]));
  dtr_safetensors_close(file);
}

static void files_of_others_are_read(void **state) {
  (void)state;
  struct dtr_safetensors *file;
  char path[4096];
  const char *root = getenv("DTG_SOURCE_DIR");
  assert_non_null(root);
  snprintf(path, sizeof path, "%s/tests/reference/training/mlp/init.safetensors", root);
  dtr_error_clear(&error);
  bool opened = dtr_safetensors_open(dtr_env_real(), path, &file, &error);
  help_expect_none(&error);
  assert_true(opened);
  assert_true(dtr_safetensors_count(file) > 0);
  dtr_safetensors_close(file);
}

static void bad_headers(void **state) {
  (void)state;
  struct dtr_safetensors *file;
  help_write("t", "1234567", 7);
  dtr_error_clear(&error);
  assert_false(dtr_safetensors_open(dtr_env_real(), "t", &file, &error));
  help_expect(&error, DTR_STATUS_CHECKPOINT, "t: not a safetensors file: it has 7 bytes");
  help_write("t", "\xff\xff\xff\xff\xff\xff\xff\xff{}", 10);
  assert_false(dtr_safetensors_open(dtr_env_real(), "t", &file, &error));
  help_expect(&error, DTR_STATUS_CHECKPOINT,
              "t: not a safetensors file: its header would have 18446744073709551615 bytes");
  help_write("t", "\x20\0\0\0\0\0\0\0{}", 10);
  assert_false(dtr_safetensors_open(dtr_env_real(), "t", &file, &error));
  help_expect(&error, DTR_STATUS_CHECKPOINT, "t: truncated: 10 bytes, the header alone has 40");
  assert_false(dtr_safetensors_open(dtr_env_real(), "none", &file, &error));
  help_expect(&error, DTR_STATUS_IO, "cannot open none: No such file or directory");
  assert_false(dtr_safetensors_open(dtr_env_real(), ".", &file, &error));
  help_expect(&error, DTR_STATUS_IO, ".: Is a directory");
  expect_bad("[]", 0, "t: the header is not a JSON object");
  expect_bad("{\"a\":}", 0, "t: the header is not JSON: byte 6: unexpected token near '}'");
  expect_bad("{\"a\":{},\"a\":{}}", 0,
             "t: the header is not JSON: byte 11: duplicate object key near '\"a\"'");
  expect_bad("{\"__metadata__\":[]}", 0, "t: __metadata__ is not an object");
  expect_bad("{\"__metadata__\":{\"a\":1}}", 0, "t: __metadata__ has a value that is not a string");
}

static void bad_entries(void **state) {
  (void)state;
  expect_bad("{\"a\":3}", 0, "t: tensor \"a\": it has no dtype");
  expect_bad("{\"a\":{\"dtype\":\"F8_E4M3\"}}", 0,
             "t: tensor \"a\": element type \"F8_E4M3\" is not supported");
  expect_bad("{\"a\":{\"dtype\":\"F32\"}}", 0, "t: tensor \"a\": it has no shape");
  expect_bad("{\"a\":{\"dtype\":\"F32\",\"shape\":[-1]}}", 0,
             "t: tensor \"a\": its shape is not a list of sizes");
  expect_bad("{\"a\":{\"dtype\":\"F32\",\"shape\":[1,1,1,1,1,1,1,1,1]}}", 0,
             "t: tensor \"a\": 9 axes, at most 8 are supported");
  expect_bad("{\"a\":{\"dtype\":\"F32\",\"shape\":[4294967296,4294967296]}}", 0,
             "t: tensor \"a\": its shape is too large");
  expect_bad("{\"a\":{\"dtype\":\"F32\",\"shape\":[1]}}", 0,
             "t: tensor \"a\": it has no data_offsets");
  expect_bad("{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[4,0]}}", 4,
             "t: tensor \"a\": its data_offsets are no range");
  expect_bad("{\"a\":{\"dtype\":\"F32\",\"shape\":[1,2],\"data_offsets\":[0,4]}}", 4,
             "t: tensor \"a\": f32 of shape [1, 2] needs 8 bytes, its range has 4");
  expect_bad("{\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":"
             "[9223372036854775806,9223372036854775807]}}",
             4, "t: tensor \"a\": it lies beyond the end of the file");
}

static void bad_layouts(void **state) {
  (void)state;
#define ENTRY(name, size, begin, end) \
  "\"" name "\":{\"dtype\":\"U8\",\"shape\":[" #size "],\"data_offsets\":[" #begin "," #end "]}"
  expect_bad("{" ENTRY("a", 4, 0, 4) "," ENTRY("b", 4, 3, 7) "}", 7,
             "t: tensors \"a\" and \"b\" overlap");
  expect_bad("{" ENTRY("a", 4, 0, 4) "," ENTRY("b", 4, 5, 9) "}", 9,
             "t: tensor \"b\": there is a gap before it");
  expect_bad("{" ENTRY("a", 4, 1, 5) "}", 5, "t: tensor \"a\": there is a gap before it");
  expect_bad("{" ENTRY("a", 9, 0, 9) "}", 5, "t: truncated: 66 bytes of 70");
  expect_bad("{" ENTRY("a", 4, 0, 4) "}", 5, "t: 1 bytes follow the last tensor");
}

static void failing_disks(void **state) {
  (void)state;
  const struct dtr_tensor tensor = {
      .name = "a", .element = DTR_ELEMENT_U8, .rank = 1, .dims = {4}, .elements = 4, .bytes = 4};
  const void *bytes = "abcd";
  struct dtr_env_fault fault = {.below = dtr_env_real(), .fail_write = 2, .error = ENOSPC};
  struct dtr_env env = dtr_env_faulty(&fault);
  struct dtr_safetensors *file;
  dtr_error_clear(&error);
  assert_false(write_once(&env, "d", "d", 1, &tensor, &bytes, 0, NULL, true, &error));
  help_expect(&error, DTR_STATUS_IO, "cannot write d: No space left on device");
  fault = (struct dtr_env_fault){.below = dtr_env_real(), .fail_close = 1, .error = EIO};
  assert_false(write_once(&env, "d", "d", 1, &tensor, &bytes, 0, NULL, false, &error));
  help_expect(&error, DTR_STATUS_IO, "cannot write d: Input/output error");
  fault = (struct dtr_env_fault){.below = dtr_env_real(), .fail_open = 1, .error = EACCES};
  assert_false(write_once(&env, "d", "d", 1, &tensor, &bytes, 0, NULL, false, &error));
  help_expect(&error, DTR_STATUS_IO, "cannot create d: Permission denied");
  fault = (struct dtr_env_fault){.below = dtr_env_real(), .longest_transfer = 1};
  assert_true(write_once(&env, "d", "d", 1, &tensor, &bytes, 0, NULL, true, &error));
  assert_true(dtr_safetensors_open(&env, "d", &file, &error));
  char back[4];
  assert_true(dtr_safetensors_read(file, dtr_safetensors_at(file, 0), back, &error));
  assert_memory_equal(back, bytes, 4);
  fault = (struct dtr_env_fault){.below = dtr_env_real(), .fail_read = 1, .error = EIO};
  assert_false(dtr_safetensors_read(file, dtr_safetensors_at(file, 0), back, &error));
  help_expect(&error, DTR_STATUS_IO, "d: tensor \"a\": Input/output error");
  dtr_safetensors_close(file);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(tensors_go_and_come_back),
      cmocka_unit_test(files_of_others_are_read),
      cmocka_unit_test(headers_of_the_worst_kind),
      cmocka_unit_test(bad_headers),
      cmocka_unit_test(bad_entries),
      cmocka_unit_test(bad_layouts),
      cmocka_unit_test(failing_disks),
  };
  return cmocka_run_group_tests(tests, help_folder_enter, help_folder_leave);
}
