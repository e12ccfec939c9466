#include "random_graph.h"

#include <stdio.h>

struct maker {
  struct dtg_ctx *ctx;
  struct dtg_graph *graph;
  uint64_t state;
  bool smooth;
  int inputs;
  DTG_VEC(uint32_t) values; /* f32 nodes */
};

static uint32_t below(struct maker *it, uint32_t limit) {
  it->state = it->state * 6364136223846793005u + 1442695040888963407u;
  return (uint32_t)(it->state >> 33) % limit;
}

static const struct dtg_node *node_of(const struct maker *it, uint32_t id) {
  return dtg_graph_node(it->graph, id);
}

static uint32_t new_input(struct maker *it, enum dtg_dtype dtype, struct dtg_shape shape) {
  char name[16];
  snprintf(name, sizeof name, "x%d", it->inputs++);
  return dtg_add_leaf(it->graph, "input", name, (struct dtg_type){dtype, shape});
}

static struct dtg_shape any_shape(struct maker *it) {
  static const int64_t dims[] = {1, 2, 3, 4, 6};
  struct dtg_shape shape = {.rank = below(it, 4)};
  for (uint32_t i = 0; i < shape.rank; i++)
    shape.dims[i] = dims[below(it, 5)];
  return shape;
}

static uint32_t pick(struct maker *it) {
  uint32_t count = (uint32_t)it->values.len;
  uint32_t recent = count < 6 ? count : 6;
  if (below(it, 3) != 0) /* chains are longer than a uniform choice would make them */
    return it->values.data[count - 1 - below(it, recent)];
  return it->values.data[below(it, count)];
}

/* A value of this shape: an earlier one that broadcasts to it, else an input. */
static uint32_t of_shape(struct maker *it, const struct dtg_shape *shape) {
  for (int tries = 0; tries < 6; tries++) {
    uint32_t x = pick(it);
    struct dtg_shape joined, own = node_of(it, x)->type.shape;
    if (dtg_shape_broadcast(&own, shape, &joined) && dtg_shape_equal(&joined, shape))
      return dtg_add_broadcast(it->graph, x, shape);
  }
  return new_input(it, DTG_F32, *shape);
}

/* Keeps values within [-1, 1], for growing chains. */
static uint32_t tame(struct maker *it, uint32_t x) {
  return dtg_add_unary(it->graph, "tanh", x);
}

static uint32_t make_unary(struct maker *it, uint32_t x) {
  static const char *const ops[] = {"neg",    "abs", "tanh", "sigmoid",      "relu",
                                    "square", "sin", "erf",  "stop_gradient"};
  uint32_t choice = below(it, 11);
  if (choice == 9)
    return dtg_add_unary(it->graph, "exp", tame(it, x));
  if (choice == 10)
    return dtg_add_unary(it->graph, "sqrt", dtg_add_unary(it->graph, "abs", x));
  return dtg_add_unary(it->graph, ops[choice], x);
}

static uint32_t make_binary(struct maker *it, uint32_t x) {
  static const char *const ops[] = {"add", "sub", "mul", "maximum", "minimum"};
  struct dtg_shape shape = node_of(it, x)->type.shape;
  return dtg_add_binary(it->graph, ops[below(it, 5)], x, of_shape(it, &shape));
}

static uint32_t make_const(struct maker *it, uint32_t x) {
  static const double values[] = {0, 1, -1, 0.5, 2};
  static const char *const ops[] = {"add", "mul", "sub"};
  struct dtg_shape shape = node_of(it, x)->type.shape;
  uint32_t c = dtg_add_const(it->graph, values[below(it, 5)], DTG_F32, &shape);
  return dtg_add_binary(it->graph, ops[below(it, 3)], x, c);
}

static uint32_t make_reduce(struct maker *it, uint32_t x) {
  static const char *const ops[] = {"sum", "max", "min"};
  struct dtg_shape shape = node_of(it, x)->type.shape;
  int64_t axes[DTG_MAX_RANK];
  uint32_t count = 0;
  for (uint32_t i = 0; i < shape.rank; i++) {
    if (below(it, 2) == 0)
      axes[count++] = i;
  }
  uint32_t reduced =
      dtg_add_reduce(it->graph, ops[below(it, 3)], x, count, axes, below(it, 2) == 0);
  return below(it, 2) ? tame(it, reduced) : reduced;
}

