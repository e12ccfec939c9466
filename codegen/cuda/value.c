// One instruction as one C statement.
#include "codegen/cuda/emit.h"

#include "compiler/base/bug.h"

#include <inttypes.h>
#include <math.h>

const char *cg_cuda_type(enum dtg_dtype dtype) {
  switch (dtype) {
  case DTG_F32:
    return "float";
  case DTG_F64:
    return "double";
  case DTG_BF16:
    return "unsigned short";
  case DTG_I32:
    return "int";
  case DTG_I64:
    return "long long";
  case DTG_U8:
    return "unsigned char";
  default:
    return "bool";
  }
}

const char *cg_cuda_memory_type(enum dtg_dtype dtype) {
  return dtype == DTG_BOOL ? "unsigned char" : cg_cuda_type(dtype);
}

static const struct cg_inst *inst_at(const struct cg_cuda_emit *emit, uint32_t id) {
  return &emit->kernel->insts.data[id];
}

// ---- constants ----

static void put_float(struct dtg_strbuf *out, enum dtg_dtype dtype, double value) {
  bool single = dtype == DTG_F32;
  if (isnan(value))
    dtg_strbuf_puts(out, single ? "__int_as_float(0x7fc00000)"
                                : "__longlong_as_double(0x7ff8000000000000ll)");
  else if (isinf(value))
    dtg_strbuf_printf(out, "%s%s", value < 0 ? "-" : "",
                      single ? "__int_as_float(0x7f800000)"
                             : "__longlong_as_double(0x7ff0000000000000ll)");
  else
    dtg_strbuf_printf(out, "%a%s", single ? (double)(float)value : value, single ? "f" : "");
}

static void put_constant(struct dtg_strbuf *out, const struct cg_inst *inst) {
  switch (inst->dtype) {
  case DTG_F32:
  case DTG_F64:
    put_float(out, inst->dtype, inst->u.f);
    break;
  case DTG_BF16:
    dtg_strbuf_printf(out, "dtg_to_bf16(");
    put_float(out, DTG_F32, inst->u.f);
    dtg_strbuf_putc(out, ')');
    break;
  case DTG_I64:
    dtg_strbuf_printf(out, inst->u.i == INT64_MIN ? "(-%" PRId64 "ll - 1)" : "%" PRId64 "ll",
                      inst->u.i == INT64_MIN ? INT64_MAX : inst->u.i);
    break;
  case DTG_BOOL:
    dtg_strbuf_puts(out, inst->u.i != 0 ? "true" : "false");
    break;
  default:
    dtg_strbuf_printf(out, "(%s)%" PRId64 "ll", cg_cuda_type(inst->dtype), inst->u.i);
    break;
  }
}

// ---- addresses ----

static void put_term(struct dtg_strbuf *out, bool *first, int64_t coef, char letter, uint32_t id) {
  dtg_strbuf_printf(out, "%s", *first ? "" : " + ");
  *first = false;
  if (coef != 1)
    dtg_strbuf_printf(out, "%" PRId64 " * ", coef);
  dtg_strbuf_printf(out, "%c%u", letter, id);
}

static void put_address(const struct cg_cuda_emit *emit, const struct cg_address *address) {
  struct dtg_strbuf *out = emit->out;
  bool first = true;
  dtg_strbuf_printf(out, "b%u[", address->buffer);
  for (uint32_t i = 0; i < address->term_count; i++)
    if (address->terms[i].coef != 0)
      put_term(out, &first, address->terms[i].coef, 'i', address->terms[i].loop);
  if (address->dynamic != CG_NO_VALUE)
    put_term(out, &first, address->dynamic_coef, 'v', address->dynamic);
  if (first || address->base != 0)
    dtg_strbuf_printf(out, "%s%" PRId64, first ? "" : " + ", address->base);
  dtg_strbuf_putc(out, ']');
}

// ---- operators ----

static const char *infix(enum cg_op op) {
  switch (op) {
  case CG_ADD:
    return "+";
  case CG_SUB:
    return "-";
  case CG_MUL:
    return "*";
  case CG_EQ:
    return "==";
  case CG_NE:
    return "!=";
  case CG_LT:
    return "<";
  case CG_LE:
    return "<=";
  case CG_GT:
    return ">";
  case CG_GE:
    return ">=";
  case CG_AND:
    return "&";
  case CG_OR:
    return "|";
  case CG_XOR:
    return "^";
  default:
    return NULL;
  }
}

