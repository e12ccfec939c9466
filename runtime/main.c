/* dtr_main: a program from its flags to its exit status. */
#include "runtime/cpu.h"
#include "runtime/json.h"
#include "runtime/predict/predict.h"
#include "runtime/process/process.h"
#include "runtime/replicate/job.h"
#include "runtime/signals.h"
#include "runtime/sim/sim.h"
#include "runtime/start/addresses.h"
#include "runtime/start/identity.h"
#include "runtime/start/inherit.h"
#include "runtime/start/run.h"
#include "runtime/task.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static int finish_with(struct dtr_error *error) {
  dtr_error_report(error, stderr);
  return dtr_status_exit(error->status);
}

static bool print(const struct dtr_program *program, const struct dtr_flags *flags) {
  if (flags->help)
    dtr_flags_help(program, stdout);
  else if (flags->version)
    printf("%s, from %s by %s\nplan %s\nmodel %s\n%s\n", program->name, program->model_file,
           program->compiler, program->plan_id, program->model_id, program->results);
  else if (flags->plan)
    fputs(program->plan_text, stdout);
  return flags->help || flags->version || flags->plan;
}

/* The model's folder: relative to the program's own, which may have been moved along with it.
 * `folder` has room for PATH_MAX bytes. */
static void find_model_dir(const struct dtr_program *program, char *folder) {
  char self[PATH_MAX];
  ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
  self[length < 0 ? 0 : length] = 0;
  char *slash = strrchr(self, '/');
  if (slash)
    *slash = 0;
  const char *relative = program->source_dir ? program->source_dir : "";
  char joined[2 * PATH_MAX];
  if (relative[0] == '/' || !slash)
    snprintf(joined, sizeof joined, "%s", relative);
  else
    snprintf(joined, sizeof joined, "%s/%s", self, relative);
  if (!realpath(joined, folder)) /* gone: messages say where it was */
    snprintf(folder, PATH_MAX, "%s", joined);
}

/* Sleeps until `deadline` of the monotonic clock; a signal ends it early. */
static void sleep_until(int64_t deadline) {
  struct timespec at = {.tv_sec = deadline / 1000000000, .tv_nsec = deadline % 1000000000};
  clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL);
}

static void look_at_signals(struct dtr_task *task, int64_t now) {
  int stop = dtr_signals_stop();
  if (stop != 0)
    dtr_task_stop(task, stop == SIGINT ? "SIGINT" : stop == SIGHUP ? "SIGHUP" : "SIGTERM");
  if (dtr_signals_take_report()) {
    char text[512];
    dtr_task_describe(task, now, text, sizeof text);
    dtr_task_close_line(task);
    fprintf(stderr, "%s\n", text);
  }
}

/* ---- reading, which ends when a signal asks for it ---- */

enum { READ_BYTES = 1 << 24 }; /* at most so many between two looks */

struct reading {
  struct dtr_task *task; /* NULL until there is one */
};

static int64_t read_watched(void *context, int file, void *bytes, size_t size) {
  const struct dtr_env *real = dtr_env_real();
  struct reading *reading = context;
  if (reading->task)
    look_at_signals(reading->task, dtr_env_now(real));
  if (dtr_signals_stop() != 0)
    return -ECANCELED;
  return real->file_read(real->context, file, bytes, size < READ_BYTES ? size : READ_BYTES);
}

/* The functions of the real row need no context. */
static struct dtr_env env_watched(struct reading *reading) {
  struct dtr_env env = *dtr_env_real();
  env.context = reading;
  env.file_read = read_watched;
  return env;
}

/* ---- the run ---- */

static void drive(struct dtr_task *task, const struct dtr_env *env) {
  while (!dtr_task_finished(task)) {
    int64_t now = dtr_env_now(env);
    look_at_signals(task, now);
    int64_t deadline = dtr_task_poll(task, now);
    if (deadline > now && deadline != INT64_MAX)
      sleep_until(deadline);
  }
}

