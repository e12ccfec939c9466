// The plan for people (text) and for tools (JSON).
//
// Both are functions of the input alone: same inputs, same bytes. The JSON schema is documented in
// compiler/report/PLAN.md. Thread rule: pure.
#ifndef DTG_REPORT_REPORT_H
#define DTG_REPORT_REPORT_H

#include "compiler/ir/plan.h"
#include "compiler/partition/partition.h"
#include "compiler/replicate/replicate.h"

struct dtg_strbuf;

struct dtg_report_input {
  struct dtg_ctx *ctx; // sources for "file:line"
  const char *name;    // of the program
  const char *model_file;
  const char *results; // the line of what results depend on
  const struct dtg_replication *replication;
  const struct dtg_partition *partition;
  const struct dtg_plan *plan;
  uint32_t threads; // assumed for the memory table
};

void dtg_report_text(const struct dtg_report_input *input, struct dtg_strbuf *out);
// `plan_id`, `model_id`: may be NULL before they are known.
void dtg_report_json(const struct dtg_report_input *input, const char *plan_id,
                     const char *model_id, struct dtg_strbuf *out);
void dtg_report_dot(const struct dtg_report_input *input, struct dtg_strbuf *out);

// What each device holds, in bytes.
struct dtg_report_memory {
  int64_t parameters, states, slots; // the variables block
  int64_t arena;                     // per thread: the larger of train and evaluation
  int64_t update_arena;
  int64_t contribution;              // one block of what a shard contributes
  int64_t contribution_blocks;       // for the reduction tree
  int64_t feeds;                     // one batch of inputs
  int64_t total;
};
struct dtg_report_memory dtg_report_memory(const struct dtg_report_input *input);

#endif
