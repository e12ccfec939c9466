#include "compiler/ir/verify.h"

#include "compiler/base/strbuf.h"
#include "compiler/ir/graph_words.h"
#include "compiler/ir/loop.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

struct verifier {
  const struct dtg_module *module; /* or NULL */
  const struct dtg_graph *graph;
  struct dtg_strbuf *why;
};

static bool fail(const struct verifier *v, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static bool fail(const struct verifier *v, const char *format, ...) {
  va_list args;
  va_start(args, format);
  dtg_strbuf_printf(v->why, "graph `%s`: ", v->graph->name);
  dtg_strbuf_vprintf(v->why, format, args);
  va_end(args);
  return false;
}

static bool fail_types(const struct verifier *v, const char *what, const char *name,
                       const struct dtg_type *wanted, const struct dtg_type *found) {
  char first[256], second[256];
  dtg_type_format(wanted, first, sizeof first);
  dtg_type_format(found, second, sizeof second);
  return fail(v, "%s `%s` is %s, not %s", what, name, first, second);
}

static bool verify_type(const struct verifier *v, uint32_t id, const struct dtg_node *node) {
  int64_t count, bytes;
  if (node->type.shape.rank > DTG_MAX_RANK)
    return fail(v, "node %%%" PRIu32 " has too many dims", id);
  for (uint32_t i = 0; i < node->type.shape.rank; i++) {
    if (node->type.shape.dims[i] < 1)
      return fail(v, "node %%%" PRIu32 " has a dim below 1", id);
  }
  if (!dtg_shape_count_checked(&node->type.shape, &count) ||
      __builtin_mul_overflow(count, (int64_t)dtg_dtype_size(node->type.dtype), &bytes))
    return fail(v, "node %%%" PRIu32 " is too large", id);
  return true;
}

static bool verify_infer(const struct verifier *v, uint32_t id, const struct dtg_node *node,
                         struct dtg_type *scratch) {
  struct dtg_strbuf why = {0};
  struct dtg_type type = node->type;
  for (uint32_t i = 0; i < node->input_count; i++)
    scratch[i] = v->graph->nodes.data[node->inputs[i]].type;
  struct dtg_infer_call call = {.inputs = scratch,
                                .input_count = node->input_count,
                                .attrs = node->attrs,
                                .attr_count = node->attr_count,
                                .why = &why};
  bool good = dtg_op_infer(node->op, &call, &type);
  if (!good) {
    fail(v, "node %%%" PRIu32 ": %s", id, dtg_strbuf_text(&why));
  } else if (!dtg_type_equal(&type, &node->type)) {
    char name[32];
    snprintf(name, sizeof name, "%%%" PRIu32, id);
    good = fail_types(v, "node", name, &type, &node->type);
  }
  dtg_strbuf_free(&why);
  return good;
}

static bool verify_graph(const struct verifier *v);

static bool verify_loop(const struct verifier *v, uint32_t id, const struct dtg_node *node) {
  struct dtg_strbuf why = {0};
  bool result = strcmp(node->op->name, "scan") != 0;
  bool good =
      result ? dtg_loop_verify_result(v->graph, id, &why) : dtg_loop_verify(v->graph, id, &why);
  if (!good)
    fail(v, "node %%%" PRIu32 ": %s", id, dtg_strbuf_text(&why));
  dtg_strbuf_free(&why);
  struct verifier inner = {.graph = node->body, .why = v->why};
  return good && (result || verify_graph(&inner));
}

static bool verify_node(const struct verifier *v, uint32_t id, struct dtg_type *scratch) {
  const struct dtg_node *node = &v->graph->nodes.data[id];
  if (!node->op)
    return fail(v, "node %%%" PRIu32 " has no op", id);
  for (uint32_t i = 0; i < node->input_count; i++) {
    if (node->inputs[i] >= id)
      return fail(v, "node %%%" PRIu32 " uses %%%" PRIu32 ", which does not come before it", id,
                  node->inputs[i]);
  }
  for (uint32_t i = 1; i < node->attr_count; i++) {
    if (strcmp(node->attrs[i - 1].name, node->attrs[i].name) >= 0)
      return fail(v, "node %%%" PRIu32 " has unsorted attributes", id);
  }
  return verify_type(v, id, node) && verify_infer(v, id, node, scratch) &&
         (node->op->class != DTG_CLASS_SCAN || verify_loop(v, id, node));
}

/* `kinds` has one bit for each kind. */
static const struct dtg_variable *find_variable(const struct verifier *v, const char *path,
                                                unsigned kinds) {
  for (size_t i = 0; i < v->module->variables.len; i++) {
    const struct dtg_variable *variable = &v->module->variables.data[i];
    if ((kinds >> variable->kind & 1u) && strcmp(variable->path, path) == 0)
      return variable;
  }
  return NULL;
}

/* The kinds of variables that a leaf of the module may name, one bit for each; 0: it names none. */
static unsigned leaf_kinds(const struct dtg_node *node) {
  static const struct {
    const char *op;
    unsigned kinds;
  } rows[] = {{"param", 1u << DTG_VARIABLE_PARAM},
              {"state", 1u << DTG_VARIABLE_STATE},
              {"slot", 1u << DTG_VARIABLE_SLOT},
              {"grad_in", 1u << DTG_VARIABLE_PARAM | 1u << DTG_VARIABLE_STATE}};
  for (size_t i = 0; node->op->class == DTG_CLASS_LEAF && i < sizeof rows / sizeof *rows; i++) {
    if (strcmp(node->op->name, rows[i].op) == 0)
      return rows[i].kinds;
  }
  return 0;
}

static bool verify_leaf(const struct verifier *v, const struct dtg_node *node) {
  unsigned kinds = leaf_kinds(node);
  if (kinds == 0)
    return true;
  const char *path = dtg_node_string(node, "path", "");
  const struct dtg_variable *variable = find_variable(v, path, kinds);
  if (!variable)
    return fail(v, "`%s` reads `%s`, which is no such variable", node->op->name, path);
  if (!dtg_type_equal(&variable->type, &node->type))
    return fail_types(v, "variable", path, &variable->type, &node->type);
  return true;
}

static bool same_root(const struct dtg_root *a, const struct dtg_root *b) {
  return a->kind == b->kind && strcmp(a->name, b->name) == 0;
}

static bool verify_roots(const struct verifier *v) {
  for (size_t i = 0; i < v->graph->roots.len; i++) {
    const struct dtg_root *root = &v->graph->roots.data[i];
    if (root->node >= v->graph->nodes.len)
      return fail(v, "%s `%s` is no node", dtg_root_words[root->kind], root->name);
    const struct dtg_type *type = &v->graph->nodes.data[root->node].type;
    bool scalar = root->kind == DTG_ROOT_LOSS || root->kind == DTG_ROOT_METRIC;
    if (scalar && !dtg_type_equal(type, &(struct dtg_type){.dtype = DTG_F32}))
      return fail_types(v, dtg_root_words[root->kind], root->name,
                        &(struct dtg_type){.dtype = DTG_F32}, type);
    for (size_t j = 0; j < i; j++) {
      if (same_root(root, &v->graph->roots.data[j]))
        return fail(v, "%s `%s` is there twice", dtg_root_words[root->kind], root->name);
    }
  }
  return true;
}

/* The kinds of variables that a root may name; 0: it names none. */
static unsigned root_kinds(enum dtg_root_kind kind) {
  switch (kind) {
  case DTG_ROOT_GRAD:
  case DTG_ROOT_ROWS:
    return 1u << DTG_VARIABLE_PARAM;
  case DTG_ROOT_STATE:
    return 1u << DTG_VARIABLE_STATE;
  case DTG_ROOT_UPDATE:
    return 1u << DTG_VARIABLE_PARAM | 1u << DTG_VARIABLE_STATE | 1u << DTG_VARIABLE_SLOT;
  default:
    return 0;
  }
}

static const struct dtg_root *find_root(const struct dtg_graph *graph, enum dtg_root_kind kind,
                                        const char *name) {
  for (size_t i = 0; i < graph->roots.len; i++) {
    if (graph->roots.data[i].kind == kind && strcmp(graph->roots.data[i].name, name) == 0)
      return &graph->roots.data[i];
  }
  return NULL;
}

/* The gradient of a sparse parameter has one row for each index; others have the parameter's type.
 */
static struct dtg_type wanted_type(const struct verifier *v, const struct dtg_root *root,
                                   const struct dtg_variable *variable) {
  struct dtg_type wanted = variable->type;
  const struct dtg_root *rows = find_root(v->graph, DTG_ROOT_ROWS, root->name);
  if (!rows || (root->kind != DTG_ROOT_GRAD && root->kind != DTG_ROOT_ROWS))
    return wanted;
  int64_t count = dtg_shape_count(&v->graph->nodes.data[rows->node].type.shape);
  if (root->kind == DTG_ROOT_ROWS)
    return (struct dtg_type){.dtype = DTG_I32, .shape = {.rank = 1, .dims = {count}}};
  wanted.shape.dims[0] = count;
  return wanted;
}

static bool verify_root_type(const struct verifier *v, const struct dtg_root *root) {
  const struct dtg_type *type = &v->graph->nodes.data[root->node].type;
  unsigned kinds = root_kinds(root->kind);
  const struct dtg_variable *variable = find_variable(v, root->name, kinds);
  if (kinds == 0)
    return true;
  if (!variable)
    return fail(v, "a root names `%s`, which is no such variable", root->name);
  struct dtg_type wanted = wanted_type(v, root, variable);
  if (!dtg_type_equal(&wanted, type))
    return fail_types(v, "variable", root->name, &wanted, type);
  return true;
}

static bool verify_graph(const struct verifier *v) {
  struct dtg_arena scratch;
  dtg_arena_init(&scratch);
  uint32_t widest = 0;
  for (size_t i = 0; i < v->graph->nodes.len; i++) {
    uint32_t count = v->graph->nodes.data[i].input_count;
    widest = count > widest ? count : widest;
  }
  struct dtg_type *types = DTG_NEW_ARRAY(&scratch, struct dtg_type, widest);
  bool good = true;
  for (uint32_t i = 0; i < v->graph->nodes.len && good; i++)
    good = verify_node(v, i, types) && (!v->module || verify_leaf(v, &v->graph->nodes.data[i]));
  good = good && verify_roots(v);
  for (size_t i = 0; v->module && i < v->graph->roots.len && good; i++)
    good = verify_root_type(v, &v->graph->roots.data[i]);
  dtg_arena_free(&scratch);
  return good;
}

bool dtg_graph_verify(const struct dtg_graph *graph, enum dtg_verify_level level,
                      struct dtg_strbuf *why) {
  (void)level; /* what the levels add concerns the module */
  return verify_graph(&(struct verifier){.graph = graph, .why = why});
}

static bool has_root(const struct dtg_graph *graph, enum dtg_root_kind kind, const char *name) {
  return find_root(graph, kind, name) != NULL;
}

/* No root is there twice (verify_roots), so that one is exactly one. */
static bool verify_updates(const struct dtg_module *module, struct dtg_strbuf *why) {
  struct verifier train = {.module = module, .graph = module->train, .why = why};
  struct verifier update = {.module = module, .graph = module->update, .why = why};
  if (!module->update) {
    dtg_strbuf_puts(why, "the module has no graph `update`");
    return false;
  }
  for (size_t i = 0; i < module->variables.len; i++) {
    const struct dtg_variable *variable = &module->variables.data[i];
    if (variable->kind == DTG_VARIABLE_STATE &&
        !has_root(module->train, DTG_ROOT_STATE, variable->path))
      continue; /* nothing changes it */
    if (variable->kind == DTG_VARIABLE_PARAM &&
        !has_root(module->train, DTG_ROOT_GRAD, variable->path))
      return fail(&train, "parameter `%s` has no gradient", variable->path);
    if (!has_root(module->update, DTG_ROOT_UPDATE, variable->path))
      return fail(&update, "`%s` has no update", variable->path);
  }
  return true;
}

/* Sorted by (kind, path), paths unique, slots behind their parameters. */
static bool verify_variables(const struct dtg_module *module, struct dtg_strbuf *why) {
  for (size_t i = 0; i < module->variables.len; i++) {
    const struct dtg_variable *b = &module->variables.data[i];
    const struct dtg_variable *a = i == 0 ? NULL : b - 1;
    if (a && (a->kind > b->kind || (a->kind == b->kind && strcmp(a->path, b->path) >= 0))) {
      dtg_strbuf_printf(why, "variables `%s` and `%s` are not in order", a->path, b->path);
      return false;
    }
    bool is_slot = b->kind == DTG_VARIABLE_SLOT;
    bool has_param = b->param < i && module->variables.data[b->param].kind == DTG_VARIABLE_PARAM;
    if (is_slot != has_param) {
      dtg_strbuf_printf(why, "variable `%s` names no parameter as it should", b->path);
      return false;
    }
  }
  return true;
}

bool dtg_module_verify(const struct dtg_module *module, enum dtg_verify_level level,
                       struct dtg_strbuf *why) {
  const struct dtg_graph *graphs[] = {module->train, module->eval, module->tail, module->update};
  // A model without a training block is built for evaluation only.
  if (!module->train && (level >= DTG_VERIFY_GRAD || module->update || !module->eval)) {
    dtg_strbuf_puts(why, "the module has no graph `train`");
    return false;
  }
  if (!verify_variables(module, why))
    return false;
  for (size_t i = 0; i < sizeof graphs / sizeof *graphs; i++) {
    struct verifier v = {.module = module, .graph = graphs[i], .why = why};
    if (graphs[i] && !verify_graph(&v))
      return false;
  }
  return level < DTG_VERIFY_GRAD || verify_updates(module, why);
}
