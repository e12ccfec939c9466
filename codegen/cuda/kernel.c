// A kernel's function: its place in the grid, then its loops.
#include "codegen/cuda/emit.h"

#include <inttypes.h>
#include <stdarg.h>

enum { GRID_LIMIT = INT32_MAX };

void cg_cuda_line(struct cg_cuda_emit *emit, const char *format, ...) {
  va_list args;
  dtg_strbuf_repeat(emit->out, ' ', emit->indent);
  va_start(args, format);
  dtg_strbuf_vprintf(emit->out, format, args);
  va_end(args);
  dtg_strbuf_putc(emit->out, '\n');
}

static bool shares_memory(const struct cg_kernel *kernel, uint32_t buffer) {
  bool shares = kernel->buffers.data[buffer].may_alias != CG_NO_VALUE;
  for (size_t i = 0; i < kernel->buffers.len; i++)
    shares = shares || kernel->buffers.data[i].may_alias == buffer;
  return shares;
}

void cg_cuda_signature(const struct cg_kernel *kernel, uint32_t threads, struct dtg_strbuf *out) {
  if (kernel->comment && *kernel->comment)
    dtg_strbuf_printf(out, "// %s\n", kernel->comment);
  dtg_strbuf_printf(out, "extern \"C\" __global__ void __launch_bounds__(%u)\n%s(", threads,
                    kernel->name);
  for (uint32_t i = 0; i < kernel->buffers.len; i++) {
    const struct cg_buffer *buffer = &kernel->buffers.data[i];
    dtg_strbuf_printf(out, "%s%s *%sb%u /* %s */,\n    ", buffer->written ? "" : "const ",
                      cg_cuda_memory_type(buffer->dtype),
                      shares_memory(kernel, i) ? "" : "__restrict__ ", i, buffer->name);
  }
  dtg_strbuf_puts(out, "long long *__restrict__ fault) {\n");
}

static const struct cg_loop *loop_at(const struct cg_cuda_emit *emit, uint32_t id) {
  return emit->kernel->insts.data[id].u.nest;
}

static const char *index_type(const struct cg_cuda_emit *emit) {
  return emit->wide ? "long long" : "int";
}

// ---- the place in the grid ----

// Splits `at`, the number of the thread's iteration, into the indices of the chain.
static void put_chain(struct cg_cuda_emit *emit) {
  const char *type = index_type(emit);
  int64_t below = cg_cuda_iterations(emit);
  for (size_t c = 0; c < emit->chain.len; c++) {
    uint32_t id = emit->chain.data[c];
    const struct cg_loop *loop = loop_at(emit, id);
    const char *modulo = c == 0 ? "" : dtg_arena_printf(emit->arena, " %% %" PRId64, loop->extent);
    below /= loop->extent;
    const char *quotient =
        below == 1 ? "at" : dtg_arena_printf(emit->arena, "at / %" PRId64, below);
    if (loop->block_of == CG_NO_VALUE && !emit->used[id])
      continue;
    if (loop->block_of == CG_NO_VALUE) {
      cg_cuda_line(emit, "const %s i%u = %s%s;", type, id, quotient, modulo);
      continue;
    }
    cg_cuda_line(emit, "const %s i%u = i%u * %" PRId64 " + %s%s;", type, id, loop->block_of,
                 loop->extent, quotient, modulo);
    cg_cuda_line(emit, "if (i%u >= %" PRId64 ") return;", id, loop->total);
  }
}

static void put_place(struct cg_cuda_emit *emit, const struct cg_cuda_shape *shape) {
  const char *type = index_type(emit);
  if (emit->form == CG_CUDA_FLAT || emit->lanes == 1) {
    cg_cuda_line(emit, "const %s at = (%s)blockIdx.x * %u + threadIdx.x;", type, type,
                 shape->block_x);
  } else {
    cg_cuda_line(emit, "const int lane = threadIdx.x;");
    if (shape->block_y > 1)
      cg_cuda_line(emit, "const %s at = (%s)blockIdx.x * %u + threadIdx.y;", type, type,
                   shape->block_y);
    else
      cg_cuda_line(emit, "const %s at = blockIdx.x;", type);
  }
  cg_cuda_line(emit, "if (at >= %" PRId64 ") return;", cg_cuda_iterations(emit));
}

// ---- loops ----

static void put_body(struct cg_cuda_emit *emit, const struct cg_loop *loop);

static void put_loop_head(struct cg_cuda_emit *emit, uint32_t id, const struct cg_loop *loop) {
  const char *type = index_type(emit);
  bool shared = loop->kind == CG_LOOP_VECTOR && emit->lanes > 1;
  const char *first = shared ? "lane" : "0";
  const char *step = shared ? dtg_arena_printf(emit->arena, "i%u += %u", id, emit->lanes)
                            : dtg_arena_printf(emit->arena, "i%u++", id);
  if (loop->block_of == CG_NO_VALUE) {
    cg_cuda_line(emit, "for (%s i%u = %s; i%u < %" PRId64 "; %s) {", type, id, first, id,
                 loop->extent, step);
    return;
  }
  cg_cuda_line(emit,
               "for (%s i%u = i%u * %" PRId64 " + %s, e%u = min((%s)%" PRId64
               ", (i%u + 1) * %" PRId64 "); i%u < e%u; %s) {",
               type, id, loop->block_of, loop->extent, first, id, type, loop->total, loop->block_of,
               loop->extent, id, id, step);
}

