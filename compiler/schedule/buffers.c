/* Buffers of a function for an order of its groups: live ranges, memory taken over, offsets. */
#include "compiler/schedule/internal.h"

#include "compiler/base/bug.h"

#include <string.h>

struct assembly {
  struct dtg_schedule_state *state;
  uint32_t *step_of; /* per group */
  uint32_t *piece;   /* per buffer: its arena piece */
  DTG_VEC(struct dtg_arena_piece) pieces;
};

static uint32_t add_buffer(struct assembly *it, uint32_t node, int64_t bytes, uint32_t step) {
  struct dtg_plan_function *function = it->state->function;
  struct dtg_plan_buffer buffer = {.node = node,
                                   .bytes = dtg_align(bytes),
                                   .first_step = step,
                                   .last_step = step,
                                   .in_place_of = DTG_NO_NODE};
  dtg_vec_push(it->state->plan->arena, &function->buffers, buffer);
  return (uint32_t)function->buffers.len - 1;
}

static void add_outputs(struct assembly *it, const struct dtg_group *group, uint32_t step) {
  struct dtg_schedule_state *state = it->state;
  for (size_t i = 0; i < group->buffers.len; i++) {
    const struct dtg_nest_buffer *buffer = &group->buffers.data[i];
    if (buffer->node == DTG_NO_NODE) {
      int64_t bytes =
          group->kind == DTG_GROUP_SCAN
              ? state->loops[group - state->groups->groups].bytes
              : dtg_scratch_bytes(state->options, state->function->graph, group, buffer);
      if (bytes > 0)
        add_buffer(it, DTG_NO_NODE, bytes, step);
    } else if (buffer->written) {
      state->buffer_of[buffer->node] =
          add_buffer(it, buffer->node, dtg_type_bytes(&buffer->type), step);
    }
  }
}

static void extend_range(struct assembly *it, uint32_t node) {
  struct dtg_plan_buffer *buffer = &it->state->function->buffers.data[it->state->buffer_of[node]];
  const struct dtg_links *links = it->state->groups->links;
  for (uint32_t i = links->reader_start[node]; i < links->reader_start[node + 1]; i++) {
    uint32_t step = it->step_of[links->group[links->readers[i]]];
    if (step > buffer->last_step)
      buffer->last_step = step;
  }
}

/* Roots have memory of their own, or (outputs) live beyond the last step. */
static void place_roots(struct assembly *it) {
  struct dtg_schedule_state *state = it->state;
  const struct dtg_graph *graph = state->function->graph;
  for (size_t i = 0; i < graph->roots.len; i++) {
    const struct dtg_root *root = &graph->roots.data[i];
    uint32_t base = dtg_links_base(state->groups->links, root->node);
    if (base == DTG_NO_NODE)
      dtg_bug("root `%s` has no memory", root->name);
    if (state->groups->links->group[base] == DTG_NO_GROUP)
      continue;
    struct dtg_plan_buffer *buffer = &state->function->buffers.data[state->buffer_of[base]];
    if (state->body)
      buffer->at = (struct dtg_location){.space = DTG_SPACE_ITERATION, .index = (uint32_t)i};
    else if (!dtg_root_location(state->plan, state->index, root, &buffer->at))
      buffer->last_step = state->groups->count;
  }
}

/* A read buffer of the group whose memory the output may take over: it dies here. */
static uint32_t dying_operand(const struct assembly *it, const struct dtg_group *group,
                              const struct dtg_nest_output *output, uint32_t step) {
  const struct dtg_plan_function *function = it->state->function;
  uint32_t own = it->state->buffer_of[group->buffers.data[output->buffer].node];
  for (uint32_t i = 0; i < group->buffers.len; i++) {
    uint32_t node = group->buffers.data[i].node;
    uint32_t operand = it->state->buffer_of[node];
    if (operand == DTG_NO_NODE || group->buffers.data[i].written)
      continue;
    const struct dtg_plan_buffer *from = &function->buffers.data[operand];
    if (from->at.space != DTG_SPACE_ARENA || from->last_step != step ||
        from->bytes != function->buffers.data[own].bytes)
      continue;
    bool taken = false;
    for (size_t k = 0; k < function->buffers.len; k++)
      taken = taken || function->buffers.data[k].in_place_of == operand;
    if (!taken && dtg_nest_may_overwrite(group->nest, output, i))
      return operand;
  }
  return DTG_NO_NODE;
}

static void take_over(struct assembly *it, const struct dtg_group *group, uint32_t step) {
  struct dtg_plan_function *function = it->state->function;
  for (size_t i = 0; group->nest && i < group->nest->outputs.len; i++) {
    const struct dtg_nest_output *output = &group->nest->outputs.data[i];
    uint32_t own = it->state->buffer_of[group->buffers.data[output->buffer].node];
    if (function->buffers.data[own].at.space == DTG_SPACE_ARENA)
      function->buffers.data[own].in_place_of = dying_operand(it, group, output, step);
  }
}