// Integers wrap: signed ones are computed without sign.
static void put_integer_infix(const struct cg_cuda_emit *emit, const struct cg_inst *inst) {
  const char *type = cg_cuda_type(inst->dtype);
  const char *wide = inst->dtype == DTG_I64 ? "unsigned long long" : "unsigned";
  dtg_strbuf_printf(emit->out, "(%s)((%s)v%u %s (%s)v%u)", type, wide, inst->operands[0],
                    infix(inst->op), wide, inst->operands[1]);
}

static void put_float_function(const struct cg_cuda_emit *emit, const struct cg_inst *inst) {
  static const char *const names[CG_OP_COUNT] = {[CG_REM] = "fmod",
                                                 [CG_FMA] = "fma",
                                                 [CG_MIN] = "dtg_min",
                                                 [CG_MAX] = "dtg_max",
                                                 [CG_ABS] = "fabs",
                                                 [CG_FLOOR] = "floor",
                                                 [CG_SQRT] = "sqrt",
                                                 [CG_EXP] = "exp",
                                                 [CG_LOG] = "log",
                                                 [CG_TANH] = "tanh",
                                                 [CG_ERF] = "erf",
                                                 [CG_SIN] = "sin",
                                                 [CG_COS] = "cos",
                                                 [CG_POW] = "pow",
                                                 [CG_LOG1P] = "log1p",
                                                 [CG_EXPM1] = "expm1",
                                                 [CG_SIGMOID] = "dtg_sigmoid"};
  if (!names[inst->op])
    dtg_bug("no float function for %s", cg_op_name(inst->op));
  bool own = inst->op == CG_MIN || inst->op == CG_MAX || inst->op == CG_SIGMOID;
  dtg_strbuf_printf(emit->out, "%s%s(", names[inst->op], inst->dtype == DTG_F32 && !own ? "f" : "");
  for (uint32_t i = 0; i < 3 && inst->operands[i] != CG_NO_VALUE; i++)
    dtg_strbuf_printf(emit->out, "%sv%u", i > 0 ? ", " : "", inst->operands[i]);
  dtg_strbuf_putc(emit->out, ')');
}

static void put_integer_function(const struct cg_cuda_emit *emit, const struct cg_inst *inst) {
  static const char *const names[CG_OP_COUNT] = {
      [CG_DIV] = "dtg_div",  [CG_REM] = "dtg_rem", [CG_MIN] = "dtg_imin", [CG_MAX] = "dtg_imax",
      [CG_ABS] = "dtg_iabs", [CG_SHL] = "dtg_shl", [CG_SHR] = "dtg_shr"};
  if (!names[inst->op])
    dtg_bug("no integer function for %s", cg_op_name(inst->op));
  dtg_strbuf_printf(emit->out, "%s(v%u", names[inst->op], inst->operands[0]);
  if (inst->operands[1] != CG_NO_VALUE)
    dtg_strbuf_printf(emit->out, ", v%u", inst->operands[1]);
  dtg_strbuf_putc(emit->out, ')');
}

static void put_cast(const struct cg_cuda_emit *emit, const struct cg_inst *inst) {
  enum dtg_dtype from = inst_at(emit, inst->operands[0])->dtype, to = inst->dtype;
  struct dtg_strbuf *out = emit->out;
  struct dtg_strbuf value = {0};
  dtg_strbuf_printf(&value, from == DTG_BF16 ? "dtg_from_bf16(v%u)" : "v%u", inst->operands[0]);
  const char *text = dtg_strbuf_text(&value);
  if (from == to)
    dtg_strbuf_printf(out, "v%u", inst->operands[0]);
  else if (to == DTG_BOOL)
    dtg_strbuf_printf(out, "%s != 0", text);
  else if (to == DTG_BF16)
    dtg_strbuf_printf(out, "dtg_to_bf16((float)%s)", text);
  else if (dtg_dtype_is_float(from) && !dtg_dtype_is_float(to))
    dtg_strbuf_printf(out, "dtg_to_%s(%s)", dtg_dtype_name(to), text);
  else
    dtg_strbuf_printf(out, "(%s)%s", cg_cuda_type(to), text);
  dtg_strbuf_free(&value);
}

