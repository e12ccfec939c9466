#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "compiler/base/ctx.h"
#include "compiler/base/strbuf.h"
#include "compiler/base/vec.h"

// ---- arenas, vectors, names ----

static void test_arena(void **state) {
  (void)state;
  struct dtg_arena arena;
  dtg_arena_init(&arena);
  size_t sizes[] = {0, 1, 15, 16, 17, 1000, 70000, 3, 200000, 64};
  char *last = NULL;
  for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
    char *memory = dtg_alloc(&arena, sizes[i]);
    assert_int_equal((uintptr_t)memory % 16, 0);
    assert_ptr_not_equal(memory, last);
    for (size_t j = 0; j < sizes[i]; j++)
      assert_int_equal(memory[j], 0);
    memset(memory, 0xff, sizes[i]);
    last = memory;
  }
  assert_string_equal(dtg_arena_printf(&arena, "%d-%s", 7, "x"), "7-x");
  assert_string_equal(dtg_arena_strndup(&arena, "abcdef", 3), "abc");
  dtg_arena_free(&arena);
}

static void test_vec(void **state) {
  (void)state;
  struct dtg_arena arena = {0};
  DTG_VEC(uint32_t) vec = {0};
  for (uint32_t i = 0; i < 1000; i++)
    dtg_vec_push(&arena, &vec, i == 500 ? vec.data[0] + 500 : i);
  assert_int_equal(vec.len, 1000);
  for (uint32_t i = 0; i < 1000; i++)
    assert_int_equal(vec.data[i], i);
  assert_int_equal(dtg_vec_last(&vec), 999);
  dtg_arena_free(&arena);
}

static void test_intern(void **state) {
  (void)state;
  struct dtg_intern names;
  const char *first[2000];
  char text[16];
  dtg_intern_init(&names);
  for (int i = 0; i < 2000; i++) {
    snprintf(text, sizeof text, "n%d", i);
    first[i] = dtg_intern_z(&names, text);
  }
  for (int i = 0; i < 2000; i++) {
    snprintf(text, sizeof text, "n%dtail", i);
    assert_ptr_equal(dtg_intern(&names, text, strlen(text) - 4), first[i]);
  }
  assert_ptr_not_equal(first[1], first[2]);
  dtg_intern_free(&names);
}

// ---- text ----

static void expect_f64(double value, const char *expected) {
  struct dtg_strbuf buf = {0};
  dtg_strbuf_f64(&buf, value);
  assert_string_equal(dtg_strbuf_text(&buf), expected);
  dtg_strbuf_free(&buf);
}

static void test_f64(void **state) {
  (void)state;
  expect_f64(0, "0.0");
  expect_f64(-0.0, "-0.0");
  expect_f64(1, "1.0");
  expect_f64(0.1, "0.1");
  expect_f64(100, "100.0");
  expect_f64(255.5, "255.5");
  expect_f64(1e-5, "0.00001");
  expect_f64(1e-6, "1e-6");
  expect_f64(1e15, "1000000000000000.0");
  expect_f64(1e16, "1e16");
  expect_f64(3.25e20, "3.25e20");
  expect_f64(1.0 / 3, "0.3333333333333333");
  expect_f64(5e-324, "5e-324");
  expect_f64(1.7976931348623157e308, "1.7976931348623157e308");
  expect_f64(INFINITY, "inf");
  expect_f64(-INFINITY, "-inf");
  expect_f64(NAN, "nan");
}

static void test_f64_reads_back(void **state) {
  (void)state;
  uint64_t bits = 88172645463325252u; // xorshift64 (Marsaglia 2003)
  for (int i = 0; i < 20000; i++) {
    bits ^= bits << 13;
    bits ^= bits >> 7;
    bits ^= bits << 17;
    double value;
    memcpy(&value, &bits, sizeof value);
    if (isnan(value))
      continue;
    struct dtg_strbuf buf = {0};
    dtg_strbuf_f64(&buf, value);
    assert_true(strtod(dtg_strbuf_text(&buf), NULL) == value);
    dtg_strbuf_free(&buf);
  }
}

static void test_strbuf(void **state) {
  (void)state;
  struct dtg_strbuf buf = {0};
  assert_string_equal(dtg_strbuf_text(&buf), "");
  for (int i = 0; i < 300; i++)
    dtg_strbuf_printf(&buf, "%d,", i % 10);
  assert_int_equal(buf.len, 600);
  dtg_strbuf_clear(&buf);
  dtg_strbuf_repeat(&buf, 'x', 3);
  dtg_strbuf_quote(&buf, "a\"\n\x01\\", 5);
  assert_string_equal(dtg_strbuf_text(&buf), "xxx\"a\\\"\\n\\x01\\\\\"");
  dtg_strbuf_free(&buf);
}

