/* The batches of training, one after another, gathered ahead of time by a thread.
 *
 * Step t (from 0) is epoch t / n, with n = examples / batch steps an epoch; its shard s has the
 * positions [(t % n) * batch + s * batch / shards, + batch / shards) of that epoch. The remainder
 * of an epoch is dropped. A pure function of t: resuming needs no state. Evaluation needs no feed:
 * it calls dtr_data_view with DTR_NATURAL_ORDER from its own threads.
 *
 * Ownership: a feed borrows the data set. All memory is taken in dtr_feed_open. Threads: one thread
 * calls dtr_feed_next; the batch it gives is read by any. Where gathering costs less than handing
 * over (small or contiguous batches), or when asked for, there is no thread.
 */
#ifndef DTR_DATA_FEED_H
#define DTR_DATA_FEED_H

#include "runtime/data/data.h"

struct dtr_feed;

struct dtr_feed_options {
  int64_t batch, shards; /* shards divides batch */
  int64_t first_shard;   /* the ones that are gathered */
  int64_t shard_count;   /* 0: all */
  int64_t first_step;    /* step of the first dtr_feed_next */
  int64_t end_step;      /* no step from here on is gathered; 0 = no end */
  bool synchronous;      /* never a thread */
  const char *where;     /* source span for errors, or NULL */
};

struct dtr_batch {
  int64_t step, epoch;
  int64_t rows; /* of one shard */
  int64_t first_shard;
  uint32_t input_count;
  char **feeds; /* [shard][input]: see dtr_batch_feeds */
};
/* What a frame of `shard` takes as its feeds. */
static inline char *const *dtr_batch_feeds(const struct dtr_batch *batch, int64_t shard) {
  return batch->feeds + (shard - batch->first_shard) * batch->input_count;
}

/* Errors: the batch is larger than the data set; no memory; no thread. */
bool dtr_feed_open(const struct dtr_data *data, const struct dtr_feed_options *options,
                   struct dtr_feed **feed, struct dtr_error *error);
/* The next step's batch; the one before it is given back by this call. NULL at the end step. */
const struct dtr_batch *dtr_feed_next(struct dtr_feed *feed);
bool dtr_feed_is_threaded(const struct dtr_feed *feed);
void dtr_feed_close(struct dtr_feed *feed);

int64_t dtr_feed_steps_per_epoch(const struct dtr_data *data, int64_t batch);
/* The example that step, shard and row had, for messages. */
int64_t dtr_feed_example(const struct dtr_data *data, int64_t batch, int64_t shards, int64_t step,
                         int64_t shard, int64_t row);

#endif
