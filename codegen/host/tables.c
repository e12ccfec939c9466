// The static tables of the host program.
#include "codegen/host/internal.h"
#include "compiler/ir/op.h"

#include <stdarg.h>
#include <string.h>

__attribute__((format(printf, 2, 3))) static void put(const struct cg_host *h, const char *format,
                                                      ...) {
  va_list args;
  va_start(args, format);
  dtg_strbuf_vprintf(h->out, format, args);
  va_end(args);
}

void cg_host_put_string(const struct cg_host *h, const char *text) {
  if (!text) {
    dtg_strbuf_puts(h->out, "NULL");
    return;
  }
  dtg_strbuf_putc(h->out, '"');
  for (; *text; text++) {
    unsigned char c = (unsigned char)*text;
    if (c == '\n' && text[1])
      dtg_strbuf_puts(h->out, "\\n\"\n    \"");
    else if (c == '\n')
      dtg_strbuf_puts(h->out, "\\n");
    else if (c == '"' || c == '\\')
      dtg_strbuf_printf(h->out, "\\%c", c);
    else if (c == '?')
      dtg_strbuf_puts(h->out, "\\?"); // no trigraphs
    else if (c < 0x20 || c == 0x7f)
      dtg_strbuf_printf(h->out, "\\%03o", c);
    else
      dtg_strbuf_putc(h->out, *text);
  }
  dtg_strbuf_putc(h->out, '"');
}

static void put_dims(const struct cg_host *h, uint32_t rank, const int64_t *dims) {
  put(h, "%u, {", rank);
  for (uint32_t i = 0; i < rank; i++)
    put(h, "%s%lld", i ? ", " : "", (long long)dims[i]);
  put(h, "%s}", rank ? "" : "0");
}

static const char *const dtype_names[] = {"DTR_F32", "DTR_F64", "DTR_BF16", "DTR_I32",
                                          "DTR_I64", "DTR_U8",  "DTR_BOOL"};

// A comment may hold a text of the source: nothing in it may end the comment.
void cg_host_put_title(const struct cg_host *h, const struct dtg_node *subject,
                       const struct cg_kernel *kernel) {
  const char *path = subject ? subject->path : "";
  const char *name = subject && subject->name ? subject->name : kernel->comment;
  const char *text = name ? name : "";
  size_t length = strlen(path);
  bool named = strncmp(text, path, length) == 0 && (text[length] == ':' || text[length] == '.');
  if (length && !named)
    text = dtg_arena_printf(h->arena, "%s%s%s", path, *text ? ": " : "", text);
  for (; *text; text++)
    if (text[0] != '*' || text[1] != '/')
      dtg_strbuf_putc(h->out, *text);
}

// A kernel shared by several launches has the buffer names of the first: this launch's node knows
// better.
static const char *output_name(const struct cg_host *h, int index, const struct dtg_launch *launch,
                               uint32_t buffer) {
  const struct dtg_plan_step *step = launch->step;
  const char *name = cg_host_location_name(h, index, &step->args.data[buffer]);
  if (name)
    return name;
  if (buffer >= step->nodes.len || step->nodes.data[buffer] == DTG_NO_NODE)
    return "";
  const struct dtg_node *node = dtg_graph_node(launch->function->graph, step->nodes.data[buffer]);
  return node->name ? node->name : node->op->name;
}

static void put_outputs(const struct cg_host *h, int index, const struct dtg_launch *launch,
                        const struct cg_kernel *kernel) {
  uint32_t count = 0;
  struct dtg_strbuf text = {0};
  for (uint32_t b = 0; b < kernel->buffers.len && count < 8; b++) {
    const struct cg_buffer *buffer = &kernel->buffers.data[b];
    if (!buffer->written || buffer->elements == 0)
      continue;
    const char *name = output_name(h, index, launch, b);
    dtg_strbuf_printf(&text, "%s{%u, %s, %lld, \"%s\"}", count ? ", " : "", b,
                      dtype_names[buffer->dtype], (long long)buffer->elements, name);
    count++;
  }
  put(h, "%u, {%s}", count, count ? dtg_strbuf_text(&text) : "{0}");
  dtg_strbuf_free(&text);
}

