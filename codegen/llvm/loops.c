// Loops. A VECTOR loop of n iterations runs groups of `unroll` whole vectors, then the rest: if n
// is known, as one group whose last vector is masked; else as a loop of single masked vectors.
#include "codegen/llvm/emit.h"

struct cg_bounds {
  LLVMValueRef begin, end;
  int64_t count; // -1: known at run time only
};

LLVMValueRef cg_i64_const(const struct cg_emit *emit, int64_t value) {
  return LLVMConstInt(LLVMInt64TypeInContext(emit->module->context), (uint64_t)value, true);
}

LLVMValueRef cg_i32_const(const struct cg_emit *emit, int64_t value) {
  return LLVMConstInt(LLVMInt32TypeInContext(emit->module->context), (uint64_t)value, true);
}

LLVMValueRef cg_iota(const struct cg_emit *emit, LLVMTypeRef scalar, int64_t step) {
  LLVMValueRef values[CG_MAX_LANES];
  for (uint32_t i = 0; i < emit->lanes; i++)
    values[i] = LLVMConstInt(scalar, (uint64_t)(i * step), true);
  return LLVMConstVector(values, emit->lanes);
}

LLVMBasicBlockRef cg_new_block(struct cg_emit *emit, const char *name) {
  return LLVMAppendBasicBlockInContext(emit->module->context, emit->function, name);
}

static void cg_emit_loop(struct cg_emit *emit, uint32_t id);

static LLVMValueRef cg_smaller(struct cg_emit *emit, LLVMValueRef a, LLVMValueRef b) {
  LLVMValueRef less = LLVMBuildICmp(emit->builder, LLVMIntSLT, a, b, "");
  return LLVMBuildSelect(emit->builder, less, a, b, "");
}

static struct cg_bounds cg_loop_bounds(struct cg_emit *emit, const struct cg_loop *loop) {
  if (loop->block_of == CG_NO_VALUE)
    return (struct cg_bounds){cg_i64_const(emit, 0), cg_i64_const(emit, loop->extent),
                              loop->extent};
  LLVMValueRef extent = cg_i64_const(emit, loop->extent);
  struct cg_bounds bounds;
  bounds.begin = LLVMBuildNSWMul(emit->builder, emit->index[loop->block_of], extent, "");
  bounds.end = LLVMBuildNSWAdd(emit->builder, bounds.begin, extent, "");
  bounds.count = loop->extent;
  int64_t blocks = emit->kernel->insts.data[loop->block_of].u.nest->total;
  if (blocks * loop->extent > loop->total) {
    bounds.end = cg_smaller(emit, bounds.end, cg_i64_const(emit, loop->total));
    bounds.count = -1;
  }
  return bounds;
}

// The body for the current group: instruction by instruction for scalars and loops, vector by
// vector in between, which keeps few values alive and leaves overlapping to the processor.
static void cg_emit_body(struct cg_emit *emit, const struct cg_loop *loop) {
  const struct cg_inst *insts = emit->kernel->insts.data;
  for (size_t begin = 0, end; begin < loop->body.len; begin = end) {
    end = begin + 1;
    if (insts[loop->body.data[begin]].op == CG_LOOP) {
      cg_emit_loop(emit, loop->body.data[begin]);
      continue;
    }
    while (end < loop->body.len && insts[loop->body.data[end]].op != CG_LOOP)
      end++;
    for (uint32_t vector = 0; vector < emit->group; vector++)
      for (size_t i = begin; i < end; i++)
        if (vector == 0 || emit->varying[loop->body.data[i]])
          cg_emit_inst(emit, loop->body.data[i], vector);
  }
}

// for (index = begin; index < end; index += step), entered only if begin < end.
static void cg_emit_counted(struct cg_emit *emit, uint32_t id, LLVMValueRef begin, LLVMValueRef end,
                            int64_t step) {
  LLVMBuilderRef b = emit->builder;
  LLVMBasicBlockRef body = cg_new_block(emit, "loop"), done = cg_new_block(emit, "done");
  LLVMValueRef any = LLVMBuildICmp(b, LLVMIntSLT, begin, end, "");
  LLVMBasicBlockRef before = LLVMGetInsertBlock(b);
  LLVMBuildCondBr(b, any, body, done);
  LLVMPositionBuilderAtEnd(b, body);
  LLVMValueRef index = LLVMBuildPhi(b, LLVMTypeOf(begin), "");
  emit->index[id] = index;
  cg_emit_body(emit, emit->kernel->insts.data[id].u.nest);
  LLVMValueRef next = LLVMBuildNSWAdd(b, index, cg_i64_const(emit, step), "");
  LLVMValueRef values[] = {begin, next};
  LLVMBasicBlockRef blocks[] = {before, LLVMGetInsertBlock(b)};
  LLVMAddIncoming(index, values, blocks, 2);
  LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntSLT, next, end, ""), body, done);
  LLVMPositionBuilderAtEnd(b, done);
}

static void cg_clear_masks(struct cg_emit *emit) {
  for (uint32_t i = 0; i < CG_UNROLL; i++)
    emit->mask[i] = NULL;
}

static LLVMValueRef cg_constant_mask(struct cg_emit *emit, int64_t active) {
  LLVMTypeRef bit = LLVMInt1TypeInContext(emit->module->context);
  LLVMValueRef values[CG_MAX_LANES];
  for (uint32_t i = 0; i < emit->lanes; i++)
    values[i] = LLVMConstInt(bit, i < active, false);
  return LLVMConstVector(values, emit->lanes);
}

