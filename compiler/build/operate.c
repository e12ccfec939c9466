// Operators and element-wise ops: one element type, one shape, then the op.
#include "compiler/build/internal.h"

#include "compiler/base/bug.h"

#include "grammar/print.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

// ---- adding a node ----

// An optimizer is compiled for slices of a parameter: only what is element-wise or over the whole
// tensor has a meaning there.
static bool fits_update(struct dtg_build *b, const struct dtg_op_def *op, struct dtg_span span) {
  if (!b->updating || op->class == DTG_CLASS_ELEMENTWISE || op->class == DTG_CLASS_CONST ||
      strcmp(op->name, "broadcast_to") == 0)
    return true;
  struct dtg_diag *diag = dtg_build_error(b, span, "`%s` cannot be used in an optimizer", op->name);
  dtg_diag_hint(diag, "element-wise functions and sum, mean and norm of the whole tensor can");
  return false;
}

static bool within_limit(struct dtg_build *b, struct dtg_span span) {
  if (b->graph->nodes.len < DTG_BUILD_MAX_NODES)
    return true;
  if (!b->stopped)
    dtg_build_error(b, span, "the graph has more than %d nodes here", DTG_BUILD_MAX_NODES);
  b->stopped = true;
  return false;
}

struct dtg_value dtg_build_add(struct dtg_build *b, const char *name, const uint32_t *inputs,
                               uint32_t input_count, const struct dtg_attr *attrs,
                               uint32_t attr_count, struct dtg_span span) {
  const struct dtg_op_def *op = dtg_op_find(name);
  if (!within_limit(b, span) || !fits_update(b, op, span))
    return dtg_value_error();
  struct dtg_attr sorted[8];
  for (uint32_t i = 0; i < attr_count; i++) { // insertion sort by name, as infer wants it
    uint32_t at = i;
    for (; at > 0 && strcmp(sorted[at - 1].name, attrs[i].name) > 0; at--)
      sorted[at] = sorted[at - 1];
    sorted[at] = attrs[i];
  }
  struct dtg_strbuf why = {0};
  uint32_t node = DTG_NO_NODE;
  if (!dtg_try_add(b->graph, op, inputs, input_count, sorted, attr_count, &why, &node)) {
    struct dtg_diag *diag = dtg_build_error(
        b, span, "%s", dtg_build_name_batches(b, inputs, input_count, dtg_strbuf_text(&why)));
    for (uint32_t i = 0; i < input_count; i++)
      dtg_build_note(b, diag, inputs[i]);
  }
  dtg_strbuf_free(&why);
  return node == DTG_NO_NODE ? dtg_value_error() : dtg_build_tensor(node, false);
}

// ---- one element type ----

// As the user wrote it, most likely.
static const char *written_name(const struct dtg_op_def *op) {
  static const char *const names[][2] = {
      {"add", "+"},  {"sub", "-"}, {"mul", "*"}, {"div", "/"}, {"mod", "%"},
      {"pow", "**"}, {"neg", "-"}, {"lt", "<"},  {"le", "<="}, {"gt", ">"},
      {"ge", ">="},  {"eq", "=="}, {"ne", "!="},
  };
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    if (strcmp(names[i][0], op->name) == 0)
      return names[i][1];
  }
  return op->name;
}

static bool is_strong(const struct dtg_value *value) {
  return value->kind == DTG_VALUE_TENSOR && !value->weak;
}

static bool is_comparison(const struct dtg_op_def *op) {
  static const char *const names[] = {"eq", "ne", "lt", "le", "gt", "ge"};
  for (size_t i = 0; i < 6; i++) {
    if (strcmp(names[i], op->name) == 0)
      return true;
  }
  return false;
}

// Ops that give ints for run-time ints; the others give floats, as `/` and `**` do.
static bool keeps_ints(const struct dtg_op_def *op) {
  static const char *const names[] = {"add",    "sub",     "mul",     "mod",  "neg",  "abs",
                                      "square", "maximum", "minimum", "sign", "where"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    if (strcmp(names[i], op->name) == 0)
      return true;
  }
  return is_comparison(op);
}

