/* What the chief decides: when all stop, from where they go on, and who takes part. */
#include "runtime/replicate/recovery_parts.h"

#include <stdarg.h>

#include <stdlib.h>
#include <string.h>

static const double second = 1e9;

/* ---- tasks ---- */

static bool has_owner(const struct dtr_map *map, uint32_t task) {
  for (uint32_t o = 0; o < map->owner_count; o++)
    if (map->devices[map->owners[o].device].task == task)
      return true;
  return false;
}

static bool is_used(const struct dtr_map *map, uint32_t task) {
  for (uint32_t c = 0; c < map->client_count; c++)
    if (map->clients[c].task == task)
      return true;
  for (uint32_t d = 0; d < map->device_count; d++)
    if (map->devices[d].task == task &&
        (map->devices[d].replica != DTR_NONE || map->devices[d].owner != DTR_NONE))
      return true;
  return false;
}

bool dtr_recovery_new_chief(struct dtr_recovery *recovery, int64_t now) {
  const struct dtr_map *map = recovery->options.map;
  recovery->peers = calloc((size_t)map->task_count + 1, sizeof *recovery->peers);
  if (!recovery->peers)
    return false;
  for (uint32_t t = 0; t < map->task_count; t++)
    recovery->peers[t] = (struct dtr_recovery_peer){
        .is_used = is_used(map, t), .has_owners = has_owner(map, t), .absent_since = now};
  recovery->is_gathering = true;
  recovery->lost = DTR_NONE;
  recovery->lost_step = -1;
  dtr_recovery_chief_present(recovery, recovery->chief, recovery->options.incarnation, now);
  return true;
}

/* Under relaxed rules the others can do without a task that has only a client, but the chief. */
static bool is_spare(const struct dtr_recovery *recovery, uint32_t task) {
  return recovery->options.map->rule != DTR_RULE_SYNC && task != recovery->chief &&
         !recovery->peers[task].has_owners;
}

static void tell_all(struct dtr_recovery *recovery, const struct dtr_recovery_message *order,
                     uint32_t but, int64_t now) {
  for (uint32_t t = 0; t < recovery->options.map->task_count; t++) {
    const struct dtr_recovery_peer *peer = &recovery->peers[t];
    if (t != but && peer->is_used && peer->is_present && peer->place == DTR_PEER_IN)
      dtr_recovery_tell(recovery, t, order, now);
  }
}

static void count_task(int64_t *counts, uint32_t task) {
  counts[task < DTR_RECOVERY_TASKS ? task : DTR_RECOVERY_TASKS - 1]++;
}

static void __attribute__((format(printf, 2, 3)))
note(struct dtr_recovery *recovery, const char *format, ...) {
  char text[1024];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  recovery->actions->note(recovery->actions->context, text);
}

/* ---- the end ---- */

static void begin_end(struct dtr_recovery *recovery, const struct dtr_error *error, int64_t now) {
  struct dtr_recovery_message order = {.kind = DTR_RECOVERY_END,
                                       .task = DTR_NONE,
                                       .generation = recovery->generation,
                                       .costs = recovery->costs,
                                       .error = *error};
  recovery->error = order.error;
  recovery->is_ending = true;
  recovery->is_gathering = false;
  recovery->ending_since = now;
  for (uint32_t t = 0; t < recovery->options.map->task_count; t++)
    if (recovery->peers[t].is_used && recovery->peers[t].is_present)
      dtr_recovery_tell(recovery, t, &order, now);
}

static int64_t await_end(struct dtr_recovery *recovery, int64_t now) {
  int64_t deadline = recovery->ending_since + recovery->options.deadlines.shutdown;
  uint32_t late = DTR_NONE;
  for (uint32_t t = 0; t < recovery->options.map->task_count; t++) {
    const struct dtr_recovery_peer *peer = &recovery->peers[t];
    if (peer->is_used && peer->is_present && !peer->has_ended)
      late = t;
  }
  if (late != DTR_NONE && now < deadline)
    return deadline;
  if (late != DTR_NONE)
    note(recovery, "%s has not ended within %.1f s (--deadline shutdown): not waiting any longer",
         dtr_recovery_name(recovery, late), (double)recovery->options.deadlines.shutdown / second);
  recovery->phase = DTR_RECOVERY_OVER;
  return INT64_MAX;
}

