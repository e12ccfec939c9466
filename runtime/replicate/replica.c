#include "runtime/replicate/replica_parts.h"

#include "runtime/memory.h"
#include "runtime/rows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- start and end ---- */

static bool allocate_messages(struct dtr_replica *replica) {
  const struct dtr_map *map = replica->party.map;
  replica->versions = calloc((size_t)map->owner_count + 1, sizeof *replica->versions);
  replica->answers = calloc((size_t)map->owner_count + 1, sizeof *replica->answers);
  replica->expected = 1;
  replica->push = calloc((size_t)map->owner_count + 1, sizeof *replica->push);
  replica->fetch = dtr_ledger_new(replica->party.ledger, DTR_LEDGER_MESSAGES,
                                  replica->map->leaf_count * dtr_map_fetch_bytes(map));
  replica->push_bytes = calloc((size_t)map->owner_count + 1, sizeof *replica->push_bytes);
  if (!replica->versions || !replica->answers || !replica->push || !replica->push_bytes ||
      !replica->fetch)
    return false;
  for (uint32_t o = 0; o < map->owner_count; o++) {
    replica->versions[o] = -1;
    replica->push[o] = dtr_ledger_new(replica->party.ledger, DTR_LEDGER_MESSAGES,
                                      replica->map->leaf_count * map->owners[o].share_bytes);
    if (!replica->push[o])
      return false;
  }
  return true;
}

static int64_t rows_a_shard(const struct dtr_program *program) {
  return program->train.batch / program->train.shards;
}

/* Where rows from another task are put, each input of each shard aligned. */
static bool allocate_rows(struct dtr_replica *replica) {
  const struct dtr_program *program = replica->party.program;
  int64_t shards = replica->map->shards.count, rows = rows_a_shard(program), bytes = 0;
  uint32_t inputs = program->input_count;
  for (uint32_t i = 0; i < inputs; i++)
    bytes += dtr_memory_round(rows * program->inputs[i].row_bytes);
  replica->rows = dtr_ledger_new(replica->party.ledger, DTR_LEDGER_INPUTS, bytes * shards);
  replica->feeds = calloc((size_t)shards * inputs + 1, sizeof *replica->feeds);
  if (!replica->rows || !replica->feeds)
    return false;
  char *at = replica->rows;
  for (int64_t s = 0; s < shards; s++)
    for (uint32_t i = 0; i < inputs; i++) {
      replica->feeds[s * inputs + i] = at;
      at += dtr_memory_round(rows * program->inputs[i].row_bytes);
    }
  return true;
}

static bool allocate_evaluation(struct dtr_replica *replica) {
  const struct dtr_program *program = replica->party.program;
  size_t threads = (size_t)replica->executor->threads;
  int64_t values = replica->map->shards.count * (1 + program->metric_count);
  if (replica->data) {
    bool whole = dtr_data_count(replica->data) >= program->eval.batch;
    replica->scratch_bytes =
        dtr_memory_round(dtr_data_scratch(replica->data, whole ? program->eval.batch : 1));
  }
  replica->scratch = dtr_memory_new(replica->scratch_bytes * (int64_t)threads + DTR_ALIGN);
  replica->views = calloc(threads * (program->input_count + 1), sizeof *replica->views);
  replica->values =
      dtr_ledger_new(replica->party.ledger, DTR_LEDGER_EVALUATION, values * DTR_ALIGN);
  replica->packed = dtr_ledger_new(replica->party.ledger, DTR_LEDGER_EVALUATION,
                                   values * (int64_t)sizeof *replica->packed);
  return replica->scratch && replica->views && replica->values && replica->packed;
}

