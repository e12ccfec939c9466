/* Kinds and buffers of groups. */
#include "compiler/ir/group.h"

#include "compiler/base/bug.h"

enum dtg_group_kind dtg_group_kind_of(const struct dtg_graph *graph, const struct dtg_node *node) {
  struct dtg_placement placement;
  switch (node->op->class) {
  case DTG_CLASS_LIBRARY:
    return node->op->window == CG_WINDOW_NONE ? DTG_GROUP_GEMM : DTG_GROUP_WINDOW;
  case DTG_CLASS_SCATTER:
    return DTG_GROUP_SCATTER;
  case DTG_CLASS_SCAN:
    return DTG_GROUP_SCAN;
  case DTG_CLASS_INDEX:
    return dtg_index_placement(graph, node, 0, &placement) ? DTG_GROUP_ASSEMBLE : DTG_GROUP_LOOPS;
  case DTG_CLASS_REDUCE:
    return node->op->form == DTG_REDUCE_TREE ? DTG_GROUP_TREE : DTG_GROUP_LOOPS;
  default:
    return DTG_GROUP_LOOPS;
  }
}

bool dtg_group_is_library(enum dtg_group_kind kind) {
  return kind == DTG_GROUP_GEMM || kind == DTG_GROUP_WINDOW;
}

bool dtg_group_needs_memory(const struct dtg_graph *graph, const struct dtg_node *node,
                            uint32_t operand) {
  double value;
  switch (dtg_group_kind_of(graph, node)) {
  case DTG_GROUP_LOOPS:
    return node->op->class == DTG_CLASS_GATHER && operand == 0;
  case DTG_GROUP_SCATTER:
    return operand != 0 || !dtg_graph_splat(graph, node->inputs[0], &value);
  default:
    return true;
  }
}

static void add_buffer(struct dtg_arena *arena, struct dtg_group *group, uint32_t node,
                       struct dtg_type type, bool read, bool written) {
  struct dtg_nest_buffer buffer = {.node = node, .type = type, .read = read, .written = written};
  dtg_vec_push(arena, &group->buffers, buffer);
}

static struct dtg_type scratch_type(int64_t elements) {
  return (struct dtg_type){.dtype = DTG_F32, .shape = {.rank = 1, .dims = {elements}}};
}

/* Operands that are read more than once are listed once a reading: each has its own leaf. */
static void list_loop_buffers(struct dtg_arena *arena, const struct dtg_links *links,
                              struct dtg_group *group) {
  const struct dtg_graph *graph = links->graph;
  const struct dtg_node *scan = dtg_graph_node(graph, group->members[0]);
  for (uint32_t i = 0; i < scan->input_count; i++) {
    uint32_t base = dtg_links_base(links, scan->inputs[i]);
    if (base == DTG_NO_NODE)
      dtg_bug("operand %u of a scan is not in memory", i);
    add_buffer(arena, group, base, dtg_graph_node(graph, scan->inputs[i])->type, true, false);
  }
  for (uint32_t i = 1; i < group->member_count; i++)
    add_buffer(arena, group, group->members[i], dtg_graph_node(graph, group->members[i])->type,
               true, true);
  add_buffer(arena, group, DTG_NO_NODE, scratch_type(0), true, true);
}

/* Operands in memory, then the result, then scratch. */
static void list_buffers(struct dtg_arena *arena, const struct dtg_links *links,
                         struct dtg_group *group) {
  const struct dtg_graph *graph = links->graph;
  const struct dtg_node *node = dtg_graph_node(graph, group->members[0]);
  for (uint32_t i = 0; i < node->input_count; i++) {
    uint32_t base = dtg_links_base(links, node->inputs[i]);
    if (!dtg_group_needs_memory(graph, node, i))
      continue;
    if (base == DTG_NO_NODE)
      dtg_bug("operand %u of `%s` is not in memory", i, node->op->name);
    add_buffer(arena, group, base, dtg_graph_node(graph, node->inputs[i])->type, true, false);
  }
  add_buffer(arena, group, group->members[0], node->type, group->kind == DTG_GROUP_SCATTER, true);
  if (dtg_group_is_library(group->kind))
    add_buffer(arena, group, DTG_NO_NODE, scratch_type(0), true, true);
  int64_t count = dtg_shape_count(&dtg_graph_node(graph, node->inputs[0])->type.shape);
  if (group->kind == DTG_GROUP_TREE && count > 2)
    add_buffer(arena, group, DTG_NO_NODE, scratch_type(count), true, true);
}

static void finish(struct dtg_arena *arena, const struct dtg_links *links, uint32_t number,
                   struct dtg_group *group) {
  const char *why = "";
  if (group->member_count == 0)
    dtg_bug("group %u is empty", number);
  group->kind = dtg_group_kind_of(links->graph, dtg_graph_node(links->graph, group->members[0]));
  if (group->kind == DTG_GROUP_SCAN) {
    list_loop_buffers(arena, links, group);
    return;
  }
  if (group->kind != DTG_GROUP_LOOPS) {
    if (group->member_count != 1)
      dtg_bug("group %u joins a kernel of its own with others", number);
    list_buffers(arena, links, group);
    return;
  }
  group->nest = dtg_nest_new(arena, links, number, group->members, group->member_count, &why);
  if (!group->nest)
    dtg_bug("group %u is no kernel: %s", number, why);
  for (size_t i = 0; i < group->nest->buffers.len; i++)
    dtg_vec_push(arena, &group->buffers, group->nest->buffers.data[i]);
}

struct dtg_groups *dtg_groups_new(struct dtg_arena *arena, const struct dtg_graph *graph) {
  struct dtg_groups *all = DTG_NEW(arena, struct dtg_groups);
  all->links = dtg_links_new(arena, graph);
  all->count = graph->group_count;
  all->groups = DTG_NEW_ARRAY(arena, struct dtg_group, all->count);
  uint32_t *members = DTG_NEW_ARRAY(arena, uint32_t, graph->nodes.len);
  for (size_t i = 0; i < graph->nodes.len; i++) {
    uint32_t number = graph->nodes.data[i].group;
    if (number == DTG_NO_GROUP)
      continue;
    if (number >= all->count)
      dtg_bug("group %u of %u", number, all->count);
    all->groups[number].member_count++;
  }
  uint32_t start = 0;
  for (uint32_t i = 0; i < all->count; i++) {
    all->groups[i].members = members + start;
    start += all->groups[i].member_count;
    all->groups[i].member_count = 0;
  }
  for (uint32_t i = 0; i < graph->nodes.len; i++) {
    uint32_t number = graph->nodes.data[i].group;
    if (number == DTG_NO_GROUP)
      continue;
    struct dtg_group *group = &all->groups[number];
    members[(group->members - members) + group->member_count++] = i;
  }
  for (uint32_t i = 0; i < all->count; i++)
    finish(arena, all->links, i, &all->groups[i]);
  return all;
}