/* ---- stop ---- */

static void ask(struct dtr_recovery *recovery, uint32_t task, int64_t now) {
  struct dtr_recovery_peer *peer = &recovery->peers[task];
  peer->asked = ++recovery->stops;
  peer->has_reported = false;
  struct dtr_recovery_message order = {.kind = DTR_RECOVERY_STOP,
                                       .generation = recovery->generation,
                                       .task = recovery->lost,
                                       .round = peer->asked};
  dtr_recovery_tell(recovery, task, &order, now);
}

static void begin_gather(struct dtr_recovery *recovery, uint32_t lost, int64_t now) {
  recovery->is_gathering = true;
  recovery->is_told = false;
  recovery->lost = lost;
  recovery->lost_step = -1;
  recovery->waiting[0] = 0;
  recovery->costs.stops++;
  for (uint32_t t = 0; t < recovery->options.map->task_count; t++) {
    recovery->peers[t].place = DTR_PEER_IN;
    if (recovery->peers[t].is_used && recovery->peers[t].is_present)
      ask(recovery, t, now);
  }
}

static void drop(struct dtr_recovery *recovery, uint32_t task, int64_t now) {
  struct dtr_recovery_message order = {
      .kind = DTR_RECOVERY_DROP, .generation = ++recovery->generation, .task = task};
  recovery->peers[task].place = DTR_PEER_OUT;
  tell_all(recovery, &order, task, now);
}

void dtr_recovery_chief_lost(struct dtr_recovery *recovery, uint32_t task, uint64_t incarnation,
                             bool is_gone, int64_t now) {
  struct dtr_recovery_peer *peer = &recovery->peers[task];
  if (!peer->is_used || !peer->is_present || peer->incarnation != incarnation)
    return;
  if (is_gone) {
    peer->is_present = peer->has_reported = false;
    peer->absent_since = now;
    count_task(recovery->costs.losses, task);
  }
  if (recovery->is_ending || recovery->is_gathering)
    return;
  if (!is_spare(recovery, task)) {
    begin_gather(recovery, task, now);
    return;
  }
  drop(recovery, task, now);
  note(recovery, "%s was lost; the others go on without it", dtr_recovery_name(recovery, task));
  if (!is_gone) {
    peer->place = DTR_PEER_ASKED;
    ask(recovery, task, now);
  }
}

void dtr_recovery_chief_present(struct dtr_recovery *recovery, uint32_t task, uint64_t incarnation,
                                int64_t now) {
  struct dtr_recovery_peer *peer = &recovery->peers[task];
  if (!peer->is_used || (peer->is_present && peer->incarnation == incarnation))
    return;
  if (peer->is_present)
    dtr_recovery_chief_lost(recovery, task, peer->incarnation, true, now);
  if (peer->incarnation != 0)
    count_task(recovery->costs.returns, task);
  peer->is_present = true;
  peer->has_ended = false;
  peer->refused = 0;
  peer->incarnation = incarnation;
  if (recovery->is_ending) {
    struct dtr_recovery_message order = {.kind = DTR_RECOVERY_END, .error = recovery->error};
    dtr_recovery_tell(recovery, task, &order, now);
  } else if (recovery->is_gathering) {
    ask(recovery, task, now);
  } else if (peer->place == DTR_PEER_OUT) {
    peer->place = DTR_PEER_ASKED;
    ask(recovery, task, now);
  }
}

/* ---- what the others say ---- */

static int64_t larger(int64_t a, int64_t b) {
  return a > b ? a : b;
}

