// The commands that answer questions about a plan: compare, why, plan --client and --expand.
//
// Ownership: answers are texts. Thread rule: that of the pipeline. False with errors in its
// context.
#ifndef DTG_INSPECT_H
#define DTG_INSPECT_H

#include "compiler/pipeline.h"

bool dtg_inspect_compare(struct dtg_pipeline *pipeline, struct dtg_strbuf *out);
bool dtg_inspect_why(struct dtg_pipeline *pipeline, struct dtg_strbuf *out);
// options->client and options->expand: whichever is given, or both.
bool dtg_inspect_task(struct dtg_pipeline *pipeline, struct dtg_strbuf *out);

#endif
