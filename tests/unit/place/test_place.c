// Devices and causes of nodes: each has both, rules that name the replica's own device are its
// cause, and the update is at the owners.
#include "tests/unit/replicate/strategy_text.h"

#include "compiler/base/strbuf.h"
#include "compiler/place/place.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static const char *const train = "  batch = 48\n  shards = 12\n  optimizer = adam(lr = 0.1)\n";

static void expect_caused(const struct strategy_text *text, const struct dtg_graph *graph) {
  for (uint32_t n = 0; n < graph->nodes.len; n++) {
    const struct dtg_node *node = dtg_graph_node(graph, n);
    assert_true(node->device < dtg_cluster_device_count(&text->cluster));
    assert_non_null(node->cause.rule);
  }
}

static void test_every_node(void **state) {
  (void)state;
  struct strategy_text text;
  strategy_open(&text, train, "replicate between_graph over worker  params on ps", "ps=2,worker=3");
  expect_caused(&text, text.module->train);
  expect_caused(&text, text.module->eval);
  expect_caused(&text, text.module->tail);
  expect_caused(&text, text.module->update);
  strategy_close(&text);
}

static uint32_t count_causes(const struct dtg_graph *graph, const char *rule) {
  uint32_t count = 0;
  for (uint32_t n = 0; n < graph->nodes.len; n++)
    count += strcmp(dtg_graph_node(graph, n)->cause.rule, rule) == 0;
  return count;
}

// `prefer` for another device than the replica's gives way; `place` on its own device is kept as a
// cause.
static void test_causes(void **state) {
  (void)state;
  struct strategy_text text;
  strategy_open(&text, train,
                "replicate between_graph over worker  params on ps  place \"a\" on cpu:0\n"
                "  prefer \"b\" on cpu:1",
                "ps=1,worker=2");
  assert_non_null(text.partition);
  assert_true(count_causes(text.module->train, "place") > 0);
  assert_int_equal(count_causes(text.module->train, "prefer"), 0);
  strategy_close(&text);
}

static void test_owners(void **state) {
  (void)state;
  struct strategy_text text;
  struct dtg_strbuf why = {0};
  strategy_open(
      &text, train,
      "replicate between_graph over worker  params on ps  place \"a.w\" on /job:ps/task:1",
      "ps=2,worker=2");
  assert_non_null(text.partition);
  const struct dtg_graph *update = text.module->update;
  assert_true(count_causes(update, "place") > 0);
  assert_true(count_causes(update, "every-owner") > 0);
  for (size_t i = 0; i < update->roots.len; i++) {
    struct dtg_node *node = dtg_graph_node(update, update->roots.data[i].node);
    if (strcmp(update->roots.data[i].name, "a.w") != 0)
      continue;
    assert_int_equal(node->device, strategy_device(&text, "/job:ps/task:1/device:CPU:0"));
    node->device = strategy_device(&text, "/job:ps/task:0/device:CPU:0");
    assert_false(dtg_place_verify(text.replication, &why));
    assert_string_equal(dtg_strbuf_text(&why), "`a.w` is updated away from its owner");
  }
  dtg_strbuf_free(&why);
  strategy_close(&text);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_every_node),
      cmocka_unit_test(test_causes),
      cmocka_unit_test(test_owners),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
