/* What recovery orders, carried out on the groups that are here. */
#include "runtime/replicate/job_parts.h"

#include <string.h>

/* ---- standing still ---- */

bool dtr_job_park(struct dtr_job_run *job) {
  if (!atomic_load_explicit(&job->is_holding, memory_order_acquire))
    return false;
  pthread_mutex_lock(&job->lock);
  job->parked++;
  while (atomic_load(&job->is_holding) && !atomic_load(&job->is_abandoned))
    pthread_cond_wait(&job->go_on, &job->lock);
  job->parked--;
  pthread_mutex_unlock(&job->lock);
  return true;
}

void dtr_job_unpark(struct dtr_job_run *job) {
  pthread_mutex_lock(&job->lock);
  pthread_cond_broadcast(&job->go_on);
  pthread_mutex_unlock(&job->lock);
}

void dtr_job_count_poller(struct dtr_job_run *job, int change) {
  pthread_mutex_lock(&job->lock);
  job->pollers += (uint32_t)change;
  pthread_mutex_unlock(&job->lock);
}

static void hold(void *context) {
  struct dtr_job_run *job = context;
  const struct dtr_job_network *network = job->options.network;
  atomic_store(&job->is_holding, true);
  if (network && network->wake)
    network->wake(network->context);
}

static bool is_held(void *context) {
  struct dtr_job_run *job = context;
  pthread_mutex_lock(&job->lock);
  bool held = atomic_load(&job->is_holding) && job->parked == job->pollers;
  pthread_mutex_unlock(&job->lock);
  return held;
}

static void release(void *context) {
  struct dtr_job_run *job = context;
  atomic_store(&job->is_holding, false);
  dtr_job_unpark(job);
}

/* ---- what there is ---- */

static void report(void *context, struct dtr_recovery_state *state) {
  struct dtr_job_run *job = context;
  *state = (struct dtr_recovery_state){.is_live = true, .low = INT64_MAX, .high = -1};
  state->client_step = -1;
  for (uint32_t g = 0; g < job->group_count; g++) {
    struct dtr_group *group = &job->groups[g];
    if (!group->is_here)
      continue;
    state->refused += dtr_transport_refused(&group->end);
    if (group->client != DTR_NONE && job->clients[group->client])
      state->client_step = dtr_client_steps(job->clients[group->client]);
    if (job->map->devices[group->device].owner == DTR_NONE)
      continue;
    int64_t version = group->owner ? dtr_owner_version(group->owner) : -1;
    state->has_owners = true;
    state->is_live = state->is_live && version >= 0;
    state->low = version < state->low ? version : state->low;
    state->high = version > state->high ? version : state->high;
  }
}

struct dtr_party *dtr_job_find_waiting(struct dtr_job_run *job, uint32_t task) {
  for (uint32_t i = 0; i < job->group_count * DTR_PARTIES_OF_GROUP; i++) {
    struct dtr_party *party =
        dtr_group_party(&job->groups[i / DTR_PARTIES_OF_GROUP], i % DTR_PARTIES_OF_GROUP);
    if (!party || party->is_finished || dtr_party_task(job->map, party->number) == task)
      continue;
    uint32_t edge = atomic_load_explicit(&party->waits_for, memory_order_relaxed);
    if (edge == DTR_NONE)
      continue;
    const struct dtr_channel *channel = &job->channels->channels[edge];
    if (dtr_party_task(job->map, channel->from) == task ||
        dtr_party_task(job->map, channel->to) == task)
      return party;
  }
  return NULL;
}

static int64_t waiting(void *context, uint32_t task, char *text, size_t size) {
  struct dtr_job_run *job = context;
  struct dtr_party *party = dtr_job_find_waiting(job, task);
  text[0] = 0;
  if (!party)
    return -1;
  dtr_party_describe(party, text, size);
  return atomic_load_explicit(&party->waits_step, memory_order_relaxed);
}

/* ---- a generation ---- */

static bool is_end(const struct dtr_job_run *job, uint32_t group, uint32_t edge) {
  return job->channels->edges[edge].from == group || job->channels->edges[edge].to == group;
}

