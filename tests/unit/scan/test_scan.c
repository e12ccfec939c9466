/* Scans: what stands in the graph, the plan and the text, whatever the number of iterations. */
#include "loop_text.h"

#include "compiler/base/strbuf.h"
#include "compiler/ir/graph_text.h"
#include "compiler/ir/verify.h"
#include "compiler/opt/opt.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const char lstm[] =
    "layer lstm(x: f32[B, T, I], hidden: int) {\n"
    "  param wx: f32[I, 4 * hidden] ~ zeros()\n  param wh: f32[hidden, 4 * hidden] ~ zeros()\n"
    "  param b: f32[4 * hidden] ~ zeros()\n  xs = x @ wx\n"
    "  h = zeros([B, hidden])\n  c = zeros([B, hidden])\n"
    "  LOOP t in 0..T RULE {\n"
    "    g = xs[:, t] + h @ wh + b\n"
    "    c = sigmoid(g[:, hidden:2 * hidden]) * c\n"
    "      + sigmoid(g[:, 0:hidden]) * tanh(g[:, 2 * hidden:3 * hidden])\n"
    "    h = sigmoid(g[:, 3 * hidden:4 * hidden]) * tanh(c)\n"
    "    collect hs = h\n  }\n  return hs * c\n}\n"
    "model m(x: f32[B, STEPS, 3], y: f32[B, 2]) {\n"
    "  hs = lstm(x, hidden = 2)\n  loss = mean(square(hs - y))\n}\n"
    "optimizer o() { param = param - grad }\n"
    "data d = table(x = random_normal([8, STEPS, 3], seed = 1), y = random_normal([8, 2], seed = "
    "2))\n"
    "train { model = m data = d batch = 4 shards = 2 steps = 1 optimizer = o() }\n";

static void replace(struct dtg_strbuf *out, const char *text, const char *word, const char *by) {
  for (const char *at; (at = strstr(text, word)); text = at + strlen(word))
    dtg_strbuf_printf(out, "%.*s%s", (int)(at - text), text, by);
  dtg_strbuf_puts(out, text);
}

static void open_lstm(struct loop_bench *bench, const char *steps, const char *rule) {
  struct dtg_strbuf first = {0}, second = {0};
  replace(&first, lstm, "STEPS", steps);
  replace(&second, dtg_strbuf_text(&first), "RULE", rule);
  loop_bench_open(bench, dtg_strbuf_text(&second), "scan");
  dtg_strbuf_free(&first);
  dtg_strbuf_free(&second);
}

struct sizes {
  size_t nodes, launches, kernels;
};

static struct sizes sizes_of(const char *steps) {
  struct loop_bench bench;
  open_lstm(&bench, steps, "");
  struct dtg_plan *plan = loop_bench_plan(&bench, true);
  struct sizes sizes = {.nodes = dtg_graph_size(plan->module->train),
                        .launches = dtg_plan_launch_count(&plan->functions[DTG_PLAN_TRAIN]),
                        .kernels = plan->kernels.len};
  loop_bench_close(&bench);
  return sizes;
}

static void test_sizes(void **state) {
  (void)state;
  struct sizes few = sizes_of("8"), many = sizes_of("512");
  printf("%zu nodes, %zu launches, %zu kernels\n", few.nodes, few.launches, few.kernels);
  assert_int_equal(few.nodes, many.nodes);
  assert_int_equal(few.launches, many.launches);
  assert_int_equal(few.kernels, many.kernels);
  assert_true(few.nodes < 200 && few.launches < 60);
}

/* Does the text of a graph with bodies read back to the same text? */
static void test_text(void **state) {
  (void)state;
  struct loop_bench bench;
  open_lstm(&bench, "6", "recompute");
  const struct dtg_graph *graphs[] = {bench.module->train, dtg_opt_graph(bench.module->train)};
  for (size_t i = 0; i < 2; i++) {
    struct dtg_strbuf first = {0}, second = {0}, why = {0};
    struct dtg_graph *read;
    dtg_graph_print(graphs[i], NULL, &first);
    if (!dtg_graph_read(&bench.text.ctx.arena, &bench.text.ctx.names, dtg_strbuf_text(&first),
                        first.len, &why, &read))
      fail_msg("%s", dtg_strbuf_text(&why));
    dtg_graph_print(read, NULL, &second);
    assert_string_equal(dtg_strbuf_text(&first), dtg_strbuf_text(&second));
    dtg_strbuf_free(&first);
    dtg_strbuf_free(&second);
    dtg_strbuf_free(&why);
  }
  loop_bench_close(&bench);
}

enum { MUTATIONS = 1500, MUTATION_SEED = 11 };

static uint64_t draw(uint64_t *state) {
  *state = *state * 6364136223846793005u + 1442695040888963407u;
  return *state >> 33;
}

