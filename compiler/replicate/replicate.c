// The entry of stage 7: maps, owners, what is legal, reductions.
#include "compiler/replicate/internal.h"

#include <string.h>

static bool backup_fits(const struct dtg_replicate *r) {
  const struct dtg_update_rule *update = &r->out->strategy->update;
  uint32_t clients = r->out->clients;
  if (update->backup < (int64_t)clients)
    return true;
  struct dtg_diag *diag =
      dtg_error(&r->ctx->diags, update->span, "`backup %lld` leaves no contribution of %u clients",
                (long long)update->backup, clients);
  dtg_diag_hint(diag, clients == 2 ? "write `backup 1`" : "write `backup 1` to `backup %u`",
                clients - 1);
  return false;
}

bool dtg_replicate_legal(const struct dtg_replicate *r) {
  const struct dtg_strategy *strategy = r->out->strategy;
  const struct dtg_update_rule *update = &strategy->update;
  if (!update->is_async && update->backup == 0)
    return true;
  if (r->out->clients >= 2)
    return update->is_async || backup_fits(r);
  struct dtg_diag *diag = dtg_error(&r->ctx->diags, update->span,
                                    "`update %s` needs at least 2 clients, and there is 1",
                                    update->is_async ? "async" : "sync backup");
  if (strategy->levels.len)
    dtg_diag_note(diag, strategy->levels.data[0].span, "the cluster has 1 task of job `%s`",
                  strategy->levels.data[0].scope);
  dtg_diag_hint(diag, "write `update sync`, or replicate between_graph over a job with more tasks");
  return false;
}

bool dtg_publishes_rows(const struct dtg_replication *replication, const struct dtg_sparse *table) {
  return table->touched && !replication->relaxed;
}

static bool is_reduced(enum dtg_root_kind kind) {
  return kind == DTG_ROOT_LOSS || kind == DTG_ROOT_METRIC || kind == DTG_ROOT_GRAD ||
         kind == DTG_ROOT_STATE;
}

static uint32_t variable_of(const struct dtg_module *module, const struct dtg_root *root) {
  if (root->kind != DTG_ROOT_GRAD && root->kind != DTG_ROOT_STATE)
    return DTG_NO_NODE;
  for (uint32_t v = 0; v < module->variables.len; v++)
    if (module->variables.data[v].path == root->name)
      return v;
  return DTG_NO_NODE;
}

static void make_reductions(const struct dtg_replicate *r) {
  const struct dtg_graph *train = r->out->module->train;
  for (size_t i = 0; train && i < train->roots.len; i++) {
    const struct dtg_root *root = &train->roots.data[i];
    if (!is_reduced(root->kind))
      continue;
    struct dtg_reduction reduction = {root->kind, root->name,
                                      dtg_graph_node(train, root->node)->type, root->reduce,
                                      variable_of(r->out->module, root)};
    dtg_vec_push(&r->ctx->arena, &r->out->reductions, reduction);
  }
}

static void warn_unused(const struct dtg_replicate *r) {
  const struct dtg_cluster *cluster = r->out->cluster;
  uint32_t count = dtg_cluster_device_count(cluster), used = 0;
  for (uint32_t j = 0; j < cluster->job_count; j++)
    used += dtg_job_used(r->out, &cluster->jobs[j]);
  if (used == count)
    return;
  struct dtg_diag *diag = dtg_warning(&r->ctx->diags, r->out->strategy->span,
                                      "strategy `%s` uses %u of the %u devices of the cluster",
                                      r->out->strategy->name, used, count);
  for (uint32_t j = 0; j < cluster->job_count; j++) {
    const struct dtg_job *job = &cluster->jobs[j];
    uint32_t all = job->task_count * dtg_job_devices(job), mine = dtg_job_used(r->out, job);
    if (mine < all)
      dtg_diag_note(diag, DTG_SPAN_NONE, "job `%s`: %u of %u", job->name, mine, all);
  }
}

enum { MANY_PAIRS = 64 };

// mirrored and sharded connect every replica with every owner.
static void warn_pairs(const struct dtg_replicate *r) {
  const struct dtg_replication *out = r->out;
  if (out->replicas <= MANY_PAIRS)
    return;
  for (size_t i = 0; i < out->slices.len; i++) {
    if (out->slices.data[i].kind == DTG_OWNERS_ON)
      continue;
    struct dtg_diag *diag =
        dtg_warning(&r->ctx->diags, out->slices.data[i].cause.span,
                    "%zu owners and %u replicas make %llu connections", out->owners.len,
                    out->replicas, (unsigned long long)out->owners.len * (out->replicas - 1ull));
    dtg_diag_hint(diag, "parameters on a job of few tasks need fewer");
    return;
  }
}

static bool replicate(struct dtg_replicate *r) {
  struct dtg_module *module = r->out->module;
  if (module->update)
    r->split = dtg_update_split_new(r->scratch, module, dtg_groups_new(r->scratch, module->update));
  if (!dtg_replicate_maps(r) || !dtg_replicate_legal(r))
    return false;
  r->out->partial_sums = dtg_partial_sums_of(&r->ctx->arena, r->out->model->train.batch,
                                             r->out->shards, r->out->replicas);
  if (!dtg_replicate_owners(r))
    return false;
  make_reductions(r);
  warn_unused(r);
  warn_pairs(r);
  return true;
}

struct dtg_replication *dtg_replicate(struct dtg_ctx *ctx, const struct dtg_model *model,
                                      const struct dtg_cluster *cluster,
                                      struct dtg_module *module) {
  struct dtg_replication *out = DTG_NEW(&ctx->arena, struct dtg_replication);
  struct dtg_arena scratch = {0};
  *out = (struct dtg_replication){.model = model,
                                  .cluster = cluster,
                                  .module = module,
                                  .strategy = &model->strategies.data[model->strategy],
                                  .shards = model->train.shards};
  out->relaxed = out->strategy->update.is_async || out->strategy->update.backup > 0;
  struct dtg_replicate r = {.ctx = ctx, .scratch = &scratch, .out = out};
  bool good = replicate(&r);
  dtg_arena_free(&scratch);
  return good ? out : NULL;
}
