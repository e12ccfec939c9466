/* Merging groups: producers into consumers first, then neighbours that walk the same axes. */
#include "compiler/opt/fuse.h"

#include "compiler/base/bug.h"

enum { ROUNDS = 3 };

static struct dtg_fuse_group *group_at(struct dtg_fuse *fuse, uint32_t group) {
  return &fuse->groups.data[group];
}

/* Is there a path from a reader of `from` (other than `skip`) to `to`? Node ids do not bound the
 * search: a path may enter a group late and leave it early. */
static bool reaches(struct dtg_fuse *fuse, uint32_t from, uint32_t to, uint32_t skip) {
  const struct dtg_links *links = fuse->links;
  DTG_VEC(uint32_t) stack = {0};
  fuse->search++;
  fuse->stamp[from] = fuse->search;
  dtg_vec_push(fuse->arena, &stack, from);
  while (stack.len > 0) {
    uint32_t group = stack.data[--stack.len];
    for (size_t i = 0; i < group_at(fuse, group)->members.len; i++) {
      uint32_t member = group_at(fuse, group)->members.data[i];
      for (uint32_t k = links->reader_start[member]; k < links->reader_start[member + 1]; k++) {
        uint32_t next = links->group[links->readers[k]];
        if (group == from && next == skip)
          continue;
        if (next == to)
          return true;
        if (fuse->stamp[next] == fuse->search)
          continue;
        fuse->stamp[next] = fuse->search;
        dtg_vec_push(fuse->arena, &stack, next);
      }
    }
  }
  return false;
}

static void relabel(struct dtg_fuse *fuse, const struct dtg_fuse_group *group, uint32_t label) {
  for (size_t i = 0; i < group->members.len; i++)
    fuse->links->group[group->members.data[i]] = label;
}

static void join_members(struct dtg_fuse *fuse, const struct dtg_fuse_group *a,
                         const struct dtg_fuse_group *b, struct dtg_fuse_group *out) {
  size_t i = 0, k = 0;
  while (i < a->members.len || k < b->members.len) {
    bool first =
        k == b->members.len || (i < a->members.len && a->members.data[i] < b->members.data[k]);
    dtg_vec_push(fuse->arena, &out->members, first ? a->members.data[i++] : b->members.data[k++]);
  }
}

/* Something of the group is delivered, or read by others than `other`. */
static bool serves_others(const struct dtg_fuse *fuse, const struct dtg_fuse_group *group,
                          uint32_t other) {
  const struct dtg_links *links = fuse->links;
  for (size_t i = 0; i < group->members.len; i++) {
    uint32_t member = group->members.data[i];
    if (links->root[member])
      return true;
    for (uint32_t k = links->reader_start[member]; k < links->reader_start[member + 1]; k++) {
      uint32_t reader = links->group[links->readers[k]];
      if (reader != links->group[member] && reader != other)
        return true;
    }
  }
  return false;
}

/* One kernel never computes for the owners of two variables, nor what all owners need with what one
 * of them needs: so every strategy can run the same kernels. */
static bool for_one_owner(const struct dtg_fuse *fuse, uint32_t from, uint32_t into) {
  const struct dtg_fuse_group *a = &fuse->groups.data[from], *b = &fuse->groups.data[into];
  if (!fuse->owners || a->owner == b->owner)
    return true;
  return !a->owner   ? !serves_others(fuse, a, into)
         : !b->owner ? !serves_others(fuse, b, from)
                     : false;
}

/* Merges `from` into `into` if the union is a kernel and pays. */
static bool try_merge(struct dtg_fuse *fuse, uint32_t from, uint32_t into) {
  struct dtg_fuse_group *a = group_at(fuse, from), *b = group_at(fuse, into);
  struct dtg_fuse_group both = {.loops = true};
  struct dtg_arena scratch = {0};
  const char *why = "";
  if (a->members.len + b->members.len > DTG_NEST_MEMBERS || !for_one_owner(fuse, from, into))
    return false;
  both.owner = dtg_owner_join(a->owner, b->owner);
  join_members(fuse, a, b, &both);
  relabel(fuse, a, into);
  struct dtg_nest *nest = dtg_nest_new(&scratch, fuse->links, into, both.members.data,
                                       (uint32_t)both.members.len, &why);
  bool merged = nest && dtg_fuse_pays(nest);
  if (merged) {
    both.full = dtg_nest_count(nest, nest->full_mask);
    both.kept = dtg_nest_count(nest, nest->kept_mask);
    a->members.len = 0;
    *b = both;
  } else {
    relabel(fuse, a, from);
  }
  dtg_arena_free(&scratch);
  return merged;
}

