/* The functions of dtg_model.h, for the program of the library that this is linked into. */
#include "dtg_model.h"

#include "runtime/checkpoint.h"
#include "runtime/cpu.h"
#include "runtime/executor.h"
#include "runtime/init.h"
#include "runtime/memory.h"
#include "runtime/nearest.h"
#include "runtime/predict/predictor.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* Defined by the host program when it is compiled as a library. */
extern const struct dtr_program *const dtr_library_program;

struct feed {
  const char *values; /* NULL: not fed */
  int64_t examples;
};

struct dtg_model {
  const struct dtr_program *program;
  struct dtr_executor *executor;
  struct dtr_row_source source;
  struct dtr_predictor *predictor;
  struct dtr_scalars scalars;
  struct feed *feeds; /* [input] */
  char **outputs;     /* [output of the program]; NULL: none by example, or not run yet */
  struct dtg_model_tensor *inputs, *output_tensors;
  size_t output_count;
  char message[DTG_MODEL_MESSAGE];
};

_Static_assert((int)DTG_MODEL_BOOL == (int)DTR_BOOL && (int)DTG_MODEL_RANK == (int)DTR_MAX_RANK,
               "the types of dtg_model.h are those of the runtime");

/* Without the end of its last line. */
static void message_take(const struct dtr_error *error, char *message, size_t size) {
  if (size == 0)
    return;
  dtr_error_format(error, message, size);
  size_t length = strlen(message);
  if (length > 0 && message[length - 1] == '\n')
    message[length - 1] = 0;
}

static bool fail(struct dtg_model *model, const struct dtr_error *error) {
  message_take(error, model->message, sizeof model->message);
  return false;
}

/* ---- rows ---- */

static int64_t row_room(const struct dtr_program *program, const struct dtr_input *input) {
  return dtr_memory_round(input->row_bytes * program->eval.batch);
}

/* Aligned rows are used where they are. */
static void fed_view(void *context, int64_t first, int64_t count, char *scratch, char **feeds) {
  const struct dtg_model *model = context;
  for (uint32_t i = 0; i < model->program->input_count; i++) {
    const struct dtr_input *input = &model->program->inputs[i];
    if (!model->feeds[i].values)
      continue;
    const char *rows = model->feeds[i].values + first * input->row_bytes;
    if ((uintptr_t)rows % DTR_ALIGN == 0) {
      feeds[i] = (char *)(uintptr_t)rows;
      continue;
    }
    memcpy(scratch, rows, (size_t)(count * input->row_bytes));
    feeds[i] = scratch;
    scratch += row_room(model->program, input);
  }
}

/* ---- loading ---- */

static void describe(struct dtg_model *model) {
  const struct dtr_program *program = model->program;
  for (uint32_t i = 0; i < program->input_count; i++) {
    const struct dtr_input *input = &program->inputs[i];
    model->inputs[i] = (struct dtg_model_tensor){.name = input->name,
                                                 .type = (enum dtg_model_type)input->dtype,
                                                 .rank = input->rank,
                                                 .example_bytes = (size_t)input->row_bytes,
                                                 .needed = input->needed};
    memcpy(model->inputs[i].dims, input->dims, sizeof input->dims);
  }
  for (uint32_t i = 0; i < program->output_count; i++) {
    const struct dtr_output *output = &program->outputs[i];
    if (!output->by_example)
      continue;
    struct dtg_model_tensor *tensor = &model->output_tensors[model->output_count++];
    *tensor = (struct dtg_model_tensor){.name = output->name,
                                        .type = (enum dtg_model_type)output->dtype,
                                        .rank = output->rank,
                                        .example_bytes = (size_t)output->row_bytes};
    memcpy(tensor->dims, output->dims, sizeof output->dims);
  }
}

static bool allocate(struct dtg_model *model, struct dtr_error *error) {
  const struct dtr_program *program = model->program;
  model->feeds = calloc(program->input_count + (size_t)1, sizeof *model->feeds);
  model->inputs = calloc(program->input_count + (size_t)1, sizeof *model->inputs);
  model->outputs = calloc(program->output_count + (size_t)1, sizeof *model->outputs);
  model->output_tensors = calloc(program->output_count + (size_t)1, sizeof *model->output_tensors);
  if (!model->feeds || !model->inputs || !model->outputs || !model->output_tensors)
    return dtr_error_memory(error, sizeof *model->inputs * (program->input_count + (size_t)1),
                            program->name);
  describe(model);
  model->source = (struct dtr_row_source){.context = model, .view = fed_view};
  for (uint32_t i = 0; i < program->input_count; i++)
    model->source.scratch_bytes += row_room(program, &program->inputs[i]);
  return true;
}

