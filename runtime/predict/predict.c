#include "runtime/predict/predict.h"

#include "runtime/checkpoint.h"
#include "runtime/cpu.h"
#include "runtime/executor.h"
#include "runtime/init.h"
#include "runtime/memory.h"
#include "runtime/predict/predict_data.h"
#include "runtime/predict/predictor.h"
#include "runtime/report.h"
#include "runtime/tensors.h"

#include <stdlib.h>
#include <string.h>

/* A prediction from its flags to its file. */
struct prediction {
  const struct dtr_program *program;
  const struct dtr_flags *flags;
  const struct dtr_env *env;
  struct dtr_predict_data data;
  struct dtr_executor *executor;
  struct dtr_predictor *predictor;
  struct dtr_scalars scalars;
  int64_t count;
  char **outputs; /* [output of the program]; NULL: none by example */
};

static void remark(void *context, const char *text) {
  const struct prediction *prediction = context;
  if (!prediction->flags->quiet)
    fprintf(stderr, "warning: %s\n", text);
}

static bool parameters_load(struct prediction *p, struct dtr_error *error) {
  struct dtr_remarks remarks = {.write = remark, .context = p};
  char *variables = p->executor->variables;
  struct dtr_checkpoint_state state = {0};
  p->scalars.seed = p->program->train.seed;
  if (p->flags->resume) {
    if (!dtr_checkpoint_load(p->env, p->program, p->flags->checkpoint_dir, variables, remarks,
                             &state, NULL, 0, error))
      return false;
    p->scalars.step = state.step;
    return true;
  }
  return dtr_init_variables(p->program, p->program->train.seed, variables, error) &&
         dtr_tensors_init(p->env, p->program, p->flags->init, variables, remarks, error);
}

/* ---- rows ---- */

static void data_view(void *context, int64_t first, int64_t count, char *scratch, char **feeds) {
  const struct dtr_predict_data *data = context;
  char *views[data->count];
  dtr_data_view(data->data, DTR_NATURAL_ORDER, first, count, scratch, views);
  for (uint32_t i = 0; i < data->count; i++)
    feeds[data->places[i]] = views[i];
}

/* ---- outputs ---- */

static bool outputs_make(struct prediction *p, struct dtr_error *error) {
  const struct dtr_program *program = p->program;
  p->outputs = calloc((size_t)program->output_count + 1, sizeof *p->outputs);
  int64_t total = 0, bytes;
  bool overflow = false;
  for (uint32_t i = 0; i < program->output_count; i++) {
    overflow |= __builtin_mul_overflow(program->outputs[i].row_bytes, p->count, &bytes);
    overflow |= program->outputs[i].by_example && __builtin_add_overflow(total, bytes, &total);
  }
  if (!p->outputs || overflow)
    return dtr_error_memory(error, INT64_MAX, "the outputs");
  if (!dtr_memory_check(p->env, total, "the outputs", error))
    return false;
  for (uint32_t i = 0; i < program->output_count; i++) {
    if (!program->outputs[i].by_example)
      continue;
    bytes = program->outputs[i].row_bytes * p->count;
    p->outputs[i] = malloc((size_t)bytes + 1);
    if (!p->outputs[i])
      return dtr_error_memory(error, bytes, "the outputs");
  }
  return true;
}

static struct dtr_tensor output_tensor(const struct dtr_output *output, int64_t count) {
  struct dtr_tensor tensor = {.name = output->name,
                              .element = (enum dtr_element)output->dtype,
                              .rank = output->rank + 1,
                              .dims = {count},
                              .elements =
                                  count * output->row_bytes / dtr_dtype_bytes(output->dtype),
                              .bytes = count * output->row_bytes};
  memcpy(tensor.dims + 1, output->dims, output->rank * sizeof *tensor.dims);
  return tensor;
}

