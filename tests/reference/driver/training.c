/* The runs of training/: 20 steps by a shipped optimizer, from spec.json and a model file.
 *
 * One program trains and writes a checkpoint after each step. A second one puts the gradient in the
 * place of the parameter: it starts from the checkpoint before a step and reads the batch of that
 * step. Learning rates are those of a third program, for all runs together. */
#include "compare.h"
#include "probe.h"
#include "run.h"
#include "schedules.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { STEPS = 20 };

/* A model without a file in models/ waits until dtgc knows a name. */
struct training_row {
  const char *model, *waits;
  const char *renamed; /* "scale=g offset=b": how layers call what the reference calls otherwise */
};

static const struct training_row rows[] = {
    {"linreg", NULL, NULL},
    {"softmax_regression", NULL, NULL},
    {"mlp", NULL, NULL},
    {"lenet", NULL, NULL},
    {"resnet_tiny", NULL, "scale=g offset=b"},
    {"lstm_lm", NULL, NULL},
    {"gpt_tiny", NULL, "scale=g offset=b"},
    {"wide_deep", NULL, NULL},
    {"vae_tiny", NULL, NULL},
};

struct training {
  struct ref_driver *driver;
  const struct training_row *row;
  const json_t *spec;
  const char *folder; /* of the work folder */
  const char *name;   /* "training/mlp" */
  const json_t *file; /* of expected.safetensors */
  int shards;
  struct ref_tensors stored, data;
  const char *train, *capture; /* programs */
  const struct ref_tensor *rates;
};

/* ---- names ---- */

/* The path that a parameter of the reference has in the model: another last component. */
static const char *path_of(const struct training *t, const char *name) {
  const char *last = strrchr(name, '.');
  size_t length = last ? strlen(last + 1) : 0;
  for (const char *pair = t->row->renamed; last && pair && *pair;) {
    size_t size = strcspn(pair, " ");
    if (strncmp(pair, last + 1, length) == 0 && pair[length] == '=')
      return ref_format(t->driver, "%.*s%.*s", (int)(last + 1 - name), name,
                        (int)(size - length - 1), pair + length + 1);
    pair += size + strspn(pair + size, " ");
  }
  return name;
}

/* "x.noise" -> "x_noise" */
static const char *column_of(struct ref_driver *driver, const char *name) {
  char *text = dtg_arena_strdup(&driver->arena, name);
  for (char *c = text; *c; c++)
    *c = *c == '.' ? '_' : *c;
  return text;
}

static const char *work_file(const struct training *t, const char *name) {
  return ref_work_path(t->driver, t->folder, name);
}

/* ---- the text ---- */

static bool put_file(struct dtg_strbuf *out, const char *path) {
  char bytes[4096];
  FILE *file = fopen(path, "r");
  for (size_t count; file && (count = fread(bytes, 1, sizeof bytes, file)) > 0;)
    dtg_strbuf_write(out, bytes, count);
  if (file)
    fclose(file);
  return file;
}

static void put_data(const struct training *t, struct dtg_strbuf *out, const char *name,
                     const char *file) {
  dtg_strbuf_printf(out, "\ndata %s = table(", name);
  for (size_t i = 0; i < t->data.count; i++) {
    const char *column = column_of(t->driver, t->data.items[i].type.name);
    dtg_strbuf_printf(out, "%s%s = safetensors(\"%s\", \"%s\")", i > 0 ? ", " : "", column, file,
                      column);
  }
  dtg_strbuf_puts(out, ")\n");
}

static void put_training(const struct training *t, struct dtg_strbuf *out, int steps,
                         const char *optimizer) {
  dtg_strbuf_printf(
      out,
      "\ntrain {\n  data      = batches\n  batch     = %d\n  shards    = %d\n  steps     = %d\n",
      (int)json_integer_value(json_object_get(t->spec, "batch")), t->shards, steps);
  dtg_strbuf_printf(out, "  optimizer = %s\n", optimizer);
}