static bool start(struct dtg_model *model, const char *file, int threads, struct dtr_error *error) {
  const struct dtr_program *program = model->program;
  const char *lacks;
  int level = dtr_cpu_level(&lacks);
  if (program->abi_version != DTR_ABI_VERSION)
    return dtr_error_set(error, DTR_STATUS_BUG,
                         "the library is for ABI %u of the runtime, this is %d",
                         program->abi_version, DTR_ABI_VERSION);
  if (threads < 0 || threads > DTR_MAX_THREADS)
    return dtr_error_set(error, DTR_STATUS_USAGE, "%d threads: 0 to %d are possible", threads,
                         DTR_MAX_THREADS);
  struct dtr_executor_options options = {.program = program,
                                         .env = dtr_env_real(),
                                         .threads = threads ? threads : dtr_cpu_count(),
                                         .evaluate_only = true,
                                         .all_variables = true};
  model->scalars.seed = program->train.seed;
  if (!dtr_cpu_check(program->cpu_arch, level, lacks, error) || !allocate(model, error) ||
      !dtr_executor_new(&options, &model->executor, error) ||
      !dtr_init_variables(program, program->train.seed, model->executor->variables, error))
    return false;
  struct dtr_remarks silent = {0};
  if (file &&
      !dtr_tensors_init(options.env, program, file, model->executor->variables, silent, error))
    return false;
  return dtr_predictor_new(model->executor, &model->source, &model->predictor, error);
}

struct dtg_model *dtg_model_load(const char *file, int threads, char *message, size_t size) {
  struct dtr_error error;
  struct dtg_model *model = calloc(1, sizeof *model);
  dtr_error_clear(&error);
  if (model)
    model->program = dtr_library_program;
  if (model ? start(model, file, threads, &error)
            : dtr_error_memory(&error, sizeof *model, "a model"))
    return model;
  message_take(&error, message, size);
  dtg_model_close(model);
  return NULL;
}

static void outputs_free(struct dtg_model *model) {
  for (uint32_t i = 0; model->outputs && i < model->program->output_count; i++) {
    free(model->outputs[i]);
    model->outputs[i] = NULL;
  }
}

void dtg_model_close(struct dtg_model *model) {
  if (!model)
    return;
  outputs_free(model);
  dtr_predictor_free(model->predictor);
  dtr_executor_free(model->executor);
  free(model->feeds);
  free(model->outputs);
  free(model->inputs);
  free(model->output_tensors);
  free(model);
}

const struct dtg_model_tensor *dtg_model_inputs(const struct dtg_model *model, size_t *count) {
  *count = model->program->input_count;
  return model->inputs;
}

const struct dtg_model_tensor *dtg_model_outputs(const struct dtg_model *model, size_t *count) {
  *count = model->output_count;
  return model->output_tensors;
}

const char *dtg_model_message(const struct dtg_model *model) {
  return model->message;
}

/* ---- feed, run, fetch ---- */

static bool unknown(struct dtg_model *model, const char *what, const char *name,
                    const struct dtg_model_tensor *tensors, size_t count) {
  struct dtr_error error;
  struct dtr_nearest nearest;
  dtr_error_clear(&error);
  dtr_nearest_begin(&nearest, name, strlen(name));
  for (size_t i = 0; i < count; i++)
    dtr_nearest_try(&nearest, tensors[i].name);
  dtr_error_set(&error, DTR_STATUS_USAGE, "the model %s has no %s \"%s\"", model->program->name,
                what, name);
  if (nearest.best[0])
    dtr_error_hint(&error, "did you mean \"%s\"?", nearest.best);
  return fail(model, &error);
}

