/* A client: a step loop that drives its replicas; client 0 is the chief.
 *
 * Purpose: decides which rows are read, when a step starts and what is reported. In-graph, one
 * client drives all replicas and sends those of other tasks their rows; between-graph, each reads
 * its own rows. The chief in addition begins the run (first values, step), collects loss, metrics
 * and evaluations of all, gathers slices for checkpoints, and ends the run for everybody.
 * Ownership: owns its bookkeeping (`struct dtr_task`: options, data, progress, log, errors); data
 * sets are lent by the run. Threads: polled by the thread of its task's first device.
 */
#ifndef DTR_REPLICATE_CLIENT_H
#define DTR_REPLICATE_CLIENT_H

#include "runtime/replicate/party.h"
#include "runtime/replicate/recovery.h"
#include "runtime/task.h"

struct dtr_client;

struct dtr_client_options {
  const struct dtr_task_options *task; /* flags: of the chief; others show and write nothing */
  struct dtr_data *data, *evaluate_on; /* lent; NULL: none */
};

bool dtr_client_new(const struct dtr_party *party, uint32_t client,
                    const struct dtr_client_options *options, struct dtr_client **made,
                    struct dtr_error *error);
void dtr_client_free(struct dtr_client *client);
/* Made anew for another generation; the chief keeps its bookkeeping. False: it is freed, and
 * *client NULL. */
bool dtr_client_renew(const struct dtr_party *party, const struct dtr_client_options *options,
                      struct dtr_client **client, struct dtr_error *error);
/* It begins at `step` without being told by the chief. */
void dtr_client_join_at(struct dtr_client *client, int64_t step);
/* The chief's: the first values of the generation, from `order->source` and, if live, of step
 * `order->step`; both become what was found. */
bool dtr_client_load(struct dtr_client *client, struct dtr_recovery_message *order);
/* Relaxed rules, the chief's: the others go on without a client; and it is back. */
void dtr_client_drop(struct dtr_client *client, uint32_t other);
void dtr_client_join_other(struct dtr_client *client, uint32_t other);
/* The chief's: it needs nobody any more, and ends the run. */
bool dtr_client_is_ending(const struct dtr_client *client);
/* Steps that it has made; -1: it has not begun. */
int64_t dtr_client_steps(const struct dtr_client *client);

/* True if anything was done. */
bool dtr_client_poll(struct dtr_client *client);
struct dtr_party *dtr_client_party(struct dtr_client *client);
struct dtr_task *dtr_client_task(struct dtr_client *client);
/* A failure outside of any party: the chief ends the run. The chief's thread. */
void dtr_client_abort(struct dtr_client *client, const struct dtr_error *error);

#endif
