// The host program: plan and tables as readable C.
//
// Purpose: one translation unit that holds the program's tables, one function per graph that calls
// the kernels in plan order, and main. Ownership: writes into the caller's buffer. Thread rule:
// pure. The text is a function of the input alone: same input, same bytes.
#ifndef CG_HOST_HOST_H
#define CG_HOST_HOST_H

#include "compiler/base/source.h"
#include "compiler/base/strbuf.h"
#include "compiler/ir/plan.h"
#include "runtime/include/dtr_abi.h"

struct cg_host_input {
  const struct dtg_plan *plan;
  // The tables as they will stand in the program; kernels, gemms and the functions are made here
  // from the plan, and `source_dir` is left to the linking step (macro DTR_SOURCE_DIR).
  const struct dtr_program *tables;
  const struct dtg_source_set *sources; // for "file:line:column"
};

void cg_host_emit(const struct cg_host_input *input, struct dtg_strbuf *out);

#endif
