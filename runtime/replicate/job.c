#include "runtime/replicate/job_parts.h"

#include "runtime/cpu.h"
#include "runtime/signals.h"

#include <signal.h>
#include <stdlib.h>

static const int64_t look_around =
    100 * 1000 * 1000; /* ns: for signals, where they can be missed */

/* ---- groups ---- */

static uint32_t client_of(const struct dtr_map *map, uint32_t device) {
  uint32_t task = map->devices[device].task;
  for (uint32_t c = 0; c < map->client_count; c++)
    if (map->clients[c].task == task && map->tasks[task].first_device == device)
      return c;
  return DTR_NONE;
}

static bool is_used(const struct dtr_map *map, uint32_t device) {
  return map->devices[device].replica != DTR_NONE || map->devices[device].owner != DTR_NONE ||
         client_of(map, device) != DTR_NONE;
}

static int used_tasks(const struct dtr_map *map) {
  int count = 0;
  for (uint32_t t = 0; t < map->task_count; t++) {
    bool used = false;
    for (uint32_t d = 0; d < map->tasks[t].device_count; d++)
      used = used || is_used(map, map->tasks[t].first_device + d);
    count += used;
  }
  return count;
}

/* Devices of a task share its threads; each has at least one. */
static int threads_of(const struct dtr_job_run *job, uint32_t device) {
  const struct dtr_task_map *task = &job->map->tasks[job->map->devices[device].task];
  int threads = job->options.threads, used = 0;
  if (threads == 0)
    threads = (int)task->threads;
  if (threads == 0)
    threads = dtr_cpu_count() / used_tasks(job->map);
  for (uint32_t d = 0; d < task->device_count; d++)
    used += is_used(job->map, task->first_device + d);
  threads /= used > 0 ? used : 1;
  return threads < 1 ? 1 : threads > DTR_MAX_THREADS ? DTR_MAX_THREADS : threads;
}

static bool refuse_idle(const struct dtr_job_run *job, struct dtr_error *error) {
  const char *name = job->map->tasks[*job->options.task].name;
  dtr_error_set(error, DTR_STATUS_CONFIG, "the plan has no work for %s", name);
  return dtr_error_hint(error, "do not start it: the others do not wait for it");
}

static bool is_here(const struct dtr_job_run *job, uint32_t device) {
  return !job->options.task || job->map->devices[device].task == *job->options.task;
}

static bool make_groups(struct dtr_job_run *job, struct dtr_error *error) {
  const struct dtr_map *map = job->map;
  job->groups = calloc((size_t)map->device_count + 1, sizeof *job->groups);
  if (!job->groups)
    return dtr_error_memory(error, (int64_t)sizeof *job->groups * map->device_count, "the tasks");
  for (uint32_t d = 0; d < map->device_count; d++) {
    if (!is_used(map, d))
      continue;
    struct dtr_group *group = &job->groups[job->group_count];
    *group = (struct dtr_group){.job = job,
                                .device = d,
                                .client = client_of(map, d),
                                .is_here = is_here(job, d),
                                .threads = threads_of(job, d),
                                .trace_first = job->threads};
    if (group->client == 0)
      job->chief_group = job->group_count;
    if (group->is_here) {
      job->main_group = job->has_groups ? job->main_group : job->group_count;
      job->has_groups = true;
      job->threads += group->threads;
    }
    job->group_count++;
  }
  if (job->groups[job->chief_group].is_here)
    job->main_group = job->chief_group;
  return job->has_groups || refuse_idle(job, error);
}

static uint32_t group_of(const struct dtr_job_run *job, uint32_t party) {
  uint32_t device = dtr_party_device(job->map, party), g = 0;
  if (device == DTR_NONE)
    device = job->map->tasks[dtr_party_task(job->map, party)].first_device;
  while (job->groups[g].device != device)
    g++;
  return g;
}

static bool join_loop(struct dtr_job_run *job, struct dtr_error *error) {
  if (!dtr_loop_new(job->group_count, job->channels->edges, job->channels->count, &job->loop,
                    error))
    return false;
  for (uint32_t g = 0; g < job->group_count; g++)
    job->groups[g].end = dtr_loop_endpoint(job->loop, g);
  return true;
}

