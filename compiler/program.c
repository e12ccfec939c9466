#include "compiler/program.h"

#include "compiler/base/bug.h"
#include "compiler/options.h"
#include "compiler/sema/sema.h"
#include "grammar/print.h"

#include <sodium.h>
#include <string.h>

static const char *where(struct dtg_ctx *ctx, struct dtg_span span) {
  return dtg_span_short(&ctx->arena, &ctx->sources, span);
}

static void copy_dims(const struct dtg_type *type, uint32_t *rank, int64_t *dims) {
  *rank = type->shape.rank;
  memcpy(dims, type->shape.dims, sizeof type->shape.dims);
}

static struct dtr_input *make_inputs(struct dtg_ctx *ctx, const struct dtg_model *model,
                                     const struct dtg_plan *plan) {
  struct dtr_input *inputs = DTG_NEW_ARRAY(&ctx->arena, struct dtr_input, model->inputs.len);
  for (size_t i = 0; i < model->inputs.len; i++) {
    const struct dtg_model_input *from = &model->inputs.data[i];
    inputs[i] = (struct dtr_input){.name = from->name,
                                   .dtype = (enum dtr_dtype)from->type.dtype,
                                   .row_bytes = dtg_type_bytes(&from->type),
                                   .where = where(ctx, from->span),
                                   .needed = dtg_program_needs(plan, from->name)};
    copy_dims(&from->type, &inputs[i].rank, inputs[i].dims);
  }
  return inputs;
}

static struct dtr_column *make_columns(struct dtg_ctx *ctx, const struct dtg_dataset *from) {
  struct dtr_column *columns = DTG_NEW_ARRAY(&ctx->arena, struct dtr_column, from->columns.len);
  for (size_t i = 0; i < from->columns.len; i++) {
    const struct dtg_column *c = &from->columns.data[i];
    columns[i] = (struct dtr_column){.name = c->name,
                                     .kind = (enum dtr_source_kind)c->kind,
                                     .path = c->path,
                                     .member = c->member,
                                     .rows = c->rows,
                                     .dtype = (enum dtr_dtype)c->type.dtype,
                                     .a = c->a,
                                     .b = c->b,
                                     .seed = c->seed,
                                     .where = where(ctx, c->span),
                                     .category_count = (uint32_t)c->categories.len,
                                     .categories = c->categories.data,
                                     .limit = c->limit,
                                     .is_test = c->is_test,
                                     .window = c->window,
                                     .stride = c->stride};
    copy_dims(&c->type, &columns[i].rank, columns[i].dims);
  }
  return columns;
}

static struct dtr_dataset *make_datasets(struct dtg_ctx *ctx, const struct dtg_model *model) {
  struct dtr_dataset *sets = DTG_NEW_ARRAY(&ctx->arena, struct dtr_dataset, model->datasets.len);
  for (size_t i = 0; i < model->datasets.len; i++) {
    const struct dtg_dataset *from = &model->datasets.data[i];
    struct dtr_transform *transforms =
        DTG_NEW_ARRAY(&ctx->arena, struct dtr_transform, from->transforms.len);
    for (size_t t = 0; t < from->transforms.len; t++) {
      const struct dtg_transform *transform = &from->transforms.data[t];
      transforms[t] = (struct dtr_transform){(enum dtr_transform_kind)transform->kind,
                                             transform->value, transform->has_seed};
    }
    sets[i] = (struct dtr_dataset){.name = from->name,
                                   .column_count = (uint32_t)from->columns.len,
                                   .columns = make_columns(ctx, from),
                                   .transform_count = (uint32_t)from->transforms.len,
                                   .transforms = transforms,
                                   .where = where(ctx, from->span)};
  }
  return sets;
}

