#include "runtime/replicate/client_parts.h"

#include "runtime/memory.h"

#include <stdlib.h>
#include <string.h>

/* ---- start and end ---- */

static int64_t feed_bytes(const struct dtr_client *client, uint32_t own) {
  uint32_t edge =
      dtr_channel(client->party.channels, DTR_CHANNEL_FEED, dtr_client_replica(client, own), 0);
  return dtr_channel_bytes(client->party.channels, edge);
}

static int64_t own_leaves(const struct dtr_client *client) {
  int64_t leaves = 0;
  for (uint32_t own = 0; own < client->map->replica_count; own++)
    leaves += client->party.map->replicas[dtr_client_replica(client, own)].leaf_count;
  return leaves;
}

static bool allocate(struct dtr_client *client) {
  const struct dtr_program *program = client->party.program;
  const struct dtr_map *map = client->party.map;
  size_t count = (size_t)client->map->replica_count + 1;
  int64_t scratch = 0;
  if (client->task->evaluate_on)
    scratch = dtr_data_scratch(
        client->task->evaluate_on,
        dtr_data_count(client->task->evaluate_on) >= program->eval.batch ? program->eval.batch : 1);
  client->orders = calloc(count, sizeof *client->orders);
  client->feeds = calloc(count, sizeof *client->feeds);
  client->have = calloc(count, sizeof *client->have);
  client->ordered = calloc(count, sizeof *client->ordered);
  client->views = calloc((size_t)program->input_count + 1, sizeof *client->views);
  client->scratch = dtr_memory_new(scratch + DTR_ALIGN);
  client->fetched = dtr_memory_new(own_leaves(client) * dtr_map_fetch_bytes(map));
  if (!client->orders || !client->feeds || !client->have || !client->ordered || !client->views ||
      !client->scratch || !client->fetched)
    return false;
  for (uint32_t own = 0; own < client->map->replica_count; own++) {
    if (dtr_map_is_local(map, dtr_client_replica(client, own)))
      continue;
    client->feeds[own] = dtr_memory_new(feed_bytes(client, own) + 1);
    if (!client->feeds[own])
      return false;
  }
  return true;
}

/* Others than the chief run the same loop and show nothing. */
static struct dtr_flags flags_of_other(const struct dtr_flags *flags) {
  struct dtr_flags quiet = *flags;
  quiet.quiet = true;
  quiet.log = quiet.trace = quiet.save = quiet.init = quiet.checkpoint_dir = NULL;
  quiet.resume = false;
  return quiet;
}

static bool make_task(struct dtr_client *client, const struct dtr_client_options *options,
                      struct dtr_error *error) {
  struct dtr_task_options task = *options->task;
  task.flags = &client->flags;
  task.name = client->party.map->tasks[client->map->task].name;
  return dtr_task_new(&task, &client->task, error);
}

static void lend(struct dtr_client *client, const struct dtr_client_options *options) {
  const struct dtr_map *map = client->party.map;
  const struct dtr_train *train = &client->party.program->train;
  /* Versions differ under a relaxed rule: the chief evaluates its own. */
  bool evaluates = client->index == 0 || map->rule == DTR_RULE_SYNC;
  client->task->data = options->data;
  client->task->evaluate_on = evaluates ? options->evaluate_on : NULL;
  client->own_leaves = own_leaves(client);
  if (map->rule != DTR_RULE_SYNC)
    client->task->batch_examples =
        dtr_map_client_shards(map, client->index).count * (train->batch / train->shards);
}

/* `task`: the bookkeeping, if there is one already; owned from here on. */
static bool make(const struct dtr_party *party, uint32_t index,
                 const struct dtr_client_options *options, struct dtr_task *task,
                 struct dtr_client **made, struct dtr_error *error) {
  struct dtr_client *client = calloc(1, sizeof *client);
  if (!client) {
    dtr_task_free(task);
    return dtr_error_memory(error, (int64_t)sizeof *client, "a client");
  }
  client->party = *party;
  client->index = index;
  client->map = &party->map->clients[index];
  client->flags = index == 0 ? *options->task->flags : flags_of_other(options->task->flags);
  client->join_step = DTR_NO_STEP;
  client->task = task;
  if (task)
    task->options.flags = &client->flags;
  bool good = task || make_task(client, options, error);
  if (good) {
    lend(client, options);
    good = allocate(client) || dtr_error_memory(error, feed_bytes(client, 0), "a client");
  }
  if (!good || (index == 0 && !dtr_chief_new(client, error))) {
    dtr_client_free(client);
    return false;
  }
  *made = client;
  return true;
}

bool dtr_client_new(const struct dtr_party *party, uint32_t index,
                    const struct dtr_client_options *options, struct dtr_client **made,
                    struct dtr_error *error) {
  return make(party, index, options, NULL, made, error);
}

