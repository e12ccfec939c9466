/* The reduction tree: the same bits in every order of completion and on any number of threads. */
#include "runtime/team.h"
#include "runtime/tree.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { FLOATS = 37, BLOCK_BYTES = 384, MOST_SHARDS = 33 };

static const struct dtr_contribution table[] = {
    {"", DTR_CONTRIBUTION_LOSS, DTR_F32, 1, 0, false, true, {0}},
    {"w", DTR_CONTRIBUTION_GRAD, DTR_F32, FLOATS, 64, false, true, {0}},
    {"top", DTR_CONTRIBUTION_STATE, DTR_F32, 2, 256, true, false, {0}},
    {"count", DTR_CONTRIBUTION_STATE, DTR_I64, 2, 264, false, true, {0}},
    {"least", DTR_CONTRIBUTION_STATE, DTR_I32, 2, 280, true, false, {0}},
    {"wide", DTR_CONTRIBUTION_STATE, DTR_F64, 2, 320, false, true, {0}},
};
enum { TENSORS = sizeof table / sizeof *table };

static uint64_t random_next(uint64_t *state) {
  *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return *state >> 17;
}

/* Values of very different sizes, so that another order of addition shows. */
static void fill(char *block, int64_t shard) {
  uint64_t state = (uint64_t)shard * 7919 + 5;
  memset(block, 0, BLOCK_BYTES);
  for (int i = 0; i < FLOATS + 1; i++) {
    float value =
        ldexpf((float)(random_next(&state) % 2001) - 1000.0f, (int)(random_next(&state) % 41) - 20);
    memcpy(block + (i == 0 ? 0 : 60 + 4 * i), &value, 4);
  }
  float top[2] = {(float)(random_next(&state) % 100), shard == 3 ? NAN : -(float)shard};
  int64_t count[2] = {shard, INT64_C(1) << 40};
  int32_t least[2] = {(int32_t)(random_next(&state) % 1000) - 500, -(int32_t)shard};
  double wide[2] = {(double)top[0] * 1e-9, 1.0 / (double)(shard + 1)};
  memcpy(block + 256, top, sizeof top);
  memcpy(block + 264, count, sizeof count);
  memcpy(block + 280, least, sizeof least);
  memcpy(block + 320, wide, sizeof wide);
}

/* The definition: split at the largest power of two below the count. */
static void reference(char *block, int64_t begin, int64_t count) {
  if (count == 1) {
    fill(block, begin);
    return;
  }
  char right[BLOCK_BYTES];
  int64_t split = 1;
  while (split * 2 < count)
    split *= 2;
  reference(block, begin, split);
  reference(right, begin + split, count - split);
  dtr_contribution_combine(table, TENSORS, block, right);
}

static struct dtr_tree *new_tree(int64_t shards, int workers) {
  struct dtr_error error;
  struct dtr_tree *tree = NULL;
  dtr_error_clear(&error);
  assert_true(dtr_tree_new(table, TENSORS, BLOCK_BYTES, shards, workers, 0, &tree, &error));
  return tree;
}

static void check_result(struct dtr_tree *tree, int64_t shards) {
  char expected[BLOCK_BYTES];
  reference(expected, 0, shards);
  char *result = dtr_tree_result(tree);
  assert_non_null(result);
  assert_memory_equal(result, expected, BLOCK_BYTES);
  dtr_tree_return(tree, result);
}

static void combine_adds_and_keeps_the_largest(void **state) {
  (void)state;
  char left[BLOCK_BYTES], right[BLOCK_BYTES];
  fill(left, 1);
  fill(right, 3);
  dtr_contribution_combine(table, TENSORS, left, right);
  float top[2];
  int64_t count[2];
  int32_t least[2];
  memcpy(top, left + 256, sizeof top);
  memcpy(count, left + 264, sizeof count);
  memcpy(least, left + 280, sizeof least);
  assert_true(isnan(top[1])); /* NaN wins */
  assert_int_equal(count[0], 4);
  assert_int_equal(count[1], INT64_C(1) << 41);
  assert_int_equal(least[1], -1);
  fill(right, 1);
  dtr_contribution_combine(table, TENSORS, left, right);
  memcpy(top, left + 256, sizeof top);
  assert_true(isnan(top[1])); /* from either side */
}

static void shards_in_order(void **state) {
  (void)state;
  for (int64_t shards = 1; shards <= MOST_SHARDS; shards++) {
    struct dtr_tree *tree = new_tree(shards, 1);
    for (int round = 0; round < 2; round++) {
      for (int64_t s = 0; s < shards; s++) {
        char *block = dtr_tree_take(tree);
        fill(block, s);
        dtr_tree_put(tree, s, block);
      }
      check_result(tree, shards);
    }
    dtr_tree_free(tree);
  }
}

/* As many blocks as shards, finished in a random order. */
static void shards_in_any_order(void **state) {
  (void)state;
  uint64_t seed = 20240607;
  print_message("seed %llu\n", (unsigned long long)seed);
  for (int64_t shards = 1; shards <= MOST_SHARDS; shards++) {
    struct dtr_tree *tree = new_tree(shards, MOST_SHARDS);
    for (int round = 0; round < 20; round++) {
      char *blocks[MOST_SHARDS];
      int64_t order[MOST_SHARDS];
      for (int64_t s = 0; s < shards; s++) {
        order[s] = s;
        blocks[s] = dtr_tree_take(tree);
        fill(blocks[s], s);
      }
      for (int64_t s = shards - 1; s > 0; s--) {
        int64_t other = (int64_t)(random_next(&seed) % (uint64_t)(s + 1)), swap = order[s];
        order[s] = order[other];
        order[other] = swap;
      }
      for (int64_t s = 0; s < shards; s++)
        dtr_tree_put(tree, order[s], blocks[order[s]]);
      check_result(tree, shards);
    }
    dtr_tree_free(tree);
  }
}