/* A chief that has returned learns what it was told. */
static void merge_costs(struct dtr_recovery_costs *into, const struct dtr_recovery_costs *from) {
  into->stops = larger(into->stops, from->stops);
  into->steps_again = larger(into->steps_again, from->steps_again);
  for (int t = 0; t < DTR_RECOVERY_TASKS; t++) {
    into->losses[t] = larger(into->losses[t], from->losses[t]);
    into->returns[t] = larger(into->returns[t], from->returns[t]);
  }
}

static void count_refused(struct dtr_recovery *recovery, uint32_t from,
                          const struct dtr_recovery_state *state) {
  recovery->costs.refused += state->refused - recovery->peers[from].refused;
  recovery->peers[from].refused = state->refused;
}

static void hear_report(struct dtr_recovery *recovery, uint32_t from,
                        const struct dtr_recovery_message *message) {
  struct dtr_recovery_peer *peer = &recovery->peers[from];
  if (!peer->is_present || message->round != peer->asked)
    return;
  count_refused(recovery, from, &message->state);
  peer->has_reported = true;
  peer->generation = message->generation;
  peer->state = message->state;
  if (recovery->generation == 0)
    merge_costs(&recovery->costs, &message->costs);
  if (message->text[0] && !recovery->waiting[0]) {
    memcpy(recovery->waiting, message->text, sizeof recovery->waiting);
    recovery->lost_step = message->step;
  }
  if (peer->place == DTR_PEER_ASKED)
    peer->place = DTR_PEER_READY;
}

static int64_t chief_step(struct dtr_recovery *recovery) {
  struct dtr_recovery_state state = {.client_step = 0};
  recovery->actions->report(recovery->actions->context, &state);
  return state.client_step < 0 ? 0 : state.client_step;
}

/* From now on the task takes part. */
static void join(struct dtr_recovery *recovery, const struct dtr_recovery_message *admitted,
                 int64_t now) {
  uint32_t task = admitted->task;
  struct dtr_recovery_message order = {.kind = DTR_RECOVERY_JOIN,
                                       .generation = recovery->peers[task].stay,
                                       .task = task,
                                       .source = DTR_RECOVERY_JOINING,
                                       .step = admitted->step,
                                       .round = admitted->round,
                                       .costs = recovery->costs};
  if (recovery->peers[task].place != DTR_PEER_ADMITTED || !recovery->peers[task].is_present)
    return;
  if (order.step < 0) /* no clock: where the chief is */
    order.step = chief_step(recovery);
  tell_all(recovery, &order, task, now);
  order.kind = DTR_RECOVERY_GO;
  dtr_recovery_tell(recovery, task, &order, now);
  recovery->peers[task].place = DTR_PEER_IN;
  note(recovery, "%s is back and goes on with step %lld", dtr_recovery_name(recovery, task),
       (long long)order.step + 1);
}

void dtr_recovery_chief_hear(struct dtr_recovery *recovery, uint32_t from,
                             const struct dtr_recovery_message *message, int64_t now) {
  switch (message->kind) {
  case DTR_RECOVERY_REPORT:
    hear_report(recovery, from, message);
    break;
  case DTR_RECOVERY_LOST:
    if (message->task < recovery->options.map->task_count)
      dtr_recovery_chief_lost(recovery, message->task, message->incarnation, false, now);
    break;
  case DTR_RECOVERY_ADMITTED:
    if (message->task < recovery->options.map->task_count && !recovery->is_gathering &&
        !recovery->is_ending)
      join(recovery, message, now);
    break;
  default:
    count_refused(recovery, from, &message->state);
    recovery->peers[from].has_ended = true;
  }
}

/* ---- go ---- */

static bool is_under_way(const struct dtr_recovery *recovery) {
  for (uint32_t t = 0; t < recovery->options.map->task_count; t++)
    if (recovery->peers[t].has_reported && recovery->peers[t].generation > 0)
      return true;
  return recovery->generation > 0;
}

/* If all were lost at once, nobody knows the last one: each start of the chief has its own
 * thousand.
 */
