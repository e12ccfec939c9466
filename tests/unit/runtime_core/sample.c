#include "sample.h"

#include "dtr_library.h"
#include "runtime/cpu.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { KERNELS = 13, GEMMS = 7, INPUTS = 2, CONTRIBUTIONS = 7, VARIABLES = 9 };
enum { X, LABEL };
enum {
  K_HIDDEN,
  K_RELU,
  K_LOGITS,
  K_SOFTMAX,
  K_SUMS,
  K_GRAD_W2,
  K_GRAD_B2,
  K_GRAD_HIDDEN,
  K_MASK,
  K_GRAD_W1,
  K_GRAD_B1,
  K_LARGEST,
  K_MOMENTUM
};
enum { G_HIDDEN, G_LOGITS, G_GRAD_W2, G_GRAD_HIDDEN, G_GRAD_W1, G_TAIL_HIDDEN, G_TAIL_LOGITS };
enum { C_LOSS, C_ACCURACY, C_B1, C_W1, C_B2, C_W2, C_LARGEST };
enum { V_B1, V_B1_V, V_W1, V_W1_V, V_B2, V_B2_V, V_W2, V_W2_V, V_LARGEST };

/* Arena of one function for `rows` rows. */
struct layout {
  int64_t hidden, logits, grad_logits, grad_hidden, losses, hits, scratch, bytes;
};

static struct {
  struct sample_options options;
  int64_t rows;
  struct layout shard, tail;
  int64_t scratch_bytes;
  struct dtr_program program;
  struct dtr_check check;
  struct dtr_kernel_desc kernels[KERNELS];
  struct dtr_gemm gemms[GEMMS];
  struct dtr_variable variables[VARIABLES];
  struct dtr_contribution contributions[CONTRIBUTIONS];
  struct dtr_input inputs[INPUTS];
  struct dtr_column train_columns[INPUTS], test_columns[INPUTS];
  struct dtr_transform shuffle;
  struct dtr_dataset datasets[2];
} s;
static const char *const metrics[] = {"accuracy"};

static int64_t take(int64_t *end, int64_t bytes) {
  int64_t at = *end;
  *end += (bytes + DTR_ALIGN - 1) / DTR_ALIGN * DTR_ALIGN;
  return at;
}

static struct layout lay_out(int64_t rows) {
  struct layout l = {0};
  l.hidden = take(&l.bytes, rows * s.options.hidden * 4);
  l.logits = take(&l.bytes, rows * s.options.classes * 4);
  l.grad_logits = take(&l.bytes, rows * s.options.classes * 4);
  l.grad_hidden = take(&l.bytes, rows * s.options.hidden * 4);
  l.losses = take(&l.bytes, rows * 4);
  l.hits = take(&l.bytes, rows * 4);
  l.scratch = take(&l.bytes, s.scratch_bytes);
  return l;
}

/* ---- kernels; the last buffer of some holds the number of rows ---- */

static void relu_rows(char *const *buffers, struct dtr_fault *fault, int64_t begin, int64_t end) {
  (void)fault;
  float *h = (float *)buffers[0];
  const float *bias = (const float *)buffers[1];
  const struct dtr_scalars *scalars = (const struct dtr_scalars *)buffers[2];
  for (int64_t r = begin; r < end; r++)
    for (int64_t j = 0; j < s.options.hidden; j++) {
      float v = h[r * s.options.hidden + j] + bias[j];
      h[r * s.options.hidden + j] = v < 0 ? 0 : v; /* keeps a NaN */
    }
  if (begin == 0 && scalars->step == s.options.nan_step && scalars->shard == s.options.nan_shard)
    h[1] = NAN;
}

