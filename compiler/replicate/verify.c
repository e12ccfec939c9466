#include "compiler/base/strbuf.h"
#include "compiler/replicate/replicate.h"

#include <string.h>

static bool shards_are_covered(const struct dtg_replication *r, struct dtg_strbuf *why) {
  int64_t shards = 0;
  uint32_t replicas = 0;
  for (size_t i = 0; i < r->families.len; i++) {
    const struct dtg_replica_family *family = &r->families.data[i];
    if (family->first != replicas) {
      dtg_strbuf_printf(why, "replica %u is missing or computed twice", replicas);
      return false;
    }
    replicas += family->count;
    shards += family->shards_each * family->count;
  }
  if (replicas == r->replicas && shards == r->shards) return true;
  dtg_strbuf_printf(why, "%u of %u replicas compute %lld of %lld shards", replicas, r->replicas,
                    (long long)shards, (long long)r->shards);
  return false;
}

static bool replicas_are_driven(const struct dtg_replication *r, struct dtg_strbuf *why) {
  uint32_t driven = 0;
  for (size_t i = 0; i < r->clients.len; i++) {
    if (r->clients.data[i].first_replica != driven) {
      dtg_strbuf_printf(why, "replica %u has no client or two", driven);
      return false;
    }
    driven += r->clients.data[i].replica_count;
  }
  if (driven == r->replicas) return true;
  dtg_strbuf_printf(why, "clients drive %u of %u replicas", driven, r->replicas);
  return false;
}

static bool variables_are_owned(const struct dtg_replication *r, struct dtg_strbuf *why) {
  if (r->owners.len != r->module->variables.len) {
    dtg_strbuf_printf(why, "%zu owners for %zu variables", r->owners.len,
                      r->module->variables.len);
    return false;
  }
  for (size_t v = 0; v < r->owners.len; v++) {
    if (r->owners.data[v].variable == v) continue;
    dtg_strbuf_printf(why, "variable `%s` has no owner", r->module->variables.data[v].path);
    return false;
  }
  return true;
}

static size_t reductions_of(const struct dtg_replication *r, const char *name,
                            enum dtg_root_kind kind) {
  size_t count = 0;
  for (size_t i = 0; i < r->reductions.len; i++)
    count += r->reductions.data[i].kind == kind && strcmp(r->reductions.data[i].name, name) == 0;
  return count;
}

// A parameter's gradient and a state's candidates reach the update graph only through one reduction,
// which ends at the variable's owner.
static bool variables_are_reduced(const struct dtg_replication *r, struct dtg_strbuf *why) {
  if (!r->module->train) return true;
  for (size_t v = 0; v < r->module->variables.len; v++) {
    const struct dtg_variable *variable = &r->module->variables.data[v];
    if (variable->kind != DTG_VARIABLE_PARAM) continue;
    size_t count = reductions_of(r, variable->path, DTG_ROOT_GRAD);
    if (count == 1) continue;
    dtg_strbuf_printf(why, "the gradient of `%s` is reduced %zu times", variable->path, count);
    return false;
  }
  for (size_t i = 0; i < r->reductions.len; i++) {
    const struct dtg_reduction *reduction = &r->reductions.data[i];
    for (size_t v = 0; v < r->owners.len; v++) {
      if (strcmp(r->module->variables.data[v].path, reduction->name) != 0) continue;
      if (r->owners.data[v].device == reduction->owner) continue;
      dtg_strbuf_printf(why, "`%s` is reduced away from its owner", reduction->name);
      return false;
    }
  }
  return true;
}

bool dtg_replication_verify(const struct dtg_replication *r, struct dtg_strbuf *why) {
  return shards_are_covered(r, why) && replicas_are_driven(r, why) && variables_are_owned(r, why) &&
         variables_are_reduced(r, why);
}
