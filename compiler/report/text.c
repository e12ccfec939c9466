#include "compiler/base/strbuf.h"
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
  const char *where = dtg_span_text(&t->arena, &t->in->ctx->sources, cause.span);
  const char *slash = strrchr(where, '/');
  where = slash ? slash + 1 : where;
  return dtg_arena_printf(&t->arena, "%s%s%s", cause.rule, *where ? ", " : "", where);
}

static void put_head(struct text *t) {
  const struct dtg_replication *r = t->in->replication;
  const struct dtg_train *train = &r->model->train;
  dtg_strbuf_printf(t->out, "%s: model `%s` of %s, strategy `%s`\n", t->in->name, r->model->name,
                    t->in->model_file, r->strategy->name);
  dtg_strbuf_printf(t->out, "  results depend on: %s\n", t->in->results);
  dtg_strbuf_printf(t->out, "  semantics: exact (update sync)\n");
  if (train->present)
    dtg_strbuf_printf(t->out, "  a step: batch %lld = %lld shard%s of %lld examples\n",
                      (long long)train->batch, (long long)train->shards,
                      train->shards == 1 ? "" : "s", (long long)(train->batch / train->shards));
}

static void put_devices(struct text *t) {
  const struct dtg_replication *r = t->in->replication;
  const struct dtg_replica_family *family = &r->families.data[0];
  dtg_strbuf_puts(t->out, "\ndevices\n");
  dtg_strbuf_printf(t->out, "  %-34s replica 0, all parameters (%s)\n",
                    device_text(t, family->device), cause_text(t, family->cause));
  dtg_strbuf_printf(t->out, "clients\n");
  const struct dtg_client *client = &r->clients.data[0];
  dtg_strbuf_printf(t->out,
                    "  /job:%s/task:%u holds the one graph, feeds it, starts every step; chief\n",
                    r->cluster->jobs[client->job].name, client->task);
}

static void put_variables(struct text *t) {
  const struct dtg_module *module = t->in->plan->module;
  static const char *const kinds[] = {"parameter", "state", "slot"};
  if (module->variables.len == 0) return;
  int width = 9;
  for (size_t v = 0; v < module->variables.len; v++)
    if ((int)strlen(module->variables.data[v].path) > width)
      width = (int)strlen(module->variables.data[v].path);
  if (width > 48) width = 48;
  dtg_strbuf_printf(t->out, "\n%-*s  %-9s  %-16s %10s  owner\n", width + 2, "variables", "kind",
                    "type", "bytes");
  for (size_t v = 0; v < module->variables.len; v++) {
    const struct dtg_variable *variable = &module->variables.data[v];
    dtg_strbuf_printf(t->out, "  %-*s  %-9s  %-16s %10lld  %s\n", width, variable->path,
                      kinds[variable->kind], type_text(t, &variable->type),
                      (long long)dtg_type_bytes(&variable->type),
                      device_text(t, t->in->replication->owners.data[v].device));
  }
}

static void put_reductions(struct text *t) {
  const struct dtg_replication *r = t->in->replication;
  int64_t bytes = 0;
  for (size_t i = 0; i < r->reductions.len; i++) bytes += dtg_type_bytes(&r->reductions.data[i].type);
  if (r->reductions.len == 0) return;
  dtg_strbuf_printf(t->out,
                    "\nreductions\n  %zu tensors, %s a shard, over %lld shard%s by the fixed tree; "
                    "sent between devices: 0 B\n",
                    r->reductions.len, bytes_text(t, bytes), (long long)r->shards,
                    r->shards == 1 ? "" : "s");
}

static void put_functions(struct text *t) {
  static const char *const labels[] = {"train, one shard", "evaluate, one shard",
                                       "evaluate, one example", "update"};
  dtg_strbuf_printf(t->out, "\n%-24s %8s %8s %9s %12s %12s\n", "functions", "nodes", "launches",
                    "products", "arena", "live");
  for (int i = 0; i < DTG_PLAN_FUNCTIONS; i++) {
    const struct dtg_plan_function *f = &t->in->plan->functions[i];
    if (!f->graph) continue;
    size_t products = 0;
    for (size_t s = 0; s < f->steps.len; s++)
      products += t->in->plan->kernels.data[f->steps.data[s].kernel]->kind == CG_KERNEL_GEMM;
    dtg_strbuf_printf(t->out, "  %-22s %8zu %8zu %9zu %12s %12s\n", labels[i], f->graph->nodes.len,
                      f->steps.len, products, bytes_text(t, f->arena_bytes),
                      bytes_text(t, f->live_peak_bytes));
  }
}

static void put_memory(struct text *t) {
  struct dtg_report_memory m = dtg_report_memory(t->in);
  dtg_strbuf_printf(t->out, "\nmemory of %s with %u thread%s\n",
                    device_text(t, t->in->replication->families.data[0].device), t->in->threads,
                    t->in->threads == 1 ? "" : "s");
  dtg_strbuf_printf(t->out, "  %-26s %12s\n", "parameters", bytes_text(t, m.parameters));
  if (m.states) dtg_strbuf_printf(t->out, "  %-26s %12s\n", "states", bytes_text(t, m.states));
  if (m.slots) dtg_strbuf_printf(t->out, "  %-26s %12s\n", "slots", bytes_text(t, m.slots));
  dtg_strbuf_printf(t->out, "  %-26s %12s\n",
                    dtg_arena_printf(&t->arena, "arenas, %u x %s", t->in->threads,
                                     bytes_text(t, m.arena)),
                    bytes_text(t, m.arena * t->in->threads));
  if (m.update_arena)
    dtg_strbuf_printf(t->out, "  %-26s %12s\n", "arena of the update",
                      bytes_text(t, m.update_arena));
  if (m.contribution)
    dtg_strbuf_printf(t->out, "  %-26s %12s\n",
                      dtg_arena_printf(&t->arena, "tree, %lld x %s",
                                       (long long)m.contribution_blocks,
                                       bytes_text(t, m.contribution)),
                      bytes_text(t, m.contribution * m.contribution_blocks));
  dtg_strbuf_printf(t->out, "  %-26s %12s\n", "inputs, one batch", bytes_text(t, m.feeds));
  dtg_strbuf_printf(t->out, "  %-26s %12s\n", "total", bytes_text(t, m.total));
}

void dtg_report_text(const struct dtg_report_input *input, struct dtg_strbuf *out) {
  struct text t = {.in = input, .out = out};
  put_head(&t);
  put_devices(&t);
  put_variables(&t);
  put_functions(&t);
  put_reductions(&t);
  put_memory(&t);
  dtg_arena_free(&t.arena);
}
