/* Who computes and who reads what, once nodes have groups.
 *
 * Purpose: the one place that says which nodes are in memory. A node with a group is computed by
 * that group's kernel; a leaf is given; every other node is computed where it is used (constants,
 * views, index maps, casts of leaves), so it "reads" and is read through. Used by the fusion pass,
 * which changes `group` as it merges, by the schedule and by the lowering. Ownership: the arena
 * given. Lifetime: as long as the graph does not grow. Threads: none.
 */
#ifndef DTG_IR_LINKS_H
#define DTG_IR_LINKS_H

#include "compiler/ir/op.h"

struct dtg_links {
  const struct dtg_graph *graph;
  uint32_t *group;        /* per node: as node.group at first */
  bool *root;             /* per node: a root is this node, or a view of it */
  uint32_t *read_start;   /* per node + 1: range of `reads` */
  uint32_t *reads;        /* nodes in memory that a grouped node reads, each once */
  uint32_t *reader_start; /* per node + 1: range of `readers` */
  uint32_t *readers;      /* grouped nodes that read a node in memory, ascending */
};

struct dtg_links *dtg_links_new(struct dtg_arena *arena, const struct dtg_graph *graph);

/* Neither a leaf nor grouped: computed where it is used. */
bool dtg_links_inline(const struct dtg_links *links, uint32_t node);
/* For a kernel of `group`: the value comes from memory. */
bool dtg_links_in_memory(const struct dtg_links *links, uint32_t node, uint32_t group);
/* A grouped node whose value must be in memory: read by another group or delivered. */
bool dtg_links_stored(const struct dtg_links *links, uint32_t node);
/* The node of whose memory `node` is a view, following ungrouped views: a leaf or a grouped node;
 * DTG_NO_NODE if it is computed where it is used. */
uint32_t dtg_links_base(const struct dtg_links *links, uint32_t node);

/* What a leaf is read from; the value of its only attribute names it. */
enum dtg_leaf {
  DTG_LEAF_NONE, /* no leaf */
  DTG_LEAF_INPUT,
  DTG_LEAF_VARIABLE, /* parameter, state or slot */
  DTG_LEAF_GRADIENT, /* reduced gradient of a parameter, or candidate of a state */
  DTG_LEAF_SCALAR
};
enum dtg_leaf dtg_leaf_of(const struct dtg_node *node, const char **key);

/* Which group must run before which: readers after the group that computes what they read, and a
 * group whose result is the new value of a variable after all others that read the old one. */
struct dtg_edges {
  uint32_t count;
  uint32_t *start;    /* per group + 1: range of `to` */
  uint32_t *to;       /* later groups; an edge may be there twice */
  uint32_t *indegree; /* edges that end in the group */
};
struct dtg_edges *dtg_edges_new(struct dtg_arena *arena, const struct dtg_links *links);

#endif