static bool no_operand(struct dtg_build *b, const char *op, const struct dtg_value *value,
                       struct dtg_span span) {
  if (value->kind == DTG_VALUE_TENSOR || dtg_value_is_number(value) ||
      value->kind == DTG_VALUE_BOOL)
    return false;
  if (value->kind != DTG_VALUE_ERROR)
    dtg_build_error(b, span, "`%s` does not apply to %s", op, dtg_value_kind_text(value));
  return true;
}

static void mixed_types(struct dtg_build *b, const char *op, uint32_t left, uint32_t right,
                        struct dtg_span span) {
  const struct dtg_type *a = dtg_build_type(b, left), *c = dtg_build_type(b, right);
  struct dtg_diag *diag =
      dtg_build_error(b, span, "`%s` cannot mix %s and %s", op, dtg_build_node_text(b, left),
                      dtg_build_node_text(b, right));
  dtg_build_note(b, diag, left);
  dtg_build_note(b, diag, right);
  enum dtg_dtype wanted = dtg_dtype_is_float(a->dtype) ? a->dtype : c->dtype;
  dtg_diag_hint(diag, "convert one of them: cast(..., %s)", dtg_dtype_name(wanted));
}

// The type of the strong operands; false after an error. `found`: there was one.
static bool strong_dtype(struct dtg_build *b, const struct dtg_op_def *op,
                         const struct dtg_value *operands, size_t count, struct dtg_span span,
                         bool *found, enum dtg_dtype *out) {
  uint32_t first = DTG_NO_NODE;
  for (size_t i = 0; i < count; i++) {
    if (!is_strong(&operands[i]))
      continue;
    enum dtg_dtype dtype = dtg_build_type(b, operands[i].node)->dtype;
    if (first == DTG_NO_NODE) {
      first = operands[i].node;
      *out = dtype;
    }
    if (dtype == *out)
      continue;
    if (!is_comparison(op) || !dtg_dtype_is_integer(dtype) || !dtg_dtype_is_integer(*out)) {
      mixed_types(b, written_name(op), first, operands[i].node, span);
      return false;
    }
    if (dtg_dtype_size(dtype) > dtg_dtype_size(*out))
      *out = dtype;
  }
  *found = first != DTG_NO_NODE;
  return true;
}

// Among literals and run-time scalars alone. `plain`: the result is an ordinary tensor after all.
static enum dtg_dtype weak_dtype(struct dtg_build *b, const struct dtg_op_def *op,
                                 const struct dtg_value *operands, size_t count, bool plain) {
  bool whole = keeps_ints(op);
  for (size_t i = 0; i < count; i++) {
    const struct dtg_value *value = &operands[i];
    enum dtg_dtype dtype = value->kind == DTG_VALUE_TENSOR ? dtg_build_type(b, value->node)->dtype
                           : value->kind == DTG_VALUE_BOOL ? DTG_BOOL
                           : value->kind == DTG_VALUE_INT  ? DTG_I64
                                                           : DTG_F64;
    if (dtype == DTG_BOOL)
      return DTG_BOOL;
    whole = whole && dtype != DTG_F64;
  }
  if (plain)
    return whole ? DTG_I32 : DTG_F32;
  return whole ? DTG_I64 : DTG_F64;
}

static bool int_fits(enum dtg_dtype dtype, int64_t value) {
  if (dtype == DTG_U8)
    return value >= 0 && value <= UINT8_MAX;
  return dtype == DTG_I64 || (value >= INT32_MIN && value <= INT32_MAX);
}

static bool no_conversion(struct dtg_build *b, const struct dtg_value *value, enum dtg_dtype dtype,
                          struct dtg_span span) {
  struct dtg_strbuf text = {0};
  dtg_value_print(value, &text);
  struct dtg_diag *diag = dtg_build_error(b, span, "%s does not take the type %s of the other side",
                                          dtg_strbuf_text(&text), dtg_dtype_name(dtype));
  dtg_diag_hint(diag, "convert the other side: cast(..., %s)",
                value->kind == DTG_VALUE_BOOL ? "bool" : "f32");
  dtg_strbuf_free(&text);
  return false;
}

