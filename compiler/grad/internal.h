/* What the files of the differentiation share. Private to compiler/grad/. */
#ifndef DTG_GRAD_INTERNAL_H
#define DTG_GRAD_INTERNAL_H

#include "compiler/ir/loop.h"

/* Gradients of the sum of seeds[i] * nodes[i] with respect to wrt[0..count), as dtg_grad_nodes. */
struct dtg_grad_seed {
  uint32_t node, grad;
};
bool dtg_grad_seeds(struct dtg_graph *graph, const struct dtg_grad_seed *seeds, uint32_t seed_count,
                    const uint32_t *wrt, uint32_t count, uint32_t *grads, uint32_t *culprit);

/* The gradient itself, or an equal node that costs less (but for the sign of zeros). */
uint32_t dtg_grad_join(struct dtg_graph *graph, uint32_t total);

/* Gradients of a scan's operands, where `needed`, from those of its results (DTG_NO_NODE: none).
 * The forward scan gets a body with further stacks, for what the backward one reads. False: an op
 * of the body has no gradient; `culprit` is its span. */
bool dtg_grad_loop(struct dtg_graph *graph, uint32_t scan, const uint32_t *result_grads,
                   const bool *needed, uint32_t *grads, const struct dtg_node **culprit);

#endif
