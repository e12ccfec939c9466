/* Comparisons and truth values. */
#include "compiler/ops/elementwise.h"

#include <math.h>

#define ROW(name_, doc_, inputs_, flags_, infer_, samples_)                        \
  const struct dtg_op_def dtg_row_##name_ = {.name = #name_,                       \
                                             .doc = doc_,                          \
                                             .class = DTG_CLASS_ELEMENTWISE,       \
                                             .flags = DTG_OP_ZERO_GRAD | (flags_), \
                                             .min_inputs = inputs_,                \
                                             .max_inputs = inputs_,                \
                                             .shard = "elementwise",               \
                                             .infer = infer_,                      \
                                             .cost = dtg_cost_elementwise,         \
                                             .lower = name_##_lower,               \
                                             .ref = name_##_ref,                   \
                                             DTG_SAMPLES(samples_)}

static const struct dtg_op_sample number_samples[] = {
    {"f32[3,5] f32[3,5]", "", -3, 3, 0}, {"i32[40] i32[40]", "", 0, 0, 3},
    {"i64[40] i64[40]", "", 0, 0, 3},    {"u8[40] u8[40]", "", 0, 0, 256},
    {"f64[5] f64[5]", "", -3, 3, 0},     {"bf16[7] bf16[7]", "", -3, 3, 0},
};
static const struct dtg_op_sample any_samples[] = {
    {"f32[3,5] f32[3,5]", "", -3, 3, 0},
    {"i32[40] i32[40]", "", 0, 0, 3},
    {"u8[40] u8[40]", "", 0, 0, 3},
    {"bool[40] bool[40]", "", 0, 0, 2},
};
static const struct dtg_op_sample bool_samples[] = {{"bool[3,15] bool[3,15]", "", 0, 0, 2}};
static const struct dtg_op_sample not_samples[] = {{"bool[45]", "", 0, 0, 2}};
static const struct dtg_op_sample finite_samples[] = {{"f32[17]", "", -3, 3, 0},
                                                      {"f64[5]", "", -3, 3, 0}};

static bool infer_compare(const struct dtg_infer_call *call, int set, struct dtg_type *out) {
  if (!dtg_check_dtype(call, 0, set) || !dtg_check_same(call, 0))
    return false;
  *out = (struct dtg_type){.dtype = DTG_BOOL, .shape = call->inputs[0].shape};
  return true;
}

static bool infer_equal(const struct dtg_infer_call *call, struct dtg_type *out) {
  return infer_compare(call, DTG_IN_ANY, out);
}

static bool infer_order(const struct dtg_infer_call *call, struct dtg_type *out) {
  return infer_compare(call, DTG_IN_NUMBER, out);
}

static bool infer_bool(const struct dtg_infer_call *call, struct dtg_type *out) {
  return infer_compare(call, DTG_IN_BOOL, out);
}

static bool infer_finite(const struct dtg_infer_call *call, struct dtg_type *out) {
  return infer_compare(call, DTG_IN_FLOAT, out);
}

/* A comparison is bool already: nothing to narrow. */
#define COMPARE(NAME, CG, EXPR)                                                              \
  DTG_REF2(NAME, EXPR)                                                                       \
  static uint32_t NAME##_lower(const struct dtg_lower_call *call) {                          \
    return cg_binary(call->builder, CG, dtg_lower_widen(call, 0), dtg_lower_widen(call, 1)); \
  }

COMPARE(eq, CG_EQ, x == y)
ROW(eq, "x = y.", 2, DTG_OP_COMMUTES, infer_equal, any_samples);
COMPARE(ne, CG_NE, x != y)
ROW(ne, "Not x = y; true for NaN.", 2, DTG_OP_COMMUTES, infer_equal, any_samples);
COMPARE(lt, CG_LT, x < y)
ROW(lt, "x < y.", 2, 0, infer_order, number_samples);
COMPARE(le, CG_LE, x <= y)
ROW(le, "x <= y.", 2, 0, infer_order, number_samples);
COMPARE(gt, CG_GT, x > y)
ROW(gt, "x > y.", 2, 0, infer_order, number_samples);
COMPARE(ge, CG_GE, x >= y)
ROW(ge, "x >= y.", 2, 0, infer_order, number_samples);

#define TRUTH(NAME, CG, EXPR)                                              \
  DTG_REF2(NAME, EXPR)                                                     \
  static uint32_t NAME##_lower(const struct dtg_lower_call *call) {        \
    return cg_binary(call->builder, CG, call->values[0], call->values[1]); \
  }

TRUTH(and, CG_AND, x != 0 && y != 0)
ROW(and, "Both are true.", 2, DTG_OP_COMMUTES, infer_bool, bool_samples);
TRUTH(or, CG_OR, x != 0 || y != 0)
ROW(or, "One of the two is true.", 2, DTG_OP_COMMUTES, infer_bool, bool_samples);

static uint32_t not_lower(const struct dtg_lower_call *call) {
  return cg_unary(call->builder, CG_NOT, call->values[0]);
}
DTG_REF1(not, x == 0)
ROW(not, "It is false.", 1, 0, infer_bool, not_samples);

/* NaN compares false with everything. */
static uint32_t is_finite_lower(const struct dtg_lower_call *call) {
  struct cg_builder *b = call->builder;
  uint32_t size = cg_unary(b, CG_ABS, dtg_lower_widen(call, 0));
  return cg_binary(b, CG_LT, size, dtg_lower_const(call, INFINITY));
}
DTG_REF1(is_finite, isfinite(x))
ROW(is_finite, "It is neither infinite nor NaN.", 1, 0, infer_finite, finite_samples);
