/* The row `tcp`: messages between processes, over connections that the control channel has let in.
 *
 * Purpose: every pair of ends in different tasks that share an edge has one connection. Frames of
 * at most DTR_NET_CHUNK bytes take turns on it, so that a large tensor does not hold up a small
 * message; a payload goes from the sender's memory to the receiver's planned buffer of the edge,
 * which is the flow control too: the next message of an edge leaves when the last one has been
 * given back. Ends of one task talk by the row `loop`. Frames: runtime/PROTOCOL.md. Ownership: owns
 * buffers, connections and the sockets it is given; borrows edges and environment. Threads: an end
 * belongs to one thread; dtr_net_connect, _lose, _wake and _abandon: any.
 */
#ifndef DTR_NET_H
#define DTR_NET_H

#include "runtime/env.h"
#include "runtime/transport.h"

enum { DTR_NET_CHUNK = 1 << 18 };

struct dtr_net;

struct dtr_net_options {
  const struct dtr_env *env;
  uint32_t task; /* this one */
  uint32_t ends;
  const uint32_t *tasks; /* of every end */
  const struct dtr_edge *edges;
  uint32_t edge_count;
  int64_t spin; /* ns that an end looks again and again before it sleeps; 0: where others compute */
  /* A connection has ended or carried what the plan does not name. Called by the end's thread. */
  void *context;
  void (*broken)(void *context, uint32_t task, const char *why);
};

bool dtr_net_new(const struct dtr_net_options *options, struct dtr_net **net,
                 struct dtr_error *error);
void dtr_net_free(struct dtr_net *net);
/* Of an end of this task. */
struct dtr_endpoint dtr_net_endpoint(struct dtr_net *net, uint32_t end);
/* Whether the ends share an edge. */
bool dtr_net_is_joined(const struct dtr_net *net, uint32_t a, uint32_t b);

/* A socket between `end`, which is here, and `other`; an older one between them is closed. */
void dtr_net_connect(struct dtr_net *net, uint32_t end, uint32_t other, int socket);
/* The task is gone: its connections are closed, and what is sent to it vanishes until a reset. */
void dtr_net_lose(struct dtr_net *net, uint32_t task);
void dtr_net_wake(struct dtr_net *net, uint32_t end);
/* Nobody waits in dtr_transport_wait any more. */
void dtr_net_abandon(struct dtr_net *net);
/* Sends what is left to send, until `deadline`; the end's thread. False: it has passed. */
bool dtr_net_drain(struct dtr_net *net, uint32_t end, int64_t deadline);

/* Connections that were closed because of what they carried. */
int64_t dtr_net_violations(const struct dtr_net *net);

#endif