static uint32_t last_generation(const struct dtr_recovery *recovery) {
  enum { GENERATIONS = 1000, STARTS = 1000000 };
  uint32_t last = recovery->options.restarts % STARTS * GENERATIONS;
  if (recovery->generation > last)
    last = recovery->generation;
  for (uint32_t t = 0; t < recovery->options.map->task_count; t++)
    if (recovery->peers[t].has_reported && recovery->peers[t].generation > last)
      last = recovery->peers[t].generation;
  return last;
}

/* The least (most) number of steps that a client has made. */
static int64_t client_step(const struct dtr_recovery *recovery, bool most) {
  int64_t step = -1;
  for (uint32_t t = 0; t < recovery->options.map->task_count; t++) {
    const struct dtr_recovery_peer *peer = &recovery->peers[t];
    int64_t its = peer->has_reported && peer->generation > 0 ? peer->state.client_step : -1;
    if (its >= 0 && (step < 0 || (most ? its > step : its < step)))
      step = its;
  }
  return step;
}

/* The version that all owners hold; -1: none, or not the same. */
static int64_t common_version(const struct dtr_recovery *recovery, bool *is_whole) {
  int64_t version = -1;
  bool is_first = true;
  *is_whole = true;
  for (uint32_t t = 0; t < recovery->options.map->task_count; t++) {
    const struct dtr_recovery_peer *peer = &recovery->peers[t];
    if (!peer->has_owners)
      continue;
    *is_whole = *is_whole && peer->state.is_live;
    if (is_first)
      version = peer->state.low;
    is_first = false;
    if (peer->state.low != version || peer->state.high != version)
      version = -1;
  }
  return version;
}

/* What the owners hold can be gone on with; the step that follows. */
static bool is_live(const struct dtr_recovery *recovery, int64_t *step) {
  bool is_whole;
  int64_t version = common_version(recovery, &is_whole);
  int64_t chief = recovery->peers[recovery->chief].state.client_step;
  if (!is_whole)
    return false;
  switch (recovery->options.map->rule) {
  case DTR_RULE_SYNC: /* results of a step that the chief has not got come only from making it */
    *step = version;
    return version >= 0 && (chief < 0 || chief == version);
  case DTR_RULE_BACKUP:
    *step = version;
    return version >= 0;
  case DTR_RULE_ASYNC:
    *step = client_step(recovery, false);
    return *step >= 0;
  }
  return false;
}

static const char *const sources[DTR_RECOVERY_SOURCES] = {
    [DTR_RECOVERY_BEGINNING] = "the beginning",
    [DTR_RECOVERY_CHECKPOINT] = "the checkpoint",
    [DTR_RECOVERY_LIVE] = "what the owners hold",
    [DTR_RECOVERY_JOINING] = "where the others are"};

static void tell_go(struct dtr_recovery *recovery, const struct dtr_recovery_message *order,
                    int64_t now) {
  for (uint32_t t = 0; t < recovery->options.map->task_count; t++) {
    struct dtr_recovery_peer *peer = &recovery->peers[t];
    if (!peer->is_used)
      continue;
    peer->place = peer->has_reported ? DTR_PEER_IN : DTR_PEER_OUT;
    if (peer->has_reported)
      dtr_recovery_tell(recovery, t, order, now);
    peer->has_reported = false;
  }
  for (uint32_t t = 0; t < recovery->options.map->task_count; t++)
    if (recovery->peers[t].is_used && recovery->peers[t].place == DTR_PEER_OUT)
      drop(recovery, t, now);
}