bool dtr_replica_new(const struct dtr_party *party, uint32_t index, struct dtr_executor *executor,
                     const struct dtr_data *data, struct dtr_replica **made,
                     struct dtr_error *error) {
  struct dtr_replica *replica = calloc(1, sizeof *replica);
  if (!replica)
    return dtr_error_memory(error, (int64_t)sizeof *replica, "a replica");
  replica->party = *party;
  replica->index = index;
  replica->map = &party->map->replicas[index];
  replica->executor = executor;
  replica->data = data;
  replica->is_local = dtr_map_is_local(party->map, index);
  if (!allocate_messages(replica) || (!replica->is_local && !allocate_rows(replica)) ||
      !allocate_evaluation(replica)) {
    dtr_replica_free(replica);
    return dtr_error_memory(error, party->program->contribution_bytes, "the messages of a replica");
  }
  *made = replica;
  return true;
}

void dtr_replica_free(struct dtr_replica *replica) {
  if (!replica)
    return;
  for (uint32_t o = 0; replica->push && o < replica->party.map->owner_count; o++)
    dtr_memory_free(replica->push[o]);
  dtr_memory_free(replica->fetch);
  dtr_memory_free(replica->rows);
  dtr_memory_free(replica->scratch);
  dtr_memory_free(replica->values);
  dtr_memory_free(replica->packed);
  free(replica->views);
  free(replica->feeds);
  free(replica->push);
  free(replica->push_bytes);
  free(replica->versions);
  free(replica->answers);
  free(replica);
}

struct dtr_party *dtr_replica_party(struct dtr_replica *replica) {
  return &replica->party;
}

/* ---- orders ---- */

static bool idle(struct dtr_replica *replica) {
  struct dtr_party *party = &replica->party;
  uint32_t edge = dtr_channel(party->channels, DTR_CHANNEL_ORDER, replica->index, 0);
  const void *bytes;
  int64_t step, size;
  if (!dtr_party_receive_any(party, edge, &step, &size, &bytes))
    return false;
  replica->order = *(const struct dtr_order *)bytes;
  dtr_party_release(party, edge);
  party->step = step;
  replica->wave = replica->order.first_wave;
  replica->expected += replica->order.is_fresh;
  replica->state = DTR_REPLICA_VERSION;
  return true;
}

/* A list of rows, or all of them. Returns its bytes; -1: it is neither. */
static int64_t take_rows(const struct dtr_replica *replica, const struct dtr_owner_map *from,
                         const struct dtr_piece *piece, char *copy, const char *bytes,
                         int64_t size) {
  const struct dtr_share *share = &from->shares[piece->rows];
  const struct dtr_row_list *list = &share->layout.list;
  int64_t first = piece->first / list->width, rows = piece->elements / list->width;
  int64_t row = piece->bytes / rows;
  int64_t most = dtr_rows_most(list, replica->party.program->train.shards, rows);
  int32_t count;
  if (size < DTR_ROW_COUNT_BYTES)
    return -1;
  memcpy(&count, bytes, sizeof count);
  if (count == DTR_ALL_ROWS) {
    if (size < DTR_ROW_COUNT_BYTES + piece->bytes)
      return -1;
    memcpy(copy, bytes + DTR_ROW_COUNT_BYTES, (size_t)piece->bytes);
    return DTR_ROW_COUNT_BYTES + piece->bytes;
  }
  int64_t used = dtr_rows_check(list, bytes, size, most, first, rows, &count);
  for (int64_t i = 0; used >= 0 && i < count; i++) {
    int32_t id;
    memcpy(&id, bytes + DTR_ROW_COUNT_BYTES + i * DTR_ROW_ID_BYTES, sizeof id);
    memcpy(copy + (id - first) * row, bytes + used - (count - i) * row, (size_t)row);
  }
  return used;
}

static bool take_version(struct dtr_replica *replica, uint32_t owner, const char *bytes,
                         int64_t size) {
  const struct dtr_owner_map *from = &replica->party.map->owners[owner];
  const struct dtr_program *program = replica->party.program;
  for (uint32_t i = 0; i < from->piece_count; i++) {
    const struct dtr_piece *piece = &from->pieces[i];
    if (!piece->is_published)
      continue;
    const struct dtr_variable *variable = &program->variables[piece->variable];
    char *copy = replica->executor->variables + variable->offset +
                 piece->first * (piece->bytes / piece->elements);
    int64_t used = piece->bytes;
    if (piece->rows != DTR_NONE)
      used = take_rows(replica, from, piece, copy, bytes, size);
    else if (used <= size)
      memcpy(copy, bytes, (size_t)used);
    if (used < 0 || used > size)
      return false;
    bytes += used;
    size -= used;
  }
  return size == 0;
}

