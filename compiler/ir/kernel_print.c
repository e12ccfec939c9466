// Text form of kernels: one instruction a line, loops in braces, values numbered as in the array.
#include "compiler/base/bug.h"
#include "compiler/base/strbuf.h"
#include "compiler/ir/kernel.h"

#include <inttypes.h>

struct cg_op_info {
  const char *name;
  uint32_t arity;
};

static const struct cg_op_info cg_ops[CG_OP_COUNT] = {
    [CG_LOOP] = {"loop", 0},
    [CG_INDEX] = {"index", 0},
    [CG_LOAD] = {"load", 0},
    [CG_STORE] = {"store", 1},
    [CG_ACC_NEW] = {"acc_new", 0},
    [CG_ACC_ADD] = {"acc_add", 2},
    [CG_ACC_READ] = {"acc_read", 1},
    [CG_CONST] = {"const", 0},
    [CG_ADD] = {"add", 2},
    [CG_SUB] = {"sub", 2},
    [CG_MUL] = {"mul", 2},
    [CG_DIV] = {"div", 2},
    [CG_REM] = {"rem", 2},
    [CG_FMA] = {"fma", 3},
    [CG_MIN] = {"min", 2},
    [CG_MAX] = {"max", 2},
    [CG_NEG] = {"neg", 1},
    [CG_ABS] = {"abs", 1},
    [CG_FLOOR] = {"floor", 1},
    [CG_SQRT] = {"sqrt", 1},
    [CG_EQ] = {"eq", 2},
    [CG_NE] = {"ne", 2},
    [CG_LT] = {"lt", 2},
    [CG_LE] = {"le", 2},
    [CG_GT] = {"gt", 2},
    [CG_GE] = {"ge", 2},
    [CG_AND] = {"and", 2},
    [CG_OR] = {"or", 2},
    [CG_XOR] = {"xor", 2},
    [CG_NOT] = {"not", 1},
    [CG_SHL] = {"shl", 2},
    [CG_SHR] = {"shr", 2},
    [CG_SELECT] = {"select", 3},
    [CG_CAST] = {"cast", 1},
    [CG_BITCAST] = {"bitcast", 1},
    [CG_EXP] = {"exp", 1},
    [CG_LOG] = {"log", 1},
    [CG_TANH] = {"tanh", 1},
    [CG_SIGMOID] = {"sigmoid", 1},
    [CG_ERF] = {"erf", 1},
    [CG_SIN] = {"sin", 1},
    [CG_COS] = {"cos", 1},
    [CG_POW] = {"pow", 2},
    [CG_LOG1P] = {"log1p", 1},
    [CG_EXPM1] = {"expm1", 1},
    [CG_PHILOX] = {"philox", 3},
    [CG_CHECK] = {"check", 3},
};

const char *cg_op_name(enum cg_op op) {
  return (unsigned)op < CG_OP_COUNT ? cg_ops[op].name : "?";
}

uint32_t cg_op_arity(enum cg_op op) {
  DTG_ASSERT((unsigned)op < CG_OP_COUNT);
  return cg_ops[op].arity;
}

const char *cg_accumulate_name(enum cg_accumulate kind) {
  static const char *const names[] = {"none", "sum", "prod", "max", "min", "argmax", "argmin"};
  return (unsigned)kind < sizeof names / sizeof *names ? names[kind] : "?";
}

bool cg_accumulate_is_arg(enum cg_accumulate kind) {
  return kind == CG_ACCUMULATE_ARGMAX || kind == CG_ACCUMULATE_ARGMIN;
}

static const char *cg_loop_kind_name(enum cg_loop_kind kind) {
  switch (kind) {
  case CG_LOOP_PARALLEL:
    return "parallel";
  case CG_LOOP_SEQUENTIAL:
    return "sequential";
  case CG_LOOP_VECTOR:
    return "vector";
  }
  return "?";
}

static void cg_print_term(struct dtg_strbuf *out, bool *first, int64_t coef, uint32_t id) {
  if (!*first)
    dtg_strbuf_puts(out, " + ");
  *first = false;
  if (coef != 1)
    dtg_strbuf_printf(out, "%" PRId64 "*", coef);
  dtg_strbuf_printf(out, "%%%" PRIu32, id);
}

static void cg_print_address(struct dtg_strbuf *out, const struct cg_address *address) {
  bool first = true;
  dtg_strbuf_printf(out, "b%" PRIu32 "[", address->buffer);
  for (uint32_t i = 0; i < address->term_count; i++)
    cg_print_term(out, &first, address->terms[i].coef, address->terms[i].loop);
  if (address->dynamic != CG_NO_VALUE)
    cg_print_term(out, &first, address->dynamic_coef, address->dynamic);
  if (first)
    dtg_strbuf_printf(out, "%" PRId64, address->base);
  else if (address->base)
    dtg_strbuf_printf(out, " + %" PRId64, address->base);
  dtg_strbuf_putc(out, ']');
}

static void cg_print_operands(struct dtg_strbuf *out, const struct cg_inst *inst) {
  const char *separator = " ";
  for (uint32_t i = 0; i < 3; i++) {
    if (inst->operands[i] == CG_NO_VALUE)
      continue;
    dtg_strbuf_printf(out, "%s%%%" PRIu32, separator, inst->operands[i]);
    separator = ", ";
  }
}

