#include "check.h"

#include "model.h"
#include "oracle.h"
#include "tests/reference/driver/run.h"
#include "tests/reference/driver/tensors.h"

#include "compiler/grad/grad.h"
#include "compiler/ir/graph_text.h"
#include "compiler/pipeline.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { STEPS = 5, DRAWS = 6, SMALL = 2048 };

struct check {
  struct ref_driver *driver;
  struct check_totals *totals;
  uint64_t seed;
  const char *folder; /* below the work folder */
  const char *model;
  bool failed, loose;
  bool mute; /* what fails is to be tried again: it is not printed */
};

static void report(struct check *check, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static void report(struct check *check, const char *format, ...) {
  check->failed = true;
  if (check->mute)
    return;
  va_list args;
  va_start(args, format);
  fprintf(stderr, "seed %" PRIu64 ": ", check->seed);
  vfprintf(stderr, format, args);
  fputc('\n', stderr);
  va_end(args);
}

static const char *at(struct check *check, const char *name) {
  return ref_work_path(check->driver, check->folder, name);
}

/* ---- files ---- */

static char *read_file(struct check *check, const char *path, size_t *size) {
  FILE *file = fopen(path, "rb");
  char *bytes = NULL;
  long length = -1;
  if (file && fseek(file, 0, SEEK_END) == 0 && (length = ftell(file)) >= 0) {
    rewind(file);
    bytes = dtg_alloc(&check->driver->arena, (size_t)length + 1);
    if (fread(bytes, 1, (size_t)length, file) != (size_t)length)
      length = -1;
  }
  if (file)
    fclose(file);
  if (length < 0) {
    report(check, "cannot read %s", path);
    return NULL;
  }
  *size = (size_t)length;
  return bytes;
}

static bool same_files(struct check *check, const char *first, const char *second) {
  size_t a, b;
  const char *x = read_file(check, first, &a), *y = read_file(check, second, &b);
  return x && y && a == b && memcmp(x, y, a) == 0;
}

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* ---- compiling ---- */

static const char *compile(struct check *check) {
  const char *program = NULL, *why;
  double start = now();
  if (!ref_compile(check->driver, check->model, at(check, "out"), NULL, &program, &why)) {
    report(check, "%s", why);
    return NULL;
  }
  if (now() - start > check->totals->slowest) {
    check->totals->slowest = now() - start;
    check->totals->slowest_seed = check->seed;
  }
  return program;
}

/* One kernel an op, in a process of its own: a broken invariant ends it. */
static const char *compile_unfused(struct check *check) {
  const char *folder = at(check, "unfused");
  struct dtg_options options = {
      .model = check->model, .output = folder, .quiet = true, .level = 0, .unfused = true};
  fflush(NULL);
  pid_t child = fork();
  if (child == 0) {
    struct dtg_ctx ctx;
    struct dtg_pipeline pipeline;
    dtg_ctx_init(&ctx);
    dtg_pipeline_init(&pipeline, &ctx, &options);
    _exit(dtg_pipeline_run(&pipeline, DTG_STAGE_COUNT) ? 0 : 1);
  }
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child || status != 0) {
    report(check, "without fusion the compiler ends with %d", status);
    return NULL;
  }
  return ref_format(check->driver, "%s/m", folder);
}

/* ---- running ---- */

struct job {
  const char *program, *name, *steps, *threads;
  const char *flags[4];
};

/* The path of what it saved, or NULL. */
static const char *run(struct check *check, const struct job *job) {
  const char *why, *save = at(check, ref_format(check->driver, "%s.safetensors", job->name));
  const char *arguments[REF_MAX_ARGUMENTS] = {
      job->program, "--quiet",
      "--steps",    job->steps,
      "--threads",  job->threads,
      "--save",     save,
      "--log",      at(check, ref_format(check->driver, "%s.jsonl", job->name))};
  size_t count = 10;
  for (size_t i = 0; i < 4 && job->flags[i]; i++)
    arguments[count++] = job->flags[i];
  if (ref_run(check->driver, arguments, ref_format(check->driver, "%s.txt", save), &why))
    return save;
  report(check, "%s: %s", job->name, why);
  return NULL;
}

