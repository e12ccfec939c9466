/* Ownership of the update's values, and kernels that work by blocks. */
#include "compiler/ir/update_split.h"

#include "compiler/base/intern.h"
#include "compiler/ir/op.h"

#include <string.h>

const char *const dtg_owner_mixed = "(several)";

int64_t dtg_block_elements(const struct dtg_shape *shape) {
  int64_t rows = shape->rank == 0 ? 1 : shape->dims[0];
  return dtg_block_rows(shape) * (dtg_shape_count(shape) / rows);
}

const char *dtg_owner_join(const char *a, const char *b) {
  if (!a || a == b)
    return b;
  return b ? dtg_owner_mixed : a;
}

static bool is_tree(const struct dtg_node *node) {
  return node->op->class == DTG_CLASS_REDUCE && node->op->form == DTG_REDUCE_TREE;
}

static bool is_block_sum(const struct dtg_node *node) {
  return node->op->class == DTG_CLASS_REDUCE && node->op->form == DTG_REDUCE_BLOCKS;
}

/* A slot "fc1.w:v" belongs to its parameter. */
static const char *leaf_owner(const struct dtg_graph *graph, const struct dtg_node *node) {
  const char *key = NULL;
  enum dtg_leaf leaf = dtg_leaf_of(node, &key);
  if (leaf != DTG_LEAF_VARIABLE && leaf != DTG_LEAF_GRADIENT)
    return NULL;
  const char *colon = strchr(key, ':');
  return colon ? dtg_intern(graph->names, key, (size_t)(colon - key)) : key;
}

const char **dtg_owner_paths(struct dtg_arena *arena, const struct dtg_graph *graph) {
  const char **owners = DTG_NEW_ARRAY(arena, const char *, graph->nodes.len);
  for (uint32_t n = 0; n < graph->nodes.len; n++) {
    const struct dtg_node *node = dtg_graph_node(graph, n);
    if (node->op->class == DTG_CLASS_LEAF)
      owners[n] = leaf_owner(graph, node);
    for (uint32_t i = 0; i < node->input_count && !is_tree(node); i++)
      owners[n] = dtg_owner_join(owners[n], owners[node->inputs[i]]);
  }
  return owners;
}

struct splitter {
  const struct dtg_module *module;
  const struct dtg_graph *graph;
  const struct dtg_groups *groups;
  const char **owners; /* per node */
  struct dtg_update_split *out;
};

static void refuse(struct splitter *it, uint32_t node, const char *why) {
  if (it->out->why)
    return;
  it->out->why = why;
  it->out->trouble = node;
}

/* Row-major over the axes from `first` on, and nothing else. */
static bool is_identity(const struct dtg_nest *nest, const struct dtg_form *form, uint32_t first) {
  int64_t stride = 1;
  for (uint32_t i = nest->rank; i-- > first;) {
    if (nest->axes[i].extent != 1 && form->coef[i] != stride)
      return false;
    stride *= nest->axes[i].extent;
  }
  return form->base == 0 && (first == 0 || form->coef[0] == 0);
}

static int64_t axes_count(const struct dtg_nest *nest, uint32_t first) {
  int64_t count = 1;
  for (uint32_t i = first; i < nest->rank; i++)
    count *= nest->axes[i].extent;
  return count;
}

/* The loads touch elements of the tile's own block alone, where they touch the variable's at all.
 */
static bool loads_stay(const struct splitter *it, const struct dtg_nest *nest, uint32_t first) {
  for (size_t i = 0; i < nest->values.len; i++) {
    const struct dtg_nest_value *value = &nest->values.data[i];
    if (value->kind != DTG_VALUE_LOAD && value->kind != DTG_VALUE_GATHER)
      continue;
    const struct dtg_nest_buffer *buffer = &nest->buffers.data[value->buffer];
    if (!it->owners[buffer->node])
      continue;
    if (value->kind == DTG_VALUE_GATHER ||
        dtg_shape_count(&buffer->type.shape) != axes_count(nest, first) ||
        !is_identity(nest, &value->index[0], first))
      return false;
  }
  return true;
}

static bool stores_stay(const struct splitter *it, const struct dtg_nest *nest, uint32_t first) {
  for (size_t i = 0; i < nest->outputs.len; i++) {
    const struct dtg_nest_output *output = &nest->outputs.data[i];
    const struct dtg_nest_buffer *buffer = &nest->buffers.data[output->buffer];
    const struct dtg_node *node = dtg_graph_node(it->graph, buffer->node);
    if (is_block_sum(node) && nest->blocked)
      continue; /* one element a tile */
    if (dtg_shape_count(&buffer->type.shape) != axes_count(nest, first) ||
        !is_identity(nest, &output->address, first))
      return false;
  }
  return true;
}

/* Tile t of the kernel computes block t of the variable. */
static bool works_by_blocks(const struct splitter *it, const struct dtg_nest *nest,
                            const struct dtg_shape *shape) {
  uint32_t first = nest->blocked ? 1 : 0;
  int64_t block = dtg_block_elements(shape);
  if (nest->rank <= first || axes_count(nest, first) != dtg_shape_count(shape))
    return false;
  int64_t inner = axes_count(nest, first + 1);
  if (nest->blocked ? nest->axes[1].block * inner != block
                    : nest->axes[0].reduced || block % inner != 0)
    return false;
  return loads_stay(it, nest, first) && stores_stay(it, nest, first);
}