static void softmax_rows(char *const *buffers, struct dtr_fault *fault, int64_t begin,
                         int64_t end) {
  const float *logits = (const float *)buffers[0], *bias = (const float *)buffers[1];
  const int32_t *labels = (const int32_t *)buffers[2];
  float *grad = (float *)buffers[3], *losses = (float *)buffers[4], *hits = (float *)buffers[5];
  int64_t classes = s.options.classes;
  for (int64_t r = begin; r < end; r++) {
    const float *row = logits + r * classes;
    int64_t label = labels[r], best = 0;
    if (label < 0 || label >= classes) {
      if (fault->code == DTR_FAULT_NONE)
        *fault = (struct dtr_fault){DTR_FAULT_RANGE, r, label};
      label = 0;
    }
    float top = row[0] + bias[0], sum = 0;
    for (int64_t j = 1; j < classes; j++)
      if (!(row[j] + bias[j] <= top)) {
        top = row[j] + bias[j];
        best = j;
      }
    for (int64_t j = 0; j < classes; j++) {
      grad[r * classes + j] = expf(row[j] + bias[j] - top);
      sum += grad[r * classes + j];
    }
    losses[r] = logf(sum) - (row[label] + bias[label] - top);
    hits[r] = best == label;
    for (int64_t j = 0; j < classes; j++)
      grad[r * classes + j] = (grad[r * classes + j] / sum - (float)(j == label)) / (float)s.rows;
  }
}

static float mean(const float *values, int64_t count) {
  float sum = 0;
  for (int64_t i = 0; i < count; i++)
    sum += values[i];
  return sum / (float)count;
}

static void sums(char *const *buffers, struct dtr_fault *fault, int64_t begin, int64_t end) {
  (void)fault, (void)begin, (void)end;
  int64_t rows = *(const int64_t *)buffers[4];
  *(float *)buffers[2] = mean((const float *)buffers[0], rows);
  *(float *)buffers[3] = mean((const float *)buffers[1], rows);
}

/* Column sums: tiles are columns. */
static void column_sums(char *const *buffers, struct dtr_fault *fault, int64_t begin, int64_t end) {
  (void)fault;
  const float *values = (const float *)buffers[0];
  float *sum = (float *)buffers[1];
  int64_t columns = *(const int64_t *)buffers[2];
  for (int64_t j = begin; j < end; j++) {
    sum[j] = 0;
    for (int64_t r = 0; r < s.rows; r++)
      sum[j] += values[r * columns + j];
  }
}

static void mask_rows(char *const *buffers, struct dtr_fault *fault, int64_t begin, int64_t end) {
  (void)fault;
  float *grad = (float *)buffers[0];
  const float *h = (const float *)buffers[1];
  for (int64_t i = begin * s.options.hidden; i < end * s.options.hidden; i++)
    grad[i] = h[i] == 0 ? 0 : grad[i];
}

static void largest(char *const *buffers, struct dtr_fault *fault, int64_t begin, int64_t end) {
  (void)fault, (void)begin, (void)end;
  const float *x = (const float *)buffers[0];
  float top = x[0];
  for (int64_t i = 1; i < s.rows * s.options.width; i++)
    top = x[i] > top ? x[i] : top;
  *(float *)buffers[1] = top;
}

enum { BLOCK = 64 }; /* elements of a tile of the update */

static void momentum(char *const *buffers, struct dtr_fault *fault, int64_t begin, int64_t end) {
  (void)fault;
  float *param = (float *)buffers[0], *slot = (float *)buffers[1];
  const float *grad = (const float *)buffers[2];
  const struct dtr_scalars *scalars = (const struct dtr_scalars *)buffers[3];
  int64_t elements = *(const int64_t *)buffers[4];
  float rate = (float)s.options.rate;
  if (scalars->total_steps > 0)
    rate *= 1 - 0.5f * (float)scalars->step / (float)scalars->total_steps;
  for (int64_t i = begin * BLOCK; i < end * BLOCK && i < elements; i++) {
    slot[i] = 0.9f * slot[i] + grad[i] / (float)s.options.shards;
    param[i] -= rate * slot[i];
  }
}

/* The same for slices: what is constant is known here. */
#define DEFINE_MOMENTUM(name, variable)                                                         \
  static void name(char *const *buffers, struct dtr_fault *fault, int64_t begin, int64_t end) { \
    char *all[] = {buffers[0], buffers[1], buffers[2], buffers[3],                              \
                   (char *)&s.variables[variable].elements};                                    \
    momentum(all, fault, begin, end);                                                           \
  }
DEFINE_MOMENTUM(momentum_b1, V_B1)
DEFINE_MOMENTUM(momentum_w1, V_W1)
DEFINE_MOMENTUM(momentum_b2, V_B2)
DEFINE_MOMENTUM(momentum_w2, V_W2)

static void set_largest(char *const *buffers, struct dtr_fault *fault, int64_t begin, int64_t end) {
  (void)fault, (void)begin, (void)end;
  memcpy(buffers[0], buffers[1], sizeof(float));
}

