/* Builds the nest of a group: the axes first, then the values that its results want. */
#include "compiler/ir/nest_build.h"

#include "compiler/base/bug.h"

static bool member(const struct dtg_nest_builder *build, uint32_t node) {
  return build->nest->links->group[node] == build->nest->group;
}

static bool is_reduce(const struct dtg_nest_builder *build, uint32_t id) {
  return member(build, id) && dtg_graph_node(build->graph, id)->op->class == DTG_CLASS_REDUCE;
}

/* The largest tensor: the operand of the first reduction, else the largest member. */
static bool find_seed(struct dtg_nest_builder *build) {
  int64_t largest = -1;
  for (uint32_t i = 0; i < build->member_count; i++) {
    const struct dtg_node *node = dtg_graph_node(build->graph, build->members[i]);
    if (is_reduce(build, build->members[i])) {
      build->reduce = node;
      build->seed = dtg_graph_node(build->graph, node->inputs[0])->type.shape;
      dtg_reduced_axes(node, &build->seed, build->seed_reduced);
      return node->op->form != DTG_REDUCE_TREE;
    }
    if (dtg_shape_count(&node->type.shape) > largest) {
      largest = dtg_shape_count(&node->type.shape);
      build->seed = node->type.shape;
    }
  }
  return true;
}

/* Adds the boundaries of a shape of the same count: all must divide one another. */
static void refine(struct dtg_nest_builder *build, const struct dtg_shape *shape) {
  int64_t merged[DTG_FORM_AXES + 1], strides[DTG_MAX_RANK];
  uint32_t count = 0, next = 0;
  if (dtg_shape_count(shape) != build->bounds[0])
    return;
  dtg_shape_strides(shape, strides);
  for (uint32_t i = 0; i < build->bound_count || next < shape->rank;) {
    int64_t a = i < build->bound_count ? build->bounds[i] : 0;
    int64_t b = next < shape->rank ? strides[next] : 0;
    int64_t bound = a > b ? a : b;
    i += a == bound;
    next += b == bound;
    if (count > 0 && merged[count - 1] == bound)
      continue;
    if (count > DTG_FORM_AXES - 2 || (count > 0 && merged[count - 1] % bound != 0))
      return;
    merged[count++] = bound;
  }
  build->bound_count = count;
  for (uint32_t i = 0; i < count; i++)
    build->bounds[i] = merged[i];
}

/* Shapes that views inside the group connect: indices can be split at their boundaries. */
static void refine_views(struct dtg_nest_builder *build, uint32_t id, uint32_t depth) {
  const struct dtg_node *node = dtg_graph_node(build->graph, id);
  if (depth > DTG_NEST_MEMBERS || dtg_links_in_memory(build->nest->links, id, build->nest->group))
    return;
  if (build->seen[id])
    return;
  build->seen[id] = true;
  if (node->op->class == DTG_CLASS_VIEW &&
      !dtg_links_in_memory(build->nest->links, node->inputs[0], build->nest->group)) {
    refine(build, &node->type.shape);
    refine(build, &dtg_graph_node(build->graph, node->inputs[0])->type.shape);
  }
  for (uint32_t i = 0; i < node->input_count; i++)
    refine_views(build, node->inputs[i], depth + 1);
}

static void find_bounds(struct dtg_nest_builder *build) {
  int64_t strides[DTG_MAX_RANK];
  build->bounds[0] = dtg_shape_count(&build->seed);
  build->bound_count = 1;
  if (build->bounds[0] != 1)
    build->bounds[build->bound_count++] = 1;
  dtg_shape_strides(&build->seed, strides);
  refine(build, &build->seed);
  for (uint32_t i = 0; i < build->member_count; i++) {
    const struct dtg_node *node = dtg_graph_node(build->graph, build->members[i]);
    if (!build->reduce || node->op->class == DTG_CLASS_REDUCE)
      refine(build, &node->type.shape);
    refine_views(build, build->members[i], 0);
  }
}

static void add_axis(struct dtg_nest *nest, int64_t extent, bool reduced, int64_t block) {
  nest->axes[nest->rank] =
      (struct dtg_nest_axis){.extent = extent, .reduced = reduced, .block = block};
  if (!reduced)
    nest->kept_mask |= 1u << nest->rank;
  nest->rank++;
}

static bool make_axes(struct dtg_nest_builder *build) {
  struct dtg_nest *nest = build->nest;
  int64_t strides[DTG_MAX_RANK];
  bool blocks = build->reduce && build->reduce->op->form == DTG_REDUCE_BLOCKS;
  int64_t block_count = blocks ? dtg_block_count(&build->seed) : 1;
  if (build->bound_count > DTG_FORM_AXES)
    return false;
  dtg_shape_strides(&build->seed, strides);
  if (block_count > 1) {
    nest->blocked = true;
    add_axis(nest, block_count, false, 0);
  }
  for (uint32_t i = 0; i + 1 < build->bound_count; i++) {
    uint32_t dim = 0;
    while (dim + 1 < build->seed.rank &&
           (strides[dim] > build->bounds[i + 1] || build->seed.dims[dim] == 1))
      dim++;
    bool first = block_count > 1 && dim == 0;
    if (first && build->bounds[i] / build->bounds[i + 1] != build->seed.dims[0])
      return false;
    nest->full_mask |= 1u << nest->rank;
    add_axis(nest, build->bounds[i] / build->bounds[i + 1], build->seed_reduced[dim],
             first ? dtg_block_rows(&build->seed) : 0);
  }
  if (build->reduce && (nest->full_mask & ~nest->kept_mask) == 0) {
    if (nest->rank == DTG_FORM_AXES)
      return false;
    nest->full_mask |= 1u << nest->rank;
    add_axis(nest, 1, true, 0); /* what is reduced is one element: a pass needs a loop */
  }
  return true;
}