static void put_launch(const struct cg_host *h, int index, const struct dtg_launch *launch) {
  const struct dtg_plan_function *function = launch->function;
  const struct dtg_plan_step *step = launch->step;
  const struct cg_kernel *kernel = h->in->plan->kernels.data[step->kernel];
  const struct dtg_node *subject = cg_host_subject(function, step);
  struct dtg_strbuf title = {0};
  struct cg_host inner = *h;
  inner.out = &title;
  cg_host_put_title(&inner, subject, kernel);
  put(h, "    {");
  cg_host_put_string(h, kernel->name);
  put(h, ", ");
  cg_host_put_string(h, dtg_strbuf_text(&title));
  dtg_strbuf_free(&title);
  put(h, ", ");
  cg_host_put_string(h, subject ? dtg_span_short(h->arena, h->in->sources, subject->span) : "");
  put(h, ", ");
  cg_host_put_checks(h, function->graph, step->group);
  put(h, ", ");
  put_outputs(h, index, launch, kernel);
  put(h, "},\n");
}

static uint32_t put_launches(const struct cg_host *h) {
  uint32_t count = 0;
  put(h, "\nstatic const struct dtr_kernel_desc launches[] = {\n");
  for (int i = 0; i < DTG_PLAN_FUNCTIONS; i++) {
    const struct dtg_plan_function *function = &h->in->plan->functions[i];
    struct dtg_launch_list launches = {0};
    if (function->graph)
      dtg_plan_launches(h->arena, function, &launches);
    for (size_t s = 0; s < launches.list.len; s++, count++)
      put_launch(h, i, &launches.list.data[s]);
  }
  if (count == 0)
    put(h, "    {0},\n");
  put(h, "};\n");
  return count;
}

// Scratch of a call of the library: the plan's buffer behind the `place` that the call works on.
static int64_t scratch_of(const struct dtg_plan_function *function, uint32_t kernel, size_t place) {
  int64_t bytes = 0;
  for (size_t s = 0; s < function->steps.len; s++) {
    const struct dtg_plan_step *step = &function->steps.data[s];
    int64_t inner = step->loop ? scratch_of(&step->loop->body, kernel, place) : 0;
    bytes = inner > bytes ? inner : bytes;
    if (step->loop || step->kernel != kernel || step->args.len <= place)
      continue;
    for (size_t b = 0; b < function->buffers.len; b++) {
      const struct dtg_plan_buffer *buffer = &function->buffers.data[b];
      if (buffer->node == DTG_NO_NODE && buffer->at.offset == step->args.data[place].offset &&
          buffer->first_step <= s && s <= buffer->last_step && buffer->bytes > bytes)
        bytes = buffer->bytes;
    }
  }
  return bytes;
}

static int64_t scratch_bytes(const struct dtg_plan *plan, uint32_t kernel) {
  const struct cg_kernel *call = plan->kernels.data[kernel];
  size_t place = call->kind == CG_KERNEL_WINDOW ? cg_window_buffers(call->window.kind) : 3;
  int64_t bytes = 0;
  for (int i = 0; i < DTG_PLAN_FUNCTIONS; i++) {
    const struct dtg_plan_function *function = &plan->functions[i];
    int64_t own = function->graph ? scratch_of(function, kernel, place) : 0;
    bytes = own > bytes ? own : bytes;
  }
  return bytes;
}

static const char *const window_kinds[] = {
    [CG_WINDOW_CONV] = "DTR_WINDOW_CONV",
    [CG_WINDOW_CONV_DATA] = "DTR_WINDOW_CONV_DATA",
    [CG_WINDOW_CONV_WEIGHTS] = "DTR_WINDOW_CONV_WEIGHTS",
    [CG_WINDOW_MAX_POOL] = "DTR_WINDOW_MAX_POOL",
    [CG_WINDOW_MAX_POOL_GRAD] = "DTR_WINDOW_MAX_POOL_GRAD",
    [CG_WINDOW_AVG_POOL] = "DTR_WINDOW_AVG_POOL",
    [CG_WINDOW_AVG_POOL_GRAD] = "DTR_WINDOW_AVG_POOL_GRAD",
};

