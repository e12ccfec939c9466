/* The row `sim`: messages that take virtual time, on a network that misbehaves by its seed.
 *
 * Purpose: every message is delivered exactly once, whatever happens to it on the way, or not at
 * all when one of its tasks has crashed. The receiver gets a copy that is poisoned when it is given
 * back, and the sender's bytes are compared with what they were: who breaks the rules of
 * runtime/transport.h is named. Ownership: owns the messages; borrows the world.
 * Threads: one.
 *
 * An edge goes through: free -> under way -> arrived -> taken -> (its return is under way) -> free.
 * Messages between two endpoints share the line of their tasks: one after another by its bandwidth,
 * then each with a latency of its own, so messages of different edges overtake each other.
 */
#ifndef DTR_TRANSPORT_SIM_H
#define DTR_TRANSPORT_SIM_H

#include "runtime/sim/world.h"
#include "runtime/transport.h"

/* Nobody gets through between tasks `a` and `b` (or DTR_SIM_ANY) from `from` until `until`. */
enum { DTR_SIM_ANY = UINT32_MAX };
struct dtr_sim_partition {
  uint32_t a, b;
  int64_t from, until;
};

struct dtr_sim_network {
  int64_t latency, jitter;   /* ns: each message takes latency + 0 .. jitter */
  int64_t bytes_per_second;  /* of a line; 0: no limit */
  int64_t stall, stall_time; /* how many in a million wait for 0 .. stall_time ns more */
  int64_t breaks, reconnect; /* how many in a million are lost with their connection, and sent
                                again after `reconnect` ns; the second copy of one that had
                                arrived is recognised */
  int64_t lose; /* the message with this number between tasks never arrives; 0: none. For testing
                   those who look for hangs */
  const struct dtr_sim_partition *partitions;
  uint32_t partition_count;
};

struct dtr_sim_net_counts {
  int64_t messages, stalled, broken, duplicates, held, lost, refused;
};

struct dtr_sim_net;

/* `tasks`: of every end. `network` and what it points to must outlive the net. */
bool dtr_sim_net_new(struct dtr_sim_world *world, const struct dtr_sim_network *network,
                     uint32_t ends, const uint32_t *tasks, const struct dtr_edge *edges,
                     uint32_t edge_count, struct dtr_sim_net **net, struct dtr_error *error);
void dtr_sim_net_free(struct dtr_sim_net *net);
struct dtr_endpoint dtr_sim_net_endpoint(struct dtr_sim_net *net, uint32_t end);

/* When something happens next; INT64_MAX: never. */
int64_t dtr_sim_net_next(const struct dtr_sim_net *net);
/* Lets happen what is due at world->now. */
void dtr_sim_net_advance(struct dtr_sim_net *net);
/* Whether something has happened to `end` since this was asked last. */
bool dtr_sim_net_take_event(struct dtr_sim_net *net, uint32_t end);

/* When a message from task `from` to task `to` that is ready at `time` gets through. */
int64_t dtr_sim_network_hold(const struct dtr_sim_network *network, uint32_t from, uint32_t to,
                             int64_t time);
/* No message of this edge may be taken twice: (generation, step) only grow. */
void dtr_sim_net_take_once(struct dtr_sim_net *net, uint32_t edge);

/* The task is gone: what is under way from or to it is lost or delivered by the seed; what is sent
 * to it from now on vanishes. */
void dtr_sim_net_crash(struct dtr_sim_net *net, uint32_t task);
/* It is back. */
void dtr_sim_net_return(struct dtr_sim_net *net, uint32_t task);

struct dtr_sim_net_counts dtr_sim_net_counts(const struct dtr_sim_net *net);
/* What somebody did against the rules, the first time; "": nothing. */
const char *dtr_sim_net_violation(const struct dtr_sim_net *net);
uint32_t dtr_sim_net_violation_edge(const struct dtr_sim_net *net); /* or DTR_SIM_ANY */
/* "free", "under way", "arrived", "taken" or "on its way back". */
const char *dtr_sim_net_state(const struct dtr_sim_net *net, uint32_t edge);

#endif
