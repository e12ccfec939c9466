/* What the state machines of a replicated run share: messages, and how they end.
 *
 * Purpose: a party is polled; it does what it can and never waits inside. It sends and receives on
 * its channels through the transport's table. A party that fails tells the chief (trouble) and
 * waits; the chief tells all others (done), and everybody ends. Ownership: a party borrows the run
 * (`struct dtr_cast`). Threads: each party is polled by one thread.
 */
#ifndef DTR_REPLICATE_PARTY_H
#define DTR_REPLICATE_PARTY_H

#include "runtime/data/feed.h"
#include "runtime/env.h"
#include "runtime/ledger.h"
#include "runtime/replicate/channels.h"
#include "runtime/report.h"

#include <stdatomic.h>

/* ---- control messages ---- */

enum dtr_order_kind { DTR_ORDER_TRAIN, DTR_ORDER_EVALUATE };
/* A client asks a replica for one step, or for waves of an evaluation. */
struct dtr_order {
  enum dtr_order_kind kind;
  struct dtr_scalars scalars;
  /* Rows of the client's own task; NULL: they come as a feed. */
  const struct dtr_batch *batch;
  const struct dtr_data *data;
  int64_t first_wave, waves, whole_chunks, chunks;
  int64_t wave_size; /* chunks of a wave: shards of all replicas that evaluate */
  bool is_fresh;     /* async: owners have been told to publish once more */
};

enum dtr_command_kind {
  DTR_COMMAND_BEGIN,
  DTR_COMMAND_GATHER,
  DTR_COMMAND_PUBLISH, /* async: current values to the chief's replicas */
  DTR_COMMAND_STATS
};
/* The chief tells owners (and, to begin, other clients) what is to be done at version `step`. */
struct dtr_command {
  enum dtr_command_kind kind;
  int64_t step;
  bool scatter;  /* values come from the chief; otherwise the owner makes the initial ones, or */
  bool live;     /* goes on with those that it holds */
  bool evaluate; /* to clients: an evaluation comes first */
  struct dtr_scalars scalars;
};

/* The arbiter's word: whose contributions to `step` make update number `round`, counted from the
 * beginning of the run. */
struct dtr_decision {
  int64_t round, step;
  bool has[]; /* by client */
};
static inline int64_t dtr_decision_bytes(const struct dtr_map *map) {
  return (int64_t)sizeof(struct dtr_decision) + map->client_count;
}

enum { DTR_AGES = 64 };
/* What a relaxed rule has cost, as owner 0 saw it. */
struct dtr_owner_stats {
  int64_t ages[DTR_AGES]; /* updates by age; the last one: that and more */
  int64_t dropped[];      /* contributions by client, late ones; then those of lost tasks */
};
static inline int64_t dtr_owner_stats_bytes(const struct dtr_map *map) {
  return (int64_t)(sizeof(struct dtr_owner_stats) + 2 * map->client_count * sizeof(int64_t));
}

/* What an owner has staged of a client: the last whole step, and of which stay in the run. */
struct dtr_staged {
  int64_t step; /* -1: none */
  int64_t stay; /* generation in which the client joined; 0: from the beginning */
};

/* What a replica found wrong; its client, which has the data, puts it into words. */
struct dtr_fault_report {
  bool evaluation, numeric;
  int64_t index; /* shard of the batch, or chunk of the evaluation */
  int64_t rows;
  double loss;
  struct dtr_watch watch;
  struct dtr_fault fault;
  struct dtr_finding finding;
};

/* ---- a party ---- */

struct dtr_party {
  const struct dtr_program *program;
  const struct dtr_map *map;
  const struct dtr_channels *channels;
  const struct dtr_endpoint *end;
  const struct dtr_env *env;
  struct dtr_ledger *ledger; /* of its device; NULL: nothing is counted */
  uint32_t number;
  bool is_finished, is_failed, has_told;
  int64_t step;
  struct dtr_error error;
  /* For whoever asks what it waits for: the edge that was not ready last (DTR_NONE: none). */
  _Atomic uint32_t waits_for;
  _Atomic int64_t waits_step;
};

void dtr_party_init(struct dtr_party *party, const struct dtr_program *program,
                    const struct dtr_channels *channels, const struct dtr_endpoint *end,
                    const struct dtr_env *env, uint32_t number);

/* True once the message is on its way (or received). False: not yet, or the party has failed. */
bool dtr_party_send(struct dtr_party *party, uint32_t edge, int64_t step, const void *bytes,
                    int64_t size);
bool dtr_party_receive(struct dtr_party *party, uint32_t edge, int64_t step, int64_t size,
                       const void **bytes);
/* On an edge whose messages may be shorter than it: `size` is what came, else that of the edge. */
bool dtr_party_receive_rows(struct dtr_party *party, uint32_t edge, int64_t step, int64_t *size,
                            const void **bytes);
/* A list of rows is not what its edge carries: sets the error, and fails. Always returns false. */
bool dtr_party_refuse_rows(struct dtr_party *party, uint32_t edge);
void dtr_party_release(struct dtr_party *party, uint32_t edge);
/* Whatever waits on the edge; false: nothing. */
bool dtr_party_receive_any(struct dtr_party *party, uint32_t edge, int64_t *step, int64_t *size,
                           const void **bytes);
bool dtr_party_is_sent(struct dtr_party *party, uint32_t edge);

/* The error is set: tells the chief, once. Always returns false. */
bool dtr_party_fail(struct dtr_party *party);
/* Looks for the end of the run, and tells the chief of a failure. True: nothing else is to be done
 * in this poll. `progress` is set if something happened. */
bool dtr_party_is_over(struct dtr_party *party, bool *progress);
/* "replica 1 on worker/1, step 7, waits for the publish of the owner on ps/0" */
void dtr_party_describe(const struct dtr_party *party, char *text, size_t size);

#endif
