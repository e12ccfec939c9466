/* Sources whose files are records of one kind: npz, cifar10, bytes, tokens, csv with categories;
 * and windows over any of them. */
#include "help.h"

#include "runtime/data/data.h"
#include "runtime/data/sources.h"

#include <stdio.h>
#include <sys/stat.h>

static struct dtr_error error;
static struct dtr_values values;

static int reset(void **state) {
  (void)state;
  help_folder_clear();
  dtr_error_clear(&error);
  return 0;
}

static void good(bool done) {
  help_expect_none(&error);
  assert_true(done);
}

static void bad(bool done, const char *text) {
  assert_false(done);
  help_expect(&error, DTR_STATUS_DATA, text);
}

/* ---- npz ---- */

/* `shape` of six characters. */
#define NPY(type, shape) \
  "\x93NUMPY\1\0\x40\0{'descr': '" type "', 'fortran_order': False, 'shape': " shape ", }    \n"
static const char floats[] = NPY("<f4", "(2, 2)") "0123456789abcdef";
static const char bytes3[] = NPY("|u1", "(3,  )") "\7\10\11";

static void archive_write(bool deflated) {
  const struct help_member members[] = {{"x.npy", floats, sizeof floats - 1, deflated},
                                        {"readme.txt", "text", 4, deflated},
                                        {"labels.npy", bytes3, sizeof bytes3 - 1, deflated}};
  help_write_zip("f.npz", members, 3);
}

static void npz_arrays(void **state) {
  (void)state;
  for (int deflated = 0; deflated < 2; deflated++) {
    archive_write(deflated);
    good(dtr_npz_read(dtr_env_real(), "f.npz", "x", &values, &error));
    assert_int_equal(values.rows, 2);
    assert_int_equal(values.dims[0], 2);
    assert_memory_equal(values.bytes, "0123456789abcdef", 16);
    dtr_values_free(&values);
    good(dtr_npz_read(dtr_env_real(), "f.npz", "labels", &values, &error));
    assert_int_equal(values.element, DTR_ELEMENT_U8);
    assert_memory_equal(values.bytes, "\7\10\11", 3);
    dtr_values_free(&values);
  }
}

static bool npz_read(const char *name) {
  return dtr_npz_read(dtr_env_real(), "f.npz", name, &values, &error);
}

static void npz_names(void **state) {
  (void)state;
  archive_write(true);
  bad(npz_read("label"), "f.npz: there is no array \"label\" | did you mean \"labels\"? The arrays "
                         "are \"x\", \"labels\"");
  bad(npz_read("q"), "f.npz: there is no array \"q\" | the arrays are \"x\", \"labels\"");
  help_write_zip("f.npz", &(struct help_member){"a", "b", 1, false}, 1);
  bad(npz_read("a"), "f.npz: there is no array \"a\" | the archive has no arrays");
}

static void npz_damage(void **state) {
  (void)state;
  help_write_text("f.npz", "no archive at all");
  bad(npz_read("x"), "f.npz: not a zip archive, or a damaged one");
  help_write("f.npz", "", 0);
  bad(npz_read("x"), "f.npz: not a zip archive, or a damaged one");
  const char text[] = NPY("<f4", "(2, 2)") "0123";
  help_write_zip("f.npz", &(struct help_member){"x.npy", text, sizeof text - 1, true}, 1);
  bad(npz_read("x"),
      "f.npz: x: truncated: f32[2, 2] needs 16 bytes after the header, there are at most 4");
  const char more[] = NPY("<f4", "(2, 2)") "0123456789abcdefg";
  help_write_zip("f.npz", &(struct help_member){"x.npy", more, sizeof more - 1, false}, 1);
  bad(npz_read("x"), "f.npz: x: something follows the data, which ends after 90 bytes");
  archive_write(false);
  size_t size;
  char *file = help_read("f.npz", &size), *payload = memmem(file, size, "0123", 4);
  *payload ^= 1;
  help_write("f.npz", file, size);
  bad(npz_read("x"), "f.npz: damaged archive: wrong checksum, or a member that ends too early");
  free(file);
  archive_write(true);
  file = help_read("f.npz", &size);
  file[30 + 5 + 1] = (char)0xff; /* the first member's deflate data: local header, "x.npy" */
  help_write("f.npz", file, size);
  assert_false(npz_read("x"));
  assert_non_null(strstr(error.message, "f.npz: damaged archive: "));
  dtr_error_clear(&error);
  help_write("f.npz", file, size - 30);
  bad(npz_read("x"), "f.npz: not a zip archive, or a damaged one");
  free(file);
}

