// sin and cos: x = q pi/2 + r, |r| <= pi/4. For f32 up to 1e5 the reduction subtracts q pi/2 in
// parts (Cody and Waite); beyond that, and for f64, it multiplies by the binary digits of 2/pi that
// matter (Payne and Hanek), exactly for every argument.
#include "codegen/llvm/math.h"
#include "codegen/llvm/math_coefficients.h"

#define CG_COUNT(array) ((uint32_t)(sizeof(array) / sizeof *(array)))

static const double cg_near_limit = 1e5;

// pi/2 = high + low; of `head`, 33 bits long, multiples up to 2^20 are exact in double.
static const double cg_half_pi_high = 0x1.921fb54442d18p+0, cg_half_pi_low = 0x1.1a62633145c07p-54;
static const double cg_half_pi_head = 0x1.921fb544p+0, cg_half_pi_tail = 0x1.0b4611a626331p-34;
static const double cg_half_pi_f32[] = {0x1.921fb6p+0, -0x1.777a5cp-25, -0x1.ee59dap-50};

struct cg_angle {
  LLVMValueRef r, low;   // low: NULL for f32
  LLVMValueRef quadrant; // integers of the size of the floats
};

static LLVMTypeRef cg_i64(const struct cg_float *f) {
  return LLVMInt64TypeInContext(f->module->context);
}

static LLVMValueRef cg_digits(struct cg_module *module) {
  LLVMValueRef table = LLVMGetNamedGlobal(module->module, "dtg.two_over_pi");
  if (table)
    return table;
  enum { WORDS = sizeof cg_two_over_pi / sizeof *cg_two_over_pi };
  LLVMTypeRef word = LLVMInt64TypeInContext(module->context);
  LLVMValueRef words[WORDS];
  for (uint32_t i = 0; i < WORDS; i++)
    words[i] = LLVMConstInt(word, cg_two_over_pi[i], false);
  table = LLVMAddGlobal(module->module, LLVMArrayType2(word, WORDS), "dtg.two_over_pi");
  LLVMSetInitializer(table, LLVMConstArray2(word, words, WORDS));
  LLVMSetGlobalConstant(table, true);
  LLVMSetLinkage(table, LLVMInternalLinkage);
  return table;
}

// Three words of the digits of 2/pi, from bit `start` of the table on, as one i192.
static LLVMValueRef cg_window(const struct cg_float *f, LLVMTypeRef big, LLVMValueRef start) {
  LLVMBuilderRef b = f->builder;
  LLVMTypeRef word = cg_i64(f), huge = LLVMIntTypeInContext(f->module->context, 256);
  LLVMValueRef index = LLVMBuildLShr(b, start, cg_iconst(f, 6), "");
  LLVMValueRef bits = LLVMConstNull(huge);
  for (uint64_t i = 0; i < 4; i++) {
    LLVMValueRef at = LLVMBuildAdd(b, index, cg_iconst(f, (int64_t)i), "");
    LLVMValueRef address = LLVMBuildGEP2(b, word, cg_digits(f->module), &at, 1, "");
    LLVMValueRef part = LLVMBuildZExt(b, LLVMBuildLoad2(b, word, address, ""), huge, "");
    part = LLVMBuildShl(b, part, LLVMConstInt(huge, 64 * (3 - i), false), "");
    bits = LLVMBuildOr(b, bits, part, "");
  }
  LLVMValueRef offset = LLVMBuildZExt(b, LLVMBuildAnd(b, start, cg_iconst(f, 63), ""), huge, "");
  bits = LLVMBuildShl(b, bits, offset, "");
  bits = LLVMBuildLShr(b, bits, LLVMConstInt(huge, 64, false), "");
  return LLVMBuildTrunc(b, bits, big, "");
}

