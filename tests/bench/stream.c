// Memory bandwidth of compiled element-wise kernels against memcpy of the same bytes, in GB/s of
// bytes read and written; the best of several rounds over buffers that no cache holds.
#include "codegen/llvm/llvm.h"
#include "compiler/base/bug.h"
#include "compiler/base/strbuf.h"
#include "dtr_abi.h"
#include "tests/unit/codegen_llvm/compiled.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { ELEMENTS = 1 << 24, BLOCK = 16384, ROUNDS = 9 };

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

// y = max(x * a + b, 0) - c; with `math` y = tanh(exp(of it)).
static struct cg_kernel *chain(struct dtg_arena *arena, const char *name, bool math) {
  struct cg_kernel *kernel = cg_kernel_new(arena, name, "", DTG_SPAN_NONE);
  struct cg_builder b;
  uint32_t in = cg_buffer_add(kernel, "x", DTG_F32, ELEMENTS, true, false);
  uint32_t out = cg_buffer_add(kernel, "y", DTG_F32, ELEMENTS, false, true);
  cg_builder_init(&b, kernel);
  uint32_t tile = cg_loop_begin(&b, CG_LOOP_PARALLEL, ELEMENTS / BLOCK);
  uint32_t i = cg_loop_begin_block(&b, CG_LOOP_VECTOR, BLOCK, tile, ELEMENTS);
  struct cg_address x = {.buffer = in, .term_count = 1, .terms = {{i, 1}}, .dynamic = CG_NO_VALUE};
  struct cg_address y = x;
  y.buffer = out;
  uint32_t value = cg_load(&b, &x);
  value = cg_binary(&b, CG_MUL, value, cg_const_f(&b, DTG_F32, 1.5));
  value = cg_binary(&b, CG_ADD, value, cg_const_f(&b, DTG_F32, 0.25));
  value = cg_binary(&b, CG_MAX, value, cg_const_f(&b, DTG_F32, 0.0));
  value = cg_binary(&b, CG_SUB, value, cg_const_f(&b, DTG_F32, 1.0));
  if (math)
    value = cg_unary(&b, CG_TANH, cg_unary(&b, CG_EXP, value));
  cg_store(&b, &y, value);
  cg_loop_end(&b);
  cg_loop_end(&b);
  kernel->tiles = ELEMENTS / BLOCK;
  return kernel;
}

static double bandwidth(dtr_kernel_fn *kernel, float *x, float *y) {
  double best = 0;
  for (int r = 0; r < ROUNDS; r++) {
    struct dtr_fault fault = {0};
    double start = now();
    if (kernel)
      kernel((char *[]){(char *)x, (char *)y}, &fault, 0, ELEMENTS / BLOCK);
    else
      memcpy(y, x, ELEMENTS * sizeof *x);
    double rate = 2.0 * ELEMENTS * sizeof *x / (now() - start) * 1e-9;
    if (rate > best)
      best = rate;
  }
  return best;
}

int main(void) {
  struct dtg_arena arena = {0};
  const struct cg_kernel *kernels[] = {chain(&arena, "chain", false), chain(&arena, "math", true)};
  struct cg_compiled compiled = cg_compile(kernels, 2, cg_llvm_native_arch());
  float *x = aligned_alloc(64, ELEMENTS * sizeof *x), *y = aligned_alloc(64, ELEMENTS * sizeof *y);
  if (!x || !y)
    dtg_fatal("no memory");
  for (int i = 0; i < ELEMENTS; i++)
    x[i] = (float)(i % 1000) * 0.002f - 1.0f;
  memset(y, 0, ELEMENTS * sizeof *y);
  printf("memcpy %.2f\n", bandwidth(NULL, x, y));
  printf("chain %.2f\n", bandwidth(cg_compiled_find(&compiled, "chain"), x, y));
  printf("math %.2f\n", bandwidth(cg_compiled_find(&compiled, "math"), x, y));
  cg_compiled_free(&compiled);
  free(x);
  free(y);
  dtg_arena_free(&arena);
  return 0;
}
