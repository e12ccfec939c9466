/* Loops in the schedule: one step of the function around, whose body is a function of its own.
 *
 * A carry has two places, which the iterations write in turn, so that the old value can be read as
 * long as the new one is being made: the place of the result, which the last iteration writes, and
 * one in the loop's scratch. The first iteration reads the carry where the function around has it;
 * nothing is copied. Stacks are written entry by entry in the place of the result. */
#include "compiler/base/bug.h"
#include "compiler/schedule/internal.h"

#include <stdlib.h>

/* The member of the group that is result `number`, or DTG_NO_NODE. */
static uint32_t result_node(const struct dtg_graph *graph, const struct dtg_group *group,
                            uint32_t number) {
  for (uint32_t i = 1; i < group->member_count; i++) {
    if (dtg_node_int(dtg_graph_node(graph, group->members[i]), "index", 0) == number)
      return group->members[i];
  }
  return DTG_NO_NODE;
}

static int64_t place(int64_t *bytes, const struct dtg_type *type) {
  int64_t at = *bytes;
  *bytes += dtg_align(dtg_type_bytes(type));
  return at;
}

/* Offsets in the scratch. */
static void lay_out(struct dtg_schedule_loop *it, const struct dtg_graph *graph,
                    const struct dtg_group *group, struct dtg_arena *scratch) {
  it->spare = DTG_NEW_ARRAY(scratch, int64_t, it->loop.results);
  it->unread = DTG_NEW_ARRAY(scratch, int64_t, it->loop.results);
  for (uint32_t i = 0; i < it->loop.results; i++) {
    const struct dtg_type *type =
        &dtg_graph_node(it->loop.body, it->loop.body->roots.data[i].node)->type;
    bool read = result_node(graph, group, i) != DTG_NO_NODE;
    it->unread[i] = read ? -1 : place(&it->bytes, type);
    it->spare[i] = i < it->loop.carries ? place(&it->bytes, type) : -1;
  }
  it->arena = it->bytes;
  it->bytes += it->plan->body.arena_bytes;
}

static void schedule_loop(struct dtg_schedule_state *state, uint32_t number) {
  struct dtg_schedule_loop *it = &state->loops[number];
  const struct dtg_group *group = &state->groups->groups[number];
  it->loop = dtg_loop_of(state->function->graph, group->members[0]);
  it->plan = DTG_NEW(state->plan->arena, struct dtg_plan_loop);
  it->plan->count = it->loop.count;
  it->plan->reverse = it->loop.reverse;
  it->plan->depth = state->body ? state->body->plan->depth + 1 : 0;
  if (it->plan->depth >= DTG_MAX_LOOP_DEPTH)
    dtg_bug("loops are nested more than %d deep", DTG_MAX_LOOP_DEPTH);
  it->plan->body.name = state->function->name;
  it->plan->body.graph = it->loop.body;
  it->plan->body.groups = dtg_groups_new(state->plan->arena, it->loop.body);
  it->state = *state;
  it->state.function = &it->plan->body;
  it->state.groups = it->plan->body.groups;
  it->state.body = it;
  dtg_schedule_function(&it->state);
  lay_out(it, state->function->graph, group, state->scratch);
}

void dtg_schedule_loops(struct dtg_schedule_state *state) {
  state->loops = DTG_NEW_ARRAY(state->scratch, struct dtg_schedule_loop, state->groups->count);
  for (uint32_t i = 0; i < state->groups->count; i++) {
    if (state->groups->groups[i].kind == DTG_GROUP_SCAN)
      schedule_loop(state, i);
  }
}

/* ---- places ---- */

static struct dtg_location scratch_at(const struct dtg_plan_step *step, int64_t offset) {
  struct dtg_location at = step->args.data[step->args.len - 1];
  at.offset += offset;
  return at;
}

static int64_t entry_bytes(const struct dtg_loop *loop, uint32_t root) {
  return dtg_type_bytes(&dtg_graph_node(loop->body, loop->body->roots.data[root].node)->type);
}

