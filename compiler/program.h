// The tables of the program, made from model, cluster and plan; and its two identities.
//
// Ownership: the context's arena. Thread rule: that of the context.
#ifndef DTG_PROGRAM_H
#define DTG_PROGRAM_H

#include "compiler/cluster/cluster.h"
#include "compiler/ir/plan.h"
#include "compiler/replicate/replicate.h"
#include "compiler/sema/model.h"
#include "runtime/include/dtr_abi.h"

// Lower-case hex digits of BLAKE2b-256.
enum { DTG_ID_DIGITS = 64 };

struct dtg_program_input {
  const struct dtg_model *model;
  const struct dtg_cluster *cluster;
  const struct dtg_plan *plan;
  const struct dtg_replication *replication;
  const char *name;       // of the program
  const char *model_file; // base name
  const char *plan_text;
  const char *plan_id;
  const char *model_id;
};

// Everything but kernels, gemms and functions, which the host writer makes from the plan.
struct dtr_program *dtg_program_tables(struct dtg_ctx *ctx, const struct dtg_program_input *input);

// The outputs of the model, and where evaluation of `batch` examples leaves them
// (program_outputs.c). Whether some output
// depends on an input.
struct dtr_output *dtg_program_outputs(struct dtg_ctx *ctx, const struct dtg_plan *plan,
                                       int64_t batch, uint32_t *count);
bool dtg_program_needs(const struct dtg_plan *plan, const char *input);

// The library's form of a window call; scratch_bytes is left 0.
struct dtr_window dtg_program_window(const struct cg_window *window);

// The maps of the strategy and the update by slices; NULL: one replica that owns everything.
// Requires lowered kernels. The functions of the launches are left to the host writer.
struct dtr_replication *dtg_program_replication(struct dtg_ctx *ctx,
                                                const struct dtg_replication *replication,
                                                const struct dtg_plan *plan);

// Bytes of the owners' arena in those tables, before kernels are lowered; 0 where there are none.
int64_t dtg_program_update_arena(const struct dtg_replication *replication,
                                 const struct dtg_plan *plan);

// "model, data, seed 1, batch 256, 8 shards, f32, x86-64-v4": all that results depend on.
const char *dtg_results_line(struct dtg_arena *arena, const struct dtg_model *model,
                             const struct dtg_cluster *cluster);

// What a checkpoint must match: paths, shapes, types, optimizer, seed.
const char *dtg_model_id(struct dtg_ctx *ctx, const struct dtg_model *model,
                         const struct dtg_module *module);
// What all tasks of a run must agree on. `host_text`: with the id field zero.
const char *dtg_plan_id(struct dtg_ctx *ctx, const struct dtg_model *model,
                        const struct dtg_cluster *cluster, const struct dtg_plan *plan,
                        const char *host_text);

#endif
