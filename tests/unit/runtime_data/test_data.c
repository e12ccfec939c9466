#include "help.h"

#include "runtime/data/data.h"

#include <stdio.h>

static struct dtr_error error;
static struct dtr_data *data;

enum { COUNT = 100 };

static const struct dtr_input inputs[] = {
    {.name = "x", .dtype = DTR_F32, .rank = 1, .dims = {3}, .row_bytes = 12, .where = "m.dtg:1:9"},
    {.name = "y", .dtype = DTR_U8, .row_bytes = 1, .where = "m.dtg:1:20"},
};

static struct dtr_column columns[2];
static struct dtr_transform transforms[4];
static struct dtr_dataset dataset;
static struct dtr_data_options options;

static int reset(void **state) {
  (void)state;
  help_folder_clear();
  dtr_error_clear(&error);
  columns[0] = (struct dtr_column){.name = "x",
                                   .kind = DTR_SOURCE_RANGE,
                                   .rows = COUNT,
                                   .rank = 1,
                                   .dims = {3},
                                   .dtype = DTR_F32,
                                   .where = "m.dtg:5:10"};
  columns[1] = (struct dtr_column){
      .name = "y", .kind = DTR_SOURCE_RANGE, .rows = COUNT, .dtype = DTR_U8, .where = "m.dtg:5:30"};
  dataset = (struct dtr_dataset){.name = "train_set",
                                 .column_count = 2,
                                 .columns = columns,
                                 .transforms = transforms,
                                 .where = "m.dtg:5:6"};
  options = (struct dtr_data_options){.seed = 1, .input_count = 2, .inputs = inputs};
  return 0;
}

static void transform_add(enum dtr_transform_kind kind, int64_t value, bool has_seed) {
  transforms[dataset.transform_count++] =
      (struct dtr_transform){.kind = kind, .value = value, .has_seed = has_seed};
}

static void open_good(void) {
  bool opened = dtr_data_open(dtr_env_real(), &dataset, &options, &data, &error);
  help_expect_none(&error);
  assert_true(opened);
}

static void open_bad(const char *where, const char *text) {
  assert_false(dtr_data_open(dtr_env_real(), &dataset, &options, &data, &error));
  assert_string_equal(error.where, where);
  help_expect(&error, DTR_STATUS_DATA, text);
}

/* Rows of a view are those of the examples that the data set names. */
static void check_view(int64_t epoch, int64_t first, int64_t count) {
  char *scratch = aligned_alloc(64, (size_t)dtr_data_scratch(data, count)), *feeds[2];
  dtr_data_view(data, epoch, first, count, scratch, feeds);
  for (int i = 0; i < 2; i++)
    assert_int_equal((uintptr_t)feeds[i] % 64, 0);
  for (int64_t row = 0; row < count; row++) {
    int64_t example = dtr_data_example(data, epoch, first + row);
    assert_true(((float *)feeds[0])[3 * row] == (float)example);
    assert_true(((float *)feeds[0])[3 * row + 2] == (float)example);
    assert_int_equal(((uint8_t *)feeds[1])[row], example);
  }
  free(scratch);
}

static void natural_order(void **state) {
  (void)state;
  open_good();
  assert_int_equal(dtr_data_count(data), COUNT);
  assert_string_equal(dtr_data_name(data), "train_set");
  for (int64_t epoch = DTR_NATURAL_ORDER; epoch < 2; epoch++)
    for (int64_t first = 0; first < COUNT; first += 7)
      check_view(epoch, first, first + 16 < COUNT ? 16 : COUNT - first);
  assert_int_equal(dtr_data_example(data, 3, 42), 42);
  dtr_data_close(data);
}

