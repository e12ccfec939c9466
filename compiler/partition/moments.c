// The messages that are not those of forward, backward and update: of the arbiter, and of the
// beginning, evaluations and checkpoints.
#include "compiler/partition/internal.h"

bool dtg_arbiter_grants(const struct dtg_replication *r) {
  const struct dtg_update_rule *rule = &r->strategy->update;
  return r->relaxed && (rule->backup > 0 || (rule->is_async && rule->staleness >= 0));
}

bool dtg_arbiter_decides(const struct dtg_replication *r, bool exchanges) {
  const struct dtg_update_rule *rule = &r->strategy->update;
  return r->relaxed && (rule->backup > 0 || (rule->is_async && exchanges));
}

bool dtg_evaluates_together(const struct dtg_replication *r) {
  return !r->relaxed && r->module->eval && r->model->train.evaluate.data != DTG_NO_DATASET;
}

static uint32_t owner_task(const struct dtg_partitioner *p, uint32_t owner) {
  return dtg_device_task(p->r->cluster, p->out->loads.data[owner].device);
}

// ---- the arbiter ----

static bool has_exchanges(const struct dtg_partition *p) {
  for (size_t i = 0; i < p->loads.len; i++)
    for (uint32_t phase = 0; phase < p->phases; phase++)
      if (p->loads.data[i].norm.data[phase] > 0)
        return true;
  return false;
}

static void add_questions(struct dtg_partitioner *p, uint32_t first, uint32_t count) {
  struct dtg_transfer ask = {.kind = DTG_TRANSFER_ASK,
                             .from = dtg_ends_of(DTG_ROLE_CLIENT, first, count),
                             .to = dtg_ends_of(DTG_ROLE_ARBITER, 0, 1),
                             .before = DTG_EVENT_ASK,
                             .after = DTG_EVENT_GRANT,
                             .messages = count};
  struct dtg_transfer grant = {.kind = DTG_TRANSFER_GRANT,
                               .from = ask.to,
                               .to = ask.from,
                               .before = DTG_EVENT_GRANT,
                               .after = DTG_EVENT_BEGIN,
                               .messages = count};
  dtg_add_transfer(p, &ask);
  dtg_add_transfer(p, &grant);
}

static void add_decisions(struct dtg_partitioner *p) {
  uint32_t owners = (uint32_t)p->out->loads.len;
  struct dtg_transfer staged = {.kind = DTG_TRANSFER_STAGED,
                                .from = dtg_ends_of(DTG_ROLE_OWNER, 0, owners),
                                .to = dtg_ends_of(DTG_ROLE_ARBITER, 0, 1),
                                .before = DTG_EVENT_STAGE,
                                .after = DTG_EVENT_DECIDE,
                                .messages = owners - 1};
  struct dtg_transfer decide = {.kind = DTG_TRANSFER_DECIDE,
                                .from = staged.to,
                                .to = staged.from,
                                .before = DTG_EVENT_DECIDE,
                                .after = DTG_EVENT_REDUCE,
                                .messages = owners - 1};
  dtg_add_transfer(p, &staged);
  dtg_add_transfer(p, &decide);
}

// One client lives in a task: at most one shares that of the arbiter.
void dtg_add_arbiter_transfers(struct dtg_partitioner *p) {
  uint32_t clients = p->r->clients, local = 0;
  if (p->out->loads.len == 0)
    return;
  while (local < clients && dtg_client_task(p->r, local) != owner_task(p, 0))
    local++;
  if (dtg_arbiter_grants(p->r)) {
    add_questions(p, 0, local);
    if (local < clients)
      add_questions(p, local + 1, clients - local - 1);
  }
  if (dtg_arbiter_decides(p->r, has_exchanges(p->out)))
    add_decisions(p);
}

// ---- the beginning and checkpoints ----