static bool convert_static(struct dtg_build *b, const struct dtg_value *value, enum dtg_dtype dtype,
                           struct dtg_span span, uint32_t *out) {
  const struct dtg_shape scalar = {0};
  if ((value->kind == DTG_VALUE_BOOL) != (dtype == DTG_BOOL) ||
      (value->kind == DTG_VALUE_FLOAT && dtg_dtype_is_integer(dtype)))
    return no_conversion(b, value, dtype, span);
  if (value->kind == DTG_VALUE_INT && dtg_dtype_is_integer(dtype)) {
    if (!int_fits(dtype, value->i)) {
      struct dtg_diag *diag = dtg_build_error(b, span, "%" PRId64 " is out of the range of %s",
                                              value->i, dtg_dtype_name(dtype));
      dtg_diag_hint(diag, "convert the other side: cast(..., i64)");
      return false;
    }
    *out = dtg_add_const_int(b->graph, value->i, dtype, &scalar);
    return true;
  }
  double number = value->kind == DTG_VALUE_BOOL ? value->b : dtg_value_number(value);
  if (dtype == DTG_F32 && isfinite(number) && fabs(number) > 0x1.fffffep127) {
    dtg_build_error(b, span, "this number is out of the range of f32");
    return false;
  }
  *out = dtg_add_const(b->graph, number, dtype, &scalar);
  return true;
}

static bool convert(struct dtg_build *b, const struct dtg_value *value, enum dtg_dtype dtype,
                    struct dtg_span span, uint32_t *out) {
  if (value->kind != DTG_VALUE_TENSOR)
    return convert_static(b, value, dtype, span, out);
  enum dtg_dtype have = dtg_build_type(b, value->node)->dtype;
  bool loses = (have == DTG_BOOL) != (dtype == DTG_BOOL) ||
               (dtg_dtype_is_float(have) && dtg_dtype_is_integer(dtype));
  if (value->weak && loses)
    return no_conversion(b, value, dtype, span);
  *out = dtg_add_cast(b->graph, value->node, dtype);
  return true;
}

// ---- one shape ----

static bool common_shape(struct dtg_build *b, const char *op, const uint32_t *nodes, size_t count,
                         struct dtg_span span, struct dtg_shape *out) {
  *out = dtg_build_type(b, nodes[0])->shape;
  for (size_t i = 1; i < count; i++) {
    struct dtg_shape wider;
    if (dtg_shape_broadcast(out, &dtg_build_type(b, nodes[i])->shape, &wider)) {
      dtg_build_warn_batches(b, op, nodes[i - 1], nodes[i], span);
      *out = wider;
      continue;
    }
    struct dtg_diag *diag =
        dtg_build_error(b, span, "`%s` cannot pair the shapes of %s and %s", op,
                        dtg_build_node_text(b, nodes[0]), dtg_build_node_text(b, nodes[i]));
    for (size_t j = 0; j < count; j++)
      dtg_build_note(b, diag, nodes[j]);
    return false;
  }
  return true;
}

static bool is_condition(struct dtg_build *b, const struct dtg_value *value, struct dtg_span span) {
  if (value->kind == DTG_VALUE_BOOL ||
      (value->kind == DTG_VALUE_TENSOR && dtg_build_type(b, value->node)->dtype == DTG_BOOL))
    return true;
  struct dtg_diag *diag =
      dtg_build_error(b, span, "the condition of `where` must be bool, not %s",
                      value->kind == DTG_VALUE_TENSOR ? dtg_build_node_text(b, value->node)
                                                      : dtg_value_kind_text(value));
  if (value->kind == DTG_VALUE_TENSOR)
    dtg_build_note(b, diag, value->node);
  dtg_diag_hint(diag, "compare it, for example x != 0");
  return false;
}