static const struct sample_update updates[] = {
    {V_B1, V_B1_V, C_B1, K_MOMENTUM, momentum_b1},
    {V_W1, V_W1_V, C_W1, K_MOMENTUM, momentum_w1},
    {V_B2, V_B2_V, C_B2, K_MOMENTUM, momentum_b2},
    {V_W2, V_W2_V, C_W2, K_MOMENTUM, momentum_w2},
    {V_LARGEST, UINT32_MAX, C_LARGEST, K_LARGEST, set_largest}};

/* ---- functions ---- */

static char *variable(const struct dtr_frame *f, int index) {
  return f->variables + s.variables[index].offset;
}

static char *contribution(const struct dtr_frame *f, int index) {
  return f->contribution + s.contributions[index].offset;
}

static void forward(struct dtr_frame *f, const struct layout *l, int64_t rows, char *loss,
                    char *accuracy, uint32_t hidden_gemm, uint32_t logits_gemm) {
  char *a = f->arena;
  dtr_gemm_run(f, K_HIDDEN, hidden_gemm, f->feeds[X], variable(f, V_W1), a + l->hidden,
               a + l->scratch);
  char *relu[] = {a + l->hidden, variable(f, V_B1), (char *)f->scalars};
  dtr_kernel(f, K_RELU, relu_rows, relu, rows);
  dtr_gemm_run(f, K_LOGITS, logits_gemm, a + l->hidden, variable(f, V_W2), a + l->logits,
               a + l->scratch);
  char *soft[] = {a + l->logits,      variable(f, V_B2), f->feeds[LABEL],
                  a + l->grad_logits, a + l->losses,     a + l->hits};
  dtr_kernel(f, K_SOFTMAX, softmax_rows, soft, rows);
  char *sum[] = {a + l->losses, a + l->hits, loss, accuracy, (char *)&rows};
  dtr_kernel(f, K_SUMS, sums, sum, 1);
}

static void run_shard(struct dtr_frame *f) {
  const struct layout *l = &s.shard;
  char *a = f->arena;
  forward(f, l, s.rows, contribution(f, C_LOSS), contribution(f, C_ACCURACY), G_HIDDEN, G_LOGITS);
  dtr_gemm_run(f, K_GRAD_W2, G_GRAD_W2, a + l->hidden, a + l->grad_logits, contribution(f, C_W2),
               a + l->scratch);
  char *b2[] = {a + l->grad_logits, contribution(f, C_B2), (char *)&s.options.classes};
  dtr_kernel(f, K_GRAD_B2, column_sums, b2, s.options.classes);
  dtr_gemm_run(f, K_GRAD_HIDDEN, G_GRAD_HIDDEN, a + l->grad_logits, variable(f, V_W2),
               a + l->grad_hidden, a + l->scratch);
  char *mask[] = {a + l->grad_hidden, a + l->hidden};
  dtr_kernel(f, K_MASK, mask_rows, mask, s.rows);
  dtr_gemm_run(f, K_GRAD_W1, G_GRAD_W1, f->feeds[X], a + l->grad_hidden, contribution(f, C_W1),
               a + l->scratch);
  char *b1[] = {a + l->grad_hidden, contribution(f, C_B1), (char *)&s.options.hidden};
  dtr_kernel(f, K_GRAD_B1, column_sums, b1, s.options.hidden);
  char *top[] = {f->feeds[X], contribution(f, C_LARGEST)};
  dtr_kernel(f, K_LARGEST, largest, top, 1);
}

static void run_update(struct dtr_frame *f) {
  static const struct {
    int param, grad;
  } pairs[] = {{V_B1, C_B1}, {V_W1, C_W1}, {V_B2, C_B2}, {V_W2, C_W2}};
  for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
    const struct dtr_variable *v = &s.variables[pairs[i].param];
    char *buffers[] = {f->variables + v->offset, f->variables + v[1].offset,
                       contribution(f, pairs[i].grad), (char *)f->scalars, (char *)&v->elements};
    dtr_kernel(f, K_MOMENTUM, momentum, buffers, (v->elements + BLOCK - 1) / BLOCK);
  }
  memcpy(variable(f, V_LARGEST), contribution(f, C_LARGEST), 4);
}

static void run_eval(struct dtr_frame *f) {
  forward(f, &s.shard, s.rows, f->contribution, f->contribution + DTR_ALIGN, G_HIDDEN, G_LOGITS);
}

