// Checks what backends rely on: scopes, types, the place of loops, addresses within buffers.
#include "compiler/base/bug.h"
#include "compiler/base/strbuf.h"
#include "compiler/ir/kernel.h"

#include <inttypes.h>
#include <stdarg.h>

struct cg_check {
  const struct cg_kernel *kernel;
  struct dtg_strbuf *why;
  bool *visible;   // per instruction: defined in an open scope
  uint32_t *scope; // per instruction: the loop whose body it stands in
  uint32_t open[CG_MAX_LOOPS + 1];
  uint32_t depth;
  uint32_t vector; // the open VECTOR loop
};

__attribute__((format(printf, 3, 4))) static bool cg_fail(struct cg_check *check, uint32_t id,
                                                          const char *format, ...) {
  va_list args;
  dtg_strbuf_printf(check->why, "kernel %s, %%%" PRIu32 " (%s): ", check->kernel->name, id,
                    cg_op_name(check->kernel->insts.data[id].op));
  va_start(args, format);
  dtg_strbuf_vprintf(check->why, format, args);
  va_end(args);
  return false;
}

static bool cg_is_visible(const struct cg_check *check, uint32_t id) {
  return id < check->kernel->insts.len && check->visible[id];
}

static bool cg_is_open_loop(const struct cg_check *check, uint32_t id) {
  for (uint32_t i = 0; i < check->depth; i++)
    if (check->open[i] == id)
      return true;
  return false;
}

static enum dtg_dtype cg_dtype_of(const struct cg_check *check, uint32_t id) {
  return check->kernel->insts.data[id].dtype;
}

// The largest index that an open loop reaches; -1 if its body never runs.
static int64_t cg_loop_last(const struct cg_check *check, uint32_t id) {
  return check->kernel->insts.data[id].u.nest->total - 1;
}

// Adds the range of coef * [0, last] to [*low, *high]; false on overflow.
static bool cg_range_add(int64_t coef, int64_t last, int64_t *low, int64_t *high) {
  int64_t reach;
  if (__builtin_mul_overflow(coef, last, &reach))
    return false;
  return !__builtin_add_overflow(*(reach < 0 ? low : high), reach, reach < 0 ? low : high);
}

static bool cg_verify_range(struct cg_check *check, uint32_t id, const struct cg_address *address) {
  const struct cg_buffer *buffer = &check->kernel->buffers.data[address->buffer];
  int64_t low = address->base, high = address->base;
  for (uint32_t i = 0; i < check->depth; i++)
    if (cg_loop_last(check, check->open[i]) < 0)
      return true;
  for (uint32_t i = 0; i < address->term_count; i++)
    if (!cg_range_add(address->terms[i].coef, cg_loop_last(check, address->terms[i].loop), &low,
                      &high))
      return cg_fail(check, id, "the address overflows");
  if (address->dynamic == CG_NO_VALUE && (low < 0 || high >= buffer->elements))
    return cg_fail(check, id,
                   "elements %" PRId64 " to %" PRId64 " of buffer %s, which has %" PRId64, low,
                   high, buffer->name, buffer->elements);
  return true;
}

static bool cg_verify_address(struct cg_check *check, uint32_t id) {
  const struct cg_inst *inst = &check->kernel->insts.data[id];
  const struct cg_address *address = inst->u.address;
  if (address->buffer >= check->kernel->buffers.len)
    return cg_fail(check, id, "no buffer %" PRIu32, address->buffer);
  const struct cg_buffer *buffer = &check->kernel->buffers.data[address->buffer];
  if (address->term_count > CG_MAX_LOOPS)
    return cg_fail(check, id, "%" PRIu32 " terms in an address", address->term_count);
  if (inst->dtype != buffer->dtype)
    return cg_fail(check, id, "type %s, but buffer %s holds %s", dtg_dtype_name(inst->dtype),
                   buffer->name, dtg_dtype_name(buffer->dtype));
  if (inst->op == CG_LOAD ? !buffer->read : !buffer->written)
    return cg_fail(check, id, "buffer %s is not declared as %s", buffer->name,
                   inst->op == CG_LOAD ? "read" : "written");
  for (uint32_t i = 0; i < address->term_count; i++)
    if (!cg_is_open_loop(check, address->terms[i].loop))
      return cg_fail(check, id, "address term %%%" PRIu32 " is no open loop",
                     address->terms[i].loop);
  if (address->dynamic != CG_NO_VALUE &&
      (!cg_is_visible(check, address->dynamic) || cg_dtype_of(check, address->dynamic) != DTG_I64))
    return cg_fail(check, id, "the dynamic index is no visible i64");
  return cg_verify_range(check, id, address);
}

