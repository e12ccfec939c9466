/* What the parts of the fusion pass share. Private to compiler/opt/. */
#ifndef DTG_OPT_FUSE_H
#define DTG_OPT_FUSE_H

#include "compiler/ir/update_split.h"

struct dtg_fuse_group {
  DTG_VEC(uint32_t) members; /* ascending; empty after it was merged into another */
  bool loops;                /* can hold several nodes */
  const char *owner;         /* update: variable that the values belong to (update_split.h) */
  int64_t full, kept;        /* elements of its nest; 0 unless `loops` */
};

struct dtg_fuse {
  struct dtg_arena *arena; /* scratch of the pass */
  struct dtg_graph *graph;
  struct dtg_links *links;
  DTG_VEC(struct dtg_fuse_group) groups;
  const char **owners; /* per node; NULL: the graph is no update */
  uint32_t *stamp;     /* per group: last search that came by */
  uint32_t search;
};

/* Gives a group to every node that needs a kernel, one each, and to those that must be in memory.
 * Appends copies for roots that have no memory of their own. */
void dtg_fuse_prepare(struct dtg_graph *graph);

/* Merges groups while that is legal and pays. */
void dtg_fuse_merge(struct dtg_fuse *fuse);
/* The nest is worth having as one kernel: nothing expensive is computed more often than needed, and
 * no parallelism is lost that matters. */
bool dtg_fuse_pays(const struct dtg_nest *nest);

/* A pass over the bodies of the graph's scans, in place. */
void dtg_opt_bodies(struct dtg_graph *graph,
                    struct dtg_graph *(*pass)(const struct dtg_graph *graph));

/* A view of `id` with a group of its own: a kernel that copies. */
uint32_t dtg_fuse_add_copy(struct dtg_graph *graph, uint32_t id);

/* Numbers the groups in an order in which they can run. A group that overwrites a variable runs
 * after all that read it; where that is impossible, the new value is written by a copy at the end.
 */
void dtg_fuse_number(struct dtg_graph *graph);

#endif
