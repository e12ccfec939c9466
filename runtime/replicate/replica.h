/* The replica of a device: computes its block of shards with a copy of the parameters.
 *
 * Purpose: a state machine that takes its client's orders. For a step it takes the version it needs
 * from every owner, computes, and sends each owner the partial sums of its shares, and its client
 * loss and metrics; for an evaluation it sends the chief the values of its chunks. Ownership:
 * borrows the run, the device's executor and, in its client's own task, the client's data. Threads:
 * polled by the device's thread.
 */
#ifndef DTR_REPLICATE_REPLICA_H
#define DTR_REPLICATE_REPLICA_H

#include "runtime/executor.h"
#include "runtime/replicate/party.h"

struct dtr_replica;

/* `data`: what is evaluated on, where the replica reads it itself; NULL: rows come from the client,
 * or there is no evaluation. */
bool dtr_replica_new(const struct dtr_party *party, uint32_t replica, struct dtr_executor *executor,
                     const struct dtr_data *data, struct dtr_replica **made,
                     struct dtr_error *error);
void dtr_replica_free(struct dtr_replica *replica);

/* True if anything was done. */
bool dtr_replica_poll(struct dtr_replica *replica);
struct dtr_party *dtr_replica_party(struct dtr_replica *replica);

/* Chunks of a wave of an evaluation are dealt to replicas as shards of a step are: how many
 * `replica` has in `wave` of `chunks`, with `wave_size` chunks a wave. */
int64_t dtr_replica_chunks(const struct dtr_map *map, uint32_t replica, int64_t wave,
                           int64_t wave_size, int64_t chunks);
/* The rows of a chunk: whole chunks first, then one example each. */
struct dtr_span dtr_chunk_rows(const struct dtr_program *program, int64_t whole, int64_t chunk);

#endif
