/* What the files that build a nest share. Private to compiler/ir/. */
#ifndef DTG_IR_NEST_BUILD_H
#define DTG_IR_NEST_BUILD_H

#include "compiler/ir/nest.h"

struct dtg_nest_builder {
  struct dtg_arena *arena;
  const struct dtg_graph *graph;
  const uint32_t *members;
  uint32_t member_count;
  struct dtg_nest *nest;
  const char **why;
  const struct dtg_node *reduce; /* the first reduction, or NULL */
  struct dtg_shape seed;         /* of the largest tensor */
  bool seed_reduced[DTG_MAX_RANK];
  bool *seen; /* per node, by refine_views */
  /* Strides at which the row-major position is cut into axes, from the count down to 1. */
  uint32_t bound_count;
  int64_t bounds[DTG_FORM_AXES + 1];
  uint32_t depth;
};

/* Sets the reason; false. */
bool dtg_nest_refuse(struct dtg_nest_builder *build, const char *why);
bool dtg_nest_match(const struct dtg_nest *nest, const struct dtg_shape *shape, uint32_t mask,
                    struct dtg_form *index);
/* The value of node `id` at `index`; false if the nest cannot compute it. */
bool dtg_nest_want(struct dtg_nest_builder *build, uint32_t id, const struct dtg_form *index,
                   uint32_t *value);
/* Axes that a reduction removes from its operand of `shape`. */
void dtg_reduced_axes(const struct dtg_node *node, const struct dtg_shape *shape,
                      bool reduced[DTG_MAX_RANK]);
/* Merges neighbouring axes that every form walks as one. */
void dtg_nest_collapse(struct dtg_nest *nest);

#endif
