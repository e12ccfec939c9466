#include "compiler/base/strbuf.h"
#include "compiler/ir/graph_text.h"
#include "compiler/ir/graph_words.h"
#include "compiler/ir/op.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>

const char *const dtg_root_words[DTG_ROOT_KIND_COUNT] = {
    [DTG_ROOT_LOSS] = "loss",   [DTG_ROOT_METRIC] = "metric", [DTG_ROOT_OUTPUT] = "output",
    [DTG_ROOT_GRAD] = "grad",   [DTG_ROOT_STATE] = "state",   [DTG_ROOT_UPDATE] = "update",
    [DTG_ROOT_CARRY] = "carry", [DTG_ROOT_STACK] = "stack",   [DTG_ROOT_ROWS] = "rows",
};
const char *const dtg_reduce_words[DTG_REDUCE_WORD_COUNT] = {
    [DTG_REDUCE_MEAN] = "mean", [DTG_REDUCE_SUM] = "sum", [DTG_REDUCE_MAX] = "max"};
const char *const dtg_variable_words[DTG_VARIABLE_WORD_COUNT] = {
    [DTG_VARIABLE_PARAM] = "param", [DTG_VARIABLE_STATE] = "state", [DTG_VARIABLE_SLOT] = "slot"};

static void print_quoted(struct dtg_strbuf *out, const char *text) {
  dtg_strbuf_quote(out, text, strlen(text));
}

static void print_type(struct dtg_strbuf *out, const struct dtg_type *type) {
  char text[256];
  dtg_type_format(type, text, sizeof text);
  dtg_strbuf_puts(out, text);
}

static void print_span(struct dtg_strbuf *out, struct dtg_span span) {
  dtg_strbuf_printf(out, "<%" PRIu32 ":%" PRIu32 "-%" PRIu32 ">", span.file, span.begin, span.end);
}

static void print_ints(struct dtg_strbuf *out, const struct dtg_attr *attr) {
  dtg_strbuf_putc(out, '[');
  for (uint32_t i = 0; i < attr->value.ints.count; i++)
    dtg_strbuf_printf(out, "%s%" PRId64, i ? ", " : "", attr->value.ints.values[i]);
  dtg_strbuf_putc(out, ']');
}

void dtg_attr_print(const struct dtg_attr *attr, struct dtg_strbuf *out) {
  dtg_strbuf_printf(out, "%s=", attr->name);
  switch (attr->kind) {
  case DTG_ATTR_INT:
    dtg_strbuf_printf(out, "%" PRId64, attr->value.i);
    break;
  case DTG_ATTR_FLOAT:
    dtg_strbuf_f64(out, attr->value.f);
    break;
  case DTG_ATTR_BOOL:
    dtg_strbuf_puts(out, attr->value.b ? "true" : "false");
    break;
  case DTG_ATTR_STRING:
    print_quoted(out, attr->value.s);
    break;
  case DTG_ATTR_INTS:
    print_ints(out, attr);
    break;
  case DTG_ATTR_DTYPE:
    dtg_strbuf_puts(out, dtg_dtype_name(attr->value.dtype));
    break;
  }
}

static bool is_word(const char *text) {
  for (const char *c = text; *c; c++) {
    if (!isalnum((unsigned char)*c) && *c != '-' && *c != '_')
      return false;
  }
  return *text != '\0';
}

static void print_cause(struct dtg_strbuf *out, const struct dtg_cause *cause) {
  dtg_strbuf_puts(out, " !");
  if (is_word(cause->rule))
    dtg_strbuf_puts(out, cause->rule);
  else
    print_quoted(out, cause->rule);
  if (cause->span.file != DTG_NO_FILE) {
    dtg_strbuf_putc(out, '=');
    print_span(out, cause->span);
  }
}

static void indent(struct dtg_strbuf *out, uint32_t depth) {
  for (uint32_t i = 0; i < depth; i++)
    dtg_strbuf_puts(out, "  ");
}

static void print_body(const struct dtg_graph *graph, const struct dtg_source_set *sources,
                       uint32_t depth, struct dtg_strbuf *out);

/* The rest of a line: span, and for the reader's eyes where that is. */
static void print_end(struct dtg_strbuf *out, const struct dtg_source_set *sources,
                      struct dtg_span span) {
  if (span.file != DTG_NO_FILE) {
    dtg_strbuf_putc(out, ' ');
    print_span(out, span);
  }
  if (span.file != DTG_NO_FILE && sources && span.file < sources->files.len) {
    struct dtg_position at = dtg_source_position(sources, span.file, span.begin);
    dtg_strbuf_printf(out, " ; %s:%" PRIu32 ":%" PRIu32, dtg_source_get(sources, span.file)->path,
                      at.line, at.column);
  }
  dtg_strbuf_putc(out, '\n');
}

