#include "compiler/replicate/replicate.h"

#include "compiler/base/bug.h"

#include <string.h>

// What this version refuses, in words that messages share.
#define DTG_REPLICA_LIMIT "places one replica on one device, and no more in this version"
#define DTG_GPU_LIMIT "writes no GPU code in this version"

struct replicate {
  struct dtg_ctx *ctx;
  struct dtg_replication *out;
  uint32_t device; // of the one replica
};

static const char *device_name(const struct replicate *r, uint32_t device) {
  return dtg_cluster_device_name(&r->ctx->arena, r->out->cluster, device);
}

static const struct dtg_job *find_job(const struct dtg_cluster *cluster, const char *name) {
  for (uint32_t j = 0; j < cluster->job_count; j++)
    if (strcmp(cluster->jobs[j].name, name) == 0) return &cluster->jobs[j];
  return NULL;
}

static bool missing_job(const struct replicate *r, struct dtg_span span, const char *name) {
  const struct dtg_cluster *cluster = r->out->cluster;
  struct dtg_diag *diag =
      dtg_error(&r->ctx->diags, span, "the cluster has no job `%s`", name);
  const char *list = "";
  for (uint32_t j = 0; j < cluster->job_count; j++)
    list = dtg_arena_printf(&r->ctx->arena, "%s%s`%s`", list, j ? ", " : "", cluster->jobs[j].name);
  dtg_diag_note(diag, DTG_SPAN_NONE, "its jobs are %s", list);
  dtg_diag_hint(diag, "add it to the cluster, such as `--cluster %s=1,%s`", name,
                strcmp(name, "worker") == 0 ? "ps=1" : "worker=1");
  return false;
}

// How many replicas one level of `replicate` asks for; 0 with an error.
static uint32_t level_count(const struct replicate *r, const struct dtg_replicate_level *level) {
  const struct dtg_cluster *cluster = r->out->cluster;
  if (!level->is_device_type) {
    const struct dtg_job *job = find_job(cluster, level->scope);
    if (job) return job->task_count;
    missing_job(r, level->span, level->scope);
    return 0;
  }
  const struct dtg_job *chief = &cluster->jobs[cluster->chief_job];
  uint32_t count = strcmp(level->scope, "gpu") == 0 ? chief->gpu : chief->cpu;
  if (count == 0) {
    struct dtg_diag *diag = dtg_error(&r->ctx->diags, level->span,
                                      "the tasks of job `%s` have no %s", chief->name, level->scope);
    dtg_diag_hint(diag, "give them one in the cluster, such as `--cluster %s=%u:%s=1`", chief->name,
                  chief->task_count, level->scope);
  }
  return count;
}

static bool check_divides(const struct replicate *r, uint64_t replicas, struct dtg_span span) {
  int64_t shards = r->out->shards;
  if (shards % (int64_t)replicas == 0) return true;
  struct dtg_diag *diag =
      dtg_error(&r->ctx->diags, span, "%llu replicas cannot share %lld shards equally",
                (unsigned long long)replicas, (long long)shards);
  const char *list = "";
  for (int64_t n = 1; n <= shards && n <= 64; n++)
    if (shards % n == 0)
      list = dtg_arena_printf(&r->ctx->arena, "%s%s%lld", list, *list ? ", " : "", (long long)n);
  dtg_diag_hint(diag, "these numbers of replicas would work: %s; or set `shards` in `train`", list);
  return false;
}

static bool count_replicas(const struct replicate *r) {
  const struct dtg_strategy *strategy = r->out->strategy;
  uint64_t replicas = 1;
  for (size_t i = 0; i < strategy->levels.len; i++) {
    uint32_t count = level_count(r, &strategy->levels.data[i]);
    if (count == 0) return false;
    replicas *= count;
    if (replicas > DTG_CLUSTER_MAX_TASKS) replicas = DTG_CLUSTER_MAX_TASKS;
  }
  struct dtg_span span =
      strategy->levels.len ? strategy->levels.data[0].span : strategy->span;
  if (!check_divides(r, replicas, span)) return false;
  if (replicas == 1) return true;
  struct dtg_diag *diag = dtg_error(&r->ctx->diags, span,
                                    "strategy `%s` makes %llu replicas: dtgc " DTG_REPLICA_LIMIT,
                                    strategy->name, (unsigned long long)replicas);
  dtg_diag_hint(diag, "use a strategy without `replicate`, or a cluster in which it makes one "
                      "replica");
  return false;
}

// The device of the replica must be one that this compiler has code for.
static bool check_device(const struct replicate *r, struct dtg_span span) {
  const struct dtg_cluster *cluster = r->out->cluster;
  const struct dtg_job *chief = &cluster->jobs[cluster->chief_job];
  uint32_t index = (r->device - chief->first_device) % dtg_job_devices(chief);
  if (index < chief->cpu) return true;
  struct dtg_diag *diag =
      dtg_error(&r->ctx->diags, span, "%s would compute, but dtgc " DTG_GPU_LIMIT,
                device_name(r, r->device));
  dtg_diag_hint(diag, "leave `gpu` out of the cluster");
  return false;
}

static bool check_update(const struct replicate *r) {
  const struct dtg_update_rule *update = &r->out->strategy->update;
  if (!update->is_async && update->backup == 0) return true;
  struct dtg_diag *diag =
      dtg_error(&r->ctx->diags, update->span, "`update %s` needs at least 2 clients, and there is 1",
                update->is_async ? "async" : "sync backup");
  dtg_diag_hint(diag, "write `update sync`, or replicate between_graph over a job with more tasks");
  return false;
}