static void check_same_bits(struct check *check, const char *program) {
  const char *one = at(check, "one.safetensors"), *kept = at(check, "kept");
  const struct job jobs[] = {
      {program, "two", "5", "2", {NULL}},
      {program, "three", "5", "3", {NULL}},
      {program, "half", "3", "2", {"--checkpoint-dir", kept, NULL}},
      {program, "resumed", "5", "1", {"--checkpoint-dir", kept, "--resume", NULL}},
  };
  for (size_t i = 0; i < sizeof jobs / sizeof *jobs; i++) {
    const char *save = run(check, &jobs[i]);
    if (save && strcmp(jobs[i].name, "half") != 0 && !same_files(check, one, save))
      report(check, "`%s` saves other bytes than one thread at once", jobs[i].name);
  }
}

/* ---- numbers ---- */

/* The exact run, and runs with different noise: one is enough unless something seems to be wrong.
 */
struct oracles {
  struct oracle exact, rounded[DRAWS];
  size_t count;
};

/* Whether a value agrees with the oracle's: within rounding, as far as rounding in the oracle
 * itself moves it. */
struct tolerance {
  double scale, moved;
};

static double allowed(const struct tolerance *tolerance) {
  return 1e-4 * tolerance->scale + 40 * tolerance->moved + 1e-7;
}

static bool is_loose(const struct tolerance *tolerance) {
  return !(40 * tolerance->moved <= 0.2 * tolerance->scale + 1e-6);
}

static void compare_variable(struct check *check, const struct oracles *oracles, size_t index,
                             const struct ref_tensor *saved) {
  const struct dtg_variable *variable = &oracles->exact.module->variables.data[index];
  const double *exact = oracles->exact.variables[index];
  struct tolerance tolerance = {0};
  int64_t count = dtg_shape_count(&variable->type.shape), worst = 0;
  double error = -1;
  if (!saved || saved->type.elements != count) {
    report(check, "`%s` is not in what the program saved", variable->path);
    return;
  }
  for (int64_t i = 0; i < count; i++) {
    tolerance.scale = fmax(tolerance.scale, fabs(exact[i]));
    for (size_t k = 0; k < oracles->count; k++)
      tolerance.moved =
          fmax(tolerance.moved, fabs(exact[i] - oracles->rounded[k].variables[index][i]));
    double off = fabs(saved->values[i] - exact[i]);
    if (!(off <= error)) {
      error = off;
      worst = i;
    }
  }
  if (is_loose(&tolerance))
    check->loose = true;
  else if (!(error <= allowed(&tolerance)))
    report(check, "%s[%" PRId64 "] is %.9g instead of %.9g: off by %.3g, allowed are %.3g",
           variable->path, worst, saved->values[worst], exact[worst], error, allowed(&tolerance));
}

static double logged(const json_t *line, const char *name) {
  const json_t *value = strcmp(name, "loss") == 0
                            ? json_object_get(line, "loss")
                            : json_object_get(json_object_get(line, "metrics"), name);
  return value ? json_number_value(value) : NAN;
}

static void compare_line(struct check *check, const json_t *line, const struct oracles *oracles,
                         size_t index) {
  const struct oracle_line *exact = &oracles->exact.lines.data[index];
  if (json_integer_value(json_object_get(line, "step")) != exact->step ||
      (json_object_get(line, "evaluation") != NULL) != exact->evaluation) {
    report(check, "the log has another line where step %" PRId64 "%s is due", exact->step,
           exact->evaluation ? "'s evaluation" : "");
    return;
  }
  for (uint32_t i = 0; i < exact->count; i++) {
    double value = exact->numbers[i].value, have = logged(line, exact->numbers[i].name);
    struct tolerance tolerance = {.scale = fabs(value) + 0.01};
    for (size_t k = 0; k < oracles->count; k++)
      tolerance.moved = fmax(tolerance.moved,
                             fabs(value - oracles->rounded[k].lines.data[index].numbers[i].value));
    if (is_loose(&tolerance))
      check->loose = true;
    else if (!(fabs(have - value) <= allowed(&tolerance)))
      report(check, "step %" PRId64 "%s: %s is %.9g instead of %.9g: off by %.3g, allowed are %.3g",
             exact->step, exact->evaluation ? ", evaluation" : "", exact->numbers[i].name, have,
             value, fabs(have - value), allowed(&tolerance));
  }
}

static void compare_log(struct check *check, const char *path, const struct oracles *oracles) {
  char *line = NULL;
  size_t cap = 0, count = 0;
  FILE *file = fopen(path, "r");
  while (file && getline(&line, &cap, file) > 0) {
    json_t *object = json_loads(line, 0, NULL);
    if (!object)
      report(check, "the log has a line that is no JSON: %s", line);
    else if (count < oracles->exact.lines.len)
      compare_line(check, object, oracles, count);
    json_decref(object);
    count++;
  }
  free(line);
  if (file)
    fclose(file);
  if (count != oracles->exact.lines.len)
    report(check, "the log has %zu lines instead of %zu", count, oracles->exact.lines.len);
}

