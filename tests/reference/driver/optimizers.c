/* The cases of optimizers/: runs of 10 steps and clipping.
 *
 * The loss is the sum of every parameter times a column of the data, so that the gradient of a step
 * is the example of that step. The norm of all gradients is seen by a second program, whose
 * `gradient` puts it in the place of every gradient. */
#include "compare.h"
#include "probe.h"
#include "run.h"

#include <string.h>

enum { STEPS = 10 };

struct parameter {
  const char *name, *type, *column;
};

static const struct parameter run_parameters[] = {
    {"w", "f32[5, 3]", "f32[B, 5, 3]"}, {"b", "f32[3]", "f32[B, 3]"}, {NULL, NULL, NULL}};
static const struct parameter clip_parameters[] = {{"a", "f32[4, 5]", "f32[B, 4, 5]"},
                                                   {"b", "f32[5]", "f32[B, 5]"},
                                                   {"c", "f32[2, 1, 3]", "f32[B, 2, 1, 3]"},
                                                   {NULL, NULL, NULL}};

/* ---- the text ---- */

static void put_model(struct dtg_strbuf *out, const struct parameter *parameters) {
  dtg_strbuf_puts(out, "\nmodel given(");
  for (const struct parameter *p = parameters; p->name; p++)
    dtg_strbuf_printf(out, "%sgrad_%s: %s", p == parameters ? "" : ", ", p->name, p->column);
  dtg_strbuf_puts(out, ") {\n");
  for (const struct parameter *p = parameters; p->name; p++)
    dtg_strbuf_printf(out, "  param %s: %s ~ zeros()\n", p->name, p->type);
  dtg_strbuf_puts(out, "  loss = ");
  for (const struct parameter *p = parameters; p->name; p++)
    dtg_strbuf_printf(out, "%ssum(%s * grad_%s)", p == parameters ? "" : " + ", p->name, p->name);
  dtg_strbuf_puts(out, "\n}\n\ndata gradients = table(");
  for (const struct parameter *p = parameters; p->name; p++)
    dtg_strbuf_printf(out, "%sgrad_%s = safetensors(\"gradients.safetensors\", \"%s\")",
                      p == parameters ? "" : ",\n                       ", p->name, p->name);
  dtg_strbuf_puts(out, ")\n");
}

static void put_training(struct dtg_strbuf *out, const char *optimizer, const char *gradient,
                         int steps) {
  dtg_strbuf_printf(out, "\ntrain {\n  data      = gradients\n  batch     = 1\n  steps     = %d\n",
                    steps);
  if (gradient)
    dtg_strbuf_printf(out, "  gradient  = %s\n", gradient);
  dtg_strbuf_printf(out, "  optimizer = %s\n  checkpoint = every(steps = 1, keep = %d)\n}\n",
                    optimizer, steps);
}

static const char capture[] = "\noptimizer capture() {\n  param = grad\n}\n";
static const char norm_of[] = "\nfn norm_of(g) = 0 * g + global_norm(g)\n";

/* Slots n0, n1, ...: what stood in the place of the gradient at each step. */
static void put_history(struct dtg_strbuf *out) {
  dtg_strbuf_puts(out, "\noptimizer history() {\n");
  for (int i = 0; i < STEPS; i++)
    dtg_strbuf_printf(out, "  state n%d ~ zeros()\n", i);
  for (int i = 0; i < STEPS; i++)
    dtg_strbuf_printf(out, "  n%d = where(step == %d, grad, n%d)\n", i, i, i);
  dtg_strbuf_puts(out, "  param = grad\n}\n");
}

static void put_call(struct dtg_strbuf *out, const char *optimizer, const json_t *hyper) {
  const char *key, *before = "";
  json_t *value;
  dtg_strbuf_printf(out, "%s(", optimizer);
  json_object_foreach((json_t *)(uintptr_t)hyper, key, value) {
    if (strcmp(key, "clip_global_norm") == 0)
      continue;
    dtg_strbuf_printf(out, "%s%s = ", before, key);
    ref_put_value(out, value);
    before = ", ";
  }
  dtg_strbuf_putc(out, ')');
}

