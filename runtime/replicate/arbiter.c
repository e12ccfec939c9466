#include "runtime/replicate/arbiter.h"

#include "runtime/memory.h"

#include <stdlib.h>
#include <string.h>

enum { NOBODY = -1 };

struct dtr_arbiter {
  struct dtr_party party;
  int64_t round;
  bool is_begun;             /* the first step is known */
  struct dtr_staged *staged; /* [owner][client] */
  int64_t *stays;            /* [client] number of its stay */
  int64_t *decided;          /* [client] async: last step that was put in order */
  int64_t *asked;            /* [client] NOBODY: not waiting */
  int64_t *steps;            /* [client] makes or asks for; INT64_MAX: has left */
  uint32_t *complete;        /* backup: clients in the order in which their contributions were */
  bool *is_complete;
  uint32_t complete_count, turn;
  struct dtr_decision *decision;
  uint32_t next; /* owner that is told next */
  int64_t lead;
};

bool dtr_arbiter_new(const struct dtr_party *party, struct dtr_arbiter **made,
                     struct dtr_error *error) {
  const struct dtr_map *map = party->map;
  size_t clients = map->client_count, owners = map->owner_count;
  struct dtr_arbiter *arbiter = calloc(1, sizeof *arbiter);
  if (!arbiter)
    return dtr_error_memory(error, (int64_t)sizeof *arbiter, "the arbiter");
  arbiter->party = *party;
  arbiter->staged = calloc(owners * clients + 1, sizeof *arbiter->staged);
  arbiter->stays = calloc(clients + 1, sizeof *arbiter->stays);
  arbiter->decided = calloc(clients + 1, sizeof *arbiter->decided);
  arbiter->asked = calloc(clients + 1, sizeof *arbiter->asked);
  arbiter->steps = calloc(clients + 1, sizeof *arbiter->steps);
  arbiter->complete = calloc(clients + 1, sizeof *arbiter->complete);
  arbiter->is_complete = calloc(clients + 1, sizeof *arbiter->is_complete);
  arbiter->decision = calloc(1, (size_t)dtr_decision_bytes(map));
  if (!arbiter->staged || !arbiter->stays || !arbiter->decided || !arbiter->asked ||
      !arbiter->steps || !arbiter->complete || !arbiter->is_complete || !arbiter->decision) {
    dtr_arbiter_free(arbiter);
    return dtr_error_memory(error, (int64_t)(owners * clients * sizeof(int64_t)), "the arbiter");
  }
  for (size_t i = 0; i < owners * clients; i++)
    arbiter->staged[i].step = NOBODY;
  for (size_t c = 0; c < clients; c++)
    arbiter->decided[c] = arbiter->asked[c] = NOBODY;
  arbiter->next = map->owner_count;
  *made = arbiter;
  return true;
}

void dtr_arbiter_free(struct dtr_arbiter *arbiter) {
  if (!arbiter)
    return;
  free(arbiter->staged);
  free(arbiter->stays);
  free(arbiter->decided);
  free(arbiter->asked);
  free(arbiter->steps);
  free(arbiter->complete);
  free(arbiter->is_complete);
  free(arbiter->decision);
  free(arbiter);
}

struct dtr_party *dtr_arbiter_party(struct dtr_arbiter *arbiter) {
  return &arbiter->party;
}

int64_t dtr_arbiter_lead(const struct dtr_arbiter *arbiter) {
  return arbiter->lead;
}

void dtr_arbiter_set_lead(struct dtr_arbiter *arbiter, int64_t lead) {
  arbiter->lead = lead;
}

/* ---- lost clients ---- */

static int64_t slowest(const struct dtr_arbiter *arbiter, int64_t step) {
  for (uint32_t c = 0; c < arbiter->party.map->client_count; c++)
    if (arbiter->steps[c] < step)
      step = arbiter->steps[c];
  return step;
}

void dtr_arbiter_drop(struct dtr_arbiter *arbiter, uint32_t client) {
  arbiter->steps[client] = INT64_MAX;
  arbiter->asked[client] = NOBODY;
}

