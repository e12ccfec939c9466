// Sparse parameters: the gradient of a table that is only gathered, as rows.
//
// `gather` has the gradient scatter_add(0, index, rows). A table that several expressions gather
// has the sum of such scatters: its list joins theirs in the order of the sum, so that rows that
// several gather add up in that order.
#include "compiler/base/bug.h"
#include "compiler/grad/grad.h"
#include "compiler/ir/op.h"

struct finder {
  struct dtg_graph *graph;
  struct dtg_arena *scratch;
  DTG_VEC(uint32_t) scatters;
  uint32_t other; // the part of the gradient that is no such scatter; DTG_NO_NODE: all are
};

static bool is_row_scatter(const struct dtg_graph *graph, const struct dtg_node *node) {
  double base;
  return node->op->class == DTG_CLASS_SCATTER && dtg_node_int(node, "axis", 0) == 0 &&
         dtg_graph_splat(graph, node->inputs[0], &base) && base == 0;
}

static void collect(struct finder *it, uint32_t id) {
  const struct dtg_node *node = dtg_graph_node(it->graph, id);
  if (is_row_scatter(it->graph, node)) {
    dtg_vec_push(it->scratch, &it->scatters, id);
  } else if (node->op == dtg_op_find("add")) {
    uint32_t left = node->inputs[0], right = node->inputs[1];
    collect(it, left);
    collect(it, right);
  } else {
    it->other = id;
  }
}

// Four bytes hold every row; what is out of range stays so.
static uint32_t add_ids(struct finder *it, uint32_t index, int64_t rows) {
  struct dtg_graph *graph = it->graph;
  struct dtg_type type = dtg_graph_node(graph, index)->type;
  struct dtg_shape flat = {.rank = 1, .dims = {dtg_shape_count(&type.shape)}};
  index = dtg_add_reshape(graph, index, &flat);
  if (type.dtype == DTG_I64) {
    uint32_t low = dtg_add_const_int(graph, -1, type.dtype, &flat);
    uint32_t high = dtg_add_const_int(graph, rows, type.dtype, &flat);
    index = dtg_add_binary(graph, "maximum", index, low);
    index = dtg_add_binary(graph, "minimum", index, high);
  }
  return dtg_add_cast(graph, index, DTG_I32);
}

static uint32_t add_values(struct finder *it, uint32_t updates, int64_t count,
                           const struct dtg_type *table) {
  struct dtg_shape shape = table->shape;
  shape.dims[0] = count;
  return dtg_add_reshape(it->graph, updates, &shape);
}

static uint32_t join(struct finder *it, const uint32_t *nodes) {
  struct dtg_attr axis = dtg_attr_int("axis", 0);
  if (it->scatters.len == 1)
    return nodes[0];
  return dtg_add(it->graph, "concat", nodes, (uint32_t)it->scatters.len, &axis, 1);
}

// Rows of all gathers together; 0: there are too many.
static int64_t count_picks(const struct finder *it) {
  int64_t picks = 0;
  for (size_t i = 0; i < it->scatters.len; i++) {
    const struct dtg_node *node = dtg_graph_node(it->graph, it->scatters.data[i]);
    picks += dtg_shape_count(&dtg_graph_node(it->graph, node->inputs[1])->type.shape);
  }
  return picks <= INT32_MAX ? picks : 0;
}

// Gives the root its rows instead of the whole tensor.
static void make_rows(struct finder *it, struct dtg_root *root,
                      const struct dtg_variable *variable) {
  struct dtg_graph *graph = it->graph;
  size_t count = it->scatters.len;
  uint32_t *ids = DTG_NEW_ARRAY(it->scratch, uint32_t, count);
  uint32_t *values = DTG_NEW_ARRAY(it->scratch, uint32_t, count);
  const char *path = graph->path;
  struct dtg_span span = graph->span;
  for (size_t i = 0; i < count; i++) {
    struct dtg_node scatter = *dtg_graph_node(graph, it->scatters.data[i]);
    graph->path = scatter.path;
    graph->span = scatter.span;
    ids[i] = add_ids(it, scatter.inputs[1], variable->type.shape.dims[0]);
    values[i] =
        add_values(it, scatter.inputs[2],
                   dtg_shape_count(&dtg_graph_node(graph, ids[i])->type.shape), &variable->type);
  }
  root->node = join(it, values);
  struct dtg_root rows = *root;
  rows.kind = DTG_ROOT_ROWS;
  rows.node = join(it, ids);
  graph->path = path;
  graph->span = span;
  dtg_vec_push(graph->arena, &graph->roots, rows);
}

static uint32_t find_variable(const struct dtg_module *module, const char *path) {
  for (uint32_t v = 0; v < module->variables.len; v++)
    if (module->variables.data[v].path == path)
      return v;
  dtg_bug("`%s` is no variable", path);
}

static const char *why_dense(const struct finder *it, const struct dtg_type *type) {
  if (it->other != DTG_NO_NODE)
    return "it is used in another way too";
  if (type->shape.dims[0] >= INT32_MAX || count_picks(it) == 0)
    return "it has too many rows";
  return type->dtype != DTG_F32 ? "it is not f32" : NULL;
}

static void look_at(struct dtg_module *module, struct dtg_arena *scratch, size_t index) {
  struct dtg_graph *graph = module->train;
  struct dtg_root root = graph->roots.data[index];
  struct finder it = {.graph = graph, .scratch = scratch, .other = DTG_NO_NODE};
  collect(&it, root.node);
  if (it.scatters.len == 0)
    return;
  uint32_t v = find_variable(module, root.name);
  const struct dtg_variable *variable = &module->variables.data[v];
  const char *why = why_dense(&it, &variable->type);
  if (why) {
    uint32_t at = it.other != DTG_NO_NODE ? it.other : it.scatters.data[0];
    struct dtg_densified dense = {v, why, dtg_graph_node(graph, at)->span};
    dtg_vec_push(module->arena, &module->densified, dense);
    return;
  }
  struct dtg_sparse sparse = {.variable = v,
                              .rows = variable->type.shape.dims[0],
                              .width = dtg_shape_count(&variable->type.shape) /
                                       variable->type.shape.dims[0],
                              .picks = count_picks(&it)};
  make_rows(&it, &root, variable);
  graph->roots.data[index] = root;
  dtg_vec_push(module->arena, &module->sparse, sparse);
}

void dtg_grad_sparse(struct dtg_module *module) {
  struct dtg_arena scratch = {0};
  size_t count = module->train->roots.len;
  for (size_t i = 0; i < count; i++)
    if (module->train->roots.data[i].kind == DTG_ROOT_GRAD)
      look_at(module, &scratch, i);
  dtg_arena_free(&scratch);
}
