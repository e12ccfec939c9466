/* Stage 6, opt: fewer and larger pieces of work, with the same bits.
 *
 * Purpose: simplify, fold, cse and dce make the graph small; fuse gives the nodes of one kernel one
 * group. Each pass walks a graph and builds a new one (fuse ends by writing `group`). No pass
 * changes a value: NaN, infinities, signed zeros and rounding stay what they were, but for sums:
 * the order in which a kernel adds follows from its loops (compiler/ir/kernel.h), and what a sum is
 * fused with decides which axes are walked as one. Ownership: the new graphs live in the arena of
 * the old ones. Threads: none.
 */
#ifndef DTG_OPT_OPT_H
#define DTG_OPT_OPT_H

#include "compiler/base/ctx.h"
#include "compiler/ir/graph.h"

/* All passes on every graph of the module. Requires: typed graphs. Guarantees: no dead nodes; every
 * node is a leaf, has a group, or is computed where it is used; groups have no cycle and are
 * numbered in an order in which they can run. Cost: a few walks, and for fusion one nest analysis
 * per edge. */
void dtg_opt(struct dtg_ctx *ctx, struct dtg_module *module);

/* The same for one graph. */
struct dtg_graph *dtg_opt_graph(const struct dtg_graph *graph);

/* The passes, for tests. */
struct dtg_graph *dtg_opt_simplify(const struct dtg_graph *graph);
struct dtg_graph *dtg_opt_fold(const struct dtg_graph *graph);
struct dtg_graph *dtg_opt_cse(const struct dtg_graph *graph);
struct dtg_graph *dtg_opt_dce(const struct dtg_graph *graph);
struct dtg_graph *dtg_opt_loops(const struct dtg_graph *graph);
/* All of these once, for a body too. */
const struct dtg_graph *dtg_opt_shrink(const struct dtg_graph *graph);
struct dtg_graph *dtg_opt_fuse(const struct dtg_graph *graph);
/* In place of fuse: one kernel a node. What runs is the same, so the results must be. */
struct dtg_graph *dtg_opt_unfused(const struct dtg_graph *graph);
/* In place of dtg_opt: the graphs as they are, one kernel a node. */
void dtg_opt_nothing(struct dtg_module *module);

#endif
