#include "help.h"

#include "runtime/data/sources.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>

static struct dtr_error error;

static int reset(void **state) {
  (void)state;
  help_folder_clear();
  dtr_error_clear(&error);
  return 0;
}

/* ---- idx ---- */

static const unsigned char labels[] = {0, 0, 8, 1, 0, 0, 0, 3, 7, 8, 9};

static void idx_bad(const void *bytes, size_t size, const char *text) {
  struct dtr_values values;
  help_write("f", bytes, size);
  assert_false(dtr_idx_read(dtr_env_real(), "f", &values, &error));
  help_expect(&error, DTR_STATUS_DATA, text);
}

static void idx_types(void **state) {
  (void)state;
  struct dtr_values values;
  static const unsigned char file[] = {0, 0, 0x0c, 2, 0, 0, 0,    2,    0,    0,
                                       0, 1, 0,    0, 1, 2, 0xff, 0xff, 0xff, 0xfe};
  help_write("f", file, sizeof file);
  assert_true(dtr_idx_read(dtr_env_real(), "f", &values, &error));
  assert_int_equal(values.rows, 2);
  assert_int_equal(values.rank, 1);
  assert_int_equal(values.element, DTR_ELEMENT_I32);
  assert_int_equal(((int32_t *)values.bytes)[0], 258);
  assert_int_equal(((int32_t *)values.bytes)[1], -2);
  assert_int_equal((uintptr_t)values.bytes % 64, 0);
  dtr_values_free(&values);
  static const unsigned char real[] = {0, 0, 0x0e, 1, 0, 0, 0, 1, 0x3f, 0xf8, 0, 0, 0, 0, 0, 0};
  help_write("f", real, sizeof real);
  assert_true(dtr_idx_read(dtr_env_real(), "f", &values, &error));
  assert_true(((double *)values.bytes)[0] == 1.5);
  dtr_values_free(&values);
  static const unsigned char small[] = {0, 0, 0x0b, 1, 0, 0, 0, 1, 0xff, 0x00};
  help_write("f", small, sizeof small);
  assert_true(dtr_idx_read(dtr_env_real(), "f", &values, &error));
  assert_int_equal(((int16_t *)values.bytes)[0], -256);
  dtr_values_free(&values);
}

static void idx_errors(void **state) {
  (void)state;
  idx_bad("\0\0", 2, "f: truncated: 2 bytes, an IDX header has at least 8");
  idx_bad("PK\3\4", 4, "f: not an IDX file: it starts with 50 4b 03 04");
  idx_bad("\0\0\x0a\1", 4, "f: not an IDX file: element type 0x0a");
  idx_bad("\0\0\x08\0", 4, "f: 0 axes, an IDX file has 1 to 9");
  idx_bad("\0\0\x08\x0a", 4, "f: 10 axes, an IDX file has 1 to 9");
  idx_bad("\0\0\x08\2\0\0\0\1", 8, "f: truncated in the header");
  idx_bad(labels, sizeof labels - 1,
          "f: truncated: u8[3] needs 3 bytes after the header, there are at most 2");
  unsigned char more[sizeof labels + 1] = {0};
  memcpy(more, labels, sizeof labels);
  idx_bad(more, sizeof more, "f: something follows the data, which ends after 11 bytes");
  idx_bad("\0\0\x0e\3\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", 16,
          "f: its shape [4294967295, 4294967295, 4294967295] is too large");
}