static void put_optimizer(const struct training *t, struct dtg_strbuf *out) {
  const json_t *optimizer = json_object_get(t->spec, "optimizer");
  const char *key;
  json_t *value;
  dtg_strbuf_printf(out, "%s(lr = ", ref_text(optimizer, "kind"));
  ref_schedule_put(out, json_object_get(t->spec, "schedule"), true);
  json_object_foreach((json_t *)(uintptr_t)optimizer, key, value) {
    if (strcmp(key, "kind") == 0)
      continue;
    dtg_strbuf_printf(out, ", %s = ", key);
    ref_put_value(out, value);
  }
  dtg_strbuf_putc(out, ')');
}

static bool put_train_program(const struct training *t, struct dtg_strbuf *out, const char *model) {
  const json_t *clip = json_object_get(t->spec, "clip_global_norm");
  struct ref_schedules schedule = {.descriptions = {json_object_get(t->spec, "schedule")},
                                   .count = 1};
  struct dtg_strbuf optimizer = {0};
  dtg_strbuf_printf(out, "import std.optimizers { %s%s }\n",
                    ref_text(json_object_get(t->spec, "optimizer"), "kind"),
                    json_is_number(clip) ? ", clip_by_global_norm" : "");
  ref_schedule_imports(out, &schedule);
  bool good = put_file(out, model);
  put_data(t, out, "batches", "batches.safetensors");
  put_data(t, out, "first", "first.safetensors");
  put_optimizer(t, &optimizer);
  put_training(t, out, STEPS, dtg_strbuf_text(&optimizer));
  if (json_is_number(clip))
    dtg_strbuf_printf(out, "  gradient  = clip_by_global_norm(%.17g)\n", json_number_value(clip));
  dtg_strbuf_printf(out,
                    "  evaluate  = every(steps = %d, data = first)\n"
                    "  checkpoint = every(steps = 1, keep = %d)\n}\n",
                    STEPS, STEPS);
  dtg_strbuf_free(&optimizer);
  return good;
}

static bool put_capture_program(const struct training *t, struct dtg_strbuf *out,
                                const char *model) {
  bool good = put_file(out, model);
  dtg_strbuf_puts(out, "\noptimizer capture() {\n  param = grad\n}\n");
  put_data(t, out, "batches", "batches.safetensors");
  put_training(t, out, 1, "capture()");
  dtg_strbuf_puts(out, "}\n");
  return good;
}

/* ---- programs ---- */

static bool compile(const struct training *t, const char *name,
                    bool (*put)(const struct training *, struct dtg_strbuf *, const char *),
                    const char **program, const char **why) {
  struct ref_driver *driver = t->driver;
  const char *model =
      ref_format(driver, "%s/driver/models/%s.dtg", driver->reference, t->row->model);
  /* In folders of their own: data beside the model would go before that of --data-dir. */
  const char *folder = ref_format(driver, "%s/%s", t->folder, name);
  const char *path = ref_work_path(driver, folder, ref_format(driver, "%s.dtg", name));
  struct dtg_strbuf text = {0};
  *why = ref_format(driver, "cannot read %s", model);
  bool good = put(t, &text, model);
  ref_write_file(path, &text);
  dtg_strbuf_free(&text);
  return good && !driver->dry_run &&
         ref_compile(driver, path, ref_work_path(driver, folder, "out"), NULL, program, why);
}

/* Batch `step` (from 0) as a file of its own, or all of them one after the other. */
static void write_batches(const struct training *t, int step, const char *path) {
  struct ref_tensors out = {0};
  for (size_t i = 0; i < t->data.count; i++) {
    const struct ref_tensor *tensor = &t->data.items[i];
    struct ref_tensor rows_of = step < 0 ? ref_tensor_join(tensor) : ref_tensor_row(tensor, step);
    ref_tensors_add(t->driver, &out, column_of(t->driver, tensor->type.name), &rows_of);
  }
  ref_tensors_write(t->driver, &out, path);
}

