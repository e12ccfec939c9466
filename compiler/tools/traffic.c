#include "compiler/tools/traffic.h"

#include "compiler/tools/why.h"

uint32_t dtg_end_device(const struct dtg_partition *p, enum dtg_role role, uint32_t index) {
  if (role == DTG_ROLE_CLIENT)
    return DTG_NO_DEVICE;
  if (role == DTG_ROLE_ARBITER)
    return p->loads.data[0].device;
  return role == DTG_ROLE_REPLICA ? dtg_replica_device(p->replication, index)
                                  : p->loads.data[index].device;
}

uint32_t dtg_end_task(const struct dtg_partition *p, enum dtg_role role, uint32_t index) {
  if (role == DTG_ROLE_CLIENT)
    return dtg_client_task(p->replication, index);
  return dtg_device_task(p->replication->cluster, dtg_end_device(p, role, index));
}

static bool is_member(const struct dtg_partition *p, const struct dtg_ends *ends, uint32_t index) {
  return ends->role != DTG_ROLE_REPLICA || ends->sums == 0 ||
         p->replication->partial_sums.classes.len == 1 ||
         dtg_replica_sums(p->replication, index) == ends->sums;
}

static bool is_message(const struct dtg_partition *p, const struct dtg_transfer *t, uint32_t from,
                       uint32_t to) {
  if (t->from.role == t->to.role)
    return from != to;
  uint32_t a = dtg_end_device(p, t->from.role, from), b = dtg_end_device(p, t->to.role, to);
  return a == DTG_NO_DEVICE || a != b;
}

void dtg_transfer_each(const struct dtg_partition *p, const struct dtg_transfer *t, uint32_t task,
                       dtg_message_visit *visit, void *context) {
  for (uint32_t i = 0; i < t->from.count; i++) {
    uint32_t from = t->from.first + i;
    if (!is_member(p, &t->from, from))
      continue;
    bool here = task == UINT32_MAX || dtg_end_task(p, t->from.role, from) == task;
    for (uint32_t k = 0; k < t->to.count; k++) {
      uint32_t to = t->to.first + k;
      if (!here && dtg_end_task(p, t->to.role, to) != task)
        continue;
      if (is_member(p, &t->to, to) && is_message(p, t, from, to))
        visit(context, t, from, to);
    }
  }
}

struct measure {
  const struct dtg_partition *p;
  struct dtg_traffic *out;
};

static void add(int64_t *sum, int64_t bytes) {
  if (__builtin_add_overflow(*sum, bytes, sum))
    *sum = INT64_MAX;
}

static void add_message(void *context, const struct dtg_transfer *t, uint32_t from, uint32_t to) {
  struct measure *m = context;
  uint32_t a = dtg_end_task(m->p, t->from.role, from), b = dtg_end_task(m->p, t->to.role, to);
  if (a == b) {
    add(&m->out->inside, t->bytes);
    return;
  }
  add(&m->out->links[a].sent, t->bytes);
  add(&m->out->links[b].received, t->bytes);
  add(&m->out->all, t->bytes);
  if (t->kind == DTG_TRANSFER_FEED)
    add(&m->out->feeds, t->bytes);
}

static int64_t both_ways(const struct dtg_link_bytes *link) {
  int64_t sum = link->sent;
  add(&sum, link->received);
  return sum;
}

// Control messages of a step. An owner tells the arbiter of each client's contribution, at most; an
// asynchronous step is that of each client.
static uint64_t control_messages(const struct dtg_partition *p, const struct dtg_transfer *t) {
  const struct dtg_replication *r = p->replication;
  switch (t->kind) {
  case DTG_TRANSFER_START:
  case DTG_TRANSFER_FETCH:
  case DTG_TRANSFER_REPORT:
  case DTG_TRANSFER_ASK:
  case DTG_TRANSFER_GRANT:
    return t->messages;
  case DTG_TRANSFER_STAGED:
    return t->messages * r->clients;
  case DTG_TRANSFER_DECIDE:
    return t->messages * (r->strategy->update.is_async ? r->clients : 1);
  default:
    return 0;
  }
}

struct dtg_traffic dtg_traffic_measure(struct dtg_arena *arena, const struct dtg_partition *p) {
  struct dtg_traffic out = {.tasks = dtg_task_count(p->replication->cluster)};
  struct measure m = {p, &out};
  out.links = DTG_NEW_ARRAY(arena, struct dtg_link_bytes, out.tasks);
  for (size_t i = 0; i < p->sends.len; i++) {
    const struct dtg_transfer *t = &p->sends.data[i];
    if (t->moment != DTG_MOMENT_STEP)
      continue;
    out.at_most |= t->at_most;
    dtg_transfer_each(p, t, UINT32_MAX, add_message, &m);
    out.control += control_messages(p, t);
  }
  for (uint32_t task = 1; task < out.tasks; task++)
    if (both_ways(&out.links[task]) > both_ways(&out.links[out.busiest]))
      out.busiest = task;
  return out;
}