/* What is lent goes back before the bookkeeping is taken out. */
static struct dtr_task *take_task(struct dtr_client *client) {
  struct dtr_task *task = client->task;
  client->task = NULL;
  dtr_memory_free(task->variables);
  task->data = task->evaluate_on = NULL;
  task->variables = NULL;
  dtr_task_go_back(task);
  return task;
}

bool dtr_client_renew(const struct dtr_party *party, const struct dtr_client_options *options,
                      struct dtr_client **client, struct dtr_error *error) {
  struct dtr_client *old = *client, *made;
  struct dtr_task *task = old->chief ? take_task(old) : NULL;
  uint32_t index = old->index;
  *client = NULL;
  dtr_client_free(old);
  if (!make(party, index, options, task, &made, error))
    return false;
  made->is_again = true;
  *client = made;
  return true;
}

void dtr_client_free(struct dtr_client *client) {
  if (!client)
    return;
  dtr_chief_free(client);
  if (client->task) { /* what is lent */
    client->task->data = client->task->evaluate_on = NULL;
    client->task->variables = NULL;
  }
  dtr_task_free(client->task);
  for (uint32_t own = 0; client->feeds && own < client->map->replica_count; own++)
    dtr_memory_free(client->feeds[own]);
  dtr_memory_free(client->scratch);
  dtr_memory_free(client->fetched);
  free(client->orders);
  free(client->feeds);
  free(client->have);
  free(client->ordered);
  free(client->views);
  free(client);
}

struct dtr_party *dtr_client_party(struct dtr_client *client) {
  return &client->party;
}

struct dtr_task *dtr_client_task(struct dtr_client *client) {
  return client->task;
}

void dtr_client_join_at(struct dtr_client *client, int64_t step) {
  client->join_step = step;
}

bool dtr_client_load(struct dtr_client *client, struct dtr_recovery_message *order) {
  return dtr_chief_load(client, order);
}

bool dtr_client_is_ending(const struct dtr_client *client) {
  return client->state == DTR_CLIENT_END || client->party.is_finished;
}

int64_t dtr_client_steps(const struct dtr_client *client) {
  bool begun = client->chief ? client->chief->is_loaded : client->state != DTR_CLIENT_BEGIN;
  return begun ? client->task->step : -1;
}

/* ---- failures ---- */

bool dtr_client_fail(struct dtr_client *client) {
  if (client->chief) {
    if (client->state != DTR_CLIENT_END)
      client->chief->next = 0;
    client->state = DTR_CLIENT_END;
  } else if (!client->party.is_failed) {
    client->party.error = client->task->error;
    dtr_party_fail(&client->party);
  }
  return true;
}

void dtr_client_abort(struct dtr_client *client, const struct dtr_error *error) {
  if (!dtr_error_is_set(&client->task->error))
    client->task->error = *error;
  dtr_client_fail(client);
}

static struct dtr_rows rows_of(const struct dtr_client *client,
                               const struct dtr_fault_report *report) {
  const struct dtr_task *task = client->task;
  if (report->evaluation)
    return (struct dtr_rows){.data = task->evaluate_on,
                             .epoch = DTR_NATURAL_ORDER,
                             .first =
                                 dtr_chunk_rows(task->program, client->whole, report->index).first,
                             .count = report->rows};
  int64_t first = task->batch->step % task->steps_per_epoch * task->program->train.batch;
  return (struct dtr_rows){.data = task->data,
                           .epoch = task->batch->epoch,
                           .first = first + report->index * report->rows,
                           .count = report->rows};
}

static void put_into_words(struct dtr_client *client, const struct dtr_fault_report *report) {
  struct dtr_task *task = client->task;
  struct dtr_rows rows = rows_of(client, report);
  if (!report->numeric) {
    dtr_report_fault(task->program, &report->watch, &report->fault, &rows, &task->error);
  } else {
    struct dtr_finding finding = report->finding;
    if (finding.origin == DTR_ORIGIN_INPUT) {
      int64_t batch = task->batch->step % task->steps_per_epoch * task->program->train.batch;
      finding.example = dtr_data_example(rows.data, rows.epoch, batch + finding.example);
    }
    dtr_report_not_finite(task->program, report->loss, &finding, &task->error);
  }
  if (!report->evaluation)
    dtr_error_step(&task->error, task->step + 1);
}

