/* A client under `backup` or `async`: asks before a step, and ends when the others have. */
#include "runtime/replicate/client_parts.h"

#include <string.h>

static uint32_t own_edge(const struct dtr_client *client, enum dtr_channel_kind kind) {
  return dtr_channel(client->party.channels, kind, client->index, 0);
}

/* ---- before a step ---- */

bool dtr_client_ask(struct dtr_client *client) {
  struct dtr_party *party = &client->party;
  if (!dtr_party_send(party, own_edge(client, DTR_CHANNEL_ASK), client->task->step, NULL, 0))
    return false;
  client->state = DTR_CLIENT_GRANT;
  return true;
}

/* A late client goes on at the current step; the steps between were made without it. */
bool dtr_client_grant(struct dtr_client *client) {
  struct dtr_party *party = &client->party;
  struct dtr_task *task = client->task;
  int64_t step, size;
  const void *bytes;
  if (!dtr_party_receive_any(party, own_edge(client, DTR_CHANNEL_GRANT), &step, &size, &bytes))
    return false;
  dtr_party_release(party, own_edge(client, DTR_CHANNEL_GRANT));
  step = step < task->end_step ? step : task->end_step;
  client->skipped += step - task->step;
  task->step = step;
  if (task->step >= task->end_step) {
    dtr_task_schedule(task);
    dtr_client_go_on(client);
  } else {
    dtr_client_start_step(client);
  }
  return true;
}

/* ---- the end ---- */

bool dtr_client_leave(struct dtr_client *client) {
  struct dtr_party *party = &client->party;
  if (party->map->asks && !client->has_left &&
      !dtr_party_send(party, own_edge(client, DTR_CHANNEL_ASK), INT64_MAX, NULL, 0))
    return false;
  client->has_left = true;
  if (!client->chief &&
      !dtr_party_send(party, own_edge(client, DTR_CHANNEL_ENDED), client->skipped, NULL, 0))
    return false;
  client->state = client->chief ? DTR_CLIENT_JOIN : DTR_CLIENT_WAIT;
  if (client->chief) {
    uint32_t clients = party->map->client_count;
    client->chief->next = 0;
    client->chief->skipped[0] = client->skipped;
    memset(client->chief->has_ended, 0, clients * sizeof *client->chief->has_ended);
    client->chief->stats = (struct dtr_command){.kind = DTR_COMMAND_STATS};
  }
  return true;
}

/* ---- what it has cost ---- */

static int64_t sum(const int64_t *values, uint32_t count) {
  int64_t total = 0;
  for (uint32_t i = 0; i < count; i++)
    total += values[i];
  return total;
}

static void log_counts(struct dtr_client *client, const char *name, const int64_t *counts) {
  const struct dtr_map *map = client->party.map;
  struct dtr_json *json = &client->task->log.json;
  dtr_json_raw(json, ", \"");
  dtr_json_raw(json, name);
  dtr_json_raw(json, "\": {");
  for (uint32_t c = 0; c < map->client_count; c++) {
    dtr_json_raw(json, c == 0 ? "" : ", ");
    dtr_json_string(json, map->tasks[map->clients[c].task].name);
    dtr_json_raw(json, ": ");
    dtr_json_integer(json, counts[c]);
  }
  dtr_json_raw(json, "}");
}

static uint32_t age_count(const struct dtr_owner_stats *stats) {
  uint32_t count = DTR_AGES;
  while (count > 1 && stats->ages[count - 1] == 0)
    count--;
  return count;
}

static void log_stats(struct dtr_client *client, const struct dtr_owner_stats *stats) {
  struct dtr_json *json = &client->task->log.json;
  if (!client->task->log.path)
    return;
  dtr_json_raw(json, "{\"staleness\": [");
  for (uint32_t age = 0; age < age_count(stats); age++) {
    dtr_json_raw(json, age == 0 ? "" : ", ");
    dtr_json_integer(json, stats->ages[age]);
  }
  dtr_json_raw(json, "]");
  log_counts(client, "dropped_late", stats->dropped);
  log_counts(client, "dropped_lost", stats->dropped + client->party.map->client_count);
  log_counts(client, "skipped_steps", client->chief->skipped);
  dtr_json_raw(json, "}\n");
}