static void print_node(const struct dtg_node *node, uint32_t id,
                       const struct dtg_source_set *sources, uint32_t depth,
                       struct dtg_strbuf *out) {
  indent(out, depth);
  dtg_strbuf_printf(out, "%%%" PRIu32 " %s", id, node->op->name);
  for (uint32_t i = 0; i < node->input_count; i++)
    dtg_strbuf_printf(out, "%s %%%" PRIu32, i ? "," : "", node->inputs[i]);
  for (uint32_t i = 0; i < node->attr_count; i++) {
    dtg_strbuf_puts(out, i ? ", " : " {");
    dtg_attr_print(&node->attrs[i], out);
  }
  dtg_strbuf_puts(out, node->attr_count ? "} : " : " : ");
  print_type(out, &node->type);
  if (node->group != DTG_NO_GROUP)
    dtg_strbuf_printf(out, " #%" PRIu32, node->group);
  if (node->device != DTG_NO_DEVICE)
    dtg_strbuf_printf(out, " @%" PRIu32, node->device);
  if (node->cause.rule)
    print_cause(out, &node->cause);
  if (node->path[0] != '\0') {
    dtg_strbuf_puts(out, " path=");
    print_quoted(out, node->path);
  }
  if (node->name) {
    dtg_strbuf_puts(out, " name=");
    print_quoted(out, node->name);
  }
  print_end(out, sources, node->span);
  if (!node->body)
    return;
  indent(out, depth);
  dtg_strbuf_puts(out, "body");
  print_body(node->body, sources, depth, out);
}

static void print_root(const struct dtg_root *root, const struct dtg_source_set *sources,
                       uint32_t depth, struct dtg_strbuf *out) {
  indent(out, depth);
  dtg_strbuf_printf(out, "root %s ", dtg_root_words[root->kind]);
  print_quoted(out, root->name);
  dtg_strbuf_printf(out, " %%%" PRIu32 " %s", root->node, dtg_reduce_words[root->reduce]);
  print_end(out, sources, root->span);
}

static void print_body(const struct dtg_graph *graph, const struct dtg_source_set *sources,
                       uint32_t depth, struct dtg_strbuf *out) {
  if (graph->group_count != 0)
    dtg_strbuf_printf(out, " groups=%" PRIu32, graph->group_count);
  dtg_strbuf_puts(out, " {\n");
  for (size_t i = 0; i < graph->nodes.len; i++)
    print_node(&graph->nodes.data[i], (uint32_t)i, sources, depth + 1, out);
  for (size_t i = 0; i < graph->roots.len; i++)
    print_root(&graph->roots.data[i], sources, depth + 1, out);
  indent(out, depth);
  dtg_strbuf_puts(out, "}\n");
}

void dtg_graph_print(const struct dtg_graph *graph, const struct dtg_source_set *sources,
                     struct dtg_strbuf *out) {
  dtg_strbuf_puts(out, "graph ");
  print_quoted(out, graph->name);
  print_body(graph, sources, 0, out);
}

static void print_variable(const struct dtg_variable *variable,
                           const struct dtg_source_set *sources, struct dtg_strbuf *out) {
  dtg_strbuf_printf(out, "  %s ", dtg_variable_words[variable->kind]);
  print_quoted(out, variable->path);
  dtg_strbuf_puts(out, " : ");
  print_type(out, &variable->type);
  dtg_strbuf_printf(out, " ~ %s(", variable->init.kind);
  dtg_strbuf_f64(out, variable->init.a);
  dtg_strbuf_puts(out, ", ");
  dtg_strbuf_f64(out, variable->init.b);
  dtg_strbuf_putc(out, ')');
  if (variable->param != DTG_NO_NODE)
    dtg_strbuf_printf(out, " of %" PRIu32, variable->param);
  print_end(out, sources, variable->span);
}

void dtg_module_print(const struct dtg_module *module, const struct dtg_source_set *sources,
                      struct dtg_strbuf *out) {
  const struct dtg_graph *graphs[] = {module->train, module->eval, module->tail, module->update};
  dtg_strbuf_puts(out, "variables {\n");
  for (size_t i = 0; i < module->variables.len; i++)
    print_variable(&module->variables.data[i], sources, out);
  dtg_strbuf_puts(out, "}\n");
  for (size_t i = 0; i < sizeof graphs / sizeof *graphs; i++) {
    if (graphs[i])
      dtg_graph_print(graphs[i], sources, out);
  }
}