static void npz_methods(void **state) {
  (void)state;
  size_t size;
  archive_write(true);
  char *file = help_read("f.npz", &size), *entry = memmem(file, size, "PK\1\2", 4);
  entry[10] = 12; /* the method of the first member in the directory */
  help_write("f.npz", file, size);
  bad(npz_read("x"), "f.npz: the array \"x\" is compressed by method 12, not stored or deflated");
  entry[10] = 8;
  entry[8] |= 1;
  help_write("f.npz", file, size);
  bad(npz_read("x"), "f.npz: the array \"x\" is encrypted");
  entry[8] &= ~1;
  entry[20] = entry[21] = entry[22] = 0x7f; /* its size in the file */
  help_write("f.npz", file, size);
  bad(npz_read("x"), "f.npz: damaged archive: a member is larger than the file");
  free(file);
}

static void npz_disk(void **state) {
  (void)state;
  archive_write(true);
  struct dtr_env_fault fault = {.below = dtr_env_real(), .fail_read = 2, .error = 5};
  struct dtr_env env = dtr_env_faulty(&fault);
  assert_false(dtr_npz_read(&env, "f.npz", "x", &values, &error));
  help_expect(&error, DTR_STATUS_IO, "cannot read f.npz: Input/output error");
  assert_false(dtr_npz_read(dtr_env_real(), "g.npz", "x", &values, &error));
  help_expect(&error, DTR_STATUS_IO, "cannot open g.npz: No such file or directory");
}

/* ---- cifar10 ---- */

enum { RECORD = 3073 };

/* Record r of a file whose first label is `first`: label first + r, all pixels 10 * file + r. */
static void records_write(const char *path, int file, int count) {
  unsigned char *bytes = malloc((size_t)count * RECORD);
  for (int r = 0; r < count; r++) {
    memset(bytes + r * RECORD, 10 * file + r, RECORD);
    bytes[r * RECORD] = (unsigned char)((file + r) % 10);
    bytes[r * RECORD + 1] = 99; /* the first red pixel */
  }
  help_write(path, bytes, (size_t)count * RECORD);
  free(bytes);
}

static struct dtr_column cifar10_column(const char *path, const char *field) {
  return (struct dtr_column){
      .name = "image", .kind = DTR_SOURCE_CIFAR10, .path = path, .member = field};
}

static bool cifar10_read(const struct dtr_column *column) {
  return dtr_cifar10_read(dtr_env_real(), column, NULL, NULL, &values, &error);
}

static void cifar10_file(void **state) {
  (void)state;
  records_write("data_batch_2.bin", 2, 3);
  struct dtr_column column = cifar10_column("data_batch_2.bin", "image");
  good(cifar10_read(&column));
  assert_int_equal(values.rows, 3);
  assert_int_equal(values.rank, 3);
  assert_int_equal(values.dims[0], 3);
  assert_int_equal(values.dims[2], 32);
  assert_int_equal((unsigned char)values.bytes[3072], 99);
  assert_int_equal((unsigned char)values.bytes[3072 + 1], 21);
  dtr_values_free(&values);
  column.member = "label";
  good(cifar10_read(&column));
  assert_int_equal(values.rank, 0);
  assert_memory_equal(values.bytes, "\2\3\4", 3);
  dtr_values_free(&values);
  size_t size;
  char *bytes = help_read("data_batch_2.bin", &size);
  help_write_gzip("packed", bytes, size);
  free(bytes);
  column.path = "packed";
  good(cifar10_read(&column));
  assert_memory_equal(values.bytes, "\2\3\4", 3);
  dtr_values_free(&values);
}

static void cifar10_folder(void **state) {
  (void)state;
  char path[64];
  assert_int_equal(mkdir("all", 0777), 0);
  for (int file = 1; file <= 5; file++) {
    snprintf(path, sizeof path, "all/data_batch_%d.bin", file);
    records_write(path, file, file);
  }
  records_write("all/test_batch.bin", 7, 2);
  struct dtr_column column = cifar10_column("all", "label");
  good(cifar10_read(&column));
  assert_int_equal(values.rows, 15);
  assert_memory_equal(values.bytes, "\1\2\3\3\4\5\4\5\6\7\5\6\7\10\11", 15);
  dtr_values_free(&values);
  column.is_test = true;
  good(cifar10_read(&column));
  assert_memory_equal(values.bytes, "\7\10", 2);
  dtr_values_free(&values);
  assert_int_equal(remove("all/test_batch.bin"), 0);
  bad(cifar10_read(&column), "all: there is no test_batch.bin in this folder | the folder of "
                             "CIFAR-10 has data_batch_1.bin "
                             "to data_batch_5.bin and test_batch.bin; name it, or one file");
}

