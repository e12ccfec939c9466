#include "compiler/report/report.h"

static int64_t max(int64_t a, int64_t b) {
  return a > b ? a : b;
}

// The runtime's rule (dtr_tree_part_blocks): a block per level of the tree and one per thread, and
// a result for each further subtree where the shards are no whole one; at most a block a shard.
static int64_t tree_blocks(int64_t shards, int64_t threads, uint32_t roots) {
  int64_t levels = 63 - __builtin_clzll((unsigned long long)shards);
  int64_t blocks = levels + threads + roots - 1;
  return blocks < shards ? blocks : shards;
}

struct dtg_report_memory dtg_report_memory(const struct dtg_report_input *in) {
  const struct dtg_plan *plan = in->plan;
  const struct dtg_replication *r = in->replication;
  const struct dtg_model *model = r->model;
  struct dtg_report_memory m = {0};
  for (size_t v = 0; v < plan->module->variables.len; v++) {
    const struct dtg_variable *variable = &plan->module->variables.data[v];
    int64_t bytes = dtg_type_bytes(&variable->type);
    if (variable->kind == DTG_VARIABLE_PARAM)
      m.parameters += bytes;
    if (variable->kind == DTG_VARIABLE_STATE)
      m.states += bytes;
    if (variable->kind == DTG_VARIABLE_SLOT && r->single)
      m.slots += bytes;
  }
  for (int i = 0; i < DTG_PLAN_FUNCTIONS; i++)
    if (i != DTG_PLAN_UPDATE)
      m.arena = max(m.arena, plan->functions[i].arena_bytes);
  if (r->single)
    m.update_arena = plan->functions[DTG_PLAN_UPDATE].arena_bytes;
  m.contribution = plan->contribution_bytes;
  m.contribution_blocks = tree_blocks(r->shards / r->replicas, in->threads, r->partial_sums.most);
  for (size_t i = 0; i < model->inputs.len; i++)
    m.feeds += dtg_type_bytes(&model->inputs.data[i].type) * (model->train.batch / r->replicas);
  int64_t variables = r->single ? plan->variables_bytes : m.parameters + m.states;
  m.total = variables + m.arena * in->threads + m.update_arena +
            m.contribution * m.contribution_blocks + m.feeds;
  return m;
}

struct dtg_report_memory dtg_report_owner_memory(const struct dtg_report_input *in,
                                                 uint32_t owner) {
  const struct dtg_owner_load *load = &in->partition->loads.data[owner];
  struct dtg_report_memory m = {.parameters = load->values - load->states,
                                .states = load->states,
                                .slots = load->slots,
                                .update_arena = in->owner_arena_bytes};
  m.staging = load->push * in->replication->partial_sums.all;
  m.total = m.parameters + m.states + m.slots + m.staging + m.update_arena;
  return m;
}

// Owners of one task, which stand together in the list.
static int64_t owners_of_task(const struct dtg_report_input *in, const struct dtg_job *job,
                              uint32_t task) {
  const struct dtg_replication *r = in->replication;
  uint32_t each = dtg_job_devices(job), first = job->first_device + task * each;
  int64_t total = 0;
  size_t at;
  dtg_owner_find(r, first, &at);
  for (; at < r->owners.len && r->owners.data[at] < first + each; at++)
    total += dtg_report_owner_memory(in, (uint32_t)at).total;
  return total;
}

int64_t dtg_report_task_memory(const struct dtg_report_input *in, const struct dtg_job *job) {
  const struct dtg_replication *r = in->replication;
  const struct dtg_device_set *devices = &r->families.data[0].devices;
  uint32_t each = dtg_job_devices(job), end = job->first_device + each * job->task_count;
  int64_t largest = 0, replicas = 0;
  if (devices->base >= job->first_device && devices->base < end)
    replicas = dtg_report_memory(in).total * devices->inner;
  for (size_t i = 0; i < r->owners.len && !r->single; i++) {
    uint32_t device = r->owners.data[i];
    if (device < job->first_device || device >= end)
      continue;
    largest = max(largest, owners_of_task(in, job, (device - job->first_device) / each));
  }
  return replicas + largest;
}

double dtg_report_imbalance(const struct dtg_report_input *in) {
  const struct dtg_partition *p = in->partition;
  double most = 0, sum = 0;
  for (size_t i = 0; i < p->loads.len; i++) {
    const struct dtg_owner_load *l = &p->loads.data[i];
    double load = (double)(l->values + l->slots) +
                  (double)l->push * (double)in->replication->partial_sums.all +
                  (double)l->publish * in->replication->replicas;
    if (load > most)
      most = load;
    sum += load;
  }
  return sum > 0 ? most * (double)p->loads.len / sum : 1;
}

int64_t dtg_report_traffic(const struct dtg_report_input *in) {
  int64_t total = 0;
  for (size_t i = 0; i < in->partition->sends.len; i++) {
    const struct dtg_transfer *transfer = &in->partition->sends.data[i];
    int64_t bytes = transfer->moment == DTG_MOMENT_STEP ? dtg_transfer_total(transfer) : 0;
    if (__builtin_add_overflow(total, bytes, &total))
      return INT64_MAX;
  }
  return total;
}

int64_t dtg_report_start_traffic(const struct dtg_report_input *in) {
  int64_t total = 0;
  for (size_t i = 0; i < in->partition->sends.len; i++) {
    const struct dtg_transfer *transfer = &in->partition->sends.data[i];
    if (transfer->kind == DTG_TRANSFER_PUBLISH &&
        __builtin_add_overflow(total, dtg_transfer_total(transfer), &total))
      return INT64_MAX;
  }
  return total;
}