/* Aligned rows of a contiguous set are not copied. */
static void no_copy_where_rows_lie_well(void **state) {
  (void)state;
  open_good();
  char *scratch = aligned_alloc(64, (size_t)dtr_data_scratch(data, 16)), *feeds[2];
  dtr_data_view(data, 0, 64, 16, scratch, feeds);
  char *end = scratch + dtr_data_scratch(data, 16);
  for (int i = 0; i < 2; i++)
    assert_true(feeds[i] < scratch || feeds[i] >= end);
  dtr_data_view(data, 0, 16, 16, scratch, feeds); /* 16 labels: not aligned, copied */
  assert_true(feeds[0] < scratch || feeds[0] >= end);
  assert_true(feeds[1] >= scratch && feeds[1] < end);
  free(scratch);
  dtr_data_close(data);
}

static void each_epoch_has_each_example_once(void **state) {
  (void)state;
  transform_add(DTR_TRANSFORM_SHUFFLE, 7, true);
  open_good();
  int differ = 0;
  for (int64_t epoch = 0; epoch < 4; epoch++) {
    char seen[COUNT] = {0};
    for (int64_t i = 0; i < COUNT; i++) {
      int64_t example = dtr_data_example(data, epoch, i);
      assert_false(seen[example]);
      seen[example] = 1;
      differ += example != dtr_data_example(data, epoch + 1, i);
    }
    check_view(epoch, 5, 60);
  }
  assert_true(differ > 4 * COUNT * 9 / 10);
  assert_int_equal(dtr_data_example(data, DTR_NATURAL_ORDER, 33), 33);
  dtr_data_close(data);
}

static void the_seed_of_shuffle(void **state) {
  (void)state;
  struct dtr_data *other;
  transform_add(DTR_TRANSFORM_SHUFFLE, 0, false);
  open_good();
  transforms[0] =
      (struct dtr_transform){.kind = DTR_TRANSFORM_SHUFFLE, .value = 1, .has_seed = true};
  assert_true(dtr_data_open(dtr_env_real(), &dataset, &options, &other, &error));
  for (int64_t i = 0; i < COUNT; i++)
    assert_int_equal(dtr_data_example(data, 0, i), dtr_data_example(other, 0, i));
  dtr_data_close(other);
  options.seed = 2;
  transforms[0].has_seed = false;
  assert_true(dtr_data_open(dtr_env_real(), &dataset, &options, &other, &error));
  int differ = 0;
  for (int64_t i = 0; i < COUNT; i++)
    differ += dtr_data_example(data, 0, i) != dtr_data_example(other, 0, i);
  assert_true(differ > 80);
  dtr_data_close(other);
  dtr_data_close(data);
}

static void take_and_skip(void **state) {
  (void)state;
  transform_add(DTR_TRANSFORM_SKIP, 10, false);
  transform_add(DTR_TRANSFORM_TAKE, 50, false);
  transform_add(DTR_TRANSFORM_SKIP, 5, false);
  open_good();
  assert_int_equal(dtr_data_count(data), 45);
  assert_int_equal(dtr_data_example(data, 0, 0), 15);
  assert_int_equal(dtr_data_example(data, 0, 44), 59);
  check_view(0, 3, 40);
  dtr_data_close(data);
}

/* A shuffle before take and skip parts the set for good: in no epoch do the parts meet. */
static void a_split_by_shuffle_never_leaks(void **state) {
  (void)state;
  struct dtr_data *rest;
  transform_add(DTR_TRANSFORM_SHUFFLE, 7, true);
  transform_add(DTR_TRANSFORM_TAKE, 80, false);
  open_good();
  transforms[1].kind = DTR_TRANSFORM_SKIP;
  assert_true(dtr_data_open(dtr_env_real(), &dataset, &options, &rest, &error));
  assert_int_equal(dtr_data_count(rest), 20);
  int reordered = 0;
  for (int64_t epoch = 0; epoch < 3; epoch++) {
    char seen[COUNT] = {0};
    for (int64_t i = 0; i < 80; i++) {
      seen[dtr_data_example(data, epoch, i)]++;
      reordered += dtr_data_example(data, epoch, i) != dtr_data_example(data, epoch + 1, i);
    }
    for (int64_t i = 0; i < 20; i++)
      seen[dtr_data_example(rest, epoch, i)]++;
    for (int i = 0; i < COUNT; i++)
      assert_int_equal(seen[i], 1);
  }
  assert_true(reordered > 200);
  check_view(1, 0, 80);
  check_view(DTR_NATURAL_ORDER, 0, 80);
  dtr_data_close(rest);
  dtr_data_close(data);
}

