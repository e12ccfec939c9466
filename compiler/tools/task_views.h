// dtgc plan --client and --expand: one client's graph, and one task in full.
//
// Purpose: "Where are the other replicas in my graph?" and "What exactly does this task do in a
// step?". Thread rule: that of the context.
#ifndef DTG_TOOLS_TASK_VIEWS_H
#define DTG_TOOLS_TASK_VIEWS_H

#include "compiler/partition/partition.h"

struct dtg_strbuf;

// The graph that the client of a task holds: copies of the replicas with their devices, the
// parameters and their owners, and what it alone does as the chief (`extras`: lines). A task
// without a client holds none, and the text says so.
void dtg_client_view(struct dtg_ctx *ctx, const struct dtg_partition *partition, uint32_t task,
                     const char *extras, struct dtg_strbuf *out);
// Devices, replicas, slices, and every message of a step that starts or ends in the task.
void dtg_task_view(struct dtg_ctx *ctx, const struct dtg_partition *partition, uint32_t task,
                   struct dtg_strbuf *out);

#endif
