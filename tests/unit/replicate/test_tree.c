// Partial sums: subtrees inside a block against the tree walked node by node.
#include "compiler/replicate/internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

// The largest nodes of the tree over [low, high) that lie inside [begin, end), one after the other.
static uint32_t walk(int64_t low, int64_t high, int64_t begin, int64_t end) {
  int64_t half = 1;
  if (begin >= high || end <= low)
    return 0;
  if (begin <= low && high <= end)
    return 1;
  while (half * 2 < high - low)
    half *= 2;
  return walk(low, low + half, begin, end) + walk(low + half, high, begin, end);
}

static void test_counts(void **state) {
  (void)state;
  for (int64_t shards = 1; shards <= 70; shards++)
    for (int64_t begin = 0; begin < shards; begin++)
      for (int64_t end = begin + 1; end <= shards; end++)
        assert_int_equal(dtg_subtree_count(shards, begin, end), walk(0, shards, begin, end));
}

static void test_classes(void **state) {
  (void)state;
  struct dtg_arena arena = {0};
  for (int64_t shards = 1; shards <= 96; shards++)
    for (uint32_t replicas = 1; replicas <= shards; replicas++) {
      if (shards % replicas != 0)
        continue;
      struct dtg_partial_sums sums = dtg_partial_sums_of(&arena, 96 * 4, shards, replicas);
      int64_t each = shards / replicas, all = 0;
      uint32_t most = 0, counted = 0;
      for (uint32_t r = 0; r < replicas; r++) {
        uint32_t count = walk(0, shards, r * each, (r + 1) * each);
        all += count;
        if (count > most)
          most = count;
      }
      for (size_t i = 0; i < sums.classes.len; i++)
        counted += sums.classes.data[i].replicas;
      assert_int_equal(sums.all, all);
      assert_int_equal(sums.most, most);
      assert_int_equal(counted, replicas);
      assert_true(sums.suggested_shards == 0 || sums.suggested_shards % replicas == 0);
      if (sums.suggested_shards)
        assert_int_equal(dtg_partial_sums_of(&arena, 96 * 4, sums.suggested_shards, replicas).most,
                         1);
    }
  dtg_arena_free(&arena);
}

// The example of semantics.md: 6 shards over 2 replicas.
static void test_example(void **state) {
  (void)state;
  struct dtg_arena arena = {0};
  struct dtg_partial_sums sums = dtg_partial_sums_of(&arena, 24, 6, 2);
  assert_int_equal(sums.classes.len, 1);
  assert_int_equal(sums.classes.data[0].sums, 2);
  assert_int_equal(sums.suggested_shards, 4);
  sums = dtg_partial_sums_of(&arena, 40, 20, 4);
  assert_int_equal(sums.classes.len, 2);
  assert_int_equal(sums.classes.data[0].sums, 2);
  assert_int_equal(sums.classes.data[1].sums, 3);
  dtg_arena_free(&arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_counts),
      cmocka_unit_test(test_classes),
      cmocka_unit_test(test_example),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
