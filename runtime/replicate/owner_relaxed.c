/* An owner under `backup` or `async`: contributions are staged by client, and a decision says which
 * of them make the next update. */
#include "runtime/replicate/owner_parts.h"

#include "runtime/memory.h"
#include "runtime/rows.h"

#include <stdlib.h>
#include <string.h>

bool dtr_owner_new_relaxed(struct dtr_owner *owner) {
  const struct dtr_map *map = owner->party.map;
  size_t clients = map->client_count;
  struct dtr_relaxed *r = calloc(1, sizeof *r);
  owner->relaxed = r;
  if (!r)
    return false;
  r->blocks = calloc((size_t)map->leaf_count + 1, sizeof *r->blocks);
  r->arrived = calloc(clients + 1, sizeof *r->arrived);
  r->staged = calloc(clients + 1, sizeof *r->staged);
  r->report = calloc(clients + 1, sizeof *r->report);
  r->read = calloc(clients + 1, sizeof *r->read);
  r->refused = calloc(clients + 1, sizeof *r->refused);
  r->has = calloc(clients + 1, sizeof *r->has);
  r->published = calloc(clients + 1, sizeof *r->published);
  r->owed = calloc((size_t)map->replica_count + 1, sizeof *r->owed);
  r->before = dtr_ledger_new(owner->party.ledger, DTR_LEDGER_MESSAGES, owner->map->publish_bytes);
  r->stays = calloc(clients + 1, sizeof *r->stays);
  r->last = -1;
  r->stats = calloc(1, (size_t)dtr_owner_stats_bytes(map));
  r->stats_sent = calloc(1, (size_t)dtr_owner_stats_bytes(map));
  if (!r->blocks || !r->arrived || !r->staged || !r->report || !r->read || !r->refused || !r->has ||
      !r->published || !r->owed || !r->before || !r->stays || !r->stats || !r->stats_sent)
    return false;
  for (size_t c = 0; c < clients; c++) {
    r->staged[c] = r->refused[c] = -1;
    if (map->rule != DTR_RULE_ASYNC)
      continue;
    r->published[c] =
        dtr_ledger_new(owner->party.ledger, DTR_LEDGER_MESSAGES, owner->map->publish_bytes);
    if (!r->published[c])
      return false;
  }
  return true;
}

void dtr_owner_free_relaxed(struct dtr_owner *owner) {
  struct dtr_relaxed *r = owner->relaxed;
  if (!r)
    return;
  for (uint32_t c = 0; r->published && c < owner->party.map->client_count; c++)
    dtr_memory_free(r->published[c]);
  dtr_memory_free(r->before);
  free(r->blocks);
  free(r->arrived);
  free(r->staged);
  free(r->report);
  free(r->read);
  free(r->refused);
  free(r->has);
  free(r->published);
  free(r->owed);
  free(r->stays);
  free(r->stats);
  free(r->stats_sent);
  free(r);
}

void dtr_owner_renew_relaxed(struct dtr_owner *owner, const struct dtr_relaxed *before) {
  struct dtr_relaxed *r = owner->relaxed;
  memcpy(r->stats, before->stats, (size_t)dtr_owner_stats_bytes(owner->party.map));
  r->first = before->first;
  r->rounds = before->rounds;
}

/* ---- staging ---- */

/* A client's version may be written when none of its replicas reads it. */
static bool is_free(struct dtr_owner *owner, uint32_t client) {
  const struct dtr_client_map *c = &owner->party.map->clients[client];
  for (uint32_t r = c->first_replica; r < c->first_replica + c->replica_count; r++)
    if (owner->relaxed->owed[r] ||
        !dtr_party_is_sent(&owner->party, dtr_channel(owner->party.channels, DTR_CHANNEL_PUBLISH,
                                                      owner->index, r)))
      return false;
  return true;
}

static void unstage(struct dtr_owner *owner, uint32_t client) {
  const struct dtr_map *map = owner->party.map;
  const struct dtr_client_map *c = &map->clients[client];
  for (uint32_t r = c->first_replica; r < c->first_replica + c->replica_count; r++)
    for (uint32_t l = 0; l < map->replicas[r].leaf_count; l++) {
      char **block = &owner->relaxed->blocks[map->replicas[r].first_leaf + l];
      if (*block)
        dtr_tree_return(owner->tree, *block);
      *block = NULL;
    }
  owner->relaxed->arrived[client] = 0;
}

