#include "runtime/replicate/owner_parts.h"

#include "runtime/init.h"
#include "runtime/memory.h"
#include "runtime/rows.h"

#include <stdlib.h>
#include <string.h>

/* ---- start and end ---- */

static struct dtr_tree_part top_of(const struct dtr_map *map) {
  return (struct dtr_tree_part){
      .shards = map->program->train.shards, .leaves = map->leaves, .leaf_count = map->leaf_count};
}

int64_t dtr_owner_bytes(const struct dtr_map *map, uint32_t index) {
  const struct dtr_owner_map *owner = &map->owners[index];
  return owner->memory_bytes + map->leaf_count * owner->block_bytes +
         dtr_memory_round(map->program->replication->update_arena_bytes) +
         dtr_memory_round(owner->publish_bytes) + dtr_memory_round(owner->gather_bytes) +
         dtr_update_bytes(map->program, owner->device);
}

static bool make_table(struct dtr_owner *owner) {
  owner->table = calloc((size_t)owner->map->share_count + 1, sizeof *owner->table);
  for (uint32_t i = 0; owner->table && i < owner->map->share_count; i++)
    owner->table[i] = owner->map->shares[i].layout;
  return owner->table != NULL;
}

static int64_t most_norms(const struct dtr_owner *owner) {
  const struct dtr_party *party = &owner->party;
  int64_t most = 0;
  for (uint32_t phase = 0; phase < party->program->replication->phase_count; phase++) {
    uint32_t edge = dtr_channel(party->channels, DTR_CHANNEL_NORM,
                                phase * party->map->owner_count + owner->index, 0);
    if (dtr_channel_bytes(party->channels, edge) > most)
      most = dtr_channel_bytes(party->channels, edge);
  }
  return most;
}

/* The memory of the pieces may be there already. */
static bool allocate(struct dtr_owner *owner, struct dtr_error *error) {
  const struct dtr_replication *tables = owner->party.program->replication;
  const struct dtr_map *map = owner->party.map;
  uint32_t peers = map->replica_count > map->owner_count ? map->replica_count : map->owner_count;
  int64_t bytes = dtr_owner_bytes(map, owner->index);
  if (!owner->memory &&
      !dtr_memory_check(owner->party.env, bytes, owner->party.program->name, error))
    return false;
  struct dtr_ledger *ledger = owner->party.ledger;
  if (!owner->memory)
    owner->memory = dtr_ledger_new(ledger, DTR_LEDGER_VARIABLES, owner->map->memory_bytes);
  owner->arena = dtr_ledger_new(ledger, DTR_LEDGER_UPDATE, tables->update_arena_bytes);
  owner->block = dtr_ledger_new(ledger, DTR_LEDGER_MESSAGES, owner->map->publish_bytes);
  owner->gather = dtr_ledger_new(ledger, DTR_LEDGER_MESSAGES, owner->map->gather_bytes);
  owner->norms = dtr_ledger_new(ledger, DTR_LEDGER_MESSAGES, most_norms(owner));
  owner->have = calloc(peers, sizeof *owner->have);
  if (!make_table(owner) || !owner->memory || !owner->arena || !owner->block || !owner->gather ||
      !owner->norms || !owner->have ||
      (map->rule != DTR_RULE_SYNC && !dtr_owner_new_relaxed(owner)))
    return dtr_error_memory(error, bytes, "the parameters of an owner");
  if (!dtr_owner_new_update(owner, error))
    return false;
  struct dtr_tree_part top = top_of(map);
  dtr_ledger_add(ledger, DTR_LEDGER_PUSHED, map->leaf_count * owner->map->block_bytes);
  return dtr_tree_new_part(owner->table, owner->map->share_count, owner->map->block_bytes, &top, 1,
                           0, &owner->tree, error);
}

bool dtr_owner_new(const struct dtr_party *party, uint32_t index, struct dtr_executor *executor,
                   struct dtr_owner **made, struct dtr_error *error) {
  struct dtr_owner *owner = calloc(1, sizeof *owner);
  if (!owner)
    return dtr_error_memory(error, (int64_t)sizeof *owner, "an owner");
  owner->party = *party;
  owner->map = &party->map->owners[index];
  owner->index = index;
  owner->executor = executor;
  owner->version = -1;
  if (!allocate(owner, error)) {
    dtr_owner_free(owner);
    return false;
  }
  *made = owner;
  return true;
}

/* What was allocated before goes first: there may be no room for both. */
static void free_all_but_values(struct dtr_owner *owner, struct dtr_relaxed **relaxed) {
  owner->memory = NULL;
  *relaxed = owner->relaxed;
  owner->relaxed = NULL;
  dtr_owner_free(owner);
}

