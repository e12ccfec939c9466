#include "compiler/tools/why.h"

#include "compiler/base/strbuf.h"
#include "compiler/ir/sparse.h"

#include <string.h>

enum { MAX_CANDIDATE_TASKS = 4096, MAX_ROWS = 64 };

struct why {
  struct dtg_ctx *ctx;
  const struct dtg_replication *r;
  const char *name;
  struct dtg_strbuf *out;
};

static const char *device_text(const struct why *w, uint32_t device) {
  return dtg_cluster_device_name(&w->ctx->arena, w->r->cluster, device);
}

// ---- causes ----

// What each rule says, for people; a rule that is not here speaks for itself.
static const char *rule_text(const char *rule) {
  static const struct {
    const char *rule, *text;
  } texts[] = {
      {"params", "the `params` clause that matches first"},
      {"place", "a `place` rule"},
      {"prefer", "a `prefer` rule, which the device could follow"},
      {"default-owner", "no `params` clause matches: the replicas are the owners"},
      {"default-device", "no `replicate`: one replica on the default device of the chief"},
      {"default-client", "no `replicate`: the chief is the only client"},
      {"every-owner", "its use by every owner: each computes it"},
      {"replicate", "the `replicate` clause"},
      {"in_graph", "`replicate in_graph`: one client drives every replica"},
      {"between_graph", "`replicate between_graph`: one client a task"},
  };
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
    if (strcmp(texts[i].rule, rule) == 0)
      return texts[i].text;
  return rule;
}

// The source text of a span on one line, cut to a readable length.
static void put_source(const struct why *w, struct dtg_span span) {
  enum { MAX_TEXT = 70 };
  const char *text = dtg_source_get(&w->ctx->sources, span.file)->text;
  size_t written = 0;
  dtg_strbuf_puts(w->out, ": `");
  for (uint32_t i = span.begin; i < span.end && written < MAX_TEXT; i++) {
    bool blank = strchr(" \t\r\n", text[i]) != NULL;
    if (blank && i > span.begin && strchr(" \t\r\n", text[i - 1]))
      continue;
    dtg_strbuf_putc(w->out, blank ? ' ' : text[i]);
    written++;
  }
  dtg_strbuf_puts(w->out, written == MAX_TEXT ? "...`" : "`");
}

static void put_where(const struct why *w, struct dtg_span span, bool quote) {
  const char *where = dtg_span_text(&w->ctx->arena, &w->ctx->sources, span);
  if (!*where)
    return;
  dtg_strbuf_printf(w->out, ", %s", where);
  if (quote)
    put_source(w, span);
}

static void put_cause(const struct why *w, const char *indent, struct dtg_cause cause) {
  bool whole = strncmp(cause.rule, "default-", 8) == 0;
  dtg_strbuf_printf(w->out, "%sbecause of %s", indent, rule_text(cause.rule));
  put_where(w, cause.span, !whole);
  dtg_strbuf_putc(w->out, '\n');
}

static void put_strategy(const struct why *w) {
  dtg_strbuf_printf(w->out, "  strategy `%s`", w->r->strategy->name);
  put_where(w, w->r->strategy->span, false);
  dtg_strbuf_putc(w->out, '\n');
}

static bool same_cause(struct dtg_cause a, struct dtg_cause b) {
  return strcmp(a.rule, b.rule) == 0 && a.span.file == b.span.file && a.span.begin == b.span.begin;
}

// ---- variables ----

// Which of several owners a `params` clause chose, and how.
static void put_choice(const struct why *w, struct dtg_cause cause) {
  const struct dtg_strategy *strategy = w->r->strategy;
  if (strcmp(cause.rule, "params") != 0 || w->r->owners.len < 2)
    return;
  for (size_t i = 0; i < strategy->owners.len; i++) {
    const struct dtg_owner_rule *rule = &strategy->owners.data[i];
    if (rule->span.file != cause.span.file || rule->span.begin != cause.span.begin)
      continue;
    dtg_strbuf_printf(w->out, "    chosen %s\n",
                      rule->round_robin
                          ? "in turns, in the order of paths"
                          : "by bytes: the largest first, onto the least loaded owner");
  }
}

static void put_slices(const struct why *w, uint32_t variable) {
  static const char *const kinds[] = {"", ", every replica keeps a copy",
                                      ", nobody keeps a whole copy"};
  size_t count;
  const struct dtg_slice *slices = dtg_variable_slices(w->r, variable, &count);
  for (size_t i = 0; i < count; i++) {
    const struct dtg_slice *s = &slices[i];
    if (count == 1)
      dtg_strbuf_printf(w->out, "  owned by %s%s\n", device_text(w, s->owner), kinds[s->kind]);
    else
      dtg_strbuf_printf(w->out, "  elements %lld to %lld are owned by %s%s\n", (long long)s->first,
                        (long long)(s->first + s->elements - 1), device_text(w, s->owner),
                        kinds[s->kind]);
    if (i + 1 < count && same_cause(s->cause, slices[i + 1].cause))
      continue;
    put_cause(w, "    ", s->cause);
    put_choice(w, s->cause);
  }
}

