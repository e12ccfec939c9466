/* Printing and reading are inverse; what cannot be read is refused with a line number. */
#include "compiler/base/strbuf.h"
#include "compiler/grad/grad.h"
#include "compiler/ir/graph_text.h"
#include "compiler/ir/verify.h"
#include "tests/unit/ops/testing.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RANDOM_GRAPHS = 200, MUTATIONS = 20000 };

/* Reads the text and prints it again. */
static void check_same(const char *text) {
  struct bench bench;
  struct dtg_strbuf why = {0}, out = {0};
  struct dtg_module *module;
  bench_open(&bench, 0);
  if (!dtg_module_read(&bench.arena, &bench.names, text, strlen(text), &why, &module))
    fail_msg("%s\n%s", dtg_strbuf_text(&why), text);
  dtg_module_print(module, NULL, &out);
  assert_string_equal(dtg_strbuf_text(&out), text);
  dtg_strbuf_free(&out);
  bench_close(&bench);
}

static const char *const everything =
    "variables {\n"
    "  param \"fc.w\" : f32[3, 2] ~ glorot_uniform(0.0, 0.0) <0:12-20>\n"
    "  state \"mean\" : f32[2] ~ constant(0.1, 0.0)\n"
    "  slot \"fc.w:v\" : f32[3, 2] ~ zeros(0.0, -1e-7) of 0\n"
    "}\n"
    "graph \"train\" groups=2 {\n"
    "  %0 input {name=\"x\"} : f32[4, 3]\n"
    "  %1 param {path=\"fc.w\"} : f32[3, 2] @3 !place=<0:3-9>\n"
    "  %2 matmul %0, %1 : f32[4, 2] #0 @3 !\"with input\" path=\"block[3].fc\" name=\"h\" "
    "<0:350-362>\n"
    "  %3 const {dtype=f32, value=inf} : f32[]\n"
    "  %4 const {dtype=i64, value=-9223372036854775808} : i64[]\n"
    "  %5 const {dtype=bool, value=true} : bool[]\n"
    "  %6 broadcast_to %3 {shape=[4, 2]} : f32[4, 2]\n"
    "  %7 maximum %2, %6 : f32[4, 2] #1\n"
    "  %8 sum %7 {axes=[0, 1], keepdims=false} : f32[]\n"
    "  %9 sum %8 {axes=[]} : f32[]\n"
    "  root loss \"\" %9 mean\n"
    "  root output \"a \\\"b\\\"\\n\\x01\" %2 mean <0:1-2>\n"
    "  root state \"mean\" %7 sum\n"
    "}\n"
    "graph \"update\" {\n"
    "}\n";

static void test_everything(void **state) {
  (void)state;
  check_same(everything);
}

static void test_source_comment(void **state) {
  (void)state;
  struct bench bench;
  struct dtg_source_set sources;
  struct dtg_diags diags;
  struct dtg_strbuf out = {0};
  uint32_t file;
  bench_open(&bench, 0);
  dtg_source_set_init(&sources);
  dtg_diags_init(&diags, &sources);
  assert_true(dtg_source_add(&sources, &diags, "m.dtg", "a = 1\nb = -a\n", 13, &file));
  struct dtg_graph *graph = dtg_graph_new(&bench.arena, &bench.names, "g");
  graph->span = (struct dtg_span){file, 10, 12};
  dtg_add_leaf(graph, "input", "x", (struct dtg_type){.dtype = DTG_F32});
  dtg_graph_print(graph, &sources, &out);
  assert_string_equal(dtg_strbuf_text(&out),
                      "graph \"g\" {\n"
                      "  %0 input {name=\"x\"} : f32[] <0:10-12> ; m.dtg:2:5\n"
                      "}\n");
  struct dtg_strbuf why = {0};
  assert_true(dtg_graph_read(&bench.arena, &bench.names, out.data, out.len, &why, &graph));
  assert_int_equal(graph->nodes.data[0].span.end, 12);
  dtg_strbuf_free(&out);
  dtg_diags_free(&diags);
  dtg_source_set_free(&sources);
  bench_close(&bench);
}