static bool join_network(struct dtr_job_run *job, struct dtr_error *error) {
  const struct dtr_job_network *network = job->options.network;
  uint32_t *tasks = calloc((size_t)job->group_count + 1, sizeof *tasks);
  if (!tasks)
    return dtr_error_memory(error, job->group_count, "the channels");
  for (uint32_t g = 0; g < job->group_count; g++)
    tasks[g] = dtr_job_group_task(job, g);
  bool good = network->join(network->context, job->group_count, tasks, job->channels->edges,
                            job->channels->count, error);
  free(tasks);
  for (uint32_t g = 0; good && g < job->group_count; g++)
    if (job->groups[g].is_here)
      job->groups[g].end = network->endpoint(network->context, g);
  return good;
}

static bool join(struct dtr_job_run *job, struct dtr_error *error) {
  uint32_t parties = dtr_party_count(job->map);
  uint32_t *ends = calloc((size_t)parties + 1, sizeof *ends);
  if (!ends)
    return dtr_error_memory(error, parties * (int64_t)sizeof *ends, "the channels");
  for (uint32_t p = 0; p < parties; p++)
    ends[p] = group_of(job, p);
  bool good = dtr_channels_new(job->map, ends, &job->channels, error) &&
              (job->options.network ? join_network(job, error) : join_loop(job, error));
  free(ends);
  return good;
}

/* ---- start and end ---- */

struct dtr_party dtr_group_party_at(struct dtr_group *group, uint32_t number) {
  struct dtr_party party;
  dtr_party_init(&party, group->job->options.program, group->job->channels, &group->end,
                 group->job->options.env, number);
  party.ledger = &group->ledger;
  return party;
}

static uint32_t speaking_task(const struct dtr_job_run *job) {
  return job->options.task ? *job->options.task : job->map->clients[0].task;
}

static struct dtr_task_options task_options(const struct dtr_job_run *job) {
  return (struct dtr_task_options){.program = job->options.program,
                                   .env = job->options.env,
                                   .flags = job->options.flags,
                                   .name = job->map->tasks[speaking_task(job)].name,
                                   .model_dir = job->options.model_dir,
                                   .threads = 1,
                                   .terminal = job->options.terminal,
                                   .synchronous = job->options.synchronous,
                                   .run = job->options.run};
}

/* Only clients read data: a task without one never opens a file of it. */
static bool has_client(const struct dtr_job_run *job) {
  for (uint32_t g = 0; g < job->group_count; g++)
    if (job->groups[g].is_here && job->groups[g].client != DTR_NONE)
      return true;
  return false;
}

static bool open_data(struct dtr_job_run *job, struct dtr_error *error) {
  struct dtr_task_options options = task_options(job);
  if (!dtr_task_new(&options, &job->opener, error))
    return false;
  if (!has_client(job) || dtr_task_open_data(job->opener))
    return true;
  *error = job->opener->error;
  return false;
}

bool dtr_job_make_client(struct dtr_job_run *job, uint32_t client, struct dtr_error *error) {
  struct dtr_task_options task = task_options(job);
  struct dtr_client_options options = {
      .task = &task, .data = job->opener->data, .evaluate_on = job->opener->evaluate_on};
  uint32_t number = dtr_party_of_client(job->map, client);
  struct dtr_group *group = &job->groups[group_of(job, number)];
  if (!group->is_here)
    return true;
  if (group->client != client)
    return dtr_error_set(error, DTR_STATUS_BUG, "clients %u and %u are in one task", group->client,
                         client);
  struct dtr_party party = dtr_group_party_at(group, number);
  if (job->clients[client])
    return dtr_client_renew(&party, &options, &job->clients[client], error);
  return dtr_client_new(&party, client, &options, &job->clients[client], error);
}

static bool make_clients(struct dtr_job_run *job, struct dtr_error *error) {
  job->clients = calloc((size_t)job->map->client_count + 1, sizeof *job->clients);
  if (!job->clients)
    return dtr_error_memory(error, job->map->client_count, "the clients");
  for (uint32_t c = 0; c < job->map->client_count; c++)
    if (!dtr_job_make_client(job, c, error))
      return false;
  return true;
}

static bool open_outputs(struct dtr_job_run *job, struct dtr_error *error) {
  struct dtr_task *chief = dtr_job_chief(job);
  if (!job->clients[0] || dtr_task_open_outputs(chief, job->threads))
    return true;
  *error = chief->error;
  return false;
}

