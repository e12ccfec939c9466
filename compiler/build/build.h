// Stage 4, graph: elaborates the model with concrete sizes.
//
// Requires: a model that dtg_sema returned. Guarantees: without errors, a module whose graphs are
// typed and in topological order. `train` has the loss, the metrics and the candidates of states;
// `eval` and `tail` the loss, metrics and outputs; `update` new values of every parameter, slot and
// state. Variables are sorted by (kind, path). Cost: linear in the number of nodes.
// Ownership: the context's arena. Thread rule: that of the context.
#ifndef DTG_BUILD_BUILD_H
#define DTG_BUILD_BUILD_H

#include "compiler/base/ctx.h"
#include "compiler/ir/graph.h"
#include "compiler/sema/model.h"

// Limits: what a file may make the compiler do. Each is checked as it is reached.
enum {
  DTG_BUILD_MAX_NODES = 1 << 20,      // in one graph
  DTG_BUILD_MAX_ITERATIONS = 1 << 20, // of all loops of one graph
  DTG_BUILD_MAX_DEPTH = 1500          // of expressions and calls inside one another
};
// Of all values of one graph, and of all variables: far from overflow whatever later stages add up.
#define DTG_BUILD_MAX_BYTES ((int64_t)1 << 56)

// NULL if there were errors (in ctx->diags). Without a `train` block only `eval` and `tail` are
// built, for one example; without a model the module is empty.
struct dtg_module *dtg_build(struct dtg_ctx *ctx, const struct dtg_model *model);

#endif
