/* Groups of a fused graph: each becomes one kernel launch.
 *
 * Purpose: what stages 10 and 11 both need to know of a group: its kind, its nodes, and its buffers
 * in the order of the kernel's buffers. Ownership: the arena given. Threads: none.
 */
#ifndef DTG_IR_GROUP_H
#define DTG_IR_GROUP_H

#include "compiler/ir/nest.h"

enum dtg_group_kind {
  DTG_GROUP_LOOPS,    /* a nest */
  DTG_GROUP_GEMM,     /* buffers A, B, C, scratch */
  DTG_GROUP_WINDOW,   /* buffers of the operands, result, scratch */
  DTG_GROUP_SCATTER,  /* buffers [base,] index, updates, result */
  DTG_GROUP_ASSEMBLE, /* pad, concat: buffers of the operands, result */
  DTG_GROUP_SCAN,     /* a loop: the scan first, then its results; buffers of the operands, of the
                         results, scratch */
  DTG_GROUP_TREE      /* tree_sum: buffers operand, result[, scratch] */
};

struct dtg_group {
  enum dtg_group_kind kind;
  uint32_t member_count;
  const uint32_t *members;                 /* ascending */
  struct dtg_nest *nest;                   /* LOOPS */
  DTG_VEC(struct dtg_nest_buffer) buffers; /* node = DTG_NO_NODE: scratch of that type */
};

struct dtg_groups {
  struct dtg_links *links;
  uint32_t count;
  struct dtg_group *groups; /* by number */
};

/* Of a graph whose nodes have groups (stage 6). */
struct dtg_groups *dtg_groups_new(struct dtg_arena *arena, const struct dtg_graph *graph);

/* The kind of the kernel that computes this node; LOOPS: the only kind that holds several nodes. */
enum dtg_group_kind dtg_group_kind_of(const struct dtg_graph *graph, const struct dtg_node *node);
/* The kernel takes this operand as a whole, from memory. */
bool dtg_group_needs_memory(const struct dtg_graph *graph, const struct dtg_node *node,
                            uint32_t operand);

/* The library call for a matrix product node, tiles included: a tile is large enough that packing
 * an operand again does not count, and the tiles depend on the shapes alone. */
struct cg_gemm dtg_group_gemm(const struct dtg_graph *graph, const struct dtg_node *node);
/* The same for a convolution or pooling. */
struct cg_window dtg_group_window(const struct dtg_graph *graph, const struct dtg_node *node);
/* Computed by a library, whose scratch is the last buffer. */
bool dtg_group_is_library(enum dtg_group_kind kind);

#endif
