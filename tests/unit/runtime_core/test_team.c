/* Threads: every job and every tile exactly once, also in teams within the pool. */
#include "runtime/team.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct dtr_pool *new_pool(int threads) {
  struct dtr_error error;
  struct dtr_pool *pool = NULL;
  dtr_error_clear(&error);
  assert_true(dtr_pool_new(threads, &pool, &error));
  assert_int_equal(dtr_pool_threads(pool), threads);
  return pool;
}

static void count_call(void *context, int thread) {
  _Atomic int *calls = context;
  atomic_fetch_add(&calls[thread], 1);
}

static void all_threads_run_a_job_once(void **state) {
  (void)state;
  for (int threads = 1; threads <= 6; threads++) {
    struct dtr_pool *pool = new_pool(threads);
    _Atomic int calls[6] = {0};
    enum { ROUNDS = 200 };
    for (int i = 0; i < ROUNDS; i++)
      dtr_pool_all(pool, count_call, calls);
    for (int t = 0; t < 6; t++)
      assert_int_equal(calls[t], t < threads ? ROUNDS : 0);
    dtr_pool_free(pool);
  }
}

/* Work that is taken until none is left: all of it is done, by whoever came in time. */
struct heap {
  _Atomic int left;
  _Atomic int done;
};

static void take_from_heap(void *context, int thread) {
  struct heap *heap = context;
  (void)thread;
  while (atomic_fetch_sub(&heap->left, 1) > 0)
    atomic_fetch_add(&heap->done, 1);
}

static void shared_work_is_done_once(void **state) {
  (void)state;
  for (int threads = 1; threads <= 6; threads++) {
    struct dtr_pool *pool = new_pool(threads);
    for (int i = 0; i < 3000; i++) {
      struct heap heap = {.left = i % 7};
      dtr_pool_share(pool, take_from_heap, &heap);
      assert_int_equal(heap.done, i % 7);
      memset(&heap, 0xff, sizeof heap); /* nobody may look at it any more */
    }
    _Atomic int calls[6] = {0};
    dtr_pool_all(pool, count_call, calls); /* jobs taken back leave no trace */
    for (int t = 0; t < threads; t++)
      assert_int_equal(calls[t], 1);
    dtr_pool_free(pool);
  }
}

enum { MOST_TILES = 1000 };
struct tally {
  int first, count;
  _Atomic int tiles[MOST_TILES];
  _Atomic int strangers; /* calls on threads outside the team */
};

static void count_tiles(void *context, int thread, int64_t begin, int64_t end) {
  struct tally *tally = context;
  if (thread < tally->first || thread >= tally->first + tally->count)
    atomic_fetch_add(&tally->strangers, 1);
  for (int64_t i = begin; i < end; i++)
    atomic_fetch_add(&tally->tiles[i], 1);
}

static void check_tally(const struct tally *tally, int64_t tiles, int times) {
  assert_int_equal(tally->strangers, 0);
  for (int64_t i = 0; i < MOST_TILES; i++)
    assert_int_equal(tally->tiles[i], i < tiles ? times : 0);
}

static void tiles_are_dealt_once(void **state) {
  (void)state;
  static const int64_t counts[] = {0, 1, 2, 3, 7, 16, 33, MOST_TILES};
  for (int threads = 1; threads <= 4; threads++) {
    struct dtr_pool *pool = new_pool(threads);
    struct dtr_team team = {.pool = pool, .first = 0, .count = threads};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
      struct tally *tally = calloc(1, sizeof *tally);
      tally->count = threads;
      for (int round = 0; round < 20; round++)
        dtr_team_tiles(&team, counts[i], count_tiles, tally);
      check_tally(tally, counts[i], 20);
      free(tally);
    }
    dtr_pool_free(pool);
  }
}

/* A single tile never leaves the leader. */
static void stay_home(void *context, int thread, int64_t begin, int64_t end) {
  int *calls = context;
  assert_int_equal(thread, 0);
  assert_int_equal(begin, 0);
  assert_int_equal(end, 1);
  (*calls)++;
}

static void one_tile_wakes_nobody(void **state) {
  (void)state;
  struct dtr_pool *pool = new_pool(3);
  struct dtr_team team = {.pool = pool, .first = 0, .count = 3};
  int calls = 0;
  dtr_team_tiles(&team, 1, stay_home, &calls);
  assert_int_equal(calls, 1);
  dtr_pool_free(pool);
}

struct half {
  struct dtr_team team;
  struct tally tally;
};

static void lead(void *context, int thread) {
  struct half *halves = context;
  struct half *mine = &halves[thread == 0 ? 0 : 1];
  for (int round = 0; round < 50; round++)
    dtr_team_tiles(&mine->team, MOST_TILES, count_tiles, &mine->tally);
}

static void teams_work_side_by_side(void **state) {
  (void)state;
  struct dtr_pool *pool = new_pool(5);
  struct half *halves = calloc(2, sizeof *halves);
  halves[0].team = (struct dtr_team){.pool = pool, .first = 0, .count = 3};
  halves[1].team = (struct dtr_team){.pool = pool, .first = 3, .count = 2};
  for (int i = 0; i < 2; i++) {
    halves[i].tally.first = halves[i].team.first;
    halves[i].tally.count = halves[i].team.count;
  }
  dtr_pool_post(pool, 3, lead, halves);
  lead(halves, 0);
  dtr_pool_wait(pool, 3);
  check_tally(&halves[0].tally, MOST_TILES, 50);
  check_tally(&halves[1].tally, MOST_TILES, 50);
  free(halves);
  dtr_pool_free(pool);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(all_threads_run_a_job_once), cmocka_unit_test(shared_work_is_done_once),
      cmocka_unit_test(tiles_are_dealt_once),       cmocka_unit_test(one_tile_wakes_nobody),
      cmocka_unit_test(teams_work_side_by_side),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