static void idx_gzip(void **state) {
  (void)state;
  struct dtr_values values;
  help_write_gzip("f.gz", labels, sizeof labels);
  assert_true(dtr_idx_read(dtr_env_real(), "f.gz", &values, &error));
  assert_memory_equal(values.bytes, labels + 8, 3);
  dtr_values_free(&values);
  size_t size;
  char *bytes = help_read("f.gz", &size);
  for (size_t length = 2; length < size; length++) {
    help_write("f", bytes, length);
    assert_false(dtr_idx_read(dtr_env_real(), "f", &values, &error));
    help_expect(&error, DTR_STATUS_DATA, "f: truncated: the gzip data ends in the middle");
  }
  bytes[size - 8] ^= 1; /* the checksum */
  help_write("f", bytes, size);
  assert_false(dtr_idx_read(dtr_env_real(), "f", &values, &error));
  help_expect(&error, DTR_STATUS_DATA, "f: damaged gzip data: incorrect data check");
  bytes[size - 8] ^= 1;
  bytes[2] = 9; /* the method */
  help_write("f", bytes, size);
  assert_false(dtr_idx_read(dtr_env_real(), "f", &values, &error));
  help_expect(&error, DTR_STATUS_DATA, "f: damaged gzip data: unknown compression method");
  bytes[2] = 8;
  char *more = calloc(1, size + 1);
  memcpy(more, bytes, size);
  help_write("f", more, size + 1);
  assert_false(dtr_idx_read(dtr_env_real(), "f", &values, &error));
  help_expect(&error, DTR_STATUS_DATA, "f: something follows the gzip data");
  free(more);
  free(bytes);
  help_write("f.gz", labels, sizeof labels);
  assert_false(dtr_idx_read(dtr_env_real(), "f.gz", &values, &error));
  help_expect(&error, DTR_STATUS_DATA, "f.gz: not gzip data, though its name ends in .gz");
}

/* Two members are one file; a header that promises too much takes no memory. */
static void idx_gzip_members_and_claims(void **state) {
  (void)state;
  struct dtr_values values;
  size_t first_size, second_size;
  help_write_gzip("a", labels, 9);
  help_write_gzip("b", labels + 9, 2);
  char *first = help_read("a", &first_size), *second = help_read("b", &second_size);
  char *both = malloc(first_size + second_size);
  memcpy(both, first, first_size);
  memcpy(both + first_size, second, second_size);
  help_write("f", both, first_size + second_size);
  assert_true(dtr_idx_read(dtr_env_real(), "f", &values, &error));
  assert_memory_equal(values.bytes, labels + 8, 3);
  dtr_values_free(&values);
  free(first);
  free(second);
  free(both);
  static const unsigned char huge[] = {0, 0, 8, 2, 0x7f, 0xff, 0xff, 0xff, 0, 0, 1, 0};
  help_write_gzip("f", huge, sizeof huge);
  assert_false(dtr_idx_read(dtr_env_real(), "f", &values, &error));
  help_expect(&error, DTR_STATUS_DATA,
              "f: truncated: u8[2147483647, 256] needs 549755813632 bytes after the header, there "
              "are at most 33024");
}

static void a_failing_disk(void **state) {
  (void)state;
  struct dtr_values values;
  help_write("f", labels, sizeof labels);
  struct dtr_env_fault fault = {.below = dtr_env_real(), .fail_read = 1, .error = EIO};
  struct dtr_env env = dtr_env_faulty(&fault);
  assert_false(dtr_idx_read(&env, "f", &values, &error));
  help_expect(&error, DTR_STATUS_IO, "cannot read f: Input/output error");
  fault = (struct dtr_env_fault){.below = dtr_env_real(), .longest_transfer = 1};
  assert_true(dtr_idx_read(&env, "f", &values, &error));
  assert_memory_equal(values.bytes, labels + 8, 3);
  dtr_values_free(&values);
  assert_false(dtr_idx_read(&env, ".", &values, &error));
  help_expect(&error, DTR_STATUS_IO, "cannot read .: Is a directory");
}

/* ---- npy ---- */

static void npy_make(const char *dictionary, int version, const void *data, size_t size) {
  char bytes[600];
  size_t length = strlen(dictionary), at = version == 1 ? 10 : 12;
  memcpy(bytes, "\x93NUMPY", 6);
  bytes[6] = (char)version;
  bytes[7] = 0;
  for (size_t i = 8; i < at; i++)
    bytes[i] = (char)(length >> 8 * (i - 8));
  memcpy(bytes + at, dictionary, length);
  memcpy(bytes + at + length, data, size);
  help_write("f.npy", bytes, at + length + size);
}

static void npy_bad(const char *dictionary, size_t size, const char *text) {
  struct dtr_values values;
  npy_make(dictionary, 1, "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", size);
  assert_false(dtr_npy_read(dtr_env_real(), "f.npy", &values, &error));
  help_expect(&error, DTR_STATUS_DATA, text);
}

