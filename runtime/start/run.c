#include "runtime/start/run.h"

#include <stdio.h>
#include <string.h>
#include <xxhash.h>

enum { NAME_BYTES = 512 };

static const char *variable(const struct dtr_env *env, const char *name) {
  const char *value = env->variable(env->context, name);
  return value ? value : "";
}

static uint64_t number_of(const char *name) {
  return XXH3_64bits(name, strlen(name)) | 1;
}

/* A job that Slurm has put back into its queue is another run; so is each srun of a batch script.
 */
static void name_job(const struct dtr_env *env, enum dtr_identity_source source, char *name) {
  name[0] = '\0';
  if (source == DTR_IDENTITY_SLURM && variable(env, "SLURM_JOB_ID")[0])
    snprintf(name, NAME_BYTES, "slurm %.60s %.60s %.60s", variable(env, "SLURM_JOB_ID"),
             variable(env, "SLURM_STEP_ID"), variable(env, "SLURM_RESTART_COUNT"));
  else if (source == DTR_IDENTITY_OPEN_MPI && variable(env, "PMIX_NAMESPACE")[0])
    snprintf(name, NAME_BYTES, "pmix %.400s", variable(env, "PMIX_NAMESPACE"));
}

uint64_t dtr_run_number(const struct dtr_env *env, enum dtr_identity_source source,
                        const char *plan_id) {
  char job[NAME_BYTES];
  const char *name = variable(env, "DTG_RUN");
  if (name[0])
    return number_of(name);
  name_job(env, source, job);
  return number_of(job[0] ? job : plan_id);
}

/* Slurm's numbers begin again with its database, and those of Open MPI come from process ids: no
 * reason to trust what an earlier one has left. */
uint64_t dtr_run_checkpoints(const struct dtr_env *env, uint64_t run) {
  uint64_t number;
  if (variable(env, "DTG_RUN")[0])
    return run;
  env->random(env->context, &number, sizeof number);
  return number | 1;
}