/* What the run had after so many steps. */
static const char *state_file(const struct training *t, int steps) {
  return steps == 0 ? work_file(t, "init.safetensors")
                    : ref_checkpoint(t->driver, work_file(t, "checkpoints"), steps);
}

static const char *batch_folder(const struct training *t, int step) {
  return ref_format(t->driver, "%s/batch_%d", t->folder, step);
}

static void write_inputs(const struct training *t) {
  struct ref_tensors init = ref_tensors_stored(
      t->driver, ref_format(t->driver, "training/%s/init.safetensors", t->row->model));
  for (size_t i = 0; i < init.count; i++)
    init.items[i].type.name = path_of(t, init.items[i].type.name);
  ref_tensors_write(t->driver, &init, state_file(t, 0));
  write_batches(t, -1, work_file(t, "batches.safetensors"));
  write_batches(t, 0, work_file(t, "first.safetensors"));
  for (int step = 0; step < STEPS; step++)
    write_batches(t, step, ref_work_path(t->driver, batch_folder(t, step), "batches.safetensors"));
}

/* ---- comparisons ---- */

static void compare(const struct training *t, struct ref_verdict *verdict, const char *name,
                    const struct ref_tensor *value) {
  ref_compare(verdict, name, value, ref_tensors_find(&t->stored, name),
              ref_tolerance_of(t->file, name));
}

static bool is_noise(const struct training *t, const char *name) {
  const json_t *tensor = json_object_get(json_object_get(t->file, "tensors"), name);
  return json_is_true(json_object_get(tensor, "noise"));
}

/* Every stored tensor whose name starts with the prefix. */
static void compare_prefix(const struct training *t, struct ref_verdict *verdict,
                           const char *prefix, const struct ref_tensors *saved) {
  size_t length = strlen(prefix);
  for (size_t i = 0; i < t->stored.count; i++) {
    const char *name = t->stored.items[i].type.name;
    if (strncmp(name, prefix, length) == 0 && !is_noise(t, name))
      compare(t, verdict, name, ref_tensors_find(saved, path_of(t, name + length)));
  }
}

static struct ref_tensor series(struct ref_driver *driver) {
  return (struct ref_tensor){
      .type = {.element = DTR_ELEMENT_F32, .rank = 1, .dims = {STEPS}, .elements = STEPS},
      .values = DTG_NEW_ARRAY(&driver->arena, double, STEPS)};
}

/* Losses of the steps, and that of the evaluation. */
static void compare_log(const struct training *t, struct ref_verdict *verdict, const char *path) {
  struct ref_tensor losses = series(t->driver), evaluation = series(t->driver);
  char line[4096];
  int count = 0, evals = 0;
  FILE *file = fopen(path, "r");
  while (file && fgets(line, sizeof line, file)) {
    json_t *record = json_loads(line, 0, NULL);
    double loss = json_number_value(json_object_get(record, "loss"));
    if (json_object_get(record, "evaluation"))
      evaluation.values[0] = evals++ == 0 ? loss : NAN;
    else if (count++ < STEPS)
      losses.values[count - 1] = loss;
    json_decref(record);
  }
  if (file)
    fclose(file);
  evaluation.type.rank = 0;
  if (count != STEPS || evals != 1)
    ref_fail(verdict, "the log has %d steps and %d evaluations, not %d and 1", count, evals, STEPS);
  compare(t, verdict, "loss", &losses);
  compare(t, verdict, "eval_loss", &evaluation);
}

/* ---- the runs ---- */

static void compare_state(const struct training *t, struct ref_verdict *verdict, const char *path,
                          int steps) {
  struct ref_tensors saved;
  const char *why;
  if (ref_tensors_read(t->driver, path, &saved, &why))
    compare_prefix(t, verdict, ref_format(t->driver, "step%d.", steps), &saved);
  else
    ref_fail(verdict, "%s", why);
}