bool dtr_owner_renew(const struct dtr_party *party, struct dtr_owner **owner,
                     struct dtr_error *error) {
  struct dtr_owner *made = calloc(1, sizeof *made), old = **owner;
  struct dtr_relaxed *relaxed;
  if (!made)
    return dtr_error_memory(error, (int64_t)sizeof *made, "an owner");
  free_all_but_values(*owner, &relaxed);
  *owner = NULL;
  made->party = *party;
  made->map = old.map;
  made->index = old.index;
  made->executor = old.executor;
  made->memory = old.memory;
  made->version = old.version;
  made->is_torn = old.is_torn;
  bool good = allocate(made, error);
  if (relaxed) {
    if (good)
      dtr_owner_renew_relaxed(made, relaxed);
    old.relaxed = relaxed;
    dtr_owner_free_relaxed(&old);
  }
  if (good)
    *owner = made;
  else
    dtr_owner_free(made);
  return good;
}

int64_t dtr_owner_version(const struct dtr_owner *owner) {
  return owner->is_torn ? -1 : owner->version;
}

void dtr_owner_free(struct dtr_owner *owner) {
  if (!owner)
    return;
  dtr_owner_free_relaxed(owner);
  dtr_update_free(owner->update);
  dtr_tree_free(owner->tree);
  dtr_memory_free(owner->memory);
  dtr_memory_free(owner->arena);
  dtr_memory_free(owner->block);
  dtr_memory_free(owner->gather);
  dtr_memory_free(owner->norms);
  free(owner->table);
  free(owner->have);
  free(owner);
}

struct dtr_party *dtr_owner_party(struct dtr_owner *owner) {
  return &owner->party;
}

/* ---- first values ---- */

static bool make_values(struct dtr_owner *owner) {
  const struct dtr_program *program = owner->party.program;
  for (uint32_t i = 0; i < owner->map->piece_count; i++) {
    const struct dtr_piece *piece = &owner->map->pieces[i];
    const struct dtr_variable *variable = &program->variables[piece->variable];
    if (!dtr_init_fill(variable, program->train.seed, piece->first, piece->first + piece->elements,
                       owner->memory + piece->offset, &owner->party.error)) {
      dtr_error_where(&owner->party.error, variable->where);
      return dtr_party_fail(&owner->party);
    }
  }
  return true;
}

/* All of a table, or the rows that the update has touched. */
static int64_t pack_rows(const struct dtr_owner *owner, const struct dtr_piece *piece,
                         char *message) {
  struct dtr_contribution layout = owner->map->shares[piece->rows].layout;
  const char *memory = owner->memory + piece->offset;
  int64_t width = layout.list.width, row = width * (int64_t)sizeof(float);
  int32_t count = DTR_ALL_ROWS;
  if (owner->is_first) {
    memcpy(message, &count, sizeof count);
    memcpy(message + DTR_ROW_COUNT_BYTES, memory, (size_t)piece->bytes);
    return DTR_ROW_COUNT_BYTES + piece->bytes;
  }
  const int32_t *ids = dtr_rows_ids(&layout, owner->reduced);
  count = *dtr_rows_count(&layout, owner->reduced);
  memcpy(message, &count, sizeof count);
  message += DTR_ROW_COUNT_BYTES;
  memcpy(message, ids, (size_t)count * DTR_ROW_ID_BYTES);
  message += (int64_t)count * DTR_ROW_ID_BYTES;
  for (int32_t i = 0; i < count; i++)
    memcpy(message + i * row, memory + (ids[i] - piece->first / width) * row, (size_t)row);
  return dtr_rows_message_bytes(&layout.list, count);
}

int64_t dtr_owner_pack(const struct dtr_owner *owner, char *message) {
  char *at = message;
  for (uint32_t i = 0; i < owner->map->piece_count; i++) {
    const struct dtr_piece *piece = &owner->map->pieces[i];
    if (!piece->is_published)
      continue;
    if (piece->rows != DTR_NONE) {
      at += pack_rows(owner, piece, at);
      continue;
    }
    memcpy(at, owner->memory + piece->offset, (size_t)piece->bytes);
    at += piece->bytes;
  }
  return at - message;
}

static void enter_publish(struct dtr_owner *owner) {
  owner->state = DTR_OWNER_PUBLISH;
  owner->next = 0;
  owner->block_bytes = dtr_owner_pack(owner, owner->block);
}

