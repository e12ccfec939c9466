/* Optimizers, schedules and clipping of the standard library against tests/reference/optimizers:
 * the update graph is evaluated step by step. */
#include "tests/unit/build/model_text.h"
#include "tests/unit/ops/tensor_file.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The values of a run between steps. */
struct run {
  struct bench bench;
  struct tensor_file file;
  struct model_text text;
  struct leaf_table variables; /* by path */
  struct leaf_table gradients; /* by path of the parameter */
  int64_t step, total;
};

static void open_file(struct run *run, const char *name) {
  char path[4096];
  const char *source = getenv("DTG_SOURCE_DIR");
  memset(run, 0, sizeof *run);
  bench_open(&run->bench, 1);
  snprintf(path, sizeof path, "%s/tests/reference/optimizers/%s.safetensors", source ? source : ".",
           name);
  tensor_file_open(&run->file, &run->bench, path);
}

static void close_run(struct run *run) {
  model_text_close(&run->text);
  tensor_file_close(&run->file);
  bench_close(&run->bench);
}

/* Parameters p.<name> of the given shapes, trained with `optimizer`. */
static void build(struct run *run, const char *params, const char *train) {
  struct dtg_strbuf source = {0};
  dtg_strbuf_printf(&source,
                    "import std.optimizers as o\nimport std.schedules as s\n"
                    "layer params(x: f32[N]) {\n%s}\n"
                    "model m(x: f32[B]) {\n  loss = mean(p: params(x))\n}\n"
                    "train {\n  data = table(x = random_normal([8]))\n  batch = 1\n  steps = 10\n"
                    "%s\n}\n",
                    params, train);
  model_text_build(&run->text, dtg_strbuf_text(&source));
  model_text_expect(&run->text, NULL);
  dtg_strbuf_free(&source);
}

static void leaf_of_run(void *context, const struct dtg_node *leaf, struct dtg_ref_tensor *out) {
  struct run *run = context;
  const char *scalar = dtg_node_string(leaf, "name", ""), *path = dtg_node_string(leaf, "path", "");
  size_t size = (size_t)dtg_shape_count(&out->type.shape) * sizeof *out->data;
  if (strcmp(leaf->op->name, "scalar") == 0)
    out->data[0] = (double)(strcmp(scalar, "step") == 0      ? run->step
                            : strcmp(scalar, "updates") == 0 ? run->step + 1
                                                             : run->total);
  else if (strcmp(leaf->op->name, "grad_in") == 0)
    memcpy(out->data, leaf_find(&run->gradients, path)->data, size);
  else
    memcpy(out->data, leaf_find(&run->variables, path)->data, size);
}

static void add_variables(struct run *run) {
  const struct dtg_module *module = run->text.module;
  for (size_t i = 0; i < module->variables.len; i++) {
    const struct dtg_variable *variable = &module->variables.data[i];
    struct dtg_ref_tensor *value =
        leaf_add(&run->variables, &run->bench, variable->path, variable->type);
    for (int64_t j = 0; j < dtg_shape_count(&variable->type.shape); j++)
      value->data[j] = variable->init.a; /* constant(a); zeros() has a = 0 */
    if (variable->kind == DTG_VARIABLE_PARAM)
      leaf_add(&run->gradients, &run->bench, variable->path, variable->type);
  }
}

static void run_step(struct run *run) {
  const struct dtg_graph *graph = run->text.module->update;
  struct dtg_ref_tensor *values = dtg_evaluate(graph, &run->bench.arena, leaf_of_run, run);
  for (size_t i = 0; i < graph->roots.len; i++) {
    const struct dtg_root *root = &graph->roots.data[i];
    struct dtg_ref_tensor *variable = leaf_find(&run->variables, root->name);
    assert_int_equal(root->kind, DTG_ROOT_UPDATE);
    memcpy(variable->data, values[root->node].data,
           (size_t)dtg_shape_count(&variable->type.shape) * sizeof *variable->data);
  }
  run->step++;
}

static void compare(const struct run *run, const char *what, const double *found,
                    const double *stored, int64_t count) {
  for (int64_t i = 0; i < count; i++) {
    double limit = 2e-6 + 1e-5 * fabs(stored[i]);
    if (!(fabs(found[i] - stored[i]) <= limit))
      fail_msg("step %lld: %s[%lld] is %.9g, stored is %.9g", (long long)run->step, what,
               (long long)i, found[i], stored[i]);
  }
}

static const struct dtg_ref_tensor *stored(const struct run *run, const char *format,
                                           const char *name) {
  char key[64];
  snprintf(key, sizeof key, format, name);
  return tensor_file_find(&run->file, key);
}

/* ---- optimizers ---- */

