#include "runtime/start/identity.h"

#include "runtime/nearest.h"
#include "runtime/start/tf_config.h"
#include "runtime/start/words.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- tasks by name ---- */

uint32_t dtr_plan_task_count(const struct dtr_replication *replication) {
  uint32_t count = 0;
  for (uint32_t j = 0; j < replication->job_count; j++)
    count += replication->jobs[j].tasks;
  return count;
}

bool dtr_plan_find_task(const struct dtr_replication *replication, const char *job, int64_t index,
                        uint32_t *task) {
  uint32_t first = 0;
  for (uint32_t j = 0; j < replication->job_count; j++) {
    if (strcmp(replication->jobs[j].name, job) == 0) {
      if (index < 0 || index >= replication->jobs[j].tasks)
        return false;
      *task = first + (uint32_t)index;
      return true;
    }
    first += replication->jobs[j].tasks;
  }
  return false;
}

void dtr_plan_describe(const struct dtr_replication *replication, char *text, size_t size) {
  size_t length = 0;
  text[0] = '\0';
  for (uint32_t j = 0; j < replication->job_count && length < size; j++)
    length += (size_t)snprintf(text + length, size - length, "%s%u of %s", j > 0 ? ", " : "",
                               replication->jobs[j].tasks, replication->jobs[j].name);
}

/* ---- JOB/INDEX ---- */

static const struct dtr_job *find_job(const struct dtr_replication *replication, const char *name) {
  for (uint32_t j = 0; j < replication->job_count; j++)
    if (strcmp(replication->jobs[j].name, name) == 0)
      return &replication->jobs[j];
  return NULL;
}

static bool no_such_job(const struct dtr_replication *replication, enum dtr_status status,
                        const char *source, const char *job, struct dtr_error *error) {
  char planned[256];
  struct dtr_nearest nearest;
  dtr_nearest_begin(&nearest, job, strlen(job));
  for (uint32_t j = 0; j < replication->job_count; j++)
    dtr_nearest_try(&nearest, replication->jobs[j].name);
  dtr_plan_describe(replication, planned, sizeof planned);
  dtr_error_set(error, status, "%s names the job `%.60s`; the plan has %s", source, job, planned);
  return nearest.best[0] ? dtr_error_hint(error, "is it `%s`?", nearest.best) : false;
}

/* "worker/1" */
static bool find_named(const struct dtr_replication *replication, enum dtr_status status,
                       const char *source, const char *text, uint32_t *task,
                       struct dtr_error *error) {
  char job[64];
  int64_t index;
  const char *slash = strchr(text, '/');
  size_t length = slash ? (size_t)(slash - text) : 0;
  if (length == 0 || length >= sizeof job || !dtr_parse_number(slash + 1, &index)) {
    dtr_error_set(error, status, "%s is `%.80s`, which is no task", source, text);
    return dtr_error_hint(error, "write JOB/INDEX, such as %s/0", replication->jobs[0].name);
  }
  memcpy(job, text, length);
  job[length] = '\0';
  const struct dtr_job *found = find_job(replication, job);
  if (!found)
    return no_such_job(replication, status, source, job, error);
  if (dtr_plan_find_task(replication, job, index, task))
    return true;
  dtr_error_set(error, status, "%s is `%.80s`, and the plan has %u tasks of job `%s`", source, text,
                found->tasks, job);
  return dtr_error_hint(error, "indices count from 0; build for a larger cluster to have more");
}

/* ---- ranks ---- */

static bool read_count(const struct dtr_env *env, const char *name, int64_t *count,
                       struct dtr_error *error) {
  const char *text = dtr_variable(env, name);
  if (!text)
    return dtr_error_set(error, DTR_STATUS_CONFIG, "the environment has no %s", name);
  if (dtr_parse_number(text, count))
    return true;
  return dtr_error_set(error, DTR_STATUS_CONFIG, "%s is `%.40s`, which is no count", name, text);
}

/* Task n of the plan is rank n. */
static bool find_ranked(const struct dtr_env *env, const struct dtr_replication *replication,
                        const char *rank_name, const char *size_name, struct dtr_identity *identity,
                        struct dtr_error *error) {
  int64_t rank, size;
  char planned[256];
  const char *source = dtr_identity_source_text(identity->source);
  if (!read_count(env, rank_name, &rank, error) || !read_count(env, size_name, &size, error))
    return dtr_error_hint(error, "say which task this is with --task or DTG_TASK");
  if (size == 1) {
    identity->source = DTR_IDENTITY_NONE;
    return true;
  }
  dtr_plan_describe(replication, planned, sizeof planned);
  uint32_t tasks = dtr_plan_task_count(replication);
  if (size != tasks) {
    dtr_error_set(error, DTR_STATUS_CONFIG,
                  "%s has started %" PRId64 " processes, and the plan has %u tasks: %s", source,
                  size, tasks, planned);
    return dtr_error_hint(error, "start %u, or build for another cluster", tasks);
  }
  if (rank >= size)
    return dtr_error_set(error, DTR_STATUS_CONFIG,
                         "%s is %" PRId64 " where %s is %" PRId64 ": ranks count from 0", rank_name,
                         rank, size_name, size);
  identity->task = (uint32_t)rank;
  return true;
}

/* ---- all sources ---- */

const char *dtr_identity_source_text(enum dtr_identity_source source) {
  static const char *const texts[] = {
#define X(name, text, variable) text,
#include "runtime/start/sources.def"
#undef X
  };
  return texts[source];
}

static enum dtr_identity_source find_source(const struct dtr_env *env, const char *flag) {
  static const char *const variables[] = {
#define X(name, text, variable) variable,
#include "runtime/start/sources.def"
#undef X
  };
  if (flag)
    return DTR_IDENTITY_FLAG;
  for (int source = 0; source < DTR_IDENTITY_SOURCES; source++)
    if (variables[source] && dtr_variable(env, variables[source]))
      return (enum dtr_identity_source)source;
  return DTR_IDENTITY_NONE;
}

bool dtr_identity_find(const struct dtr_env *env, const struct dtr_replication *replication,
                       const char *flag, struct dtr_identity *identity, struct dtr_error *error) {
  struct dtr_identity found = {.source = find_source(env, flag)};
  bool good = true;
  switch (found.source) {
  case DTR_IDENTITY_FLAG:
    good = find_named(replication, DTR_STATUS_USAGE, "--task", flag, &found.task, error);
    break;
  case DTR_IDENTITY_VARIABLE:
    good = find_named(replication, DTR_STATUS_CONFIG, "DTG_TASK", dtr_variable(env, "DTG_TASK"),
                      &found.task, error);
    break;
  case DTR_IDENTITY_TF_CONFIG:
    good = dtr_tf_config_read(dtr_variable(env, "TF_CONFIG"), replication, &found, error);
    break;
  case DTR_IDENTITY_SLURM:
    good = find_ranked(env, replication, "SLURM_PROCID", "SLURM_NTASKS", &found, error);
    break;
  case DTR_IDENTITY_OPEN_MPI:
    good = find_ranked(env, replication, "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", &found,
                       error);
    break;
  default:
    break;
  }
  if (good)
    *identity = found;
  else
    dtr_identity_free(&found);
  return good;
}

void dtr_identity_free(struct dtr_identity *identity) {
  for (uint32_t i = 0; i < identity->address_count; i++)
    free(identity->addresses[i]);
  free(identity->addresses);
  *identity = (struct dtr_identity){0};
}
