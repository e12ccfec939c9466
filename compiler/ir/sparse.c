#include "compiler/ir/sparse.h"

#include "compiler/ir/op.h"

#include <string.h>

const struct dtg_sparse *dtg_sparse_of(const struct dtg_module *module, uint32_t variable) {
  for (size_t i = 0; i < module->sparse.len; i++)
    if (module->sparse.data[i].variable == variable)
      return &module->sparse.data[i];
  return NULL;
}

bool dtg_module_is_lazy(const struct dtg_module *module) {
  for (size_t i = 0; i < module->sparse.len; i++)
    if (module->sparse.data[i].lazy)
      return true;
  return false;
}

// ---- sizes ----

static int64_t align(int64_t bytes) {
  return (bytes + 63) / 64 * 64;
}

static int64_t less(int64_t a, int64_t b) {
  return a < b ? a : b;
}

int64_t dtg_sparse_most(const struct dtg_sparse *table, int64_t shards, int64_t rows) {
  int64_t picks;
  return __builtin_mul_overflow(shards, table->picks, &picks) ? rows : less(picks, rows);
}

int64_t dtg_sparse_capacity(const struct dtg_sparse *table, int64_t shards, int64_t rows) {
  struct dtg_shape shape = {.rank = 2, .dims = {table->rows, table->width}};
  int64_t block = dtg_block_rows(&shape), most = dtg_sparse_most(table, shards, rows);
  int64_t room = less((most + block - 1) / block * block, table->rows);
  return room > table->picks ? room : table->picks;
}

// Gradients are f32.
static int64_t row_bytes(const struct dtg_sparse *table) {
  return table->width * (int64_t)dtg_dtype_size(DTG_F32);
}

int64_t dtg_sparse_message_bytes(const struct dtg_sparse *table, int64_t rows) {
  return DTG_ROW_COUNT_BYTES + rows * (DTG_ROW_ID_BYTES + row_bytes(table));
}

int64_t dtg_sparse_block_bytes(const struct dtg_sparse *table, int64_t capacity) {
  return align(DTG_ROW_COUNT_BYTES) + align(capacity * DTG_ROW_ID_BYTES) +
         align(capacity * row_bytes(table));
}

// Keys twice, as they are moved from one place to the other, and the rows.
int64_t dtg_sparse_sort_bytes(const struct dtg_module *module) {
  int64_t most = 0;
  for (size_t i = 0; i < module->sparse.len; i++) {
    const struct dtg_sparse *table = &module->sparse.data[i];
    int64_t bytes = 2 * align(table->picks * (int64_t)sizeof(uint64_t)) +
                    align(table->picks * row_bytes(table));
    most = bytes > most ? bytes : most;
  }
  return most;
}

int64_t dtg_sparse_update_bytes(const struct dtg_module *module, const struct dtg_sparse *table,
                                int64_t elements, int64_t shards) {
  const struct dtg_shape *shape = &module->variables.data[table->variable].type.shape;
  int64_t tensors = 1;
  if (!table->touched)
    return align(elements * (int64_t)dtg_dtype_size(DTG_F32));
  for (size_t v = 0; v < module->variables.len; v++)
    tensors += module->variables.data[v].kind == DTG_VARIABLE_SLOT &&
               module->variables.data[v].param == table->variable;
  int64_t capacity = dtg_sparse_capacity(table, shards, elements / table->width);
  return tensors * align(capacity * row_bytes(table)) +
         align(less(dtg_block_elements(shape), dtg_shape_count(shape)) *
               (int64_t)dtg_dtype_size(DTG_F32));
}

// ---- what a gradient of 0 does ----

enum outcome {
  OUTCOME_OTHER,
  OUTCOME_NUMBER, // every element is `number`
  OUTCOME_OLD     // the old value of `variable`
};

// Of a node of the update, where the gradient of its table is 0.
struct value {
  enum outcome outcome;
  bool by_grad; // depends on the gradient
  double number;
  const char *variable;
};

static struct value of_leaf(const struct dtg_node *node) {
  const char *key = NULL;
  switch (dtg_leaf_of(node, &key)) {
  case DTG_LEAF_GRADIENT:
    return (struct value){.outcome = OUTCOME_NUMBER, .by_grad = true};
  case DTG_LEAF_VARIABLE:
    return (struct value){.outcome = OUTCOME_OLD, .variable = key};
  default:
    return (struct value){.outcome = OUTCOME_OTHER};
  }
}

static bool is_zero(const struct value *value) {
  return value->outcome == OUTCOME_NUMBER && value->number == 0;
}

static bool all_numbers(const struct value *const *operands, uint32_t count) {
  for (uint32_t i = 0; i < count; i++)
    if (operands[i]->outcome != OUTCOME_NUMBER)
      return false;
  return true;
}