/* `first`: the first values, otherwise those of an update. */
static void enter_version(struct dtr_owner *owner, bool first) {
  owner->version = owner->party.step;
  owner->is_torn = false;
  owner->is_first = first;
  if (owner->party.map->rule == DTR_RULE_ASYNC)
    dtr_owner_publish_async(owner, first);
  else if (owner->party.map->rule == DTR_RULE_BACKUP)
    owner->state = DTR_OWNER_WITHDRAW;
  else
    enter_publish(owner);
}

static bool withdraw(struct dtr_owner *owner) {
  if (!dtr_owner_withdraw(owner))
    return false;
  enter_publish(owner);
  return true;
}

/* The chief has been told so. */
static bool holds(struct dtr_owner *owner, const struct dtr_command *command) {
  bool same = owner->party.map->rule == DTR_RULE_ASYNC || owner->version == command->step;
  if (dtr_owner_version(owner) >= 0 && same) {
    if (owner->relaxed)
      owner->relaxed->is_live = true;
    return true;
  }
  dtr_error_set(&owner->party.error, DTR_STATUS_BUG,
                "version %lld was to be gone on with, this is %lld", (long long)command->step,
                (long long)dtr_owner_version(owner));
  return dtr_party_fail(&owner->party);
}

static bool begin(struct dtr_owner *owner) {
  struct dtr_party *party = &owner->party;
  uint32_t edge = dtr_channel(party->channels, DTR_CHANNEL_COMMAND, owner->index, 0);
  int64_t step, size;
  const void *bytes;
  if (!dtr_party_receive_any(party, edge, &step, &size, &bytes))
    return false;
  struct dtr_command command = *(const struct dtr_command *)bytes;
  dtr_party_release(party, edge);
  party->step = command.step;
  owner->scalars = command.scalars;
  if (command.scatter)
    owner->state = DTR_OWNER_SCATTER;
  else if (command.live ? holds(owner, &command) : make_values(owner))
    enter_version(owner, true);
  return true;
}

static bool scatter(struct dtr_owner *owner) {
  struct dtr_party *party = &owner->party;
  uint32_t edge = dtr_channel(party->channels, DTR_CHANNEL_SCATTER, owner->index, 0);
  const void *bytes;
  if (!dtr_party_receive(party, edge, party->step, owner->map->gather_bytes, &bytes))
    return false;
  const char *from = bytes;
  for (uint32_t i = 0; i < owner->map->piece_count; i++) {
    const struct dtr_piece *piece = &owner->map->pieces[i];
    memcpy(owner->memory + piece->offset, from, (size_t)piece->bytes);
    from += piece->bytes;
  }
  dtr_party_release(party, edge);
  enter_version(owner, true);
  return true;
}

/* ---- a step ---- */

static void enter_collect(struct dtr_owner *owner) {
  const struct dtr_map *map = owner->party.map;
  owner->state = DTR_OWNER_COLLECT;
  owner->missing = map->replica_count;
  memset(owner->have, 0, map->replica_count * sizeof *owner->have);
}

static bool publish(struct dtr_owner *owner) {
  struct dtr_party *party = &owner->party;
  bool progress = false;
  while (owner->next < party->map->replica_count) {
    uint32_t edge = dtr_channel(party->channels, DTR_CHANNEL_PUBLISH, owner->index, owner->next);
    if (dtr_owner_serves(owner, owner->next) &&
        !dtr_party_send(party, edge, party->step, owner->block, owner->block_bytes))
      return progress;
    owner->next++;
    progress = true;
  }
  enter_collect(owner);
  return true;
}

static int64_t check_share(const struct dtr_share *share, const char *bytes, int64_t size) {
  const struct dtr_row_list *list = &share->layout.list;
  int32_t count;
  if (!dtr_rows_is(&share->layout))
    return share->bytes;
  return dtr_rows_check(list, bytes, size, share->most, share->first / list->width,
                        share->elements / list->width, &count);
}

bool dtr_owner_check_push(struct dtr_owner *owner, uint32_t replica, const char *bytes,
                          int64_t size) {
  struct dtr_party *party = &owner->party;
  for (uint32_t leaf = 0; leaf < party->map->replicas[replica].leaf_count; leaf++)
    for (uint32_t i = 0; i < owner->map->share_count; i++) {
      int64_t used = check_share(&owner->map->shares[i], bytes, size);
      if (used < 0 || used > size)
        return dtr_party_refuse_rows(
            party, dtr_channel(party->channels, DTR_CHANNEL_PUSH, replica, owner->index));
      bytes += used;
      size -= used;
    }
  return size == 0 || dtr_party_refuse_rows(party, dtr_channel(party->channels, DTR_CHANNEL_PUSH,
                                                               replica, owner->index));
}

