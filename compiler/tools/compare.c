#include "compiler/tools/compare.h"

#include "compiler/base/strbuf.h"
#include "compiler/ir/sparse.h"
#include "compiler/tools/traffic.h"

#include <string.h>

enum row {
  ROW_REPLICATE,
  ROW_PARAMS,
  ROW_REPLICAS,
  ROW_CLIENTS,
  ROW_GRAPHS,
  ROW_NODES,
  ROW_CHIEF,
  ROW_FEEDS,
  ROW_CONTROL,
  ROW_BUSIEST,
  ROW_ALL,
  ROW_INSIDE,
  ROW_REPLICA_MEMORY,
  ROW_OWNER_MEMORY,
  ROW_IMBALANCE,
  ROW_FAILURE,
  ROW_SEMANTICS,
  ROW_COUNT
};
_Static_assert((int)ROW_COUNT == (int)DTG_COMPARE_ROWS, "one text per row");

static const char *const labels[ROW_COUNT] = {"replicas are made",
                                              "parameters are",
                                              "replicas",
                                              "clients (step loops)",
                                              "graphs",
                                              "nodes per graph",
                                              "chief",
                                              "feeds per step",
                                              "control per step",
                                              "busiest link a step",
                                              "all links a step",
                                              "inside tasks a step",
                                              "memory of a replica",
                                              "memory of an owner",
                                              "owners, max/mean",
                                              "a lost task",
                                              "semantics"};

static const char *bytes_text(struct dtg_arena *arena, int64_t bytes) {
  static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  double value = (double)bytes;
  int unit = 0;
  for (; value >= 1024 && unit < 5; unit++)
    value /= 1024;
  return dtg_arena_printf(arena, unit ? "%.1f %s" : "%.0f %s", value, units[unit]);
}

static const char *replicate_text(struct dtg_arena *arena, const struct dtg_strategy *strategy) {
  const char *text = strategy->levels.len ? "" : "one replica on one device";
  for (size_t i = 0; i < strategy->levels.len; i++) {
    const struct dtg_replicate_level *level = &strategy->levels.data[i];
    text =
        dtg_arena_printf(arena, "%s%s%s over %s", text, i ? ", " : "",
                         level->kind == DTG_IN_GRAPH ? "in-graph" : "between-graph", level->scope);
  }
  return text;
}

static const char *rule_text(struct dtg_arena *arena, const struct dtg_owner_rule *rule) {
  if (rule->kind == DTG_OWNERS_MIRRORED)
    return "mirrored";
  if (rule->kind == DTG_OWNERS_SHARDED)
    return "sharded";
  const char *text = "on";
  if (rule->device.job)
    text = dtg_arena_printf(arena, "%s %s", text, rule->device.job);
  if (rule->device.job && rule->device.task >= 0)
    text = dtg_arena_printf(arena, "%s/%d", text, rule->device.task);
  if (rule->device.type)
    text = dtg_arena_printf(arena, "%s %s", text, rule->device.type);
  if (rule->device.type && rule->device.index >= 0)
    text = dtg_arena_printf(arena, "%s:%d", text, rule->device.index);
  if (rule->round_robin)
    text = dtg_arena_printf(arena, "%s, round robin", text);
  if (rule->split)
    text = dtg_arena_printf(arena, "%s, split", text);
  return text;
}

static const char *params_text(struct dtg_arena *arena, const struct dtg_replication *r) {
  const struct dtg_strategy *strategy = r->strategy;
  const char *text = "";
  if (strategy->owners.len == 0)
    return r->single ? "with the replica" : "mirrored";
  for (size_t i = 0; i < strategy->owners.len; i++) {
    const struct dtg_owner_rule *rule = &strategy->owners.data[i];
    bool all = strcmp(rule->pattern, "**") == 0;
    text = dtg_arena_printf(arena, "%s%s%s%s%s", text, i ? "; " : "", all ? "" : rule->pattern,
                            all ? "" : " ", rule_text(arena, rule));
  }
  return text;
}