static void stage(struct dtr_owner *owner, uint32_t replica, int64_t step, const char *bytes) {
  struct dtr_relaxed *r = owner->relaxed;
  const struct dtr_replica_map *from = &owner->party.map->replicas[replica];
  for (uint32_t leaf = 0; leaf < from->leaf_count; leaf++) {
    char *block = dtr_tree_take(owner->tree);
    bytes = dtr_owner_unpack_leaf(owner, block, bytes);
    r->blocks[from->first_leaf + leaf] = block;
  }
  if (++r->arrived[from->client] < owner->party.map->clients[from->client].replica_count)
    return;
  r->staged[from->client] = step;
  r->is_news = true;
}

/* Counted once, however many replicas the client has. */
static void refuse(struct dtr_owner *owner, uint32_t client, int64_t step) {
  struct dtr_relaxed *r = owner->relaxed;
  r->stats->dropped[client] += r->refused[client] != step;
  r->refused[client] = step;
}

/* Whether the message of `replica` is taken now: contributions to later steps wait, those to
 * earlier ones are dropped, and one that was made already is ignored. */
static bool take_push(struct dtr_owner *owner, uint32_t replica) {
  struct dtr_party *party = &owner->party;
  struct dtr_relaxed *r = owner->relaxed;
  uint32_t client = party->map->replicas[replica].client;
  uint32_t edge = dtr_channel(party->channels, DTR_CHANNEL_PUSH, replica, owner->index);
  bool backup = party->map->rule == DTR_RULE_BACKUP;
  int64_t step, size;
  const void *bytes;
  /* A contribution may overtake the receipt of the version that it was made with. */
  bool waits = r->arrived[client] == party->map->clients[client].replica_count ||
               (!backup && !is_free(owner, client));
  if (r->stays[client].presence != DTR_PRESENT ||
      !dtr_transport_peek(party->end, edge, &step, &size) || (backup && step > party->step) ||
      (!backup && waits) || !dtr_party_receive(party, edge, step, size, &bytes))
    return false;
  if (!dtr_owner_check_push(owner, replica, bytes, size))
    return true;
  if (backup ? step == party->step : step > r->staged[client])
    stage(owner, replica, step, bytes);
  else if (backup)
    refuse(owner, client, step);
  dtr_party_release(party, edge);
  return true;
}

static bool report(struct dtr_owner *owner) {
  struct dtr_party *party = &owner->party;
  struct dtr_relaxed *r = owner->relaxed;
  uint32_t edge = dtr_channel(party->channels, DTR_CHANNEL_STAGED, owner->index, 0);
  bool arbitrated = party->map->rule == DTR_RULE_BACKUP || party->map->is_ordered;
  if (!arbitrated || !r->is_news || !dtr_party_is_sent(party, edge))
    return false;
  for (uint32_t c = 0; c < party->map->client_count; c++)
    r->report[c] = (struct dtr_staged){.step = r->staged[c], .stay = r->stays[c].number};
  r->is_news = !dtr_party_send(party, edge, 0, r->report, dtr_channel_bytes(party->channels, edge));
  return !r->is_news;
}

/* ---- decisions ---- */

static bool hear_arbiter(struct dtr_owner *owner) {
  struct dtr_party *party = &owner->party;
  uint32_t edge = dtr_channel(party->channels, DTR_CHANNEL_DECIDE, owner->index, 0);
  int64_t round, size;
  const void *bytes;
  if (!dtr_party_receive_any(party, edge, &round, &size, &bytes))
    return false;
  const struct dtr_decision *decision = bytes;
  memcpy(owner->relaxed->has, decision->has, party->map->client_count * sizeof(bool));
  owner->relaxed->step = decision->step;
  owner->relaxed->decisions++;
  dtr_party_release(party, edge);
  return true;
}

/* Without block sums owners need not agree: whatever is complete here. */
static bool decide_alone(struct dtr_owner *owner) {
  const struct dtr_map *map = owner->party.map;
  struct dtr_relaxed *r = owner->relaxed;
  for (uint32_t i = 0; i < map->client_count; i++) {
    uint32_t c = (r->turn + i) % map->client_count;
    if (r->arrived[c] < map->clients[c].replica_count)
      continue;
    memset(r->has, 0, map->client_count * sizeof *r->has);
    r->has[c] = true;
    r->step = r->staged[c];
    r->turn = c + 1;
    return true;
  }
  return false;
}

