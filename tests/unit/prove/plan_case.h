// A small network under any strategy and cluster, planned as far as the proofs need it.
#ifndef TESTS_UNIT_PROVE_PLAN_CASE_H
#define TESTS_UNIT_PROVE_PLAN_CASE_H

#include "compiler/prove/prove.h"

struct plan_case {
  struct dtg_ctx ctx;
  struct dtg_cluster cluster;
  struct dtg_model *model;
  struct dtg_module *module;
  struct dtg_replication *replication;
  struct dtg_partition *partition; // NULL: the strategy is refused, with errors in ctx
  struct dtg_plan *plan;
};

// `shards` of 4 examples each; `optimizer`: as in `train`, with what follows it.
void plan_case_open(struct plan_case *made, int shards, const char *optimizer, const char *strategy,
                    const char *cluster);
void plan_case_close(struct plan_case *made);

#endif