int64_t dtg_nest_count(const struct dtg_nest *nest, uint32_t mask) {
  int64_t count = 1;
  for (uint32_t i = 0; i < nest->rank; i++)
    count *= mask >> i & 1 ? nest->axes[i].extent : 1;
  return count;
}

bool dtg_nest_in_row(const struct dtg_nest *nest, const struct dtg_nest_value *value) {
  return (value->axes & ~nest->kept_mask) != 0;
}

/* Indices of a tensor whose dims enumerate the axes of `mask` in order. */
bool dtg_nest_match(const struct dtg_nest *nest, const struct dtg_shape *shape, uint32_t mask,
                    struct dtg_form *index) {
  uint32_t axis = nest->rank;
  for (uint32_t j = shape->rank; j-- > 0;) {
    int64_t done = 1;
    index[j] = dtg_form_const(0);
    while (done < shape->dims[j]) {
      do {
        if (axis == 0)
          return false;
        axis--;
      } while (!(mask >> axis & 1) || nest->axes[axis].extent == 1);
      index[j].coef[axis] = done;
      done *= nest->axes[axis].extent;
    }
    if (done != shape->dims[j])
      return false;
  }
  while (axis > 0 && (!(mask >> (axis - 1) & 1) || nest->axes[axis - 1].extent == 1))
    axis--;
  return axis == 0;
}

static uint32_t add_output_buffer(struct dtg_nest_builder *build, uint32_t node) {
  struct dtg_nest_buffer buffer = {
      .node = node, .type = dtg_graph_node(build->graph, node)->type, .written = true};
  dtg_vec_push(build->arena, &build->nest->buffers, buffer);
  return (uint32_t)build->nest->buffers.len - 1;
}

/* A result is wanted at the indices by which its shape enumerates all axes, or the kept ones. */
static bool want_output(struct dtg_nest_builder *build, uint32_t id) {
  struct dtg_nest *nest = build->nest;
  const struct dtg_node *node = dtg_graph_node(build->graph, id);
  struct dtg_form index[DTG_MAX_RANK];
  struct dtg_nest_output output = {0};
  bool rows = dtg_nest_match(nest, &node->type.shape, nest->kept_mask, index);
  if (!rows && !dtg_nest_match(nest, &node->type.shape, nest->full_mask, index))
    return dtg_nest_refuse(build, "a result has neither the shape of the rows nor the full one");
  output.in_row = !rows;
  output.address = dtg_form_flatten(&node->type.shape, index);
  if (!dtg_nest_want(build, id, index, &output.value))
    return false;
  if (!output.in_row && dtg_nest_in_row(nest, &nest->values.data[output.value]))
    return dtg_nest_refuse(build, "a result of the rows depends on a reduced axis");
  dtg_vec_push(build->arena, &nest->outputs, output);
  return true;
}

static bool want_outputs(struct dtg_nest_builder *build) {
  struct dtg_nest *nest = build->nest;
  for (uint32_t i = 0; i < build->member_count; i++) {
    if (!dtg_links_stored(nest->links, build->members[i]))
      continue;
    if (nest->outputs.len == DTG_NEST_OUTPUTS)
      return dtg_nest_refuse(build, "too many results");
    if (!want_output(build, build->members[i]))
      return false;
    nest->outputs.data[nest->outputs.len - 1].buffer = build->members[i];
  }
  for (size_t i = 0; i < nest->outputs.len; i++)
    nest->outputs.data[i].buffer = add_output_buffer(build, nest->outputs.data[i].buffer);
  if (nest->buffers.len > DTG_NEST_BUFFERS)
    return dtg_nest_refuse(build, "too many buffers");
  return true;
}

static bool count_passes(struct dtg_nest_builder *build) {
  struct dtg_nest *nest = build->nest;
  for (size_t i = 0; i < nest->values.len; i++) {
    const struct dtg_nest_value *value = &nest->values.data[i];
    if (value->kind == DTG_VALUE_REDUCED && value->level > nest->passes)
      nest->passes = value->level;
  }
  for (size_t i = 0; i < nest->outputs.len; i++) {
    const struct dtg_nest_output *output = &nest->outputs.data[i];
    uint32_t level = nest->values.data[output->value].level;
    if (output->in_row && level + 1 > nest->passes)
      nest->passes = level + 1;
  }
  return nest->passes <= DTG_NEST_PASSES || dtg_nest_refuse(build, "too many passes over a row");
}

struct dtg_nest *dtg_nest_new(struct dtg_arena *arena, const struct dtg_links *links,
                              uint32_t group, const uint32_t *members, uint32_t member_count,
                              const char **why) {
  struct dtg_nest_builder build = {.arena = arena,
                                   .graph = links->graph,
                                   .members = members,
                                   .member_count = member_count,
                                   .why = why};
  *why = "it has too many nodes";
  if (member_count > DTG_NEST_MEMBERS)
    return NULL;
  build.nest = DTG_NEW(arena, struct dtg_nest);
  build.nest->links = links;
  build.nest->group = group;
  build.seen = DTG_NEW_ARRAY(arena, bool, links->graph->nodes.len);
  *why = "a sum by a tree is a kernel of its own";
  if (!find_seed(&build))
    return NULL;
  find_bounds(&build);
  *why = "its axes cannot be enumerated";
  if (!make_axes(&build) || !want_outputs(&build) || !count_passes(&build))
    return NULL;
  dtg_nest_collapse(build.nest);
  return build.nest;
}
