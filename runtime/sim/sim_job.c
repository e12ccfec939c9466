/* A replicated program: a process a task, which can die at any time and return. */
#include "runtime/sim/sim_parts.h"
#include "runtime/task_parts.h"

#include <stdlib.h>
#include <string.h>

enum { POLLS_A_STEP = 1000000 };
/* Longer than all partitions, stalls and returns of a run together. */
static const int64_t longest_silence = INT64_C(600) * 1000000000;
static const int64_t longest_stop = INT64_C(2) * 1000000000; /* after the loss is known */

/* ---- the network of all jobs ---- */

static bool join(void *context, uint32_t ends, const uint32_t *tasks, const struct dtr_edge *edges,
                 uint32_t edge_count, struct dtr_error *error) {
  struct dtr_sim_run *run = context;
  if (run->net)
    return true;
  run->group_count = ends;
  run->groups = calloc((size_t)ends + 1, sizeof *run->groups);
  run->ready = calloc((size_t)ends + 1, sizeof *run->ready);
  run->group_tasks = calloc((size_t)ends + 1, sizeof *run->group_tasks);
  if (!run->groups || !run->ready || !run->group_tasks)
    return dtr_error_memory(error, ends, "the simulation");
  memcpy(run->group_tasks, tasks, ends * sizeof *tasks);
  return dtr_sim_net_new(&run->world, &run->scenario.network, ends, tasks, edges, edge_count,
                         &run->net, error);
}

static struct dtr_endpoint endpoint(void *context, uint32_t end) {
  return dtr_sim_net_endpoint(((struct dtr_sim_run *)context)->net, end);
}

/* A contribution counts once: what an owner takes of a replica, it takes in order. */
static void watch_contributions(struct dtr_sim_run *run, const struct dtr_job_run *job) {
  for (uint32_t e = 0; e < dtr_job_edges(job); e++)
    if (dtr_job_edge_kind(job, e) == DTR_CHANNEL_PUSH)
      dtr_sim_net_take_once(run->net, e);
}

/* ---- processes ---- */

static void wake_groups(struct dtr_sim_run *run, uint32_t task) {
  for (uint32_t g = 0; g < run->group_count; g++)
    if (run->group_tasks[g] == task)
      run->groups[g].is_idle = false;
}

void dtr_sim_poll_recovery(struct dtr_sim_run *run, uint32_t task) {
  struct dtr_sim_task *it = &run->tasks[task];
  it->poll_at = dtr_recovery_poll(it->recovery, run->world.now + run->world.spent);
  if (task == run->chief && dtr_recovery_loss(it->recovery)[0])
    snprintf(run->result->loss, sizeof run->result->loss, "%s", dtr_recovery_loss(it->recovery));
  wake_groups(run, task);
}

static bool start(struct dtr_sim_run *run, uint32_t task, struct dtr_error *error) {
  struct dtr_sim_task *it = &run->tasks[task];
  struct dtr_job_options options = {.program = run->options->program,
                                    .env = dtr_sim_disk_env(run->disk),
                                    .flags = &run->flags,
                                    .model_dir = run->options->model_dir,
                                    .threads = 1,
                                    .synchronous = true,
                                    .network = &run->network,
                                    .task = &it->number,
                                    .run = run->options->seed + 1};
  bool is_first = !run->net;
  if (!dtr_job_new(&options, &it->job, error))
    return false;
  if (is_first)
    watch_contributions(run, it->job);
  dtr_job_actions(it->job, &it->actions);
  struct dtr_recovery_options recovery = {.map = run->map,
                                          .task = task,
                                          .restarts = (uint32_t)it->incarnation,
                                          .incarnation = it->incarnation + 1,
                                          .deadlines = dtr_deadlines_default(),
                                          .actions = &it->actions,
                                          .context = it,
                                          .send = dtr_sim_send};
  it->incarnation++;
  if (!dtr_recovery_new(&recovery, run->world.now, &it->recovery, error))
    return false;
  it->is_up = true;
  it->returns_at = INT64_MAX;
  dtr_sim_net_return(run->net, task);
  dtr_sim_announce(run, task);
  for (uint32_t g = 0; g < run->group_count; g++)
    if (run->group_tasks[g] == task)
      run->groups[g] = (struct dtr_sim_group){0};
  dtr_sim_poll_recovery(run, task);
  return true;
}

