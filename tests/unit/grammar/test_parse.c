// What the golden files cannot show: recovery, limits, documentation, the scanner's tables, and the
// examples of the language reference. Arguments: REFERENCE.md, flex's lex.backup.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "compiler/base/ctx.h"
#include "grammar/parse.h"
#include "grammar/print.h"
#include "grammar/token.h"

static const char *reference_path;
static const char *backup_path;

static struct dtg_ast_file *parse(struct dtg_ctx *ctx, const char *text) {
  uint32_t file;
  assert_true(dtg_source_add(&ctx->sources, &ctx->diags, "t.dtg", text, strlen(text), &file));
  return dtg_parse(ctx, file);
}

static void test_token_tables(void **state) {
  (void)state;
  assert_int_equal(dtg_token_of_word("model", 5, false), DTG_TOKEN_MODEL);
  assert_int_equal(dtg_token_of_word("models", 6, false), DTG_TOKEN_NAME);
  assert_int_equal(dtg_token_of_word("on", 2, false), DTG_TOKEN_NAME);
  assert_int_equal(dtg_token_of_word("on", 2, true), DTG_TOKEN_ON);
  assert_int_equal(dtg_token_of_word("(", 1, true), DTG_TOKEN_NAME);
  assert_string_equal(dtg_token_text(DTG_TOKEN_EOF), "end of file");
  assert_string_equal(dtg_token_name(DTG_TOKEN_POWER), "POWER");
}

static void test_no_backing_up(void **state) {
  (void)state;
  char text[64] = "";
  FILE *file = fopen(backup_path, "r");
  assert_non_null(file);
  size_t size = fread(text, 1, sizeof text - 1, file);
  fclose(file);
  text[size] = '\0';
  assert_string_equal(text, "No backing up.\n");
}

static void test_recovery(void **state) {
  (void)state;
  struct dtg_ctx ctx;
  dtg_ctx_init(&ctx);
  struct dtg_ast_file *ast = parse(&ctx, "const a = = 1\n"
                                         "const b = 2\n"
                                         "model m(x: f32[B]) {\n"
                                         "  y = (x + \n"
                                         "  z = x ) )\n"
                                         "  loss = x\n"
                                         "}\n"
                                         "layer l(x f32) { y = 1 }\n"
                                         "train {\n"
                                         "  batch 3\n"
                                         "  data = d\n"
                                         "}\n"
                                         "strategy s { replicate gpu  update sync }\n");
  assert_int_equal(ctx.diags.errors, 5);
  assert_int_equal(ast->items.len, 4);
  assert_string_equal(ast->items.data[0]->name.text, "b");
  struct dtg_ast_item *model = ast->items.data[1];
  assert_int_equal(model->function.body->stmts.len, 1);
  assert_int_equal(model->function.body->stmts.data[0]->kind, DTG_STMT_LOSS);
  assert_int_equal(ast->items.data[2]->train.entries.len, 1);
  assert_int_equal(ast->items.data[3]->strategy.clauses.len, 1);
  assert_int_equal(ast->items.data[3]->strategy.clauses.data[0].kind, DTG_CLAUSE_UPDATE);
  dtg_ctx_free(&ctx);
}

static void test_unclosed_items_are_kept(void **state) {
  (void)state;
  struct dtg_ctx ctx;
  dtg_ctx_init(&ctx);
  struct dtg_ast_file *ast = parse(&ctx, "layer a(x) {\n"
                                         "  if c {\n"
                                         "    y = x\n"
                                         "model m(x) {\n"
                                         "  loss = x\n");
  assert_int_equal(ctx.diags.errors, 2);
  assert_int_equal(ast->items.len, 2);
  assert_int_equal(ast->items.data[0]->kind, DTG_ITEM_LAYER);
  assert_int_equal(ast->items.data[0]->function.body->stmts.len, 1);
  assert_int_equal(ast->items.data[1]->kind, DTG_ITEM_MODEL);
  assert_int_equal(ast->items.data[1]->function.body->stmts.len, 1);
  dtg_ctx_free(&ctx);
}

