// The level "partition": proofs on families, for all tasks together.
#include "compiler/base/strbuf.h"
#include "compiler/partition/partition.h"

#include <string.h>

static bool parts_are_complete(const struct dtg_partition *p, struct dtg_strbuf *why) {
  const struct dtg_module *module = p->replication->module;
  const struct dtg_graph *graphs[] = {module->train, module->eval, module->tail, module->update};
  for (size_t g = 0; g < sizeof graphs / sizeof *graphs; g++) {
    size_t count = 0;
    for (size_t i = 0; i < p->parts.len; i++) {
      const struct dtg_part *part = &p->parts.data[i];
      if (part->graph != graphs[g])
        continue;
      count += part->nodes.len;
      for (size_t k = 0; k < part->nodes.len; k++) {
        if (part->nodes.data[k] < graphs[g]->nodes.len && part->nodes.data[k] == k)
          continue;
        dtg_strbuf_printf(why, "%s: node %%%u is out of order", graphs[g]->name,
                          part->nodes.data[k]);
        return false;
      }
    }
    if (!graphs[g] || count == graphs[g]->nodes.len)
      continue;
    dtg_strbuf_printf(why, "%s: %zu of %zu nodes are in a part", graphs[g]->name, count,
                      graphs[g]->nodes.len);
    return false;
  }
  return true;
}

// ---- sends and receives ----

static bool same_ends(const struct dtg_ends *a, const struct dtg_ends *b) {
  return a->role == b->role && a->first == b->first && a->count == b->count && a->sums == b->sums &&
         a->members == b->members;
}

static bool same_way(const struct dtg_transfer *a, const struct dtg_transfer *b) {
  return a->kind == b->kind && a->moment == b->moment && a->phase == b->phase &&
         a->next_phase == b->next_phase && a->before == b->before && a->after == b->after &&
         same_ends(&a->from, &b->from) && same_ends(&a->to, &b->to);
}

static const char *ends_text(struct dtg_arena *arena, const struct dtg_transfer *t) {
  return dtg_arena_printf(arena, "%s of %s %u..%u to %s %u..%u", dtg_transfer_name(t->kind),
                          dtg_role_name(t->from.role), t->from.first, t->from.first + t->from.count,
                          dtg_role_name(t->to.role), t->to.first, t->to.first + t->to.count);
}

// Senders and receivers list their families in one order, so a walk pairs them.
static bool sends_are_received(const struct dtg_partition *p, struct dtg_strbuf *why) {
  struct dtg_arena arena = {0};
  bool good = true;
  size_t count = p->sends.len > p->receives.len ? p->sends.len : p->receives.len;
  for (size_t i = 0; i < count && good; i++) {
    const struct dtg_transfer *send = i < p->sends.len ? &p->sends.data[i] : NULL;
    const struct dtg_transfer *receive = i < p->receives.len ? &p->receives.data[i] : NULL;
    if (!receive || (send && !same_way(send, receive))) {
      dtg_strbuf_printf(why, "%s is not received", ends_text(&arena, send ? send : receive));
      good = false;
    } else if (!send) {
      dtg_strbuf_printf(why, "%s is not sent", ends_text(&arena, receive));
      good = false;
    } else if (send->bytes != receive->bytes || send->messages != receive->messages ||
               send->at_most != receive->at_most) {
      dtg_strbuf_printf(why, "%s: %llu x %lld bytes are sent, %llu x %lld are expected",
                        ends_text(&arena, send), (unsigned long long)send->messages,
                        (long long)send->bytes, (unsigned long long)receive->messages,
                        (long long)receive->bytes);
      good = false;
    }
  }
  dtg_arena_free(&arena);
  return good;
}

// ---- what the roles need ----

struct owner_tally {
  uint64_t pushes, publishes; // messages
  int64_t sums;               // partial sums pushed
  uint64_t *norms;            // per phase: messages
};

static bool is_norm_wanted(const struct dtg_partition *p, uint32_t owner, uint32_t phase) {
  return p->loads.len > 1 && p->loads.data[owner].norm.data[phase] > 0;
}

// The sums that the replica on the owner's device adds without a message, and whether there is one.
static bool local_sums(const struct dtg_partition *p, uint32_t owner, int64_t *sums) {
  uint32_t replica;
  *sums = 0;
  if (!dtg_device_set_find(&p->replication->families.data[0].devices, p->loads.data[owner].device,
                           &replica))
    return false;
  *sums = dtg_replica_sums(p->replication, replica);
  return true;
}

