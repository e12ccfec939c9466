/* Where the leaves of the update graph are read: what the shards contributed of parameters and of
 * states. */
#include "compiler/base/ctx.h"
#include "compiler/ir/graph_text.h"
#include "compiler/schedule/internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <string.h>

static const char text[] = "variables {\n"
                           "  param \"w\" : f32[300] ~ zeros(0.0, 0.0)\n"
                           "  state \"seen\" : i32[2] ~ zeros(0.0, 0.0)\n"
                           "}\n"
                           "graph \"train\" {\n"
                           "  %0 param {path=\"w\"} : f32[300]\n"
                           "  %1 state {path=\"seen\"} : i32[2]\n"
                           "  %2 sum %0 {axes=[0]} : f32[]\n"
                           "  %3 neg %0 : f32[300]\n"
                           "  %4 neg %1 : i32[2]\n"
                           "  root loss \"\" %2 mean\n"
                           "  root grad \"w\" %3 mean\n"
                           "  root state \"seen\" %4 max\n"
                           "}\n"
                           "graph \"update\" {\n"
                           "  %0 grad_in {path=\"w\"} : f32[300]\n"
                           "  %1 grad_in {path=\"seen\"} : i32[2]\n"
                           "  %2 neg %0 : f32[300]\n"
                           "  root update \"w\" %2 mean\n"
                           "  root update \"seen\" %1 mean\n"
                           "}\n";

/* The contribution is loss, gradients, states, each at a multiple of 64 bytes. */
static void test_contributions(void **state) {
  (void)state;
  struct dtg_ctx ctx;
  struct dtg_strbuf why = {0};
  struct dtg_module *module;
  dtg_ctx_init(&ctx);
  if (!dtg_module_read(&ctx.arena, &ctx.names, text, strlen(text), &why, &module))
    fail_msg("%s", dtg_strbuf_text(&why));
  struct dtg_plan plan = {.arena = &ctx.arena, .module = module};
  struct dtg_schedule_options options = {0};
  dtg_schedule_contributions(&plan);
  struct dtg_location gradient =
      dtg_leaf_location(&plan, &options, dtg_graph_node(module->update, 0));
  struct dtg_location candidate =
      dtg_leaf_location(&plan, &options, dtg_graph_node(module->update, 1));
  assert_int_equal(gradient.space, DTG_SPACE_CONTRIBUTION);
  assert_int_equal(gradient.offset, 64);
  assert_int_equal(candidate.space, DTG_SPACE_CONTRIBUTION);
  assert_int_equal(candidate.offset, 64 + 1216);
  dtg_strbuf_free(&why);
  dtg_ctx_free(&ctx);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_contributions)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
