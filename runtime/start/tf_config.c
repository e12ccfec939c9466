#include "runtime/start/tf_config.h"

#include "runtime/control/control.h"
#include "runtime/start/words.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

/* What is being read: every message names the key. */
struct reading {
  const struct dtr_replication *replication;
  const json_t *cluster, *chief; /* chief: its list, where it is worker 0; NULL: there is none */
  const char *chief_key;
  struct dtr_identity *identity;
  struct dtr_error *error;
};

static bool plan_has(const struct dtr_replication *replication, const char *job) {
  uint32_t task;
  return dtr_plan_find_task(replication, job, 0, &task);
}

static bool malformed(struct reading *reading, const char *key, const char *what) {
  return dtr_error_set(reading->error, DTR_STATUS_CONFIG, "TF_CONFIG: `%.80s` %s", key, what);
}

/* ---- addresses ---- */

static bool is_address(const char *text) {
  char host[DTR_HOST_BYTES];
  int port;
  return dtr_address_split(text, host, &port) && port != 0;
}

static bool take_address(struct reading *reading, const char *job, size_t index,
                         const json_t *value, uint32_t task) {
  char key[128];
  const char *text = json_string_value(value);
  snprintf(key, sizeof key, "cluster.%.60s[%zu]", job, index);
  if (!text || !is_address(text))
    return malformed(reading, key, "must be an address \"host:port\"");
  for (uint32_t t = 0; t < reading->identity->address_count; t++)
    if (reading->identity->addresses[t] && strcmp(reading->identity->addresses[t], text) == 0)
      return dtr_error_set(reading->error, DTR_STATUS_CONFIG,
                           "TF_CONFIG: `%s` is `%.80s`, the address of another task too", key,
                           text);
  reading->identity->addresses[task] = strdup(text);
  return reading->identity->addresses[task] || dtr_error_memory(reading->error, 64, "TF_CONFIG");
}

/* A list, or {"0": address, ...} as sparse clusters have it. */
static const json_t *entry(const json_t *list, size_t index) {
  char key[24];
  if (json_is_array(list))
    return json_array_get(list, index);
  snprintf(key, sizeof key, "%zu", index);
  return json_object_get(list, key);
}

static size_t entries(const json_t *list) {
  return json_is_array(list) ? json_array_size(list) : json_object_size(list);
}

static bool take_list(struct reading *reading, const char *key, const char *job, const json_t *list,
                      int64_t shift) {
  for (size_t i = 0; i < entries(list); i++) {
    uint32_t task;
    if (!dtr_plan_find_task(reading->replication, job, (int64_t)i + shift, &task))
      return dtr_error_set(reading->error, DTR_STATUS_BUG, "TF_CONFIG: more tasks than counted");
    if (!take_address(reading, key, i, entry(list, i), task))
      return false;
  }
  return true;
}

static bool check_list(struct reading *reading, const char *job, const json_t *list) {
  char key[96];
  snprintf(key, sizeof key, "cluster.%.60s", job);
  return json_is_array(list) || json_is_object(list) ||
         malformed(reading, key, "must be a list of addresses");
}

/* How many tasks of a planned job there are, the chief counted as a worker. */
static bool check_count(struct reading *reading, const struct dtr_job *job) {
  const json_t *list = json_object_get(reading->cluster, job->name);
  bool has_chief = reading->chief && strcmp(job->name, "worker") == 0;
  if (list && !check_list(reading, job->name, list))
    return false;
  size_t count = (list ? entries(list) : 0) + (has_chief ? entries(reading->chief) : 0);
  if (count == job->tasks)
    return true;
  char planned[256];
  dtr_plan_describe(reading->replication, planned, sizeof planned);
  dtr_error_set(reading->error, DTR_STATUS_CONFIG,
                "TF_CONFIG: `cluster` has %zu of %s%s; the plan has %s", count, job->name,
                has_chief ? ", the chief among them" : "", planned);
  return dtr_error_hint(reading->error, "build with a cluster of that shape, or correct TF_CONFIG");
}

/* The chief is a worker where the plan has no job of its name. */
static bool find_chief(struct reading *reading) {
  static const char *const names[] = {"chief", "master"};
  for (size_t i = 0; i < 2; i++) {
    const json_t *list = json_object_get(reading->cluster, names[i]);
    if (!list || plan_has(reading->replication, names[i]))
      continue;
    if (!check_list(reading, names[i], list))
      return false;
    if (reading->chief)
      return malformed(reading, "cluster", "has both `chief` and `master`; keep one");
    if (entries(list) != 1)
      return dtr_error_set(reading->error, DTR_STATUS_CONFIG,
                           "TF_CONFIG: `cluster.%s` must have one address, and has %zu", names[i],
                           entries(list));
    reading->chief = list;
    reading->chief_key = names[i];
  }
  return true;
}

static bool is_known(const struct reading *reading, const char *job) {
  return plan_has(reading->replication, job) ||
         (reading->chief_key && strcmp(job, reading->chief_key) == 0);
}