/* "updates by staleness: 0: 12, 1: 30; dropped contributions: worker/1 4 late, 2 skipped" */
static void show_stats(struct dtr_client *client, const struct dtr_owner_stats *stats) {
  const struct dtr_map *map = client->party.map;
  char text[1024];
  size_t used = (size_t)snprintf(text, sizeof text, "updates by staleness:");
  for (uint32_t age = 0; age < age_count(stats) && used + 32 < sizeof text; age++)
    if (stats->ages[age] > 0)
      used += (size_t)snprintf(text + used, sizeof text - used, " %u%s: %lld", age,
                               age == DTR_AGES - 1 ? " and more" : "", (long long)stats->ages[age]);
  const int64_t *lost = stats->dropped + map->client_count, *skipped = client->chief->skipped;
  if (sum(stats->dropped, 2 * map->client_count) + sum(skipped, map->client_count) > 0)
    used += (size_t)snprintf(text + used, sizeof text - used, "; dropped contributions:");
  for (uint32_t c = 0; c < map->client_count && used + 160 < sizeof text; c++) {
    if (stats->dropped[c] + lost[c] + skipped[c] > 0)
      used += (size_t)snprintf(text + used, sizeof text - used, " %s %lld late, %lld skipped",
                               map->tasks[map->clients[c].task].name, (long long)stats->dropped[c],
                               (long long)skipped[c]);
    if (lost[c] > 0)
      used += (size_t)snprintf(text + used, sizeof text - used, ", %lld lost", (long long)lost[c]);
  }
  dtr_progress_note(&client->task->progress, text);
}

static bool hear_ended(struct dtr_client *client) {
  struct dtr_party *party = &client->party;
  bool progress = false;
  for (uint32_t c = 1; c < party->map->client_count; c++) {
    uint32_t edge = dtr_channel(party->channels, DTR_CHANNEL_ENDED, c, 0);
    int64_t size;
    const void *bytes;
    if (client->chief->has_ended[c] ||
        !dtr_party_receive_any(party, edge, &client->chief->skipped[c], &size, &bytes))
      continue;
    dtr_party_release(party, edge);
    client->chief->has_ended[c] = true;
    progress = true;
  }
  return progress;
}

/* All that there are. */
static bool have_ended(const struct dtr_client *client) {
  for (uint32_t c = 1; c < client->party.map->client_count; c++)
    if (!client->chief->has_ended[c] && !client->chief->is_gone[c])
      return false;
  return true;
}

void dtr_client_drop(struct dtr_client *client, uint32_t other) {
  client->chief->is_gone[other] = true;
}

void dtr_client_join_other(struct dtr_client *client, uint32_t other) {
  client->chief->is_gone[other] = client->chief->has_ended[other] = false;
}

/* Async: the last values to the chief's replicas; then owner 0's figures. */
static bool send_commands(struct dtr_client *client) {
  struct dtr_party *party = &client->party;
  struct dtr_chief *chief = client->chief;
  uint32_t owners = party->map->owner_count;
  if (party->map->rule != DTR_RULE_ASYNC && chief->next < owners)
    chief->next = owners;
  for (; chief->next < owners; chief->next++)
    if (!dtr_chief_command(client, chief->next, DTR_COMMAND_PUBLISH))
      return false;
  if (chief->next == owners &&
      dtr_party_send(party, dtr_channel(party->channels, DTR_CHANNEL_COMMAND, 0, 0),
                     client->task->step, &chief->stats, sizeof chief->stats))
    chief->next++;
  return chief->next > owners;
}

bool dtr_client_join(struct dtr_client *client) {
  struct dtr_party *party = &client->party;
  struct dtr_chief *chief = client->chief;
  uint32_t edge = dtr_channel(party->channels, DTR_CHANNEL_STATS, 0, 0);
  int64_t step, size;
  const void *bytes;
  if (client->task->stop) {
    chief->is_joined = true;
    dtr_client_go_on(client);
    return true;
  }
  bool progress = hear_ended(client);
  if (!have_ended(client) || !send_commands(client) ||
      !dtr_party_receive_any(party, edge, &step, &size, &bytes))
    return progress;
  log_stats(client, bytes);
  show_stats(client, bytes);
  dtr_party_release(party, edge);
  chief->is_joined = true;
  client->is_fresh_due = party->map->rule == DTR_RULE_ASYNC;
  dtr_client_go_on(client);
  return true;
}