static const char *group_owner(const struct splitter *it, const struct dtg_group *group) {
  const char *owner = NULL;
  for (uint32_t i = 0; i < group->member_count; i++)
    owner = dtg_owner_join(owner, it->owners[group->members[i]]);
  return owner;
}

static uint32_t find_variable(const struct splitter *it, const char *path) {
  for (uint32_t v = 0; v < it->module->variables.len; v++) {
    if (it->module->variables.data[v].path == path)
      return v;
  }
  return DTG_NO_NODE;
}

/* What every owner needs must not be computed by one of them. */
static void check_shared(struct splitter *it, const struct dtg_group *group) {
  for (uint32_t i = 0; i < group->member_count; i++) {
    uint32_t node = group->members[i];
    if (!it->owners[node] && dtg_links_stored(it->groups->links, node))
      refuse(it, node, "a number that every owner needs is computed together with one parameter");
  }
}

static void split_group(struct splitter *it, uint32_t number) {
  const struct dtg_group *group = &it->groups->groups[number];
  struct dtg_update_group *out = &it->out->groups[number];
  const char *owner = group_owner(it, group);
  *out = (struct dtg_update_group){.variable = DTG_NO_NODE};
  if (owner == dtg_owner_mixed)
    refuse(it, group->members[0], "a new value depends on several parameters");
  if (group->kind == DTG_GROUP_GEMM)
    refuse(it, group->members[0], "it multiplies matrices");
  if (group->kind == DTG_GROUP_WINDOW)
    refuse(it, group->members[0], "it moves a window over images");
  if (!owner || owner == dtg_owner_mixed)
    return;
  out->variable = find_variable(it, owner);
  check_shared(it, group);
  const struct dtg_shape *shape = &it->module->variables.data[out->variable].type.shape;
  out->by_blocks = group->kind == DTG_GROUP_LOOPS && works_by_blocks(it, group->nest, shape);
  out->whole = group->kind != DTG_GROUP_LOOPS || (dtg_block_count(shape) > 1 && !out->by_blocks);
  out->block = out->whole ? 0 : dtg_block_elements(shape);
  it->out->whole[out->variable] |= out->whole;
}

/* A sum over the whole tensor reads the block sums of all owners. */
static bool exchanges(const struct splitter *it, uint32_t to) {
  const struct dtg_group *group = &it->groups->groups[to];
  return group->kind == DTG_GROUP_TREE;
}

static void number_phases(struct splitter *it, struct dtg_arena *arena) {
  const struct dtg_edges *edges = dtg_edges_new(arena, it->groups->links);
  struct dtg_update_group *groups = it->out->groups;
  for (uint32_t g = 0; g < it->groups->count; g++) {
    for (uint32_t e = edges->start[g]; e < edges->start[g + 1]; e++) {
      uint32_t phase = groups[g].phase + exchanges(it, edges->to[e]);
      if (phase > groups[edges->to[e]].phase)
        groups[edges->to[e]].phase = phase;
    }
    if (groups[g].phase + 1 > it->out->phases)
      it->out->phases = groups[g].phase + 1;
  }
}

/* Trees read block sums, of one variable or (scalars of every owner) of none. */
static void check_trees(struct splitter *it) {
  for (uint32_t n = 0; n < it->graph->nodes.len; n++) {
    const struct dtg_node *node = dtg_graph_node(it->graph, n);
    if (is_tree(node) && !is_block_sum(dtg_graph_node(it->graph, node->inputs[0])))
      refuse(it, n, "a sum over a tensor is not made of block sums");
  }
}

static void add_exchange(struct splitter *it, struct dtg_arena *arena, uint32_t node) {
  const struct dtg_update_group *group = &it->out->groups[dtg_graph_node(it->graph, node)->group];
  struct dtg_update_exchange exchange = {group->phase, group->variable, node,
                                         dtg_graph_node(it->graph, node)->type.shape.dims[0]};
  if (group->variable == DTG_NO_NODE)
    return; /* every owner has computed it */
  size_t at = it->out->exchanges.len;
  dtg_vec_push(arena, &it->out->exchanges, exchange);
  for (; at > 0 && it->out->exchanges.data[at - 1].phase > exchange.phase; at--)
    it->out->exchanges.data[at] = it->out->exchanges.data[at - 1];
  it->out->exchanges.data[at] = exchange;
}

static void list_exchanges(struct splitter *it, struct dtg_arena *arena) {
  for (uint32_t n = 0; n < it->graph->nodes.len; n++) {
    const struct dtg_node *node = dtg_graph_node(it->graph, n);
    if (is_block_sum(node) && dtg_links_stored(it->groups->links, n))
      add_exchange(it, arena, n);
  }
}

struct dtg_update_split *dtg_update_split_new(struct dtg_arena *arena,
                                              const struct dtg_module *module,
                                              const struct dtg_groups *groups) {
  struct dtg_update_split *out = DTG_NEW(arena, struct dtg_update_split);
  struct splitter it = {.module = module, .graph = module->update, .groups = groups, .out = out};
  it.owners = dtg_owner_paths(arena, module->update);
  out->phases = 1;
  out->groups = DTG_NEW_ARRAY(arena, struct dtg_update_group, groups->count);
  out->whole = DTG_NEW_ARRAY(arena, bool, module->variables.len);
  for (uint32_t g = 0; g < groups->count; g++)
    split_group(&it, g);
  check_trees(&it);
  number_phases(&it, arena);
  list_exchanges(&it, arena);
  return out;
}
