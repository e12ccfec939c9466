// (b) All replicas compute the same graph, on devices and shards of their own; (a) which of them
// are started, fed and asked by a message.
#include "compiler/prove/internal.h"

#include "compiler/ir/op.h"

static bool check_families(struct dtg_proof *proof) {
  const struct dtg_replication *r = proof->r;
  uint64_t next = 0;
  for (size_t i = 0; i < r->families.len; i++) {
    const struct dtg_replica_family *family = &r->families.data[i];
    const struct dtg_device_set *set = &family->devices;
    uint64_t count = (uint64_t)set->outer * set->inner;
    if (family->first != next || count == 0)
      return dtg_proof_fail(proof, "replicas: replica %llu is missing or there twice",
                            (unsigned long long)next);
    uint64_t last = set->base + (set->outer - 1) * (uint64_t)set->outer_stride +
                    (set->inner - 1) * (uint64_t)set->inner_stride;
    if (last >= dtg_cluster_device_count(r->cluster))
      return dtg_proof_fail(proof, "replicas: a replica is on device %llu, which is not there",
                            (unsigned long long)last);
    // Strides that leave room for the inner ones keep the devices apart.
    if ((set->inner > 1 && set->inner_stride == 0) ||
        (set->outer > 1 && set->outer_stride <= (set->inner - 1) * (uint64_t)set->inner_stride))
      return dtg_proof_fail(proof, "replicas: two replicas are on one device");
    next += count;
  }
  if (next != r->replicas)
    return dtg_proof_fail(proof, "replicas: replica %llu is missing or there twice",
                          (unsigned long long)(next < r->replicas ? next : r->replicas));
  return true;
}

static bool check_shards(struct dtg_proof *proof) {
  const struct dtg_replication *r = proof->r;
  if (r->shards <= 0 || r->shards % r->replicas != 0)
    return dtg_proof_fail(proof, "replicas: %u replicas cannot have %lld shards in equal blocks",
                          r->replicas, (long long)r->shards);
  if (r->shards != r->model->train.shards)
    return dtg_proof_fail(proof, "replicas: they compute %lld shards of %lld", (long long)r->shards,
                          (long long)r->model->train.shards);
  return true;
}

static bool check_clients(struct dtg_proof *proof) {
  const struct dtg_replication *r = proof->r;
  bool *driven = DTG_NEW_ARRAY(&proof->scratch, bool, r->replicas);
  uint32_t clients = 0, count = 0;
  for (size_t i = 0; i < r->client_families.len; i++) {
    const struct dtg_client_family *f = &r->client_families.data[i];
    if (f->first != clients)
      return dtg_proof_fail(proof, "replicas: client %u is missing or there twice", clients);
    clients += f->count;
    for (uint64_t k = 0; k < (uint64_t)f->count * f->replicas_each; k++) {
      uint64_t replica = f->first_replica + k;
      if (replica >= r->replicas || driven[replica])
        return dtg_proof_fail(proof, "replicas: replica %llu has two clients or does not exist",
                              (unsigned long long)replica);
      driven[replica] = true;
      count++;
    }
  }
  if (clients == r->clients && count == r->replicas)
    return true;
  return dtg_proof_fail(proof, "replicas: %u clients of %u drive %u replicas of %u", clients,
                        r->clients, count, r->replicas);
}

// One part stands for every replica (the update: every owner), with all nodes in their order.
static bool check_part(struct dtg_proof *proof, const struct dtg_graph *graph) {
  const struct dtg_part *found = NULL;
  for (size_t i = 0; i < proof->p->parts.len; i++) {
    if (proof->p->parts.data[i].graph != graph)
      continue;
    if (found)
      return dtg_proof_fail(proof, "replicas: the %s graph has two parts", graph->name);
    found = &proof->p->parts.data[i];
  }
  if (!found)
    return dtg_proof_fail(proof, "replicas: nobody runs the %s graph", graph->name);
  bool update = graph == proof->r->module->update && proof->r->owners.len > 0;
  size_t devices = update ? proof->r->owners.len : proof->r->replicas;
  if (found->devices != devices)
    return dtg_proof_fail(proof, "replicas: %u devices of %zu run the %s graph", found->devices,
                          devices, graph->name);
  for (size_t n = 0; n < graph->nodes.len || n < found->nodes.len; n++)
    if (n >= found->nodes.len || n >= graph->nodes.len || found->nodes.data[n] != n)
      return dtg_proof_fail(proof, "replicas: node %%%zu of the %s graph is not in its part", n,
                            graph->name);
  return true;
}