// The op's reference on numbers.
static struct value compute(const struct dtg_node *node, const struct dtg_graph *graph,
                            const struct value *const *operands) {
  struct dtg_ref_tensor inputs[4];
  double numbers[4], result = 0;
  if (!node->op->ref || node->input_count > 4 || node->op->flags & DTG_OP_INDEXED)
    return (struct value){0};
  for (uint32_t i = 0; i < node->input_count; i++) {
    numbers[i] = operands[i]->number;
    inputs[i] = (struct dtg_ref_tensor){
        {.dtype = dtg_graph_node(graph, node->inputs[i])->type.dtype}, &numbers[i]};
  }
  struct dtg_ref_tensor out = {{.dtype = node->type.dtype}, &result};
  struct dtg_ref_call call = {node, inputs, node->input_count, &out};
  node->op->ref(&call);
  return (struct value){.outcome = OUTCOME_NUMBER, .number = result};
}

static struct value of_elementwise(const struct dtg_node *node, const struct dtg_graph *graph,
                                   const struct value *const *operands) {
  uint32_t flags = node->op->flags;
  if (all_numbers(operands, node->input_count))
    return compute(node, graph, operands);
  if ((flags & DTG_OP_ZERO_LEFT && is_zero(operands[0])) ||
      (flags & DTG_OP_ZERO_RIGHT && is_zero(operands[1])))
    return (struct value){.outcome = OUTCOME_NUMBER};
  if (flags & DTG_OP_KEEP_LEFT && is_zero(operands[1]))
    return *operands[0];
  if (flags & DTG_OP_KEEP_RIGHT && is_zero(operands[0]))
    return *operands[1];
  return (struct value){0};
}

static struct value of_node(const struct dtg_node *node, const struct dtg_graph *graph,
                            const struct value *const *operands) {
  struct value number = {.outcome = OUTCOME_NUMBER};
  switch (node->op->class) {
  case DTG_CLASS_LEAF:
    return of_leaf(node);
  case DTG_CLASS_CONST:
    number.number = dtg_const_float(node);
    return number;
  case DTG_CLASS_VIEW:
    return *operands[0];
  case DTG_CLASS_ELEMENTWISE:
    return of_elementwise(node, graph, operands);
  case DTG_CLASS_INDEX:
  case DTG_CLASS_REDUCE: // sums and extremes of zeros; what is padded with is 0
    for (uint32_t i = 0; i < node->input_count; i++)
      if (!is_zero(operands[i]) && (node->op->class == DTG_CLASS_REDUCE || node->input_count > 1))
        return (struct value){0};
    return operands[0]->outcome == OUTCOME_NUMBER ? *operands[0] : (struct value){0};
  default:
    return (struct value){0};
  }
}

static struct value *evaluate(struct dtg_arena *arena, const struct dtg_graph *graph) {
  struct value *values = DTG_NEW_ARRAY(arena, struct value, graph->nodes.len);
  for (uint32_t n = 0; n < graph->nodes.len; n++) {
    const struct dtg_node *node = dtg_graph_node(graph, n);
    const struct value **operands = DTG_NEW_ARRAY(arena, const struct value *, node->input_count);
    for (uint32_t i = 0; i < node->input_count; i++)
      operands[i] = &values[node->inputs[i]];
    values[n] = of_node(node, graph, operands);
    for (uint32_t i = 0; i < node->input_count; i++)
      values[n].by_grad |= operands[i]->by_grad;
  }
  return values;
}

// ---- kernels ----

struct kernels {
  const struct dtg_module *module;
  const struct dtg_groups *groups;
  const struct dtg_update_split *split;
  const struct value *values;
  enum dtg_rows *rows;
};

static bool is_block_sum(const struct dtg_node *node) {
  return node->op->class == DTG_CLASS_REDUCE && node->op->form == DTG_REDUCE_BLOCKS;
}

static bool depends_on_grad(const struct kernels *k, const struct dtg_group *group) {
  for (uint32_t i = 0; i < group->member_count; i++)
    if (k->values[group->members[i]].by_grad)
      return true;
  return false;
}

// Of the results: whether there is a block sum, and whether there is another one.
static void look_at_results(const struct kernels *k, const struct dtg_group *group, bool *sums,
                            bool *others) {
  *sums = *others = false;
  for (size_t i = 0; i < group->buffers.len; i++) {
    const struct dtg_nest_buffer *buffer = &group->buffers.data[i];
    if (!buffer->written)
      continue;
    bool sum = buffer->node != DTG_NO_NODE &&
               is_block_sum(dtg_graph_node(k->module->update, buffer->node));
    *(sum ? sums : others) = true;
  }
}

static bool counts_elements(const struct kernels *k, const struct dtg_group *group) {
  for (uint32_t i = 0; i < group->member_count; i++) {
    const struct dtg_op_def *op = dtg_graph_node(k->module->update, group->members[i])->op;
    if (op->class == DTG_CLASS_GENERATE || op->flags & DTG_OP_INDEXED)
      return true;
  }
  return false;
}

