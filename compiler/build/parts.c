// Built-in functions that take parts of a tensor: by index and by size.
#include "compiler/build/functions.h"

#include <inttypes.h>
#include <string.h>

// ---- by index ----

struct dtg_value dtg_function_gather(struct dtg_build *b, const char *name,
                                     const struct dtg_build_call *call) {
  DTG_ARGUMENTS(3, 2, "x", "indices", "axis")
  uint32_t nodes[2];
  int64_t axis = 0;
  if (!dtg_argument_tensor(b, name, &given[0], &nodes[0]) ||
      !dtg_argument_tensor(b, name, &given[1], &nodes[1]) ||
      (dtg_is_given(&given[2]) && !dtg_argument_int(b, "axis", &given[2], &axis)) ||
      !dtg_argument_axis(b, axis, dtg_build_type(b, nodes[0])->shape.rank, call->span, &axis))
    return dtg_value_error();
  struct dtg_attr attr = dtg_attr_int("axis", axis);
  return dtg_build_add(b, "gather", nodes, 2, &attr, 1, call->span);
}

struct dtg_value dtg_function_check_range(struct dtg_build *b, const char *name,
                                          const struct dtg_build_call *call) {
  DTG_ARGUMENTS(3, 2, "x", "limit", "what")
  uint32_t x;
  int64_t limit;
  const char *what = "index";
  if (!dtg_argument_tensor(b, name, &given[0], &x) ||
      !dtg_argument_int(b, "limit", &given[1], &limit))
    return dtg_value_error();
  if (dtg_is_given(&given[2]) && given[2].value.kind != DTG_VALUE_STRING)
    return dtg_build_fail(b, given[2].span, "`what` must be a string");
  if (dtg_is_given(&given[2]))
    what = given[2].value.s;
  struct dtg_attr attrs[] = {dtg_attr_int("limit", limit), dtg_attr_string("what", what)};
  return dtg_build_add(b, "check_range", &x, 1, attrs, 2, call->span);
}

// The operand with its axes in front of and behind `axis` as one each.
static uint32_t around_axis(struct dtg_build *b, uint32_t x, int64_t axis) {
  const struct dtg_shape shape = dtg_build_type(b, x)->shape;
  struct dtg_shape three = {.rank = 3, .dims = {1, shape.dims[axis], 1}};
  for (uint32_t i = 0; i < shape.rank; i++) {
    if (i != axis)
      three.dims[i < axis ? 0 : 2] *= shape.dims[i];
  }
  return dtg_add_reshape(b->graph, x, &three);
}

static uint32_t iota_of(struct dtg_build *b, const struct dtg_shape *shape, int64_t axis) {
  struct dtg_attr attrs[] = {dtg_attr_int("axis", axis), dtg_attr_dtype("dtype", DTG_I64),
                             dtg_attr_ints("shape", shape->rank, shape->dims)};
  return dtg_add(b->graph, "iota", NULL, 0, attrs, 3);
}

static uint32_t times(struct dtg_build *b, uint32_t x, int64_t factor) {
  const struct dtg_type type = *dtg_build_type(b, x);
  return dtg_add_binary(b->graph, "mul", x,
                        dtg_add_const(b->graph, (double)factor, type.dtype, &type.shape));
}

// Where each picked element lies in the flat table of [outer, size, inner]; -1 for an index out of
// range, which would be one of another row otherwise.
static uint32_t flat_places(struct dtg_build *b, uint32_t index, int64_t size) {
  struct dtg_graph *graph = b->graph;
  const struct dtg_shape shape = dtg_build_type(b, index)->shape;
  uint32_t row = dtg_add_binary(graph, "add", times(b, iota_of(b, &shape, 0), size), index);
  uint32_t place =
      dtg_add_binary(graph, "add", times(b, row, shape.dims[2]), iota_of(b, &shape, 2));
  uint32_t none = dtg_add_const(graph, -1, DTG_I64, &shape);
  uint32_t above = dtg_add_binary(graph, "gt", index, none);
  uint32_t below =
      dtg_add_binary(graph, "lt", index, dtg_add_const(graph, (double)size, DTG_I64, &shape));
  uint32_t inside = dtg_add_binary(graph, "and", above, below);
  return dtg_add(graph, "where", (uint32_t[]){inside, place, none}, 3, NULL, 0);
}

static bool same_but_for(struct dtg_build *b, uint32_t x, uint32_t index, int64_t axis,
                         struct dtg_span span) {
  const struct dtg_shape *from = &dtg_build_type(b, x)->shape;
  const struct dtg_type *type = dtg_build_type(b, index);
  bool whole = type->dtype == DTG_I32 || type->dtype == DTG_I64 || type->dtype == DTG_U8;
  bool same = whole && from->rank == type->shape.rank;
  for (uint32_t i = 0; i < from->rank && same; i++)
    same = i == axis || from->dims[i] == type->shape.dims[i];
  if (same)
    return true;
  struct dtg_diag *diag = dtg_build_error(
      b, span,
      "the indices of `take_along_axis` are integers with the shape of x but for axis %" PRId64
      ": %s does not fit %s",
      axis, dtg_build_type_text(b, type), dtg_build_node_text(b, x));
  dtg_build_note(b, diag, x);
  dtg_build_note(b, diag, index);
  return false;
}

