// dtgc why: where a thing is, and the chain of causes that put it there.
//
// Purpose: one name, one answer. A name is a parameter, state or slot ("fc1.w", "fc1.w:v"), an op
// path
// ("fc1"), a device ("/job:ps/task:0/device:CPU:0") or a task ("ps/0", "/job:ps/task:0").
// Thread rule: that of the context.
#ifndef DTG_TOOLS_WHY_H
#define DTG_TOOLS_WHY_H

#include "compiler/replicate/replicate.h"

#include <stdbool.h>

struct dtg_strbuf;

// Requires: placed graphs. False, with an error that names the nearest names, if there is no such
// thing.
bool dtg_why(struct dtg_ctx *ctx, const struct dtg_replication *replication, const char *name,
             struct dtg_strbuf *out);

// The task that "worker/1" or "/job:worker/task:1" names; false if it is none.
bool dtg_task_find(const struct dtg_cluster *cluster, const char *name, uint32_t *task);
// The same with an error that names those that there are.
bool dtg_task_expect(struct dtg_ctx *ctx, const struct dtg_cluster *cluster, const char *name,
                     uint32_t *task);
// Tasks of all jobs.
uint32_t dtg_task_count(const struct dtg_cluster *cluster);

#endif
