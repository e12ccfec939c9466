// The replica map and the client map.
#include "compiler/replicate/internal.h"

#include <string.h>

const char *dtg_replicate_device_name(const struct dtg_replicate *r, uint32_t device) {
  return dtg_cluster_device_name(&r->ctx->arena, r->out->cluster, device);
}

static const struct dtg_job *find_job(const struct dtg_cluster *cluster, const char *name) {
  for (uint32_t j = 0; j < cluster->job_count; j++)
    if (strcmp(cluster->jobs[j].name, name) == 0)
      return &cluster->jobs[j];
  return NULL;
}

const struct dtg_job *dtg_replicate_job(const struct dtg_replicate *r, struct dtg_span span,
                                        const char *name) {
  const struct dtg_cluster *cluster = r->out->cluster;
  const struct dtg_job *job = find_job(cluster, name);
  if (job)
    return job;
  struct dtg_diag *diag = dtg_error(&r->ctx->diags, span, "the cluster has no job `%s`", name);
  const char *list = "";
  for (uint32_t j = 0; j < cluster->job_count; j++)
    list = dtg_arena_printf(&r->ctx->arena, "%s%s`%s`", list, j ? ", " : "", cluster->jobs[j].name);
  dtg_diag_note(diag, DTG_SPAN_NONE,
                cluster->job_count == 1 ? "its only job is %s" : "its jobs are %s", list);
  dtg_diag_hint(diag, "add it to the cluster, such as `--cluster %s=1,%s`", name,
                strcmp(name, "worker") == 0 ? "ps=1" : "worker=1");
  return NULL;
}

// Task 0 of a job, counted over all jobs.
static uint32_t first_task(const struct dtg_cluster *cluster, const struct dtg_job *job) {
  uint32_t task = 0;
  for (const struct dtg_job *j = cluster->jobs; j != job; j++)
    task += j->task_count;
  return task;
}

static const struct dtg_job *chief_job(const struct dtg_cluster *cluster) {
  return &cluster->jobs[cluster->chief_job];
}

static bool refuse_gpu(const struct dtg_replicate *r, struct dtg_span span, uint32_t device,
                       const char *does) {
  struct dtg_diag *diag = dtg_error(&r->ctx->diags, span, "%s would %s, but dtgc " DTG_GPU_LIMIT,
                                    dtg_replicate_device_name(r, device), does);
  dtg_diag_hint(diag, "leave `gpu` out of the cluster, or name its CPU devices");
  return false;
}

// What the levels of `replicate` come to.
struct level_plan {
  const struct dtg_job *job; // whose tasks are replicated; NULL: the chief's task alone
  const char *type;          // device type inside a task; NULL: its default device
  bool between;
  struct dtg_span span; // of the outermost level
};

static bool read_levels(const struct dtg_replicate *r, struct level_plan *out) {
  const struct dtg_strategy *strategy = r->out->strategy;
  *out = (struct level_plan){.span = strategy->span};
  if (strategy->levels.len)
    out->span = strategy->levels.data[0].span;
  for (size_t i = 0; i < strategy->levels.len; i++) {
    const struct dtg_replicate_level *level = &strategy->levels.data[i];
    out->between |= level->kind == DTG_BETWEEN_GRAPH;
    if (level->is_device_type) {
      out->type = level->scope;
    } else {
      out->job = dtg_replicate_job(r, level->span, level->scope);
      if (!out->job)
        return false;
    }
  }
  return true;
}

// Devices of `type` in each of the tasks [task, task + tasks) of a job.
static bool task_devices(const struct dtg_replicate *r, const struct level_plan *plan,
                         const struct dtg_job *job, uint32_t task, uint32_t tasks,
                         struct dtg_device_set *out) {
  bool gpu = plan->type ? strcmp(plan->type, "gpu") == 0 : job->gpu > 0;
  uint32_t inner = !plan->type ? 1 : gpu ? job->gpu : job->cpu;
  uint32_t each = dtg_job_devices(job);
  if (inner == 0) {
    struct dtg_diag *diag = dtg_error(&r->ctx->diags, plan->span,
                                      "the tasks of job `%s` have no %s", job->name, plan->type);
    dtg_diag_hint(diag, "give them one in the cluster, such as `--cluster %s=%u:%s=1`", job->name,
                  job->task_count, plan->type);
    return false;
  }
  *out = (struct dtg_device_set){job->first_device + task * each + (gpu ? job->cpu : 0), tasks,
                                 inner, each, 1};
  return !gpu || refuse_gpu(r, plan->span, out->base, "compute");
}

static void add_clients(struct dtg_replicate *r, const struct level_plan *plan, uint32_t count,
                        uint32_t task, uint32_t first_replica, uint32_t each) {
  struct dtg_replication *out = r->out;
  if (count == 0)
    return;
  const char *rule = plan->between               ? "between_graph"
                     : out->strategy->levels.len ? "in_graph"
                                                 : "default-client";
  struct dtg_client_family family = {out->clients,      count, task, 1, first_replica, each,
                                     {rule, plan->span}};
  dtg_vec_push(&r->ctx->arena, &out->client_families, family);
  out->clients += count;
}

