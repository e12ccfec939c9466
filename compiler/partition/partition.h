// Stage 9, partition: one part per device, and the channels between parts.
//
// Purpose: after this stage no value crosses devices but through a channel. Ownership: the context's
// arena. Thread rule: that of the context.
#ifndef DTG_PARTITION_PARTITION_H
#define DTG_PARTITION_PARTITION_H

#include "compiler/replicate/replicate.h"

struct dtg_strbuf;

// The nodes of one graph that run on one device, in order.
struct dtg_part {
  uint32_t device;
  const struct dtg_graph *graph;
  DTG_VEC(uint32_t) nodes;
};

// One tensor to one device: sent once, whatever the number of its readers there.
struct dtg_channel {
  const struct dtg_graph *graph;
  uint32_t node; // the value
  uint32_t from, to; // devices
  int64_t bytes;
};

struct dtg_partition {
  const struct dtg_replication *replication;
  DTG_VEC(struct dtg_part) parts; // by graph, then device
  DTG_VEC(struct dtg_channel) channels;
};

// Requires: placed graphs. Guarantees: what dtg_partition_verify checks. Cost: linear in edges times
// parts of a graph.
struct dtg_partition *dtg_partition(struct dtg_ctx *ctx, const struct dtg_replication *replication);
// The level "partition": every node in one part, every cross-device edge on one channel of the right
// size, no cycle in the wait graph.
bool dtg_partition_verify(const struct dtg_partition *partition, struct dtg_strbuf *why);
void dtg_partition_print(const struct dtg_partition *partition, struct dtg_strbuf *out);

#endif
