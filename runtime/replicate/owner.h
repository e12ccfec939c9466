/* The owner of a device: the truth of its slices, their reduction and their update.
 *
 * Purpose: a state machine that takes what replicas push, finishes the reduction tree in whatever
 * order it arrives, runs the update's launches on its own rows, exchanges block sums with the other
 * owners between phases, and publishes the next version. Memory is compact: only the rows of its
 * slices, of parameters, slots and states. Ownership: borrows the run and the device's executor.
 * Threads: polled by the device's thread.
 *
 * States: begin (first values) -> publish -> collect -> update (by phases) -> publish ...
 */
#ifndef DTR_REPLICATE_OWNER_H
#define DTR_REPLICATE_OWNER_H

#include "runtime/executor.h"
#include "runtime/replicate/party.h"

struct dtr_owner;

bool dtr_owner_new(const struct dtr_party *party, uint32_t owner, struct dtr_executor *executor,
                   struct dtr_owner **made, struct dtr_error *error);
void dtr_owner_free(struct dtr_owner *owner);
/* Made anew for another generation, with what it holds. False: it is freed, and *owner NULL. */
bool dtr_owner_renew(const struct dtr_party *party, struct dtr_owner **owner,
                     struct dtr_error *error);
/* The version that it holds; -1: none, or one that is half made. */
int64_t dtr_owner_version(const struct dtr_owner *owner);
/* Relaxed rules, while nobody polls: the others go on without a client; and it takes part again
 * from `step` on, once the owner has carried out `round` decisions of the arbiter. `stay`: the
 * generation. */
void dtr_owner_drop(struct dtr_owner *owner, uint32_t client);
void dtr_owner_join(struct dtr_owner *owner, uint32_t client, int64_t step, int64_t round,
                    int64_t stay);
/* Bytes that an owner takes. */
int64_t dtr_owner_bytes(const struct dtr_map *map, uint32_t owner);

/* True if anything was done. */
bool dtr_owner_poll(struct dtr_owner *owner);
struct dtr_party *dtr_owner_party(struct dtr_owner *owner);

#endif
