// Reductions, over axes in a model and over whole tensors in an optimizer.
#include "compiler/build/functions.h"

#include <inttypes.h>
#include <string.h>

static bool is_given(const struct dtg_build_given *given) {
  return given->value.kind != DTG_VALUE_ERROR;
}

struct reduction {
  uint32_t x;
  uint32_t axis_count;
  int64_t axes[DTG_MAX_RANK];
  bool keepdims;
  bool whole; // no axes were given
};

static bool read_axes(struct dtg_build *b, const struct dtg_build_given *given,
                      struct reduction *out) {
  uint32_t rank = dtg_build_type(b, out->x)->shape.rank;
  out->whole = !is_given(given);
  if (out->whole) {
    out->axis_count = rank;
    for (uint32_t i = 0; i < rank; i++)
      out->axes[i] = i;
    return true;
  }
  if (!dtg_argument_ints(b, "axes", given, out->axes, &out->axis_count))
    return false;
  for (uint32_t i = 0; i < out->axis_count; i++) {
    if (!dtg_argument_axis(b, out->axes[i], rank, given->span, &out->axes[i]))
      return false;
    for (uint32_t j = 0; j < i; j++) {
      if (out->axes[j] == out->axes[i]) {
        dtg_build_error(b, given->span, "axis %" PRId64 " is named twice", out->axes[i]);
        return false;
      }
    }
  }
  return true;
}

// Arguments x, axes (or axis), keepdims.
static bool read_reduction(struct dtg_build *b, const char *name, const struct dtg_build_call *call,
                           struct reduction *out) {
  static const char *const names[] = {"x", "axes", "keepdims", "axis"};
  struct dtg_build_given given[4] = {0};
  *out = (struct reduction){0};
  if (!dtg_arguments_read(b, name, call, names, 1, 4, given))
    return false;
  if (is_given(&given[1]) && is_given(&given[3])) {
    dtg_build_error(b, given[3].span, "`axis` and `axes` mean the same: give one of them");
    return false;
  }
  if (is_given(&given[2]) && given[2].value.kind != DTG_VALUE_BOOL) {
    dtg_build_error(b, given[2].span, "`keepdims` must be true or false");
    return false;
  }
  out->keepdims = is_given(&given[2]) && given[2].value.b;
  return dtg_argument_tensor(b, name, &given[0], &out->x) &&
         read_axes(b, is_given(&given[1]) ? &given[1] : &given[3], out);
}

static struct dtg_value reduce(struct dtg_build *b, const char *op, const struct reduction *r,
                               struct dtg_span span) {
  int64_t sorted[DTG_MAX_RANK];
  uint32_t count = 0;
  for (int64_t axis = 0; axis < DTG_MAX_RANK; axis++) {
    for (uint32_t i = 0; i < r->axis_count; i++) {
      if (r->axes[i] == axis)
        sorted[count++] = axis;
    }
  }
  if (count == 0)
    return dtg_build_tensor(r->x, false);
  struct dtg_attr attrs[] = {dtg_attr_ints("axes", count, sorted),
                             dtg_attr_bool("keepdims", r->keepdims)};
  return dtg_build_add(b, op, &r->x, 1, attrs, r->keepdims ? 2 : 1, span);
}

static bool check_whole(struct dtg_build *b, const struct reduction *r, const char *name,
                        struct dtg_span span) {
  if (r->whole && !r->keepdims && dtg_build_type(b, r->x)->dtype == DTG_F32)
    return true;
  dtg_build_error(b, span, "in an optimizer `%s` is over the whole f32 tensor: it takes no axes",
                  name);
  return false;
}

// In an optimizer: by blocks and the fixed tree, whose result does not depend on how a tensor is
// cut.
static struct dtg_value whole_sum(struct dtg_build *b, const struct reduction *r, const char *name,
                                  struct dtg_span span) {
  return check_whole(b, r, name, span) ? dtg_build_tensor(dtg_add_whole_sum(b->graph, r->x), false)
                                       : dtg_value_error();
}

