#include "runtime/sim/sim.h"

#include "runtime/replicate/job.h"
#include "runtime/sim/scenario.h"
#include "runtime/task_parts.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

enum {
  PURPOSE = 0x0DE5,
  GENERATIONS = 3, /* a job is begun again so often */
  POLLS_A_STEP = 1000000
};
/* Longer than all partitions, stalls and returns of a run together. */
static const int64_t longest_silence = INT64_C(600) * 1000000000;
static const int64_t longest_stop = INT64_C(2) * 1000000000; /* after the loss is known */

static const char saved_file[] = "saved.safetensors", checkpoints[] = "checkpoints";

/* How a group stands. */
struct group {
  int64_t busy_until;
  bool is_idle; /* until something happens to it */
};

struct sim {
  const struct dtr_sim_options *options;
  struct dtr_sim_result *result;
  struct dtr_sim_world world;
  struct dtr_sim_scenario scenario;
  struct dtr_flags flags;
  struct dtr_sim_disk *disk;
  struct dtr_sim_random random;
  /* Of this generation. */
  struct dtr_sim_net *net;
  struct dtr_job_run *job;
  struct group *groups;
  uint32_t *ready; /* groups that can be polled */
  uint32_t group_count;
  int64_t progress_step, progress_polls, progress_time; /* when the chief last got on */
  int64_t crash_polls;
  uint32_t crashed;          /* task */
  bool has_crashed, is_lost; /* lost: and the others know */
  int64_t crash_time, known_at;
};

/* ---- what must not happen ---- */

static void wrong(struct sim *sim, const char *what) {
  struct dtr_error *error = &sim->result->error;
  char list[sizeof error->message] = "";
  sim->result->outcome = DTR_SIM_WRONG;
  FILE *stream = fmemopen(list, sizeof list - 1, "w");
  if (stream && sim->job)
    dtr_job_describe(sim->job, stream);
  if (stream)
    fclose(stream);
  dtr_error_clear(error);
  dtr_error_set(error, DTR_STATUS_BUG, "%s after %.6f s of virtual time and %lld polls\n%s", what,
                (double)sim->world.now * 1e-9, (long long)sim->result->polls, list);
  dtr_error_step(error, sim->job ? dtr_job_chief(sim->job)->step : -1);
}

static bool is_wrong(const struct sim *sim) {
  return sim->result->outcome == DTR_SIM_WRONG;
}

/* ---- the network of a job ---- */

static bool join(void *context, uint32_t ends, const uint32_t *tasks, const struct dtr_edge *edges,
                 uint32_t edge_count, struct dtr_error *error) {
  struct sim *sim = context;
  return dtr_sim_net_new(&sim->world, &sim->scenario.network, ends, tasks, edges, edge_count,
                         &sim->net, error);
}

static struct dtr_endpoint endpoint(void *context, uint32_t end) {
  return dtr_sim_net_endpoint(((struct sim *)context)->net, end);
}

/* ---- a crash ---- */

static uint32_t task_count(const struct dtr_program *program) {
  uint32_t count = 0;
  for (uint32_t j = 0; program->replication && j < program->replication->job_count; j++)
    count += program->replication->jobs[j].tasks;
  return count > 0 ? count : 1;
}

static bool is_gone(const struct sim *sim, uint32_t group) {
  return sim->has_crashed && dtr_job_group_task(sim->job, group) == sim->crashed;
}

static bool is_used(const struct sim *sim, uint32_t task) {
  for (uint32_t g = 0; g < sim->group_count; g++)
    if (dtr_job_group_task(sim->job, g) == task)
      return true;
  return false;
}

static void crash(struct sim *sim, uint32_t task) {
  sim->has_crashed = true;
  sim->crashed = task;
  sim->crash_time = sim->world.now;
  sim->known_at = sim->world.now + sim->scenario.detection;
  dtr_sim_net_crash(sim->net, task);
}

static uint32_t chief_task(const struct sim *sim) {
  const struct dtr_map *map = dtr_job_map(sim->job);
  return map->clients[0].task;
}