/* Softmax, or a normalisation, along the last axis. */
static uint32_t make_rows(struct maker *it, uint32_t x) {
  struct dtg_shape shape = node_of(it, x)->type.shape;
  if (shape.rank == 0)
    return x;
  int64_t axis = shape.rank - 1;
  uint32_t max = dtg_add_reduce(it->graph, below(it, 2) ? "max" : "sum", x, 1, &axis, true);
  uint32_t shifted = dtg_add_binary(it->graph, "sub", x, dtg_add_broadcast(it->graph, max, &shape));
  uint32_t e = dtg_add_unary(it->graph, "exp", tame(it, shifted));
  uint32_t sum = dtg_add_reduce(it->graph, "sum", e, 1, &axis, true);
  if (below(it, 2))
    dtg_vec_push(&it->ctx->arena, &it->values, dtg_add_unary(it->graph, "log", sum));
  return dtg_add_binary(it->graph, "div", e, dtg_add_broadcast(it->graph, sum, &shape));
}

static uint32_t make_transpose(struct maker *it, uint32_t x) {
  uint32_t rank = node_of(it, x)->type.shape.rank;
  int64_t perm[DTG_MAX_RANK];
  for (uint32_t i = 0; i < rank; i++)
    perm[i] = i;
  for (uint32_t i = rank; i > 1; i--) {
    uint32_t k = below(it, i);
    int64_t kept = perm[i - 1];
    perm[i - 1] = perm[k];
    perm[k] = kept;
  }
  struct dtg_attr attr = dtg_attr_ints("perm", rank, perm);
  return dtg_add(it->graph, "transpose", &x, 1, &attr, 1);
}

static uint32_t make_reshape(struct maker *it, uint32_t x) {
  struct dtg_shape from = node_of(it, x)->type.shape, to = {0};
  int64_t count = dtg_shape_count(&from);
  switch (below(it, 4)) {
  case 0: /* flat */
    to = dtg_shape_make(1, &count);
    break;
  case 1: /* rows */
    if (from.rank < 2)
      return x;
    to = dtg_shape_make(2, (int64_t[]){count / from.dims[from.rank - 1], from.dims[from.rank - 1]});
    break;
  case 2: /* an even dim cut in two */
    if (from.rank > 4)
      return x;
    for (uint32_t i = 0; i < from.rank; i++) {
      if (from.dims[i] % 2 == 0 && to.rank == i) {
        to.dims[to.rank++] = 2;
        to.dims[to.rank++] = from.dims[i] / 2;
      } else {
        to.dims[to.rank++] = from.dims[i];
      }
    }
    break;
  default: /* another cut of the same elements */
    to = dtg_shape_make(2, (int64_t[]){count % 3 == 0 ? 3 : 1, count % 3 == 0 ? count / 3 : count});
  }
  return dtg_add_reshape(it->graph, x, &to);
}

static uint32_t make_slice(struct maker *it, uint32_t x) {
  struct dtg_shape shape = node_of(it, x)->type.shape;
  int64_t start[DTG_MAX_RANK], stop[DTG_MAX_RANK], step[DTG_MAX_RANK], axes[DTG_MAX_RANK];
  uint32_t count = 0;
  for (uint32_t i = 0; i < shape.rank; i++) {
    start[i] = below(it, (uint32_t)shape.dims[i]);
    stop[i] = start[i] + 1 + below(it, (uint32_t)(shape.dims[i] - start[i]));
    step[i] = 1 + below(it, 2);
    if (below(it, 2))
      axes[count++] = i;
  }
  struct dtg_attr reverse = dtg_attr_ints("axes", count, axes);
  if (below(it, 3) == 0)
    return dtg_add(it->graph, "reverse", &x, 1, &reverse, 1);
  struct dtg_attr attrs[] = {dtg_attr_ints("start", shape.rank, start),
                             dtg_attr_ints("step", shape.rank, step),
                             dtg_attr_ints("stop", shape.rank, stop)};
  return dtg_add(it->graph, "slice", &x, 1, attrs, 3);
}

