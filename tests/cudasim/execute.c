/* One instruction of one thread: what touches memory, moves, or waits for others. */
#include "tests/cudasim/internal.h"

#include <string.h>

/* ---- operands ---- */

static uint64_t special(const struct sim_context *c, enum ptx_special which) {
  const struct sim_block *b = c->block;
  const struct sim_launch *l = b->launch;
  const uint64_t values[] = {[PTX_TID_X] = c->thread->x,
                             [PTX_TID_Y] = c->thread->y,
                             [PTX_TID_Z] = c->thread->z,
                             [PTX_NTID_X] = l->block[0],
                             [PTX_NTID_Y] = l->block[1],
                             [PTX_NTID_Z] = l->block[2],
                             [PTX_CTAID_X] = b->x,
                             [PTX_CTAID_Y] = b->y,
                             [PTX_CTAID_Z] = b->z,
                             [PTX_NCTAID_X] = l->grid[0],
                             [PTX_NCTAID_Y] = l->grid[1],
                             [PTX_NCTAID_Z] = l->grid[2],
                             [PTX_LANEID] = c->thread->number % SIM_WARP,
                             [PTX_WARPID] = c->thread->number / SIM_WARP};
  return values[which];
}

/* The address of a symbol in the memory of its space. */
static uint64_t symbol_address(const struct sim_context *c, uint32_t number) {
  const struct ptx_symbol *symbol = &c->block->launch->module->symbols[number];
  if (symbol->space == PTX_GLOBAL)
    return (uint64_t)(uintptr_t)symbol->memory;
  if (symbol->space == PTX_SHARED && symbol->in_function)
    return (uint64_t)(symbol->offset + sim_function_shared(c->block->launch->module));
  return (uint64_t)symbol->offset;
}

static uint64_t vector_value(const struct sim_context *c, const struct ptx_operand *operand) {
  const uint64_t *registers = sim_frame(c->thread)->registers;
  unsigned width = 64 / operand->part_count;
  if (c->inst->types[0].bits == 32)
    width = 32 / operand->part_count;
  uint64_t value = 0;
  for (uint32_t i = 0; i < operand->part_count; i++) {
    uint64_t part = registers[operand->parts[i]];
    value |= (width == 64 ? part : part & (((uint64_t)1 << width) - 1)) << (i * width);
  }
  return value;
}

uint64_t sim_value(struct sim_context *c, const struct ptx_operand *operand) {
  switch (operand->kind) {
  case PTX_OPERAND_REGISTER: {
    uint64_t value = sim_frame(c->thread)->registers[operand->reg];
    return operand->is_negated ? !value : value;
  }
  case PTX_OPERAND_IMMEDIATE:
    return (uint64_t)operand->value;
  case PTX_OPERAND_SPECIAL:
    return special(c, (enum ptx_special)operand->value);
  case PTX_OPERAND_SYMBOL:
    return symbol_address(c, operand->reg) + (uint64_t)operand->value;
  case PTX_OPERAND_VECTOR:
    return vector_value(c, operand);
  default:
    return 0;
  }
}

static void set_register(struct sim_context *c, uint32_t number, uint64_t value) {
  if (number != PTX_NONE)
    sim_frame(c->thread)->registers[number] = value;
}

void sim_set(struct sim_context *c, const struct ptx_operand *operand, uint64_t value) {
  if (operand->kind == PTX_OPERAND_VECTOR) {
    unsigned width = c->inst->types[0].bits / operand->part_count;
    for (uint32_t i = 0; i < operand->part_count; i++)
      set_register(c, operand->parts[i], value >> (i * width) & (((uint64_t)1 << width) - 1));
    return;
  }
  set_register(c, operand->reg, value);
}

static uint64_t address_of(struct sim_context *c, const struct ptx_operand *operand) {
  if (operand->is_symbol)
    return symbol_address(c, operand->reg) + (uint64_t)operand->value;
  uint64_t base = operand->reg == PTX_NONE ? 0 : sim_frame(c->thread)->registers[operand->reg];
  return base + (uint64_t)operand->value;
}

/* ---- memory ---- */

static int64_t width_of(const struct ptx_inst *inst) {
  return inst->types[0].bits / 8;
}
static uint32_t elements_of(const struct ptx_inst *inst) {
  return PTX_HAS(inst, v4) ? 4 : PTX_HAS(inst, v2) ? 2 : 1;
}

static uint64_t extend(struct ptx_type type, uint64_t value) {
  if (type.kind != 's' || type.bits == 64)
    return value;
  unsigned shift = 64u - type.bits;
  return (uint64_t)((int64_t)(value << shift) >> shift);
}

static bool load(struct sim_context *c) {
  const struct ptx_inst *inst = c->inst;
  const struct ptx_operand *to = &inst->operands[0];
  int64_t width = width_of(inst);
  uint32_t count = elements_of(inst);
  uint8_t *bytes =
      sim_access(c, inst->space, address_of(c, &inst->operands[1]), width * count, false, false);
  if (!bytes)
    return false;
  for (uint32_t i = 0; i < count; i++) {
    uint64_t value = 0;
    memcpy(&value, bytes + i * width, (size_t)width);
    set_register(c, count > 1 ? to->parts[i] : to->reg, extend(inst->types[0], value));
  }
  return true;
}

static bool store(struct sim_context *c) {
  const struct ptx_inst *inst = c->inst;
  const struct ptx_operand *from = &inst->operands[1];
  int64_t width = width_of(inst);
  uint32_t count = elements_of(inst);
  uint8_t *bytes =
      sim_access(c, inst->space, address_of(c, &inst->operands[0]), width * count, true, false);
  if (!bytes)
    return false;
  for (uint32_t i = 0; i < count; i++) {
    uint64_t value =
        count > 1 ? sim_frame(c->thread)->registers[from->parts[i]] : sim_value(c, from);
    memcpy(bytes + i * width, &value, (size_t)width);
  }
  return true;
}