struct dtg_value dtg_build_elementwise(struct dtg_build *b, const struct dtg_op_def *op,
                                       const struct dtg_value *operands, size_t count,
                                       const struct dtg_attr *attrs, uint32_t attr_count,
                                       struct dtg_span span) {
  enum { MOST = 4 };
  uint32_t nodes[MOST];
  struct dtg_shape shape;
  enum dtg_dtype dtype = DTG_F32;
  bool strong = false;
  DTG_ASSERT(count >= 1 && count <= MOST);
  for (size_t i = 0; i < count; i++) {
    if (no_operand(b, written_name(op), &operands[i], span))
      return dtg_value_error();
  }
  size_t first = strcmp(op->name, "where") == 0; // its condition keeps its own type
  if (first == 1 && !is_condition(b, &operands[0], span))
    return dtg_value_error();
  if (!strong_dtype(b, op, operands + first, count - first, span, &strong, &dtype))
    return dtg_value_error();
  bool plain = first == 1 && is_strong(&operands[0]);
  if (!strong)
    dtype = weak_dtype(b, op, operands + first, count - first, plain);
  for (size_t i = 0; i < count; i++) {
    if (!convert(b, &operands[i], i < first ? DTG_BOOL : dtype, span, &nodes[i]))
      return dtg_value_error();
  }
  if (!common_shape(b, written_name(op), nodes, count, span, &shape))
    return dtg_value_error();
  for (size_t i = 0; i < count; i++)
    nodes[i] = dtg_add_broadcast(b->graph, nodes[i], &shape);
  struct dtg_value out =
      dtg_build_add(b, op->name, nodes, (uint32_t)count, attrs, attr_count, span);
  out.weak = !strong && !plain;
  return out;
}

bool dtg_build_as_tensor(struct dtg_build *b, const struct dtg_value *value, const char *what,
                         struct dtg_span span, uint32_t *out) {
  if (value->kind == DTG_VALUE_TENSOR) {
    enum dtg_dtype dtype = dtg_build_type(b, value->node)->dtype;
    *out = value->weak && dtype == DTG_F64 ? dtg_add_cast(b->graph, value->node, DTG_F32)
                                           : value->node;
    return true;
  }
  if (value->kind == DTG_VALUE_INT)
    return convert_static(b, value, DTG_I32, span, out);
  if (value->kind == DTG_VALUE_FLOAT || value->kind == DTG_VALUE_BOOL)
    return convert_static(b, value, value->kind == DTG_VALUE_BOOL ? DTG_BOOL : DTG_F32, span, out);
  if (value->kind != DTG_VALUE_ERROR)
    dtg_build_error(b, span, "%s must be a tensor, not %s", what, dtg_value_kind_text(value));
  return false;
}

// ---- operators ----

struct dtg_value dtg_build_unary(struct dtg_build *b, enum dtg_ast_unary_op op,
                                 const struct dtg_value *a, struct dtg_span span) {
  if (a->kind != DTG_VALUE_TENSOR)
    return dtg_value_unary(b->ctx, op, a, span);
  return dtg_build_elementwise(b, dtg_op_find(op == DTG_UNARY_NEG ? "neg" : "not"), a, 1, NULL, 0,
                               span);
}

// x ** 2 and x ** 0.5 have ops of their own.
static struct dtg_value power(struct dtg_build *b, const struct dtg_value *operands,
                              struct dtg_span span) {
  double exponent = dtg_value_is_number(&operands[1]) ? dtg_value_number(&operands[1]) : 0;
  if (exponent == 1)
    return operands[0];
  if (exponent == 2 || exponent == 0.5)
    return dtg_build_elementwise(b, dtg_op_find(exponent == 2 ? "square" : "sqrt"), operands, 1,
                                 NULL, 0, span);
  return dtg_build_elementwise(b, dtg_op_find("pow"), operands, 2, NULL, 0, span);
}

static bool divides_ints(struct dtg_build *b, const struct dtg_value *operands) {
  for (size_t i = 0; i < 2; i++) {
    if (is_strong(&operands[i]) && !dtg_dtype_is_float(dtg_build_type(b, operands[i].node)->dtype))
      return true;
  }
  return false;
}

