/* What happens when tasks are lost and return: events in, orders out.
 *
 * Purpose: one state machine a task. The chief's decides (stop, from where to go on, who takes
 * part); the others do what it says and report. They talk by messages on the control channel, so
 * the same machines serve all tasks of one process (`sim`) and one process per task. A driver
 * (a) tells of events: a task is there, is lost, is silent, has sent a message; (b) polls; (c)
 * carries messages; (d) carries out the orders of `struct dtr_recovery_actions` on the groups of
 * its own task (runtime/replicate/job.h does that for any driver).
 * Ownership: borrows map and actions. Threads: one, the driver's; it may be another than those that
 * poll groups.
 *
 * A *generation* is a stretch of the run in which no message was lost. It begins with an order of
 * the chief (DTR_RECOVERY_GO, or under relaxed rules DTR_RECOVERY_DROP for the edges with one task)
 * and has a number, larger than all before. An *incarnation* is a start of a task's process: a
 * number that grows each time it is started anew. REPLICATION.md, "Failures", has the whole story.
 */
#ifndef DTR_REPLICATE_RECOVERY_H
#define DTR_REPLICATE_RECOVERY_H

#include "runtime/error.h"
#include "runtime/replicate/map.h"

/* --deadline start=120s,step=60s,shutdown=30s; nanoseconds. */
struct dtr_deadlines {
  int64_t start;    /* until all tasks are there */
  int64_t step;     /* until a lost or silent one is back */
  int64_t shutdown; /* until all have ended */
};
struct dtr_deadlines dtr_deadlines_default(void);
/* "step=5s,start=2m": units ms, s, m, h. Errors (status USAGE) name the part that is wrong. */
bool dtr_deadlines_parse(const char *text, struct dtr_deadlines *deadlines,
                         struct dtr_error *error);

enum dtr_recovery_source {
  DTR_RECOVERY_BEGINNING,  /* first values, as the flags of the run say */
  DTR_RECOVERY_CHECKPOINT, /* the newest good one of this run; the beginning if there is none */
  DTR_RECOVERY_LIVE,       /* what the owners hold */
  DTR_RECOVERY_JOINING,    /* only this task begins: the others are under way */
  DTR_RECOVERY_SOURCES
};

/* What failures have cost so far. */
enum { DTR_RECOVERY_TASKS = 64 }; /* tasks counted one by one; those behind count as the last */
struct dtr_recovery_costs {
  int64_t stops;                       /* times that all stood still */
  int64_t steps_again;                 /* steps of the chief made again */
  int64_t refused;                     /* messages of dead generations */
  int64_t losses[DTR_RECOVERY_TASKS];  /* by task */
  int64_t returns[DTR_RECOVERY_TASKS]; /* by task */
};

/* ---- messages ---- */

enum dtr_recovery_kind {
  DTR_RECOVERY_REPORT,   /* to the chief: stands still, as stop number `round` said; `state` */
  DTR_RECOVERY_LOST,     /* to the chief: has lost `task` */
  DTR_RECOVERY_ADMITTED, /* to the chief, from the arbiter's task: `task` may join at step, round */
  DTR_RECOVERY_ENDED,    /* to the chief */
  DTR_RECOVERY_STOP,     /* from the chief: stand still and report; `task` was lost */
  DTR_RECOVERY_GO,       /* from the chief: `generation` begins at `step` from `source` */
  DTR_RECOVERY_DROP,     /* from the chief, relaxed rules: the others go on without `task` */
  DTR_RECOVERY_ADMIT,    /* from the chief to the arbiter's task: `task` is back */
  DTR_RECOVERY_JOIN,     /* from the chief: `task` takes part again from `step` on */
  DTR_RECOVERY_END,      /* from the chief: the run is over; `error` says why, if not well */
  DTR_RECOVERY_KINDS
};

/* What a task that stands still has. */
struct dtr_recovery_state {
  bool has_owners, is_live; /* live: all its owners hold whole versions ... */
  int64_t low, high;        /* ... these */
  int64_t client_step;      /* of its client: steps it has made; -1: none */
  int64_t refused;          /* messages of dead generations that it has refused */
};

struct dtr_recovery_message {
  enum dtr_recovery_kind kind;
  uint64_t incarnation; /* lost: of `task` */
  uint32_t generation;  /* of the sender's report (0: none yet), or of the order */
  uint32_t task;        /* that the message is about, or DTR_NONE */
  enum dtr_recovery_source source;
  int64_t step, round;
  struct dtr_recovery_state state;
  struct dtr_recovery_costs costs; /* so that a chief that returns knows them */
  struct dtr_error error;
  char text[512]; /* who of the sender waits for the lost task, on which edge, in which step */
};

/* As bytes for a network; unpack refuses what is no message (sizes, kinds, texts without end).
 * Returns the size, at most DTR_RECOVERY_BYTES. */