static bool owner_is_served(const struct dtg_partition *p, uint32_t owner,
                            const struct owner_tally *tally, struct dtg_strbuf *why) {
  const struct dtg_replication *r = p->replication;
  const struct dtg_owner_load *load = &p->loads.data[owner];
  int64_t own;
  uint64_t local = local_sums(p, owner, &own);
  if (load->push > 0 &&
      (tally->pushes + local != r->replicas || tally->sums + own != r->partial_sums.all)) {
    dtg_strbuf_printf(why, "owner %u updates from %llu of %u replicas", owner,
                      (unsigned long long)(tally->pushes + local), r->replicas);
    return false;
  }
  if (tally->publishes + local != r->replicas) {
    dtg_strbuf_printf(why, "owner %u publishes to %llu of %u replicas", owner,
                      (unsigned long long)(tally->publishes + local), r->replicas);
    return false;
  }
  for (uint32_t phase = 0; phase < p->phases; phase++) {
    uint64_t wanted = is_norm_wanted(p, owner, phase) ? p->loads.len - 1 : 0;
    if (tally->norms[phase] == wanted)
      continue;
    dtg_strbuf_printf(why, "owner %u sends block sums of phase %u to %llu of %llu owners", owner,
                      phase, (unsigned long long)tally->norms[phase], (unsigned long long)wanted);
    return false;
  }
  return true;
}

// Sizes follow from the slices alone.
static bool size_is_right(const struct dtg_partition *p, const struct dtg_transfer *t,
                          struct dtg_strbuf *why) {
  uint32_t owner = t->kind == DTG_TRANSFER_PUSH ? t->to.first : t->from.first;
  const struct dtg_owner_load *load = &p->loads.data[owner];
  int64_t wanted = t->kind == DTG_TRANSFER_PUSH      ? load->push * t->from.sums
                   : t->kind == DTG_TRANSFER_PUBLISH ? load->publish
                                                     : load->norm.data[t->phase];
  if (t->bytes == wanted)
    return true;
  dtg_strbuf_printf(why, "%s of owner %u has %lld bytes, its slices have %lld",
                    dtg_transfer_name(t->kind), owner, (long long)t->bytes, (long long)wanted);
  return false;
}

static bool tally_transfer(const struct dtg_partition *p, const struct dtg_transfer *t,
                           struct owner_tally *tallies, struct dtg_strbuf *why) {
  bool push = t->kind == DTG_TRANSFER_PUSH;
  if (!push && t->kind != DTG_TRANSFER_PUBLISH && t->kind != DTG_TRANSFER_NORM)
    return true;
  uint32_t owner = push ? t->to.first : t->from.first;
  if (owner >= p->loads.len || (t->kind == DTG_TRANSFER_NORM && t->phase >= p->phases)) {
    dtg_strbuf_printf(why, "%s of owner %u, which there is not", dtg_transfer_name(t->kind), owner);
    return false;
  }
  struct owner_tally *tally = &tallies[owner];
  if (push) {
    tally->pushes += t->messages;
    tally->sums += (int64_t)t->messages * t->from.sums;
  } else if (t->kind == DTG_TRANSFER_PUBLISH) {
    tally->publishes += t->messages;
  } else {
    tally->norms[t->phase] += t->messages;
  }
  return size_is_right(p, t, why);
}

static bool owners_are_served(const struct dtg_partition *p, struct dtg_strbuf *why) {
  struct dtg_arena arena = {0};
  struct owner_tally *tallies = DTG_NEW_ARRAY(&arena, struct owner_tally, p->loads.len);
  bool good = true;
  for (size_t i = 0; i < p->loads.len; i++)
    tallies[i].norms = DTG_NEW_ARRAY(&arena, uint64_t, p->phases);
  for (size_t i = 0; i < p->sends.len && good; i++)
    good = tally_transfer(p, &p->sends.data[i], tallies, why);
  for (uint32_t i = 0; i < p->loads.len && good; i++)
    good = owner_is_served(p, i, &tallies[i], why);
  dtg_arena_free(&arena);
  return good;
}

