#include "compiler/ops/support.h"

#include "compiler/base/strbuf.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

const char *dtg_type_text(char *buffer, const struct dtg_type *type) {
  dtg_type_format(type, buffer, DTG_TYPE_TEXT);
  return buffer;
}

bool dtg_fail(const struct dtg_infer_call *call, const char *format, ...) {
  if (call->why) {
    va_list args;
    va_start(args, format);
    dtg_strbuf_vprintf(call->why, format, args);
    va_end(args);
  }
  return false;
}

static const char *set_text(int set) {
  switch (set) {
  case DTG_IN_F32:
    return "f32";
  case DTG_IN_FLOAT:
    return "floats";
  case DTG_IN_INTEGER:
    return "integers";
  case DTG_IN_NUMBER:
    return "numbers";
  case DTG_IN_WIDE:
    return "f32, f64, i32 or i64";
  case DTG_IN_BOOL:
    return "bool";
  default:
    return "other elements";
  }
}

bool dtg_check_dtype(const struct dtg_infer_call *call, uint32_t input, int set) {
  const struct dtg_type *type = &call->inputs[input];
  if (set & 1 << type->dtype)
    return true;
  return dtg_fail(call, "`%s` needs %s, got %s", call->op->name, set_text(set), DTG_TYPE(type));
}

bool dtg_check_same(const struct dtg_infer_call *call, uint32_t first) {
  const struct dtg_type *a = &call->inputs[first];
  for (uint32_t i = first + 1; i < call->input_count; i++) {
    const struct dtg_type *b = &call->inputs[i];
    if (a->dtype != b->dtype)
      return dtg_fail(call, "`%s` needs one element type, got %s and %s", call->op->name,
                      DTG_TYPE(a), DTG_TYPE(b));
    if (!dtg_shape_equal(&a->shape, &b->shape))
      return dtg_fail(call, "`%s` needs one shape, got %s and %s", call->op->name, DTG_TYPE(a),
                      DTG_TYPE(b));
  }
  return true;
}

bool dtg_check_shape(const struct dtg_infer_call *call, const struct dtg_type *type) {
  int64_t count, bytes;
  for (uint32_t i = 0; i < type->shape.rank; i++) {
    if (type->shape.dims[i] < 1)
      return dtg_fail(call, "`%s` would give %s, but a dim is at least 1", call->op->name,
                      DTG_TYPE(type));
  }
  if (!dtg_shape_count_checked(&type->shape, &count) ||
      __builtin_mul_overflow(count, (int64_t)dtg_dtype_size(type->dtype), &bytes))
    return dtg_fail(call, "`%s` would give %s, which is too large", call->op->name, DTG_TYPE(type));
  return true;
}

bool dtg_check_axis(const struct dtg_infer_call *call, int64_t axis, const struct dtg_type *type) {
  if (axis >= 0 && axis < (int64_t)type->shape.rank)
    return true;
  return dtg_fail(call, "`%s` has no axis %" PRId64 ": the operand is %s", call->op->name, axis,
                  DTG_TYPE(type));
}

bool dtg_check_axes(const struct dtg_infer_call *call) {
  const int64_t *axes;
  uint32_t count = dtg_call_ints(call, "axes", &axes);
  for (uint32_t i = 0; i < count; i++) {
    if (!dtg_check_axis(call, axes[i], &call->inputs[0]))
      return false;
    if (i > 0 && axes[i] <= axes[i - 1])
      return dtg_fail(call,
                      "`%s` needs its axes in ascending order, got %" PRId64 " after %" PRId64,
                      call->op->name, axes[i], axes[i - 1]);
  }
  return true;
}

static const struct dtg_attr *call_attr(const struct dtg_infer_call *call, const char *name) {
  return dtg_attrs_find(call->attrs, call->attr_count, name);
}

int64_t dtg_call_int(const struct dtg_infer_call *call, const char *name, int64_t fallback) {
  const struct dtg_attr *attr = call_attr(call, name);
  return attr ? attr->value.i : fallback;
}

bool dtg_call_bool(const struct dtg_infer_call *call, const char *name, bool fallback) {
  const struct dtg_attr *attr = call_attr(call, name);
  return attr ? attr->value.b : fallback;
}

double dtg_call_float(const struct dtg_infer_call *call, const char *name, double fallback) {
  const struct dtg_attr *attr = call_attr(call, name);
  return attr ? attr->value.f : fallback;
}

const char *dtg_call_string(const struct dtg_infer_call *call, const char *name) {
  const struct dtg_attr *attr = call_attr(call, name);
  return attr ? attr->value.s : "";
}

uint32_t dtg_call_ints(const struct dtg_infer_call *call, const char *name,
                       const int64_t **values) {
  const struct dtg_attr *attr = call_attr(call, name);
  *values = attr ? attr->value.ints.values : NULL;
  return attr ? attr->value.ints.count : 0;
}

bool dtg_call_shape(const struct dtg_infer_call *call, const char *name, struct dtg_shape *out) {
  const int64_t *dims;
  uint32_t rank = dtg_call_ints(call, name, &dims);
  if (rank > DTG_MAX_RANK)
    return dtg_fail(call, "`%s` has a shape of %" PRIu32 " dims, but at most %d are possible",
                    call->op->name, rank, DTG_MAX_RANK);
  *out = dtg_shape_make(rank, dims);
  return true;
}