// The signed fraction `f128` / 2^128 of a quarter turn, times pi/2, as a pair.
static struct cg_pair cg_fraction_angle(const struct cg_float *f, LLVMValueRef fraction) {
  LLVMBuilderRef b = f->builder;
  LLVMTypeRef wide = LLVMTypeOf(fraction);
  LLVMValueRef upper = LLVMBuildTrunc(
      b, LLVMBuildAShr(b, fraction, LLVMConstInt(wide, 64, false), ""), cg_i64(f), "");
  LLVMValueRef lower = LLVMBuildTrunc(b, fraction, cg_i64(f), "");
  // The upper 53 bits convert exactly; the rest is small.
  LLVMValueRef top = LLVMBuildAnd(b, upper, cg_iconst(f, ~(int64_t)0x7ff), "");
  LLVMValueRef rest = LLVMBuildAnd(b, upper, cg_iconst(f, 0x7ff), "");
  LLVMValueRef tail =
      cg_fadd(f, LLVMBuildSIToFP(b, rest, f->type, ""),
              cg_fmul(f, LLVMBuildUIToFP(b, lower, f->type, ""), cg_fconst(f, 0x1p-64)));
  struct cg_pair turn = cg_two_sum(f, LLVMBuildSIToFP(b, top, f->type, ""), tail);
  turn.high = cg_fmul(f, turn.high, cg_fconst(f, 0x1p-64));
  turn.low = cg_fmul(f, turn.low, cg_fconst(f, 0x1p-64));
  struct cg_pair r = cg_two_product(f, turn.high, cg_fconst(f, cg_half_pi_high));
  LLVMValueRef cross = cg_fadd(f, cg_fmul(f, turn.high, cg_fconst(f, cg_half_pi_low)),
                               cg_fmul(f, turn.low, cg_fconst(f, cg_half_pi_high)));
  return cg_quick_two_sum(f, r.high, cg_fadd(f, r.low, cross));
}

// For one double, |x| >= 0.5 and finite: x 2/pi modulo 4 from a window of 192 digits. x = m 2^e
// with m of 53 bits; digit p of 2/pi (weight 2^-p) is a multiple of 4 in the product if p < e - 1,
// so the window starts at digit e - 1, which stands at bit e + 62 of the table.
static struct cg_angle cg_reduce_scalar(const struct cg_float *f, LLVMValueRef x) {
  LLVMBuilderRef b = f->builder;
  LLVMTypeRef big = LLVMIntTypeInContext(f->module->context, 192);
  LLVMTypeRef wide = LLVMIntTypeInContext(f->module->context, 128);
  LLVMValueRef bits = cg_fbits(f, cg_fabs(f, x));
  LLVMValueRef exponent = LLVMBuildLShr(b, bits, cg_iconst(f, 52), "");
  LLVMValueRef fraction = LLVMBuildAnd(b, bits, cg_iconst(f, 0xfffffffffffff), "");
  LLVMValueRef mantissa = LLVMBuildOr(b, fraction, cg_iconst(f, 0x10000000000000), "");
  LLVMValueRef start = LLVMBuildSub(b, exponent, cg_iconst(f, 1075 - 62), "");
  LLVMValueRef product =
      LLVMBuildMul(b, LLVMBuildZExt(b, mantissa, big, ""), cg_window(f, big, start), "");
  // Two bits of quadrant, then the fraction; one half and more counts as the next quadrant,
  // negative.
  LLVMValueRef quadrant = LLVMBuildTrunc(
      b, LLVMBuildLShr(b, product, LLVMConstInt(big, 190, false), ""), cg_i64(f), "");
  LLVMValueRef turn =
      LLVMBuildTrunc(b, LLVMBuildLShr(b, product, LLVMConstInt(big, 62, false), ""), wide, "");
  LLVMValueRef carry =
      LLVMBuildTrunc(b, LLVMBuildLShr(b, turn, LLVMConstInt(wide, 127, false), ""), cg_i64(f), "");
  quadrant = LLVMBuildAdd(b, quadrant, carry, "");
  struct cg_pair r = cg_fraction_angle(f, turn);
  LLVMValueRef negative = cg_fcompare_const(f, LLVMRealOLT, x, 0);
  return (struct cg_angle){
      .r = cg_choose(f, negative, cg_fneg(f, r.high), r.high),
      .low = cg_choose(f, negative, cg_fneg(f, r.low), r.low),
      .quadrant = cg_choose(f, negative, LLVMBuildNeg(b, quadrant, ""), quadrant),
  };
}

