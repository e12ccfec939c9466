/* One parameter has an element for each step, and the gradient is one at the element of the step
 * and zero elsewhere (the examples are the rows of the identity), so that slots add up to the rates
 * by step. */
#include "schedules.h"

#include "compare.h"
#include "run.h"

#include <string.h>

/* ---- calls ---- */

/* The standard library's name for a kind; NULL if it has none. */
static const char *function_of(const json_t *description) {
  static const char *const kinds[][2] = {{"constant", "constant"},
                                         {"cosine_warmup", "cosine"},
                                         {"step_decay", "step_decay"},
                                         {"piecewise", "piecewise"}};
  const char *kind = ref_text(description, "kind");
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
    if (strcmp(kinds[i][0], kind) == 0)
      return kinds[i][1];
  }
  return NULL;
}

bool ref_schedule_known(const json_t *description) {
  return function_of(description);
}

void ref_schedule_put(struct dtg_strbuf *out, const json_t *description, bool with_total) {
  const char *key, *before = "";
  json_t *value;
  dtg_strbuf_printf(out, "%s(", function_of(description));
  json_object_foreach((json_t *)(uintptr_t)description, key, value) {
    if (strcmp(key, "kind") == 0 || (strcmp(key, "total") == 0 && !with_total))
      continue;
    dtg_strbuf_printf(out, "%s%s = ", before, key);
    ref_put_value(out, value);
    before = ", ";
  }
  dtg_strbuf_putc(out, ')');
}

void ref_schedule_imports(struct dtg_strbuf *out, const struct ref_schedules *schedules) {
  for (size_t i = 0; i < schedules->count; i++) {
    const char *function = function_of(schedules->descriptions[i]);
    bool first = true;
    for (size_t k = 0; k < i; k++)
      first = first && function_of(schedules->descriptions[k]) != function;
    if (first)
      dtg_strbuf_printf(out, "import std.schedules { %s }\n", function);
  }
}

/* ---- the program ---- */

static void put_optimizer(struct dtg_strbuf *out, const struct ref_schedules *schedules) {
  dtg_strbuf_puts(out, "\noptimizer record(");
  for (size_t i = 0; i < schedules->count; i++)
    dtg_strbuf_printf(out, "%srate%zu: float", i > 0 ? ", " : "", i);
  dtg_strbuf_puts(out, ") {\n");
  for (size_t i = 0; i < schedules->count; i++)
    dtg_strbuf_printf(out, "  state at%zu ~ zeros()\n", i);
  for (size_t i = 0; i < schedules->count; i++)
    dtg_strbuf_printf(out, "  at%zu = at%zu + rate%zu * grad\n", i, i, i);
  dtg_strbuf_puts(out, "  param = param - grad\n}\n");
}

static void put_program(struct dtg_strbuf *out, const struct ref_schedules *schedules) {
  int steps = schedules->steps;
  ref_schedule_imports(out, schedules);
  put_optimizer(out, schedules);
  dtg_strbuf_printf(
      out,
      "\nmodel steps(now: f32[B, %d]) {\n  param t: f32[%d] ~ zeros()\n"
      "  loss = sum(t * now)\n}\n\n"
      "data identity = table(now = safetensors(\"identity.safetensors\", \"now\"))\n\n"
      "train {\n  data      = identity\n  batch     = 1\n  steps     = %d\n"
      "  optimizer = record(",
      steps, steps, steps);
  for (size_t i = 0; i < schedules->count; i++) {
    dtg_strbuf_printf(out, "%srate%zu = ", i > 0 ? ",\n                     " : "", i);
    ref_schedule_put(out, schedules->descriptions[i], schedules->with_total);
  }
  dtg_strbuf_puts(out, ")\n}\n");
}

static void write_identity(struct ref_driver *driver, int64_t steps, const char *path) {
  struct ref_tensors data = {0};
  struct ref_tensor now = {.type = {.element = DTR_ELEMENT_F32,
                                    .rank = 2,
                                    .dims = {steps, steps},
                                    .elements = steps * steps,
                                    .bytes = 4 * steps * steps},
                           .values = DTG_NEW_ARRAY(&driver->arena, double, steps *steps)};
  for (int64_t i = 0; i < steps; i++)
    now.values[i * steps + i] = 1;
  ref_tensors_add(driver, &data, "now", &now);
  ref_tensors_write(driver, &data, path);
}