static void put_reduction(const struct why *w, uint32_t variable) {
  static const char *const how[] = {"mean", "sum", "maximum"};
  for (size_t i = 0; i < w->r->reductions.len; i++) {
    const struct dtg_reduction *d = &w->r->reductions.data[i];
    if (d->variable != variable)
      continue;
    dtg_strbuf_printf(w->out, "  its %s reduced there: %s over %lld shard%s by the fixed tree\n",
                      d->kind == DTG_ROOT_GRAD ? "gradient is" : "candidates are", how[d->reduce],
                      (long long)w->r->shards, w->r->shards == 1 ? "" : "s");
  }
}

static void put_rows(const struct why *w, uint32_t variable) {
  const struct dtg_sparse *table = dtg_sparse_of(w->r->module, variable);
  for (size_t i = 0; i < w->r->module->densified.len; i++) {
    const struct dtg_densified *dense = &w->r->module->densified.data[i];
    if (dense->variable != variable)
      continue;
    dtg_strbuf_printf(w->out, "  it is gathered, but %s", dense->why);
    put_where(w, dense->span, false);
    dtg_strbuf_puts(w->out, ": its gradient is dense\n");
  }
  if (!table)
    return;
  dtg_strbuf_printf(w->out, "  its gradient is rows, as it is only gathered: %lld by a shard\n",
                    (long long)table->picks);
  dtg_strbuf_printf(w->out, "  %s\n",
                    !table->touched ? "the update passes over all rows, as a gradient of 0 changes "
                                      "them"
                    : table->lazy   ? "only touched rows are updated, as the optimizer is lazy"
                                    : "only touched rows are updated, as a gradient of 0 changes "
                                      "nothing");
}

static void put_slots(const struct why *w, uint32_t variable) {
  for (size_t v = 0; v < w->r->module->variables.len; v++) {
    const struct dtg_variable *slot = &w->r->module->variables.data[v];
    if (slot->kind == DTG_VARIABLE_SLOT && slot->param == variable)
      dtg_strbuf_printf(w->out, "  its slot `%s` is with it\n", slot->path);
  }
}

static void put_variable(const struct why *w, uint32_t variable) {
  static const char *const kinds[] = {"parameter", "state", "optimizer slot"};
  const struct dtg_variable *v = &w->r->module->variables.data[variable];
  char type[128];
  dtg_type_format(&v->type, type, sizeof type);
  dtg_strbuf_printf(w->out, "`%s` is the %s %s, %lld bytes", v->path, kinds[v->kind], type,
                    (long long)dtg_type_bytes(&v->type));
  put_where(w, v->span, false);
  dtg_strbuf_putc(w->out, '\n');
  if (v->kind == DTG_VARIABLE_SLOT)
    dtg_strbuf_printf(w->out, "  a slot is where its parameter `%s` is\n",
                      w->r->module->variables.data[v->param].path);
  put_slices(w, variable);
  put_strategy(w);
  if (v->kind != DTG_VARIABLE_SLOT)
    put_reduction(w, variable);
  put_rows(w, variable);
  put_slots(w, variable);
}

static bool why_variable(const struct why *w) {
  for (uint32_t v = 0; v < w->r->module->variables.len; v++) {
    if (strcmp(w->r->module->variables.data[v].path, w->name) != 0)
      continue;
    put_variable(w, v);
    return true;
  }
  return false;
}

// ---- op paths ----

static const char *node_path(const struct dtg_node *node) {
  const char *path = dtg_node_string(node, "path", NULL);
  return path ? path : node->path;
}

static bool is_under(const char *path, const char *name) {
  size_t length = strlen(name);
  return strncmp(path, name, length) == 0 && (!path[length] || path[length] == '.');
}

// Nodes of one graph under the path that share device and cause, in order of first appearance.
static void put_nodes(const struct why *w, const struct dtg_graph *graph) {
  struct place {
    uint32_t device, count;
    struct dtg_cause cause;
  };
  DTG_VEC(struct place) places = {0};
  for (uint32_t n = 0; n < graph->nodes.len; n++) {
    const struct dtg_node *node = dtg_graph_node(graph, n);
    size_t i = 0;
    if (!is_under(node_path(node), w->name))
      continue;
    while (i < places.len && (places.data[i].device != node->device ||
                              !same_cause(places.data[i].cause, node->cause)))
      i++;
    if (i == places.len) {
      struct place place = {node->device, 0, node->cause};
      dtg_vec_push(&w->ctx->arena, &places, place);
    }
    places.data[i].count++;
  }
  for (size_t i = 0; i < places.len; i++) {
    dtg_strbuf_printf(w->out, "  %s graph: %u op%s on %s\n", graph->name, places.data[i].count,
                      places.data[i].count == 1 ? "" : "s", device_text(w, places.data[i].device));
    put_cause(w, "    ", places.data[i].cause);
  }
}

