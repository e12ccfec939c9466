#include "runtime/replicate/channels.h"

#include "runtime/replicate/party.h"
#include "runtime/value.h"

#include <stdlib.h>

static const char *const names[DTR_CHANNEL_KINDS] = {
    [DTR_CHANNEL_FEED] = "feed",       [DTR_CHANNEL_PUSH] = "push",
    [DTR_CHANNEL_NORM] = "norm",       [DTR_CHANNEL_PUBLISH] = "publish",
    [DTR_CHANNEL_FETCH] = "fetch",     [DTR_CHANNEL_FORWARD] = "report",
    [DTR_CHANNEL_CHUNK] = "chunk",     [DTR_CHANNEL_GATHER] = "gather",
    [DTR_CHANNEL_SCATTER] = "scatter", [DTR_CHANNEL_ORDER] = "start",
    [DTR_CHANNEL_COMMAND] = "command", [DTR_CHANNEL_BEGIN] = "begin",
    [DTR_CHANNEL_STAGED] = "staged",   [DTR_CHANNEL_DECIDE] = "decide",
    [DTR_CHANNEL_ASK] = "ask",         [DTR_CHANNEL_GRANT] = "grant",
    [DTR_CHANNEL_ENDED] = "ended",     [DTR_CHANNEL_STATS] = "stats",
    [DTR_CHANNEL_FAULT] = "fault",     [DTR_CHANNEL_TROUBLE] = "trouble",
    [DTR_CHANNEL_DONE] = "done"};

const char *dtr_channel_name(enum dtr_channel_kind kind) {
  return names[kind];
}

uint32_t dtr_party_device(const struct dtr_map *map, uint32_t party) {
  if (party < map->client_count)
    return DTR_NONE;
  party -= map->client_count;
  if (party < map->replica_count)
    return map->replicas[party].device;
  party -= map->replica_count;
  return map->owners[party < map->owner_count ? party : 0].device;
}

uint32_t dtr_party_task(const struct dtr_map *map, uint32_t party) {
  if (party < map->client_count)
    return map->clients[party].task;
  return map->devices[dtr_party_device(map, party)].task;
}

void dtr_party_text(const struct dtr_map *map, uint32_t party, char *text, size_t size) {
  const char *task = map->tasks[dtr_party_task(map, party)].name;
  if (party < map->client_count)
    snprintf(text, size, "the client of %s", task);
  else if (party < map->client_count + map->replica_count)
    snprintf(text, size, "replica %u on %s", party - map->client_count, task);
  else if (party < dtr_party_of_arbiter(map))
    snprintf(text, size, "the owner on %s", task);
  else
    snprintf(text, size, "the arbiter on %s", task);
}

/* ---- the table ---- */

struct making {
  struct dtr_channels *made;
  const uint32_t *ends;
};

/* A client is no device: what it shares a task with costs nothing. */
static bool leaves(const struct dtr_map *map, uint32_t from, uint32_t to) {
  if (dtr_party_task(map, from) != dtr_party_task(map, to))
    return true;
  uint32_t a = dtr_party_device(map, from), b = dtr_party_device(map, to);
  return a != DTR_NONE && b != DTR_NONE && a != b;
}

static void add(struct making *making, enum dtr_channel_kind kind, uint32_t from, uint32_t to,
                int64_t bytes) {
  struct dtr_channels *made = making->made;
  bool payload = (int)kind < DTR_CHANNEL_PAYLOADS;
  made->channels[made->count] = (struct dtr_channel){
      .kind = kind, .from = from, .to = to, .is_counted = payload && leaves(made->map, from, to)};
  made->edges[made->count++] =
      (struct dtr_edge){.from = making->ends[from],
                        .to = making->ends[to],
                        .bytes = bytes,
                        .at_most = kind == DTR_CHANNEL_FEED || kind == DTR_CHANNEL_CHUNK};
}

/* The same for a message that may hold rows: as many as there are. */
static void add_rows(struct making *making, enum dtr_channel_kind kind, uint32_t from, uint32_t to,
                     int64_t bytes, bool rows) {
  add(making, kind, from, to, bytes);
  making->made->edges[making->made->count - 1].at_most = rows;
}

static void open(struct making *making, enum dtr_channel_kind kind, uint32_t width) {
  making->made->first[kind] = making->made->count;
  making->made->width[kind] = width;
}

