/* dtg_grad on modules: roots, origins, errors. */
#include "compiler/base/ctx.h"
#include "compiler/grad/grad.h"
#include "compiler/ir/graph_text.h"
#include "compiler/ir/op.h"
#include "compiler/ir/verify.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <string.h>

static struct dtg_module *read_module(struct dtg_ctx *ctx, const char *text) {
  struct dtg_strbuf why = {0};
  struct dtg_module *module;
  if (!dtg_module_read(&ctx->arena, &ctx->names, text, strlen(text), &why, &module))
    fail_msg("%s", dtg_strbuf_text(&why));
  return module;
}

/* loss = sum((x @ w + b)^2), with w read twice. */
static const char *const model = "variables {\n"
                                 "  param \"fc.b\" : f32[2] ~ zeros(0.0, 0.0)\n"
                                 "  param \"fc.w\" : f32[3, 2] ~ zeros(0.0, 0.0)\n"
                                 "}\n"
                                 "graph \"train\" {\n"
                                 "  %0 input {name=\"x\"} : f32[4, 3]\n"
                                 "  %1 param {path=\"fc.w\"} : f32[3, 2] path=\"fc\"\n"
                                 "  %2 matmul %0, %1 : f32[4, 2] path=\"fc\" name=\"h\" <0:3-9>\n"
                                 "  %3 param {path=\"fc.b\"} : f32[2] path=\"fc\"\n"
                                 "  %4 broadcast_to %3 {shape=[4, 2]} : f32[4, 2] path=\"fc\"\n"
                                 "  %5 add %2, %4 : f32[4, 2] path=\"fc\"\n"
                                 "  %6 square %5 : f32[4, 2]\n"
                                 "  %7 sum %6 {axes=[0, 1]} : f32[]\n"
                                 "  %8 param {path=\"fc.w\"} : f32[3, 2]\n"
                                 "  %9 sum %8 {axes=[0, 1]} : f32[]\n"
                                 "  %10 add %7, %9 : f32[]\n"
                                 "  root loss \"\" %10 mean\n"
                                 "}\n";

static void test_roots(void **state) {
  (void)state;
  struct dtg_ctx ctx;
  struct dtg_strbuf why = {0};
  dtg_ctx_init(&ctx);
  struct dtg_module *module = read_module(&ctx, model);
  assert_true(dtg_grad(&ctx, module));
  assert_int_equal(module->train->roots.len, 3);
  assert_string_equal(module->train->roots.data[1].name, "fc.b");
  assert_string_equal(module->train->roots.data[2].name, "fc.w");
  if (!dtg_module_verify(module, DTG_VERIFY_BUILD, &why))
    fail_msg("%s", dtg_strbuf_text(&why));
  dtg_ctx_free(&ctx);
}

static void test_origin(void **state) {
  (void)state;
  struct dtg_ctx ctx;
  dtg_ctx_init(&ctx);
  struct dtg_module *module = read_module(&ctx, model);
  size_t forward = module->train->nodes.len, products = 0;
  assert_true(dtg_grad(&ctx, module));
  for (size_t i = forward; i < module->train->nodes.len; i++) {
    const struct dtg_node *node = &module->train->nodes.data[i];
    if (strcmp(node->op->name, "matmul") != 0)
      continue;
    products++;
    assert_string_equal(node->path, "fc");
    assert_string_equal(node->name, "h");
    assert_int_equal(node->span.begin, 3);
  }
  /* One for w, none for the input x, which needs no gradient. */
  assert_int_equal(products, 1);
  dtg_ctx_free(&ctx);
}

static void check_error(const char *text, const char *source, const char *wanted) {
  struct dtg_ctx ctx;
  struct dtg_strbuf out = {0};
  uint32_t file;
  dtg_ctx_init(&ctx);
  assert_true(dtg_source_add(&ctx.sources, &ctx.diags, "model.dtg", source, strlen(source), &file));
  assert_false(dtg_grad(&ctx, read_module(&ctx, text)));
  dtg_diags_render(&ctx.diags, &out);
  assert_string_equal(dtg_strbuf_text(&out), wanted);
  dtg_strbuf_free(&out);
  dtg_ctx_free(&ctx);
}

static void test_idle_parameter(void **state) {
  (void)state;
  check_error("variables {\n"
              "  param \"a\" : f32[] ~ zeros(0.0, 0.0) <0:0-7>\n"
              "  param \"b\" : f32[] ~ zeros(0.0, 0.0) <0:8-15>\n"
              "}\n"
              "graph \"train\" {\n"
              "  %0 param {path=\"a\"} : f32[]\n"
              "  %1 param {path=\"b\"} : f32[]\n"
              "  %2 stop_gradient %1 : f32[]\n"
              "  %3 add %0, %2 : f32[]\n"
              "  root loss \"\" %3 mean\n"
              "}\n",
              "param a\nparam b\n",
              "model.dtg:2:1: error: parameter `b` does not influence the loss\n"
              "    2 | param b\n"
              "      | ^~~~~~~\n"
              "  hint: use it on the way to the loss, or make it a `state`\n");
}

static void test_no_gradient(void **state) {
  (void)state;
  check_error("variables {\n"
              "  param \"a\" : f32[3] ~ zeros(0.0, 0.0)\n"
              "}\n"
              "graph \"train\" {\n"
              "  %0 param {path=\"a\"} : f32[3]\n"
              "  %1 tree_sum %0 : f32[] <0:4-15>\n"
              "  root loss \"\" %1 mean\n"
              "}\n",
              "x = tree_sum(a)\n",
              "model.dtg:1:5: error: `tree_sum` has no gradient, but a parameter reaches the loss "
              "through it\n"
              "    1 | x = tree_sum(a)\n"
              "      |     ^~~~~~~~~~~\n"
              "  hint: put `stop_gradient` around its operand, or compute it in another way\n");
}

/* Equal input, equal text: the order of accumulation is fixed. */
static void test_deterministic(void **state) {
  (void)state;
  struct dtg_strbuf texts[2] = {{0}, {0}};
  for (int i = 0; i < 2; i++) {
    struct dtg_ctx ctx;
    dtg_ctx_init(&ctx);
    struct dtg_module *module = read_module(&ctx, model);
    assert_true(dtg_grad(&ctx, module));
    dtg_module_print(module, NULL, &texts[i]);
    dtg_ctx_free(&ctx);
  }
  assert_string_equal(dtg_strbuf_text(&texts[0]), dtg_strbuf_text(&texts[1]));
  dtg_strbuf_free(&texts[0]);
  dtg_strbuf_free(&texts[1]);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_roots),          cmocka_unit_test(test_origin),
      cmocka_unit_test(test_idle_parameter), cmocka_unit_test(test_no_gradient),
      cmocka_unit_test(test_deterministic),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
