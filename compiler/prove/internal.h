// What the files of the proofs share. Private to compiler/prove/.
#ifndef DTG_PROVE_INTERNAL_H
#define DTG_PROVE_INTERNAL_H

#include "compiler/base/strbuf.h"
#include "compiler/prove/prove.h"

struct dtg_proof {
  const struct dtg_partition *p;
  const struct dtg_replication *r;
  const struct dtg_plan *plan; // may be NULL
  struct dtg_arena scratch;
  struct dtg_strbuf *why;
};

// Writes the reason; false.
bool dtg_proof_fail(const struct dtg_proof *proof, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

// ---- on families ----
bool dtg_prove_matches(struct dtg_proof *proof);  // (a), sizes and partners
bool dtg_prove_waits(struct dtg_proof *proof);    // (a), no circle
bool dtg_prove_control(struct dtg_proof *proof);  // (a), who is started, fed and asked
bool dtg_prove_replicas(struct dtg_proof *proof); // (b)
bool dtg_prove_slices(struct dtg_proof *proof);   // (c), cover and reductions
bool dtg_prove_updates(struct dtg_proof *proof);  // (c), what is pushed and published
bool dtg_prove_memory(struct dtg_proof *proof);   // (d)

// How many of a role there are.
uint32_t dtg_proof_role_count(const struct dtg_proof *proof, enum dtg_role role);
// Messages between the ends: pairs without those that share a device.
uint64_t dtg_proof_pairs(const struct dtg_proof *proof, const struct dtg_ends *from,
                         const struct dtg_ends *to);
// "push from replicas 0..4 to owner 1"
const char *dtg_proof_transfer_text(struct dtg_proof *proof, const struct dtg_transfer *transfer);
// Bytes of loss and metrics of one partial sum; bytes of one example of every input.
int64_t dtg_proof_scalar_bytes(const struct dtg_proof *proof);
int64_t dtg_proof_row_bytes(const struct dtg_proof *proof);
// Whether the shards contribute to a variable.
bool dtg_proof_is_reduced(const struct dtg_proof *proof, uint32_t variable);

#endif