static uint64_t atomic_result(struct sim_context *c, uint64_t old, uint64_t a, uint64_t b) {
  const struct ptx_inst *inst = c->inst;
  struct ptx_type type = inst->types[0];
  if (PTX_HAS(inst, cas))
    return old == a ? b : old;
  if (PTX_HAS(inst, exch))
    return a;
  if (PTX_HAS(inst, add) && type.kind == 'f') {
    float x, y;
    memcpy(&x, &old, sizeof x);
    memcpy(&y, &a, sizeof y);
    x += y;
    old = 0;
    memcpy(&old, &x, sizeof x);
    return old;
  }
  if (PTX_HAS(inst, add))
    return old + a;
  if (PTX_HAS(inst, and))
    return old & a;
  if (PTX_HAS(inst, or))
    return old | a;
  bool less = type.kind == 's' ? (int64_t)extend(type, a) < (int64_t)extend(type, old) : a < old;
  return PTX_HAS(inst, min) == less ? a : old;
}

/* atom d, [a], b {, c}; red [a], b. */
static bool atomic(struct sim_context *c) {
  const struct ptx_inst *inst = c->inst;
  uint32_t at = inst->op == PTX_atom ? 1 : 0;
  int64_t width = width_of(inst);
  uint64_t old = 0;
  uint64_t mask = width == 8 ? ~(uint64_t)0 : ((uint64_t)1 << (8 * width)) - 1;
  uint8_t *bytes =
      sim_access(c, inst->space, address_of(c, &inst->operands[at]), width, true, true);
  if (!bytes)
    return false;
  memcpy(&old, bytes, (size_t)width);
  uint64_t a = sim_value(c, &inst->operands[at + 1]) & mask;
  uint64_t b = inst->operand_count > at + 2 ? sim_value(c, &inst->operands[at + 2]) & mask : 0;
  uint64_t value = atomic_result(c, old, a, b);
  memcpy(bytes, &value, (size_t)width);
  if (inst->op == PTX_atom)
    sim_set(c, &inst->operands[0], old);
  return true;
}

/* To a space: the offset in its window; from one: the generic address. */
static uint64_t convert_address(const struct sim_context *c, uint64_t address) {
  const struct ptx_inst *inst = c->inst;
  uint64_t window = inst->space == PTX_SHARED  ? SIM_SHARED_WINDOW
                    : inst->space == PTX_LOCAL ? SIM_LOCAL_WINDOW
                                               : 0;
  if (window == 0)
    return address;
  return PTX_HAS(inst, to) ? address & ~SIM_WINDOW_MASK : address | window;
}

/* ---- others ---- */

static bool wait_for(struct sim_context *c, enum sim_state state, uint32_t mask) {
  c->thread->state = state;
  c->thread->mask = mask;
  return true;
}

static bool synchronise(struct sim_context *c) {
  const struct ptx_inst *inst = c->inst;
  if (PTX_HAS(inst, warp))
    return wait_for(c, SIM_AT_WARP, (uint32_t)sim_value(c, &inst->operands[0]));
  return wait_for(c, SIM_AT_BARRIER, 0);
}

static bool end(struct sim_context *c) {
  while (c->thread->depth > 0)
    sim_pop(c->thread);
  c->thread->state = SIM_ENDED;
  return true;
}

static bool is_guarded_out(struct sim_context *c) {
  const struct ptx_inst *inst = c->inst;
  if (inst->guard == PTX_NONE)
    return false;
  bool holds = sim_frame(c->thread)->registers[inst->guard] != 0;
  return holds == inst->guard_negated;
}

bool sim_step(struct sim_context *c) {
  struct sim_frame *frame = sim_frame(c->thread);
  const struct ptx_inst *inst;
  uint64_t value;
  if (frame->at >= frame->function->inst_count)
    return sim_return(c);
  inst = c->inst = &frame->function->insts[frame->at];
  c->block->device->instructions++;
  if (is_guarded_out(c)) {
    frame->at++;
    return true;
  }
  frame->at++;
  switch (inst->op) {
  case PTX_mov:
  case PTX_cvta:
    value = sim_value(c, &inst->operands[1]);
    sim_set(c, &inst->operands[0], inst->op == PTX_cvta ? convert_address(c, value) : value);
    return true;
  case PTX_ld:
    return load(c);
  case PTX_st:
    return store(c);
  case PTX_atom:
  case PTX_red:
    return atomic(c);
  case PTX_bra:
    frame->at = (uint32_t)inst->operands[0].value;
    return true;
  case PTX_bar:
  case PTX_barrier:
    return synchronise(c);
  case PTX_shfl:
    return wait_for(c, SIM_AT_WARP, (uint32_t)sim_value(c, &inst->operands[4]));
  case PTX_vote:
    return wait_for(c, SIM_AT_WARP, (uint32_t)sim_value(c, &inst->operands[2]));
  case PTX_call:
    return sim_call(c);
  case PTX_ret:
    return sim_return(c);
  case PTX_exit:
    return end(c);
  case PTX_trap:
    return sim_fail(c, "the kernel stops itself");
  case PTX_membar:
  case PTX_fence:
    return true;
  default:
    break;
  }
  if (!sim_compute(c, &value))
    return sim_fail(c, "this form of the instruction is not simulated");
  set_register(c, inst->operands[0].reg, value);
  set_register(c, inst->operands[0].second, inst->op == PTX_setp ? !value : value);
  return true;
}