static void put_bitcast(const struct cg_cuda_emit *emit, const struct cg_inst *inst) {
  enum dtg_dtype from = inst_at(emit, inst->operands[0])->dtype;
  const char *function = from == DTG_F32 && inst->dtype == DTG_I32   ? "__float_as_int"
                         : from == DTG_I32 && inst->dtype == DTG_F32 ? "__int_as_float"
                         : from == DTG_F64 && inst->dtype == DTG_I64 ? "__double_as_longlong"
                         : from == DTG_I64 && inst->dtype == DTG_F64 ? "__longlong_as_double"
                                                                     : "";
  dtg_strbuf_printf(emit->out, "%s(v%u)", function, inst->operands[0]);
}

static void put_negative(const struct cg_cuda_emit *emit, const struct cg_inst *inst) {
  if (dtg_dtype_is_float(inst->dtype))
    dtg_strbuf_printf(emit->out, "-v%u", inst->operands[0]);
  else
    dtg_strbuf_printf(emit->out, "(%s)(0 - (unsigned long long)v%u)", cg_cuda_type(inst->dtype),
                      inst->operands[0]);
}

static void put_value(const struct cg_cuda_emit *emit, const struct cg_inst *inst) {
  struct dtg_strbuf *out = emit->out;
  const uint32_t *v = inst->operands;
  bool is_float = dtg_dtype_is_float(inst->dtype);
  switch (inst->op) {
  case CG_CONST:
    put_constant(out, inst);
    return;
  case CG_INDEX:
    dtg_strbuf_printf(out, "i%u", inst->u.loop);
    return;
  case CG_LOAD:
    put_address(emit, inst->u.address);
    if (inst->dtype == DTG_BOOL)
      dtg_strbuf_puts(out, " != 0");
    return;
  case CG_SELECT:
    dtg_strbuf_printf(out, "v%u ? v%u : v%u", v[0], v[1], v[2]);
    return;
  case CG_CAST:
    put_cast(emit, inst);
    return;
  case CG_BITCAST:
    put_bitcast(emit, inst);
    return;
  case CG_PHILOX:
    dtg_strbuf_printf(out, "dtg_philox<%" PRId64 ">(v%u, v%u, v%u)", inst->u.i, v[0], v[1], v[2]);
    return;
  case CG_NEG:
    put_negative(emit, inst);
    return;
  case CG_NOT:
    dtg_strbuf_printf(out, inst->dtype == DTG_BOOL ? "!v%u" : "~v%u", v[0]);
    return;
  default:
    break;
  }
  bool compares = inst->op >= CG_EQ && inst->op <= CG_GE;
  if (is_float && inst->op == CG_DIV)
    dtg_strbuf_printf(out, "v%u / v%u", v[0], v[1]);
  else if (infix(inst->op) && (compares || is_float || inst->dtype == DTG_BOOL))
    dtg_strbuf_printf(out, "v%u %s v%u", v[0], infix(inst->op), v[1]);
  else if (infix(inst->op))
    put_integer_infix(emit, inst);
  else if (is_float)
    put_float_function(emit, inst);
  else
    put_integer_function(emit, inst);
}

// ---- accumulators ----

static const char *start_text(enum cg_accumulate kind, enum dtg_dtype dtype) {
  bool low = kind == CG_ACCUMULATE_MAX || kind == CG_ACCUMULATE_ARGMAX;
  if (kind == CG_ACCUMULATE_SUM)
    return "0";
  if (kind == CG_ACCUMULATE_PROD)
    return "1";
  switch (dtype) {
  case DTG_F32:
    return low ? "-__int_as_float(0x7f800000)" : "__int_as_float(0x7f800000)";
  case DTG_F64:
    return low ? "-__longlong_as_double(0x7ff0000000000000ll)"
               : "__longlong_as_double(0x7ff0000000000000ll)";
  case DTG_I32:
    return low ? "(-2147483647 - 1)" : "2147483647";
  default:
    return low ? "(-9223372036854775807ll - 1)" : "9223372036854775807ll";
  }
}

