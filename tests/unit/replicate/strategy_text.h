// A small trained network under a strategy and a cluster, both given as texts.
//
// Ownership: the object owns the compilation; free it with strategy_close.
#ifndef DTG_TESTS_UNIT_REPLICATE_STRATEGY_TEXT_H
#define DTG_TESTS_UNIT_REPLICATE_STRATEGY_TEXT_H

#include "compiler/partition/partition.h"

struct strategy_text {
  struct dtg_ctx ctx;
  struct dtg_cluster cluster;
  struct dtg_model *model;
  struct dtg_module *module;
  struct dtg_replication *replication; // NULL after errors
  struct dtg_partition *partition;     // likewise
};

// `train`: lines of the training block besides model, data and steps. `strategy`: the clauses. The
// network has the parameters a.b f32[256], a.w f32[784, 256], b.b f32[10] and b.w f32[256, 10], and
// the state norm.mean_of f32[784]. All stages up to partition run and must verify.
void strategy_open(struct strategy_text *text, const char *train, const char *strategy,
                   const char *cluster);
void strategy_close(struct strategy_text *text);
// Number of the device "/job:worker/task:0/device:CPU:0".
uint32_t strategy_device(const struct strategy_text *text, const char *name);
// Fails unless there is an error with exactly this message and this hint (NULL: any).
void strategy_expect(struct strategy_text *text, const char *message, const char *hint);
// The slices as "path[first,end)@device " in order; devices as numbers.
void strategy_slices(const struct strategy_text *text, struct dtg_strbuf *out);

#endif