/* Backup: what it had staged for this step is dropped by the owners when it joins. */
static void forget_complete(struct dtr_arbiter *arbiter, uint32_t client) {
  uint32_t kept = 0;
  for (uint32_t i = 0; i < arbiter->complete_count; i++)
    if (arbiter->complete[i] != client)
      arbiter->complete[kept++] = arbiter->complete[i];
  arbiter->complete_count = kept;
  arbiter->is_complete[client] = false;
}

/* At once in the clock again: the others wait for it as for anybody. */
void dtr_arbiter_admit(struct dtr_arbiter *arbiter, uint32_t client, int64_t stay, int64_t *step,
                       int64_t *round) {
  const struct dtr_map *map = arbiter->party.map;
  arbiter->stays[client] = stay;
  arbiter->decided[client] = arbiter->asked[client] = NOBODY;
  forget_complete(arbiter, client);
  *round = arbiter->round;
  *step = NOBODY;
  if (!map->asks)
    return;
  if (!arbiter->is_begun) { /* nobody has asked: all begin where the first one will ask */
    arbiter->steps[client] = 0;
    return;
  }
  *step = map->rule == DTR_RULE_BACKUP ? arbiter->party.step : slowest(arbiter, INT64_MAX);
  arbiter->steps[client] = *step;
}

/* ---- what owners and clients say ---- */

/* All clients begin at the same step. */
static void begin_at(struct dtr_arbiter *arbiter, int64_t step) {
  if (arbiter->is_begun)
    return;
  arbiter->is_begun = true;
  arbiter->party.step = step;
  for (uint32_t c = 0; c < arbiter->party.map->client_count; c++)
    if (arbiter->steps[c] != INT64_MAX)
      arbiter->steps[c] = step;
}

static bool listen(struct dtr_arbiter *arbiter) {
  struct dtr_party *party = &arbiter->party;
  uint32_t clients = party->map->client_count;
  bool progress = false;
  int64_t step, size;
  const void *bytes;
  for (uint32_t o = 0; o < party->map->owner_count; o++) {
    uint32_t edge = dtr_channel(party->channels, DTR_CHANNEL_STAGED, o, 0);
    if (!dtr_party_receive_any(party, edge, &step, &size, &bytes))
      continue;
    memcpy(arbiter->staged + (size_t)o * clients, bytes, (size_t)size);
    dtr_party_release(party, edge);
    progress = true;
  }
  for (uint32_t c = 0; c < clients; c++) {
    uint32_t edge = dtr_channel(party->channels, DTR_CHANNEL_ASK, c, 0);
    if (!dtr_party_receive_any(party, edge, &step, &size, &bytes))
      continue;
    dtr_party_release(party, edge);
    if (step == INT64_MAX) {
      arbiter->steps[c] = INT64_MAX;
    } else {
      begin_at(arbiter, step);
      arbiter->asked[c] = arbiter->steps[c] = step; /* it has made all before */
    }
    progress = true;
  }
  return progress;
}

/* ---- decisions ---- */

/* The last step that every owner has staged of a client; NOBODY: they differ. */
static int64_t staged_by_all(const struct dtr_arbiter *arbiter, uint32_t client) {
  uint32_t clients = arbiter->party.map->client_count;
  int64_t step = arbiter->staged[client].step;
  for (uint32_t o = 0; o < arbiter->party.map->owner_count; o++) {
    const struct dtr_staged *staged = &arbiter->staged[(size_t)o * clients + client];
    if (staged->step != step || staged->stay != arbiter->stays[client])
      return NOBODY;
  }
  return step;
}

static bool decision_is_read(struct dtr_arbiter *arbiter) {
  struct dtr_party *party = &arbiter->party;
  if (arbiter->next < party->map->owner_count)
    return false;
  for (uint32_t o = 0; o < party->map->owner_count; o++)
    if (!dtr_party_is_sent(party, dtr_channel(party->channels, DTR_CHANNEL_DECIDE, o, 0)))
      return false;
  return true;
}

static void announce(struct dtr_arbiter *arbiter, int64_t step) {
  arbiter->decision->round = arbiter->round++;
  arbiter->decision->step = step;
  arbiter->next = 0;
}

