/* std.augment: what its layers make of pictures whose elements are all different, by step, shard
 * and example; and that evaluation takes the pictures as they are. */
#include "tests/unit/build/model_text.h"
#include "tests/unit/ops/testing.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

enum { EXAMPLES = 8, PLANES = 2, H = 4, W = 5, PICTURE = PLANES * H * W, BORDER = 2 };

struct run {
  struct model_text text;
  struct bench bench;
  struct dtg_graph *graph;
  double seed, step, shard;
};

/* Element i of the pictures is i + 1: none is 0. */
static void leaf(void *context, const struct dtg_node *node, struct dtg_ref_tensor *out) {
  const struct run *run = context;
  const char *name = dtg_node_string(node, "name", dtg_node_string(node, "path", ""));
  if (strcmp(name, "image") == 0) {
    for (int64_t i = 0; i < EXAMPLES * PICTURE; i++)
      out->data[i] = (double)(i + 1);
    return;
  }
  out->data[0] = strcmp(name, "seed") == 0    ? run->seed
                 : strcmp(name, "step") == 0  ? run->step
                 : strcmp(name, "shard") == 0 ? run->shard
                                              : 0;
}

static void run_open(struct run *run, const char *call, bool training) {
  char source[1024];
  snprintf(source, sizeof source,
           "import std.augment { random_crop, random_flip }\n"
           "import std.optimizers { sgd }\n"
           "model m(image: f32[B, %d, %d, %d]) {\n"
           "  param w: f32[] ~ zeros()\n"
           "  result = %s\n"
           "  loss = mean(result * w)\n"
           "}\n"
           "data d = table(image = npy(\"d.npy\"))\n"
           "train { model = m  data = d  batch = %d  shards = 1  epochs = 1  optimizer = sgd(lr = "
           "0.1) }\n",
           PLANES, H, W, call, EXAMPLES);
  bench_open(&run->bench, 1);
  model_text_build(&run->text, source);
  model_text_expect(&run->text, NULL);
  run->graph = training ? run->text.module->train : run->text.module->eval;
}

static void run_close(struct run *run) {
  model_text_close(&run->text);
  bench_close(&run->bench);
}

static const double *run_at(struct run *run, int seed, int step, int shard) {
  run->seed = seed;
  run->step = step;
  run->shard = shard;
  struct dtg_ref_tensor *values = dtg_evaluate(run->graph, &run->bench.arena, leaf, run);
  for (size_t i = 0; i < run->graph->nodes.len; i++) {
    const char *name = run->graph->nodes.data[i].name;
    if (name && strcmp(name, "result") == 0)
      return values[i].data;
  }
  return NULL; /* the layer gave its operand */
}

static double picture_at(int example, int plane, int row, int column) {
  bool inside = row >= 0 && row < H && column >= 0 && column < W;
  return inside ? example * PICTURE + (plane * H + row) * W + column + 1 : 0;
}

static bool is_moved(const double *result, int example, int rows, int columns) {
  const double *at = result + (ptrdiff_t)example * PICTURE;
  for (int plane = 0; plane < PLANES; plane++)
    for (int row = 0; row < H; row++)
      for (int column = 0; column < W; column++)
        if (*at++ != picture_at(example, plane, row + rows, column + columns))
          return false;
  return true;
}

/* The one move that explains a picture; fails where none does. */
static int move_of(const double *result, int example) {
  for (int rows = -BORDER; rows <= BORDER; rows++)
    for (int columns = -BORDER; columns <= BORDER; columns++)
      if (is_moved(result, example, rows, columns))
        return (rows + BORDER) * (2 * BORDER + 1) + columns + BORDER;
  fail_msg("example %d is no part of its picture with a border", example);
  return -1;
}

static void crops(void **state) {
  (void)state;
  enum { MOVES = (2 * BORDER + 1) * (2 * BORDER + 1), STEPS = 60 };
  int seen[MOVES] = {0}, differing = 0;
  struct run run;
  run_open(&run, "c: random_crop(image, border = 2)", true);
  for (int step = 0; step < STEPS; step++) {
    const double *first = run_at(&run, 1, step, 0);
    int moves[EXAMPLES];
    for (int e = 0; e < EXAMPLES; e++)
      seen[moves[e] = move_of(first, e)]++;
    const double *again = run_at(&run, 1, step, 0), *other = run_at(&run, 1, step, 1);
    for (int e = 0; e < EXAMPLES; e++) {
      assert_int_equal(move_of(again, e), moves[e]);
      differing += move_of(other, e) != moves[e];
    }
  }
  for (int move = 0; move < MOVES; move++)
    if (seen[move] == 0)
      fail_msg("move %d of %d never happened in %d pictures", move, MOVES, STEPS * EXAMPLES);
  assert_true(differing > STEPS * EXAMPLES / 2); /* shards move their pictures otherwise */
  run_close(&run);
}

static bool is_flipped(const double *result, int example, bool flipped) {
  const double *at = result + (ptrdiff_t)example * PICTURE;
  for (int plane = 0; plane < PLANES; plane++)
    for (int row = 0; row < H; row++)
      for (int column = 0; column < W; column++)
        if (*at++ != picture_at(example, plane, row, flipped ? W - 1 - column : column))
          return false;
  return true;
}

static void flips(void **state) {
  (void)state;
  static const struct {
    const char *call;
    double least, most;
  } cases[] = {{"f: random_flip(image)", 0.4, 0.6},
               {"f: random_flip(image, rate = 0.0)", 0, 0},
               {"f: random_flip(image, rate = 1.0)", 1, 1}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    enum { STEPS = 50 };
    struct run run;
    int count = 0;
    run_open(&run, cases[i].call, true);
    for (int step = 0; step < STEPS; step++) {
      const double *result = run_at(&run, 3, step, 2);
      for (int e = 0; e < EXAMPLES; e++) {
        bool flipped = is_flipped(result, e, true);
        assert_true(flipped || is_flipped(result, e, false));
        count += flipped;
      }
    }
    double rate = (double)count / (STEPS * EXAMPLES);
    if (rate < cases[i].least || rate > cases[i].most)
      fail_msg("%s: %g of the pictures", cases[i].call, rate);
    run_close(&run);
  }
}

static void evaluation(void **state) {
  (void)state;
  static const char *const calls[] = {"random_crop(image)", "random_flip(image)"};
  for (size_t i = 0; i < 2; i++) {
    struct run run;
    run_open(&run, calls[i], false);
    for (size_t n = 0; n < run.graph->nodes.len; n++)
      assert_string_not_equal(run.graph->nodes.data[n].op->name, "random");
    const double *result = run_at(&run, 1, 5, 0);
    for (int e = 0; result && e < EXAMPLES; e++)
      assert_true(is_flipped(result, e, false));
    run_close(&run);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(crops), cmocka_unit_test(flips),
                                     cmocka_unit_test(evaluation)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
