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
  uint32_t threads;          // assumed for the memory table, per device
  int64_t owner_arena_bytes; // of the update by slices; 0: one device
};

void dtg_report_text(const struct dtg_report_input *input, struct dtg_strbuf *out);
// `plan_id`, `model_id`: may be NULL before they are known.
void dtg_report_json(const struct dtg_report_input *input, const char *plan_id,
                     const char *model_id, struct dtg_strbuf *out);
void dtg_report_dot(const struct dtg_report_input *input, struct dtg_strbuf *out);

// What each device of a class holds, in bytes: what `--memory` of a run counts, but for `feeds` of
// replicas in their client's task, which lie in the batches that the client reads. With one replica
// that owns everything the two roles share the variables; else a device may be a replica and an
// owner, and holds both.
struct dtg_report_memory {
  int64_t parameters, states, slots; // replica: its copy; owner: its slices
  int64_t variables;                 // the three, each slice aligned
  int64_t arena;                     // replica: per thread: the larger of train and evaluation
  int64_t update_arena;              // owner
  int64_t rows;                      // owner: to update sparse tables
  int64_t sorting;                   // replica: per thread: of what a shard has gathered
  int64_t contribution;              // replica: one block of what a shard contributes
  int64_t contribution_blocks;       // for the reduction tree over its shards
  int64_t staging;                   // owner: what the replicas push in a step
  int64_t messages;                  // what is packed to be sent
  int64_t evaluation;                // replica: values of its chunks
  int64_t feeds;                     // replica: its rows of one batch of inputs
  int64_t total;
};
// Replicas that need the same: those with so many partial sums whose rows come from another task,
// or do not.
struct dtg_report_class {
  uint32_t first, replicas, sums;
  bool fed;
};
// The classes in the order of their first replicas. Cost: linear in the replicas where they differ.
const struct dtg_report_class *
dtg_report_classes(struct dtg_arena *arena, const struct dtg_report_input *input, size_t *count);
struct dtg_report_memory dtg_report_class_memory(const struct dtg_report_input *input,
                                                 const struct dtg_report_class *class);
// The only device, or the device of the replica that needs most.
struct dtg_report_memory dtg_report_memory(const struct dtg_report_input *input);
// `owner`: position in replication->owners.
struct dtg_report_memory dtg_report_owner_memory(const struct dtg_report_input *input,
                                                 uint32_t owner);
// The largest need of a task of a job: its replicas and owners; 0 if it has none.
int64_t dtg_report_task_memory(const struct dtg_report_input *input, const struct dtg_job *job);

// max / mean of what the owners hold and exchange in a step; 1 for one owner.
double dtg_report_imbalance(const struct dtg_report_input *input);
// Payload bytes of a step over all links.
int64_t dtg_report_traffic(const struct dtg_report_input *input);
// Whether that is a bound: some messages hold as many rows as there are.
bool dtg_report_is_bound(const struct dtg_report_input *input);
// Before step 0: owners publish the first version.
int64_t dtg_report_start_traffic(const struct dtg_report_input *input);

#endif