static bool outputs_write(struct prediction *p, struct dtr_error *error) {
  const struct dtr_program *program = p->program;
  struct dtr_safetensors_writer *writer;
  struct dtr_tensor *tensors = calloc((size_t)program->output_count + 1, sizeof *tensors);
  const void **bytes = calloc((size_t)program->output_count + 1, sizeof *bytes);
  uint32_t count = 0;
  bool done = false;
  if (!tensors || !bytes)
    dtr_error_memory(error, sizeof *tensors, "the outputs");
  for (uint32_t i = 0; tensors && bytes && i < program->output_count; i++) {
    if (!p->outputs[i])
      continue;
    tensors[count] = output_tensor(&program->outputs[i], p->count);
    bytes[count++] = p->outputs[i];
  }
  if (tensors && bytes && dtr_safetensors_writer_make(count, tensors, bytes, 0, &writer, error)) {
    done = dtr_tensors_write_alone(writer, p->env, p->flags->output, error);
    dtr_safetensors_writer_free(writer);
  }
  free(bytes);
  free(tensors);
  return done || dtr_error_hint(error, "--output names a file that you may write to");
}

/* "test_set: 10,000 examples: probs f32[10000, 10]". */
static void report(const struct prediction *p) {
  char count[32], shape[DTR_SHAPE_TEXT];
  printf("%s: %s example%s:", dtr_data_name(p->data.data),
         dtr_count_text(p->count, count, sizeof count), p->count == 1 ? "" : "s");
  for (uint32_t i = 0; i < p->program->output_count; i++) {
    if (!p->outputs[i])
      continue;
    struct dtr_tensor tensor = output_tensor(&p->program->outputs[i], p->count);
    printf(" %s %s%s", tensor.name, dtr_element_name(tensor.element),
           dtr_shape_text(tensor.rank, tensor.dims, shape, sizeof shape));
  }
  printf("\n");
}

/* ---- the run ---- */

/* An output without a value for each example is the same for a chunk, so it has no place in the
 * file. */
static bool outputs_check(const struct dtr_program *program, const struct dtr_flags *flags,
                          struct dtr_error *error) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < program->output_count; i++) {
    const struct dtr_output *output = &program->outputs[i];
    count += output->by_example;
    if (!output->by_example && !flags->quiet)
      fprintf(stderr, "%s: warning: the output %s has no value for each example; it is left out\n",
              output->where, output->name);
  }
  if (count > 0)
    return true;
  dtr_error_set(error, DTR_STATUS_USAGE, "--predict: the model of %s has no output%s",
                program->model_file, program->output_count ? " with a value for each example" : "");
  return dtr_error_hint(error, "write `output name = ...` into the model for what it should give");
}

static bool compute(struct prediction *p, struct dtr_error *error) {
  struct dtr_row_source source = {.context = &p->data, .view = data_view};
  int64_t batch = p->program->eval.batch;
  p->count = dtr_data_count(p->data.data);
  source.scratch_bytes = dtr_data_scratch(p->data.data, p->count < batch ? 1 : batch);
  if (!dtr_predictor_new(p->executor, &source, &p->predictor, error) || !outputs_make(p, error))
    return false;
  bool done = dtr_predictor_run(p->predictor, &p->scalars, p->count, p->outputs) ||
              dtr_predictor_explain(p->predictor, p->data.data, error);
  dtr_predictor_free(p->predictor);
  p->predictor = NULL;
  return done;
}

static bool run(struct prediction *p, const char *model_dir, struct dtr_error *error) {
  struct dtr_executor_options options = {
      .program = p->program,
      .env = p->env,
      .threads = p->flags->threads == DTR_FLAG_UNSET ? dtr_cpu_count() : (int)p->flags->threads,
      .evaluate_only = true,
      .all_variables = true};
  if (!outputs_check(p->program, p->flags, error) ||
      !dtr_output_check(p->env, "output", p->flags->output, error) ||
      !dtr_predict_data_open(p->env, p->program, p->flags->predict, model_dir, p->flags->data_dir,
                             &p->data, error) ||
      !dtr_executor_new(&options, &p->executor, error))
    return false;
  if (!parameters_load(p, error) || !compute(p, error) || !outputs_write(p, error))
    return false;
  report(p);
  return true;
}

bool dtr_predict(const struct dtr_program *program, const struct dtr_flags *flags,
                 const char *model_dir, struct dtr_error *error) {
  struct prediction prediction = {.program = program, .flags = flags, .env = dtr_env_real()};
  bool done = run(&prediction, model_dir, error);
  dtr_predictor_free(prediction.predictor);
  for (uint32_t i = 0; prediction.outputs && i < program->output_count; i++)
    free(prediction.outputs[i]);
  free(prediction.outputs);
  dtr_executor_free(prediction.executor);
  dtr_predict_data_close(&prediction.data);
  return done;
}