static void reset_all(struct dtr_job_run *job, uint32_t generation) {
  for (uint32_t g = 0; g < job->group_count; g++)
    for (uint32_t e = 0; job->groups[g].is_here && e < job->channels->count; e++)
      if (is_end(job, g, e))
        dtr_transport_reset(&job->groups[g].end, e, generation);
}

static void reset_with(struct dtr_job_run *job, uint32_t task, uint32_t generation) {
  for (uint32_t g = 0; g < job->group_count; g++)
    for (uint32_t e = 0; job->groups[g].is_here && e < job->channels->count; e++) {
      const struct dtr_channel *channel = &job->channels->channels[e];
      if (is_end(job, g, e) && (dtr_party_task(job->map, channel->from) == task ||
                                dtr_party_task(job->map, channel->to) == task))
        dtr_transport_reset(&job->groups[g].end, e, generation);
    }
}

/* A device that could not be started says so again. */
static bool renew_group(struct dtr_group *group, struct dtr_error *error) {
  const struct dtr_map *map = group->job->map;
  if (group->failed.is_failed)
    dtr_group_fail(group, &group->failed.error);
  if (group->failed.is_failed)
    return true;
  if (group->owner) {
    struct dtr_party party =
        dtr_group_party_at(group, dtr_party_of_owner(map, map->devices[group->device].owner));
    party.ledger = NULL; /* it takes what it did before */
    if (!dtr_owner_renew(&party, &group->owner, error))
      return false;
  }
  return dtr_group_make_replica(group, error) && dtr_group_make_arbiter(group, error);
}

static bool renew(struct dtr_job_run *job, struct dtr_error *error) {
  for (uint32_t g = 0; g < job->group_count; g++)
    if (job->groups[g].is_here && !renew_group(&job->groups[g], error))
      return false;
  for (uint32_t c = 0; c < job->map->client_count; c++)
    if (job->clients[c] && !dtr_job_make_client(job, c, error))
      return false;
  return true;
}

/* Not by the first polls: a task may be lost before these. */
static void start_groups(struct dtr_job_run *job) {
  for (uint32_t g = 0; g < job->group_count; g++)
    if (job->groups[g].is_here)
      dtr_group_start(&job->groups[g]);
}

static bool go(void *context, struct dtr_recovery_message *order, struct dtr_error *error) {
  struct dtr_job_run *job = context;
  reset_all(job, order->generation);
  if (!job->has_gone)
    start_groups(job);
  else if (!renew(job, error))
    return false;
  job->has_gone = true;
  if (order->source == DTR_RECOVERY_JOINING)
    for (uint32_t c = 0; c < job->map->client_count; c++)
      if (job->clients[c])
        dtr_client_join_at(job->clients[c], order->step);
  if (!job->clients[0] || dtr_client_load(job->clients[0], order))
    return true;
  *error = dtr_job_chief(job)->error;
  return false;
}

/* ---- relaxed rules: one task ---- */

static void drop(void *context, uint32_t task, uint32_t generation) {
  struct dtr_job_run *job = context;
  reset_with(job, task, generation);
  for (uint32_t c = 0; c < job->map->client_count; c++) {
    if (job->map->clients[c].task != task)
      continue;
    if (job->clients[0])
      dtr_client_drop(job->clients[0], c);
    for (uint32_t g = 0; g < job->group_count; g++) {
      if (job->groups[g].owner)
        dtr_owner_drop(job->groups[g].owner, c);
      if (job->groups[g].arbiter)
        dtr_arbiter_drop(job->groups[g].arbiter, c);
    }
  }
}

static void admit(void *context, uint32_t task, uint32_t generation, int64_t *step,
                  int64_t *round) {
  struct dtr_job_run *job = context;
  *step = -1;
  *round = 0;
  for (uint32_t c = 0; c < job->map->client_count; c++)
    for (uint32_t g = 0; g < job->group_count; g++)
      if (job->map->clients[c].task == task && job->groups[g].arbiter)
        dtr_arbiter_admit(job->groups[g].arbiter, c, generation, step, round);
}