bool ref_schedule_run(struct ref_driver *driver, const char *folder,
                      const struct ref_schedules *schedules, struct ref_tensors *saved,
                      const char **why) {
  struct dtg_strbuf text = {0};
  const char *model = ref_work_path(driver, folder, "schedules.dtg");
  struct ref_job job = {.save = ref_work_path(driver, folder, "schedules.save.safetensors"),
                        .steps = schedules->steps};
  put_program(&text, schedules);
  ref_write_file(model, &text);
  dtg_strbuf_free(&text);
  if (driver->dry_run)
    return false;
  write_identity(driver, schedules->steps, ref_work_path(driver, folder, "identity.safetensors"));
  return ref_compile(driver, model, ref_work_path(driver, folder, "schedules.out"), NULL,
                     &job.program, why) &&
         ref_train(driver, &job, why) && ref_tensors_read(driver, job.save, saved, why);
}

/* ---- the cases of optimizers/ ---- */

struct named_schedules {
  const char *names[REF_MAX_SCHEDULES];
  const json_t *files[REF_MAX_SCHEDULES];
  struct ref_schedules schedules;
};

static void check(struct ref_driver *driver, const char *folder,
                  const struct named_schedules *named) {
  const struct ref_schedules *schedules = &named->schedules;
  struct ref_tensors saved;
  const char *why;
  bool good =
      ref_schedule_run(driver, ref_format(driver, "schedules/%s", folder), schedules, &saved, &why);
  for (size_t i = 0; !driver->dry_run && i < schedules->count; i++) {
    const json_t *file = named->files[i];
    struct ref_verdict verdict =
        ref_begin(driver, ref_format(driver, "%s%s", named->names[i],
                                     schedules->with_total ? "" : " with total_steps"));
    struct ref_tensors stored = ref_tensors_stored(driver, ref_text(file, "path"));
    struct ref_tensor want = ref_tensor_head(ref_tensors_find(&stored, "value"), schedules->steps);
    if (good)
      ref_compare(&verdict, "value", ref_tensors_find(&saved, ref_format(driver, "t:at%zu", i)),
                  &want, ref_tolerance_of(file, "value"));
    else
      ref_fail(&verdict, "%s", why);
    ref_end(&verdict);
  }
}

static void add_file(struct ref_driver *driver, const json_t *file, struct named_schedules *all) {
  const char *name = ref_stem(driver, file);
  const json_t *value = json_object_get(json_object_get(file, "tensors"), "value");
  struct ref_schedules *schedules = &all->schedules;
  if (!ref_schedule_known(json_object_get(file, "hyper")) ||
      schedules->count == REF_MAX_SCHEDULES) {
    struct ref_verdict verdict = ref_begin(driver, name);
    ref_fail(&verdict, "schedules.c has no row for its kind, or no room for it");
    ref_end(&verdict);
    return;
  }
  schedules->steps = (int)json_integer_value(json_array_get(json_object_get(value, "shape"), 0));
  schedules->descriptions[schedules->count] = json_object_get(file, "hyper");
  all->names[schedules->count] = name;
  all->files[schedules->count++] = file;
}

/* A schedule that ends at a number of steps, in a training of so many. */
static void check_total(struct ref_driver *driver, const struct named_schedules *all, size_t i) {
  const json_t *hyper = all->schedules.descriptions[i], *total = json_object_get(hyper, "total");
  struct named_schedules one = {
      .names = {all->names[i]},
      .files = {all->files[i]},
      .schedules = {.descriptions = {hyper}, .count = 1, .steps = (int)json_integer_value(total)}};
  if (total)
    check(driver, all->names[i], &one);
}

void ref_check_schedules(struct ref_driver *driver) {
  struct named_schedules all = {.schedules.with_total = true};
  size_t i;
  const json_t *file;
  json_array_foreach(driver->files, i, file) {
    if (strcmp(ref_text(file, "kind"), "schedule") == 0 &&
        ref_selected(driver, ref_stem(driver, file)))
      add_file(driver, file, &all);
  }
  if (all.schedules.count > 0)
    check(driver, "all", &all);
  for (i = 0; i < all.schedules.count; i++)
    check_total(driver, &all, i);
}
