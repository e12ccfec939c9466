// Subscripts: x[i, a:b, a:b:s, ...].
#include "compiler/build/internal.h"

#include <inttypes.h>

struct cut {
  int64_t start[DTG_MAX_RANK], stop[DTG_MAX_RANK], step[DTG_MAX_RANK];
  bool dropped[DTG_MAX_RANK];
  bool moving[DTG_MAX_RANK]; // the position is that of a scan's iteration
  uint32_t at[DTG_MAX_RANK]; // moving: i64[]
};

static bool out_of_axis(struct dtg_build *b, struct dtg_span span, int64_t bound, uint32_t axis,
                        int64_t size) {
  dtg_build_error(b, span, "%" PRId64 " is outside axis %" PRIu32 ", whose size is %" PRId64, bound,
                  axis, size);
  return false;
}

// A bound from 0 to `most`, negative ones counted from the end.
static bool read_bound(struct dtg_build *b, struct dtg_build_env *env,
                       const struct dtg_ast_expr *expr, int64_t size, int64_t most, uint32_t axis,
                       int64_t *out) {
  int64_t bound;
  if (!dtg_build_int(b, env, expr, "a subscript", &bound))
    return false;
  if (bound < -size || bound > most)
    return out_of_axis(b, expr->span, bound, axis, size);
  *out = bound < 0 ? bound + size : bound;
  return true;
}

static bool read_slice(struct dtg_build *b, struct dtg_build_env *env,
                       const struct dtg_ast_subscript_part *part, int64_t size, uint32_t axis,
                       struct cut *cut) {
  if (part->begin && !read_bound(b, env, part->begin, size, size, axis, &cut->start[axis]))
    return false;
  if (part->end && !read_bound(b, env, part->end, size, size, axis, &cut->stop[axis]))
    return false;
  if (part->stride && !dtg_build_int(b, env, part->stride, "a stride", &cut->step[axis]))
    return false;
  if (cut->step[axis] >= 1 && cut->start[axis] < cut->stop[axis])
    return true;
  struct dtg_diag *diag =
      dtg_build_error(b, part->span, "%s",
                      cut->step[axis] < 1 ? "a stride must be at least 1" : "this slice is empty");
  if (cut->step[axis] < 1)
    dtg_diag_hint(diag, "reverse(x, axes = [%" PRIu32 "]) turns an axis around", axis);
  return false;
}

static bool read_part(struct dtg_build *b, struct dtg_build_env *env,
                      const struct dtg_ast_subscript_part *part, const struct dtg_shape *shape,
                      uint32_t axis, struct cut *cut) {
  int64_t size = shape->dims[axis];
  if (part->kind == DTG_SUBSCRIPT_SLICE)
    return read_slice(b, env, part, size, axis, cut);
  struct dtg_value value = b->scan ? dtg_build_eval(b, env, part->index) : dtg_value_error();
  if (value.kind == DTG_VALUE_TENSOR) {
    cut->moving[axis] = true;
    return dtg_build_scan_subscript(b, value.node, axis, size, part->span, &cut->at[axis]);
  }
  if (!read_bound(b, env, part->index, size, size - 1, axis, &cut->start[axis]))
    return false;
  cut->stop[axis] = cut->start[axis] + 1;
  cut->dropped[axis] = true;
  return true;
}

static bool read_parts(struct dtg_build *b, struct dtg_build_env *env,
                       const struct dtg_ast_expr *expr, const struct dtg_shape *shape,
                       struct cut *cut) {
  size_t count = expr->subscript.parts.len, dots = 0;
  for (size_t i = 0; i < count; i++)
    dots += expr->subscript.parts.data[i].kind == DTG_SUBSCRIPT_ELLIPSIS;
  if (dots > 1 || count - dots > shape->rank) {
    dtg_build_error(b, expr->span,
                    dots > 1 ? "`...` may stand once in a subscript"
                             : "%zu subscripts, but the tensor has %" PRIu32 " axes",
                    count - dots, shape->rank);
    return false;
  }
  uint32_t axis = 0;
  for (size_t i = 0; i < count; i++) {
    const struct dtg_ast_subscript_part *part = &expr->subscript.parts.data[i];
    if (part->kind == DTG_SUBSCRIPT_ELLIPSIS)
      axis = shape->rank - (uint32_t)(count - 1 - i);
    else if (!read_part(b, env, part, shape, axis++, cut))
      return false;
  }
  return true;
}

