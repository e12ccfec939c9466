// One replica, client, owner and message at a time. Private to compiler/prove/.
#ifndef DTG_PROVE_UNFOLD_H
#define DTG_PROVE_UNFOLD_H

#include "compiler/prove/internal.h"

// Parties are numbered: clients, replicas, owners, the arbiter.
struct dtg_message {
  enum dtg_transfer_kind kind;
  enum dtg_moment moment;
  uint32_t phase, next_phase;
  uint32_t from, to; // parties
  enum dtg_event before, after;
  int64_t bytes;
  bool at_most;
};

struct dtg_unfolded {
  struct dtg_proof *proof;
  uint32_t clients, replicas, owners, parties;
  uint32_t arbiter;             // party; DTG_NO_NODE: there is none
  uint32_t *device;             // by party; of a client: DTG_NO_DEVICE
  uint32_t *task;               // by party
  uint32_t *client;             // by replica
  uint32_t *sums;               // by replica: partial sums
  struct dtg_message *messages; // sorted by (kind, moment, phase, from, to)
  size_t count;
};

// Tables by number, and the messages of sends and receives, which must be the same.
bool dtg_unfold_parties(struct dtg_unfolded *u);
bool dtg_unfold_messages(struct dtg_unfolded *u);
bool dtg_unfold_waits(struct dtg_unfolded *u);
// Claims about control, updates and memory.
bool dtg_unfold_control(struct dtg_unfolded *u);
bool dtg_unfold_updates(struct dtg_unfolded *u);
bool dtg_unfold_memory(struct dtg_unfolded *u);

// The message of a step, or NULL; that of any moment, in phase 0.
const struct dtg_message *dtg_unfold_find_at(const struct dtg_unfolded *u,
                                             enum dtg_transfer_kind kind, enum dtg_moment moment,
                                             uint32_t from, uint32_t to);
const struct dtg_message *dtg_unfold_find(const struct dtg_unfolded *u, enum dtg_transfer_kind kind,
                                          uint32_t phase, uint32_t from, uint32_t to);
size_t dtg_unfold_count(const struct dtg_unfolded *u, enum dtg_transfer_kind kind);
// Adds 1 to `seen` for every shard of every maximal subtree of [low, high) inside [begin, end); the
// number of subtrees.
uint32_t dtg_unfold_subtrees(int64_t low, int64_t high, int64_t begin, int64_t end, uint32_t *seen);

#endif
