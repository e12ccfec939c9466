#include "help.h"

#include "runtime/philox.h"

#include <math.h>

/* Known answers that the authors of Philox publish with Random123. */
static void known_answers(void **state) {
  (void)state;
  static const struct {
    uint32_t counter[4], key[2], result[4];
  } answers[] = {
      {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
      {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
       {0xffffffff, 0xffffffff},
       {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
      {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
       {0xa4093822, 0x299f31d0},
       {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
  };
  for (size_t i = 0; i < sizeof answers / sizeof *answers; i++) {
    struct dtr_philox_block block = dtr_philox_4x32(answers[i].counter, answers[i].key);
    assert_memory_equal(block.word, answers[i].result, sizeof block.word);
  }
}

static void streams_differ(void **state) {
  (void)state;
  struct dtr_random a = dtr_random_named(1, "fc1.w"), b = dtr_random_named(1, "fc2.w"),
                    c = dtr_random_named(2, "fc1.w");
  assert_true(dtr_random_uniform(a, 0) != dtr_random_uniform(b, 0));
  assert_true(dtr_random_uniform(a, 0) != dtr_random_uniform(c, 0));
  assert_true(dtr_random_uniform(a, 0) != dtr_random_uniform(a, 1));
  assert_true(dtr_random_uniform(a, 5) == dtr_random_uniform(a, 5));
}

static void uniform_moments(void **state) {
  (void)state;
  enum { COUNT = 200000 };
  struct dtr_random random = dtr_random_named(3, "u");
  double sum = 0, squares = 0;
  for (uint64_t i = 0; i < COUNT; i++) {
    double value = dtr_random_uniform(random, i);
    assert_true(value >= 0 && value < 1);
    sum += value;
    squares += value * value;
  }
  /* Six standard deviations of the mean of the value and of its square. */
  assert_true(fabs(sum / COUNT - 1.0 / 2) < 6 * sqrt(1.0 / 12 / COUNT));
  assert_true(fabs(squares / COUNT - 1.0 / 3) < 6 * sqrt(4.0 / 45 / COUNT));
}

static void normal_moments_and_tails(void **state) {
  (void)state;
  enum { COUNT = 200000 };
  struct dtr_random random = dtr_random_named(3, "n");
  double moment[5] = {0};
  int64_t beyond_two = 0;
  for (uint64_t i = 0; i < COUNT; i++) {
    double value = dtr_random_normal(random, i);
    for (int power = 1; power <= 4; power++)
      moment[power] += pow(value, power) / COUNT;
    beyond_two += fabs(value) > 2;
  }
  assert_true(fabs(moment[1]) < 6 / sqrt(COUNT));
  assert_true(fabs(moment[2] - 1) < 6 * sqrt(2.0 / COUNT));
  assert_true(fabs(moment[3]) < 6 * sqrt(15.0 / COUNT));
  assert_true(fabs(moment[4] - 3) < 6 * sqrt(96.0 / COUNT));
  assert_true(fabs((double)beyond_two / COUNT - 0.0455003) < 6 * sqrt(0.0455 / COUNT));
}

/* Our logarithm, sine and cosine against those of the C library. */
static void normal_is_box_muller(void **state) {
  (void)state;
  struct dtr_random random = dtr_random_named(9, "check");
  for (uint64_t i = 0; i < 20000; i++) {
    double u = 1 - dtr_random_uniform(random, 2 * i), v = dtr_random_uniform(random, 2 * i + 1);
    double pair[2], radius = sqrt(-2 * log(u));
    dtr_random_normal_pair(random, i, pair);
    assert_true(fabs(pair[0] - radius * cos(2 * M_PI * v)) < 1e-14);
    assert_true(fabs(pair[1] - radius * sin(2 * M_PI * v)) < 1e-14);
    assert_true(pair[1] == dtr_random_normal(random, 2 * i + 1));
  }
}

static void below_is_in_range(void **state) {
  (void)state;
  struct dtr_random random = dtr_random_named(4, "i");
  int64_t seen[7] = {0};
  for (uint64_t i = 0; i < 70000; i++)
    seen[dtr_random_below(random, i, 7)]++;
  for (int i = 0; i < 7; i++)
    assert_true(llabs(seen[i] - 10000) < 600);
  assert_int_equal(dtr_random_below(random, 0, 1), 0);
}

/* Values that must never change: they are part of what a seed means. */
static void values_are_pinned(void **state) {
  (void)state;
  struct dtr_random random = dtr_random_named(1, "fc1.w");
  assert_true(dtr_random_uniform(random, 0) == 0x1.256c64f98f3ep-2);
  assert_true(dtr_random_normal(random, 0) == -0x1.5e380120f17c5p-3);
  struct dtr_permutation permutation = dtr_permutation_make(1, 0, 60000);
  assert_int_equal(dtr_permutation_at(&permutation, 0), 34449);
  assert_int_equal(dtr_permutation_at(&permutation, 59999), 45164);
}

static void permutations_are_bijections(void **state) {
  (void)state;
  static const int64_t counts[] = {1, 2, 3, 4, 5, 10, 16, 17, 100, 1000, 20011};
  for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
    int64_t count = counts[c];
    for (int64_t epoch = 0; epoch < 3; epoch++) {
      struct dtr_permutation permutation = dtr_permutation_make(5, epoch, count);
      char *seen = calloc((size_t)count, 1);
      for (int64_t i = 0; i < count; i++) {
        int64_t at = dtr_permutation_at(&permutation, i);
        assert_true(at >= 0 && at < count && !seen[at]);
        seen[at] = 1;
      }
      free(seen);
      int64_t *all = malloc((size_t)count * sizeof *all);
      for (int64_t first = 0; first < (count < 5000 ? 6 : 1) && first < count; first++) {
        dtr_permutation_fill(&permutation, first, count - first, all);
        for (int64_t i = first; i < count; i++)
          assert_int_equal(all[i - first], dtr_permutation_at(&permutation, i));
      }
      free(all);
    }
  }
}

/* All orders of four examples come equally often over epochs: chi-square with 23 degrees of freedom
 * is above 70 once in a million. */
static void short_permutations_are_uniform(void **state) {
  (void)state;
  enum { EPOCHS = 24000 };
  int64_t seen[256] = {0};
  for (int64_t epoch = 0; epoch < EPOCHS; epoch++) {
    struct dtr_permutation permutation = dtr_permutation_make(11, epoch, 4);
    int code = 0;
    for (int64_t i = 0; i < 4; i++)
      code = code << 2 | (int)dtr_permutation_at(&permutation, i);
    seen[code]++;
  }
  double expected = EPOCHS / 24.0, square = 0;
  int orders = 0;
  for (int code = 0; code < 256; code++) {
    orders += seen[code] > 0;
    if (seen[code])
      square += (seen[code] - expected) * (seen[code] - expected) / expected;
  }
  assert_int_equal(orders, 24);
  assert_true(square < 70);
}

/* The place of a position is uniform, and neighbours do not stay neighbours. */
static void long_permutations_mix(void **state) {
  (void)state;
  enum { COUNT = 60000, BINS = 16 };
  struct dtr_permutation permutation = dtr_permutation_make(2, 3, COUNT);
  int64_t bins[BINS] = {0}, neighbours = 0, fixed = 0;
  for (int64_t i = 0; i < COUNT / 4; i++) {
    int64_t at = dtr_permutation_at(&permutation, i);
    bins[at * BINS / COUNT]++;
    neighbours += dtr_permutation_at(&permutation, i + 1) == at + 1;
    fixed += at == i;
  }
  for (int bin = 0; bin < BINS; bin++)
    assert_true(llabs(bins[bin] - COUNT / 4 / BINS) < 200);
  assert_true(neighbours < 10 && fixed < 10);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(known_answers),
      cmocka_unit_test(streams_differ),
      cmocka_unit_test(uniform_moments),
      cmocka_unit_test(normal_moments_and_tails),
      cmocka_unit_test(normal_is_box_muller),
      cmocka_unit_test(below_is_in_range),
      cmocka_unit_test(values_are_pinned),
      cmocka_unit_test(permutations_are_bijections),
      cmocka_unit_test(short_permutations_are_uniform),
      cmocka_unit_test(long_permutations_mix),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