static const struct {
  const char *file, *train, *slots;
} optimizers[] = {
    {"sgd", "optimizer = o.sgd(lr = 0.1)", ""},
    {"sgd_clip", "optimizer = o.sgd(lr = 0.1)\n  gradient = o.clip_by_global_norm(4.0)", ""},
    {"momentum", "optimizer = o.momentum(lr = 0.1, mu = 0.9)", "v"},
    {"nesterov", "optimizer = o.nesterov(lr = 0.1, mu = 0.9)", "v"},
    {"adam", "optimizer = o.adam(lr = 0.05)", "mv"},
    {"adam_clip", "optimizer = o.adam(lr = 0.05)\n  gradient = o.clip_by_global_norm(4.0)", "mv"},
    {"adam_large_eps", "optimizer = o.adam(lr = 0.05, eps = 0.1)", "mv"},
    {"adamw", "optimizer = o.adamw(lr = 0.05, weight_decay = 0.1)", "mv"},
    {"lamb", "optimizer = o.lamb(lr = 0.05, weight_decay = 0.1)", "mv"},
    {"rmsprop", "optimizer = o.rmsprop(lr = 0.01, rho = 0.9)", "s"},
    {"rmsprop_large_eps", "optimizer = o.rmsprop(lr = 0.1, rho = 0.9, eps = 0.1)", "s"},
    {"adagrad", "optimizer = o.adagrad(lr = 0.1)", "s"},
    {"adagrad_start", "optimizer = o.adagrad(lr = 0.1, initial_accumulator = 0.1)", "s"},
};

static void set_step(struct run *run, const char *name) {
  char path[32];
  const struct dtg_ref_tensor *all = stored(run, "grads.%s", name);
  snprintf(path, sizeof path, "p.%s", name);
  struct dtg_ref_tensor *gradient = leaf_find(&run->gradients, path);
  int64_t count = dtg_shape_count(&gradient->type.shape);
  memcpy(gradient->data, all->data + run->step * count, (size_t)count * sizeof *all->data);
}

static void check_step(struct run *run, const char *name, const char *slots) {
  char path[32], format[32];
  snprintf(path, sizeof path, "p.%s", name);
  const struct dtg_ref_tensor *param = leaf_find(&run->variables, path);
  int64_t count = dtg_shape_count(&param->type.shape), first = (run->step - 1) * count;
  compare(run, name, param->data, stored(run, "params.%s", name)->data + first, count);
  for (const char *slot = slots; *slot; slot++) {
    snprintf(path, sizeof path, "p.%s:%c", name, *slot);
    snprintf(format, sizeof format, "slot.%c.%%s", *slot);
    compare(run, path, leaf_find(&run->variables, path)->data,
            stored(run, format, name)->data + first, count);
  }
}

static void test_optimizers(void **state) {
  (void)state;
  static const char *const names[] = {"w", "b"};
  for (size_t i = 0; i < sizeof optimizers / sizeof *optimizers; i++) {
    struct run run;
    open_file(&run, optimizers[i].file);
    build(&run,
          "  param w: f32[5, 3] ~ zeros()\n  param b: f32[3] ~ zeros()\n"
          "  return x * (sum(w) + sum(b))\n",
          optimizers[i].train);
    add_variables(&run);
    for (int j = 0; j < 2; j++) {
      char path[32];
      snprintf(path, sizeof path, "p.%s", names[j]);
      struct dtg_ref_tensor *param = leaf_find(&run.variables, path);
      memcpy(param->data, stored(&run, "init.%s", names[j])->data,
             (size_t)dtg_shape_count(&param->type.shape) * sizeof *param->data);
    }
    while (run.step < 10) {
      set_step(&run, "w");
      set_step(&run, "b");
      run_step(&run);
      check_step(&run, "w", optimizers[i].slots);
      check_step(&run, "b", optimizers[i].slots);
    }
    close_run(&run);
  }
}

static double sign(double x) {
  return x > 0 ? 1 : x < 0 ? -1 : 0;
}

/* The reference has no run of lion: its formula, on the gradients of another one. */
static void test_lion(void **state) {
  (void)state;
  enum { COUNT = 3 };
  struct run run;
  double param[COUNT], moment[COUNT] = {0};
  open_file(&run, "sgd");
  build(&run, "  param b: f32[3] ~ zeros()\n  return x * sum(b)\n",
        "optimizer = o.lion(lr = 0.1, weight_decay = 0.2)");
  add_variables(&run);
  memcpy(param, stored(&run, "init.%s", "b")->data, sizeof param);
  memcpy(leaf_find(&run.variables, "p.b")->data, param, sizeof param);
  while (run.step < 10) {
    const double *gradient = stored(&run, "grads.%s", "b")->data + run.step * COUNT;
    for (int i = 0; i < COUNT; i++) {
      param[i] -= 0.1 * (sign(0.9 * moment[i] + 0.1 * gradient[i]) + 0.2 * param[i]);
      moment[i] = 0.99 * moment[i] + 0.01 * gradient[i];
    }
    set_step(&run, "b");
    run_step(&run);
    compare(&run, "b", leaf_find(&run.variables, "p.b")->data, param, COUNT);
    compare(&run, "b:m", leaf_find(&run.variables, "p.b:m")->data, moment, COUNT);
  }
  close_run(&run);
}