static bool look_at_replicas(struct dtr_client *client) {
  struct dtr_party *party = &client->party;
  for (uint32_t own = 0; own < client->map->replica_count; own++) {
    uint32_t edge =
        dtr_channel(party->channels, DTR_CHANNEL_FAULT, dtr_client_replica(client, own), 0);
    int64_t step, size;
    const void *bytes;
    if (!dtr_transport_peek(party->end, edge, &step, &size) ||
        !dtr_party_receive(party, edge, step, size, &bytes))
      continue;
    put_into_words(client, bytes);
    dtr_error_task(
        &client->task->error,
        party->map
            ->tasks[dtr_party_task(
                party->map, dtr_party_of_replica(party->map, dtr_client_replica(client, own)))]
            .name);
    dtr_party_release(party, edge);
    return dtr_client_fail(client);
  }
  return false;
}

static bool look_at_everybody(struct dtr_client *client) {
  struct dtr_party *party = &client->party;
  for (uint32_t p = 1; p < dtr_party_count(party->map); p++) {
    uint32_t edge = dtr_channel(party->channels, DTR_CHANNEL_TROUBLE, p, 0);
    int64_t step, size;
    const void *bytes;
    if (!dtr_transport_peek(party->end, edge, &step, &size) ||
        !dtr_party_receive(party, edge, step, size, &bytes))
      continue;
    dtr_client_abort(client, bytes);
    dtr_party_release(party, edge);
    return true;
  }
  return false;
}

/* ---- the loop ---- */

/* Where the others are; none is left to be made if they have all ended. */
static void begin_to_join(struct dtr_client *client) {
  struct dtr_task *task = client->task;
  task->step = client->join_step;
  if (dtr_task_plan_steps(task) && task->step > task->end_step)
    task->step = task->end_step;
}

static bool hear_beginning(struct dtr_client *client) {
  struct dtr_party *party = &client->party;
  uint32_t edge = dtr_channel(party->channels, DTR_CHANNEL_BEGIN, client->index, 0);
  const void *bytes;
  int64_t step, size;
  if (!dtr_party_receive_any(party, edge, &step, &size, &bytes))
    return false;
  client->task->step = step;
  client->task->evaluate_due =
      ((const struct dtr_command *)bytes)->evaluate && client->task->evaluate_on;
  dtr_party_release(party, edge);
  return true;
}

bool dtr_client_begin(struct dtr_client *client) {
  struct dtr_party *party = &client->party;
  struct dtr_task *task = client->task;
  const struct dtr_replica_map *first = &party->map->replicas[client->map->first_replica];
  if (client->chief)
    return dtr_chief_begin(client);
  if (client->join_step != DTR_NO_STEP)
    begin_to_join(client);
  else if (!hear_beginning(client))
    return false;
  if (!dtr_task_plan_steps(task) ||
      (task->data && !dtr_task_open_feed(task, first->shards.first,
                                         client->map->replica_count * first->shards.count)))
    return dtr_client_fail(client);
  dtr_task_begin(task);
  dtr_client_start_loop(client);
  return true;
}

void dtr_client_start_loop(struct dtr_client *client) {
  if (dtr_task_ending(client->task))
    dtr_task_schedule(client->task);
  dtr_client_go_on(client);
}

void dtr_client_go_on(struct dtr_client *client) {
  client->state = DTR_CLIENT_NEXT;
}

void dtr_client_start_step(struct dtr_client *client) {
  struct dtr_task *task = client->task;
  int64_t begin = dtr_task_begin_phase(task);
  client->party.step = task->step;
  do
    task->batch = dtr_feed_next(task->feed);
  while (task->batch->step < task->step); /* of steps made without this client */
  dtr_task_end_phase(task, "feed", begin);
  task->scalars.step = task->step;
  task->scalars.updates = task->step + 1;
  client->next = 0;
  client->state = DTR_CLIENT_ORDER;
}

/* The last values are gathered once, unless a checkpoint has done so. */
static bool wants_last(const struct dtr_client *client) {
  const struct dtr_task *task = client->task;
  const struct dtr_flags *flags = task->options.flags;
  return client->chief && flags->save && !flags->eval_only && task->step >= task->end_step &&
         !dtr_error_is_set(&task->error) && client->chief->gathered_step != task->step;
}

/* Under a relaxed rule the others may still train. */
static bool must_leave(const struct dtr_client *client) {
  const struct dtr_task *task = client->task;
  return client->party.map->rule != DTR_RULE_SYNC && dtr_task_ending(task) && !task->stop &&
         !dtr_error_is_set(&task->error) && !(client->chief && client->chief->is_joined);
}