static void run_tail(struct dtr_frame *f) {
  forward(f, &s.tail, 1, f->contribution, f->contribution + DTR_ALIGN, G_TAIL_HIDDEN,
          G_TAIL_LOGITS);
}

/* ---- tables ---- */

static void set_gemm(int index, int64_t m, int64_t n, int64_t k, bool ta, bool tb) {
  int64_t rows = m < 16 ? m : 16;
  s.gemms[index] = (struct dtr_gemm){.batch = 1,
                                     .m = m,
                                     .n = n,
                                     .k = k,
                                     .transpose_a = ta,
                                     .transpose_b = tb,
                                     .tile_rows = rows,
                                     .row_tiles = (m + rows - 1) / rows};
  int64_t scratch = dtr_library_gemm_scratch(&s.gemms[index], s.program.cpu_arch);
  if (scratch < 0)
    abort();
  s.gemms[index].scratch_bytes = scratch;
  if (scratch > s.scratch_bytes)
    s.scratch_bytes = scratch;
}

static void set_kernel(int index, const char *name, const char *comment, uint32_t buffer,
                       int64_t elements, const char *output) {
  s.kernels[index] =
      (struct dtr_kernel_desc){.name = name, .comment = comment, .where = "sample.dtg:3:1"};
  if (!output)
    return;
  s.kernels[index].output_count = 1;
  s.kernels[index].outputs[0] = (struct dtr_kernel_output){buffer, DTR_F32, elements, output};
}

static void set_kernels(void) {
  int64_t hidden = s.options.hidden, classes = s.options.classes;
  set_kernel(K_HIDDEN, "k0_hidden", "x @ w1", 2, hidden, "x @ w1");
  set_kernel(K_RELU, "k1_relu", "relu(x @ w1 + b1)", 0, hidden, "h");
  set_kernel(K_LOGITS, "k2_logits", "h @ w2", 2, classes, "h @ w2");
  set_kernel(K_SOFTMAX, "k3_softmax", "softmax_cross_entropy(h @ w2 + b2, label)", 3, classes,
             "probs");
  set_kernel(K_SUMS, "k4_sums", "loss, accuracy", 2, 1, "loss");
  set_kernel(K_GRAD_W2, "k5_grad_w2", "gradient of w2", 2, hidden * classes, "grad(w2)");
  set_kernel(K_GRAD_B2, "k6_grad_b2", "gradient of b2", 1, classes, "grad(b2)");
  set_kernel(K_GRAD_HIDDEN, "k7_grad_h", "gradient of h", 2, s.rows * hidden, "grad(h)");
  set_kernel(K_MASK, "k8_mask", "gradient of relu", 0, s.rows * hidden, "grad(x @ w1)");
  set_kernel(K_GRAD_W1, "k9_grad_w1", "gradient of w1", 2, s.options.width * hidden, "grad(w1)");
  set_kernel(K_GRAD_B1, "k10_grad_b1", "gradient of b1", 1, hidden, "grad(b1)");
  set_kernel(K_LARGEST, "k11_largest", "largest = max(x)", 1, 1, "largest");
  set_kernel(K_MOMENTUM, "k12_momentum", "momentum", 0, 0, NULL);
  s.check = (struct dtr_check){"label", "sample.dtg:5:12", "label", classes, 1};
  s.kernels[K_SOFTMAX].checks = &s.check;
  s.kernels[K_SOFTMAX].check_count = 1;
  s.kernels[K_SOFTMAX].where = "sample.dtg:5:12";
}

static void set_gemms(void) {
  int64_t rows = s.rows, width = s.options.width, hidden = s.options.hidden,
          classes = s.options.classes;
  set_gemm(G_HIDDEN, rows, hidden, width, false, false);
  set_gemm(G_LOGITS, rows, classes, hidden, false, false);
  set_gemm(G_GRAD_W2, hidden, classes, rows, true, false);
  set_gemm(G_GRAD_HIDDEN, rows, hidden, classes, false, true);
  set_gemm(G_GRAD_W1, width, hidden, rows, true, false);
  set_gemm(G_TAIL_HIDDEN, 1, hidden, width, false, false);
  set_gemm(G_TAIL_LOGITS, 1, classes, hidden, false, false);
}