/* The update divides means by all shards: theirs grow as if the shards that are present were all.
 * Sums and maxima are over those present. */
static void scale(struct dtr_owner *owner, float factor) {
  for (uint32_t i = 0; i < owner->map->share_count; i++) {
    const struct dtr_contribution *c = &owner->table[i];
    float *values = (float *)(owner->reduced + c->offset);
    if (dtr_rows_is(c)) {
      dtr_rows_scale(c, owner->reduced, factor);
      continue;
    }
    for (int64_t e = 0; c->mean && e < c->elements; e++)
      values[e] *= factor;
  }
}

static int64_t reduce(struct dtr_owner *owner) {
  const struct dtr_map *map = owner->party.map;
  struct dtr_relaxed *r = owner->relaxed;
  int64_t present = 0;
  for (uint32_t replica = 0; replica < map->replica_count; replica++) {
    const struct dtr_replica_map *from = &map->replicas[replica];
    bool has = r->has[from->client];
    present += has ? from->shards.count : 0;
    for (uint32_t l = from->first_leaf; l < from->first_leaf + from->leaf_count; l++) {
      if (!has) {
        dtr_tree_skip(owner->tree, l);
        continue;
      }
      dtr_tree_put(owner->tree, l, r->blocks[l]);
      r->blocks[l] = NULL;
    }
  }
  owner->reduced = dtr_tree_result(owner->tree);
  return present;
}

static void note_ages(struct dtr_owner *owner) {
  struct dtr_relaxed *r = owner->relaxed;
  for (uint32_t c = 0; c < owner->party.map->client_count; c++) {
    if (!r->has[c])
      continue;
    int64_t age = owner->party.map->rule == DTR_RULE_ASYNC ? r->rounds - r->read[c] : 0;
    r->stats->ages[age < DTR_AGES ? age : DTR_AGES - 1]++;
  }
}

static void copy_states(struct dtr_owner *owner, char *into) {
  for (uint32_t i = 0; i < owner->map->piece_count; i++) {
    const struct dtr_piece *piece = &owner->map->pieces[i];
    if (!piece->is_published)
      continue;
    if (owner->party.program->variables[piece->variable].kind == DTR_VARIABLE_STATE)
      memcpy(into, owner->memory + piece->offset, (size_t)piece->bytes);
    into += piece->bytes;
  }
}

static void begin_update(struct dtr_owner *owner) {
  struct dtr_party *party = &owner->party;
  struct dtr_relaxed *r = owner->relaxed;
  const struct dtr_map *map = party->map;
  int64_t present = reduce(owner), shards = party->program->train.shards;
  if (present < shards)
    scale(owner, (float)shards / (float)present);
  note_ages(owner);
  for (uint32_t c = 0; c < map->client_count; c++)
    if (r->has[c] || map->rule == DTR_RULE_BACKUP) {
      if (!r->has[c] && r->arrived[c] > 0)
        refuse(owner, c, r->step);
      unstage(owner, c);
    }
  if (map->rule == DTR_RULE_ASYNC)
    copy_states(owner, r->before);
  owner->scalars.step = r->step;
  owner->scalars.updates = r->first + r->rounds + 1;
  dtr_owner_enter_update(owner);
}

/* ---- tasks that are lost and come back ---- */

static void owe(struct dtr_owner *owner, uint32_t client) {
  const struct dtr_client_map *c = &owner->party.map->clients[client];
  for (uint32_t r = c->first_replica; r < c->first_replica + c->replica_count; r++)
    owner->relaxed->owed[r] = 1;
}

static void count_lost(struct dtr_owner *owner, uint32_t client) {
  owner->relaxed->stats->dropped[owner->party.map->client_count + client]++;
}

/* A contribution that is whole here is whole everywhere, or dropped when the client is back. */
void dtr_owner_drop(struct dtr_owner *owner, uint32_t client) {
  struct dtr_relaxed *r = owner->relaxed;
  const struct dtr_client_map *c = &owner->party.map->clients[client];
  r->stays[client].presence = DTR_GONE;
  if (r->arrived[client] < c->replica_count) {
    if (r->arrived[client] > 0)
      count_lost(owner, client);
    unstage(owner, client);
  }
  for (uint32_t replica = c->first_replica; replica < c->first_replica + c->replica_count;
       replica++)
    r->owed[replica] = 0;
}