// The nodes of a client's graph: a copy of the train graph for each of its replicas, and the
// update.
static const char *nodes_text(struct dtg_arena *arena, const struct dtg_replication *r) {
  size_t train = r->module->train ? r->module->train->nodes.len : 0;
  size_t update = r->module->update ? r->module->update->nodes.len : 0;
  uint32_t each = r->client_families.data[0].replicas_each;
  return dtg_arena_printf(arena, "%zu = %u x %zu + %zu", each * train + update, each, train,
                          update);
}

static const char *failure_text(struct dtg_arena *arena, const struct dtg_replication *r) {
  const struct dtg_update_rule *update = &r->strategy->update;
  if (r->single)
    return "ends the run";
  if (update->is_async)
    return "a worker: the others go on; an owner or the chief: all stop until it is back";
  if (update->backup > 0)
    return dtg_arena_printf(arena,
                            "up to %lld worker%s: the step goes on without; an owner or the chief: "
                            "all stop until it is back",
                            (long long)update->backup, update->backup == 1 ? "" : "s");
  return "all stop until it is back";
}

static const char *semantics_text(struct dtg_arena *arena, const struct dtg_replication *r) {
  const struct dtg_update_rule *update = &r->strategy->update;
  if (!r->relaxed)
    return dtg_module_is_lazy(r->module) ? "relaxed (lazy)" : "exact";
  if (!update->is_async)
    return dtg_arena_printf(arena, "relaxed (backup %lld)", (long long)update->backup);
  if (update->staleness < 0)
    return "relaxed (async)";
  return dtg_arena_printf(arena, "relaxed (async, staleness <= %lld)",
                          (long long)update->staleness);
}

static const char *imbalance_text(struct dtg_arena *arena, const struct dtg_partition *p) {
  double most = 0, sum = 0;
  for (size_t i = 0; i < p->loads.len; i++) {
    double bytes = (double)(p->loads.data[i].values + p->loads.data[i].slots);
    sum += bytes;
    most = bytes > most ? bytes : most;
  }
  if (p->loads.len < 2 || sum == 0)
    return "one owner";
  return dtg_arena_printf(arena, "%.3f over %zu", most * (double)p->loads.len / sum, p->loads.len);
}

// "worker/0", as --client takes it.
static const char *short_task(struct dtg_arena *arena, const struct dtg_cluster *cluster,
                              uint32_t task) {
  uint32_t j = 0;
  for (; task >= cluster->jobs[j].task_count; j++)
    task -= cluster->jobs[j].task_count;
  return dtg_arena_printf(arena, "%s/%u", cluster->jobs[j].name, task);
}

static const char *number(struct dtg_arena *arena, uint64_t value) {
  return dtg_arena_printf(arena, "%llu", (unsigned long long)value);
}

static void fill_maps(struct dtg_arena *arena, const struct dtg_partition *p, const char **cells) {
  const struct dtg_replication *r = p->replication;
  cells[ROW_REPLICATE] = replicate_text(arena, r->strategy);
  cells[ROW_PARAMS] = params_text(arena, r);
  cells[ROW_REPLICAS] =
      dtg_arena_printf(arena, "%u of %lld shard%s", r->replicas,
                       (long long)(r->shards / r->replicas), r->shards == r->replicas ? "" : "s");
  cells[ROW_CLIENTS] = cells[ROW_GRAPHS] = number(arena, r->clients);
  cells[ROW_NODES] = nodes_text(arena, r);
  cells[ROW_CHIEF] = short_task(arena, r->cluster, dtg_client_task(r, 0));
  cells[ROW_IMBALANCE] = imbalance_text(arena, p);
  cells[ROW_FAILURE] = failure_text(arena, r);
  cells[ROW_SEMANTICS] = semantics_text(arena, r);
}