struct dtg_value dtg_function_take_along_axis(struct dtg_build *b, const char *name,
                                              const struct dtg_build_call *call) {
  DTG_ARGUMENTS(3, 2, "x", "indices", "axis")
  uint32_t x, index;
  int64_t axis = -1;
  if (!dtg_argument_tensor(b, name, &given[0], &x) ||
      !dtg_argument_tensor(b, name, &given[1], &index) ||
      (dtg_is_given(&given[2]) && !dtg_argument_int(b, "axis", &given[2], &axis)) ||
      !dtg_argument_axis(b, axis, dtg_build_type(b, x)->shape.rank, call->span, &axis) ||
      !same_but_for(b, x, index, axis, call->span))
    return dtg_value_error();
  const struct dtg_shape from = dtg_build_type(b, x)->shape, to = dtg_build_type(b, index)->shape;
  struct dtg_shape flat = dtg_shape_make(1, (int64_t[]){dtg_shape_count(&from)});
  index = dtg_add_cast(b->graph, around_axis(b, index, axis), DTG_I64);
  uint32_t nodes[] = {dtg_add_reshape(b->graph, x, &flat), flat_places(b, index, from.dims[axis])};
  struct dtg_attr attr = dtg_attr_int("axis", 0);
  uint32_t picked = dtg_add(b->graph, "gather", nodes, 2, &attr, 1);
  return dtg_build_tensor(dtg_add_reshape(b->graph, picked, &to), false);
}

// ---- by size ----

static struct dtg_value part_of(struct dtg_build *b, uint32_t x, int64_t axis, int64_t first,
                                int64_t size) {
  int64_t start[DTG_MAX_RANK] = {0}, step[DTG_MAX_RANK];
  struct dtg_shape stop = dtg_build_type(b, x)->shape;
  for (uint32_t i = 0; i < stop.rank; i++)
    step[i] = 1;
  start[axis] = first;
  stop.dims[axis] = first + size;
  struct dtg_attr attrs[] = {dtg_attr_ints("start", stop.rank, start),
                             dtg_attr_ints("step", stop.rank, step),
                             dtg_attr_ints("stop", stop.rank, stop.dims)};
  return dtg_build_tensor(dtg_add(b->graph, "slice", &x, 1, attrs, 3), false);
}

// The sizes of the parts: ints of at least 1 that make up the axis.
static bool sizes_fit(struct dtg_build *b, const struct dtg_build_given *given, uint32_t x,
                      int64_t axis) {
  const struct dtg_value *list = &given->value;
  int64_t whole = dtg_build_type(b, x)->shape.dims[axis], sum = 0;
  bool good = list->kind == DTG_VALUE_LIST && list->list.count > 0;
  for (size_t i = 0; good && i < list->list.count; i++)
    good = list->list.items[i].kind == DTG_VALUE_INT && list->list.items[i].i >= 1 &&
           !__builtin_add_overflow(sum, list->list.items[i].i, &sum);
  if (good && sum == whole)
    return true;
  struct dtg_diag *diag;
  if (good)
    diag = dtg_build_error(b, given->span,
                           "the sizes of `split` add up to %" PRId64 ", but axis %" PRId64
                           " of %s has %" PRId64 " elements",
                           sum, axis, dtg_build_node_text(b, x), whole);
  else
    diag = dtg_build_error(b, given->span, "the sizes of `split` are a list of ints of at least 1");
  dtg_build_note(b, diag, x);
  return false;
}

struct dtg_value dtg_function_split(struct dtg_build *b, const char *name,
                                    const struct dtg_build_call *call) {
  DTG_ARGUMENTS(3, 2, "x", "sizes", "axis")
  uint32_t x;
  int64_t axis = 0, first = 0;
  if (!dtg_argument_tensor(b, name, &given[0], &x) ||
      (dtg_is_given(&given[2]) && !dtg_argument_int(b, "axis", &given[2], &axis)) ||
      !dtg_argument_axis(b, axis, dtg_build_type(b, x)->shape.rank, call->span, &axis) ||
      !sizes_fit(b, &given[1], x, axis))
    return dtg_value_error();
  const struct dtg_value *sizes = &given[1].value;
  struct dtg_value out = {.kind = DTG_VALUE_LIST, .list.count = sizes->list.count};
  out.list.items = DTG_NEW_ARRAY(&b->ctx->arena, struct dtg_value, out.list.count);
  for (size_t i = 0; i < out.list.count; i++) {
    out.list.items[i] = part_of(b, x, axis, first, sizes->list.items[i].i);
    first += sizes->list.items[i].i;
  }
  return out;
}
