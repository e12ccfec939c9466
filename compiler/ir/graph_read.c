#include "compiler/base/intern.h"
#include "compiler/base/strbuf.h"
#include "compiler/ir/graph_scan.h"
#include "compiler/ir/graph_text.h"
#include "compiler/ir/graph_words.h"
#include "compiler/ir/loop.h"

#include <inttypes.h>
#include <string.h>

enum { MAX_BODIES = 8 };

static bool find_word(const char *const *words, int count, const char *word, int *out) {
  for (int i = 0; i < count; i++) {
    if (strcmp(words[i], word) == 0) {
      *out = i;
      return true;
    }
  }
  return false;
}

struct operands {
  DTG_VEC(uint32_t) ids;
  DTG_VEC(struct dtg_type) types;
};

/* A node by number, which must be there already. */
static bool read_node_id(struct dtg_scan *scan, const struct dtg_graph *graph, uint32_t *out) {
  uint32_t id = 0;
  if (!dtg_scan_expect(scan, '%', "before the number of a node") ||
      !dtg_scan_u32(scan, "the number of a node", &id))
    return false;
  if (id >= graph->nodes.len)
    return dtg_scan_fail(scan, "%%%" PRIu32 " is used before it is defined", id);
  *out = id;
  return true;
}

static bool read_operands(struct dtg_scan *scan, const struct dtg_graph *graph,
                          struct operands *operands) {
  bool more = dtg_scan_more(scan) && scan->text[scan->at] == '%';
  while (more) {
    uint32_t id = 0;
    if (!read_node_id(scan, graph, &id))
      return false;
    dtg_vec_push(scan->arena, &operands->ids, id);
    dtg_vec_push(scan->arena, &operands->types, dtg_graph_node(graph, id)->type);
    more = dtg_scan_try(scan, ',');
  }
  return !scan->failed;
}

static bool read_attrs(struct dtg_scan *scan, struct dtg_attr_list *attrs) {
  if (!dtg_scan_try(scan, '{'))
    return !scan->failed;
  do {
    struct dtg_attr attr;
    if (!dtg_scan_attr(scan, &attr))
      return false;
    dtg_vec_push(scan->arena, &attrs->list, attr);
  } while (dtg_scan_try(scan, ','));
  return dtg_scan_expect(scan, '}', "after the attributes");
}

/* The text's type must be what the op infers. */
static bool check_type(struct dtg_scan *scan, const struct dtg_op_def *op,
                       const struct operands *operands, const struct dtg_attr_list *attrs,
                       const struct dtg_type *type) {
  struct dtg_strbuf why = {0};
  struct dtg_type inferred = *type;
  struct dtg_infer_call call = {.inputs = operands->types.data,
                                .input_count = (uint32_t)operands->types.len,
                                .attrs = attrs->list.data,
                                .attr_count = (uint32_t)attrs->list.len,
                                .why = &why};
  bool good = dtg_op_infer(op, &call, &inferred);
  if (!good) {
    dtg_scan_fail(scan, "%s", dtg_strbuf_text(&why));
  } else if (!dtg_type_equal(type, &inferred)) {
    char wanted[256], written[256];
    dtg_type_format(&inferred, wanted, sizeof wanted);
    dtg_type_format(type, written, sizeof written);
    good = dtg_scan_fail(scan, "`%s` gives %s, but the text says %s", op->name, wanted, written);
  }
  dtg_strbuf_free(&why);
  return good;
}

static bool read_cause(struct dtg_scan *scan, struct dtg_cause *cause) {
  bool quoted = dtg_scan_more(scan) && scan->text[scan->at] == '"';
  if (!(quoted ? dtg_scan_string(scan, "a rule", &cause->rule)
               : dtg_scan_word(scan, "a rule", &cause->rule)))
    return false;
  if (!dtg_scan_try(scan, '='))
    return !scan->failed;
  return dtg_scan_expect(scan, '<', "before a span") && dtg_scan_span(scan, &cause->span);
}

