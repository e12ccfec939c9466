#include "runtime/philox.h"

#include <math.h>
#include <string.h>
#include <xxhash.h>

enum { PHILOX_ROUNDS = 10 };
#define PHILOX_M0 0xD2511F53u
#define PHILOX_M1 0xCD9E8D57u
#define PHILOX_W0 0x9E3779B9u
#define PHILOX_W1 0xBB67AE85u

struct dtr_philox_block dtr_philox_4x32(const uint32_t counter[4], const uint32_t key[2]) {
  uint32_t c0 = counter[0], c1 = counter[1], c2 = counter[2], c3 = counter[3];
  uint32_t k0 = key[0], k1 = key[1];
  for (int round = 0; round < PHILOX_ROUNDS; round++) {
    uint64_t p0 = (uint64_t)PHILOX_M0 * c0;
    uint64_t p1 = (uint64_t)PHILOX_M1 * c2;
    c0 = (uint32_t)(p1 >> 32) ^ c1 ^ k0;
    c1 = (uint32_t)p1;
    c2 = (uint32_t)(p0 >> 32) ^ c3 ^ k1;
    c3 = (uint32_t)p0;
    k0 += PHILOX_W0;
    k1 += PHILOX_W1;
  }
  return (struct dtr_philox_block){{c0, c1, c2, c3}};
}

struct dtr_random dtr_random_named(int64_t seed, const char *name) {
  return (struct dtr_random){(uint64_t)seed, XXH3_64bits(name, strlen(name))};
}

static struct dtr_philox_block block_at(uint64_t seed, uint64_t low, uint64_t high) {
  const uint32_t counter[4] = {(uint32_t)low, (uint32_t)(low >> 32), (uint32_t)high,
                               (uint32_t)(high >> 32)};
  const uint32_t key[2] = {(uint32_t)seed, (uint32_t)(seed >> 32)};
  return dtr_philox_4x32(counter, key);
}

struct dtr_philox_block dtr_random_block(struct dtr_random random, uint64_t index) {
  return block_at(random.seed, index, random.stream);
}

static uint64_t half_of(const struct dtr_philox_block *block, int half) {
  return (uint64_t)block->word[2 * half + 1] << 32 | block->word[2 * half];
}

static double unit_of(uint64_t bits) {
  return (double)(bits >> 11) * 0x1p-53;
}

static uint64_t below(uint64_t bits, uint64_t bound) {
  return (uint64_t)((unsigned __int128)bits * bound >> 64);
}

double dtr_random_uniform(struct dtr_random random, uint64_t index) {
  struct dtr_philox_block block = dtr_random_block(random, index >> 1);
  return unit_of(half_of(&block, (int)(index & 1)));
}

uint64_t dtr_random_below(struct dtr_random random, uint64_t index, uint64_t bound) {
  struct dtr_philox_block block = dtr_random_block(random, index >> 1);
  return below(half_of(&block, (int)(index & 1)), bound);
}

/* coefficients[0] + coefficients[1] x + ... */
static inline double polynomial(const double *coefficients, int count, double x) {
  double sum = coefficients[count - 1];
  for (int i = count - 2; i >= 0; i--)
    sum = sum * x + coefficients[i];
  return sum;
}

/* Natural logarithm of a positive normal number: log(m 2^e) with m in [sqrt(1/2), sqrt(2)), and
 * log m = 2 artanh(s), s = (m - 1) / (m + 1), |s| < 0.172, by its series. */
static double log_exact(double x) {
  static const double series[] = {1.0,      1.0 / 3,  1.0 / 5,  1.0 / 7,  1.0 / 9, 1.0 / 11,
                                  1.0 / 13, 1.0 / 15, 1.0 / 17, 1.0 / 19, 1.0 / 21};
  int exponent;
  double mantissa = frexp(x, &exponent);
  if (mantissa < 0.70710678118654752440) {
    mantissa *= 2;
    exponent--;
  }
  double s = (mantissa - 1) / (mantissa + 1);
  return 2 * s * polynomial(series, 11, s * s) + exponent * 0.69314718055994530942;
}