static void join(void *context, const struct dtr_recovery_message *order) {
  struct dtr_job_run *job = context;
  reset_with(job, order->task, order->generation);
  for (uint32_t c = 0; c < job->map->client_count; c++) {
    if (job->map->clients[c].task != order->task)
      continue;
    if (job->clients[0])
      dtr_client_join_other(job->clients[0], c);
    for (uint32_t g = 0; g < job->group_count; g++)
      if (job->groups[g].owner)
        dtr_owner_join(job->groups[g].owner, c, order->step, order->round, order->generation);
  }
}

/* ---- what it has cost ---- */

static int64_t sum(const int64_t *counts) {
  int64_t total = 0;
  for (int t = 0; t < DTR_RECOVERY_TASKS; t++)
    total += counts[t];
  return total;
}

static void log_tasks(const struct dtr_job_run *job, struct dtr_json *json, const char *name,
                      const int64_t *counts) {
  bool any = false;
  dtr_json_raw(json, ", \"");
  dtr_json_raw(json, name);
  dtr_json_raw(json, "\": {");
  for (uint32_t t = 0; t < job->map->task_count && t < DTR_RECOVERY_TASKS; t++) {
    if (counts[t] == 0)
      continue;
    dtr_json_raw(json, any ? ", " : "");
    dtr_json_string(json, job->map->tasks[t].name);
    dtr_json_raw(json, ": ");
    dtr_json_integer(json, counts[t]);
    any = true;
  }
  dtr_json_raw(json, "}");
}

static void tell_costs(struct dtr_job_run *job, const struct dtr_recovery_costs *costs) {
  struct dtr_task *chief = dtr_job_chief(job);
  struct dtr_json *json = &chief->log.json;
  char text[512];
  if (sum(costs->losses) == 0 && costs->stops == 0)
    return;
  snprintf(text, sizeof text,
           "failures: %lld tasks lost, %lld back; all stopped %lld times, %lld steps made again; "
           "%lld messages of dead generations refused",
           (long long)sum(costs->losses), (long long)sum(costs->returns), (long long)costs->stops,
           (long long)costs->steps_again, (long long)costs->refused);
  dtr_progress_note(&chief->progress, text);
  if (!chief->log.path)
    return;
  dtr_json_raw(json, "{\"failures\": {\"stops\": ");
  dtr_json_integer(json, costs->stops);
  dtr_json_raw(json, ", \"steps_again\": ");
  dtr_json_integer(json, costs->steps_again);
  dtr_json_raw(json, ", \"refused_messages\": ");
  dtr_json_integer(json, costs->refused);
  log_tasks(job, json, "losses", costs->losses);
  log_tasks(job, json, "returns", costs->returns);
  dtr_json_raw(json, "}}\n");
}

/* ---- the end ---- */

static void end(void *context, const struct dtr_error *error) {
  dtr_job_abandon(context, error);
}

/* Results are shown and saved while all others still stand by: who dies over that is waited for. */
static const struct dtr_error *ending(void *context, const struct dtr_recovery_costs *costs) {
  struct dtr_job_run *job = context;
  if (!job->clients[0] || !dtr_client_is_ending(job->clients[0]))
    return NULL;
  if (!job->is_finished)
    tell_costs(job, costs);
  dtr_job_finish(job);
  return &dtr_job_chief(job)->error;
}

static void note(void *context, const char *text) {
  dtr_progress_warn(&dtr_job_chief(context)->progress, text);
}

void dtr_job_actions(struct dtr_job_run *job, struct dtr_recovery_actions *actions) {
  *actions = (struct dtr_recovery_actions){.context = job,
                                           .hold = hold,
                                           .is_held = is_held,
                                           .release = release,
                                           .report = report,
                                           .waiting = waiting,
                                           .go = go,
                                           .drop = drop,
                                           .admit = admit,
                                           .join = join,
                                           .end = end,
                                           .ending = ending,
                                           .note = note};
}