static void set_variable(int index, const char *path, enum dtr_variable_kind kind, int64_t rows,
                         int64_t columns, int64_t *end) {
  bool matrix = rows > 0;
  int64_t elements = matrix ? rows * columns : columns;
  s.variables[index] = (struct dtr_variable){
      .path = path,
      .kind = kind,
      .dtype = DTR_F32,
      .rank = matrix ? 2 : 1,
      .dims = {matrix ? rows : columns, matrix ? columns : 0},
      .elements = elements,
      .offset = take(end, elements * 4),
      .init = kind == DTR_VARIABLE_PARAM && matrix ? DTR_INIT_GLOROT_UNIFORM : DTR_INIT_ZEROS,
      .where = "sample.dtg:2:1"};
}

static void set_variables(void) {
  int64_t hidden = s.options.hidden, classes = s.options.classes, width = s.options.width;
  int64_t end = 0;
  set_variable(V_B1, "fc1.b", DTR_VARIABLE_PARAM, 0, hidden, &end);
  set_variable(V_B1_V, "fc1.b:v", DTR_VARIABLE_SLOT, 0, hidden, &end);
  set_variable(V_W1, "fc1.w", DTR_VARIABLE_PARAM, width, hidden, &end);
  set_variable(V_W1_V, "fc1.w:v", DTR_VARIABLE_SLOT, width, hidden, &end);
  set_variable(V_B2, "fc2.b", DTR_VARIABLE_PARAM, 0, classes, &end);
  set_variable(V_B2_V, "fc2.b:v", DTR_VARIABLE_SLOT, 0, classes, &end);
  set_variable(V_W2, "fc2.w", DTR_VARIABLE_PARAM, hidden, classes, &end);
  set_variable(V_W2_V, "fc2.w:v", DTR_VARIABLE_SLOT, hidden, classes, &end);
  set_variable(V_LARGEST, "largest", DTR_VARIABLE_STATE, 0, 1, &end);
  s.program.variables_bytes = end;
}

static void set_contribution(int index, const char *name, enum dtr_contribution_kind kind,
                             int64_t elements, bool maximum, int64_t *end) {
  s.contributions[index] = (struct dtr_contribution){
      name, kind, DTR_F32, elements, take(end, elements * 4), maximum, !maximum, {0}};
}

static void set_contributions(void) {
  int64_t hidden = s.options.hidden, classes = s.options.classes, width = s.options.width;
  int64_t end = 0;
  set_contribution(C_LOSS, "", DTR_CONTRIBUTION_LOSS, 1, false, &end);
  set_contribution(C_ACCURACY, "accuracy", DTR_CONTRIBUTION_METRIC, 1, false, &end);
  set_contribution(C_B1, "fc1.b", DTR_CONTRIBUTION_GRAD, hidden, false, &end);
  set_contribution(C_W1, "fc1.w", DTR_CONTRIBUTION_GRAD, width * hidden, false, &end);
  set_contribution(C_B2, "fc2.b", DTR_CONTRIBUTION_GRAD, classes, false, &end);
  set_contribution(C_W2, "fc2.w", DTR_CONTRIBUTION_GRAD, hidden * classes, false, &end);
  set_contribution(C_LARGEST, "largest", DTR_CONTRIBUTION_STATE, 1, true, &end);
  s.program.contribution_bytes = end;
}

static void set_columns(struct dtr_column *columns, int64_t rows, int64_t labels, int64_t seed) {
  columns[X] = (struct dtr_column){.name = "x",
                                   .kind = DTR_SOURCE_RANDOM_NORMAL,
                                   .rows = rows,
                                   .rank = 1,
                                   .dims = {s.options.width},
                                   .dtype = DTR_F32,
                                   .a = 0,
                                   .b = s.options.x_scale,
                                   .seed = seed,
                                   .where = "sample.dtg:8:9"};
  columns[LABEL] = (struct dtr_column){.name = "label",
                                       .kind = DTR_SOURCE_RANDOM_INT,
                                       .rows = rows,
                                       .dtype = DTR_I32,
                                       .a = 0,
                                       .b = (double)labels,
                                       .seed = seed + 1,
                                       .where = "sample.dtg:9:9"};
}