// The same way at both moments: a command of the chief, and the slices with their slots.
static void add_slices(struct dtg_partitioner *p, uint32_t owner, enum dtg_moment moment) {
  const struct dtg_owner_load *load = &p->out->loads.data[owner];
  bool begin = moment == DTG_MOMENT_BEGIN;
  struct dtg_ends chief = dtg_ends_of(DTG_ROLE_CLIENT, 0, 1);
  struct dtg_ends self = dtg_ends_of(DTG_ROLE_OWNER, owner, 1);
  struct dtg_transfer command = {.kind = DTG_TRANSFER_COMMAND,
                                 .moment = moment,
                                 .from = chief,
                                 .to = self,
                                 .before = begin ? DTG_EVENT_LOAD : DTG_EVENT_SAVE,
                                 .after = begin ? DTG_EVENT_FIRST : DTG_EVENT_GIVE,
                                 .messages = 1};
  struct dtg_transfer slices = {.kind = begin ? DTG_TRANSFER_SCATTER : DTG_TRANSFER_GATHER,
                                .moment = moment,
                                .from = begin ? chief : self,
                                .to = begin ? self : chief,
                                .before = begin ? DTG_EVENT_LOAD : DTG_EVENT_GIVE,
                                .after = begin ? DTG_EVENT_FIRST : DTG_EVENT_SAVED,
                                .bytes = load->values + load->slots,
                                .messages = 1};
  if (owner_task(p, owner) == dtg_client_task(p->r, 0))
    return;
  dtg_add_transfer(p, &command);
  dtg_add_transfer(p, &slices);
}

void dtg_add_begin_transfers(struct dtg_partitioner *p) {
  uint32_t others = p->r->clients - 1;
  struct dtg_transfer begin = {.kind = DTG_TRANSFER_BEGIN,
                               .moment = DTG_MOMENT_BEGIN,
                               .from = dtg_ends_of(DTG_ROLE_CLIENT, 0, 1),
                               .to = dtg_ends_of(DTG_ROLE_CLIENT, 1, others),
                               .before = DTG_EVENT_LOAD,
                               .after = DTG_EVENT_BEGIN,
                               .messages = others};
  dtg_add_transfer(p, &begin);
  for (uint32_t i = 0; i < p->out->loads.len; i++)
    add_slices(p, i, DTG_MOMENT_BEGIN);
}

void dtg_add_checkpoint_transfers(struct dtg_partitioner *p) {
  for (uint32_t i = 0; i < p->out->loads.len; i++)
    add_slices(p, i, DTG_MOMENT_CHECKPOINT);
}

// ---- evaluation ----

// The replicas of the chief's task are a run in the middle, or there are none.
void dtg_remote_replicas(struct dtg_partitioner *p, dtg_add_range *add) {
  const struct dtg_replication *r = p->r;
  uint32_t task = dtg_client_task(r, 0), inner = r->families.data[0].devices.inner, first = 0;
  while (first < r->replicas && dtg_device_task(r->cluster, dtg_replica_device(r, first)) != task)
    first += inner;
  if (first > 0)
    add(p, 0, first < r->replicas ? first : r->replicas);
  if (first < r->replicas)
    add(p, first + inner, r->replicas - first - inner);
}

static void add_chunks(struct dtg_partitioner *p, uint32_t first, uint32_t count) {
  struct dtg_transfer t = {.kind = DTG_TRANSFER_CHUNK,
                           .moment = DTG_MOMENT_EVALUATION,
                           .from = dtg_ends_of(DTG_ROLE_REPLICA, first, count),
                           .to = dtg_ends_of(DTG_ROLE_CLIENT, 0, 1),
                           .before = DTG_EVENT_CHUNKS,
                           .after = DTG_EVENT_VALUES,
                           .bytes = dtg_loss_bytes(p->r) * (p->r->shards / p->r->replicas),
                           .at_most = true,
                           .messages = count};
  dtg_add_transfer(p, &t);
}

