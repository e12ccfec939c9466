// What depends on the index of a VECTOR loop, and where accumulators live.
#include "codegen/llvm/emit.h"

struct cg_walk {
  struct cg_emit *emit;
  bool *inside;    // per instruction: stands in the open VECTOR loop
  uint32_t vector; // the open VECTOR loop
};

static bool cg_address_varies(const struct cg_walk *walk, const struct cg_address *address) {
  for (uint32_t i = 0; i < address->term_count; i++)
    if (address->terms[i].loop == walk->vector && address->terms[i].coef != 0)
      return true;
  return address->dynamic != CG_NO_VALUE && walk->emit->varying[address->dynamic];
}

static bool cg_inst_varies(const struct cg_walk *walk, const struct cg_inst *inst) {
  switch (inst->op) {
  case CG_INDEX:
    return inst->u.loop == walk->vector;
  case CG_LOAD:
    return cg_address_varies(walk, inst->u.address);
  case CG_STORE:
  case CG_ACC_NEW:
  case CG_ACC_ADD:
    return true;
  default:
    break;
  }
  for (uint32_t i = 0; i < 3; i++)
    if (inst->operands[i] != CG_NO_VALUE && walk->emit->varying[inst->operands[i]])
      return true;
  return false;
}

static void cg_walk_inst(struct cg_walk *walk, uint32_t id) {
  struct cg_emit *emit = walk->emit;
  const struct cg_inst *inst = &emit->kernel->insts.data[id];
  if (walk->vector == CG_NO_VALUE)
    return;
  walk->inside[id] = true;
  emit->varying[id] = cg_inst_varies(walk, inst);
  if (inst->op == CG_ACC_NEW)
    emit->accumulators[id].place = CG_PLACE_LANES;
  if (inst->op == CG_ACC_ADD && !walk->inside[inst->operands[0]])
    emit->accumulators[inst->operands[0]].place = CG_PLACE_WIDE;
}

static void cg_walk_loop(struct cg_walk *walk, uint32_t id) {
  const struct cg_loop *loop = walk->emit->kernel->insts.data[id].u.nest;
  if (loop->kind == CG_LOOP_VECTOR)
    walk->vector = id;
  for (size_t i = 0; i < loop->body.len; i++) {
    uint32_t child = loop->body.data[i];
    if (walk->emit->kernel->insts.data[child].op == CG_LOOP)
      cg_walk_loop(walk, child);
    else
      cg_walk_inst(walk, child);
  }
  if (loop->kind == CG_LOOP_VECTOR)
    walk->vector = CG_NO_VALUE;
}

void cg_analyse(struct cg_emit *emit) {
  struct dtg_arena scratch;
  dtg_arena_init(&scratch);
  struct cg_walk walk = {.emit = emit, .vector = CG_NO_VALUE};
  walk.inside = DTG_NEW_ARRAY(&scratch, bool, emit->kernel->insts.len);
  cg_walk_loop(&walk, emit->kernel->root);
  dtg_arena_free(&scratch);
}

// Rough count of machine instructions per vector.
static uint32_t cg_inst_cost(const struct cg_inst *inst) {
  switch (inst->op) {
  case CG_EXP:
  case CG_LOG:
  case CG_SIGMOID:
  case CG_TANH:
  case CG_LOG1P:
  case CG_EXPM1:
    return 25;
  case CG_ERF:
    return 40;
  case CG_SIN:
  case CG_COS:
  case CG_POW:
    return 5; // a call
  case CG_PHILOX:
    return 120;
  case CG_CAST:
    return dtg_dtype_is_float(inst->dtype) ? 1 : 5;
  default:
    return inst->dtype == DTG_I64 || inst->dtype == DTG_F64 ? 2 : 1;
  }
}

struct cg_shape {
  uint32_t cost;
  bool fills_wide; // updates an accumulator of CG_UNROLL vectors
};

static void cg_measure(const struct cg_emit *emit, const struct cg_loop *loop,
                       struct cg_shape *shape) {
  for (size_t i = 0; i < loop->body.len; i++) {
    uint32_t id = loop->body.data[i];
    const struct cg_inst *inst = &emit->kernel->insts.data[id];
    if (inst->op == CG_LOOP)
      cg_measure(emit, inst->u.nest, shape);
    else if (emit->varying[id])
      shape->cost += cg_inst_cost(inst);
    if (inst->op == CG_ACC_ADD && emit->accumulators[inst->operands[0]].place == CG_PLACE_WIDE)
      shape->fills_wide = true;
  }
}

uint32_t cg_choose_unroll(const struct cg_emit *emit, uint32_t loop) {
  struct cg_shape shape = {0, false};
  cg_measure(emit, emit->kernel->insts.data[loop].u.nest, &shape);
  if (shape.fills_wide || shape.cost <= 80)
    return CG_UNROLL;
  return shape.cost <= 200 ? 2 : 1;
}
