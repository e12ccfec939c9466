/* Offsets: pieces that live together are disjoint, and the size is near the largest live set. */
#include "compiler/schedule/internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

enum { PIECES = 60, STEPS = 40 };

static uint64_t draw(uint64_t *state) {
  *state = *state * 6364136223846793005u + 1442695040888963407u;
  return *state >> 33;
}

static void check_disjoint(const struct dtg_arena_piece *pieces, size_t count, int64_t size) {
  for (size_t i = 0; i < count; i++) {
    assert_true(pieces[i].offset >= 0 && pieces[i].offset + pieces[i].bytes <= size);
    assert_int_equal(pieces[i].offset % 64, 0);
    for (size_t k = i + 1; k < count; k++) {
      const struct dtg_arena_piece *a = &pieces[i], *b = &pieces[k];
      bool together = a->first <= b->last && b->first <= a->last;
      bool overlap = a->offset < b->offset + b->bytes && b->offset < a->offset + a->bytes;
      assert_false(together && overlap);
    }
  }
}

static void test_random(void **state) {
  (void)state;
  double worst = 1;
  for (uint64_t seed = 1; seed <= 50; seed++) {
    struct dtg_arena scratch = {0};
    struct dtg_arena_piece pieces[PIECES];
    uint64_t random = seed;
    uint32_t step;
    for (int i = 0; i < PIECES; i++) {
      pieces[i].bytes = (int64_t)(draw(&random) % 64 + 1) * 64;
      pieces[i].first = (uint32_t)(draw(&random) % STEPS);
      pieces[i].last = pieces[i].first + (uint32_t)(draw(&random) % 8);
    }
    int64_t size = dtg_arena_assign(&scratch, pieces, PIECES);
    int64_t peak = dtg_arena_live_peak(pieces, PIECES, STEPS + 8, &step);
    check_disjoint(pieces, PIECES, size);
    assert_true(size >= peak);
    worst = (double)size / (double)peak > worst ? (double)size / (double)peak : worst;
    dtg_arena_free(&scratch);
  }
  printf("at worst %.3f of the largest live set\n", worst);
  assert_true(worst < 1.15);
}

/* A chain, as of layers: each piece lives with the next only. */
static void test_chain(void **state) {
  (void)state;
  struct dtg_arena scratch = {0};
  struct dtg_arena_piece pieces[20];
  for (uint32_t i = 0; i < 20; i++)
    pieces[i] = (struct dtg_arena_piece){.bytes = 64 * (1 + i % 3), .first = i, .last = i + 1};
  uint32_t step;
  int64_t size = dtg_arena_assign(&scratch, pieces, 20);
  check_disjoint(pieces, 20, size);
  assert_int_equal(size, dtg_arena_live_peak(pieces, 20, 21, &step));
  dtg_arena_free(&scratch);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_random), cmocka_unit_test(test_chain)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