// ---- sources ----

static void test_utf8(void **state) {
  (void)state;
  assert_int_equal(dtg_utf8_length("a", 1), 1);
  assert_int_equal(dtg_utf8_length("\xc3\xa9", 2), 2);
  assert_int_equal(dtg_utf8_length("\xe2\x82\xac", 3), 3);
  assert_int_equal(dtg_utf8_length("\xf0\x9f\x98\x80", 4), 4);
  assert_int_equal(dtg_utf8_length("", 0), 0);
  assert_int_equal(dtg_utf8_length("\xc3", 1), 0);             // cut off
  assert_int_equal(dtg_utf8_length("\xc0\xaf", 2), 0);         // overlong
  assert_int_equal(dtg_utf8_length("\xe0\x80\xaf", 3), 0);     // overlong
  assert_int_equal(dtg_utf8_length("\xed\xa0\x80", 3), 0);     // surrogate
  assert_int_equal(dtg_utf8_length("\xf4\x90\x80\x80", 4), 0); // above U+10FFFF
  assert_int_equal(dtg_utf8_length("\x80", 1), 0);
}

static void test_positions(void **state) {
  (void)state;
  struct dtg_ctx ctx;
  uint32_t file;
  dtg_ctx_init(&ctx);
  const char *text = "\xef\xbb\xbf"
                     "ab\n\ncd\xc3\xa9 f\n";
  assert_true(dtg_source_add(&ctx.sources, &ctx.diags, "t.dtg", text, strlen(text), &file));
  assert_int_equal(dtg_source_get(&ctx.sources, file)->size, strlen(text) - 3);
  struct {
    uint32_t offset, line, column;
  } cases[] = {{0, 1, 1}, {2, 1, 3}, {3, 2, 1}, {4, 3, 1}, {8, 3, 4}, {9, 3, 5}, {11, 4, 1}};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    struct dtg_position at = dtg_source_position(&ctx.sources, file, cases[i].offset);
    assert_int_equal(at.line, cases[i].line);
    assert_int_equal(at.column, cases[i].column);
  }
  struct dtg_span span =
      dtg_span_join((struct dtg_span){file, 8, 9}, (struct dtg_span){file, 4, 6});
  assert_int_equal(span.begin, 4);
  assert_int_equal(span.end, 9);
  assert_string_equal(dtg_span_text(&ctx.arena, &ctx.sources, span), "t.dtg:3:1");
  assert_string_equal(dtg_span_text(&ctx.arena, &ctx.sources, DTG_SPAN_NONE), "");
  dtg_ctx_free(&ctx);
}

static void expect_messages(struct dtg_ctx *ctx, const char *expected) {
  struct dtg_strbuf out = {0};
  dtg_diags_render(&ctx->diags, &out);
  assert_string_equal(dtg_strbuf_text(&out), expected);
  dtg_strbuf_free(&out);
}

static void expect_bad_text(const char *text, size_t size, const char *expected) {
  struct dtg_ctx ctx;
  uint32_t file = 77;
  dtg_ctx_init(&ctx);
  assert_false(dtg_source_add(&ctx.sources, &ctx.diags, "t.dtg", text, size, &file));
  assert_int_equal(file, 77);
  expect_messages(&ctx, expected);
  dtg_ctx_free(&ctx);
}

static void test_bad_text(void **state) {
  (void)state;
  expect_bad_text("a\0b", 3,
                  "t.dtg:1:2: error: NUL byte in the text\n"
                  "    1 | a\xef\xbf\xbd"
                  "b\n"
                  "      |  ^\n"
                  "  hint: is this a binary file?\n");
  expect_bad_text("x = \"\xff\"\n", 8,
                  "t.dtg:1:6: error: byte 0xff is not valid UTF-8\n"
                  "    1 | x = \"\xef\xbf\xbd\"\n"
                  "      |      ^\n"
                  "  hint: save the file as UTF-8\n");
  size_t size = DTG_SOURCE_MAX_LINE + 100;
  char *line = malloc(size);
  memset(line, 'x', size);
  struct dtg_ctx ctx;
  uint32_t file;
  dtg_ctx_init(&ctx);
  assert_false(dtg_source_add(&ctx.sources, &ctx.diags, "t.dtg", line, size, &file));
  assert_string_equal(ctx.diags.list.data[0]->message,
                      "line of 1048676 bytes; the limit is 1048576");
  dtg_ctx_free(&ctx);
  free(line);
}