// Between-graph: a client in every task, that of the chief first. In-graph: one, in the chief's
// task.
static void make_clients(struct dtg_replicate *r, const struct level_plan *plan, uint32_t inner) {
  const struct dtg_cluster *cluster = r->out->cluster;
  uint32_t chief = first_task(cluster, chief_job(cluster)) + cluster->chief_task;
  if (!plan->between) {
    add_clients(r, plan, 1, chief, 0, r->out->replicas);
    return;
  }
  uint32_t first = first_task(cluster, plan->job);
  uint32_t at = plan->job == chief_job(cluster) ? cluster->chief_task : 0;
  if (at == 0) {
    add_clients(r, plan, plan->job->task_count, first, 0, inner);
    return;
  }
  add_clients(r, plan, 1, first + at, at * inner, inner);
  add_clients(r, plan, at, first, 0, inner);
  add_clients(r, plan, plan->job->task_count - at - 1, first + at + 1, (at + 1) * inner, inner);
}

// Numbers that divide the shards: all if they are few, else those around the wanted one.
static const char *divisors(struct dtg_arena *arena, int64_t shards, int64_t wanted) {
  enum { EACH_SIDE = 6 };
  int64_t below[EACH_SIDE], above[EACH_SIDE];
  int count_below = 0, count_above = 0;
  const char *list = "";
  for (int64_t n = wanted - 1; n >= 1 && count_below < EACH_SIDE; n--)
    if (shards % n == 0)
      below[count_below++] = n;
  for (int64_t n = wanted + 1; n <= shards && count_above < EACH_SIDE; n++)
    if (shards % n == 0)
      above[count_above++] = n;
  while (count_below-- > 0)
    list =
        dtg_arena_printf(arena, "%s%s%lld", list, *list ? ", " : "", (long long)below[count_below]);
  for (int i = 0; i < count_above; i++)
    list = dtg_arena_printf(arena, "%s%s%lld", list, *list ? ", " : "", (long long)above[i]);
  return list;
}

static bool check_divides(const struct dtg_replicate *r, uint64_t replicas, struct dtg_span span) {
  int64_t shards = r->out->shards;
  if (replicas <= (uint64_t)shards && shards % (int64_t)replicas == 0)
    return true;
  struct dtg_diag *diag =
      dtg_error(&r->ctx->diags, span, "%llu replicas cannot share %lld shard%s equally",
                (unsigned long long)replicas, (long long)shards, shards == 1 ? "" : "s");
  int64_t wanted = replicas > (uint64_t)shards ? shards + 1 : (int64_t)replicas;
  dtg_diag_hint(diag, "these numbers of replicas would work: %s; or set `shards` in `train`",
                divisors(&r->ctx->arena, shards, wanted));
  return false;
}

bool dtg_replicate_maps(struct dtg_replicate *r) {
  const struct dtg_cluster *cluster = r->out->cluster;
  struct level_plan plan;
  struct dtg_replica_family family = {.first = 0};
  if (!read_levels(r, &plan))
    return false;
  const struct dtg_job *job = plan.job ? plan.job : chief_job(cluster);
  uint32_t task = plan.job ? 0 : cluster->chief_task;
  if (!task_devices(r, &plan, job, task, plan.job ? job->task_count : 1, &family.devices))
    return false;
  uint64_t replicas = (uint64_t)family.devices.outer * family.devices.inner;
  if (!check_divides(r, replicas, plan.span))
    return false;
  family.cause =
      (struct dtg_cause){r->out->strategy->levels.len ? "replicate" : "default-device", plan.span};
  r->out->replicas = (uint32_t)replicas;
  dtg_vec_push(&r->ctx->arena, &r->out->families, family);
  make_clients(r, &plan, family.devices.inner);
  return true;
}

static bool is_gpu(const struct dtg_device_ref *ref) {
  return ref->type && strcmp(ref->type, "gpu") == 0;
}

bool dtg_replicate_find(const struct dtg_replicate *r, const struct dtg_device_ref *ref,
                        struct dtg_device_set *out) {
  const struct dtg_cluster *cluster = r->out->cluster;
  const struct dtg_job *job = ref->job ? find_job(cluster, ref->job) : chief_job(cluster);
  uint32_t task = cluster->chief_task, tasks = 1;
  if (!job)
    return false;
  if (ref->job) {
    task = ref->task < 0 ? 0 : (uint32_t)ref->task;
    tasks = ref->task < 0 ? job->task_count : 1;
  }
  uint32_t index = ref->index < 0 ? 0 : (uint32_t)ref->index, each = dtg_job_devices(job);
  if (task >= job->task_count || index >= (is_gpu(ref) ? job->gpu : job->cpu))
    return false;
  *out = (struct dtg_device_set){
      job->first_device + task * each + (is_gpu(ref) ? job->cpu : 0) + index, tasks, 1, each, 1};
  return true;
}

bool dtg_replicate_resolve(const struct dtg_replicate *r, const struct dtg_device_ref *ref,
                           struct dtg_device_set *out) {
  if (dtg_replicate_find(r, ref, out))
    return !is_gpu(ref) || refuse_gpu(r, ref->span, out->base, "hold parameters");
  const struct dtg_job *job =
      ref->job ? dtg_replicate_job(r, ref->span, ref->job) : chief_job(r->out->cluster);
  if (!job)
    return false;
  struct dtg_diag *diag = dtg_error(&r->ctx->diags, ref->span, "the cluster has no such device");
  dtg_diag_note(diag, DTG_SPAN_NONE, "job `%s` has %u task%s with %u CPU and %u GPU devices each",
                job->name, job->task_count, job->task_count == 1 ? "" : "s", job->cpu, job->gpu);
  return false;
}
