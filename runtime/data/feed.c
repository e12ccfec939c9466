#include "runtime/data/feed.h"

#include "runtime/data/values.h"

#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* Handing a batch over costs some microseconds (two threads, one lock); a batch that is gathered in
 * less is gathered by its user. Costs measured: a shuffled position, and bytes copied per
 * nanosecond from memory. */
enum { DEPTH = 4, HANDOVER_NANOSECONDS = 4000, POSITION_NANOSECONDS = 100, BYTES_A_NANOSECOND = 4 };

struct dtr_feed {
  const struct dtr_data *data;
  struct dtr_feed_options options;
  int64_t steps_per_epoch, rows, shard_bytes;
  int32_t depth; /* slots; 1 without a thread */
  struct dtr_batch *batches;
  char **feeds;
  char *scratch;
  int64_t next; /* batches given out so far, this one included */

  /* Batches gathered and batches given back; batch b is in slot b % depth. Only the producer moves
   * the first, only the consumer the second. */
  atomic_int_least64_t produced, consumed;
  atomic_bool producer_waits, consumer_waits, stop;
  bool threaded;
  pthread_t thread;
  pthread_mutex_t lock;
  pthread_cond_t room, arrival;
};

int64_t dtr_feed_steps_per_epoch(const struct dtr_data *data, int64_t batch) {
  return dtr_data_count(data) / batch;
}

int64_t dtr_feed_example(const struct dtr_data *data, int64_t batch, int64_t shards, int64_t step,
                         int64_t shard, int64_t row) {
  int64_t steps = dtr_feed_steps_per_epoch(data, batch);
  return dtr_data_example(data, step / steps,
                          step % steps * batch + shard * (batch / shards) + row);
}

static void batch_gather(struct dtr_feed *feed, int64_t number) {
  int64_t slot = number % feed->depth, shards = feed->options.shard_count;
  struct dtr_batch *batch = &feed->batches[slot];
  batch->step = feed->options.first_step + number;
  batch->epoch = batch->step / feed->steps_per_epoch;
  int64_t first = batch->step % feed->steps_per_epoch * feed->options.batch +
                  feed->options.first_shard * feed->rows;
  for (int64_t shard = 0; shard < shards; shard++)
    dtr_data_view(feed->data, batch->epoch, first + shard * feed->rows, feed->rows,
                  feed->scratch + (slot * shards + shard) * feed->shard_bytes,
                  batch->feeds + shard * batch->input_count);
}

static bool is_end(const struct dtr_feed *feed, int64_t number) {
  return feed->options.end_step && feed->options.first_step + number >= feed->options.end_step;
}

/* ---- the thread ---- */

/* Waits until half of the ring is free: one wake-up for several batches. */
static void room_wait(struct dtr_feed *feed, int64_t produced) {
  pthread_mutex_lock(&feed->lock);
  atomic_store(&feed->producer_waits, true);
  while (!atomic_load(&feed->stop) && produced - atomic_load(&feed->consumed) > feed->depth / 2)
    pthread_cond_wait(&feed->room, &feed->lock);
  atomic_store(&feed->producer_waits, false);
  pthread_mutex_unlock(&feed->lock);
}

static void *feed_main(void *context) {
  struct dtr_feed *feed = context;
  for (int64_t number = 0; !is_end(feed, number); number++) {
    if (number - atomic_load(&feed->consumed) == feed->depth)
      room_wait(feed, number);
    if (atomic_load(&feed->stop))
      break;
    batch_gather(feed, number);
    atomic_store(&feed->produced, number + 1);
    if (atomic_load(&feed->consumer_waits)) {
      pthread_mutex_lock(&feed->lock);
      pthread_cond_signal(&feed->arrival);
      pthread_mutex_unlock(&feed->lock);
    }
  }
  return NULL;
}

static void batch_give_back(struct dtr_feed *feed) {
  int64_t consumed = atomic_fetch_add(&feed->consumed, 1) + 1;
  if (atomic_load(&feed->producer_waits) &&
      atomic_load(&feed->produced) - consumed <= feed->depth / 2) {
    pthread_mutex_lock(&feed->lock);
    pthread_cond_signal(&feed->room);
    pthread_mutex_unlock(&feed->lock);
  }
}

static void arrival_wait(struct dtr_feed *feed, int64_t number) {
  pthread_mutex_lock(&feed->lock);
  atomic_store(&feed->consumer_waits, true);
  while (atomic_load(&feed->produced) <= number)
    pthread_cond_wait(&feed->arrival, &feed->lock);
  atomic_store(&feed->consumer_waits, false);
  pthread_mutex_unlock(&feed->lock);
}

const struct dtr_batch *dtr_feed_next(struct dtr_feed *feed) {
  int64_t number = feed->next;
  if (is_end(feed, number))
    return NULL;
  if (feed->threaded) {
    if (number > 0)
      batch_give_back(feed);
    if (atomic_load(&feed->produced) <= number)
      arrival_wait(feed, number);
  } else {
    batch_gather(feed, number);
  }
  feed->next++;
  return &feed->batches[number % feed->depth];
}