/* Where the result is, as the step's arguments say; else its place in the scratch. */
static struct dtg_location result_place(const struct dtg_schedule_loop *it,
                                        const struct dtg_plan_step *step,
                                        const struct dtg_group *group,
                                        const struct dtg_graph *graph, uint32_t number) {
  uint32_t node = result_node(graph, group, number);
  for (uint32_t i = 0; node != DTG_NO_NODE && i < group->buffers.len; i++) {
    if (group->buffers.data[i].node == node && group->buffers.data[i].written)
      return step->args.data[i];
  }
  return scratch_at(step, it->unread[number]);
}

/* Iteration count - 1 writes to `result`, the one before to `spare`, and so on. */
static void bind_carry(struct dtg_schedule_loop *it, struct dtg_arena *arena, uint32_t number,
                       struct dtg_location result, struct dtg_location spare) {
  uint32_t depth = it->plan->depth;
  bool even = (it->plan->count - 1) % 2 == 0;
  struct dtg_location first = even ? result : spare, second = even ? spare : result;
  it->roots[number] = dtg_location_choose(arena, first, DTG_MOVE_ODD, depth, second);
  it->carries[number] =
      dtg_location_choose(arena, dtg_location_choose(arena, second, DTG_MOVE_ODD, depth, first),
                          DTG_MOVE_FIRST, depth, it->operands[number]);
}

static void bind_places(struct dtg_schedule_loop *it, struct dtg_schedule_state *state,
                        const struct dtg_plan_step *step) {
  struct dtg_arena *arena = state->plan->arena;
  const struct dtg_graph *graph = state->function->graph;
  const struct dtg_group *group = &state->groups->groups[step->group];
  it->operands = step->args.data;
  it->roots = DTG_NEW_ARRAY(state->scratch, struct dtg_location, it->loop.results);
  it->carries = DTG_NEW_ARRAY(state->scratch, struct dtg_location, it->loop.carries);
  for (uint32_t i = 0; i < it->loop.results; i++) {
    struct dtg_location at = result_place(it, step, group, graph, i);
    if (i < it->loop.carries)
      bind_carry(it, arena, i, at, scratch_at(step, it->spare[i]));
    else
      it->roots[i] = it->unread[i] >= 0 ? at
                                        : dtg_location_stride(arena, at, it->plan->depth,
                                                              entry_bytes(&it->loop, i));
  }
  it->plan->arena_offset = it->bytes > 0 ? scratch_at(step, it->arena).offset : 0;
}

static void bind_buffers(struct dtg_schedule_loop *it) {
  struct dtg_plan_function *body = &it->plan->body;
  for (size_t i = 0; i < body->buffers.len; i++) {
    struct dtg_plan_buffer *buffer = &body->buffers.data[i];
    if (buffer->at.space == DTG_SPACE_ITERATION)
      buffer->at = it->roots[buffer->at.index];
    else
      buffer->at.offset += it->plan->arena_offset;
  }
}

void dtg_schedule_bind_loops(struct dtg_schedule_state *state) {
  for (size_t s = 0; s < state->function->steps.len; s++) {
    const struct dtg_plan_step *step = &state->function->steps.data[s];
    if (!step->loop)
      continue;
    struct dtg_schedule_loop *it = &state->loops[step->group];
    bind_places(it, state, step);
    bind_buffers(it);
    dtg_schedule_args(&it->state);
    dtg_schedule_bind_loops(&it->state);
  }
}

struct dtg_location dtg_loop_leaf_location(const struct dtg_schedule_loop *it,
                                           const struct dtg_node *leaf) {
  uint32_t index = 0;
  switch (dtg_loop_leaf_of(leaf, &index)) {
  case DTG_LOOP_CARRY:
    return it->carries[index];
  case DTG_LOOP_SLICE:
    return dtg_location_stride(it->state.plan->arena, it->operands[it->loop.carries + index],
                               it->plan->depth, dtg_type_bytes(&leaf->type));
  case DTG_LOOP_VALUE:
    return it->operands[it->loop.carries + it->loop.slices + index];
  case DTG_LOOP_INDEX:
    return (struct dtg_location){.space = DTG_SPACE_ITERATION, .index = it->plan->depth};
  case DTG_LOOP_NONE:
    break;
  }
  dtg_bug("`%s` is no leaf of a body", leaf->op->name);
}
