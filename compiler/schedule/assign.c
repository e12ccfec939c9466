/* Offsets in the arena: best fit over lifetimes, in several orders, and the best is kept. */
#include "compiler/schedule/internal.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_SHUFFLES = 400 };

static bool live_together(const struct dtg_arena_piece *a, const struct dtg_arena_piece *b) {
  return a->first <= b->last && b->first <= a->last;
}

int64_t dtg_arena_live_peak(const struct dtg_arena_piece *pieces, size_t count, uint32_t steps,
                            uint32_t *peak_step) {
  int64_t peak = 0;
  *peak_step = 0;
  for (uint32_t step = 0; step < steps; step++) {
    int64_t live = 0;
    for (size_t i = 0; i < count; i++)
      live += pieces[i].first <= step && step <= pieces[i].last ? pieces[i].bytes : 0;
    if (live > peak) {
      peak = live;
      *peak_step = step;
    }
  }
  return peak;
}

/* The smallest gap below `bound` that holds the piece among those placed that live with it, at its
 * lower or upper end; else behind them. */
static int64_t best_gap(const struct dtg_arena_piece *piece, struct dtg_arena_piece *const *sorted,
                        size_t count, int64_t bound) {
  int64_t end = 0, best = -1, smallest = INT64_MAX;
  for (size_t i = 0; i <= count; i++) {
    if (i < count && !live_together(piece, sorted[i]))
      continue;
    int64_t gap = (i < count ? sorted[i]->offset : bound) - end;
    if (gap >= piece->bytes && gap < smallest) {
      smallest = gap;
      best = piece->high ? end + gap - piece->bytes : end;
    }
    if (i < count && sorted[i]->offset + sorted[i]->bytes > end)
      end = sorted[i]->offset + sorted[i]->bytes;
  }
  return best >= 0 ? best : end;
}

static int64_t place_in_order(struct dtg_arena_piece *const *order, size_t count,
                              struct dtg_arena_piece **sorted, int64_t bound) {
  int64_t size = 0;
  for (size_t i = 0; i < count; i++) {
    struct dtg_arena_piece *piece = order[i];
    size_t at = i;
    piece->offset = best_gap(piece, sorted, i, bound);
    for (; at > 0 && sorted[at - 1]->offset > piece->offset; at--)
      sorted[at] = sorted[at - 1];
    sorted[at] = piece;
    if (piece->offset + piece->bytes > size)
      size = piece->offset + piece->bytes;
  }
  return size;
}

static int by_address(const struct dtg_arena_piece *a, const struct dtg_arena_piece *b) {
  return (a > b) - (a < b); /* all pieces are in one array: its order */
}

static int by_size(const void *left, const void *right) {
  const struct dtg_arena_piece *a = *(struct dtg_arena_piece *const *)left;
  const struct dtg_arena_piece *b = *(struct dtg_arena_piece *const *)right;
  if (a->bytes != b->bytes)
    return a->bytes > b->bytes ? -1 : 1;
  return by_address(a, b);
}

static int by_length(const void *left, const void *right) {
  const struct dtg_arena_piece *a = *(struct dtg_arena_piece *const *)left;
  const struct dtg_arena_piece *b = *(struct dtg_arena_piece *const *)right;
  uint32_t x = a->last - a->first, y = b->last - b->first;
  return x != y ? (x > y ? -1 : 1) : by_size(left, right);
}

static int by_area(const void *left, const void *right) {
  const struct dtg_arena_piece *a = *(struct dtg_arena_piece *const *)left;
  const struct dtg_arena_piece *b = *(struct dtg_arena_piece *const *)right;
  double x = (double)a->bytes * (a->last - a->first + 1.0);
  double y = (double)b->bytes * (b->last - b->first + 1.0);
  return x != y ? (x > y ? -1 : 1) : by_address(a, b);
}

static int by_start(const void *left, const void *right) {
  const struct dtg_arena_piece *a = *(struct dtg_arena_piece *const *)left;
  const struct dtg_arena_piece *b = *(struct dtg_arena_piece *const *)right;
  return a->first != b->first ? (a->first < b->first ? -1 : 1) : by_size(left, right);
}

struct search {
  struct dtg_arena_piece **order, **sorted;
  struct dtg_arena_piece *pieces;
  int64_t *offsets; /* of the best */
  size_t count;
  int64_t bound; /* the largest live set */
  int64_t best;
};

static void attempt(struct search *search) {
  int64_t size = place_in_order(search->order, search->count, search->sorted, search->bound);
  if (size >= search->best)
    return;
  search->best = size;
  for (size_t i = 0; i < search->count; i++)
    search->offsets[i] = search->pieces[i].offset;
}

static uint64_t draw(uint64_t *state) {
  *state = *state * 6364136223846793005u + 1442695040888963407u;
  return *state >> 33;
}

/* Exchanges neighbours in the order, and turns some pieces to the other end of their gap; from a
 * fixed seed, so that the plan is the same every time. */
static void shuffle(struct search *search, uint64_t *state) {
  for (size_t i = 0; i + 1 < search->count; i++) {
    if (draw(state) % 8 == 0)
      search->order[i]->high = !search->order[i]->high;
    if (draw(state) % 4 != 0)
      continue;
    struct dtg_arena_piece *piece = search->order[i];
    search->order[i] = search->order[i + 1];
    search->order[i + 1] = piece;
  }
}

/* Pieces that follow one another go to opposite ends, as a chain of layers wants it. */
static void alternate(struct search *search, bool on) {
  for (size_t i = 0; i < search->count; i++)
    search->pieces[i].high = on && search->pieces[i].first % 2 != 0;
}

static void try_orders(struct search *search) {
  int (*const orders[])(const void *, const void *) = {by_size, by_length, by_area, by_start};
  for (size_t i = 0; i < 2 * (sizeof orders / sizeof *orders); i++) {
    if (search->best <= search->bound)
      return;
    alternate(search, i % 2 != 0);
    qsort(search->order, search->count, sizeof *search->order, orders[i / 2]);
    attempt(search);
  }
}

/* As many tries as cost some milliseconds. */
static int shuffle_count(size_t count) {
  size_t tries = 4000000 / (count * count + 1);
  return tries > MAX_SHUFFLES ? MAX_SHUFFLES : (int)tries;
}

int64_t dtg_arena_assign(struct dtg_arena *scratch, struct dtg_arena_piece *pieces, size_t count) {
  struct search search = {.pieces = pieces, .count = count, .best = INT64_MAX};
  uint32_t steps = 0, step;
  uint64_t state = 1;
  if (count == 0)
    return 0;
  search.order = DTG_NEW_ARRAY(scratch, struct dtg_arena_piece *, count);
  search.sorted = DTG_NEW_ARRAY(scratch, struct dtg_arena_piece *, count);
  search.offsets = DTG_NEW_ARRAY(scratch, int64_t, count);
  for (size_t i = 0; i < count; i++) {
    search.order[i] = &pieces[i];
    steps = pieces[i].last + 1 > steps ? pieces[i].last + 1 : steps;
  }
  search.bound = dtg_arena_live_peak(pieces, count, steps, &step);
  try_orders(&search);
  for (int i = 0; i < shuffle_count(count) && search.best > search.bound; i++) {
    if (i % 16 == 0) {
      qsort(search.order, count, sizeof *search.order, i % 32 == 0 ? by_size : by_area);
      alternate(&search, i % 64 >= 32);
    }
    shuffle(&search, &state);
    attempt(&search);
  }
  for (size_t i = 0; i < count; i++)
    pieces[i].offset = search.offsets[i];
  return search.best;
}