static bool train(const struct training *t, struct ref_verdict *verdict) {
  struct ref_job job = {.program = t->train,
                        .init = state_file(t, 0),
                        .data_dir = work_file(t, "."),
                        .log = work_file(t, "log.jsonl"),
                        .save = work_file(t, "save.safetensors"),
                        .checkpoints = work_file(t, "checkpoints"),
                        .steps = STEPS};
  const char *why;
  if (!ref_train(t->driver, &job, &why)) {
    ref_fail(verdict, "%s", why);
    return false;
  }
  for (int steps = 1; steps < STEPS; steps++)
    compare_state(t, verdict, state_file(t, steps), steps);
  compare_state(t, verdict, job.save, STEPS);
  compare_log(t, verdict, job.log);
  return true;
}

/* Over the parameters: states lie in the same file. */
static double norm_of(const struct training *t, const struct ref_tensors *gradients) {
  double sum = 0;
  const char *name;
  json_t *shape;
  json_object_foreach(json_object_get(t->spec, "parameters"), name, shape) {
    const struct ref_tensor *gradient = ref_tensors_find(gradients, path_of(t, name));
    for (int64_t k = 0; gradient && k < gradient->type.elements; k++)
      sum += gradient->values[k] * gradient->values[k];
  }
  return sqrt(sum);
}

/* Gradients of one step (from 0): that of the first is stored, of the others the norm. */
static bool check_gradient(const struct training *t, struct ref_verdict *verdict, int step) {
  struct ref_driver *driver = t->driver;
  struct ref_job job = {.program = t->capture,
                        .init = state_file(t, step),
                        .data_dir = ref_work_path(driver, batch_folder(t, step), "."),
                        .save =
                            ref_work_path(driver, batch_folder(t, step), "gradient.safetensors"),
                        .steps = 1};
  struct ref_tensors gradients;
  const char *why;
  if (!ref_train(driver, &job, &why) || !ref_tensors_read(driver, job.save, &gradients, &why)) {
    ref_fail(verdict, "gradient of step %d: %s", step + 1, why);
    return false;
  }
  if (step == 0)
    compare_prefix(t, verdict, "grad1.", &gradients);
  double norm = norm_of(t, &gradients);
  struct ref_tensor value = {.type = {.element = DTR_ELEMENT_F32, .elements = 1}, .values = &norm};
  struct ref_tensor stored = ref_tensor_row(ref_tensors_find(&t->stored, "grad_norm"), step);
  ref_compare(verdict, ref_format(driver, "grad_norm of step %d", step + 1), &value, &stored,
              ref_tolerance_of(t->file, "grad_norm"));
  return true;
}

/* What the trained model gives for the first batch, by --predict from what the run has saved. */
static void check_prediction(const struct training *t, struct ref_verdict *verdict) {
  struct ref_job job = {.program = t->train,
                        .init = work_file(t, "save.safetensors"),
                        .data_dir = work_file(t, "."),
                        .save = work_file(t, "predicted.safetensors")};
  struct ref_tensors predicted;
  const char *why;
  if (ref_predict(t->driver, &job, "first", &why) &&
      ref_tensors_read(t->driver, job.save, &predicted, &why))
    compare(t, verdict, "eval_out", ref_tensors_find(&predicted, "eval_out"));
  else
    ref_fail(verdict, "%s", why);
}

/* Each step is a run of its own, so not all of them: what the others do shows in the losses and in
 * the parameters after them. */
static void check_gradients(const struct training *t, struct ref_verdict *verdict) {
  static const int steps[] = {1, 2, 3, 6, 10, 15, STEPS};
  bool good = true;
  for (size_t i = 0; good && i < sizeof steps / sizeof *steps; i++)
    good = check_gradient(t, verdict, steps[i] - 1);
}