static void look_at_lead(struct dtr_sim_run *run, const struct dtr_sim_task *it) {
  const struct dtr_replication *tables = run->options->program->replication;
  int64_t lead = dtr_job_lead(it->job);
  if (lead > run->result->lead)
    run->result->lead = lead;
  if (tables->is_async && tables->staleness >= 0 && lead > tables->staleness)
    dtr_sim_wrong(run, "a client was further ahead of the slowest than the strategy allows,");
}

static void free_process(struct dtr_sim_run *run, struct dtr_sim_task *it) {
  if (it->job)
    look_at_lead(run, it);
  dtr_recovery_free(it->recovery);
  dtr_job_free(it->job);
  it->recovery = NULL;
  it->job = NULL;
  it->is_up = false;
}

static bool is_spare(const struct dtr_sim_run *run, uint32_t task) {
  for (uint32_t o = 0; o < run->map->owner_count; o++)
    if (run->map->devices[run->map->owners[o].device].task == task)
      return false;
  return run->map->rule != DTR_RULE_SYNC && task != run->chief;
}

static int64_t stop_limit(const struct dtr_sim_run *run, int64_t detection) {
  const struct dtr_sim_network *network = &run->scenario.network;
  int64_t limit = run->world.now + detection;
  for (uint32_t i = 0; i < network->partition_count; i++)
    if (network->partitions[i].until > limit)
      limit = network->partitions[i].until;
  return limit + longest_stop + 4 * (network->latency + network->jitter);
}

static void crash(struct dtr_sim_run *run, uint32_t task, const struct dtr_sim_crash *how) {
  struct dtr_sim_task *it = &run->tasks[task];
  int64_t detection = how->detection;
  run->result->crashes++;
  run->result->needed_crashes += !is_spare(run, task);
  if (task == run->chief && !dtr_sim_disk_has_stopped(run->disk))
    dtr_sim_disk_crash(run->disk);
  free_process(run, it);
  if (task == run->chief)
    dtr_sim_disk_start(run->disk);
  dtr_sim_net_crash(run->net, task);
  dtr_sim_bury(run, task, detection);
  it->returns_at = how->return_time < 0 ? INT64_MAX : run->world.now + how->return_time;
  if (!is_spare(run, task)) {
    run->stop_since = run->world.now;
    run->stop_limit = stop_limit(run, detection);
  }
}

static int64_t chief_step(const struct dtr_sim_run *run) {
  const struct dtr_sim_task *chief = &run->tasks[run->chief];
  return chief->is_up ? dtr_job_chief(chief->job)->step : -1;
}

/* In a stop: between the loss of another and the next generation. */
static bool is_due(const struct dtr_sim_run *run, const struct dtr_sim_crash *how) {
  const struct dtr_sim_task *chief = &run->tasks[run->chief];
  if (how->in_recovery)
    return run->result->crashes > 0 && chief->is_up && dtr_recovery_is_standing(chief->recovery);
  return chief_step(run) >= how->step;
}

static void look_for_crashes(struct dtr_sim_run *run) {
  const struct dtr_sim_scenario *scenario = &run->scenario;
  if (dtr_sim_disk_has_stopped(run->disk) && run->tasks[run->chief].is_up) {
    crash(run, run->chief, &scenario->crashes[0]);
    run->has_crashed[0] = true;
  }
  for (uint32_t i = 0; i < scenario->crash_count; i++) {
    const struct dtr_sim_crash *how = &scenario->crashes[i];
    struct dtr_sim_task *it = &run->tasks[how->task];
    if (run->has_crashed[i] || how->at_call > 0 || !it->is_up ||
        dtr_recovery_is_over(it->recovery) || !is_due(run, how) ||
        run->crash_polls[i]++ < how->polls)
      continue;
    run->has_crashed[i] = true;
    crash(run, how->task, how);
  }
}

