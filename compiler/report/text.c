#include "compiler/base/strbuf.h"
#include "compiler/ir/sparse.h"
#include "compiler/report/report.h"

#include <stdio.h>
#include <string.h>

struct text {
  const struct dtg_report_input *in;
  struct dtg_strbuf *out;
  struct dtg_arena arena;
};

static const char *bytes_text(struct text *t, int64_t bytes) {
  static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  double value = (double)bytes;
  int unit = 0;
  while (value >= 1024 && unit < 5) {
    value /= 1024;
    unit++;
  }
  return dtg_arena_printf(&t->arena, unit ? "%.1f %s" : "%.0f %s", value, units[unit]);
}

static const char *type_text(struct text *t, const struct dtg_type *type) {
  char text[128];
  dtg_type_format(type, text, sizeof text);
  return dtg_arena_strdup(&t->arena, text);
}

static const char *device_text(struct text *t, uint32_t device) {
  return dtg_cluster_device_name(&t->arena, t->in->replication->cluster, device);
}

static const char *cause_text(struct text *t, struct dtg_cause cause) {
  const char *where = dtg_span_short(&t->arena, &t->in->ctx->sources, cause.span);
  return dtg_arena_printf(&t->arena, "%s%s%s", cause.rule, *where ? ", " : "", where);
}

static void put_head(struct text *t) {
  const struct dtg_replication *r = t->in->replication;
  const struct dtg_train *train = &r->model->train;
  dtg_strbuf_printf(t->out, "%s: model `%s` of %s, strategy `%s`\n", t->in->name, r->model->name,
                    t->in->model_file, r->strategy->name);
  dtg_strbuf_printf(t->out, "  results depend on: %s\n", t->in->results);
  bool lazy = dtg_module_is_lazy(r->module);
  if (r->relaxed)
    dtg_strbuf_printf(t->out, "  semantics: relaxed (%s%s)\n",
                      r->strategy->update.is_async ? "async" : "backup", lazy ? ", lazy" : "");
  else if (lazy)
    dtg_strbuf_puts(t->out, "  semantics: relaxed (lazy); the strategy changes nothing\n");
  else
    dtg_strbuf_printf(t->out, "  semantics: exact (update sync)\n");
  if (train->present)
    dtg_strbuf_printf(t->out, "  a step: batch %lld = %lld shard%s of %lld examples\n",
                      (long long)train->batch, (long long)train->shards,
                      train->shards == 1 ? "" : "s", (long long)(train->batch / train->shards));
}

static void put_one_device(struct text *t) {
  const struct dtg_replication *r = t->in->replication;
  dtg_strbuf_puts(t->out, "\ndevices\n");
  dtg_strbuf_printf(t->out, "  %-34s replica 0, all parameters (%s)\n",
                    device_text(t, dtg_replica_device(r, 0)),
                    cause_text(t, r->families.data[0].cause));
  dtg_strbuf_printf(t->out, "clients\n");
  dtg_strbuf_printf(t->out, "  %s holds the one graph, feeds it, starts every step; chief\n",
                    dtg_task_name(&t->arena, r->cluster, dtg_client_task(r, 0)));
}

enum { OWNERS_SHOWN = 16, SLICES_SHOWN = 16 };

static void put_replicas(struct text *t) {
  const struct dtg_replication *r = t->in->replication;
  for (size_t i = 0; i < r->families.len; i++) {
    const struct dtg_replica_family *f = &r->families.data[i];
    uint32_t count = dtg_device_set_count(&f->devices);
    const char *name = device_text(t, f->devices.base);
    if (count > 1)
      name = dtg_arena_printf(&t->arena, "%s x%u", name, count);
    dtg_strbuf_printf(t->out, "  %-38s replica%s %u", name, count == 1 ? "" : "s", f->first);
    if (count > 1)
      dtg_strbuf_printf(t->out, "..%u", f->first + count - 1);
    dtg_strbuf_printf(t->out, ", %lld shard%s each (%s)\n", (long long)(r->shards / r->replicas),
                      r->shards == r->replicas ? "" : "s", cause_text(t, f->cause));
  }
}

