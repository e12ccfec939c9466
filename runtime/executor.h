/* Runs a program's functions on the threads and memory of one device.
 *
 * Purpose: owns the device's memory (variables, one arena per thread, contribution blocks), the
 * threads and the library's handles, all made at the start; afterwards it allocates nothing. Whole
 * shards are dealt to threads first; threads that are left over join teams that share the tiles of
 * a kernel. Ownership: borrows the program, the environment and the trace. Threads: called by the
 * thread that made it; the frames of its workers are its own business.
 */
#ifndef DTR_EXECUTOR_H
#define DTR_EXECUTOR_H

#include "dtr_abi.h"
#include "dtr_library.h"
#include "runtime/choice.h"
#include "runtime/data/data.h"
#include "runtime/data/feed.h"
#include "runtime/env.h"
#include "runtime/error.h"
#include "runtime/ledger.h"
#include "runtime/team.h"
#include "runtime/trace.h"
#include "runtime/tree.h"
#include "runtime/watch.h"

/* One thread. As leader of a team it runs shards in `frame`; as helper it takes tiles. */
struct dtr_worker {
  _Alignas(DTR_ALIGN) struct dtr_frame frame;
  struct dtr_scalars scalars;
  struct dtr_team team;
  struct dtr_library *library;
  char *arena;
  char *sorting;               /* scratch for what a shard has gathered of sparse tables */
  struct dtr_fault tile_fault; /* of tiles taken as a helper */
  char why[256];               /* why it could not start; "" = it did */
};

struct dtr_update; /* runtime/update.h */

struct dtr_executor_options {
  const struct dtr_program *program;
  const struct dtr_env *env;
  struct dtr_trace *trace;   /* NULL: off */
  int threads;               /* 1 .. DTR_MAX_THREADS */
  bool evaluate_only;        /* no blocks for training */
  bool all_variables;        /* slots too, where the program's owners would have them */
  bool threads_only;         /* of an owner without a replica: no memory, no library */
  struct dtr_span shards;    /* of the device's replica; count 0: all */
  int trace_first;           /* ring of its thread 0 */
  struct dtr_ledger *ledger; /* NULL: nothing is counted */
  bool always_share;         /* for tests: never alone because it is faster */
};

struct dtr_executor {
  const struct dtr_program *program;
  const struct dtr_env *env;
  struct dtr_trace *trace;
  struct dtr_pool *pool;
  struct dtr_tree *tree; /* NULL: evaluates only */
  int threads;
  int leaders; /* teams that run shards */
  struct dtr_span shards;
  int trace_first;
  bool always_share, threads_only;
  struct dtr_choice share_shards, share_update;
  bool update_together;
  int64_t update_began;
  struct dtr_worker *workers;
  int64_t arena_bytes, sort_bytes;
  struct dtr_ledger *ledger;
  char *variables;
  /* Of a program on one device with sparse parameters, else NULL. */
  struct dtr_update *update;
  struct dtr_scalars update_scalars;
  char *update_arena;
};

/* Bytes that dtr_executor_new will take, but for the library's own. */
int64_t dtr_executor_bytes(const struct dtr_executor_options *options);

/* Refuses, with both numbers, when less memory is available than needed. */
bool dtr_executor_new(const struct dtr_executor_options *options, struct dtr_executor **executor,
                      struct dtr_error *error);
void dtr_executor_free(struct dtr_executor *executor);

/* Runs the forward and backward pass of all shards of a batch and reduces them. `scalars`: shard is
 * ignored. Gives the reduced contribution, which dtr_executor_release gives back; or NULL if a
 * check failed in any shard (examine them to find which). */
char *dtr_executor_shards(struct dtr_executor *executor, const struct dtr_batch *batch,
                          const struct dtr_scalars *scalars);
void dtr_executor_release(struct dtr_executor *executor, char *contribution);
/* The same for a replica's block of shards: false if a check failed in one of them. Each partial
 * sum is then fetched once by its number, and given back by dtr_executor_release. */
bool dtr_executor_block(struct dtr_executor *executor, const struct dtr_batch *batch,
                        const struct dtr_scalars *scalars);
char *dtr_executor_partial(struct dtr_executor *executor, uint32_t index);

/* Applies the optimizer to a reduced contribution. False with `fault` set if a kernel failed. */
bool dtr_executor_update(struct dtr_executor *executor, char *contribution,
                         const struct dtr_scalars *scalars, struct dtr_fault *fault);

/* A frame for kernels of the update on all threads, or on one where that is faster; ends with
 * dtr_executor_update_end, which gives the fault. `arena`: of the update. */
struct dtr_frame *dtr_executor_update_begin(struct dtr_executor *executor, char *arena,
                                            const struct dtr_scalars *scalars);
bool dtr_executor_update_end(struct dtr_executor *executor, struct dtr_fault *fault);
/* Tiles [begin, end) of a kernel. */
void dtr_executor_tiles(struct dtr_frame *frame, uint32_t kernel, dtr_kernel_fn *fn,
                        char *const *buffers, int64_t begin, int64_t end);

/* Runs one call of `part` on `worker`'s thread, which must be the caller's. `contribution`: what
 * the part writes. False with `fault` set if a check failed. */
bool dtr_executor_call(struct dtr_executor *executor, int worker, const struct dtr_part *part,
                       char *const *feeds, char *contribution, const struct dtr_scalars *scalars,
                       struct dtr_fault *fault);

/* Runs a part again on thread 0 with a watch in its frame. `contribution`: NULL = a block of the
 * tree (training; no shard may be running). Returns whether anything was found. */
bool dtr_executor_examine(struct dtr_executor *executor, const struct dtr_part *part,
                          char *const *feeds, char *contribution, const struct dtr_scalars *scalars,
                          struct dtr_watch *watch, struct dtr_fault *fault);

#endif
