#include "compiler/partition/partition.h"

#include "compiler/base/strbuf.h"

static struct dtg_part *part_of(struct dtg_ctx *ctx, struct dtg_partition *p,
                                const struct dtg_graph *graph, uint32_t device) {
  for (size_t i = 0; i < p->parts.len; i++)
    if (p->parts.data[i].graph == graph && p->parts.data[i].device == device)
      return &p->parts.data[i];
  struct dtg_part part = {.device = device, .graph = graph};
  dtg_vec_push(&ctx->arena, &p->parts, part);
  return &dtg_vec_last(&p->parts);
}

static const struct dtg_channel *channel_to(const struct dtg_partition *p,
                                            const struct dtg_graph *graph, uint32_t node,
                                            uint32_t to) {
  for (size_t i = 0; i < p->channels.len; i++) {
    const struct dtg_channel *c = &p->channels.data[i];
    if (c->graph == graph && c->node == node && c->to == to) return c;
  }
  return NULL;
}

static void add_node(struct dtg_ctx *ctx, struct dtg_partition *p, const struct dtg_graph *graph,
                     uint32_t n) {
  const struct dtg_node *node = dtg_graph_node(graph, n);
  struct dtg_part *part = part_of(ctx, p, graph, node->device);
  dtg_vec_push(&ctx->arena, &part->nodes, n);
  for (uint32_t i = 0; i < node->input_count; i++) {
    const struct dtg_node *input = dtg_graph_node(graph, node->inputs[i]);
    if (input->device == node->device || channel_to(p, graph, node->inputs[i], node->device))
      continue;
    struct dtg_channel channel = {graph, node->inputs[i], input->device, node->device,
                                  dtg_type_bytes(&input->type)};
    dtg_vec_push(&ctx->arena, &p->channels, channel);
  }
}

struct dtg_partition *dtg_partition(struct dtg_ctx *ctx, const struct dtg_replication *r) {
  struct dtg_partition *p = DTG_NEW(&ctx->arena, struct dtg_partition);
  p->replication = r;
  const struct dtg_graph *graphs[] = {r->module->train, r->module->eval, r->module->tail,
                                      r->module->update};
  for (size_t g = 0; g < sizeof graphs / sizeof *graphs; g++)
    for (uint32_t n = 0; graphs[g] && n < graphs[g]->nodes.len; n++)
      add_node(ctx, p, graphs[g], n);
  return p;
}

static bool verify_parts(const struct dtg_partition *p, struct dtg_strbuf *why) {
  for (size_t i = 0; i < p->parts.len; i++) {
    const struct dtg_part *part = &p->parts.data[i];
    for (size_t k = 0; k < part->nodes.len; k++) {
      const struct dtg_node *node = dtg_graph_node(part->graph, part->nodes.data[k]);
      // Increasing node ids are an execution order, so the wait graph of the parts has no cycle.
      if (node->device != part->device || (k && part->nodes.data[k] <= part->nodes.data[k - 1])) {
        dtg_strbuf_printf(why, "%s: node %%%u is in the wrong part or out of order",
                          part->graph->name, part->nodes.data[k]);
        return false;
      }
      for (uint32_t e = 0; e < node->input_count; e++) {
        const struct dtg_node *input = dtg_graph_node(part->graph, node->inputs[e]);
        if (input->device == node->device ||
            channel_to(p, part->graph, node->inputs[e], node->device))
          continue;
        dtg_strbuf_printf(why, "%s: %%%u reaches %%%u without a channel", part->graph->name,
                          node->inputs[e], part->nodes.data[k]);
        return false;
      }
    }
  }
  return true;
}

static bool verify_cover(const struct dtg_partition *p, struct dtg_strbuf *why) {
  const struct dtg_module *module = p->replication->module;
  const struct dtg_graph *graphs[] = {module->train, module->eval, module->tail, module->update};
  for (size_t g = 0; g < sizeof graphs / sizeof *graphs; g++) {
    size_t count = 0;
    for (size_t i = 0; i < p->parts.len; i++)
      if (p->parts.data[i].graph == graphs[g]) count += p->parts.data[i].nodes.len;
    if (!graphs[g] || count == graphs[g]->nodes.len) continue;
    dtg_strbuf_printf(why, "%s: %zu of %zu nodes are in a part", graphs[g]->name, count,
                      graphs[g]->nodes.len);
    return false;
  }
  return true;
}

bool dtg_partition_verify(const struct dtg_partition *p, struct dtg_strbuf *why) {
  for (size_t i = 0; i < p->channels.len; i++) {
    const struct dtg_channel *c = &p->channels.data[i];
    const struct dtg_node *node = dtg_graph_node(c->graph, c->node);
    if (c->from != node->device || c->to == c->from || c->bytes != dtg_type_bytes(&node->type)) {
      dtg_strbuf_printf(why, "%s: the channel of %%%u has the wrong ends or size", c->graph->name,
                        c->node);
      return false;
    }
  }
  return verify_cover(p, why) && verify_parts(p, why);
}

void dtg_partition_print(const struct dtg_partition *p, struct dtg_strbuf *out) {
  struct dtg_arena arena = {0};
  const struct dtg_cluster *cluster = p->replication->cluster;
  for (size_t i = 0; i < p->parts.len; i++)
    dtg_strbuf_printf(out, "part %s of %s: %zu nodes\n",
                      dtg_cluster_device_name(&arena, cluster, p->parts.data[i].device),
                      p->parts.data[i].graph->name, p->parts.data[i].nodes.len);
  for (size_t i = 0; i < p->channels.len; i++) {
    const struct dtg_channel *c = &p->channels.data[i];
    dtg_strbuf_printf(out, "channel %%%u of %s: %s -> %s, %lld bytes\n", c->node, c->graph->name,
                      dtg_cluster_device_name(&arena, cluster, c->from),
                      dtg_cluster_device_name(&arena, cluster, c->to), (long long)c->bytes);
  }
  dtg_strbuf_printf(out, "%zu parts, %zu channels\n", p->parts.len, p->channels.len);
  dtg_arena_free(&arena);
}
