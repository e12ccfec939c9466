#include "oracle.h"

#include "compiler/base/bug.h"
#include "compiler/ir/op.h"
#include "runtime/data/feed.h"
#include "runtime/init.h"
#include "runtime/value.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void fail(const struct dtr_error *error) {
  fprintf(stderr, "oracle: %s\n", error->message);
  exit(2);
}

/* ---- what the runtime's tables say of the model ---- */

static enum dtr_dtype dtype_of(enum dtg_dtype dtype) {
  return (enum dtr_dtype)dtype; /* the same order */
}

static struct dtr_data *open_data(struct oracle *oracle, uint32_t index) {
  const struct dtg_dataset *set = &oracle->model->datasets.data[index];
  struct dtr_column *columns = DTG_NEW_ARRAY(&oracle->arena, struct dtr_column, set->columns.len);
  for (size_t i = 0; i < set->columns.len; i++) {
    const struct dtg_column *from = &set->columns.data[i];
    columns[i] = (struct dtr_column){.name = from->name,
                                     .kind = (enum dtr_source_kind)from->kind,
                                     .rows = from->rows,
                                     .rank = from->type.shape.rank,
                                     .dtype = dtype_of(from->type.dtype),
                                     .a = from->a,
                                     .b = from->b,
                                     .seed = from->seed};
    memcpy(columns[i].dims, from->type.shape.dims, sizeof columns[i].dims);
  }
  struct dtr_transform *transforms =
      DTG_NEW_ARRAY(&oracle->arena, struct dtr_transform, set->transforms.len);
  for (size_t i = 0; i < set->transforms.len; i++) {
    const struct dtg_transform *from = &set->transforms.data[i];
    transforms[i] = (struct dtr_transform){.kind = (enum dtr_transform_kind)from->kind,
                                           .value = from->value,
                                           .has_seed = from->has_seed};
  }
  struct dtr_input *inputs =
      DTG_NEW_ARRAY(&oracle->arena, struct dtr_input, oracle->model->inputs.len);
  for (size_t i = 0; i < oracle->model->inputs.len; i++) {
    const struct dtg_model_input *from = &oracle->model->inputs.data[i];
    inputs[i] = (struct dtr_input){
        .name = from->name, .dtype = dtype_of(from->type.dtype), .rank = from->type.shape.rank};
    memcpy(inputs[i].dims, from->type.shape.dims, sizeof inputs[i].dims);
    inputs[i].row_bytes = dtg_type_bytes(&from->type);
  }
  struct dtr_dataset *dataset = DTG_NEW(&oracle->arena, struct dtr_dataset);
  *dataset = (struct dtr_dataset){.name = set->name,
                                  .column_count = (uint32_t)set->columns.len,
                                  .columns = columns,
                                  .transform_count = (uint32_t)set->transforms.len,
                                  .transforms = transforms};
  struct dtr_data_options options = {.seed = oracle->model->train.seed,
                                     .input_count = (uint32_t)oracle->model->inputs.len,
                                     .inputs = inputs};
  struct dtr_data *data;
  struct dtr_error error;
  dtr_error_clear(&error);
  if (!dtr_data_open(dtr_env_real(), dataset, &options, &data, &error))
    fail(&error);
  return data;
}

static double load(enum dtg_dtype dtype, const char *bytes, int64_t index) {
  switch (dtype) {
  case DTG_F32:
    return ((const float *)(const void *)bytes)[index];
  case DTG_F64:
    return ((const double *)(const void *)bytes)[index];
  case DTG_I32:
    return ((const int32_t *)(const void *)bytes)[index];
  case DTG_I64:
    return (double)((const int64_t *)(const void *)bytes)[index];
  default:
    return ((const unsigned char *)bytes)[index];
  }
}

static int init_kind(const char *kind) {
  static const char *const kinds[] = {
      "zeros",          "ones",          "constant",  "normal",     "truncated_normal", "uniform",
      "glorot_uniform", "glorot_normal", "he_normal", "he_uniform", "orthogonal"};
  int i = 0;
  while (strcmp(kinds[i], kind) != 0)
    i++;
  return i;
}

