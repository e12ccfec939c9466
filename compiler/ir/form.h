/* Linear forms: indices and addresses as base + sum coef[a] * axis(a), over the axes of a loop
 * nest.
 *
 * Purpose: index maps (transpose, slice, broadcast, reshape) are followed symbolically, so that a
 * fused kernel reads its operands where they lie. Plain values; nothing is owned. Threads: none.
 */
#ifndef DTG_IR_FORM_H
#define DTG_IR_FORM_H

#include "compiler/ir/graph.h"

enum { DTG_FORM_AXES = 12 };

struct dtg_form {
  int64_t base;
  int64_t coef[DTG_FORM_AXES];
};

struct dtg_form dtg_form_const(int64_t value);
struct dtg_form dtg_form_axis(uint32_t axis);
/* sum += factor * term. */
void dtg_form_add(struct dtg_form *sum, const struct dtg_form *term, int64_t factor);
bool dtg_form_equal(const struct dtg_form *a, const struct dtg_form *b);
/* Mask of the axes with a coefficient. */
uint32_t dtg_form_axes(const struct dtg_form *form);
/* Row-major position of the element at `index` of a tensor. */
struct dtg_form dtg_form_flatten(const struct dtg_shape *shape, const struct dtg_form *index);
/* The indices of the element at row-major position `flat`; false if they are no linear forms (a
 * digit would carry). `extents`: of the axes, which run from 0. */
bool dtg_form_split(const struct dtg_form *flat, const int64_t *extents,
                    const struct dtg_shape *shape, struct dtg_form *index);

/* How an index op finds its elements: that at `index` of the result is that at `source` of operand
 * `input`. False if the op is not of that kind for all elements (pad, concat). */
bool dtg_index_map(const struct dtg_graph *graph, const struct dtg_node *node,
                   const struct dtg_form *index, struct dtg_form *source);

/* Where an operand lies in the result of pad and concat: operand element c is result element
 * offset + c. False for other ops. */
struct dtg_placement {
  int64_t offset[DTG_MAX_RANK];
  double fill;  /* of what no operand covers */
  bool covered; /* the operands cover all */
};
bool dtg_index_placement(const struct dtg_graph *graph, const struct dtg_node *node, uint32_t input,
                         struct dtg_placement *out);

#endif