const char *dtr_owner_unpack_leaf(const struct dtr_owner *owner, char *block, const char *bytes) {
  for (uint32_t i = 0; i < owner->map->share_count; i++) {
    const struct dtr_share *share = &owner->map->shares[i];
    if (dtr_rows_is(&share->layout)) {
      bytes += dtr_rows_unpack(&share->layout, bytes, block);
      continue;
    }
    memcpy(block + share->offset, bytes, (size_t)share->bytes);
    bytes += share->bytes;
  }
  return bytes;
}

static void take_push(struct dtr_owner *owner, uint32_t replica, const char *bytes) {
  const struct dtr_replica_map *from = &owner->party.map->replicas[replica];
  for (uint32_t leaf = 0; leaf < from->leaf_count; leaf++) {
    char *block = dtr_tree_take(owner->tree);
    bytes = dtr_owner_unpack_leaf(owner, block, bytes);
    dtr_tree_put(owner->tree, from->first_leaf + leaf, block);
  }
}

/* ---- commands ---- */

static void pack_all(struct dtr_owner *owner) {
  char *at = owner->gather;
  for (uint32_t i = 0; i < owner->map->piece_count; i++) {
    const struct dtr_piece *piece = &owner->map->pieces[i];
    memcpy(at, owner->memory + piece->offset, (size_t)piece->bytes);
    at += piece->bytes;
  }
}

static bool send_stats(struct dtr_owner *owner) {
  struct dtr_party *party = &owner->party;
  struct dtr_relaxed *relaxed = owner->relaxed; /* late contributions are counted on */
  memcpy(relaxed->stats_sent, relaxed->stats, (size_t)dtr_owner_stats_bytes(party->map));
  return dtr_party_send(party, dtr_channel(party->channels, DTR_CHANNEL_STATS, 0, 0), 0,
                        relaxed->stats_sent, dtr_owner_stats_bytes(party->map));
}

/* A version that the chief asks for in sync will come; otherwise it takes what there is. */
static bool take_command(struct dtr_owner *owner) {
  struct dtr_party *party = &owner->party;
  uint32_t edge = dtr_channel(party->channels, DTR_CHANNEL_COMMAND, owner->index, 0);
  int64_t step, size;
  const void *bytes;
  if (owner->relaxed && !dtr_owner_has_made_last(owner))
    return false;
  if (!dtr_transport_peek(party->end, edge, &step, &size) ||
      (party->map->rule != DTR_RULE_ASYNC && step > party->step) ||
      !dtr_party_receive(party, edge, step, size, &bytes))
    return false;
  const struct dtr_command *command = bytes;
  if (command->kind == DTR_COMMAND_GATHER) {
    pack_all(owner);
    owner->is_gathering = true;
    owner->gather_step = step;
  } else if (command->kind == DTR_COMMAND_PUBLISH) {
    owner->relaxed->is_fresh_due = true;
    owner->relaxed->last = step;
  } else if (command->kind == DTR_COMMAND_STATS) {
    send_stats(owner);
  }
  dtr_party_release(party, edge);
  return true;
}

bool dtr_owner_hear_chief(struct dtr_owner *owner) {
  struct dtr_party *party = &owner->party;
  uint32_t edge = dtr_channel(party->channels, DTR_CHANNEL_GATHER, owner->index, 0);
  bool progress = !owner->is_gathering && take_command(owner);
  if (!owner->is_gathering ||
      !dtr_party_send(party, edge, owner->gather_step, owner->gather, owner->map->gather_bytes))
    return progress;
  owner->is_gathering = false;
  return true;
}

static bool collect(struct dtr_owner *owner) {
  struct dtr_party *party = &owner->party;
  if (owner->relaxed)
    return dtr_owner_collect_relaxed(owner);
  bool progress = dtr_owner_hear_chief(owner);
  if (party->is_failed || owner->is_gathering)
    return progress;
  for (uint32_t r = 0; r < party->map->replica_count && !party->is_failed; r++) {
    uint32_t edge = dtr_channel(party->channels, DTR_CHANNEL_PUSH, r, owner->index);
    const void *bytes;
    int64_t size;
    if (owner->have[r] || !dtr_party_receive_rows(party, edge, party->step, &size, &bytes))
      continue;
    if (dtr_owner_check_push(owner, r, bytes, size))
      take_push(owner, r, bytes);
    dtr_party_release(party, edge);
    owner->have[r] = true;
    owner->missing--;
    progress = true;
  }
  if (owner->missing == 0 && !party->is_failed) {
    owner->reduced = dtr_tree_result(owner->tree);
    owner->scalars.step = party->step;
    owner->scalars.updates = party->step + 1;
    dtr_owner_enter_update(owner);
  }
  return progress;
}

