// What the files that make transfers share. Private to compiler/partition/.
#ifndef DTG_PARTITION_INTERNAL_H
#define DTG_PARTITION_INTERNAL_H

#include "compiler/partition/partition.h"

struct dtg_partitioner {
  struct dtg_ctx *ctx;
  const struct dtg_replication *r;
  struct dtg_partition *out;
};

struct dtg_ends dtg_ends_of(enum dtg_role role, uint32_t first, uint32_t count);
// A send and its receive; rows without messages are left out.
void dtg_add_transfer(struct dtg_partitioner *p, const struct dtg_transfer *transfer);
int64_t dtg_loss_bytes(const struct dtg_replication *replication); // with metrics, of a partial sum

// Of the arbiter, of the beginning, of an evaluation, of a checkpoint.
void dtg_add_arbiter_transfers(struct dtg_partitioner *p);
void dtg_add_begin_transfers(struct dtg_partitioner *p);
void dtg_add_evaluation_transfers(struct dtg_partitioner *p);
void dtg_add_checkpoint_transfers(struct dtg_partitioner *p);

// Calls `add` for the replicas in other tasks than the chief's, as one or two ranges.
typedef void dtg_add_range(struct dtg_partitioner *p, uint32_t first, uint32_t count);
void dtg_remote_replicas(struct dtg_partitioner *p, dtg_add_range *add);

#endif
