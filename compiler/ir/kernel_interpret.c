// The meaning of kernel IR, one scalar at a time. Floats live in `f` (every f32 and bf16 is exactly
// a double; f32 results are rounded by computing in float), integers and bool in `i`.
#include "compiler/base/bug.h"
#include "compiler/ir/kernel.h"

#include <math.h>
#include <string.h>

struct cg_cell {
  double f;
  int64_t i;
};

struct cg_machine {
  const struct cg_kernel *kernel;
  char *const *buffers;
  struct cg_cell *values; // per instruction; accumulators: the value so far
  int64_t *index;         // per CG_LOOP: its iteration; per CG_ACC_NEW: the index so far
  int64_t *fault;
};

static uint16_t cg_bf16_of(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  if (isnan(value))
    return (uint16_t)(bits >> 16 | 0x40);
  return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

static double cg_bf16_value(uint16_t half) {
  uint32_t bits = (uint32_t)half << 16;
  float value;
  memcpy(&value, &bits, sizeof value);
  return (double)value;
}

static struct cg_cell cg_cell_load(enum dtg_dtype dtype, const void *from) {
  struct cg_cell cell = {0, 0};
  union {
    float f;
    double d;
    uint16_t h;
    int32_t i;
    uint8_t b;
  } raw;
  memcpy(dtype == DTG_I64 ? (void *)&cell.i : (void *)&raw, from, dtg_dtype_size(dtype));
  switch (dtype) {
  case DTG_F32:
    cell.f = (double)raw.f;
    break;
  case DTG_F64:
    cell.f = raw.d;
    break;
  case DTG_BF16:
    cell.f = cg_bf16_value(raw.h);
    break;
  case DTG_I32:
    cell.i = raw.i;
    break;
  case DTG_U8:
    cell.i = raw.b;
    break;
  case DTG_BOOL:
    cell.i = raw.b != 0;
    break;
  default:
    break;
  }
  return cell;
}

static void cg_cell_store(enum dtg_dtype dtype, struct cg_cell cell, void *to) {
  union {
    float f;
    double d;
    uint16_t h;
    int32_t i;
    int64_t l;
    uint8_t b;
  } raw;
  switch (dtype) {
  case DTG_F32:
    raw.f = (float)cell.f;
    break;
  case DTG_F64:
    raw.d = cell.f;
    break;
  case DTG_BF16:
    raw.h = cg_bf16_of((float)cell.f);
    break;
  case DTG_I32:
    raw.i = (int32_t)cell.i;
    break;
  case DTG_I64:
    raw.l = cell.i;
    break;
  default:
    raw.b = (uint8_t)cell.i;
    break;
  }
  memcpy(to, &raw, dtg_dtype_size(dtype));
}

static int64_t cg_wrap(enum dtg_dtype dtype, uint64_t value) {
  switch (dtype) {
  case DTG_I32:
    return (int32_t)(uint32_t)value;
  case DTG_U8:
    return (uint8_t)value;
  case DTG_BOOL:
    return value & 1;
  default:
    return (int64_t)value;
  }
}

static int64_t cg_integer_divide(enum cg_op op, int64_t a, int64_t b) {
  if (b == 0)
    return 0;
  if (b == -1)
    return op == CG_DIV ? (int64_t)(0 - (uint64_t)a) : 0;
  return op == CG_DIV ? a / b : a % b;
}

static int64_t cg_shift(enum cg_op op, enum dtg_dtype dtype, int64_t a, int64_t b) {
  uint64_t bits = dtype == DTG_I32 ? (uint32_t)a : (uint64_t)a;
  uint64_t count = (uint64_t)b & (dtype == DTG_I32 ? 31 : 63);
  return cg_wrap(dtype, op == CG_SHL ? bits << count : bits >> count);
}

static int64_t cg_integer_op(enum cg_op op, enum dtg_dtype dtype, int64_t a, int64_t b) {
  uint64_t x = (uint64_t)a, y = (uint64_t)b;
  switch (op) {
  case CG_ADD:
    return cg_wrap(dtype, x + y);
  case CG_SUB:
    return cg_wrap(dtype, x - y);
  case CG_MUL:
    return cg_wrap(dtype, x * y);
  case CG_DIV:
  case CG_REM:
    return cg_wrap(dtype, (uint64_t)cg_integer_divide(op, a, b));
  case CG_MIN:
    return b < a ? b : a;
  case CG_MAX:
    return b > a ? b : a;
  case CG_NEG:
    return cg_wrap(dtype, 0 - x);
  case CG_ABS:
    return cg_wrap(dtype, a < 0 ? 0 - x : x);
  case CG_AND:
    return a & b;
  case CG_OR:
    return a | b;
  case CG_XOR:
    return a ^ b;
  case CG_NOT:
    return cg_wrap(dtype, ~x);
  case CG_SHL:
  case CG_SHR:
    return cg_shift(op, dtype, a, b);
  default:
    dtg_bug("%s is not defined for %s", cg_op_name(op), dtg_dtype_name(dtype));
  }
}

static double cg_math(enum cg_op op, double a, double b) {
  switch (op) {
  case CG_EXP:
    return exp(a);
  case CG_LOG:
    return log(a);
  case CG_TANH:
    return tanh(a);
  case CG_SIGMOID:
    return a < 0 ? exp(a) / (1 + exp(a)) : 1 / (1 + exp(-a));
  case CG_ERF:
    return erf(a);
  case CG_SIN:
    return sin(a);
  case CG_COS:
    return cos(a);
  case CG_POW:
    return pow(a, b);
  case CG_LOG1P:
    return log1p(a);
  case CG_EXPM1:
    return expm1(a);
  default:
    dtg_bug("%s is no float operation", cg_op_name(op));
  }
}

static double cg_double_op(enum cg_op op, double a, double b, double c) {
  switch (op) {
  case CG_ADD:
    return a + b;
  case CG_SUB:
    return a - b;
  case CG_MUL:
    return a * b;
  case CG_DIV:
    return a / b;
  case CG_REM:
    return fmod(a, b);
  case CG_FMA:
    return fma(a, b, c);
  case CG_MIN:
    return isnan(b) || b < a ? b : a;
  case CG_MAX:
    return isnan(b) || b > a ? b : a;
  case CG_NEG:
    return -a;
  case CG_ABS:
    return fabs(a);
  case CG_FLOOR:
    return floor(a);
  case CG_SQRT:
    return sqrt(a);
  default:
    return cg_math(op, a, b);
  }
}

// Sums, products, quotients and roots of two floats computed in double and rounded to float are the
// correctly rounded float results (a double has more than twice the bits and two); FMA is not.
static double cg_float_op(enum cg_op op, enum dtg_dtype dtype, double a, double b, double c) {
  if (dtype == DTG_F64)
    return cg_double_op(op, a, b, c);
  if (op == CG_FMA)
    return (double)fmaf((float)a, (float)b, (float)c);
  return (double)(float)cg_double_op(op, a, b, c);
}

static bool cg_compare(enum cg_op op, bool is_float, struct cg_cell a, struct cg_cell b) {
  bool less = is_float ? a.f < b.f : a.i < b.i;
  bool greater = is_float ? a.f > b.f : a.i > b.i;
  bool equal = is_float ? a.f == b.f : a.i == b.i;
  switch (op) {
  case CG_EQ:
    return equal;
  case CG_NE:
    return !equal;
  case CG_LT:
    return less;
  case CG_LE:
    return less || equal;
  case CG_GT:
    return greater;
  default:
    return greater || equal;
  }
}

static int64_t cg_saturate(enum dtg_dtype dtype, double value) {
  double low = dtype == DTG_U8 ? 0 : dtype == DTG_I32 ? -0x1p31 : -0x1p63;
  double past = dtype == DTG_U8 ? 256 : dtype == DTG_I32 ? 0x1p31 : 0x1p63;
  if (isnan(value))
    return 0;
  if (value >= past)
    return dtype == DTG_U8 ? UINT8_MAX : dtype == DTG_I32 ? INT32_MAX : INT64_MAX;
  return value <= low ? (dtype == DTG_U8    ? 0
                         : dtype == DTG_I32 ? INT32_MIN
                                            : INT64_MIN)
                      : (int64_t)value;
}

static struct cg_cell cg_convert(enum dtg_dtype from, enum dtg_dtype to, struct cg_cell a) {
  struct cg_cell cell = {0, 0};
  bool from_float = dtg_dtype_is_float(from);
  if (to == DTG_BOOL)
    cell.i = from_float ? a.f != 0 : a.i != 0;
  else if (!dtg_dtype_is_float(to))
    cell.i = from_float ? cg_saturate(to, a.f) : cg_wrap(to, (uint64_t)a.i);
  else if (to == DTG_F64)
    cell.f = from_float ? a.f : (double)a.i;
  else
    cell.f = from_float ? (double)(float)a.f : (double)(float)a.i;
  if (to == DTG_BF16)
    cell.f = cg_bf16_value(cg_bf16_of((float)cell.f));
  return cell;
}

// Philox 4x32-10 (Salmon, Moraes, Dror, Shaw: Parallel Random Numbers: As Easy as 1, 2, 3; 2011).
static uint32_t cg_philox_word(uint64_t key, uint64_t low, uint64_t high, int word) {
  uint32_t k0 = (uint32_t)key, k1 = (uint32_t)(key >> 32);
  uint32_t c[4] = {(uint32_t)low, (uint32_t)(low >> 32), (uint32_t)high, (uint32_t)(high >> 32)};
  for (int round = 0; round < 10; round++) {
    uint64_t p0 = (uint64_t)0xD2511F53 * c[0];
    uint64_t p1 = (uint64_t)0xCD9E8D57 * c[2];
    uint32_t next[4] = {(uint32_t)(p1 >> 32) ^ c[1] ^ k0, (uint32_t)p1,
                        (uint32_t)(p0 >> 32) ^ c[3] ^ k1, (uint32_t)p0};
    memcpy(c, next, sizeof c);
    k0 += 0x9E3779B9;
    k1 += 0xBB67AE85;
  }
  return c[word];
}

static struct cg_cell cg_accumulator_start(const struct cg_inst *inst) {
  struct cg_cell cell = {0, 0};
  bool low = inst->u.accumulate == CG_ACCUMULATE_MAX || inst->u.accumulate == CG_ACCUMULATE_ARGMAX;
  if (inst->u.accumulate == CG_ACCUMULATE_SUM)
    return cell;
  if (inst->u.accumulate == CG_ACCUMULATE_PROD)
    return (struct cg_cell){1, 1};
  cell.f = low ? -INFINITY : INFINITY;
  cell.i = cg_saturate(dtg_dtype_is_float(inst->dtype) ? DTG_I64 : inst->dtype, cell.f);
  return cell;
}

// Whether (value, index) replaces (best, best_index) of an argmax or argmin.
static bool cg_beats(const struct cg_inst *acc, struct cg_cell value, int64_t index,
                     struct cg_cell best, int64_t best_index) {
  bool is_float = dtg_dtype_is_float(acc->dtype);
  bool new_nan = is_float && isnan(value.f), old_nan = is_float && isnan(best.f);
  if (new_nan != old_nan)
    return new_nan;
  bool equal = new_nan || cg_compare(CG_EQ, is_float, value, best);
  if (equal)
    return index < best_index;
  return cg_compare(acc->u.accumulate == CG_ACCUMULATE_ARGMAX ? CG_GT : CG_LT, is_float, value,
                    best);
}

static void cg_accumulate(struct cg_machine *machine, const struct cg_inst *inst) {
  uint32_t id = inst->operands[0];
  const struct cg_inst *acc = &machine->kernel->insts.data[id];
  struct cg_cell *so_far = &machine->values[id];
  struct cg_cell value = machine->values[inst->operands[1]];
  if (cg_accumulate_is_arg(acc->u.accumulate)) {
    int64_t index = machine->values[inst->operands[2]].i;
    if (cg_beats(acc, value, index, *so_far, machine->index[id])) {
      *so_far = value;
      machine->index[id] = index;
    }
    return;
  }
  static const enum cg_op ops[] = {[CG_ACCUMULATE_SUM] = CG_ADD,
                                   [CG_ACCUMULATE_PROD] = CG_MUL,
                                   [CG_ACCUMULATE_MAX] = CG_MAX,
                                   [CG_ACCUMULATE_MIN] = CG_MIN};
  enum cg_op op = ops[acc->u.accumulate];
  if (dtg_dtype_is_float(acc->dtype))
    so_far->f = cg_float_op(op, acc->dtype, so_far->f, value.f, 0);
  else
    so_far->i = cg_integer_op(op, acc->dtype, so_far->i, value.i);
}

static char *cg_element(const struct cg_machine *machine, const struct cg_address *address) {
  int64_t element = address->base;
  for (uint32_t i = 0; i < address->term_count; i++)
    element += address->terms[i].coef * machine->index[address->terms[i].loop];
  if (address->dynamic != CG_NO_VALUE)
    element += address->dynamic_coef * machine->values[address->dynamic].i;
  const struct cg_buffer *buffer = &machine->kernel->buffers.data[address->buffer];
  if (element < 0 || element >= buffer->elements)
    dtg_bug("kernel %s: element %lld of buffer %s", machine->kernel->name, (long long)element,
            buffer->name);
  return machine->buffers[address->buffer] + (size_t)element * dtg_dtype_size(buffer->dtype);
}

static void cg_run_check(struct cg_machine *machine, const struct cg_inst *inst) {
  if (machine->values[inst->operands[0]].i || machine->fault[0])
    return;
  machine->fault[0] = inst->u.i;
  machine->fault[1] = machine->values[inst->operands[1]].i;
  machine->fault[2] = machine->values[inst->operands[2]].i;
}

static struct cg_cell cg_constant(const struct cg_inst *inst) {
  struct cg_cell cell = {0, 0};
  if (dtg_dtype_is_float(inst->dtype)) {
    struct cg_cell wide = {inst->u.f, 0};
    return cg_convert(DTG_F64, inst->dtype, wide);
  }
  cell.i = inst->dtype == DTG_BOOL ? inst->u.i != 0 : cg_wrap(inst->dtype, (uint64_t)inst->u.i);
  return cell;
}

static struct cg_cell cg_run_value(const struct cg_machine *machine, const struct cg_inst *inst) {
  static const struct cg_cell none = {0, 0};
  const struct cg_cell *v = machine->values;
  struct cg_cell a = inst->operands[0] == CG_NO_VALUE ? none : v[inst->operands[0]];
  struct cg_cell b = inst->operands[1] == CG_NO_VALUE ? none : v[inst->operands[1]];
  struct cg_cell c = inst->operands[2] == CG_NO_VALUE ? none : v[inst->operands[2]];
  enum dtg_dtype from = machine->kernel->insts.data[inst->operands[0]].dtype;
  struct cg_cell cell = none;
  char raw[8];
  switch (inst->op) {
  case CG_SELECT:
    return a.i ? b : c;
  case CG_CAST:
    return cg_convert(from, inst->dtype, a);
  case CG_BITCAST:
    cg_cell_store(from, a, raw);
    return cg_cell_load(inst->dtype, raw);
  case CG_PHILOX:
    cell.i = (int32_t)cg_philox_word((uint64_t)a.i, (uint64_t)b.i, (uint64_t)c.i, (int)inst->u.i);
    return cell;
  default:
    break;
  }
  if (inst->op >= CG_EQ && inst->op <= CG_GE)
    cell.i = cg_compare(inst->op, dtg_dtype_is_float(from), a, b);
  else if (dtg_dtype_is_float(inst->dtype))
    cell.f = cg_float_op(inst->op, inst->dtype, a.f, b.f, c.f);
  else
    cell.i = cg_integer_op(inst->op, inst->dtype, a.i, b.i);
  return cell;
}

static void cg_run_inst(struct cg_machine *machine, uint32_t id) {
  const struct cg_inst *inst = &machine->kernel->insts.data[id];
  struct cg_cell *value = &machine->values[id];
  switch (inst->op) {
  case CG_INDEX:
    value->i = machine->index[inst->u.loop];
    break;
  case CG_LOAD:
    *value = cg_cell_load(inst->dtype, cg_element(machine, inst->u.address));
    break;
  case CG_STORE:
    cg_cell_store(inst->dtype, machine->values[inst->operands[0]],
                  cg_element(machine, inst->u.address));
    break;
  case CG_ACC_NEW:
    *value = cg_accumulator_start(inst);
    machine->index[id] = INT64_MAX;
    break;
  case CG_ACC_ADD:
    cg_accumulate(machine, inst);
    break;
  case CG_ACC_READ:
    *value = machine->values[inst->operands[0]];
    if (cg_accumulate_is_arg(machine->kernel->insts.data[inst->operands[0]].u.accumulate))
      value->i = machine->index[inst->operands[0]];
    break;
  case CG_CONST:
    *value = cg_constant(inst);
    break;
  case CG_CHECK:
    cg_run_check(machine, inst);
    break;
  default:
    *value = cg_run_value(machine, inst);
    break;
  }
}

static void cg_run_loop(struct cg_machine *machine, uint32_t id) {
  const struct cg_loop *loop = machine->kernel->insts.data[id].u.nest;
  int64_t begin = 0, end = loop->extent;
  if (loop->block_of != CG_NO_VALUE) {
    begin = machine->index[loop->block_of] * loop->extent;
    end = begin + loop->extent < loop->total ? begin + loop->extent : loop->total;
  }
  for (int64_t i = begin; i < end; i++) {
    machine->index[id] = i;
    for (size_t j = 0; j < loop->body.len; j++) {
      uint32_t child = loop->body.data[j];
      if (machine->kernel->insts.data[child].op == CG_LOOP)
        cg_run_loop(machine, child);
      else
        cg_run_inst(machine, child);
    }
  }
}

static void cg_run_gemm(const struct cg_gemm *gemm, void *const *buffers, int64_t entry) {
  const float *a = (const float *)buffers[0] + entry * gemm->stride_a;
  const float *b = (const float *)buffers[1] + entry * gemm->stride_b;
  float *c = (float *)buffers[2] + entry * gemm->stride_c;
  for (int64_t i = 0; i < gemm->m; i++) {
    for (int64_t j = 0; j < gemm->n; j++) {
      float sum = 0;
      for (int64_t l = 0; l < gemm->k; l++)
        sum += a[gemm->transpose_a ? l * gemm->m + i : i * gemm->k + l] *
               b[gemm->transpose_b ? j * gemm->k + l : l * gemm->n + j];
      float *out = &c[i * gemm->n + j];
      *out = gemm->beta == 0 ? sum : sum + gemm->beta * *out;
    }
  }
}

void cg_kernel_interpret_fault(const struct cg_kernel *kernel, void *const *buffers,
                               int64_t fault[3]) {
  if (kernel->kind == CG_KERNEL_GEMM) {
    for (int64_t entry = 0; entry < kernel->gemm.batch; entry++)
      cg_run_gemm(&kernel->gemm, buffers, entry);
    return;
  }
  if (kernel->kind == CG_KERNEL_WINDOW) {
    cg_window_interpret(&kernel->window, buffers);
    return;
  }
  struct dtg_arena scratch;
  dtg_arena_init(&scratch);
  struct cg_machine machine = {.kernel = kernel, .buffers = (char *const *)buffers, .fault = fault};
  machine.values = DTG_NEW_ARRAY(&scratch, struct cg_cell, kernel->insts.len);
  machine.index = DTG_NEW_ARRAY(&scratch, int64_t, kernel->insts.len);
  cg_run_loop(&machine, kernel->root);
  dtg_arena_free(&scratch);
}

void cg_kernel_interpret(const struct cg_kernel *kernel, void *const *buffers) {
  int64_t fault[3] = {0, 0, 0};
  cg_kernel_interpret_fault(kernel, buffers, fault);
}