/* Marks that stages leave on nodes. */
static void decorate(struct bench *bench, struct dtg_graph *graph) {
  static const char *const words[] = {"", "fc", "block[3].attn", "a \"b\" \\ \n\t", "\xc3\xa9"};
  for (size_t i = 0; i < graph->nodes.len; i++) {
    struct dtg_node *node = &graph->nodes.data[i];
    node->path = dtg_intern_z(&bench->names, words[bench_below(bench, 5)]);
    if (bench_below(bench, 2))
      node->name = dtg_intern_z(&bench->names, words[bench_below(bench, 5)]);
    if (bench_below(bench, 2))
      node->group = (uint32_t)bench_below(bench, 9);
    if (bench_below(bench, 2))
      node->device = (uint32_t)bench_below(bench, 9);
    if (bench_below(bench, 2))
      node->cause.rule = dtg_intern_z(&bench->names, words[1 + bench_below(bench, 4)]);
    if (node->cause.rule && bench_below(bench, 2))
      node->cause.span = (struct dtg_span){1, 2, 3};
    if (bench_below(bench, 2))
      node->span = (struct dtg_span){0, (uint32_t)bench_bits(bench), (uint32_t)bench_bits(bench)};
  }
}

static struct dtg_strbuf random_text(uint64_t seed) {
  struct bench bench;
  struct leaf_table table = {0};
  struct dtg_strbuf out = {0};
  uint32_t grads[4], culprit;
  bench_open(&bench, seed);
  struct dtg_graph *graph = random_graph(&bench, (int)bench_below(&bench, 30), &table);
  uint32_t loss = (uint32_t)graph->nodes.len - 1;
  assert_true(dtg_grad_nodes(graph, loss, (uint32_t[]){0, 1, 2, 3}, 4, grads, &culprit));
  dtg_graph_add_root(graph, DTG_ROOT_LOSS, "", loss, DTG_REDUCE_MEAN, DTG_SPAN_NONE);
  decorate(&bench, graph);
  dtg_graph_print(graph, NULL, &out);
  bench_close(&bench);
  return out;
}

static void test_random_graphs(void **state) {
  (void)state;
  for (uint64_t seed = 1; seed <= RANDOM_GRAPHS; seed++) {
    struct dtg_strbuf text = random_text(seed), again = {0}, why = {0};
    struct bench bench;
    struct dtg_graph *graph;
    bench_open(&bench, 0);
    if (!dtg_graph_read(&bench.arena, &bench.names, text.data, text.len, &why, &graph))
      fail_msg("seed %llu: %s", (unsigned long long)seed, dtg_strbuf_text(&why));
    if (!dtg_graph_verify(graph, DTG_VERIFY_BUILD, &why))
      fail_msg("seed %llu: %s", (unsigned long long)seed, dtg_strbuf_text(&why));
    dtg_graph_print(graph, NULL, &again);
    assert_string_equal(dtg_strbuf_text(&again), dtg_strbuf_text(&text));
    dtg_strbuf_free(&text);
    dtg_strbuf_free(&again);
    bench_close(&bench);
  }
}

/* The example of GRAPH.md, between its first fences. */
static void test_example(void **state) {
  (void)state;
  char path[1024], page[8192];
  struct bench bench;
  struct dtg_strbuf why = {0};
  struct dtg_module *module;
  const char *source = getenv("DTG_SOURCE_DIR");
  assert_non_null(source);
  snprintf(path, sizeof path, "%s/compiler/ir/GRAPH.md", source);
  FILE *stream = fopen(path, "rb");
  assert_non_null(stream);
  page[fread(page, 1, sizeof page - 1, stream)] = '\0';
  fclose(stream);
  char *begin = strstr(page, "```\n") + 4, *end = strstr(begin, "```\n");
  bench_open(&bench, 0);
  if (!dtg_module_read(&bench.arena, &bench.names, begin, (size_t)(end - begin), &why, &module))
    fail_msg("%s", dtg_strbuf_text(&why));
  if (!dtg_module_verify(module, DTG_VERIFY_BUILD, &why))
    fail_msg("%s", dtg_strbuf_text(&why));
  bench_close(&bench);
}

static void check_error(const char *text, const char *wanted) {
  struct bench bench;
  struct dtg_strbuf why = {0};
  struct dtg_module *module;
  bench_open(&bench, 0);
  assert_false(dtg_module_read(&bench.arena, &bench.names, text, strlen(text), &why, &module));
  assert_string_equal(dtg_strbuf_text(&why), wanted);
  dtg_strbuf_free(&why);
  bench_close(&bench);
}

#define TRAIN(lines) "variables {\n}\ngraph \"train\" {\n" lines