static void test_documentation(void **state) {
  (void)state;
  struct dtg_ctx ctx;
  dtg_ctx_init(&ctx);
  struct dtg_ast_file *ast = parse(&ctx, "## One.\n"
                                         "##\n"
                                         "##   Two.\n"
                                         "const a = 1 const b = 2\n"
                                         "## Not of c.\n"
                                         "\n"
                                         "# Nor this.\n"
                                         "const c = 3 ## nor this\n"
                                         "### nor this\n"
                                         "const d = 4\n");
  assert_false(dtg_diags_failed(&ctx.diags));
  assert_string_equal(ast->items.data[0]->doc, "One.\n\n  Two.");
  for (size_t i = 1; i < 4; i++)
    assert_null(ast->items.data[i]->doc);
  assert_int_equal(ast->comments.len, 7);
  assert_true(ast->comments.data[2].is_doc);
  assert_false(ast->comments.data[3].is_doc);
  assert_false(ast->comments.data[5].is_own_line);
  dtg_ctx_free(&ctx);
}

static void test_spans(void **state) {
  (void)state;
  struct dtg_ctx ctx;
  dtg_ctx_init(&ctx);
  const char *text = "const a = f(x, y = 2 * z) + 1\n";
  struct dtg_ast_file *ast = parse(&ctx, text);
  struct dtg_ast_item *item = ast->items.data[0];
  assert_int_equal(item->span.begin, 0);
  assert_int_equal(item->span.end, strlen(text) - 1);
  struct dtg_ast_expr *sum = item->value, *call = sum->binary.left;
  assert_int_equal(sum->span.begin, 10);
  assert_int_equal(sum->binary.op_span.begin, 26);
  assert_int_equal(call->span.end, 25);
  assert_int_equal(call->call.arguments.data[1].span.begin, 15);
  assert_int_equal(call->call.arguments.data[1].value->span.begin, 19);
  assert_int_equal(sum->depth, 4);
  dtg_ctx_free(&ctx);
}

// ---- limits ----

// `head`, then `count` times `unit`, then `tail`. Returns the number of errors.
static size_t errors_of(const char *head, const char *unit, size_t count, const char *tail) {
  struct dtg_ctx ctx;
  struct dtg_strbuf text = {0}, dump = {0};
  dtg_ctx_init(&ctx);
  dtg_strbuf_puts(&text, head);
  for (size_t i = 0; i < count; i++)
    dtg_strbuf_puts(&text, unit);
  dtg_strbuf_puts(&text, tail);
  struct dtg_ast_file *ast = parse(&ctx, dtg_strbuf_text(&text));
  dtg_ast_dump(ast, true, &dump);
  if (!dtg_diags_failed(&ctx.diags))
    dtg_ast_format(&ctx, ast, &dump);
  size_t errors = ctx.diags.errors;
  dtg_strbuf_free(&text);
  dtg_strbuf_free(&dump);
  dtg_ctx_free(&ctx);
  return errors;
}

static void test_depth(void **state) {
  (void)state;
  static const struct {
    const char *head, *unit, *tail;
  } forms[] = {
      {"const a = ", "(", "1"},
      {"const a = ", "[", "1"},
      {"const a = ", "f(", "1"},
      {"const a = ", "x[", "1"},
      {"const a = ", "-", "1"},
      {"const a = ", "not ", "x"},
      {"const a = ", "2 ** ", "x"},
      {"const a = ", "1 + ", "x"},
      {"const a = ", "x -> ", "x"},
      {"const a = ", "if a then ", "x"},
      {"const a = ", "if a then b else ", "x"},
      {"const a = x", " |> f", ""},
      {"const a = x", ".b", ""},
      {"const a = x", "(1)", ""},
      {"const a = x", "[1]", ""},
      {"layer l() { ", "if a { ", "}"},
      {"layer l() { ", "if a { } else ", "{ } }"},
      {"layer l() { ", "for i in 0..n { ", "}"},
      {"layer l() { x", "[i]", ": f() }"},
  };
  for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
    size_t errors = errors_of(forms[i].head, forms[i].unit, 8000, forms[i].tail);
    if (strcmp(forms[i].unit, "[i]") == 0)
      assert_int_equal(errors, 0); // a list of parts, however long
    else
      assert_in_range(errors, 1, 3);
  }
}

