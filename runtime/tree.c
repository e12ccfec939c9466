#include "runtime/tree.h"

#include "runtime/rows.h"
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

static void combine_tensor(const struct dtr_contribution *tensor, char *left, const char *right) {
  void *into = left + tensor->offset;
  const void *from = right + tensor->offset;
  if (dtr_rows_is(tensor)) {
    dtr_rows_combine(tensor, left, right);
    return;
  }
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

void dtr_contribution_combine(const struct dtr_contribution *table, uint32_t count, char *left,
                              const char *right) {
  for (uint32_t i = 0; i < count; i++)
    combine_tensor(&table[i], left, right);
}

/* ---- combining along a way up, in one pass over memory ---- */

enum { MAX_LEFTS = 3 };

static void sum_two(float *restrict c, const float *restrict b, const float *restrict a,
                    int64_t elements) {
  for (int64_t i = 0; i < elements; i++)
    c[i] = c[i] + (b[i] + a[i]);
}

static void sum_three(float *restrict d, const float *restrict c, const float *restrict b,
                      const float *restrict a, int64_t elements) {
  for (int64_t i = 0; i < elements; i++)
    d[i] = d[i] + (c[i] + (b[i] + a[i]));
}

/* lefts[count - 1] = lefts[count - 1] + (... + (lefts[0] + right)): what `count` combinations one
 * after the other give. */
static void combine_lefts(const struct dtr_contribution *tensor, char *const *lefts, uint32_t count,
                          char *right) {
  if (tensor->dtype == DTR_F32 && !tensor->maximum && !dtr_rows_is(tensor) && count > 1) {
    float *at[MAX_LEFTS + 1] = {(float *)(void *)(right + tensor->offset)};
    for (uint32_t i = 0; i < count; i++)
      at[i + 1] = (float *)(void *)(lefts[i] + tensor->offset);
    if (count == 2)
      sum_two(at[2], at[1], at[0], tensor->elements);
    else
      sum_three(at[3], at[2], at[1], at[0], tensor->elements);
    return;
  }
  for (uint32_t i = 0; i < count; i++)
    combine_tensor(tensor, lefts[i], i == 0 ? right : lefts[i - 1]);
}

/* ---- the tree ---- */

enum { NONE = UINT32_MAX, ABSENT = UINT32_MAX - 1 };

/* Leaves come first, inner nodes follow. */
struct node {
  uint32_t parent;          /* NONE: a root */
  uint32_t root;            /* of a root: its number */
  bool right;               /* which half of the parent */
  _Atomic uint32_t waiting; /* inner: block of the half that came first, or NONE */
};

struct dtr_tree {
  const struct dtr_contribution *table;
  uint32_t table_count;
  int64_t block_bytes;
  int64_t first; /* shard of leaf 0 */
  int spins;
  uint32_t node_count, block_count, root_count;
  struct node *nodes;
  char *blocks;
  _Atomic uint32_t *results; /* [root] */
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

static bool inside(struct dtr_span inner, struct dtr_span outer) {
  return inner.first >= outer.first && inner.first + inner.count <= outer.first + outer.count;
}

static bool apart(struct dtr_span a, struct dtr_span b) {
  return a.first + a.count <= b.first || b.first + b.count <= a.first;
}

static struct dtr_span left_half(struct dtr_span range) {
  return (struct dtr_span){range.first, dtr_tree_split(range.count)};
}

static struct dtr_span right_half(struct dtr_span range) {
  int64_t split = dtr_tree_split(range.count);
  return (struct dtr_span){range.first + split, range.count - split};
}

static void collect(struct dtr_span range, struct dtr_span block, struct dtr_span *subtrees,
                    uint32_t *count) {
  if (apart(range, block))
    return;
  if (inside(range, block)) {
    if (subtrees)
      subtrees[*count] = range;
    ++*count;
    return;
  }
  collect(left_half(range), block, subtrees, count);
  collect(right_half(range), block, subtrees, count);
}

uint32_t dtr_tree_subtrees(int64_t shards, struct dtr_span block, struct dtr_span *subtrees) {
  uint32_t count = 0;
  collect((struct dtr_span){0, shards}, block, subtrees, &count);
  return count;
}

/* Leaves are met from left to right. */
struct building {
  struct dtr_tree *tree;
  const struct dtr_tree_part *part;
  uint32_t leaves; /* met so far */
};

static bool is_leaf(const struct building *building, struct dtr_span range) {
  if (!building->part->leaves)
    return range.count == 1;
  const struct dtr_span *leaf = &building->part->leaves[building->leaves];
  return leaf->first == range.first && leaf->count == range.count;
}

/* Builds the subtree over `range`; returns its root. */
static uint32_t build(struct building *building, struct dtr_span range) {
  struct dtr_tree *tree = building->tree;
  if (is_leaf(building, range))
    return building->leaves++;
  uint32_t self = tree->node_count++;
  uint32_t left = build(building, left_half(range));
  uint32_t right = build(building, right_half(range));
  tree->nodes[left].parent = self;
  tree->nodes[right].parent = self;
  tree->nodes[right].right = true;
  return self;
}

static void build_roots(struct building *building, struct dtr_span range) {
  struct dtr_tree *tree = building->tree;
  if (apart(range, building->part->block))
    return;
  if (!inside(range, building->part->block)) {
    build_roots(building, left_half(range));
    build_roots(building, right_half(range));
    return;
  }
  uint32_t root = build(building, range);
  tree->nodes[root].parent = NONE;
  tree->nodes[root].root = tree->root_count++;
}

static bool check_table(const struct dtr_contribution *table, uint32_t count,
                        struct dtr_error *error) {
  for (uint32_t i = 0; i < count; i++)
    if (table[i].dtype == DTR_BF16 || table[i].dtype == DTR_U8 || table[i].dtype == DTR_BOOL ||
        (dtr_rows_is(&table[i]) && (table[i].dtype != DTR_F32 || table[i].maximum)))
      return dtr_error_set(error, DTR_STATUS_BUG,
                           "the contribution \"%s\" has a type that cannot be combined",
                           table[i].name);
  return true;
}

int64_t dtr_tree_part_blocks(const struct dtr_tree_part *part, int workers) {
  if (part->leaves)
    return part->leaf_count; /* they may come in any order */
  int64_t roots = dtr_tree_subtrees(part->shards, part->block, NULL);
  int64_t blocks = dtr_tree_blocks(part->block.count, workers) + roots - 1;
  return blocks < part->block.count ? blocks : part->block.count;
}

bool dtr_tree_new(const struct dtr_contribution *table, uint32_t count, int64_t block_bytes,
                  int64_t shards, int workers, int spins, struct dtr_tree **tree,
                  struct dtr_error *error) {
  struct dtr_tree_part whole = {.shards = shards, .block = {0, shards}};
  return dtr_tree_new_part(table, count, block_bytes, &whole, workers, spins, tree, error);
}

bool dtr_tree_new_part(const struct dtr_contribution *table, uint32_t count, int64_t block_bytes,
                       const struct dtr_tree_part *part, int workers, int spins,
                       struct dtr_tree **tree, struct dtr_error *error) {
  if (!check_table(table, count, error))
    return false;
  struct dtr_tree *made = calloc(1, sizeof *made);
  int64_t blocks = dtr_tree_part_blocks(part, workers), bytes;
  int64_t leaves = part->leaves ? part->leaf_count : part->block.count;
  uint32_t roots = part->leaves ? 1 : dtr_tree_subtrees(part->shards, part->block, NULL);
  if (!made)
    return dtr_error_memory(error, (int64_t)sizeof *made, "the reduction tree");
  if (__builtin_mul_overflow(blocks, block_bytes, &bytes))
    bytes = INT64_MAX / 2;
  *made = (struct dtr_tree){.table = table,
                            .table_count = count,
                            .block_bytes = block_bytes,
                            .first = part->leaves ? 0 : part->block.first,
                            .spins = spins,
                            .block_count = (uint32_t)blocks};
  made->nodes = calloc((size_t)leaves * 2, sizeof *made->nodes);
  made->results = calloc(roots, sizeof *made->results);
  made->next = calloc((size_t)blocks, sizeof *made->next);
  made->blocks = aligned_alloc(DTR_ALIGN, (size_t)(bytes > 0 ? bytes : DTR_ALIGN));
  if (!made->nodes || !made->results || !made->next || !made->blocks) {
    dtr_tree_free(made);
    return dtr_error_memory(error, bytes, "the contributions of the shards");
  }
  memset(made->blocks, 0, (size_t)bytes);
  made->node_count = (uint32_t)leaves;
  struct dtr_span all = {0, part->shards};
  struct dtr_tree_part top = *part;
  if (top.leaves)
    top.block = all;
  build_roots(&(struct building){.tree = made, .part = &top}, all);
  for (uint32_t i = 0; i < roots; i++)
    atomic_init(&made->results[i], NONE);
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
  free(tree->results);
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

static uint32_t merge(struct dtr_tree *tree, uint32_t left, uint32_t right) {
  if (left == ABSENT || right == ABSENT)
    return left == ABSENT ? right : left;
  dtr_contribution_combine(tree->table, tree->table_count, block_at(tree, left),
                           block_at(tree, right));
  give_back(tree, right);
  return left;
}

/* Left halves that wait on the way up from `*node`, nearest first; `*node` becomes what they are
 * combined to. Whoever brings a right half is alone with the left one, so looking is enough. */
static uint32_t take_lefts(struct dtr_tree *tree, struct node **node, uint32_t *lefts) {
  uint32_t count = 0;
  while (count < MAX_LEFTS && (*node)->right && (*node)->parent != NONE) {
    struct node *parent = &tree->nodes[(*node)->parent];
    uint32_t left = atomic_load_explicit(&parent->waiting, memory_order_acquire);
    if (left == NONE || left == ABSENT)
      break;
    atomic_store_explicit(&parent->waiting, NONE, memory_order_relaxed);
    lefts[count++] = left;
    *node = parent;
  }
  return count;
}

static uint32_t merge_lefts(struct dtr_tree *tree, const uint32_t *lefts, uint32_t count,
                            uint32_t mine) {
  char *blocks[MAX_LEFTS];
  for (uint32_t i = 0; i < count; i++)
    blocks[i] = block_at(tree, lefts[i]);
  for (uint32_t i = 0; i < tree->table_count; i++)
    combine_lefts(&tree->table[i], blocks, count, block_at(tree, mine));
  give_back(tree, mine);
  for (uint32_t i = 0; i + 1 < count; i++)
    give_back(tree, lefts[i]);
  return lefts[count - 1];
}

static void put(struct dtr_tree *tree, int64_t shard, uint32_t mine) {
  struct node *node = &tree->nodes[shard - tree->first];
  while (node->parent != NONE) {
    uint32_t lefts[MAX_LEFTS];
    uint32_t count = mine == ABSENT ? 0 : take_lefts(tree, &node, lefts);
    if (count > 0) {
      mine = merge_lefts(tree, lefts, count, mine);
      continue;
    }
    struct node *parent = &tree->nodes[node->parent];
    uint32_t other = atomic_exchange_explicit(&parent->waiting, mine, memory_order_acq_rel);
    if (other == NONE)
      return; /* whoever brings the other half goes on from here */
    atomic_store_explicit(&parent->waiting, NONE, memory_order_relaxed);
    mine = node->right ? merge(tree, other, mine) : merge(tree, mine, other);
    node = parent;
  }
  atomic_store_explicit(&tree->results[node->root], mine, memory_order_release);
}

void dtr_tree_put(struct dtr_tree *tree, int64_t shard, char *block) {
  put(tree, shard, block_of(tree, block));
}

void dtr_tree_skip(struct dtr_tree *tree, int64_t shard) {
  put(tree, shard, ABSENT);
}

char *dtr_tree_partial(struct dtr_tree *tree, uint32_t index) {
  uint32_t result = atomic_exchange_explicit(&tree->results[index], NONE, memory_order_acquire);
  return result == NONE || result == ABSENT ? NULL : block_at(tree, result);
}

char *dtr_tree_result(struct dtr_tree *tree) {
  return dtr_tree_partial(tree, 0);
}

void dtr_tree_reset(struct dtr_tree *tree) {
  for (uint32_t i = 0; i < tree->root_count; i++) {
    uint32_t result = atomic_exchange_explicit(&tree->results[i], NONE, memory_order_acquire);
    if (result != NONE && result != ABSENT)
      give_back(tree, result);
  }
  for (uint32_t i = 0; i < tree->node_count; i++) {
    uint32_t waiting =
        atomic_exchange_explicit(&tree->nodes[i].waiting, NONE, memory_order_acquire);
    if (waiting != NONE && waiting != ABSENT)
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
