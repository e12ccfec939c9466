/* What the files of the lowering share. Private to codegen/lower/. */
#ifndef CG_LOWER_INTERNAL_H
#define CG_LOWER_INTERNAL_H

#include "codegen/lower/lower.h"
#include "compiler/ir/group.h"

/* Elements of a tile, and below how many a kernel is one tile: waking a thread costs microseconds.
 */
enum { CG_TILE_ELEMENTS = 16384, CG_ONE_TILE = 32768, CG_TILE_COLUMNS = 64 };

/* The loops of a group into `kernel`, whose buffers have been added. `block`: elements of a tile,
 * which are whole rows of axis 0; 0: tiles as they pay. */
void cg_lower_nest(struct cg_kernel *kernel, const struct dtg_nest *nest, int64_t block);
void cg_lower_scatter(struct cg_kernel *kernel, const struct dtg_graph *graph,
                      const struct dtg_group *group);
void cg_lower_assemble(struct cg_kernel *kernel, const struct dtg_graph *graph,
                       const struct dtg_group *group);
void cg_lower_tree(struct cg_kernel *kernel, const struct dtg_graph *graph,
                   const struct dtg_group *group);

/* "fc1_relu": letters, digits and underscores, from the path and name of the group's result. */
const char *cg_lower_label(struct dtg_arena *arena, const struct dtg_graph *graph,
                           const struct dtg_group *group);
/* "fc1: relu(add(matmul, b))": what the group computes, in the model's names. */
const char *cg_lower_comment(struct dtg_arena *arena, const struct dtg_groups *groups,
                             const struct dtg_group *group);

/* A constant of any element type. */
uint32_t cg_lower_const(struct cg_builder *builder, enum dtg_dtype dtype, double value);

static inline struct cg_address cg_address_at(uint32_t buffer) {
  return (struct cg_address){.buffer = buffer, .dynamic = CG_NO_VALUE};
}
static inline void cg_address_add(struct cg_address *address, uint32_t loop, int64_t coef) {
  if (coef != 0)
    address->terms[address->term_count++] = (struct cg_term){loop, coef};
}

#endif
