/* Building a new graph while walking an old one. Private to compiler/opt/. */
#ifndef DTG_OPT_REWRITE_H
#define DTG_OPT_REWRITE_H

#include "compiler/ir/op.h"

struct dtg_rewrite {
  const struct dtg_graph *from;
  struct dtg_graph *to;
  uint32_t *map; /* per old node: its new node, or DTG_NO_NODE */
};

struct dtg_rewrite dtg_rewrite_begin(const struct dtg_graph *from);
/* The node with its operands mapped; its path, name and span are those of nodes added until the next. */
uint32_t dtg_rewrite_copy(struct dtg_rewrite *rewrite, uint32_t id);
/* Maps the roots; the new graph. */
struct dtg_graph *dtg_rewrite_end(struct dtg_rewrite *rewrite);

#endif
