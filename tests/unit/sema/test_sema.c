/* The typed model: defaults, constants, data and strategies as later stages read them. */
#include "tests/unit/build/model_text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#define MODEL                                                                                      \
  "import std.layers { dense }\nimport std.optimizers { sgd }\n"                                   \
  "model m(x: f32[B, 4], y: i32[B]) {\n  loss = mean(dense(x, out = 2)) * mean(cast(y, f32))\n}\n" \
  "data d = table(x = random_normal([96, 4], seed = 5), y = random_int([96], high = 9))\n"

static void check(struct model_text *text, const char *train) {
  char source[4096];
  snprintf(source, sizeof source, MODEL "train {\n  data = d\n  optimizer = sgd(lr = 0.1)\n%s\n}\n",
           train);
  model_text_check(text, source, NULL);
}

/* The largest of 8, 4, 2, 1 that divides the batch. */
static void test_shards(void **state) {
  (void)state;
  static const int cases[][2] = {{256, 8}, {24, 8}, {36, 4}, {6, 2}, {7, 1}, {1, 1}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct model_text text;
    char train[64];
    snprintf(train, sizeof train, "batch = %d  steps = 1", cases[i][0]);
    check(&text, train);
    model_text_expect(&text, NULL);
    assert_int_equal(text.model->train.batch, cases[i][0]);
    assert_int_equal(text.model->train.shards, cases[i][1]);
    model_text_close(&text);
  }
}

static void test_defaults(void **state) {
  (void)state;
  struct model_text text;
  check(&text, "batch = 8  epochs = 2");
  model_text_expect(&text, NULL);
  const struct dtg_train *train = &text.model->train;
  assert_true(train->present);
  assert_int_equal(train->seed, 0);
  assert_int_equal(train->epochs, 2);
  assert_int_equal(train->steps, 0);
  assert_int_equal(train->evaluate.data, DTG_NO_DATASET);
  assert_int_equal(train->evaluate.epochs + train->evaluate.steps, 0);
  assert_int_equal(train->checkpoint.epochs + train->checkpoint.steps, 0);
  assert_null(train->gradient);
  assert_int_equal(text.model->strategies.len, 1);
  assert_string_equal(text.model->strategies.data[0].name, "single");
  assert_int_equal(text.model->strategies.data[0].levels.len, 0);
  assert_int_equal(text.model->strategies.data[0].update.staleness, -1);
  model_text_close(&text);
}

static void test_inputs_and_data(void **state) {
  (void)state;
  struct model_text text;
  check(&text, "batch = 8  epochs = 2  evaluate = every(steps = 3, data = d |> take(9))");
  model_text_expect(&text, NULL);
  const struct dtg_model *model = text.model;
  assert_int_equal(model->inputs.len, 2);
  assert_string_equal(model->inputs.data[0].name, "x");
  assert_int_equal(model->inputs.data[0].type.shape.rank, 1);
  assert_int_equal(model->inputs.data[0].type.shape.dims[0], 4);
  assert_int_equal(model->inputs.data[1].type.dtype, DTG_I32);
  assert_int_equal(model->inputs.data[1].type.shape.rank, 0);
  assert_int_equal(model->datasets.len, 2);
  assert_string_equal(model->datasets.data[model->train.data].name, "d");
  const struct dtg_column *column = &model->datasets.data[0].columns.data[0];
  assert_int_equal(column->kind, DTG_SOURCE_RANDOM_NORMAL);
  assert_int_equal(column->rows, 96);
  assert_int_equal(column->seed, 5);
  assert_true(column->a == 0 && column->b == 1);
  const struct dtg_dataset *taken = &model->datasets.data[model->train.evaluate.data];
  assert_int_equal(taken->transforms.len, 1);
  assert_int_equal(taken->transforms.data[0].kind, DTG_TRANSFORM_TAKE);
  assert_int_equal(taken->transforms.data[0].value, 9);
  assert_int_equal(model->train.evaluate.steps, 3);
  model_text_close(&text);
}

/* An overridden constant changes those that are computed from it. */
static void test_defines(void **state) {
  (void)state;
  struct model_text text;
  static const char *const defines[] = {"n=5",           "rate=2",   "name=a b",
                                        "list=[1, [2]]", "on=false", NULL};
  model_text_check(&text,
                   "const n = 3\nconst twice = 2 * n\nconst rate = 0.5\nconst name = \"x\"\n"
                   "const text = \"${name}-${n}\"\nconst list = []\nconst on = true\n",
                   defines);
  model_text_expect(&text, NULL);
  struct dtg_strbuf out = {0};
  dtg_model_print(text.model, &out);
  assert_string_equal(dtg_strbuf_text(&out), "const n = 5 # from -D\nconst twice = 10\n"
                                             "const rate = 2.0 # from -D\n"
                                             "const name = \"a b\" # from -D\n"
                                             "const text = \"a b-5\"\n"
                                             "const list = [1, [2]] # from -D\n"
                                             "const on = false # from -D\n"
                                             "strategy single { # chosen\n  update sync\n}\n");
  dtg_strbuf_free(&out);
  model_text_close(&text);
}

static void expect_define_error(const char *define, const char *part) {
  struct model_text text;
  const char *const defines[] = {define, NULL};
  model_text_check(&text, "const n = 3\n", defines);
  model_text_expect(&text, part);
  model_text_close(&text);
}

static void test_bad_defines(void **state) {
  (void)state;
  expect_define_error("m=1", "unknown constant");
  expect_define_error("n", "has no value");
  expect_define_error("n=", "");
  expect_define_error("n=3 const k = 4", "is not one value");
  expect_define_error("n=3\nfn f(x) = x", "is not one value");
  expect_define_error("n=[", "");
  expect_define_error("n=9223372036854775808", "");
  expect_define_error("n=k", "unknown name `k`");
}

/* What a name means: the nearest definition wins. */
static void test_shadowing(void **state) {
  (void)state;
  struct model_text text;
  model_text_check(&text,
                   "const relu = 3\nfn softmax(relu) = relu + 1\n"
                   "fn f(x, mean = relu) = mean + x\n"
                   "model m(x: f32[B, relu]) {\n  output y = softmax(x)\n  output z = f(x)\n}\n",
                   NULL);
  model_text_expect(&text, NULL);
  assert_int_equal(text.model->inputs.data[0].type.shape.dims[0], 3);
  model_text_close(&text);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_shards),          cmocka_unit_test(test_defaults),
      cmocka_unit_test(test_inputs_and_data), cmocka_unit_test(test_defines),
      cmocka_unit_test(test_bad_defines),     cmocka_unit_test(test_shadowing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
