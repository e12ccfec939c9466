// What both forms of a cluster spec share: limits, names, the chief, the device numbering.
// Thread rule: that of the context.
#ifndef DTG_CLUSTER_FINISH_H
#define DTG_CLUSTER_FINISH_H

#include "compiler/cluster/cluster.h"

bool dtg_cluster_valid_name(const char *name);
// A size with unit such as "16GB" (powers of ten) or "16GiB" (powers of two); false if it is none.
bool dtg_cluster_parse_size(const char *text, int64_t *bytes);
// "x86-64-v4" and the like; false (with an error) if the name is unknown.
bool dtg_cluster_check_arch(struct dtg_ctx *ctx, struct dtg_span span, const char *arch);
bool dtg_cluster_check_gpu_arch(struct dtg_ctx *ctx, struct dtg_span span, const char *arch);
// Numbers the devices and checks the limits; the chief must be set.
bool dtg_cluster_finish(struct dtg_ctx *ctx, struct dtg_cluster *cluster);
// The chief where the spec names none: task 0 of the job `worker`, else of the first job.
void dtg_cluster_default_chief(struct dtg_cluster *cluster);

#endif
