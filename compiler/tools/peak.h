// What lives in the arena at its peak: for the message that a plan does not fit the memory.
//
// Thread rule: that of the context.
#ifndef DTG_TOOLS_PEAK_H
#define DTG_TOOLS_PEAK_H

#include "compiler/base/ctx.h"
#include "compiler/ir/plan.h"

// Adds notes to `diag`: the largest arena of the plan, the step of its peak, and the largest
// buffers that live there with the source lines of their values.
void dtg_peak_notes(struct dtg_ctx *ctx, struct dtg_diag *diag, const struct dtg_plan *plan);

#endif