/* The chief tells the others to end when all is saved. Dying behind that, in its last lines, it has
 * nobody to come back to. */
static bool others_have_ended(const struct dtr_sim_run *run) {
  uint32_t others = 0;
  for (uint32_t t = 0; t < run->map->task_count; t++) {
    const struct dtr_sim_task *it = &run->tasks[t];
    if (!it->is_used || t == run->chief)
      continue;
    if (!it->is_up || !dtr_recovery_is_over(it->recovery))
      return false;
    others++;
  }
  return others > 0;
}

/* A start that fails is the end of a real run as well. */
static void look_for_returns(struct dtr_sim_run *run) {
  struct dtr_error error;
  for (uint32_t t = 0; t < run->map->task_count; t++) {
    struct dtr_sim_task *it = &run->tasks[t];
    if (!it->is_used || it->is_up || it->returns_at > run->world.now)
      continue;
    if (t == run->chief && others_have_ended(run)) {
      it->returns_at = INT64_MAX;
      continue;
    }
    dtr_error_clear(&error);
    run->result->restarts += it->incarnation > 0;
    if (start(run, t, &error))
      continue;
    if (!dtr_sim_disk_has_stopped(run->disk)) {
      dtr_sim_take_error(run, &error);
      return;
    }
    free_process(run, it); /* it has died again, on its way */
    if (!run->tasks[run->chief].is_up)
      dtr_sim_disk_start(run->disk);
    it->returns_at = run->world.now + run->scenario.crashes[0].return_time;
  }
}

/* ---- polls ---- */

static bool chief_is_over(const struct dtr_sim_run *run) {
  const struct dtr_sim_task *chief = &run->tasks[run->chief];
  return chief->is_up && dtr_recovery_is_over(chief->recovery);
}

/* Nobody does anything any more, and nobody who could returns. */
static bool is_over(const struct dtr_sim_run *run) {
  if (run->result->outcome != DTR_SIM_RUNNING)
    return true;
  for (uint32_t t = 0; t < run->map->task_count; t++) {
    const struct dtr_sim_task *it = &run->tasks[t];
    if (it->is_used && it->is_up && !dtr_recovery_is_over(it->recovery))
      return false;
    if (it->is_used && !it->is_up && it->returns_at != INT64_MAX && !chief_is_over(run))
      return false;
  }
  return true;
}

static void sooner(int64_t *next, int64_t time) {
  if (time < *next)
    *next = time;
}

/* The groups that can go on now; when something else happens. */
static uint32_t find_ready(struct dtr_sim_run *run, int64_t *next) {
  uint32_t count = 0;
  *next = dtr_sim_net_next(run->net);
  sooner(next, dtr_sim_next_letter(run));
  for (uint32_t t = 0; t < run->map->task_count; t++) {
    const struct dtr_sim_task *it = &run->tasks[t];
    if (it->is_used)
      sooner(next, it->is_up ? it->poll_at : chief_is_over(run) ? INT64_MAX : it->returns_at);
  }
  for (uint32_t g = 0; g < run->group_count; g++) {
    struct dtr_sim_group *group = &run->groups[g];
    const struct dtr_sim_task *it = &run->tasks[run->group_tasks[g]];
    if (!it->is_up || dtr_job_is_over(it->job, g))
      continue;
    if (dtr_sim_net_take_event(run->net, g))
      group->is_idle = false;
    if (group->is_idle)
      continue;
    if (group->busy_until <= run->world.now)
      run->ready[count++] = g;
    else
      sooner(next, group->busy_until);
  }
  return count;
}