static void take(struct dtr_replica *replica, uint32_t owner, uint32_t edge, int64_t tag,
                 const void *bytes, int64_t size) {
  if (!take_version(replica, owner, bytes, size))
    dtr_party_refuse_rows(&replica->party, edge);
  dtr_party_release(&replica->party, edge);
  replica->versions[owner] = tag;
}

/* Sync: exactly the version of the step. With backups, the newest one, which may be later: then the
 * step has gone on without this replica. Async: one answer of each owner to all that was pushed. */
static bool version_of(struct dtr_replica *replica, uint32_t owner, bool *progress) {
  struct dtr_party *party = &replica->party;
  uint32_t edge = dtr_channel(party->channels, DTR_CHANNEL_PUBLISH, owner, replica->index);
  const void *bytes;
  int64_t tag, size;
  switch (party->map->rule) {
  case DTR_RULE_SYNC:
    if (replica->versions[owner] == party->step)
      return true;
    if (!dtr_party_receive_rows(party, edge, party->step, &size, &bytes))
      return false;
    take(replica, owner, edge, party->step, bytes, size);
    return *progress = true;
  case DTR_RULE_BACKUP:
    if (dtr_party_receive_any(party, edge, &tag, &size, &bytes)) {
      take(replica, owner, edge, tag, bytes, size);
      *progress = true;
    }
    return replica->versions[owner] >= party->step;
  case DTR_RULE_ASYNC:
    while (replica->answers[owner] < replica->expected) {
      if (!dtr_party_receive_any(party, edge, &tag, &size, &bytes))
        return false;
      take(replica, owner, edge, tag, bytes, size);
      replica->answers[owner]++;
      *progress = true;
    }
    return true;
  }
  return false;
}

static bool version(struct dtr_replica *replica) {
  struct dtr_party *party = &replica->party;
  bool progress = false, complete = true;
  for (uint32_t o = 0; o < party->map->owner_count; o++)
    complete = version_of(replica, o, &progress) && complete;
  if (!complete || party->is_failed)
    return progress;
  replica->state = replica->is_local ? DTR_REPLICA_COMPUTE : DTR_REPLICA_ROWS;
  return true;
}

/* ---- rows ---- */

static int64_t row_groups(const struct dtr_replica *replica) {
  return replica->order.kind == DTR_ORDER_EVALUATE ? replica->chunk_count
                                                   : replica->map->shards.count;
}

static int64_t rows_of_group(const struct dtr_replica *replica, int64_t index) {
  const struct dtr_program *program = replica->party.program;
  if (replica->order.kind == DTR_ORDER_TRAIN)
    return rows_a_shard(program);
  int64_t chunk = replica->wave * replica->order.wave_size + replica->map->shards.first + index;
  return dtr_chunk_rows(program, replica->order.whole_chunks, chunk).count;
}

static int64_t rows_bytes(const struct dtr_replica *replica) {
  int64_t count = 0;
  for (int64_t s = 0; s < row_groups(replica); s++)
    count += rows_of_group(replica, s);
  return count * dtr_map_row_bytes(replica->party.map);
}

/* A message holds, shard by shard (chunk by chunk), the rows of each input. */
static void unpack_rows(struct dtr_replica *replica, const char *bytes) {
  const struct dtr_program *program = replica->party.program;
  for (int64_t s = 0; s < row_groups(replica); s++) {
    int64_t count = rows_of_group(replica, s);
    for (uint32_t i = 0; i < program->input_count; i++) {
      int64_t size = count * program->inputs[i].row_bytes;
      memcpy(replica->feeds[s * program->input_count + i], bytes, (size_t)size);
      bytes += size;
    }
  }
}