static void bad_transforms(void **state) {
  (void)state;
  transform_add(DTR_TRANSFORM_TAKE, 101, false);
  open_bad("m.dtg:5:6", "data train_set: take(101), but there are 100 examples | say take with "
                        "a smaller number, or take a larger file");
  transforms[0].kind = DTR_TRANSFORM_SKIP;
  open_bad("m.dtg:5:6", "data train_set: skip(101), but there are 100 examples | say skip with "
                        "a smaller number, or take a larger file");
  transforms[0].value = 100;
  open_bad("m.dtg:5:6",
           "data train_set has no examples left after take and skip | leave some for it");
  dataset.transform_count = 0;
  columns[0].rows = columns[1].rows = 0;
  open_bad("m.dtg:5:6", "data train_set has no examples | name files that have examples");
}

static void columns_must_fit(void **state) {
  (void)state;
  columns[1].rows = 99;
  open_bad("m.dtg:5:30",
           "data train_set: column x has 100 examples, column y has 99"
           " | the columns of a table are as long as each other: take files that belong together");
  columns[1].rows = COUNT;
  columns[0].dims[0] = 4;
  open_bad("m.dtg:5:10", "column x: an example has shape [4], the input \"x\" of the model "
                         "(m.dtg:1:9) has [3] | declare the input as [B, 4] and reshape it in the "
                         "model, or convert the file");
  columns[0].dims[0] = 3;
  columns[0].dtype = DTR_F64;
  open_bad("m.dtg:5:10",
           "column x: its values are f64, the input \"x\" of the model (m.dtg:1:9) is f32 | "
           "declare the input as f64 and cast it in the model, or convert the file: only "
           "conversions that lose nothing are made");
  columns[0].dtype = DTR_F32;
  columns[1].name = "label";
  open_bad("m.dtg:5:6",
           "data train_set has no column for the input \"y\" (m.dtg:1:20) | name a column "
           "of the table as the input, or take another data set");
}

/* A column that no input takes must have the length of the others all the same. */
static void unused_columns(void **state) {
  (void)state;
  options.input_count = 1;
  open_good();
  dtr_data_close(data);
  columns[1].rows = 5;
  open_bad("m.dtg:5:30",
           "data train_set: column x has 100 examples, column y has 5"
           " | the columns of a table are as long as each other: take files that belong together");
}

static void types_widen_without_loss(void **state) {
  (void)state;
  struct dtr_column narrow = {.name = "v", .kind = DTR_SOURCE_IDX, .path = "v", .where = "w"};
  struct dtr_input wide = {.name = "v", .where = "i"};
  struct dtr_dataset one = {.name = "d", .column_count = 1, .columns = &narrow};
  static const unsigned char bytes[] = {0, 0, 8, 1, 0, 0, 0, 3, 0, 1, 255};
  help_write("v", bytes, sizeof bytes);
  options.input_count = 1;
  options.inputs = &wide;
  static const enum dtr_dtype types[] = {DTR_F32, DTR_F64, DTR_I32, DTR_I64, DTR_U8};
  for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
    wide.dtype = types[i];
    assert_true(dtr_data_open(dtr_env_real(), &one, &options, &data, &error));
    char scratch[1024] __attribute__((aligned(64))), *feed;
    dtr_data_view(data, 0, 0, 3, scratch, &feed);
    double last = types[i] == DTR_F32   ? ((float *)feed)[2]
                  : types[i] == DTR_F64 ? ((double *)feed)[2]
                  : types[i] == DTR_I32 ? ((int32_t *)feed)[2]
                  : types[i] == DTR_I64 ? (double)((int64_t *)feed)[2]
                                        : ((uint8_t *)feed)[2];
    assert_true(last == 255);
    dtr_data_close(data);
  }
  wide.dtype = DTR_BOOL;
  assert_false(dtr_data_open(dtr_env_real(), &one, &options, &data, &error));
  help_expect(&error, DTR_STATUS_DATA, "column v: example 2 has 255 where a bool is 0 or 1");
}

