#include "compiler/ir/plan.h"

void dtg_plan_launches(struct dtg_arena *arena, const struct dtg_plan_function *function,
                       struct dtg_launch_list *out) {
  for (size_t i = 0; i < function->steps.len; i++) {
    struct dtg_plan_step *step = &function->steps.data[i];
    if (step->loop) {
      dtg_plan_launches(arena, &step->loop->body, out);
      continue;
    }
    struct dtg_launch launch = {function, step};
    dtg_vec_push(arena, &out->list, launch);
  }
}

size_t dtg_plan_launch_count(const struct dtg_plan_function *function) {
  size_t count = 0;
  for (size_t i = 0; i < function->steps.len; i++) {
    const struct dtg_plan_step *step = &function->steps.data[i];
    count += step->loop ? dtg_plan_launch_count(&step->loop->body) : 1;
  }
  return count;
}

static const struct dtg_move *keep_move(struct dtg_arena *arena, struct dtg_move move,
                                        const struct dtg_move *rest) {
  struct dtg_move *kept = DTG_NEW(arena, struct dtg_move);
  *kept = move;
  kept->next = rest;
  return kept;
}

static const struct dtg_move *add_stride(struct dtg_arena *arena, const struct dtg_move *moves,
                                         struct dtg_move stride) {
  if (!moves)
    return keep_move(arena, stride, NULL);
  struct dtg_move first = *moves;
  if (first.kind != DTG_MOVE_STRIDE)
    first.other.moves = add_stride(arena, first.other.moves, stride);
  return keep_move(arena, first, add_stride(arena, moves->next, stride));
}

struct dtg_location dtg_location_stride(struct dtg_arena *arena, struct dtg_location at,
                                        uint32_t depth, int64_t stride) {
  at.moves =
      add_stride(arena, at.moves,
                 (struct dtg_move){.kind = DTG_MOVE_STRIDE, .depth = depth, .stride = stride});
  return at;
}

struct dtg_location dtg_location_choose(struct dtg_arena *arena, struct dtg_location at,
                                        enum dtg_move_kind kind, uint32_t depth,
                                        struct dtg_location other) {
  at.moves =
      keep_move(arena, (struct dtg_move){.kind = kind, .depth = depth, .other = other}, at.moves);
  return at;
}

struct dtg_location dtg_location_at(const struct dtg_location *location,
                                    const struct dtg_iteration *iterations) {
  struct dtg_location at = *location;
  at.moves = NULL;
  for (const struct dtg_move *move = location->moves; move; move = move->next) {
    const struct dtg_iteration *in = &iterations[move->depth];
    if (move->kind == DTG_MOVE_STRIDE)
      at.offset += in->index * move->stride;
    else if (move->kind == DTG_MOVE_FIRST ? in->number == 0 : in->number % 2 != 0)
      return dtg_location_at(&move->other, iterations);
  }
  return at;
}
