/* What everything simulated shares: a seeded source of random numbers, and virtual time.
 *
 * Purpose: one seed decides a whole run, so a run that fails can be repeated exactly. Ownership:
 * plain values; whoever makes a world keeps it. Threads: one; a simulation has no other.
 */
#ifndef DTR_SIM_WORLD_H
#define DTR_SIM_WORLD_H

#include <stdbool.h>
#include <stdint.h>

/* A sequence of its own for each purpose: one that is used more does not shift the others. */
struct dtr_sim_random {
  uint64_t state;
};

/* SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014). */
static inline uint64_t dtr_sim_random_next(struct dtr_sim_random *random) {
  uint64_t z = random->state += UINT64_C(0x9E3779B97F4A7C15);
  z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
  z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
  return z ^ (z >> 31);
}

static inline struct dtr_sim_random dtr_sim_random_make(uint64_t seed, uint64_t purpose) {
  struct dtr_sim_random random = {seed * UINT64_C(0xD1342543DE82EF95) + purpose};
  dtr_sim_random_next(&random);
  return random;
}

/* 0 .. limit - 1; `limit` > 0. Slightly uneven above 2^32, which does not matter here. */
static inline int64_t dtr_sim_random_below(struct dtr_sim_random *random, int64_t limit) {
  return (int64_t)(dtr_sim_random_next(random) % (uint64_t)limit);
}

static inline bool dtr_sim_random_hits(struct dtr_sim_random *random, int64_t per_million) {
  return per_million > 0 && dtr_sim_random_below(random, 1000000) < per_million;
}

enum { DTR_SIM_MICROSECOND = 1000, DTR_SIM_MILLISECOND = 1000000 };
static const int64_t dtr_sim_second = INT64_C(1000000000);

struct dtr_sim_world {
  uint64_t seed;
  int64_t now;   /* virtual nanoseconds since the start */
  int64_t spent; /* by the poll that is running, so far: on a slow disk, for example */
};

#endif
