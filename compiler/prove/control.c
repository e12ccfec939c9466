// (a) Which messages there must be besides gradients, block sums and versions: who is started, fed
// and fetched, who asks the arbiter, who begins, evaluates and gives its values to a checkpoint.
#include "compiler/prove/internal.h"

#include "compiler/ir/update_split.h"

struct control {
  struct dtg_proof *proof;
  int64_t *held; // by owner: bytes of its slices and their slots
  uint64_t wanted[DTG_TRANSFER_KINDS][DTG_MOMENTS], seen[DTG_TRANSFER_KINDS][DTG_MOMENTS];
};

// ---- who drives whom ----

static bool is_remote(const struct dtg_proof *proof, uint32_t replica) {
  const struct dtg_replication *r = proof->r;
  return dtg_client_task(r, dtg_replica_client(r, replica)) !=
         dtg_device_task(r->cluster, dtg_replica_device(r, replica));
}

// A row between clients and replicas joins a client with its own replicas in other tasks alone.
static bool check_driven(struct dtg_proof *proof, const struct dtg_transfer *t,
                         const struct dtg_ends *clients, const struct dtg_ends *replicas) {
  if (clients->role != DTG_ROLE_CLIENT || replicas->role != DTG_ROLE_REPLICA)
    return dtg_proof_fail(proof, "control: %s is between the wrong roles",
                          dtg_proof_transfer_text(proof, t));
  for (uint32_t i = 0; i < replicas->count; i++) {
    uint32_t replica = replicas->first + i;
    if (clients->count == 1 && dtg_replica_client(proof->r, replica) == clients->first &&
        is_remote(proof, replica))
      continue;
    return dtg_proof_fail(proof,
                          "control: %s reaches a replica of another client, or of its own task",
                          dtg_proof_transfer_text(proof, t));
  }
  return true;
}

static uint64_t sums_of_client(const struct dtg_proof *proof, uint32_t client) {
  const struct dtg_replication *r = proof->r;
  uint64_t sums = 0;
  for (size_t i = 0; i < r->client_families.len; i++) {
    const struct dtg_client_family *f = &r->client_families.data[i];
    if (client < f->first || client - f->first >= f->count)
      continue;
    for (uint32_t k = 0; k < f->replicas_each; k++)
      sums += dtg_replica_sums(r, f->first_replica + (client - f->first) * f->replicas_each + k);
  }
  return sums;
}

static bool check_report(struct dtg_proof *proof, const struct dtg_transfer *t) {
  if (t->from.role != DTG_ROLE_CLIENT || t->to.role != DTG_ROLE_CLIENT || t->to.first != 0 ||
      t->to.count != 1)
    return dtg_proof_fail(proof, "control: %s does not go to the chief",
                          dtg_proof_transfer_text(proof, t));
  for (uint32_t i = 0; i < t->from.count; i++) {
    uint64_t sums = sums_of_client(proof, t->from.first + i);
    if (t->bytes != dtg_proof_scalar_bytes(proof) * (int64_t)sums)
      return dtg_proof_fail(proof, "control: %s has %lld bytes for %llu partial sums",
                            dtg_proof_transfer_text(proof, t), (long long)t->bytes,
                            (unsigned long long)sums);
  }
  return true;
}

// ---- what has one end at the chief or at the arbiter ----

static uint32_t task_of(const struct dtg_proof *proof, enum dtg_role role, uint32_t index) {
  const struct dtg_replication *r = proof->r;
  if (role == DTG_ROLE_CLIENT)
    return dtg_client_task(r, index);
  uint32_t device = role == DTG_ROLE_REPLICA ? dtg_replica_device(r, index)
                    : role == DTG_ROLE_OWNER ? r->owners.data[index]
                                             : r->owners.data[0];
  return dtg_device_task(r->cluster, device);
}

// What shares a task with a client needs no message; owners and the arbiter exchange by device.
static bool check_apart(struct dtg_proof *proof, const struct dtg_transfer *t,
                        const struct dtg_ends *one, const struct dtg_ends *many) {
  uint32_t task = task_of(proof, one->role, one->first);
  bool by_task = one->role == DTG_ROLE_CLIENT || many->role == DTG_ROLE_CLIENT;
  if (one->first != 0 || one->count != 1)
    return dtg_proof_fail(proof, "control: %s is not with the chief or the arbiter",
                          dtg_proof_transfer_text(proof, t));
  for (uint32_t i = 0; by_task && i < many->count; i++)
    if (task_of(proof, many->role, many->first + i) == task)
      return dtg_proof_fail(proof, "control: %s stays in one task",
                            dtg_proof_transfer_text(proof, t));
  return true;
}