static void put_gemms(const struct cg_host *h) {
  const struct dtg_plan *plan = h->in->plan;
  if (h->gemm_count == 0)
    return;
  put(h, "\n/* batch, m, n, k, strides of A, B, C, transposes, beta, tile rows, tiles, scratch */\n"
         "static const struct dtr_gemm gemms[] = {\n");
  for (uint32_t k = 0; k < plan->kernels.len; k++) {
    if (plan->kernels.data[k]->kind != CG_KERNEL_GEMM)
      continue;
    const struct cg_gemm *g = &plan->kernels.data[k]->gemm;
    put(h, "    {%lld, %lld, %lld, %lld, %lld, %lld, %lld, %s, %s, %.1ff, %lld, %lld, %lld},\n",
        (long long)g->batch, (long long)g->m, (long long)g->n, (long long)g->k,
        (long long)g->stride_a, (long long)g->stride_b, (long long)g->stride_c,
        g->transpose_a ? "true" : "false", g->transpose_b ? "true" : "false", (double)g->beta,
        (long long)g->tile_rows, (long long)g->row_tiles, (long long)scratch_bytes(plan, k));
  }
  put(h, "};\n");
}

static void put_pair(const struct cg_host *h, const int64_t pair[2]) {
  put(h, "{%lld, %lld}, ", (long long)pair[0], (long long)pair[1]);
}

static void put_windows(const struct cg_host *h) {
  const struct dtg_plan *plan = h->in->plan;
  if (h->window_count == 0)
    return;
  put(h, "\n/* kind, batch, groups, x, its channels, y, its channels, kernel, stride, dilation, "
         "before,\n"
         " * after, images of a tile, scratch */\n"
         "static const struct dtr_window windows[] = {\n");
  for (uint32_t k = 0; k < plan->kernels.len; k++) {
    if (plan->kernels.data[k]->kind != CG_KERNEL_WINDOW)
      continue;
    const struct cg_window *w = &plan->kernels.data[k]->window;
    put(h, "    {%s, %lld, %lld, ", window_kinds[w->kind], (long long)w->batch,
        (long long)w->groups);
    put_pair(h, w->x_size);
    put(h, "%lld, ", (long long)w->x_channels);
    put_pair(h, w->y_size);
    put(h, "%lld, ", (long long)w->y_channels);
    put_pair(h, w->kernel);
    put_pair(h, w->stride);
    put_pair(h, w->dilation);
    put_pair(h, w->before);
    put_pair(h, w->after);
    put(h, "%lld, %lld},\n", (long long)w->tile_images, (long long)scratch_bytes(plan, k));
  }
  put(h, "};\n");
}

static void put_inputs(const struct cg_host *h) {
  const struct dtr_program *t = h->in->tables;
  if (t->input_count == 0)
    return;
  put(h, "\nstatic const struct dtr_input inputs[] = {\n");
  for (uint32_t i = 0; i < t->input_count; i++) {
    const struct dtr_input *input = &t->inputs[i];
    put(h, "    {");
    cg_host_put_string(h, input->name);
    put(h, ", %s, ", dtype_names[input->dtype]);
    put_dims(h, input->rank, input->dims);
    put(h, ", %lld, ", (long long)input->row_bytes);
    cg_host_put_string(h, input->where);
    put(h, ", %s},\n", input->needed ? "true" : "false");
  }
  put(h, "};\n");
}

static void put_place(const struct cg_host *h, const struct dtr_place *at) {
  static const char *const spaces[] = {"DTR_SPACE_ARENA", "DTR_SPACE_VARIABLE",
                                       "DTR_SPACE_CONTRIBUTION", "DTR_SPACE_SCALAR",
                                       "DTR_SPACE_FEED"};
  put(h, "{%s, %u, %lld}, ", spaces[at->space], at->index, (long long)at->offset);
}

static void put_output_table(const struct cg_host *h) {
  const struct dtr_program *t = h->in->tables;
  if (t->output_count == 0)
    return;
  put(h, "\n/* name, type, shape of an example, bytes, by example, place in eval and tail */\n"
         "static const struct dtr_output outputs[] = {\n");
  for (uint32_t i = 0; i < t->output_count; i++) {
    const struct dtr_output *output = &t->outputs[i];
    put(h, "    {");
    cg_host_put_string(h, output->name);
    put(h, ", %s, ", dtype_names[output->dtype]);
    put_dims(h, output->rank, output->dims);
    put(h, ", %lld, %s, ", (long long)output->row_bytes, output->by_example ? "true" : "false");
    put_place(h, &output->eval);
    put_place(h, &output->tail);
    cg_host_put_string(h, output->where);
    put(h, "},\n");
  }
  put(h, "};\n");
}

