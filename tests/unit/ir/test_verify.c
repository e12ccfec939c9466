#include "compiler/ir/verify.h"

#include "compiler/base/strbuf.h"
#include "compiler/ir/graph_text.h"
#include "tests/unit/ops/testing.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <string.h>

static const char *const good = "variables {\n"
                                "  param \"w\" : f32[3] ~ zeros(0.0, 0.0)\n"
                                "  state \"fixed\" : i32[2] ~ zeros(0.0, 0.0)\n"
                                "  state \"seen\" : f32[] ~ zeros(0.0, 0.0)\n"
                                "  slot \"w:v\" : f32[3] ~ zeros(0.0, 0.0) of 0\n"
                                "}\n"
                                "graph \"train\" {\n"
                                "  %0 param {path=\"w\"} : f32[3]\n"
                                "  %1 sum %0 {axes=[0]} : f32[]\n"
                                "  %2 neg %0 : f32[3]\n"
                                "  root loss \"\" %1 mean\n"
                                "  root grad \"w\" %2 mean\n"
                                "  root state \"seen\" %1 sum\n"
                                "}\n"
                                "graph \"update\" {\n"
                                "  %0 param {path=\"w\"} : f32[3]\n"
                                "  %1 slot {path=\"w:v\"} : f32[3]\n"
                                "  %2 grad_in {path=\"w\"} : f32[3]\n"
                                "  %3 add %1, %2 : f32[3]\n"
                                "  %4 sub %0, %3 : f32[3]\n"
                                "  %5 grad_in {path=\"seen\"} : f32[]\n"
                                "  root update \"w:v\" %3 mean\n"
                                "  root update \"w\" %4 mean\n"
                                "  root update \"seen\" %5 mean\n"
                                "}\n";

static struct dtg_module *read_good(struct bench *bench) {
  struct dtg_strbuf why = {0};
  struct dtg_module *module;
  bench_open(bench, 0);
  if (!dtg_module_read(&bench->arena, &bench->names, good, strlen(good), &why, &module))
    fail_msg("%s", dtg_strbuf_text(&why));
  return module;
}

static void check(const struct dtg_module *module, struct bench *bench, enum dtg_verify_level level,
                  const char *wanted) {
  struct dtg_strbuf why = {0};
  bool verified = dtg_module_verify(module, level, &why);
  assert_string_equal(dtg_strbuf_text(&why), wanted);
  assert_int_equal(verified, wanted[0] == '\0');
  dtg_strbuf_free(&why);
  bench_close(bench);
}

static void test_good(void **state) {
  (void)state;
  struct bench bench;
  check(read_good(&bench), &bench, DTG_VERIFY_GRAD, "");
}

static void test_order(void **state) {
  (void)state;
  struct bench bench;
  struct dtg_module *module = read_good(&bench);
  ((uint32_t *)module->train->nodes.data[1].inputs)[0] = 1;
  check(module, &bench, DTG_VERIFY_BUILD,
        "graph `train`: node %1 uses %1, which does not come before it");
}

static void test_type(void **state) {
  (void)state;
  struct bench bench;
  struct dtg_module *module = read_good(&bench);
  module->train->nodes.data[2].type.shape.dims[0] = 4;
  check(module, &bench, DTG_VERIFY_BUILD, "graph `train`: node `%2` is f32[3], not f32[4]");
}

static void test_leaf(void **state) {
  (void)state;
  struct bench bench;
  struct dtg_module *module = read_good(&bench);
  module->variables.data[0].type.dtype = DTG_F64;
  check(module, &bench, DTG_VERIFY_BUILD, "graph `train`: variable `w` is f64[3], not f32[3]");
}

static void test_unknown_leaf(void **state) {
  (void)state;
  struct bench bench;
  struct dtg_module *module = read_good(&bench);
  module->variables.data[3].path = "w:m";
  check(module, &bench, DTG_VERIFY_BUILD,
        "graph `update`: `slot` reads `w:v`, which is no such variable");
}

static void test_loss_type(void **state) {
  (void)state;
  struct bench bench;
  struct dtg_module *module = read_good(&bench);
  module->train->roots.data[0].node = 0;
  check(module, &bench, DTG_VERIFY_BUILD, "graph `train`: loss `` is f32[], not f32[3]");
}

static void test_no_gradient(void **state) {
  (void)state;
  struct bench bench;
  struct dtg_module *module = read_good(&bench);
  module->train->roots.len = 1;
  check(module, &bench, DTG_VERIFY_GRAD, "graph `train`: parameter `w` has no gradient");
}

static void test_no_update(void **state) {
  (void)state;
  struct bench bench;
  struct dtg_module *module = read_good(&bench);
  module->update->roots.len = 1;
  check(module, &bench, DTG_VERIFY_GRAD, "graph `update`: `w` has no update");
}

static void test_no_state_update(void **state) {
  (void)state;
  struct bench bench;
  struct dtg_module *module = read_good(&bench);
  module->update->roots.len = 2;
  check(module, &bench, DTG_VERIFY_GRAD, "graph `update`: `seen` has no update");
}

static void test_combined_slot(void **state) {
  (void)state;
  struct bench bench;
  struct dtg_module *module = read_good(&bench);
  ((struct dtg_attr *)module->update->nodes.data[2].attrs)[0].value.s = "w:v";
  check(module, &bench, DTG_VERIFY_BUILD,
        "graph `update`: `grad_in` reads `w:v`, which is no such variable");
}

static void test_two_updates(void **state) {
  (void)state;
  struct bench bench;
  struct dtg_module *module = read_good(&bench);
  module->update->roots.data[0].name = "w";
  check(module, &bench, DTG_VERIFY_GRAD, "graph `update`: update `w` is there twice");
}

static void test_variable_order(void **state) {
  (void)state;
  struct bench bench;
  struct dtg_module *module = read_good(&bench);
  module->variables.data[0].kind = DTG_VARIABLE_SLOT;
  check(module, &bench, DTG_VERIFY_BUILD, "variable `w` names no parameter as it should");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_good),
      cmocka_unit_test(test_order),
      cmocka_unit_test(test_type),
      cmocka_unit_test(test_leaf),
      cmocka_unit_test(test_unknown_leaf),
      cmocka_unit_test(test_loss_type),
      cmocka_unit_test(test_no_gradient),
      cmocka_unit_test(test_no_update),
      cmocka_unit_test(test_two_updates),
      cmocka_unit_test(test_variable_order),
      cmocka_unit_test(test_no_state_update),
      cmocka_unit_test(test_combined_slot),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