/* ---- clipping ---- */

static void check_clip(const char *file) {
  static const char *const names[] = {"a", "b", "c"};
  struct run run;
  struct dtg_strbuf params = {0};
  open_file(&run, file);
  for (int i = 0; i < 3; i++) {
    const struct dtg_shape *shape = &stored(&run, "grad.%s", names[i])->type.shape;
    dtg_strbuf_printf(&params, "  param %s: f32[", names[i]);
    for (uint32_t j = 0; j < shape->rank; j++)
      dtg_strbuf_printf(&params, "%s%lld", j > 0 ? ", " : "", (long long)shape->dims[j]);
    dtg_strbuf_puts(&params, "] ~ zeros()\n");
  }
  dtg_strbuf_puts(&params, "  return x * (sum(a) + sum(b) + sum(c))\n");
  build(&run, dtg_strbuf_text(&params),
        "optimizer = o.sgd(lr = -1.0)\n  gradient = o.clip_by_global_norm(1.0)");
  dtg_strbuf_free(&params);
  add_variables(&run);
  for (int i = 0; i < 3; i++) {
    const struct dtg_ref_tensor *gradient = stored(&run, "grad.%s", names[i]);
    char path[32];
    snprintf(path, sizeof path, "p.%s", names[i]);
    memcpy(leaf_find(&run.gradients, path)->data, gradient->data,
           (size_t)dtg_shape_count(&gradient->type.shape) * sizeof *gradient->data);
  }
  run_step(&run); /* from zero with lr = -1: the parameter is the clipped gradient */
  for (int i = 0; i < 3; i++) {
    const struct dtg_ref_tensor *clipped = stored(&run, "clipped.%s", names[i]);
    char path[32];
    snprintf(path, sizeof path, "p.%s", names[i]);
    compare(&run, path, leaf_find(&run.variables, path)->data, clipped->data,
            dtg_shape_count(&clipped->type.shape));
  }
  close_run(&run);
}

static void test_clipping(void **state) {
  (void)state;
  check_clip("clip_global_norm_over");
  check_clip("clip_global_norm_under");
}

/* ---- schedules ---- */

static const struct {
  const char *file, *schedule;
  int64_t total;
} schedules[] = {
    {"schedule_cosine_warmup", "s.cosine(0.1, warmup = 5, floor = 0.01)", 40},
    {"schedule_cosine_warmup", "s.cosine(0.1, warmup = 5, total = 40, floor = 0.01)", 7},
    {"schedule_cosine_no_warmup", "s.cosine(1.0)", 30},
    {"schedule_piecewise", "s.piecewise([10, 25], [0.1, 0.01, 0.001])", 0},
    {"schedule_step_decay", "s.step_decay(0.1, every = 10, factor = 0.5)", 0},
};

/* With gradient -1 and a parameter of 0, one step of sgd gives the rate. */
static double rate_at(struct run *run, int64_t step) {
  leaf_find(&run->variables, "p.w")->data[0] = 0;
  leaf_find(&run->gradients, "p.w")->data[0] = -1;
  run->step = step;
  run_step(run);
  return leaf_find(&run->variables, "p.w")->data[0];
}

static void test_schedules(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof schedules / sizeof *schedules; i++) {
    struct run run;
    char train[256];
    open_file(&run, schedules[i].file);
    snprintf(train, sizeof train, "optimizer = o.sgd(lr = %s)", schedules[i].schedule);
    build(&run, "  param w: f32[] ~ zeros()\n  return x * w\n", train);
    add_variables(&run);
    run.total = schedules[i].total;
    const struct dtg_ref_tensor *steps = stored(&run, "%s", "step");
    const struct dtg_ref_tensor *values = stored(&run, "%s", "value");
    for (int64_t j = 0; j < steps->type.shape.dims[0]; j++) {
      double rate = rate_at(&run, (int64_t)steps->data[j]);
      compare(&run, schedules[i].schedule, &rate, &values->data[j], 1);
    }
    close_run(&run);
  }
}

static void test_warmup(void **state) {
  (void)state;
  struct run run;
  open_file(&run, "sgd");
  build(&run, "  param w: f32[] ~ zeros()\n  return x * w\n",
        "optimizer = o.sgd(lr = s.warmup(0.5, steps = 4))");
  add_variables(&run);
  const double expected[] = {0.125, 0.25, 0.375, 0.5, 0.5, 0.5};
  for (int64_t step = 0; step < 6; step++)
    assert_true(rate_at(&run, step) == expected[step]);
  close_run(&run);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_optimizers), cmocka_unit_test(test_lion),
      cmocka_unit_test(test_clipping),   cmocka_unit_test(test_schedules),
      cmocka_unit_test(test_warmup),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
