// The tables of replication: maps as they are, and the update as launches over blocks, phase by
// phase.
#include "compiler/base/bug.h"
#include "compiler/ir/sparse.h"
#include "compiler/program.h"

#include <string.h>

struct tables {
  struct dtg_ctx *ctx;
  struct dtg_arena scratch;
  const struct dtg_replication *r;
  const struct dtg_plan *plan;
  const struct dtg_plan_function *update;
  const struct dtg_update_split *split;
  const enum dtg_rows *rows; // by group of the update
  struct dtr_replication *out;
  int64_t *offsets; // per node of the update: its place in the owners' arena, -1: none yet
};

static void put_jobs(struct tables *t) {
  const struct dtg_cluster *cluster = t->r->cluster;
  struct dtr_job *jobs = DTG_NEW_ARRAY(&t->ctx->arena, struct dtr_job, cluster->job_count);
  for (uint32_t j = 0; j < cluster->job_count; j++) {
    const struct dtg_job *job = &cluster->jobs[j];
    jobs[j] = (struct dtr_job){job->name, job->task_count, job->cpu, job->gpu, job->threads};
  }
  t->out->job_count = cluster->job_count;
  t->out->jobs = jobs;
}

static void put_families(struct tables *t) {
  const struct dtg_replication *r = t->r;
  struct dtr_replica_family *replicas =
      DTG_NEW_ARRAY(&t->ctx->arena, struct dtr_replica_family, r->families.len);
  struct dtr_client_family *clients =
      DTG_NEW_ARRAY(&t->ctx->arena, struct dtr_client_family, r->client_families.len);
  for (size_t i = 0; i < r->families.len; i++) {
    const struct dtg_device_set *d = &r->families.data[i].devices;
    replicas[i] = (struct dtr_replica_family){
        r->families.data[i].first, d->outer, d->inner, d->base, d->outer_stride, d->inner_stride};
  }
  for (size_t i = 0; i < r->client_families.len; i++) {
    const struct dtg_client_family *c = &r->client_families.data[i];
    clients[i] = (struct dtr_client_family){c->first,       c->count,         c->task,
                                            c->task_stride, c->first_replica, c->replicas_each};
  }
  t->out->replicas = r->replicas;
  t->out->replica_family_count = (uint32_t)r->families.len;
  t->out->replica_families = replicas;
  t->out->client_family_count = (uint32_t)r->client_families.len;
  t->out->client_families = clients;
}

static void put_slices(struct tables *t) {
  const struct dtg_replication *r = t->r;
  struct dtr_slice *slices = DTG_NEW_ARRAY(&t->ctx->arena, struct dtr_slice, r->slices.len);
  for (size_t i = 0; i < r->slices.len; i++) {
    const struct dtg_slice *s = &r->slices.data[i];
    slices[i] = (struct dtr_slice){s->variable, s->first, s->elements,
                                   s->block,    s->owner, (enum dtr_owner_kind)s->kind};
  }
  t->out->slice_count = (uint32_t)r->slices.len;
  t->out->slices = slices;
}

// ---- the update ----

static int64_t aligned(int64_t bytes) {
  return (bytes + DTR_ALIGN - 1) / DTR_ALIGN * DTR_ALIGN;
}

static int64_t take(struct tables *t, int64_t bytes) {
  int64_t at = t->out->update_arena_bytes;
  t->out->update_arena_bytes += aligned(bytes);
  return at;
}

// Values keep their place to the end of the update: launches run in another order than on one
// device.
static int64_t place_node(struct tables *t, uint32_t node) {
  if (t->offsets[node] < 0)
    t->offsets[node] = take(t, dtg_type_bytes(&dtg_graph_node(t->update->graph, node)->type));
  return t->offsets[node];
}

static uint32_t variable_at(const struct tables *t, int64_t offset) {
  for (uint32_t v = 0; v < t->plan->module->variables.len; v++)
    if (t->plan->variable_offsets[v] == offset)
      return v;
  dtg_bug("no variable lies at %lld", (long long)offset);
}