static bool rows(struct dtr_replica *replica) {
  struct dtr_party *party = &replica->party;
  uint32_t edge = dtr_channel(party->channels, DTR_CHANNEL_FEED, replica->index, 0);
  const void *bytes;
  if (replica->order.kind == DTR_ORDER_EVALUATE)
    replica->chunk_count = dtr_replica_chunks(party->map, replica->index, replica->wave,
                                              replica->order.wave_size, replica->order.chunks);
  if (!dtr_party_receive(party, edge, party->step, rows_bytes(replica), &bytes))
    return false;
  unpack_rows(replica, bytes);
  dtr_party_release(party, edge);
  replica->state = DTR_REPLICA_COMPUTE;
  return true;
}

/* ---- a step ---- */

static int64_t pack_share(const struct dtr_contribution *c, const struct dtr_share *share,
                          const char *block, char *at) {
  if (dtr_rows_is(c))
    return dtr_rows_pack(c, block, share->first / c->list.width, share->elements / c->list.width,
                         at);
  memcpy(at, block + c->offset + share->first * (share->bytes / share->elements),
         (size_t)share->bytes);
  return share->bytes;
}

static void pack_push(struct dtr_replica *replica, uint32_t leaf, const char *block) {
  const struct dtr_program *program = replica->party.program;
  const struct dtr_map *map = replica->party.map;
  for (uint32_t o = 0; o < map->owner_count; o++) {
    const struct dtr_owner_map *owner = &map->owners[o];
    int64_t *bytes = &replica->push_bytes[o];
    *bytes = leaf == 0 ? 0 : *bytes;
    for (uint32_t i = 0; i < owner->share_count; i++)
      *bytes += pack_share(&program->contributions[owner->shares[i].contribution],
                           &owner->shares[i], block, replica->push[o] + *bytes);
  }
}

/* Loss and metrics are f32 scalars. */
static float pack_fetch(struct dtr_replica *replica, uint32_t leaf, const char *block) {
  const struct dtr_program *program = replica->party.program;
  char *at = replica->fetch + leaf * dtr_map_fetch_bytes(replica->party.map);
  float loss;
  for (uint32_t i = 0; i <= program->metric_count; i++)
    memcpy(at + i * sizeof(float), block + program->contributions[i].offset, sizeof(float));
  memcpy(&loss, at, sizeof loss);
  return loss;
}

/* A partial loss that is not finite stops the step before any owner has the whole of it. */
static bool pack(struct dtr_replica *replica, double *bad) {
  bool good = true;
  for (uint32_t leaf = 0; leaf < replica->map->leaf_count; leaf++) {
    char *block = dtr_executor_partial(replica->executor, leaf);
    float loss = pack_fetch(replica, leaf, block);
    if (good && !isfinite(loss)) {
      good = false;
      *bad = (double)(loss / (float)replica->party.program->train.shards);
    }
    if (good)
      pack_push(replica, leaf, block);
    dtr_executor_release(replica->executor, block);
  }
  return good;
}

static bool fail(struct dtr_replica *replica) {
  replica->state = DTR_REPLICA_FAULT;
  return true;
}

/* A late push may still be on its way. */
static bool messages_are_read(struct dtr_replica *replica) {
  struct dtr_party *party = &replica->party;
  for (uint32_t o = 0; o < party->map->owner_count; o++)
    if (!dtr_party_is_sent(party,
                           dtr_channel(party->channels, DTR_CHANNEL_PUSH, replica->index, o)))
      return false;
  return true;
}

static bool train(struct dtr_replica *replica) {
  double loss;
  if (!messages_are_read(replica))
    return false;
  if (replica->order.batch)
    replica->batch = *replica->order.batch;
  else
    replica->batch = (struct dtr_batch){.step = replica->party.step,
                                        .rows = rows_a_shard(replica->party.program),
                                        .first_shard = replica->map->shards.first,
                                        .input_count = replica->party.program->input_count,
                                        .feeds = replica->feeds};
  if (!dtr_executor_block(replica->executor, &replica->batch, &replica->order.scalars)) {
    dtr_replica_explain_fault(replica);
    return fail(replica);
  }
  if (!pack(replica, &loss)) {
    dtr_replica_explain_loss(replica, loss);
    return fail(replica);
  }
  replica->next = 0;
  replica->state = DTR_REPLICA_SEND;
  return true;
}

