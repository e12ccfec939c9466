/* Counter-based random numbers: Philox 4x32 with 10 rounds.
 *
 * Formula: J. Salmon, M. Moraes, R. Dror, D. Shaw, "Parallel random numbers: as easy as 1, 2, 3",
 * SC 2011. A value is a pure function of what it belongs to: `seed` (the key), `stream` (a hash of
 * the logical name) and `index` (the element). No state, no order of calls, any thread.
 * All results are made of exact integer and correctly rounded IEEE operations, with logarithm, sine
 * and cosine of our own: the same bits on every machine, whatever its C library.
 */
#ifndef DTR_PHILOX_H
#define DTR_PHILOX_H

#include <stdint.h>

struct dtr_philox_block {
  uint32_t word[4];
};
struct dtr_philox_block dtr_philox_4x32(const uint32_t counter[4], const uint32_t key[2]);

/* A sequence of random values: key = seed, upper half of the counter = stream. */
struct dtr_random {
  uint64_t seed;
  uint64_t stream;
};
/* The sequence of a logical name, such as the path of a parameter (XXH3 of its bytes). */
struct dtr_random dtr_random_named(int64_t seed, const char *name);

struct dtr_philox_block dtr_random_block(struct dtr_random random, uint64_t index);
/* In [0, 1), 53 bits. Elements 2i and 2i+1 share a block. */
double dtr_random_uniform(struct dtr_random random, uint64_t index);
/* Standard normal (Box-Muller). Elements 2i and 2i+1 share a block. */
double dtr_random_normal(struct dtr_random random, uint64_t index);
/* Both normals of block `index`. */
void dtr_random_normal_pair(struct dtr_random random, uint64_t index, double pair[2]);
/* In [0, bound), bound >= 1; bias below 2^-64 * bound. */
uint64_t dtr_random_below(struct dtr_random random, uint64_t index, uint64_t bound);

/* A permutation of 0 .. count-1 that is computed one element at a time: a Feistel network over
 * mixed radices a*b >= count, with Philox as round function, walking past values >= count (J.
 * Black, P. Rogaway, "Ciphers with arbitrary finite domains", 2002). */
struct dtr_permutation {
  uint64_t seed;
  uint64_t epoch;
  uint64_t count, left, right; /* left * right >= count */
};
/* count >= 0 and below 2^62. */
struct dtr_permutation dtr_permutation_make(int64_t seed, int64_t epoch, int64_t count);
int64_t dtr_permutation_at(const struct dtr_permutation *permutation, int64_t position);
/* Those of positions [first, first + count), in about half the time. */
void dtr_permutation_fill(const struct dtr_permutation *permutation, int64_t first, int64_t count,
                          int64_t *elements);

#endif
