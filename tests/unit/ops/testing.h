/* What the tests of graphs share: an arena with names, random numbers, leaf values by name, random
 * graphs. */
#ifndef DTG_TESTS_UNIT_OPS_TESTING_H
#define DTG_TESTS_UNIT_OPS_TESTING_H

#include "compiler/base/intern.h"
#include "compiler/ops/evaluate.h"

struct bench {
  struct dtg_arena arena;
  struct dtg_intern names;
  uint64_t random; /* state of splitmix64 */
};

void bench_open(struct bench *bench, uint64_t seed);
void bench_close(struct bench *bench);
uint64_t bench_bits(struct bench *bench);
int64_t bench_below(struct bench *bench, int64_t limit);
double bench_uniform(struct bench *bench, double low, double high);

/* Values of leaves, by their `name` or `path`. */
struct leaf_table {
  uint32_t count;
  struct leaf_entry {
    const char *key;
    struct dtg_ref_tensor value;
  } entries[64];
};
struct dtg_ref_tensor *leaf_add(struct leaf_table *table, struct bench *bench, const char *key,
                                struct dtg_type type);
struct dtg_ref_tensor *leaf_find(struct leaf_table *table, const char *key);
/* For dtg_evaluate: context is the table. */
void leaf_value(void *context, const struct dtg_node *leaf, struct dtg_ref_tensor *out);

struct dtg_type make_type(enum dtg_dtype dtype, uint32_t rank, const int64_t *dims);

/* A graph of about `steps` differentiable ops over parameters "p0", "p1", ... (filled into
 * `table`), whose last node is f32[]. */
struct dtg_graph *random_graph(struct bench *bench, int steps, struct leaf_table *table);

#endif