static int run_job(const struct dtr_program *program, const struct dtr_flags *flags,
                   struct dtr_error *error) {
  char model_dir[PATH_MAX];
  struct dtr_job_run *job;
  find_model_dir(program, model_dir);
  struct dtr_job_options options = {.program = program,
                                    .env = dtr_env_real(),
                                    .flags = flags,
                                    .model_dir = model_dir,
                                    .threads =
                                        flags->threads == DTR_FLAG_UNSET ? 0 : (int)flags->threads,
                                    .terminal = isatty(STDERR_FILENO)};
  if (!dtr_job_new(&options, &job, error))
    return finish_with(error);
  dtr_signals_install();
  dtr_job_drive(job);
  dtr_job_finish(job);
  struct dtr_error *failure = dtr_task_error(dtr_job_chief(job));
  int status = dtr_error_is_set(failure) ? finish_with(failure) : 0;
  dtr_job_free(job);
  return status;
}

/* ---- one task of a cluster ---- */

enum { NO_LISTENER = -1 };

/* Who this process is and where the others are; what is not known stays as it is. */
struct start {
  struct dtr_identity identity;
  struct dtr_inherit inherit;
  char **from_file; /* of --cluster */
  struct dtr_deadlines deadlines;
  uint32_t task_count;
};

static void free_start(struct start *start) {
  dtr_identity_free(&start->identity);
  dtr_inherit_free(&start->inherit);
  dtr_addresses_free(start->from_file, start->task_count);
}

static bool find_start(const struct dtr_program *program, const struct dtr_flags *flags,
                       struct start *start, struct dtr_error *error) {
  const struct dtr_env *env = dtr_env_real();
  *start = (struct start){.inherit.socket = NO_LISTENER,
                          .task_count = dtr_plan_task_count(program->replication),
                          .deadlines = dtr_deadlines_default()};
  if (flags->deadline && !dtr_deadlines_parse(flags->deadline, &start->deadlines, error))
    return false;
  return dtr_identity_find(env, program->replication, flags->task, &start->identity, error) &&
         dtr_inherit_read(env, program->replication, &start->inherit, error) &&
         (!flags->cluster ||
          dtr_addresses_read(env, flags->cluster, program->replication, &start->from_file, error));
}

static char *const *addresses_of(const struct start *start) {
  if (start->inherit.addresses)
    return start->inherit.addresses;
  return start->from_file ? start->from_file : start->identity.addresses;
}

static int run_process(const struct dtr_program *program, const struct dtr_flags *flags,
                       const struct start *start) {
  char model_dir[PATH_MAX];
  const struct dtr_env *env = dtr_env_real();
  uint64_t run = dtr_run_number(env, start->identity.source, program->plan_id);
  find_model_dir(program, model_dir);
  struct dtr_process_options options = {.program = program,
                                        .env = env,
                                        .flags = flags,
                                        .model_dir = model_dir,
                                        .terminal = isatty(STDERR_FILENO),
                                        .task = start->identity.task,
                                        .addresses = addresses_of(start),
                                        .listener = start->inherit.socket,
                                        .incarnation = start->inherit.addresses
                                                           ? (uint64_t)start->inherit.generation + 1
                                                           : (uint64_t)env->wall_time(env->context),
                                        .run = run,
                                        .checkpoints = dtr_run_checkpoints(env, run),
                                        .deadlines = start->deadlines};
  return dtr_process_run(&options);
}

static int run_replicated(const struct dtr_program *program, const struct dtr_flags *flags,
                          struct dtr_error *error) {
  struct start start;
  int status;
  if (flags->local)
    return run_job(program, flags, error);
  bool good = find_start(program, flags, &start, error);
  if (good && start.identity.source != DTR_IDENTITY_NONE && !addresses_of(&start)) {
    good = dtr_error_set(error, DTR_STATUS_CONFIG,
                         "%s says which task this is, and nothing where "
                         "the others are",
                         dtr_identity_source_text(start.identity.source));
    dtr_error_hint(error, "--cluster FILE names the file with the addresses; --local runs all "
                          "tasks in one process");
  }
  if (!good)
    status = finish_with(error);
  else if (start.identity.source == DTR_IDENTITY_NONE)
    status = run_job(program, flags, error);
  else
    status = run_process(program, flags, &start);
  free_start(&start);
  return status;
}