// The causes of what an owner holds, each once.
static const char *owner_causes(struct text *t, uint32_t device) {
  const struct dtg_replication *r = t->in->replication;
  const char *list = "";
  for (size_t i = 0; i < r->slices.len; i++) {
    if (r->slices.data[i].owner != device)
      continue;
    const char *cause = cause_text(t, r->slices.data[i].cause);
    if (!strstr(list, cause))
      list = dtg_arena_printf(&t->arena, "%s%s%s", list, *list ? "; " : "", cause);
  }
  return list;
}

static void put_owners(struct text *t) {
  const struct dtg_partition *p = t->in->partition;
  for (uint32_t i = 0; i < p->loads.len && i < OWNERS_SHOWN; i++) {
    const struct dtg_owner_load *load = &p->loads.data[i];
    dtg_strbuf_printf(t->out, "  %-38s owner of %u slice%s, %s", device_text(t, load->device),
                      load->slices, load->slices == 1 ? "" : "s", bytes_text(t, load->values));
    if (load->slots)
      dtg_strbuf_printf(t->out, " and slots %s", bytes_text(t, load->slots));
    dtg_strbuf_printf(t->out, " (%s)\n", owner_causes(t, load->device));
  }
  if (p->loads.len > OWNERS_SHOWN)
    dtg_strbuf_printf(t->out, "  and %zu more owners\n", p->loads.len - OWNERS_SHOWN);
  if (p->loads.len > 1)
    dtg_strbuf_printf(t->out, "  imbalance of the owners (max/mean): %.3f\n",
                      dtg_report_imbalance(t->in));
}

static void put_clients(struct text *t) {
  const struct dtg_replication *r = t->in->replication;
  uint32_t chief = dtg_client_task(r, 0);
  dtg_strbuf_puts(t->out, "clients\n");
  for (size_t i = 0; i < r->client_families.len; i++) {
    const struct dtg_client_family *f = &r->client_families.data[i];
    const char *name = dtg_task_name(&t->arena, r->cluster, f->task);
    if (f->count > 1)
      name = dtg_arena_printf(&t->arena, "%s x%u", name, f->count);
    if (r->clients == 1)
      dtg_strbuf_printf(t->out,
                        "  %-38s holds the one graph of %u replica%s, reads the data, feeds them, "
                        "starts every step\n",
                        name, r->replicas, r->replicas == 1 ? "" : "s");
    else
      dtg_strbuf_printf(
          t->out, "  %-38s a graph of %u replica%s each, reads its own rows, runs its own loop\n",
          name, f->replicas_each, f->replicas_each == 1 ? "" : "s");
  }
  dtg_strbuf_printf(t->out,
                    "  only the chief, %s: initial values or restore, checkpoints, evaluation, "
                    "summaries\n",
                    dtg_task_name(&t->arena, r->cluster, chief));
}

static void put_devices(struct text *t) {
  if (t->in->replication->single) {
    put_one_device(t);
    return;
  }
  dtg_strbuf_puts(t->out, "\ndevices\n");
  put_replicas(t);
  put_owners(t);
  put_clients(t);
}

static const char *owner_text(struct text *t, uint32_t variable) {
  size_t count;
  const struct dtg_slice *slices = dtg_variable_slices(t->in->replication, variable, &count);
  if (count == 1)
    return device_text(t, slices->owner);
  return dtg_arena_printf(&t->arena, "%zu slices", count);
}

static void put_slices(struct text *t, uint32_t variable) {
  size_t count;
  const struct dtg_slice *slices = dtg_variable_slices(t->in->replication, variable, &count);
  const struct dtg_shape *shape = &t->in->plan->module->variables.data[variable].type.shape;
  int64_t width = shape->rank == 0 ? 1 : dtg_shape_count(shape) / shape->dims[0];
  if (count < 2 || t->in->plan->module->variables.data[variable].kind == DTG_VARIABLE_SLOT)
    return;
  for (size_t i = 0; i < count && i < SLICES_SHOWN; i++)
    dtg_strbuf_printf(t->out, "      rows %lld..%lld on %s\n", (long long)(slices[i].first / width),
                      (long long)((slices[i].first + slices[i].elements) / width - 1),
                      device_text(t, slices[i].owner));
  if (count > SLICES_SHOWN)
    dtg_strbuf_printf(t->out, "      and %zu more\n", count - SLICES_SHOWN);
}

