// Built-in functions about types and shapes.
#include "compiler/build/functions.h"

#include <inttypes.h>
#include <string.h>

static struct dtg_value tensor(uint32_t node) {
  return dtg_build_tensor(node, false);
}

// ---- element types ----

static bool dtype_given(struct dtg_build *b, const struct dtg_build_given *given,
                        enum dtg_dtype *out) {
  if (!dtg_is_given(given))
    return true;
  if (given->value.kind != DTG_VALUE_DTYPE) {
    dtg_build_error(b, given->span, "an element type is expected here, such as f32, not %s",
                    dtg_value_kind_text(&given->value));
    return false;
  }
  *out = given->value.dtype;
  return true;
}

struct dtg_value dtg_function_cast(struct dtg_build *b, const char *name,
                                   const struct dtg_build_call *call) {
  DTG_ARGUMENTS(2, 2, "x", "dtype")
  enum dtg_dtype dtype = DTG_F32;
  uint32_t x;
  if (!dtype_given(b, &given[1], &dtype))
    return dtg_value_error();
  if (given[0].value.kind == DTG_VALUE_TENSOR)
    x = given[0].value.node;
  else if (!dtg_argument_tensor(b, name, &given[0], &x))
    return dtg_value_error();
  return tensor(dtg_add_cast(b->graph, x, dtype));
}

struct dtg_value dtg_function_dtype(struct dtg_build *b, const char *name,
                                    const struct dtg_build_call *call) {
  DTG_ARGUMENTS(1, 1, "x")
  uint32_t x;
  if (!dtg_argument_tensor(b, name, &given[0], &x))
    return dtg_value_error();
  return (struct dtg_value){.kind = DTG_VALUE_DTYPE, .dtype = dtg_build_type(b, x)->dtype};
}

// ---- shapes as values ----

struct dtg_value dtg_function_shape(struct dtg_build *b, const char *name,
                                    const struct dtg_build_call *call) {
  DTG_ARGUMENTS(1, 1, "x")
  uint32_t x;
  if (!dtg_argument_tensor(b, name, &given[0], &x))
    return dtg_value_error();
  const struct dtg_shape *shape = &dtg_build_type(b, x)->shape;
  struct dtg_value out = {.kind = DTG_VALUE_LIST, .list.count = shape->rank};
  out.list.items = DTG_NEW_ARRAY(&b->ctx->arena, struct dtg_value, shape->rank);
  for (uint32_t i = 0; i < shape->rank; i++)
    out.list.items[i] = dtg_value_int(shape->dims[i]);
  return out;
}

struct dtg_value dtg_function_dim(struct dtg_build *b, const char *name,
                                  const struct dtg_build_call *call) {
  DTG_ARGUMENTS(2, 2, "x", "axis")
  uint32_t x;
  int64_t axis;
  if (!dtg_argument_tensor(b, name, &given[0], &x) ||
      !dtg_argument_int(b, "axis", &given[1], &axis) ||
      !dtg_argument_axis(b, axis, dtg_build_type(b, x)->shape.rank, given[1].span, &axis))
    return dtg_value_error();
  return dtg_value_int(dtg_build_type(b, x)->shape.dims[axis]);
}

struct dtg_value dtg_function_rank(struct dtg_build *b, const char *name,
                                   const struct dtg_build_call *call) {
  DTG_ARGUMENTS(1, 1, "x")
  uint32_t x;
  if (!dtg_argument_tensor(b, name, &given[0], &x))
    return dtg_value_error();
  return dtg_value_int(dtg_build_type(b, x)->shape.rank);
}

struct dtg_value dtg_function_len(struct dtg_build *b, const char *name,
                                  const struct dtg_build_call *call) {
  DTG_ARGUMENTS(1, 1, "x")
  if (given[0].value.kind == DTG_VALUE_LIST)
    return dtg_value_int((int64_t)given[0].value.list.count);
  return dtg_build_fail(b, given[0].span, "`len` counts the elements of a list, not of %s",
                        dtg_value_kind_text(&given[0].value));
}

static struct dtg_value not_static(struct dtg_build *b, const char *name,
                                   const struct dtg_build_call *call) {
  struct dtg_diag *diag = dtg_build_error(
      b, call->span, "`%s` converts one number that is known at compile time", name);
  dtg_diag_hint(diag, "cast(x, f32) converts a tensor");
  return dtg_value_error();
}

struct dtg_value dtg_function_int(struct dtg_build *b, const char *name,
                                  const struct dtg_build_call *call) {
  return not_static(b, name, call);
}

struct dtg_value dtg_function_float(struct dtg_build *b, const char *name,
                                    const struct dtg_build_call *call) {
  return not_static(b, name, call);
}

// ---- new shapes ----