static void poll_group(struct dtr_sim_run *run, uint32_t g) {
  struct dtr_sim_group *group = &run->groups[g];
  uint32_t task = run->group_tasks[g];
  struct dtr_endpoint end = endpoint(run, g);
  int64_t work = run->scenario.compute;
  if (task == run->scenario.slow_task)
    work *= 10;
  run->world.spent = 0;
  run->result->polls++;
  dtr_transport_progress(&end, run->world.now);
  bool progress = dtr_job_poll(run->tasks[task].job, g);
  if (task == run->chief && progress) /* it may have made its last step */
    dtr_sim_poll_recovery(run, task);
  group->is_idle = !progress;
  group->busy_until = run->world.now + run->world.spent;
  if (progress)
    group->busy_until += dtr_sim_random_below(&run->random, work);
  run->world.spent = 0;
}

/* ---- rules ---- */

static void report_violation(struct dtr_sim_run *run) {
  char text[640], edge[256] = "";
  uint32_t number = dtr_sim_net_violation_edge(run->net);
  for (uint32_t t = 0; number != DTR_SIM_ANY && !edge[0] && t < run->map->task_count; t++)
    if (run->tasks[t].is_up)
      dtr_job_edge_text(run->tasks[t].job, number, edge, sizeof edge);
  snprintf(text, sizeof text, "%s (%s)", dtr_sim_net_violation(run->net), edge);
  dtr_sim_wrong(run, text);
}

/* Two seconds after the others know; more where the network keeps the news from them. */
static void look_at_stop(struct dtr_sim_run *run) {
  bool all = true;
  if (run->stop_since < 0)
    return;
  for (uint32_t t = 0; t < run->map->task_count; t++)
    if (run->tasks[t].is_up && !dtr_recovery_is_standing(run->tasks[t].recovery) &&
        !dtr_recovery_is_over(run->tasks[t].recovery))
      all = false;
  if (all || chief_is_over(run)) {
    int64_t time = run->world.now - run->stop_since;
    if (all && time > run->result->stop_time)
      run->result->stop_time = time;
    run->stop_since = -1;
  } else if (run->world.now > run->stop_limit) {
    dtr_sim_wrong(run, "tasks go on long after the loss of another was known,");
  }
}

static void look_at_rules(struct dtr_sim_run *run) {
  const struct dtr_sim_task *chief = &run->tasks[run->chief];
  uint32_t generation = chief->is_up ? dtr_recovery_generation(chief->recovery) : 0;
  int64_t step = chief_step(run);
  look_at_stop(run);
  if (dtr_sim_net_violation(run->net)[0]) {
    report_violation(run);
  } else if (step != run->progress_step || generation != run->progress_generation) {
    run->progress_step = step;
    run->progress_generation = generation;
    run->progress_polls = run->result->polls;
    run->progress_time = run->world.now;
  } else if (run->result->polls - run->progress_polls > POLLS_A_STEP) {
    dtr_sim_wrong(run, "livelock: all are busy, and no step is done,");
  } else if (run->world.now - run->progress_time > longest_silence) {
    dtr_sim_wrong(run, "no step is done for ten minutes,");
  }
}

static void poll_recoveries(struct dtr_sim_run *run) {
  for (uint32_t t = 0; t < run->map->task_count; t++)
    if (run->tasks[t].is_up && run->tasks[t].poll_at <= run->world.now)
      dtr_sim_poll_recovery(run, t);
}

/* True until the job is over. */
static bool advance(struct dtr_sim_run *run) {
  int64_t next;
  dtr_sim_net_advance(run->net);
  look_for_crashes(run);
  look_for_returns(run);
  dtr_sim_deliver(run);
  poll_recoveries(run);
  if (dtr_sim_disk_has_stopped(run->disk)) /* over that: it is a crash */
    return true;
  if (is_over(run))
    return false;
  uint32_t count = find_ready(run, &next);
  if (count > 0)
    poll_group(run, run->ready[dtr_sim_random_below(&run->random, count)]);
  else if (next != INT64_MAX)
    run->world.now = next > run->world.now ? next : run->world.now;
  else
    dtr_sim_wrong(run, "deadlock: nobody can go on");
  if (!dtr_sim_is_wrong(run))
    look_at_rules(run);
  return !dtr_sim_is_wrong(run);
}