bool dtr_job_new(const struct dtr_job_options *options, struct dtr_job_run **job,
                 struct dtr_error *error) {
  struct dtr_job_run *made = calloc(1, sizeof *made);
  if (!made)
    return dtr_error_memory(error, (int64_t)sizeof *made, "the job");
  made->options = *options;
  made->is_holding = options->run != 0;
  pthread_mutex_init(&made->lock, NULL);
  pthread_cond_init(&made->go_on, NULL);
  if (!dtr_map_new(options->program, &made->map, error) || !make_groups(made, error) ||
      !join(made, error) || !open_data(made, error) || !make_clients(made, error) ||
      !open_outputs(made, error)) {
    dtr_job_free(made);
    return false;
  }
  *job = made;
  return true;
}

void dtr_job_free(struct dtr_job_run *job) {
  if (!job)
    return;
  for (uint32_t c = 0; job->clients && c < job->map->client_count; c++)
    dtr_client_free(job->clients[c]);
  free(job->clients);
  for (uint32_t g = 0; g < job->group_count; g++) {
    dtr_replica_free(job->groups[g].replica);
    dtr_owner_free(job->groups[g].owner);
    dtr_arbiter_free(job->groups[g].arbiter);
    dtr_executor_free(job->groups[g].executor);
  }
  free(job->groups);
  dtr_task_free(job->opener);
  dtr_loop_free(job->loop);
  dtr_channels_free(job->channels);
  dtr_map_free(job->map);
  pthread_mutex_destroy(&job->lock);
  pthread_cond_destroy(&job->go_on);
  free(job);
}

/* ---- a group ---- */

static const struct dtr_data *data_of(const struct dtr_group *group, uint32_t replica) {
  return dtr_map_is_local(group->job->map, replica) ? group->job->opener->evaluate_on : NULL;
}

bool dtr_group_make_replica(struct dtr_group *group, struct dtr_error *error) {
  uint32_t replica = group->job->map->devices[group->device].replica;
  if (replica == DTR_NONE)
    return true;
  struct dtr_party party =
      dtr_group_party_at(group, dtr_party_of_replica(group->job->map, replica));
  if (group->replica) /* the new one takes what the old one did */
    party.ledger = NULL;
  dtr_replica_free(group->replica);
  group->replica = NULL;
  return dtr_replica_new(&party, replica, group->executor, data_of(group, replica), &group->replica,
                         error);
}

static bool make_owner(struct dtr_group *group, struct dtr_error *error) {
  uint32_t owner = group->job->map->devices[group->device].owner;
  if (owner == DTR_NONE)
    return true;
  struct dtr_party party = dtr_group_party_at(group, dtr_party_of_owner(group->job->map, owner));
  return dtr_owner_new(&party, owner, group->executor, &group->owner, error);
}

bool dtr_group_make_arbiter(struct dtr_group *group, struct dtr_error *error) {
  const struct dtr_map *map = group->job->map;
  int64_t lead = group->arbiter ? dtr_arbiter_lead(group->arbiter) : 0;
  if (map->devices[group->device].owner != 0 || map->rule == DTR_RULE_SYNC)
    return true;
  struct dtr_party party = dtr_group_party_at(group, dtr_party_of_arbiter(map));
  dtr_arbiter_free(group->arbiter);
  group->arbiter = NULL;
  if (!dtr_arbiter_new(&party, &group->arbiter, error))
    return false;
  dtr_arbiter_set_lead(group->arbiter, lead);
  return true;
}

static bool start_device(struct dtr_group *group, struct dtr_error *error) {
  struct dtr_job_run *job = group->job;
  uint32_t replica = job->map->devices[group->device].replica;
  uint32_t owner = job->map->devices[group->device].owner;
  dtr_ledger_clear(&group->ledger);
  if (replica == DTR_NONE && owner == DTR_NONE)
    return true;
  struct dtr_executor_options options = {.program = job->options.program,
                                         .env = job->options.env,
                                         .trace = dtr_job_chief(job)->trace,
                                         .threads = group->threads,
                                         .evaluate_only = job->options.flags->eval_only,
                                         .threads_only = replica == DTR_NONE,
                                         .always_share = job->options.always_share,
                                         .ledger = &group->ledger,
                                         .trace_first = group->trace_first};
  if (replica != DTR_NONE)
    options.shards = job->map->replicas[replica].shards;
  return dtr_executor_new(&options, &group->executor, error) &&
         dtr_group_make_replica(group, error) && make_owner(group, error) &&
         dtr_group_make_arbiter(group, error);
}