static void look_for_crash(struct sim *sim) {
  const struct dtr_sim_scenario *scenario = &sim->scenario;
  if (!sim->has_crashed && dtr_sim_disk_has_stopped(sim->disk))
    crash(sim, chief_task(sim));
  if (sim->has_crashed || scenario->crash_call > 0 || sim->result->restarts > 0 ||
      scenario->crash_task == DTR_SIM_ANY || dtr_job_chief(sim->job)->step < scenario->crash_step ||
      sim->crash_polls++ < scenario->crash_polls || !is_used(sim, scenario->crash_task))
    return;
  crash(sim, scenario->crash_task);
}

/* The others learn of it. */
static void look_for_loss(struct sim *sim) {
  if (!sim->has_crashed || sim->is_lost || sim->world.now < sim->known_at)
    return;
  sim->is_lost = true;
  dtr_job_lose(sim->job, sim->crashed);
  for (uint32_t g = 0; g < sim->group_count; g++)
    sim->groups[g].is_idle = false;
}

/* ---- polls ---- */

static bool is_over(const struct sim *sim) {
  for (uint32_t g = 0; g < sim->group_count; g++)
    if (!is_gone(sim, g) && !dtr_job_is_over(sim->job, g))
      return false;
  return !sim->has_crashed || sim->is_lost;
}

/* The groups that can go on now; the others' next time. */
static uint32_t find_ready(struct sim *sim, int64_t *next) {
  uint32_t count = 0;
  *next = dtr_sim_net_next(sim->net);
  if (sim->has_crashed && !sim->is_lost && sim->known_at < *next)
    *next = sim->known_at;
  for (uint32_t g = 0; g < sim->group_count; g++) {
    struct group *group = &sim->groups[g];
    if (is_gone(sim, g) || dtr_job_is_over(sim->job, g))
      continue;
    if (dtr_sim_net_take_event(sim->net, g))
      group->is_idle = false;
    if (group->is_idle)
      continue;
    if (group->busy_until <= sim->world.now)
      sim->ready[count++] = g;
    else if (group->busy_until < *next)
      *next = group->busy_until;
  }
  return count;
}

static void poll_group(struct sim *sim, uint32_t g) {
  struct group *group = &sim->groups[g];
  struct dtr_endpoint end = endpoint(sim, g);
  int64_t work = sim->scenario.compute;
  if (dtr_job_group_task(sim->job, g) == sim->scenario.slow_task)
    work *= 10;
  sim->world.spent = 0;
  sim->result->polls++;
  dtr_transport_progress(&end, sim->world.now);
  bool progress = dtr_job_poll(sim->job, g);
  group->is_idle = !progress;
  group->busy_until = sim->world.now + sim->world.spent;
  if (progress)
    group->busy_until += dtr_sim_random_below(&sim->random, work);
  sim->world.spent = 0;
}

/* Two seconds after the others know; more where the network keeps the news from them. */
static int64_t stop_limit(const struct sim *sim) {
  const struct dtr_sim_network *network = &sim->scenario.network;
  int64_t limit = sim->known_at;
  for (uint32_t i = 0; i < network->partition_count; i++)
    if (network->partitions[i].until > limit)
      limit = network->partitions[i].until;
  return limit + longest_stop + network->stall_time + network->reconnect;
}

static void report_violation(struct sim *sim) {
  char text[640], edge[256] = "";
  uint32_t number = dtr_sim_net_violation_edge(sim->net);
  if (number != DTR_SIM_ANY)
    dtr_job_edge_text(sim->job, number, edge, sizeof edge);
  snprintf(text, sizeof text, "%s (%s)", dtr_sim_net_violation(sim->net), edge);
  wrong(sim, text);
}

static void look_at_rules(struct sim *sim) {
  int64_t step = dtr_job_chief(sim->job)->step;
  if (dtr_sim_net_violation(sim->net)[0]) {
    report_violation(sim);
  } else if (step != sim->progress_step) {
    sim->progress_step = step;
    sim->progress_polls = sim->result->polls;
    sim->progress_time = sim->world.now;
  } else if (sim->result->polls - sim->progress_polls > POLLS_A_STEP) {
    wrong(sim, "livelock: all are busy, and no step is done,");
  } else if (sim->world.now - sim->progress_time > longest_silence) {
    wrong(sim, "no step is done for ten minutes,");
  } else if (sim->is_lost && sim->world.now > stop_limit(sim)) {
    wrong(sim, "tasks go on long after the loss of another was known,");
  }
}

