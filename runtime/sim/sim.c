#include "runtime/sim/sim.h"

#include "runtime/sim/sim_parts.h"
#include "runtime/task_parts.h"

#include <sodium.h>
#include <string.h>

enum { PURPOSE = 0x0DE5, STARTS = 3 /* one device is started so often */ };

static const char saved_file[] = "saved.safetensors", checkpoints[] = "checkpoints";

/* ---- what must not happen ---- */

static void describe(struct dtr_sim_run *run, FILE *stream) {
  char text[512];
  for (uint32_t t = 0; run->tasks && t < run->map->task_count; t++) {
    const struct dtr_sim_task *it = &run->tasks[t];
    if (!it->is_used)
      continue;
    if (it->is_up)
      dtr_recovery_describe(it->recovery, run->world.now, text, sizeof text);
    else
      snprintf(text, sizeof text, "%s: is dead", run->map->tasks[t].name);
    fprintf(stream, "%s\n", text);
    if (it->is_up)
      dtr_job_describe(it->job, stream);
  }
}

void dtr_sim_wrong(struct dtr_sim_run *run, const char *what) {
  struct dtr_error *error = &run->result->error;
  char list[sizeof error->message] = "";
  if (dtr_sim_is_wrong(run))
    return;
  run->result->outcome = DTR_SIM_WRONG;
  FILE *stream = fmemopen(list, sizeof list - 1, "w");
  if (stream) {
    describe(run, stream);
    fclose(stream);
  }
  dtr_error_clear(error);
  dtr_error_set(error, DTR_STATUS_BUG, "%s after %.6f s of virtual time and %lld polls\n%s", what,
                (double)run->world.now * 1e-9, (long long)run->result->polls, list);
  const struct dtr_sim_task *chief = run->tasks ? &run->tasks[run->chief] : NULL;
  dtr_error_step(error, chief && chief->is_up ? dtr_job_chief(chief->job)->step : -1);
}

bool dtr_sim_is_wrong(const struct dtr_sim_run *run) {
  return run->result->outcome == DTR_SIM_WRONG;
}

void dtr_sim_take_error(struct dtr_sim_run *run, const struct dtr_error *error) {
  run->result->outcome = dtr_error_is_set(error) ? DTR_SIM_FAILED : DTR_SIM_DONE;
  run->result->error = *error;
}

/* ---- one device: no network, but the disk and the clock ---- */

static bool drive_alone(struct dtr_sim_run *run, struct dtr_task *task) {
  while (!dtr_task_finished(task)) {
    run->world.spent = 0;
    run->result->polls++;
    int64_t next = dtr_task_poll(task, run->world.now);
    run->world.now += run->world.spent + dtr_sim_random_below(&run->random, run->scenario.compute);
    if (next != INT64_MAX && next > run->world.now)
      run->world.now = next;
  }
  dtr_sim_take_error(run, dtr_task_error(task));
  return dtr_sim_disk_has_stopped(run->disk);
}

/* True if it has died. */
static bool run_alone(struct dtr_sim_run *run) {
  struct dtr_task *task;
  struct dtr_error error;
  struct dtr_task_options options = {.program = run->options->program,
                                     .env = dtr_sim_disk_env(run->disk),
                                     .flags = &run->flags,
                                     .name = "worker/0",
                                     .model_dir = run->options->model_dir,
                                     .threads = 1,
                                     .synchronous = true};
  dtr_error_clear(&error);
  if (!dtr_task_new(&options, &task, &error)) {
    dtr_sim_take_error(run, &error);
    return false;
  }
  bool has_died = drive_alone(run, task);
  dtr_task_free(task);
  return has_died;
}

/* From a checkpoint if there is one: the task may have died before the first. */
static void begin_again(struct dtr_sim_run *run) {
  struct dtr_error error;
  int64_t newest;
  dtr_sim_disk_start(run->disk);
  dtr_error_clear(&error);
  run->result->crashes++;
  run->result->restarts++;
  run->world.now += run->scenario.crashes[0].return_time;
  run->flags.resume =
      dtr_checkpoint_newest(dtr_sim_disk_env(run->disk), checkpoints, &newest, &error) &&
      newest >= 0;
}

/* ---- the run ---- */

static void set_flags(struct dtr_sim_run *run) {
  const struct dtr_flags *given = run->options->flags;
  run->flags = (struct dtr_flags){.steps = given->steps,
                                  .threads = 1,
                                  .init = given->init,
                                  .eval_only = given->eval_only,
                                  .data_dir = given->data_dir,
                                  .save = given->eval_only ? NULL : saved_file,
                                  .checkpoint_dir = given->eval_only ? NULL : checkpoints,
                                  .quiet = true};
}

static void digest(const char *bytes, int64_t size, char *text) {
  unsigned char hash[crypto_hash_sha256_BYTES];
  crypto_hash_sha256(hash, (const unsigned char *)bytes, (unsigned long long)size);
  for (size_t i = 0; i < sizeof hash; i++)
    snprintf(text + 2 * i, 3, "%02x", hash[i]);
}

static int64_t steps_of(const struct dtr_sim_options *options) {
  int64_t steps = options->flags->steps;
  if (steps == DTR_FLAG_UNSET)
    steps = options->program->train.steps;
  return steps > 0 ? steps : 20;
}

static uint32_t task_count(const struct dtr_program *program) {
  uint32_t count = 0;
  for (uint32_t j = 0; program->replication && j < program->replication->job_count; j++)
    count += program->replication->jobs[j].tasks;
  return count > 0 ? count : 1;
}

static void end(struct dtr_sim_run *run) {
  int64_t size = 0;
  const char *bytes = dtr_sim_disk_bytes(run->disk, saved_file, &size);
  if (run->result->outcome == DTR_SIM_DONE && run->flags.save) {
    if (bytes)
      digest(bytes, size, run->result->digest);
    else
      dtr_sim_wrong(run, "the run ended well and saved nothing");
  }
  run->result->virtual_time = run->world.now;
  run->result->disk = dtr_sim_disk_counts(run->disk);
}

void dtr_sim_run(const struct dtr_sim_options *options, struct dtr_sim_result *result) {
  struct dtr_sim_run run = {.options = options, .result = result, .world = {.seed = options->seed}};
  memset(result, 0, sizeof *result);
  dtr_error_clear(&result->error);
  set_flags(&run);
  run.random = dtr_sim_random_make(options->seed, PURPOSE);
  dtr_sim_scenario_make(options->seed, options->faults, task_count(options->program),
                        steps_of(options), &run.scenario);
  if (!dtr_sim_disk_new(&run.world, &run.scenario.disk, options->below, options->echo, &run.disk,
                        &result->error)) {
    result->outcome = DTR_SIM_FAILED;
    return;
  }
  if (run.scenario.crash_count > 0 && run.scenario.crashes[0].at_call > 0)
    dtr_sim_disk_crash_at(run.disk, run.scenario.crashes[0].at_call);
  if (options->program->replication && !options->program->replication->is_single)
    dtr_sim_run_job(&run);
  else
    while (run_alone(&run) && result->restarts + 1 < STARTS)
      begin_again(&run);
  end(&run);
  dtr_sim_disk_free(run.disk);
}