static void put_variables(struct text *t) {
  const struct dtg_module *module = t->in->plan->module;
  static const char *const kinds[] = {"parameter", "state", "slot"};
  if (module->variables.len == 0)
    return;
  int width = 9;
  for (size_t v = 0; v < module->variables.len; v++)
    if ((int)strlen(module->variables.data[v].path) > width)
      width = (int)strlen(module->variables.data[v].path);
  if (width > 48)
    width = 48;
  dtg_strbuf_printf(t->out, "\n%-*s  %-9s  %-16s %10s  owner\n", width + 2, "variables", "kind",
                    "type", "bytes");
  for (size_t v = 0; v < module->variables.len; v++) {
    const struct dtg_variable *variable = &module->variables.data[v];
    dtg_strbuf_printf(t->out, "  %-*s  %-9s  %-16s %10lld  %s\n", width, variable->path,
                      kinds[variable->kind], type_text(t, &variable->type),
                      (long long)dtg_type_bytes(&variable->type), owner_text(t, (uint32_t)v));
    put_slices(t, (uint32_t)v);
  }
}

// ---- sparse tables ----

static const char *update_text(const struct dtg_sparse *table) {
  if (!table->touched)
    return "the update passes over all rows";
  return table->lazy ? "lazy: only touched rows are updated" : "only touched rows are updated";
}

// What a list of rows is at most, and how its bytes are counted.
static void put_sparse(struct text *t) {
  const struct dtg_replication *r = t->in->replication;
  const struct dtg_module *module = t->in->plan->module;
  int64_t each = r->shards / r->replicas;
  if (module->sparse.len + module->densified.len == 0)
    return;
  dtg_strbuf_puts(t->out, "\nsparse parameters\n");
  for (size_t i = 0; i < module->sparse.len; i++) {
    const struct dtg_sparse *table = &module->sparse.data[i];
    dtg_strbuf_printf(t->out, "  %s: %lld rows of %lld bytes; %s\n",
                      module->variables.data[table->variable].path, (long long)table->rows,
                      (long long)(4 * table->width), update_text(table));
    dtg_strbuf_printf(t->out, "      a replica's gradient: at most %lld rows of %lld gathered\n",
                      (long long)dtg_sparse_most(table, each, table->rows),
                      (long long)(each * table->picks));
    if (r->single)
      continue;
    dtg_strbuf_printf(t->out,
                      "      in a push, for each partial sum and slice: 4 + rows x %lld bytes\n",
                      (long long)(DTG_ROW_ID_BYTES + 4 * table->width));
    if (dtg_publishes_rows(r, table))
      dtg_strbuf_printf(t->out,
                        "      in a publish, for each slice: 4 + rows of the step x %lld bytes\n",
                        (long long)(DTG_ROW_ID_BYTES + 4 * table->width));
    else
      dtg_strbuf_puts(t->out, "      a publish has all rows\n");
  }
  for (size_t i = 0; i < module->densified.len; i++) {
    const struct dtg_densified *dense = &module->densified.data[i];
    const struct dtg_variable *v = &module->variables.data[dense->variable];
    dtg_strbuf_printf(t->out, "  %s: gathered, but %s (%s): its gradient is dense, %s a shard\n",
                      v->path, dense->why,
                      dtg_span_short(&t->arena, &t->in->ctx->sources, dense->span),
                      bytes_text(t, dtg_type_bytes(&v->type)));
  }
}

static void put_partial_sums(struct text *t) {
  const struct dtg_replication *r = t->in->replication;
  const struct dtg_partial_sums *sums = &r->partial_sums;
  dtg_strbuf_puts(t->out, "  partial sums of a replica: ");
  for (size_t i = 0; i < sums->classes.len; i++)
    dtg_strbuf_printf(t->out, "%s%u (x%u)", i ? ", " : "", sums->classes.data[i].sums,
                      sums->classes.data[i].replicas);
  dtg_strbuf_puts(t->out, "\n");
  if (sums->most > 1 && sums->suggested_shards)
    dtg_strbuf_printf(t->out, "  with %lld shards each replica would send one\n",
                      (long long)sums->suggested_shards);
}