static bool check_jobs(struct reading *reading) {
  const char *job;
  json_t *list;
  char key[96], planned[256];
  json_object_foreach((json_t *)reading->cluster, job, list) {
    snprintf(key, sizeof key, "cluster.%.60s", job);
    if (strcmp(job, "evaluator") == 0 && !is_known(reading, job)) {
      malformed(reading, key, "has no place here: evaluation is part of training");
      return dtr_error_hint(reading->error, "take the evaluator out; `evaluate` in `train` says "
                                            "when the replicas evaluate");
    }
    dtr_plan_describe(reading->replication, planned, sizeof planned);
    if (!is_known(reading, job))
      return dtr_error_set(reading->error, DTR_STATUS_CONFIG,
                           "TF_CONFIG: `%s` is no job of the plan, which has %s", key, planned);
  }
  for (uint32_t j = 0; j < reading->replication->job_count; j++)
    if (!check_count(reading, &reading->replication->jobs[j]))
      return false;
  return true;
}

static bool take_cluster(struct reading *reading) {
  uint32_t count = dtr_plan_task_count(reading->replication);
  if (!find_chief(reading) || !check_jobs(reading))
    return false;
  reading->identity->addresses = calloc(count, sizeof *reading->identity->addresses);
  if (!reading->identity->addresses)
    return dtr_error_memory(reading->error, count * (int64_t)sizeof(char *), "TF_CONFIG");
  reading->identity->address_count = count;
  if (reading->chief && !take_list(reading, reading->chief_key, "worker", reading->chief, 0))
    return false;
  for (uint32_t j = 0; j < reading->replication->job_count; j++) {
    const char *job = reading->replication->jobs[j].name;
    const json_t *list = json_object_get(reading->cluster, job);
    int64_t shift = reading->chief && strcmp(job, "worker") == 0 ? 1 : 0;
    if (list && !take_list(reading, job, job, list, shift))
      return false;
  }
  return true;
}

/* ---- the task ---- */

/* A number, or one in quotes, as some launchers write it. */
static bool read_index(struct reading *reading, const json_t *value, int64_t *index) {
  if (json_is_integer(value)) {
    *index = json_integer_value(value);
    return true;
  }
  const char *text = json_string_value(value);
  if (text && dtr_parse_number(text, index))
    return true;
  return malformed(reading, "task.index", "must be a number from 0");
}

static bool take_task(struct reading *reading, const json_t *task) {
  const char *type = json_string_value(json_object_get(task, "type"));
  int64_t index;
  if (!json_is_object(task))
    return malformed(reading, "task", "must be an object with `type` and `index`");
  if (!type)
    return malformed(reading, "task.type", "must be the name of a job");
  if (strcmp(type, "evaluator") == 0 && !is_known(reading, type)) {
    malformed(reading, "task.type", "is `evaluator`: evaluation is part of training here");
    return dtr_error_hint(reading->error,
                          "do not start an evaluator; `evaluate` in `train` says when the "
                          "replicas evaluate");
  }
  if (!read_index(reading, json_object_get(task, "index"), &index))
    return false;
  bool is_chief = reading->chief_key && strcmp(type, reading->chief_key) == 0;
  const char *job = is_chief ? "worker" : type;
  int64_t shift = reading->chief && !is_chief && strcmp(type, "worker") == 0 ? 1 : 0;
  if (index >= 0 && (!is_chief || index == 0) && index <= INT64_MAX - shift &&
      dtr_plan_find_task(reading->replication, job, index + shift, &reading->identity->task))
    return true;
  return dtr_error_set(reading->error, DTR_STATUS_CONFIG,
                       "TF_CONFIG: `task` is %.60s %" PRId64 ", which is not in `cluster`", type,
                       index);
}

static bool read_root(struct reading *reading, const json_t *root) {
  reading->cluster = json_object_get(root, "cluster");
  if (!json_is_object(root))
    return dtr_error_set(reading->error, DTR_STATUS_CONFIG, "TF_CONFIG: it must be a JSON object");
  if (!json_is_object(reading->cluster))
    return malformed(reading, "cluster", "must be an object: lists of addresses by job");
  return take_cluster(reading) && take_task(reading, json_object_get(root, "task"));
}

bool dtr_tf_config_read(const char *text, const struct dtr_replication *replication,
                        struct dtr_identity *identity, struct dtr_error *error) {
  json_error_t why;
  if (strnlen(text, DTR_TF_CONFIG_LIMIT) == DTR_TF_CONFIG_LIMIT)
    return dtr_error_set(error, DTR_STATUS_CONFIG, "TF_CONFIG: longer than %d bytes",
                         DTR_TF_CONFIG_LIMIT);
  json_t *root = json_loads(text, JSON_REJECT_DUPLICATES, &why);
  if (!root)
    return dtr_error_set(error, DTR_STATUS_CONFIG, "TF_CONFIG: line %d, column %d: %s", why.line,
                         why.column, why.text);
  struct reading reading = {.replication = replication, .identity = identity, .error = error};
  bool good = read_root(&reading, root);
  json_decref(root);
  return good;
}
