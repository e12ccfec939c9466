// Owners: largest first, ties by index, round robin, and what neither order nor cluster size
// changes.
#include "compiler/replicate/internal.h"
#include "tests/unit/replicate/strategy_text.h"

#include "compiler/base/strbuf.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static const char *const train = "  batch = 32\n  shards = 8\n  optimizer = momentum(lr = 0.1)\n";

static void expect_slices(const char *strategy, const char *cluster, const char *expected) {
  struct strategy_text text;
  struct dtg_strbuf seen = {0};
  strategy_open(&text, train, strategy, cluster);
  assert_non_null(text.partition);
  strategy_slices(&text, &seen);
  assert_string_equal(dtg_strbuf_text(&seen), expected);
  dtg_strbuf_free(&seen);
  strategy_close(&text);
}

static const char *const between = "replicate between_graph over worker  ";

static void expect_between(const char *params, const char *cluster, const char *expected) {
  char strategy[256];
  snprintf(strategy, sizeof strategy, "%s%s", between, params);
  expect_slices(strategy, cluster, expected);
}

// a.w is the largest, then b.w, then the state (no slots), then a.b, then b.b.
static void test_largest_first(void **state) {
  (void)state;
  expect_between("params on ps", "ps=2,worker=2",
                 "a.b[0,256)@1 a.w[0,200704)@0 b.b[0,10)@1 b.w[0,2560)@1 norm.mean_of[0,784)@1 ");
  expect_between("params on ps", "ps=4,worker=2",
                 "a.b[0,256)@3 a.w[0,200704)@0 b.b[0,10)@3 b.w[0,2560)@1 norm.mean_of[0,784)@2 ");
}

static void test_round_robin(void **state) {
  (void)state;
  expect_between("params on ps balance round_robin", "ps=2,worker=2",
                 "a.b[0,256)@0 a.w[0,200704)@1 b.b[0,10)@0 b.w[0,2560)@1 norm.mean_of[0,784)@0 ");
}

// 13 blocks of 64 rows: cut into 3, at block edges, as even as blocks allow.
static void test_split(void **state) {
  (void)state;
  expect_between("params on ps balance bytes split >= 64KiB", "ps=3,worker=2",
                 "a.b[0,256)@2 a.w[0,65536)@1 a.w[65536,131072)@2 a.w[131072,200704)@0 "
                 "b.b[0,10)@2 b.w[0,2560)@1 norm.mean_of[0,784)@2 ");
  expect_between("params on ps balance round_robin split >= 64KiB", "ps=3,worker=2",
                 "a.b[0,256)@0 a.w[0,65536)@1 a.w[65536,131072)@2 a.w[131072,200704)@0 "
                 "b.b[0,10)@1 b.w[0,2560)@2 norm.mean_of[0,784)@0 ");
}

// Too small to be cut, and neighbours with one owner are one slice.
static void test_not_split(void **state) {
  (void)state;
  expect_between("params on ps split >= 1MiB", "ps=2,worker=2",
                 "a.b[0,256)@1 a.w[0,200704)@0 b.b[0,10)@1 b.w[0,2560)@1 norm.mean_of[0,784)@1 ");
  expect_between("params on ps split >= 1KiB", "ps=1,worker=2",
                 "a.b[0,256)@0 a.w[0,200704)@0 b.b[0,10)@0 b.w[0,2560)@0 norm.mean_of[0,784)@0 ");
}

static void test_patterns(void **state) {
  (void)state;
  expect_between("params \"a.*\" on ps  params mirrored", "ps=1,worker=2",
                 "a.b[0,256)@0 a.w[0,200704)@0 b.b[0,10)@2 b.w[0,2560)@1 norm.mean_of[0,784)@2 ");
  expect_between("params on ps  place \"a.w\" on /job:ps/task:1", "ps=2,worker=2",
                 "a.b[0,256)@0 a.w[0,200704)@1 b.b[0,10)@0 b.w[0,2560)@0 norm.mean_of[0,784)@0 ");
  expect_between("params on ps  prefer \"a.w\" on /job:ps/task:1", "ps=2,worker=2",
                 "a.b[0,256)@0 a.w[0,200704)@1 b.b[0,10)@0 b.w[0,2560)@0 norm.mean_of[0,784)@0 ");
  // No such device: the wish gives way.
  expect_between("params on ps  prefer \"a.w\" on /job:ps/task:9", "ps=2,worker=2",
                 "a.b[0,256)@1 a.w[0,200704)@0 b.b[0,10)@1 b.w[0,2560)@1 norm.mean_of[0,784)@1 ");
}

// Replicas that own share every tensor of several blocks.
static void test_mirrored(void **state) {
  (void)state;
  expect_between("params mirrored", "worker=2",
                 "a.b[0,256)@1 a.w[0,98304)@1 a.w[98304,200704)@0 b.b[0,10)@1 b.w[0,2560)@1 "
                 "norm.mean_of[0,784)@1 ");
  expect_between("params sharded", "worker=4",
                 "a.b[0,256)@3 a.w[0,49152)@1 a.w[49152,98304)@2 a.w[98304,147456)@3 "
                 "a.w[147456,200704)@0 b.b[0,10)@3 b.w[0,2560)@1 norm.mean_of[0,784)@2 ");
}