static void cg_print_detail(struct dtg_strbuf *out, const struct cg_inst *inst) {
  switch (inst->op) {
  case CG_INDEX:
    dtg_strbuf_printf(out, " %%%" PRIu32, inst->u.loop);
    break;
  case CG_LOAD:
    dtg_strbuf_putc(out, ' ');
    cg_print_address(out, inst->u.address);
    break;
  case CG_STORE:
    dtg_strbuf_puts(out, " -> ");
    cg_print_address(out, inst->u.address);
    break;
  case CG_ACC_NEW:
    dtg_strbuf_printf(out, " %s", cg_accumulate_name(inst->u.accumulate));
    break;
  case CG_CONST:
    dtg_strbuf_putc(out, ' ');
    if (dtg_dtype_is_float(inst->dtype))
      dtg_strbuf_f64(out, inst->u.f);
    else
      dtg_strbuf_printf(out, "%" PRId64, inst->u.i);
    break;
  case CG_PHILOX:
    dtg_strbuf_printf(out, " word %" PRId64, inst->u.i);
    break;
  case CG_CHECK:
    dtg_strbuf_printf(out, " code %" PRId64, inst->u.i);
    break;
  default:
    break;
  }
}

static void cg_print_inst(struct dtg_strbuf *out, uint32_t id, const struct cg_inst *inst) {
  bool has_value = inst->op != CG_STORE && inst->op != CG_ACC_ADD && inst->op != CG_CHECK;
  if (has_value)
    dtg_strbuf_printf(out, "%%%" PRIu32 " = ", id);
  dtg_strbuf_puts(out, cg_op_name(inst->op));
  cg_print_operands(out, inst);
  cg_print_detail(out, inst);
  if (has_value)
    dtg_strbuf_printf(out, " : %s", dtg_dtype_name(inst->dtype));
  dtg_strbuf_putc(out, '\n');
}

static void cg_print_loop(const struct cg_kernel *kernel, struct dtg_strbuf *out, uint32_t id,
                          uint32_t indent) {
  const struct cg_loop *loop = kernel->insts.data[id].u.nest;
  dtg_strbuf_repeat(out, ' ', indent);
  dtg_strbuf_printf(out, "%%%" PRIu32 " = %s %" PRId64, id, cg_loop_kind_name(loop->kind),
                    loop->extent);
  if (loop->block_of != CG_NO_VALUE)
    dtg_strbuf_printf(out, " block %%%" PRIu32 " of %" PRId64, loop->block_of, loop->total);
  dtg_strbuf_puts(out, " {\n");
  for (size_t i = 0; i < loop->body.len; i++) {
    uint32_t child = loop->body.data[i];
    if (kernel->insts.data[child].op == CG_LOOP) {
      cg_print_loop(kernel, out, child, indent + 2);
    } else {
      dtg_strbuf_repeat(out, ' ', indent + 2);
      cg_print_inst(out, child, &kernel->insts.data[child]);
    }
  }
  dtg_strbuf_repeat(out, ' ', indent);
  dtg_strbuf_puts(out, "}\n");
}

static void cg_print_buffer(struct dtg_strbuf *out, size_t index, const struct cg_buffer *buffer) {
  dtg_strbuf_printf(out, "  b%zu %s %s[%" PRId64 "]", index, buffer->name,
                    dtg_dtype_name(buffer->dtype), buffer->elements);
  if (buffer->read)
    dtg_strbuf_puts(out, " read");
  if (buffer->written)
    dtg_strbuf_puts(out, " written");
  if (buffer->unaligned)
    dtg_strbuf_puts(out, " unaligned");
  if (buffer->may_alias != CG_NO_VALUE)
    dtg_strbuf_printf(out, " alias b%" PRIu32, buffer->may_alias);
  dtg_strbuf_putc(out, '\n');
}

static void cg_print_gemm(struct dtg_strbuf *out, const struct cg_gemm *gemm) {
  dtg_strbuf_printf(out, "  gemm batch %" PRId64 " m %" PRId64 " n %" PRId64 " k %" PRId64,
                    gemm->batch, gemm->m, gemm->n, gemm->k);
  dtg_strbuf_printf(out, " strides %" PRId64 " %" PRId64 " %" PRId64, gemm->stride_a,
                    gemm->stride_b, gemm->stride_c);
  dtg_strbuf_printf(out, "%s%s beta ", gemm->transpose_a ? " transpose_a" : "",
                    gemm->transpose_b ? " transpose_b" : "");
  dtg_strbuf_f64(out, (double)gemm->beta);
  dtg_strbuf_printf(out, " tiles %" PRId64 " of %" PRId64 " rows\n", gemm->row_tiles,
                    gemm->tile_rows);
}

void cg_kernel_print(const struct cg_kernel *kernel, struct dtg_strbuf *out) {
  dtg_strbuf_printf(out, "kernel %s", kernel->name);
  if (kernel->comment && *kernel->comment)
    dtg_strbuf_printf(out, " ; %s", kernel->comment);
  dtg_strbuf_putc(out, '\n');
  for (size_t i = 0; i < kernel->buffers.len; i++)
    cg_print_buffer(out, i, &kernel->buffers.data[i]);
  if (kernel->kind == CG_KERNEL_GEMM)
    cg_print_gemm(out, &kernel->gemm);
  else if (kernel->kind == CG_KERNEL_WINDOW)
    cg_window_print(&kernel->window, out);
  else if (kernel->root != CG_NO_VALUE)
    cg_print_loop(kernel, out, kernel->root, 2);
}
