/* Fusion: nodes of one kernel get one group.
 *
 * Requires: a graph without dead nodes. Guarantees: every node is a leaf, has a group, or is
 * computed where it is used (constants, views, index maps, iota, conversions of leaves); every
 * group is one kernel by dtg_nest_new or a library call; groups are numbered in an order in which
 * they can run; what must be in memory is; roots have memory of their own. Values are computed by
 * the same operations on the same operands as before, so bits do not change. Cost: one nest
 * analysis per edge between groups. */
#include "compiler/opt/fuse.h"

#include "compiler/ir/rewrite.h"
#include "compiler/opt/opt.h"

/* A library call reads one matrix for all batches, or one for each: other broadcasts of the leading
 * axes are made in memory. */
static uint32_t spread_batch(struct dtg_graph *graph, uint32_t operand,
                             const struct dtg_shape *result) {
  struct dtg_shape shape = dtg_graph_node(graph, operand)->type.shape;
  int64_t own = dtg_shape_count(&shape), all = dtg_shape_count(result);
  uint32_t lead = shape.rank - 2;
  own /= shape.dims[lead] * shape.dims[lead + 1];
  all /= result->dims[result->rank - 2] * result->dims[result->rank - 1];
  if (own == 1 || own == all)
    return operand;
  struct dtg_shape full = *result;
  full.dims[full.rank - 2] = shape.dims[lead];
  full.dims[full.rank - 1] = shape.dims[lead + 1];
  return dtg_add_broadcast(graph, operand, &full);
}

/* The library op with operands that it can read; DTG_NO_NODE if it can read them as they are. */
static uint32_t spread_operands(struct dtg_rewrite *rewrite, uint32_t id) {
  const struct dtg_node *node = dtg_graph_node(rewrite->from, id);
  uint32_t inputs[2], first = (uint32_t)rewrite->to->nodes.len;
  bool changed = false;
  if (dtg_group_kind_of(rewrite->from, node) != DTG_GROUP_GEMM)
    return DTG_NO_NODE;
  for (uint32_t i = 0; i < 2; i++) {
    uint32_t operand = dtg_rewrite_input(rewrite, id, i);
    inputs[i] = spread_batch(rewrite->to, operand, &node->type.shape);
    changed = changed || inputs[i] != operand;
  }
  if (!changed)
    return DTG_NO_NODE;
  uint32_t spread = dtg_graph_add_typed(rewrite->to, node->op, node->type, inputs, 2, node->attrs,
                                        node->attr_count);
  dtg_rewrite_origin(rewrite, id, first);
  return spread;
}

static struct dtg_graph *spread_batches(const struct dtg_graph *graph) {
  struct dtg_rewrite rewrite = dtg_rewrite_begin(graph);
  for (uint32_t id = 0; id < graph->nodes.len; id++) {
    uint32_t spread = spread_operands(&rewrite, id);
    dtg_rewrite_set(&rewrite, id, spread != DTG_NO_NODE ? spread : dtg_rewrite_copy(&rewrite, id));
  }
  return dtg_rewrite_end(&rewrite);
}

struct dtg_graph *dtg_opt_unfused(const struct dtg_graph *graph) {
  struct dtg_graph *result = spread_batches(graph);
  dtg_opt_bodies(result, dtg_opt_unfused);
  dtg_fuse_prepare(result);
  dtg_fuse_number(result);
  return result;
}

static bool is_update(const struct dtg_graph *graph) {
  for (size_t i = 0; i < graph->roots.len; i++) {
    if (graph->roots.data[i].kind == DTG_ROOT_UPDATE)
      return true;
  }
  return false;
}

static void start_groups(struct dtg_fuse *fuse) {
  for (uint32_t i = 0; i < fuse->graph->group_count; i++)
    dtg_vec_push(fuse->arena, &fuse->groups, (struct dtg_fuse_group){0});
  for (uint32_t i = 0; i < fuse->graph->nodes.len; i++) {
    const struct dtg_node *node = dtg_graph_node(fuse->graph, i);
    if (node->group == DTG_NO_GROUP)
      continue;
    struct dtg_fuse_group *group = &fuse->groups.data[node->group];
    dtg_vec_push(fuse->arena, &group->members, i);
    if (fuse->owners)
      group->owner = dtg_owner_join(group->owner, fuse->owners[i]);
    group->loops = dtg_group_kind_of(fuse->graph, node) == DTG_GROUP_LOOPS;
  }
}

static void measure_groups(struct dtg_fuse *fuse) {
  for (uint32_t i = 0; i < fuse->groups.len; i++) {
    struct dtg_fuse_group *group = &fuse->groups.data[i];
    struct dtg_arena scratch = {0};
    const char *why = "";
    const struct dtg_nest *nest = group->loops
                                      ? dtg_nest_new(&scratch, fuse->links, i, group->members.data,
                                                     (uint32_t)group->members.len, &why)
                                      : NULL;
    group->loops = nest != NULL;
    group->full = nest ? dtg_nest_count(nest, nest->full_mask) : 0;
    group->kept = nest ? dtg_nest_count(nest, nest->kept_mask) : 0;
    dtg_arena_free(&scratch);
  }
}

struct dtg_graph *dtg_opt_fuse(const struct dtg_graph *graph) {
  struct dtg_graph *result = spread_batches(graph);
  struct dtg_arena arena = {0};
  struct dtg_fuse fuse = {.arena = &arena, .graph = result};
  dtg_opt_bodies(result, dtg_opt_fuse);
  dtg_fuse_prepare(result);
  fuse.links = dtg_links_new(&arena, result);
  fuse.owners = is_update(result) ? dtg_owner_paths(&arena, result) : NULL;
  fuse.stamp = DTG_NEW_ARRAY(&arena, uint32_t, result->group_count);
  start_groups(&fuse);
  measure_groups(&fuse);
  dtg_fuse_merge(&fuse);
  for (size_t i = 0; i < result->nodes.len; i++)
    result->nodes.data[i].group = fuse.links->group[i];
  dtg_arena_free(&arena);
  dtg_fuse_number(result);
  return result;
}