// `count` iterations (below unroll * lanes) from `begin` on, as one group.
static void cg_emit_rest(struct cg_emit *emit, uint32_t id, LLVMValueRef begin, int64_t count) {
  uint32_t lanes = emit->lanes;
  emit->group = (uint32_t)((count + lanes - 1) / lanes);
  cg_clear_masks(emit);
  if (count % lanes)
    emit->mask[emit->group - 1] = cg_constant_mask(emit, count % lanes);
  emit->index[id] = begin;
  cg_emit_body(emit, emit->kernel->insts.data[id].u.nest);
}

static void cg_emit_vector_known(struct cg_emit *emit, uint32_t id, struct cg_bounds bounds,
                                 uint32_t unroll) {
  int64_t step = (int64_t)unroll * emit->lanes;
  int64_t whole = bounds.count / step * step;
  LLVMValueRef middle = LLVMBuildNSWAdd(emit->builder, bounds.begin, cg_i64_const(emit, whole), "");
  emit->group = unroll;
  cg_clear_masks(emit);
  if (whole == step) {
    emit->index[id] = bounds.begin;
    cg_emit_body(emit, emit->kernel->insts.data[id].u.nest);
  } else if (whole) {
    cg_emit_counted(emit, id, bounds.begin, middle, step);
  }
  if (bounds.count > whole)
    cg_emit_rest(emit, id, middle, bounds.count - whole);
}

// Masked single vectors from `begin` to `end`.
static void cg_emit_masked(struct cg_emit *emit, uint32_t id, LLVMValueRef begin,
                           LLVMValueRef end) {
  LLVMBuilderRef b = emit->builder;
  LLVMTypeRef i32 = LLVMInt32TypeInContext(emit->module->context);
  LLVMBasicBlockRef body = cg_new_block(emit, "tail"), done = cg_new_block(emit, "done");
  LLVMBasicBlockRef before = LLVMGetInsertBlock(b);
  LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntSLT, begin, end, ""), body, done);
  LLVMPositionBuilderAtEnd(b, body);
  LLVMValueRef index = LLVMBuildPhi(b, LLVMTypeOf(begin), "");
  LLVMValueRef position = LLVMBuildPhi(b, i32, "");
  LLVMValueRef left = LLVMBuildTrunc(b, LLVMBuildSub(b, end, index, ""), i32, "");
  emit->group = 1;
  cg_clear_masks(emit);
  emit->mask[0] =
      LLVMBuildICmp(b, LLVMIntULT, cg_iota(emit, i32, 1), cg_splat(b, left, emit->lanes), "");
  emit->position = position;
  emit->index[id] = index;
  cg_emit_body(emit, emit->kernel->insts.data[id].u.nest);
  emit->position = NULL;
  LLVMValueRef next = LLVMBuildNSWAdd(b, index, cg_i64_const(emit, emit->lanes), "");
  LLVMValueRef values[] = {begin, next};
  LLVMValueRef positions[] = {cg_i32_const(emit, 0),
                              LLVMBuildAdd(b, position, cg_i32_const(emit, 1), "")};
  LLVMBasicBlockRef blocks[] = {before, LLVMGetInsertBlock(b)};
  LLVMAddIncoming(index, values, blocks, 2);
  LLVMAddIncoming(position, positions, blocks, 2);
  LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntSLT, next, end, ""), body, done);
  LLVMPositionBuilderAtEnd(b, done);
}

static void cg_emit_vector_unknown(struct cg_emit *emit, uint32_t id, struct cg_bounds bounds,
                                   uint32_t unroll) {
  LLVMBuilderRef b = emit->builder;
  int64_t step = (int64_t)unroll * emit->lanes;
  // The count may be negative for blocks past the range; the mask keeps it so.
  LLVMValueRef count = LLVMBuildSub(b, bounds.end, bounds.begin, "");
  LLVMValueRef whole = LLVMBuildAnd(b, count, cg_i64_const(emit, -step), "");
  LLVMValueRef middle = LLVMBuildAdd(b, bounds.begin, whole, "");
  emit->group = unroll;
  cg_clear_masks(emit);
  cg_emit_counted(emit, id, bounds.begin, middle, step);
  LLVMValueRef none = LLVMBuildICmp(b, LLVMIntSLT, count, cg_i64_const(emit, 0), "");
  middle = LLVMBuildSelect(b, none, bounds.end, middle, "");
  cg_emit_masked(emit, id, middle, bounds.end);
}

static void cg_emit_vector(struct cg_emit *emit, uint32_t id, struct cg_bounds bounds) {
  uint32_t unroll = cg_choose_unroll(emit, id);
  emit->vector_loop = id;
  if (bounds.count >= 0)
    cg_emit_vector_known(emit, id, bounds, unroll);
  else
    cg_emit_vector_unknown(emit, id, bounds, unroll);
  emit->vector_loop = CG_NO_VALUE;
  emit->group = 1;
  cg_clear_masks(emit);
}

static void cg_emit_loop(struct cg_emit *emit, uint32_t id) {
  const struct cg_loop *loop = emit->kernel->insts.data[id].u.nest;
  struct cg_bounds bounds = cg_loop_bounds(emit, loop);
  if (loop->kind == CG_LOOP_VECTOR)
    cg_emit_vector(emit, id, bounds);
  else
    cg_emit_counted(emit, id, bounds.begin, bounds.end, 1);
}

void cg_emit_root(struct cg_emit *emit, LLVMValueRef begin, LLVMValueRef end) {
  emit->group = 1;
  cg_emit_counted(emit, emit->kernel->root, begin, end, 1);
}
