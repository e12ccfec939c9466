/* The oracle: evaluates a graph in double precision through the rows' references.
 *
 * Purpose: what compiled code, passes and gradients are tested against. Slow and plain.
 * Ownership: values live in the given arena. Threads: none.
 */
#ifndef DTG_OPS_EVALUATE_H
#define DTG_OPS_EVALUATE_H

#include "compiler/ir/op.h"

/* Fills `out->data` (allocated, of the leaf's type) with the value of a leaf. */
typedef void dtg_leaf_value(void *context, const struct dtg_node *leaf, struct dtg_ref_tensor *out);

/* One tensor for each node, by id; every op but the leaves needs a `ref`. */
struct dtg_ref_tensor *dtg_evaluate(const struct dtg_graph *graph, struct dtg_arena *arena,
                                    dtg_leaf_value *leaf, void *context);

/* A graph with input leaves "x0", "x1", ... for the operands of a sample, and the op on them: the
 * last node. NULL with the reason in `why` if the sample is malformed. */
struct dtg_graph *dtg_sample_graph(struct dtg_arena *arena, struct dtg_intern *names,
                                   const struct dtg_op_def *op, const struct dtg_op_sample *sample,
                                   struct dtg_strbuf *why);
/* Draws a value that the sample allows for an operand, from 64 random bits. */
double dtg_sample_value(const struct dtg_op_sample *sample, enum dtg_dtype dtype, uint64_t bits);

#endif
