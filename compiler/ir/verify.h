/* The verifier of graphs: the levels of the stages that make them.
 *
 * Purpose: a pass that breaks an invariant is caught where it stands. Ownership: nothing is kept.
 * Threads: none. Cost: linear in the nodes.
 */
#ifndef DTG_IR_VERIFY_H
#define DTG_IR_VERIFY_H

#include "compiler/ir/graph.h"

struct dtg_strbuf;

enum dtg_verify_level {
  DTG_VERIFY_BUILD, /* acyclic, typed: every node has the type that its op infers */
  DTG_VERIFY_GRAD   /* and each trainable parameter has one gradient and one update */
};

/* False with a sentence in `why`. A graph alone is checked up to what it can show by itself: at
 * DTG_VERIFY_GRAD no root of one kind and name is there twice. */
bool dtg_graph_verify(const struct dtg_graph *graph, enum dtg_verify_level level,
                      struct dtg_strbuf *why);
/* All graphs, and what they share: leaves and roots agree in path and type with the variables. */
bool dtg_module_verify(const struct dtg_module *module, enum dtg_verify_level level,
                       struct dtg_strbuf *why);

#endif
