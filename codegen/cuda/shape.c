// Which loops the grid runs, and who shares what in a row.
#include "codegen/cuda/emit.h"

static const struct cg_inst *inst_at(const struct cg_cuda_emit *emit, uint32_t id) {
  return &emit->kernel->insts.data[id];
}

static const struct cg_loop *loop_at(const struct cg_cuda_emit *emit, uint32_t id) {
  return inst_at(emit, id)->u.nest;
}

// ---- walking ----

// Calls visit for every instruction below a loop, with the innermost vector loop around it.
typedef void cg_visit(void *context, uint32_t id, uint32_t vector);

static void walk(const struct cg_cuda_emit *emit, uint32_t loop, uint32_t vector, cg_visit *visit,
                 void *context) {
  const struct cg_loop *nest = loop_at(emit, loop);
  if (nest->kind == CG_LOOP_VECTOR)
    vector = loop;
  for (size_t i = 0; i < nest->body.len; i++) {
    visit(context, nest->body.data[i], vector);
    if (inst_at(emit, nest->body.data[i])->op == CG_LOOP)
      walk(emit, nest->body.data[i], vector, visit, context);
  }
}

// ---- whether the iterations of a loop are independent ----

struct independence {
  const struct cg_cuda_emit *emit;
  uint32_t loop;
  bool *declared; // per instruction: an accumulator of the loop's own
  bool good;
};

static int64_t coefficient(const struct cg_address *address, uint32_t loop) {
  for (uint32_t i = 0; i < address->term_count; i++)
    if (address->terms[i].loop == loop)
      return address->terms[i].coef;
  return 0;
}

// Each iteration must store elsewhere, read nothing that another one stores, and add to no
// accumulator of the outside.
static void check_independent(void *context, uint32_t id, uint32_t vector) {
  struct independence *it = context;
  const struct cg_inst *inst = inst_at(it->emit, id);
  (void)vector;
  switch (inst->op) {
  case CG_ACC_NEW:
    it->declared[id] = true;
    break;
  case CG_ACC_ADD:
    it->good = it->good && it->declared[inst->operands[0]];
    break;
  case CG_LOAD:
    if (!it->emit->written[inst->u.address->buffer])
      break;
    /* fall through */
  case CG_STORE:
    it->good = it->good && inst->u.address->dynamic == CG_NO_VALUE &&
               coefficient(inst->u.address, it->loop) != 0;
    break;
  default:
    break;
  }
}

static bool is_independent(const struct cg_cuda_emit *emit, uint32_t loop) {
  struct independence it = {.emit = emit, .loop = loop, .good = true};
  it.declared = DTG_NEW_ARRAY(emit->arena, bool, emit->kernel->insts.len);
  walk(emit, loop, CG_NO_VALUE, check_independent, &it);
  return it.good;
}

// ---- the chain ----

// The only loop of a body in which nothing else has an effect; CG_NO_VALUE: there is none.
static uint32_t only_loop(const struct cg_cuda_emit *emit, const struct cg_loop *loop) {
  uint32_t found = CG_NO_VALUE;
  for (size_t i = 0; i < loop->body.len; i++) {
    const struct cg_inst *inst = inst_at(emit, loop->body.data[i]);
    if (inst->op == CG_STORE || inst->op == CG_ACC_NEW || inst->op == CG_CHECK)
      return CG_NO_VALUE;
    if (inst->op != CG_LOOP)
      continue;
    if (found != CG_NO_VALUE)
      return CG_NO_VALUE;
    found = loop->body.data[i];
  }
  return found;
}

static void extend_chain(struct cg_cuda_emit *emit) {
  uint32_t at = emit->kernel->root;
  dtg_vec_push(emit->arena, &emit->chain, at);
  while (true) {
    uint32_t next = only_loop(emit, loop_at(emit, at));
    if (next == CG_NO_VALUE || !is_independent(emit, next))
      break;
    dtg_vec_push(emit->arena, &emit->chain, next);
    at = next;
    if (loop_at(emit, at)->kind == CG_LOOP_VECTOR) {
      emit->form = CG_CUDA_FLAT;
      break;
    }
  }
  emit->row = at;
}

// ---- a row ----

struct row_facts {
  struct cg_cuda_emit *emit;
  int64_t longest; // vector loop
  uint32_t shape;  // the vector loop of the first access to a written buffer
  bool mixed;      // written buffers are met in different ways
};

static bool same_range(const struct cg_loop *a, const struct cg_loop *b) {
  return a->extent == b->extent && a->block_of == b->block_of && a->total == b->total;
}

static void note_access(struct row_facts *facts, const struct cg_address *address,
                        uint32_t vector) {
  const struct cg_cuda_emit *emit = facts->emit;
  if (!emit->written[address->buffer] || !emit->kernel->buffers.data[address->buffer].read)
    return;
  if (vector == CG_NO_VALUE || coefficient(address, vector) != 1)
    facts->mixed = true;
  else if (facts->shape == CG_NO_VALUE)
    facts->shape = vector;
  else if (!same_range(loop_at(emit, facts->shape), loop_at(emit, vector)))
    facts->mixed = true;
}