// The entry of the iteration along each axis that moves; the last first, so that axes keep their
// numbers.
static struct dtg_value pick_moving(struct dtg_build *b, struct dtg_value x, const struct cut *cut,
                                    uint32_t rank, struct dtg_span span) {
  uint32_t axis = dtg_build_type(b, x.node)->shape.rank;
  for (uint32_t i = rank; i-- > 0 && x.kind != DTG_VALUE_ERROR;) {
    axis -= !cut->dropped[i];
    if (!cut->moving[i])
      continue;
    struct dtg_attr attr = dtg_attr_int("axis", axis);
    x = dtg_build_add(b, "gather", (uint32_t[]){x.node, cut->at[i]}, 2, &attr, 1, span);
  }
  return x;
}

static struct dtg_value cut_tensor(struct dtg_build *b, uint32_t x, const struct cut *cut,
                                   struct dtg_span span) {
  const struct dtg_shape shape = dtg_build_type(b, x)->shape;
  struct dtg_shape kept = {0};
  bool whole = true;
  for (uint32_t i = 0; i < shape.rank; i++) {
    whole = whole && cut->start[i] == 0 && cut->stop[i] == shape.dims[i] && cut->step[i] == 1;
    if (!cut->dropped[i])
      kept.dims[kept.rank++] = (cut->stop[i] - cut->start[i] + cut->step[i] - 1) / cut->step[i];
  }
  struct dtg_attr attrs[] = {dtg_attr_ints("start", shape.rank, cut->start),
                             dtg_attr_ints("step", shape.rank, cut->step),
                             dtg_attr_ints("stop", shape.rank, cut->stop)};
  struct dtg_value out =
      whole ? dtg_build_tensor(x, false) : dtg_build_add(b, "slice", &x, 1, attrs, 3, span);
  if (out.kind == DTG_VALUE_ERROR)
    return out;
  out.node = dtg_add_reshape(b->graph, out.node, &kept);
  return pick_moving(b, out, cut, shape.rank, span);
}

static struct dtg_value list_element(struct dtg_build *b, struct dtg_build_env *env,
                                     const struct dtg_ast_expr *expr,
                                     const struct dtg_value *list) {
  const struct dtg_ast_subscript_part *part = &expr->subscript.parts.data[0];
  if (expr->subscript.parts.len != 1 || part->kind != DTG_SUBSCRIPT_INDEX)
    return dtg_build_fail(b, expr->span, "a list takes one index");
  struct dtg_value index = dtg_build_eval(b, env, part->index);
  return dtg_value_index(b->ctx, list, &index, expr->span);
}

struct dtg_value dtg_build_subscript(struct dtg_build *b, struct dtg_build_env *env,
                                     const struct dtg_ast_expr *expr) {
  struct dtg_value object = dtg_build_eval(b, env, expr->subscript.object);
  if (object.kind == DTG_VALUE_ERROR)
    return object;
  if (object.kind == DTG_VALUE_LIST)
    return list_element(b, env, expr, &object);
  if (object.kind != DTG_VALUE_TENSOR)
    return dtg_build_fail(b, expr->span, "%s has no elements", dtg_value_kind_text(&object));
  const struct dtg_shape shape = dtg_build_type(b, object.node)->shape;
  struct cut cut = {0};
  for (uint32_t i = 0; i < shape.rank; i++) {
    cut.stop[i] = shape.dims[i];
    cut.step[i] = 1;
  }
  if (!read_parts(b, env, expr, &shape, &cut))
    return dtg_value_error();
  b->graph->span = expr->span;
  return cut_tensor(b, object.node, &cut, expr->span);
}