static enum dtr_init_kind init_kind(const char *name) {
  // In the order of enum dtr_init_kind.
  static const char *const names[] = {
      "zeros",          "ones",          "constant",  "normal",     "truncated_normal", "uniform",
      "glorot_uniform", "glorot_normal", "he_normal", "he_uniform", "orthogonal"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (strcmp(names[i], name) == 0)
      return (enum dtr_init_kind)i;
  dtg_bug("initialiser `%s` is not in the runtime", name);
}

static struct dtr_variable *make_variables(struct dtg_ctx *ctx, const struct dtg_plan *plan) {
  const struct dtg_module *module = plan->module;
  struct dtr_variable *out = DTG_NEW_ARRAY(&ctx->arena, struct dtr_variable, module->variables.len);
  for (size_t i = 0; i < module->variables.len; i++) {
    const struct dtg_variable *v = &module->variables.data[i];
    out[i] = (struct dtr_variable){.path = v->path,
                                   .kind = (enum dtr_variable_kind)v->kind,
                                   .dtype = (enum dtr_dtype)v->type.dtype,
                                   .elements = dtg_shape_count(&v->type.shape),
                                   .offset = plan->variable_offsets[i],
                                   .init = init_kind(v->init.kind),
                                   .a = v->init.a,
                                   .b = v->init.b,
                                   .where = where(ctx, v->span)};
    copy_dims(&v->type, &out[i].rank, out[i].dims);
  }
  return out;
}

static enum dtr_contribution_kind contribution_kind(enum dtg_root_kind kind) {
  switch (kind) {
  case DTG_ROOT_LOSS:
    return DTR_CONTRIBUTION_LOSS;
  case DTG_ROOT_METRIC:
    return DTR_CONTRIBUTION_METRIC;
  case DTG_ROOT_GRAD:
    return DTR_CONTRIBUTION_GRAD;
  case DTG_ROOT_STATE:
    return DTR_CONTRIBUTION_STATE;
  default:
    dtg_bug("a contribution of root kind %d", (int)kind);
  }
}

static void put_rows(struct dtr_contribution *out, const struct dtg_plan_contribution *c) {
  const struct dtg_sparse *table = c->sparse;
  out->elements = table->rows * table->width;
  out->list = (struct dtr_row_list){.kind = table->touched ? DTR_ROWS_TOUCHED : DTR_ROWS_PASS,
                                    .rows = table->rows,
                                    .width = table->width,
                                    .picks = table->picks,
                                    .capacity = c->capacity,
                                    .count = c->rows,
                                    .ids = c->ids};
}

static struct dtr_contribution *make_contributions(struct dtg_ctx *ctx,
                                                   const struct dtg_plan *plan) {
  struct dtr_contribution *out =
      DTG_NEW_ARRAY(&ctx->arena, struct dtr_contribution, plan->contributions.len);
  for (size_t i = 0; i < plan->contributions.len; i++) {
    const struct dtg_plan_contribution *c = &plan->contributions.data[i];
    out[i] = (struct dtr_contribution){.name = c->name,
                                       .kind = contribution_kind(c->kind),
                                       .dtype = (enum dtr_dtype)c->type.dtype,
                                       .elements = dtg_shape_count(&c->type.shape),
                                       .offset = c->offset,
                                       .maximum = c->reduce == DTG_REDUCE_MAX,
                                       .mean = c->reduce == DTG_REDUCE_MEAN};
    if (c->sparse)
      put_rows(&out[i], c);
  }
  return out;
}

static const char **make_metrics(struct dtg_ctx *ctx, const struct dtg_plan *plan,
                                 uint32_t *count) {
  const char **names = DTG_NEW_ARRAY(&ctx->arena, const char *, plan->metrics.len + 1);
  *count = 0;
  for (size_t i = 0; i < plan->metrics.len; i++)
    if (plan->metrics.data[i].kind == DTG_ROOT_METRIC)
      names[(*count)++] = plan->metrics.data[i].name;
  return names;
}

static struct dtr_train make_train(const struct dtg_model *model) {
  const struct dtg_train *t = &model->train;
  return (struct dtr_train){.batch = t->batch,
                            .shards = t->shards,
                            .epochs = t->epochs,
                            .steps = t->steps,
                            .seed = t->seed,
                            .evaluate_epochs = t->evaluate.epochs,
                            .evaluate_steps = t->evaluate.steps,
                            .checkpoint_epochs = t->checkpoint.epochs,
                            .checkpoint_steps = t->checkpoint.steps,
                            .checkpoint_keep = t->checkpoint.keep,
                            .data = t->data,
                            .evaluate_data = t->evaluate.data};
}

struct dtr_program *dtg_program_tables(struct dtg_ctx *ctx, const struct dtg_program_input *in) {
  struct dtr_program *p = DTG_NEW(&ctx->arena, struct dtr_program);
  uint32_t output_count = 0;
  int64_t shard_batch = in->model->train.batch / in->model->train.shards;
  *p = (struct dtr_program){.abi_version = DTR_ABI_VERSION,
                            .name = in->name,
                            .model_file = in->model_file,
                            .plan_id = in->plan_id,
                            .model_id = in->model_id,
                            .compiler = "dtgc " DTG_VERSION,
                            .cpu_arch = in->cluster->cpu_arch,
                            .plan_text = in->plan_text,
                            .results = dtg_results_line(&ctx->arena, in->model, in->cluster),
                            .train = make_train(in->model),
                            .input_count = (uint32_t)in->model->inputs.len,
                            .inputs = make_inputs(ctx, in->model, in->plan),
                            .outputs =
                                dtg_program_outputs(ctx, in->plan, shard_batch, &output_count),
                            .dataset_count = (uint32_t)in->model->datasets.len,
                            .datasets = make_datasets(ctx, in->model),
                            .variable_count = (uint32_t)in->plan->module->variables.len,
                            .variables = make_variables(ctx, in->plan),
                            .variables_bytes = in->plan->variables_bytes,
                            .contribution_count = (uint32_t)in->plan->contributions.len,
                            .contributions = make_contributions(ctx, in->plan),
                            .contribution_bytes = in->plan->contribution_bytes,
                            .replication = dtg_program_replication(ctx, in->replication, in->plan)};
  p->output_count = output_count;
  p->metrics = make_metrics(ctx, in->plan, &p->metric_count);
  return p;
}

const char *dtg_results_line(struct dtg_arena *arena, const struct dtg_model *model,
                             const struct dtg_cluster *cluster) {
  return dtg_arena_printf(arena, "model, data, seed %lld, batch %lld, %lld shard%s, f32, %s",
                          (long long)model->train.seed, (long long)model->train.batch,
                          (long long)model->train.shards, model->train.shards == 1 ? "" : "s",
                          cluster->cpu_arch);
}

static const char *hash(struct dtg_ctx *ctx, const struct dtg_strbuf *text) {
  unsigned char digest[DTG_ID_DIGITS / 2];
  char hex[DTG_ID_DIGITS + 1];
  crypto_generichash(digest, sizeof digest, (const unsigned char *)dtg_strbuf_text(text), text->len,
                     NULL, 0);
  sodium_bin2hex(hex, sizeof hex, digest, sizeof digest);
  return dtg_arena_strdup(&ctx->arena, hex);
}

const char *dtg_model_id(struct dtg_ctx *ctx, const struct dtg_model *model,
                         const struct dtg_module *module) {
  struct dtg_strbuf text = {0};
  for (size_t i = 0; i < module->variables.len; i++) {
    const struct dtg_variable *v = &module->variables.data[i];
    char type[128];
    dtg_type_format(&v->type, type, sizeof type);
    dtg_strbuf_printf(&text, "%s %d %s\n", v->path, (int)v->kind, type);
  }
  dtg_strbuf_puts(&text, "optimizer ");
  if (model->train.optimizer)
    dtg_ast_expr_print(model->train.optimizer, &text);
  dtg_strbuf_printf(&text, "\nseed %lld\n", (long long)model->train.seed);
  const char *id = hash(ctx, &text);
  dtg_strbuf_free(&text);
  return id;
}

static void put_shape(const struct dtg_cluster *cluster, struct dtg_strbuf *text) {
  for (uint32_t j = 0; j < cluster->job_count; j++) {
    const struct dtg_job *job = &cluster->jobs[j];
    dtg_strbuf_printf(text, "job %s %u cpu %u gpu %u\n", job->name, job->task_count, job->cpu,
                      job->gpu);
  }
  dtg_strbuf_printf(text, "chief %u %u arch %s\n", cluster->chief_job, cluster->chief_task,
                    cluster->cpu_arch);
}

const char *dtg_plan_id(struct dtg_ctx *ctx, const struct dtg_model *model,
                        const struct dtg_cluster *cluster, const struct dtg_plan *plan,
                        const char *host_text) {
  struct dtg_strbuf text = {0};
  dtg_model_print(model, &text);
  put_shape(cluster, &text);
  for (size_t i = 0; i < plan->kernels.len; i++)
    cg_kernel_print(plan->kernels.data[i], &text);
  dtg_strbuf_puts(&text, host_text);
  dtg_strbuf_puts(&text, "dtgc " DTG_VERSION);
  const char *id = hash(ctx, &text);
  dtg_strbuf_free(&text);
  return id;
}

struct dtr_window dtg_program_window(const struct cg_window *window) {
  static const enum dtr_window_kind kinds[] = {
      [CG_WINDOW_CONV] = DTR_WINDOW_CONV,
      [CG_WINDOW_CONV_DATA] = DTR_WINDOW_CONV_DATA,
      [CG_WINDOW_CONV_WEIGHTS] = DTR_WINDOW_CONV_WEIGHTS,
      [CG_WINDOW_MAX_POOL] = DTR_WINDOW_MAX_POOL,
      [CG_WINDOW_MAX_POOL_GRAD] = DTR_WINDOW_MAX_POOL_GRAD,
      [CG_WINDOW_AVG_POOL] = DTR_WINDOW_AVG_POOL,
      [CG_WINDOW_AVG_POOL_GRAD] = DTR_WINDOW_AVG_POOL_GRAD,
  };
  struct dtr_window out = {.kind = kinds[window->kind],
                           .batch = window->batch,
                           .groups = window->groups,
                           .x_channels = window->x_channels,
                           .y_channels = window->y_channels,
                           .tile_images = window->tile_images};
  for (int i = 0; i < 2; i++) {
    out.x_size[i] = window->x_size[i];
    out.y_size[i] = window->y_size[i];
    out.kernel[i] = window->kernel[i];
    out.stride[i] = window->stride[i];
    out.dilation[i] = window->dilation[i];
    out.before[i] = window->before[i];
    out.after[i] = window->after[i];
  }
  return out;
}
