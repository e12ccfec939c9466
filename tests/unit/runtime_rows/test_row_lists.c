/* Lists of rows against dense tensors: the same bits for shards, along the tree, and in messages.
 */
#include "runtime/memory.h"
#include "runtime/rows.h"
#include "runtime/tree.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { SHARDS = 8, PICKS = 40, ROWS = 57, WIDTH = 5, BLOCK_ROWS = 16, CASES = 200 };

static uint64_t random_next(uint64_t *state) {
  *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return *state >> 17;
}

/* The list has room for `shards` of them. */
static struct dtr_contribution table_of(int64_t shards) {
  struct dtr_contribution c = {
      .name = "t",
      .kind = DTR_CONTRIBUTION_GRAD,
      .dtype = DTR_F32,
      .elements = ROWS * WIDTH,
      .list = {.kind = DTR_ROWS_TOUCHED, .rows = ROWS, .width = WIDTH, .picks = PICKS}};
  c.list.capacity = dtr_rows_capacity(&c.list, shards, ROWS, BLOCK_ROWS);
  c.list.ids = dtr_memory_round(DTR_ROW_COUNT_BYTES);
  c.offset = c.list.ids + dtr_memory_round(c.list.capacity * DTR_ROW_ID_BYTES);
  return c;
}

static int64_t block_bytes(const struct dtr_contribution *c) {
  return dtr_rows_block_bytes(&c->list, c->list.capacity);
}

/* Zeros of both signs, values that cancel, and ids that are no rows. */
static float draw_value(uint64_t *state) {
  switch (random_next(state) % 5) {
  case 0:
    return random_next(state) % 2 ? -0.0f : 0.0f;
  case 1:
    return random_next(state) % 2 ? 1.0f : -1.0f;
  default:
    return ldexpf((float)(random_next(state) % 2001) - 1000.0f,
                  (int)(random_next(state) % 41) - 20);
  }
}

static int32_t draw_id(uint64_t *state, uint64_t spread) {
  uint64_t kind = random_next(state) % 20;
  if (kind == 0)
    return -1 - (int32_t)(random_next(state) % 9);
  if (kind == 1)
    return ROWS + (int32_t)(random_next(state) % 9);
  return (int32_t)(random_next(state) % spread);
}

/* What a shard writes, and the dense gradient: added up in order, beginning with 0. */
static void write_shard(const struct dtr_contribution *c, uint64_t seed, char *block,
                        float *dense) {
  uint64_t state = seed, spread = random_next(&state) % ROWS + 1;
  int32_t *ids = dtr_rows_ids(c, block);
  float *values = (float *)(void *)(block + c->offset);
  memset(dense, 0, sizeof(float) * ROWS * WIDTH);
  for (int64_t i = 0; i < PICKS; i++) {
    ids[i] = draw_id(&state, spread);
    for (int64_t e = 0; e < WIDTH; e++) {
      values[i * WIDTH + e] = draw_value(&state);
      if (ids[i] >= 0 && ids[i] < ROWS)
        dense[ids[i] * WIDTH + e] += values[i * WIDTH + e];
    }
  }
}

/* Absent rows are +0. */
static void check_list(const struct dtr_contribution *c, char *block, const float *dense,
                       uint64_t seed) {
  float spread[ROWS * WIDTH] = {0};
  int64_t last = -1;
  for (int32_t i = 0; i < *dtr_rows_count(c, block); i++) {
    int32_t id = dtr_rows_ids(c, block)[i];
    if (id <= last || id >= ROWS)
      fail_msg("seed %llu: id %d after %lld", (unsigned long long)seed, id, (long long)last);
    last = id;
    memcpy(spread + id * WIDTH, block + c->offset + i * WIDTH * (int64_t)sizeof(float),
           WIDTH * sizeof(float));
  }
  if (memcmp(spread, dense, sizeof spread) != 0)
    fail_msg("seed %llu: other bits than the dense gradient", (unsigned long long)seed);
}

static void make_shard(const struct dtr_contribution *c, uint64_t seed, char *block, float *dense) {
  char *scratch = dtr_memory_new(dtr_rows_scratch(c, 1));
  write_shard(c, seed, block, dense);
  dtr_rows_sort(c, block, scratch);
  check_list(c, block, dense, seed);
  dtr_memory_free(scratch);
}

/* Dense sums by the definition of the tree. */
static void reference(const struct dtr_contribution *c, uint64_t seed, int64_t begin, int64_t count,
                      float *dense) {
  if (count == 1) {
    char *block = dtr_memory_new(block_bytes(c));
    write_shard(c, seed + (uint64_t)begin, block, dense);
    dtr_memory_free(block);
    return;
  }
  float right[ROWS * WIDTH];
  int64_t split = dtr_tree_split(count);
  reference(c, seed, begin, split, dense);
  reference(c, seed, begin + split, count - split, right);
  for (int64_t e = 0; e < ROWS * WIDTH; e++)
    dense[e] += right[e];
}