/* All kinds of files through the table, found beside the model. */
static void every_source(void **state) {
  (void)state;
  static const unsigned char idx[] = {0, 0, 8, 1, 0, 0, 0, 2, 10, 20};
  help_write_gzip("a.gz", idx, sizeof idx);
  help_write("b.npy",
             "\x93NUMPY\1\0\x35\0{'descr':'|u1','fortran_order':False,'shape':(2,)}   \12\36", 65);
  help_write_text("c.csv", "u,v\n1,10\n2,30\n");
  const char *header = "{\"t\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[0,2]}}";
  char tensor[100] = {(char)strlen(header)};
  memcpy(tensor + 8, header, strlen(header));
  memcpy(tensor + 8 + strlen(header), "\x0a\x28", 2);
  help_write("d", tensor, 10 + strlen(header));
  const struct dtr_column many[] = {
      {.name = "a", .kind = DTR_SOURCE_IDX, .path = "a.gz"},
      {.name = "b", .kind = DTR_SOURCE_NPY, .path = "b.npy"},
      {.name = "c", .kind = DTR_SOURCE_CSV, .path = "c.csv", .member = "v"},
      {.name = "d", .kind = DTR_SOURCE_SAFETENSORS, .path = "d", .member = "t"},
  };
  struct dtr_input takers[] = {{.name = "d", .dtype = DTR_U8},
                               {.name = "c", .dtype = DTR_U8},
                               {.name = "b", .dtype = DTR_U8},
                               {.name = "a", .dtype = DTR_U8}};
  struct dtr_dataset all = {.name = "all", .column_count = 4, .columns = many};
  options.input_count = 4;
  options.inputs = takers;
  bool opened = dtr_data_open(dtr_env_real(), &all, &options, &data, &error);
  help_expect_none(&error);
  assert_true(opened);
  char scratch[1024] __attribute__((aligned(64))), *feeds[4];
  dtr_data_view(data, 0, 0, 2, scratch, feeds);
  for (int i = 0; i < 4; i++) {
    assert_int_equal(feeds[i][0], 10);
    assert_int_equal(feeds[i][1], 40 - 10 * (i == 1) - 10 * (i == 2) - 20 * (i == 3));
  }
  dtr_data_close(data);
  struct dtr_dataset missing = all;
  struct dtr_column wrong = many[3];
  wrong.member = "u";
  missing.column_count = 1;
  missing.columns = &wrong;
  assert_false(dtr_data_open(dtr_env_real(), &missing, &options, &data, &error));
  help_expect(&error, DTR_STATUS_DATA,
              "d: there is no tensor \"u\" | it has 1, from \"t\" to \"t\"");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup(natural_order, reset),
      cmocka_unit_test_setup(no_copy_where_rows_lie_well, reset),
      cmocka_unit_test_setup(each_epoch_has_each_example_once, reset),
      cmocka_unit_test_setup(the_seed_of_shuffle, reset),
      cmocka_unit_test_setup(take_and_skip, reset),
      cmocka_unit_test_setup(a_split_by_shuffle_never_leaks, reset),
      cmocka_unit_test_setup(bad_transforms, reset),
      cmocka_unit_test_setup(columns_must_fit, reset),
      cmocka_unit_test_setup(unused_columns, reset),
      cmocka_unit_test_setup(types_widen_without_loss, reset),
      cmocka_unit_test_setup(every_source, reset),
  };
  return cmocka_run_group_tests(tests, help_folder_enter, help_folder_leave);
}
