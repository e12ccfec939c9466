#include "runtime/tree.h"

#include "runtime/word.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- combining two blocks ---- */

#define DEFINE_SUM(name, type)                                                          \
  static void name(type *restrict left, const type *restrict right, int64_t elements) { \
    for (int64_t i = 0; i < elements; i++)                                              \
      left[i] += right[i];                                                              \
  }
DEFINE_SUM(sum_f32, float)
DEFINE_SUM(sum_f64, double)
/* Unsigned: overflow wraps, as it does in the kernels. */
DEFINE_SUM(sum_i32, uint32_t)
DEFINE_SUM(sum_i64, uint64_t)

#define DEFINE_MAX(name, type, keep)                                                    \
  static void name(type *restrict left, const type *restrict right, int64_t elements) { \
    for (int64_t i = 0; i < elements; i++)                                              \
      left[i] = (keep) ? left[i] : right[i];                                            \
  }
DEFINE_MAX(max_f32, float, left[i] > right[i] || isnan(left[i]))
DEFINE_MAX(max_f64, double, left[i] > right[i] || isnan(left[i]))
DEFINE_MAX(max_i32, int32_t, left[i] > right[i])
DEFINE_MAX(max_i64, int64_t, left[i] > right[i])

void dtr_contribution_combine(const struct dtr_contribution *table, uint32_t count, char *left,
                              const char *right) {
  for (uint32_t i = 0; i < count; i++) {
    const struct dtr_contribution *tensor = &table[i];
    void *into = left + tensor->offset;
    const void *from = right + tensor->offset;
    switch (tensor->dtype) {
    case DTR_F32:
      (tensor->maximum ? max_f32 : sum_f32)(into, from, tensor->elements);
      break;
    case DTR_F64:
      (tensor->maximum ? max_f64 : sum_f64)(into, from, tensor->elements);
      break;
    case DTR_I32:
      if (tensor->maximum)
        max_i32(into, from, tensor->elements);
      else
        sum_i32(into, from, tensor->elements);
      break;
    case DTR_I64:
      if (tensor->maximum)
        max_i64(into, from, tensor->elements);
      else
        sum_i64(into, from, tensor->elements);
      break;
    default:
      abort(); /* refused by dtr_tree_new */
    }
  }
}

/* ---- the tree ---- */

enum { NONE = UINT32_MAX };

/* Leaves are nodes 0 .. S-1, inner nodes follow. */
struct node {
  uint32_t parent;          /* NONE: the root */
  bool right;               /* which half of the parent */
  _Atomic uint32_t waiting; /* inner: block of the half that came first, or NONE */
};

struct dtr_tree {
  const struct dtr_contribution *table;
  uint32_t table_count;
  int64_t block_bytes, shards;
  int spins;
  uint32_t node_count, block_count;
  struct node *nodes;
  char *blocks;
  _Atomic uint32_t result;
  /* Free blocks: a stack without locks. Low half: block + 1 or 0; high half counts changes, so that
   * a stale head is never mistaken for the current one. */
  _Atomic uint64_t head;
  _Atomic uint32_t *next;
  struct dtr_word returned;
};

int64_t dtr_tree_blocks(int64_t shards, int workers) {
  int64_t levels = 63 - __builtin_clzll((unsigned long long)shards);
  int64_t blocks = levels + workers;
  return blocks < shards ? blocks : shards;
}

static void push(struct dtr_tree *tree, uint32_t block) {
  uint64_t head = atomic_load_explicit(&tree->head, memory_order_relaxed), fresh;
  do {
    atomic_store_explicit(&tree->next[block], (uint32_t)head, memory_order_relaxed);
    fresh = ((head >> 32) + 1) << 32 | (block + 1);
  } while (!atomic_compare_exchange_weak_explicit(&tree->head, &head, fresh, memory_order_release,
                                                  memory_order_relaxed));
}

static uint32_t pop(struct dtr_tree *tree) {
  uint64_t head = atomic_load_explicit(&tree->head, memory_order_acquire), fresh;
  do {
    if ((uint32_t)head == 0)
      return NONE;
    uint32_t below = atomic_load_explicit(&tree->next[(uint32_t)head - 1], memory_order_relaxed);
    fresh = ((head >> 32) + 1) << 32 | below;
  } while (!atomic_compare_exchange_weak_explicit(&tree->head, &head, fresh, memory_order_acquire,
                                                  memory_order_acquire));
  return (uint32_t)head - 1;
}

static void give_back(struct dtr_tree *tree, uint32_t block) {
  push(tree, block);
  dtr_word_advance(&tree->returned);
}

/* Builds the subtree over leaves [begin, begin + count); returns its root. */
static uint32_t build(struct dtr_tree *tree, int64_t begin, int64_t count) {
  if (count == 1)
    return (uint32_t)begin;
  uint32_t self = tree->node_count++;
  int64_t split = dtr_tree_split(count);
  uint32_t left = build(tree, begin, split);
  uint32_t right = build(tree, begin + split, count - split);
  tree->nodes[left].parent = self;
  tree->nodes[right].parent = self;
  tree->nodes[right].right = true;
  return self;
}

static bool check_table(const struct dtr_contribution *table, uint32_t count,
                        struct dtr_error *error) {
  for (uint32_t i = 0; i < count; i++)
    if (table[i].dtype == DTR_BF16 || table[i].dtype == DTR_U8 || table[i].dtype == DTR_BOOL)
      return dtr_error_set(error, DTR_STATUS_BUG,
                           "the contribution \"%s\" has a type that cannot be combined",
                           table[i].name);
  return true;
}

