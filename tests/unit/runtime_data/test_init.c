#include "help.h"

#include "runtime/init.h"
#include "runtime/value.h"

#include <math.h>

static struct dtr_variable variable_of(enum dtr_init_kind kind, uint32_t rank,
                                       const int64_t *dims) {
  struct dtr_variable variable = {
      .path = "fc1.w", .dtype = DTR_F32, .rank = rank, .elements = 1, .init = kind, .b = 1};
  for (uint32_t axis = 0; axis < rank; axis++) {
    variable.dims[axis] = dims[axis];
    variable.elements *= dims[axis];
  }
  return variable;
}

static float *fill(const struct dtr_variable *variable, int64_t seed, int64_t begin, int64_t end) {
  struct dtr_error error;
  float *values = malloc((size_t)(end - begin + 1) * sizeof *values);
  dtr_error_clear(&error);
  assert_true(dtr_init_fill(variable, seed, begin, end, values, &error));
  return values;
}

static void fans(void **state) {
  (void)state;
  const int64_t dims[] = {3, 5, 7, 11};
  int64_t in, out;
  dtr_init_fans(0, dims, &in, &out);
  assert_true(in == 1 && out == 1);
  dtr_init_fans(1, dims, &in, &out);
  assert_true(in == 3 && out == 3);
  dtr_init_fans(2, dims, &in, &out);
  assert_true(in == 3 && out == 5);
  dtr_init_fans(4, dims, &in, &out);
  assert_true(in == 3 * 5 * 7 && out == 3 * 5 * 11);
}

/* Any part of any tensor has the values of the whole. */
static void parts_equal_the_whole(void **state) {
  (void)state;
  const int64_t dims[] = {17, 13};
  for (int kind = DTR_INIT_ZEROS; kind <= DTR_INIT_ORTHOGONAL; kind++) {
    struct dtr_variable variable = variable_of((enum dtr_init_kind)kind, 2, dims);
    float *whole = fill(&variable, 1, 0, variable.elements);
    for (int64_t begin = 0; begin < variable.elements; begin += 31)
      for (int64_t end = begin; end <= variable.elements; end += 45) {
        float *part = fill(&variable, 1, begin, end);
        assert_memory_equal(part, whole + begin, (size_t)(end - begin) * sizeof *part);
        free(part);
      }
    free(whole);
  }
}

static void check_moments(enum dtr_init_kind kind, double a, double b, double deviation,
                          double most) {
  const int64_t dims[] = {300, 200};
  struct dtr_variable variable = variable_of(kind, 2, dims);
  variable.a = a;
  variable.b = b;
  float *values = fill(&variable, 7, 0, variable.elements);
  double sum = 0, squares = 0, mean = kind == DTR_INIT_UNIFORM ? (a + b) / 2 : a;
  int64_t count = variable.elements;
  for (int64_t i = 0; i < count; i++) {
    sum += values[i];
    squares += (values[i] - mean) * (values[i] - mean);
    assert_true(fabs(values[i] - mean) <= most * (1 + 1e-6));
  }
  assert_true(fabs(sum / (double)count - mean) < 6 * deviation / sqrt((double)count));
  assert_true(fabs(sqrt(squares / (double)count) / deviation - 1) < 0.02);
  free(values);
}

static void moments(void **state) {
  (void)state;
  const double in = 300, out = 200;
  check_moments(DTR_INIT_NORMAL, 3, 0.5, 0.5, INFINITY);
  check_moments(DTR_INIT_TRUNCATED_NORMAL, 0, 2, 2 * 0.8796257, 4);
  check_moments(DTR_INIT_UNIFORM, -1, 3, 4 / sqrt(12), 2);
  check_moments(DTR_INIT_GLOROT_UNIFORM, 0, 0, sqrt(2 / (in + out)), sqrt(6 / (in + out)));
  check_moments(DTR_INIT_GLOROT_NORMAL, 0, 0, sqrt(2 / (in + out)), INFINITY);
  check_moments(DTR_INIT_HE_UNIFORM, 0, 0, sqrt(2 / in), sqrt(6 / in));
  check_moments(DTR_INIT_HE_NORMAL, 0, 0, sqrt(2 / in), INFINITY);
}

/* Rows or columns, whichever are fewer, are orthonormal. */
static void check_orthogonal(int64_t rows, int64_t columns) {
  const int64_t dims[] = {rows, columns};
  struct dtr_variable variable = variable_of(DTR_INIT_ORTHOGONAL, 2, dims);
  float *q = fill(&variable, 3, 0, variable.elements);
  bool tall = rows >= columns;
  int64_t count = tall ? columns : rows, length = tall ? rows : columns;
  for (int64_t i = 0; i < count; i++)
    for (int64_t j = 0; j <= i; j++) {
      double sum = 0;
      for (int64_t k = 0; k < length; k++)
        sum += tall ? (double)q[k * columns + i] * q[k * columns + j]
                    : (double)q[i * columns + k] * q[j * columns + k];
      assert_true(fabs(sum - (i == j)) < 1e-6);
    }
  free(q);
}

static void orthogonal(void **state) {
  (void)state;
  check_orthogonal(20, 20);
  check_orthogonal(50, 7);
  check_orthogonal(7, 50);
  check_orthogonal(1, 1);
}

static void constants_and_types(void **state) {
  (void)state;
  struct dtr_error error;
  const int64_t dims[] = {4};
  int64_t wide[4];
  struct dtr_variable variable = variable_of(DTR_INIT_CONSTANT, 1, dims);
  dtr_error_clear(&error);
  variable.a = 41;
  variable.dtype = DTR_I64;
  assert_true(dtr_init_fill(&variable, 1, 0, 4, wide, &error));
  assert_int_equal(wide[3], 41);
  float *ones;
  variable = variable_of(DTR_INIT_ONES, 1, dims);
  ones = fill(&variable, 1, 0, 4);
  assert_true(ones[0] == 1 && ones[3] == 1);
  free(ones);
}

static void path_and_seed_matter(void **state) {
  (void)state;
  const int64_t dims[] = {8};
  struct dtr_variable one = variable_of(DTR_INIT_NORMAL, 1, dims), other = one;
  other.path = "fc2.w";
  float *a = fill(&one, 1, 0, 8), *b = fill(&other, 1, 0, 8), *c = fill(&one, 2, 0, 8);
  assert_memory_not_equal(a, b, 32);
  assert_memory_not_equal(a, c, 32);
  free(a);
  free(b);
  free(c);
}

static void all_variables_of_a_program(void **state) {
  (void)state;
  struct dtr_error error;
  struct dtr_variable variables[2];
  const int64_t dims[] = {3};
  variables[0] = variable_of(DTR_INIT_ONES, 1, dims);
  variables[1] = variable_of(DTR_INIT_CONSTANT, 1, dims);
  variables[1].a = 5;
  variables[1].offset = 64;
  struct dtr_program program = {
      .variable_count = 2, .variables = variables, .variables_bytes = 128};
  float block[32] = {0};
  dtr_error_clear(&error);
  assert_true(dtr_init_variables(&program, 1, (char *)block, &error));
  assert_true(block[2] == 1 && block[3] == 0 && block[16] == 5 && block[18] == 5);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(fans),
      cmocka_unit_test(parts_equal_the_whole),
      cmocka_unit_test(moments),
      cmocka_unit_test(orthogonal),
      cmocka_unit_test(constants_and_types),
      cmocka_unit_test(path_and_seed_matter),
      cmocka_unit_test(all_variables_of_a_program),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