static void test_unreadable(void **state) {
  (void)state;
  struct dtg_ctx ctx;
  uint32_t file;
  char folder[] = "/tmp/dtg_base_XXXXXX";
  assert_non_null(mkdtemp(folder));
  char path[64];
  snprintf(path, sizeof path, "%s/none.dtg", folder);
  dtg_ctx_init(&ctx);
  assert_false(dtg_source_load(&ctx.sources, &ctx.diags, path, DTG_SPAN_NONE, &file));
  assert_false(dtg_source_load(&ctx.sources, &ctx.diags, folder, DTG_SPAN_NONE, &file));
  FILE *big = fopen(path, "w");
  assert_int_equal(ftruncate(fileno(big), (off_t)DTG_SOURCE_MAX_SIZE + 1), 0);
  fclose(big);
  assert_false(dtg_source_load(&ctx.sources, &ctx.diags, path, DTG_SPAN_NONE, &file));
  big = fopen(path, "w");
  fputs("good\n", big);
  fclose(big);
  assert_true(dtg_source_load(&ctx.sources, &ctx.diags, path, DTG_SPAN_NONE, &file));
  assert_string_equal(dtg_source_get(&ctx.sources, file)->text, "good\n");
  struct dtg_strbuf expected = {0};
  dtg_strbuf_printf(&expected,
                    "error: cannot read `%s`: No such file or directory\n"
                    "error: cannot read `%s`: it is a directory\n"
                    "error: `%s` is too large: the limit for a source file is 16777216 bytes\n",
                    path, folder, path);
  expect_messages(&ctx, dtg_strbuf_text(&expected));
  dtg_strbuf_free(&expected);
  dtg_ctx_free(&ctx);
  unlink(path);
  rmdir(folder);
}

// ---- diagnostics ----

static uint32_t add_source(struct dtg_ctx *ctx, const char *text) {
  uint32_t file;
  assert_true(dtg_source_add(&ctx->sources, &ctx->diags, "m.dtg", text, strlen(text), &file));
  return file;
}

static void test_render(void **state) {
  (void)state;
  struct dtg_ctx ctx;
  dtg_ctx_init(&ctx);
  uint32_t file = add_source(&ctx, "import a\n  y = sofmax(x)\n");
  struct dtg_diag *diag =
      dtg_error(&ctx.diags, (struct dtg_span){file, 15, 21}, "unknown name `%s`", "sofmax");
  dtg_diag_hint(diag, "did you mean `%s`?", "softmax");
  dtg_diag_note(diag, (struct dtg_span){file, 0, 6}, "imported here");
  dtg_diag_note(diag, DTG_SPAN_NONE, "no place");
  dtg_warning(&ctx.diags, (struct dtg_span){file, 11, 21}, "over\x41");
  dtg_error(&ctx.diags, DTG_SPAN_NONE, "no place either");
  expect_messages(&ctx, "m.dtg:2:7: error: unknown name `sofmax`\n"
                        "    2 |   y = sofmax(x)\n"
                        "      |       ^~~~~~\n"
                        "  hint: did you mean `softmax`?\n"
                        "  note: m.dtg:1:1: imported here\n"
                        "  note: no place\n"
                        "m.dtg:2:3: warning: overA\n"
                        "    2 |   y = sofmax(x)\n"
                        "      |   ^~~~~~~~~~\n"
                        "error: no place either\n");
  assert_int_equal(ctx.diags.errors, 2);
  assert_int_equal(ctx.diags.warnings, 1);
  assert_true(dtg_diags_failed(&ctx.diags));
  dtg_ctx_free(&ctx);
}