/* True until the job is over. */
static bool advance(struct sim *sim) {
  int64_t next;
  dtr_sim_net_advance(sim->net);
  look_for_crash(sim);
  look_for_loss(sim);
  if (is_over(sim))
    return false;
  uint32_t count = find_ready(sim, &next);
  if (count > 0)
    poll_group(sim, sim->ready[dtr_sim_random_below(&sim->random, count)]);
  else if (next != INT64_MAX)
    sim->world.now = next;
  else
    wrong(sim, "deadlock: nobody can go on");
  if (!is_wrong(sim))
    look_at_rules(sim);
  return !is_wrong(sim);
}

/* ---- one generation ---- */

static void take_error(struct sim *sim, const struct dtr_error *error) {
  sim->result->outcome = dtr_error_is_set(error) ? DTR_SIM_FAILED : DTR_SIM_DONE;
  sim->result->error = *error;
}

/* No client runs more than k steps ahead of the slowest live one. */
static void look_at_lead(struct sim *sim) {
  const struct dtr_replication *tables = sim->options->program->replication;
  int64_t lead = dtr_job_lead(sim->job);
  if (lead > sim->result->lead)
    sim->result->lead = lead;
  if (tables->is_async && tables->staleness >= 0 && lead > tables->staleness)
    wrong(sim, "a client was further ahead of the slowest than the strategy allows,");
}

static void note_loss(struct sim *sim) {
  const struct dtr_error *error = dtr_task_error(dtr_job_chief(sim->job));
  sim->result->stop_time = sim->world.now - sim->crash_time;
  snprintf(sim->result->loss, sizeof sim->result->loss, "%.*s", (int)sizeof sim->result->loss - 1,
           error->message);
}

static void begin_generation(struct sim *sim) {
  sim->group_count = dtr_job_groups(sim->job);
  sim->groups = calloc((size_t)sim->group_count + 1, sizeof *sim->groups);
  sim->ready = calloc((size_t)sim->group_count + 1, sizeof *sim->ready);
  sim->has_crashed = sim->is_lost = false;
  sim->crash_polls = 0;
  sim->progress_step = -1;
}

static void drive(struct sim *sim) {
  begin_generation(sim);
  if (!sim->groups || !sim->ready) {
    wrong(sim, "no memory");
    return;
  }
  while (advance(sim))
    ;
  if (is_wrong(sim))
    return;
  bool chief_is_gone = sim->has_crashed && sim->crashed == chief_task(sim);
  if (!chief_is_gone)
    dtr_job_finish(sim->job);
  if (sim->has_crashed)
    note_loss(sim);
  else
    sim->has_crashed = dtr_sim_disk_has_stopped(sim->disk); /* with its last words */
  take_error(sim, dtr_task_error(dtr_job_chief(sim->job)));
  look_at_lead(sim);
  if (chief_is_gone && !dtr_sim_disk_has_stopped(sim->disk))
    dtr_sim_disk_crash(sim->disk);
}

static void add_counts(struct sim *sim) {
  struct dtr_sim_net_counts *sum = &sim->result->net;
  struct dtr_sim_net_counts more = dtr_sim_net_counts(sim->net);
  sum->messages += more.messages;
  sum->stalled += more.stalled;
  sum->broken += more.broken;
  sum->duplicates += more.duplicates;
  sum->held += more.held;
  sum->lost += more.lost;
}

static void run_job(struct sim *sim) {
  const struct dtr_job_network network = {.context = sim, .join = join, .endpoint = endpoint};
  struct dtr_error error;
  struct dtr_job_options options = {.program = sim->options->program,
                                    .env = dtr_sim_disk_env(sim->disk),
                                    .flags = &sim->flags,
                                    .model_dir = sim->options->model_dir,
                                    .threads = 1,
                                    .synchronous = true,
                                    .network = &network};
  dtr_error_clear(&error);
  if (dtr_job_new(&options, &sim->job, &error)) {
    drive(sim);
    add_counts(sim);
  } else {
    sim->has_crashed = dtr_sim_disk_has_stopped(sim->disk); /* it died before it was joined */
    take_error(sim, &error);
  }
  dtr_job_free(sim->job);
  dtr_sim_net_free(sim->net);
  free(sim->groups);
  free(sim->ready);
  sim->job = NULL;
  sim->net = NULL;
  sim->groups = NULL;
  sim->ready = NULL;
}