// Iterations of a VECTOR loop are independent, so they cannot share the element that they write.
static bool cg_verify_store(struct cg_check *check, uint32_t id) {
  const struct cg_address *address = check->kernel->insts.data[id].u.address;
  if (check->vector == CG_NO_VALUE || address->dynamic != CG_NO_VALUE ||
      cg_loop_last(check, check->vector) == 0)
    return true;
  int64_t coef = 0;
  for (uint32_t i = 0; i < address->term_count; i++)
    if (address->terms[i].loop == check->vector)
      coef += address->terms[i].coef;
  return coef != 0 || cg_fail(check, id, "every iteration of a vector loop writes one element");
}

static bool cg_verify_accumulator(struct cg_check *check, uint32_t id) {
  const struct cg_inst *inst = &check->kernel->insts.data[id];
  const struct cg_inst *acc = &check->kernel->insts.data[inst->operands[0]];
  if (acc->op != CG_ACC_NEW)
    return cg_fail(check, id, "operand 0 is no accumulator");
  bool arg = cg_accumulate_is_arg(acc->u.accumulate);
  if (inst->op == CG_ACC_READ) {
    if (check->scope[inst->operands[0]] != check->open[check->depth - 1])
      return cg_fail(check, id, "read outside the scope of the accumulator");
    return inst->dtype == (arg ? DTG_I64 : acc->dtype) || cg_fail(check, id, "wrong type");
  }
  if (cg_dtype_of(check, inst->operands[1]) != acc->dtype)
    return cg_fail(check, id, "the value's type is not the accumulator's");
  if (arg != (inst->operands[2] != CG_NO_VALUE))
    return cg_fail(check, id, arg ? "an index is missing" : "an index that nothing needs");
  if (arg && cg_dtype_of(check, inst->operands[2]) != DTG_I64)
    return cg_fail(check, id, "the index is not i64");
  return true;
}

static bool cg_is_arithmetic(enum dtg_dtype dtype) {
  return dtype == DTG_F32 || dtype == DTG_F64 || dtg_dtype_is_integer(dtype);
}

static bool cg_is_real(enum dtg_dtype dtype) {
  return dtype == DTG_F32 || dtype == DTG_F64;
}

// What operand 0 (SELECT: operand 1) of an op may be.
static bool cg_accepts(enum cg_op op, enum dtg_dtype dtype) {
  switch (op) {
  case CG_ADD:
  case CG_SUB:
  case CG_MUL:
  case CG_DIV:
  case CG_REM:
  case CG_MIN:
  case CG_MAX:
  case CG_NEG:
  case CG_ABS:
    return cg_is_arithmetic(dtype);
  case CG_EQ:
  case CG_NE:
  case CG_LT:
  case CG_LE:
  case CG_GT:
  case CG_GE:
    return cg_is_arithmetic(dtype) || dtype == DTG_BOOL;
  case CG_AND:
  case CG_OR:
  case CG_XOR:
  case CG_NOT:
    return dtype == DTG_BOOL || dtg_dtype_is_integer(dtype);
  case CG_SHL:
  case CG_SHR:
    return dtype == DTG_I32 || dtype == DTG_I64;
  case CG_SELECT:
  case CG_CAST:
    return true;
  default:
    return cg_is_real(dtype); // FMA, FLOOR, SQRT and the math functions
  }
}

static bool cg_verify_value(struct cg_check *check, uint32_t id) {
  const struct cg_inst *inst = &check->kernel->insts.data[id];
  uint32_t first = inst->op == CG_SELECT ? 1 : 0;
  enum dtg_dtype dtype = cg_dtype_of(check, inst->operands[first]);
  if (!cg_accepts(inst->op, dtype))
    return cg_fail(check, id, "operands of type %s", dtg_dtype_name(dtype));
  for (uint32_t i = first + 1; i < cg_op_arity(inst->op); i++)
    if (cg_dtype_of(check, inst->operands[i]) != dtype)
      return cg_fail(check, id, "operands of types %s and %s", dtg_dtype_name(dtype),
                     dtg_dtype_name(cg_dtype_of(check, inst->operands[i])));
  if (first == 1 && cg_dtype_of(check, inst->operands[0]) != DTG_BOOL)
    return cg_fail(check, id, "the condition is not bool");
  if (inst->op == CG_CAST)
    return true;
  bool compares = inst->op >= CG_EQ && inst->op <= CG_GE;
  return inst->dtype == (compares ? DTG_BOOL : dtype) || cg_fail(check, id, "wrong result type");
}

static bool cg_operands_are(struct cg_check *check, uint32_t id, enum dtg_dtype first,
                            enum dtg_dtype rest) {
  const struct cg_inst *inst = &check->kernel->insts.data[id];
  for (uint32_t i = 0; i < 3; i++)
    if (cg_dtype_of(check, inst->operands[i]) != (i ? rest : first))
      return cg_fail(check, id, "operand %" PRIu32 " has the wrong type", i);
  return true;
}

