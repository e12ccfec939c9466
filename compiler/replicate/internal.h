// What the files of stage 7 share. Private to compiler/replicate/.
#ifndef DTG_REPLICATE_INTERNAL_H
#define DTG_REPLICATE_INTERNAL_H

#include "compiler/ir/update_split.h"
#include "compiler/replicate/replicate.h"

#define DTG_GPU_LIMIT "writes no GPU code in this version"

struct dtg_replicate {
  struct dtg_ctx *ctx;
  struct dtg_arena *scratch;
  struct dtg_replication *out;
  const struct dtg_update_split *split; // NULL: the module has no update graph
};

// Device names and look-ups; false or NULL with an error.
const char *dtg_replicate_device_name(const struct dtg_replicate *r, uint32_t device);
const struct dtg_job *dtg_replicate_job(const struct dtg_replicate *r, struct dtg_span span,
                                        const char *name);
// All devices that a reference names: of each task of a job, or of the client's own task.
bool dtg_replicate_find(const struct dtg_replicate *r, const struct dtg_device_ref *ref,
                        struct dtg_device_set *out); // the same without a message
bool dtg_replicate_resolve(const struct dtg_replicate *r, const struct dtg_device_ref *ref,
                           struct dtg_device_set *out);

// The replica map and the client map; then the owner map, which needs them.
bool dtg_replicate_maps(struct dtg_replicate *r);
bool dtg_replicate_owners(struct dtg_replicate *r);
// Combinations that the cluster makes illegal, named with a legal neighbour.
bool dtg_replicate_legal(const struct dtg_replicate *r);

struct dtg_partial_sums dtg_partial_sums_of(struct dtg_arena *arena, int64_t batch, int64_t shards,
                                            uint32_t replicas);

// A piece of a variable that looks for an owner.
struct dtg_owner_unit {
  uint32_t variable;
  int64_t first, elements;
  int64_t weight;              // bytes: value, slots, traffic of a step
  struct dtg_device_set where; // candidates
  uint32_t rule;               // number of the `params` clause; UINT32_MAX: `place`, or the default
  bool round_robin;
  uint32_t owner; // result
};
// Gives every unit an owner: those with one candidate first, then round robin in canonical order,
// then the others, largest first onto the least loaded; ties by index.
void dtg_owner_balance(struct dtg_arena *scratch, struct dtg_owner_unit *units, size_t count);

#endif
