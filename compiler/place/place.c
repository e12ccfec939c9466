#include "compiler/place/place.h"

#include "compiler/base/strbuf.h"
#include "compiler/ir/op.h"
#include "compiler/ir/update_split.h"
#include "compiler/replicate/pattern.h"

#include <string.h>

static const char *node_path(const struct dtg_node *node) {
  const char *path = dtg_node_string(node, "path", NULL);
  return path ? path : node->path;
}

static size_t graphs_of(const struct dtg_module *module, struct dtg_graph *graphs[4]) {
  struct dtg_graph *all[] = {module->train, module->eval, module->tail, module->update};
  size_t count = 0;
  for (size_t i = 0; i < 4; i++)
    if (all[i])
      graphs[count++] = all[i];
  return count;
}

static bool matches_variable(const struct dtg_module *module, const char *pattern) {
  for (size_t v = 0; v < module->variables.len; v++)
    if (dtg_pattern_match(pattern, module->variables.data[v].path))
      return true;
  return false;
}

// Leaves follow their variables, constants whoever uses them.
static bool is_computed(const struct dtg_node *node) {
  return node->op->class != DTG_CLASS_LEAF && node->op->class != DTG_CLASS_CONST;
}

// An op of the replica: the update is where the owners are.
static bool matches_op(const struct dtg_module *module, const char *pattern) {
  const struct dtg_graph *graphs[] = {module->train, module->eval, module->tail};
  for (size_t g = 0; g < sizeof graphs / sizeof *graphs; g++)
    for (uint32_t n = 0; graphs[g] && n < graphs[g]->nodes.len; n++) {
      const struct dtg_node *node = dtg_graph_node(graphs[g], n);
      if (is_computed(node) && dtg_pattern_match(pattern, node_path(node)))
        return true;
    }
  return false;
}

static bool no_match(struct dtg_ctx *ctx, struct dtg_span span, const char *pattern) {
  struct dtg_diag *diag =
      dtg_error(&ctx->diags, span, "the pattern \"%s\" matches no parameter and no layer", pattern);
  dtg_diag_hint(diag, "dtgc --emit=graph lists the paths; `*` stays within one part of a path, "
                      "`**` crosses");
  return false;
}

// Relative to a replica's task, that is the device of every replica; in full, of the only one.
static bool names_replica(const struct dtg_replication *r, const struct dtg_device_ref *ref) {
  const struct dtg_cluster *cluster = r->cluster;
  uint32_t device = dtg_replica_device(r, 0), first = 0;
  if (r->families.data[0].devices.inner > 1 || (ref->job && r->replicas > 1))
    return false;
  const struct dtg_job *job = cluster->jobs;
  while (device >= job->first_device + job->task_count * dtg_job_devices(job))
    job++;
  first = (device - job->first_device) % dtg_job_devices(job);
  uint32_t task = (device - job->first_device) / dtg_job_devices(job);
  if (ref->job &&
      (strcmp(ref->job, job->name) != 0 || (ref->task >= 0 && (uint32_t)ref->task != task)))
    return false;
  if (ref->type && strcmp(ref->type, "cpu") != 0)
    return false;
  return ref->index < 0 || (uint32_t)ref->index == first;
}

static bool refuse_apart(struct dtg_ctx *ctx, const struct dtg_replication *r,
                         const struct dtg_place_rule *rule) {
  struct dtg_diag *diag = dtg_error(
      &ctx->diags, rule->span,
      "\"%s\" would compute away from its replica, which dtgc does not do in this version",
      rule->pattern);
  dtg_diag_note(diag, r->families.data[0].cause.span, "replica 0 is on %s (%s)",
                dtg_cluster_device_name(&ctx->arena, r->cluster, dtg_replica_device(r, 0)),
                r->families.data[0].cause.rule);
  dtg_diag_hint(diag,
                "name parameters alone, such as \"%s.w\", to choose their owner; or write "
                "`prefer`",
                rule->pattern);
  return false;
}

static bool check_rules(struct dtg_ctx *ctx, const struct dtg_replication *r) {
  bool good = true;
  for (size_t i = 0; i < r->strategy->places.len; i++) {
    const struct dtg_place_rule *rule = &r->strategy->places.data[i];
    bool op = matches_op(r->module, rule->pattern);
    if (!op && !matches_variable(r->module, rule->pattern))
      good = no_match(ctx, rule->span, rule->pattern);
    else if (op && rule->must && !names_replica(r, &rule->device))
      good = refuse_apart(ctx, r, rule);
  }
  return good;
}