/* One device: no network, but the disk and the clock. */
static void run_alone(struct sim *sim) {
  struct dtr_task *task;
  struct dtr_error error;
  struct dtr_task_options options = {.program = sim->options->program,
                                     .env = dtr_sim_disk_env(sim->disk),
                                     .flags = &sim->flags,
                                     .name = "worker/0",
                                     .model_dir = sim->options->model_dir,
                                     .threads = 1,
                                     .synchronous = true};
  dtr_error_clear(&error);
  if (!dtr_task_new(&options, &task, &error)) {
    take_error(sim, &error);
    return;
  }
  while (!dtr_task_finished(task)) {
    sim->world.spent = 0;
    sim->result->polls++;
    int64_t next = dtr_task_poll(task, sim->world.now);
    sim->world.now += sim->world.spent + dtr_sim_random_below(&sim->random, sim->scenario.compute);
    if (next != INT64_MAX && next > sim->world.now)
      sim->world.now = next;
  }
  sim->has_crashed = dtr_sim_disk_has_stopped(sim->disk);
  take_error(sim, dtr_task_error(task));
  dtr_task_free(task);
}

/* ---- the run ---- */

static void set_flags(struct sim *sim) {
  const struct dtr_flags *given = sim->options->flags;
  sim->flags = (struct dtr_flags){.steps = given->steps,
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

/* From a checkpoint if there is one: the task may have died before the first. */
static bool begin_again(struct sim *sim) {
  const struct dtr_env *env = dtr_sim_disk_env(sim->disk);
  struct dtr_error error;
  int64_t newest;
  if (!sim->has_crashed || is_wrong(sim) || sim->result->restarts + 1 >= GENERATIONS)
    return false;
  if (sim->result->outcome == DTR_SIM_FAILED && !dtr_sim_disk_has_stopped(sim->disk) &&
      sim->result->error.status != DTR_STATUS_PEER_LOST)
    return false;
  dtr_sim_disk_start(sim->disk);
  dtr_error_clear(&error);
  sim->result->restarts++;
  sim->world.now += sim->scenario.return_time;
  sim->flags.resume = dtr_checkpoint_newest(env, checkpoints, &newest, &error) && newest >= 0;
  sim->has_crashed = false;
  return true;
}

static int64_t steps_of(const struct dtr_sim_options *options) {
  int64_t steps = options->flags->steps;
  if (steps == DTR_FLAG_UNSET)
    steps = options->program->train.steps;
  return steps > 0 ? steps : 20;
}

static void end(struct sim *sim) {
  int64_t size = 0;
  const char *bytes = dtr_sim_disk_bytes(sim->disk, saved_file, &size);
  if (sim->result->outcome == DTR_SIM_DONE && sim->flags.save) {
    if (bytes)
      digest(bytes, size, sim->result->digest);
    else
      wrong(sim, "the run ended well and saved nothing");
  }
  sim->result->virtual_time = sim->world.now;
  sim->result->disk = dtr_sim_disk_counts(sim->disk);
}

void dtr_sim_run(const struct dtr_sim_options *options, struct dtr_sim_result *result) {
  struct sim sim = {.options = options, .result = result, .world = {.seed = options->seed}};
  memset(result, 0, sizeof *result);
  dtr_error_clear(&result->error);
  set_flags(&sim);
  sim.random = dtr_sim_random_make(options->seed, PURPOSE);
  dtr_sim_scenario_make(options->seed, options->faults, task_count(options->program),
                        steps_of(options), &sim.scenario);
  if (!dtr_sim_disk_new(&sim.world, &sim.scenario.disk, options->below, options->echo, &sim.disk,
                        &result->error)) {
    result->outcome = DTR_SIM_FAILED;
    return;
  }
  if (sim.scenario.crash_call > 0)
    dtr_sim_disk_crash_at(sim.disk, sim.scenario.crash_call);
  do {
    if (options->program->replication)
      run_job(&sim);
    else
      run_alone(&sim);
  } while (begin_again(&sim));
  end(&sim);
  dtr_sim_disk_free(sim.disk);
}
