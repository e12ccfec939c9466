// Builds kernels; what a wrong call breaks is an invariant of the compiler, hence dtg_bug.
#include "compiler/base/bug.h"
#include "compiler/ir/kernel.h"

struct cg_kernel *cg_kernel_new(struct dtg_arena *arena, const char *name, const char *comment,
                                struct dtg_span span) {
  struct cg_kernel *kernel = DTG_NEW(arena, struct cg_kernel);
  kernel->name = dtg_arena_strdup(arena, name);
  kernel->comment = dtg_arena_strdup(arena, comment ? comment : "");
  kernel->span = span;
  kernel->kind = CG_KERNEL_LOOPS;
  kernel->arena = arena;
  kernel->root = CG_NO_VALUE;
  return kernel;
}

uint32_t cg_buffer_add(struct cg_kernel *kernel, const char *name, enum dtg_dtype dtype,
                       int64_t elements, bool read, bool written) {
  struct cg_buffer buffer = {
      .name = dtg_arena_strdup(kernel->arena, name),
      .dtype = dtype,
      .elements = elements,
      .written = written,
      .read = read,
      .may_alias = CG_NO_VALUE,
  };
  dtg_vec_push(kernel->arena, &kernel->buffers, buffer);
  return (uint32_t)kernel->buffers.len - 1;
}

void cg_builder_init(struct cg_builder *builder, struct cg_kernel *kernel) {
  *builder = (struct cg_builder){.kernel = kernel};
}

static struct cg_inst cg_inst_make(enum cg_op op, enum dtg_dtype dtype) {
  return (struct cg_inst){
      .op = op, .dtype = dtype, .operands = {CG_NO_VALUE, CG_NO_VALUE, CG_NO_VALUE}};
}

static uint32_t cg_append(struct cg_builder *builder, struct cg_inst inst) {
  struct cg_kernel *kernel = builder->kernel;
  uint32_t id = (uint32_t)kernel->insts.len;
  dtg_vec_push(kernel->arena, &kernel->insts, inst);
  if (builder->depth == 0) {
    if (inst.op != CG_LOOP || kernel->root != CG_NO_VALUE)
      dtg_bug("kernel %s: only the root loop stands at the outermost level", kernel->name);
    kernel->root = id;
    kernel->tiles = inst.u.nest->extent;
    return id;
  }
  struct cg_loop *loop = kernel->insts.data[builder->stack[builder->depth - 1]].u.nest;
  dtg_vec_push(kernel->arena, &loop->body, id);
  return id;
}

static const struct cg_inst *cg_operand(const struct cg_builder *builder, uint32_t id) {
  if (id >= builder->kernel->insts.len)
    dtg_bug("kernel %s: %u is no instruction", builder->kernel->name, id);
  return &builder->kernel->insts.data[id];
}

uint32_t cg_loop_begin_block(struct cg_builder *builder, enum cg_loop_kind kind, int64_t extent,
                             uint32_t block_of, int64_t total) {
  if (builder->depth >= CG_MAX_LOOPS)
    dtg_bug("kernel %s: more than %d nested loops", builder->kernel->name, CG_MAX_LOOPS);
  struct cg_inst inst = cg_inst_make(CG_LOOP, DTG_I64);
  inst.u.nest = DTG_NEW(builder->kernel->arena, struct cg_loop);
  inst.u.nest->kind = kind;
  inst.u.nest->extent = extent;
  inst.u.nest->block_of = block_of;
  inst.u.nest->total = block_of == CG_NO_VALUE ? extent : total;
  uint32_t id = cg_append(builder, inst);
  builder->stack[builder->depth++] = id;
  return id;
}

uint32_t cg_loop_begin(struct cg_builder *builder, enum cg_loop_kind kind, int64_t extent) {
  return cg_loop_begin_block(builder, kind, extent, CG_NO_VALUE, extent);
}

void cg_loop_end(struct cg_builder *builder) {
  if (builder->depth == 0)
    dtg_bug("kernel %s: no loop is open", builder->kernel->name);
  builder->depth--;
}

uint32_t cg_index(struct cg_builder *builder, uint32_t loop) {
  struct cg_inst inst = cg_inst_make(CG_INDEX, DTG_I64);
  inst.u.loop = loop;
  return cg_append(builder, inst);
}

uint32_t cg_const_f(struct cg_builder *builder, enum dtg_dtype dtype, double value) {
  struct cg_inst inst = cg_inst_make(CG_CONST, dtype);
  if (!dtg_dtype_is_float(dtype))
    dtg_bug("kernel %s: a float constant of type %s", builder->kernel->name, dtg_dtype_name(dtype));
  inst.u.f = value;
  return cg_append(builder, inst);
}