/* What few sources have, by name. */
static void put_column_more(const struct cg_host *h, const struct dtr_column *c, uint32_t dataset,
                            uint32_t index) {
  if (c->category_count > 0)
    put(h, ", .category_count = %u, .categories = categories_%u_%u", c->category_count, dataset,
        index);
  if (c->limit > 0)
    put(h, ", .limit = %lld", (long long)c->limit);
  if (c->is_test)
    put(h, ", .is_test = true");
  if (c->window > 0)
    put(h, ", .window = %lld, .stride = %lld", (long long)c->window, (long long)c->stride);
}

static void put_categories(const struct cg_host *h, const struct dtr_column *c, uint32_t dataset,
                           uint32_t index) {
  if (c->category_count == 0)
    return;
  put(h, "\nstatic const char *const categories_%u_%u[] = {", dataset, index);
  for (uint32_t i = 0; i < c->category_count; i++) {
    put(h, i ? ", " : "");
    cg_host_put_string(h, c->categories[i]);
  }
  put(h, "};\n");
}

static void put_column(const struct cg_host *h, const struct dtr_column *c, uint32_t dataset,
                       uint32_t index) {
  static const char *const kinds[] = {"DTR_SOURCE_IDX",           "DTR_SOURCE_NPY",
                                      "DTR_SOURCE_NPZ",           "DTR_SOURCE_CSV",
                                      "DTR_SOURCE_SAFETENSORS",   "DTR_SOURCE_CIFAR10",
                                      "DTR_SOURCE_BYTES",         "DTR_SOURCE_TOKENS",
                                      "DTR_SOURCE_RANDOM_NORMAL", "DTR_SOURCE_RANDOM_UNIFORM",
                                      "DTR_SOURCE_RANDOM_INT",    "DTR_SOURCE_RANGE"};
  put(h, "    {");
  cg_host_put_string(h, c->name);
  put(h, ", %s, ", kinds[c->kind]);
  cg_host_put_string(h, c->path);
  put(h, ", ");
  cg_host_put_string(h, c->member);
  put(h, ", %lld, ", (long long)c->rows);
  put_dims(h, c->rank, c->dims);
  put(h, ", %s, ", dtype_names[c->dtype]);
  dtg_strbuf_f64(h->out, c->a);
  put(h, ", ");
  dtg_strbuf_f64(h->out, c->b);
  put(h, ", %lld, ", (long long)c->seed);
  cg_host_put_string(h, c->where);
  put_column_more(h, c, dataset, index);
  put(h, "},\n");
}

static void put_dataset_parts(const struct cg_host *h, uint32_t index) {
  static const char *const kinds[] = {"DTR_TRANSFORM_SHUFFLE", "DTR_TRANSFORM_TAKE",
                                      "DTR_TRANSFORM_SKIP"};
  const struct dtr_dataset *d = &h->in->tables->datasets[index];
  for (uint32_t c = 0; c < d->column_count; c++)
    put_categories(h, &d->columns[c], index, c);
  put(h, "\nstatic const struct dtr_column columns_%u[] = {\n", index);
  for (uint32_t c = 0; c < d->column_count; c++)
    put_column(h, &d->columns[c], index, c);
  put(h, "};\n");
  if (d->transform_count == 0)
    return;
  put(h, "static const struct dtr_transform transforms_%u[] = {\n", index);
  for (uint32_t t = 0; t < d->transform_count; t++)
    put(h, "    {%s, %lld, %s},\n", kinds[d->transforms[t].kind], (long long)d->transforms[t].value,
        d->transforms[t].has_seed ? "true" : "false");
  put(h, "};\n");
}

static void put_datasets(const struct cg_host *h) {
  const struct dtr_program *t = h->in->tables;
  for (uint32_t i = 0; i < t->dataset_count; i++)
    put_dataset_parts(h, i);
  if (t->dataset_count == 0)
    return;
  put(h, "static const struct dtr_dataset datasets[] = {\n");
  for (uint32_t i = 0; i < t->dataset_count; i++) {
    const struct dtr_dataset *d = &t->datasets[i];
    put(h, "    {");
    cg_host_put_string(h, d->name);
    put(h, ", %u, columns_%u, %u, ", d->column_count, i, d->transform_count);
    if (d->transform_count)
      put(h, "transforms_%u, ", i);
    else
      put(h, "NULL, ");
    cg_host_put_string(h, d->where);
    put(h, "},\n");
  }
  put(h, "};\n");
}

