#include "runtime/team.h"

#include "runtime/word.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

/* About 20 microseconds: longer than the gap between two kernels of a step, shorter than what a
 * wake-up costs twice. */
enum { SPINS = 2000, CACHE_LINE = 64 };

/* One thread's mailbox, on cache lines of its own. */
struct slot {
  struct dtr_word posted; /* jobs posted so far */
  /* The last job that was begun by the thread or taken back by the poster: whoever moves this to
   * the job's number has it. */
  _Atomic uint32_t claimed;
  uint32_t expected; /* the poster's: jobs not taken back */
  dtr_pool_job *job; /* NULL: leave */
  void *context;
  struct dtr_pool *pool;
  int thread;
  pthread_t handle;
  _Alignas(CACHE_LINE) struct dtr_word done; /* jobs done so far */
};

struct dtr_pool {
  int threads, started, spins;
  struct slot *slots;
};

static bool claim(struct slot *slot, uint32_t number) {
  uint32_t before = number - 1;
  return atomic_compare_exchange_strong_explicit(&slot->claimed, &before, number,
                                                 memory_order_acq_rel, memory_order_relaxed);
}

static void *work(void *argument) {
  struct slot *slot = argument;
  uint32_t seen = 0;
  for (;;) {
    seen = dtr_word_wait(&slot->posted, seen, slot->pool->spins);
    if (!claim(slot, seen))
      continue;
    if (!slot->job)
      return NULL;
    slot->job(slot->context, slot->thread);
    dtr_word_advance(&slot->done);
  }
}

/* Signals are for the main thread. */
static int start_thread(struct slot *slot) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  int status = pthread_create(&slot->handle, NULL, work, slot);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  return status;
}

bool dtr_pool_new(int threads, struct dtr_pool **pool, struct dtr_error *error) {
  struct dtr_pool *made = calloc(1, sizeof *made);
  size_t bytes = (size_t)threads * sizeof(struct slot);
  struct slot *slots = aligned_alloc(CACHE_LINE, bytes);
  if (!made || !slots) {
    free(made);
    free(slots);
    return dtr_error_memory(error, (int64_t)bytes, "the threads");
  }
  memset(slots, 0, bytes);
  long processors = sysconf(_SC_NPROCESSORS_ONLN);
  *made = (struct dtr_pool){.threads = threads, .started = 1, .slots = slots};
  made->spins = threads <= processors ? SPINS : 0;
  for (; made->started < threads; made->started++) {
    struct slot *slot = &slots[made->started];
    slot->pool = made;
    slot->thread = made->started;
    int status = start_thread(slot);
    if (status != 0) {
      dtr_error_system(error, DTR_STATUS_MEMORY, status, "thread %d of %d cannot be started",
                       made->started + 1, threads);
      dtr_error_hint(error, "use a smaller --threads");
      dtr_pool_free(made);
      return false;
    }
  }
  *pool = made;
  return true;
}

void dtr_pool_free(struct dtr_pool *pool) {
  if (!pool)
    return;
  for (int t = 1; t < pool->started; t++) {
    dtr_pool_post(pool, t, NULL, NULL);
    pthread_join(pool->slots[t].handle, NULL);
  }
  free(pool->slots);
  free(pool);
}

int dtr_pool_threads(const struct dtr_pool *pool) {
  return pool->threads;
}

int dtr_pool_spins(const struct dtr_pool *pool) {
  return pool->spins;
}

void dtr_pool_post(struct dtr_pool *pool, int thread, dtr_pool_job *job, void *context) {
  struct slot *slot = &pool->slots[thread];
  slot->job = job;
  slot->context = context;
  slot->expected++;
  dtr_word_advance(&slot->posted);
}

void dtr_pool_wait(struct dtr_pool *pool, int thread) {
  struct slot *slot = &pool->slots[thread];
  uint32_t have;
  while ((have = dtr_word_get(&slot->done)) != slot->expected)
    dtr_word_wait(&slot->done, have, pool->spins);
}

void dtr_pool_settle(struct dtr_pool *pool, int thread) {
  struct slot *slot = &pool->slots[thread];
  if (claim(slot, dtr_word_get(&slot->posted)))
    slot->expected--;
  else
    dtr_pool_wait(pool, thread);
}

void dtr_pool_all(struct dtr_pool *pool, dtr_pool_job *job, void *context) {
  for (int t = 1; t < pool->threads; t++)
    dtr_pool_post(pool, t, job, context);
  job(context, 0);
  for (int t = 1; t < pool->threads; t++)
    dtr_pool_wait(pool, t);
}

void dtr_pool_share(struct dtr_pool *pool, dtr_pool_job *job, void *context) {
  for (int t = 1; t < pool->threads; t++)
    dtr_pool_post(pool, t, job, context);
  job(context, 0);
  for (int t = 1; t < pool->threads; t++)
    dtr_pool_settle(pool, t);
}

/* ---- tiles ---- */

struct deal {
  dtr_tile_job *job;
  void *context;
  int64_t tiles, grain;
  _Atomic int64_t next;
};

static void take_tiles(void *context, int thread) {
  struct deal *deal = context;
  for (;;) {
    int64_t begin = atomic_fetch_add_explicit(&deal->next, deal->grain, memory_order_relaxed);
    if (begin >= deal->tiles)
      return;
    int64_t end = begin + deal->grain < deal->tiles ? begin + deal->grain : deal->tiles;
    deal->job(deal->context, thread, begin, end);
  }
}

void dtr_team_tiles(struct dtr_team *team, int64_t tiles, dtr_tile_job *job, void *context) {
  if (tiles <= 1 || team->count == 1) {
    job(context, team->first, 0, tiles);
    return;
  }
  int workers = tiles < team->count ? (int)tiles : team->count;
  /* Four shares a thread: uneven progress evens out, and counting stays cheap. */
  int64_t grain = tiles / ((int64_t)workers * 4);
  struct deal deal = {
      .job = job, .context = context, .tiles = tiles, .grain = grain < 1 ? 1 : grain};
  for (int i = 1; i < workers; i++)
    dtr_pool_post(team->pool, team->first + i, take_tiles, &deal);
  take_tiles(&deal, team->first);
  for (int i = 1; i < workers; i++)
    dtr_pool_settle(team->pool, team->first + i);
}