/* A number that many kernels use is computed once, in a kernel without a loop. */
static bool shared_scalar(struct dtg_fuse *fuse, uint32_t from, uint32_t into) {
  const struct dtg_links *links = fuse->links;
  const struct dtg_fuse_group *a = group_at(fuse, from);
  if (a->full != 1 || group_at(fuse, into)->full == 1)
    return false;
  for (size_t i = 0; i < a->members.len; i++) {
    uint32_t member = a->members.data[i];
    if (links->root[member])
      return true;
    for (uint32_t k = links->reader_start[member]; k < links->reader_start[member + 1]; k++) {
      uint32_t reader = links->group[links->readers[k]];
      if (reader != from && reader != into)
        return true;
    }
  }
  return false;
}

static bool merge_producers(struct dtg_fuse *fuse, uint32_t node) {
  const struct dtg_links *links = fuse->links;
  uint32_t into = links->group[node];
  bool merged = false;
  if (into == DTG_NO_GROUP || !group_at(fuse, into)->loops)
    return false;
  for (uint32_t i = links->read_start[node + 1]; i-- > links->read_start[node];) {
    uint32_t from = links->group[links->reads[i]];
    if (from == DTG_NO_GROUP || from == into || !group_at(fuse, from)->loops)
      continue;
    if (shared_scalar(fuse, from, into) || reaches(fuse, from, into, into))
      continue;
    merged = try_merge(fuse, from, into) || merged;
  }
  return merged;
}

/* Neighbours walk the same axes and have no path between them. */
static bool try_neighbours(struct dtg_fuse *fuse, uint32_t a, uint32_t b, int64_t full) {
  if (a == b || a == DTG_NO_GROUP || b == DTG_NO_GROUP)
    return false;
  const struct dtg_fuse_group *first = group_at(fuse, a), *second = group_at(fuse, b);
  if (!first->loops || !second->loops || first->full != full || second->full != full ||
      first->kept != second->kept)
    return false;
  return !reaches(fuse, a, b, DTG_NO_GROUP) && !reaches(fuse, b, a, DTG_NO_GROUP) &&
         try_merge(fuse, b, a);
}

/* Kernels that walk over the same memory are worth one. Numbers are no memory to speak of: what
 * many read would join all that read them. */
static bool merge_readers(struct dtg_fuse *fuse, const uint32_t *nodes, size_t count) {
  const struct dtg_links *links = fuse->links;
  DTG_VEC(uint32_t) readers = {0};
  DTG_VEC(int64_t) sizes = {0};
  bool merged = false;
  for (size_t i = 0; i < count; i++) {
    int64_t size = dtg_shape_count(&dtg_graph_node(fuse->graph, nodes[i])->type.shape);
    if (size == 1)
      continue;
    for (uint32_t k = links->reader_start[nodes[i]]; k < links->reader_start[nodes[i] + 1]; k++) {
      if (links->group[links->readers[k]] == links->group[nodes[i]])
        continue;
      dtg_vec_push(fuse->arena, &readers, links->readers[k]);
      dtg_vec_push(fuse->arena, &sizes, size);
    }
  }
  for (size_t i = 1; i < readers.len; i++) {
    uint32_t a = links->group[readers.data[i - 1]], b = links->group[readers.data[i]];
    if (sizes.data[i - 1] == sizes.data[i])
      merged = try_neighbours(fuse, a, b, sizes.data[i]) || merged;
  }
  return merged;
}

static bool merge_neighbours(struct dtg_fuse *fuse) {
  bool merged = false;
  for (uint32_t group = 0; group < fuse->groups.len; group++)
    merged = merge_readers(fuse, group_at(fuse, group)->members.data,
                           group_at(fuse, group)->members.len) ||
             merged;
  for (uint32_t node = 0; node < fuse->graph->nodes.len; node++) {
    if (dtg_graph_node(fuse->graph, node)->op->class == DTG_CLASS_LEAF)
      merged = merge_readers(fuse, &node, 1) || merged;
  }
  return merged;
}

static void merge_scalars(struct dtg_fuse *fuse) {
  uint32_t last = DTG_NO_GROUP;
  for (uint32_t i = 0; i < fuse->groups.len; i++) {
    const struct dtg_fuse_group *group = group_at(fuse, i);
    if (group->members.len == 0 || !group->loops || group->full != 1)
      continue;
    if (last == DTG_NO_GROUP || !try_neighbours(fuse, last, i, 1))
      last = i;
  }
}

void dtg_fuse_merge(struct dtg_fuse *fuse) {
  for (uint32_t round = 0; round < ROUNDS; round++) {
    bool merged = false;
    for (uint32_t node = 0; node < fuse->graph->nodes.len; node++)
      merged = merge_producers(fuse, node) || merged;
    merge_scalars(fuse);
    merged = merge_neighbours(fuse) || merged;
    if (!merged)
      break;
  }
}