enum { DTR_RECOVERY_BYTES = 8192 };
size_t dtr_recovery_pack(const struct dtr_recovery_message *message, char *bytes);
bool dtr_recovery_unpack(const char *bytes, size_t size, struct dtr_recovery_message *message);

/* ---- orders ---- */

/* What the driver's task does. All but hold, is_held, ending and note are called while it is held,
 * as it is from the beginning until the first `go`. */
struct dtr_recovery_actions {
  void *context;
  /* From now on no group of this task is polled. */
  void (*hold)(void *context);
  bool (*is_held)(void *context); /* none is being polled any more */
  void (*release)(void *context); /* polls go on */
  void (*report)(void *context, struct dtr_recovery_state *state);
  /* Who waits for `task`; "": nobody. Returns the step. */
  int64_t (*waiting)(void *context, uint32_t task, char *text, size_t size);
  /* Every end of this task on every edge is reset to the generation, and all parties are made anew.
   * The chief's: first values are loaded, and `source` and `step` become what they were loaded
   * from. */
  bool (*go)(void *context, struct dtr_recovery_message *order, struct dtr_error *error);
  /* Relaxed rules. Edges with `task` are reset to the generation; its clients leave the clock. */
  void (*drop)(void *context, uint32_t task, uint32_t generation);
  /* The arbiter's: where the task may begin, and how many decisions were made without it. */
  void (*admit)(void *context, uint32_t task, uint32_t generation, int64_t *step, int64_t *round);
  /* Edges with the task are reset to the generation; its clients count again. */
  void (*join)(void *context, const struct dtr_recovery_message *order);
  /* The parties of this task end; `error` not set: well. */
  void (*end)(void *context, const struct dtr_error *error);
  /* The chief's: its client has all it needs from others, and what remains has been done, so that
   * nobody's loss matters any more. The error of the run, which may be unset. NULL: not yet. */
  const struct dtr_error *(*ending)(void *context, const struct dtr_recovery_costs *costs);
  /* For the user: "worker/1 was lost; ..., waiting for its return". Chief only. */
  void (*note)(void *context, const char *text);
};

/* ---- the machine ---- */

struct dtr_recovery_options {
  const struct dtr_map *map;
  uint32_t task;        /* this one */
  uint64_t incarnation; /* of this start of the task: larger than those before */
  uint32_t restarts;    /* starts of the task before this one in the run, as far as is known */
  struct dtr_deadlines deadlines;
  const struct dtr_recovery_actions *actions;
  /* Queues a message for another task, in order, never waiting. What is sent to a task that is
   * lost may vanish. */
  void *context;
  void (*send)(void *context, uint32_t task, const struct dtr_recovery_message *message);
};

struct dtr_recovery;

bool dtr_recovery_new(const struct dtr_recovery_options *options, int64_t now,
                      struct dtr_recovery **made, struct dtr_error *error);
void dtr_recovery_free(struct dtr_recovery *recovery);

/* Events. All tasks need these of the chief, and the chief of all tasks; more does no harm. The
 * control channel to `task` works: at the start, or after its return. */
void dtr_recovery_present(struct dtr_recovery *recovery, uint32_t task, uint64_t incarnation,
                          int64_t now);
/* Its process has ended, or a data connection was lost with what it carried. */
void dtr_recovery_lost(struct dtr_recovery *recovery, uint32_t task, uint64_t incarnation,
                       int64_t now);
/* Nothing was heard of it since `since` (INT64_MAX: it is heard again). Told after 2 s and as often
 * as the driver likes; lost after the `step` deadline. */
void dtr_recovery_silent(struct dtr_recovery *recovery, uint32_t task, int64_t since, int64_t now);
void dtr_recovery_hear(struct dtr_recovery *recovery, uint32_t from,
                       const struct dtr_recovery_message *message, int64_t now);

/* Does what is due; returns when to be called again at the latest. Also to be called after every
 * event, and when groups have stopped after `hold` or have ended. */
int64_t dtr_recovery_poll(struct dtr_recovery *recovery, int64_t now);
/* The run is over for this task: its process may end. */
bool dtr_recovery_is_over(const struct dtr_recovery *recovery);
/* Why, if not well; status PEER_LOST (exit status 3) when a task has not come back in time. */
const struct dtr_error *dtr_recovery_error(const struct dtr_recovery *recovery);
/* The chief's: the last loss that stopped all, and who waited for the task, on which edge, in which
 * step; "": none. */
const char *dtr_recovery_loss(const struct dtr_recovery *recovery);
const struct dtr_recovery_costs *dtr_recovery_costs(const struct dtr_recovery *recovery);
uint32_t dtr_recovery_generation(const struct dtr_recovery *recovery);
/* No group of the task is polled, until the chief says go. */
bool dtr_recovery_is_standing(const struct dtr_recovery *recovery);
/* "generation 3: waits for ps/0 to return, 12.0 s of 60 s": for SIGUSR1. */
void dtr_recovery_describe(const struct dtr_recovery *recovery, int64_t now, char *text,
                           size_t size);

#endif
