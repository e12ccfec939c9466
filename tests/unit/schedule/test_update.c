/* Update graphs: new values of variables are written over the old ones, where and when that is
 * safe. */
#include "plan_run.h"

#include "codegen/lower/lower.h"
#include "compiler/base/strbuf.h"
#include "compiler/ir/graph_text.h"
#include "compiler/ir/group.h"
#include "compiler/opt/opt.h"
#include "compiler/schedule/internal.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define VARIABLES                                         \
  "variables {\n"                                         \
  "  param \"b\" : f32[48] ~ zeros(0.0, 0.0)\n"           \
  "  param \"w\" : f32[20, 48] ~ zeros(0.0, 0.0)\n"       \
  "  slot \"b:v\" : f32[48] ~ zeros(0.0, 0.0) of 0\n"     \
  "  slot \"w:v\" : f32[20, 48] ~ zeros(0.0, 0.0) of 1\n" \
  "}\n"                                                   \
  "graph \"train\" {\n"                                   \
  "  %0 param {path=\"b\"} : f32[48]\n"                   \
  "  %1 param {path=\"w\"} : f32[20, 48]\n"               \
  "  %2 sum %1 {axes=[0, 1]} : f32[]\n"                   \
  "  %3 neg %0 : f32[48]\n"                               \
  "  %4 neg %1 : f32[20, 48]\n"                           \
  "  root loss \"\" %2 mean\n"                            \
  "  root grad \"b\" %3 mean\n"                           \
  "  root grad \"w\" %4 mean\n"                           \
  "}\n"

/* Runs the update graph of the text and compares every new value with the reference. */
static void check(const char *update, uint32_t kernels) {
  struct dtg_ctx ctx;
  struct dtg_strbuf text = {0}, why = {0};
  struct dtg_module *module = NULL;
  static const struct dtg_schedule_options options;
  uint64_t seed = 5;
  dtg_ctx_init(&ctx);
  dtg_strbuf_puts(&text, VARIABLES);
  dtg_strbuf_puts(&text, update);
  if (!dtg_module_read(&ctx.arena, &ctx.names, dtg_strbuf_text(&text), text.len, &why, &module))
    fail_msg("%s", dtg_strbuf_text(&why));
  const struct dtg_graph *before = module->update;
  const struct dtg_ref_tensor *expected = dtg_evaluate(before, &ctx.arena, plan_leaf, &seed);
  dtg_opt(&ctx, module);
  struct dtg_plan *plan = dtg_schedule(&ctx, module, &options);
  if (!dtg_plan_verify(plan, &why))
    fail_msg("%s", dtg_strbuf_text(&why));
  cg_lower(&ctx, plan);
  assert_int_equal(plan->functions[DTG_PLAN_UPDATE].steps.len, kernels);
  struct plan_memory *memory = plan_run(&ctx.arena, plan, DTG_PLAN_UPDATE, plan_leaf, &seed);
  for (size_t r = 0; r < before->roots.len; r++) {
    struct dtg_location at;
    const struct dtg_ref_tensor *wanted = &expected[before->roots.data[r].node];
    assert_true(dtg_root_location(plan, DTG_PLAN_UPDATE, &before->roots.data[r], &at));
    const float *got = (const float *)(const void *)(memory->variables + at.offset);
    for (int64_t i = 0; i < dtg_shape_count(&wanted->type.shape); i++) {
      if (!(fabs(wanted->data[i] - (double)got[i]) <= 1e-5 + 1e-5 * fabs(wanted->data[i])))
        fail_msg("%s, element %lld: %.9g expected, %.9g computed", before->roots.data[r].name,
                 (long long)i, wanted->data[i], (double)got[i]);
    }
  }
  dtg_strbuf_free(&text);
  dtg_ctx_free(&ctx);
}

/* v = 0.9 v + g; p = p - 0.1 v: one kernel, in place. */
static void test_momentum(void **state) {
  (void)state;
  check("graph \"update\" {\n"
        "  %0 param {path=\"w\"} : f32[20, 48]\n"
        "  %1 slot {path=\"w:v\"} : f32[20, 48]\n"
        "  %2 grad_in {path=\"w\"} : f32[20, 48]\n"
        "  %3 const {dtype=f32, value=0.9} : f32[]\n"
        "  %4 broadcast_to %3 {shape=[20, 48]} : f32[20, 48]\n"
        "  %5 mul %1, %4 : f32[20, 48]\n"
        "  %6 add %5, %2 : f32[20, 48]\n"
        "  %7 const {dtype=f32, value=0.1} : f32[]\n"
        "  %8 broadcast_to %7 {shape=[20, 48]} : f32[20, 48]\n"
        "  %9 mul %6, %8 : f32[20, 48]\n"
        "  %10 sub %0, %9 : f32[20, 48]\n"
        "  root update \"w\" %10 mean\n"
        "  root update \"w:v\" %6 mean\n"
        "}\n",
        1);
}

/* The old value is read after a product of the new one: the new one is copied over it at the end.
 */
static void test_old_and_new(void **state) {
  (void)state;
  check("graph \"update\" {\n"
        "  %0 param {path=\"w\"} : f32[20, 48]\n"
        "  %1 grad_in {path=\"w\"} : f32[20, 48]\n"
        "  %2 sub %0, %1 : f32[20, 48]\n"
        "  %3 matmul %2, %2 {transpose_b=true} : f32[20, 20]\n"
        "  %4 sum %3 {axes=[1], keepdims=true} : f32[20, 1]\n"
        "  %5 broadcast_to %4 {shape=[20, 48]} : f32[20, 48]\n"
        "  %6 mul %5, %0 : f32[20, 48]\n"
        "  %7 sum %6 {axes=[0]} : f32[48]\n"
        "  root update \"w\" %2 mean\n"
        "  root update \"b\" %7 mean\n"
        "}\n",
        5);
}

/* Two variables change places. */
static void test_swap(void **state) {
  (void)state;
  check("graph \"update\" {\n"
        "  %0 param {path=\"b\"} : f32[48]\n"
        "  %1 slot {path=\"b:v\"} : f32[48]\n"
        "  root update \"b\" %1 mean\n"
        "  root update \"b:v\" %0 mean\n"
        "}\n",
        3);
}

/* The new value is the old one turned round: no element may be written before it is read. */
static void test_reverse(void **state) {
  (void)state;
  check("graph \"update\" {\n"
        "  %0 param {path=\"b\"} : f32[48]\n"
        "  %1 reverse %0 {axes=[0]} : f32[48]\n"
        "  %2 neg %1 : f32[48]\n"
        "  root update \"b\" %2 mean\n"
        "}\n",
        2);
}

/* A variable that keeps its value costs nothing; one value for two variables is copied. */
static void test_unchanged(void **state) {
  (void)state;
  check("graph \"update\" {\n"
        "  %0 param {path=\"w\"} : f32[20, 48]\n"
        "  %1 grad_in {path=\"b\"} : f32[48]\n"
        "  %2 neg %1 : f32[48]\n"
        "  root update \"w\" %0 mean\n"
        "  root update \"b\" %2 mean\n"
        "  root update \"b:v\" %2 mean\n"
        "}\n",
        1);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_momentum),
                                     cmocka_unit_test(test_old_and_new),
                                     cmocka_unit_test(test_swap), cmocka_unit_test(test_reverse),
                                     cmocka_unit_test(test_unchanged)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