bool dtg_model_feed(struct dtg_model *model, const char *input, const void *values,
                    size_t examples) {
  const struct dtr_program *program = model->program;
  struct dtr_error error;
  int64_t bytes;
  uint32_t i = 0;
  while (i < program->input_count && strcmp(program->inputs[i].name, input) != 0)
    i++;
  if (i == program->input_count)
    return unknown(model, "input", input, model->inputs, program->input_count);
  dtr_error_clear(&error);
  if (!values || examples == 0 || examples > INT64_MAX ||
      __builtin_mul_overflow(program->inputs[i].row_bytes, (int64_t)examples, &bytes)) {
    dtr_error_set(&error, DTR_STATUS_USAGE, "the input %s is fed %zu examples%s", input, examples,
                  values ? "" : " of no values");
    return fail(model, &error);
  }
  model->feeds[i] = (struct feed){values, (int64_t)examples};
  return true;
}

/* The number of examples that all inputs agree in. */
static bool feeds_check(struct dtg_model *model, int64_t *count, struct dtr_error *error) {
  const struct dtr_input *inputs = model->program->inputs, *first = NULL;
  *count = 0;
  for (uint32_t i = 0; i < model->program->input_count; i++) {
    const struct feed *feed = &model->feeds[i];
    if (!feed->values && !inputs[i].needed)
      continue;
    if (!feed->values) {
      dtr_error_set(error, DTR_STATUS_USAGE, "the input %s has not been fed", inputs[i].name);
      return dtr_error_hint(error, "call dtg_model_feed for every input that is needed");
    }
    if (first && feed->examples != *count) {
      dtr_error_set(error, DTR_STATUS_USAGE,
                    "the input %s has %lld examples, the input %s has %lld", first->name,
                    (long long)*count, inputs[i].name, (long long)feed->examples);
      return dtr_error_hint(error, "feed every input with the same examples");
    }
    first = &inputs[i];
    *count = feed->examples;
  }
  return first || dtr_error_set(error, DTR_STATUS_USAGE, "no input has been fed");
}

static bool outputs_make(struct dtg_model *model, int64_t count, char **outputs,
                         struct dtr_error *error) {
  for (uint32_t i = 0; i < model->program->output_count; i++) {
    const struct dtr_output *output = &model->program->outputs[i];
    int64_t bytes;
    if (!output->by_example)
      continue;
    if (__builtin_mul_overflow(output->row_bytes, count, &bytes))
      return dtr_error_memory(error, INT64_MAX, output->name);
    outputs[i] = malloc((size_t)bytes + 1);
    if (!outputs[i])
      return dtr_error_memory(error, bytes, output->name);
  }
  return true;
}

static bool run(struct dtg_model *model, char **outputs, struct dtr_error *error) {
  int64_t count;
  return feeds_check(model, &count, error) && outputs_make(model, count, outputs, error) &&
         (dtr_predictor_run(model->predictor, &model->scalars, count, outputs) ||
          dtr_predictor_explain(model->predictor, NULL, error));
}

/* A run that fails leaves the outputs of the one before. */
bool dtg_model_run(struct dtg_model *model) {
  uint32_t count = model->program->output_count;
  struct dtr_error error;
  dtr_error_clear(&error);
  char **outputs = calloc(count + (size_t)1, sizeof *outputs), **old = model->outputs;
  if (!outputs) {
    dtr_error_memory(&error, (int64_t)sizeof *outputs, "the outputs");
    return fail(model, &error);
  }
  bool done = run(model, outputs, &error);
  char **gone = done ? old : outputs;
  for (uint32_t i = 0; i < count; i++)
    free(gone[i]);
  free(gone);
  if (!done)
    return fail(model, &error);
  model->outputs = outputs;
  return true;
}

const void *dtg_model_fetch(struct dtg_model *model, const char *output) {
  const struct dtr_program *program = model->program;
  for (uint32_t i = 0; i < program->output_count; i++) {
    if (!program->outputs[i].by_example || strcmp(program->outputs[i].name, output) != 0)
      continue;
    if (model->outputs[i])
      return model->outputs[i];
    struct dtr_error error;
    dtr_error_clear(&error);
    dtr_error_set(&error, DTR_STATUS_USAGE, "the output %s is fetched before a run", output);
    fail(model, &error);
    return NULL;
  }
  unknown(model, "output", output, model->output_tensors, model->output_count);
  return NULL;
}
