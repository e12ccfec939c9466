/* Random choices and the text of a model under construction.
 *
 * Purpose: what all parts of the generator share. Ownership: texts live in the arena of the
 * generator. Threads: none. The choices are a function of the seed alone.
 */
#ifndef RANDOM_TEXT_H
#define RANDOM_TEXT_H

#include "compiler/base/arena.h"
#include "compiler/base/strbuf.h"

#include <stdbool.h>
#include <stdint.h>

struct rnd {
  struct dtg_arena *arena;
  uint64_t state; /* of splitmix64 */
};

uint64_t rnd_bits(struct rnd *rnd);
/* 0 .. limit - 1 */
int rnd_below(struct rnd *rnd, int limit);
/* low .. high, both included */
int rnd_between(struct rnd *rnd, int low, int high);
/* True in `percent` of 100 cases. */
bool rnd_chance(struct rnd *rnd, int percent);
/* One of the texts; the list ends with NULL. */
const char *rnd_word(struct rnd *rnd, const char *const *words);
#define RND_WORD(rnd, ...) rnd_word((rnd), (const char *const[]){__VA_ARGS__, NULL})
/* A number of two digits from low to high, as it is written: "0.35". */
const char *rnd_number(struct rnd *rnd, double low, double high);

const char *rnd_format(struct rnd *rnd, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