static void set_data(void) {
  s.inputs[X] = (struct dtr_input){.name = "x",
                                   .dtype = DTR_F32,
                                   .rank = 1,
                                   .dims = {s.options.width},
                                   .row_bytes = s.options.width * 4,
                                   .where = "sample.dtg:1:7"};
  s.inputs[LABEL] = (struct dtr_input){
      .name = "label", .dtype = DTR_I32, .row_bytes = 4, .where = "sample.dtg:1:20"};
  set_columns(s.train_columns, s.options.examples, s.options.labels, 11);
  set_columns(s.test_columns, s.options.test_examples, s.options.test_labels, 11);
  s.shuffle = (struct dtr_transform){.kind = DTR_TRANSFORM_SHUFFLE};
  s.datasets[0] = (struct dtr_dataset){.name = "train_set",
                                       .column_count = INPUTS,
                                       .columns = s.train_columns,
                                       .transform_count = 1,
                                       .transforms = &s.shuffle,
                                       .where = "sample.dtg:8:1"};
  s.datasets[1] = (struct dtr_dataset){.name = "test_set",
                                       .column_count = INPUTS,
                                       .columns = s.test_columns,
                                       .where = "sample.dtg:9:1"};
}

struct sample_options sample_defaults(void) {
  return (struct sample_options){.examples = 100,
                                 .test_examples = 70,
                                 .width = 20,
                                 .hidden = 24,
                                 .classes = 5,
                                 .labels = 5,
                                 .test_labels = 5,
                                 .batch = 24,
                                 .shards = 6,
                                 .epochs = 30,
                                 .evaluate_epochs = 10,
                                 .checkpoint_steps = 25,
                                 .checkpoint_keep = 2,
                                 .rate = 0.05,
                                 .nan_step = -1,
                                 .nan_shard = 0,
                                 .x_scale = 1};
}

static const char *best_arch(void) {
  static const char *const archs[] = {"x86-64-v2", "x86-64-v2", "x86-64-v3", "x86-64-v4"};
  const char *lacks;
  return archs[dtr_cpu_level(&lacks) - 1];
}

const struct dtr_program *sample_program(const struct sample_options *options) {
  memset(&s, 0, sizeof s);
  s.options = *options;
  s.rows = options->batch / options->shards;
  s.program.cpu_arch = best_arch();
  set_gemms();
  s.shard = lay_out(s.rows);
  s.tail = lay_out(1);
  set_kernels();
  set_variables();
  set_contributions();
  set_data();
  int64_t variables_bytes = s.program.variables_bytes,
          contribution_bytes = s.program.contribution_bytes;
  s.program = (struct dtr_program){.abi_version = DTR_ABI_VERSION,
                                   .name = "sample",
                                   .model_file = "sample.dtg",
                                   .plan_id = "0123456789abcdef",
                                   .model_id = "fedcba9876543210",
                                   .compiler = "by hand",
                                   .cpu_arch = best_arch(),
                                   .plan_text = "plan: one device\n",
                                   .results = "results depend on: nothing much",
                                   .source_dir = ".",
                                   .train = {.batch = options->batch,
                                             .shards = options->shards,
                                             .epochs = options->epochs,
                                             .steps = options->steps,
                                             .seed = 1,
                                             .evaluate_epochs = options->evaluate_epochs,
                                             .checkpoint_steps = options->checkpoint_steps,
                                             .checkpoint_keep = options->checkpoint_keep,
                                             .data = 0,
                                             .evaluate_data = 1},
                                   .input_count = INPUTS,
                                   .inputs = s.inputs,
                                   .dataset_count = 2,
                                   .datasets = s.datasets,
                                   .variable_count = VARIABLES,
                                   .variables = s.variables,
                                   .variables_bytes = variables_bytes,
                                   .contribution_count = CONTRIBUTIONS,
                                   .contributions = s.contributions,
                                   .contribution_bytes = contribution_bytes,
                                   .metric_count = 1,
                                   .metrics = metrics,
                                   .kernel_count = KERNELS,
                                   .kernels = s.kernels,
                                   .gemm_count = GEMMS,
                                   .gemms = s.gemms,
                                   .shard = {run_shard, s.shard.bytes, s.rows},
                                   .update = {run_update, 0, 0},
                                   .eval = {run_eval, s.shard.bytes, s.rows},
                                   .tail = {run_tail, s.tail.bytes, 1}};
  s.program.replication = sample_replication(&s.program, &options->strategy, updates,
                                             (uint32_t)(sizeof updates / sizeof *updates), BLOCK);
  return &s.program;
}