static bool check_one(struct dtg_proof *proof, const struct dtg_transfer *t, enum dtg_role from,
                      enum dtg_role to) {
  bool by_sender = from == DTG_ROLE_ARBITER || (from == DTG_ROLE_CLIENT && to != DTG_ROLE_ARBITER);
  if (t->from.role != from || t->to.role != to)
    return dtg_proof_fail(proof, "control: %s is between the wrong roles",
                          dtg_proof_transfer_text(proof, t));
  return by_sender ? check_apart(proof, t, &t->from, &t->to)
                   : check_apart(proof, t, &t->to, &t->from);
}

static bool check_ends(struct dtg_proof *proof, const struct dtg_transfer *t) {
  switch (t->kind) {
  case DTG_TRANSFER_REPORT:
    return check_report(proof, t);
  case DTG_TRANSFER_START:
  case DTG_TRANSFER_FEED:
    return check_driven(proof, t, &t->from, &t->to);
  case DTG_TRANSFER_FETCH:
    return check_driven(proof, t, &t->to, &t->from);
  case DTG_TRANSFER_ASK:
    return check_one(proof, t, DTG_ROLE_CLIENT, DTG_ROLE_ARBITER);
  case DTG_TRANSFER_GRANT:
    return check_one(proof, t, DTG_ROLE_ARBITER, DTG_ROLE_CLIENT);
  case DTG_TRANSFER_STAGED:
    return check_one(proof, t, DTG_ROLE_OWNER, DTG_ROLE_ARBITER);
  case DTG_TRANSFER_DECIDE:
    return check_one(proof, t, DTG_ROLE_ARBITER, DTG_ROLE_OWNER);
  case DTG_TRANSFER_BEGIN:
    return check_one(proof, t, DTG_ROLE_CLIENT, DTG_ROLE_CLIENT);
  case DTG_TRANSFER_COMMAND:
  case DTG_TRANSFER_SCATTER:
    return check_one(proof, t, DTG_ROLE_CLIENT, DTG_ROLE_OWNER);
  case DTG_TRANSFER_GATHER:
    return check_one(proof, t, DTG_ROLE_OWNER, DTG_ROLE_CLIENT);
  case DTG_TRANSFER_CHUNK:
    return check_one(proof, t, DTG_ROLE_REPLICA, DTG_ROLE_CLIENT);
  default:
    return true;
  }
}

// ---- sizes ----

static void measure_owners(struct control *c) {
  const struct dtg_replication *r = c->proof->r;
  const struct dtg_module *module = r->module;
  size_t owner;
  c->held = DTG_NEW_ARRAY(&c->proof->scratch, int64_t, r->owners.len);
  for (size_t i = 0; i < r->slices.len; i++) {
    const struct dtg_slice *s = &r->slices.data[i];
    if (!dtg_owner_find(r, s->owner, &owner))
      continue;
    for (uint32_t v = 0; v < module->variables.len; v++) {
      const struct dtg_variable *variable = &module->variables.data[v];
      if (v == s->variable ||
          (variable->kind == DTG_VARIABLE_SLOT && variable->param == s->variable))
        c->held[owner] += s->elements * (int64_t)dtg_dtype_size(variable->type.dtype);
    }
  }
}

static int64_t wanted_bytes(const struct control *c, const struct dtg_transfer *t) {
  const struct dtg_replication *r = c->proof->r;
  switch (t->kind) {
  case DTG_TRANSFER_REPORT:
    return t->bytes; // checked by client
  case DTG_TRANSFER_FEED:
    return dtg_proof_row_bytes(c->proof) * (r->model->train.batch / r->replicas);
  case DTG_TRANSFER_FETCH:
    return dtg_proof_scalar_bytes(c->proof) * t->from.sums;
  case DTG_TRANSFER_CHUNK:
    return dtg_proof_scalar_bytes(c->proof) * (r->shards / r->replicas);
  case DTG_TRANSFER_SCATTER:
    return t->to.count == 1 ? c->held[t->to.first] : -1;
  case DTG_TRANSFER_GATHER:
    return t->from.count == 1 ? c->held[t->from.first] : -1;
  default:
    return 0;
  }
}

static bool check_row(struct control *c, const struct dtg_transfer *t) {
  bool at_most = t->moment == DTG_MOMENT_EVALUATION && t->bytes > 0;
  int64_t bytes = wanted_bytes(c, t);
  if (!check_ends(c->proof, t))
    return false;
  if (t->bytes != bytes || t->at_most != at_most)
    return dtg_proof_fail(c->proof, "control: %s has %s%lld bytes instead of %lld",
                          dtg_proof_transfer_text(c->proof, t), t->at_most ? "at most " : "",
                          (long long)t->bytes, (long long)bytes);
  c->seen[t->kind][t->moment] += t->messages;
  return true;
}