static double *initial(struct oracle *oracle, const struct dtg_variable *variable) {
  int64_t count = dtg_shape_count(&variable->type.shape);
  struct dtr_variable row = {.path = variable->path,
                             .kind = (enum dtr_variable_kind)variable->kind,
                             .dtype = dtype_of(variable->type.dtype),
                             .rank = variable->type.shape.rank,
                             .elements = count,
                             .init = (enum dtr_init_kind)init_kind(variable->init.kind),
                             .a = variable->init.a,
                             .b = variable->init.b};
  memcpy(row.dims, variable->type.shape.dims, sizeof row.dims);
  char *bytes = dtg_alloc(&oracle->arena, (size_t)dtg_type_bytes(&variable->type));
  double *values = DTG_NEW_ARRAY(&oracle->arena, double, count);
  struct dtr_error error;
  dtr_error_clear(&error);
  if (!dtr_init_fill(&row, oracle->model->train.seed, 0, count, bytes, &error))
    fail(&error);
  for (int64_t i = 0; i < count; i++)
    values[i] = load(variable->type.dtype, bytes, i);
  return values;
}

void oracle_open(struct oracle *oracle, const struct dtg_model *model,
                 const struct dtg_module *module, uint64_t noise) {
  *oracle = (struct oracle){.model = model, .module = module, .noise = noise};
  oracle->data = open_data(oracle, model->train.data);
  if (model->train.evaluate.epochs > 0 || model->train.evaluate.steps > 0)
    oracle->test = open_data(oracle, model->train.evaluate.data);
  oracle->variables = DTG_NEW_ARRAY(&oracle->arena, double *, module->variables.len);
  for (size_t i = 0; i < module->variables.len; i++)
    oracle->variables[i] = initial(oracle, &module->variables.data[i]);
}

void oracle_close(struct oracle *oracle) {
  dtr_data_close(oracle->data);
  if (oracle->test)
    dtr_data_close(oracle->test);
  dtg_arena_free(&oracle->arena);
}

/* ---- one graph ---- */

/* What the leaves of one evaluation stand for. */
struct surroundings {
  const struct oracle *oracle;
  char *const *feeds;
  int64_t step, shard, total_steps;
  double **contributions; /* update: by variable, the sum over shards; else NULL */
};

static size_t variable_of(const struct oracle *oracle, const char *path) {
  size_t i = 0;
  while (strcmp(oracle->module->variables.data[i].path, path) != 0)
    i++;
  return i;
}

static double scalar(const struct surroundings *at, const char *name) {
  if (strcmp(name, "step") == 0)
    return (double)at->step;
  if (strcmp(name, "updates") == 0)
    return (double)at->step + 1;
  if (strcmp(name, "total_steps") == 0)
    return (double)at->total_steps;
  return strcmp(name, "shard") == 0 ? (double)at->shard : (double)at->oracle->model->train.seed;
}

static void fill_leaf(const struct surroundings *at, const struct dtg_node *leaf,
                      struct dtg_ref_tensor *out) {
  const struct oracle *oracle = at->oracle;
  int64_t count = dtg_shape_count(&out->type.shape);
  const char *kind = leaf->op->name, *path = dtg_node_string(leaf, "path", "");
  if (strcmp(kind, "scalar") == 0) {
    out->data[0] = scalar(at, dtg_node_string(leaf, "name", ""));
  } else if (strcmp(kind, "input") == 0) {
    size_t i = 0;
    while (strcmp(oracle->model->inputs.data[i].name, dtg_node_string(leaf, "name", "")) != 0)
      i++;
    for (int64_t e = 0; e < count; e++)
      out->data[e] = load(out->type.dtype, at->feeds[i], e);
  } else {
    double **from = strcmp(kind, "grad_in") == 0 ? at->contributions : oracle->variables;
    memcpy(out->data, from[variable_of(oracle, path)], (size_t)count * sizeof(double));
  }
}

