/* Instructions that only compute: a value from operands. */
#include "tests/cudasim/internal.h"

#include <fenv.h>
#include <math.h>
#include <string.h>

/* ---- bits and numbers ---- */

static float as_float(uint64_t bits) {
  uint32_t low = (uint32_t)bits;
  float value;
  memcpy(&value, &low, sizeof value);
  return value;
}
static double as_double(uint64_t bits) {
  double value;
  memcpy(&value, &bits, sizeof value);
  return value;
}
static uint64_t of_float(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}
static uint64_t of_double(double value) {
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

static uint64_t cut(uint64_t value, uint8_t bits) {
  return bits >= 64 ? value : value & (((uint64_t)1 << bits) - 1);
}
static int64_t sign(uint64_t value, uint8_t bits) {
  unsigned shift = 64 - bits;
  return (int64_t)(value << shift) >> shift;
}

static struct ptx_type type_at(const struct ptx_inst *inst, uint32_t index) {
  return index < inst->type_count ? inst->types[index] : (struct ptx_type){'b', 32};
}
/* The type of the operands, which for most instructions is the only one. */
static struct ptx_type last_type(const struct ptx_inst *inst) {
  return type_at(inst, inst->type_count > 0 ? inst->type_count - 1 : 0);
}

static uint64_t operand(struct sim_context *c, uint32_t index) {
  return index < c->inst->operand_count ? sim_value(c, &c->inst->operands[index]) : 0;
}

static double flush(const struct ptx_inst *inst, double value) {
  return PTX_HAS(inst, ftz) && fabs(value) < 0x1p-126 ? copysign(0, value) : value;
}

static void set_rounding(const struct ptx_inst *inst) {
  fesetround(PTX_HAS(inst, rz)   ? FE_TOWARDZERO
             : PTX_HAS(inst, rm) ? FE_DOWNWARD
             : PTX_HAS(inst, rp) ? FE_UPWARD
                                 : FE_TONEAREST);
}

/* ---- floats ---- */

static float float_binary(const struct ptx_inst *inst, volatile float a, volatile float b,
                          volatile float c) {
  switch (inst->op) {
  case PTX_add:
    return a + b;
  case PTX_sub:
    return a - b;
  case PTX_mul:
    return a * b;
  case PTX_div:
    return a / b;
  case PTX_fma:
  case PTX_mad:
    return fmaf(a, b, c);
  case PTX_rcp:
    return 1 / a;
  case PTX_sqrt:
    return sqrtf(a);
  case PTX_rsqrt:
    return (float)(1 / sqrt((double)a));
  case PTX_ex2:
    return exp2f(a);
  case PTX_lg2:
    return log2f(a);
  case PTX_sin:
    return sinf(a);
  case PTX_cos:
    return cosf(a);
  case PTX_tanh:
    return tanhf(a);
  case PTX_neg:
    return -a;
  case PTX_abs:
    return fabsf(a);
  case PTX_copysign:
    return copysignf(b, a);
  case PTX_min:
    return PTX_HAS(inst, NaN) && (isnan(a) || isnan(b)) ? NAN : fminf(a, b);
  case PTX_max:
    return PTX_HAS(inst, NaN) && (isnan(a) || isnan(b)) ? NAN : fmaxf(a, b);
  default:
    return 0;
  }
}

static double double_binary(const struct ptx_inst *inst, volatile double a, volatile double b,
                            volatile double c) {
  switch (inst->op) {
  case PTX_add:
    return a + b;
  case PTX_sub:
    return a - b;
  case PTX_mul:
    return a * b;
  case PTX_div:
    return a / b;
  case PTX_fma:
  case PTX_mad:
    return fma(a, b, c);
  case PTX_rcp:
    return 1 / a;
  case PTX_sqrt:
    return sqrt(a);
  case PTX_rsqrt:
    return 1 / sqrt(a);
  case PTX_neg:
    return -a;
  case PTX_abs:
    return fabs(a);
  case PTX_copysign:
    return copysign(b, a);
  case PTX_min:
    return fmin(a, b);
  case PTX_max:
    return fmax(a, b);
  default:
    return 0;
  }
}

static bool compute_float(struct sim_context *c, struct ptx_type type, uint64_t *value) {
  const struct ptx_inst *inst = c->inst;
  uint64_t a = operand(c, 1), b = operand(c, 2), d = operand(c, 3);
  set_rounding(inst);
  if (type.bits == 32) {
    float result = float_binary(inst, (float)flush(inst, (double)as_float(a)),
                                (float)flush(inst, (double)as_float(b)),
                                (float)flush(inst, (double)as_float(d)));
    result = (float)flush(inst, (double)result);
    if (PTX_HAS(inst, sat))
      result = isnan(result) || result < 0 ? 0 : result > 1 ? 1 : result;
    *value = of_float(result);
  } else {
    *value = of_double(double_binary(inst, as_double(a), as_double(b), as_double(d)));
  }
  fesetround(FE_TONEAREST);
  return true;
}

/* ---- integers ---- */

static uint64_t high_product(struct ptx_type type, uint64_t a, uint64_t b) {
  if (type.kind == 's') {
    __int128 product = (__int128)sign(a, type.bits) * sign(b, type.bits);
    return (uint64_t)(product >> type.bits);
  }
  unsigned __int128 product = (unsigned __int128)cut(a, type.bits) * cut(b, type.bits);
  return (uint64_t)(product >> type.bits);
}

static uint64_t multiply(const struct ptx_inst *inst, struct ptx_type type, uint64_t a,
                         uint64_t b) {
  if (PTX_HAS(inst, hi))
    return high_product(type, a, b);
  if (PTX_HAS(inst, wide) && type.kind == 's')
    return (uint64_t)(sign(a, type.bits) * sign(b, type.bits));
  if (PTX_HAS(inst, wide))
    return cut(a, type.bits) * cut(b, type.bits);
  return a * b;
}

static uint64_t divide(struct ptx_type type, bool remainder, uint64_t a, uint64_t b) {
  a = cut(a, type.bits);
  b = cut(b, type.bits);
  if (b == 0)
    return ~(uint64_t)0;
  if (type.kind != 's')
    return remainder ? a % b : a / b;
  int64_t x = sign(a, type.bits), y = sign(b, type.bits);
  if (y == -1)
    return remainder ? 0 : 0 - (uint64_t)x;
  return (uint64_t)(remainder ? x % y : x / y);
}

static uint64_t shift(const struct ptx_inst *inst, struct ptx_type type, uint64_t a, uint64_t b) {
  uint64_t count = cut(b, 32);
  bool far = count >= type.bits;
  if (inst->op == PTX_shl)
    return far ? 0 : a << count;
  if (type.kind == 's')
    return (uint64_t)(sign(a, type.bits) >> (far ? type.bits - 1u : count));
  return far ? 0 : cut(a, type.bits) >> count;
}

/* Sums with the carry of the thread where the instruction reads or writes it. */
static uint64_t sum(struct sim_context *c, struct ptx_type type, uint64_t a, uint64_t b,
                    bool reads_carry) {
  unsigned __int128 wide = (unsigned __int128)cut(a, type.bits) + cut(b, type.bits) +
                           (reads_carry && c->thread->carry ? 1 : 0);
  if (PTX_HAS(c->inst, cc))
    c->thread->carry = (wide >> type.bits & 1) != 0;
  return (uint64_t)wide;
}

static uint64_t difference(struct sim_context *c, struct ptx_type type, uint64_t a, uint64_t b,
                           bool reads_borrow) {
  uint64_t x = cut(a, type.bits), y = cut(b, type.bits);
  unsigned borrow = reads_borrow && c->thread->carry ? 1 : 0;
  if (PTX_HAS(c->inst, cc))
    c->thread->carry = (unsigned __int128)x < (unsigned __int128)y + borrow;
  return x - y - borrow;
}

static uint64_t bit_field(struct sim_context *c, struct ptx_type type) {
  uint64_t a = operand(c, 1), b = operand(c, 2);
  if (c->inst->op == PTX_bfi) {
    uint64_t at = cut(operand(c, 3), 8), length = cut(operand(c, 4), 8);
    uint64_t mask = length >= 64 ? ~(uint64_t)0 : ((uint64_t)1 << length) - 1;
    if (at >= type.bits)
      return b;
    return (b & ~(mask << at)) | (a & mask) << at;
  }
  uint64_t at = cut(b, 8), length = cut(operand(c, 3), 8);
  uint64_t value = at >= type.bits ? 0 : cut(a, type.bits) >> at;
  if (length >= type.bits)
    return type.kind == 's' ? (uint64_t)sign(value, type.bits) : value;
  value &= ((uint64_t)1 << length) - 1;
  return type.kind == 's' && length > 0 ? (uint64_t)sign(value, (uint8_t)length) : value;
}

static uint64_t permute(struct sim_context *c) {
  uint64_t pool = cut(operand(c, 1), 32) | operand(c, 2) << 32, choice = operand(c, 3), out = 0;
  for (unsigned i = 0; i < 4; i++) {
    unsigned pick = choice >> (4 * i) & 15;
    uint64_t byte = pool >> (8 * (pick & 7)) & 255;
    if (pick & 8)
      byte = byte & 128 ? 255 : 0;
    out |= byte << (8 * i);
  }
  return out;
}

static uint64_t funnel(struct sim_context *c) {
  uint64_t wide = cut(operand(c, 2), 32) << 32 | cut(operand(c, 1), 32);
  uint64_t count = cut(operand(c, 3), 32);
  count = PTX_HAS(c->inst, clamp) ? (count > 32 ? 32 : count) : count & 31;
  return PTX_HAS(c->inst, l) ? (wide << count) >> 32 : cut(wide >> count, 32);
}

static uint64_t reverse(uint64_t value, uint8_t bits) {
  uint64_t out = 0;
  for (uint8_t i = 0; i < bits; i++)
    out |= (value >> i & 1) << (bits - 1 - i);
  return out;
}

static bool compute_integer(struct sim_context *c, struct ptx_type type, uint64_t *value) {
  const struct ptx_inst *inst = c->inst;
  uint64_t a = operand(c, 1), b = operand(c, 2);
  bool is_signed = type.kind == 's';
  bool less =
      is_signed ? sign(a, type.bits) < sign(b, type.bits) : cut(a, type.bits) < cut(b, type.bits);
  switch (inst->op) {
  case PTX_add:
    *value = sum(c, type, a, b, false);
    break;
  case PTX_addc:
    *value = sum(c, type, a, b, true);
    break;
  case PTX_sub:
    *value = difference(c, type, a, b, false);
    break;
  case PTX_subc:
    *value = difference(c, type, a, b, true);
    break;
  case PTX_mul:
    *value = multiply(inst, type, a, b);
    break;
  case PTX_mad:
  case PTX_madc: {
    struct ptx_type result = type;
    if (PTX_HAS(inst, wide))
      result.bits = (uint8_t)(2 * type.bits);
    *value = sum(c, result, multiply(inst, type, a, b), operand(c, 3), inst->op == PTX_madc);
    break;
  }
  case PTX_div:
  case PTX_rem:
    *value = divide(type, inst->op == PTX_rem, a, b);
    break;
  case PTX_min:
    *value = less ? a : b;
    break;
  case PTX_max:
    *value = less ? b : a;
    break;
  case PTX_neg:
    *value = 0 - a;
    break;
  case PTX_abs:
    *value = sign(a, type.bits) < 0 ? 0 - a : a;
    break;
  case PTX_and:
    *value = a & b;
    break;
  case PTX_or:
    *value = a | b;
    break;
  case PTX_xor:
    *value = a ^ b;
    break;
  case PTX_not:
    *value = ~a;
    break;
  case PTX_shl:
  case PTX_shr:
    *value = shift(inst, type, a, b);
    break;
  case PTX_clz:
    a = cut(a, type.bits);
    *value = a ? (uint64_t)__builtin_clzll(a) - (64u - type.bits) : type.bits;
    break;
  case PTX_popc:
    *value = (uint64_t)__builtin_popcountll(cut(a, type.bits));
    break;
  case PTX_brev:
    *value = reverse(a, type.bits);
    break;
  case PTX_bfe:
  case PTX_bfi:
    *value = bit_field(c, type);
    break;
  case PTX_prmt:
    *value = permute(c);
    break;
  case PTX_shf:
    *value = funnel(c);
    break;
  default:
    return false;
  }
  bool wide = PTX_HAS(inst, wide) && (inst->op == PTX_mul || inst->op == PTX_mad);
  bool counts = inst->op == PTX_clz || inst->op == PTX_popc;
  *value = cut(*value, type.kind == 'p' ? 1
                       : wide           ? (uint8_t)(2 * type.bits)
                       : counts         ? 32
                                        : type.bits);
  return true;
}

/* ---- comparisons ---- */

static bool compare_numbers(const struct ptx_inst *inst, double a, double b) {
  bool unordered = isnan(a) || isnan(b);
  if (PTX_HAS(inst, num))
    return !unordered;
  if (PTX_HAS(inst, nan))
    return unordered;
  if (PTX_HAS(inst, eq) || PTX_HAS(inst, equ))
    return a == b || (unordered && PTX_HAS(inst, equ));
  if (PTX_HAS(inst, ne) || PTX_HAS(inst, neu))
    return unordered ? PTX_HAS(inst, neu) : a != b;
  if (PTX_HAS(inst, lt) || PTX_HAS(inst, ltu))
    return a < b || (unordered && PTX_HAS(inst, ltu));
  if (PTX_HAS(inst, le) || PTX_HAS(inst, leu))
    return a <= b || (unordered && PTX_HAS(inst, leu));
  if (PTX_HAS(inst, gt) || PTX_HAS(inst, gtu))
    return a > b || (unordered && PTX_HAS(inst, gtu));
  return a >= b || (unordered && PTX_HAS(inst, geu));
}

static bool compare_integers(const struct ptx_inst *inst, struct ptx_type type, uint64_t a,
                             uint64_t b) {
  a = cut(a, type.bits);
  b = cut(b, type.bits);
  bool less = type.kind == 's' ? sign(a, type.bits) < sign(b, type.bits) : a < b;
  if (PTX_HAS(inst, eq))
    return a == b;
  if (PTX_HAS(inst, ne))
    return a != b;
  if (PTX_HAS(inst, lt) || PTX_HAS(inst, lo))
    return less;
  if (PTX_HAS(inst, le) || PTX_HAS(inst, ls))
    return less || a == b;
  if (PTX_HAS(inst, gt) || PTX_HAS(inst, hi))
    return !less && a != b;
  return !less;
}

static uint64_t compare(struct sim_context *c) {
  const struct ptx_inst *inst = c->inst;
  struct ptx_type type = last_type(inst);
  uint64_t a = operand(c, 1), b = operand(c, 2);
  bool holds = type.kind != 'f'  ? compare_integers(inst, type, a, b)
               : type.bits == 32 ? compare_numbers(inst, (double)as_float(a), (double)as_float(b))
                                 : compare_numbers(inst, as_double(a), as_double(b));
  if (inst->operand_count < 4)
    return holds;
  bool other = operand(c, 3) != 0;
  return PTX_HAS(inst, and) ? holds && other : PTX_HAS(inst, or) ? holds || other : holds != other;
}

static uint64_t test_property(struct sim_context *c) {
  struct ptx_type type = last_type(c->inst);
  uint64_t a = operand(c, 1);
  double value = type.bits == 32 ? (double)as_float(a) : as_double(a);
  return PTX_HAS(c->inst, finite)     ? isfinite(value)
         : PTX_HAS(c->inst, infinite) ? isinf(value) != 0
                                      : !isnan(value);
}

/* ---- conversions ---- */

static double round_whole(const struct ptx_inst *inst, double value) {
  return PTX_HAS(inst, rni)   ? nearbyint(value)
         : PTX_HAS(inst, rmi) ? floor(value)
         : PTX_HAS(inst, rpi) ? ceil(value)
         : PTX_HAS(inst, rzi) ? trunc(value)
                              : value;
}

static uint64_t float_to_integer(const struct ptx_inst *inst, struct ptx_type to, double value) {
  double whole = round_whole(inst, value);
  bool is_signed = to.kind == 's';
  double past = ldexp(1, is_signed ? to.bits - 1 : to.bits), low = is_signed ? -past : 0;
  if (isnan(value))
    return to.bits == 64 ? (uint64_t)1 << 63 : 0;
  if (whole >= past)
    return cut(is_signed ? ((uint64_t)1 << (to.bits - 1)) - 1 : ~(uint64_t)0, to.bits);
  if (whole < low)
    return is_signed ? (uint64_t)1 << (to.bits - 1) : 0;
  return cut(is_signed ? (uint64_t)(int64_t)whole : (uint64_t)whole, to.bits);
}

static uint64_t integer_to_float(const struct ptx_inst *inst, struct ptx_type to,
                                 struct ptx_type from, uint64_t a) {
  set_rounding(inst);
  volatile int64_t x = sign(a, from.bits);
  volatile uint64_t u = cut(a, from.bits);
  uint64_t value = from.kind == 's' ? (to.bits == 32 ? of_float((float)x) : of_double((double)x))
                                    : (to.bits == 32 ? of_float((float)u) : of_double((double)u));
  fesetround(FE_TONEAREST);
  return value;
}

static uint64_t integer_to_integer(const struct ptx_inst *inst, struct ptx_type to,
                                   struct ptx_type from, uint64_t a) {
  int64_t x = from.kind == 's' ? sign(a, from.bits) : (int64_t)cut(a, from.bits);
  if (!PTX_HAS(inst, sat))
    return cut((uint64_t)x, to.bits);
  int64_t most = to.kind == 's' ? (int64_t)(((uint64_t)1 << (to.bits - 1)) - 1)
                                : (int64_t)cut(~(uint64_t)0, to.bits > 62 ? 62 : to.bits);
  int64_t least = to.kind == 's' ? -most - 1 : 0;
  return cut((uint64_t)(x > most ? most : x < least ? least : x), to.bits);
}

static uint64_t convert(struct sim_context *c) {
  const struct ptx_inst *inst = c->inst;
  struct ptx_type to = type_at(inst, 0), from = type_at(inst, 1);
  uint64_t a = operand(c, 1);
  if (from.kind != 'f')
    return to.kind == 'f' ? integer_to_float(inst, to, from, a)
                          : integer_to_integer(inst, to, from, a);
  double value = from.bits == 32 ? (double)as_float(a) : as_double(a);
  value = flush(inst, value);
  if (to.kind != 'f')
    return float_to_integer(inst, to, value);
  value = round_whole(inst, value);
  if (PTX_HAS(inst, sat))
    value = isnan(value) || value < 0 ? 0 : value > 1 ? 1 : value;
  if (to.bits == 64)
    return of_double(value);
  set_rounding(inst);
  volatile double wide = value;
  float narrow = (float)wide;
  fesetround(FE_TONEAREST);
  return of_float((float)flush(inst, (double)narrow));
}

/* ---- all ---- */

bool sim_compute(struct sim_context *c, uint64_t *value) {
  const struct ptx_inst *inst = c->inst;
  struct ptx_type type = last_type(inst);
  switch (inst->op) {
  case PTX_setp:
    *value = compare(c);
    return true;
  case PTX_selp:
    *value = operand(c, 3) != 0 ? operand(c, 1) : operand(c, 2);
    return true;
  case PTX_testp:
    *value = test_property(c);
    return true;
  case PTX_cvt:
    *value = convert(c);
    return true;
  default:
    break;
  }
  return type.kind == 'f' ? compute_float(c, type, value) : compute_integer(c, type, value);
}