static const char body_start[] = "graph \"train\" {\n"
                                 "  %0 input {name=\"x\"} : f32[2]\n"
                                 "  %1 input {name=\"y\"} : f32[3, 2]\n";

static void refuse(const char *rest, const char *reason) {
  struct dtg_arena arena = {0};
  struct dtg_intern names;
  struct dtg_strbuf text = {0}, why = {0};
  struct dtg_graph *graph;
  dtg_intern_init(&names);
  dtg_strbuf_puts(&text, body_start);
  dtg_strbuf_puts(&text, rest);
  dtg_strbuf_puts(&text, "}\n");
  assert_false(dtg_graph_read(&arena, &names, dtg_strbuf_text(&text), text.len, &why, &graph));
  if (!strstr(dtg_strbuf_text(&why), reason))
    fail_msg("expected `%s`, got `%s`", reason, dtg_strbuf_text(&why));
  dtg_strbuf_free(&text);
  dtg_strbuf_free(&why);
  dtg_intern_free(&names);
  dtg_arena_free(&arena);
}

static void test_refused(void **state) {
  (void)state;
  refuse("%2 scan %0, %1 {carries=1, count=3, slices=1} : bool[]\n", "expected the `body`");
  refuse("%2 scan %0 {carries=1, count=0, slices=0} : bool[]\nbody {\n%0 scan_carry {index=0} : "
         "f32[2]\nroot carry \"0\" %0 mean\n}\n",
         "do not fit its operands");
  refuse("%2 scan %0 {carries=2, count=3, slices=0} : bool[]\nbody {\n}\n",
         "do not fit its operands");
  refuse("%2 scan %0 {carries=1, count=3, slices=0} : bool[]\nbody {\n}\n",
         "1 carries, but 0 roots");
  refuse("%2 scan %0 {carries=1, count=3, slices=0} : bool[]\nbody {\n%0 scan_carry {index=0} : "
         "f32[2]\nroot stack \"0\" %0 mean\n}\n",
         "root 0 of the body must be a carry");
  refuse("%2 scan %0 {carries=1, count=3, slices=0} : bool[]\nbody {\n%0 scan_carry {index=0} : "
         "f32[2]\n%1 const {dtype=f32, value=1.0} : f32[]\nroot carry \"0\" %1 mean\n}\n",
         "carry 0 is f32[], not f32[2]");
  refuse("%2 scan %1 {carries=0, count=4, slices=1} : bool[]\nbody {\n%0 scan_slice {index=0} : "
         "f32[2]\nroot stack \"0\" %0 mean\n}\n",
         "`scan_slice` 0 of the body has no such operand");
  refuse("%2 scan %1 {carries=0, count=3, slices=1} : bool[]\nbody {\n%0 scan_slice {index=0} : "
         "f32[2]\n%1 scan_slice {index=0} : f32[2]\nroot stack \"0\" %0 mean\n}\n",
         "`scan_slice` 0 stands twice");
  refuse("%2 scan %1 {carries=0, count=3, slices=1} : bool[]\nbody {\n%0 input {name=\"x\"} : "
         "f32[2]\nroot stack \"0\" %0 mean\n}\n",
         "the body reads `input`");
  refuse("%2 scan %1 {carries=0, count=3, slices=1} : bool[]\nbody {\n%0 scan_slice {index=0} : "
         "f32[2]\nroot stack \"0\" %0 mean\n}\n%3 scan_result %2 {index=1} : f32[3, 2]\n",
         "the scan has no result 1");
  refuse("%2 scan_result %1 {index=0} : f32[3, 2]\n", "a scan_result needs a scan");
}

/* A text with a few bytes changed is refused with a reason, or gives a graph that verifies. */
static void test_mutations(void **state) {
  (void)state;
  struct loop_bench bench;
  struct dtg_strbuf text = {0};
  uint64_t dice = MUTATION_SEED;
  unsigned read = 0;
  printf("seed %d\n", MUTATION_SEED);
  open_lstm(&bench, "4", "");
  dtg_graph_print(bench.module->train, NULL, &text);
  for (int i = 0; i < MUTATIONS; i++) {
    struct dtg_arena arena = {0};
    struct dtg_strbuf why = {0};
    struct dtg_graph *graph;
    char *copy = malloc(text.len); /* exact size: a read past the end shows */
    memcpy(copy, dtg_strbuf_text(&text), text.len);
    for (uint64_t edits = 1 + draw(&dice) % 3; edits > 0; edits--)
      copy[draw(&dice) % text.len] = dtg_strbuf_text(&text)[draw(&dice) % text.len];
    if (!dtg_graph_read(&arena, &bench.text.ctx.names, copy, text.len, &why, &graph))
      assert_true(why.len > 0);
    else if (dtg_graph_verify(graph, DTG_VERIFY_BUILD, &why))
      read++;
    else
      assert_non_null(strstr(dtg_strbuf_text(&why), "twice"));
    dtg_strbuf_free(&why);
    dtg_arena_free(&arena);
    free(copy);
  }
  assert_true(read > 0 && read < MUTATIONS / 2);
  dtg_strbuf_free(&text);
  loop_bench_close(&bench);
}

