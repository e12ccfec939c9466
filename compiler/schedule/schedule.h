/* Stage 10, schedule: the order of the launches and the place of every byte.
 *
 * Purpose: fused graphs to a plan: steps, arguments, arena offsets, layouts of variables and
 * contributions. Ownership: the plan lives in ctx->arena and points to the module. Threads: none.
 */
#ifndef DTG_SCHEDULE_SCHEDULE_H
#define DTG_SCHEDULE_SCHEDULE_H

#include "compiler/base/ctx.h"
#include "compiler/ir/plan.h"

struct dtg_schedule_options {
  /* Bytes of scratch that the library needs for a product; NULL: none. */
  int64_t (*scratch_bytes)(void *context, const struct cg_gemm *gemm);
  int64_t (*window_scratch_bytes)(void *context, const struct cg_window *window);
  void *scratch_context;
  /* Names of the model's inputs, in the order of the feeds. NULL: the graphs' own order, by name.
   */
  const char *const *inputs;
  uint32_t input_count;
  int64_t shards; /* of a replica's block: how long lists of rows can get; 0: one */
};

/* Requires: a module after opt. Guarantees: what dtg_plan_verify checks; the same module gives the
 * same plan. Cost: the live ranges of all buffers, a few times over. The kernels of the plan are
 * stage 11's.
 */
struct dtg_plan *dtg_schedule(struct dtg_ctx *ctx, const struct dtg_module *module,
                              const struct dtg_schedule_options *options);

/* The level "schedule": every group runs once and after what it reads, live buffers are disjoint,
 * everything lies inside its space, every root is produced exactly once. False with a reason. */
bool dtg_plan_verify(const struct dtg_plan *plan, struct dtg_strbuf *why);

/* Text form, deterministic, for --emit=schedule and goldens. */
void dtg_plan_print(const struct dtg_plan *plan, struct dtg_strbuf *out);

#endif