static struct dtg_value divide(struct dtg_build *b, const struct dtg_value *operands,
                               struct dtg_span span) {
  if (!divides_ints(b, operands))
    return dtg_build_elementwise(b, dtg_op_find("div"), operands, 2, NULL, 0, span);
  struct dtg_diag *diag = dtg_build_error(b, span, "`/` divides floats only");
  for (size_t i = 0; i < 2; i++) {
    if (operands[i].kind == DTG_VALUE_TENSOR)
      dtg_build_note(b, diag, operands[i].node);
  }
  dtg_diag_hint(diag, "convert first: cast(..., f32); div(a, b) divides ints, towards zero");
  return dtg_value_error();
}

// Whether the op takes these operands; the reason is reported.
static bool infers(struct dtg_build *b, const char *name, const uint32_t *nodes, uint32_t count,
                   struct dtg_span span) {
  struct dtg_strbuf why = {0};
  struct dtg_type types[2], type;
  struct dtg_infer_call call = {.inputs = types, .input_count = count, .why = &why};
  for (uint32_t i = 0; i < count; i++)
    types[i] = *dtg_build_type(b, nodes[i]);
  bool good = dtg_op_infer(dtg_op_find(name), &call, &type);
  if (!good) {
    struct dtg_diag *diag = dtg_build_error(
        b, span, "%s", dtg_build_name_batches(b, nodes, count, dtg_strbuf_text(&why)));
    for (uint32_t i = 0; i < count; i++)
      dtg_build_note(b, diag, nodes[i]);
  }
  dtg_strbuf_free(&why);
  return good;
}

struct dtg_value dtg_build_matmul(struct dtg_build *b, const struct dtg_value *left,
                                  const struct dtg_value *right, struct dtg_span span) {
  uint32_t nodes[2];
  if (left->kind == DTG_VALUE_ERROR || right->kind == DTG_VALUE_ERROR)
    return dtg_value_error();
  if (left->kind != DTG_VALUE_TENSOR || right->kind != DTG_VALUE_TENSOR)
    return dtg_build_fail(b, span, "`@` does not apply to %s and %s", dtg_value_kind_text(left),
                          dtg_value_kind_text(right));
  nodes[0] = left->node;
  nodes[1] = right->node;
  if (!within_limit(b, span) || !fits_update(b, dtg_op_find("matmul"), span) ||
      !infers(b, "matmul", nodes, 2, span))
    return dtg_value_error();
  return dtg_build_tensor(dtg_add_matmul(b->graph, nodes[0], nodes[1], false, false), false);
}

static bool both_lists(const struct dtg_value *left, const struct dtg_value *right) {
  return left->kind == DTG_VALUE_LIST && right->kind == DTG_VALUE_LIST;
}

struct dtg_value dtg_build_binary(struct dtg_build *b, enum dtg_ast_binary_op op,
                                  const struct dtg_value *left, const struct dtg_value *right,
                                  struct dtg_span span) {
  static const char *const names[] = {
      [DTG_BINARY_OR] = "or",   [DTG_BINARY_AND] = "and", [DTG_BINARY_LT] = "lt",
      [DTG_BINARY_LE] = "le",   [DTG_BINARY_GT] = "gt",   [DTG_BINARY_GE] = "ge",
      [DTG_BINARY_EQ] = "eq",   [DTG_BINARY_NE] = "ne",   [DTG_BINARY_ADD] = "add",
      [DTG_BINARY_SUB] = "sub", [DTG_BINARY_MUL] = "mul", [DTG_BINARY_MOD] = "mod",
  };
  if (left->kind == DTG_VALUE_ERROR || right->kind == DTG_VALUE_ERROR)
    return dtg_value_error();
  if ((dtg_value_is_static(left) && dtg_value_is_static(right)) || both_lists(left, right))
    return dtg_value_binary(b->ctx, op, left, right, span);
  struct dtg_value operands[] = {*left, *right};
  switch (op) {
  case DTG_BINARY_MATMUL:
    return dtg_build_matmul(b, left, right, span);
  case DTG_BINARY_POW:
    return power(b, operands, span);
  case DTG_BINARY_DIV:
    return divide(b, operands, span);
  default:
    return dtg_build_elementwise(b, dtg_op_find(names[op]), operands, 2, NULL, 0, span);
  }
}