static const char *combine_name(enum cg_accumulate kind) {
  static const char *const names[] = {"", "Sum", "Prod", "Max", "Min", "ArgMax", "ArgMin"};
  return names[kind];
}

static void put_acc_new(struct cg_cuda_emit *emit, uint32_t id) {
  const struct cg_inst *inst = inst_at(emit, id);
  cg_cuda_line(emit, "%s a%u = %s;", cg_cuda_type(inst->dtype), id,
               start_text(inst->u.accumulate, inst->dtype));
  if (cg_accumulate_is_arg(inst->u.accumulate))
    cg_cuda_line(emit, "long long a%u_at = 9223372036854775807ll;", id);
}

// A value outside of the vector loops is there once, although every lane has it.
static void put_acc_add(struct cg_cuda_emit *emit, const struct cg_inst *inst) {
  uint32_t acc = inst->operands[0];
  enum cg_accumulate kind = inst_at(emit, acc)->u.accumulate;
  const char *who =
      emit->across[acc] && emit->vector == CG_NO_VALUE && emit->lanes > 1 ? "if (lane == 0) " : "";
  if (cg_accumulate_is_arg(kind))
    cg_cuda_line(emit, "%sdtg_pick<dtg_%s>(a%u, a%u_at, v%u, v%u);", who, combine_name(kind), acc,
                 acc, inst->operands[1], inst->operands[2]);
  else
    cg_cuda_line(emit, "%sa%u = dtg_%s::of(a%u, v%u);", who, acc, combine_name(kind), acc,
                 inst->operands[1]);
}

static void put_acc_read(struct cg_cuda_emit *emit, uint32_t id, const struct cg_inst *inst) {
  uint32_t acc = inst->operands[0];
  enum cg_accumulate kind = inst_at(emit, acc)->u.accumulate;
  bool across = emit->across[acc] && emit->lanes > 1;
  if (across && cg_accumulate_is_arg(kind))
    cg_cuda_line(emit, "dtg_pick_lanes<dtg_%s, %u>(a%u, a%u_at);", combine_name(kind), emit->lanes,
                 acc, acc);
  else if (across)
    cg_cuda_line(emit, "a%u = dtg_lanes<dtg_%s, %u>(a%u);", acc, combine_name(kind), emit->lanes,
                 acc);
  cg_cuda_line(emit, "const %s v%u = a%u%s;", cg_cuda_type(inst->dtype), id, acc,
               cg_accumulate_is_arg(kind) ? "_at" : "");
}

// ---- statements ----

static bool is_first_lane_only(const struct cg_cuda_emit *emit) {
  return emit->form == CG_CUDA_ROWS && emit->lanes > 1 && emit->vector == CG_NO_VALUE;
}

static void put_store(struct cg_cuda_emit *emit, const struct cg_inst *inst) {
  cg_cuda_line(emit, "%s", "");
  emit->out->len--; // the statement goes on
  if (is_first_lane_only(emit))
    dtg_strbuf_puts(emit->out, "if (lane == 0) ");
  put_address(emit, inst->u.address);
  dtg_strbuf_printf(emit->out, " = v%u;\n", inst->operands[0]);
}

void cg_cuda_statement(struct cg_cuda_emit *emit, uint32_t id) {
  const struct cg_inst *inst = inst_at(emit, id);
  bool has_value = inst->op != CG_STORE && inst->op != CG_ACC_ADD && inst->op != CG_CHECK;
  if (has_value && !emit->used[id])
    return;
  switch (inst->op) {
  case CG_STORE:
    put_store(emit, inst);
    break;
  case CG_ACC_NEW:
    put_acc_new(emit, id);
    break;
  case CG_ACC_ADD:
    put_acc_add(emit, inst);
    break;
  case CG_ACC_READ:
    put_acc_read(emit, id, inst);
    break;
  case CG_CHECK:
    cg_cuda_line(emit, "if (!v%u) dtg_record(fault, %" PRId64 ", v%u, v%u);", inst->operands[0],
                 inst->u.i, inst->operands[1], inst->operands[2]);
    break;
  default:
    cg_cuda_line(emit, "const %s v%u = ", cg_cuda_type(inst->dtype), id);
    emit->out->len--;
    put_value(emit, inst);
    dtg_strbuf_puts(emit->out, ";\n");
    break;
  }
}
