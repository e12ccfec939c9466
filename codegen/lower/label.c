/* Names and comments of kernels, from the paths and names of the model. */
#include "codegen/lower/internal.h"

#include "compiler/base/strbuf.h"

#include <ctype.h>
#include <string.h>

enum { LABEL = 40, COMMENT = 100, DEPTH = 4 };

/* The last member that the model names; else the last. */
static const struct dtg_node *subject_of(const struct dtg_graph *graph,
                                         const struct dtg_group *group) {
  const struct dtg_node *subject = dtg_graph_node(graph, group->members[group->member_count - 1]);
  for (uint32_t i = 0; i < group->member_count; i++) {
    const struct dtg_node *node = dtg_graph_node(graph, group->members[i]);
    if (node->name || (node->path && *node->path))
      subject = node;
  }
  return subject;
}

static void put_identifier(struct dtg_strbuf *out, const char *text) {
  for (; *text && out->len < LABEL; text++) {
    bool word = isalnum((unsigned char)*text) != 0;
    if (word)
      dtg_strbuf_putc(out, *text);
    else if (out->len > 0 && out->data[out->len - 1] != '_')
      dtg_strbuf_putc(out, '_');
  }
  while (out->len > 0 && out->data[out->len - 1] == '_')
    out->data[--out->len] = '\0';
}

const char *cg_lower_label(struct dtg_arena *arena, const struct dtg_graph *graph,
                           const struct dtg_group *group) {
  const struct dtg_node *subject = subject_of(graph, group);
  const char *const parts[] = {subject->path, subject->name ? subject->name : subject->op->name};
  struct dtg_strbuf out = {0};
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
    if (!parts[i] || !*parts[i])
      continue;
    if (out.len > 0)
      dtg_strbuf_putc(&out, '_');
    put_identifier(&out, parts[i]);
  }
  const char *label = dtg_arena_strdup(arena, dtg_strbuf_text(&out));
  dtg_strbuf_free(&out);
  return label;
}

static const char *memory_name(const struct dtg_node *node) {
  const char *key = NULL;
  if (dtg_leaf_of(node, &key) != DTG_LEAF_NONE)
    return key;
  return node->name ? node->name : node->op->name;
}

static void put_expression(struct dtg_strbuf *out, const struct dtg_links *links, uint32_t id,
                           uint32_t group, uint32_t depth) {
  const struct dtg_node *node = dtg_graph_node(links->graph, id);
  if (dtg_links_in_memory(links, id, group)) {
    dtg_strbuf_puts(out, memory_name(node));
  } else if (node->op->class == DTG_CLASS_CONST) {
    dtg_strbuf_f64(out, dtg_const_float(node));
  } else if (links->group[id] == DTG_NO_GROUP && node->input_count == 1) {
    put_expression(out, links, node->inputs[0], group, depth);
  } else if (depth == 0 || out->len > COMMENT) {
    dtg_strbuf_puts(out, "...");
  } else {
    dtg_strbuf_printf(out, "%s(", node->op->name);
    for (uint32_t i = 0; i < node->input_count; i++) {
      if (i > 0)
        dtg_strbuf_puts(out, ", ");
      put_expression(out, links, node->inputs[i], group, depth - 1);
    }
    dtg_strbuf_putc(out, ')');
  }
}

const char *cg_lower_comment(struct dtg_arena *arena, const struct dtg_groups *groups,
                             const struct dtg_group *group) {
  const struct dtg_links *links = groups->links;
  const struct dtg_node *subject = subject_of(links->graph, group);
  struct dtg_strbuf out = {0};
  bool any = false;
  if (subject->path && *subject->path)
    dtg_strbuf_printf(&out, "%s: ", subject->path);
  for (uint32_t i = 0; i < group->member_count; i++) {
    uint32_t id = group->members[i];
    if (!dtg_links_stored(links, id))
      continue;
    if (any)
      dtg_strbuf_puts(&out, "; ");
    any = true;
    const char *name = dtg_graph_node(links->graph, id)->name;
    if (name)
      dtg_strbuf_printf(&out, "%s = ", name);
    put_expression(&out, links, id, links->group[id], DEPTH);
    if (out.len > COMMENT)
      break;
  }
  const char *comment = dtg_arena_strdup(arena, dtg_strbuf_text(&out));
  dtg_strbuf_free(&out);
  return comment;
}