static void test_moderate_depth_is_fine(void **state) {
  (void)state;
  assert_int_equal(errors_of("const a = ", "1 + ", 400, "x"), 0);
  assert_int_equal(errors_of("const a = ", "2 ** ", 400, "x"), 0);
  assert_int_equal(errors_of("const a = x", " |> f", 400, ""), 0);
  assert_int_equal(errors_of("layer l() { ", "if a { } else ", 400, "{ } }"), 0);
}

static void test_length(void **state) {
  (void)state;
  assert_int_equal(errors_of("const a = [", "1, ", 8000, "]"), 0);
  assert_int_equal(errors_of("", "## doc\nconst a = 1 # one\n", 8000, ""), 0);
  assert_int_equal(errors_of("layer l() {\n", "y = f(x)\n", 8000, "}"), 0);
  assert_int_equal(errors_of("const a = \"", "\\n${x}", 8000, "\""), 0);
  assert_int_equal(errors_of("", "}", 8000, ""), 1);
  assert_int_equal(errors_of("", "x\n", 8000, ""), 1);
  assert_true(errors_of("layer l() {\n", "y = = 1\n", 8000, "}") > 50);
}

// ---- the reference ----

static void parse_example(const char *text, size_t size, int line) {
  struct dtg_ctx ctx;
  struct dtg_strbuf messages = {0};
  uint32_t file;
  dtg_ctx_init(&ctx);
  if (dtg_source_add(&ctx.sources, &ctx.diags, "example", text, size, &file))
    dtg_parse(&ctx, file);
  if (dtg_diags_failed(&ctx.diags)) {
    dtg_diags_render(&ctx.diags, &messages);
    fprintf(stderr, "%s, example at line %d:\n%s", reference_path, line,
            dtg_strbuf_text(&messages));
    fail();
  }
  dtg_strbuf_free(&messages);
  dtg_ctx_free(&ctx);
}

static void test_reference_examples(void **state) {
  (void)state;
  struct dtg_ctx ctx;
  uint32_t file;
  dtg_ctx_init(&ctx);
  assert_true(dtg_source_load(&ctx.sources, &ctx.diags, reference_path, DTG_SPAN_NONE, &file));
  const char *text = dtg_source_get(&ctx.sources, file)->text;
  int examples = 0;
  for (const char *at = text; (at = strstr(at, "```dtg\n")); examples++) {
    const char *begin = at + strlen("```dtg\n");
    const char *end = strstr(begin, "\n```");
    assert_non_null(end);
    uint32_t offset = (uint32_t)(begin - text);
    parse_example(begin, (size_t)(end - begin) + 1,
                  (int)dtg_source_position(&ctx.sources, file, offset).line);
    at = end + 4;
  }
  assert_true(examples >= 20);
  dtg_ctx_free(&ctx);
}

// Every word of the language stands in the reference.
static void test_reference_is_complete(void **state) {
  (void)state;
  static const char *const words[] = {
#define DTG_TOKEN(name, class, text) text,
#include "grammar/tokens.def"
#undef DTG_TOKEN
  };
  struct dtg_ctx ctx;
  uint32_t file;
  dtg_ctx_init(&ctx);
  assert_true(dtg_source_load(&ctx.sources, &ctx.diags, reference_path, DTG_SPAN_NONE, &file));
  const char *text = dtg_source_get(&ctx.sources, file)->text;
  for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
    bool is_word = dtg_token_of_word(words[i], strlen(words[i]), true) != DTG_TOKEN_NAME;
    if (is_word && !strstr(text, words[i]))
      fail_msg("`%s` is missing in %s", words[i], reference_path);
  }
  dtg_ctx_free(&ctx);
}

int main(int argc, char **argv) {
  if (argc != 3) {
    fprintf(stderr, "usage: %s REFERENCE.md lex.backup\n", argv[0]);
    return 2;
  }
  reference_path = argv[1];
  backup_path = argv[2];
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_token_tables),
      cmocka_unit_test(test_no_backing_up),
      cmocka_unit_test(test_recovery),
      cmocka_unit_test(test_unclosed_items_are_kept),
      cmocka_unit_test(test_documentation),
      cmocka_unit_test(test_spans),
      cmocka_unit_test(test_depth),
      cmocka_unit_test(test_moderate_depth_is_fine),
      cmocka_unit_test(test_length),
      cmocka_unit_test(test_reference_examples),
      cmocka_unit_test(test_reference_is_complete),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