/* ---- programs ---- */

/* Compiles the text as work/optimizers/NAME.dtg. */
static bool compile(struct ref_driver *driver, const char *name, const struct dtg_strbuf *text,
                    const char **program, const char **why) {
  const char *model = ref_work_path(driver, "optimizers", ref_format(driver, "%s.dtg", name));
  ref_write_file(model, text);
  *why = NULL;
  return !driver->dry_run &&
         ref_compile(driver, model,
                     ref_work_path(driver, "optimizers", ref_format(driver, "%s.out", name)), NULL,
                     program, why);
}

static bool compile_run(struct ref_driver *driver, const char *name, const json_t *file,
                        const char **program, const char **why) {
  const char *optimizer = ref_text(file, "optimizer"), *gradient = NULL;
  const json_t *hyper = json_object_get(file, "hyper");
  const json_t *clip = json_object_get(hyper, "clip_global_norm");
  struct dtg_strbuf text = {0}, call = {0};
  dtg_strbuf_printf(&text, "import std.optimizers { %s%s }\n", optimizer,
                    clip ? ", clip_by_global_norm" : "");
  put_call(&call, optimizer, hyper);
  put_model(&text, run_parameters);
  if (clip)
    gradient = ref_format(driver, "clip_by_global_norm(%.17g)", json_number_value(clip));
  put_training(&text, dtg_strbuf_text(&call), gradient, STEPS);
  bool good = compile(driver, name, &text, program, why);
  dtg_strbuf_free(&call);
  dtg_strbuf_free(&text);
  return good;
}

static bool compile_norms(struct ref_driver *driver, const char **program, const char **why) {
  struct dtg_strbuf text = {0};
  dtg_strbuf_puts(&text, norm_of);
  put_history(&text);
  put_model(&text, run_parameters);
  put_training(&text, "history()", "norm_of", STEPS);
  bool good = compile(driver, "norms", &text, program, why);
  dtg_strbuf_free(&text);
  return good;
}

static bool compile_clip(struct ref_driver *driver, const char *name, const char *gradient,
                         const char **program, const char **why) {
  struct dtg_strbuf text = {0};
  dtg_strbuf_puts(&text, "import std.optimizers { clip_by_global_norm }\n");
  dtg_strbuf_puts(&text, norm_of);
  dtg_strbuf_puts(&text, capture);
  put_model(&text, clip_parameters);
  put_training(&text, "capture()", gradient, 1);
  bool good = compile(driver, name, &text, program, why);
  dtg_strbuf_free(&text);
  return good;
}

/* ---- runs of ten steps ---- */

static const char *file_of(struct ref_driver *driver, const char *name, const char *file) {
  return ref_work_path(driver, ref_format(driver, "optimizers/%s", name), file);
}

static void write_inputs(struct ref_driver *driver, const char *name,
                         const struct ref_tensors *stored) {
  struct ref_tensors init = {0}, gradients = {0};
  for (const struct parameter *p = run_parameters; p->name; p++) {
    ref_tensors_add(driver, &init, p->name,
                    ref_tensors_find(stored, ref_format(driver, "init.%s", p->name)));
    ref_tensors_add(driver, &gradients, p->name,
                    ref_tensors_find(stored, ref_format(driver, "grads.%s", p->name)));
  }
  ref_tensors_write(driver, &init, file_of(driver, name, "init.safetensors"));
  ref_tensors_write(driver, &gradients, file_of(driver, name, "gradients.safetensors"));
}

static bool run(struct ref_driver *driver, const char *name, const char *program, int steps,
                struct ref_tensors *saved, const char **why) {
  struct ref_job job = {.program = program,
                        .init = file_of(driver, name, "init.safetensors"),
                        .data_dir = ref_work_path(driver, "optimizers", name),
                        .save = file_of(driver, name, "save.safetensors"),
                        .checkpoints = ref_work_path(driver, "optimizers", name),
                        .steps = steps};
  return ref_train(driver, &job, why) && ref_tensors_read(driver, job.save, saved, why);
}

