#include "compiler/place/place.h"

#include "compiler/base/strbuf.h"
#include "compiler/ir/op.h"
#include "compiler/place/pattern.h"

#include <string.h>

static const char *node_path(const struct dtg_node *node) {
  const char *path = dtg_node_string(node, "path", NULL);
  return path ? path : node->path;
}

static size_t graphs_of(const struct dtg_module *module, struct dtg_graph *graphs[4]) {
  struct dtg_graph *all[] = {module->train, module->eval, module->tail, module->update};
  size_t count = 0;
  for (size_t i = 0; i < 4; i++)
    if (all[i]) graphs[count++] = all[i];
  return count;
}

static bool matches_anything(const struct dtg_module *module, const char *pattern) {
  struct dtg_graph *graphs[4];
  size_t count = graphs_of(module, graphs);
  for (size_t v = 0; v < module->variables.len; v++)
    if (dtg_pattern_match(pattern, module->variables.data[v].path)) return true;
  for (size_t g = 0; g < count; g++)
    for (uint32_t n = 0; n < graphs[g]->nodes.len; n++)
      if (dtg_pattern_match(pattern, node_path(dtg_graph_node(graphs[g], n)))) return true;
  return false;
}

static bool no_match(struct dtg_ctx *ctx, struct dtg_span span, const char *pattern) {
  struct dtg_diag *diag =
      dtg_error(&ctx->diags, span, "the pattern \"%s\" matches no parameter and no layer", pattern);
  dtg_diag_hint(diag, "dtgc --emit=model lists the paths; `*` stays within one part of a path, "
                      "`**` crosses");
  return false;
}

static bool names_device(const struct dtg_cluster *cluster, const struct dtg_device_ref *ref,
                         uint32_t device) {
  const struct dtg_job *chief = &cluster->jobs[cluster->chief_job];
  uint32_t local = (device - chief->first_device) % dtg_job_devices(chief);
  if (ref->job && (strcmp(ref->job, chief->name) != 0 ||
                   (ref->task >= 0 && (uint32_t)ref->task != cluster->chief_task)))
    return false;
  if (ref->type && strcmp(ref->type, "cpu") != 0) return false;
  return ref->index < 0 || (uint32_t)ref->index == local;
}

// One replica on one device: a rule may name that device, and none else.
static bool check_rules(struct dtg_ctx *ctx, const struct dtg_replication *r) {
  uint32_t device = r->families.data[0].device;
  bool good = true;
  for (size_t i = 0; i < r->strategy->places.len; i++) {
    const struct dtg_place_rule *rule = &r->strategy->places.data[i];
    if (!matches_anything(r->module, rule->pattern)) {
      good = no_match(ctx, rule->span, rule->pattern);
    } else if (rule->must && !names_device(r->cluster, &rule->device, device)) {
      struct dtg_diag *diag =
          dtg_error(&ctx->diags, rule->span,
                    "\"%s\" would be away from its replica, which dtgc does not do in this version",
                    rule->pattern);
      dtg_diag_note(diag, r->families.data[0].cause.span, "the replica is on %s (%s)",
                    dtg_cluster_device_name(&ctx->arena, r->cluster, device),
                    r->families.data[0].cause.rule);
      dtg_diag_hint(diag, "leave the rule out, or write `prefer`");
      good = false;
    }
  }
  for (size_t i = 0; i < r->strategy->owners.len; i++)
    if (!matches_anything(r->module, r->strategy->owners.data[i].pattern))
      good = no_match(ctx, r->strategy->owners.data[i].span, r->strategy->owners.data[i].pattern);
  return good;
}

static struct dtg_cause cause_of(const struct dtg_replication *r, const struct dtg_node *node) {
  for (size_t i = 0; i < r->strategy->places.len; i++) {
    const struct dtg_place_rule *rule = &r->strategy->places.data[i];
    if (dtg_pattern_match(rule->pattern, node_path(node)) &&
        names_device(r->cluster, &rule->device, r->families.data[0].device))
      return (struct dtg_cause){rule->must ? "place" : "prefer", rule->span};
  }
  return r->families.data[0].cause;
}

bool dtg_place(struct dtg_ctx *ctx, const struct dtg_replication *r) {
  if (!check_rules(ctx, r)) return false;
  struct dtg_graph *graphs[4];
  size_t count = graphs_of(r->module, graphs);
  for (size_t g = 0; g < count; g++)
    for (uint32_t n = 0; n < graphs[g]->nodes.len; n++) {
      struct dtg_node *node = dtg_graph_node(graphs[g], n);
      node->device = r->families.data[0].device;
      node->cause = cause_of(r, node);
      node->cause.rule = dtg_intern_z(&ctx->names, node->cause.rule);
    }
  return true;
}

static bool verify_node(const struct dtg_replication *r, const struct dtg_graph *graph, uint32_t n,
                        struct dtg_strbuf *why) {
  const struct dtg_node *node = dtg_graph_node(graph, n);
  if (node->device >= dtg_cluster_device_count(r->cluster) || !node->cause.rule) {
    dtg_strbuf_printf(why, "%s: node %%%u has no device or no cause", graph->name, n);
    return false;
  }
  if (node->op->class == DTG_CLASS_VIEW &&
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
    for (size_t v = 0; v < r->owners.len; v++) {
      if (r->module->variables.data[v].path != root->name) continue;
      if (dtg_graph_node(update, root->node)->device == r->owners.data[v].device) continue;
      dtg_strbuf_printf(why, "`%s` is updated away from its owner", root->name);
      return false;
    }
  }
  return true;
}

bool dtg_place_verify(const struct dtg_replication *r, struct dtg_strbuf *why) {
  struct dtg_graph *graphs[4];
  size_t count = graphs_of(r->module, graphs);
  for (size_t g = 0; g < count; g++)
    for (uint32_t n = 0; n < graphs[g]->nodes.len; n++)
      if (!verify_node(r, graphs[g], n, why)) return false;
  return verify_updates(r, why);
}