/* ---- gradients against differences ---- */

struct nudge {
  uint64_t *seed;
  const char *path;
  int64_t element;
  double by;
};

static void nudged_leaf(void *context, const struct dtg_node *leaf, struct dtg_ref_tensor *out) {
  const struct nudge *nudge = context;
  plan_leaf(nudge->seed, leaf, out);
  if (strcmp(dtg_node_string(leaf, "path", ""), nudge->path) == 0)
    out->data[nudge->element] += nudge->by;
}

static double loss_of(struct loop_bench *bench, uint64_t *seed, const char *path, int64_t element,
                      double by) {
  struct nudge nudge = {seed, path, element, by};
  struct dtg_arena arena = {0};
  const struct dtg_graph *graph = bench->module->train;
  uint32_t root = model_text_root(graph, DTG_ROOT_LOSS, "");
  double value = dtg_evaluate(graph, &arena, nudged_leaf, &nudge)[root].data[0];
  dtg_arena_free(&arena);
  return value;
}

static void check_slopes(const char *rule) {
  static const char *const paths[] = {"hs.wx", "hs.wh", "hs.b"};
  struct loop_bench bench;
  uint64_t seed = 7;
  open_lstm(&bench, "4", rule);
  const struct dtg_ref_tensor *values = loop_bench_values(&bench, bench.module->train, &seed);
  for (size_t p = 0; p < 3; p++) {
    const struct dtg_ref_tensor *grad =
        &values[model_text_root(bench.module->train, DTG_ROOT_GRAD, paths[p])];
    for (int64_t i = 0; i < dtg_shape_count(&grad->type.shape); i++) {
      double step = 1e-5;
      double slope =
          (loss_of(&bench, &seed, paths[p], i, step) - loss_of(&bench, &seed, paths[p], i, -step)) /
          (2 * step);
      if (!(fabs(slope - grad->data[i]) <= 1e-6 * (1 + fabs(slope))))
        fail_msg("%s[%lld]: gradient %.12g, differences give %.12g", paths[p], (long long)i,
                 grad->data[i], slope);
    }
  }
  loop_bench_close(&bench);
}

static void test_gradients(void **state) {
  (void)state;
  check_slopes("");
  check_slopes("recompute");
}

/* What the backward pass keeps: with `recompute` only what goes from one iteration to the next. */
static size_t stacks_of(const char *rule) {
  struct loop_bench bench;
  size_t stacks = 0;
  open_lstm(&bench, "4", rule);
  struct dtg_graph *graph = dtg_opt_graph(bench.module->train);
  for (size_t i = 0; i < graph->nodes.len && stacks == 0; i++) {
    const struct dtg_node *node = &graph->nodes.data[i];
    if (node->body)
      stacks = node->body->roots.len - (size_t)dtg_node_int(node, "carries", 0);
  }
  loop_bench_close(&bench);
  return stacks;
}

static void test_recompute(void **state) {
  (void)state;
  assert_true(stacks_of("") > 5);
  assert_int_equal(stacks_of("recompute"), 3); /* hs, and h and c before each iteration */
}

/* ---- attention ---- */

static const char attentive[] =
    "import std.layers { attention }\n"
    "fn plainly(q: f32[N, H, T, D], k, v) {\n"
    "  scores = q @ transpose(k, [0, 1, 3, 2]) / sqrt(D)\n"
    "  return softmax(where(reshape(iota([T]), [T, 1]) >= iota([T]), scores, -1e30)) @ v\n}\n"
    "layer l(x: f32[N, H, T, D]) {\n  param w: f32[D, 3 * D] ~ zeros()\n  y = x @ w\n"
    "  q = y[..., 0:D]\n  k = y[..., D:2 * D]\n  v = y[..., 2 * D:]\n  return ANSWER\n}\n"
    "model m(x: f32[B, 2, 130, 2], y: f32[B, 2, 130, 2]) {\n"
    "  a = l(x)\n  loss = mean(square(a - y))\n}\n"
    "optimizer o() { param = param - grad }\n"
    "data d = table(x = random_normal([8, 2, 130, 2], seed = 1), y = random_normal([8, 2, 130, 2], "
    "seed = 2))\n"
    "train { model = m data = d batch = 1 shards = 1 steps = 1 optimizer = o() }\n";

