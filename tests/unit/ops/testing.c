#include "tests/unit/ops/testing.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

void bench_open(struct bench *bench, uint64_t seed) {
  dtg_arena_init(&bench->arena);
  dtg_intern_init(&bench->names);
  bench->random = seed;
}

void bench_close(struct bench *bench) {
  dtg_arena_free(&bench->arena);
  dtg_intern_free(&bench->names);
}

uint64_t bench_bits(struct bench *bench) {
  uint64_t z = bench->random += UINT64_C(0x9E3779B97F4A7C15);
  z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
  z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
  return z ^ z >> 31;
}

int64_t bench_below(struct bench *bench, int64_t limit) {
  return (int64_t)(bench_bits(bench) % (uint64_t)limit);
}

double bench_uniform(struct bench *bench, double low, double high) {
  return low + (double)(bench_bits(bench) >> 11) * 0x1p-53 * (high - low);
}

struct dtg_type make_type(enum dtg_dtype dtype, uint32_t rank, const int64_t *dims) {
  return (struct dtg_type){.dtype = dtype, .shape = dtg_shape_make(rank, dims)};
}

struct dtg_ref_tensor *leaf_add(struct leaf_table *table, struct bench *bench, const char *key,
                                struct dtg_type type) {
  assert_true(table->count < 64);
  struct leaf_entry *entry = &table->entries[table->count++];
  entry->key = dtg_intern_z(&bench->names, key);
  entry->value.type = type;
  entry->value.data = DTG_NEW_ARRAY(&bench->arena, double, dtg_shape_count(&type.shape));
  return &entry->value;
}

struct dtg_ref_tensor *leaf_find(struct leaf_table *table, const char *key) {
  for (uint32_t i = 0; i < table->count; i++) {
    if (strcmp(table->entries[i].key, key) == 0)
      return &table->entries[i].value;
  }
  fail_msg("no value for leaf %s", key);
  return NULL;
}

void leaf_value(void *context, const struct dtg_node *leaf, struct dtg_ref_tensor *out) {
  const char *key = dtg_node_string(leaf, "name", dtg_node_string(leaf, "path", ""));
  const struct dtg_ref_tensor *value = leaf_find(context, key);
  assert_true(dtg_type_equal(&value->type, &out->type));
  memcpy(out->data, value->data, (size_t)dtg_shape_count(&out->type.shape) * sizeof *out->data);
}

/* Nodes of a random graph that may be used further. */
struct pool {
  struct bench *bench;
  struct dtg_graph *graph;
  uint32_t count;
  uint32_t nodes[256];
};

static uint32_t pick(struct pool *pool) {
  return pool->nodes[bench_below(pool->bench, pool->count)];
}

static struct dtg_type type_of(const struct pool *pool, uint32_t id) {
  return dtg_graph_node(pool->graph, id)->type;
}

static uint32_t tame(struct pool *pool, uint32_t x) {
  return dtg_add_unary(pool->graph, "tanh", x);
}

static uint32_t random_unary(struct pool *pool, uint32_t x) {
  static const char *const names[] = {"neg",    "sin",  "cos",   "sigmoid", "tanh", "erf",
                                      "square", "relu", "expm1", "abs",     "exp"};
  return dtg_add_unary(pool->graph, names[bench_below(pool->bench, 11)], tame(pool, x));
}

static uint32_t random_binary(struct pool *pool, uint32_t x) {
  static const char *const names[] = {"add", "sub", "mul", "maximum", "minimum"};
  uint32_t y = pick(pool);
  struct dtg_shape a = type_of(pool, x).shape, b = type_of(pool, y).shape, both;
  if (!dtg_shape_broadcast(&a, &b, &both) || dtg_shape_count(&both) > 400)
    return x;
  x = dtg_add_broadcast(pool->graph, x, &both);
  y = dtg_add_broadcast(pool->graph, y, &both);
  return dtg_add_binary(pool->graph, names[bench_below(pool->bench, 5)], x, y);
}

static uint32_t random_where(struct pool *pool, uint32_t x) {
  uint32_t y = dtg_add_unary(pool->graph, "cos", x);
  uint32_t condition = dtg_add_binary(pool->graph, "lt", x, y);
  return dtg_add(pool->graph, "where", (uint32_t[]){condition, x, y}, 3, NULL, 0);
}

static uint32_t random_reduce(struct pool *pool, uint32_t x) {
  static const char *const names[] = {"sum", "max", "min", "prod"};
  uint32_t rank = type_of(pool, x).shape.rank;
  if (rank == 0)
    return x;
  int64_t axis = bench_below(pool->bench, rank);
  return dtg_add_reduce(pool->graph, names[bench_below(pool->bench, 4)], x, 1, &axis,
                        bench_below(pool->bench, 2) == 0);
}

static uint32_t random_transpose(struct pool *pool, uint32_t x) {
  int64_t perm[DTG_MAX_RANK];
  uint32_t rank = type_of(pool, x).shape.rank;
  for (uint32_t i = 0; i < rank; i++)
    perm[i] = (i + 1) % rank;
  struct dtg_attr attr = dtg_attr_ints("perm", rank, perm);
  return dtg_add(pool->graph, "transpose", &x, 1, &attr, 1);
}