static void fill_traffic(struct dtg_arena *arena, const struct dtg_partition *p,
                         const char **cells) {
  struct dtg_traffic traffic = dtg_traffic_measure(arena, p);
  const struct dtg_link_bytes *link = &traffic.links[traffic.busiest];
  const char *bound = traffic.at_most ? "at most " : "";
  cells[ROW_FEEDS] = bytes_text(arena, traffic.feeds);
  cells[ROW_CONTROL] = dtg_arena_printf(
      arena, "%s%llu message%s", p->replication->strategy->update.backup > 0 ? "at most " : "",
      (unsigned long long)traffic.control, traffic.control == 1 ? "" : "s");
  cells[ROW_BUSIEST] =
      traffic.all == 0
          ? "0 B"
          : dtg_arena_printf(arena, "%s%s at %s", bound,
                             bytes_text(arena, link->sent + link->received),
                             short_task(arena, p->replication->cluster, traffic.busiest));
  cells[ROW_ALL] =
      dtg_arena_printf(arena, "%s%s", traffic.all ? bound : "", bytes_text(arena, traffic.all));
  cells[ROW_INSIDE] = dtg_arena_printf(arena, "%s%s", traffic.inside ? bound : "",
                                       bytes_text(arena, traffic.inside));
}

void dtg_compare_fill(struct dtg_arena *arena, const struct dtg_partition *p,
                      struct dtg_compare_memory memory, struct dtg_compare_column *out) {
  fill_maps(arena, p, out->cells);
  fill_traffic(arena, p, out->cells);
  out->cells[ROW_REPLICA_MEMORY] = bytes_text(arena, memory.replica);
  out->cells[ROW_OWNER_MEMORY] =
      memory.owner ? bytes_text(arena, memory.owner) : "with the replica";
}

// ---- the table ----

enum { LABEL_WIDTH = 22, CELL_WIDTH = 24, GROUP = 3 };

// Takes the next line of a cell, broken at blanks: its length, and where the rest starts.
static size_t take_line(const char **rest) {
  const char *text = *rest;
  size_t length = strlen(text);
  if (length > CELL_WIDTH) {
    length = CELL_WIDTH;
    while (length > 0 && text[length] != ' ')
      length--;
    if (length == 0)
      length = CELL_WIDTH; // a word longer than the column
  }
  *rest = text + length + strspn(text + length, " ");
  return length;
}

static void put_line(struct dtg_strbuf *out, const char *label, const char **rests, size_t count) {
  size_t start = out->len, end;
  dtg_strbuf_printf(out, "%-*s", LABEL_WIDTH, label);
  for (size_t c = 0; c < count; c++) {
    const char *text = rests[c];
    size_t length = take_line(&rests[c]);
    dtg_strbuf_puts(out, "  ");
    dtg_strbuf_write(out, text, length);
    dtg_strbuf_repeat(out, ' ', CELL_WIDTH - length);
  }
  for (end = out->len; end > start && out->data[end - 1] == ' ';)
    end--;
  out->len = end;
  dtg_strbuf_putc(out, '\n');
}

static void put_row(struct dtg_strbuf *out, const char *label, const char **rests, size_t count) {
  for (bool more = true; more; label = "") {
    put_line(out, label, rests, count);
    more = false;
    for (size_t c = 0; c < count; c++)
      more |= *rests[c] != '\0';
  }
}

static void put_group(const struct dtg_compare_column *columns, size_t count,
                      struct dtg_strbuf *out) {
  const char *rests[GROUP];
  for (size_t c = 0; c < count; c++)
    rests[c] = columns[c].name;
  put_row(out, "strategy", rests, count);
  for (int row = 0; row < ROW_COUNT; row++) {
    for (size_t c = 0; c < count; c++)
      rests[c] = columns[c].cells[row];
    put_row(out, labels[row], rests, count);
  }
}

void dtg_compare_print(const struct dtg_compare_column *columns, size_t count,
                       struct dtg_strbuf *out) {
  struct dtg_arena arena = {0};
  struct dtg_compare_column *usable = DTG_NEW_ARRAY(&arena, struct dtg_compare_column, count);
  size_t used = 0;
  for (size_t c = 0; c < count; c++)
    if (!columns[c].refused)
      usable[used++] = columns[c];
  for (size_t c = 0; c < used; c += GROUP) {
    if (c > 0)
      dtg_strbuf_putc(out, '\n');
    put_group(&usable[c], used - c < GROUP ? used - c : GROUP, out);
  }
  if (used < count && used > 0)
    dtg_strbuf_putc(out, '\n');
  for (size_t c = 0; c < count; c++)
    if (columns[c].refused)
      dtg_strbuf_printf(out, "%s is refused on this cluster: %s\n", columns[c].name,
                        columns[c].refused);
  dtg_arena_free(&arena);
}
