/* Which task of the plan a process is, and where the others listen: from its flag, or from the
 * environment of whatever started it.
 *
 * Purpose: one build runs every task, so each process must learn who it is. The first source that
 * says so wins: `--task`, DTG_TASK, TF_CONFIG, Slurm, Open MPI. Only TF_CONFIG brings addresses.
 * Ownership: self-contained; free with dtr_identity_free. Threads: one.
 */
#ifndef DTR_START_IDENTITY_H
#define DTR_START_IDENTITY_H

#include "dtr_abi.h"
#include "runtime/env.h"
#include "runtime/error.h"

enum dtr_identity_source {
#define X(name, text, variable) DTR_IDENTITY_##name,
#include "runtime/start/sources.def"
#undef X
  DTR_IDENTITY_SOURCES
};

struct dtr_identity {
  enum dtr_identity_source source; /* NONE: nobody said; the process is all tasks, or one by rank */
  uint32_t task;                   /* numbered over jobs in order, as in dtr_abi.h */
  char **addresses;                /* "host:port" of every task; NULL: not from here */
  uint32_t address_count;
};

/* `flag`: the argument of --task, or NULL. Errors (status CONFIG; USAGE for the flag): a task that
 * the plan does not have, with those it has; other numbers of tasks than planned; a malformed
 * TF_CONFIG, with the key. One rank alone (a batch job of one task) is no cluster: NONE. */
bool dtr_identity_find(const struct dtr_env *env, const struct dtr_replication *replication,
                       const char *flag, struct dtr_identity *identity, struct dtr_error *error);
void dtr_identity_free(struct dtr_identity *identity);

/* "--task", "TF_CONFIG", "Slurm" and so on. */
const char *dtr_identity_source_text(enum dtr_identity_source source);

/* ---- tasks by name ---- */

uint32_t dtr_plan_task_count(const struct dtr_replication *replication);
/* Number of task `index` of job `job`; false: there is none. */
bool dtr_plan_find_task(const struct dtr_replication *replication, const char *job, int64_t index,
                        uint32_t *task);
/* "2 of ps, 4 of worker" */
void dtr_plan_describe(const struct dtr_replication *replication, char *text, size_t size);

#endif