static size_t graphs_of(const struct why *w, const struct dtg_graph *graphs[4]) {
  const struct dtg_module *m = w->r->module;
  const struct dtg_graph *all[] = {m->train, m->eval, m->tail, m->update};
  size_t count = 0;
  for (size_t i = 0; i < 4; i++)
    if (all[i])
      graphs[count++] = all[i];
  return count;
}

static bool why_path(const struct why *w) {
  const struct dtg_graph *graphs[4];
  size_t count = graphs_of(w, graphs);
  bool found = false;
  if (!*w->name)
    return false;
  for (size_t g = 0; g < count && !found; g++)
    for (uint32_t n = 0; n < graphs[g]->nodes.len && !found; n++)
      found = is_under(node_path(dtg_graph_node(graphs[g], n)), w->name);
  if (!found)
    return false;
  dtg_strbuf_printf(w->out, "`%s` is an op path", w->name);
  if (w->r->replicas > 1)
    dtg_strbuf_printf(w->out,
                      "; the devices are those of replica 0, the other %u do the same on theirs",
                      w->r->replicas - 1);
  dtg_strbuf_putc(w->out, '\n');
  for (size_t g = 0; g < count; g++)
    put_nodes(w, graphs[g]);
  if (w->r->owners.len > 1)
    dtg_strbuf_puts(w->out, "  an update runs at every owner of a slice, on its rows\n");
  put_strategy(w);
  for (uint32_t v = 0; v < w->r->module->variables.len; v++)
    if (is_under(w->r->module->variables.data[v].path, w->name))
      dtg_strbuf_printf(w->out, "  see also `%s`\n", w->r->module->variables.data[v].path);
  return true;
}

// ---- devices and tasks ----

// The replica on a device; false if there is none.
static bool replica_on(const struct why *w, uint32_t device, uint32_t *replica,
                       struct dtg_cause *cause) {
  for (size_t i = 0; i < w->r->families.len; i++) {
    const struct dtg_replica_family *family = &w->r->families.data[i];
    uint32_t number;
    if (!dtg_device_set_find(&family->devices, device, &number))
      continue;
    *replica = family->first + number;
    *cause = family->cause;
    return true;
  }
  return false;
}

static void put_owned(const struct why *w, uint32_t device) {
  size_t rows = 0, all = 0;
  for (size_t i = 0; i < w->r->slices.len; i++)
    all += w->r->slices.data[i].owner == device;
  for (size_t i = 0; i < w->r->slices.len && rows < MAX_ROWS; i++) {
    const struct dtg_slice *s = &w->r->slices.data[i];
    if (s->owner != device)
      continue;
    const struct dtg_variable *v = &w->r->module->variables.data[s->variable];
    rows++;
    dtg_strbuf_printf(w->out, "    owns `%s`", v->path);
    if (s->elements != dtg_shape_count(&v->type.shape))
      dtg_strbuf_printf(w->out, ", elements %lld to %lld", (long long)s->first,
                        (long long)(s->first + s->elements - 1));
    dtg_strbuf_putc(w->out, '\n');
    put_cause(w, "      ", s->cause);
  }
  if (rows < all)
    dtg_strbuf_printf(w->out, "    and owns %zu more slices\n", all - rows);
}

static bool is_owner(const struct why *w, uint32_t device) {
  for (size_t i = 0; i < w->r->owners.len; i++)
    if (w->r->owners.data[i] == device)
      return true;
  return false;
}

static void put_device(const struct why *w, uint32_t device) {
  uint32_t replica;
  struct dtg_cause cause;
  bool computes = replica_on(w, device, &replica, &cause);
  dtg_strbuf_printf(w->out, "  %s\n", device_text(w, device));
  if (computes) {
    int64_t each = w->r->shards / w->r->replicas;
    dtg_strbuf_printf(w->out, "    computes replica %u: shards %lld to %lld of %lld\n", replica,
                      (long long)(replica * each), (long long)((replica + 1) * each - 1),
                      (long long)w->r->shards);
    put_cause(w, "      ", cause);
  }
  put_owned(w, device);
  if (!computes && !is_owner(w, device))
    dtg_strbuf_printf(w->out, "    unused by strategy `%s`\n", w->r->strategy->name);
}

