/* Inside of a client; for the files client*.c only. Threads and ownership: see client.h. */
#ifndef DTR_REPLICATE_CLIENT_PARTS_H
#define DTR_REPLICATE_CLIENT_PARTS_H

#include "runtime/replicate/client.h"
#include "runtime/replicate/replica.h"
#include "runtime/task_parts.h"

enum dtr_client_state {
  DTR_CLIENT_BEGIN,
  DTR_CLIENT_NEXT, /* what is due */
  DTR_CLIENT_ASK,  /* relaxed: the arbiter, for the next step */
  DTR_CLIENT_GRANT,
  DTR_CLIENT_LEAVE, /* relaxed: no more steps */
  DTR_CLIENT_JOIN,  /* the chief: for the others to end */
  DTR_CLIENT_ORDER,
  DTR_CLIENT_FETCH,
  DTR_CLIENT_FORWARD, /* to the chief; the chief: from the others */
  DTR_CLIENT_EVALUATE,
  DTR_CLIENT_GATHER,
  DTR_CLIENT_END, /* the chief tells everybody */
  DTR_CLIENT_WAIT /* for the end */
};

/* The chief's part. */
struct dtr_chief {
  uint32_t next; /* owner or party that is told next */
  bool is_loaded;
  struct dtr_command *commands; /* [owner] */
  struct dtr_command begin;     /* to other clients */
  char **scatter;               /* [owner] packed */
  bool *have;                   /* [owner, client or replica] of the current collection */
  bool *has_ended, *is_gone;    /* [client] relaxed */
  uint32_t missing;
  int64_t gathered_step; /* of task->variables */
  bool is_joined;        /* relaxed: all have ended */
  int64_t *skipped;      /* [client] relaxed: steps made without it */
  struct dtr_command stats;
  bool is_saving;                 /* a checkpoint, not the last values */
  struct dtr_contribution *table; /* loss and metrics as a block */
  struct dtr_tree *tree;
  /* Evaluation. */
  int64_t wave;
  float *values;
  struct dtr_stream stream;
  double *levels, *means;
};

struct dtr_client {
  struct dtr_party party;
  uint32_t index;
  const struct dtr_client_map *map;
  struct dtr_flags flags;
  struct dtr_task *task;
  enum dtr_client_state state;
  struct dtr_chief *chief; /* NULL: it is not */

  struct dtr_order *orders; /* [own replica] */
  char **feeds;             /* [own replica] packed rows; NULL: local */
  char **views;             /* [input] */
  char *scratch;            /* rows of one chunk that had to be gathered */
  bool *have;               /* [own replica] fetched */
  uint32_t next, missing;
  int64_t own_leaves;
  char *fetched;   /* leaf by leaf */
  int64_t skipped; /* relaxed: steps made without it */
  bool has_left;
  bool is_again;     /* the run goes on: it was begun in another generation */
  int64_t join_step; /* where it begins, if the chief does not say; else DTR_NO_STEP */
  bool is_fresh_due; /* async: owners publish once more, for the last evaluation */

  int64_t whole, chunks, waves, wave_size; /* of an evaluation */
  int64_t *ordered;                        /* [own replica] waves ordered so far */
};

static inline uint32_t dtr_client_replica(const struct dtr_client *client, uint32_t own) {
  return client->map->first_replica + own;
}

/* Each does what it can and returns whether that was anything. */
bool dtr_client_begin(struct dtr_client *client);
bool dtr_client_order(struct dtr_client *client);
bool dtr_client_evaluate(struct dtr_client *client);
void dtr_client_start_step(struct dtr_client *client);
/* The replicas that evaluate: all; with relaxed rules, whose versions differ, the chief's. */
static inline uint32_t dtr_client_evaluators(const struct dtr_map *map) {
  return map->rule == DTR_RULE_SYNC ? map->replica_count : map->clients[0].replica_count;
}
/* Relaxed rules. */
bool dtr_client_ask(struct dtr_client *client);
bool dtr_client_grant(struct dtr_client *client);
bool dtr_client_leave(struct dtr_client *client);
bool dtr_client_join(struct dtr_client *client);
/* The chief's. */
bool dtr_chief_new(struct dtr_client *client, struct dtr_error *error);
void dtr_chief_free(struct dtr_client *client);
bool dtr_chief_begin(struct dtr_client *client);
/* First values, and what everybody is told of them. `order` NULL: as the flags say. */
bool dtr_chief_load(struct dtr_client *client, struct dtr_recovery_message *order);
void dtr_chief_put(struct dtr_client *client, uint32_t first_leaf, uint32_t count,
                   const char *bytes);
bool dtr_chief_results(struct dtr_client *client);
void dtr_chief_begin_evaluation(struct dtr_client *client);
bool dtr_chief_chunks(struct dtr_client *client); /* false: nothing new */
bool dtr_chief_command(struct dtr_client *client, uint32_t owner, enum dtr_command_kind kind);
void dtr_chief_begin_gather(struct dtr_client *client);
bool dtr_chief_gather(struct dtr_client *client);
bool dtr_chief_end(struct dtr_client *client);

/* After a step, an evaluation or a checkpoint: the next state. */
void dtr_client_go_on(struct dtr_client *client);
/* After the beginning: there may be nothing to train. */
void dtr_client_start_loop(struct dtr_client *client);
/* The task's error is set: the run ends. Always returns true. */
bool dtr_client_fail(struct dtr_client *client);

#endif
