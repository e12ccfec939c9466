/* The fixed reduction tree over shards (semantics.md 2).
 *
 * Purpose: combines the contribution blocks of shards 0 .. S-1 by one binary tree, split at the
 * largest power of two below the count, so that the bits depend on S alone: not on the number of
 * threads, not on the order in which shards finish. Whoever finishes the second half of a subtree
 * merges it. Ownership: the tree owns its blocks, all allocated at the start: log2(S) + one per
 * worker. Threads: take and put by any worker; result and release by one thread while no shard
 * runs.
 */
#ifndef DTR_TREE_H
#define DTR_TREE_H

#include "dtr_abi.h"
#include "runtime/error.h"

/* The largest power of two below `count` (count >= 2): where a range of that many leaves is split.
 */
static inline int64_t dtr_tree_split(int64_t count) {
  return INT64_C(1) << (63 - __builtin_clzll((unsigned long long)(count - 1)));
}

/* left = left combined with right, tensor by tensor: sum, or maximum (NaN wins). */
void dtr_contribution_combine(const struct dtr_contribution *table, uint32_t count, char *left,
                              const char *right);

struct dtr_tree;

/* Shards [first, first + count). */
struct dtr_span {
  int64_t first, count;
};
/* The maximal subtrees of the tree over `shards` leaves that lie inside `block`, from left to
 * right: what a replica sends. Returns their number; `subtrees` may be NULL. */
uint32_t dtr_tree_subtrees(int64_t shards, struct dtr_span block, struct dtr_span *subtrees);

/* Blocks that `shards` leaves on `workers` threads need. */
int64_t dtr_tree_blocks(int64_t shards, int workers);

/* `spins`: how often a wait for a block looks before it sleeps. `table` must outlive the tree.
 * `block_bytes` is a multiple of DTR_ALIGN. */
bool dtr_tree_new(const struct dtr_contribution *table, uint32_t count, int64_t block_bytes,
                  int64_t shards, int workers, int spins, struct dtr_tree **tree,
                  struct dtr_error *error);

/* A part of the tree over `shards` leaves: either the shards of `block`, which gives one sum for
 * each maximal subtree in it; or, with `leaves`, the top of the tree above the subtrees `leaves`
 * (which cover all shards, in order), where put takes the number of a leaf. */
struct dtr_tree_part {
  int64_t shards;
  struct dtr_span block;
  const struct dtr_span *leaves; /* NULL: the shards themselves; used by the call only */
  uint32_t leaf_count;
};
bool dtr_tree_new_part(const struct dtr_contribution *table, uint32_t count, int64_t block_bytes,
                       const struct dtr_tree_part *part, int workers, int spins,
                       struct dtr_tree **tree, struct dtr_error *error);
/* Blocks that it takes. */
int64_t dtr_tree_part_blocks(const struct dtr_tree_part *part, int workers);
void dtr_tree_free(struct dtr_tree *tree);

/* A free block. Take it before deciding which shard to run, and run shards in order: then a wait
 * here always ends. */
char *dtr_tree_take(struct dtr_tree *tree);
/* Gives back a block that got no shard. */
void dtr_tree_return(struct dtr_tree *tree, char *block);
/* Hands in the block of a finished shard and merges what is complete. */
void dtr_tree_put(struct dtr_tree *tree, int64_t shard, char *block);
/* A leaf that has no sum in this round: what is on the other side counts alone. */
void dtr_tree_skip(struct dtr_tree *tree, int64_t shard);
/* After all shards: the combined block, valid until it is given back by dtr_tree_return. */
char *dtr_tree_result(struct dtr_tree *tree);
/* The same for subtree `index` of a part. */
char *dtr_tree_partial(struct dtr_tree *tree, uint32_t index);
/* Gives back what an unfinished round has left, whatever is still in the tree. */
void dtr_tree_reset(struct dtr_tree *tree);

/* ---- weighted means over a stream of unknown length, for evaluation ---- */

enum { DTR_STREAM_LEVELS = 48 };

/* Sums of value * weight over chunks 0, 1, 2, ... in the tree that `dtr_tree_split` gives for their
 * final number; values in double. One thread. */
struct dtr_stream {
  uint32_t width; /* values of a chunk */
  int64_t chunks; /* so far */
  double weight;  /* sum of the weights so far; exact for counts */
  double *
      levels; /* [DTR_STREAM_LEVELS][width]; level i holds 2^i chunks if bit i of `chunks` is set */
};
/* `levels` has DTR_STREAM_LEVELS * width doubles of the caller. */
void dtr_stream_begin(struct dtr_stream *stream, uint32_t width, double *levels);
void dtr_stream_add(struct dtr_stream *stream, const float *values, int64_t stride, double weight);
/* Writes `width` means. Needs at least one chunk of positive weight; ends the stream. */
void dtr_stream_means(struct dtr_stream *stream, double *means);

#endif
