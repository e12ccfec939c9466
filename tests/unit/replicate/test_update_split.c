// The update by blocks: what belongs to whom, which kernels work by blocks, and after which
// exchange.
#include "compiler/base/strbuf.h"
#include "compiler/ir/graph_text.h"
#include "compiler/ir/update_split.h"
#include "compiler/opt/opt.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

struct split_text {
  struct dtg_ctx ctx;
  struct dtg_module *module;
  const struct dtg_groups *groups;
  const struct dtg_update_split *split;
};

// "w" has 3 blocks of 16 rows, the last one short; "b" one; "s" and "t" are numbers.
#define VARIABLES                                     \
  "variables {\n"                                     \
  "  param \"b\" : f32[48] ~ zeros(0.0, 0.0)\n"       \
  "  param \"s\" : f32[] ~ zeros(0.0, 0.0)\n"         \
  "  param \"t\" : f32[] ~ zeros(0.0, 0.0)\n"         \
  "  param \"w\" : f32[40, 1024] ~ zeros(0.0, 0.0)\n" \
  "  param \"z\" : f32[256, 256] ~ zeros(0.0, 0.0)\n" \
  "}\n"                                               \
  "graph \"update\" {\n"

static void open_split(struct split_text *text, const char *update) {
  struct dtg_strbuf source = {0}, why = {0};
  memset(text, 0, sizeof *text);
  dtg_ctx_init(&text->ctx);
  dtg_strbuf_puts(&source, VARIABLES);
  dtg_strbuf_puts(&source, update);
  dtg_strbuf_puts(&source, "}\n");
  if (!dtg_module_read(&text->ctx.arena, &text->ctx.names, dtg_strbuf_text(&source), source.len,
                       &why, &text->module))
    fail_msg("%s", dtg_strbuf_text(&why));
  dtg_opt(&text->ctx, text->module);
  text->groups = dtg_groups_new(&text->ctx.arena, text->module->update);
  text->split = dtg_update_split_new(&text->ctx.arena, text->module, text->groups);
  dtg_strbuf_free(&source);
}

static void close_split(struct split_text *text) {
  dtg_ctx_free(&text->ctx);
}

static const struct dtg_update_group *group_of(const struct split_text *text, const char *path) {
  const struct dtg_graph *update = text->module->update;
  for (size_t i = 0; i < update->roots.len; i++)
    if (strcmp(update->roots.data[i].name, path) == 0) {
      uint32_t base = dtg_links_base(text->groups->links, update->roots.data[i].node);
      return &text->split->groups[dtg_graph_node(update, base)->group];
    }
  fail_msg("`%s` has no root", path);
  return NULL;
}

static void test_by_blocks(void **state) {
  (void)state;
  struct split_text text;
  open_split(&text, "  %0 param {path=\"w\"} : f32[40, 1024]\n"
                    "  %1 grad_in {path=\"w\"} : f32[40, 1024]\n"
                    "  %2 sub %0, %1 : f32[40, 1024]\n"
                    "  root update \"w\" %2 mean\n");
  const struct dtg_update_group *group = group_of(&text, "w");
  assert_int_equal(group->variable, 3);
  assert_false(group->whole);
  assert_int_equal(group->block, 16 * 1024);
  assert_int_equal(text.split->phases, 1);
  assert_null(text.split->why);
  close_split(&text);
}

// An element needs one of another block: the variable is not cut.
static void test_transposed(void **state) {
  (void)state;
  struct split_text text;
  open_split(&text, "  %0 param {path=\"z\"} : f32[256, 256]\n"
                    "  %1 grad_in {path=\"z\"} : f32[256, 256]\n"
                    "  %2 transpose %1 {perm=[1, 0]} : f32[256, 256]\n"
                    "  %3 sub %0, %2 : f32[256, 256]\n"
                    "  root update \"z\" %3 mean\n");
  assert_true(group_of(&text, "z")->whole);
  assert_true(text.split->whole[4]);
  assert_false(text.split->whole[3]);
  close_split(&text);
}

// A norm over the whole tensor: its block sums are exchanged, and the update is in the next phase.
static void test_phases(void **state) {
  (void)state;
  struct split_text text;
  open_split(&text, "  %0 param {path=\"w\"} : f32[40, 1024]\n"
                    "  %1 grad_in {path=\"w\"} : f32[40, 1024]\n"
                    "  %2 square %1 : f32[40, 1024]\n"
                    "  %3 block_sum %2 : f32[3]\n"
                    "  %4 tree_sum %3 : f32[]\n"
                    "  %5 broadcast_to %4 {shape=[40, 1024]} : f32[40, 1024]\n"
                    "  %6 mul %1, %5 : f32[40, 1024]\n"
                    "  %7 sub %0, %6 : f32[40, 1024]\n"
                    "  root update \"w\" %7 mean\n");
  assert_int_equal(text.split->phases, 2);
  assert_int_equal(group_of(&text, "w")->phase, 1);
  assert_false(group_of(&text, "w")->whole);
  assert_int_equal(text.split->exchanges.len, 1);
  assert_int_equal(text.split->exchanges.data[0].phase, 0);
  assert_int_equal(text.split->exchanges.data[0].variable, 3);
  assert_int_equal(text.split->exchanges.data[0].blocks, 3);
  close_split(&text);
}

// Numbers of two parameters never share a kernel, nor does what all need with what one needs.
static void test_numbers(void **state) {
  (void)state;
  struct split_text text;
  open_split(&text, "  %0 param {path=\"s\"} : f32[]\n"
                    "  %1 grad_in {path=\"s\"} : f32[]\n"
                    "  %2 param {path=\"t\"} : f32[]\n"
                    "  %3 grad_in {path=\"t\"} : f32[]\n"
                    "  %4 scalar {name=\"step\"} : i64[]\n"
                    "  %5 cast %4 {dtype=f32} : f32[]\n"
                    "  %6 sqrt %5 : f32[]\n"
                    "  %7 mul %1, %6 : f32[]\n"
                    "  %8 mul %3, %6 : f32[]\n"
                    "  %9 sub %0, %7 : f32[]\n"
                    "  %10 sub %2, %8 : f32[]\n"
                    "  root update \"s\" %9 mean\n"
                    "  root update \"t\" %10 mean\n");
  assert_null(text.split->why);
  assert_int_equal(text.groups->count, 3);
  assert_int_equal(group_of(&text, "s")->variable, 1);
  assert_int_equal(group_of(&text, "t")->variable, 2);
  close_split(&text);
}

// A value of two parameters has no owner.
static void test_mixed(void **state) {
  (void)state;
  struct split_text text;
  open_split(&text, "  %0 param {path=\"s\"} : f32[]\n"
                    "  %1 param {path=\"t\"} : f32[]\n"
                    "  %2 sub %0, %1 : f32[]\n"
                    "  root update \"s\" %2 mean\n");
  assert_string_equal(text.split->why, "a new value depends on several parameters");
  close_split(&text);
}

static void test_products(void **state) {
  (void)state;
  struct split_text text;
  open_split(&text, "  %0 param {path=\"z\"} : f32[256, 256]\n"
                    "  %1 grad_in {path=\"z\"} : f32[256, 256]\n"
                    "  %2 matmul %0, %1 : f32[256, 256]\n"
                    "  root update \"z\" %2 mean\n");
  assert_string_equal(text.split->why, "it multiplies matrices");
  close_split(&text);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_by_blocks), cmocka_unit_test(test_transposed),
      cmocka_unit_test(test_phases),    cmocka_unit_test(test_numbers),
      cmocka_unit_test(test_mixed),     cmocka_unit_test(test_products),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