/* ---- the run ---- */

static bool prepare(struct dtr_sim_run *run, struct dtr_error *error) {
  if (!dtr_map_new(run->options->program, &run->map, error))
    return false;
  size_t tasks = run->map->task_count;
  run->tasks = calloc(tasks + 1, sizeof *run->tasks);
  run->free_at = calloc(tasks * tasks + 1, sizeof *run->free_at);
  if (!run->tasks || !run->free_at)
    return dtr_error_memory(error, (int64_t)tasks, "the simulation");
  run->chief = run->map->clients[0].task;
  run->network = (struct dtr_job_network){.context = run, .join = join, .endpoint = endpoint};
  run->stop_since = -1;
  run->progress_step = -2;
  for (uint32_t t = 0; t < tasks; t++)
    run->tasks[t] = (struct dtr_sim_task){.number = t, .run = run, .returns_at = INT64_MAX};
  for (uint32_t c = 0; c < run->map->client_count; c++)
    run->tasks[run->map->clients[c].task].is_used = true;
  for (uint32_t d = 0; d < run->map->device_count; d++)
    if (run->map->devices[d].replica != DTR_NONE || run->map->devices[d].owner != DTR_NONE)
      run->tasks[run->map->devices[d].task].is_used = true;
  return true;
}

/* Tasks start within a second, in any order. */
static void start_all(struct dtr_sim_run *run) {
  uint32_t first = run->chief;
  for (uint32_t t = 0; t < run->map->task_count; t++) {
    if (!run->tasks[t].is_used)
      continue;
    run->tasks[t].returns_at = dtr_sim_random_below(&run->random, dtr_sim_second);
    if (run->tasks[t].returns_at < run->tasks[first].returns_at)
      first = t;
  }
  run->tasks[first].returns_at = 0;
  look_for_returns(run); /* the first one makes the network */
}

/* How the chief has ended, or, if it never returned, how the others have. */
static void take_outcome(struct dtr_sim_run *run) {
  const struct dtr_error *error = NULL;
  struct dtr_error nobody;
  dtr_error_clear(&nobody);
  dtr_error_set(&nobody, DTR_STATUS_PEER_LOST, "all tasks are dead, and nobody waits for them");
  for (uint32_t t = 0; t < run->map->task_count; t++) {
    const struct dtr_sim_task *it = &run->tasks[t];
    if (it->is_up && (!error || t == run->chief))
      error = dtr_recovery_error(it->recovery);
    if (it->is_up && t == run->chief)
      run->result->costs = *dtr_recovery_costs(it->recovery);
  }
  dtr_sim_take_error(run, error ? error : &nobody);
}

/* While only clients that can be spared are lost, the others never stop. */
static void look_at_stops(struct dtr_sim_run *run) {
  if (run->result->needed_crashes == 0 && run->result->costs.stops > 0)
    dtr_sim_wrong(run, "all stopped, although nobody was lost whom they need,");
}

static void free_all(struct dtr_sim_run *run) {
  for (uint32_t t = 0; run->tasks && t < run->map->task_count; t++)
    free_process(run, &run->tasks[t]);
  if (run->net)
    run->result->net = dtr_sim_net_counts(run->net);
  dtr_sim_net_free(run->net);
  dtr_sim_free_letters(run);
  free(run->tasks);
  free(run->free_at);
  free(run->groups);
  free(run->ready);
  free(run->group_tasks);
  dtr_map_free(run->map);
  run->tasks = NULL;
}

void dtr_sim_run_job(struct dtr_sim_run *run) {
  struct dtr_error error;
  dtr_error_clear(&error);
  run->result->outcome = DTR_SIM_RUNNING;
  if (!prepare(run, &error)) {
    dtr_sim_take_error(run, &error);
  } else {
    start_all(run);
    while (run->net && advance(run))
      ;
    if (run->result->outcome == DTR_SIM_RUNNING) {
      take_outcome(run);
      look_at_stops(run);
    }
  }
  free_all(run);
}
