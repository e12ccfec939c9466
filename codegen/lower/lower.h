/* Stage 11, kernels: fused groups to kernel IR.
 *
 * Purpose: one kernel for each step of the plan; equal kernels of different steps are one.
 * Ownership: kernels live in the plan's arena. Threads: none.
 */
#ifndef CG_LOWER_LOWER_H
#define CG_LOWER_LOWER_H

#include "compiler/base/ctx.h"
#include "compiler/ir/plan.h"

/* Requires: a scheduled plan. Guarantees: plan->kernels, each valid by cg_kernel_verify, and the
 * kernel of every step; tiles depend on shapes alone. Cost: linear in the nodes. Always true: what
 * cannot be lowered was refused before. */
bool cg_lower(struct dtg_ctx *ctx, struct dtg_plan *plan);

#endif