static bool cg_verify_operands(struct cg_check *check, uint32_t id) {
  const struct cg_inst *inst = &check->kernel->insts.data[id];
  uint32_t arity = cg_op_arity(inst->op);
  for (uint32_t i = 0; i < 3; i++) {
    bool optional = inst->op == CG_ACC_ADD && i == 2;
    if (inst->operands[i] == CG_NO_VALUE ? i < arity : i >= arity && !optional)
      return cg_fail(check, id, "takes %" PRIu32 " operands", arity);
    if (inst->operands[i] != CG_NO_VALUE && !cg_is_visible(check, inst->operands[i]))
      return cg_fail(check, id, "operand %%%" PRIu32 " is not visible here", inst->operands[i]);
  }
  return true;
}

static bool cg_verify_inst(struct cg_check *check, uint32_t id) {
  const struct cg_inst *inst = &check->kernel->insts.data[id];
  if (!cg_verify_operands(check, id))
    return false;
  switch (inst->op) {
  case CG_INDEX:
    return cg_is_open_loop(check, inst->u.loop) || cg_fail(check, id, "the loop is not open");
  case CG_LOAD:
    return cg_verify_address(check, id);
  case CG_STORE:
    if (cg_dtype_of(check, inst->operands[0]) != inst->dtype)
      return cg_fail(check, id, "the value has another type");
    return cg_verify_address(check, id) && cg_verify_store(check, id);
  case CG_ACC_NEW:
    return (inst->u.accumulate != CG_ACCUMULATE_NONE && cg_is_arithmetic(inst->dtype)) ||
           cg_fail(check, id, "accumulates %s of %s", cg_accumulate_name(inst->u.accumulate),
                   dtg_dtype_name(inst->dtype));
  case CG_ACC_ADD:
  case CG_ACC_READ:
    return cg_verify_accumulator(check, id);
  case CG_CONST:
    return true;
  case CG_BITCAST:
    if (inst->dtype == DTG_BOOL || cg_dtype_of(check, inst->operands[0]) == DTG_BOOL ||
        dtg_dtype_size(inst->dtype) != dtg_dtype_size(cg_dtype_of(check, inst->operands[0])))
      return cg_fail(check, id, "types of different sizes");
    return true;
  case CG_PHILOX:
    if (inst->u.i < 0 || inst->u.i > 3 || inst->dtype != DTG_I32)
      return cg_fail(check, id, "word %" PRId64, inst->u.i);
    return cg_operands_are(check, id, DTG_I64, DTG_I64);
  case CG_CHECK:
    return cg_operands_are(check, id, DTG_BOOL, DTG_I64);
  default:
    return cg_verify_value(check, id);
  }
}

static bool cg_verify_nest(struct cg_check *check, uint32_t id) {
  const struct cg_loop *loop = check->kernel->insts.data[id].u.nest;
  if ((loop->kind == CG_LOOP_PARALLEL) != (check->depth == 0))
    return cg_fail(check, id, "the parallel loop is the outermost and no other is");
  if (check->depth >= CG_MAX_LOOPS)
    return cg_fail(check, id, "more than %d nested loops", CG_MAX_LOOPS);
  if (loop->kind == CG_LOOP_VECTOR && check->vector != CG_NO_VALUE)
    return cg_fail(check, id, "a vector loop inside a vector loop");
  if (loop->extent < 0 || loop->total < 0)
    return cg_fail(check, id, "negative extent");
  if (loop->block_of == CG_NO_VALUE)
    return loop->total == loop->extent || cg_fail(check, id, "total differs from extent");
  if (!cg_is_open_loop(check, loop->block_of) || loop->block_of == check->vector)
    return cg_fail(check, id, "blocks of a loop that is not open or is a vector loop");
  int64_t blocks = cg_loop_last(check, loop->block_of) + 1, reach;
  if (__builtin_mul_overflow(blocks, loop->extent, &reach) ||
      __builtin_add_overflow(reach, loop->extent, &reach))
    return cg_fail(check, id, "the blocks overflow");
  return true;
}

static bool cg_verify_loop(struct cg_check *check, uint32_t id) {
  const struct cg_loop *loop = check->kernel->insts.data[id].u.nest;
  uint32_t outer_vector = check->vector;
  if (!cg_verify_nest(check, id))
    return false;
  check->open[check->depth++] = id;
  if (loop->kind == CG_LOOP_VECTOR)
    check->vector = id;
  for (size_t i = 0; i < loop->body.len; i++) {
    uint32_t child = loop->body.data[i];
    if (child >= check->kernel->insts.len || check->visible[child])
      return cg_fail(check, id, "body entry %zu is no instruction of its own", i);
    bool nested = check->kernel->insts.data[child].op == CG_LOOP;
    check->scope[child] = id;
    if (nested ? !cg_verify_loop(check, child) : !cg_verify_inst(check, child))
      return false;
    check->visible[child] = !nested;
  }
  for (size_t i = 0; i < loop->body.len; i++)
    check->visible[loop->body.data[i]] = false;
  check->vector = outer_vector;
  check->depth--;
  return true;
}