void dtr_owner_join(struct dtr_owner *owner, uint32_t client, int64_t step, int64_t round,
                    int64_t stay) {
  struct dtr_stay *it = &owner->relaxed->stays[client];
  it->presence = DTR_JOINING; /* what is staged is of the stay before */
  it->first = step;
  it->next = stay;
  it->round = round;
}

static void prepare(struct dtr_owner *owner, uint32_t client);

/* Decisions from before may name what the client had staged then. */
static bool begin_stay(struct dtr_owner *owner, uint32_t client) {
  const struct dtr_map *map = owner->party.map;
  struct dtr_relaxed *r = owner->relaxed;
  bool arbitrated = map->rule == DTR_RULE_BACKUP || map->is_ordered;
  if (arbitrated ? r->decisions < r->stays[client].round : r->arrived[client] > 0)
    return false;
  if (r->arrived[client] > 0)
    count_lost(owner, client);
  unstage(owner, client);
  r->staged[client] = r->refused[client] = -1;
  r->stays[client].presence = DTR_PRESENT;
  r->stays[client].number = r->stays[client].next;
  r->is_news = true;
  if (map->rule == DTR_RULE_ASYNC)
    prepare(owner, client);
  else
    owe(owner, client);
  return true;
}

bool dtr_owner_serves(const struct dtr_owner *owner, uint32_t replica) {
  return !owner->relaxed ||
         owner->relaxed->stays[owner->party.map->replicas[replica].client].presence == DTR_PRESENT;
}

/* Of a client that was lost, nothing more is awaited than what has come. */
bool dtr_owner_has_made_last(const struct dtr_owner *owner) {
  const struct dtr_relaxed *r = owner->relaxed;
  for (uint32_t c = 0; r->last >= 0 && c < owner->party.map->client_count; c++) {
    const struct dtr_stay *stay = &r->stays[c];
    bool is_made = r->staged[c] >= r->last - 1 && r->arrived[c] == 0;
    if (stay->presence == DTR_JOINING ||
        (stay->presence == DTR_PRESENT && stay->first < r->last && !is_made))
      return false;
  }
  return true;
}

/* ---- a poll ---- */

bool dtr_owner_collect_relaxed(struct dtr_owner *owner) {
  struct dtr_party *party = &owner->party;
  bool progress = dtr_owner_hear_chief(owner);
  bool arbitrated = party->map->rule == DTR_RULE_BACKUP || party->map->is_ordered;
  for (uint32_t c = 0; c < party->map->client_count; c++)
    if (owner->relaxed->stays[c].presence == DTR_JOINING)
      progress = begin_stay(owner, c) || progress;
  progress = dtr_owner_pay(owner) || progress;
  for (uint32_t r = 0; r < party->map->replica_count && !party->is_failed; r++)
    progress = take_push(owner, r) || progress;
  progress = report(owner) || progress;
  if (party->is_failed || owner->is_gathering ||
      !(arbitrated ? hear_arbiter(owner) : decide_alone(owner)))
    return progress;
  begin_update(owner);
  return true;
}

/* ---- publishing ---- */

#define DEFINE_ADD(name, type)                                                          \
  static void name(void *now, const char *before, const char *read, int64_t elements) { \
    type *value = now, was, seen; /* messages are packed: not aligned */                \
    for (int64_t i = 0; i < elements; i++) {                                            \
      memcpy(&was, before + (size_t)i * sizeof was, sizeof was);                        \
      memcpy(&seen, read + (size_t)i * sizeof seen, sizeof seen);                       \
      value[i] = was + (value[i] - seen);                                               \
    }                                                                                   \
  }
DEFINE_ADD(add_f32, float)
DEFINE_ADD(add_i32, uint32_t)
DEFINE_ADD(add_i64, uint64_t)

static bool is_maximum(const struct dtr_owner *owner, const struct dtr_piece *piece) {
  const char *path = owner->party.program->variables[piece->variable].path;
  for (uint32_t i = 0; i < owner->map->share_count; i++)
    if (owner->table[i].maximum && strcmp(owner->table[i].name, path) == 0)
      return true;
  return false;
}