/* Bytes that `owner` sends to each other one after `phase`. */
static int64_t norm_bytes(const struct dtr_map *map, uint32_t owner, uint32_t phase) {
  const struct dtr_replication *tables = map->program->replication;
  int64_t bytes = 0;
  for (uint32_t e = 0; e < tables->exchange_count; e++) {
    if (tables->exchanges[e].phase != phase)
      continue;
    for (uint32_t s = 0; s < tables->slice_count; s++)
      if (tables->slices[s].owner == map->owners[owner].device &&
          tables->slices[s].variable == tables->exchanges[e].variable)
        bytes += (tables->slices[s].elements + tables->slices[s].block - 1) /
                 tables->slices[s].block * (int64_t)sizeof(float);
  }
  return bytes;
}

static void add_replica_families(struct making *making) {
  const struct dtr_map *map = making->made->map;
  const struct dtr_train *train = &map->program->train;
  int64_t rows = train->batch / train->shards, row_bytes = dtr_map_row_bytes(map);
  int64_t width = (int64_t)sizeof(float) * (1 + map->program->metric_count);
  for (enum dtr_channel_kind kind = 0; kind < DTR_CHANNEL_KINDS; kind++) {
    if (kind != DTR_CHANNEL_FEED && kind != DTR_CHANNEL_FETCH && kind != DTR_CHANNEL_CHUNK &&
        kind != DTR_CHANNEL_ORDER && kind != DTR_CHANNEL_FAULT)
      continue;
    open(making, kind, 1);
    for (uint32_t r = 0; r < map->replica_count; r++) {
      const struct dtr_replica_map *replica = &map->replicas[r];
      uint32_t self = dtr_party_of_replica(map, r), client = replica->client;
      if (kind == DTR_CHANNEL_FEED)
        add(making, kind, client, self, replica->shards.count * rows * row_bytes);
      else if (kind == DTR_CHANNEL_FETCH)
        add(making, kind, self, client, replica->leaf_count * dtr_map_fetch_bytes(map));
      else if (kind == DTR_CHANNEL_CHUNK)
        add(making, kind, self, 0, replica->shards.count * width);
      else if (kind == DTR_CHANNEL_ORDER)
        add(making, kind, client, self, sizeof(struct dtr_order));
      else
        add(making, kind, self, client, sizeof(struct dtr_fault_report));
    }
  }
}

static void add_update_families(struct making *making) {
  const struct dtr_map *map = making->made->map;
  open(making, DTR_CHANNEL_PUSH, map->owner_count);
  for (uint32_t r = 0; r < map->replica_count; r++)
    for (uint32_t o = 0; o < map->owner_count; o++)
      add_rows(making, DTR_CHANNEL_PUSH, dtr_party_of_replica(map, r), dtr_party_of_owner(map, o),
               map->replicas[r].leaf_count * map->owners[o].share_bytes,
               map->owners[o].pushes_rows);
  open(making, DTR_CHANNEL_PUBLISH, map->replica_count);
  for (uint32_t o = 0; o < map->owner_count; o++)
    for (uint32_t r = 0; r < map->replica_count; r++)
      add_rows(making, DTR_CHANNEL_PUBLISH, dtr_party_of_owner(map, o),
               dtr_party_of_replica(map, r), map->owners[o].publish_bytes,
               map->owners[o].publishes_rows);
  open(making, DTR_CHANNEL_NORM, map->owner_count);
  for (uint32_t phase = 0; phase < map->program->replication->phase_count; phase++)
    for (uint32_t o = 0; o < map->owner_count; o++) {
      int64_t bytes = norm_bytes(map, o, phase);
      for (uint32_t to = 0; to < map->owner_count; to++)
        add(making, DTR_CHANNEL_NORM, dtr_party_of_owner(map, o), dtr_party_of_owner(map, to),
            bytes);
    }
}

static void add_client_families(struct making *making) {
  const struct dtr_map *map = making->made->map;
  open(making, DTR_CHANNEL_FORWARD, 1);
  for (uint32_t c = 0; c < map->client_count; c++) {
    int64_t leaf_count = 0;
    for (uint32_t i = 0; i < map->clients[c].replica_count; i++)
      leaf_count += map->replicas[map->clients[c].first_replica + i].leaf_count;
    add(making, DTR_CHANNEL_FORWARD, c, 0, leaf_count * dtr_map_fetch_bytes(map));
  }
  open(making, DTR_CHANNEL_BEGIN, 1);
  for (uint32_t c = 0; c < map->client_count; c++)
    add(making, DTR_CHANNEL_BEGIN, 0, c, sizeof(struct dtr_command));
}

