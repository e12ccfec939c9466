/* Random graphs over the whole op table, for tests of passes, schedule and lowering. */
#ifndef RANDOM_GRAPH_H
#define RANDOM_GRAPH_H

#include "compiler/base/ctx.h"
#include "compiler/ir/op.h"

/* About `steps` ops on inputs of a few related shapes; state and output roots on the values that
 * nothing reads, and on some others. Values stay small. Comparisons and arg reductions read inputs
 * only when `smooth`, so that rounding cannot turn them over. */
struct dtg_graph *random_graph_make(struct dtg_ctx *ctx, uint64_t seed, int steps, bool smooth);

#endif