static bool decide_backup(struct dtr_arbiter *arbiter) {
  struct dtr_party *party = &arbiter->party;
  uint32_t clients = party->map->client_count;
  uint32_t needed = clients - (uint32_t)party->program->replication->backup;
  for (uint32_t c = 0; c < clients; c++)
    if (!arbiter->is_complete[c] && arbiter->is_begun && staged_by_all(arbiter, c) == party->step) {
      arbiter->is_complete[c] = true;
      arbiter->complete[arbiter->complete_count++] = c;
    }
  if (arbiter->complete_count < needed || !decision_is_read(arbiter))
    return false;
  memset(arbiter->decision->has, 0, clients * sizeof(bool));
  for (uint32_t i = 0; i < needed; i++)
    arbiter->decision->has[arbiter->complete[i]] = true;
  memset(arbiter->is_complete, 0, clients * sizeof *arbiter->is_complete);
  arbiter->complete_count = 0;
  announce(arbiter, party->step++);
  return true;
}

static bool decide_order(struct dtr_arbiter *arbiter) {
  uint32_t clients = arbiter->party.map->client_count;
  if (!decision_is_read(arbiter))
    return false;
  for (uint32_t i = 0; i < clients; i++) {
    uint32_t c = (arbiter->turn + i) % clients;
    int64_t step = staged_by_all(arbiter, c);
    if (step == NOBODY || step <= arbiter->decided[c])
      continue;
    memset(arbiter->decision->has, 0, clients * sizeof(bool));
    arbiter->decision->has[c] = true;
    arbiter->decided[c] = step;
    arbiter->turn = c + 1;
    announce(arbiter, step);
    return true;
  }
  return false;
}

static bool tell_owners(struct dtr_arbiter *arbiter) {
  struct dtr_party *party = &arbiter->party;
  bool progress = false;
  for (; arbiter->next < party->map->owner_count; arbiter->next++, progress = true)
    if (!dtr_party_send(party, dtr_channel(party->channels, DTR_CHANNEL_DECIDE, arbiter->next, 0),
                        arbiter->decision->round, arbiter->decision,
                        dtr_decision_bytes(party->map)))
      break;
  return progress;
}

/* ---- grants ---- */

/* The step to start; NOBODY: not yet. With backups, a late client is sent to the current one. */
static int64_t granted(const struct dtr_arbiter *arbiter, uint32_t client) {
  const struct dtr_party *party = &arbiter->party;
  int64_t asked = arbiter->asked[client];
  if (party->map->rule == DTR_RULE_BACKUP)
    return asked <= party->step ? party->step : NOBODY;
  return asked - slowest(arbiter, asked) <= party->program->replication->staleness ? asked : NOBODY;
}

static bool grant(struct dtr_arbiter *arbiter) {
  struct dtr_party *party = &arbiter->party;
  bool progress = false;
  for (uint32_t c = 0; c < party->map->client_count; c++) {
    int64_t step = arbiter->asked[c] == NOBODY ? NOBODY : granted(arbiter, c);
    if (step == NOBODY ||
        !dtr_party_send(party, dtr_channel(party->channels, DTR_CHANNEL_GRANT, c, 0), step, NULL,
                        0))
      continue;
    arbiter->asked[c] = NOBODY;
    arbiter->steps[c] = step;
    if (step - slowest(arbiter, step) > arbiter->lead)
      arbiter->lead = step - slowest(arbiter, step);
    progress = true;
  }
  return progress;
}

bool dtr_arbiter_poll(struct dtr_arbiter *arbiter) {
  bool progress = false;
  const struct dtr_map *map = arbiter->party.map;
  if (dtr_party_is_over(&arbiter->party, &progress))
    return progress;
  progress = listen(arbiter);
  if (map->rule == DTR_RULE_BACKUP)
    progress = decide_backup(arbiter) || progress;
  else if (map->is_ordered)
    progress = decide_order(arbiter) || progress;
  progress = tell_owners(arbiter) || progress;
  return (map->asks && grant(arbiter)) || progress;
}
