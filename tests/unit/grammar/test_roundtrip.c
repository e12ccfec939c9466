// Properties of printing and parsing, over generated trees and mutated texts. A failure prints its
// seed; DTG_SEED=n runs that one alone, with DTG_COUNT=m the m seeds from there.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/base/ctx.h"
#include "gen.h"
#include "grammar/lexer.h"
#include "grammar/parse.h"
#include "grammar/print.h"
#include "tests/fuzz/fuzz_parse.h"

#define TREES 200
#define COMMENTED 200
#define MUTATED 1500

static uint64_t first_seed(uint64_t *count) {
  const char *seed = getenv("DTG_SEED");
  if (!seed)
    return 1;
  *count = getenv("DTG_COUNT") ? strtoull(getenv("DTG_COUNT"), NULL, 10) : 1;
  return strtoull(seed, NULL, 10);
}

static void fail_with_text(struct dtg_ctx *ctx, uint64_t seed, const char *what, const char *text) {
  struct dtg_strbuf messages = {0};
  dtg_diags_render(&ctx->diags, &messages);
  fprintf(stderr, "DTG_SEED=%llu: %s\n%s\n%s", (unsigned long long)seed, what, text,
          dtg_strbuf_text(&messages));
  dtg_strbuf_free(&messages);
  fail();
}

static struct dtg_ast_file *parse(struct dtg_ctx *ctx, const char *text) {
  uint32_t file;
  if (!dtg_source_add(&ctx->sources, &ctx->diags, "gen.dtg", text, strlen(text), &file))
    return NULL;
  return dtg_parse(ctx, file);
}

static void expect_clean_lines(struct dtg_ctx *ctx, uint64_t seed, const char *text) {
  for (const char *line = text; *line;
       line += strcspn(line, "\n") + (line[strcspn(line, "\n")] != 0)) {
    size_t size = strcspn(line, "\n");
    if (size > 0 && line[size - 1] == ' ')
      fail_with_text(ctx, seed, "a line ends in blanks", text);
  }
}

static void tree_survives_printing(uint64_t seed) {
  struct dtg_ctx ctx;
  struct dtg_strbuf text = {0}, again = {0}, tree = {0}, tree_again = {0};
  dtg_ctx_init(&ctx);
  struct dtg_ast_file *ast = dtg_gen_file(&ctx, seed, 12);
  dtg_ast_format(&ctx, ast, &text);
  expect_clean_lines(&ctx, seed, dtg_strbuf_text(&text));
  struct dtg_ast_file *parsed = parse(&ctx, dtg_strbuf_text(&text));
  if (dtg_diags_failed(&ctx.diags))
    fail_with_text(&ctx, seed, "the printed tree does not parse", dtg_strbuf_text(&text));
  dtg_ast_dump(ast, false, &tree);
  dtg_ast_dump(parsed, false, &tree_again);
  if (strcmp(dtg_strbuf_text(&tree), dtg_strbuf_text(&tree_again)) != 0) {
    fprintf(stderr, "%s\n---\n%s\n", dtg_strbuf_text(&tree), dtg_strbuf_text(&tree_again));
    fail_with_text(&ctx, seed, "the tree changed", dtg_strbuf_text(&text));
  }
  dtg_ast_format(&ctx, parsed, &again);
  if (strcmp(dtg_strbuf_text(&text), dtg_strbuf_text(&again)) != 0) {
    fprintf(stderr, "%s\n---\n", dtg_strbuf_text(&again));
    fail_with_text(&ctx, seed, "printing twice differs", dtg_strbuf_text(&text));
  }
  dtg_strbuf_free(&text);
  dtg_strbuf_free(&again);
  dtg_strbuf_free(&tree);
  dtg_strbuf_free(&tree_again);
  dtg_ctx_free(&ctx);
}

static void test_trees(void **state) {
  (void)state;
  uint64_t count = TREES, seed = first_seed(&count);
  for (uint64_t i = 0; i < count; i++)
    tree_survives_printing(seed + i);
}

// Puts comments and line breaks behind random tokens.
static void put_comments(struct dtg_ctx *ctx, uint32_t file, struct dtg_random *random,
                         struct dtg_strbuf *out) {
  struct dtg_lexer *lexer = DTG_NEW(&ctx->arena, struct dtg_lexer);
  const char *text = dtg_source_get(&ctx->sources, file)->text;
  uint32_t done = 0;
  int number = 0;
  dtg_lexer_init(lexer, ctx, file);
  for (;;) {
    struct dtg_lexed lexed = dtg_lex_next(lexer);
    dtg_strbuf_write(out, text + done, lexed.span.end - done);
    done = lexed.span.end;
    if (lexed.token == DTG_TOKEN_EOF)
      break;
    switch (dtg_random_below(random, 40)) {
    case 0:
      dtg_strbuf_printf(out, " # c%d\n", number++);
      break;
    case 1:
      dtg_strbuf_printf(out, "\n# c%d\n", number++);
      break;
    case 2:
      dtg_strbuf_printf(out, "\n\n\n  # c%d\n\n\n", number++);
      break;
    case 3:
      dtg_strbuf_puts(out, "\n");
      break;
    default:
      break;
    }
  }
  dtg_lexer_free(lexer);
}