// What a device reference names, relative to the replica's task; false with an error.
static bool resolve_device(const struct replicate *r, const struct dtg_device_ref *ref,
                           uint32_t *device) {
  const struct dtg_cluster *cluster = r->out->cluster;
  const struct dtg_job *job = &cluster->jobs[cluster->chief_job];
  uint32_t task = cluster->chief_task;
  if (ref->job) {
    job = find_job(cluster, ref->job);
    if (!job) return missing_job(r, ref->span, ref->job);
    task = ref->task < 0 ? 0 : (uint32_t)ref->task;
  }
  bool gpu = ref->type && strcmp(ref->type, "gpu") == 0;
  uint32_t index = ref->index < 0 ? 0 : (uint32_t)ref->index;
  uint32_t limit = gpu ? job->gpu : job->cpu;
  if (task >= job->task_count || index >= limit) {
    struct dtg_diag *diag = dtg_error(&r->ctx->diags, ref->span, "the cluster has no such device");
    dtg_diag_note(diag, DTG_SPAN_NONE, "job `%s` has %u task%s with %u CPU and %u GPU devices each",
                  job->name, job->task_count, job->task_count == 1 ? "" : "s", job->cpu, job->gpu);
    return false;
  }
  *device = job->first_device + task * dtg_job_devices(job) + (gpu ? job->cpu : 0) + index;
  return true;
}

// With one replica, every rule must come out at the replica's own device.
static bool owner_device(const struct replicate *r, const struct dtg_owner_rule *rule) {
  uint32_t device;
  if (rule->kind != DTG_OWNERS_ON) return true;
  if (!resolve_device(r, &rule->device, &device)) return false;
  if (device == r->device) return true;
  struct dtg_diag *diag = dtg_error(
      &r->ctx->diags, rule->span,
      "parameters on %s and their replica on %s are two devices: dtgc " DTG_REPLICA_LIMIT,
      device_name(r, device), device_name(r, r->device));
  dtg_diag_hint(diag, "leave the `params` clause out");
  return false;
}

static bool make_owners(const struct replicate *r) {
  const struct dtg_strategy *strategy = r->out->strategy;
  for (size_t i = 0; i < strategy->owners.len; i++)
    if (!owner_device(r, &strategy->owners.data[i])) return false;
  struct dtg_cause cause = {"default-owner", strategy->span};
  if (strategy->owners.len) cause = (struct dtg_cause){"params", strategy->owners.data[0].span};
  for (size_t v = 0; v < r->out->module->variables.len; v++) {
    struct dtg_owner owner = {(uint32_t)v, r->device, cause};
    dtg_vec_push(&r->ctx->arena, &r->out->owners, owner);
  }
  return true;
}

static bool is_reduced(enum dtg_root_kind kind) {
  return kind == DTG_ROOT_LOSS || kind == DTG_ROOT_METRIC || kind == DTG_ROOT_GRAD ||
         kind == DTG_ROOT_STATE;
}

static void make_reductions(const struct replicate *r) {
  const struct dtg_graph *train = r->out->module->train;
  for (size_t i = 0; train && i < train->roots.len; i++) {
    const struct dtg_root *root = &train->roots.data[i];
    if (!is_reduced(root->kind)) continue;
    struct dtg_reduction reduction = {root->kind,   root->name, dtg_graph_node(train, root->node)->type,
                                      root->reduce, r->device,  1};
    dtg_vec_push(&r->ctx->arena, &r->out->reductions, reduction);
  }
}

static void warn_unused(const struct replicate *r) {
  const struct dtg_cluster *cluster = r->out->cluster;
  uint32_t count = dtg_cluster_device_count(cluster);
  if (count == 1) return;
  struct dtg_diag *diag = dtg_warning(&r->ctx->diags, r->out->strategy->span,
                                      "strategy `%s` uses 1 of the %u devices of the cluster",
                                      r->out->strategy->name, count);
  dtg_diag_note(diag, DTG_SPAN_NONE, "it is %s", device_name(r, r->device));
}

struct dtg_replication *dtg_replicate(struct dtg_ctx *ctx, const struct dtg_model *model,
                                      const struct dtg_cluster *cluster,
                                      struct dtg_module *module) {
  struct dtg_replication *out = DTG_NEW(&ctx->arena, struct dtg_replication);
  *out = (struct dtg_replication){.model = model,
                                  .cluster = cluster,
                                  .module = module,
                                  .strategy = &model->strategies.data[model->strategy],
                                  .replicas = 1,
                                  .shards = model->train.shards};
  struct replicate r = {ctx, out, dtg_cluster_default_device(cluster)};
  // A level over the CPUs of a task asks for those, whatever else the task has.
  for (size_t i = 0; i < out->strategy->levels.len; i++)
    if (strcmp(out->strategy->levels.data[i].scope, "cpu") == 0) {
      const struct dtg_job *chief = &cluster->jobs[cluster->chief_job];
      r.device = chief->first_device + cluster->chief_task * dtg_job_devices(chief);
    }
  if (!count_replicas(&r) || !check_device(&r, out->strategy->span) || !check_update(&r) ||
      !make_owners(&r))
    return NULL;
  struct dtg_cause cause = {out->strategy->levels.len ? "replicate" : "default-device",
                            out->strategy->levels.len ? out->strategy->levels.data[0].span
                                                      : out->strategy->span};
  struct dtg_replica_family family = {0, 1, r.device, 1, out->shards, cause};
  dtg_vec_push(&ctx->arena, &out->families, family);
  struct dtg_client client = {cluster->chief_job, cluster->chief_task, 0, 1};
  dtg_vec_push(&ctx->arena, &out->clients, client);
  make_reductions(&r);
  warn_unused(&r);
  return out;
}
