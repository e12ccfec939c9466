/* What the files of the schedule share. Private to compiler/schedule/. */
#ifndef DTG_SCHEDULE_INTERNAL_H
#define DTG_SCHEDULE_INTERNAL_H

#include "compiler/ir/group.h"
#include "compiler/ir/loop.h"
#include "compiler/schedule/schedule.h"

/* One graph being scheduled. */
struct dtg_schedule_state {
  struct dtg_arena *scratch;
  struct dtg_plan *plan;
  struct dtg_plan_function *function;
  const struct dtg_groups *groups;
  const struct dtg_schedule_options *options;
  uint32_t *buffer_of;             /* per node: its plan buffer, or DTG_NO_NODE */
  int index;                       /* DTG_PLAN_TRAIN, ...: of the function or of the one around */
  struct dtg_schedule_loop *loops; /* per group; unused where the group is no loop */
  const struct dtg_schedule_loop *body; /* the loop whose body this is, or NULL */
};

/* A loop being scheduled. Its scratch holds the second place of each carry, a place for each result
 * that nobody reads, then the arena of the body. */
struct dtg_schedule_loop {
  struct dtg_loop loop;
  struct dtg_plan_loop *plan;
  struct dtg_schedule_state state; /* of the body */
  int64_t *spare;                  /* per result: offset of its second or only place, or -1 */
  int64_t *unread;                 /* per result: offset of the place of a result without readers */
  int64_t arena;                   /* offset of the body's arena */
  int64_t bytes;
  /* bound: where things are */
  struct dtg_location *operands, *roots;
  struct dtg_location *carries; /* as the body reads them */
};

/* Schedules the bodies of the function's loops: after that their sizes are known. */
void dtg_schedule_loops(struct dtg_schedule_state *state);
/* Once the function's own places are known: those of the bodies. */
void dtg_schedule_bind_loops(struct dtg_schedule_state *state);
/* Order and buffers of a function, in the best way. */
void dtg_schedule_function(struct dtg_schedule_state *state);
/* Where a body's leaf or root is; of roots, before they are bound: that they lie around. */
struct dtg_location dtg_loop_leaf_location(const struct dtg_schedule_loop *loop,
                                           const struct dtg_node *leaf);

/* A piece of the arena: one buffer, or several that take it over one after the other. */
struct dtg_arena_piece {
  int64_t bytes;
  uint32_t first, last; /* steps, inclusive */
  int64_t offset;       /* result */
  bool high;            /* placed at the upper end of its gap */
};

/* Puts the pieces at multiples of 64 so that pieces with common steps are disjoint; the size. */
int64_t dtg_arena_assign(struct dtg_arena *scratch, struct dtg_arena_piece *pieces, size_t count);
/* The largest sum of the pieces that live at one step: no assignment is smaller. */
int64_t dtg_arena_live_peak(const struct dtg_arena_piece *pieces, size_t count, uint32_t steps,
                            uint32_t *peak_step);

/* Orders in which the groups can run: order[i] = the group of step i. `number` counts the ways;
 * false past the last one. */
bool dtg_schedule_order(const struct dtg_schedule_state *state, uint32_t number, uint32_t *order);

/* Fills buffers, live ranges and arena offsets of the function for an order. */
void dtg_schedule_buffers(struct dtg_schedule_state *state, const uint32_t *order);
/* Fills the arguments of the steps, and where the roots are. */
void dtg_schedule_args(struct dtg_schedule_state *state);

/* Layouts. */
void dtg_schedule_variables(struct dtg_plan *plan);
/* `shards`: how many a block can hold the sum of. */
void dtg_schedule_contributions(struct dtg_plan *plan, int64_t shards);

/* Where a root must be written: false for outputs, and for variables that keep their value. */
bool dtg_root_location(const struct dtg_plan *plan, int function, const struct dtg_root *root,
                       struct dtg_location *at);
/* Where a leaf is read; `inputs` as in the options. */
struct dtg_location dtg_leaf_location(const struct dtg_plan *plan,
                                      const struct dtg_schedule_options *options,
                                      const struct dtg_node *leaf);
/* Bytes of a group's scratch buffer. */
int64_t dtg_scratch_bytes(const struct dtg_schedule_options *options, const struct dtg_graph *graph,
                          const struct dtg_group *group, const struct dtg_nest_buffer *buffer);

#endif