/* What a job logged and saved. */
static void compare_job(struct check *check, const char *job, const struct oracles *oracles) {
  const char *why;
  struct ref_tensors tensors;
  if (!ref_tensors_read(check->driver, at(check, ref_format(check->driver, "%s.safetensors", job)),
                        &tensors, &why)) {
    report(check, "%s", why);
    return;
  }
  compare_log(check, at(check, ref_format(check->driver, "%s.jsonl", job)), oracles);
  for (size_t i = 0; i < oracles->exact.module->variables.len; i++)
    compare_variable(check, oracles, i,
                     ref_tensors_find(&tensors, oracles->exact.module->variables.data[i].path));
}

static void add_rounded(struct oracles *oracles) {
  struct oracle *rounded = &oracles->rounded[oracles->count++];
  oracle_open(rounded, oracles->exact.model, oracles->exact.module, oracles->count);
  oracle_train(rounded, STEPS);
}

/* A step or a kink may be met by the program and missed by one draw of noise: what fails is
 * compared again with more draws. */
static void compare_jobs(struct check *check, struct oracles *oracles, bool unfused) {
  bool failed = check->failed;
  do {
    add_rounded(oracles);
    check->failed = false;
    check->mute = oracles->count < DRAWS;
    compare_job(check, "one", oracles);
    if (unfused)
      compare_job(check, "unfused", oracles);
  } while (check->failed && oracles->count < DRAWS);
  check->mute = false;
  check->failed |= failed;
}

/* The program, and the one without fusion. Their bits may differ: see compiler/opt/opt.h. */
static void check_numbers(struct check *check, const struct dtg_pipeline *pipeline,
                          const char *unfused) {
  struct oracles oracles = {.count = 0};
  const struct job job = {unfused, "unfused", "5", "2", {NULL}};
  bool other = unfused && run(check, &job);
  oracle_open(&oracles.exact, pipeline->model, pipeline->module, 0);
  oracle_train(&oracles.exact, STEPS);
  compare_jobs(check, &oracles, other);
  if (other)
    check->totals->same_unfused +=
        same_files(check, at(check, "one.safetensors"), at(check, "unfused.safetensors"));
  oracle_close(&oracles.exact);
  for (size_t i = 0; i < oracles.count; i++)
    oracle_close(&oracles.rounded[i]);
}

/* ---- texts ---- */

/* What is read from the text of a module is printed as the same text. */
static void check_graph_text(struct check *check, const struct dtg_pipeline *pipeline) {
  struct dtg_strbuf first = {0}, second = {0}, why = {0};
  struct dtg_arena arena = {0};
  struct dtg_module *module;
  dtg_module_print(pipeline->module, NULL, &first);
  if (!dtg_module_read(&arena, &pipeline->ctx->names, dtg_strbuf_text(&first), first.len, &why,
                       &module)) {
    report(check, "the text of the graphs cannot be read: %s", dtg_strbuf_text(&why));
  } else {
    dtg_module_print(module, NULL, &second);
    if (strcmp(dtg_strbuf_text(&first), dtg_strbuf_text(&second)) != 0)
      report(check, "the text of the graphs changes when it is read and printed");
  }
  dtg_strbuf_free(&first);
  dtg_strbuf_free(&second);
  dtg_strbuf_free(&why);
  dtg_arena_free(&arena);
}

/* Runs the stages up to `last` in this process. */
static bool stages(struct check *check, struct dtg_ctx *ctx, const char *model, enum dtg_stage last,
                   struct dtg_pipeline *pipeline) {
  struct dtg_options *options = DTG_NEW(&check->driver->arena, struct dtg_options);
  *options = (struct dtg_options){.model = model, .output = at(check, "inside"), .level = 2};
  dtg_ctx_init(ctx);
  dtg_pipeline_init(pipeline, ctx, options);
  if (dtg_pipeline_run(pipeline, last))
    return true;
  report(check, "the compiler refuses in this process what it has compiled in another");
  dtg_pipeline_free(pipeline);
  dtg_ctx_free(ctx);
  return false;
}

