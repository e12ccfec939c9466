/* Which run a process belongs to, and which checkpoints in the folder are of that run.
 *
 * Purpose: a lost task may send the run back to its newest checkpoint, and a folder outlives runs.
 * Only who starts the tasks can know that two processes, one after the other, are the same task of
 * one run; it says so with DTG_RUN. Ownership: none. Threads: any.
 */
#ifndef DTR_START_RUN_H
#define DTR_START_RUN_H

#include "runtime/env.h"
#include "runtime/start/identity.h"

/* What all processes of a run say to each other, never 0: DTG_RUN; else the job, step and restart
 * of Slurm or the namespace of Open MPI, if that is what told the task; else only the plan. */
uint64_t dtr_run_number(const struct dtr_env *env, enum dtr_identity_source source,
                        const char *plan_id);

/* The number in the checkpoints of the run, never 0: `run`, if DTG_RUN gave it. Else one that no
 * other process has, so that a chief goes back to nothing but what it has saved itself. */
uint64_t dtr_run_checkpoints(const struct dtr_env *env, uint64_t run);

#endif