static bool comments_equal(const struct dtg_ctx *ctx, const struct dtg_ast_file *a,
                           const struct dtg_ast_file *b) {
  if (a->comments.len != b->comments.len)
    return false;
  for (size_t i = 0; i < a->comments.len; i++) {
    struct dtg_span x = a->comments.data[i].span, y = b->comments.data[i].span;
    if (x.end - x.begin != y.end - y.begin ||
        memcmp(dtg_source_get(&ctx->sources, x.file)->text + x.begin,
               dtg_source_get(&ctx->sources, y.file)->text + y.begin, x.end - x.begin) != 0)
      return false;
  }
  return true;
}

// Returns whether the text with its comments parses; a bracket may have got to a line's start.
static bool comments_survive_formatting(uint64_t seed) {
  struct dtg_ctx ctx;
  struct dtg_strbuf text = {0}, commented = {0}, formatted = {0}, again = {0};
  struct dtg_random random = {seed};
  uint32_t file;
  dtg_ctx_init(&ctx);
  dtg_ast_format(&ctx, dtg_gen_file(&ctx, seed, 3), &text);
  assert_true(
      dtg_source_add(&ctx.sources, &ctx.diags, "gen.dtg", dtg_strbuf_text(&text), text.len, &file));
  put_comments(&ctx, file, &random, &commented);
  struct dtg_ast_file *ast = parse(&ctx, dtg_strbuf_text(&commented));
  bool parses = !dtg_diags_failed(&ctx.diags);
  if (parses) {
    dtg_ast_format(&ctx, ast, &formatted);
    struct dtg_ast_file *second = parse(&ctx, dtg_strbuf_text(&formatted));
    if (dtg_diags_failed(&ctx.diags))
      fail_with_text(&ctx, seed, "formatted text does not parse", dtg_strbuf_text(&formatted));
    if (!comments_equal(&ctx, ast, second))
      fail_with_text(&ctx, seed, "comments changed", dtg_strbuf_text(&commented));
    dtg_ast_format(&ctx, second, &again);
    if (strcmp(dtg_strbuf_text(&formatted), dtg_strbuf_text(&again)) != 0) {
      fprintf(stderr, "%s\n---\n%s\n---\n", dtg_strbuf_text(&commented), dtg_strbuf_text(&again));
      fail_with_text(&ctx, seed, "formatting twice differs", dtg_strbuf_text(&formatted));
    }
  }
  dtg_strbuf_free(&text);
  dtg_strbuf_free(&commented);
  dtg_strbuf_free(&formatted);
  dtg_strbuf_free(&again);
  dtg_ctx_free(&ctx);
  return parses;
}

static void test_comments(void **state) {
  (void)state;
  uint64_t count = COMMENTED, seed = first_seed(&count), parsed = 0;
  for (uint64_t i = 0; i < count; i++)
    parsed += comments_survive_formatting(seed + i);
  if (count == COMMENTED)
    assert_true(parsed > COMMENTED / 4);
}

// ---- mutation ----

static void mutate(struct dtg_random *random, struct dtg_strbuf *text) {
  static const char *const bits[] = {
      "(",   ")",      "[",  "]", "{", "}",  "\"",   "\n",   "#",  ":",  "=",      "|>",
      ",",   "..",     "->", "~", "0", "9_", "\xc3", "\xff", "\\", "${", "model ", "strategy s { ",
      "if ", "import "};
  for (uint32_t edits = 1 + dtg_random_below(random, 4); edits > 0 && text->len > 4; edits--) {
    size_t at = dtg_random_below(random, (uint32_t)text->len);
    size_t size = 1 + dtg_random_below(random, 20);
    if (size > text->len - at)
      size = text->len - at;
    struct dtg_strbuf edited = {0};
    dtg_strbuf_write(&edited, text->data, at);
    switch (dtg_random_below(random, 4)) {
    case 0:
      at += size;
      break; // delete
    case 1:
      dtg_strbuf_write(&edited, text->data + at, size);
      break; // repeat
    case 2:
      dtg_strbuf_puts(&edited, bits[dtg_random_below(random, sizeof bits / sizeof bits[0])]);
      break;
    default:
      dtg_strbuf_putc(&edited, (char)dtg_random_below(random, 256));
      at++;
      break;
    }
    dtg_strbuf_write(&edited, text->data + at, text->len - at);
    dtg_strbuf_free(text);
    *text = edited;
  }
}

static void test_mutation(void **state) {
  (void)state;
  uint64_t count = MUTATED, seed = first_seed(&count);
  struct dtg_strbuf base = {0};
  for (uint64_t i = 0; i < count; i++) {
    struct dtg_random random = {seed + i};
    if (i % 50 == 0) {
      struct dtg_ctx ctx;
      dtg_ctx_init(&ctx);
      dtg_strbuf_clear(&base);
      dtg_ast_format(&ctx, dtg_gen_file(&ctx, (seed + i) / 50, 4), &base);
      dtg_ctx_free(&ctx);
    }
    struct dtg_strbuf text = {0};
    dtg_strbuf_write(&text, base.data, base.len);
    mutate(&random, &text);
    LLVMFuzzerTestOneInput((const uint8_t *)text.data, text.len);
    dtg_strbuf_free(&text);
  }
  dtg_strbuf_free(&base);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_trees),
      cmocka_unit_test(test_comments),
      cmocka_unit_test(test_mutation),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