// Sums and means of bool count: they are f32.
static void count_bools(struct dtg_build *b, struct reduction *r) {
  if (dtg_build_type(b, r->x)->dtype == DTG_BOOL)
    r->x = dtg_add_cast(b->graph, r->x, DTG_F32);
}

struct dtg_value dtg_function_sum(struct dtg_build *b, const char *name,
                                  const struct dtg_build_call *call) {
  struct reduction r;
  if (!read_reduction(b, name, call, &r))
    return dtg_value_error();
  count_bools(b, &r);
  return b->updating ? whole_sum(b, &r, name, call->span) : reduce(b, "sum", &r, call->span);
}

struct dtg_value dtg_function_mean(struct dtg_build *b, const char *name,
                                   const struct dtg_build_call *call) {
  struct reduction r;
  if (!read_reduction(b, name, call, &r))
    return dtg_value_error();
  count_bools(b, &r);
  const struct dtg_type type = *dtg_build_type(b, r.x);
  if (!dtg_dtype_is_float(type.dtype)) {
    struct dtg_diag *diag = dtg_build_error(b, call->span, "the mean of %s is not an integer",
                                            dtg_build_type_text(b, &type));
    dtg_build_note(b, diag, r.x);
    dtg_diag_hint(diag, "convert first: mean(cast(..., f32))");
    return dtg_value_error();
  }
  int64_t count = 1;
  for (uint32_t i = 0; i < r.axis_count; i++)
    count *= type.shape.dims[r.axes[i]];
  struct dtg_value sum =
      b->updating ? whole_sum(b, &r, name, call->span) : reduce(b, "sum", &r, call->span);
  struct dtg_value scale = dtg_value_float(1.0 / (double)count);
  if (sum.kind == DTG_VALUE_ERROR || count == 1)
    return sum;
  return dtg_build_binary(b, DTG_BINARY_MUL, &sum, &scale, call->span);
}

static struct dtg_value simple(struct dtg_build *b, const char *name,
                               const struct dtg_build_call *call) {
  struct reduction r;
  if (!read_reduction(b, name, call, &r))
    return dtg_value_error();
  return reduce(b, name, &r, call->span);
}

struct dtg_value dtg_function_max(struct dtg_build *b, const char *name,
                                  const struct dtg_build_call *call) {
  return simple(b, name, call);
}

struct dtg_value dtg_function_min(struct dtg_build *b, const char *name,
                                  const struct dtg_build_call *call) {
  return simple(b, name, call);
}

struct dtg_value dtg_function_prod(struct dtg_build *b, const char *name,
                                   const struct dtg_build_call *call) {
  return simple(b, name, call);
}

// The index along one axis, the last if none is given.
static struct dtg_value arg_extreme(struct dtg_build *b, const char *name,
                                    const struct dtg_build_call *call) {
  static const char *const names[] = {"x", "axis", "keepdims"};
  struct dtg_build_given given[3] = {0};
  uint32_t x;
  int64_t axis = -1;
  if (!dtg_arguments_read(b, name, call, names, 1, 3, given) ||
      !dtg_argument_tensor(b, name, &given[0], &x) ||
      (is_given(&given[1]) && !dtg_argument_int(b, "axis", &given[1], &axis)) ||
      !dtg_argument_axis(b, axis, dtg_build_type(b, x)->shape.rank, call->span, &axis))
    return dtg_value_error();
  bool keepdims = given[2].value.kind == DTG_VALUE_BOOL && given[2].value.b;
  struct dtg_attr attrs[] = {dtg_attr_int("axis", axis), dtg_attr_bool("keepdims", keepdims)};
  return dtg_build_add(b, name, &x, 1, attrs, keepdims ? 2 : 1, call->span);
}