/* "params.w" -> "w", "slot.v.w" -> "w:v"; NULL for what a run does not save. */
static const char *saved_name(struct ref_driver *driver, const char *stored) {
  if (strncmp(stored, "params.", 7) == 0)
    return stored + 7;
  if (strncmp(stored, "slot.", 5) != 0)
    return NULL;
  const char *slot = stored + 5, *dot = strchr(slot, '.');
  return ref_format(driver, "%s:%.*s", dot + 1, (int)(dot - slot), slot);
}

static void compare_step(struct ref_verdict *verdict, const json_t *file, int step,
                         const struct ref_tensors *saved, const struct ref_tensors *stored) {
  struct ref_driver *driver = verdict->driver;
  for (size_t i = 0; i < stored->count; i++) {
    const char *name = stored->items[i].type.name, *path = saved_name(driver, name);
    if (!path)
      continue;
    struct ref_tensor row = ref_tensor_row(&stored->items[i], step - 1);
    ref_compare(verdict, ref_format(driver, "%s after step %d", name, step),
                ref_tensors_find(saved, path), &row, ref_tolerance_of(file, name));
  }
}

/* After the last step from what --save wrote, before that from checkpoints. */
static void check_steps(struct ref_verdict *verdict, const json_t *file, const char *program,
                        const struct ref_tensors *stored) {
  struct ref_driver *driver = verdict->driver;
  const char *folder = ref_work_path(driver, "optimizers", verdict->name), *why;
  struct ref_tensors last;
  if (!run(driver, verdict->name, program, STEPS, &last, &why)) {
    ref_fail(verdict, "%s", why);
    return;
  }
  for (int step = 1; step < STEPS; step++) {
    struct ref_tensors saved;
    if (ref_tensors_read(driver, ref_checkpoint(driver, folder, step), &saved, &why))
      compare_step(verdict, file, step, &saved, stored);
    else
      ref_fail(verdict, "%s", why);
  }
  compare_step(verdict, file, STEPS, &last, stored);
}

/* The first element of the slot: each holds the norm. */
static void check_norms(struct ref_verdict *verdict, const json_t *file, const char *program,
                        const struct ref_tensors *stored) {
  struct ref_driver *driver = verdict->driver;
  const struct ref_tensor *norms = ref_tensors_find(stored, "grad_norm");
  struct ref_tensors saved;
  const char *why;
  if (!run(driver, verdict->name, program, STEPS, &saved, &why)) {
    ref_fail(verdict, "norms: %s", why);
    return;
  }
  for (int step = 0; step < STEPS; step++) {
    const struct ref_tensor *slot = ref_tensors_find(&saved, ref_format(driver, "b:n%d", step));
    struct ref_tensor want = ref_tensor_row(norms, step), have = {0};
    if (slot)
      have = ref_tensor_row(slot, 0);
    ref_compare(verdict, ref_format(driver, "grad_norm at step %d", step + 1), slot ? &have : NULL,
                &want, ref_tolerance_of(file, "grad_norm"));
  }
}

static void check_run(struct ref_driver *driver, const char *name, const json_t *file,
                      const char *norms) {
  struct ref_verdict verdict = ref_begin(driver, name);
  struct ref_tensors stored = ref_tensors_stored(driver, ref_text(file, "path"));
  const char *program, *why;
  bool compiled = compile_run(driver, name, file, &program, &why);
  if (driver->dry_run)
    return;
  write_inputs(driver, name, &stored);
  if (compiled)
    check_steps(&verdict, file, program, &stored);
  else
    ref_fail(&verdict, "%s", why);
  if (norms)
    check_norms(&verdict, file, norms, &stored);
  ref_end(&verdict);
}

/* ---- clipping ---- */

