#include "runtime/init.h"

#include "runtime/philox.h"
#include "runtime/value.h"

#include <math.h>
#include <stdlib.h>

void dtr_init_fans(uint32_t rank, const int64_t *dims, int64_t *fan_in, int64_t *fan_out) {
  if (rank == 0) {
    *fan_in = *fan_out = 1;
    return;
  }
  if (rank == 1) {
    *fan_in = *fan_out = dims[0];
    return;
  }
  int64_t leading = 1;
  for (uint32_t axis = 0; axis + 2 < rank; axis++)
    leading *= dims[axis];
  *fan_in = leading * dims[rank - 2];
  *fan_out = leading * dims[rank - 1];
}

static void fill_constant(const struct dtr_variable *variable, double value, int64_t count,
                          void *values) {
  for (int64_t i = 0; i < count; i++)
    dtr_value_store(variable->dtype, values, i, value);
}

static void fill_uniform(const struct dtr_variable *variable, struct dtr_random random, double low,
                         double high, int64_t begin, int64_t end, void *values) {
  for (int64_t i = begin; i < end; i++)
    dtr_value_store(variable->dtype, values, i - begin,
                    low + (high - low) * dtr_random_uniform(random, (uint64_t)i));
}

static void fill_normal(const struct dtr_variable *variable, struct dtr_random random, double mean,
                        double deviation, int64_t begin, int64_t end, void *values) {
  for (int64_t i = begin; i < end;) {
    double pair[2];
    dtr_random_normal_pair(random, (uint64_t)i >> 1, pair);
    do {
      dtr_value_store(variable->dtype, values, i - begin, mean + deviation * pair[i & 1]);
      i++;
    } while (i < end && (i & 1));
  }
}

/* Draws of one element have counters of their own above the element index (tensors are smaller than
 * 2^48 elements). All of them fail with probability 10^-171; the bound is there to end for sure. */
static double truncated_normal(struct dtr_random random, uint64_t element) {
  enum { DRAWS = 64 };
  double pair[2] = {0, 0};
  for (uint64_t draw = 0; draw < DRAWS; draw++) {
    dtr_random_normal_pair(random, element | draw << 48, pair);
    for (int half = 0; half < 2; half++)
      if (fabs(pair[half]) <= 2)
        return pair[half];
  }
  return copysign(2, pair[0]);
}

static void fill_truncated(const struct dtr_variable *variable, struct dtr_random random,
                           int64_t begin, int64_t end, void *values) {
  for (int64_t i = begin; i < end; i++)
    dtr_value_store(variable->dtype, values, i - begin,
                    variable->a + variable->b * truncated_normal(random, (uint64_t)i));
}

/* ---- orthogonal ---- */

/* Four sums in a fixed pattern: the order of additions is part of the result. */
static double dot(const double *x, const double *y, int64_t length) {
  double sum[4] = {0, 0, 0, 0};
  int64_t i = 0;
  for (; i + 4 <= length; i += 4)
    for (int lane = 0; lane < 4; lane++)
      sum[lane] += x[i + lane] * y[i + lane];
  for (; i < length; i++)
    sum[0] += x[i] * y[i];
  return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

/* Modified Gram-Schmidt, each vector swept twice: orthogonal to rounding. count <= length. */
static void orthonormalize(double *vectors, int64_t count, int64_t length) {
  for (int64_t k = 0; k < count; k++) {
    double *vector = vectors + k * length;
    for (int sweep = 0; sweep < 2; sweep++)
      for (int64_t other = 0; other < k; other++) {
        const double *unit = vectors + other * length;
        double factor = dot(vector, unit, length);
        for (int64_t i = 0; i < length; i++)
          vector[i] -= factor * unit[i];
      }
    double scale = 1 / sqrt(dot(vector, vector, length));
    for (int64_t i = 0; i < length; i++)
      vector[i] *= scale;
  }
}

static bool fill_orthogonal(const struct dtr_variable *variable, struct dtr_random random,
                            int64_t begin, int64_t end, void *values, struct dtr_error *error) {
  int64_t columns = variable->rank ? variable->dims[variable->rank - 1] : 1;
  int64_t rows = columns ? variable->elements / columns : 0;
  bool tall = rows >= columns;
  int64_t count = tall ? columns : rows, length = tall ? rows : columns;
  double *vectors = calloc((size_t)variable->elements + 1, sizeof *vectors);
  if (!vectors)
    return dtr_error_memory(error, variable->elements * (int64_t)sizeof *vectors, variable->path);
  for (int64_t row = 0; row < rows; row++)
    for (int64_t column = 0; column < columns; column++) {
      double value = dtr_random_normal(random, (uint64_t)(row * columns + column));
      vectors[tall ? column * length + row : row * length + column] = value;
    }
  orthonormalize(vectors, count, length);
  for (int64_t i = begin; i < end; i++) {
    int64_t row = i / columns, column = i % columns;
    dtr_value_store(variable->dtype, values, i - begin,
                    vectors[tall ? column * length + row : row * length + column]);
  }
  free(vectors);
  return true;
}

bool dtr_init_fill(const struct dtr_variable *variable, int64_t seed, int64_t begin, int64_t end,
                   void *values, struct dtr_error *error) {
  struct dtr_random random = dtr_random_named(seed, variable->path);
  int64_t fan_in, fan_out;
  dtr_init_fans(variable->rank, variable->dims, &fan_in, &fan_out);
  double fans = (double)fan_in + (double)fan_out, limit;
  switch (variable->init) {
  case DTR_INIT_ZEROS:
    fill_constant(variable, 0, end - begin, values);
    break;
  case DTR_INIT_ONES:
    fill_constant(variable, 1, end - begin, values);
    break;
  case DTR_INIT_CONSTANT:
    fill_constant(variable, variable->a, end - begin, values);
    break;
  case DTR_INIT_NORMAL:
    fill_normal(variable, random, variable->a, variable->b, begin, end, values);
    break;
  case DTR_INIT_TRUNCATED_NORMAL:
    fill_truncated(variable, random, begin, end, values);
    break;
  case DTR_INIT_UNIFORM:
    fill_uniform(variable, random, variable->a, variable->b, begin, end, values);
    break;
  case DTR_INIT_GLOROT_UNIFORM:
    limit = sqrt(6 / fans);
    fill_uniform(variable, random, -limit, limit, begin, end, values);
    break;
  case DTR_INIT_GLOROT_NORMAL:
    fill_normal(variable, random, 0, sqrt(2 / fans), begin, end, values);
    break;
  case DTR_INIT_HE_NORMAL:
    fill_normal(variable, random, 0, sqrt(2 / (double)fan_in), begin, end, values);
    break;
  case DTR_INIT_HE_UNIFORM:
    limit = sqrt(6 / (double)fan_in);
    fill_uniform(variable, random, -limit, limit, begin, end, values);
    break;
  case DTR_INIT_ORTHOGONAL:
    return fill_orthogonal(variable, random, begin, end, values, error);
  }
  return true;
}

bool dtr_init_variables(const struct dtr_program *program, int64_t seed, char *variables,
                        struct dtr_error *error) {
  for (uint32_t i = 0; i < program->variable_count; i++) {
    const struct dtr_variable *variable = &program->variables[i];
    if (!dtr_init_fill(variable, seed, 0, variable->elements, variables + variable->offset, error))
      return dtr_error_where(error, variable->where);
  }
  return true;
}