/* What may follow the type: #group @device !cause path= name= <span>. */
static bool read_marks(struct dtg_scan *scan, struct dtg_node *node) {
  for (;;) {
    bool good;
    if (dtg_scan_try(scan, '#'))
      good = dtg_scan_u32(scan, "a group", &node->group);
    else if (dtg_scan_try(scan, '@'))
      good = dtg_scan_u32(scan, "a device", &node->device);
    else if (dtg_scan_try(scan, '!'))
      good = read_cause(scan, &node->cause);
    else if (dtg_scan_try(scan, '<'))
      good = dtg_scan_span(scan, &node->span);
    else if (dtg_scan_try_word(scan, "path"))
      good = dtg_scan_expect(scan, '=', "after `path`") &&
             dtg_scan_string(scan, "a path", &node->path);
    else if (dtg_scan_try_word(scan, "name"))
      good = dtg_scan_expect(scan, '=', "after `name`") &&
             dtg_scan_string(scan, "a name", &node->name);
    else
      return !scan->failed;
    if (!good)
      return false;
  }
}

static bool read_nodes(struct dtg_scan *scan, struct dtg_graph *graph);

/* A scan is followed by its body; what both share can be checked once it is there. */
static bool read_body(struct dtg_scan *scan, struct dtg_graph *graph, uint32_t id) {
  struct dtg_strbuf why = {0};
  bool scan_node = strcmp(dtg_graph_node(graph, id)->op->name, "scan") == 0;
  if (scan_node) {
    if (!dtg_scan_try_word(scan, "body"))
      return dtg_scan_fail(scan, "expected the `body` of the scan");
    if (scan->depth >= MAX_BODIES)
      return dtg_scan_fail(scan, "bodies are nested more than %d deep", MAX_BODIES);
    struct dtg_graph *body = dtg_loop_body_new(graph);
    scan->depth++;
    if (!read_nodes(scan, body))
      return false;
    scan->depth--;
    dtg_graph_node(graph, id)->body = body;
  }
  bool good =
      scan_node ? dtg_loop_verify(graph, id, &why) : dtg_loop_verify_result(graph, id, &why);
  if (!good)
    dtg_scan_fail(scan, "%s", dtg_strbuf_text(&why));
  dtg_strbuf_free(&why);
  return good;
}

/* Behind the `%` of the new node's number. */
static bool read_node(struct dtg_scan *scan, struct dtg_graph *graph) {
  uint32_t id = 0;
  const char *name;
  struct operands operands = {0};
  struct dtg_attr_list attrs = {0};
  struct dtg_type type;
  if (!dtg_scan_u32(scan, "the number of a node", &id))
    return false;
  if (id != graph->nodes.len)
    return dtg_scan_fail(scan, "expected node %%%zu, saw %%%" PRIu32, graph->nodes.len, id);
  if (!dtg_scan_word(scan, "an op", &name))
    return false;
  const struct dtg_op_def *op = dtg_op_find(name);
  if (!op)
    return dtg_scan_fail(scan, "there is no op `%s`", name);
  if (!read_operands(scan, graph, &operands) || !read_attrs(scan, &attrs) ||
      !dtg_scan_expect(scan, ':', "before the type") || !dtg_scan_type(scan, &type) ||
      !check_type(scan, op, &operands, &attrs, &type))
    return false;
  dtg_graph_add_typed(graph, op, type, operands.ids.data, (uint32_t)operands.ids.len,
                      attrs.list.data, (uint32_t)attrs.list.len);
  return read_marks(scan, dtg_graph_node(graph, id)) &&
         (op->class != DTG_CLASS_SCAN || read_body(scan, graph, id));
}