static bool next(struct dtr_client *client) {
  struct dtr_task *task = client->task;
  client->party.step = task->step;
  if (must_leave(client)) {
    client->state = DTR_CLIENT_LEAVE;
    return true;
  }
  if (task->stop)
    dtr_task_schedule(task); /* it may have come after the last time */
  switch (dtr_task_next(task)) {
  case DTR_TASK_FEED:
    if (client->party.map->asks)
      client->state = DTR_CLIENT_ASK;
    else
      dtr_client_start_step(client);
    break;
  case DTR_TASK_EVALUATE:
    client->state = DTR_CLIENT_EVALUATE;
    break;
  case DTR_TASK_CHECKPOINT:
    client->chief->is_saving = true;
    dtr_chief_begin_gather(client);
    break;
  default:
    if (wants_last(client)) {
      client->chief->is_saving = false;
      dtr_chief_begin_gather(client);
    } else if (client->chief) {
      client->chief->next = 0;
      client->state = DTR_CLIENT_END;
    } else {
      client->state = DTR_CLIENT_WAIT;
    }
  }
  return true;
}

static int64_t leaf_offset(const struct dtr_client *client, uint32_t own) {
  const struct dtr_replica_map *replicas = client->party.map->replicas;
  return (replicas[dtr_client_replica(client, own)].first_leaf -
          replicas[client->map->first_replica].first_leaf) *
         dtr_map_fetch_bytes(client->party.map);
}

static void end_fetch(struct dtr_client *client) {
  const struct dtr_map *map = client->party.map;
  client->state = DTR_CLIENT_FORWARD;
  if (!client->chief)
    return;
  dtr_chief_put(client, map->replicas[client->map->first_replica].first_leaf,
                (uint32_t)own_leaves(client), client->fetched);
  client->chief->missing = map->rule == DTR_RULE_SYNC ? map->client_count - 1 : 0;
  memset(client->chief->have, 0, map->client_count * sizeof *client->chief->have);
}

static bool fetch(struct dtr_client *client) {
  struct dtr_party *party = &client->party;
  bool progress = false;
  /* The chief may still read what the step before has brought. */
  if (!client->chief && !dtr_party_is_sent(party, dtr_channel(party->channels, DTR_CHANNEL_FORWARD,
                                                              client->index, 0)))
    return false;
  for (uint32_t own = 0; own < client->map->replica_count && !party->is_failed; own++) {
    uint32_t edge =
        dtr_channel(party->channels, DTR_CHANNEL_FETCH, dtr_client_replica(client, own), 0);
    int64_t bytes = dtr_channel_bytes(party->channels, edge);
    const void *message;
    if (client->have[own] || !dtr_party_receive(party, edge, party->step, bytes, &message))
      continue;
    memcpy(client->fetched + leaf_offset(client, own), message, (size_t)bytes);
    dtr_party_release(party, edge);
    client->have[own] = true;
    client->missing--;
    progress = true;
  }
  if (client->missing == 0 && !party->is_failed) {
    end_fetch(client);
    return true;
  }
  return progress;
}

static bool forward(struct dtr_client *client) {
  struct dtr_party *party = &client->party;
  uint32_t edge = dtr_channel(party->channels, DTR_CHANNEL_FORWARD, client->index, 0);
  if (client->chief)
    return dtr_chief_results(client);
  if (party->map->rule == DTR_RULE_SYNC &&
      !dtr_party_send(party, edge, party->step, client->fetched,
                      dtr_channel_bytes(party->channels, edge)))
    return false;
  dtr_task_count_step(client->task, client->task->batch->epoch);
  dtr_client_go_on(client);
  return true;
}

static bool run(struct dtr_client *client) {
  switch (client->state) {
  case DTR_CLIENT_BEGIN:
    return dtr_client_begin(client);
  case DTR_CLIENT_NEXT:
    return next(client);
  case DTR_CLIENT_ASK:
    return dtr_client_ask(client);
  case DTR_CLIENT_GRANT:
    return dtr_client_grant(client);
  case DTR_CLIENT_LEAVE:
    return dtr_client_leave(client);
  case DTR_CLIENT_JOIN:
    return dtr_client_join(client);
  case DTR_CLIENT_ORDER:
    return dtr_client_order(client);
  case DTR_CLIENT_FETCH:
    return fetch(client);
  case DTR_CLIENT_FORWARD:
    return forward(client);
  case DTR_CLIENT_EVALUATE:
    return dtr_client_evaluate(client);
  case DTR_CLIENT_GATHER:
    return dtr_chief_gather(client);
  case DTR_CLIENT_END:
    return dtr_chief_end(client);
  case DTR_CLIENT_WAIT:
    return false;
  }
  return false;
}

bool dtr_client_poll(struct dtr_client *client) {
  bool progress = false;
  struct dtr_party *party = &client->party;
  if (client->chief ? party->is_finished : dtr_party_is_over(party, &progress))
    return progress;
  if (client->state != DTR_CLIENT_END &&
      (look_at_replicas(client) || (client->chief && look_at_everybody(client))))
    return true;
  progress = run(client);
  if (client->chief && party->is_failed && client->state != DTR_CLIENT_END) {
    dtr_client_abort(client, &party->error);
    return true;
  }
  return progress;
}
