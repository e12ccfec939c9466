/* Stage 5: reverse-mode differentiation of the training graph.
 *
 * Purpose: adds the backward nodes and a gradient root for each trainable parameter.
 * Ownership: everything lives in the module's arena. Threads: none.
 */
#ifndef DTG_GRAD_GRAD_H
#define DTG_GRAD_GRAD_H

#include "compiler/base/ctx.h"
#include "compiler/ir/graph.h"

/* Requires: module->train verifies at DTG_VERIFY_BUILD and has the root "loss" (f32[]).
 * Guarantees: a root DTG_ROOT_GRAD for each parameter, in the order of module->variables, whose
 * node has the parameter's type: the gradient of the shard's loss. Path, name and span of a
 * backward node are those of its forward node. Forward nodes keep their ids. Cost: linear in the
 * nodes; only nodes between a parameter and the loss are differentiated.
 *
 * False with errors in ctx->diags: a parameter that the loss does not depend on, or an op without a
 * gradient on the way. The graph is then half done and must not be used. */
bool dtg_grad(struct dtg_ctx *ctx, struct dtg_module *module);

/* Makes sparse what can be: finds the parameters that are used only through `gather` along axis 0,
 * lists them in module->sparse, and gives their roots DTG_ROOT_GRAD the gradients of the gathered
 * rows, beside roots DTG_ROOT_ROWS with their indices. Tables that are gathered and used in another
 * way too are listed in module->densified. Requires: after dtg_grad. Cost: linear. */
void dtg_grad_sparse(struct dtg_module *module);

/* The engine alone: gradients of the scalar node `of` with respect to nodes wrt[0..count), into
 * grads[0..count) (DTG_NO_NODE: no dependence). False with the node that has no gradient in
 * `*culprit`. */
bool dtg_grad_nodes(struct dtg_graph *graph, uint32_t of, const uint32_t *wrt, uint32_t count,
                    uint32_t *grads, uint32_t *culprit);

#endif
