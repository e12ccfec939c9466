#include "compiler/ir/type.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <string.h>

static struct dtg_shape shape(uint32_t rank, int64_t a, int64_t b, int64_t c) {
  return dtg_shape_make(rank, (int64_t[]){a, b, c});
}

static void test_names(void **state) {
  (void)state;
  for (int i = 0; i < DTG_DTYPE_COUNT; i++) {
    const char *name = dtg_dtype_name((enum dtg_dtype)i);
    enum dtg_dtype found;
    assert_true(dtg_dtype_from_name(name, strlen(name), &found));
    assert_int_equal(found, i);
  }
  enum dtg_dtype dtype = DTG_U8;
  assert_false(dtg_dtype_from_name("f3", 2, &dtype));
  assert_false(dtg_dtype_from_name("f320", 4, &dtype));
  assert_false(dtg_dtype_from_name("", 0, &dtype));
  assert_int_equal(dtype, DTG_U8);
}

static void test_kinds(void **state) {
  (void)state;
  assert_true(dtg_dtype_is_float(DTG_BF16));
  assert_false(dtg_dtype_is_float(DTG_U8));
  assert_true(dtg_dtype_is_integer(DTG_U8));
  assert_false(dtg_dtype_is_integer(DTG_BOOL));
  assert_int_equal(dtg_dtype_size(DTG_BF16), 2);
}

static void test_count(void **state) {
  (void)state;
  int64_t count;
  struct dtg_shape scalar = {0}, large = shape(3, INT64_MAX, 2, 1), empty = shape(3, 3, 0, 5);
  struct dtg_shape negative = shape(2, -1, 3, 0), hidden = shape(3, INT64_MAX, INT64_MAX, 0);
  assert_true(dtg_shape_count_checked(&scalar, &count));
  assert_int_equal(count, 1);
  assert_true(dtg_shape_count_checked(&empty, &count));
  assert_int_equal(count, 0);
  assert_false(dtg_shape_count_checked(&large, &count));
  assert_false(dtg_shape_count_checked(&negative, &count));
  assert_false(dtg_shape_count_checked(&hidden, &count));
}

static void check_broadcast(struct dtg_shape a, struct dtg_shape b, struct dtg_shape wanted) {
  struct dtg_shape first, second;
  assert_true(dtg_shape_broadcast(&a, &b, &first));
  assert_true(dtg_shape_broadcast(&b, &a, &second));
  assert_true(dtg_shape_equal(&first, &wanted));
  assert_true(dtg_shape_equal(&second, &wanted));
}

static void test_broadcast(void **state) {
  (void)state;
  struct dtg_shape out = {.rank = 7}, a = shape(2, 2, 3, 0), b = shape(1, 2, 0, 0);
  check_broadcast(shape(2, 4, 3, 0), shape(1, 3, 0, 0), shape(2, 4, 3, 0));
  check_broadcast(shape(3, 2, 1, 5), shape(2, 4, 1, 0), shape(3, 2, 4, 5));
  check_broadcast(shape(0, 0, 0, 0), shape(2, 4, 1, 0), shape(2, 4, 1, 0));
  check_broadcast(shape(1, 1, 0, 0), shape(1, 1, 0, 0), shape(1, 1, 0, 0));
  assert_false(dtg_shape_broadcast(&a, &b, &out));
  assert_int_equal(out.rank, 7);
}

static void test_strides(void **state) {
  (void)state;
  struct dtg_shape s = shape(3, 2, 3, 5);
  int64_t strides[DTG_MAX_RANK];
  dtg_shape_strides(&s, strides);
  assert_int_equal(strides[0], 15);
  assert_int_equal(strides[1], 5);
  assert_int_equal(strides[2], 1);
}

static void test_format(void **state) {
  (void)state;
  char text[32], little[6];
  struct dtg_type type = {.dtype = DTG_F32, .shape = shape(2, 64, 128, 0)};
  struct dtg_type scalar = {.dtype = DTG_BOOL};
  assert_int_equal(dtg_type_format(&type, text, sizeof text), 12);
  assert_string_equal(text, "f32[64, 128]");
  dtg_type_format(&scalar, text, sizeof text);
  assert_string_equal(text, "bool[]");
  assert_int_equal(dtg_type_format(&type, little, sizeof little), 12);
  assert_string_equal(little, "f32[6");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_names),   cmocka_unit_test(test_kinds),
      cmocka_unit_test(test_count),   cmocka_unit_test(test_broadcast),
      cmocka_unit_test(test_strides), cmocka_unit_test(test_format),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