static bool cg_verify_text(const struct cg_kernel *kernel, struct dtg_strbuf *why,
                           const char *text) {
  dtg_strbuf_printf(why, "kernel %s: %s", kernel->name, text);
  return false;
}

// Elements that a batch of matrices of `rows` * `columns` spans.
static bool cg_gemm_fits(const struct cg_kernel *kernel, uint32_t buffer, int64_t rows,
                         int64_t columns, int64_t stride) {
  int64_t size, reach;
  if (stride < 0 || __builtin_mul_overflow(rows, columns, &size) ||
      __builtin_mul_overflow(kernel->gemm.batch - 1, stride, &reach) ||
      __builtin_add_overflow(reach, size, &reach))
    return false;
  return kernel->buffers.data[buffer].dtype == DTG_F32 &&
         reach <= kernel->buffers.data[buffer].elements;
}

static bool cg_verify_gemm(const struct cg_kernel *kernel, struct dtg_strbuf *why) {
  const struct cg_gemm *gemm = &kernel->gemm;
  if (kernel->buffers.len < 3)
    return cg_verify_text(kernel, why, "gemm needs the buffers A, B, C");
  if (gemm->batch < 1 || gemm->m < 1 || gemm->n < 1 || gemm->k < 1 || gemm->tile_rows < 1)
    return cg_verify_text(kernel, why, "gemm with an extent below 1");
  if (!cg_gemm_fits(kernel, 0, gemm->m, gemm->k, gemm->stride_a) ||
      !cg_gemm_fits(kernel, 1, gemm->k, gemm->n, gemm->stride_b) ||
      !cg_gemm_fits(kernel, 2, gemm->m, gemm->n, gemm->stride_c))
    return cg_verify_text(kernel, why, "gemm reaches past a buffer, or one is not f32");
  if (gemm->row_tiles != (gemm->m + gemm->tile_rows - 1) / gemm->tile_rows)
    return cg_verify_text(kernel, why, "the row tiles do not cover C");
  if (kernel->tiles != gemm->batch * gemm->row_tiles)
    return cg_verify_text(kernel, why, "tiles differ from batch times row tiles");
  return true;
}

static bool cg_verify_buffers(const struct cg_kernel *kernel, struct dtg_strbuf *why) {
  for (size_t i = 0; i < kernel->buffers.len; i++) {
    const struct cg_buffer *buffer = &kernel->buffers.data[i];
    if ((unsigned)buffer->dtype >= DTG_DTYPE_COUNT || buffer->elements < 0)
      return cg_verify_text(kernel, why, "a buffer without type or size");
    if (buffer->may_alias != CG_NO_VALUE &&
        (!buffer->written || buffer->may_alias >= kernel->buffers.len))
      return cg_verify_text(kernel, why, "only a written buffer may lie on another");
  }
  return true;
}

bool cg_kernel_verify(const struct cg_kernel *kernel, struct dtg_strbuf *why) {
  if (!cg_verify_buffers(kernel, why))
    return false;
  if (kernel->kind == CG_KERNEL_GEMM)
    return cg_verify_gemm(kernel, why);
  if (kernel->kind == CG_KERNEL_WINDOW) {
    const char *reason = cg_window_refuse(kernel);
    return reason ? cg_verify_text(kernel, why, reason) : true;
  }
  if (kernel->root >= kernel->insts.len || kernel->insts.data[kernel->root].op != CG_LOOP)
    return cg_verify_text(kernel, why, "no root loop");
  if (kernel->insts.data[kernel->root].u.nest->block_of != CG_NO_VALUE ||
      kernel->tiles != kernel->insts.data[kernel->root].u.nest->extent)
    return cg_verify_text(kernel, why, "tiles differ from the extent of the root loop");
  struct dtg_arena scratch;
  dtg_arena_init(&scratch);
  struct cg_check check = {.kernel = kernel, .why = why, .vector = CG_NO_VALUE};
  check.visible = DTG_NEW_ARRAY(&scratch, bool, kernel->insts.len);
  check.scope = DTG_NEW_ARRAY(&scratch, uint32_t, kernel->insts.len);
  bool ok = cg_verify_loop(&check, kernel->root);
  dtg_arena_free(&scratch);
  return ok;
}