static void put_variables(const struct cg_host *h) {
  static const char *const kinds[] = {"DTR_VARIABLE_PARAM", "DTR_VARIABLE_STATE",
                                      "DTR_VARIABLE_SLOT"};
  static const char *const inits[] = {"DTR_INIT_ZEROS",
                                      "DTR_INIT_ONES",
                                      "DTR_INIT_CONSTANT",
                                      "DTR_INIT_NORMAL",
                                      "DTR_INIT_TRUNCATED_NORMAL",
                                      "DTR_INIT_UNIFORM",
                                      "DTR_INIT_GLOROT_UNIFORM",
                                      "DTR_INIT_GLOROT_NORMAL",
                                      "DTR_INIT_HE_NORMAL",
                                      "DTR_INIT_HE_UNIFORM",
                                      "DTR_INIT_ORTHOGONAL"};
  const struct dtr_program *t = h->in->tables;
  if (t->variable_count == 0)
    return;
  put(h, "\n/* path, kind, type, shape, elements, offset, initial values */\n"
         "static const struct dtr_variable variables[] = {\n");
  for (uint32_t i = 0; i < t->variable_count; i++) {
    const struct dtr_variable *v = &t->variables[i];
    put(h, "    {");
    cg_host_put_string(h, v->path);
    put(h, ", %s, %s, ", kinds[v->kind], dtype_names[v->dtype]);
    put_dims(h, v->rank, v->dims);
    put(h, ", %lld, %lld, %s, ", (long long)v->elements, (long long)v->offset, inits[v->init]);
    dtg_strbuf_f64(h->out, v->a);
    put(h, ", ");
    dtg_strbuf_f64(h->out, v->b);
    put(h, ", ");
    cg_host_put_string(h, v->where);
    put(h, "},\n");
  }
  put(h, "};\n");
}

// A sparse gradient.
static void put_list(const struct cg_host *h, const struct dtr_row_list *list) {
  static const char *const kinds[] = {"DTR_ROWS_NONE", "DTR_ROWS_PASS", "DTR_ROWS_TOUCHED"};
  if (list->kind == DTR_ROWS_NONE) {
    put(h, ", {0}");
    return;
  }
  put(h, ", {%s, %lld, %lld, %lld, %lld, %lld, %lld}", kinds[list->kind], (long long)list->rows,
      (long long)list->width, (long long)list->picks, (long long)list->capacity,
      (long long)list->count, (long long)list->ids);
}

static void put_contributions(const struct cg_host *h) {
  static const char *const kinds[] = {"DTR_CONTRIBUTION_LOSS", "DTR_CONTRIBUTION_METRIC",
                                      "DTR_CONTRIBUTION_GRAD", "DTR_CONTRIBUTION_STATE"};
  const struct dtr_program *t = h->in->tables;
  if (t->contribution_count) {
    put(h, "\nstatic const struct dtr_contribution contributions[] = {\n");
    for (uint32_t i = 0; i < t->contribution_count; i++) {
      const struct dtr_contribution *c = &t->contributions[i];
      put(h, "    {");
      cg_host_put_string(h, c->name);
      put(h, ", %s, %s, %lld, %lld, %s, %s", kinds[c->kind], dtype_names[c->dtype],
          (long long)c->elements, (long long)c->offset, c->maximum ? "true" : "false",
          c->mean ? "true" : "false");
      put_list(h, &c->list);
      put(h, "},\n");
    }
    put(h, "};\n");
  }
  if (t->metric_count == 0)
    return;
  put(h, "static const char *const metrics[] = {");
  for (uint32_t i = 0; i < t->metric_count; i++) {
    if (i)
      put(h, ", ");
    cg_host_put_string(h, t->metrics[i]);
  }
  put(h, "};\n");
}

static void put_part(const struct cg_host *h, const char *field, int index,
                     const char *const *names, int64_t batch) {
  const struct dtg_plan_function *function = &h->in->plan->functions[index];
  if (!function->graph)
    return;
  put(h, "    .%s = {%s, %lld, %lld},\n", field, names[index], (long long)function->arena_bytes,
      (long long)batch);
}

