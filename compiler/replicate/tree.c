// Partial sums: which subtrees of the fixed tree a block of shards holds.
#include "compiler/replicate/internal.h"

// The largest power of two below `count`, which is at least 2.
static int64_t split_at(int64_t count) {
  int64_t half = 1;
  while (half * 2 < count)
    half *= 2;
  return half;
}

uint32_t dtg_subtree_count(int64_t shards, int64_t begin, int64_t end) {
  uint32_t count = 0;
  int64_t low = 0, high = shards;
  // Down to the node where the block is cut; then each side is a suffix or a prefix of its half.
  while (!(begin <= low && high <= end)) {
    int64_t middle = low + split_at(high - low);
    if (end <= middle) {
      high = middle;
    } else if (begin >= middle) {
      low = middle;
    } else {
      count += dtg_subtree_count(middle - low, begin - low, middle - low);
      count += dtg_subtree_count(high - middle, 0, end - middle);
      return count;
    }
  }
  return 1;
}

static bool is_power_of_two(int64_t value) {
  return (value & (value - 1)) == 0;
}

// Where the block is a power of two, every block is one subtree, whatever the number of replicas:
// the tree cuts at multiples of powers of two, largest first.
static bool blocks_are_subtrees(int64_t shards, uint32_t replicas) {
  return replicas == 1 || is_power_of_two(shards / replicas);
}

// The number of shards next to S, the smaller one first, that makes every block one subtree and
// still divides the batch; 0 if there is none near.
static int64_t suggest_shards(int64_t batch, int64_t shards, uint32_t replicas) {
  int64_t below = 0, above = 0;
  for (int64_t each = 1; each * replicas <= 4 * shards && each * replicas <= batch; each *= 2) {
    int64_t total = each * replicas;
    if (batch % total != 0)
      continue;
    if (total < shards)
      below = total;
    if (total > shards && above == 0)
      above = total;
  }
  if (below == 0 || (above != 0 && above - shards < shards - below))
    return above;
  return below;
}

uint32_t dtg_replica_sums(const struct dtg_replication *r, uint32_t replica) {
  int64_t each = r->shards / r->replicas;
  return dtg_subtree_count(r->shards, replica * each, (replica + 1) * each);
}

static void count_one(struct dtg_arena *arena, struct dtg_partial_sums *sums, uint32_t count,
                      uint32_t replicas) {
  size_t at = 0;
  while (at < sums->classes.len && sums->classes.data[at].sums < count)
    at++;
  if (at == sums->classes.len || sums->classes.data[at].sums != count) {
    dtg_vec_push(arena, &sums->classes, (struct dtg_partial_class){0});
    for (size_t i = sums->classes.len - 1; i > at; i--)
      sums->classes.data[i] = sums->classes.data[i - 1];
    sums->classes.data[at] = (struct dtg_partial_class){.sums = count};
  }
  sums->classes.data[at].replicas += replicas;
  sums->all += (int64_t)count * replicas;
  if (count > sums->most)
    sums->most = count;
}

struct dtg_partial_sums dtg_partial_sums_of(struct dtg_arena *arena, int64_t batch, int64_t shards,
                                            uint32_t replicas) {
  struct dtg_partial_sums sums = {0};
  if (blocks_are_subtrees(shards, replicas)) {
    count_one(arena, &sums, 1, replicas);
    return sums;
  }
  int64_t each = shards / replicas;
  sums.suggested_shards = suggest_shards(batch, shards, replicas);
  for (uint32_t r = 0; r < replicas; r++)
    count_one(arena, &sums, dtg_subtree_count(shards, r * each, (r + 1) * each), 1);
  return sums;
}