static void check(struct training *t) {
  struct ref_verdict verdict = ref_begin(t->driver, t->name);
  const char *why;
  write_inputs(t);
  bool good = compile(t, "train", put_train_program, &t->train, &why);
  good = compile(t, "capture", put_capture_program, &t->capture, &why) && good;
  if (t->driver->dry_run)
    return;
  if (!good)
    ref_fail(&verdict, "%s", why);
  if (good && train(t, &verdict)) {
    check_prediction(t, &verdict);
    check_gradients(t, &verdict);
  }
  if (t->rates)
    compare(t, &verdict, "lr", t->rates);
  ref_end(&verdict);
}

/* ---- all ---- */

enum { ROWS = sizeof rows / sizeof *rows };

/* The rates of all runs, from one program: slot "t:atI" of `rates` is row I's. */
static void take_rates(struct ref_driver *driver, json_t *const *specs, struct ref_tensors *rates) {
  struct ref_schedules schedules = {.count = ROWS, .steps = STEPS, .with_total = true};
  const char *why;
  for (size_t i = 0; i < ROWS; i++)
    schedules.descriptions[i] = json_object_get(specs[i], "schedule");
  if (ref_schedule_run(driver, "training/rates", &schedules, rates, &why) || driver->dry_run)
    return;
  struct ref_verdict verdict = ref_begin(driver, "training/rates");
  ref_fail(&verdict, "%s", why);
  ref_end(&verdict);
}

static void check_expected(struct ref_driver *driver, const struct training_row *row,
                           const json_t *spec, const struct ref_tensor *rates, const char *expected,
                           const char *suffix) {
  const char *path = ref_format(driver, "training/%s/%s", row->model, expected);
  const char *name = ref_format(driver, "training/%s%s", row->model, suffix);
  const json_t *file = ref_index_find(driver, path), *shards = json_object_get(file, "shards");
  if (!file || !ref_selected(driver, name))
    return;
  struct training t = {.driver = driver,
                       .row = row,
                       .spec = spec,
                       .folder = name,
                       .name = name,
                       .file = file,
                       .shards = shards ? (int)json_integer_value(shards) : 1,
                       .stored = ref_tensors_stored(driver, path),
                       .data = ref_tensors_stored(
                           driver, ref_format(driver, "training/%s/data.safetensors", row->model)),
                       .rates = rates};
  check(&t);
}

/* Whether the run can be made; if not, it is counted here. */
static bool is_covered(struct ref_driver *driver, const struct training_row *row) {
  if (!row->waits || driver->dry_run)
    return !row->waits;
  const char *name = ref_format(driver, "training/%s", row->model);
  if (!ref_knows(driver, row->waits)) {
    ref_not_covered(driver, "training", name, "waits for ops");
    return false;
  }
  struct ref_verdict verdict = ref_begin(driver, name);
  ref_fail(&verdict, "dtgc knows `%s` now: write driver/models/%s.dtg", row->waits, row->model);
  ref_end(&verdict);
  return false;
}

void ref_check_training(struct ref_driver *driver) {
  json_t *specs[ROWS];
  struct ref_tensors rates = {0};
  for (size_t i = 0; i < ROWS; i++)
    specs[i] = json_load_file(
        ref_format(driver, "%s/training/%s/spec.json", driver->reference, rows[i].model), 0, NULL);
  bool any = false;
  for (size_t i = 0; i < ROWS; i++)
    any |= ref_selected(driver, ref_format(driver, "training/%s_sharded", rows[i].model));
  if (any)
    take_rates(driver, specs, &rates);
  for (size_t i = 0; i < ROWS; i++) {
    const char *name = ref_format(driver, "training/%s", rows[i].model);
    const struct ref_tensor *lr = ref_tensors_find(&rates, ref_format(driver, "t:at%zu", i));
    if (ref_selected(driver, ref_format(driver, "%s_sharded", name)) &&
        is_covered(driver, &rows[i])) {
      check_expected(driver, &rows[i], specs[i], lr, "expected.safetensors", "");
      check_expected(driver, &rows[i], specs[i], lr, "expected_sharded.safetensors", "_sharded");
    }
    json_decref(specs[i]);
  }
}