static void note_row(void *context, uint32_t id, uint32_t vector) {
  struct row_facts *facts = context;
  const struct cg_inst *inst = inst_at(facts->emit, id);
  if (inst->op == CG_LOOP && inst->u.nest->kind == CG_LOOP_VECTOR &&
      inst->u.nest->extent > facts->longest)
    facts->longest = inst->u.nest->extent;
  if (inst->op == CG_LOAD || inst->op == CG_STORE)
    note_access(facts, inst->u.address, vector);
  if (inst->op == CG_ACC_NEW)
    facts->emit->across[id] = false;
  if (inst->op == CG_ACC_ADD && vector != CG_NO_VALUE)
    facts->emit->across[inst->operands[0]] = true;
}

// An accumulator of a lane's own is declared inside the vector loop.
static void note_own(void *context, uint32_t id, uint32_t vector) {
  struct row_facts *facts = context;
  if (inst_at(facts->emit, id)->op == CG_ACC_NEW && vector != CG_NO_VALUE)
    facts->emit->across[id] = false;
}

static uint32_t choose_lanes(int64_t longest) {
  uint32_t lanes = 32;
  if (longest == 0)
    return 1;
  while (lanes < CG_CUDA_MAX_LANES && (int64_t)lanes * 4 < longest)
    lanes *= 2;
  return lanes;
}

static void analyse_row(struct cg_cuda_emit *emit) {
  struct row_facts facts = {.emit = emit, .shape = CG_NO_VALUE};
  walk(emit, emit->row, CG_NO_VALUE, note_row, &facts);
  walk(emit, emit->row, CG_NO_VALUE, note_own, &facts);
  emit->lanes = choose_lanes(facts.longest);
  emit->has_barriers = facts.mixed && emit->lanes > 1;
}

// ---- what is read ----

static void use_address(struct cg_cuda_emit *emit, const struct cg_address *address) {
  for (uint32_t i = 0; i < address->term_count; i++)
    if (address->terms[i].coef != 0)
      emit->used[address->terms[i].loop] = true;
  if (address->dynamic != CG_NO_VALUE)
    emit->used[address->dynamic] = true;
}

static bool has_effect(enum cg_op op) {
  return op == CG_STORE || op == CG_ACC_ADD || op == CG_CHECK;
}

// Operands come before who reads them, so one walk from the end sees every use. A loop is numbered
// before its body, and so before the blocks inside it.
static void note_uses(struct cg_cuda_emit *emit) {
  for (size_t i = emit->kernel->insts.len; i-- > 0;) {
    const struct cg_inst *inst = inst_at(emit, (uint32_t)i);
    if (inst->op == CG_LOOP && inst->u.nest->block_of != CG_NO_VALUE)
      emit->used[inst->u.nest->block_of] = true;
    if (!has_effect(inst->op) && !emit->used[i])
      continue;
    for (int k = 0; k < 3; k++)
      if (inst->operands[k] != CG_NO_VALUE)
        emit->used[inst->operands[k]] = true;
    if (inst->op == CG_LOAD || inst->op == CG_STORE)
      use_address(emit, inst->u.address);
    if (inst->op == CG_INDEX)
      emit->used[inst->u.loop] = true;
  }
}

// ---- all ----

static void note_written(void *context, uint32_t id, uint32_t vector) {
  struct cg_cuda_emit *emit = context;
  (void)vector;
  if (inst_at(emit, id)->op == CG_STORE)
    emit->written[inst_at(emit, id)->u.address->buffer] = true;
}

// Two buffers on the same memory are one.
static void join_aliases(struct cg_cuda_emit *emit) {
  for (size_t i = 0; i < emit->kernel->buffers.len; i++) {
    uint32_t alias = emit->kernel->buffers.data[i].may_alias;
    if (alias != CG_NO_VALUE && emit->written[i])
      emit->written[alias] = true;
  }
}

int64_t cg_cuda_iterations(const struct cg_cuda_emit *emit) {
  int64_t count = 1;
  for (size_t i = 0; i < emit->chain.len; i++)
    count *= loop_at(emit, emit->chain.data[i])->extent;
  return count;
}

static bool is_wide(const struct cg_cuda_emit *emit) {
  int64_t most = cg_cuda_iterations(emit);
  for (size_t i = 0; i < emit->kernel->buffers.len; i++)
    if (emit->kernel->buffers.data[i].elements > most)
      most = emit->kernel->buffers.data[i].elements;
  return most > INT32_MAX / 2;
}

void cg_cuda_analyse(struct cg_cuda_emit *emit) {
  emit->across = DTG_NEW_ARRAY(emit->arena, bool, emit->kernel->insts.len);
  emit->used = DTG_NEW_ARRAY(emit->arena, bool, emit->kernel->insts.len);
  emit->written = DTG_NEW_ARRAY(emit->arena, bool, emit->kernel->buffers.len);
  emit->form = CG_CUDA_ROWS;
  emit->vector = CG_NO_VALUE;
  walk(emit, emit->kernel->root, CG_NO_VALUE, note_written, emit);
  join_aliases(emit);
  note_uses(emit);
  extend_chain(emit);
  if (emit->form == CG_CUDA_ROWS)
    analyse_row(emit);
  emit->wide = is_wide(emit);
}