static void go(struct dtr_recovery *recovery, int64_t now) {
  struct dtr_recovery_message order = {.kind = DTR_RECOVERY_GO,
                                       .generation = last_generation(recovery) + 1,
                                       .task = DTR_NONE,
                                       .source = DTR_RECOVERY_BEGINNING};
  bool under_way = is_under_way(recovery) || recovery->options.restarts > 0;
  int64_t before = recovery->peers[recovery->chief].state.client_step;
  if (before < 0)
    before = client_step(recovery, true);
  if (under_way)
    order.source = is_live(recovery, &order.step) ? DTR_RECOVERY_LIVE : DTR_RECOVERY_CHECKPOINT;
  if (under_way && recovery->generation == 0) { /* it is the chief that has returned */
    recovery->costs.stops++;
    count_task(recovery->costs.losses, recovery->chief);
    count_task(recovery->costs.returns, recovery->chief);
  }
  recovery->is_gathering = false;
  recovery->generation = order.generation;
  if (!recovery->actions->go(recovery->actions->context, &order, &recovery->error)) {
    begin_end(recovery, &recovery->error, now);
    return;
  }
  if (under_way && before > order.step)
    recovery->costs.steps_again += before - order.step;
  order.costs = recovery->costs;
  if (under_way)
    note(recovery, "all are back; going on from %s, with step %lld", sources[order.source],
         (long long)order.step + 1);
  tell_go(recovery, &order, now);
}

/* ---- waiting ---- */

static void lose_hope(struct dtr_recovery *recovery, uint32_t task, bool is_start, int64_t now) {
  const struct dtr_deadlines *deadlines = &recovery->options.deadlines;
  const char *name = dtr_recovery_name(recovery, task);
  if (is_start) {
    dtr_error_set(&recovery->error, DTR_STATUS_DEADLINE,
                  "%s was not there within %.1f s, before the first step; the chief waits for it",
                  name, (double)deadlines->start / second);
    dtr_error_hint(&recovery->error, "start it, or wait longer: --deadline start=TIME");
  } else {
    dtr_error_set(&recovery->error, DTR_STATUS_PEER_LOST,
                  "%s was lost and did not return within %.1f s; %s", name,
                  (double)deadlines->step / second,
                  recovery->waiting[0] ? recovery->waiting : "nobody waited for it");
    dtr_error_step(&recovery->error, recovery->lost_step < 0
                                         ? recovery->peers[recovery->chief].state.client_step + 1
                                         : recovery->lost_step + 1);
    dtr_error_hint(&recovery->error,
                   "start it again in time, or wait longer: --deadline step=TIME");
  }
  begin_end(recovery, &recovery->error, now);
}

/* The absent task that is missing longest; DTR_NONE: all are there, or can be done without. A chief
 * that has returned cannot know yet which spare ones are there. */
static uint32_t missing(const struct dtr_recovery *recovery, bool under_way, int64_t now,
                        int64_t limit) {
  uint32_t longest = DTR_NONE;
  for (uint32_t t = 0; t < recovery->options.map->task_count; t++) {
    const struct dtr_recovery_peer *peer = &recovery->peers[t];
    bool may_come = recovery->generation == 0 && now < peer->absent_since + limit;
    if (!peer->is_used || peer->is_present || (under_way && is_spare(recovery, t) && !may_come))
      continue;
    if (longest == DTR_NONE || peer->absent_since < recovery->peers[longest].absent_since)
      longest = t;
  }
  return longest;
}

static bool all_have_reported(const struct dtr_recovery *recovery) {
  for (uint32_t t = 0; t < recovery->options.map->task_count; t++)
    if (recovery->peers[t].is_used && recovery->peers[t].is_present &&
        !recovery->peers[t].has_reported)
      return false;
  return true;
}

const char *dtr_recovery_loss(const struct dtr_recovery *recovery) {
  return recovery->loss;
}

/* Once all that are there stand still, it is known who waited. */
static void tell_loss(struct dtr_recovery *recovery) {
  if (recovery->is_told || recovery->lost == DTR_NONE)
    return;
  recovery->is_told = true;
  snprintf(recovery->loss, sizeof recovery->loss, "%s was lost; %s",
           dtr_recovery_name(recovery, recovery->lost),
           recovery->waiting[0] ? recovery->waiting : "nobody waited for it");
  note(recovery, "%s; all stop, and wait up to %.1f s for its return", recovery->loss,
       (double)recovery->options.deadlines.step / second);
}