// Replicas of other tasks are started, fed and fetched; clients report.
static bool clients_are_served(const struct dtg_partition *p, struct dtg_strbuf *why) {
  const struct dtg_replication *r = p->replication;
  uint64_t count[DTG_TRANSFER_KINDS] = {0};
  for (size_t i = 0; i < p->sends.len; i++)
    if (p->sends.data[i].moment == DTG_MOMENT_STEP)
      count[p->sends.data[i].kind] += p->sends.data[i].messages;
  uint64_t remote = 0;
  for (uint32_t i = 0; r->clients == 1 && i < r->replicas; i++)
    remote += dtg_device_task(r->cluster, dtg_replica_device(r, i)) != dtg_client_task(r, 0);
  uint64_t reports = r->clients - 1;
  if (count[DTG_TRANSFER_START] == remote && count[DTG_TRANSFER_FEED] == remote &&
      count[DTG_TRANSFER_FETCH] == remote && count[DTG_TRANSFER_REPORT] == reports)
    return true;
  dtg_strbuf_printf(why,
                    "of %llu replicas in other tasks than their client %llu are started, %llu fed, "
                    "%llu fetched; %llu of %llu clients report",
                    (unsigned long long)remote, (unsigned long long)count[DTG_TRANSFER_START],
                    (unsigned long long)count[DTG_TRANSFER_FEED],
                    (unsigned long long)count[DTG_TRANSFER_FETCH],
                    (unsigned long long)count[DTG_TRANSFER_REPORT], (unsigned long long)reports);
  return false;
}

// ---- the wait graph ----

struct wait_graph {
  uint32_t phases, count;
  bool *edges; // count x count
};

// Events of all equal devices are one node; REDUCE has one per phase.
static uint32_t event_number(const struct wait_graph *g, enum dtg_event event, uint32_t phase) {
  if (event < DTG_EVENT_REDUCE)
    return event;
  if (event == DTG_EVENT_REDUCE)
    return DTG_EVENT_REDUCE + phase;
  return event + g->phases - 1;
}

static void wait_for(struct wait_graph *g, uint32_t from, uint32_t to) {
  if (from < g->count && to < g->count)
    g->edges[from * g->count + to] = true;
}

// What a party does by itself, and what those that share memory hand over, within a step.
static void add_local_order(struct wait_graph *g) {
  size_t count;
  const struct dtg_order *orders = dtg_orders(&count);
  for (size_t i = 0; i < count; i++)
    if (!orders[i].next_step)
      wait_for(g, event_number(g, orders[i].before, orders[i].last_phase ? g->phases - 1 : 0),
               event_number(g, orders[i].after, 0));
  for (uint32_t phase = 0; phase + 1 < g->phases; phase++)
    wait_for(g, DTG_EVENT_REDUCE + phase, DTG_EVENT_REDUCE + phase + 1);
}

// Removes events that nothing is waited for in, until there are none: the rest are on a cycle.
static bool has_no_cycle(const struct wait_graph *g, struct dtg_arena *arena) {
  bool *done = DTG_NEW_ARRAY(arena, bool, g->count);
  for (uint32_t round = 0; round < g->count; round++) {
    uint32_t next = 0;
    for (; next < g->count; next++) {
      bool ready = !done[next];
      for (uint32_t i = 0; i < g->count && ready; i++)
        ready = done[i] || !g->edges[i * g->count + next];
      if (ready)
        break;
    }
    if (next == g->count)
      return false;
    done[next] = true;
  }
  return true;
}

static bool nobody_waits_for_ever(const struct dtg_partition *p, struct dtg_strbuf *why) {
  struct dtg_arena arena = {0};
  struct wait_graph g = {.phases = p->phases, .count = DTG_EVENT_COUNT + p->phases - 1};
  bool good = true;
  g.edges = DTG_NEW_ARRAY(&arena, bool, (size_t)g.count *g.count);
  add_local_order(&g);
  for (size_t i = 0; i < p->sends.len; i++) {
    const struct dtg_transfer *t = &p->sends.data[i];
    wait_for(&g, event_number(&g, t->before, t->phase), event_number(&g, t->after, t->next_phase));
  }
  if (!has_no_cycle(&g, &arena)) {
    dtg_strbuf_puts(why, "the transfers of a step wait for each other in a circle");
    good = false;
  }
  dtg_arena_free(&arena);
  return good;
}

bool dtg_partition_verify(const struct dtg_partition *p, struct dtg_strbuf *why) {
  if (!parts_are_complete(p, why))
    return false;
  if (p->replication->single || !p->replication->module->train)
    return true;
  return sends_are_received(p, why) && nobody_waits_for_ever(p, why) && owners_are_served(p, why) &&
         clients_are_served(p, why);
}