// void reduce(double x, ptr r, ptr low, ptr quadrant): the above as a function.
static LLVMValueRef cg_reduce_function(struct cg_module *module) {
  const char *name = "dtg.reduce_angle";
  LLVMValueRef function = LLVMGetNamedFunction(module->module, name);
  if (function)
    return function;
  LLVMTypeRef pointer = LLVMPointerTypeInContext(module->context, 0);
  LLVMTypeRef params[] = {LLVMDoubleTypeInContext(module->context), pointer, pointer, pointer};
  LLVMTypeRef type = LLVMFunctionType(LLVMVoidTypeInContext(module->context), params, 4, false);
  function = cg_module_function(module, name, type);
  LLVMSetLinkage(function, LLVMInternalLinkage);
  cg_function_flag(module, function, "noinline");
  LLVMBuilderRef builder = LLVMCreateBuilderInContext(module->context);
  LLVMPositionBuilderAtEnd(builder,
                           LLVMAppendBasicBlockInContext(module->context, function, "entry"));
  struct cg_float f = cg_float_make(module, builder, 1, true);
  struct cg_angle angle = cg_reduce_scalar(&f, LLVMGetParam(function, 0));
  LLVMBuildStore(builder, angle.r, LLVMGetParam(function, 1));
  LLVMBuildStore(builder, angle.low, LLVMGetParam(function, 2));
  LLVMBuildStore(builder, angle.quadrant, LLVMGetParam(function, 3));
  LLVMBuildRetVoid(builder);
  LLVMDisposeBuilder(builder);
  return function;
}

static LLVMValueRef cg_cell_at(const struct cg_float *d, LLVMTypeRef type, LLVMValueRef array,
                               LLVMValueRef lane) {
  return LLVMBuildGEP2(d->builder, type, array, &lane, 1, "");
}

// A stack slot of the function, whichever block is being built.
static LLVMValueRef cg_entry_slot(const struct cg_float *f, LLVMTypeRef type) {
  LLVMBasicBlockRef here = LLVMGetInsertBlock(f->builder);
  LLVMBasicBlockRef entry = LLVMGetEntryBasicBlock(LLVMGetBasicBlockParent(here));
  LLVMBuilderRef builder = LLVMCreateBuilderInContext(f->module->context);
  LLVMPositionBuilder(builder, entry, LLVMGetFirstInstruction(entry));
  LLVMValueRef slot = LLVMBuildAlloca(builder, type, "");
  LLVMDisposeBuilder(builder);
  return slot;
}