static void npy_versions_and_orders(void **state) {
  (void)state;
  struct dtr_values values;
  for (int version = 1; version <= 3; version++) {
    npy_make("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 1), }   \n", version,
             "\0\0\x80\x3f\0\0\0\x40", 8);
    assert_true(dtr_npy_read(dtr_env_real(), "f.npy", &values, &error));
    assert_int_equal(values.rows, 2);
    assert_int_equal(values.rank, 1);
    assert_int_equal(values.dims[0], 1);
    assert_true(((float *)values.bytes)[0] == 1 && ((float *)values.bytes)[1] == 2);
    dtr_values_free(&values);
  }
  npy_make("{'descr':'>i2','shape':(2,),'fortran_order':True}", 1, "\1\2\xff\xfe", 4);
  assert_true(dtr_npy_read(dtr_env_real(), "f.npy", &values, &error));
  assert_int_equal(values.rank, 0);
  assert_int_equal(((int16_t *)values.bytes)[0], 258);
  assert_int_equal(((int16_t *)values.bytes)[1], -2);
  dtr_values_free(&values);
}

static void npy_errors(void **state) {
  (void)state;
  struct dtr_values values;
  npy_bad("{'descr': '<f4', 'fortran_order': True, 'shape': (2, 2)}", 16,
          "f.npy: it is in Fortran order | save numpy.ascontiguousarray(x)");
  npy_bad("{'descr': '<c8', 'fortran_order': False, 'shape': (2,)}", 16,
          "f.npy: element type \"<c8\" is not supported");
  npy_bad("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2,)}", 8,
          "f.npy: records of several fields are not supported");
  npy_bad("{'descr': '<f4', 'fortran_order': False, 'shape': (3,)}", 8,
          "f.npy: truncated: f32[3] needs 12 bytes after the header, there are at most 8");
  npy_bad("{'descr': '<f4', 'fortran_order': False, 'shape': (1,)}", 8,
          "f.npy: something follows the data, which ends after 69 bytes");
  npy_bad("{'descr': '<f4', 'fortran_order': False, 'shape': ()}", 4,
          "f.npy: its shape [] must have 1 to 9 axes, the first of them the examples");
  npy_bad("{'descr': '<f4', 'fortran_order': False}", 4,
          "f.npy: header, byte 40: expected descr, fortran_order and shape, each once");
  npy_bad("{'descr': '<f4', 'order': False}", 4,
          "f.npy: header, byte 25: expected descr, fortran_order and shape, each once");
  npy_bad("{'shape': (99999999999999999999,)}", 4,
          "f.npy: header, byte 29: expected a size below 2^63");
  npy_bad("{'shape': (1 2)}", 4, "f.npy: header, byte 13: expected ',' or ')'");
  npy_bad("[]", 4, "f.npy: header, byte 0: expected '{'");
  help_write("f.npy", "\x93NUMPX\1\0\2\0{}", 12);
  assert_false(dtr_npy_read(dtr_env_real(), "f.npy", &values, &error));
  help_expect(&error, DTR_STATUS_DATA, "f.npy: not an .npy file");
  help_write("f.npy", "\x93NUMPY\4\0\2\0{}", 12);
  assert_false(dtr_npy_read(dtr_env_real(), "f.npy", &values, &error));
  help_expect(&error, DTR_STATUS_DATA, "f.npy: version 4 of .npy is not supported");
  help_write("f.npy", "\x93NUMPY\2\0\2\0\0\xff{}", 14);
  assert_false(dtr_npy_read(dtr_env_real(), "f.npy", &values, &error));
  help_expect(&error, DTR_STATUS_DATA, "f.npy: truncated in the header");
}

/* ---- csv ---- */

static const struct dtr_column x_column = {.member = "x"}, y_column = {.member = "y \"1\""};

static void csv_bad(const char *text, enum dtr_dtype dtype, const char *message) {
  struct dtr_values values;
  help_write_text("f.csv", text);
  assert_false(dtr_csv_read(dtr_env_real(), "f.csv", &x_column, dtype, &values, &error));
  help_expect(&error, DTR_STATUS_DATA, message);
}

