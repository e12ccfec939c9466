#include "compiler/ir/sparse.h"
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

static void add_variables(const struct dtg_report_input *in, struct dtg_report_memory *m) {
  const struct dtg_plan *plan = in->plan;
  for (size_t v = 0; v < plan->module->variables.len; v++) {
    const struct dtg_variable *variable = &plan->module->variables.data[v];
    int64_t bytes = dtg_type_bytes(&variable->type);
    if (variable->kind == DTG_VARIABLE_PARAM)
      m->parameters += bytes;
    if (variable->kind == DTG_VARIABLE_STATE)
      m->states += bytes;
    if (variable->kind == DTG_VARIABLE_SLOT && in->replication->single)
      m->slots += bytes;
    if (variable->kind != DTG_VARIABLE_SLOT || in->replication->single)
      m->variables = max(m->variables, plan->variable_offsets[v] + dtg_align(bytes));
  }
}

// A message to each owner, one to the client, and two forms of the values of an evaluation.
static void add_messages(const struct dtg_report_input *in, uint32_t sums,
                         struct dtg_report_memory *m) {
  const struct dtg_replication *r = in->replication;
  int64_t scalars = 0, shards = r->shards / r->replicas;
  for (size_t i = 0; i < r->reductions.len; i++)
    if (r->reductions.data[i].variable == DTG_NO_NODE)
      scalars++;
  for (size_t i = 0; i < in->partition->loads.len; i++)
    m->messages += dtg_align(in->partition->loads.data[i].push * sums);
  m->messages += dtg_align(4 * scalars * sums);
  m->evaluation = DTG_ALIGN * scalars * shards + dtg_align(4 * scalars * shards);
}

static int64_t input_bytes(const struct dtg_model *model, int64_t rows) {
  int64_t bytes = 0;
  for (size_t i = 0; i < model->inputs.len; i++)
    bytes += dtg_align(dtg_type_bytes(&model->inputs.data[i].type) * rows);
  return bytes;
}

// The only device runs the update of sparse parameters as an owner does.
static void add_update(const struct dtg_report_input *in, struct dtg_report_memory *m) {
  m->update_arena = in->owner_arena_bytes;
  for (size_t i = 0; i < in->partition->loads.len; i++)
    m->rows += in->partition->loads.data[i].rows;
}

struct dtg_report_memory dtg_report_class_memory(const struct dtg_report_input *in,
                                                 const struct dtg_report_class *class) {
  const struct dtg_plan *plan = in->plan;
  const struct dtg_replication *r = in->replication;
  const struct dtg_train *train = &r->model->train;
  struct dtg_report_memory m = {0};
  add_variables(in, &m);
  for (int i = 0; i < DTG_PLAN_FUNCTIONS; i++)
    if (i != DTG_PLAN_UPDATE || (r->single && plan->module->sparse.len == 0))
      m.arena = max(m.arena, dtg_align(plan->functions[i].arena_bytes));
  m.sorting = dtg_sparse_sort_bytes(plan->module);
  if (r->single && plan->module->sparse.len > 0)
    add_update(in, &m);
  m.contribution = dtg_align(plan->contribution_bytes);
  m.contribution_blocks = tree_blocks(r->shards / r->replicas, in->threads, class->sums);
  if (!r->single)
    add_messages(in, class->sums, &m);
  m.feeds = input_bytes(r->model, train->batch / r->shards) * (r->shards / r->replicas);
  m.total = m.variables + (m.arena + m.sorting) * in->threads +
            m.contribution * m.contribution_blocks + m.messages + m.evaluation + m.feeds +
            m.update_arena + m.rows;
  return m;
}

struct dtg_report_memory dtg_report_memory(const struct dtg_report_input *in) {
  struct dtg_report_class class = {0, in->replication->replicas, in->replication->partial_sums.most,
                                   false};
  return dtg_report_class_memory(in, &class);
}

static bool is_fed(const struct dtg_replication *r, uint32_t replica) {
  return dtg_client_task(r, dtg_replica_client(r, replica)) !=
         dtg_device_task(r->cluster, dtg_replica_device(r, replica));
}

const struct dtg_report_class *
dtg_report_classes(struct dtg_arena *arena, const struct dtg_report_input *in, size_t *count) {
  const struct dtg_replication *r = in->replication;
  uint32_t most = 2 * (uint32_t)r->partial_sums.classes.len + 1;
  struct dtg_report_class *out = DTG_NEW_ARRAY(arena, struct dtg_report_class, most);
  *count = 0;
  if (r->partial_sums.classes.len <= 1 && r->clients > 1) { // all alike, and each reads its rows
    out[(*count)++] = (struct dtg_report_class){0, r->replicas, r->partial_sums.most, false};
    return out;
  }
  for (uint32_t i = 0; i < r->replicas; i++) {
    uint32_t sums = dtg_replica_sums(r, i);
    bool fed = is_fed(r, i);
    size_t k = 0;
    while (k < *count && (out[k].sums != sums || out[k].fed != fed))
      k++;
    if (k == *count)
      out[(*count)++] = (struct dtg_report_class){i, 0, sums, fed};
    out[k].replicas++;
  }
  return out;
}

// Under relaxed rules an owner keeps the states before an update; asynchronous ones keep the
// version that each client has read.
static int64_t versions_kept(const struct dtg_replication *r) {
  return !r->relaxed ? 1 : r->strategy->update.is_async ? 2 + r->clients : 2;
}

struct dtg_report_memory dtg_report_owner_memory(const struct dtg_report_input *in,
                                                 uint32_t owner) {
  const struct dtg_owner_load *load = &in->partition->loads.data[owner];
  struct dtg_report_memory m = {.parameters = load->values - load->states,
                                .states = load->states,
                                .slots = load->slots,
                                .variables = load->held,
                                .update_arena = in->owner_arena_bytes,
                                .rows = load->rows};
  int64_t norms = 0;
  for (size_t phase = 0; phase < load->norm.len; phase++)
    norms = max(norms, load->norm.data[phase]);
  m.staging = load->block * in->replication->partial_sums.all;
  m.messages = dtg_align(load->packed) * versions_kept(in->replication) +
               dtg_align(load->values + load->slots) + dtg_align(norms);
  m.total = m.variables + m.staging + m.update_arena + m.rows + m.messages;
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

bool dtg_report_is_bound(const struct dtg_report_input *in) {
  for (size_t i = 0; i < in->partition->sends.len; i++)
    if (in->partition->sends.data[i].at_most &&
        in->partition->sends.data[i].moment == DTG_MOMENT_STEP)
      return true;
  return false;
}

int64_t dtg_report_start_traffic(const struct dtg_report_input *in) {
  int64_t total = 0;
  for (size_t i = 0; i < in->partition->sends.len; i++) {
    struct dtg_transfer first = in->partition->sends.data[i];
    if (first.kind != DTG_TRANSFER_PUBLISH)
      continue;
    first.bytes = in->partition->loads.data[first.from.first].first;
    if (__builtin_add_overflow(total, dtg_transfer_total(&first), &total))
      return INT64_MAX;
  }
  return total;
}