static uint32_t random_slice(struct pool *pool, uint32_t x) {
  struct dtg_shape shape = type_of(pool, x).shape;
  int64_t start[DTG_MAX_RANK], stop[DTG_MAX_RANK], step[DTG_MAX_RANK];
  for (uint32_t i = 0; i < shape.rank; i++) {
    start[i] = bench_below(pool->bench, shape.dims[i]);
    stop[i] = start[i] + 1 + bench_below(pool->bench, shape.dims[i] - start[i]);
    step[i] = 1 + bench_below(pool->bench, 3);
  }
  struct dtg_attr attrs[] = {dtg_attr_ints("start", shape.rank, start),
                             dtg_attr_ints("stop", shape.rank, stop),
                             dtg_attr_ints("step", shape.rank, step)};
  return dtg_add(pool->graph, "slice", &x, 1, attrs, 3);
}

static uint32_t random_pad(struct pool *pool, uint32_t x) {
  uint32_t rank = type_of(pool, x).shape.rank;
  int64_t before[DTG_MAX_RANK], after[DTG_MAX_RANK];
  for (uint32_t i = 0; i < rank; i++) {
    before[i] = bench_below(pool->bench, 2);
    after[i] = bench_below(pool->bench, 2);
  }
  struct dtg_attr attrs[] = {dtg_attr_ints("before", rank, before),
                             dtg_attr_ints("after", rank, after),
                             dtg_attr_float("value", bench_uniform(pool->bench, -1, 1))};
  return dtg_add(pool->graph, "pad", &x, 1, attrs, 3);
}

static uint32_t random_matmul(struct pool *pool, uint32_t x) {
  struct dtg_shape shape = type_of(pool, x).shape;
  if (shape.rank < 2)
    return x;
  /* x by itself: both operands get a gradient from one node. */
  bool transpose = bench_below(pool->bench, 2) == 0;
  return dtg_add_matmul(pool->graph, x, tame(pool, x), transpose, !transpose);
}

static uint32_t random_gather(struct pool *pool, uint32_t x) {
  struct dtg_shape shape = type_of(pool, x).shape;
  if (shape.rank == 0)
    return x;
  int64_t axis = bench_below(pool->bench, shape.rank);
  struct dtg_shape scalar = {0}, pair = {.rank = 1, .dims = {2}};
  uint32_t index =
      dtg_add_const_int(pool->graph, bench_below(pool->bench, shape.dims[axis]), DTG_I32, &scalar);
  index = dtg_add_broadcast(pool->graph, index, &pair);
  struct dtg_attr attr = dtg_attr_int("axis", axis);
  return dtg_add(pool->graph, "gather", (uint32_t[]){x, index}, 2, &attr, 1);
}

static uint32_t random_concat(struct pool *pool, uint32_t x) {
  struct dtg_shape shape = type_of(pool, x).shape;
  if (shape.rank == 0)
    return x;
  struct dtg_attr attr = dtg_attr_int("axis", bench_below(pool->bench, shape.rank));
  return dtg_add(pool->graph, "concat", (uint32_t[]){x, tame(pool, x), x}, 3, &attr, 1);
}

static uint32_t random_step(struct pool *pool) {
  static uint32_t (*const steps[])(struct pool *, uint32_t) = {
      random_unary,  random_unary,  random_binary,    random_binary, random_binary,
      random_where,  random_reduce, random_slice,     random_pad,    random_gather,
      random_concat, random_matmul, random_transpose,
  };
  uint32_t x = pick(pool);
  return steps[bench_below(pool->bench, sizeof steps / sizeof *steps)](pool, x);
}

static void add_params(struct pool *pool, struct leaf_table *table) {
  static const int64_t shapes[][3] = {{2, 3, 1}, {1, 3, 2}, {3, 1, 2}};
  static const uint32_t ranks[] = {0, 1, 2, 3};
  for (uint32_t i = 0; i < 4; i++) {
    char key[8];
    snprintf(key, sizeof key, "p%u", i);
    struct dtg_type type = make_type(DTG_F32, ranks[i], shapes[bench_below(pool->bench, 3)]);
    struct dtg_ref_tensor *value = leaf_add(table, pool->bench, key, type);
    for (int64_t j = 0; j < dtg_shape_count(&type.shape); j++)
      value->data[j] = bench_uniform(pool->bench, -1.5, 1.5);
    pool->nodes[pool->count++] = dtg_add_leaf(pool->graph, "param", key, type);
  }
}

struct dtg_graph *random_graph(struct bench *bench, int steps, struct leaf_table *table) {
  struct pool pool = {.bench = bench,
                      .graph = dtg_graph_new(&bench->arena, &bench->names, "random")};
  add_params(&pool, table);
  for (int i = 0; i < steps; i++) {
    uint32_t node = random_step(&pool);
    if (dtg_shape_count(&dtg_graph_node(pool.graph, node)->type.shape) <= 400)
      pool.nodes[pool.count++] = node;
  }
  uint32_t loss = dtg_add_const(pool.graph, 0.5, DTG_F32, &(struct dtg_shape){0});
  for (uint32_t i = 0; i < pool.count; i++) {
    uint32_t part = tame(&pool, pool.nodes[i]);
    part = dtg_add_unbroadcast(pool.graph, part, &(struct dtg_shape){0});
    loss = dtg_add_binary(pool.graph, "add", loss, part);
  }
  return pool.graph;
}