bool dtr_tree_new(const struct dtr_contribution *table, uint32_t count, int64_t block_bytes,
                  int64_t shards, int workers, int spins, struct dtr_tree **tree,
                  struct dtr_error *error) {
  if (!check_table(table, count, error))
    return false;
  struct dtr_tree *made = calloc(1, sizeof *made);
  int64_t blocks = dtr_tree_blocks(shards, workers), bytes;
  if (!made)
    return dtr_error_memory(error, (int64_t)sizeof *made, "the reduction tree");
  if (__builtin_mul_overflow(blocks, block_bytes, &bytes))
    bytes = INT64_MAX / 2;
  *made = (struct dtr_tree){.table = table,
                            .table_count = count,
                            .block_bytes = block_bytes,
                            .shards = shards,
                            .spins = spins,
                            .block_count = (uint32_t)blocks,
                            .result = NONE};
  made->nodes = calloc((size_t)shards * 2, sizeof *made->nodes);
  made->next = calloc((size_t)blocks, sizeof *made->next);
  made->blocks = aligned_alloc(DTR_ALIGN, (size_t)(bytes > 0 ? bytes : DTR_ALIGN));
  if (!made->nodes || !made->next || !made->blocks) {
    dtr_tree_free(made);
    return dtr_error_memory(error, bytes, "the contributions of the shards");
  }
  memset(made->blocks, 0, (size_t)bytes);
  made->node_count = (uint32_t)shards;
  uint32_t root = build(made, 0, shards);
  made->nodes[root].parent = NONE;
  for (uint32_t i = 0; i < made->node_count; i++)
    atomic_init(&made->nodes[i].waiting, NONE);
  for (uint32_t i = made->block_count; i-- > 0;)
    push(made, i);
  *tree = made;
  return true;
}

void dtr_tree_free(struct dtr_tree *tree) {
  if (!tree)
    return;
  free(tree->blocks);
  free(tree->next);
  free(tree->nodes);
  free(tree);
}

static char *block_at(struct dtr_tree *tree, uint32_t block) {
  return tree->blocks + block * tree->block_bytes;
}

static uint32_t block_of(struct dtr_tree *tree, const char *block) {
  return tree->block_bytes == 0 ? 0 : (uint32_t)((block - tree->blocks) / tree->block_bytes);
}

char *dtr_tree_take(struct dtr_tree *tree) {
  for (;;) {
    uint32_t seen = dtr_word_get(&tree->returned);
    uint32_t block = pop(tree);
    if (block != NONE)
      return block_at(tree, block);
    dtr_word_wait(&tree->returned, seen, tree->spins);
  }
}

void dtr_tree_return(struct dtr_tree *tree, char *block) {
  give_back(tree, block_of(tree, block));
}

void dtr_tree_put(struct dtr_tree *tree, int64_t shard, char *block) {
  uint32_t mine = block_of(tree, block);
  struct node *node = &tree->nodes[shard];
  while (node->parent != NONE) {
    struct node *parent = &tree->nodes[node->parent];
    uint32_t other = atomic_exchange_explicit(&parent->waiting, mine, memory_order_acq_rel);
    if (other == NONE)
      return; /* whoever brings the other half goes on from here */
    atomic_store_explicit(&parent->waiting, NONE, memory_order_relaxed);
    uint32_t left = node->right ? other : mine, right = node->right ? mine : other;
    dtr_contribution_combine(tree->table, tree->table_count, block_at(tree, left),
                             block_at(tree, right));
    give_back(tree, right);
    mine = left;
    node = parent;
  }
  atomic_store_explicit(&tree->result, mine, memory_order_release);
}

char *dtr_tree_result(struct dtr_tree *tree) {
  uint32_t result = atomic_exchange_explicit(&tree->result, NONE, memory_order_acquire);
  return result == NONE ? NULL : block_at(tree, result);
}

void dtr_tree_reset(struct dtr_tree *tree) {
  uint32_t result = atomic_exchange_explicit(&tree->result, NONE, memory_order_acquire);
  if (result != NONE)
    give_back(tree, result);
  for (uint32_t i = 0; i < tree->node_count; i++) {
    uint32_t waiting =
        atomic_exchange_explicit(&tree->nodes[i].waiting, NONE, memory_order_acquire);
    if (waiting != NONE)
      give_back(tree, waiting);
  }
}

/* ---- streams ---- */

void dtr_stream_begin(struct dtr_stream *stream, uint32_t width, double *levels) {
  *stream = (struct dtr_stream){.width = width, .levels = levels};
}

/* A binary counter: chunk n closes as many subtrees as n + 1 has trailing zeros. */
void dtr_stream_add(struct dtr_stream *stream, const float *values, int64_t stride, double weight) {
  uint32_t width = stream->width;
  int closed = __builtin_ctzll((unsigned long long)stream->chunks + 1);
  double *into = stream->levels + (size_t)closed * width;
  for (uint32_t i = 0; i < width; i++) {
    double sum = (double)values[i * stride] * weight;
    for (int level = 0; level < closed; level++)
      sum = stream->levels[(size_t)level * width + i] + sum;
    into[i] = sum;
  }
  stream->chunks++;
  stream->weight += weight;
}

void dtr_stream_means(struct dtr_stream *stream, double *means) {
  for (uint32_t i = 0; i < stream->width; i++) {
    bool any = false;
    double sum = 0;
    for (int level = 0; level < DTR_STREAM_LEVELS; level++) {
      if (!(stream->chunks >> level & 1))
        continue;
      double part = stream->levels[(size_t)level * stream->width + i];
      sum = any ? part + sum : part;
      any = true;
    }
    means[i] = sum / stream->weight;
  }
}