static uint32_t contribution_at(const struct tables *t, int64_t offset) {
  for (uint32_t i = 0; i < t->plan->contributions.len; i++)
    if (t->plan->contributions.data[i].offset == offset)
      return i;
  dtg_bug("no contribution lies at %lld", (long long)offset);
}

static bool is_block_sum(const struct tables *t, uint32_t node) {
  const struct dtg_op_def *op = dtg_graph_node(t->update->graph, node)->op;
  return op->class == DTG_CLASS_REDUCE && op->form == DTG_REDUCE_BLOCKS;
}

static struct dtr_update_buffer find_buffer(struct tables *t, const struct dtg_plan_step *step,
                                            size_t index) {
  const struct dtg_location *at = &step->args.data[index];
  uint32_t node = step->nodes.data[index];
  const struct dtg_group *group = &t->update->groups->groups[step->group];
  switch (at->space) {
  case DTG_SPACE_VARIABLE:
    return (struct dtr_update_buffer){DTR_SPACE_VARIABLE, variable_at(t, at->offset), 0, false,
                                      false};
  case DTG_SPACE_CONTRIBUTION:
    return (struct dtr_update_buffer){DTR_SPACE_CONTRIBUTION, contribution_at(t, at->offset), 0,
                                      false, false};
  case DTG_SPACE_SCALAR:
    return (struct dtr_update_buffer){DTR_SPACE_SCALAR, at->index, 0, false, false};
  case DTG_SPACE_ARENA:
    if (node == DTG_NO_NODE)
      return (struct dtr_update_buffer){DTR_SPACE_ARENA, 0,
                                        take(t, dtg_type_bytes(&group->buffers.data[index].type)),
                                        false, true};
    return (struct dtr_update_buffer){DTR_SPACE_ARENA, 0, place_node(t, node),
                                      is_block_sum(t, node), false};
  default:
    dtg_bug("an update reads an input of the model");
  }
}

static struct dtr_update_buffer make_buffer(struct tables *t, const struct dtg_plan_step *step,
                                            size_t index) {
  struct dtr_update_buffer buffer = find_buffer(t, step, index);
  buffer.written = t->update->groups->groups[step->group].buffers.data[index].written;
  return buffer;
}

static struct dtr_update_launch make_launch(struct tables *t, uint32_t first_launch, uint32_t s) {
  const struct dtg_plan_step *step = &t->update->steps.data[s];
  const struct dtg_update_group *group = &t->split->groups[step->group];
  struct dtr_update_buffer *buffers =
      DTG_NEW_ARRAY(&t->ctx->arena, struct dtr_update_buffer, step->args.len);
  for (size_t i = 0; i < step->args.len; i++)
    buffers[i] = make_buffer(t, step, i);
  struct dtr_update_launch launch = {.launch = first_launch + s,
                                     .tiles = t->plan->kernels.data[step->kernel]->tiles,
                                     .variable = group->variable,
                                     .phase = group->phase,
                                     .whole = group->whole,
                                     .rows = (enum dtr_launch_rows)t->rows[step->group],
                                     .buffer_count = (uint32_t)step->args.len,
                                     .buffers = buffers};
  if (group->block == 0)
    return launch;
  const struct dtg_variable *v = &t->plan->module->variables.data[group->variable];
  if (launch.tiles != dtg_block_count(&v->type.shape))
    dtg_bug("the update of `%s` has %lld tiles and not one for each block", v->path,
            (long long)launch.tiles);
  return launch;
}