/* The first party of the device speaks for it. */
static uint32_t first_party(const struct dtr_group *group) {
  const struct dtr_device_map *device = &group->job->map->devices[group->device];
  return device->replica != DTR_NONE ? dtr_party_of_replica(group->job->map, device->replica)
                                     : dtr_party_of_owner(group->job->map, device->owner);
}

void dtr_group_fail(struct dtr_group *group, const struct dtr_error *error) {
  struct dtr_error copy = *error; /* may be that of the party */
  group->failed = dtr_group_party_at(group, first_party(group));
  group->failed.error = copy;
  dtr_party_fail(&group->failed);
}

bool dtr_group_start(struct dtr_group *group) {
  struct dtr_error error;
  dtr_error_clear(&error);
  group->is_started = true;
  if (!start_device(group, &error))
    dtr_group_fail(group, &error);
  return true;
}

static bool poll(struct dtr_group *group) {
  bool progress = false;
  if (atomic_load_explicit(&group->job->is_holding, memory_order_acquire))
    return false;
  if (!group->is_started)
    return dtr_group_start(group);
  if (group->client != DTR_NONE)
    progress = dtr_client_poll(group->job->clients[group->client]);
  if (group->failed.is_failed) {
    dtr_party_is_over(&group->failed, &progress);
    return progress;
  }
  if (group->replica)
    progress = dtr_replica_poll(group->replica) || progress;
  if (group->owner)
    progress = dtr_owner_poll(group->owner) || progress;
  if (group->arbiter)
    progress = dtr_arbiter_poll(group->arbiter) || progress;
  return progress;
}

static bool is_over(const struct dtr_group *group) {
  if (!group->is_here || atomic_load_explicit(&group->job->is_abandoned, memory_order_acquire))
    return true;
  if (!group->is_started)
    return false;
  if (group->client != DTR_NONE &&
      !dtr_client_party(group->job->clients[group->client])->is_finished)
    return false;
  if (group->failed.is_failed)
    return group->failed.is_finished;
  return (!group->replica || dtr_replica_party(group->replica)->is_finished) &&
         (!group->owner || dtr_owner_party(group->owner)->is_finished) &&
         (!group->arbiter || dtr_arbiter_party(group->arbiter)->is_finished);
}

uint32_t dtr_job_groups(const struct dtr_job_run *job) {
  return job->group_count;
}

bool dtr_job_poll(struct dtr_job_run *job, uint32_t group) {
  return poll(&job->groups[group]);
}

bool dtr_job_is_over(const struct dtr_job_run *job, uint32_t group) {
  return is_over(&job->groups[group]);
}

uint32_t dtr_job_group_task(const struct dtr_job_run *job, uint32_t group) {
  return job->map->devices[job->groups[group].device].task;
}

/* ---- a lost task ---- */

static void explain_loss(struct dtr_job_run *job, uint32_t task, struct dtr_error *error) {
  struct dtr_party *party = dtr_job_find_waiting(job, task);
  char text[512] = "nobody waited for it";
  if (party)
    dtr_party_describe(party, text, sizeof text);
  dtr_error_clear(error);
  dtr_error_set(error, DTR_STATUS_PEER_LOST, "%s was lost; %s", job->map->tasks[task].name, text);
  dtr_error_step(error, party ? party->step : dtr_job_chief(job)->step);
}

void dtr_job_lose(struct dtr_job_run *job, uint32_t task) {
  struct dtr_error error;
  if (task != dtr_job_group_task(job, job->chief_group)) {
    if (!job->clients[0]) /* the chief sees it too, and ends the run */
      return;
    explain_loss(job, task, &error);
    dtr_client_abort(job->clients[0], &error);
    return;
  }
  /* Without the chief, nobody tells the others: each ends by itself. */
  explain_loss(job, task, &error);
  dtr_job_abandon(job, &error);
}

void dtr_job_fail(struct dtr_job_run *job, const struct dtr_error *error) {
  if (job->clients[0])
    dtr_client_abort(job->clients[0], error);
  else
    dtr_job_abandon(job, error);
}

