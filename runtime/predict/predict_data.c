#include "runtime/predict/predict_data.h"

#include "runtime/nearest.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Files by the end of their names. */
static const struct file_kind {
  const char *suffix;
  enum dtr_source_kind kind;
  bool one; /* has one column, without a name */
} file_kinds[] = {{".npz", DTR_SOURCE_NPZ, false}, {".safetensors", DTR_SOURCE_SAFETENSORS, false},
                  {".csv", DTR_SOURCE_CSV, false}, {".csv.gz", DTR_SOURCE_CSV, false},
                  {".npy", DTR_SOURCE_NPY, true},  {".npy.gz", DTR_SOURCE_NPY, true}};
enum { FILE_KINDS = sizeof file_kinds / sizeof *file_kinds };

static bool ends_with(const char *text, const char *end) {
  size_t length = strlen(text), tail = strlen(end);
  return length > tail && strcmp(text + length - tail, end) == 0;
}

static const struct file_kind *file_kind(const char *name) {
  for (int i = 0; i < FILE_KINDS; i++)
    if (ends_with(name, file_kinds[i].suffix))
      return &file_kinds[i];
  return NULL;
}

static const struct dtr_dataset *dataset_named(const struct dtr_program *program,
                                               const char *name) {
  for (uint32_t i = 0; i < program->dataset_count; i++)
    if (strcmp(program->datasets[i].name, name) == 0)
      return &program->datasets[i];
  return NULL;
}

static bool unknown(const struct dtr_program *program, const char *name, struct dtr_error *error) {
  char sets[400] = "";
  struct dtr_nearest nearest;
  dtr_nearest_begin(&nearest, name, strlen(name));
  for (uint32_t i = 0; i < program->dataset_count; i++) {
    const char *set = program->datasets[i].name;
    size_t used = strlen(sets);
    if (!*set)
      continue;
    dtr_nearest_try(&nearest, set);
    snprintf(sets + used, sizeof sets - used, "%s%s", used ? ", " : "", set);
  }
  dtr_error_set(error, DTR_STATUS_USAGE,
                "--predict \"%s\": no data set of %s, and no file that ends in .npz, .safetensors, "
                ".csv or .npy",
                name, program->model_file);
  if (nearest.best[0])
    return dtr_error_hint(error, "did you mean %s? The data sets are %s", nearest.best, sets);
  return dtr_error_hint(error, "the data sets are %s", sets[0] ? sets : "none");
}

/* The column that training has for an input, if it is of the same kind: it has the name in the file
 * and the categories. */
static const struct dtr_column *trained_column(const struct dtr_program *program, const char *input,
                                               enum dtr_source_kind kind) {
  if (program->train.data >= program->dataset_count)
    return NULL;
  const struct dtr_dataset *set = &program->datasets[program->train.data];
  for (uint32_t i = 0; i < set->column_count; i++)
    if (strcmp(set->columns[i].name, input) == 0 && set->columns[i].kind == kind)
      return &set->columns[i];
  return NULL;
}

static bool file_columns(const struct dtr_program *program, const char *path,
                         const struct file_kind *kind, struct dtr_predict_data *out,
                         struct dtr_error *error) {
  if (kind->one && out->count != 1) {
    dtr_error_set(error, DTR_STATUS_USAGE, "--predict %s: it has one column, the model needs %u",
                  path, out->count);
    return dtr_error_hint(error, "put them under their names into one .npz or .safetensors file");
  }
  for (uint32_t i = 0; i < out->count; i++) {
    const char *input = out->inputs[i].name;
    const struct dtr_column *trained = trained_column(program, input, kind->kind);
    out->columns[i] = trained ? *trained : (struct dtr_column){.kind = kind->kind, .member = input};
    out->columns[i].name = input;
    out->columns[i].path = path;
    out->columns[i].where = NULL;
  }
  out->dataset =
      (struct dtr_dataset){.name = path, .column_count = out->count, .columns = out->columns};
  return true;
}

static bool inputs_take(const struct dtr_program *program, struct dtr_predict_data *out,
                        struct dtr_error *error) {
  size_t count = program->input_count + (size_t)1;
  out->inputs = calloc(count, sizeof *out->inputs);
  out->places = calloc(count, sizeof *out->places);
  out->columns = calloc(count, sizeof *out->columns);
  if (!out->inputs || !out->places || !out->columns)
    return dtr_error_memory(error, (int64_t)(count * sizeof *out->columns), "prediction");
  for (uint32_t i = 0; i < program->input_count; i++) {
    if (!program->inputs[i].needed)
      continue;
    out->places[out->count] = i;
    out->inputs[out->count++] = program->inputs[i];
  }
  if (out->count > 0)
    return true;
  dtr_error_set(error, DTR_STATUS_USAGE, "--predict: no output of %s depends on an input",
                program->model_file);
  return dtr_error_hint(error, "write `output name = ...` into the model for what it should give");
}

bool dtr_predict_data_open(const struct dtr_env *env, const struct dtr_program *program,
                           const char *name, const char *model_dir, const char *data_dir,
                           struct dtr_predict_data *out, struct dtr_error *error) {
  const struct dtr_dataset *set = dataset_named(program, name);
  const struct file_kind *kind = file_kind(name);
  *out = (struct dtr_predict_data){0};
  if (!set && !kind)
    return unknown(program, name, error);
  bool done =
      inputs_take(program, out, error) && (set || file_columns(program, name, kind, out, error));
  struct dtr_data_options options = {.model_dir = set ? model_dir : NULL,
                                     .data_dir = set ? data_dir : NULL,
                                     .seed = program->train.seed,
                                     .input_count = out->count,
                                     .inputs = out->inputs};
  if (done && dtr_data_open(env, set ? set : &out->dataset, &options, &out->data, error))
    return true;
  dtr_predict_data_close(out);
  return false;
}

void dtr_predict_data_close(struct dtr_predict_data *data) {
  dtr_data_close(data->data);
  free(data->inputs);
  free(data->places);
  free(data->columns);
  *data = (struct dtr_predict_data){0};
}
