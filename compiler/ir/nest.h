/* The loop nest of a fused group: axes, and every value as a function of them.
 *
 * Purpose: one analysis that decides what can be fused (opt), which buffers a kernel has and which
 * of them may share memory (schedule), and what is emitted (lower); so the three cannot disagree.
 * Ownership: the arena given. Threads: none.
 *
 * The axes stand in the order of the largest tensor (the operand of the group's reductions, else
 * its result). Kept axes enumerate rows; reduced axes are walked inside a row, once per pass. A
 * value is wanted by what reads it, at indices that are linear forms of the axes; index ops only
 * change the forms, so transposes, slices, broadcasts and reshapes cost nothing. Pass p computes
 * the reductions whose operands need p earlier passes. A result of the full shape is stored in the
 * first pass that knows it and read back by later passes.
 */
#ifndef DTG_IR_NEST_H
#define DTG_IR_NEST_H

#include "compiler/ir/form.h"
#include "compiler/ir/links.h"

enum {
  DTG_NEST_OUTPUTS = 8,  /* results of one kernel */
  DTG_NEST_BUFFERS = 24, /* buffers of one kernel */
  DTG_NEST_VALUES = 512,
  DTG_NEST_PASSES = 8,
  DTG_NEST_MEMBERS = 256
};

struct dtg_nest_axis {
  int64_t extent;
  bool reduced;
  /* block_sum: axis 0 counts blocks, and this axis runs over the rows of that block only: `block`
   * rows each, of `extent` in all. 0: no. */
  int64_t block;
};

enum dtg_value_kind {
  DTG_VALUE_LOAD,    /* index[0] = address in elements */
  DTG_VALUE_COMPUTE, /* the node's `lower` of the operands */
  DTG_VALUE_GATHER,  /* operands[0] = position along axis 0 of the table; index[0] = the rest */
  DTG_VALUE_REDUCED  /* operands[0] = what is reduced; index[0] = its position (arg kinds),
                        index[1..]  = where the result is wanted */
};

struct dtg_nest_value {
  enum dtg_value_kind kind;
  uint32_t node;
  uint32_t buffer; /* LOAD, GATHER */
  struct dtg_form index[DTG_MAX_RANK + 1];
  uint32_t operand_count;
  const uint32_t *operands; /* values, all before this one */
  uint32_t axes;            /* mask: what it depends on */
  uint32_t level;           /* passes that must be over */
};

struct dtg_nest_buffer {
  uint32_t node; /* its memory: a leaf or a grouped node; DTG_NO_NODE: scratch */
  struct dtg_type type;
  bool read, written;
};

struct dtg_nest_output {
  uint32_t value, buffer;
  struct dtg_form address;
  bool in_row; /* full shape: stored inside the passes */
};

struct dtg_nest {
  const struct dtg_links *links;
  uint32_t group;
  uint32_t rank;
  struct dtg_nest_axis axes[DTG_FORM_AXES];
  bool blocked;       /* axis 0 counts the blocks of block_sum */
  uint32_t full_mask; /* the axes of the largest tensor */
  uint32_t kept_mask;
  uint32_t passes; /* 0: nothing is reduced */
  DTG_VEC(struct dtg_nest_value) values;
  DTG_VEC(struct dtg_nest_output) outputs;
  DTG_VEC(struct dtg_nest_buffer) buffers; /* read ones first, then the outputs */
};

/* The nest of `members` (ascending), the nodes of `links->group` == group; NULL if they do not make
 * one kernel, with the reason in *why. */
struct dtg_nest *dtg_nest_new(struct dtg_arena *arena, const struct dtg_links *links,
                              uint32_t group, const uint32_t *members, uint32_t member_count,
                              const char **why);

/* Elements along the axes of a mask. */
int64_t dtg_nest_count(const struct dtg_nest *nest, uint32_t mask);
/* Marks the values that pass `pass` evaluates inside the row: what its reductions and its outputs
 * need, but for what earlier passes stored. `needed` and `cached` have one entry a value;
 * cached[v]: output to read v back from, plus 1, or 0. */
void dtg_nest_pass(const struct dtg_nest *nest, uint32_t pass, bool *needed, uint32_t *cached);
/* The value depends on a reduced axis (or lies inside the passes for another reason). */
bool dtg_nest_in_row(const struct dtg_nest *nest, const struct dtg_nest_value *value);
/* The output may lie on the memory of the buffer, which is read: every element is read for the last
 * time before it is written, at the same place of the nest. */
bool dtg_nest_may_overwrite(const struct dtg_nest *nest, const struct dtg_nest_output *output,
                            uint32_t buffer);

#endif