static void write_clip(struct ref_driver *driver, const char *name,
                       const struct ref_tensors *stored) {
  struct ref_tensors init = {0}, gradients = {0};
  for (const struct parameter *p = clip_parameters; p->name; p++) {
    const struct ref_tensor *gradient =
        ref_tensors_find(stored, ref_format(driver, "grad.%s", p->name));
    struct ref_tensor example = ref_tensor_example(gradient);
    ref_tensors_add(driver, &init, p->name, gradient); /* any values do */
    ref_tensors_add(driver, &gradients, p->name, &example);
  }
  ref_tensors_write(driver, &init, file_of(driver, name, "init.safetensors"));
  ref_tensors_write(driver, &gradients, file_of(driver, name, "gradients.safetensors"));
}

/* The programs of a limit. */
struct clip_programs {
  double limit;
  const char *clip, *norm; /* NULL: not compiled, and `why` says so */
  const char *why;
};

static struct clip_programs compile_clips(struct ref_driver *driver, double limit) {
  struct clip_programs programs = {.limit = limit};
  const char *gradient = ref_format(driver, "clip_by_global_norm(%.17g)", limit), *program;
  if (compile_clip(driver, "clip", gradient, &program, &programs.why))
    programs.clip = program;
  if (programs.clip && compile_clip(driver, "clip_norm", "norm_of", &program, &programs.why))
    programs.norm = program;
  return programs;
}

static void compare_clip(struct ref_verdict *verdict, const json_t *file,
                         const struct clip_programs *programs) {
  struct ref_driver *driver = verdict->driver;
  struct ref_tensors stored = ref_tensors_stored(driver, ref_text(file, "path")), clipped, norms;
  const char *why = programs->why;
  write_clip(driver, verdict->name, &stored);
  if (!programs->norm || !run(driver, verdict->name, programs->clip, 1, &clipped, &why) ||
      !run(driver, verdict->name, programs->norm, 1, &norms, &why)) {
    ref_fail(verdict, "%s", why);
    return;
  }
  for (const struct parameter *p = clip_parameters; p->name; p++) {
    const char *name = ref_format(driver, "clipped.%s", p->name);
    ref_compare(verdict, name, ref_tensors_find(&clipped, p->name), ref_tensors_find(&stored, name),
                ref_tolerance_of(file, name));
  }
  struct ref_tensor norm = ref_tensor_row(ref_tensors_find(&norms, "b"), 0);
  ref_compare(verdict, "norm", &norm, ref_tensors_find(&stored, "norm"),
              ref_tolerance_of(file, "norm"));
}

static void check_clip(struct ref_driver *driver, const char *name, const json_t *file,
                       struct clip_programs *programs) {
  double limit = json_number_value(json_object_get(json_object_get(file, "hyper"), "limit"));
  if (programs->limit != limit)
    *programs = compile_clips(driver, limit);
  if (driver->dry_run)
    return;
  struct ref_verdict verdict = ref_begin(driver, name);
  compare_clip(&verdict, file, programs);
  ref_end(&verdict);
}

/* ---- all ---- */

void ref_check_optimizers(struct ref_driver *driver) {
  const char *norms = NULL, *why = NULL, *program;
  struct clip_programs clips = {0};
  size_t i;
  const json_t *file;
  json_array_foreach(driver->files, i, file) {
    const char *name = ref_stem(driver, file), *kind = ref_text(file, "kind");
    bool is_run = strcmp(kind, "optimizer") == 0;
    if ((!is_run && strcmp(kind, "clip") != 0) || !ref_selected(driver, name))
      continue;
    if (!is_run) {
      check_clip(driver, name, file, &clips);
      continue;
    }
    if (!ref_knows(driver, ref_text(file, "optimizer"))) {
      ref_not_covered(driver, "optimizers", name,
                      ref_format(driver, "waits for %s", ref_text(file, "optimizer")));
      continue;
    }
    if (!norms && !why && compile_norms(driver, &program, &why))
      norms = program;
    check_run(driver, name, file, norms);
  }
  if (why) {
    struct ref_verdict verdict = ref_begin(driver, "norms of optimizer runs");
    ref_fail(&verdict, "%s", why);
    ref_end(&verdict);
  }
}