static void put_client(const struct why *w, uint32_t task) {
  for (size_t i = 0; i < w->r->client_families.len; i++) {
    const struct dtg_client_family *f = &w->r->client_families.data[i];
    for (uint32_t k = 0; k < f->count; k++) {
      if (f->task + k * f->task_stride != task)
        continue;
      uint32_t first = f->first_replica + k * f->replicas_each;
      dtg_strbuf_printf(w->out, "  client %u%s, drives replica", f->first + k,
                        f->first + k == 0 ? ", the chief" : "");
      if (f->replicas_each == 1)
        dtg_strbuf_printf(w->out, " %u\n", first);
      else
        dtg_strbuf_printf(w->out, "s %u to %u\n", first, first + f->replicas_each - 1);
      put_cause(w, "    ", f->cause);
    }
  }
}

static uint32_t first_device(const struct dtg_cluster *cluster, uint32_t task, uint32_t *count) {
  uint32_t j = 0;
  for (; task >= cluster->jobs[j].task_count; j++)
    task -= cluster->jobs[j].task_count;
  *count = dtg_job_devices(&cluster->jobs[j]);
  return cluster->jobs[j].first_device + task * *count;
}

static bool why_task(const struct why *w) {
  uint32_t task, count;
  if (!dtg_task_find(w->r->cluster, w->name, &task))
    return false;
  uint32_t first = first_device(w->r->cluster, task, &count);
  dtg_strbuf_printf(w->out, "%s is a task with %u device%s\n",
                    dtg_task_name(&w->ctx->arena, w->r->cluster, task), count,
                    count == 1 ? "" : "s");
  put_client(w, task);
  for (uint32_t i = 0; i < count; i++)
    put_device(w, first + i);
  put_strategy(w);
  return true;
}

// A device's name starts with that of its task.
static bool why_device(const struct why *w) {
  const char *end = strstr(w->name, "/device:");
  uint32_t task, count;
  if (!end)
    return false;
  const char *name = dtg_arena_strndup(&w->ctx->arena, w->name, (size_t)(end - w->name));
  if (!dtg_task_find(w->r->cluster, name, &task))
    return false;
  uint32_t first = first_device(w->r->cluster, task, &count);
  for (uint32_t i = 0; i < count; i++) {
    if (strcmp(device_text(w, first + i), w->name) != 0)
      continue;
    dtg_strbuf_printf(w->out, "%s is a device\n", w->name);
    put_device(w, first + i);
    put_strategy(w);
    return true;
  }
  return false;
}

// ---- names that are not there ----

struct names {
  DTG_VEC(const char *) list;
};

static void add_paths(const struct why *w, struct names *names) {
  const struct dtg_graph *graphs[4];
  size_t count = graphs_of(w, graphs);
  const char *last = "";
  for (size_t v = 0; v < w->r->module->variables.len; v++)
    dtg_vec_push(&w->ctx->arena, &names->list, w->r->module->variables.data[v].path);
  for (size_t g = 0; g < count; g++)
    for (uint32_t n = 0; n < graphs[g]->nodes.len; n++) {
      const char *path = node_path(dtg_graph_node(graphs[g], n));
      if (*path && strcmp(path, last) != 0)
        dtg_vec_push(&w->ctx->arena, &names->list, path);
      last = path;
    }
}

static void add_places(const struct why *w, struct names *names) {
  const struct dtg_cluster *cluster = w->r->cluster;
  for (uint32_t j = 0; j < cluster->job_count; j++) {
    const struct dtg_job *job = &cluster->jobs[j];
    uint32_t each = dtg_job_devices(job);
    for (uint32_t t = 0; t < job->task_count && t < MAX_CANDIDATE_TASKS; t++) {
      const char *name = dtg_arena_printf(&w->ctx->arena, "%s/%u", job->name, t);
      dtg_vec_push(&w->ctx->arena, &names->list, name);
      for (uint32_t d = 0; d < each; d++)
        dtg_vec_push(&w->ctx->arena, &names->list,
                     device_text(w, job->first_device + t * each + d));
    }
  }
}

static bool unknown(const struct why *w) {
  struct names names = {0};
  struct dtg_diag *diag =
      dtg_error(&w->ctx->diags, DTG_SPAN_NONE, "nothing here is named `%s`", w->name);
  add_paths(w, &names);
  add_places(w, &names);
  const char *near = dtg_suggest(w->name, names.list.data, names.list.len);
  if (near)
    dtg_diag_hint(diag, "did you mean `%s`?", near);
  else
    dtg_diag_hint(diag,
                  "names are parameters and slots (dtgc plan lists them), op paths, devices and "
                  "tasks such as `%s/0`",
                  w->r->cluster->jobs[0].name);
  return false;
}

bool dtg_why(struct dtg_ctx *ctx, const struct dtg_replication *r, const char *name,
             struct dtg_strbuf *out) {
  struct why w = {ctx, r, name, out};
  return why_variable(&w) || why_path(&w) || why_device(&w) || why_task(&w) || unknown(&w);
}