// What other kernels have left in the arena for it was made in the same way.
static bool operands_fit(const struct kernels *k, const struct dtg_group *group,
                         enum dtg_rows rows) {
  const struct dtg_graph *update = k->module->update;
  for (size_t i = 0; i < group->buffers.len; i++) {
    const struct dtg_nest_buffer *buffer = &group->buffers.data[i];
    if (buffer->written || buffer->node == DTG_NO_NODE)
      continue;
    const struct dtg_node *node = dtg_graph_node(update, buffer->node);
    uint32_t from = node->group;
    if (node->op->class == DTG_CLASS_LEAF || k->split->groups[from].variable == DTG_NO_NODE)
      continue;
    if (k->rows[from] != rows || rows == DTG_ROWS_BLOCKS)
      return false;
  }
  return true;
}

static bool sums_are_zero(const struct kernels *k, const struct dtg_group *group) {
  for (size_t i = 0; i < group->buffers.len; i++)
    if (group->buffers.data[i].written && !is_zero(&k->values[group->buffers.data[i].node]))
      return false;
  return true;
}

static struct dtg_shape shape_of(const struct kernels *k, uint32_t number) {
  return k->module->variables.data[k->split->groups[number].variable].type.shape;
}

// How the kernel is run for touched rows; false: it cannot be.
static bool classify(struct kernels *k, uint32_t number) {
  const struct dtg_group *group = &k->groups->groups[number];
  bool sums, others;
  look_at_results(k, group, &sums, &others);
  struct dtg_shape shape = shape_of(k, number);
  k->rows[number] = DTG_ROWS_ALL;
  if (!depends_on_grad(k, group))
    return operands_fit(k, group, DTG_ROWS_ALL);
  // The gradient of a tensor of one block is dense there.
  bool whole = sums && dtg_block_count(&shape) == 1;
  if ((!k->split->groups[number].by_blocks && !whole) || counts_elements(k, group) ||
      sums == others)
    return false;
  k->rows[number] = sums ? DTG_ROWS_BLOCKS : DTG_ROWS_TOUCHED;
  return operands_fit(k, group, k->rows[number]) && (!sums || sums_are_zero(k, group));
}

// A node of a kernel that cannot serve touched rows alone; DTG_NO_NODE: all can.
static uint32_t find_trouble(struct kernels *k, uint32_t variable) {
  for (uint32_t g = 0; g < k->groups->count; g++)
    if (k->split->groups[g].variable == variable && !classify(k, g))
      return k->groups->groups[g].members[0];
  return DTG_NO_NODE;
}

// Where the gradient is 0, parameter and slots keep their values.
static bool is_identity(const struct kernels *k, uint32_t variable) {
  const struct dtg_module *module = k->module;
  for (size_t i = 0; i < module->update->roots.len; i++) {
    const struct dtg_root *root = &module->update->roots.data[i];
    for (uint32_t v = 0; v < module->variables.len; v++) {
      const struct dtg_variable *at = &module->variables.data[v];
      const struct value *value = &k->values[root->node];
      bool mine = v == variable || (at->kind == DTG_VARIABLE_SLOT && at->param == variable);
      if (mine && at->path == root->name &&
          (value->outcome != OUTCOME_OLD || value->variable != at->path))
        return false;
    }
  }
  return true;
}

enum dtg_rows *dtg_sparse_groups(struct dtg_arena *arena, const struct dtg_module *module,
                                 const struct dtg_groups *groups,
                                 const struct dtg_update_split *split) {
  struct kernels k = {.module = module, .groups = groups, .split = split};
  k.rows = DTG_NEW_ARRAY(arena, enum dtg_rows, groups->count);
  k.values = evaluate(arena, module->update);
  for (size_t i = 0; i < module->sparse.len; i++)
    if (module->sparse.data[i].touched)
      find_trouble(&k, module->sparse.data[i].variable);
  return k.rows;
}

bool dtg_sparse_decide(struct dtg_module *module, uint32_t *trouble) {
  struct dtg_arena scratch = {0};
  bool good = true;
  if (module->sparse.len == 0 || !module->update)
    return true;
  struct kernels k = {.module = module, .groups = dtg_groups_new(&scratch, module->update)};
  k.split = dtg_update_split_new(&scratch, module, k.groups);
  k.rows = DTG_NEW_ARRAY(&scratch, enum dtg_rows, k.groups->count);
  k.values = evaluate(&scratch, module->update);
  for (size_t i = 0; i < module->sparse.len && good; i++) {
    struct dtg_sparse *table = &module->sparse.data[i];
    bool same = is_identity(&k, table->variable);
    uint32_t node = find_trouble(&k, table->variable);
    table->touched = (same || module->lazy) && node == DTG_NO_NODE;
    table->lazy = table->touched && !same;
    good = same || !module->lazy || table->touched;
    *trouble = node;
  }
  dtg_arena_free(&scratch);
  return good;
}