// Runs the reduction on each lane of `x` (doubles) whose magnitude is at least `limit` and finite;
// the others keep what `angle` has. Everything goes through memory: this path is rare.
static struct cg_angle cg_reduce_lanes(const struct cg_float *d, LLVMValueRef x, double limit,
                                       struct cg_angle angle) {
  LLVMBuilderRef b = d->builder;
  LLVMContextRef context = d->module->context;
  struct cg_float one = cg_float_make(d->module, b, 1, true);
  LLVMValueRef function = LLVMGetBasicBlockParent(LLVMGetInsertBlock(b));
  LLVMValueRef cells[4] = {x, angle.r, angle.low, angle.quadrant};
  LLVMValueRef arrays[4];
  for (uint32_t i = 0; i < 4; i++) {
    arrays[i] = cg_entry_slot(d, LLVMTypeOf(cells[i]));
    LLVMBuildStore(b, cells[i], arrays[i]);
  }
  LLVMBasicBlockRef before = LLVMGetInsertBlock(b);
  LLVMBasicBlockRef head = LLVMAppendBasicBlockInContext(context, function, "lane");
  LLVMBasicBlockRef body = LLVMAppendBasicBlockInContext(context, function, "far");
  LLVMBasicBlockRef next = LLVMAppendBasicBlockInContext(context, function, "next");
  LLVMBasicBlockRef done = LLVMAppendBasicBlockInContext(context, function, "done");
  LLVMBuildBr(b, head);
  LLVMPositionBuilderAtEnd(b, head);
  LLVMValueRef lane = LLVMBuildPhi(b, one.itype, "");
  LLVMValueRef value = LLVMBuildLoad2(b, one.type, cg_cell_at(d, one.type, arrays[0], lane), "");
  LLVMValueRef magnitude = cg_fabs(&one, value);
  LLVMValueRef far =
      LLVMBuildAnd(b, cg_fcompare_const(&one, LLVMRealOGE, magnitude, limit),
                   cg_fcompare_const(&one, LLVMRealOLT, magnitude, __builtin_inf()), "");
  LLVMBuildCondBr(b, far, body, next);
  LLVMPositionBuilderAtEnd(b, body);
  LLVMValueRef reduce = cg_reduce_function(d->module);
  LLVMValueRef args[] = {value, cg_cell_at(d, one.type, arrays[1], lane),
                         cg_cell_at(d, one.type, arrays[2], lane),
                         cg_cell_at(d, one.itype, arrays[3], lane)};
  LLVMBuildCall2(b, LLVMGlobalGetValueType(reduce), reduce, args, 4, "");
  LLVMBuildBr(b, next);
  LLVMPositionBuilderAtEnd(b, next);
  LLVMValueRef following = LLVMBuildAdd(b, lane, cg_iconst(&one, 1), "");
  LLVMValueRef more = LLVMBuildICmp(b, LLVMIntULT, following, cg_iconst(&one, d->lanes), "");
  LLVMBuildCondBr(b, more, head, done);
  LLVMValueRef from[] = {cg_iconst(&one, 0), following};
  LLVMBasicBlockRef blocks[] = {before, next};
  LLVMAddIncoming(lane, from, blocks, 2);
  LLVMPositionBuilderAtEnd(b, done);
  return (struct cg_angle){
      .r = LLVMBuildLoad2(b, d->type, arrays[1], ""),
      .low = LLVMBuildLoad2(b, d->type, arrays[2], ""),
      .quadrant = LLVMBuildLoad2(b, d->itype, arrays[3], ""),
  };
}

static struct cg_angle cg_angle_f64(const struct cg_float *f, LLVMValueRef x) {
  // Infinity and NaN stay in r and come out as NaN, infinity through the subtraction.
  LLVMValueRef r = cg_fsub(f, x, cg_fsub(f, x, x));
  struct cg_angle near = {r, cg_fconst(f, 0), cg_iconst(f, 0)};
  return cg_reduce_lanes(f, x, 0x1.921fb54442d18p-1, near);
}

static LLVMValueRef cg_quadrant_f32(const struct cg_float *f, LLVMValueRef wide) {
  return LLVMBuildTrunc(f->builder, wide, f->itype, "");
}

static struct cg_angle cg_angle_near_f32(const struct cg_float *f, LLVMValueRef x) {
  struct cg_angle angle = {NULL, NULL, NULL};
  if (f->module->arch->has_fma) {
    LLVMValueRef q = cg_round(f, cg_fmul(f, x, cg_fconst(f, 0x1.45f306p-1)), &angle.quadrant);
    angle.r = x;
    for (uint32_t i = 0; i < CG_COUNT(cg_half_pi_f32); i++)
      angle.r = cg_ffma(f, q, cg_fconst(f, -cg_half_pi_f32[i]), angle.r);
    return angle;
  }
  struct cg_float d = cg_float_make(f->module, f->builder, f->lanes, true);
  LLVMValueRef wide = LLVMBuildFPExt(f->builder, x, d.type, ""), quadrant;
  LLVMValueRef q = cg_round(&d, cg_fmul(&d, wide, cg_fconst(&d, 0x1.45f306dc9c883p-1)), &quadrant);
  LLVMValueRef r = cg_fsub(&d, wide, cg_fmul(&d, q, cg_fconst(&d, cg_half_pi_head)));
  r = cg_fsub(&d, r, cg_fmul(&d, q, cg_fconst(&d, cg_half_pi_tail)));
  angle.r = LLVMBuildFPTrunc(f->builder, r, f->type, "");
  angle.quadrant = cg_quadrant_f32(f, quadrant);
  return angle;
}

