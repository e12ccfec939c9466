// Stage 7, replicate: the four maps and the rule of a strategy, as tables over families.
//
// Purpose: which device computes which shards (replica map), who drives them (client map), who holds
// and updates each variable (owner map), and how every contribution is reduced. The graphs stay what
// they were: one shard's computation is shared by all replicas, and replicas are rows of a table.
// Ownership: the context's arena. Lifetime: the compilation. Thread rule: that of the context.
#ifndef DTG_REPLICATE_REPLICATE_H
#define DTG_REPLICATE_REPLICATE_H

#include "compiler/base/ctx.h"
#include "compiler/cluster/cluster.h"
#include "compiler/ir/graph.h"
#include "compiler/sema/model.h"

// Replicas [first, first + count) run on devices `device`, `device` + `stride`, ...; each computes
// `shards_each` consecutive shards, replica r from r * shards_each on.
struct dtg_replica_family {
  uint32_t first, count;
  uint32_t device, stride; // device numbers of the cluster
  int64_t shards_each;
  struct dtg_cause cause;
};

// One client: a step loop that drives replicas [first_replica, first_replica + replica_count).
struct dtg_client {
  uint32_t job, task;
  uint32_t first_replica, replica_count;
};

// The device that holds the truth of a variable, reduces its gradient and updates it.
struct dtg_owner {
  uint32_t variable; // index into module->variables
  uint32_t device;
  struct dtg_cause cause;
};

// One tensor that every shard contributes and the fixed tree combines.
struct dtg_reduction {
  enum dtg_root_kind kind;
  const char *name;
  struct dtg_type type;
  enum dtg_reduce reduce;
  uint32_t owner;         // device where the tree ends
  uint32_t partial_sums;  // that each replica sends: 1 where its block of shards is one subtree
};

struct dtg_replication {
  const struct dtg_model *model;
  const struct dtg_cluster *cluster;
  struct dtg_module *module;
  const struct dtg_strategy *strategy;
  uint32_t replicas;
  int64_t shards;
  bool relaxed; // an update rule that gives up "same bits"
  DTG_VEC(struct dtg_replica_family) families;
  DTG_VEC(struct dtg_client) clients;
  DTG_VEC(struct dtg_owner) owners; // in the order of module->variables
  DTG_VEC(struct dtg_reduction) reductions;
};

// Requires: module after opt. Guarantees: what dtg_replication_verify checks. NULL with errors in
// ctx->diags. Cost: linear in variables and roots; independent of the number of equal tasks.
struct dtg_replication *dtg_replicate(struct dtg_ctx *ctx, const struct dtg_model *model,
                                      const struct dtg_cluster *cluster, struct dtg_module *module);

// The level "replicate" of the verifier: the replicas cover every shard once, every variable has one
// owner, every gradient and state is reduced once before the update graph reads it.
bool dtg_replication_verify(const struct dtg_replication *replication, struct dtg_strbuf *why);
void dtg_replication_print(const struct dtg_replication *replication, struct dtg_strbuf *out);

#endif