// A node away from its replica would be computed by one device and not by the same one of each.
static bool check_nodes(struct dtg_proof *proof, const struct dtg_graph *graph) {
  uint32_t device = dtg_replica_device(proof->r, 0);
  for (uint32_t n = 0; n < graph->nodes.len; n++)
    if (dtg_graph_node(graph, n)->device != device)
      return dtg_proof_fail(proof, "replicas: node %%%u of the %s graph is away from its replica",
                            n, graph->name);
  return true;
}

bool dtg_prove_replicas(struct dtg_proof *proof) {
  const struct dtg_module *module = proof->r->module;
  const struct dtg_graph *graphs[] = {module->train, module->eval, module->tail};
  if (proof->r->replicas == 0)
    return dtg_proof_fail(proof, "replicas: there is none");
  if (!check_families(proof) || !check_shards(proof) || !check_clients(proof))
    return false;
  for (size_t g = 0; g < sizeof graphs / sizeof *graphs; g++)
    if (graphs[g] && (!check_part(proof, graphs[g]) || !check_nodes(proof, graphs[g])))
      return false;
  return !module->update || check_part(proof, module->update);
}

// ---- control ----

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

static int64_t wanted_bytes(const struct dtg_proof *proof, const struct dtg_transfer *t) {
  const struct dtg_replication *r = proof->r;
  if (t->kind == DTG_TRANSFER_FEED)
    return dtg_proof_row_bytes(proof) * (r->model->train.batch / r->replicas);
  if (t->kind == DTG_TRANSFER_FETCH)
    return dtg_proof_scalar_bytes(proof) * t->from.sums;
  return 0;
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

static bool check_control_row(struct dtg_proof *proof, const struct dtg_transfer *t) {
  if (t->kind == DTG_TRANSFER_REPORT)
    return check_report(proof, t);
  bool fetch = t->kind == DTG_TRANSFER_FETCH;
  if (!check_driven(proof, t, fetch ? &t->to : &t->from, fetch ? &t->from : &t->to))
    return false;
  if (t->bytes == wanted_bytes(proof, t))
    return true;
  return dtg_proof_fail(proof, "control: %s has %lld bytes instead of %lld",
                        dtg_proof_transfer_text(proof, t), (long long)t->bytes,
                        (long long)wanted_bytes(proof, t));
}

bool dtg_prove_control(struct dtg_proof *proof) {
  static const enum dtg_transfer_kind kinds[] = {DTG_TRANSFER_START, DTG_TRANSFER_FEED,
                                                 DTG_TRANSFER_FETCH, DTG_TRANSFER_REPORT};
  uint64_t messages[DTG_TRANSFER_KINDS] = {0}, wanted[DTG_TRANSFER_KINDS] = {0};
  if (proof->r->single || !proof->r->module->train)
    return true;
  for (uint32_t i = 0; i < proof->r->replicas; i++)
    wanted[DTG_TRANSFER_START] += is_remote(proof, i);
  wanted[DTG_TRANSFER_FEED] = wanted[DTG_TRANSFER_FETCH] = wanted[DTG_TRANSFER_START];
  wanted[DTG_TRANSFER_REPORT] = proof->r->clients - 1;
  for (size_t i = 0; i < proof->p->sends.len; i++) {
    const struct dtg_transfer *t = &proof->p->sends.data[i];
    if (t->kind == DTG_TRANSFER_PUSH || t->kind == DTG_TRANSFER_NORM ||
        t->kind == DTG_TRANSFER_PUBLISH)
      continue;
    if (!check_control_row(proof, t))
      return false;
    messages[t->kind] += t->messages;
  }
  for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
    if (messages[kinds[k]] != wanted[kinds[k]])
      return dtg_proof_fail(proof, "control: %llu messages of %llu are a %s",
                            (unsigned long long)messages[kinds[k]],
                            (unsigned long long)wanted[kinds[k]], dtg_transfer_name(kinds[k]));
  return true;
}