static void put_texts(const struct cg_host *h) {
  const struct dtr_program *t = h->in->tables;
  const struct {
    const char *field, *text;
  } rows[] = {{"name", t->name},         {"model_file", t->model_file}, {"plan_id", t->plan_id},
              {"model_id", t->model_id}, {"compiler", t->compiler},     {"cpu_arch", t->cpu_arch},
              {"results", t->results},   {"plan_text", t->plan_text}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    put(h, "    .%s = ", rows[i].field);
    cg_host_put_string(h, rows[i].text);
    put(h, ",\n");
  }
  put(h, "    .source_dir = DTR_SOURCE_DIR,\n");
}

static void put_dataset_index(const struct cg_host *h, const char *field, uint32_t index) {
  if (index == UINT32_MAX)
    put(h, ".%s = UINT32_MAX", field);
  else
    put(h, ".%s = %u", field, index);
}

static void put_train(const struct cg_host *h) {
  const struct dtr_train *t = &h->in->tables->train;
  put(h,
      "    .train = {.batch = %lld, .shards = %lld, .epochs = %lld, .steps = %lld, .seed = %lld,\n",
      (long long)t->batch, (long long)t->shards, (long long)t->epochs, (long long)t->steps,
      (long long)t->seed);
  put(h, "              .evaluate_epochs = %lld, .evaluate_steps = %lld,\n",
      (long long)t->evaluate_epochs, (long long)t->evaluate_steps);
  put(h,
      "              .checkpoint_epochs = %lld, .checkpoint_steps = %lld, .checkpoint_keep = "
      "%lld,\n",
      (long long)t->checkpoint_epochs, (long long)t->checkpoint_steps,
      (long long)t->checkpoint_keep);
  put(h, "              ");
  put_dataset_index(h, "data", t->data);
  put(h, ", ");
  put_dataset_index(h, "evaluate_data", t->evaluate_data);
  put(h, "},\n");
}

static void put_table_ref(const struct cg_host *h, const char *name, uint32_t count) {
  put(h, "    .%.*s_count = %u,\n", (int)strlen(name) - 1, name, count);
  if (count)
    put(h, "    .%s = %s,\n", name, name);
}

void cg_host_put_tables(const struct cg_host *h, const char *const *names) {
  const struct dtr_program *t = h->in->tables;
  uint32_t launches = put_launches(h);
  put_gemms(h);
  put_windows(h);
  put_inputs(h);
  put_output_table(h);
  put_datasets(h);
  put_variables(h);
  put_contributions(h);
  cg_host_put_replication(h);
  put(h, "\nstatic const struct dtr_program program = {\n    .abi_version = DTR_ABI_VERSION,\n");
  put_texts(h);
  put_train(h);
  put_table_ref(h, "inputs", t->input_count);
  put_table_ref(h, "outputs", t->output_count);
  put_table_ref(h, "datasets", t->dataset_count);
  put_table_ref(h, "variables", t->variable_count);
  put(h, "    .variables_bytes = %lld,\n", (long long)t->variables_bytes);
  put_table_ref(h, "contributions", t->contribution_count);
  put(h, "    .contribution_bytes = %lld,\n", (long long)t->contribution_bytes);
  put_table_ref(h, "metrics", t->metric_count);
  put(h, "    .kernel_count = %u,\n    .kernels = launches,\n", launches);
  put_table_ref(h, "gemms", h->gemm_count);
  put_table_ref(h, "windows", h->window_count);
  if (t->replication)
    put(h, "    .replication = &replication,\n");
  int64_t shard_batch = t->train.shards ? t->train.batch / t->train.shards : 1;
  put_part(h, "shard", DTG_PLAN_TRAIN, names, shard_batch);
  put_part(h, "update", DTG_PLAN_UPDATE, names, 0);
  put_part(h, "eval", DTG_PLAN_EVAL, names, shard_batch);
  put_part(h, "tail", DTG_PLAN_TAIL, names, 1);
  put(h, "};\n\n#ifdef DTR_LIBRARY /* behind dtg_model.h */\n"
         "const struct dtr_program *const dtr_library_program = &program;\n#else\n"
         "int main(int argc, char **argv) { return dtr_main(&program, argc, argv); }\n#endif\n");
}
