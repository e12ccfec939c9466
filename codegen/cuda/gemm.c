// Matrix products: one tiled kernel as a template, made for the sizes of each product.
#include "codegen/cuda/emit.h"

#include <inttypes.h>

enum { TILE = 64, THREADS = 256 }; // as the template in prelude.cu has them

static int64_t tiles(int64_t extent) {
  return (extent + TILE - 1) / TILE;
}

void cg_cuda_gemm(const struct cg_kernel *kernel, struct cg_cuda_shape *shape,
                  struct dtg_strbuf *out) {
  const struct cg_gemm *g = &kernel->gemm;
  *shape = (struct cg_cuda_shape){
      .blocks = g->batch * tiles(g->m) * tiles(g->n), .block_x = THREADS, .block_y = 1};
  cg_cuda_signature(kernel, THREADS, out);
  dtg_strbuf_printf(out,
                    "  dtg_gemm<%" PRId64 ", %" PRId64 ", %" PRId64 ", %s, %s>(b0, b1, b2, %" PRId64
                    ", %" PRId64 ", %" PRId64 ", %af);\n}\n",
                    g->m, g->n, g->k, g->transpose_a ? "true" : "false",
                    g->transpose_b ? "true" : "false", g->stride_a, g->stride_b, g->stride_c,
                    (double)g->beta);
}