static void add_owner_families(struct making *making) {
  const struct dtr_map *map = making->made->map;
  open(making, DTR_CHANNEL_GATHER, 1);
  for (uint32_t o = 0; o < map->owner_count; o++)
    add(making, DTR_CHANNEL_GATHER, dtr_party_of_owner(map, o), 0, map->owners[o].gather_bytes);
  open(making, DTR_CHANNEL_SCATTER, 1);
  for (uint32_t o = 0; o < map->owner_count; o++)
    add(making, DTR_CHANNEL_SCATTER, 0, dtr_party_of_owner(map, o), map->owners[o].gather_bytes);
  open(making, DTR_CHANNEL_COMMAND, 1);
  for (uint32_t o = 0; o < map->owner_count; o++)
    add(making, DTR_CHANNEL_COMMAND, 0, dtr_party_of_owner(map, o), sizeof(struct dtr_command));
}

static void add_arbiter_families(struct making *making) {
  const struct dtr_map *map = making->made->map;
  uint32_t arbiter = dtr_party_of_arbiter(map);
  if (map->rule == DTR_RULE_SYNC)
    return;
  open(making, DTR_CHANNEL_STAGED, 1);
  for (uint32_t o = 0; o < map->owner_count; o++)
    add(making, DTR_CHANNEL_STAGED, dtr_party_of_owner(map, o), arbiter,
        map->client_count * (int64_t)sizeof(struct dtr_staged));
  open(making, DTR_CHANNEL_DECIDE, 1);
  for (uint32_t o = 0; o < map->owner_count; o++)
    add(making, DTR_CHANNEL_DECIDE, arbiter, dtr_party_of_owner(map, o), dtr_decision_bytes(map));
  open(making, DTR_CHANNEL_ASK, 1);
  for (uint32_t c = 0; c < map->client_count; c++)
    add(making, DTR_CHANNEL_ASK, c, arbiter, 0);
  open(making, DTR_CHANNEL_GRANT, 1);
  for (uint32_t c = 0; c < map->client_count; c++)
    add(making, DTR_CHANNEL_GRANT, arbiter, c, 0);
  open(making, DTR_CHANNEL_ENDED, 1);
  for (uint32_t c = 0; c < map->client_count; c++)
    add(making, DTR_CHANNEL_ENDED, c, 0, 0);
  open(making, DTR_CHANNEL_STATS, 1);
  add(making, DTR_CHANNEL_STATS, dtr_party_of_owner(map, 0), 0, dtr_owner_stats_bytes(map));
}

static void add_end_families(struct making *making) {
  const struct dtr_map *map = making->made->map;
  open(making, DTR_CHANNEL_TROUBLE, 1);
  for (uint32_t p = 0; p < dtr_party_count(map); p++)
    add(making, DTR_CHANNEL_TROUBLE, p, 0, sizeof(struct dtr_error));
  open(making, DTR_CHANNEL_DONE, 1);
  for (uint32_t p = 0; p < dtr_party_count(map); p++)
    add(making, DTR_CHANNEL_DONE, 0, p, 0);
}

/* Five families by replica and owner each, five by client, two by party, and the products. */
static bool count_edges(const struct dtr_map *map, uint32_t *count) {
  uint64_t replicas = map->replica_count, owners = map->owner_count;
  uint64_t all = replicas * 5 + owners * 5 + map->client_count * UINT64_C(5) + 1 +
                 dtr_party_count(map) * UINT64_C(2) + replicas * owners * 2 +
                 owners * owners * map->program->replication->phase_count;
  *count = (uint32_t)all;
  return all < UINT32_MAX;
}

bool dtr_channels_new(const struct dtr_map *map, const uint32_t *ends,
                      struct dtr_channels **channels, struct dtr_error *error) {
  uint32_t count;
  struct dtr_channels *made = calloc(1, sizeof *made);
  if (!made || !count_edges(map, &count)) {
    free(made);
    return dtr_error_memory(error, INT64_MAX, "the channels");
  }
  made->map = map;
  made->channels = calloc((size_t)count + 1, sizeof *made->channels);
  made->edges = calloc((size_t)count + 1, sizeof *made->edges);
  if (!made->channels || !made->edges) {
    dtr_channels_free(made);
    return dtr_error_memory(error, count * (int64_t)sizeof *made->edges, "the channels");
  }
  struct making making = {.made = made, .ends = ends};
  add_replica_families(&making);
  add_update_families(&making);
  add_client_families(&making);
  add_owner_families(&making);
  add_arbiter_families(&making);
  add_end_families(&making);
  *channels = made;
  return true;
}

void dtr_channels_free(struct dtr_channels *channels) {
  if (!channels)
    return;
  free(channels->channels);
  free(channels->edges);
  free(channels);
}