static struct dtg_cause cause_of(const struct dtg_replication *r, const struct dtg_node *node) {
  for (size_t i = 0; i < r->strategy->places.len; i++) {
    const struct dtg_place_rule *rule = &r->strategy->places.data[i];
    if (is_computed(node) && dtg_pattern_match(rule->pattern, node_path(node)) &&
        names_replica(r, &rule->device))
      return (struct dtg_cause){rule->must ? "place" : "prefer", rule->span};
  }
  return r->families.data[0].cause;
}

static void put(struct dtg_ctx *ctx, struct dtg_node *node, uint32_t device,
                struct dtg_cause cause) {
  node->device = device;
  node->cause = (struct dtg_cause){dtg_intern_z(&ctx->names, cause.rule), cause.span};
}

static const struct dtg_slice *slice_of(const struct dtg_replication *r, const char *path) {
  for (size_t i = 0; path && i < r->slices.len; i++)
    if (r->module->variables.data[r->slices.data[i].variable].path == path)
      return &r->slices.data[i];
  return NULL;
}

// The update of a variable is where its first slice is, and what every owner computes is shown at
// the first owner.
static void place_update(struct dtg_ctx *ctx, const struct dtg_replication *r) {
  struct dtg_graph *update = r->module->update;
  struct dtg_arena scratch = {0};
  const char **paths = dtg_owner_paths(&scratch, update);
  uint32_t shared = r->owners.len ? r->owners.data[0] : dtg_replica_device(r, 0);
  for (uint32_t n = 0; n < update->nodes.len; n++) {
    const struct dtg_slice *slice = slice_of(r, paths[n]);
    if (slice)
      put(ctx, dtg_graph_node(update, n), slice->owner, slice->cause);
    else
      put(ctx, dtg_graph_node(update, n), shared,
          (struct dtg_cause){"every-owner", r->strategy->span});
  }
  dtg_arena_free(&scratch);
}

bool dtg_place(struct dtg_ctx *ctx, const struct dtg_replication *r) {
  if (!check_rules(ctx, r))
    return false;
  struct dtg_graph *graphs[] = {r->module->train, r->module->eval, r->module->tail};
  for (size_t g = 0; g < sizeof graphs / sizeof *graphs; g++)
    for (uint32_t n = 0; graphs[g] && n < graphs[g]->nodes.len; n++) {
      struct dtg_node *node = dtg_graph_node(graphs[g], n);
      put(ctx, node, dtg_replica_device(r, 0), cause_of(r, node));
    }
  if (r->module->update)
    place_update(ctx, r);
  return true;
}

static bool verify_node(const struct dtg_replication *r, const struct dtg_graph *graph, uint32_t n,
                        struct dtg_strbuf *why) {
  const struct dtg_node *node = dtg_graph_node(graph, n);
  if (node->device >= dtg_cluster_device_count(r->cluster) || !node->cause.rule) {
    dtg_strbuf_printf(why, "%s: node %%%u has no device or no cause", graph->name, n);
    return false;
  }
  if (node->op->class == DTG_CLASS_VIEW && graph != r->module->update &&
      dtg_graph_node(graph, node->inputs[0])->device != node->device) {
    dtg_strbuf_printf(why, "%s: view %%%u is away from its input", graph->name, n);
    return false;
  }
  return true;
}

static bool verify_updates(const struct dtg_replication *r, struct dtg_strbuf *why) {
  const struct dtg_graph *update = r->module->update;
  for (size_t i = 0; update && i < update->roots.len; i++) {
    const struct dtg_root *root = &update->roots.data[i];
    const struct dtg_slice *slice = slice_of(r, root->name);
    if (!slice || dtg_graph_node(update, root->node)->device == slice->owner)
      continue;
    dtg_strbuf_printf(why, "`%s` is updated away from its owner", root->name);
    return false;
  }
  return true;
}

bool dtg_place_verify(const struct dtg_replication *r, struct dtg_strbuf *why) {
  struct dtg_graph *graphs[4];
  size_t count = graphs_of(r->module, graphs);
  for (size_t g = 0; g < count; g++)
    for (uint32_t n = 0; n < graphs[g]->nodes.len; n++)
      if (!verify_node(r, graphs[g], n, why))
        return false;
  return verify_updates(r, why);
}
