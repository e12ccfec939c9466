/* The cases of ops/. */
#include "compare.h"
#include "model.h"
#include "probe.h"
#include "run.h"

#include <string.h>

enum { CASES_A_MODEL = 36 };

/* ---- one program ---- */

static bool run_cases(struct ref_driver *driver, const struct ref_op_case *cases, size_t count,
                      const char *name, struct ref_tensors *saved, const char **why) {
  const char *model = ref_work_path(driver, "ops", ref_format(driver, "%s.dtg", name));
  const char *init = ref_work_path(driver, "ops", ref_format(driver, "%s.init.safetensors", name));
  const char *save = ref_work_path(driver, "ops", ref_format(driver, "%s.save.safetensors", name));
  ref_model_write(driver, cases, count, model);
  if (driver->dry_run)
    return true;
  ref_model_init(driver, cases, count, init);
  struct ref_job job = {.init = init, .save = save, .steps = 1};
  return ref_compile(driver, model,
                     ref_work_path(driver, "ops", ref_format(driver, "%s.out", name)), NULL,
                     &job.program, why) &&
         ref_train(driver, &job, why) && ref_tensors_read(driver, save, saved, why);
}

static void compare_case(struct ref_driver *driver, const struct ref_op_case *op,
                         const struct ref_tensors *saved) {
  struct ref_verdict verdict = ref_begin(driver, ref_format(driver, "ops/%s", op->name));
  struct ref_tensors stored = ref_tensors_stored(driver, ref_text(op->file, "path"));
  for (size_t i = 0; i < stored.count; i++) {
    const char *name = stored.items[i].type.name;
    bool is_output = strcmp(name, "out") == 0 || strncmp(name, "out.", 4) == 0;
    if (is_output || strncmp(name, "grad.", 5) == 0)
      ref_compare(&verdict, name, ref_tensors_find(saved, ref_model_path(driver, op, name)),
                  &stored.items[i], ref_tolerance_of(op->file, name));
  }
  ref_end(&verdict);
}

/* A model that does not compile or run is halved until the case at fault stands alone. */
static void check_cases(struct ref_driver *driver, const struct ref_op_case *cases, size_t count,
                        const char *name) {
  struct ref_tensors saved;
  const char *why;
  if (run_cases(driver, cases, count, name, &saved, &why)) {
    for (size_t i = 0; i < count && !driver->dry_run; i++)
      compare_case(driver, &cases[i], &saved);
  } else if (count > 1) {
    check_cases(driver, cases, count / 2, ref_format(driver, "%sa", name));
    check_cases(driver, cases + count / 2, count - count / 2, ref_format(driver, "%sb", name));
  } else {
    struct ref_verdict verdict = ref_begin(driver, ref_format(driver, "ops/%s", cases[0].name));
    ref_fail(&verdict, "%s", why);
    ref_end(&verdict);
  }
}

/* ---- all ---- */

static void refuse(struct ref_driver *driver, const char *name, const char *why) {
  struct ref_verdict verdict = ref_begin(driver, ref_format(driver, "ops/%s", name));
  ref_fail(&verdict, "%s", why);
  ref_end(&verdict);
}

/* Whether the case can be run; if not, it is counted here. */
static bool is_covered(struct ref_driver *driver, const struct ref_op_case *op) {
  const char *name = ref_text(op->file, "op");
  if (!op->row) {
    refuse(driver, op->name, "expressions.c has no row for this op");
    return false;
  }
  if (op->row->waits && !ref_knows(driver, op->row->waits)) {
    ref_not_covered(driver, name, op->name, ref_format(driver, "waits for %s", op->row->waits));
    return false;
  }
  if (!op->row->expression && !driver->dry_run)
    refuse(driver, op->name,
           ref_format(driver,
                      "dtgc knows `%s` now: write its expression in "
                      "expressions.c",
                      op->row->waits));
  return op->row->expression;
}

void ref_check_ops(struct ref_driver *driver) {
  struct ref_op_case *cases =
      DTG_NEW_ARRAY(&driver->arena, struct ref_op_case, json_array_size(driver->files));
  size_t count = 0, i;
  const json_t *file;
  json_array_foreach(driver->files, i, file) {
    struct ref_op_case op = {.name = ref_stem(driver, file), .file = file};
    if (strcmp(ref_text(file, "kind"), "op") != 0 || !ref_selected(driver, op.name))
      continue;
    op.row = ref_row_find(ref_text(file, "op"));
    if (is_covered(driver, &op))
      cases[count++] = op;
  }
  for (size_t first = 0; first < count; first += CASES_A_MODEL) {
    size_t size = count - first < CASES_A_MODEL ? count - first : CASES_A_MODEL;
    check_cases(driver, cases + first, size, ref_format(driver, "ops%zu", first / CASES_A_MODEL));
  }
}