static void put_reductions(struct text *t) {
  const struct dtg_replication *r = t->in->replication;
  int64_t bytes = 0;
  for (size_t i = 0; i < r->reductions.len; i++)
    bytes += dtg_type_bytes(&r->reductions.data[i].type);
  if (r->reductions.len == 0)
    return;
  dtg_strbuf_printf(t->out,
                    "\nreductions\n  %zu tensors, %s a shard, over %lld shard%s by the fixed tree; "
                    "sent between devices: %s%s\n",
                    r->reductions.len, bytes_text(t, bytes), (long long)r->shards,
                    r->shards == 1 ? "" : "s", dtg_report_is_bound(t->in) ? "at most " : "",
                    bytes_text(t, dtg_report_traffic(t->in)));
  if (!r->single)
    put_partial_sums(t);
}

static const char *ends_text(struct text *t, const struct dtg_ends *ends) {
  const struct dtg_replication *r = t->in->replication;
  uint32_t task = 0;
  if (ends->role == DTG_ROLE_REPLICA)
    task = dtg_device_task(r->cluster, dtg_replica_device(r, ends->first));
  else if (ends->role == DTG_ROLE_CLIENT)
    task = dtg_client_task(r, ends->first);
  else if (ends->role == DTG_ROLE_ARBITER)
    return dtg_arena_printf(
        &t->arena, "arbiter %s",
        dtg_task_name(&t->arena, r->cluster, dtg_device_task(r->cluster, r->owners.data[0])));
  else
    task = dtg_device_task(r->cluster, t->in->partition->loads.data[ends->first].device);
  const char *name = dtg_task_name(&t->arena, r->cluster, task);
  uint32_t members = ends->sums ? ends->members : ends->count;
  return members > 1 ? dtg_arena_printf(&t->arena, "%s x%u", name, members) : name;
}

enum { TRANSFERS_SHOWN = 64 };

static void put_moment(struct text *t, enum dtg_moment moment, const char *title) {
  const struct dtg_partition *p = t->in->partition;
  size_t count = 0;
  for (size_t i = 0; i < p->sends.len; i++) {
    const struct dtg_transfer *s = &p->sends.data[i];
    if (s->moment != moment)
      continue;
    if (count == 0)
      dtg_strbuf_printf(t->out, "\n%-10s %-26s %-26s %9s %14s\n", title, "from", "to", "messages",
                        moment == DTG_MOMENT_EVALUATION ? "bytes at most" : "bytes of each");
    if (count++ < TRANSFERS_SHOWN)
      dtg_strbuf_printf(t->out, "  %-8s %-26s %-26s %9llu %14lld%s\n", dtg_transfer_name(s->kind),
                        ends_text(t, &s->from), ends_text(t, &s->to),
                        (unsigned long long)s->messages, (long long)s->bytes,
                        s->at_most && moment == DTG_MOMENT_STEP ? " at most" : "");
  }
  if (count > TRANSFERS_SHOWN)
    dtg_strbuf_printf(t->out, "  and %zu more\n", count - TRANSFERS_SHOWN);
}

static void put_transfers(struct text *t) {
  const struct dtg_replication *r = t->in->replication;
  if (r->single || t->in->partition->sends.len == 0)
    return;
  put_moment(t, DTG_MOMENT_STEP, "a step");
  dtg_strbuf_printf(t->out, "  in all %s%s; once at the start, the first version: %s\n",
                    dtg_report_is_bound(t->in) ? "at most " : "",
                    bytes_text(t, dtg_report_traffic(t->in)),
                    bytes_text(t, dtg_report_start_traffic(t->in)));
  put_moment(t, DTG_MOMENT_BEGIN, "once");
  if (dtg_evaluates_together(r))
    put_moment(t, DTG_MOMENT_EVALUATION, "a wave");
  put_moment(t, DTG_MOMENT_CHECKPOINT, "checkpoint");
}