static void sums_have_the_bits_of_dense_ones(void **state) {
  (void)state;
  for (uint64_t seed = 1; seed <= CASES; seed++) {
    int64_t shards = 1 + (int64_t)(seed % SHARDS);
    struct dtr_contribution c = table_of(shards);
    struct dtr_error error;
    struct dtr_tree *tree;
    float dense[ROWS * WIDTH];
    dtr_error_clear(&error);
    assert_true(dtr_tree_new(&c, 1, dtr_memory_round(block_bytes(&c)), shards, (int)shards, 0,
                             &tree, &error));
    for (int64_t i = 0; i < shards; i++) { /* in an order of the seed's own */
      int64_t shard = (i * 3 + (int64_t)seed) % shards;
      if (shards % 3 == 0)
        shard = i;
      char *block = dtr_tree_take(tree);
      make_shard(&c, seed * 1000 + (uint64_t)shard, block, dense);
      dtr_tree_put(tree, shard, block);
    }
    char *sum = dtr_tree_result(tree);
    reference(&c, seed * 1000, 0, shards, dense);
    check_list(&c, sum, dense, seed);
    dtr_tree_return(tree, sum);
    dtr_tree_free(tree);
  }
}

static void slices_travel_as_they_are(void **state) {
  (void)state;
  struct dtr_contribution c = table_of(1);
  char *block = dtr_memory_new(block_bytes(&c)), *other = dtr_memory_new(block_bytes(&c));
  char *message = malloc((size_t)dtr_rows_message_bytes(&c.list, ROWS));
  for (uint64_t seed = 1; seed <= CASES; seed++) {
    float dense[ROWS * WIDTH], part[ROWS * WIDTH] = {0};
    int64_t first = (int64_t)(seed % ROWS), rows = 1 + (int64_t)(seed * 7) % (ROWS - first);
    int32_t count;
    make_shard(&c, seed, block, dense);
    int64_t bytes = dtr_rows_pack(&c, block, first, rows, message);
    assert_int_equal(dtr_rows_check(&c.list, message, bytes, PICKS, first, rows, &count), bytes);
    assert_int_equal(dtr_rows_message_bytes(&c.list, count), bytes);
    assert_int_equal(dtr_rows_unpack(&c, message, other), bytes);
    memcpy(part + first * WIDTH, dense + first * WIDTH, (size_t)(rows * WIDTH) * sizeof(float));
    check_list(&c, other, part, seed);
  }
  free(message);
  dtr_memory_free(block);
  dtr_memory_free(other);
}

/* A message of rows 3, 5 and 6. */
static int64_t write_message(const struct dtr_contribution *c, char *message) {
  int32_t words[] = {3, 3, 5, 6};
  int64_t bytes = dtr_rows_message_bytes(&c->list, 3);
  memset(message, 0, (size_t)bytes);
  memcpy(message, words, sizeof words);
  return bytes;
}

static void lists_that_are_none_are_refused(void **state) {
  (void)state;
  struct dtr_contribution c = table_of(1);
  char message[1024];
  int64_t bytes = write_message(&c, message);
  int32_t count, wrong[] = {-2, INT32_MIN, 4, INT32_MAX};
  assert_int_equal(dtr_rows_check(&c.list, message, bytes, 3, 0, ROWS, &count), bytes);
  assert_int_equal(dtr_rows_check(&c.list, message, bytes, 2, 0, ROWS, &count), -1); /* too many */
  assert_int_equal(dtr_rows_check(&c.list, message, bytes, 3, 4, 9, &count), -1);    /* below */
  assert_int_equal(dtr_rows_check(&c.list, message, bytes, 3, 0, 6, &count), -1);    /* beyond */
  for (int64_t size = 0; size < bytes; size++)
    assert_int_equal(dtr_rows_check(&c.list, message, size, 3, 0, ROWS, &count), -1);
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    memcpy(message, &wrong[i], sizeof wrong[i]);
    assert_int_equal(dtr_rows_check(&c.list, message, bytes, 3, 0, ROWS, &count), -1);
  }
  write_message(&c, message);
  memcpy(message + 8, &(int32_t){3}, 4); /* twice */
  assert_int_equal(dtr_rows_check(&c.list, message, bytes, 3, 0, ROWS, &count), -1);
  memcpy(message + 8, &(int32_t){2}, 4); /* out of order */
  assert_int_equal(dtr_rows_check(&c.list, message, bytes, 3, 0, ROWS, &count), -1);
}

/* Bytes of any kind: what passes is safe to unpack. */
static void random_messages_do_no_harm(void **state) {
  (void)state;
  struct dtr_contribution c = table_of(1);
  char *block = dtr_memory_new(block_bytes(&c));
  uint64_t random = 20;
  int passed = 0;
  for (int i = 0; i < 20000; i++) {
    int64_t size = (int64_t)(random_next(&random) % 400);
    char *message = malloc((size_t)size + 1);
    int32_t count;
    if (i % 2 == 0) {
      for (int64_t b = 0; b < size; b++)
        message[b] = (char)random_next(&random);
    } else { /* nearly a list */
      char whole[1024];
      int64_t bytes = write_message(&c, whole);
      size = size < bytes ? size : bytes;
      size = random_next(&random) % 2 ? bytes : size;
      message = realloc(message, (size_t)size + 1);
      memcpy(message, whole, (size_t)size);
      if (size > 0 && random_next(&random) % 4)
        message[random_next(&random) % (uint64_t)(size < 16 ? size : 16)] =
            (char)(random_next(&random) % 9);
    }
    int64_t used = dtr_rows_check(&c.list, message, size, PICKS, 0, ROWS, &count);
    assert_true(used <= size);
    if (used >= 0) {
      assert_int_equal(dtr_rows_unpack(&c, message, block), used);
      passed++;
    }
    free(message);
  }
  assert_true(passed > 100);
  dtr_memory_free(block);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(sums_have_the_bits_of_dense_ones),
      cmocka_unit_test(slices_travel_as_they_are),
      cmocka_unit_test(lists_that_are_none_are_refused),
      cmocka_unit_test(random_messages_do_no_harm),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