static void put_barrier(struct cg_cuda_emit *emit) {
  cg_cuda_line(emit, emit->lanes > 32 ? "__syncthreads();" : "__syncwarp();");
}

static void put_loop(struct cg_cuda_emit *emit, uint32_t id) {
  const struct cg_loop *loop = loop_at(emit, id);
  put_loop_head(emit, id, loop);
  emit->indent += 2;
  if (loop->kind == CG_LOOP_VECTOR)
    emit->vector = id;
  put_body(emit, loop);
  emit->indent -= 2;
  cg_cuda_line(emit, "}");
  if (loop->kind != CG_LOOP_VECTOR)
    return;
  emit->vector = CG_NO_VALUE;
  if (emit->has_barriers)
    put_barrier(emit);
}

// A store of the first lane is seen by the others after a barrier.
static bool is_seen_by_others(const struct cg_cuda_emit *emit, const struct cg_inst *inst) {
  return inst->op == CG_STORE && emit->has_barriers && emit->vector == CG_NO_VALUE;
}

static void put_body(struct cg_cuda_emit *emit, const struct cg_loop *loop) {
  for (size_t i = 0; i < loop->body.len; i++) {
    uint32_t id = loop->body.data[i];
    const struct cg_inst *inst = &emit->kernel->insts.data[id];
    if (inst->op == CG_LOOP)
      put_loop(emit, id);
    else
      cg_cuda_statement(emit, id);
    if (is_seen_by_others(emit, inst))
      put_barrier(emit);
  }
}

// What stands between the loops of the chain, then the innermost body.
static void put_chain_bodies(struct cg_cuda_emit *emit) {
  for (size_t c = 0; c < emit->chain.len; c++) {
    const struct cg_loop *loop = loop_at(emit, emit->chain.data[c]);
    if (c + 1 == emit->chain.len) {
      if (emit->form == CG_CUDA_FLAT)
        emit->vector = emit->chain.data[c];
      put_body(emit, loop);
      return;
    }
    for (size_t i = 0; i < loop->body.len; i++)
      if (loop->body.data[i] != emit->chain.data[c + 1])
        cg_cuda_statement(emit, loop->body.data[i]);
  }
}

// ---- a kernel ----

static struct cg_cuda_shape choose_shape(const struct cg_cuda_emit *emit) {
  int64_t count = cg_cuda_iterations(emit);
  struct cg_cuda_shape shape = {.block_x = CG_CUDA_BLOCK, .block_y = 1};
  if (emit->form == CG_CUDA_ROWS && emit->lanes > 1) {
    shape.block_x = emit->lanes;
    shape.block_y = emit->lanes == 32 ? CG_CUDA_BLOCK / 32 : 1;
    shape.blocks = (count + shape.block_y - 1) / shape.block_y;
    return shape;
  }
  while (shape.block_x > 32 && count <= (int64_t)shape.block_x / 2)
    shape.block_x /= 2;
  shape.blocks = (count + shape.block_x - 1) / shape.block_x;
  return shape;
}

static void put_loops(struct cg_cuda_emit *emit, struct cg_cuda_shape *shape) {
  cg_cuda_analyse(emit);
  *shape = choose_shape(emit);
  cg_cuda_signature(emit->kernel, shape->block_x * shape->block_y, emit->out);
  emit->indent = 2;
  put_place(emit, shape);
  put_chain(emit);
  put_chain_bodies(emit);
  dtg_strbuf_puts(emit->out, "}\n");
}

bool cg_cuda_kernel(struct dtg_arena *arena, const struct cg_kernel *kernel,
                    struct cg_cuda_shape *shape, struct dtg_strbuf *out, struct dtg_strbuf *why) {
  struct cg_cuda_emit emit = {.arena = arena, .kernel = kernel, .out = out};
  if (kernel->kind == CG_KERNEL_WINDOW) {
    dtg_strbuf_printf(why, "kernel %s is a `%s`, which this version computes on a CPU only",
                      kernel->name, cg_window_name(kernel->window.kind));
    return false;
  }
  dtg_strbuf_putc(out, '\n');
  if (kernel->kind == CG_KERNEL_GEMM)
    cg_cuda_gemm(kernel, shape, out);
  else
    put_loops(&emit, shape);
  if (shape->blocks <= GRID_LIMIT)
    return true;
  dtg_strbuf_printf(why, "kernel %s needs %" PRId64 " blocks, and a grid takes %d", kernel->name,
                    shape->blocks, GRID_LIMIT);
  return false;
}

bool cg_cuda_module(struct dtg_arena *arena, const struct cg_kernel *const *kernels, size_t count,
                    struct cg_cuda_shape *shapes, struct dtg_strbuf *out, struct dtg_strbuf *why) {
  cg_cuda_prelude(out);
  for (size_t i = 0; i < count; i++)
    if (!cg_cuda_kernel(arena, kernels[i], &shapes[i], out, why))
      return false;
  return true;
}
