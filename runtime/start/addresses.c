#include "runtime/start/addresses.h"

#include "runtime/control/control.h"
#include "runtime/nearest.h"
#include "runtime/start/identity.h"

#include <libconfig.h>
#include <stdlib.h>
#include <string.h>

struct reader {
  const char *path;
  const struct dtr_replication *replication;
  struct dtr_error *error;
};

static bool place(struct reader *reader, const config_setting_t *setting) {
  char where[192];
  unsigned line = setting ? config_setting_source_line(setting) : 0;
  snprintf(where, sizeof where, line > 0 ? "%s:%u" : "%s", reader->path, line);
  return dtr_error_where(reader->error, where);
}

static bool read_job(struct reader *reader, const config_setting_t *jobs, const struct dtr_job *job,
                     char **addresses) {
  const config_setting_t *group = config_setting_get_member(jobs, job->name);
  const config_setting_t *tasks = group ? config_setting_get_member(group, "tasks") : NULL;
  char host[DTR_HOST_BYTES], planned[256];
  int port, count = tasks && config_setting_is_aggregate(tasks) ? config_setting_length(tasks) : 0;
  dtr_plan_describe(reader->replication, planned, sizeof planned);
  if (count != (int)job->tasks) {
    if (!group)
      dtr_error_set(reader->error, DTR_STATUS_CONFIG, "`jobs` has no job `%s`; the plan has %s",
                    job->name, planned);
    else
      dtr_error_set(reader->error, DTR_STATUS_CONFIG,
                    "job `%s` has %d addresses in `tasks`; the plan has %s", job->name, count,
                    planned);
    dtr_error_hint(reader->error,
                   "write `%s: { tasks = [ \"HOST:PORT\" ]; };`, an address for "
                   "each task",
                   job->name);
    return place(reader, tasks ? tasks : group ? group : jobs);
  }
  for (int i = 0; i < count; i++) {
    const config_setting_t *item = config_setting_get_elem(tasks, (unsigned)i);
    const char *text = config_setting_get_string(item);
    if (!text || !dtr_address_split(text, host, &port) || port == 0) {
      dtr_error_set(reader->error, DTR_STATUS_CONFIG, "task %d of job `%s`: `%.80s` is no address",
                    i, job->name, text ? text : "?");
      dtr_error_hint(reader->error, "an address is \"HOST:PORT\" with a port from 1 to 65535");
      return place(reader, item);
    }
    addresses[i] = strdup(text);
    if (!addresses[i])
      return dtr_error_memory(reader->error, (int64_t)strlen(text), "the addresses");
  }
  return true;
}

static bool refuse_other_jobs(struct reader *reader, const config_setting_t *jobs) {
  for (int i = 0; i < config_setting_length(jobs); i++) {
    const config_setting_t *group = config_setting_get_elem(jobs, (unsigned)i);
    const char *name = config_setting_name(group);
    bool known = false;
    for (uint32_t j = 0; j < reader->replication->job_count; j++)
      known = known || strcmp(reader->replication->jobs[j].name, name) == 0;
    if (known)
      continue;
    char planned[256];
    dtr_plan_describe(reader->replication, planned, sizeof planned);
    dtr_error_set(reader->error, DTR_STATUS_CONFIG,
                  "`jobs` has a job `%.60s` that the plan does not have: it has %s", name, planned);
    dtr_error_hint(reader->error, "use the cluster that the program was built for, with other "
                                  "addresses");
    return place(reader, group);
  }
  return true;
}

