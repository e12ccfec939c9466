// (b) All replicas compute the same graph, on devices and shards of their own.
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