static void make_pieces(struct assembly *it) {
  struct dtg_plan_function *function = it->state->function;
  it->piece = DTG_NEW_ARRAY(it->state->scratch, uint32_t, function->buffers.len);
  for (size_t i = 0; i < function->buffers.len; i++) {
    const struct dtg_plan_buffer *buffer = &function->buffers.data[i];
    struct dtg_arena_piece piece = {
        .bytes = buffer->bytes, .first = buffer->first_step, .last = buffer->last_step};
    if (buffer->at.space != DTG_SPACE_ARENA)
      continue;
    if (buffer->in_place_of != DTG_NO_NODE) { /* an earlier buffer: they are listed by step */
      it->piece[i] = it->piece[buffer->in_place_of];
      struct dtg_arena_piece *taken = &it->pieces.data[it->piece[i]];
      taken->last = buffer->last_step > taken->last ? buffer->last_step : taken->last;
      continue;
    }
    it->piece[i] = (uint32_t)it->pieces.len;
    dtg_vec_push(it->state->scratch, &it->pieces, piece);
  }
}

void dtg_schedule_buffers(struct dtg_schedule_state *state, const uint32_t *order) {
  struct dtg_plan_function *function = state->function;
  const struct dtg_groups *groups = state->groups;
  struct assembly it = {.state = state};
  it.step_of = DTG_NEW_ARRAY(state->scratch, uint32_t, groups->count);
  function->buffers.len = 0;
  for (size_t i = 0; i < function->graph->nodes.len; i++)
    state->buffer_of[i] = DTG_NO_NODE;
  for (uint32_t step = 0; step < groups->count; step++) {
    it.step_of[order[step]] = step;
    add_outputs(&it, &groups->groups[order[step]], step);
  }
  for (uint32_t node = 0; node < function->graph->nodes.len; node++) {
    if (state->buffer_of[node] != DTG_NO_NODE)
      extend_range(&it, node);
  }
  place_roots(&it);
  for (uint32_t step = 0; step < groups->count; step++)
    take_over(&it, &groups->groups[order[step]], step);
  make_pieces(&it);
  function->live_peak_bytes =
      dtg_arena_live_peak(it.pieces.data, it.pieces.len, groups->count, &function->live_peak_step);
  function->arena_bytes = dtg_arena_assign(state->scratch, it.pieces.data, it.pieces.len);
  for (size_t i = 0; i < function->buffers.len; i++) {
    struct dtg_plan_buffer *buffer = &function->buffers.data[i];
    if (buffer->at.space == DTG_SPACE_ARENA)
      buffer->at.offset = it.pieces.data[it.piece[i]].offset;
  }
  function->steps.len = 0;
  for (uint32_t step = 0; step < groups->count; step++) {
    struct dtg_plan_step launch = {
        .group = order[step], .kernel = DTG_NO_NODE, .loop = state->loops[order[step]].plan};
    dtg_vec_push(state->plan->arena, &function->steps, launch);
  }
}

static struct dtg_location node_location(const struct dtg_schedule_state *state, uint32_t node) {
  if (state->buffer_of[node] != DTG_NO_NODE)
    return state->function->buffers.data[state->buffer_of[node]].at;
  if (state->body)
    return dtg_loop_leaf_location(state->body, dtg_graph_node(state->function->graph, node));
  return dtg_leaf_location(state->plan, state->options,
                           dtg_graph_node(state->function->graph, node));
}

static void locate_roots(struct dtg_schedule_state *state) {
  const struct dtg_graph *graph = state->function->graph;
  state->function->roots.len = 0;
  for (size_t i = 0; i < graph->roots.len; i++) {
    uint32_t base = dtg_links_base(state->groups->links, graph->roots.data[i].node);
    struct dtg_location at = node_location(state, base);
    dtg_vec_push(state->plan->arena, &state->function->roots, at);
  }
}

void dtg_schedule_args(struct dtg_schedule_state *state) {
  struct dtg_plan_function *function = state->function;
  uint32_t scratch = 0;
  locate_roots(state);
  for (size_t s = 0; s < function->steps.len; s++) {
    struct dtg_plan_step *step = &function->steps.data[s];
    const struct dtg_group *group = &state->groups->groups[step->group];
    for (size_t i = 0; i < group->buffers.len; i++) {
      const struct dtg_nest_buffer *buffer = &group->buffers.data[i];
      if (buffer->node != DTG_NO_NODE) {
        struct dtg_location at = node_location(state, buffer->node);
        dtg_vec_push(state->plan->arena, &step->args, at);
        dtg_vec_push(state->plan->arena, &step->nodes, buffer->node);
        continue;
      }
      while (scratch < function->buffers.len &&
             (function->buffers.data[scratch].node != DTG_NO_NODE ||
              function->buffers.data[scratch].first_step < s))
        scratch++;
      if (scratch == function->buffers.len || function->buffers.data[scratch].first_step != s)
        continue; /* the library needs none */
      dtg_vec_push(state->plan->arena, &step->args, function->buffers.data[scratch].at);
      dtg_vec_push(state->plan->arena, &step->nodes, DTG_NO_NODE);
    }
  }
}