/* ---- the update ---- */

static uint32_t norm_edge(const struct dtr_owner *owner, uint32_t from, uint32_t to) {
  return dtr_channel(owner->party.channels, DTR_CHANNEL_NORM,
                     owner->phase * owner->party.map->owner_count + from, to);
}

static void enter_exchange(struct dtr_owner *owner) {
  uint32_t owners = owner->party.map->owner_count;
  owner->state = DTR_OWNER_EXCHANGE;
  owner->next = 0;
  owner->missing = 0;
  for (uint32_t o = 0; o < owners; o++) {
    int64_t bytes = dtr_channel_bytes(owner->party.channels, norm_edge(owner, o, owner->index));
    owner->have[o] = o == owner->index || bytes == 0;
    owner->missing += !owner->have[o];
  }
}

static void next_phase(struct dtr_owner *owner) {
  struct dtr_party *party = &owner->party;
  owner->phase++;
  if (owner->phase < party->program->replication->phase_count) {
    owner->state = DTR_OWNER_UPDATE;
    return;
  }
  dtr_update_end(owner->update);
  party->step++;
  enter_version(owner, false);
  dtr_tree_return(owner->tree, owner->reduced);
  owner->reduced = NULL;
}

static bool update(struct dtr_owner *owner) {
  struct dtr_party *party = &owner->party;
  owner->is_torn = true;
  struct dtr_fault fault;
  if (!dtr_update_phase(owner->update, owner->executor, owner->phase, &fault)) {
    dtr_update_failed(&fault, &party->error);
    dtr_error_step(&party->error, party->step + 1);
    dtr_party_fail(party);
    return true;
  }
  if (dtr_channel_bytes(party->channels, norm_edge(owner, owner->index, 0)) > 0)
    dtr_owner_pack_norms(owner);
  enter_exchange(owner);
  return true;
}

static bool send_norms(struct dtr_owner *owner) {
  struct dtr_party *party = &owner->party;
  bool progress = false;
  int64_t bytes = dtr_channel_bytes(party->channels, norm_edge(owner, owner->index, 0));
  while (owner->next < party->map->owner_count) {
    uint32_t edge = norm_edge(owner, owner->index, owner->next);
    if (bytes > 0 && owner->next != owner->index &&
        !dtr_party_send(party, edge, party->step, owner->norms, bytes))
      return progress;
    owner->next++;
    progress = true;
  }
  return progress;
}

/* The packed sums are written anew after the next phase: all must have read them. */
static bool norms_are_read(struct dtr_owner *owner) {
  for (uint32_t o = 0; o < owner->party.map->owner_count; o++)
    if (o != owner->index && !dtr_party_is_sent(&owner->party, norm_edge(owner, owner->index, o)))
      return false;
  return true;
}

static bool exchange(struct dtr_owner *owner) {
  struct dtr_party *party = &owner->party;
  bool progress = send_norms(owner);
  for (uint32_t o = 0; o < party->map->owner_count && !party->is_failed; o++) {
    const void *bytes;
    uint32_t edge = norm_edge(owner, o, owner->index);
    if (owner->have[o] || !dtr_party_receive(party, edge, party->step,
                                             dtr_channel_bytes(party->channels, edge), &bytes))
      continue;
    dtr_owner_unpack_norms(owner, o, bytes);
    dtr_party_release(party, edge);
    owner->have[o] = true;
    owner->missing--;
    progress = true;
  }
  if (owner->missing == 0 && owner->next == party->map->owner_count && !party->is_failed &&
      norms_are_read(owner)) {
    next_phase(owner);
    return true;
  }
  return progress;
}

bool dtr_owner_poll(struct dtr_owner *owner) {
  bool progress = false;
  if (dtr_party_is_over(&owner->party, &progress))
    return progress;
  switch (owner->state) {
  case DTR_OWNER_BEGIN:
    return begin(owner);
  case DTR_OWNER_SCATTER:
    return scatter(owner);
  case DTR_OWNER_WITHDRAW:
    return withdraw(owner);
  case DTR_OWNER_PUBLISH:
    return publish(owner);
  case DTR_OWNER_COLLECT:
    return collect(owner);
  case DTR_OWNER_UPDATE:
    return update(owner);
  case DTR_OWNER_EXCHANGE:
    return exchange(owner);
  }
  return progress;
}