static void test_errors(void **state) {
  (void)state;
  check_error("", "line 1: expected `variables`");
  check_error("variables {\n  blob \"a\"\n}\n", "line 2: `blob` is no kind of variable");
  check_error("variables {\n  slot \"a:v\" : f32[] ~ zeros(0.0, 0.0) of 0\n}\n",
              "line 2: variable 0 is not defined before");
  check_error("variables {\n}\ngraph \"tra", "line 3: a string has no closing quote");
  check_error("variables {\n}\ngraph \"test\" {\n}\n",
              "line 4: a module has the graphs train, eval, tail and update, not `test`");
  check_error(TRAIN("}\ngraph \"train\" {\n}\n"), "line 6: graph `train` is there twice");
  check_error(TRAIN("  %1 input"), "line 4: expected node %0, saw %1");
  check_error(TRAIN("  %0 splat : f32[]"), "line 4: there is no op `splat`");
  check_error(TRAIN("  %0 neg %0 : f32[]"), "line 4: %0 is used before it is defined");
  check_error(TRAIN("  %0 input {name=\"x\"} : f33[]"), "line 4: `f33` is no element type");
  check_error(TRAIN("  %0 input {name=\"x\"} : f32[0]"), "line 4: a dim is at least 1, got 0");
  check_error(TRAIN("  %0 input {name=\"x\"} : f32[1,1,1,1,1,1,1,1,1]"),
              "line 4: a shape has at most 8 dims");
  check_error(TRAIN("  %0 input {name=\"x\"} : f32[9223372036854775807]"),
              "line 4: a tensor is too large");
  check_error(TRAIN("  %0 input {name=\"x\"} : f32[92233720368547758070]"),
              "line 4: 92233720368547758070 is out of the range of 64 bits");
  check_error(TRAIN("  %0 input {name=\"x\"} f32[]"),
              "line 4: expected `:` before the type, saw `f32`");
  check_error(TRAIN("  %0 input {name=\"\\q\"} : f32[]"),
              "line 4: a string has a bad escape or a NUL byte");
  check_error(TRAIN("  %0 input {name=4} : f32[]"),
              "line 4: attribute `name` of `input` is of kind int, but must be string");
  check_error(TRAIN("  %0 input {nam=\"x\"} : f32[]"), "line 4: `input` needs attribute `name`");
  check_error(TRAIN("  %0 input {name=\"x\"} : f32[3]\n  %1 neg %0 : f32[4]"),
              "line 5: `neg` gives f32[3], but the text says f32[4]");
  check_error(TRAIN("  %0 input {name=\"x\"} : f32[3]\n  root blob \"\" %0 mean"),
              "line 5: `blob` is no kind of root");
  check_error(TRAIN("  %0 input {name=\"x\"} : f32[3]\n  root loss \"\" %0 median"),
              "line 5: shards combine by mean, sum or max, not by `median`");
  check_error(TRAIN("  what"), "line 4: expected `}` after the nodes, saw `what`");
  check_error(TRAIN("}\n\x01"), "line 5: expected `graph`");
}

/* Every mutation is refused with a reason, or gives a graph that verifies. */
static void test_mutations(void **state) {
  (void)state;
  struct bench dice;
  bench_open(&dice, 42);
  for (int i = 0; i < MUTATIONS; i++) {
    struct bench bench;
    struct dtg_strbuf why = {0};
    struct dtg_module *module;
    size_t size = strlen(everything);
    char *text = malloc(size); /* exact size: ASan sees a read past the end */
    memcpy(text, everything, size);
    for (int64_t edits = 1 + bench_below(&dice, 3); edits > 0; edits--) {
      size_t at = (size_t)bench_below(&dice, (int64_t)size);
      bool copies = bench_below(&dice, 2);
      text[at] = copies ? everything[bench_below(&dice, (int64_t)size)] : (char)bench_bits(&dice);
    }
    size = bench_below(&dice, 4) == 0 ? (size_t)bench_below(&dice, (int64_t)size) : size;
    bench_open(&bench, 0);
    if (!dtg_module_read(&bench.arena, &bench.names, text, size, &why, &module))
      assert_true(why.len > 0);
    else if (module->train && !dtg_graph_verify(module->train, DTG_VERIFY_BUILD, &why))
      assert_true(strstr(dtg_strbuf_text(&why), "loss") || strstr(dtg_strbuf_text(&why), "twice"));
    dtg_strbuf_free(&why);
    bench_close(&bench);
    free(text);
  }
  bench_close(&dice);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_everything),    cmocka_unit_test(test_source_comment),
      cmocka_unit_test(test_random_graphs), cmocka_unit_test(test_errors),
      cmocka_unit_test(test_mutations),     cmocka_unit_test(test_example),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
