/* Threads: a pool of them, and teams that share the tiles of one kernel.
 *
 * Purpose: runs functions on the threads of one task. A job is posted to a thread's own slot, so
 * whole shards (one thread posts to the leaders of all teams) and tiles (a leader posts to its
 * helpers) use the same two calls. Ownership: a pool owns its threads; a team is a view of a range
 * of them. Threads: thread 0 is the one that made the pool. A thread is posted to by one thread at
 * a time, and only while it is idle. A pool of one thread starts none and takes no locks.
 */
#ifndef DTR_TEAM_H
#define DTR_TEAM_H

#include "runtime/error.h"

#include <stdatomic.h>
#include <stdint.h>

struct dtr_pool;
typedef void dtr_pool_job(void *context, int thread);

enum { DTR_MAX_THREADS = 1024 };

/* `threads`: 1 .. DTR_MAX_THREADS, the calling one included. */
bool dtr_pool_new(int threads, struct dtr_pool **pool, struct dtr_error *error);
void dtr_pool_free(struct dtr_pool *pool);
int dtr_pool_threads(const struct dtr_pool *pool);
/* How often a wait of this pool looks before it sleeps: 0 if threads outnumber processors. */
int dtr_pool_spins(const struct dtr_pool *pool);

/* Runs `job` on an idle thread other than the caller's; each post is followed by one wait or
 * settle. */
void dtr_pool_post(struct dtr_pool *pool, int thread, dtr_pool_job *job, void *context);
void dtr_pool_wait(struct dtr_pool *pool, int thread);
/* For jobs that take work until none is left, when none is left: a job that its thread has not
 * begun is taken back, so that nobody waits for a thread that the system has no processor for. */
void dtr_pool_settle(struct dtr_pool *pool, int thread);

/* Called by thread 0. All: runs `job` once on each thread. Share: on those that come in time. */
void dtr_pool_all(struct dtr_pool *pool, dtr_pool_job *job, void *context);
void dtr_pool_share(struct dtr_pool *pool, dtr_pool_job *job, void *context);

/* Threads first .. first+count-1; `first` leads. */
struct dtr_team {
  struct dtr_pool *pool;
  int first, count;
  void *owner; /* of whoever made the team */
};

/* Tiles [begin, end) on `thread`. */
typedef void dtr_tile_job(void *context, int thread, int64_t begin, int64_t end);

/* Deals out tiles 0 .. tiles-1, each once, to the leader (the caller) and its helpers. */
void dtr_team_tiles(struct dtr_team *team, int64_t tiles, dtr_tile_job *job, void *context);

#endif
