/* Inside of the control channel; for the files control*.c only. Threads and ownership: control.h.
 */
#ifndef DTR_CONTROL_PARTS_H
#define DTR_CONTROL_PARTS_H

#include "runtime/control/control.h"

#include <pthread.h>

/* Frames between peers: kind, length (4 bytes each), then the body. */
enum dtr_control_kind { DTR_CONTROL_HEARTBEAT = 1, DTR_CONTROL_TEXT = 2, DTR_CONTROL_BYE = 3 };
enum {
  DTR_CONTROL_HEAD = 8,
  DTR_CONTROL_OUTPUT = 1 << 17, /* bytes that may wait for a peer */
  DTR_CONTROL_GUESTS = 128      /* connections that have not yet been let in; the oldest goes */
};

struct dtr_peer {
  int socket; /* or -1 */
  bool is_up, is_silent, has_said_bye, is_dialed, wants_write;
  uint64_t incarnation, fenced; /* fenced: the last one that was lost; none before it may return */
  int64_t heard, beaten;        /* when something last came, and a heartbeat was sent */
  int64_t dial_at, patience;
  char reason[160];
  unsigned char input[DTR_CONTROL_HEAD + DTR_CONTROL_MESSAGE];
  size_t input_count;
  unsigned char *output; /* a ring */
  size_t output_first, output_count;
  bool is_dropped;
  char dropped[160];
};

/* A connection in its handshake. */
struct dtr_line {
  int socket; /* -1: free */
  bool is_dialing, is_connecting, wants_write;
  uint32_t task; /* dialing: whom */
  uint32_t pair; /* dialing for data: which; UINT32_MAX: for control */
  int64_t deadline;
  uint64_t order; /* the oldest guest goes first */
  char from[80];
  struct dtr_handshake handshake;
};

struct dtr_control {
  struct dtr_control_options options;
  int listener, poll, alarm;
  struct dtr_peer *peers;
  struct dtr_line *lines; /* guests, then those that this task dials */
  uint32_t line_count;
  bool *pair_is_dialed;
  int64_t *pair_dial_at;
  int64_t now, accept_at, strays;
  uint64_t orders;
  bool is_ending;
  pthread_mutex_t lock; /* outputs and drops */
};

/* Tags of the poll. */
enum { DTR_TAG_ALARM = 0, DTR_TAG_LISTENER = 1, DTR_TAG_FIRST = 2 };

static inline bool dtr_control_dials(const struct dtr_control *control, uint32_t task) {
  return control->options.peers[task] && task < control->options.task;
}
void dtr_control_close(const struct dtr_control *control, int *socket);
void dtr_control_watch(const struct dtr_control *control, int socket, bool writes, uint64_t tag);

/* ---- lines (control_line.c) ---- */
void dtr_lines_accept(struct dtr_control *control);
void dtr_line_dial(struct dtr_control *control, uint32_t task, uint32_t pair);
void dtr_line_move(struct dtr_control *control, struct dtr_line *line);
/* Closes lines whose time is over; returns when the next one's is. */
int64_t dtr_lines_expire(struct dtr_control *control);
void dtr_lines_forget(struct dtr_control *control, uint32_t task);

/* ---- peers (control_peer.c) ---- */
void dtr_peer_open(struct dtr_control *control, uint32_t task, int socket, uint64_t incarnation);
void dtr_peer_lose(struct dtr_control *control, uint32_t task, const char *why);
void dtr_peer_read(struct dtr_control *control, uint32_t task);
void dtr_peer_write(struct dtr_control *control, uint32_t task);
bool dtr_peer_put(struct dtr_control *control, uint32_t task, enum dtr_control_kind kind,
                  const void *body, size_t size);

#endif