static void test_render_alignment(void **state) {
  (void)state;
  struct dtg_ctx ctx;
  dtg_ctx_init(&ctx);
  uint32_t file = add_source(&ctx, "\tx\t= y\n\xc3\xa9\xe5\xb1\x82 z\r\nlast");
  dtg_error(&ctx.diags, (struct dtg_span){file, 5, 6}, "tabs");
  dtg_error(&ctx.diags, (struct dtg_span){file, 13, 14}, "wide");
  dtg_error(&ctx.diags, (struct dtg_span){file, 9, 14}, "wide run");
  dtg_error(&ctx.diags, (struct dtg_span){file, 20, 20}, "end");
  dtg_error(&ctx.diags, (struct dtg_span){file, 5, 18}, "over two lines");
  expect_messages(&ctx, "m.dtg:1:6: error: tabs\n"
                        "    1 | \tx\t= y\n"
                        "      | \t \t  ^\n"
                        "m.dtg:2:4: error: wide\n"
                        "    2 | \xc3\xa9\xe5\xb1\x82 z\n"
                        "      |     ^\n"
                        "m.dtg:2:2: error: wide run\n"
                        "    2 | \xc3\xa9\xe5\xb1\x82 z\n"
                        "      |  ^~~~\n"
                        "m.dtg:3:5: error: end\n"
                        "    3 | last\n"
                        "      |     ^\n"
                        "m.dtg:1:6: error: over two lines\n"
                        "    1 | \tx\t= y\n"
                        "      | \t \t  ^\n");
  dtg_ctx_free(&ctx);
}

static void test_render_long_line(void **state) {
  (void)state;
  struct dtg_ctx ctx;
  char text[1001];
  for (int i = 0; i < 1000; i++)
    text[i] = (char)('a' + i % 26);
  text[1000] = '\0';
  dtg_ctx_init(&ctx);
  uint32_t file = add_source(&ctx, text);
  dtg_error(&ctx.diags, (struct dtg_span){file, 500, 503}, "middle");
  dtg_error(&ctx.diags, (struct dtg_span){file, 990, 1000}, "end");
  dtg_error(&ctx.diags, (struct dtg_span){file, 0, 1000}, "all");
  expect_messages(
      &ctx, "m.dtg:1:501: error: middle\n"
            "    1 | ...stuvwxyzabcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyzabcdefghijklm"
            "nopqrstuvwxyzabcdefghijklmn...\n"
            "      |                                            ^~~\n"
            "m.dtg:1:991: error: end\n"
            "    1 | ...opqrstuvwxyzabcdefghijklmnopqrstuvwxyzabcdefghijkl\n"
            "      |                                            ^~~~~~~~~~\n"
            "m.dtg:1:1: error: all\n"
            "    1 | abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxy"
            "zabcdefghijklmnopqrstuv...\n"
            "      | ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~"
            "~~~~~~~~~~~~~~~~~~~~~~~\n");
  dtg_ctx_free(&ctx);
}

static void test_cap(void **state) {
  (void)state;
  struct dtg_ctx ctx;
  dtg_ctx_init(&ctx);
  for (int i = 0; i < DTG_DIAGS_MAX + 3; i++)
    dtg_diag_hint(dtg_error(&ctx.diags, DTG_SPAN_NONE, "e%d", i), "h");
  struct dtg_strbuf out = {0};
  dtg_diags_render(&ctx.diags, &out);
  assert_non_null(strstr(dtg_strbuf_text(&out), "error: e49\n"));
  assert_null(strstr(dtg_strbuf_text(&out), "error: e50\n"));
  assert_string_equal(dtg_strbuf_text(&out) + out.len - 24, "3 more errors not shown\n");
  dtg_strbuf_free(&out);
  dtg_ctx_free(&ctx);
}

static void test_suggest(void **state) {
  (void)state;
  const char *const names[] = {"softmax", "relu", "dense", NULL, "x", "learning_rate"};
  size_t count = sizeof names / sizeof names[0];
  assert_string_equal(dtg_suggest("sofmax", names, count), "softmax");
  assert_string_equal(dtg_suggest("sotfmax", names, count), "softmax");
  assert_string_equal(dtg_suggest("Dense", names, count), "dense");
  assert_string_equal(dtg_suggest("RELU", names, count), "relu");
  assert_string_equal(dtg_suggest("learning_rte", names, count), "learning_rate");
  assert_string_equal(dtg_suggest("X", names, count), "x");
  assert_null(dtg_suggest("convolution", names, count));
  assert_null(dtg_suggest("y", names, count));
  assert_null(dtg_suggest("", names, count));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_arena),
      cmocka_unit_test(test_vec),
      cmocka_unit_test(test_intern),
      cmocka_unit_test(test_f64),
      cmocka_unit_test(test_f64_reads_back),
      cmocka_unit_test(test_strbuf),
      cmocka_unit_test(test_utf8),
      cmocka_unit_test(test_positions),
      cmocka_unit_test(test_bad_text),
      cmocka_unit_test(test_unreadable),
      cmocka_unit_test(test_render),
      cmocka_unit_test(test_render_alignment),
      cmocka_unit_test(test_render_long_line),
      cmocka_unit_test(test_cap),
      cmocka_unit_test(test_suggest),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