static uint32_t make_assembly(struct maker *it, uint32_t x) {
  struct dtg_shape shape = node_of(it, x)->type.shape;
  int64_t before[DTG_MAX_RANK], after[DTG_MAX_RANK];
  if (shape.rank == 0 || dtg_shape_count(&shape) > 300)
    return x;
  for (uint32_t i = 0; i < shape.rank; i++) {
    before[i] = below(it, 2);
    after[i] = below(it, 2);
  }
  struct dtg_attr pads[] = {dtg_attr_ints("after", shape.rank, after),
                            dtg_attr_ints("before", shape.rank, before),
                            dtg_attr_float("value", below(it, 2) ? 0.0 : 0.25)};
  if (below(it, 2))
    return dtg_add(it->graph, "pad", &x, 1, pads, 3);
  struct dtg_attr axis = dtg_attr_int("axis", below(it, shape.rank));
  uint32_t y = of_shape(it, &shape);
  return dtg_add(it->graph, "concat", (uint32_t[]){x, y, x}, below(it, 2) ? 2 : 3, &axis, 1);
}

static uint32_t make_matmul(struct maker *it, uint32_t x) {
  struct dtg_shape shape = node_of(it, x)->type.shape, other;
  if (shape.rank < 2)
    return x;
  int64_t k = shape.dims[shape.rank - 1];
  bool transpose = below(it, 2);
  other = dtg_shape_make(2, transpose ? (int64_t[]){3, k} : (int64_t[]){k, 3});
  if (below(it, 3) == 0 && shape.rank == 3)
    other = dtg_shape_make(3, (int64_t[]){shape.dims[0], other.dims[0], other.dims[1]});
  uint32_t y = of_shape(it, &other);
  return tame(it, dtg_add_matmul(it->graph, x, y, false, transpose));
}

static uint32_t make_gather(struct maker *it, uint32_t x) {
  struct dtg_shape shape = node_of(it, x)->type.shape, picks = any_shape(it);
  if (shape.rank == 0 || picks.rank + shape.rank > 4)
    return x;
  uint32_t axis = below(it, shape.rank);
  struct dtg_attr attr = dtg_attr_int("axis", axis);
  uint32_t index = new_input(it, DTG_I32, picks);
  if (below(it, 2)) {
    struct dtg_attr attrs[] = {dtg_attr_int("limit", shape.dims[axis]),
                               dtg_attr_string("what", "index")};
    index = dtg_add(it->graph, "check_range", &index, 1, attrs, 2);
  }
  uint32_t rows = dtg_add(it->graph, "gather", (uint32_t[]){x, index}, 2, &attr, 1);
  if (below(it, 2))
    return rows;
  uint32_t base =
      below(it, 2) ? of_shape(it, &shape) : dtg_add_const(it->graph, 0.5, DTG_F32, &shape);
  return tame(it, dtg_add(it->graph, "scatter_add", (uint32_t[]){base, index, rows}, 3, &attr, 1));
}

/* where(condition, x, y) with a condition that rounding does not touch. */
static uint32_t make_where(struct maker *it, uint32_t x) {
  struct dtg_shape shape = node_of(it, x)->type.shape;
  uint32_t condition, a = it->smooth ? new_input(it, DTG_F32, shape) : x;
  if (shape.rank > 0 && below(it, 2)) {
    uint32_t axis = shape.rank - 1;
    struct dtg_attr attrs[] = {dtg_attr_int("axis", axis), dtg_attr_dtype("dtype", DTG_I32),
                               dtg_attr_ints("shape", shape.rank, shape.dims)};
    struct dtg_shape rows = shape;
    rows.dims[axis] = 1;
    uint32_t label = new_input(it, below(it, 2) ? DTG_U8 : DTG_I32, rows);
    uint32_t iota = dtg_add(it->graph, "iota", NULL, 0, attrs, 3);
    condition = dtg_add_binary(
        it->graph, "eq", iota,
        dtg_add_broadcast(it->graph, dtg_add_cast(it->graph, label, DTG_I32), &shape));
  } else {
    condition = dtg_add_binary(it->graph, below(it, 2) ? "lt" : "ge", a, of_shape(it, &shape));
    if (it->smooth)
      condition = dtg_add_binary(it->graph, "gt", a, new_input(it, DTG_F32, shape));
  }
  uint32_t y = of_shape(it, &shape);
  return dtg_add(it->graph, "where", (uint32_t[]){condition, x, y}, 3, NULL, 0);
}

static uint32_t make_argmax(struct maker *it, uint32_t x) {
  struct dtg_shape shape = node_of(it, x)->type.shape;
  if (shape.rank == 0)
    return x;
  if (it->smooth)
    x = new_input(it, DTG_F32, shape);
  struct dtg_attr attrs[] = {dtg_attr_int("axis", below(it, shape.rank)),
                             dtg_attr_bool("keepdims", below(it, 2))};
  uint32_t best = dtg_add(it->graph, below(it, 2) ? "argmax" : "argmin", &x, 1, attrs, 2);
  return dtg_add_cast(it->graph, best, DTG_F32);
}