static void cifar10_errors(void **state) {
  (void)state;
  struct dtr_column column = cifar10_column("f.bin", "image");
  help_write_text("f.bin", "GIF89a");
  bad(cifar10_read(&column), "f.bin: 6 bytes are not a whole number of records of 3073 bytes");
  help_write("f.bin", "", 0);
  bad(cifar10_read(&column), "f.bin: 0 bytes are not a whole number of records of 3073 bytes");
  records_write("f.bin", 1, 2);
  size_t size;
  char *bytes = help_read("f.bin", &size);
  bytes[RECORD] = 10;
  help_write("f.bin", bytes, size);
  bad(cifar10_read(&column), "f.bin: record 1 has the label 10, the classes are 0 to 9");
  help_write("f.bin", bytes, size - 1);
  bad(cifar10_read(&column), "f.bin: 6145 bytes are not a whole number of records of 3073 bytes");
  free(bytes);
  column.path = "elsewhere";
  assert_false(cifar10_read(&column));
  assert_string_equal(error.message, "elsewhere: there is no such data file");
  dtr_error_clear(&error);
}

/* ---- bytes and tokens ---- */

static void bytes_of_files(void **state) {
  (void)state;
  help_write_text("f", "abc");
  good(dtr_bytes_read(dtr_env_real(), "f", &values, &error));
  assert_int_equal(values.rows, 3);
  assert_int_equal(values.rank, 0);
  assert_memory_equal(values.bytes, "abc", 3);
  dtr_values_free(&values);
  help_write_gzip("f.gz", "abcd", 4);
  good(dtr_bytes_read(dtr_env_real(), "f.gz", &values, &error));
  assert_memory_equal(values.bytes, "abcd", 4);
  dtr_values_free(&values);
  help_write("f", "", 0);
  good(dtr_bytes_read(dtr_env_real(), "f", &values, &error));
  assert_int_equal(values.rows, 0);
  dtr_values_free(&values);
}

static bool tokens_read(const char *type, int64_t limit) {
  struct dtr_column column = {.name = "t", .member = type, .limit = limit};
  return dtr_tokens_read(dtr_env_real(), "f", &column, &values, &error);
}

static void tokens_of_files(void **state) {
  (void)state;
  help_write("f", "\1\0\2\1\xff\xff\0\0", 8);
  good(tokens_read("u16", 0));
  assert_int_equal(values.rows, 4);
  assert_int_equal(((uint16_t *)values.bytes)[1], 258);
  dtr_values_free(&values);
  good(tokens_read("u16", 65536));
  dtr_values_free(&values);
  good(tokens_read("u32", 0));
  assert_int_equal(values.rows, 2);
  dtr_values_free(&values);
  good(tokens_read("u8", 256));
  dtr_values_free(&values);
  bad(tokens_read("u16", 65535), "f: token 2 is 65535, the vocabulary has 0 to 65534");
  bad(tokens_read("i64", 50257), "f: token 0 is 281470698651649, the vocabulary has 0 to 50256");
  help_write("f", "\0\0\0\0\xff\xff\xff\xff", 8);
  bad(tokens_read("i32", 10), "f: token 1 is -1, the vocabulary has 0 to 9");
  bad(tokens_read("u32", 10), "f: token 1 is 4294967295, the vocabulary has 0 to 9");
  help_write("f", "abc", 3);
  bad(tokens_read("u16", 0), "f: 3 bytes are not a whole number of u16 tokens");
  help_write_gzip("f", "abc", 3);
  bad(tokens_read("u16", 0), "f: 3 bytes are not a whole number of u16 tokens");
}

/* ---- csv with categories ---- */

static const char *const works[] = {"Private", "State-gov", "", "Self, emp"};
static const struct dtr_column work = {.name = "work",
                                       .kind = DTR_SOURCE_CSV,
                                       .member = "work",
                                       .category_count = 4,
                                       .categories = works};

static bool work_read(const char *text, enum dtr_dtype dtype) {
  help_write_text("f.csv", text);
  return dtr_csv_read(dtr_env_real(), "f.csv", &work, dtype, &values, &error);
}