static bool read_root(struct dtg_scan *scan, struct dtg_graph *graph) {
  const char *kind, *name, *reduce;
  uint32_t node = 0;
  int kind_index, reduce_index;
  struct dtg_span span = DTG_SPAN_NONE;
  if (!dtg_scan_word(scan, "the kind of a root", &kind))
    return false;
  if (!find_word(dtg_root_words, DTG_ROOT_KIND_COUNT, kind, &kind_index))
    return dtg_scan_fail(scan, "`%s` is no kind of root", kind);
  if (!dtg_scan_string(scan, "the name of a root", &name) || !read_node_id(scan, graph, &node) ||
      !dtg_scan_word(scan, "how shards combine", &reduce))
    return false;
  if (!find_word(dtg_reduce_words, DTG_REDUCE_WORD_COUNT, reduce, &reduce_index))
    return dtg_scan_fail(scan, "shards combine by mean, sum or max, not by `%s`", reduce);
  if (dtg_scan_try(scan, '<') && !dtg_scan_span(scan, &span))
    return false;
  dtg_graph_add_root(graph, (enum dtg_root_kind)kind_index, name, node,
                     (enum dtg_reduce)reduce_index, span);
  return true;
}

/* Behind the name of a graph, or the word `body`. */
static bool read_nodes(struct dtg_scan *scan, struct dtg_graph *graph) {
  if (dtg_scan_try_word(scan, "groups") &&
      (!dtg_scan_expect(scan, '=', "after `groups`") ||
       !dtg_scan_u32(scan, "a number of groups", &graph->group_count)))
    return false;
  if (!dtg_scan_expect(scan, '{', "before the nodes"))
    return false;
  while (!dtg_scan_try(scan, '}')) {
    bool good = dtg_scan_try(scan, '%')           ? read_node(scan, graph)
                : dtg_scan_try_word(scan, "root") ? read_root(scan, graph)
                                                  : dtg_scan_expect(scan, '}', "after the nodes");
    if (!good)
      return false;
  }
  return true;
}

/* Behind the word `graph`. */
static bool read_graph(struct dtg_scan *scan, struct dtg_graph **out) {
  const char *name;
  if (!dtg_scan_string(scan, "the name of a graph", &name))
    return false;
  *out = dtg_graph_new(scan->arena, scan->names, name);
  return read_nodes(scan, *out);
}

static bool read_init(struct dtg_scan *scan, struct dtg_initializer *init) {
  return dtg_scan_expect(scan, '~', "before the initialiser") &&
         dtg_scan_word(scan, "an initialiser", &init->kind) &&
         dtg_scan_expect(scan, '(', "after the initialiser") && dtg_scan_float(scan, &init->a) &&
         dtg_scan_expect(scan, ',', "between numbers") && dtg_scan_float(scan, &init->b) &&
         dtg_scan_expect(scan, ')', "after the numbers");
}

static bool read_variable(struct dtg_scan *scan, struct dtg_module *module) {
  struct dtg_variable variable = {.param = DTG_NO_NODE, .span = DTG_SPAN_NONE};
  const char *kind;
  int index;
  if (!dtg_scan_word(scan, "the kind of a variable", &kind))
    return false;
  if (!find_word(dtg_variable_words, DTG_VARIABLE_WORD_COUNT, kind, &index))
    return dtg_scan_fail(scan, "`%s` is no kind of variable", kind);
  variable.kind = (enum dtg_variable_kind)index;
  if (!dtg_scan_string(scan, "a path", &variable.path) ||
      !dtg_scan_expect(scan, ':', "before the type") || !dtg_scan_type(scan, &variable.type) ||
      !read_init(scan, &variable.init))
    return false;
  if (dtg_scan_try_word(scan, "of")) {
    if (!dtg_scan_u32(scan, "the number of a variable", &variable.param))
      return false;
    if (variable.param >= module->variables.len)
      return dtg_scan_fail(scan, "variable %" PRIu32 " is not defined before", variable.param);
  }
  if (dtg_scan_try(scan, '<') && !dtg_scan_span(scan, &variable.span))
    return false;
  dtg_vec_push(scan->arena, &module->variables, variable);
  return !scan->failed;
}