static double round_bf16(double value) {
  float narrow = (float)value;
  uint32_t bits;
  memcpy(&bits, &narrow, sizeof bits);
  if (isnan(narrow))
    return NAN;
  bits += 0x7fff + (bits >> 16 & 1);
  bits &= 0xffff0000u;
  memcpy(&narrow, &bits, sizeof bits);
  return narrow;
}

double dtg_ref_store(enum dtg_dtype dtype, double value) {
  bool fits = value > -9.2e18 && value < 9.2e18;
  switch (dtype) {
  case DTG_BF16:
    return round_bf16(value);
  case DTG_I32:
    return fits ? (double)(int32_t)(uint32_t)(int64_t)value : 0;
  case DTG_U8:
    return fits ? (double)(uint8_t)(int64_t)value : 0;
  case DTG_BOOL:
    return value != 0;
  default:
    return value;
  }
}

void dtg_ref_coordinates(const struct dtg_shape *shape, int64_t flat, int64_t index[DTG_MAX_RANK]) {
  for (uint32_t i = shape->rank; i-- > 0;) {
    index[i] = flat % shape->dims[i];
    flat /= shape->dims[i];
  }
}

int64_t dtg_ref_flat(const struct dtg_shape *shape, const int64_t index[DTG_MAX_RANK]) {
  int64_t flat = 0;
  for (uint32_t i = 0; i < shape->rank; i++)
    flat = flat * shape->dims[i] + index[i];
  return flat;
}

void dtg_axes_mask(const struct dtg_node *node, bool mask[DTG_MAX_RANK]) {
  const int64_t *axes;
  uint32_t count = dtg_node_ints(node, "axes", &axes);
  memset(mask, 0, DTG_MAX_RANK * sizeof *mask);
  for (uint32_t i = 0; i < count; i++)
    mask[axes[i]] = true;
}

enum dtg_dtype dtg_compute_dtype(enum dtg_dtype dtype) {
  switch (dtype) {
  case DTG_BF16:
    return DTG_F32;
  case DTG_U8:
  case DTG_BOOL:
    return DTG_I32;
  default:
    return dtype;
  }
}

uint32_t dtg_lower_widen(const struct dtg_lower_call *call, uint32_t input) {
  enum dtg_dtype from = call->input_types[input].dtype, to = dtg_compute_dtype(from);
  uint32_t value = call->values[input];
  return from == to ? value : cg_cast(call->builder, value, to);
}

uint32_t dtg_lower_narrow(const struct dtg_lower_call *call, uint32_t value) {
  enum dtg_dtype to = call->node->type.dtype;
  return dtg_compute_dtype(to) == to ? value : cg_cast(call->builder, value, to);
}

uint32_t dtg_lower_const(const struct dtg_lower_call *call, double value) {
  enum dtg_dtype dtype = dtg_compute_dtype(call->input_types[0].dtype);
  if (dtg_dtype_is_float(dtype))
    return cg_const_f(call->builder, dtype, value);
  return cg_const_i(call->builder, dtype, (int64_t)value);
}

uint32_t dtg_grad_input(const struct dtg_grad_call *call, uint32_t input) {
  return dtg_graph_node(call->graph, call->node)->inputs[input];
}

struct dtg_type dtg_grad_type(const struct dtg_grad_call *call, uint32_t node) {
  return dtg_graph_node(call->graph, node)->type;
}

uint32_t dtg_const_like(struct dtg_graph *graph, uint32_t like, double value) {
  struct dtg_type type = dtg_graph_node(graph, like)->type;
  return dtg_add_const(graph, value, type.dtype, &type.shape);
}

void dtg_cost_bytes(const struct dtg_node *node, const struct dtg_type *inputs, double *bytes) {
  *bytes = (double)dtg_type_bytes(&node->type);
  for (uint32_t i = 0; i < node->input_count; i++)
    *bytes += (double)dtg_type_bytes(&inputs[i]);
}

void dtg_cost_elementwise(const struct dtg_node *node, const struct dtg_type *inputs, double *flops,
                          double *bytes) {
  *flops = (double)dtg_shape_count(&node->type.shape);
  dtg_cost_bytes(node, inputs, bytes);
}

void dtg_cost_math(const struct dtg_node *node, const struct dtg_type *inputs, double *flops,
                   double *bytes) {
  dtg_cost_elementwise(node, inputs, flops, bytes);
  *flops *= 20; /* a polynomial of degree 6 to 10 and the range reduction */
}

void dtg_cost_move(const struct dtg_node *node, const struct dtg_type *inputs, double *flops,
                   double *bytes) {
  *flops = 0;
  dtg_cost_bytes(node, inputs, bytes);
}

void dtg_cost_reduce(const struct dtg_node *node, const struct dtg_type *inputs, double *flops,
                     double *bytes) {
  *flops = (double)dtg_shape_count(&inputs[0].shape);
  dtg_cost_bytes(node, inputs, bytes);
}
