/* What must hold for every model. */
#ifndef RANDOM_CHECK_H
#define RANDOM_CHECK_H

#include "tests/reference/driver/driver.h"

#include <stdint.h>

struct check_totals {
  unsigned passed, failed;
  unsigned loose;        /* too sensitive to rounding for numbers to be compared */
  unsigned same_unfused; /* without fusion the same bits */
  double slowest;        /* of dtgc, in seconds */
  uint64_t slowest_seed;
};

/* Makes the model of the seed in the work folder, or takes `file` instead, and checks it. What
 * fails is printed. The folder of a seed that passes is removed. */
void check_seed(struct ref_driver *driver, uint64_t seed, const char *file,
                struct check_totals *totals);

#endif