/* Sine and cosine of 2 pi u, u in [0, 1): the nearest quarter turn is taken off exactly; what is
 * left is at most pi/4 and goes into Taylor's series. */
static void sine_cosine_turn(double u, double *sine, double *cosine) {
  static const double sine_series[] = {1.0,
                                       -1.0 / 6,
                                       1.0 / 120,
                                       -1.0 / 5040,
                                       1.0 / 362880,
                                       -1.0 / 39916800,
                                       1.0 / 6227020800,
                                       -1.0 / 1307674368000.0,
                                       1.0 / 355687428096000.0};
  static const double cosine_series[] = {1.0,
                                         -1.0 / 2,
                                         1.0 / 24,
                                         -1.0 / 720,
                                         1.0 / 40320,
                                         -1.0 / 3628800,
                                         1.0 / 479001600,
                                         -1.0 / 87178291200.0,
                                         1.0 / 20922789888000.0};
  int quarter = (int)(u * 4 + 0.5);
  double x = (u - quarter * 0.25) * 6.28318530717958647693;
  double s = x * polynomial(sine_series, 9, x * x), c = polynomial(cosine_series, 9, x * x);
  const double turned[4][2] = {{s, c}, {c, -s}, {-s, -c}, {-c, s}};
  *sine = turned[quarter & 3][0];
  *cosine = turned[quarter & 3][1];
}

void dtr_random_normal_pair(struct dtr_random random, uint64_t index, double pair[2]) {
  struct dtr_philox_block block = dtr_random_block(random, index);
  double radius = sqrt(-2 * log_exact(1 - unit_of(half_of(&block, 0))));
  double sine, cosine;
  sine_cosine_turn(unit_of(half_of(&block, 1)), &sine, &cosine);
  pair[0] = radius * cosine;
  pair[1] = radius * sine;
}

double dtr_random_normal(struct dtr_random random, uint64_t index) {
  double pair[2];
  dtr_random_normal_pair(random, index >> 1, pair);
  return pair[index & 1];
}

/* ---- permutations ---- */

/* Enough that short permutations (3 examples) are uniform too; each costs one block. */
enum { FEISTEL_ROUNDS = 8 };

static uint64_t square_root_up(uint64_t x) {
  uint64_t root = (uint64_t)sqrt((double)x);
  while (root * root > x)
    root--;
  while (root * root < x)
    root++;
  return root;
}

struct dtr_permutation dtr_permutation_make(int64_t seed, int64_t epoch, int64_t count) {
  struct dtr_permutation permutation = {(uint64_t)seed, (uint64_t)epoch, (uint64_t)count, 1, 1};
  if (count > 1) {
    permutation.left = square_root_up((uint64_t)count);
    permutation.right = ((uint64_t)count + permutation.left - 1) / permutation.left;
  }
  return permutation;
}

/* Pseudo-random value below `bound` (at most 2^31) of one half in one round. */
static uint64_t feistel_round(const struct dtr_permutation *permutation, uint32_t round,
                              uint64_t value, uint64_t bound) {
  struct dtr_philox_block block =
      block_at(permutation->seed, value << 8 | round, permutation->epoch);
  return below(half_of(&block, 0), bound);
}

static uint64_t feistel(const struct dtr_permutation *permutation, uint64_t value) {
  uint64_t left = value / permutation->right, right = value % permutation->right;
  for (uint32_t round = 0; round < FEISTEL_ROUNDS; round += 2) {
    left += feistel_round(permutation, round, right, permutation->left);
    if (left >= permutation->left)
      left -= permutation->left;
    right += feistel_round(permutation, round + 1, left, permutation->right);
    if (right >= permutation->right)
      right -= permutation->right;
  }
  return left * permutation->right + right;
}

static uint64_t permuted(const struct dtr_permutation *permutation, uint64_t value) {
  do
    value = feistel(permutation, value);
  while (value >= permutation->count);
  return value;
}