static bool shape_given(struct dtg_build *b, const struct dtg_build_given *given,
                        struct dtg_shape *out) {
  int64_t dims[DTG_MAX_RANK];
  uint32_t rank;
  if (!dtg_argument_ints(b, "shape", given, dims, &rank))
    return false;
  *out = dtg_shape_make(rank, dims);
  return true;
}

// Replaces a -1 by what the other dims leave.
static bool fill_dim(struct dtg_build *b, const struct dtg_type *from, struct dtg_shape *shape,
                     struct dtg_span span) {
  int64_t known = 1, total = dtg_shape_count(&from->shape);
  int missing = -1, count = 0;
  bool overflow = false;
  for (uint32_t i = 0; i < shape->rank; i++) {
    if (shape->dims[i] == -1) {
      missing = (int)i;
      count++;
    } else {
      overflow |= __builtin_mul_overflow(known, shape->dims[i], &known);
    }
  }
  if (count == 0 || overflow)
    return true; // whether it fits is the op's to say
  if (count > 1 || known < 1 || total % known != 0) {
    dtg_build_error(b, span,
                    count > 1 ? "only one dim can be -1"
                              : "no number in place of -1 gives the %" PRId64 " elements of %s",
                    total, dtg_build_type_text(b, from));
    return false;
  }
  shape->dims[missing] = total / known;
  return true;
}

struct dtg_value dtg_function_reshape(struct dtg_build *b, const char *name,
                                      const struct dtg_build_call *call) {
  DTG_ARGUMENTS(2, 2, "x", "shape")
  uint32_t x;
  struct dtg_shape shape;
  if (!dtg_argument_tensor(b, name, &given[0], &x) || !shape_given(b, &given[1], &shape))
    return dtg_value_error();
  const struct dtg_type from = *dtg_build_type(b, x);
  if (!fill_dim(b, &from, &shape, given[1].span))
    return dtg_value_error();
  if (dtg_shape_equal(&from.shape, &shape))
    return tensor(x);
  struct dtg_attr attr = dtg_attr_ints("shape", shape.rank, shape.dims);
  return dtg_build_add(b, "reshape", &x, 1, &attr, 1, call->span);
}

struct dtg_value dtg_function_broadcast_to(struct dtg_build *b, const char *name,
                                           const struct dtg_build_call *call) {
  DTG_ARGUMENTS(2, 2, "x", "shape")
  uint32_t x;
  struct dtg_shape shape;
  if (!dtg_argument_tensor(b, name, &given[0], &x) || !shape_given(b, &given[1], &shape))
    return dtg_value_error();
  struct dtg_attr attr = dtg_attr_ints("shape", shape.rank, shape.dims);
  return dtg_build_add(b, "broadcast_to", &x, 1, &attr, 1, call->span);
}

struct dtg_value dtg_function_transpose(struct dtg_build *b, const char *name,
                                        const struct dtg_build_call *call) {
  DTG_ARGUMENTS(2, 1, "x", "perm")
  uint32_t x, count;
  int64_t perm[DTG_MAX_RANK];
  if (!dtg_argument_tensor(b, name, &given[0], &x))
    return dtg_value_error();
  uint32_t rank = dtg_build_type(b, x)->shape.rank;
  count = rank;
  for (uint32_t i = 0; i < rank; i++)
    perm[i] = rank - 1 - i;
  if (dtg_is_given(&given[1])) {
    if (!dtg_argument_ints(b, "perm", &given[1], perm, &count))
      return dtg_value_error();
    for (uint32_t i = 0; i < count; i++) {
      if (!dtg_argument_axis(b, perm[i], rank, given[1].span, &perm[i]))
        return dtg_value_error();
    }
  }
  struct dtg_attr attr = dtg_attr_ints("perm", count, perm);
  return dtg_build_add(b, "transpose", &x, 1, &attr, 1, call->span);
}

struct dtg_value dtg_function_concat(struct dtg_build *b, const char *name,
                                     const struct dtg_build_call *call) {
  DTG_ARGUMENTS(2, 1, "tensors", "axis")
  int64_t axis = 0;
  const struct dtg_value *list = &given[0].value;
  if (list->kind != DTG_VALUE_LIST || list->list.count == 0)
    return dtg_build_fail(b, given[0].span, "`concat` joins a list of tensors");
  size_t count = list->list.count;
  uint32_t *nodes = DTG_NEW_ARRAY(&b->ctx->arena, uint32_t, count);
  for (size_t i = 0; i < count; i++) {
    struct dtg_build_given one = {list->list.items[i], given[0].span};
    if (!dtg_argument_tensor(b, name, &one, &nodes[i]))
      return dtg_value_error();
  }
  if ((dtg_is_given(&given[1]) && !dtg_argument_int(b, "axis", &given[1], &axis)) ||
      !dtg_argument_axis(b, axis, dtg_build_type(b, nodes[0])->shape.rank, call->span, &axis))
    return dtg_value_error();
  if (count == 1)
    return tensor(nodes[0]);
  struct dtg_attr attr = dtg_attr_int("axis", axis);
  return dtg_build_add(b, "concat", nodes, (uint32_t)count, &attr, 1, call->span);
}