int64_t dtg_program_update_arena(const struct dtg_replication *replication,
                                 const struct dtg_plan *plan) {
  const struct dtg_plan_function *update = &plan->functions[DTG_PLAN_UPDATE];
  struct dtg_arena scratch = {0};
  int64_t bytes = 0;
  if ((replication->single && plan->module->sparse.len == 0) || !update->graph)
    return 0;
  bool *seen = DTG_NEW_ARRAY(&scratch, bool, update->graph->nodes.len);
  for (size_t s = 0; s < update->steps.len; s++) {
    const struct dtg_plan_step *step = &update->steps.data[s];
    const struct dtg_group *group = &update->groups->groups[step->group];
    for (size_t i = 0; i < step->args.len; i++) {
      uint32_t node = step->nodes.data[i];
      if (step->args.data[i].space != DTG_SPACE_ARENA || (node != DTG_NO_NODE && seen[node]))
        continue;
      if (node != DTG_NO_NODE)
        seen[node] = true;
      const struct dtg_type *type = node == DTG_NO_NODE
                                        ? &group->buffers.data[i].type
                                        : &dtg_graph_node(update->graph, node)->type;
      bytes += aligned(dtg_type_bytes(type));
    }
  }
  dtg_arena_free(&scratch);
  return bytes;
}

static uint32_t first_update_launch(const struct dtg_plan *plan) {
  size_t count = 0;
  for (int i = 0; i < DTG_PLAN_UPDATE; i++)
    if (plan->functions[i].graph)
      count += dtg_plan_launch_count(&plan->functions[i]);
  return (uint32_t)count;
}

// The order of the plan, phase by phase: nothing waits for a launch of a later phase.
static void put_launches(struct tables *t) {
  uint32_t first = first_update_launch(t->plan), count = (uint32_t)t->update->steps.len, next = 0;
  struct dtr_update_launch *launches =
      DTG_NEW_ARRAY(&t->ctx->arena, struct dtr_update_launch, count);
  for (uint32_t phase = 0; phase < t->split->phases; phase++)
    for (uint32_t s = 0; s < count; s++)
      if (t->split->groups[t->update->steps.data[s].group].phase == phase)
        launches[next++] = make_launch(t, first, s);
  t->out->update_launch_count = next;
  t->out->update_launches = launches;
}

static void put_exchanges(struct tables *t) {
  size_t count = t->split->exchanges.len;
  struct dtr_exchange *exchanges = DTG_NEW_ARRAY(&t->ctx->arena, struct dtr_exchange, count);
  for (size_t i = 0; i < count; i++) {
    const struct dtg_update_exchange *e = &t->split->exchanges.data[i];
    exchanges[i] = (struct dtr_exchange){e->phase, e->variable, place_node(t, e->node), e->blocks};
  }
  t->out->exchange_count = (uint32_t)count;
  t->out->exchanges = exchanges;
}

static void put_update(struct tables *t) {
  t->out->phase_count = 1;
  if (!t->update->graph)
    return;
  t->split = dtg_update_split_new(&t->scratch, t->plan->module, t->update->groups);
  t->offsets = DTG_NEW_ARRAY(&t->scratch, int64_t, t->update->graph->nodes.len);
  for (size_t n = 0; n < t->update->graph->nodes.len; n++)
    t->offsets[n] = -1;
  t->rows = dtg_sparse_groups(&t->scratch, t->plan->module, t->update->groups, t->split);
  t->out->phase_count = t->split->phases;
  put_launches(t);
  put_exchanges(t);
  if (t->out->update_arena_bytes != dtg_program_update_arena(t->r, t->plan))
    dtg_bug("the owners' arena has %lld bytes and not what the plan says",
            (long long)t->out->update_arena_bytes);
}

struct dtr_replication *dtg_program_replication(struct dtg_ctx *ctx,
                                                const struct dtg_replication *replication,
                                                const struct dtg_plan *plan) {
  if (replication->single && plan->module->sparse.len == 0)
    return NULL;
  const struct dtg_update_rule *rule = &replication->strategy->update;
  struct tables t = {.ctx = ctx,
                     .r = replication,
                     .plan = plan,
                     .update = &plan->functions[DTG_PLAN_UPDATE],
                     .out = DTG_NEW(&ctx->arena, struct dtr_replication)};
  *t.out = (struct dtr_replication){.strategy = replication->strategy->name,
                                    .is_single = replication->single,
                                    .is_async = rule->is_async,
                                    .backup = rule->backup,
                                    .staleness = rule->staleness};
  put_jobs(&t);
  put_families(&t);
  put_slices(&t);
  put_update(&t);
  dtg_arena_free(&t.scratch);
  return t.out;
}