// Whether any lane holds: a scalar i1.
static LLVMValueRef cg_any(const struct cg_float *f, LLVMValueRef condition) {
  if (f->lanes == 1)
    return condition;
  LLVMTypeRef bits = LLVMIntTypeInContext(f->module->context, f->lanes);
  LLVMValueRef mask = LLVMBuildBitCast(f->builder, condition, bits, "");
  return LLVMBuildICmp(f->builder, LLVMIntNE, mask, LLVMConstNull(bits), "");
}

static LLVMValueRef cg_join(LLVMBuilderRef b, LLVMValueRef first, LLVMBasicBlockRef from_first,
                            LLVMValueRef second, LLVMBasicBlockRef from_second) {
  LLVMValueRef phi = LLVMBuildPhi(b, LLVMTypeOf(first), "");
  LLVMValueRef values[] = {first, second};
  LLVMBasicBlockRef blocks[] = {from_first, from_second};
  LLVMAddIncoming(phi, values, blocks, 2);
  return phi;
}

static struct cg_angle cg_angle_far_f32(const struct cg_float *f, LLVMValueRef x,
                                        struct cg_angle near) {
  struct cg_float d = cg_float_make(f->module, f->builder, f->lanes, true);
  struct cg_angle wide = {
      .r = LLVMBuildFPExt(f->builder, near.r, d.type, ""),
      .low = cg_fconst(&d, 0),
      .quadrant = LLVMBuildSExt(f->builder, near.quadrant, d.itype, ""),
  };
  wide = cg_reduce_lanes(&d, LLVMBuildFPExt(f->builder, x, d.type, ""), cg_near_limit, wide);
  return (struct cg_angle){
      .r = LLVMBuildFPTrunc(f->builder, wide.r, f->type, ""),
      .low = NULL,
      .quadrant = cg_quadrant_f32(f, wide.quadrant),
  };
}

static struct cg_angle cg_angle_f32(const struct cg_float *f, LLVMValueRef x) {
  LLVMBuilderRef b = f->builder;
  struct cg_angle near = cg_angle_near_f32(f, x);
  LLVMValueRef function = LLVMGetBasicBlockParent(LLVMGetInsertBlock(b));
  LLVMBasicBlockRef far_block =
      LLVMAppendBasicBlockInContext(f->module->context, function, "any_far");
  LLVMBasicBlockRef join = LLVMAppendBasicBlockInContext(f->module->context, function, "angle");
  LLVMValueRef far = cg_fcompare_const(f, LLVMRealOGE, cg_fabs(f, x), cg_near_limit);
  LLVMBasicBlockRef start = LLVMGetInsertBlock(b);
  LLVMBuildCondBr(b, cg_any(f, far), far_block, join);
  LLVMPositionBuilderAtEnd(b, far_block);
  struct cg_angle reduced = cg_angle_far_f32(f, x, near);
  LLVMBasicBlockRef end = LLVMGetInsertBlock(b);
  LLVMBuildBr(b, join);
  LLVMPositionBuilderAtEnd(b, join);
  struct cg_angle angle = {NULL, NULL, NULL};
  angle.r = cg_join(b, near.r, start, reduced.r, end);
  angle.quadrant = cg_join(b, near.quadrant, start, reduced.quadrant, end);
  // x - x is NaN for infinities, whose lanes hold nonsense.
  LLVMValueRef finite = cg_fcompare_const(f, LLVMRealOLT, cg_fabs(f, x), __builtin_inf());
  angle.r = cg_choose(f, finite, angle.r, cg_fsub(f, x, x));
  return angle;
}