// ---- how many ----

static uint64_t count_apart(const struct dtg_proof *proof, enum dtg_role role, uint32_t task) {
  uint64_t count = 0;
  for (uint32_t i = 0; i < dtg_proof_role_count(proof, role); i++)
    count += task_of(proof, role, i) != task;
  return count;
}

static bool exchanges_norms(struct dtg_proof *proof) {
  const struct dtg_module *module = proof->r->module;
  if (!module->update)
    return false;
  return dtg_update_split_new(&proof->scratch, module,
                              dtg_groups_new(&proof->scratch, module->update))
             ->exchanges.len > 0;
}

static void want(struct control *c) {
  const struct dtg_proof *proof = c->proof;
  const struct dtg_replication *r = proof->r;
  uint32_t chief = dtg_client_task(r, 0);
  uint64_t driven = 0, owners = count_apart(proof, DTG_ROLE_OWNER, chief);
  for (uint32_t i = 0; i < r->replicas; i++)
    driven += is_remote(proof, i);
  c->wanted[DTG_TRANSFER_START][DTG_MOMENT_STEP] = driven;
  c->wanted[DTG_TRANSFER_FEED][DTG_MOMENT_STEP] = driven;
  c->wanted[DTG_TRANSFER_FETCH][DTG_MOMENT_STEP] = driven;
  c->wanted[DTG_TRANSFER_REPORT][DTG_MOMENT_STEP] = r->clients - 1;
  c->wanted[DTG_TRANSFER_BEGIN][DTG_MOMENT_BEGIN] = r->clients - 1;
  c->wanted[DTG_TRANSFER_COMMAND][DTG_MOMENT_BEGIN] = owners;
  c->wanted[DTG_TRANSFER_SCATTER][DTG_MOMENT_BEGIN] = owners;
  c->wanted[DTG_TRANSFER_COMMAND][DTG_MOMENT_CHECKPOINT] = owners;
  c->wanted[DTG_TRANSFER_GATHER][DTG_MOMENT_CHECKPOINT] = owners;
  if (dtg_evaluates_together(r)) {
    c->wanted[DTG_TRANSFER_START][DTG_MOMENT_EVALUATION] = driven;
    c->wanted[DTG_TRANSFER_FEED][DTG_MOMENT_EVALUATION] = driven;
    c->wanted[DTG_TRANSFER_CHUNK][DTG_MOMENT_EVALUATION] =
        count_apart(proof, DTG_ROLE_REPLICA, chief);
  }
  if (r->owners.len == 0)
    return;
  if (dtg_arbiter_grants(r))
    c->wanted[DTG_TRANSFER_ASK][DTG_MOMENT_STEP] = c->wanted[DTG_TRANSFER_GRANT][DTG_MOMENT_STEP] =
        count_apart(proof, DTG_ROLE_CLIENT, task_of(proof, DTG_ROLE_ARBITER, 0));
  if (dtg_arbiter_decides(r, exchanges_norms(c->proof)))
    c->wanted[DTG_TRANSFER_STAGED][DTG_MOMENT_STEP] =
        c->wanted[DTG_TRANSFER_DECIDE][DTG_MOMENT_STEP] = r->owners.len - 1;
}

static bool is_control(enum dtg_transfer_kind kind) {
  return kind != DTG_TRANSFER_PUSH && kind != DTG_TRANSFER_NORM && kind != DTG_TRANSFER_PUBLISH;
}

bool dtg_prove_control(struct dtg_proof *proof) {
  struct control c = {.proof = proof};
  if (proof->r->single || !proof->r->module->train)
    return true;
  measure_owners(&c);
  want(&c);
  for (size_t i = 0; i < proof->p->sends.len; i++)
    if (is_control(proof->p->sends.data[i].kind) && !check_row(&c, &proof->p->sends.data[i]))
      return false;
  for (int kind = 0; kind < DTG_TRANSFER_KINDS; kind++)
    for (int moment = 0; moment < DTG_MOMENTS; moment++)
      if (c.seen[kind][moment] != c.wanted[kind][moment])
        return dtg_proof_fail(proof, "control: %llu messages of %llu are a %s",
                              (unsigned long long)c.seen[kind][moment],
                              (unsigned long long)c.wanted[kind][moment],
                              dtg_transfer_name((enum dtg_transfer_kind)kind));
  return true;
}
