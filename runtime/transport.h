/* How tasks exchange tensors: a table of functions per way of transport ("row").
 *
 * Purpose: a task's state machine sends and receives on the edges of its plan and never waits
 * inside a call; the driver waits between polls. Rows: `loop`, all tasks in one process, zero copy.
 * An edge leads from one endpoint to another (or back to itself) and carries one message at a time,
 * the contribution or the version of a step; its size is fixed by the plan. Every endpoint belongs
 * to a task; a task may have several, one per device. Ownership: a sender's bytes must stay as they
 * are until dtr_transport_sent says so; what a receiver got is the sender's memory and is given
 * back by dtr_transport_release. Threads: each endpoint is used by one thread.
 */
#ifndef DTR_TRANSPORT_H
#define DTR_TRANSPORT_H

#include "runtime/error.h"

#include <stdbool.h>
#include <stdint.h>

enum dtr_transfer {
  DTR_TRANSFER_DONE,
  DTR_TRANSFER_PENDING, /* try again after the next progress */
  DTR_TRANSFER_REFUSED  /* the error says why; the peers' plans or steps differ */
};

struct dtr_edge {
  uint32_t from, to; /* endpoints */
  int64_t bytes;
  bool at_most; /* messages may be shorter than `bytes` */
};

/* What an edge has carried so far. */
struct dtr_traffic {
  int64_t messages, bytes;
};

/* One end of a transport. */
struct dtr_endpoint {
  const struct dtr_transport_row *row;
  void *self;
};

struct dtr_transport_row {
  const char *name;
  enum dtr_transfer (*send)(void *self, uint32_t edge, int64_t step, const void *bytes,
                            int64_t size, struct dtr_error *error);
  enum dtr_transfer (*sent)(void *self, uint32_t edge);
  enum dtr_transfer (*receive)(void *self, uint32_t edge, int64_t step, int64_t size,
                               const void **bytes, struct dtr_error *error);
  void (*release)(void *self, uint32_t edge);
  /* Whether a message waits to be received; its step and size. */
  bool (*peek)(void *self, uint32_t edge, int64_t *step, int64_t *size);
  /* Takes back a message that nobody has received yet: it counts as never sent. False: too late. */
  bool (*withdraw)(void *self, uint32_t edge);
  /* This end of the edge forgets all generations before `generation`: what it had sent counts as
   * sent, what it had taken as given back, and the edge is free. A message has the generation of
   * the end that sent it; the other end refuses and counts older ones than its own, and does not
   * see newer ones until it is reset, too. Nobody uses the end meanwhile. */
  void (*reset)(void *self, uint32_t edge, uint32_t generation);
  int64_t (*refused)(void *self); /* messages of dead generations, by this endpoint */
  /* Of an edge that this end sends on, at any time; of others when nothing is under way. */
  struct dtr_traffic (*traffic)(void *self, uint32_t edge);
  /* Moves what can be moved; returns when it wants to be called again, INT64_MAX: on an event. */
  int64_t (*progress)(void *self, int64_t now);
  /* Sleeps until something has happened to this endpoint since its last progress, or `deadline`
   * (nanoseconds of the monotonic clock). */
  void (*wait)(void *self, int64_t deadline);
};

/* Offers `size` bytes of `step` on an edge. PENDING: the edge still carries the message before. */
static inline enum dtr_transfer dtr_transport_send(const struct dtr_endpoint *end, uint32_t edge,
                                                   int64_t step, const void *bytes, int64_t size,
                                                   struct dtr_error *error) {
  return end->row->send(end->self, edge, step, bytes, size, error);
}

/* DONE once the receiver has given the last message back. */
static inline enum dtr_transfer dtr_transport_sent(const struct dtr_endpoint *end, uint32_t edge) {
  return end->row->sent(end->self, edge);
}

/* Takes the message of `step`; it stays valid until it is released. */
static inline enum dtr_transfer dtr_transport_receive(const struct dtr_endpoint *end, uint32_t edge,
                                                      int64_t step, int64_t size,
                                                      const void **bytes, struct dtr_error *error) {
  return end->row->receive(end->self, edge, step, size, bytes, error);
}

static inline void dtr_transport_release(const struct dtr_endpoint *end, uint32_t edge) {
  end->row->release(end->self, edge);
}

static inline bool dtr_transport_peek(const struct dtr_endpoint *end, uint32_t edge, int64_t *step,
                                      int64_t *size) {
  return end->row->peek(end->self, edge, step, size);
}

static inline bool dtr_transport_withdraw(const struct dtr_endpoint *end, uint32_t edge) {
  return end->row->withdraw(end->self, edge);
}

static inline void dtr_transport_reset(const struct dtr_endpoint *end, uint32_t edge,
                                       uint32_t generation) {
  end->row->reset(end->self, edge, generation);
}

static inline int64_t dtr_transport_refused(const struct dtr_endpoint *end) {
  return end->row->refused(end->self);
}

static inline struct dtr_traffic dtr_transport_traffic(const struct dtr_endpoint *end,
                                                       uint32_t edge) {
  return end->row->traffic(end->self, edge);
}

static inline int64_t dtr_transport_progress(const struct dtr_endpoint *end, int64_t now) {
  return end->row->progress(end->self, now);
}

static inline void dtr_transport_wait(const struct dtr_endpoint *end, int64_t deadline) {
  end->row->wait(end->self, deadline);
}

/* ---- loop ---- */

struct dtr_loop;

/* Endpoints 0 .. ends-1 of one process. `edges` must outlive the loop. */
bool dtr_loop_new(uint32_t ends, const struct dtr_edge *edges, uint32_t edge_count,
                  struct dtr_loop **loop, struct dtr_error *error);
void dtr_loop_free(struct dtr_loop *loop);
struct dtr_endpoint dtr_loop_endpoint(struct dtr_loop *loop, uint32_t end);
/* Whether something has happened to the endpoint since its last progress. */
bool dtr_loop_has_event(const struct dtr_endpoint *end);

#endif
