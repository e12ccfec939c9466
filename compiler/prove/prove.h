// The proofs of a plan, for all tasks together.
//
// Purpose: what would hang, race, lose a gradient or overrun memory at run time is found here,
// before a program exists:
//   (a) every send has exactly one receive of the same size, and nobody waits in a circle;
//   (b) all replicas compute the same graph, on devices and shards of their own;
//   (c) every parameter is updated exactly once a step, by its owner, from a complete sum;
//   (d) what lives at the same time lies in different memory, and sizes are known to the byte.
// Written against the tables alone, not against how they are made, and without the verifiers of the
// stages. Ownership: nothing is kept. Thread rule: pure.
#ifndef DTG_PROVE_PROVE_H
#define DTG_PROVE_PROVE_H

#include "compiler/ir/plan.h"
#include "compiler/partition/partition.h"

#include <stdbool.h>

struct dtg_strbuf;

// On families: cost linear in rows, slices, owners and replicas. `plan`: NULL leaves (d) out. False
// with the reason.
bool dtg_prove(const struct dtg_partition *partition, const struct dtg_plan *plan,
               struct dtg_strbuf *why);

// The same claims (a), (b), (c) for every replica, client, owner, element and message one by one,
// and (d) pair by pair. For small clusters: cost messages times shards, and buffers squared.
bool dtg_prove_unfolded(const struct dtg_partition *partition, const struct dtg_plan *plan,
                        struct dtg_strbuf *why);

// What the chief does and no other client: the only way in which clients differ. One line each.
void dtg_prove_extras(const struct dtg_partition *partition, struct dtg_strbuf *out);

#endif
