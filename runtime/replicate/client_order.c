/* Orders and rows for a client's replicas. */
#include "runtime/replicate/client_parts.h"

#include <string.h>

static uint32_t edge_of(const struct dtr_client *client, enum dtr_channel_kind kind, uint32_t own) {
  return dtr_channel(client->party.channels, kind, dtr_client_replica(client, own), 0);
}

/* What the last order and the last rows lay in may be written again. */
static bool is_free(struct dtr_client *client, uint32_t own) {
  struct dtr_party *party = &client->party;
  return dtr_party_is_sent(party, edge_of(client, DTR_CHANNEL_ORDER, own)) &&
         (!client->feeds[own] || dtr_party_is_sent(party, edge_of(client, DTR_CHANNEL_FEED, own)));
}

static bool send_order(struct dtr_client *client, uint32_t own) {
  struct dtr_order *order = &client->orders[own];
  return dtr_party_send(&client->party, edge_of(client, DTR_CHANNEL_ORDER, own), client->party.step,
                        order, sizeof *order);
}

/* ---- a step ---- */

static int64_t pack_batch(struct dtr_client *client, uint32_t own) {
  const struct dtr_program *program = client->party.program;
  struct dtr_span shards = client->party.map->replicas[dtr_client_replica(client, own)].shards;
  const struct dtr_batch *batch = client->task->batch;
  char *at = client->feeds[own];
  for (int64_t s = shards.first; s < shards.first + shards.count; s++)
    for (uint32_t i = 0; i < program->input_count; i++) {
      int64_t size = batch->rows * program->inputs[i].row_bytes;
      memcpy(at, dtr_batch_feeds(batch, s)[i], (size_t)size);
      at += size;
    }
  return at - client->feeds[own];
}

bool dtr_client_order(struct dtr_client *client) {
  struct dtr_party *party = &client->party;
  bool progress = false;
  for (; client->next < client->map->replica_count; client->next++) {
    uint32_t own = client->next;
    if (!is_free(client, own))
      return progress;
    client->orders[own] =
        (struct dtr_order){.kind = DTR_ORDER_TRAIN,
                           .scalars = client->task->scalars,
                           .batch = client->feeds[own] ? NULL : client->task->batch};
    if (!send_order(client, own))
      return progress;
    if (client->feeds[own]) {
      int64_t size = pack_batch(client, own);
      if (!dtr_party_send(party, edge_of(client, DTR_CHANNEL_FEED, own), party->step,
                          client->feeds[own], size))
        return progress;
    }
    progress = true;
  }
  client->state = DTR_CLIENT_FETCH;
  client->missing = client->map->replica_count;
  memset(client->have, 0, client->map->replica_count * sizeof *client->have);
  return true;
}

/* ---- evaluation ---- */

static int64_t pack_wave(struct dtr_client *client, uint32_t own, int64_t wave, int64_t count) {
  const struct dtr_program *program = client->party.program;
  struct dtr_span shards = client->party.map->replicas[dtr_client_replica(client, own)].shards;
  char *at = client->feeds[own];
  for (int64_t c = 0; c < count; c++) {
    struct dtr_span rows =
        dtr_chunk_rows(program, client->whole, wave * client->wave_size + shards.first + c);
    dtr_data_view(client->task->evaluate_on, DTR_NATURAL_ORDER, rows.first, rows.count,
                  client->scratch, client->views);
    for (uint32_t i = 0; i < program->input_count; i++) {
      int64_t size = rows.count * program->inputs[i].row_bytes;
      memcpy(at, client->views[i], (size_t)size);
      at += size;
    }
  }
  return at - client->feeds[own];
}

/* A replica that reads the rows itself gets all waves in one order. */
static bool order_waves(struct dtr_client *client, uint32_t own) {
  struct dtr_party *party = &client->party;
  int64_t wave = client->ordered[own];
  bool local = !client->feeds[own];
  int64_t count = dtr_replica_chunks(party->map, dtr_client_replica(client, own), wave,
                                     client->wave_size, client->chunks);
  if (count == 0) {
    client->ordered[own] = client->waves;
    return true;
  }
  if (!is_free(client, own))
    return false;
  client->orders[own] = (struct dtr_order){.kind = DTR_ORDER_EVALUATE,
                                           .scalars = client->task->scalars,
                                           .wave_size = client->wave_size,
                                           .is_fresh = client->is_fresh_due && wave == 0,
                                           .first_wave = wave,
                                           .waves = local ? client->waves : 1,
                                           .whole_chunks = client->whole,
                                           .chunks = client->chunks};
  client->orders[own].scalars.shard = 0;
  if (!send_order(client, own))
    return false;
  if (!local) {
    int64_t size = pack_wave(client, own, wave, count);
    if (!dtr_party_send(party, edge_of(client, DTR_CHANNEL_FEED, own), party->step,
                        client->feeds[own], size))
      return false;
  }
  client->ordered[own] = local ? client->waves : wave + 1;
  return true;
}

static void begin_evaluation(struct dtr_client *client) {
  const struct dtr_program *program = client->party.program;
  const struct dtr_map *map = client->party.map;
  int64_t count = dtr_data_count(client->task->evaluate_on);
  client->wave_size =
      map->rule == DTR_RULE_SYNC ? program->train.shards : dtr_map_client_shards(map, 0).count;
  client->whole = count / program->eval.batch;
  client->chunks = client->whole + count % program->eval.batch;
  client->waves = (client->chunks + client->wave_size - 1) / client->wave_size;
  memset(client->ordered, 0, client->map->replica_count * sizeof *client->ordered);
  if (client->chief)
    dtr_chief_begin_evaluation(client);
}

static bool end_evaluation(struct dtr_client *client, bool complete) {
  client->is_fresh_due = false;
  dtr_task_end_evaluation(client->task, complete);
  dtr_client_go_on(client);
  return true;
}

bool dtr_client_evaluate(struct dtr_client *client) {
  struct dtr_task *task = client->task;
  bool progress = false, complete = true;
  if (task->stop)
    return end_evaluation(client, false);
  if (!task->evaluating)
    begin_evaluation(client);
  task->evaluating = true;
  for (uint32_t own = 0; own < client->map->replica_count && !client->party.is_failed; own++) {
    while (client->ordered[own] < client->waves && order_waves(client, own))
      progress = true;
    complete = complete && client->ordered[own] == client->waves;
  }
  if (client->chief) {
    progress = dtr_chief_chunks(client) || progress;
    complete = complete && client->chief->wave == client->waves;
  }
  return complete && !client->party.is_failed ? end_evaluation(client, true) : progress;
}
