/* What the update graph computes for whom, and which of it works by blocks.
 *
 * Purpose: parameters and states are cut into slices with different owners (stage 7). This is the
 * one place that says which variable a value of the update belongs to, whether a kernel can be run
 * for some blocks of it, and after which exchange of block sums it may run. Used by the fusion pass
 * (a kernel never serves two owners), by replicate (what may be cut), by the lowering (tiles are
 * blocks) and by the tables of the program. Ownership: the arena given. Threads: none.
 *
 * A value belongs to the variable whose gradient, old value or slot it is computed from; to nobody
 * if it depends on run-time scalars and whole sums (`tree_sum`) alone: then every owner computes
 * it.
 */
#ifndef DTG_IR_UPDATE_SPLIT_H
#define DTG_IR_UPDATE_SPLIT_H

#include "compiler/ir/group.h"

/* Per node: path of the parameter or state that it belongs to, interned; NULL: nobody;
 * dtg_owner_mixed: several. */
extern const char *const dtg_owner_mixed;
const char **dtg_owner_paths(struct dtg_arena *arena, const struct dtg_graph *graph);
/* Of two values used together. */
const char *dtg_owner_join(const char *a, const char *b);

struct dtg_update_group {
  uint32_t variable; /* index into module->variables; DTG_NO_NODE: every owner computes it */
  bool whole;        /* cannot be run for some blocks of the variable */
  bool by_blocks;    /* tile t computes block t from block t, element by element or as a sum */
  /* Elements that a tile of the kernel works on; 0 where the tiles are free. */
  int64_t block;
  uint32_t phase; /* exchanges of block sums before it */
};

/* Block sums that owners send each other after a phase. */
struct dtg_update_exchange {
  uint32_t phase, variable, node; /* the block_sum */
  int64_t blocks;
};

struct dtg_update_split {
  uint32_t phases;
  DTG_VEC(struct dtg_update_exchange) exchanges; /* by (phase, node) */
  struct dtg_update_group *groups;               /* by number */
  /* Per variable of the module: a kernel of its update needs the whole, so it has one slice. */
  bool *whole;
  /* Says why no two owners can run this update; NULL if they can. `trouble`: the node. */
  const char *why;
  uint32_t trouble;
};

/* Of the module's update graph after stage 6. */
struct dtg_update_split *dtg_update_split_new(struct dtg_arena *arena,
                                              const struct dtg_module *module,
                                              const struct dtg_groups *groups);
/* Elements of a block: whole rows of axis 0. */
int64_t dtg_block_elements(const struct dtg_shape *shape);

#endif