struct dtg_value dtg_function_argmax(struct dtg_build *b, const char *name,
                                     const struct dtg_build_call *call) {
  return arg_extreme(b, name, call);
}

struct dtg_value dtg_function_argmin(struct dtg_build *b, const char *name,
                                     const struct dtg_build_call *call) {
  return arg_extreme(b, name, call);
}

// The number of elements that a reduction over these axes puts together.
struct dtg_value dtg_function_count(struct dtg_build *b, const char *name,
                                    const struct dtg_build_call *call) {
  struct reduction r;
  if (!read_reduction(b, name, call, &r))
    return dtg_value_error();
  int64_t count = 1;
  for (uint32_t i = 0; i < r.axis_count; i++)
    count *= dtg_build_type(b, r.x)->shape.dims[r.axes[i]];
  return dtg_value_int(count);
}

// ---- norms ----

static uint32_t sum_of_squares(struct dtg_build *b, uint32_t x) {
  return dtg_add_whole_sum(b->graph, dtg_add_unary(b->graph, "square", x));
}

// sqrt of the sum of all squares.
struct dtg_value dtg_function_norm(struct dtg_build *b, const char *name,
                                   const struct dtg_build_call *call) {
  struct reduction r;
  if (!read_reduction(b, name, call, &r))
    return dtg_value_error();
  if (b->updating) {
    if (!check_whole(b, &r, name, call->span))
      return dtg_value_error();
    return dtg_build_tensor(dtg_add_unary(b->graph, "sqrt", sum_of_squares(b, r.x)), false);
  }
  struct dtg_value x = dtg_build_tensor(r.x, false);
  x = dtg_build_elementwise(b, dtg_op_find("square"), &x, 1, NULL, 0, call->span);
  if (x.kind == DTG_VALUE_ERROR)
    return x;
  r.x = x.node;
  x = reduce(b, "sum", &r, call->span);
  if (x.kind == DTG_VALUE_ERROR)
    return x;
  return dtg_build_elementwise(b, dtg_op_find("sqrt"), &x, 1, NULL, 0, call->span);
}

// The fixed tree of semantics.md, section 2: split at the largest power of two below the count.
static uint32_t tree(struct dtg_build *b, const uint32_t *nodes, uint32_t count) {
  uint32_t half = 1;
  if (count == 1)
    return nodes[0];
  while (half * 2 < count)
    half *= 2;
  uint32_t left = tree(b, nodes, half), right = tree(b, nodes + half, count - half);
  return dtg_add_binary(b->graph, "add", left, right);
}

static uint32_t make_global_norm(struct dtg_build *b) {
  uint32_t *sums = DTG_NEW_ARRAY(&b->ctx->arena, uint32_t, b->param_count);
  for (uint32_t i = 0; i < b->param_count; i++)
    sums[i] = sum_of_squares(b, b->gradients[i]);
  return dtg_add_unary(b->graph, "sqrt", tree(b, sums, b->param_count));
}

// global_norm(gradient): of all gradients together, before anything was done to them.
struct dtg_value dtg_function_global_norm(struct dtg_build *b, const char *name,
                                          const struct dtg_build_call *call) {
  static const char *const names[] = {"gradient"};
  struct dtg_build_given given[1] = {0};
  if (!dtg_arguments_read(b, name, call, names, 1, 1, given))
    return dtg_value_error();
  if (!b->updating)
    return dtg_build_fail(b, call->span, "`global_norm` is for the key `gradient` of `train` only");
  if (given[0].value.kind != DTG_VALUE_TENSOR || given[0].value.node != b->gradient)
    return dtg_build_fail(b, given[0].span, "`global_norm` takes the gradient itself");
  if (b->global_norm == DTG_NO_NODE) {
    const char *outer = b->graph->path;
    b->graph->path = dtg_intern_z(&b->ctx->names, "");
    b->global_norm = make_global_norm(b);
    b->graph->path = outer;
  }
  return dtg_build_tensor(b->global_norm, false);
}