/* One device sends nothing. */
static void write_no_traffic(const struct dtr_flags *flags, struct dtr_error *error) {
  struct dtr_json json;
  if (!flags->traffic || !dtr_json_open(dtr_env_real(), flags->traffic, &json, error))
    return;
  dtr_json_raw(&json, "{\"links\": []}\n");
  dtr_json_close(&json, flags->traffic, error);
}

static void write_memory(struct dtr_task *task, const struct dtr_flags *flags) {
  struct dtr_json json;
  if (!flags->memory || !dtr_json_open(dtr_env_real(), flags->memory, &json, dtr_task_error(task)))
    return;
  dtr_json_raw(&json, "{\"devices\": [");
  dtr_ledger_write(dtr_task_ledger(task), &json, "worker/0/0");
  dtr_json_raw(&json, "]}\n");
  dtr_json_close(&json, flags->memory, dtr_task_error(task));
}

static int run(const struct dtr_program *program, const struct dtr_flags *flags,
               struct dtr_error *error) {
  char model_dir[PATH_MAX];
  struct reading reading = {0};
  struct dtr_env env = env_watched(&reading);
  struct dtr_task *task;
  find_model_dir(program, model_dir);
  struct dtr_task_options options = {
      .program = program,
      .env = &env,
      .flags = flags,
      .name = "worker/0",
      .model_dir = model_dir,
      .threads = flags->threads == DTR_FLAG_UNSET ? dtr_cpu_count() : (int)flags->threads,
      .terminal = isatty(STDERR_FILENO)};
  if (!dtr_task_new(&options, &task, error))
    return finish_with(error);
  reading.task = task;
  dtr_signals_install();
  drive(task, options.env);
  write_no_traffic(flags, dtr_task_error(task));
  write_memory(task, flags);
  int status = dtr_error_is_set(dtr_task_error(task)) ? finish_with(dtr_task_error(task)) : 0;
  dtr_task_free(task);
  return status;
}

static int predict(const struct dtr_program *program, const struct dtr_flags *flags,
                   struct dtr_error *error) {
  char model_dir[PATH_MAX];
  find_model_dir(program, model_dir);
  if (!dtr_predict(program, flags, model_dir, error))
    return finish_with(error);
  return fflush(stdout) == 0 ? 0 : 1;
}

static bool refuse_task(const struct dtr_flags *flags, struct dtr_error *error) {
  const char *flag = flags->task ? "--task" : flags->cluster ? "--cluster" : NULL;
  if (!flag)
    return false;
  dtr_error_set(error, DTR_STATUS_USAGE, "%s: this program has one task", flag);
  dtr_error_hint(error, "build it with a strategy and a cluster of several tasks, or leave the "
                        "flag out");
  return true;
}

static int simulate(const struct dtr_program *program, const struct dtr_flags *flags) {
  char model_dir[PATH_MAX];
  find_model_dir(program, model_dir);
  return dtr_sim_main(program, flags, model_dir);
}

int dtr_main(const struct dtr_program *program, int argc, char **argv) {
  struct dtr_error error;
  struct dtr_flags flags;
  const char *lacks;
  dtr_error_clear(&error);
  if (program->abi_version != DTR_ABI_VERSION) {
    dtr_error_set(&error, DTR_STATUS_BUG, "the program is for ABI %u of the runtime, this is %d",
                  program->abi_version, DTR_ABI_VERSION);
    return finish_with(&error);
  }
  if (!dtr_flags_parse(argc, argv, &flags, &error))
    return finish_with(&error);
  if (print(program, &flags))
    return fflush(stdout) == 0 ? 0 : 1;
  int level = dtr_cpu_level(&lacks);
  if (!dtr_cpu_check(program->cpu_arch, level, lacks, &error))
    return finish_with(&error);
  if (flags.predict)
    return predict(program, &flags, &error);
  if (flags.sim)
    return simulate(program, &flags);
  if (program->replication && !program->replication->is_single)
    return run_replicated(program, &flags, &error);
  return refuse_task(&flags, &error) ? finish_with(&error) : run(program, &flags, &error);
}