/* Async: what the client adds to a state is (its candidate - what it had read). A maximum keeps
 * what is larger already. */
static void add_state(struct dtr_owner *owner, const struct dtr_piece *piece, const char *before,
                      const char *read) {
  char *now = owner->memory + piece->offset;
  enum dtr_dtype dtype = owner->party.program->variables[piece->variable].dtype;
  if (is_maximum(owner, piece)) {
    struct dtr_contribution one = {.dtype = dtype, .elements = 1, .maximum = true};
    int64_t size = piece->bytes / piece->elements, was;
    for (int64_t i = 0; i < piece->elements; i++) {
      memcpy(&was, before + i * size, (size_t)size);
      dtr_contribution_combine(&one, 1, now + i * size, (const char *)&was);
    }
  } else if (dtype == DTR_F32) {
    add_f32(now, before, read, piece->elements);
  } else if (dtype == DTR_I32) {
    add_i32(now, before, read, piece->elements);
  } else if (dtype == DTR_I64) {
    add_i64(now, before, read, piece->elements);
  }
}

static void add_states(struct dtr_owner *owner, const char *read) {
  const char *before = owner->relaxed->before;
  for (uint32_t i = 0; i < owner->map->piece_count; i++) {
    const struct dtr_piece *piece = &owner->map->pieces[i];
    if (!piece->is_published)
      continue;
    if (owner->party.program->variables[piece->variable].kind == DTR_VARIABLE_STATE)
      add_state(owner, piece, before, read);
    before += piece->bytes;
    read += piece->bytes;
  }
}

static void prepare(struct dtr_owner *owner, uint32_t client) {
  dtr_owner_pack(owner, owner->relaxed->published[client]);
  owner->relaxed->read[client] = owner->relaxed->rounds;
  owe(owner, client);
}

bool dtr_owner_pay(struct dtr_owner *owner) {
  struct dtr_party *party = &owner->party;
  struct dtr_relaxed *relaxed = owner->relaxed;
  bool progress = false;
  if (relaxed->is_fresh_due && dtr_owner_has_made_last(owner) && is_free(owner, 0)) {
    prepare(owner, 0);
    relaxed->is_fresh_due = false;
  }
  for (uint32_t r = 0; r < party->map->replica_count; r++) {
    uint32_t edge = dtr_channel(party->channels, DTR_CHANNEL_PUBLISH, owner->index, r);
    bool async = party->map->rule == DTR_RULE_ASYNC;
    if (!relaxed->owed[r] ||
        !dtr_party_send(party, edge, async ? relaxed->rounds : party->step,
                        async ? relaxed->published[party->map->replicas[r].client] : owner->block,
                        owner->map->publish_bytes))
      continue;
    relaxed->owed[r] = 0;
    progress = true;
  }
  return progress;
}

/* The first values go to everybody; later ones to the client whose contribution made them. */
void dtr_owner_publish_async(struct dtr_owner *owner, bool first) {
  const struct dtr_map *map = owner->party.map;
  struct dtr_relaxed *r = owner->relaxed;
  if (first && !r->is_live) {
    r->first = owner->party.step;
    r->rounds = 0;
  }
  for (uint32_t c = 0; first && c < map->client_count; c++)
    r->stays[c].first = owner->party.step;
  for (uint32_t c = 0; c < map->client_count; c++)
    if (!first && r->has[c])
      add_states(owner, r->published[c]);
  r->rounds += !first;
  for (uint32_t c = 0; c < map->client_count; c++)
    if ((first || r->has[c]) && r->stays[c].presence == DTR_PRESENT)
      prepare(owner, c);
  owner->state = DTR_OWNER_COLLECT;
}

/* With backups a version that a late replica has not read is taken back for the next one. */
bool dtr_owner_withdraw(struct dtr_owner *owner) {
  struct dtr_party *party = &owner->party;
  for (uint32_t r = 0; r < party->map->replica_count; r++) {
    uint32_t edge = dtr_channel(party->channels, DTR_CHANNEL_PUBLISH, owner->index, r);
    if (!dtr_transport_withdraw(party->end, edge) && !dtr_party_is_sent(party, edge))
      return false;
  }
  return true;
}