static bool send(struct dtr_replica *replica) {
  struct dtr_party *party = &replica->party;
  const struct dtr_map *map = party->map;
  bool progress = false;
  for (; replica->next < map->owner_count; replica->next++) {
    uint32_t edge = dtr_channel(party->channels, DTR_CHANNEL_PUSH, replica->index, replica->next);
    if (!dtr_party_send(party, edge, party->step, replica->push[replica->next],
                        replica->push_bytes[replica->next]))
      return progress;
    progress = true;
  }
  uint32_t edge = dtr_channel(party->channels, DTR_CHANNEL_FETCH, replica->index, 0);
  if (!dtr_party_send(party, edge, party->step, replica->fetch,
                      dtr_channel_bytes(party->channels, edge)))
    return progress;
  replica->expected++;
  replica->state = DTR_REPLICA_IDLE;
  return true;
}

/* ---- evaluation ---- */

static void next_wave(struct dtr_replica *replica) {
  replica->wave++;
  if (replica->wave < replica->order.first_wave + replica->order.waves)
    replica->state = replica->is_local ? DTR_REPLICA_COMPUTE : DTR_REPLICA_ROWS;
  else
    replica->state = DTR_REPLICA_IDLE;
}

static bool evaluate(struct dtr_replica *replica) {
  struct dtr_party *party = &replica->party;
  uint32_t edge = dtr_channel(party->channels, DTR_CHANNEL_CHUNK, replica->index, 0);
  replica->chunk_count = dtr_replica_chunks(party->map, replica->index, replica->wave,
                                            replica->order.wave_size, replica->order.chunks);
  if (replica->chunk_count == 0) {
    next_wave(replica);
    return true;
  }
  if (!dtr_party_is_sent(party, edge)) /* the chief still reads the wave before */
    return false;
  if (!dtr_replica_run_wave(replica))
    return fail(replica);
  replica->state = DTR_REPLICA_CHUNKS;
  return true;
}

static bool chunks(struct dtr_replica *replica) {
  struct dtr_party *party = &replica->party;
  uint32_t edge = dtr_channel(party->channels, DTR_CHANNEL_CHUNK, replica->index, 0);
  int64_t width = (int64_t)sizeof(float) * (1 + party->program->metric_count);
  if (!dtr_party_send(party, edge, replica->wave, replica->packed, replica->chunk_count * width))
    return false;
  next_wave(replica);
  return true;
}

/* ---- the machine ---- */

/* Then there is nothing to do but to wait for the end. */
static bool report(struct dtr_replica *replica) {
  struct dtr_party *party = &replica->party;
  uint32_t edge = dtr_channel(party->channels, DTR_CHANNEL_FAULT, replica->index, 0);
  if (party->has_told)
    return false;
  party->has_told =
      dtr_party_send(party, edge, party->step, &replica->report, sizeof replica->report);
  return party->has_told;
}

bool dtr_replica_poll(struct dtr_replica *replica) {
  bool progress = false;
  if (dtr_party_is_over(&replica->party, &progress))
    return progress;
  switch (replica->state) {
  case DTR_REPLICA_IDLE:
    return idle(replica);
  case DTR_REPLICA_VERSION:
    return version(replica);
  case DTR_REPLICA_ROWS:
    return rows(replica);
  case DTR_REPLICA_COMPUTE:
    return replica->order.kind == DTR_ORDER_TRAIN ? train(replica) : evaluate(replica);
  case DTR_REPLICA_SEND:
    return send(replica);
  case DTR_REPLICA_CHUNKS:
    return chunks(replica);
  case DTR_REPLICA_FAULT:
    return report(replica);
  }
  return progress;
}
