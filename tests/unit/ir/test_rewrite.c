#include "compiler/ir/rewrite.h"

#include "compiler/base/strbuf.h"
#include "compiler/ir/graph_text.h"
#include "compiler/ir/verify.h"
#include "tests/unit/ops/testing.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <string.h>

static struct dtg_graph *read_graph(struct bench *bench, const char *text) {
  struct dtg_strbuf why = {0};
  struct dtg_graph *graph;
  if (!dtg_graph_read(&bench->arena, &bench->names, text, strlen(text), &why, &graph))
    fail_msg("%s", dtg_strbuf_text(&why));
  return graph;
}

static void check_text(const struct dtg_graph *graph, const char *wanted) {
  struct dtg_strbuf out = {0};
  dtg_graph_print(graph, NULL, &out);
  assert_string_equal(dtg_strbuf_text(&out), wanted);
  dtg_strbuf_free(&out);
}

static void test_prune(void **state) {
  (void)state;
  struct bench bench;
  bench_open(&bench, 0);
  struct dtg_graph *graph = dtg_graph_prune(
      read_graph(&bench, "graph \"g\" groups=3 {\n"
                         "  %0 input {name=\"x\"} : f32[]\n"
                         "  %1 neg %0 : f32[]\n"
                         "  %2 exp %0 : f32[] #2 @1 !place path=\"fc\" name=\"h\" <0:1-2>\n"
                         "  %3 neg %1 : f32[]\n"
                         "  root output \"y\" %2 mean\n"
                         "}\n"));
  check_text(graph, "graph \"g\" groups=3 {\n"
                    "  %0 input {name=\"x\"} : f32[]\n"
                    "  %1 exp %0 : f32[] #2 @1 !place path=\"fc\" name=\"h\" <0:1-2>\n"
                    "  root output \"y\" %1 mean\n"
                    "}\n");
  assert_ptr_equal(dtg_graph_prune(graph), graph);
  bench_close(&bench);
}

static void test_replace(void **state) {
  (void)state;
  struct bench bench;
  bench_open(&bench, 0);
  struct dtg_graph *graph =
      read_graph(&bench, "graph \"g\" {\n"
                         "  %0 input {name=\"x\"} : f32[]\n"
                         "  %1 square %0 : f32[] path=\"fc\" name=\"h\" <0:1-2>\n"
                         "  %2 neg %1 : f32[]\n"
                         "  root output \"y\" %2 mean\n"
                         "}\n");
  struct dtg_rewrite rewrite = dtg_rewrite_begin(graph);
  for (uint32_t id = 0; id < graph->nodes.len; id++) {
    uint32_t first = (uint32_t)rewrite.to->nodes.len, node;
    if (id == 1) {
      uint32_t x = dtg_rewrite_input(&rewrite, id, 0);
      node = dtg_add_binary(rewrite.to, "mul", x, x);
      dtg_rewrite_origin(&rewrite, id, first);
    } else {
      node = dtg_rewrite_copy(&rewrite, id);
    }
    dtg_rewrite_set(&rewrite, id, node);
  }
  check_text(dtg_rewrite_end(&rewrite), "graph \"g\" {\n"
                                        "  %0 input {name=\"x\"} : f32[]\n"
                                        "  %1 mul %0, %0 : f32[] path=\"fc\" name=\"h\" <0:1-2>\n"
                                        "  %2 neg %1 : f32[]\n"
                                        "  root output \"y\" %2 mean\n"
                                        "}\n");
  bench_close(&bench);
}

/* Pruning keeps the value of what is left. */
static void test_random(void **state) {
  (void)state;
  for (uint64_t seed = 1; seed <= 50; seed++) {
    struct bench bench;
    struct leaf_table table = {0};
    struct dtg_strbuf why = {0};
    bench_open(&bench, seed);
    struct dtg_graph *graph = random_graph(&bench, 20, &table);
    uint32_t root = (uint32_t)bench_below(&bench, (int64_t)graph->nodes.len);
    dtg_graph_add_root(graph, DTG_ROOT_OUTPUT, "y", root, DTG_REDUCE_MEAN, DTG_SPAN_NONE);
    struct dtg_graph *pruned = dtg_graph_prune(graph);
    if (!dtg_graph_verify(pruned, DTG_VERIFY_BUILD, &why))
      fail_msg("seed %llu: %s", (unsigned long long)seed, dtg_strbuf_text(&why));
    struct dtg_ref_tensor before = dtg_evaluate(graph, &bench.arena, leaf_value, &table)[root];
    struct dtg_ref_tensor after =
        dtg_evaluate(pruned, &bench.arena, leaf_value, &table)[pruned->roots.data[0].node];
    size_t count = (size_t)dtg_shape_count(&before.type.shape);
    assert_true(pruned->nodes.len <= graph->nodes.len);
    assert_memory_equal(before.data, after.data, count * sizeof *before.data);
    bench_close(&bench);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_prune),
      cmocka_unit_test(test_replace),
      cmocka_unit_test(test_random),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
