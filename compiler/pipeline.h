// The stages in their order, once.
//
// Purpose: runs a model through the stages as far as is asked, with the verifier of each stage
// behind it. Ownership: results live in the context's arena, texts in the struct; free it with
// dtg_pipeline_free. Thread rule: one pipeline, one thread.
#ifndef DTG_PIPELINE_H
#define DTG_PIPELINE_H

#include "codegen/llvm/llvm.h"
#include "compiler/install.h"
#include "compiler/options.h"
#include "compiler/partition/partition.h"
#include "compiler/report/report.h"

struct dtg_pipeline {
  struct dtg_ctx *ctx;
  const struct dtg_options *options;
  struct dtg_install install;
  const char *name; // of the program
  uint32_t file;    // of the model
  struct dtg_cluster cluster;
  struct dtg_ast_file *ast;
  struct dtg_model *model;
  struct dtg_module *module;
  struct dtg_replication *replication;
  struct dtg_partition *partition;
  struct dtg_plan *plan;
  struct cg_llvm_output llvm;
  struct dtg_report_input report;
  const char *model_id, *plan_id;
  struct dtg_strbuf host_text, plan_text, plan_json, launch_text, cuda_text, ptx_text;
};

void dtg_pipeline_init(struct dtg_pipeline *pipeline, struct dtg_ctx *ctx,
                       const struct dtg_options *options);
void dtg_pipeline_free(struct dtg_pipeline *pipeline);

// Runs the stages up to and including `last`, but for LLVM where its result is not asked for;
// DTG_STAGE_COUNT: all, and the bundle. False with errors in the context's diagnostics.
bool dtg_pipeline_run(struct dtg_pipeline *pipeline, enum dtg_stage last);
// The result of a stage that has run, as text.
void dtg_pipeline_dump(struct dtg_pipeline *pipeline, enum dtg_stage stage, struct dtg_strbuf *out);
// The output folder, and the program in it.
const char *dtg_pipeline_folder(const struct dtg_pipeline *pipeline);
const char *dtg_pipeline_program(const struct dtg_pipeline *pipeline);

#endif
