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
  DTG_SPACE_SCALAR        /* index = enum dtg_scalar */
};

enum dtg_scalar { /* order of struct dtr_scalars */
                  DTG_SCALAR_STEP,
                  DTG_SCALAR_UPDATES,
                  DTG_SCALAR_TOTAL_STEPS,
                  DTG_SCALAR_SHARD,
                  DTG_SCALAR_SEED
};

struct dtg_location {
  enum dtg_space space;
  uint32_t index;
  int64_t offset;
};

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

/* One launch. */
struct dtg_plan_step {
  uint32_t group;  /* fusion group of the graph */
  uint32_t kernel; /* index into plan->kernels */
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
  int64_t arena_bytes;     /* planned size */
  int64_t live_peak_bytes; /* largest live set: the lower bound */
  uint32_t live_peak_step;
};

struct dtg_plan_contribution {
  enum dtg_root_kind kind; /* LOSS, METRIC, GRAD, STATE */
  const char *name;
  struct dtg_type type;
  enum dtg_reduce reduce;
  int64_t offset; /* bytes */
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

#endif
