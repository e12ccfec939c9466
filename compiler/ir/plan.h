/* The plan: what runs, in which order, at which offsets.
 *
 * Purpose: the result of stage 10 (schedule), completed by stage 11 (kernels), read by stages 12
 * and 13 and by the tools. One plan describes one class of equal devices. Ownership: an arena of
 * the compilation. Threads: none.
 */
#ifndef DTG_IR_PLAN_H
#define DTG_IR_PLAN_H

#include "compiler/ir/graph.h"
#include "compiler/ir/kernel.h"

/* Memory spaces of a device; a location is (space, index, byte offset). */
enum dtg_space {
  DTG_SPACE_ARENA,        /* scratch of one thread; offset */
  DTG_SPACE_VARIABLE,     /* offset in the block of parameters, states and slots */
  DTG_SPACE_CONTRIBUTION, /* offset in the block of what a shard contributes (eval: the metrics) */
  DTG_SPACE_FEED,         /* index = model input */
  DTG_SPACE_SCALAR,       /* index = enum dtg_scalar */
  DTG_SPACE_ITERATION     /* index = depth of a loop: the number of its iteration, i64 */
};

enum dtg_scalar { /* order of struct dtr_scalars */
                  DTG_SCALAR_STEP,
                  DTG_SCALAR_UPDATES,
                  DTG_SCALAR_TOTAL_STEPS,
                  DTG_SCALAR_SHARD,
                  DTG_SCALAR_SEED
};

/* `moves`: how a location in a loop depends on the iteration; NULL: not at all. They apply in
 * order: a choice whose condition holds replaces the location by `other`, which moves by itself. */
struct dtg_location {
  enum dtg_space space;
  uint32_t index;
  int64_t offset;
  const struct dtg_move *moves;
};

enum dtg_move_kind {
  DTG_MOVE_FIRST, /* choice: in the first iteration */
  DTG_MOVE_ODD,   /* choice: in the second, the fourth, ... */
  DTG_MOVE_STRIDE /* adds stride * index */
};
struct dtg_move {
  enum dtg_move_kind kind;
  uint32_t depth; /* of the loop; the outermost has 0 */
  int64_t stride;
  struct dtg_location other;
  const struct dtg_move *next;
};

/* Where a loop stands: `number` counts iterations from 0; `index` is what the body sees, the same
 * or (reverse) counting down to 0. */
enum { DTG_MAX_LOOP_DEPTH = 8 };
struct dtg_iteration {
  int64_t number, index;
};

// Buffers lie at multiples of this, as in the runtime (DTR_ALIGN).
enum { DTG_ALIGN = 64 };

static inline int64_t dtg_align(int64_t bytes) {
  return (bytes + DTG_ALIGN - 1) / DTG_ALIGN * DTG_ALIGN;
}

/* Memory of one node's value (or of library scratch: node = DTG_NO_NODE). */
struct dtg_plan_buffer {
  uint32_t node;
  struct dtg_location at;
  int64_t bytes; /* rounded up to 64 */
  /* Live range in steps, inclusive; arena buffers only. What is read after the last step (outputs)
   * has the number of steps as its last one. */
  uint32_t first_step, last_step;
  uint32_t in_place_of; /* buffer whose memory it took over; DTG_NO_NODE */
};

/* One launch, or a loop over the launches of a body. */
struct dtg_plan_step {
  uint32_t group;             /* fusion group of the graph */
  uint32_t kernel;            /* index into plan->kernels; a loop has none */
  struct dtg_plan_loop *loop; /* or NULL; arguments: operands, results, scratch for all of it */
  DTG_VEC(struct dtg_location)
  args;                    /* one per kernel buffer, in order; gemm: A, B, C, and scratch if
                              the library needs some */
  DTG_VEC(uint32_t) nodes; /* per argument: the node whose value lies there; DTG_NO_NODE: scratch */
};

struct dtg_groups; /* compiler/ir/group.h */

struct dtg_plan_function {
  const char *name;                /* "train", "eval", "tail", "update" */
  const struct dtg_graph *graph;   /* NULL: the module has no such graph */
  const struct dtg_groups *groups; /* of the graph */
  DTG_VEC(struct dtg_plan_buffer) buffers;
  DTG_VEC(struct dtg_plan_step) steps;
  DTG_VEC(struct dtg_location) roots; /* of the graph's roots: where the value is afterwards */
  int64_t arena_bytes;                /* planned size */
  int64_t live_peak_bytes;            /* largest live set: the lower bound */
  uint32_t live_peak_step;
};

/* A scan: its body as a function, whose arena is a piece of that of the function around. Locations
 * in the body are complete: those of what it reads and writes around it too. */
struct dtg_plan_loop {
  int64_t count;
  bool reverse;
  uint32_t depth;
  struct dtg_plan_function body;
  int64_t arena_offset; /* where the body's arena begins */
};

struct dtg_plan_contribution {
  enum dtg_root_kind kind; /* LOSS, METRIC, GRAD, STATE */
  const char *name;
  struct dtg_type type;
  enum dtg_reduce reduce;
  int64_t offset; /* bytes */
  /* Sparse parameters: room for `capacity` rows. The list begins at `rows` with their number, then
   * their ids at `ids`, and at `offset` their values; `type` is what one shard writes there. */
  const struct dtg_sparse *sparse; /* NULL: dense */
  int64_t capacity, rows, ids;
};

enum { DTG_PLAN_TRAIN, DTG_PLAN_EVAL, DTG_PLAN_TAIL, DTG_PLAN_UPDATE, DTG_PLAN_FUNCTIONS };

struct dtg_plan {
  struct dtg_arena *arena;
  const struct dtg_module *module;
  struct dtg_plan_function functions[DTG_PLAN_FUNCTIONS];
  DTG_VEC(struct cg_kernel *) kernels; /* equal kernels of different groups are shared */
  int64_t *variable_offsets;           /* per module->variables */
  int64_t variables_bytes;
  DTG_VEC(struct dtg_plan_contribution) contributions; /* loss, metrics, grads, states */
  int64_t contribution_bytes;
  DTG_VEC(struct dtg_plan_contribution) metrics; /* eval layout: loss, then metrics */
  int64_t metrics_bytes;
};

/* The launches of a function in the order of the text, those of loops once. */
struct dtg_launch {
  const struct dtg_plan_function *function; /* or body */
  struct dtg_plan_step *step;
};
struct dtg_launch_list {
  DTG_VEC(struct dtg_launch) list;
};
void dtg_plan_launches(struct dtg_arena *arena, const struct dtg_plan_function *function,
                       struct dtg_launch_list *out);
size_t dtg_plan_launch_count(const struct dtg_plan_function *function);

/* The location, moved further by a loop. */
struct dtg_location dtg_location_stride(struct dtg_arena *arena, struct dtg_location at,
                                        uint32_t depth, int64_t stride);
struct dtg_location dtg_location_choose(struct dtg_arena *arena, struct dtg_location at,
                                        enum dtg_move_kind kind, uint32_t depth,
                                        struct dtg_location other);
/* Where it is in an iteration; `iterations` by depth. */
struct dtg_location dtg_location_at(const struct dtg_location *location,
                                    const struct dtg_iteration *iterations);

#endif