static void evaluate_node(const struct dtg_node *node, struct dtg_arena *arena,
                          const struct dtg_ref_tensor *values, struct dtg_ref_tensor *out) {
  struct dtg_ref_tensor *inputs = DTG_NEW_ARRAY(arena, struct dtg_ref_tensor, node->input_count);
  for (uint32_t i = 0; i < node->input_count; i++)
    inputs[i] = values[node->inputs[i]];
  struct dtg_ref_call call = {
      .node = node, .inputs = inputs, .input_count = node->input_count, .out = out};
  node->op->ref(&call);
}

static double unit(uint64_t bits) {
  bits = (bits ^ (bits >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
  bits = (bits ^ (bits >> 27)) * UINT64_C(0x94d049bb133111eb);
  return (double)(bits >> 11) * 0x1p-52 - 1;
}

/* What the terms of a sum come to at most; 0 for other ops. */
static double term_size(const struct dtg_node *node, const struct dtg_ref_tensor *values) {
  bool sums = node->op->class == DTG_CLASS_LIBRARY ||
              (node->op->class == DTG_CLASS_REDUCE && node->op->accumulate == CG_ACCUMULATE_SUM);
  double size = sums ? 1 : 0;
  for (uint32_t i = 0; sums && i < node->input_count; i++) {
    const struct dtg_ref_tensor *input = &values[node->inputs[i]];
    double most = 0;
    for (int64_t e = 0; e < dtg_shape_count(&input->type.shape); e++)
      most = fmax(most, fabs(input->data[e]));
    size *= most;
  }
  return size;
}

/* As f32, and for sums with about what another order of adding does: terms that cancel in exact
 * arithmetic must not do so here. */
static void round_values(const struct dtg_node *node, uint64_t id, uint64_t draw,
                         struct dtg_ref_tensor *values) {
  double noise = 0x1p-23 * term_size(node, values), *out = values[id].data;
  int64_t count = dtg_shape_count(&node->type.shape);
  for (int64_t e = 0; e < count; e++) {
    if (out[e] != 0)
      out[e] += noise * unit((id + (draw << 32)) * UINT64_C(0x9e3779b97f4a7c15) + (uint64_t)e);
    out[e] = (double)(float)out[e];
  }
}

static struct dtg_ref_tensor *evaluate(const struct dtg_graph *graph, struct dtg_arena *arena,
                                       const struct surroundings *at) {
  struct dtg_ref_tensor *values = DTG_NEW_ARRAY(arena, struct dtg_ref_tensor, graph->nodes.len);
  for (size_t i = 0; i < graph->nodes.len; i++) {
    const struct dtg_node *node = &graph->nodes.data[i];
    int64_t count = dtg_shape_count(&node->type.shape);
    values[i].type = node->type;
    values[i].data = DTG_NEW_ARRAY(arena, double, count);
    if (node->op->class == DTG_CLASS_LEAF)
      fill_leaf(at, node, &values[i]);
    else
      evaluate_node(node, arena, values, &values[i]);
    if (at->oracle->noise != 0 && node->type.dtype == DTG_F32)
      round_values(node, i, at->oracle->noise, values);
  }
  return values;
}

/* ---- lines of the log ---- */

static struct oracle_line *add_line(struct oracle *oracle, int64_t step, bool evaluation) {
  const struct dtg_graph *graph = evaluation ? oracle->module->eval : oracle->module->train;
  struct oracle_line line = {.step = step, .evaluation = evaluation};
  line.numbers = DTG_NEW_ARRAY(&oracle->arena, struct oracle_number, graph->roots.len);
  for (size_t i = 0; i < graph->roots.len; i++) {
    const struct dtg_root *root = &graph->roots.data[i];
    if (root->kind == DTG_ROOT_LOSS)
      line.numbers[line.count++].name = "loss";
    else if (root->kind == DTG_ROOT_METRIC)
      line.numbers[line.count++].name = root->name;
  }
  dtg_vec_push(&oracle->arena, &oracle->lines, line);
  return &oracle->lines.data[oracle->lines.len - 1];
}

static void add_numbers(struct oracle_line *line, const struct dtg_graph *graph,
                        const struct dtg_ref_tensor *values, double weight) {
  for (size_t i = 0; i < graph->roots.len; i++) {
    const struct dtg_root *root = &graph->roots.data[i];
    if (root->kind != DTG_ROOT_LOSS && root->kind != DTG_ROOT_METRIC)
      continue;
    const char *name = root->kind == DTG_ROOT_LOSS ? "loss" : root->name;
    uint32_t n = 0;
    while (strcmp(line->numbers[n].name, name) != 0)
      n++;
    line->numbers[n].value += weight * values[root->node].data[0];
  }
}

/* ---- training ---- */

static bool is_maximum(const struct oracle *oracle, const struct dtg_root *root) {
  (void)oracle;
  return root->kind == DTG_ROOT_STATE && root->reduce == DTG_REDUCE_MAX;
}

/* The indices of a sparse gradient; NULL: it is dense. */
static const struct dtg_root *rows_of(const struct dtg_graph *graph, const struct dtg_root *grad) {
  for (size_t i = 0; i < graph->roots.len; i++)
    if (grad->kind == DTG_ROOT_GRAD && graph->roots.data[i].kind == DTG_ROOT_ROWS &&
        strcmp(graph->roots.data[i].name, grad->name) == 0)
      return &graph->roots.data[i];
  return NULL;
}

/* Row i of `value` is a part of row ids[i] of the table; what is no row of it counts for nothing.
 */
static void contribute_rows(const struct dtg_variable *table, const struct dtg_ref_tensor *ids,
                            const struct dtg_ref_tensor *value, int64_t shard, double *sum) {
  int64_t all = dtg_shape_count(&table->type.shape), rows = table->type.shape.dims[0];
  int64_t width = all / rows;
  for (int64_t e = 0; shard == 0 && e < all; e++)
    sum[e] = 0;
  for (int64_t i = 0; i < dtg_shape_count(&ids->type.shape); i++)
    for (int64_t e = 0; e < width && ids->data[i] >= 0 && ids->data[i] < (double)rows; e++)
      sum[(int64_t)ids->data[i] * width + e] += value->data[i * width + e];
}

/* Adds what a shard gives to the sums, or takes the maximum. */
static void contribute(const struct oracle *oracle, const struct dtg_ref_tensor *values,
                       int64_t shard, double **sums) {
  const struct dtg_graph *graph = oracle->module->train;
  for (size_t i = 0; i < graph->roots.len; i++) {
    const struct dtg_root *root = &graph->roots.data[i];
    if (root->kind != DTG_ROOT_GRAD && root->kind != DTG_ROOT_STATE)
      continue;
    const struct dtg_ref_tensor *value = &values[root->node];
    double *sum = sums[variable_of(oracle, root->name)];
    const struct dtg_root *rows = rows_of(graph, root);
    if (rows) {
      contribute_rows(&oracle->module->variables.data[variable_of(oracle, root->name)],
                      &values[rows->node], value, shard, sum);
      continue;
    }
    for (int64_t e = 0; e < dtg_shape_count(&value->type.shape); e++) {
      if (shard == 0 || (is_maximum(oracle, root) && value->data[e] > sum[e]))
        sum[e] = value->data[e];
      else if (!is_maximum(oracle, root))
        sum[e] += value->data[e];
    }
  }
}

static void update(struct oracle *oracle, const struct surroundings *at,
                   struct dtg_arena *scratch) {
  const struct dtg_graph *graph = oracle->module->update;
  struct dtg_ref_tensor *values = evaluate(graph, scratch, at);
  for (size_t i = 0; i < graph->roots.len; i++) {
    const struct dtg_root *root = &graph->roots.data[i];
    const struct dtg_ref_tensor *value = &values[root->node];
    memcpy(oracle->variables[variable_of(oracle, root->name)], value->data,
           (size_t)dtg_shape_count(&value->type.shape) * sizeof(double));
  }
}

static void train_step(struct oracle *oracle, const struct dtr_batch *batch, int64_t total_steps) {
  int64_t shards = oracle->model->train.shards;
  struct dtg_arena scratch = {0};
  double **sums = DTG_NEW_ARRAY(&scratch, double *, oracle->module->variables.len);
  for (size_t i = 0; i < oracle->module->variables.len; i++)
    sums[i] = DTG_NEW_ARRAY(&scratch, double,
                            dtg_shape_count(&oracle->module->variables.data[i].type.shape));
  struct oracle_line *line = add_line(oracle, batch->step + 1, false);
  struct surroundings at = {.oracle = oracle, .step = batch->step, .total_steps = total_steps};
  for (at.shard = 0; at.shard < shards; at.shard++) {
    at.feeds = dtr_batch_feeds(batch, at.shard);
    struct dtg_ref_tensor *values = evaluate(oracle->module->train, &scratch, &at);
    contribute(oracle, values, at.shard, sums);
    add_numbers(line, oracle->module->train, values, 1.0 / (double)shards);
  }
  at.contributions = sums;
  update(oracle, &at, &scratch);
  dtg_arena_free(&scratch);
}

static void evaluate_rows(struct oracle *oracle, struct oracle_line *line, int64_t first,
                          int64_t count, struct surroundings *at) {
  const struct dtg_graph *graph = count == oracle->model->train.batch / oracle->model->train.shards
                                      ? oracle->module->eval
                                      : oracle->module->tail;
  struct dtg_arena scratch = {0};
  size_t bytes = (size_t)dtr_data_scratch(oracle->test, count);
  char *feeds[16], *memory = aligned_alloc(64, (bytes + 127) / 64 * 64);
  if (!memory)
    dtg_fatal("out of memory");
  dtr_data_view(oracle->test, DTR_NATURAL_ORDER, first, count, memory, feeds);
  at->feeds = feeds;
  struct dtg_ref_tensor *values = evaluate(graph, &scratch, at);
  add_numbers(line, graph, values, (double)count / (double)dtr_data_count(oracle->test));
  free(memory);
  dtg_arena_free(&scratch);
}

static void evaluate_test(struct oracle *oracle, int64_t step, int64_t total_steps) {
  int64_t rows = dtr_data_count(oracle->test), first = 0;
  int64_t chunk = oracle->model->train.batch / oracle->model->train.shards;
  struct oracle_line *line = add_line(oracle, step, true);
  struct surroundings at = {.oracle = oracle, .step = step, .total_steps = total_steps};
  for (; first + chunk <= rows; first += chunk)
    evaluate_rows(oracle, line, first, chunk, &at);
  for (; first < rows; first++)
    evaluate_rows(oracle, line, first, 1, &at);
}

void oracle_train(struct oracle *oracle, int64_t steps) {
  const struct dtg_train *train = &oracle->model->train;
  int64_t epoch = dtr_feed_steps_per_epoch(oracle->data, train->batch);
  int64_t total = train->steps > 0 ? train->steps : train->epochs * epoch;
  struct dtr_feed_options options = {
      .batch = train->batch, .shards = train->shards, .synchronous = true};
  struct dtr_feed *feed;
  struct dtr_error error;
  dtr_error_clear(&error);
  if (!dtr_feed_open(oracle->data, &options, &feed, &error))
    fail(&error);
  for (int64_t step = 1; step <= steps; step++) {
    train_step(oracle, dtr_feed_next(feed), total);
    bool due = (train->evaluate.steps > 0 && step % train->evaluate.steps == 0) ||
               (train->evaluate.epochs > 0 && step % (epoch * train->evaluate.epochs) == 0) ||
               step == steps;
    if (oracle->test && due)
      evaluate_test(oracle, step, total);
  }
  dtr_feed_close(feed);
}