static const char *formatted(struct check *check) {
  const char *folder = ref_format(check->driver, "%s/fmt", check->folder), *why;
  const char *copy = ref_work_path(check->driver, folder, "m.dtg");
  const char *commands[][5] = {{"cp", check->model, copy, NULL},
                               {check->driver->dtgc, "fmt", copy, NULL},
                               {check->driver->dtgc, "fmt", "--check", copy, NULL}};
  for (size_t i = 0; i < 3; i++) {
    if (!ref_run(check->driver, commands[i], at(check, "fmt.txt"), &why)) {
      report(check, "%s", why);
      return NULL;
    }
  }
  return copy;
}

/* The canonical form compiles to the same kernels in the same places. Its plan id is another one:
 * the host program, which is part of it, has the lines of the source for its messages. */
static void check_format(struct check *check, struct dtg_pipeline *pipeline) {
  static const enum dtg_stage shown[] = {DTG_STAGE_SCHEDULE, DTG_STAGE_KERNELS};
  const char *copy = formatted(check);
  struct dtg_ctx ctx;
  struct dtg_pipeline other;
  if (!copy || !stages(check, &ctx, copy, DTG_STAGE_KERNELS, &other))
    return;
  for (size_t i = 0; i < sizeof shown / sizeof *shown; i++) {
    struct dtg_strbuf before = {0}, after = {0};
    dtg_pipeline_dump(pipeline, shown[i], &before);
    dtg_pipeline_dump(&other, shown[i], &after);
    if (strcmp(dtg_strbuf_text(&before), dtg_strbuf_text(&after)) != 0)
      report(check, "dtgc fmt changes the %s", dtg_stage_name(shown[i]));
    dtg_strbuf_free(&before);
    dtg_strbuf_free(&after);
  }
  dtg_pipeline_free(&other);
  dtg_ctx_free(&ctx);
}

/* ---- the plan ---- */

static void check_memory(struct check *check, const struct dtg_plan *plan) {
  for (int i = 0; i < DTG_PLAN_FUNCTIONS; i++) {
    const struct dtg_plan_function *function = &plan->functions[i];
    if (!function->graph)
      continue;
    /* A few lines more are nothing. */
    if ((double)function->arena_bytes > 1.05 * (double)function->live_peak_bytes + SMALL)
      report(check, "the arena of `%s` has %" PRId64 " bytes for %" PRId64 " live ones",
             function->name, function->arena_bytes, function->live_peak_bytes);
  }
}

/* ---- the whole ---- */

static void check_inside(struct check *check) {
  const char *unfused = compile_unfused(check);
  struct dtg_ctx ctx;
  struct dtg_pipeline pipeline;
  if (stages(check, &ctx, check->model, DTG_STAGE_GRAD, &pipeline)) {
    check_graph_text(check, &pipeline);
    check_numbers(check, &pipeline, unfused);
    dtg_pipeline_free(&pipeline);
    dtg_ctx_free(&ctx);
  }
  if (stages(check, &ctx, check->model, DTG_STAGE_KERNELS, &pipeline)) {
    check_graph_text(check, &pipeline);
    check_memory(check, pipeline.plan);
    check_format(check, &pipeline);
    dtg_pipeline_free(&pipeline);
    dtg_ctx_free(&ctx);
  }
}

static void remove_folder(struct check *check) {
  const char *why, *folder = ref_format(check->driver, "%s/%s", check->driver->work, check->folder);
  const char *arguments[] = {"rm", "-rf", folder, NULL};
  ref_run(check->driver, arguments, "/dev/null", &why);
}

static void write_model(struct check *check, const char *file) {
  struct dtg_strbuf text = {0};
  size_t size = 0;
  if (file)
    dtg_strbuf_puts(&text, read_file(check, file, &size));
  else
    model_generate(&check->driver->arena, check->seed, &text);
  ref_write_file(check->model, &text);
  dtg_strbuf_free(&text);
}

void check_seed(struct ref_driver *driver, uint64_t seed, const char *file,
                struct check_totals *totals) {
  struct check check = {.driver = driver, .totals = totals, .seed = seed};
  check.folder = ref_format(driver, "%" PRIu64, seed);
  remove_folder(&check); /* of an earlier run */
  check.model = at(&check, "m.dtg");
  write_model(&check, file);
  const char *program = compile(&check);
  if (program) {
    const struct job job = {program, "one", "5", "1", {NULL}};
    if (run(&check, &job)) {
      check_inside(&check);
      check_same_bits(&check, program);
    }
  }
  totals->loose += check.loose;
  totals->failed += check.failed;
  totals->passed += !check.failed;
  if (check.failed)
    fprintf(stderr, "seed %" PRIu64 ": see %s\n", seed, check.model);
  else
    remove_folder(&check);
}
