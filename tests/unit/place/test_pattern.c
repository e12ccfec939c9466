// Path patterns: each row is one rule of the language reference.
#include "compiler/replicate/pattern.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

static void patterns(void **state) {
  (void)state;
  static const struct {
    const char *pattern, *path;
    bool expected;
  } rows[] = {
      {"fc1.w", "fc1.w", true},
      {"fc1.w", "fc1.w2", false},
      {"fc1.*", "fc1.w", true},
      {"fc1.*", "fc1.a.w", false},
      {"fc1.**", "fc1.a.w", true},
      {"**", "", true},
      {"*", "fc1", true},
      {"*", "fc1.w", false},
      {"**.w", "block[3].attn.q.w", true},
      {"block[3].*.q.w", "block[3].attn.q.w", true},
      {"block[3].*.q.w", "block3.attn.q.w", false},
      {"block[?].**", "block[7].b", true},
      {"block[?].**", "block[12].b", false},
      {"fc?", "fc.", false},
      {"fc{1,2}.w", "fc2.w", true},
      {"fc{1,2}.w", "fc3.w", false},
      {"{a,b{c,d}}.w", "bd.w", true},
      {"{a,b{c,d}}.w", "b.w", false},
      {"{fc*,out}.**", "fc9.b", true},
      {"fc1", "fc1.w", false},
      {"*a*b", "xaybzb", true},
      {"", "", true},
      {"", "x", false},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    if (dtg_pattern_match(rows[i].pattern, rows[i].path) != rows[i].expected)
      printf("\"%s\" against \"%s\"\n", rows[i].pattern, rows[i].path);
    assert_int_equal(dtg_pattern_match(rows[i].pattern, rows[i].path), rows[i].expected);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(patterns)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