static void csv_numbers(void **state) {
  (void)state;
  struct dtr_values values;
  help_write_text("f.csv", "\xef\xbb\xbfname,x,\"y \"\"1\"\"\"\r\n"
                           "\"a, b\n c\",1.5,2\r\n"
                           "d,\" -2e3\t\",\"3\"\n"
                           ",.25,9007199254740993");
  assert_true(dtr_csv_read(dtr_env_real(), "f.csv", &x_column, DTR_F32, &values, &error));
  assert_int_equal(values.rows, 3);
  assert_int_equal(values.rank, 0);
  const float *x = (const float *)values.bytes;
  assert_true(x[0] == 1.5f && x[1] == -2000 && x[2] == .25f);
  dtr_values_free(&values);
  assert_true(dtr_csv_read(dtr_env_real(), "f.csv", &y_column, DTR_I64, &values, &error));
  assert_int_equal(((int64_t *)values.bytes)[2], INT64_C(9007199254740993));
  dtr_values_free(&values);
  help_write_text("f.csv", "x\n3.0\n1e2\n");
  assert_true(dtr_csv_read(dtr_env_real(), "f.csv", &x_column, DTR_U8, &values, &error));
  assert_int_equal(((uint8_t *)values.bytes)[1], 100);
  dtr_values_free(&values);
}

static void csv_errors(void **state) {
  (void)state;
  csv_bad("", DTR_F32, "f.csv: the file is empty");
  csv_bad("a,b c\n1,2\n", DTR_F32,
          "f.csv:1: there is no column \"x\" | the columns are \"a\", \"b c\"");
  csv_bad("x,x\n1,2\n", DTR_F32, "f.csv:1: two columns have the name \"x\"");
  csv_bad("x,y\n1,2\n3\n", DTR_F32, "f.csv:3: 1 cells, the first line has 2");
  csv_bad("x,y\n1,2\n3,4,5\n", DTR_F32, "f.csv:3: 3 cells, the first line has 2");
  csv_bad("x\n1\n\n2\n", DTR_F32, "f.csv:3: column \"x\": \"\" is not a number");
  csv_bad("y,x\n1,2\n3,abc\n", DTR_F32, "f.csv:3: column \"x\": \"abc\" is not a number");
  csv_bad("x\nnan\n", DTR_F32, "f.csv:2: column \"x\": \"nan\" is not a number");
  csv_bad("x\n0x10\n", DTR_F32, "f.csv:2: column \"x\": \"0x10\" is not a number");
  csv_bad("x\n1e999\n", DTR_F32, "f.csv:2: column \"x\": \"1e999\" is not a number");
  csv_bad("y,x\n\"a\nb\",1-\n", DTR_F32, "f.csv:3: column \"x\": \"1-\" is not a number");
  csv_bad("x\n1.5\n", DTR_I32, "f.csv:2: column \"x\": 1.5 is not a value of type i32");
  csv_bad("x\n1e39\n", DTR_F32, "f.csv:2: column \"x\": 1e39 is not a value of type f32");
  csv_bad("x\n256\n", DTR_U8, "f.csv:2: column \"x\": 256 is not a value of type u8");
  csv_bad("x\n2\n", DTR_BOOL, "f.csv:2: column \"x\": 2 is not a value of type bool");
  csv_bad("x\n9223372036854775808\n", DTR_I64,
          "f.csv:2: column \"x\": 9223372036854775808 is not a value of type i64");
  csv_bad("x\n\"1\n", DTR_F32, "f.csv:2: a quoted cell does not end");
  csv_bad("x\n\"1\"2\n", DTR_F32, "f.csv:2: something follows a closing quote");
  csv_bad("x\n1\"2\n", DTR_F32, "f.csv:2: a quote inside an unquoted cell");
  csv_bad("x\n1\r2\n", DTR_F32, "f.csv:2: a carriage return without a line feed");
  struct dtr_values values;
  help_write("f.csv", "x\n1\0\n", 5);
  assert_false(dtr_csv_read(dtr_env_real(), "f.csv", &x_column, DTR_F32, &values, &error));
  help_expect(&error, DTR_STATUS_DATA, "f.csv: not text: it has a zero byte");
}

/* ---- generators ---- */

static struct dtr_column generator(enum dtr_source_kind kind, enum dtr_dtype dtype, double a,
                                   double b) {
  return (struct dtr_column){.name = "x",
                             .kind = kind,
                             .rows = 1000,
                             .rank = 1,
                             .dims = {3},
                             .dtype = dtype,
                             .a = a,
                             .b = b,
                             .seed = 1};
}