void dtr_job_abandon(struct dtr_job_run *job, const struct dtr_error *error) {
  const struct dtr_job_network *network = job->options.network;
  if (!dtr_error_is_set(&dtr_job_chief(job)->error))
    dtr_job_chief(job)->error = *error;
  atomic_store_explicit(&job->is_abandoned, true, memory_order_release);
  dtr_job_unpark(job);
  if (network && network->abandon)
    network->abandon(network->context);
}

/* ---- threads ---- */

/* The thread of the chief, or where the chief is elsewhere, of the first group. */
static bool is_main(const struct dtr_group *group) {
  return group == &group->job->groups[group->job->main_group];
}

static void leave(struct dtr_group *group) {
  const struct dtr_job_network *network = group->job->options.network;
  if (network && network->leave)
    network->leave(network->context, (uint32_t)(group - group->job->groups));
}

static void *drive_group(void *context) {
  struct dtr_group *group = context;
  const struct dtr_env *env = group->job->options.env;
  const struct dtr_job_network *network = group->job->options.network;
  bool wakes = !network || network->wake;
  while (!is_over(group)) {
    if (dtr_job_park(group->job))
      continue;
    int64_t now = dtr_env_now(env);
    dtr_transport_progress(&group->end, now);
    if (!poll(group))
      dtr_transport_wait(&group->end, wakes ? INT64_MAX : now + look_around);
  }
  dtr_job_count_poller(group->job, -1);
  leave(group);
  return NULL;
}

/* Signals are for the main thread. */
static bool start_thread(struct dtr_group *group) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  dtr_job_count_poller(group->job, 1);
  int status = pthread_create(&group->thread, NULL, drive_group, group);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  if (status == 0)
    return true;
  struct dtr_job_run *job = group->job;
  struct dtr_error error;
  dtr_job_count_poller(job, -1);
  dtr_error_clear(&error);
  dtr_error_system(&error, DTR_STATUS_MEMORY, status, "a thread for task %s cannot be started",
                   job->map->tasks[job->map->devices[group->device].task].name);
  dtr_job_fail(job, &error);
  return false;
}

/* The chief ends the run for all; elsewhere a signal ends this process, and the chief loses it. */
static void stop(struct dtr_job_run *job, const char *reason) {
  struct dtr_error error;
  if (job->clients[0]) {
    dtr_task_stop(dtr_job_chief(job), reason);
    return;
  }
  dtr_error_clear(&error);
  dtr_error_set(&error, DTR_STATUS_STOPPED, "stopped by %s", reason);
  dtr_job_abandon(job, &error);
}

static void look_around_now(struct dtr_job_run *job) {
  struct dtr_task *speaker = dtr_job_chief(job);
  const struct dtr_job_network *network = job->options.network;
  int signal = dtr_signals_stop();
  if (signal != 0)
    stop(job, signal == SIGINT ? "SIGINT" : "SIGTERM");
  if (dtr_signals_take_report()) {
    dtr_task_close_line(speaker);
    dtr_job_describe(job, stderr);
    if (network && network->describe)
      network->describe(network->context, stderr);
  }
  if (network && network->look)
    network->look(network->context, job);
}

void dtr_job_drive(struct dtr_job_run *job) {
  struct dtr_group *main_group = &job->groups[job->main_group];
  const struct dtr_env *env = job->options.env;
  uint32_t started = 0;
  for (; started < job->group_count; started++)
    if (job->groups[started].is_here && !is_main(&job->groups[started]) &&
        !start_thread(&job->groups[started]))
      break;
  while (!is_over(main_group)) {
    look_around_now(job);
    int64_t now = dtr_env_now(env);
    dtr_transport_progress(&main_group->end, now);
    bool held = atomic_load_explicit(&job->is_holding, memory_order_relaxed);
    if (!poll(main_group))
      dtr_transport_wait(&main_group->end, now + (held ? look_around / 100 : look_around));
  }
  leave(main_group);
  for (uint32_t g = 0; g < started; g++)
    if (job->groups[g].is_here && !is_main(&job->groups[g]))
      pthread_join(job->groups[g].thread, NULL);
}

/* ---- the end ---- */

struct dtr_task *dtr_job_chief(struct dtr_job_run *job) {
  return job->clients && job->clients[0] ? dtr_client_task(job->clients[0]) : job->opener;
}
