/* Runs a plan through the kernel interpreter, over memory laid out as the plan says.
 *
 * Before each step all of the arena that no live buffer covers is poisoned, so that a buffer which
 * is read after its time, or before it was written, shows. Ownership: the arena given. Threads:
 * none. */
#ifndef PLAN_RUN_H
#define PLAN_RUN_H

#include "compiler/ops/evaluate.h"
#include "compiler/schedule/schedule.h"

struct plan_memory {
  const struct dtg_plan *plan;
  int function;
  struct dtg_schedule_options options;
  char *arena, *variables, *contribution;
  char *feeds[256];
  int64_t scalars[5];
  struct dtg_iteration iterations[DTG_MAX_LOOP_DEPTH];
};

/* Runs kernel `kernel` of the plan; NULL stands for the interpreter. */
typedef void plan_launch(void *context, const struct dtg_plan *plan, uint32_t kernel,
                         void *const *buffers);

/* Leaves get the values that `leaf` gives, as for dtg_evaluate. */
struct plan_memory *plan_run(struct dtg_arena *arena, const struct dtg_plan *plan, int function,
                             dtg_leaf_value *leaf, void *context);
struct plan_memory *plan_run_with(struct dtg_arena *arena, const struct dtg_plan *plan,
                                  int function, dtg_leaf_value *leaf, void *context,
                                  plan_launch *launch, void *launch_context);
/* The value of root `index` after the run, one double an element. */
double *plan_run_root(struct dtg_arena *arena, struct plan_memory *memory, size_t index);
/* The same as bytes. */
const void *plan_run_root_bytes(struct plan_memory *memory, size_t index, size_t *size);

/* A leaf that draws its values from its name (and `*(uint64_t *)context`): floats in [-2, 2),
 * integers from 0 to 4. */
void plan_leaf(void *context, const struct dtg_node *leaf, struct dtg_ref_tensor *out);

/* Optimises, schedules, verifies and lowers a module whose train graph is `graph`; its roots are
 * outputs. `fused`: one kernel a group, else one a node. */
struct dtg_plan *plan_make(struct dtg_ctx *ctx, const struct dtg_graph *graph, bool fused);

#endif
