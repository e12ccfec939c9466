/* Models with a loop, for the tests of scans: the same text as a `scan` and as a `for`.
 *
 * Ownership: the bench owns the compilation. Threads: none. */
#ifndef LOOP_TEXT_H
#define LOOP_TEXT_H

#include "tests/unit/build/model_text.h"
#include "tests/unit/lower/plan_run.h"

struct loop_bench {
  struct model_text text;
  struct dtg_graph *forward; /* the training graph, forward pass alone */
  size_t forward_nodes;      /* of `train`, before the backward pass */
  struct dtg_module *module; /* with gradients */
};

/* `LOOP` in the text stands for `word`. Fails the test on errors. */
void loop_bench_open(struct loop_bench *bench, const char *text, const char *word);
void loop_bench_close(struct loop_bench *bench);

/* Values of a root by the oracle, which draws leaves from `seed`. */
const struct dtg_ref_tensor *loop_bench_values(struct loop_bench *bench,
                                               const struct dtg_graph *graph, uint64_t *seed);

/* Optimised, scheduled, verified and lowered: the module's graphs as a plan. */
struct dtg_plan *loop_bench_plan(struct loop_bench *bench, bool fused);

#endif
