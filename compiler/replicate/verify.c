// The level "replicate" of the verifier, on families and slices.
#include "compiler/base/strbuf.h"
#include "compiler/ir/update_split.h"
#include "compiler/replicate/replicate.h"

#include <string.h>

static bool replicas_are_numbered(const struct dtg_replication *r, struct dtg_strbuf *why) {
  uint32_t replicas = 0;
  for (size_t i = 0; i < r->families.len; i++) {
    const struct dtg_replica_family *family = &r->families.data[i];
    if (family->first != replicas) {
      dtg_strbuf_printf(why, "replica %u is missing or computed twice", replicas);
      return false;
    }
    replicas += dtg_device_set_count(&family->devices);
  }
  if (replicas == r->replicas && replicas > 0 && r->shards % replicas == 0)
    return true;
  dtg_strbuf_printf(why, "%u of %u replicas compute %lld shards", replicas, r->replicas,
                    (long long)r->shards);
  return false;
}

// Families of clients may stand in any order of replicas: the chief comes first.
static bool replicas_are_driven(const struct dtg_replication *r, struct dtg_strbuf *why) {
  uint32_t driven = 0, clients = 0;
  for (size_t i = 0; i < r->client_families.len; i++) {
    const struct dtg_client_family *a = &r->client_families.data[i];
    uint32_t first = a->first_replica, end = first + a->count * a->replicas_each;
    if (a->first != clients || a->count == 0 || a->replicas_each == 0) {
      dtg_strbuf_printf(why, "client %u is missing or there twice", clients);
      return false;
    }
    for (size_t k = 0; k < i; k++) {
      const struct dtg_client_family *b = &r->client_families.data[k];
      if (first >= b->first_replica + b->count * b->replicas_each || end <= b->first_replica)
        continue;
      dtg_strbuf_printf(why, "replica %u has two clients", first);
      return false;
    }
    driven += end - first;
    clients += a->count;
  }
  if (driven == r->replicas && clients == r->clients)
    return true;
  dtg_strbuf_printf(why, "%u clients drive %u of %u replicas", clients, driven, r->replicas);
  return false;
}

static bool slice_is_cut_well(const struct dtg_replication *r, const struct dtg_slice *slice,
                              int64_t end, struct dtg_strbuf *why) {
  const struct dtg_variable *v = &r->module->variables.data[slice->variable];
  int64_t count = dtg_shape_count(&v->type.shape);
  bool last = end == count;
  if (slice->block == dtg_block_elements(&v->type.shape) && slice->elements > 0 &&
      slice->first % slice->block == 0 && (last || end % slice->block == 0) &&
      slice->owner < dtg_cluster_device_count(r->cluster) && slice->cause.rule)
    return true;
  dtg_strbuf_printf(why, "`%s`: elements %lld to %lld are no slice", v->path,
                    (long long)slice->first, (long long)end);
  return false;
}

static bool variable_is_covered(const struct dtg_replication *r, uint32_t v, size_t *next,
                                struct dtg_strbuf *why) {
  int64_t covered = 0;
  for (; *next < r->slices.len && r->slices.data[*next].variable == v; ++*next) {
    const struct dtg_slice *slice = &r->slices.data[*next];
    if (slice->first != covered) {
      dtg_strbuf_printf(why, "`%s`: element %lld has no owner or two",
                        r->module->variables.data[v].path, (long long)covered);
      return false;
    }
    covered += slice->elements;
    if (!slice_is_cut_well(r, slice, covered, why))
      return false;
  }
  if (covered == dtg_shape_count(&r->module->variables.data[v].type.shape))
    return true;
  dtg_strbuf_printf(why, "`%s`: %lld elements have an owner", r->module->variables.data[v].path,
                    (long long)covered);
  return false;
}

static bool variables_are_covered(const struct dtg_replication *r, struct dtg_strbuf *why) {
  size_t next = 0;
  for (uint32_t v = 0; v < r->module->variables.len; v++)
    if (r->module->variables.data[v].kind != DTG_VARIABLE_SLOT &&
        !variable_is_covered(r, v, &next, why))
      return false;
  if (next == r->slices.len)
    return true;
  dtg_strbuf_printf(why, "slice %zu belongs to no parameter and no state, or is out of order",
                    next);
  return false;
}

static bool owners_are_listed(const struct dtg_replication *r, struct dtg_strbuf *why) {
  for (size_t i = 1; i < r->owners.len; i++) {
    if (r->owners.data[i - 1] < r->owners.data[i])
      continue;
    dtg_strbuf_printf(why, "owner %u is listed twice", r->owners.data[i]);
    return false;
  }
  for (size_t s = 0; s < r->slices.len; s++) {
    size_t index;
    if (dtg_owner_find(r, r->slices.data[s].owner, &index))
      continue;
    dtg_strbuf_printf(why, "device %u holds a slice and is no owner", r->slices.data[s].owner);
    return false;
  }
  return true;
}

static size_t reductions_of(const struct dtg_replication *r, uint32_t variable) {
  size_t count = 0;
  for (size_t i = 0; i < r->reductions.len; i++)
    count += r->reductions.data[i].variable == variable;
  return count;
}

// A parameter's gradient and a state's candidates reach the update graph only through one
// reduction.
static bool variables_are_reduced(const struct dtg_replication *r, struct dtg_strbuf *why) {
  for (uint32_t v = 0; r->module->train && v < r->module->variables.len; v++) {
    const struct dtg_variable *variable = &r->module->variables.data[v];
    size_t count = reductions_of(r, v);
    bool param = variable->kind == DTG_VARIABLE_PARAM;
    if (param ? count == 1 : variable->kind == DTG_VARIABLE_SLOT ? count == 0 : count <= 1)
      continue;
    dtg_strbuf_printf(why, "`%s` is reduced %zu times", variable->path, count);
    return false;
  }
  return true;
}

bool dtg_replication_verify(const struct dtg_replication *r, struct dtg_strbuf *why) {
  return replicas_are_numbered(r, why) && replicas_are_driven(r, why) &&
         variables_are_covered(r, why) && owners_are_listed(r, why) &&
         variables_are_reduced(r, why);
}