uint32_t cg_const_i(struct cg_builder *builder, enum dtg_dtype dtype, int64_t value) {
  struct cg_inst inst = cg_inst_make(CG_CONST, dtype);
  if (dtg_dtype_is_float(dtype))
    dtg_bug("kernel %s: an integer constant of type %s", builder->kernel->name,
            dtg_dtype_name(dtype));
  inst.u.i = value;
  return cg_append(builder, inst);
}

static struct cg_address *cg_address_copy(const struct cg_builder *builder,
                                          const struct cg_address *address) {
  if (address->buffer >= builder->kernel->buffers.len)
    dtg_bug("kernel %s: %u is no buffer", builder->kernel->name, address->buffer);
  struct cg_address *copy = DTG_NEW(builder->kernel->arena, struct cg_address);
  *copy = *address;
  return copy;
}

uint32_t cg_load(struct cg_builder *builder, const struct cg_address *address) {
  struct cg_address *copy = cg_address_copy(builder, address);
  struct cg_inst inst = cg_inst_make(CG_LOAD, builder->kernel->buffers.data[copy->buffer].dtype);
  inst.u.address = copy;
  return cg_append(builder, inst);
}

void cg_store(struct cg_builder *builder, const struct cg_address *address, uint32_t value) {
  struct cg_inst inst = cg_inst_make(CG_STORE, cg_operand(builder, value)->dtype);
  inst.u.address = cg_address_copy(builder, address);
  inst.operands[0] = value;
  cg_append(builder, inst);
}

static uint32_t cg_value(struct cg_builder *builder, enum cg_op op, enum dtg_dtype dtype,
                         uint32_t a, uint32_t b, uint32_t c) {
  struct cg_inst inst = cg_inst_make(op, dtype);
  inst.operands[0] = a;
  inst.operands[1] = b;
  inst.operands[2] = c;
  return cg_append(builder, inst);
}

uint32_t cg_unary(struct cg_builder *builder, enum cg_op op, uint32_t a) {
  return cg_value(builder, op, cg_operand(builder, a)->dtype, a, CG_NO_VALUE, CG_NO_VALUE);
}

uint32_t cg_binary(struct cg_builder *builder, enum cg_op op, uint32_t a, uint32_t b) {
  bool compares = op >= CG_EQ && op <= CG_GE;
  enum dtg_dtype dtype = compares ? DTG_BOOL : cg_operand(builder, a)->dtype;
  return cg_value(builder, op, dtype, a, b, CG_NO_VALUE);
}

uint32_t cg_fma(struct cg_builder *builder, uint32_t a, uint32_t b, uint32_t c) {
  return cg_value(builder, CG_FMA, cg_operand(builder, a)->dtype, a, b, c);
}

uint32_t cg_select(struct cg_builder *builder, uint32_t condition, uint32_t a, uint32_t b) {
  return cg_value(builder, CG_SELECT, cg_operand(builder, a)->dtype, condition, a, b);
}

uint32_t cg_cast(struct cg_builder *builder, uint32_t a, enum dtg_dtype dtype) {
  if (cg_operand(builder, a)->dtype == dtype)
    return a;
  return cg_value(builder, CG_CAST, dtype, a, CG_NO_VALUE, CG_NO_VALUE);
}

uint32_t cg_bitcast(struct cg_builder *builder, uint32_t a, enum dtg_dtype dtype) {
  return cg_value(builder, CG_BITCAST, dtype, a, CG_NO_VALUE, CG_NO_VALUE);
}

uint32_t cg_philox(struct cg_builder *builder, uint32_t key, uint32_t low, uint32_t high,
                   int word) {
  uint32_t id = cg_value(builder, CG_PHILOX, DTG_I32, key, low, high);
  builder->kernel->insts.data[id].u.i = word;
  return id;
}

void cg_check(struct cg_builder *builder, uint32_t condition, uint32_t position, uint32_t value,
              int64_t code) {
  uint32_t id = cg_value(builder, CG_CHECK, DTG_BOOL, condition, position, value);
  builder->kernel->insts.data[id].u.i = code;
}

uint32_t cg_acc_new(struct cg_builder *builder, enum cg_accumulate kind, enum dtg_dtype dtype) {
  struct cg_inst inst = cg_inst_make(CG_ACC_NEW, dtype);
  inst.u.accumulate = kind;
  return cg_append(builder, inst);
}

void cg_acc_add(struct cg_builder *builder, uint32_t acc, uint32_t value, uint32_t index) {
  cg_value(builder, CG_ACC_ADD, cg_operand(builder, acc)->dtype, acc, value, index);
}

uint32_t cg_acc_read(struct cg_builder *builder, uint32_t acc) {
  const struct cg_inst *inst = cg_operand(builder, acc);
  bool index =
      inst->u.accumulate == CG_ACCUMULATE_ARGMAX || inst->u.accumulate == CG_ACCUMULATE_ARGMIN;
  return cg_value(builder, CG_ACC_READ, index ? DTG_I64 : inst->dtype, acc, CG_NO_VALUE,
                  CG_NO_VALUE);
}
