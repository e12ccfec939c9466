// Stage 8, place: a device and a cause for every node of every graph.
//
// A pure function of model, strategy and cluster. Nodes of the train and evaluation graphs are
// those of replica 0; the other replicas' devices are rows of the replica families. Nodes of the
// update graph are at the owner of their variable's first slice; the other slices are rows of the
// owner map. A constraint that cannot be met is an error, never a fallback.
#ifndef DTG_PLACE_PLACE_H
#define DTG_PLACE_PLACE_H

#include "compiler/replicate/replicate.h"

struct dtg_strbuf;

// Requires: a verified replication. Guarantees: every node has a device and a cause. False with
// errors in ctx->diags. Cost: nodes times rules.
bool dtg_place(struct dtg_ctx *ctx, const struct dtg_replication *replication);
// The level "place": every node has a device of the cluster, a view is where its input is, an
// update is at its variable's owner.
bool dtg_place_verify(const struct dtg_replication *replication, struct dtg_strbuf *why);

#endif