static void test_towers(void **state) {
  (void)state;
  expect_slices("replicate in_graph over cpu  params on cpu:1", "worker=1:cpu=2",
                "a.b[0,256)@1 a.w[0,200704)@1 b.b[0,10)@1 b.w[0,2560)@1 norm.mean_of[0,784)@1 ");
}

// The result depends on the units, not on the order in which they are given.
static void test_order(void **state) {
  (void)state;
  enum { UNITS = 40, OWNERS = 7, ROUNDS = 50 };
  struct dtg_owner_unit units[UNITS], shuffled[UNITS];
  uint64_t seed = 1;
  printf("seed %llu\n", (unsigned long long)seed);
  for (uint32_t i = 0; i < UNITS; i++) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    units[i] = (struct dtg_owner_unit){.variable = i,
                                       .weight = (int64_t)(seed >> 60), // many ties
                                       .where = {3, OWNERS, 1, 2, 1},
                                       .rule = 0};
  }
  for (int round = 0; round < ROUNDS; round++) {
    struct dtg_arena scratch = {0};
    memcpy(shuffled, units, sizeof units);
    for (uint32_t i = UNITS - 1; i > 0 && round > 0; i--) {
      seed = seed * 6364136223846793005u + 1442695040888963407u;
      uint32_t k = (uint32_t)(seed >> 33) % (i + 1);
      struct dtg_owner_unit other = shuffled[i];
      shuffled[i] = shuffled[k];
      shuffled[k] = other;
    }
    dtg_owner_balance(&scratch, shuffled, UNITS);
    for (uint32_t i = 0; i < UNITS; i++) {
      struct dtg_owner_unit *unit = &units[shuffled[i].variable];
      if (round == 0)
        unit->owner = shuffled[i].owner;
      assert_int_equal(unit->owner, shuffled[i].owner);
    }
    dtg_arena_free(&scratch);
  }
}

static int64_t load_of(const struct dtg_owner_unit *units, const uint32_t *order, uint32_t count,
                       uint32_t device) {
  int64_t bytes = 0;
  for (uint32_t i = 0; i < count; i++)
    if (units[order[i]].owner == device)
      bytes += units[order[i]].weight;
  return bytes;
}

// Against a search over all candidates, with sets that overlap and units that have no choice.
static void test_search(void **state) {
  (void)state;
  enum { UNITS = 60, ROUNDS = 200 };
  uint64_t seed = 7;
  printf("seed %llu\n", (unsigned long long)seed);
  for (int round = 0; round < ROUNDS; round++) {
    struct dtg_owner_unit units[UNITS], wanted[UNITS];
    uint32_t order[UNITS], placed = 0;
    struct dtg_arena scratch = {0};
    for (uint32_t i = 0; i < UNITS; i++) {
      seed = seed * 6364136223846793005u + 1442695040888963407u;
      uint32_t choice = (uint32_t)(seed >> 33) % 7;
      struct dtg_device_set where = choice == 0  ? (struct dtg_device_set){2, 1, 1, 1, 1}
                                    : choice < 4 ? (struct dtg_device_set){0, 5, 1, 2, 1}
                                                 : (struct dtg_device_set){4, 3, 2, 3, 1};
      units[i] = wanted[i] = (struct dtg_owner_unit){
          .variable = i, .weight = 1 + (int64_t)(seed >> 58), .where = where, .owner = UINT32_MAX};
      if (choice == 0) {
        wanted[i].owner = 2;
        order[placed++] = i;
      }
    }
    // Heaviest first, the lower variable first.
    while (placed < UNITS) {
      uint32_t next = UNITS, best = 0;
      for (uint32_t i = 0; i < UNITS; i++)
        if (wanted[i].owner == UINT32_MAX &&
            (next == UNITS || wanted[i].weight > wanted[next].weight))
          next = i;
      for (uint32_t k = 1; k < dtg_device_set_count(&wanted[next].where); k++)
        if (load_of(wanted, order, placed, dtg_device_set_at(&wanted[next].where, k)) <
            load_of(wanted, order, placed, dtg_device_set_at(&wanted[next].where, best)))
          best = k;
      wanted[next].owner = dtg_device_set_at(&wanted[next].where, best);
      order[placed++] = next;
    }
    dtg_owner_balance(&scratch, units, UNITS);
    for (uint32_t i = 0; i < UNITS; i++)
      assert_int_equal(units[i].owner, wanted[i].owner);
    dtg_arena_free(&scratch);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_largest_first), cmocka_unit_test(test_round_robin),
      cmocka_unit_test(test_split),         cmocka_unit_test(test_not_split),
      cmocka_unit_test(test_patterns),      cmocka_unit_test(test_towers),
      cmocka_unit_test(test_order),         cmocka_unit_test(test_mirrored),
      cmocka_unit_test(test_search),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
