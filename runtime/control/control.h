/* The control channel: one TCP connection to every task that this one shares an edge with.
 *
 * Purpose: listens at the task's address, dials the tasks before it in the plan, lets in who proves
 * to belong to the run (handshake.h), keeps heartbeats, carries small messages, and opens the data
 * connections that the plan names and hands their sockets on. A state machine: a poll never waits,
 * but for the look-up of a host name. What comes from a peer is bounded, and anything that is no
 * word of the protocol closes the connection. runtime/PROTOCOL.md describes the bytes.
 * Ownership: owns its sockets; borrows its options and what they point to. Threads: one polls;
 * dtr_control_send, _drop and _wake: any.
 */
#ifndef DTR_CONTROL_H
#define DTR_CONTROL_H

#include "runtime/control/handshake.h"
#include "runtime/env.h"
#include "runtime/error.h"

#include <stdio.h>

enum { DTR_CONTROL_MESSAGE = 8448 }; /* bytes of a message at most */

/* A data connection between an end of this task and one of `task`. */
struct dtr_control_pair {
  uint32_t end, other, task;
};

/* All are called by the polling thread. */
struct dtr_control_events {
  void *context;
  void (*present)(void *context, uint32_t task, uint64_t incarnation);
  /* `why`: "it closed the connection". Its messages have all been told before. */
  void (*lost)(void *context, uint32_t task, uint64_t incarnation, const char *why);
  /* Nothing was heard since `since`, for more than two seconds; INT64_MAX: it is heard again. */
  void (*silent)(void *context, uint32_t task, int64_t since);
  void (*message)(void *context, uint32_t from, const void *bytes, size_t size);
  /* The peer has said that it ends, and how; it is not lost any more. */
  void (*bye)(void *context, uint32_t task, int exit_status);
  void (*data)(void *context, const struct dtr_control_pair *pair, int socket);
  /* A connection was refused. `fatal`: by the peer, which will never let this process in. */
  void (*refused)(void *context, const char *who, const char *why, bool fatal);
};

struct dtr_control_options {
  const struct dtr_env *env;
  const char *plan_id;
  uint64_t run, incarnation;
  uint32_t task, task_count;
  const char *const *names;     /* [task] "worker/0" */
  const char *const *addresses; /* [task] "host:port" */
  const bool *peers;            /* [task] shares an edge with this one */
  int listener;                 /* listens already; -1: listen at the own address */
  const unsigned char *secret;  /* DTR_SECRET_BYTES; NULL: none */
  const struct dtr_control_pair *pairs;
  uint32_t pair_count;
  const struct dtr_control_events *events;
};

struct dtr_control;

/* Errors (status CONFIG): the address is not this host's, its port is taken, the host does not
 * resolve. */
bool dtr_control_new(const struct dtr_control_options *options, struct dtr_control **control,
                     struct dtr_error *error);
void dtr_control_free(struct dtr_control *control);

/* Does what is due; returns when to be called again at the latest. */
int64_t dtr_control_poll(struct dtr_control *control, int64_t now);
/* Sleeps until something has happened, or `deadline`. */
void dtr_control_wait(struct dtr_control *control, int64_t deadline);
void dtr_control_wake(struct dtr_control *control);

/* In order; what a lost task has not got is dropped. False: too long, or too much waits already. */
bool dtr_control_send(struct dtr_control *control, uint32_t task, const void *bytes, size_t size);
/* A data connection has failed: the task counts as lost. */
void dtr_control_drop(struct dtr_control *control, uint32_t task, const char *why);
/* This process ends with the exit status: tells all peers. The polling thread. */
void dtr_control_bye(struct dtr_control *control, int exit_status);
/* All peers that are present have said so, too, and all that was to be sent is sent. */
bool dtr_control_is_quiet(const struct dtr_control *control);
bool dtr_control_is_present(const struct dtr_control *control, uint32_t task);
/* What is known of a task that is not there: "connection refused". */
const char *dtr_control_reason(const struct dtr_control *control, uint32_t task);

/* Connections that ended before they were let in. */
int64_t dtr_control_strays(const struct dtr_control *control);

/* "host:port", or a part of it; false: it is none. `host` has room for DTR_HOST_BYTES. */
enum { DTR_HOST_BYTES = 256 };
bool dtr_address_split(const char *address, char *host, int *port);

#endif
