/* Inside of the recovery machine; for the files recovery*.c only. Threads and ownership: see
 * recovery.h. */
#ifndef DTR_REPLICATE_RECOVERY_PARTS_H
#define DTR_REPLICATE_RECOVERY_PARTS_H

#include "runtime/replicate/recovery.h"

enum dtr_recovery_phase {
  DTR_RECOVERY_STANDS, /* held, until the chief says go */
  DTR_RECOVERY_RUNS,
  DTR_RECOVERY_OVER
};

/* How another task stands, as the chief sees it. */
enum dtr_peer_place {
  DTR_PEER_IN,       /* takes part, or will at the next go */
  DTR_PEER_OUT,      /* relaxed rules: the others go on without it */
  DTR_PEER_ASKED,    /* it is back, and was told to stand still */
  DTR_PEER_READY,    /* it does */
  DTR_PEER_ADMITTED, /* the arbiter's task was asked */
};
struct dtr_recovery_peer {
  bool is_used; /* it has groups */
  bool has_owners, is_present, has_reported, has_ended, is_told_silent;
  uint64_t incarnation;
  int64_t absent_since;
  int64_t refused; /* counted so far */
  int64_t asked;   /* number of the last stop sent to it */
  enum dtr_peer_place place;
  uint32_t generation; /* reported */
  uint32_t stay;       /* generation in which it joins */
  struct dtr_recovery_state state;
};

enum { DTR_RECOVERY_ORDERS = 64 };

struct dtr_recovery {
  struct dtr_recovery_options options;
  const struct dtr_recovery_actions *actions;
  uint32_t chief;
  bool is_chief;
  enum dtr_recovery_phase phase;
  uint32_t generation; /* of the last go; the chief's: of the last order */
  int64_t since;       /* when it began to stand */
  bool is_holding;
  bool is_chief_gone; /* lost, and not back */
  bool must_stand;    /* it was lost since the last go */
  bool has_answered;  /* a stop; so the next go is meant for this process */
  uint64_t chief_incarnation;
  /* Orders that wait for the task to be held, the oldest first. */
  struct dtr_recovery_message *orders;
  uint32_t first_order, order_count;
  struct dtr_error error;
  struct dtr_recovery_costs costs;

  /* The chief's. */
  bool is_gathering, is_ending, is_told;
  struct dtr_recovery_peer *peers; /* [task] */
  int64_t stops;                   /* numbers given to stops */
  uint32_t lost;                   /* the task that was lost first; DTR_NONE: the run begins */
  int64_t lost_step;
  char waiting[512]; /* who waited for it */
  char loss[1024];   /* the same in words, once all have said who waits */
  int64_t ending_since;
};

/* To any task, this one included. */
void dtr_recovery_tell(struct dtr_recovery *recovery, uint32_t task,
                       const struct dtr_recovery_message *message, int64_t now);
/* Ends this task alone. */
void dtr_recovery_fail(struct dtr_recovery *recovery);
const char *dtr_recovery_name(const struct dtr_recovery *recovery, uint32_t task);

bool dtr_recovery_new_chief(struct dtr_recovery *recovery, int64_t now); /* false: no memory */
void dtr_recovery_chief_present(struct dtr_recovery *recovery, uint32_t task, uint64_t incarnation,
                                int64_t now);
void dtr_recovery_chief_lost(struct dtr_recovery *recovery, uint32_t task, uint64_t incarnation,
                             bool is_gone, int64_t now);
void dtr_recovery_chief_hear(struct dtr_recovery *recovery, uint32_t from,
                             const struct dtr_recovery_message *message, int64_t now);
int64_t dtr_recovery_chief_poll(struct dtr_recovery *recovery, int64_t now);

#endif