static void categories(void **state) {
  (void)state;
  good(work_read("age,work\n39, State-gov\n50,Private\n3,\"Self, emp\"\n4,\n", DTR_I32));
  assert_int_equal(values.rows, 4);
  const int32_t expected[] = {1, 0, 3, 2};
  assert_memory_equal(values.bytes, expected, sizeof expected);
  dtr_values_free(&values);
  good(work_read("work\nState-gov\n", DTR_U8));
  assert_memory_equal(values.bytes, "\1", 1);
  dtr_values_free(&values);
  bad(work_read("age,work\n39,Private\n41,Privat\n", DTR_I32),
      "f.csv:3: column \"work\": \"Privat\" is none of its 4 categories | did you mean "
      "\"Private\"? Correct the file, or add \"Privat\" to `categories`");
  bad(work_read("age,work\n39,?\n", DTR_I32),
      "f.csv:2: column \"work\": \"?\" is none of its 4 categories | add \"?\" to `categories`, or "
      "correct the file");
  bad(work_read("work\nPrivate\n", DTR_BOOL),
      "f.csv: column \"work\": bool cannot hold 4 categories | declare the input as i32");
}

/* ---- windows ---- */

static const struct dtr_input text_input = {
    .name = "text", .dtype = DTR_I32, .rank = 1, .dims = {4}, .row_bytes = 16, .where = "m:1:1"};

static bool windows_open(int64_t size, int64_t stride, bool shuffle, struct dtr_data **data) {
  static struct dtr_column column;
  static struct dtr_dataset dataset;
  static const struct dtr_transform shuffled = {.kind = DTR_TRANSFORM_SHUFFLE};
  column = (struct dtr_column){.name = "text",
                               .kind = DTR_SOURCE_BYTES,
                               .path = "f",
                               .where = "m:5:1",
                               .window = size,
                               .stride = stride};
  dataset = (struct dtr_dataset){.name = "d",
                                 .column_count = 1,
                                 .columns = &column,
                                 .transform_count = shuffle,
                                 .transforms = &shuffled};
  struct dtr_data_options options = {.input_count = 1, .inputs = &text_input};
  return dtr_data_open(dtr_env_real(), &dataset, &options, data, &error);
}

/* Every position of an epoch against the file's own bytes. */
static void windows_check(struct dtr_data *data, int64_t epoch, int64_t stride, const char *text) {
  int64_t count = dtr_data_count(data);
  char *scratch = aligned_alloc(64, (size_t)dtr_data_scratch(data, count)), *feeds[1];
  dtr_data_view(data, epoch, 0, count, scratch, feeds);
  for (int64_t row = 0; row < count; row++) {
    int64_t at = dtr_data_example(data, epoch, row) * stride;
    for (int64_t i = 0; i < 4; i++)
      assert_int_equal(((int32_t *)feeds[0])[4 * row + i], text[at + i]);
  }
  free(scratch);
}

static void windows(void **state) {
  (void)state;
  static const char text[] = "the quick brown fox jumps";
  help_write_text("f", text); /* 25 bytes */
  static const struct {
    int64_t stride, count;
  } cases[] = {{1, 22}, {4, 6}, {3, 8}, {7, 4}, {21, 2}, {22, 1}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    for (int shuffle = 0; shuffle < 2; shuffle++) {
      struct dtr_data *data;
      good(windows_open(4, cases[i].stride, shuffle, &data));
      assert_int_equal(dtr_data_count(data), cases[i].count);
      windows_check(data, DTR_NATURAL_ORDER, cases[i].stride, text);
      windows_check(data, 3, cases[i].stride, text);
      dtr_data_close(data);
    }
  }
}

static void window_errors(void **state) {
  (void)state;
  struct dtr_data *data;
  help_write_text("f", "abc");
  bad(windows_open(4, 1, false, &data),
      "column text has 3 rows, less than one window of 4 | take a "
      "smaller window, or a longer file");
  help_write_text("f", "abcdefgh");
  bad(windows_open(5, 1, false, &data),
      "column text: an example has shape [5], the input \"text\" of the model (m:1:1) has [4] | "
      "declare the input as [B, 5] and reshape it in the model, or convert the file");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup(npz_arrays, reset),     cmocka_unit_test_setup(npz_names, reset),
      cmocka_unit_test_setup(npz_damage, reset),     cmocka_unit_test_setup(npz_methods, reset),
      cmocka_unit_test_setup(npz_disk, reset),       cmocka_unit_test_setup(cifar10_file, reset),
      cmocka_unit_test_setup(cifar10_folder, reset), cmocka_unit_test_setup(cifar10_errors, reset),
      cmocka_unit_test_setup(bytes_of_files, reset), cmocka_unit_test_setup(tokens_of_files, reset),
      cmocka_unit_test_setup(categories, reset),     cmocka_unit_test_setup(windows, reset),
      cmocka_unit_test_setup(window_errors, reset),
  };
  return cmocka_run_group_tests(tests, help_folder_enter, help_folder_leave);
}
