/* Loops in a graph: a `scan` node runs its body, a graph of its own, a fixed number of times.
 *
 * Purpose: what every stage has to know of a scan: how operands, leaves, roots and results belong
 * together. Ownership: bodies live in the arena of the graph around them. Threads: none.
 *
 *   operands of `scan`   carries' first values | slices | values        `scan` itself has no value
 *   leaves of the body   scan_carry i          | scan_slice i | scan_value i | scan_index
 *   roots of the body    carry i: the value of carry i for the next iteration; then stack j
 *   results              scan_result k of the scan: k < carries: the last value of carry k;
 *                        else the values of stack k, one for each iteration, along a new axis 0
 *
 * Iteration number n, which scan_index gives, goes from 0 to count - 1, with `reverse` from
 * count - 1 to 0; scan_slice i is entry n of its operand along axis 0, and stacks are filled at
 * entry n. Each leaf stands at most once in a body. A body reads nothing else of the graph around.
 */
#ifndef DTG_IR_LOOP_H
#define DTG_IR_LOOP_H

#include "compiler/ir/op.h"

struct dtg_loop {
  uint32_t node;
  struct dtg_graph *body;
  int64_t count;
  uint32_t carries, slices, values; /* operands, in this order */
  uint32_t results;                 /* roots of the body */
  bool reverse;
  bool recompute; /* the backward pass computes the body again instead of keeping its values */
};

enum dtg_loop_leaf {
  DTG_LOOP_NONE, /* no leaf of a body */
  DTG_LOOP_CARRY,
  DTG_LOOP_SLICE,
  DTG_LOOP_VALUE,
  DTG_LOOP_INDEX
};

/* A `scan` or a `scan_result`. */
bool dtg_is_loop(const struct dtg_node *node);
bool dtg_is_loop_result(const struct dtg_node *node);
/* Of a scan node. */
struct dtg_loop dtg_loop_of(const struct dtg_graph *graph, uint32_t node);
enum dtg_loop_leaf dtg_loop_leaf_of(const struct dtg_node *node, uint32_t *index);

struct dtg_graph *dtg_loop_body_new(const struct dtg_graph *around);
uint32_t dtg_loop_add_leaf(struct dtg_graph *body, enum dtg_loop_leaf leaf, uint32_t index,
                           struct dtg_type type);
/* The leaf, DTG_NO_NODE where the body does not read it. */
uint32_t dtg_loop_find_leaf(const struct dtg_graph *body, enum dtg_loop_leaf leaf, uint32_t index);
/* The next root: all carries come before all stacks. */
void dtg_loop_add_root(struct dtg_graph *body, bool carry, uint32_t node, struct dtg_span span);

/* Adds the scan; `loop` says all but the node and `results`. */
uint32_t dtg_loop_add(struct dtg_graph *graph, const struct dtg_loop *loop, const uint32_t *inputs);
struct dtg_type dtg_loop_result_type(const struct dtg_loop *loop, uint32_t result);
/* The only node of that result: it is added where there is none yet. */
uint32_t dtg_loop_add_result(struct dtg_graph *graph, uint32_t node, uint32_t result);

/* Node of the body with operands mapped: a copy in another graph. `map` by id. */
uint32_t dtg_loop_copy_node(struct dtg_graph *to, const struct dtg_node *node, const uint32_t *map);

/* The rules above, but for those that hold for every graph. False with a reason. */
bool dtg_loop_verify(const struct dtg_graph *graph, uint32_t node, struct dtg_strbuf *why);
bool dtg_loop_verify_result(const struct dtg_graph *graph, uint32_t node, struct dtg_strbuf *why);

#endif
