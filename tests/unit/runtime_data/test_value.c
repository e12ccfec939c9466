#include "help.h"

#include "runtime/value.h"

#include <math.h>

static uint16_t bf16(double value) {
  uint16_t bits;
  dtr_value_store(DTR_BF16, &bits, 0, value);
  return bits;
}

static void bf16_rounds_once_to_even(void **state) {
  (void)state;
  assert_int_equal(bf16(1), 0x3f80);
  assert_int_equal(bf16(1 + 0x1p-8), 0x3f80);           /* half way: to even */
  assert_int_equal(bf16(1 + 0x3p-8), 0x3f82);           /* half way: to even */
  assert_int_equal(bf16(1 + 0x1p-8 + 0x1p-40), 0x3f81); /* above: f32 alone cannot tell */
  assert_int_equal(bf16(1 + 0x3p-8 - 0x1p-40), 0x3f81); /* below */
  assert_int_equal(bf16(-1 - 0x1p-8 - 0x1p-40), 0xbf81);
  assert_int_equal(bf16(INFINITY), 0x7f80);
  assert_int_equal(bf16(1e300), 0x7f80);
  assert_true((bf16(NAN) & 0x7fff) > 0x7f80);
  uint16_t bits = 0xbf80;
  assert_true(dtr_value_load(DTR_BF16, &bits, 0) == -1);
}

static void values_go_and_come_back(void **state) {
  (void)state;
  char array[64];
  for (int dtype = DTR_F32; dtype <= DTR_U8; dtype++) {
    dtr_value_store((enum dtr_dtype)dtype, array, 3, 100);
    assert_true(dtr_value_load((enum dtr_dtype)dtype, array, 3) == 100);
  }
  dtr_value_store(DTR_BOOL, array, 0, 5);
  assert_true(dtr_value_load(DTR_BOOL, array, 0) == 1);
}

static void shapes(void **state) {
  (void)state;
  char text[DTR_SHAPE_TEXT];
  const int64_t dims[] = {784, 10, INT64_MAX};
  int64_t elements;
  assert_string_equal(dtr_shape_text(2, dims, text, sizeof text), "[784, 10]");
  assert_string_equal(dtr_shape_text(0, dims, text, sizeof text), "[]");
  assert_true(dtr_shape_elements(2, dims, 4, &elements));
  assert_int_equal(elements, 7840);
  assert_false(dtr_shape_elements(3, dims, 4, &elements));
  assert_false(dtr_shape_elements(1, dims + 2, 2, &elements));
  assert_string_equal(dtr_element_name(DTR_ELEMENT_U16), "u16");
  assert_int_equal(dtr_element_bytes(DTR_ELEMENT_BF16), 2);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(bf16_rounds_once_to_even),
      cmocka_unit_test(values_go_and_come_back),
      cmocka_unit_test(shapes),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