// ---- made from nothing ----

struct dtg_value dtg_function_full(struct dtg_build *b, const char *name,
                                   const struct dtg_build_call *call) {
  DTG_ARGUMENTS(3, 2, "shape", "value", "dtype")
  struct dtg_shape shape;
  enum dtg_dtype dtype = DTG_F32;
  uint32_t value;
  if (!shape_given(b, &given[0], &shape) || !dtype_given(b, &given[2], &dtype) ||
      !dtg_argument_tensor(b, name, &given[1], &value))
    return dtg_value_error();
  value = dtg_add_cast(b->graph, value, dtype);
  struct dtg_attr attr = dtg_attr_ints("shape", shape.rank, shape.dims);
  return dtg_build_add(b, "broadcast_to", &value, 1, &attr, 1, call->span);
}

struct dtg_value dtg_function_iota(struct dtg_build *b, const char *name,
                                   const struct dtg_build_call *call) {
  DTG_ARGUMENTS(3, 1, "shape", "axis", "dtype")
  struct dtg_shape shape;
  enum dtg_dtype dtype = DTG_I32;
  int64_t axis = -1;
  if (!shape_given(b, &given[0], &shape) || !dtype_given(b, &given[2], &dtype) ||
      (dtg_is_given(&given[1]) && !dtg_argument_int(b, "axis", &given[1], &axis)) ||
      !dtg_argument_axis(b, axis, shape.rank, call->span, &axis))
    return dtg_value_error();
  struct dtg_attr attrs[] = {dtg_attr_int("axis", axis), dtg_attr_dtype("dtype", dtype),
                             dtg_attr_ints("shape", shape.rank, shape.dims)};
  return dtg_build_add(b, "iota", NULL, 0, attrs, 3, call->span);
}

// A number that the n-th random node of a path has in every build of the model (FNV-1a, 64 bits).
static int64_t random_stream(struct dtg_build *b) {
  const char *path = b->graph->path;
  size_t i = 0;
  while (i < b->random_count && b->random_paths[i].path != path)
    i++;
  if (i == b->random_count) {
    b->random_paths = dtg_vec_grow(&b->ctx->arena, b->random_paths, b->random_count, &b->random_cap,
                                   sizeof *b->random_paths);
    b->random_paths[b->random_count].path = path;
    b->random_paths[b->random_count++].count = 0;
  }
  uint64_t hash = UINT64_C(0xcbf29ce484222325);
  for (const char *c = path; *c; c++)
    hash = (hash ^ (unsigned char)*c) * UINT64_C(0x100000001b3);
  hash = (hash ^ b->random_paths[i].count++) * UINT64_C(0x100000001b3);
  return (int64_t)(hash >> 1);
}

struct dtg_value dtg_function_random(struct dtg_build *b, const char *name,
                                     const struct dtg_build_call *call) {
  DTG_ARGUMENTS(2, 1, "shape", "distribution")
  static const char *const scalars[] = {"seed", "step", "shard"};
  struct dtg_shape shape;
  uint32_t inputs[3];
  const char *distribution = "uniform";
  if (!shape_given(b, &given[0], &shape))
    return dtg_value_error();
  if (dtg_is_given(&given[1]) && given[1].value.kind != DTG_VALUE_STRING)
    return dtg_build_fail(b, given[1].span, "`distribution` is \"uniform\" or \"normal\"");
  if (dtg_is_given(&given[1]))
    distribution = given[1].value.s;
  for (int i = 0; i < 3; i++) {
    struct dtg_attr scalar = dtg_attr_string("name", scalars[i]);
    inputs[i] = dtg_add(b->graph, "scalar", NULL, 0, &scalar, 1);
  }
  struct dtg_attr attrs[] = {dtg_attr_string("distribution", distribution),
                             dtg_attr_ints("shape", shape.rank, shape.dims),
                             dtg_attr_int("stream", random_stream(b))};
  return dtg_build_add(b, "random", inputs, 3, attrs, 3, call->span);
}

// ---- products ----

struct dtg_value dtg_function_matmul(struct dtg_build *b, const char *name,
                                     const struct dtg_build_call *call) {
  DTG_ARGUMENTS(2, 2, "a", "b")
  return dtg_build_matmul(b, &given[0].value, &given[1].value, call->span);
}