/* The largest matrix that the graph or a body makes, of those with so many columns. */
static int64_t most_rows(const struct dtg_graph *graph, int64_t columns) {
  int64_t most = 0;
  for (size_t i = 0; i < graph->nodes.len; i++) {
    const struct dtg_node *node = &graph->nodes.data[i];
    const struct dtg_shape *shape = &node->type.shape;
    int64_t inner = node->body ? most_rows(node->body, columns) : 0;
    if (shape->rank >= 2 && shape->dims[shape->rank - 1] == columns &&
        shape->dims[shape->rank - 2] > inner)
      inner = shape->dims[shape->rank - 2];
    most = inner > most ? inner : most;
  }
  return most;
}

/* By tiles of 65 queries: the same values and gradients, and no matrix of all scores. */
static void test_attention(void **state) {
  (void)state;
  static const char *const answers[] = {"attention(q, k, v, causal = true)", "plainly(q, k, v)"};
  struct loop_bench bench[2];
  const struct dtg_ref_tensor *values[2];
  uint64_t seed = 3;
  for (size_t i = 0; i < 2; i++) {
    struct dtg_strbuf text = {0};
    replace(&text, attentive, "ANSWER", answers[i]);
    loop_bench_open(&bench[i], dtg_strbuf_text(&text), "scan");
    values[i] = loop_bench_values(&bench[i], bench[i].module->train, &seed);
    dtg_strbuf_free(&text);
  }
  for (size_t r = 0; r < bench[0].module->train->roots.len; r++) {
    const struct dtg_ref_tensor *tiled = &values[0][bench[0].module->train->roots.data[r].node];
    const struct dtg_ref_tensor *plain = &values[1][bench[1].module->train->roots.data[r].node];
    for (int64_t i = 0; i < dtg_shape_count(&plain->type.shape); i++)
      assert_true(fabs(tiled->data[i] - plain->data[i]) <= 1e-9 * (1 + fabs(plain->data[i])));
  }
  assert_int_equal(most_rows(bench[0].module->train, 130), 65);
  assert_int_equal(most_rows(bench[1].module->train, 130), 130);
  loop_bench_close(&bench[0]);
  loop_bench_close(&bench[1]);
}

/* ---- the verifier of plans ---- */

static struct dtg_plan_step *loop_step(struct dtg_plan *plan) {
  struct dtg_plan_function *train = &plan->functions[DTG_PLAN_TRAIN];
  for (size_t i = 0; i < train->steps.len; i++) {
    if (train->steps.data[i].loop)
      return &train->steps.data[i];
  }
  fail_msg("the plan has no loop");
  return NULL;
}

static void expect_refused(const struct dtg_plan *plan, const char *reason) {
  struct dtg_strbuf why = {0};
  assert_false(dtg_plan_verify(plan, &why));
  if (!strstr(dtg_strbuf_text(&why), reason))
    fail_msg("expected `%s`, got `%s`", reason, dtg_strbuf_text(&why));
  dtg_strbuf_free(&why);
}

static void test_plan_refused(void **state) {
  (void)state;
  struct loop_bench bench;
  open_lstm(&bench, "6", "");
  struct dtg_plan *plan = loop_bench_plan(&bench, true);
  struct dtg_plan_step *step = loop_step(plan);
  struct dtg_plan_function *body = &step->loop->body;
  step->loop->count--;
  expect_refused(plan, "does not run as its scan says");
  step->loop->count++;
  for (size_t s = 0; s < body->steps.len; s++) {
    for (size_t i = 0; i < body->steps.data[s].args.len; i++) {
      struct dtg_location *at = &body->steps.data[s].args.data[i];
      uint32_t node = body->steps.data[s].nodes.data[i];
      if (node == DTG_NO_NODE || !at->moves ||
          body->graph->nodes.data[node].op->class != DTG_CLASS_LEAF)
        continue;
      const struct dtg_move *moves = at->moves;
      at->moves = NULL; /* as if it stayed where it is */
      expect_refused(plan, "where it is not");
      at->moves = moves;
    }
  }
  for (size_t b = 0; b < body->buffers.len; b++) {
    struct dtg_plan_buffer *buffer = &body->buffers.data[b];
    if (buffer->at.moves)
      continue;
    int64_t offset = buffer->at.offset;
    buffer->at.offset = step->loop->arena_offset + body->arena_bytes;
    expect_refused(plan, "outside its");
    buffer->at.offset = offset;
  }
  struct dtg_strbuf why = {0};
  assert_true(dtg_plan_verify(plan, &why));
  loop_bench_close(&bench);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_sizes),     cmocka_unit_test(test_text),
      cmocka_unit_test(test_refused),   cmocka_unit_test(test_mutations),
      cmocka_unit_test(test_gradients), cmocka_unit_test(test_recompute),
      cmocka_unit_test(test_attention), cmocka_unit_test(test_plan_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
