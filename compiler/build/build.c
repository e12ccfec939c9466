#include "compiler/build/build.h"

#include "compiler/build/internal.h"
#include "compiler/ir/rewrite.h"

#include <stdlib.h>
#include <string.h>

// ---- one graph of the model ----

static struct dtg_build start(struct dtg_ctx *ctx, const struct dtg_model *model,
                              struct dtg_module *module, const char *name) {
  struct dtg_build b = {.ctx = ctx,
                        .model = model,
                        .module = module,
                        .gradient = DTG_NO_NODE,
                        .global_norm = DTG_NO_NODE};
  b.graph = dtg_graph_new(&ctx->arena, &ctx->names, name);
  b.graph->path = dtg_intern_z(&ctx->names, "");
  return b;
}

static bool input_type(const struct dtg_model_input *input, int64_t batch, struct dtg_type *out) {
  *out = (struct dtg_type){.dtype = input->type.dtype, .shape.rank = input->type.shape.rank + 1};
  out->shape.dims[0] = batch;
  memcpy(out->shape.dims + 1, input->type.shape.dims,
         input->type.shape.rank * sizeof out->shape.dims[0]);
  int64_t count;
  return dtg_shape_count_checked(&out->shape, &count);
}

static void bind_inputs(struct dtg_build *b, struct dtg_build_env *env) {
  dtg_env_bind(b, env, dtg_intern_z(&b->ctx->names, "B"), dtg_value_int(b->batch));
  for (size_t i = 0; i < b->model->inputs.len; i++) {
    const struct dtg_model_input *input = &b->model->inputs.data[i];
    struct dtg_type type;
    if (!input_type(input, b->batch, &type)) {
      dtg_build_error(b, input->span, "this input has more elements than 64 bits can count");
      continue;
    }
    b->graph->span = input->span;
    uint32_t node = dtg_add_leaf(b->graph, "input", input->name, type);
    dtg_graph_node(b->graph, node)->name = input->name;
    dtg_env_bind(b, env, input->name, dtg_build_tensor(node, false));
  }
}

static bool has_loss(const struct dtg_graph *graph) {
  for (size_t i = 0; i < graph->roots.len; i++) {
    if (graph->roots.data[i].kind == DTG_ROOT_LOSS)
      return true;
  }
  return false;
}

static struct dtg_graph *build_model(struct dtg_ctx *ctx, const struct dtg_model *model,
                                     struct dtg_module *module, const char *name, int64_t batch) {
  struct dtg_build b = start(ctx, model, module, name);
  size_t errors = ctx->diags.errors;
  bool returned = false;
  b.training = strcmp(name, "train") == 0;
  b.may_declare = b.training || !model->train.present;
  b.batch = batch;
  struct dtg_build_env *env = dtg_env_new(&b, model->body->home, DTG_ITEM_MODEL);
  env->activation = DTG_NEW(&ctx->arena, struct dtg_build_activation);
  env->activation->path = b.graph->path;
  bind_inputs(&b, env);
  dtg_build_body(&b, env, model->body->item->function.body, &returned);
  if (model->train.present && ctx->diags.errors == errors && !has_loss(b.graph)) {
    struct dtg_diag *diag =
        dtg_build_error(&b, model->span, "the model `%s` gets no loss when training is %s",
                        model->name, b.training ? "true" : "false");
    dtg_diag_hint(diag, "`loss = ...` stands in a branch that is not taken");
  }
  // What a scan has moved into its body stays behind without readers.
  return b.scanned ? dtg_graph_prune(b.graph) : b.graph;
}

// ---- variables ----

static int compare_variables(const void *a, const void *b) {
  const struct dtg_variable *x = a, *y = b;
  if (x->kind != y->kind)
    return x->kind < y->kind ? -1 : 1;
  return strcmp(x->path, y->path);
}

// Parameters keep their places when slots are appended and sorted behind them: `param` stays right.
static void sort_variables(struct dtg_module *module) {
  if (module->variables.len > 0)
    qsort(module->variables.data, module->variables.len, sizeof *module->variables.data,
          compare_variables);
}

static bool has_params(struct dtg_ctx *ctx, const struct dtg_model *model,
                       const struct dtg_module *module) {
  if (module->variables.len > 0 && module->variables.data[0].kind == DTG_VARIABLE_PARAM)
    return true;
  dtg_error(&ctx->diags, model->span, "the model `%s` has no parameters to train", model->name);
  return false;
}

// ---- sizes ----

static bool add_bytes(const struct dtg_type *type, int64_t *total) {
  int64_t bytes = dtg_type_bytes(type);
  if (bytes > DTG_BUILD_MAX_BYTES - *total)
    return false;
  *total += bytes;
  return true;
}

static bool sizes_fit(struct dtg_ctx *ctx, const struct dtg_graph *graph) {
  int64_t total = 0;
  for (size_t i = 0; graph && i < graph->nodes.len; i++) {
    const struct dtg_node *node = &graph->nodes.data[i];
    if (add_bytes(&node->type, &total))
      continue;
    char text[256];
    dtg_type_format(&node->type, text, sizeof text);
    struct dtg_diag *diag =
        dtg_error(&ctx->diags, node->span,
                  "the values of the graph take more than 64 PiB here: this is %s", text);
    if (node->path[0] != '\0')
      dtg_diag_hint(diag, "it belongs to `%s`", node->path);
    return false;
  }
  return true;
}

static bool all_sizes_fit(struct dtg_ctx *ctx, const struct dtg_module *module) {
  int64_t total = 0;
  for (size_t i = 0; i < module->variables.len; i++) {
    const struct dtg_variable *variable = &module->variables.data[i];
    if (add_bytes(&variable->type, &total))
      continue;
    dtg_error(&ctx->diags, variable->span,
              "the parameters, states and slots take more than 64 PiB: this is `%s`",
              variable->path);
    return false;
  }
  return sizes_fit(ctx, module->train) && sizes_fit(ctx, module->eval) &&
         sizes_fit(ctx, module->update);
}

// ---- the module ----

struct dtg_module *dtg_build(struct dtg_ctx *ctx, const struct dtg_model *model) {
  struct dtg_module *module = DTG_NEW(&ctx->arena, struct dtg_module);
  size_t errors = ctx->diags.errors;
  module->arena = &ctx->arena;
  module->names = &ctx->names;
  if (!model->body)
    return module;
  int64_t batch = model->train.batch / model->train.shards;
  if (model->train.present) {
    module->train = build_model(ctx, model, module, "train", batch);
    sort_variables(module);
    if (ctx->diags.errors > errors || !has_params(ctx, model, module))
      return NULL;
  }
  module->eval = build_model(ctx, model, module, "eval", batch);
  if (ctx->diags.errors > errors)
    return NULL;
  module->tail = build_model(ctx, model, module, "tail", 1);
  sort_variables(module);
  if (ctx->diags.errors > errors)
    return NULL;
  if (model->train.present) {
    struct dtg_build b = start(ctx, model, module, "update");
    b.updating = b.training = true;
    module->update = dtg_build_update(&b);
    sort_variables(module);
  }
  if (ctx->diags.errors > errors || !all_sizes_fit(ctx, module))
    return NULL;
  return module;
}