static void put_functions(struct text *t) {
  static const char *const labels[] = {"train, one shard", "evaluate, one shard",
                                       "evaluate, one example", "update"};
  dtg_strbuf_printf(t->out, "\n%-24s %8s %8s %9s %12s %12s\n", "functions", "nodes", "launches",
                    "products", "arena", "live");
  for (int i = 0; i < DTG_PLAN_FUNCTIONS; i++) {
    const struct dtg_plan_function *f = &t->in->plan->functions[i];
    if (!f->graph)
      continue;
    size_t products = 0;
    struct dtg_launch_list launches = {0};
    dtg_plan_launches(&t->arena, f, &launches);
    for (size_t s = 0; s < launches.list.len; s++)
      products +=
          t->in->plan->kernels.data[launches.list.data[s].step->kernel]->kind != CG_KERNEL_LOOPS;
    dtg_strbuf_printf(t->out, "  %-22s %8zu %8zu %9zu %12s %12s\n", labels[i],
                      dtg_graph_size(f->graph), launches.list.len, products,
                      bytes_text(t, f->arena_bytes), bytes_text(t, f->live_peak_bytes));
  }
}

static void put_amount(struct text *t, const char *what, int64_t bytes) {
  if (bytes)
    dtg_strbuf_printf(t->out, "  %-26s %12s\n", what, bytes_text(t, bytes));
}

static void put_amounts(struct text *t, const struct dtg_report_memory *m) {
  uint32_t threads = t->in->threads;
  put_amount(t, "parameters", m->parameters);
  put_amount(t, "states", m->states);
  put_amount(t, "slots", m->slots);
  if (m->arena)
    put_amount(t, dtg_arena_printf(&t->arena, "arenas, %u x %s", threads, bytes_text(t, m->arena)),
               m->arena * threads);
  if (m->sorting)
    put_amount(
        t, dtg_arena_printf(&t->arena, "to sort rows, %u x %s", threads, bytes_text(t, m->sorting)),
        m->sorting * threads);
  put_amount(t, "arena of the update", m->update_arena);
  put_amount(t, "to update rows", m->rows);
  put_amount(t, "pushed by replicas", m->staging);
  put_amount(t, "messages", m->messages);
  put_amount(t, "values of chunks", m->evaluation);
  put_amount(t,
             dtg_arena_printf(&t->arena, "tree, %lld x %s", (long long)m->contribution_blocks,
                              bytes_text(t, m->contribution)),
             m->contribution * m->contribution_blocks);
  put_amount(t, t->in->replication->replicas == 1 ? "inputs, one batch" : "inputs, its rows",
             m->feeds);
  dtg_strbuf_printf(t->out, "  %-26s %12s\n", "total", bytes_text(t, m->total));
}

// The largest owner stands for all.
static void put_owner_memory(struct text *t) {
  uint32_t largest = 0;
  size_t count = t->in->partition->loads.len;
  for (uint32_t i = 1; i < count; i++)
    if (dtg_report_owner_memory(t->in, i).total > dtg_report_owner_memory(t->in, largest).total)
      largest = i;
  if (count == 0)
    return;
  struct dtg_report_memory m = dtg_report_owner_memory(t->in, largest);
  dtg_strbuf_printf(t->out, "\nmemory of the %sowner %s\n", count > 1 ? "largest " : "",
                    device_text(t, t->in->partition->loads.data[largest].device));
  put_amounts(t, &m);
}

static void put_memory(struct text *t) {
  const struct dtg_replication *r = t->in->replication;
  struct dtg_report_memory m = dtg_report_memory(t->in);
  const char *each = r->replicas == 1 ? "" : dtg_arena_printf(&t->arena, " and each other replica");
  dtg_strbuf_printf(t->out, "\nmemory of %s%s with %u thread%s\n",
                    device_text(t, dtg_replica_device(r, 0)), each, t->in->threads,
                    t->in->threads == 1 ? "" : "s");
  put_amounts(t, &m);
  if (!r->single)
    put_owner_memory(t);
}

void dtg_report_text(const struct dtg_report_input *input, struct dtg_strbuf *out) {
  struct text t = {.in = input, .out = out};
  put_head(&t);
  put_devices(&t);
  put_variables(&t);
  put_functions(&t);
  put_sparse(&t);
  put_reductions(&t);
  put_transfers(&t);
  put_memory(&t);
  dtg_arena_free(&t.arena);
}
