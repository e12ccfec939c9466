/* The arbiter: what needs one decision for all owners (semantics.md 3).
 *
 * Purpose: a state machine beside owner 0. With backups, it fixes which clients' contributions make
 * a step, once every owner has them, and tells all owners. With async updates that exchange block
 * sums, it fixes their order. With bounded staleness, it grants each client its next step.
 * Ownership: borrows the run. Threads: polled by the thread of owner 0's device.
 */
#ifndef DTR_REPLICATE_ARBITER_H
#define DTR_REPLICATE_ARBITER_H

#include "runtime/replicate/party.h"

struct dtr_arbiter;

bool dtr_arbiter_new(const struct dtr_party *party, struct dtr_arbiter **made,
                     struct dtr_error *error);
void dtr_arbiter_free(struct dtr_arbiter *arbiter);
/* True if anything was done. */
bool dtr_arbiter_poll(struct dtr_arbiter *arbiter);
struct dtr_party *dtr_arbiter_party(struct dtr_arbiter *arbiter);
/* Relaxed rules, while nobody polls. A lost client leaves the clock. */
void dtr_arbiter_drop(struct dtr_arbiter *arbiter, uint32_t client);
/* It is back: `step` is where it may begin (-1: the arbiter does not know), `round` how many
 * decisions were made before. What owners have staged of it counts only with the number `stay`. */
void dtr_arbiter_admit(struct dtr_arbiter *arbiter, uint32_t client, int64_t stay, int64_t *step,
                       int64_t *round);
/* The largest number of steps that a client was granted ahead of the slowest live one. */
int64_t dtr_arbiter_lead(const struct dtr_arbiter *arbiter);
void dtr_arbiter_set_lead(struct dtr_arbiter *arbiter, int64_t lead); /* of generations before */

#endif