static void generators(void **state) {
  (void)state;
  struct dtr_values values, again;
  struct dtr_column column = generator(DTR_SOURCE_RANDOM_NORMAL, DTR_F32, 5, 2);
  assert_true(dtr_generate(dtr_env_real(), &column, &values, &error));
  assert_true(dtr_generate(dtr_env_real(), &column, &again, &error));
  assert_memory_equal(values.bytes, again.bytes, 3000 * 4);
  dtr_values_free(&again);
  column.seed = 2;
  assert_true(dtr_generate(dtr_env_real(), &column, &again, &error));
  assert_memory_not_equal(values.bytes, again.bytes, 3000 * 4);
  double sum = 0;
  for (int i = 0; i < 3000; i++)
    sum += ((float *)values.bytes)[i];
  assert_true(fabs(sum / 3000 - 5) < 0.25);
  dtr_values_free(&again);
  dtr_values_free(&values);
  column = generator(DTR_SOURCE_RANDOM_UNIFORM, DTR_F64, -1, 1);
  assert_true(dtr_generate(dtr_env_real(), &column, &values, &error));
  for (int i = 0; i < 3000; i++)
    assert_true(fabs(((double *)values.bytes)[i]) <= 1);
  dtr_values_free(&values);
  column = generator(DTR_SOURCE_RANDOM_INT, DTR_I32, -3, 4);
  assert_true(dtr_generate(dtr_env_real(), &column, &values, &error));
  int seen[7] = {0};
  for (int i = 0; i < 3000; i++)
    seen[((int32_t *)values.bytes)[i] + 3]++;
  for (int i = 0; i < 7; i++)
    assert_true(seen[i] > 300);
  dtr_values_free(&values);
  column = generator(DTR_SOURCE_RANGE, DTR_I64, 10, 0);
  assert_true(dtr_generate(dtr_env_real(), &column, &values, &error));
  assert_int_equal(((int64_t *)values.bytes)[0], 10);
  assert_int_equal(((int64_t *)values.bytes)[2999], 1009);
  dtr_values_free(&values);
}

static void generator_errors(void **state) {
  (void)state;
  struct dtr_values values;
  struct dtr_column column = generator(DTR_SOURCE_RANDOM_INT, DTR_I32, 4, 4);
  assert_false(dtr_generate(dtr_env_real(), &column, &values, &error));
  help_expect(&error, DTR_STATUS_DATA, "column x: random_int from 4 up to but not 4 has no values");
  column = generator(DTR_SOURCE_RANDOM_INT, DTR_U8, 0, 1000);
  assert_false(dtr_generate(dtr_env_real(), &column, &values, &error));
  help_expect(&error, DTR_STATUS_DATA, "column x: values from 0 to 999 do not fit u8");
  column = generator(DTR_SOURCE_RANGE, DTR_U8, 0, 0);
  assert_false(dtr_generate(dtr_env_real(), &column, &values, &error));
  help_expect(&error, DTR_STATUS_DATA, "column x: values from 0 to 999 do not fit u8");
  column = generator(DTR_SOURCE_RANDOM_INT, DTR_F32, 0, 1e300);
  assert_false(dtr_generate(dtr_env_real(), &column, &values, &error));
  dtr_error_clear(&error);
  column = generator(DTR_SOURCE_RANDOM_NORMAL, DTR_I32, 0, 1);
  assert_false(dtr_generate(dtr_env_real(), &column, &values, &error));
  help_expect(&error, DTR_STATUS_DATA, "column x: random real numbers are not i32");
  column = generator(DTR_SOURCE_RANDOM_NORMAL, DTR_F32, 0, 1);
  column.rows = INT64_MAX / 4;
  assert_false(dtr_generate(dtr_env_real(), &column, &values, &error));
  help_expect(&error, DTR_STATUS_DATA, "x: its shape [2305843009213693951, 3] is too large");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup(idx_types, reset),
      cmocka_unit_test_setup(idx_errors, reset),
      cmocka_unit_test_setup(idx_gzip, reset),
      cmocka_unit_test_setup(idx_gzip_members_and_claims, reset),
      cmocka_unit_test_setup(a_failing_disk, reset),
      cmocka_unit_test_setup(npy_versions_and_orders, reset),
      cmocka_unit_test_setup(npy_errors, reset),
      cmocka_unit_test_setup(csv_numbers, reset),
      cmocka_unit_test_setup(csv_errors, reset),
      cmocka_unit_test_setup(generators, reset),
      cmocka_unit_test_setup(generator_errors, reset),
  };
  return cmocka_run_group_tests(tests, help_folder_enter, help_folder_leave);
}
