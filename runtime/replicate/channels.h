/* The edges of a replicated run: which party sends what to which, and how large it is.
 *
 * Purpose: a *party* is a state machine: a client, the replica of a device, or the owner of a
 * device. Every message of REPLICATION.md has a channel between two parties, numbered by family and
 * index, so that an edge is found by arithmetic. Ownership: owns the table of edges, borrows the
 * map. Threads: made once, then read by any.
 */
#ifndef DTR_REPLICATE_CHANNELS_H
#define DTR_REPLICATE_CHANNELS_H

#include "runtime/replicate/map.h"
#include "runtime/transport.h"

enum dtr_channel_kind {
  DTR_CHANNEL_FEED,    /* client -> replica of another task: rows */
  DTR_CHANNEL_PUSH,    /* replica -> owner: partial sums of its shares, leaf by leaf */
  DTR_CHANNEL_NORM,    /* owner -> owner, per phase: block sums */
  DTR_CHANNEL_PUBLISH, /* owner -> replica: published pieces */
  DTR_CHANNEL_FETCH,   /* replica -> its client: loss and metrics, leaf by leaf */
  DTR_CHANNEL_FORWARD, /* client -> chief: the same of all its replicas */
  DTR_CHANNEL_CHUNK,   /* replica -> chief: values of its evaluation chunks of a wave */
  DTR_CHANNEL_GATHER,  /* owner -> chief: all its pieces */
  DTR_CHANNEL_SCATTER, /* chief -> owner: the same */
  /* Control: no payload. */
  DTR_CHANNEL_ORDER,   /* client -> replica: struct dtr_order */
  DTR_CHANNEL_COMMAND, /* chief -> owner: struct dtr_command */
  DTR_CHANNEL_BEGIN,   /* chief -> client: struct dtr_command */
  DTR_CHANNEL_STAGED,  /* owner -> arbiter: struct dtr_staged by client */
  DTR_CHANNEL_DECIDE,  /* arbiter -> owner: struct dtr_decision */
  DTR_CHANNEL_ASK,     /* client -> arbiter: may it start the step? INT64_MAX: it leaves */
  DTR_CHANNEL_GRANT,   /* arbiter -> client: the step to start */
  DTR_CHANNEL_ENDED,   /* client -> chief: it has made its last step */
  DTR_CHANNEL_STATS,   /* owner 0 -> chief: struct dtr_owner_stats */
  DTR_CHANNEL_FAULT,   /* replica -> its client: struct dtr_fault_report */
  DTR_CHANNEL_TROUBLE, /* party -> chief: struct dtr_error */
  DTR_CHANNEL_DONE,    /* chief -> party */
  DTR_CHANNEL_KINDS
};
enum { DTR_CHANNEL_PAYLOADS = DTR_CHANNEL_ORDER };

/* Parties are numbered: clients, replicas, owners, and where the rule needs one, the arbiter, which
 * is on the device of owner 0. */
static inline uint32_t dtr_party_of_client(const struct dtr_map *map, uint32_t client) {
  (void)map;
  return client;
}
static inline uint32_t dtr_party_of_replica(const struct dtr_map *map, uint32_t replica) {
  return map->client_count + replica;
}
static inline uint32_t dtr_party_of_owner(const struct dtr_map *map, uint32_t owner) {
  return map->client_count + map->replica_count + owner;
}
static inline uint32_t dtr_party_of_arbiter(const struct dtr_map *map) {
  return map->client_count + map->replica_count + map->owner_count;
}
static inline uint32_t dtr_party_count(const struct dtr_map *map) {
  return dtr_party_of_arbiter(map) + (map->rule != DTR_RULE_SYNC);
}
/* Task of a party, and its device (of a client: DTR_NONE). */
uint32_t dtr_party_task(const struct dtr_map *map, uint32_t party);
uint32_t dtr_party_device(const struct dtr_map *map, uint32_t party);

struct dtr_channel {
  enum dtr_channel_kind kind;
  uint32_t from, to; /* parties */
  bool is_counted;   /* payload that leaves its device, or for a client its task */
};

struct dtr_channels {
  const struct dtr_map *map;
  uint32_t count;
  uint32_t first[DTR_CHANNEL_KINDS]; /* edge of index (0, 0) */
  uint32_t width[DTR_CHANNEL_KINDS]; /* edges between (i, 0) and (i + 1, 0) */
  struct dtr_channel *channels;
  struct dtr_edge *edges;
};

/* `ends`: endpoint of every party. */
bool dtr_channels_new(const struct dtr_map *map, const uint32_t *ends,
                      struct dtr_channels **channels, struct dtr_error *error);
void dtr_channels_free(struct dtr_channels *channels);

/* (i, j) by kind: feed, fetch, chunk, order, fault (replica, 0); push (replica, owner); publish
 * (owner, replica); norm (phase * owners + from, to); forward, begin, ask, grant, ended (client,
 * 0); gather, scatter, command, staged, decide (owner, 0); stats (0, 0); trouble, done (party, 0).
 */
static inline uint32_t dtr_channel(const struct dtr_channels *channels, enum dtr_channel_kind kind,
                                   uint32_t i, uint32_t j) {
  return channels->first[kind] + i * channels->width[kind] + j;
}
static inline int64_t dtr_channel_bytes(const struct dtr_channels *channels, uint32_t edge) {
  return channels->edges[edge].bytes;
}
/* "push"; the names of REPLICATION.md and of plans. */
const char *dtr_channel_name(enum dtr_channel_kind kind);
/* "the client of worker/0", "replica 3 on worker/1", "the owner on ps/0". */
void dtr_party_text(const struct dtr_map *map, uint32_t party, char *text, size_t size);

#endif