int64_t dtr_permutation_at(const struct dtr_permutation *permutation, int64_t position) {
  if (permutation->count <= 1)
    return position;
  return (int64_t)permuted(permutation, (uint64_t)position);
}

/* ---- several positions side by side ---- */

/* One position waits for each of its 80 multiplications; four of them wait together. */
enum { LANES = 4 };

/* The first half of the block of each lane, whose counters are (low[lane], high). */
static void halves_at(uint64_t seed, const uint64_t low[LANES], uint64_t high,
                      uint64_t half[LANES]) {
  uint32_t c0[LANES], c1[LANES], c2[LANES], c3[LANES];
  uint32_t k0 = (uint32_t)seed, k1 = (uint32_t)(seed >> 32);
#pragma GCC unroll 4
  for (int lane = 0; lane < LANES; lane++) {
    c0[lane] = (uint32_t)low[lane];
    c1[lane] = (uint32_t)(low[lane] >> 32);
    c2[lane] = (uint32_t)high;
    c3[lane] = (uint32_t)(high >> 32);
  }
  for (int round = 0; round < PHILOX_ROUNDS; round++) {
#pragma GCC unroll 4
    for (int lane = 0; lane < LANES; lane++) {
      uint64_t p0 = (uint64_t)PHILOX_M0 * c0[lane], p1 = (uint64_t)PHILOX_M1 * c2[lane];
      c0[lane] = (uint32_t)(p1 >> 32) ^ c1[lane] ^ k0;
      c1[lane] = (uint32_t)p1;
      c2[lane] = (uint32_t)(p0 >> 32) ^ c3[lane] ^ k1;
      c3[lane] = (uint32_t)p0;
    }
    k0 += PHILOX_W0;
    k1 += PHILOX_W1;
  }
#pragma GCC unroll 4
  for (int lane = 0; lane < LANES; lane++)
    half[lane] = (uint64_t)c1[lane] << 32 | c0[lane];
}

/* feistel() of all lanes. `side[0]` is the left halves; round r changes side r % 2. */
static void feistel_lanes(const struct dtr_permutation *permutation, uint64_t value[LANES]) {
  const uint64_t bound[2] = {permutation->left, permutation->right};
  uint64_t side[2][LANES], low[LANES], half[LANES];
  for (int lane = 0; lane < LANES; lane++) {
    side[0][lane] = value[lane] / permutation->right;
    side[1][lane] = value[lane] % permutation->right;
  }
  for (uint32_t round = 0; round < FEISTEL_ROUNDS; round++) {
    uint32_t changed = round % 2;
    for (int lane = 0; lane < LANES; lane++)
      low[lane] = side[1 - changed][lane] << 8 | round;
    halves_at(permutation->seed, low, permutation->epoch, half);
    for (int lane = 0; lane < LANES; lane++) {
      uint64_t sum = side[changed][lane] + below(half[lane], bound[changed]);
      side[changed][lane] = sum >= bound[changed] ? sum - bound[changed] : sum;
    }
  }
  for (int lane = 0; lane < LANES; lane++)
    value[lane] = side[0][lane] * permutation->right + side[1][lane];
}

void dtr_permutation_fill(const struct dtr_permutation *permutation, int64_t first, int64_t count,
                          int64_t *elements) {
  int64_t i = 0;
  for (; permutation->count > 1 && i + LANES <= count; i += LANES) {
    uint64_t value[LANES];
    for (int lane = 0; lane < LANES; lane++)
      value[lane] = (uint64_t)(first + i + lane);
    feistel_lanes(permutation, value);
    for (int lane = 0; lane < LANES; lane++)
      elements[i + lane] =
          (int64_t)(value[lane] < permutation->count ? value[lane]
                                                     : permuted(permutation, value[lane]));
  }
  for (; i < count; i++)
    elements[i] = dtr_permutation_at(permutation, first + i);
}