static bool read_variables(struct dtg_scan *scan, struct dtg_module *module) {
  if (!dtg_scan_try_word(scan, "variables"))
    return dtg_scan_fail(scan, "expected `variables`");
  if (!dtg_scan_expect(scan, '{', "after `variables`"))
    return false;
  while (!dtg_scan_try(scan, '}')) {
    if (!read_variable(scan, module))
      return false;
  }
  return true;
}

static bool place_graph(struct dtg_scan *scan, struct dtg_module *module, struct dtg_graph *graph) {
  struct dtg_graph **places[] = {&module->train, &module->eval, &module->tail, &module->update};
  static const char *const names[] = {"train", "eval", "tail", "update"};
  int index;
  if (!find_word(names, 4, graph->name, &index))
    return dtg_scan_fail(scan, "a module has the graphs train, eval, tail and update, not `%s`",
                         graph->name);
  if (*places[index])
    return dtg_scan_fail(scan, "graph `%s` is there twice", graph->name);
  *places[index] = graph;
  return true;
}

static struct dtg_scan scan_start(struct dtg_arena *arena, struct dtg_intern *names,
                                  const char *text, size_t size, struct dtg_strbuf *why) {
  return (struct dtg_scan){
      .text = text, .size = size, .line = 1, .arena = arena, .names = names, .why = why};
}

bool dtg_graph_read(struct dtg_arena *arena, struct dtg_intern *names, const char *text,
                    size_t size, struct dtg_strbuf *why, struct dtg_graph **out) {
  struct dtg_scan scan = scan_start(arena, names, text, size, why);
  struct dtg_graph *graph;
  if (!dtg_scan_try_word(&scan, "graph"))
    return dtg_scan_fail(&scan, "expected `graph`");
  if (!read_graph(&scan, &graph))
    return false;
  if (dtg_scan_more(&scan))
    return dtg_scan_fail(&scan, "there is text behind the graph");
  *out = graph;
  return true;
}

bool dtg_module_read(struct dtg_arena *arena, struct dtg_intern *names, const char *text,
                     size_t size, struct dtg_strbuf *why, struct dtg_module **out) {
  struct dtg_scan scan = scan_start(arena, names, text, size, why);
  struct dtg_module *module = DTG_NEW(arena, struct dtg_module);
  module->arena = arena;
  module->names = names;
  if (!read_variables(&scan, module))
    return false;
  while (dtg_scan_more(&scan)) {
    struct dtg_graph *graph;
    if (!dtg_scan_try_word(&scan, "graph"))
      return dtg_scan_fail(&scan, "expected `graph`");
    if (!read_graph(&scan, &graph) || !place_graph(&scan, module, graph))
      return false;
  }
  *out = module;
  return true;
}

bool dtg_types_read(struct dtg_arena *arena, const char *text, struct dtg_strbuf *why,
                    struct dtg_type_list *out) {
  struct dtg_intern names;
  struct dtg_type_list types = {0};
  dtg_intern_init(&names);
  struct dtg_scan scan = scan_start(arena, &names, text, strlen(text), why);
  while (!scan.failed && dtg_scan_more(&scan)) {
    struct dtg_type type;
    if (dtg_scan_type(&scan, &type))
      dtg_vec_push(arena, &types.list, type);
  }
  dtg_intern_free(&names);
  if (scan.failed)
    return false;
  *out = types;
  return true;
}

bool dtg_attrs_read(struct dtg_arena *arena, struct dtg_intern *names, const char *text,
                    struct dtg_strbuf *why, struct dtg_attr_list *out) {
  struct dtg_scan scan = scan_start(arena, names, text, strlen(text), why);
  struct dtg_attr_list attrs = {0};
  while (!scan.failed && dtg_scan_more(&scan)) {
    struct dtg_attr attr;
    if (dtg_scan_attr(&scan, &attr))
      dtg_vec_push(arena, &attrs.list, attr);
    dtg_scan_try(&scan, ',');
  }
  if (scan.failed)
    return false;
  *out = attrs;
  return true;
}
