/* Inside of the row `tcp`; for the files of runtime/net only. Threads and ownership: see net.h. */
#ifndef DTR_NET_PARTS_H
#define DTR_NET_PARTS_H

#include "runtime/net/frame.h"
#include "runtime/net/net.h"

#include <pthread.h>
#include <stdatomic.h>

enum { DTR_NET_NONE = UINT32_MAX };

/* The sending end of an edge. */
enum dtr_out_state {
  DTR_OUT_FREE,
  DTR_OUT_QUEUED, /* not all of it is sent */
  DTR_OUT_SENT    /* and not yet given back */
};
struct dtr_out {
  uint32_t edge, link;
  enum dtr_out_state state;
  uint32_t generation, sequence;
  int64_t step, size, sent;
  const char *bytes;
  struct dtr_traffic traffic;
};

/* The receiving end. */
enum dtr_in_state { DTR_IN_FREE, DTR_IN_ARRIVING, DTR_IN_ARRIVED, DTR_IN_TAKEN };
struct dtr_in {
  uint32_t edge, link;
  enum dtr_in_state state;
  uint32_t generation; /* of this end */
  uint32_t sent_generation, sequence;
  int64_t step, size, got;
  char *buffer;        /* room for the edge's bytes */
  bool is_release_due; /* the frame below waits to be sent */
  struct dtr_net_frame release;
};

/* The connection with another end. `queue`: numbers of outs (and behind them ins, for releases)
 * whose turn comes; each is in it at most once. */
enum dtr_link_state {
  DTR_LINK_AWAITED, /* what is sent waits for it */
  DTR_LINK_UP,
  DTR_LINK_LOST /* what is sent vanishes */
};
struct dtr_link {
  uint32_t end, other, task; /* task: of the other */
  enum dtr_link_state state;
  int socket; /* or -1 */
  bool wants_write;
  unsigned events; /* that its poll asks for */
  uint32_t *queue;
  uint32_t queue_first, queue_count, queue_room;
  /* The frame that is being written. */
  unsigned char header[DTR_NET_FRAME_BYTES];
  int64_t header_left;
  const char *body;
  int64_t body_left;
  uint32_t writing; /* out whose chunk it is; DTR_NET_NONE: none, or it has been taken back */
  char *spill;      /* the rest of a chunk whose message was taken back */
  /* What is being read. */
  unsigned char *input; /* DTR_NET_INPUT bytes */
  int64_t input_first, input_count;
  struct dtr_net_frame frame;
  bool in_chunk;   /* the rest of `frame` comes next */
  bool is_dropped; /* it goes nowhere */
  bool is_parked;  /* until its edge is free */
  int64_t chunk_left;
  struct dtr_in *in; /* where it goes */
};
enum { DTR_NET_INPUT = 1 << 16 };

struct dtr_net_end {
  struct dtr_net *net;
  uint32_t number;
  bool is_here;
  int poll, alarm;
  struct dtr_endpoint loop;
  struct dtr_link *links;
  uint32_t link_count;
  struct dtr_out *outs;
  struct dtr_in *ins;
  uint32_t out_count, in_count;
  int64_t refused;
  _Atomic bool is_asleep, has_mail;
  /* Left by other threads: a socket of each link (-1: none), and tasks that are lost. */
  pthread_mutex_t lock;
  int *mail;
  bool *mail_lost; /* [link] */
};

struct dtr_net {
  struct dtr_net_options options;
  struct dtr_loop *loop; /* for edges within this task */
  struct dtr_net_end *ends;
  uint32_t *tasks; /* [end] */
  uint32_t *slot;  /* [edge] number of its out or in, at the end that is here */
  _Atomic bool is_abandoned;
  _Atomic int64_t violations;
};

/* Both ends of the edge are here. */
bool dtr_net_is_local(const struct dtr_net *net, uint32_t edge);
/* A turn of out `index`, or with `in_count` added of an in's release. */
void dtr_link_enqueue(struct dtr_net_end *end, struct dtr_link *link, uint32_t item);
/* Sends what the socket takes. */
void dtr_link_write(struct dtr_net_end *end, struct dtr_link *link);
/* Asks the poll for the events that matter now. */
void dtr_link_ask(struct dtr_net_end *end, struct dtr_link *link);
/* Reads what is there. */
void dtr_link_read(struct dtr_net_end *end, struct dtr_link *link);
/* Takes what of the out is still to be sent out of the connection. */
void dtr_link_forget(struct dtr_net_end *end, struct dtr_link *link, struct dtr_out *out);
/* Closes it; `why` NULL: as it was told to. */
void dtr_link_close(struct dtr_net_end *end, struct dtr_link *link, const char *why);
/* Forgets the frames that were under way in both directions. */
void dtr_link_clear(struct dtr_net_end *end, struct dtr_link *link);
bool dtr_link_is_idle(const struct dtr_link *link);

#endif