static int64_t gather(struct dtr_recovery *recovery, int64_t now) {
  const struct dtr_deadlines *deadlines = &recovery->options.deadlines;
  bool under_way = is_under_way(recovery);
  int64_t limit = under_way ? deadlines->step : deadlines->start;
  uint32_t task = missing(recovery, under_way, now, limit);
  if (all_have_reported(recovery))
    tell_loss(recovery);
  if (task == DTR_NONE) {
    if (all_have_reported(recovery)) /* otherwise they will, or be silent */
      go(recovery, now);
    return INT64_MAX;
  }
  int64_t deadline = recovery->peers[task].absent_since + limit;
  if (now < deadline)
    return deadline;
  lose_hope(recovery, task, !under_way, now);
  return INT64_MAX;
}

static void admit_next(struct dtr_recovery *recovery, int64_t now) {
  const struct dtr_map *map = recovery->options.map;
  uint32_t ready = DTR_NONE;
  for (uint32_t t = 0; t < map->task_count; t++) {
    if (recovery->peers[t].place == DTR_PEER_ADMITTED && recovery->peers[t].is_present)
      return;
    if (recovery->peers[t].place == DTR_PEER_READY)
      ready = t;
  }
  if (ready == DTR_NONE)
    return;
  struct dtr_recovery_message order = {
      .kind = DTR_RECOVERY_ADMIT, .generation = ++recovery->generation, .task = ready};
  recovery->peers[ready].stay = order.generation;
  recovery->peers[ready].place = DTR_PEER_ADMITTED;
  dtr_recovery_tell(recovery, map->devices[map->owners[0].device].task, &order, now);
}

/* With more clients missing than there are backups, no step is complete. */
static int64_t await_enough(struct dtr_recovery *recovery, int64_t now) {
  const struct dtr_map *map = recovery->options.map;
  int64_t since = INT64_MIN, deadline;
  uint32_t out = 0, last = DTR_NONE;
  for (uint32_t t = 0; t < map->task_count; t++) {
    const struct dtr_recovery_peer *peer = &recovery->peers[t];
    if (!peer->is_used || peer->is_present)
      continue;
    out++;
    if (peer->absent_since > since) {
      since = peer->absent_since;
      last = t;
    }
  }
  if (map->rule != DTR_RULE_BACKUP || out <= (uint32_t)map->program->replication->backup)
    return INT64_MAX;
  deadline = since + recovery->options.deadlines.step;
  if (now < deadline)
    return deadline;
  recovery->lost_step = recovery->actions->waiting(recovery->actions->context, last,
                                                   recovery->waiting, sizeof recovery->waiting);
  lose_hope(recovery, last, false, now);
  return INT64_MAX;
}

int64_t dtr_recovery_chief_poll(struct dtr_recovery *recovery, int64_t now) {
  if (!recovery->is_ending && recovery->generation > 0) {
    const struct dtr_error *error =
        recovery->actions->ending(recovery->actions->context, &recovery->costs);
    if (error)
      begin_end(recovery, error, now);
  }
  if (recovery->is_ending)
    return await_end(recovery, now);
  if (recovery->is_gathering)
    return gather(recovery, now);
  admit_next(recovery, now);
  return await_enough(recovery, now);
}

void dtr_recovery_describe(const struct dtr_recovery *recovery, int64_t now, char *text,
                           size_t size) {
  const char *name = dtr_recovery_name(recovery, recovery->options.task);
  if (!recovery->is_chief || !recovery->is_gathering) {
    const char *what = recovery->phase == DTR_RECOVERY_RUNS   ? "runs"
                       : recovery->phase == DTR_RECOVERY_OVER ? "has ended"
                       : recovery->is_chief_gone ? "stands still and waits for the chief to return"
                                                 : "stands still and waits for the chief to go on";
    snprintf(text, size, "%s: generation %u: %s", name, recovery->generation, what);
    return;
  }
  bool under_way = is_under_way(recovery);
  uint32_t task = missing(recovery, under_way, now, 0);
  snprintf(text, size, "%s: generation %u: waits for %s, for %.1f s", name, recovery->generation,
           dtr_recovery_name(recovery, task),
           task == DTR_NONE ? 0.0 : (double)(now - recovery->peers[task].absent_since) / second);
}