static bool read_jobs(struct reader *reader, const config_t *config, char **addresses) {
  const config_setting_t *jobs = config_lookup(config, "jobs");
  uint32_t first = 0;
  if (!jobs || !config_setting_is_group(jobs)) {
    dtr_error_set(reader->error, DTR_STATUS_CONFIG, "the cluster has no group `jobs`");
    dtr_error_hint(reader->error, "add `jobs: { worker: { tasks = [ \"10.0.0.1:2222\" ]; }; };`");
    return place(reader, jobs);
  }
  if (!refuse_other_jobs(reader, jobs))
    return false;
  for (uint32_t j = 0; j < reader->replication->job_count; j++) {
    if (!read_job(reader, jobs, &reader->replication->jobs[j], addresses + first))
      return false;
    first += reader->replication->jobs[j].tasks;
  }
  return true;
}

static bool refuse_twice(struct reader *reader, char **addresses) {
  uint32_t count = dtr_plan_task_count(reader->replication);
  for (uint32_t a = 0; a < count; a++)
    for (uint32_t b = 0; b < a; b++)
      if (strcmp(addresses[a], addresses[b]) == 0) {
        dtr_error_set(reader->error, DTR_STATUS_CONFIG, "two tasks have the address `%s`",
                      addresses[a]);
        dtr_error_hint(reader->error, "give each task a port of its own");
        return place(reader, NULL);
      }
  return true;
}

bool dtr_addresses_parse(const char *text, const char *path,
                         const struct dtr_replication *replication, char ***addresses,
                         struct dtr_error *error) {
  uint32_t count = dtr_plan_task_count(replication);
  struct reader reader = {path, replication, error};
  config_t config;
  char **made = calloc((size_t)count + 1, sizeof *made);
  if (!made)
    return dtr_error_memory(error, count, "the addresses");
  config_init(&config);
  bool good = config_read_string(&config, text) == CONFIG_TRUE;
  if (!good) {
    char where[192];
    dtr_error_set(error, DTR_STATUS_CONFIG, "not a cluster file: %s", config_error_text(&config));
    dtr_error_hint(error, "its format is that of libconfig: names, `=` or `:`, values, `;`");
    snprintf(where, sizeof where, "%s:%d", path, config_error_line(&config));
    dtr_error_where(error, where);
  }
  good = good && read_jobs(&reader, &config, made) && refuse_twice(&reader, made);
  config_destroy(&config);
  if (good)
    *addresses = made;
  else
    dtr_addresses_free(made, count);
  return good;
}

static bool read_text(const struct dtr_env *env, const char *path, char **text,
                      struct dtr_error *error) {
  struct dtr_file_info info;
  int file = env->file_open(env->context, path, DTR_FILE_READ), result = file;
  char *made = NULL;
  if (file >= 0)
    result = env->file_info(env->context, file, &info);
  if (result >= 0 && (!info.is_regular || info.size > DTR_CLUSTER_FILE_LIMIT))
    result = -1;
  bool is_odd = result == -1 && file >= 0;
  if (result >= 0) {
    made = calloc(1, (size_t)info.size + 1);
    result = made ? dtr_env_pread_all(env, file, made, (size_t)info.size, 0) : -12;
  }
  if (file >= 0)
    env->file_close(env->context, file);
  if (result >= 0) {
    *text = made;
    return true;
  }
  free(made);
  if (is_odd)
    dtr_error_set(error, DTR_STATUS_USAGE, "--cluster %s: no file of at most %d bytes", path,
                  DTR_CLUSTER_FILE_LIMIT);
  else
    dtr_error_system(error, DTR_STATUS_USAGE, result, "--cluster %s cannot be read", path);
  return dtr_error_hint(error, "--cluster names the file with the addresses of the tasks");
}

bool dtr_addresses_read(const struct dtr_env *env, const char *path,
                        const struct dtr_replication *replication, char ***addresses,
                        struct dtr_error *error) {
  char *text;
  if (!read_text(env, path, &text, error))
    return false;
  bool good = dtr_addresses_parse(text, path, replication, addresses, error);
  free(text);
  return good;
}

void dtr_addresses_free(char **addresses, uint32_t count) {
  for (uint32_t i = 0; addresses && i < count; i++)
    free(addresses[i]);
  free(addresses);
}
