// Counting messages, and the sizes that they should have.
#include "compiler/prove/internal.h"

uint32_t dtg_proof_role_count(const struct dtg_proof *proof, enum dtg_role role) {
  switch (role) {
  case DTG_ROLE_REPLICA:
    return proof->r->replicas;
  case DTG_ROLE_CLIENT:
    return proof->r->clients;
  case DTG_ROLE_OWNER:
    return (uint32_t)proof->r->owners.len;
  case DTG_ROLE_ARBITER:
    return proof->r->relaxed && proof->r->owners.len > 0;
  }
  return 0;
}

static bool holds(const struct dtg_ends *ends, uint32_t index) {
  return index >= ends->first && index - ends->first < ends->count;
}

static bool find_replica(const struct dtg_proof *proof, uint32_t device, uint32_t *replica) {
  for (size_t i = 0; i < proof->r->families.len; i++) {
    const struct dtg_replica_family *family = &proof->r->families.data[i];
    uint32_t number;
    if (!dtg_device_set_find(&family->devices, device, &number))
      continue;
    *replica = family->first + number;
    return true;
  }
  return false;
}

static bool is_member(const struct dtg_proof *proof, const struct dtg_ends *ends,
                      uint32_t replica) {
  return holds(ends, replica) &&
         (ends->sums == 0 || dtg_replica_sums(proof->r, replica) == ends->sums);
}

static uint64_t count_members(const struct dtg_proof *proof, const struct dtg_ends *ends) {
  uint64_t count = 0;
  if (ends->sums == 0 || proof->r->partial_sums.classes.len == 1)
    return ends->count;
  for (uint32_t i = 0; i < ends->count; i++)
    count += is_member(proof, ends, ends->first + i);
  return count;
}

// Owners of one end whose device computes a replica of the other.
static uint64_t shared(const struct dtg_proof *proof, const struct dtg_ends *owners,
                       const struct dtg_ends *replicas) {
  uint64_t count = 0;
  for (uint32_t i = 0; i < owners->count; i++) {
    uint32_t replica;
    count += find_replica(proof, proof->r->owners.data[owners->first + i], &replica) &&
             is_member(proof, replicas, replica);
  }
  return count;
}

static uint64_t common(const struct dtg_ends *a, const struct dtg_ends *b) {
  uint32_t first = a->first > b->first ? a->first : b->first;
  uint32_t end_a = a->first + a->count, end_b = b->first + b->count;
  uint32_t end = end_a < end_b ? end_a : end_b;
  return end > first ? end - first : 0;
}

uint64_t dtg_proof_pairs(const struct dtg_proof *proof, const struct dtg_ends *from,
                         const struct dtg_ends *to) {
  uint64_t all = count_members(proof, from) * count_members(proof, to);
  if (from->role == to->role)
    return all - common(from, to);
  if (from->role == DTG_ROLE_OWNER && to->role == DTG_ROLE_ARBITER)
    return all - holds(from, 0);
  if (from->role == DTG_ROLE_ARBITER && to->role == DTG_ROLE_OWNER)
    return all - holds(to, 0);
  if (from->role == DTG_ROLE_OWNER && to->role == DTG_ROLE_REPLICA)
    return all - shared(proof, from, to);
  if (from->role == DTG_ROLE_REPLICA && to->role == DTG_ROLE_OWNER)
    return all - shared(proof, to, from);
  return all;
}

static const char *ends_text(struct dtg_proof *proof, const struct dtg_ends *ends) {
  const char *role = dtg_role_name(ends->role);
  if (ends->count == 1)
    return dtg_arena_printf(&proof->scratch, "%s %u", role, ends->first);
  const char *sums = "";
  if (ends->sums > 0 && proof->r->partial_sums.classes.len > 1)
    sums = dtg_arena_printf(&proof->scratch, " with %u partial sums", ends->sums);
  return dtg_arena_printf(&proof->scratch, "%ss %u..%llu%s", role, ends->first,
                          (unsigned long long)ends->first + ends->count, sums);
}

const char *dtg_proof_transfer_text(struct dtg_proof *proof, const struct dtg_transfer *t) {
  return dtg_arena_printf(&proof->scratch, "%s from %s to %s", dtg_transfer_name(t->kind),
                          ends_text(proof, &t->from), ends_text(proof, &t->to));
}

int64_t dtg_proof_scalar_bytes(const struct dtg_proof *proof) {
  int64_t bytes = 0;
  for (size_t i = 0; i < proof->r->reductions.len; i++)
    if (proof->r->reductions.data[i].variable == DTG_NO_NODE)
      bytes += dtg_type_bytes(&proof->r->reductions.data[i].type);
  return bytes;
}

int64_t dtg_proof_row_bytes(const struct dtg_proof *proof) {
  int64_t bytes = 0;
  for (size_t i = 0; i < proof->r->model->inputs.len; i++)
    bytes += dtg_type_bytes(&proof->r->model->inputs.data[i].type);
  return bytes;
}

bool dtg_proof_is_reduced(const struct dtg_proof *proof, uint32_t variable) {
  for (size_t i = 0; i < proof->r->reductions.len; i++)
    if (proof->r->reductions.data[i].variable == variable)
      return true;
  return false;
}