// Replicas that are fed are fed the rows of their chunks as they are those of their shards.
void dtg_add_evaluation_transfers(struct dtg_partitioner *p) {
  size_t steps = p->out->sends.len;
  if (!dtg_evaluates_together(p->r))
    return;
  for (size_t i = 0; i < steps; i++) {
    struct dtg_transfer t = p->out->sends.data[i];
    if (t.kind != DTG_TRANSFER_START && t.kind != DTG_TRANSFER_FEED)
      continue;
    t.moment = DTG_MOMENT_EVALUATION;
    t.before = DTG_EVENT_WAVE;
    t.after = DTG_EVENT_CHUNKS;
    t.at_most = t.kind == DTG_TRANSFER_FEED;
    dtg_add_transfer(p, &t);
  }
  dtg_remote_replicas(p, add_chunks);
}

// ---- what waits without a message ----

const struct dtg_order *dtg_orders(size_t *count) {
  static const struct dtg_order orders[] = {
      {DTG_EVENT_LOAD, DTG_EVENT_BEGIN, false, false},
      {DTG_EVENT_LOAD, DTG_EVENT_FIRST, false, false},
      {DTG_EVENT_FIRST, DTG_EVENT_COMPUTE, false, false}, // the first version
      {DTG_EVENT_FIRST, DTG_EVENT_STAGE, false, false},
      {DTG_EVENT_ASK, DTG_EVENT_GRANT, false, false},
      {DTG_EVENT_ASK, DTG_EVENT_BEGIN, false, false},
      {DTG_EVENT_GRANT, DTG_EVENT_BEGIN, false, false},
      {DTG_EVENT_BEGIN, DTG_EVENT_COMPUTE, false, false},
      {DTG_EVENT_COMPUTE, DTG_EVENT_STAGE, false, false},
      {DTG_EVENT_STAGE, DTG_EVENT_REDUCE, false, false},
      {DTG_EVENT_STAGE, DTG_EVENT_DECIDE, false, false},
      {DTG_EVENT_DECIDE, DTG_EVENT_REDUCE, false, false},
      {DTG_EVENT_REDUCE, DTG_EVENT_COPY, false, true},
      {DTG_EVENT_COMPUTE, DTG_EVENT_COLLECT, false, false},
      {DTG_EVENT_COLLECT, DTG_EVENT_CHIEF, false, false},
      {DTG_EVENT_COLLECT, DTG_EVENT_WAVE, false, false},
      {DTG_EVENT_CHIEF, DTG_EVENT_WAVE, false, false},
      {DTG_EVENT_COPY, DTG_EVENT_CHUNKS, false, false},
      {DTG_EVENT_WAVE, DTG_EVENT_CHUNKS, false, false},
      {DTG_EVENT_CHUNKS, DTG_EVENT_VALUES, false, false},
      {DTG_EVENT_VALUES, DTG_EVENT_SAVE, false, false},
      {DTG_EVENT_CHIEF, DTG_EVENT_SAVE, false, false},
      {DTG_EVENT_SAVE, DTG_EVENT_GIVE, false, false},
      {DTG_EVENT_REDUCE, DTG_EVENT_GIVE, false, true},
      {DTG_EVENT_GIVE, DTG_EVENT_SAVED, false, false},
      {DTG_EVENT_COLLECT, DTG_EVENT_BEGIN, true, false},
      {DTG_EVENT_COLLECT, DTG_EVENT_ASK, true, false},
      {DTG_EVENT_COPY, DTG_EVENT_COMPUTE, true, false},
      {DTG_EVENT_REDUCE, DTG_EVENT_STAGE, true, true},
      {DTG_EVENT_CHUNKS, DTG_EVENT_COMPUTE, true, false},
      {DTG_EVENT_WAVE, DTG_EVENT_BEGIN, true, false},
      {DTG_EVENT_VALUES, DTG_EVENT_BEGIN, true, false},
      {DTG_EVENT_SAVED, DTG_EVENT_BEGIN, true, false},
      {DTG_EVENT_GIVE, DTG_EVENT_STAGE, true, false},
  };
  *count = sizeof orders / sizeof *orders;
  return orders;
}