/* ---- opening ---- */

static bool options_check(const struct dtr_data *data, const struct dtr_feed_options *options,
                          struct dtr_error *error) {
  if (options->batch < 1 || options->shards < 1 || options->batch % options->shards != 0) {
    dtr_error_set(error, DTR_STATUS_BUG, "a batch of %" PRId64 " in %" PRId64 " shards",
                  options->batch, options->shards);
    return dtr_error_where(error, options->where);
  }
  if (options->batch <= dtr_data_count(data))
    return true;
  dtr_error_set(error, DTR_STATUS_DATA,
                "the batch is %" PRId64 ", but data %s has only %" PRId64 " examples",
                options->batch, dtr_data_name(data), dtr_data_count(data));
  dtr_error_hint(error, "a batch is at most the whole data set");
  return dtr_error_where(error, options->where);
}

static bool wants_thread(const struct dtr_feed *feed) {
  if (feed->options.synchronous)
    return false;
  int64_t bytes = feed->shard_bytes * feed->options.shard_count;
  int64_t cost = 0;
  if (!dtr_data_contiguous(feed->data, 0))
    cost =
        feed->options.shard_count * feed->rows * POSITION_NANOSECONDS + bytes / BYTES_A_NANOSECOND;
  return cost > HANDOVER_NANOSECONDS;
}

static bool memory_take(struct dtr_feed *feed, uint32_t input_count, struct dtr_error *error) {
  int64_t shards = feed->options.shard_count, bytes;
  if (__builtin_mul_overflow(feed->shard_bytes, shards * feed->depth, &bytes))
    return dtr_error_memory(error, INT64_MAX, "batches");
  feed->batches = calloc((size_t)feed->depth, sizeof *feed->batches);
  feed->feeds = calloc((size_t)(feed->depth * shards) * input_count + 1, sizeof *feed->feeds);
  feed->scratch = dtr_aligned_alloc(bytes);
  if (!feed->batches || !feed->feeds || !feed->scratch)
    return dtr_error_memory(error, bytes, "batches");
  for (int32_t slot = 0; slot < feed->depth; slot++) {
    feed->batches[slot].rows = feed->rows;
    feed->batches[slot].first_shard = feed->options.first_shard;
    feed->batches[slot].input_count = input_count;
    feed->batches[slot].feeds = feed->feeds + slot * shards * input_count;
  }
  return true;
}

static bool thread_start(struct dtr_feed *feed, struct dtr_error *error) {
  pthread_mutex_init(&feed->lock, NULL);
  pthread_cond_init(&feed->room, NULL);
  pthread_cond_init(&feed->arrival, NULL);
  /* Signals are the main thread's business. */
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  int result = pthread_create(&feed->thread, NULL, feed_main, feed);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  if (result != 0) {
    dtr_error_system(error, DTR_STATUS_MEMORY, result, "cannot start the data thread");
    return dtr_error_hint(error, "raise the limits of memory and of threads (ulimit -v, -u)");
  }
  feed->threaded = true;
  return true;
}

bool dtr_feed_open(const struct dtr_data *data, const struct dtr_feed_options *options,
                   struct dtr_feed **feed, struct dtr_error *error) {
  if (!options_check(data, options, error))
    return false;
  struct dtr_feed *opened = calloc(1, sizeof *opened);
  if (!opened)
    return dtr_error_memory(error, sizeof *opened, "batches");
  opened->data = data;
  opened->options = *options;
  if (options->shard_count == 0)
    opened->options.shard_count = options->shards;
  opened->steps_per_epoch = dtr_feed_steps_per_epoch(data, options->batch);
  opened->rows = options->batch / options->shards;
  opened->shard_bytes = dtr_data_scratch(data, opened->rows);
  bool threaded = wants_thread(opened);
  opened->depth = threaded ? DEPTH : 1;
  if (memory_take(opened, dtr_data_input_count(data), error) &&
      (!threaded || thread_start(opened, error))) {
    *feed = opened;
    return true;
  }
  dtr_feed_close(opened);
  return false;
}

bool dtr_feed_is_threaded(const struct dtr_feed *feed) {
  return feed->threaded;
}

void dtr_feed_close(struct dtr_feed *feed) {
  if (!feed)
    return;
  if (feed->threaded) {
    pthread_mutex_lock(&feed->lock);
    atomic_store(&feed->stop, true);
    pthread_cond_signal(&feed->room);
    pthread_mutex_unlock(&feed->lock);
    pthread_join(feed->thread, NULL);
    pthread_mutex_destroy(&feed->lock);
    pthread_cond_destroy(&feed->room);
    pthread_cond_destroy(&feed->arrival);
  }
  free(feed->scratch);
  free(feed->feeds);
  free(feed->batches);
  free(feed);
}