static uint32_t make_random(struct maker *it, uint32_t x) {
  struct dtg_shape shape = node_of(it, x)->type.shape;
  static const char *const names[] = {"seed", "step", "shard"};
  uint32_t scalars[3];
  for (int i = 0; i < 3; i++) {
    struct dtg_attr name = dtg_attr_string("name", names[i]);
    scalars[i] = dtg_add(it->graph, "scalar", NULL, 0, &name, 1);
  }
  struct dtg_attr attrs[] = {dtg_attr_string("distribution", "uniform"),
                             dtg_attr_ints("shape", shape.rank, shape.dims),
                             dtg_attr_int("stream", below(it, 3))};
  uint32_t noise = dtg_add(it->graph, "random", scalars, 3, attrs, 3);
  return dtg_add_binary(it->graph, "mul", x, noise);
}

static uint32_t make_whole(struct maker *it, uint32_t x) {
  uint32_t square = dtg_add_unary(it->graph, "square", tame(it, x));
  return dtg_add_unary(it->graph, "sqrt", dtg_add_whole_sum(it->graph, square));
}

static uint32_t make_casts(struct maker *it, uint32_t x) {
  if (below(it, 2))
    return dtg_add_cast(it->graph, dtg_add_cast(it->graph, x, DTG_F64), DTG_F32);
  struct dtg_shape shape = node_of(it, x)->type.shape;
  uint32_t byte = new_input(it, below(it, 2) ? DTG_U8 : DTG_BOOL, shape);
  return dtg_add_binary(it->graph, "add", x, dtg_add_cast(it->graph, byte, DTG_F32));
}

static uint32_t make_one(struct maker *it) {
  static uint32_t (*const makers[])(struct maker *, uint32_t) = {
      make_unary,   make_unary,  make_binary,   make_binary, make_binary,    make_const,
      make_reduce,  make_reduce, make_rows,     make_rows,   make_transpose, make_reshape,
      make_reshape, make_slice,  make_assembly, make_matmul, make_gather,    make_where,
      make_argmax,  make_random, make_whole,    make_casts};
  uint32_t x = pick(it);
  uint32_t y = makers[below(it, sizeof makers / sizeof *makers)](it, x);
  /* Chains of squares and sums would leave f32 far behind. */
  return below(it, 6) == 0 ? tame(it, y) : y;
}

static bool *find_read(struct maker *it) {
  bool *read = DTG_NEW_ARRAY(&it->ctx->arena, bool, it->graph->nodes.len);
  for (size_t i = 0; i < it->graph->nodes.len; i++) {
    const struct dtg_node *node = &it->graph->nodes.data[i];
    for (uint32_t k = 0; k < node->input_count; k++)
      read[node->inputs[k]] = true;
  }
  return read;
}

struct dtg_graph *random_graph_make(struct dtg_ctx *ctx, uint64_t seed, int steps, bool smooth) {
  struct maker it = {.ctx = ctx, .state = seed * 77 + 1, .smooth = smooth};
  char name[32];
  it.graph = dtg_graph_new(&ctx->arena, &ctx->names, "train");
  for (int i = 0; i < 3; i++)
    dtg_vec_push(&ctx->arena, &it.values, new_input(&it, DTG_F32, any_shape(&it)));
  for (int i = 0; i < steps; i++) {
    uint32_t y = make_one(&it);
    if (dtg_shape_count(&node_of(&it, y)->type.shape) <= 2000)
      dtg_vec_push(&ctx->arena, &it.values, y);
  }
  const bool *read = find_read(&it);
  for (size_t i = 0; i < it.graph->nodes.len; i++) {
    if (it.graph->nodes.data[i].op->class == DTG_CLASS_LEAF || (read[i] && below(&it, 12) != 0))
      continue;
    snprintf(name, sizeof name, "m%zu", i);
    dtg_graph_add_root(it.graph, i % 3 ? DTG_ROOT_STATE : DTG_ROOT_OUTPUT, name, (uint32_t)i,
                       DTG_REDUCE_SUM, DTG_SPAN_NONE);
  }
  return it.graph;
}