struct round {
  struct dtr_tree *tree;
  int64_t shards;
  _Atomic int64_t next;
};

static void run_shards(void *context, int thread) {
  struct round *round = context;
  (void)thread;
  while (atomic_load(&round->next) < round->shards) {
    char *block = dtr_tree_take(round->tree);
    int64_t shard = atomic_fetch_add(&round->next, 1);
    if (shard >= round->shards) {
      dtr_tree_return(round->tree, block);
      return;
    }
    fill(block, shard);
    dtr_tree_put(round->tree, shard, block);
  }
}

static void shards_on_threads(void **state) {
  (void)state;
  for (int threads = 1; threads <= 5; threads++) {
    struct dtr_error error;
    struct dtr_pool *pool;
    dtr_error_clear(&error);
    assert_true(dtr_pool_new(threads, &pool, &error));
    for (int64_t shards = threads; shards <= MOST_SHARDS; shards++) {
      struct dtr_tree *tree = new_tree(shards, threads);
      for (int i = 0; i < 10; i++) {
        struct round round = {.tree = tree, .shards = shards};
        dtr_pool_all(pool, run_shards, &round);
        check_result(tree, shards);
      }
      dtr_tree_free(tree);
    }
    dtr_pool_free(pool);
  }
}

static void one_worker_needs_few_blocks(void **state) {
  (void)state;
  assert_int_equal(dtr_tree_blocks(1, 1), 1);
  assert_int_equal(dtr_tree_blocks(2, 1), 2);
  assert_int_equal(dtr_tree_blocks(8, 1), 4);
  assert_int_equal(dtr_tree_blocks(1024, 1), 11);
  assert_int_equal(dtr_tree_blocks(8, 2), 5);
  assert_int_equal(dtr_tree_blocks(4, 100), 4);
}

static void reset_takes_back_an_unfinished_round(void **state) {
  (void)state;
  struct dtr_tree *tree = new_tree(8, 1);
  char *block = dtr_tree_take(tree);
  fill(block, 5);
  dtr_tree_put(tree, 5, block);
  dtr_tree_reset(tree);
  assert_null(dtr_tree_result(tree));
  for (int64_t s = 0; s < 8; s++) {
    block = dtr_tree_take(tree);
    fill(block, s);
    dtr_tree_put(tree, s, block);
  }
  check_result(tree, 8);
  dtr_tree_free(tree);
}

static void types_that_cannot_be_combined_are_refused(void **state) {
  (void)state;
  static const struct dtr_contribution bytes[] = {
      {"flag", DTR_CONTRIBUTION_STATE, DTR_BOOL, 1, 0, false, false, {0}}};
  struct dtr_error error;
  struct dtr_tree *tree;
  dtr_error_clear(&error);
  assert_false(dtr_tree_new(bytes, 1, 64, 2, 1, 0, &tree, &error));
  assert_int_equal(error.status, DTR_STATUS_BUG);
}

/* ---- streams ---- */

enum { MOST_CHUNKS = 70 };

static double stream_reference(const float *values, const double *weights, int64_t begin,
                               int64_t count) {
  if (count == 1)
    return (double)values[begin] * weights[begin];
  int64_t split = dtr_tree_split(count);
  return stream_reference(values, weights, begin, split) +
         stream_reference(values, weights, begin + split, count - split);
}

static void streams_follow_the_same_tree(void **state) {
  (void)state;
  uint64_t seed = 99;
  float values[MOST_CHUNKS];
  double weights[MOST_CHUNKS];
  for (int i = 0; i < MOST_CHUNKS; i++) {
    values[i] =
        ldexpf((float)(random_next(&seed) % 2001) - 1000.0f, (int)(random_next(&seed) % 61) - 30);
    weights[i] = i < MOST_CHUNKS / 2 ? 32 : 1;
  }
  for (int64_t chunks = 1; chunks <= MOST_CHUNKS; chunks++) {
    double levels[DTR_STREAM_LEVELS], mean, weight = 0;
    struct dtr_stream stream;
    dtr_stream_begin(&stream, 1, levels);
    for (int64_t i = 0; i < chunks; i++) {
      dtr_stream_add(&stream, &values[i], 16, weights[i]);
      weight += weights[i];
    }
    dtr_stream_means(&stream, &mean);
    double expected = stream_reference(values, weights, 0, chunks) / weight;
    assert_memory_equal(&mean, &expected, sizeof mean);
  }
}

static void split_is_the_largest_power_below(void **state) {
  (void)state;
  static const int64_t splits[][2] = {{2, 1}, {3, 2}, {4, 2}, {5, 4}, {6, 4}, {8, 4}, {9, 8}};
  for (size_t i = 0; i < sizeof splits / sizeof *splits; i++)
    assert_int_equal(dtr_tree_split(splits[i][0]), splits[i][1]);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(combine_adds_and_keeps_the_largest),
      cmocka_unit_test(shards_in_order),
      cmocka_unit_test(shards_in_any_order),
      cmocka_unit_test(shards_on_threads),
      cmocka_unit_test(one_worker_needs_few_blocks),
      cmocka_unit_test(reset_takes_back_an_unfinished_round),
      cmocka_unit_test(types_that_cannot_be_combined_are_refused),
      cmocka_unit_test(streams_follow_the_same_tree),
      cmocka_unit_test(split_is_the_largest_power_below),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
