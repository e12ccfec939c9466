#include "compiler/tools/task_views.h"

#include "compiler/base/strbuf.h"
#include "compiler/tools/traffic.h"

#include <string.h>

enum { MAX_REPLICAS = 16 };

struct view {
  struct dtg_ctx *ctx;
  const struct dtg_partition *p;
  const struct dtg_replication *r;
  uint32_t client, first, count; // and its replicas
  struct dtg_strbuf *out;
};

static const char *device_text(const struct view *v, uint32_t device) {
  return dtg_cluster_device_name(&v->ctx->arena, v->r->cluster, device);
}

static bool find_client(struct view *v, uint32_t task) {
  for (size_t i = 0; i < v->r->client_families.len; i++) {
    const struct dtg_client_family *f = &v->r->client_families.data[i];
    for (uint32_t k = 0; k < f->count; k++) {
      if (f->task + k * f->task_stride != task)
        continue;
      v->client = f->first + k;
      v->first = f->first_replica + k * f->replicas_each;
      v->count = f->replicas_each;
      return true;
    }
  }
  return false;
}

static void put_no_client(const struct view *v, uint32_t task) {
  dtg_strbuf_printf(v->out, "%s holds no graph: no step loop runs there\n",
                    dtg_task_name(&v->ctx->arena, v->r->cluster, task));
  dtg_strbuf_printf(v->out, "  strategy `%s` has %u client%s, the first one at %s\n",
                    v->r->strategy->name, v->r->clients, v->r->clients == 1 ? "" : "s",
                    dtg_task_name(&v->ctx->arena, v->r->cluster, dtg_client_task(v->r, 0)));
}

static void put_head(const struct view *v, uint32_t task) {
  dtg_strbuf_printf(v->out, "%s is client %u of %u%s, strategy `%s`\n",
                    dtg_task_name(&v->ctx->arena, v->r->cluster, task), v->client, v->r->clients,
                    v->client == 0 ? ", the chief" : "", v->r->strategy->name);
  if (v->r->clients == 1)
    dtg_strbuf_printf(v->out, "  its graph is the only one, and holds %s\n",
                      v->count == 1 ? "the only replica" : "every replica");
  else if (v->r->clients == 2)
    dtg_strbuf_puts(v->out,
                    "  the graph of the other client is equal to it but for devices and shards: "
                    "proved\n");
  else
    dtg_strbuf_printf(
        v->out,
        "  the graphs of the other %u clients are equal to it but for devices and shards: "
        "proved\n",
        v->r->clients - 1);
}

static void put_replicas(const struct view *v, uint32_t task) {
  int64_t each = v->r->shards / v->r->replicas;
  dtg_strbuf_printf(v->out, "replicas in this graph: %u of %u\n", v->count, v->r->replicas);
  for (uint32_t i = 0; i < v->count && i < MAX_REPLICAS; i++) {
    uint32_t replica = v->first + i, device = dtg_replica_device(v->r, replica);
    bool here = dtg_device_task(v->r->cluster, device) == task;
    dtg_strbuf_printf(v->out, "  replica %-5u %-36s shards %lld to %lld, %s\n", replica,
                      device_text(v, device), (long long)(replica * each),
                      (long long)((replica + 1) * each - 1),
                      here ? "reads its rows here" : "is sent its rows");
  }
  if (v->count > MAX_REPLICAS)
    dtg_strbuf_printf(v->out, "  and %u more, up to %s\n", v->count - MAX_REPLICAS,
                      device_text(v, dtg_replica_device(v->r, v->first + v->count - 1)));
}

// Ops of a graph by layer, in the order of their first appearance.
static void put_layers(const struct view *v, const struct dtg_graph *graph, uint32_t copies) {
  struct layer {
    const char *path;
    uint32_t count;
  };
  DTG_VEC(struct layer) layers = {0};
  for (uint32_t n = 0; n < graph->nodes.len; n++) {
    const char *path = dtg_graph_node(graph, n)->path;
    size_t i = 0;
    while (i < layers.len && strcmp(layers.data[i].path, path) != 0)
      i++;
    struct layer layer = {path, 0};
    if (i == layers.len)
      dtg_vec_push(&v->ctx->arena, &layers, layer);
    layers.data[i].count++;
  }
  for (size_t i = 0; i < layers.len; i++) {
    const char *path = *layers.data[i].path ? layers.data[i].path : "(outside of layers)";
    dtg_strbuf_printf(v->out, "    %-40s %6u", path, layers.data[i].count);
    if (copies > 1)
      dtg_strbuf_printf(v->out, " x %u", copies);
    dtg_strbuf_putc(v->out, '\n');
  }
}

static void put_graph(const struct view *v) {
  const struct dtg_module *m = v->r->module;
  size_t train = m->train ? m->train->nodes.len : 0, update = m->update ? m->update->nodes.len : 0;
  dtg_strbuf_printf(v->out, "nodes: %zu = %u x %zu of a replica + %zu of the update\n",
                    v->count * train + update, v->count, train, update);
  if (m->train) {
    dtg_strbuf_puts(v->out, "  replica: forward, backward\n");
    put_layers(v, m->train, v->count);
  }
  if (m->update) {
    dtg_strbuf_printf(v->out, "  update, at the owners: one for all %u replicas\n", v->r->replicas);
    put_layers(v, m->update, 1);
  }
}

static void put_variables(const struct view *v) {
  dtg_strbuf_puts(v->out, "parameters and states, shared by all graphs\n");
  for (uint32_t i = 0; i < v->r->module->variables.len; i++) {
    const struct dtg_variable *variable = &v->r->module->variables.data[i];
    size_t count;
    const struct dtg_slice *slices = dtg_variable_slices(v->r, i, &count);
    if (variable->kind == DTG_VARIABLE_SLOT || count == 0)
      continue;
    for (size_t s = 0; s < count; s++) {
      dtg_strbuf_printf(v->out, "  %-26s ", s == 0 ? variable->path : "");
      dtg_strbuf_printf(v->out, "%s", device_text(v, slices[s].owner));
      if (count > 1)
        dtg_strbuf_printf(v->out, ", elements %lld to %lld", (long long)slices[s].first,
                          (long long)(slices[s].first + slices[s].elements - 1));
      dtg_strbuf_putc(v->out, '\n');
    }
  }
}

void dtg_client_view(struct dtg_ctx *ctx, const struct dtg_partition *p, uint32_t task,
                     const char *extras, struct dtg_strbuf *out) {
  struct view v = {.ctx = ctx, .p = p, .r = p->replication, .out = out};
  if (!find_client(&v, task)) {
    put_no_client(&v, task);
    return;
  }
  put_head(&v, task);
  put_replicas(&v, task);
  put_graph(&v);
  put_variables(&v);
  dtg_strbuf_printf(out, "%s\n",
                    v.client == 0 ? "this client alone" : "only the chief, and not this client");
  for (const char *line = extras; *line;) {
    size_t length = strcspn(line, "\n");
    dtg_strbuf_puts(out, "  ");
    dtg_strbuf_write(out, line, length);
    dtg_strbuf_putc(out, '\n');
    line += length + (line[length] == '\n');
  }
}
