// Stage 7, replicate: the four maps and the rule of a strategy, as tables over families.
//
// Purpose: which device computes which shards (replica map), who drives them (client map), who
// holds and updates each slice of a variable (owner map), and how every contribution is reduced.
// The graphs stay what they were: one shard's computation is shared by all replicas, and replicas
// are rows of families. Time and memory follow the number of variables and slices, never the number
// of equal tasks. Ownership: the context's arena. Lifetime: the compilation. Thread rule: that of
// the context.
#ifndef DTG_REPLICATE_REPLICATE_H
#define DTG_REPLICATE_REPLICATE_H

#include "compiler/base/ctx.h"
#include "compiler/cluster/cluster.h"
#include "compiler/ir/graph.h"
#include "compiler/sema/model.h"

// outer * inner devices of the cluster: number q is
// base + (q / inner) * outer_stride + (q % inner) * inner_stride.
struct dtg_device_set {
  uint32_t base, outer, inner;
  uint32_t outer_stride, inner_stride;
};

uint32_t dtg_device_set_count(const struct dtg_device_set *set);
uint32_t dtg_device_set_at(const struct dtg_device_set *set, uint32_t number);
// Number of a device in the set; false if it is none of it.
bool dtg_device_set_find(const struct dtg_device_set *set, uint32_t device, uint32_t *number);

// Replicas from `first` on, one per device of the set. Replica r of R computes the shards
// [r * shards / R, (r + 1) * shards / R).
struct dtg_replica_family {
  uint32_t first;
  struct dtg_device_set devices;
  struct dtg_cause cause;
};

// Clients [first, first + count): client c lives in task `task` + (c - first) * task_stride (tasks
// are numbered over jobs in order) and drives `replicas_each` replicas from first_replica + (c -
// first) * replicas_each on. Client 0 is the chief.
struct dtg_client_family {
  uint32_t first, count;
  uint32_t task, task_stride;
  uint32_t first_replica, replicas_each;
  struct dtg_cause cause;
};

// Elements [first, first + elements) of a parameter or state, with the same elements of its slots:
// on the device that holds their truth, reduces their gradient and updates them. Cut at multiples
// of `block` (whole rows of axis 0: dtg_block_rows).
struct dtg_slice {
  uint32_t variable; // index into module->variables
  int64_t first, elements;
  int64_t block;
  uint32_t owner; // device
  enum dtg_owner_kind kind;
  struct dtg_cause cause;
};

// One tensor that every shard contributes and the fixed tree combines.
struct dtg_reduction {
  enum dtg_root_kind kind;
  const char *name;
  struct dtg_type type;
  enum dtg_reduce reduce;
  uint32_t variable; // DTG_NO_NODE: loss or metric, whose tree ends at the chief
};

// How many replicas send so many partial sums: the maximal subtrees, of the tree over all shards,
// that lie inside a replica's block.
struct dtg_partial_class {
  uint32_t sums, replicas;
};

struct dtg_partial_sums {
  DTG_VEC(struct dtg_partial_class) classes; // by sums
  uint32_t most;                             // of one replica
  int64_t all;                               // of all replicas together
  int64_t suggested_shards;                  // nearest number with one each; 0 where `most` is 1
};

struct dtg_replication {
  const struct dtg_model *model;
  const struct dtg_cluster *cluster;
  struct dtg_module *module;
  const struct dtg_strategy *strategy;
  uint32_t replicas, clients;
  int64_t shards;
  bool relaxed; // an update rule that gives up "same bits"
  bool single;  // one replica, whose device owns everything: nothing is sent
  DTG_VEC(struct dtg_replica_family) families;
  DTG_VEC(struct dtg_client_family) client_families;
  DTG_VEC(struct dtg_slice) slices; // by (variable, first)
  DTG_VEC(uint32_t) owners;         // devices that hold a slice, ascending
  DTG_VEC(struct dtg_reduction) reductions;
  struct dtg_partial_sums partial_sums;
};

// Requires: module after opt. Guarantees: what dtg_replication_verify checks. NULL with errors in
// ctx->diags.
struct dtg_replication *dtg_replicate(struct dtg_ctx *ctx, const struct dtg_model *model,
                                      const struct dtg_cluster *cluster, struct dtg_module *module);

// Whether the owners of a sparse table publish the rows that a step has touched: they do where the
// others stay as they are and every replica reads every version.
bool dtg_publishes_rows(const struct dtg_replication *replication, const struct dtg_sparse *table);

// Device of a replica; client of a replica; task (over jobs) of a device or a client.
uint32_t dtg_replica_device(const struct dtg_replication *replication, uint32_t replica);
uint32_t dtg_replica_client(const struct dtg_replication *replication, uint32_t replica);
uint32_t dtg_client_task(const struct dtg_replication *replication, uint32_t client);
uint32_t dtg_device_task(const struct dtg_cluster *cluster, uint32_t device);
// "/job:worker/task:1" of a task number.
const char *dtg_task_name(struct dtg_arena *arena, const struct dtg_cluster *cluster,
                          uint32_t task);
// Devices of a job that compute or own something.
uint32_t dtg_job_used(const struct dtg_replication *replication, const struct dtg_job *job);
// Slices of a variable (of a slot: those of its parameter): the first one, and how many.
const struct dtg_slice *dtg_variable_slices(const struct dtg_replication *replication,
                                            uint32_t variable, size_t *count);

// Number of maximal subtrees, inside [begin, end), of the tree over [0, shards) that splits at the
// largest power of two below the count.
uint32_t dtg_subtree_count(int64_t shards, int64_t begin, int64_t end);
// Of one replica.
uint32_t dtg_replica_sums(const struct dtg_replication *replication, uint32_t replica);
// Position of a device in `owners`; false if it is none.
bool dtg_owner_find(const struct dtg_replication *replication, uint32_t device, size_t *index);

// The level "replicate" of the verifier: the replicas cover every shard once, every replica has one
// client, the slices cover every parameter and state once and are cut at block edges, every
// gradient and state is reduced once, at the owners.
bool dtg_replication_verify(const struct dtg_replication *replication, struct dtg_strbuf *why);
void dtg_replication_print(const struct dtg_replication *replication, struct dtg_strbuf *out);

#endif
