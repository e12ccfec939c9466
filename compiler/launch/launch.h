// What starts the tasks of a plan on other people's machines: texts for Slurm, Kubernetes, mpirun.
//
// Starting processes on hosts is the work of a site's scheduler. Each text starts one process per
// task of the cluster and tells it which task it is and where the others listen. All are functions
// of the plan alone: same inputs, same bytes. Thread rule: pure.
#ifndef DTG_LAUNCH_LAUNCH_H
#define DTG_LAUNCH_LAUNCH_H

#include "compiler/report/report.h"

enum { DTG_LAUNCH_PORT = 2222 }; // of the first task of a host, where nothing else is said

struct dtg_launch_input {
  const struct dtg_report_input *report;
  const struct dtg_cluster *cluster;
  const char *program; // path of the executable
};

// A batch script for sbatch. It asks for as many processes as there are tasks; rank n is task n of
// the plan. Which host runs which rank is known first in the job: the script writes the addresses.
void dtg_launch_slurm(const struct dtg_launch_input *input, struct dtg_strbuf *out);

// A config map with the addresses, and for each job a headless service and a stateful set.
void dtg_launch_k8s(const struct dtg_launch_input *input, struct dtg_strbuf *out);

// An app file for `mpirun --app`: one line per task, on the hosts of the cluster spec. False, with
// an error, where the spec has no addresses.
bool dtg_launch_hostfile(struct dtg_ctx *ctx, const struct dtg_launch_input *input,
                         struct dtg_strbuf *out);

// ---- what the texts share ----

// The cluster spec of the run, as libconfig reads it. `addresses` appends those of job `job`.
void dtg_launch_cluster(const struct dtg_cluster *cluster, const char *indent,
                        void (*addresses)(void *context, uint32_t job, struct dtg_strbuf *out),
                        void *context, struct dtg_strbuf *out);
uint32_t dtg_launch_task_count(const struct dtg_cluster *cluster);
// A word as shells and YAML take it literally: in single quotes where it needs them.
void dtg_launch_quote(const char *text, struct dtg_strbuf *out);

#endif
