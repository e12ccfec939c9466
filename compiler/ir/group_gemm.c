/* Matrix products as library calls. */
#include "compiler/ir/group.h"

/* Floating-point operations of a tile. */
enum { TILE_FLOPS = 8 << 20, TILE_ROWS = 64 };

static int64_t lead_count(const struct dtg_shape *shape) {
  int64_t count = 1;
  for (uint32_t i = 0; i + 2 < shape->rank; i++)
    count *= shape->dims[i];
  return count;
}

/* Whole tiles of a multiple of TILE_ROWS rows, the last one shorter. */
static void cut_rows(struct cg_gemm *gemm) {
  double row = 2.0 * (double)gemm->n * (double)gemm->k;
  int64_t rows = (int64_t)((double)TILE_FLOPS / row) + 1;
  rows = (rows + TILE_ROWS - 1) / TILE_ROWS * TILE_ROWS;
  gemm->tile_rows = rows < gemm->m ? rows : gemm->m;
  gemm->row_tiles = (gemm->m - 1) / gemm->tile_rows + 1;
}

struct cg_gemm dtg_group_gemm(const struct dtg_graph *graph, const struct dtg_node *node) {
  const struct dtg_shape *a = &dtg_graph_node(graph, node->inputs[0])->type.shape;
  const struct dtg_shape *b = &dtg_graph_node(graph, node->inputs[1])->type.shape;
  const struct dtg_shape *c = &node->type.shape;
  struct cg_gemm gemm = {.batch = lead_count(c),
                         .m = c->dims[c->rank - 2],
                         .n = c->dims[c->rank - 1],
                         .transpose_a = dtg_node_bool(node, "transpose_a", false),
                         .transpose_b = dtg_node_bool(node, "transpose_b", false)};
  gemm.k = a->dims[a->rank - (gemm.transpose_a ? 2 : 1)];
  gemm.stride_a = lead_count(a) == 1 ? 0 : gemm.m * gemm.k;
  gemm.stride_b = lead_count(b) == 1 ? 0 : gemm.k * gemm.n;
  gemm.stride_c = gemm.m * gemm.n;
  if (gemm.stride_b == 0 && gemm.stride_a != 0 && !gemm.transpose_a) {
    gemm.m *= gemm.batch; /* the matrices of A are rows of one matrix */
    gemm.batch = 1;
    gemm.stride_a = 0;
    gemm.stride_c = gemm.m * gemm.n;
  }
  cut_rows(&gemm);
  return gemm;
}