static LLVMValueRef cg_sin_near(const struct cg_float *f, struct cg_angle angle,
                                LLVMValueRef square) {
  LLVMValueRef p = f->wide ? cg_horner(f, square, cg_sin_f64, CG_COUNT(cg_sin_f64))
                           : cg_horner(f, square, cg_sin_f32, CG_COUNT(cg_sin_f32));
  LLVMValueRef tail = cg_fmul(f, cg_fmul(f, square, angle.r), p);
  if (angle.low) {
    // sin(r + low) = sin r + low cos r, cos r = 1 - r^2/2 being enough for so small a term.
    LLVMValueRef slope = cg_fmadd(f, square, cg_fconst(f, -0.5), cg_fconst(f, 1));
    tail = cg_fmadd(f, angle.low, slope, tail);
  }
  return cg_fadd(f, angle.r, tail);
}

static LLVMValueRef cg_cos_near(const struct cg_float *f, struct cg_angle angle,
                                LLVMValueRef square) {
  LLVMValueRef p = f->wide ? cg_horner(f, square, cg_cos_f64, CG_COUNT(cg_cos_f64))
                           : cg_horner(f, square, cg_cos_f32, CG_COUNT(cg_cos_f32));
  LLVMValueRef half = cg_fmul(f, square, cg_fconst(f, 0.5));
  LLVMValueRef one = cg_fconst(f, 1);
  LLVMValueRef high = cg_fsub(f, one, half);
  LLVMValueRef lost = cg_fsub(f, cg_fsub(f, one, high), half);
  if (angle.low)
    lost = cg_fsub(f, lost, cg_fmul(f, angle.r, angle.low));
  return cg_fadd(f, high, cg_fmadd(f, cg_fmul(f, square, square), p, lost));
}

static LLVMValueRef cg_sine(const struct cg_float *f, LLVMValueRef x, int64_t ahead) {
  LLVMBuilderRef b = f->builder;
  struct cg_angle angle = f->wide ? cg_angle_f64(f, x) : cg_angle_f32(f, x);
  LLVMValueRef square = cg_fmul(f, angle.r, angle.r);
  LLVMValueRef sine = cg_sin_near(f, angle, square), cosine = cg_cos_near(f, angle, square);
  LLVMValueRef quadrant = LLVMBuildAdd(b, angle.quadrant, cg_iconst(f, ahead), "");
  LLVMValueRef one = cg_iconst(f, 1), two = cg_iconst(f, 2);
  LLVMValueRef odd = LLVMBuildICmp(b, LLVMIntEQ, LLVMBuildAnd(b, quadrant, one, ""), one, "");
  LLVMValueRef value = cg_choose(f, odd, cosine, sine);
  LLVMValueRef sign =
      LLVMBuildShl(b, LLVMBuildAnd(b, quadrant, two, ""), cg_iconst(f, f->wide ? 62 : 30), "");
  value = cg_from_bits(f, LLVMBuildXor(b, cg_fbits(f, value), sign, ""));
  if (ahead)
    return value;
  // The sign of zero survives: sin x = x where x^2 is nothing beside 1.
  LLVMValueRef tiny = cg_fcompare_const(f, LLVMRealOLT, cg_fabs(f, x), f->wide ? 0x1p-27 : 0x1p-13);
  return cg_choose(f, tiny, x, value);
}

LLVMValueRef cg_math_sin(const struct cg_float *f, LLVMValueRef x) {
  return cg_sine(f, x, 0);
}

LLVMValueRef cg_math_cos(const struct cg_float *f, LLVMValueRef x) {
  return cg_sine(f, x, 1);
}
