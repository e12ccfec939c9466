#include "help.h"

#include "runtime/data/feed.h"

static struct dtr_error error;
static struct dtr_data *data;
static struct dtr_feed *feed;

enum { COUNT = 1003, BATCH = 100, SHARDS = 4, ROWS = BATCH / SHARDS, STEPS = COUNT / BATCH };

static const struct dtr_input inputs[] = {
    {.name = "x", .dtype = DTR_I32, .rank = 1, .dims = {40}, .row_bytes = 160},
    {.name = "y", .dtype = DTR_I32, .row_bytes = 4},
};
static const struct dtr_column columns[] = {
    {.name = "x",
     .kind = DTR_SOURCE_RANGE,
     .rows = COUNT,
     .rank = 1,
     .dims = {40},
     .dtype = DTR_I32},
    {.name = "y", .kind = DTR_SOURCE_RANGE, .rows = COUNT, .dtype = DTR_I32},
};
static const struct dtr_transform shuffle = {.kind = DTR_TRANSFORM_SHUFFLE};
static struct dtr_dataset dataset;

static int reset(void **state) {
  (void)state;
  dtr_error_clear(&error);
  dataset = (struct dtr_dataset){.name = "train_set",
                                 .column_count = 2,
                                 .columns = columns,
                                 .transform_count = 1,
                                 .transforms = &shuffle};
  return 0;
}

static void data_open(void) {
  struct dtr_data_options options = {.seed = 1, .input_count = 2, .inputs = inputs};
  assert_true(dtr_data_open(dtr_env_real(), &dataset, &options, &data, &error));
}

static void feed_open(int64_t first, int64_t end, bool synchronous) {
  struct dtr_feed_options options = {.batch = BATCH,
                                     .shards = SHARDS,
                                     .first_step = first,
                                     .end_step = end,
                                     .synchronous = synchronous};
  assert_true(dtr_feed_open(data, &options, &feed, &error));
}

static void check_batch(const struct dtr_batch *batch, int64_t step) {
  assert_non_null(batch);
  assert_int_equal(batch->step, step);
  assert_int_equal(batch->epoch, step / STEPS);
  assert_int_equal(batch->rows, ROWS);
  for (int64_t shard = 0; shard < SHARDS; shard++) {
    char *const *feeds = dtr_batch_feeds(batch, shard);
    const int32_t *x = (const int32_t *)feeds[0], *y = (const int32_t *)feeds[1];
    assert_int_equal((uintptr_t)x % 64, 0);
    assert_int_equal((uintptr_t)y % 64, 0);
    for (int64_t row = 0; row < ROWS; row++) {
      int64_t example = dtr_feed_example(data, BATCH, SHARDS, step, shard, row);
      assert_int_equal(x[40 * row], example);
      assert_int_equal(x[40 * row + 39], example);
      assert_int_equal(y[row], example);
    }
  }
}

static void batches_follow_the_step(void **state) {
  (void)state;
  data_open();
  assert_int_equal(dtr_feed_steps_per_epoch(data, BATCH), STEPS);
  for (int synchronous = 0; synchronous < 2; synchronous++) {
    feed_open(0, 3 * STEPS + 1, synchronous);
    assert_int_equal(dtr_feed_is_threaded(feed), !synchronous);
    for (int64_t step = 0; step < 3 * STEPS + 1; step++)
      check_batch(dtr_feed_next(feed), step);
    assert_null(dtr_feed_next(feed));
    assert_null(dtr_feed_next(feed));
    dtr_feed_close(feed);
  }
  dtr_data_close(data);
}

static void a_feed_starts_anywhere(void **state) {
  (void)state;
  data_open();
  feed_open(17, 0, false);
  for (int64_t step = 17; step < 40; step++)
    check_batch(dtr_feed_next(feed), step);
  dtr_feed_close(feed); /* the thread is ahead, or waits: either way it ends */
  feed_open(5, 0, false);
  dtr_feed_close(feed);
  dtr_data_close(data);
}

/* An epoch uses every example at most once, and drops the remainder. */
static void an_epoch_uses_examples_once(void **state) {
  (void)state;
  data_open();
  for (int64_t epoch = 0; epoch < 2; epoch++) {
    char seen[COUNT] = {0};
    for (int64_t step = 0; step < STEPS; step++)
      for (int64_t shard = 0; shard < SHARDS; shard++)
        for (int64_t row = 0; row < ROWS; row++) {
          int64_t example = dtr_feed_example(data, BATCH, SHARDS, epoch * STEPS + step, shard, row);
          assert_false(seen[example]);
          seen[example] = 1;
        }
  }
  dtr_data_close(data);
}

/* How a batch is cut into shards does not change its examples. */
static void shards_only_cut(void **state) {
  (void)state;
  data_open();
  for (int64_t i = 0; i < BATCH; i++)
    assert_int_equal(dtr_feed_example(data, BATCH, 4, 13, i / 25, i % 25),
                     dtr_feed_example(data, BATCH, 1, 13, 0, i));
  dtr_data_close(data);
}

static void contiguous_sets_need_no_thread(void **state) {
  (void)state;
  dataset.transform_count = 0;
  data_open();
  feed_open(0, 25, false);
  assert_false(dtr_feed_is_threaded(feed));
  for (int64_t step = 0; step < 25; step++)
    check_batch(dtr_feed_next(feed), step);
  dtr_feed_close(feed);
  dtr_data_close(data);
}

static void a_batch_that_is_too_large(void **state) {
  (void)state;
  data_open();
  struct dtr_feed_options options = {.batch = 2000, .shards = 8, .where = "m.dtg:20:3"};
  assert_false(dtr_feed_open(data, &options, &feed, &error));
  assert_string_equal(error.where, "m.dtg:20:3");
  help_expect(&error, DTR_STATUS_DATA,
              "the batch is 2000, but data train_set has only 1003 examples | a batch is at most "
              "the whole data set");
  options.batch = 100;
  assert_false(dtr_feed_open(data, &options, &feed, &error));
  help_expect(&error, DTR_STATUS_BUG, "a batch of 100 in 8 shards");
  dtr_data_close(data);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup(batches_follow_the_step, reset),
      cmocka_unit_test_setup(a_feed_starts_anywhere, reset),
      cmocka_unit_test_setup(an_epoch_uses_examples_once, reset),
      cmocka_unit_test_setup(shards_only_cut, reset),
      cmocka_unit_test_setup(contiguous_sets_need_no_thread, reset),
      cmocka_unit_test_setup(a_batch_that_is_too_large, reset),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
