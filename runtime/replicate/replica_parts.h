/* Inside of a replica; for the files replica*.c only. Threads and ownership: see replica.h. */
#ifndef DTR_REPLICATE_REPLICA_PARTS_H
#define DTR_REPLICATE_REPLICA_PARTS_H

#include "runtime/replicate/replica.h"

enum dtr_replica_state {
  DTR_REPLICA_IDLE,
  DTR_REPLICA_VERSION, /* waits for the owners */
  DTR_REPLICA_ROWS,    /* waits for the client's rows */
  DTR_REPLICA_COMPUTE,
  DTR_REPLICA_SEND,
  DTR_REPLICA_CHUNKS,
  DTR_REPLICA_FAULT
};

struct dtr_replica {
  struct dtr_party party;
  uint32_t index;
  const struct dtr_replica_map *map;
  struct dtr_executor *executor;
  const struct dtr_data *data;
  bool is_local;
  enum dtr_replica_state state;

  struct dtr_order order;
  int64_t *versions; /* [owner] of what the copy holds; -1: nothing yet */
  int64_t *answers;  /* [owner] async: versions received, of `expected` */
  int64_t expected;
  char **push;         /* [owner] packed */
  int64_t *push_bytes; /* [owner] of the message of this step */
  char *fetch;
  uint32_t next; /* send: the next owner; then the client */

  /* Rows that came as a message: [shard of the block][input]. */
  char *rows;
  char **feeds;
  struct dtr_batch batch;

  /* Evaluation. */
  int64_t wave, chunk_count;
  _Atomic int64_t dealt;
  _Atomic int64_t failed; /* lowest chunk of the wave with a failed check */
  char *scratch;          /* [thread] rows that had to be gathered */
  int64_t scratch_bytes;
  char **views; /* [thread][input] */
  char *values; /* [chunk of the wave][value], DTR_ALIGN bytes apart */
  float *packed;
  struct dtr_fault_report report;
};

/* One wave: the chunks into `packed`. False: a check failed, and the report says which. */
bool dtr_replica_run_wave(struct dtr_replica *replica);
/* Fill in the report: a check failed in a shard; a partial loss is not finite. */
void dtr_replica_explain_fault(struct dtr_replica *replica);
void dtr_replica_explain_loss(struct dtr_replica *replica, double loss);

#endif
