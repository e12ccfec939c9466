#include "runtime/data/data.h"

#include "runtime/data/find.h"
#include "runtime/data/sources.h"
#include "runtime/philox.h"

#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

struct dtr_data {
  const struct dtr_dataset *dataset;
  uint32_t input_count;
  struct dtr_values *inputs; /* one per model input, in its element type */
  int64_t *row_bytes;
  int64_t *step_bytes; /* from an example to the next: more or less than row_bytes for windows */
  int64_t rows;        /* in the files */

  /* Natural order: example `first + position`, or members[position] when there are any. */
  int64_t first, count;
  int64_t *members;
  bool shuffled; /* the order of an epoch is a permutation of the positions */
  int64_t shuffle_seed;
};

/* ---- columns ---- */

static bool file_read(const struct dtr_env *env, const struct dtr_column *column, const char *path,
                      enum dtr_dtype dtype, struct dtr_values *values, struct dtr_error *error) {
  switch (column->kind) {
  case DTR_SOURCE_IDX:
    return dtr_idx_read(env, path, values, error);
  case DTR_SOURCE_NPY:
    return dtr_npy_read(env, path, values, error);
  case DTR_SOURCE_NPZ:
    return dtr_npz_read(env, path, column->member, values, error);
  case DTR_SOURCE_CSV:
    return dtr_csv_read(env, path, column, dtype, values, error);
  case DTR_SOURCE_SAFETENSORS:
    return dtr_tensor_file_read(env, path, column->member, values, error);
  case DTR_SOURCE_BYTES:
    return dtr_bytes_read(env, path, values, error);
  case DTR_SOURCE_TOKENS:
    return dtr_tokens_read(env, path, column, values, error);
  default:
    return dtr_error_set(error, DTR_STATUS_BUG, "column %s: unknown source %d", column->name,
                         (int)column->kind);
  }
}

static bool source_read(const struct dtr_env *env, const struct dtr_column *column,
                        const struct dtr_input *input, const struct dtr_data_options *options,
                        struct dtr_values *values, struct dtr_error *error) {
  char path[PATH_MAX];
  if (column->kind >= DTR_SOURCE_RANDOM_NORMAL)
    return dtr_generate(env, column, values, error);
  if (column->kind == DTR_SOURCE_CIFAR10)
    return dtr_cifar10_read(env, column, options->model_dir, options->data_dir, values, error);
  return dtr_data_find(env, column->path, options->model_dir, options->data_dir, path, sizeof path,
                       error) &&
         file_read(env, column, path, input ? input->dtype : DTR_F64, values, error);
}

static bool column_read(const struct dtr_env *env, const struct dtr_column *column,
                        const struct dtr_input *input, const struct dtr_data_options *options,
                        struct dtr_values *values, struct dtr_error *error) {
  if (!source_read(env, column, input, options, values, error))
    return false;
  if (column->window == 0)
    return true;
  char what[128];
  snprintf(what, sizeof what, "column %s", column->name);
  if (dtr_values_window(values, what, column->window, column->stride, error))
    return true;
  dtr_values_free(values);
  return false;
}

/* What to do about a file that cannot be used, whatever is wrong with it. */
static bool source_hint(const struct dtr_column *column, struct dtr_error *error) {
  static const char *const hints[] = {
      [DTR_SOURCE_IDX] = "idx() reads IDX files, the format of MNIST, plain or .gz: copy the file "
                         "again, or name another one",
      [DTR_SOURCE_NPY] = "npy() reads arrays of numbers that NumPy saved: save the array again, or "
                         "name another file",
      [DTR_SOURCE_NPZ] = "npz() reads one array of an archive that NumPy saved: save it again, or "
                         "name another array",
      [DTR_SOURCE_CSV] = "csv() reads a line of column names, then lines of numbers, separated by "
                         "commas: correct the file, or name another column",
      [DTR_SOURCE_SAFETENSORS] = "safetensors() reads one tensor of a safetensors file: copy the "
                                 "file again, or name another tensor",
      [DTR_SOURCE_CIFAR10] = "cifar10() reads the files of the binary version of CIFAR-10, records "
                             "of 3073 bytes: copy the file again, or name another one",
      [DTR_SOURCE_BYTES] =
          "bytes() reads any file, plain or .gz: copy it again, or name another one",
      [DTR_SOURCE_TOKENS] = "tokens() reads numbers of the given type, little-endian, and nothing "
                            "else: correct the type or the vocabulary, or name another file",
  };
  if (error->status == DTR_STATUS_STOPPED)
    return dtr_error_hint(error, "nothing has been trained yet");
  if (error->status == DTR_STATUS_IO)
    return dtr_error_hint(error, "make the file readable for this user, or name another one");
  if (error->status == DTR_STATUS_DATA && column->kind < DTR_SOURCE_RANDOM_NORMAL)
    return dtr_error_hint(error, "%s", hints[column->kind]);
  return false;
}

static int64_t input_find(const struct dtr_data_options *options, const char *name) {
  for (uint32_t i = 0; i < options->input_count; i++)
    if (strcmp(options->inputs[i].name, name) == 0)
      return i;
  return -1;
}

static bool length_check(struct dtr_data *data, const struct dtr_column *first,
                         const struct dtr_column *column, int64_t rows, struct dtr_error *error) {
  if (first == column)
    data->rows = rows;
  if (rows == data->rows)
    return true;
  dtr_error_set(error, DTR_STATUS_DATA,
                "data %s: column %s has %" PRId64 " examples, column %s has %" PRId64,
                data->dataset->name, first->name, data->rows, column->name, rows);
  return dtr_error_hint(error, "the columns of a table are as long as each other: take files that "
                               "belong together");
}

/* A column that no input takes is read for its length, then dropped. */
static bool column_add(const struct dtr_env *env, const struct dtr_data_options *options,
                       const struct dtr_column *column, struct dtr_data *data,
                       struct dtr_error *error) {
  int64_t index = input_find(options, column->name);
  const struct dtr_input *input = index < 0 ? NULL : &options->inputs[index];
  struct dtr_values values = {0};
  if (!column_read(env, column, input, options, &values, error)) {
    source_hint(column, error);
    return dtr_error_where(error, column->where);
  }
  bool done = length_check(data, data->dataset->columns, column, values.rows, error) &&
              (!input || dtr_values_convert(env, &values, column->name, input, error));
  if (done && input && !data->inputs[index].bytes)
    data->inputs[index] = values;
  else
    dtr_values_free(&values);
  return done || dtr_error_where(error, column->where);
}

static bool columns_read(const struct dtr_env *env, const struct dtr_data_options *options,
                         struct dtr_data *data, struct dtr_error *error) {
  const struct dtr_dataset *dataset = data->dataset;
  for (uint32_t i = 0; i < dataset->column_count; i++)
    if (!column_add(env, options, &dataset->columns[i], data, error))
      return false;
  for (uint32_t i = 0; i < options->input_count; i++) {
    if (!data->inputs[i].bytes) {
      dtr_error_set(error, DTR_STATUS_DATA, "data %s has no column for the input \"%s\" (%s)",
                    dataset->name, options->inputs[i].name,
                    options->inputs[i].where ? options->inputs[i].where : "");
      dtr_error_hint(error, "name a column of the table as the input, or take another data set");
      return dtr_error_where(error, dataset->where);
    }
    int64_t width = dtr_element_bytes(data->inputs[i].element);
    data->row_bytes[i] = data->inputs[i].row_elements * width;
    data->step_bytes[i] = data->inputs[i].row_step * width;
  }
  return true;
}

/* ---- transforms ---- */

static bool is_last_choice(const struct dtr_dataset *dataset, uint32_t index) {
  for (uint32_t i = index + 1; i < dataset->transform_count; i++)
    if (dataset->transforms[i].kind != DTR_TRANSFORM_SHUFFLE)
      return false;
  return true;
}

/* Fixes the order so far by a permutation that no epoch has. */
static bool members_shuffle(struct dtr_data *data, uint32_t index, struct dtr_error *error) {
  int64_t bytes = data->count * (int64_t)sizeof *data->members;
  int64_t *members = malloc((size_t)bytes + 1);
  if (!members)
    return dtr_error_memory(error, bytes, data->dataset->name);
  struct dtr_permutation permutation =
      dtr_permutation_make(data->shuffle_seed, -1 - (int64_t)index, data->count);
  for (int64_t i = 0; i < data->count; i++) {
    int64_t from = data->first + dtr_permutation_at(&permutation, i);
    members[i] = data->members ? data->members[from] : from;
  }
  free(data->members);
  data->members = members;
  data->first = 0;
  return true;
}

static bool transform_apply(struct dtr_data *data, uint32_t index,
                            const struct dtr_data_options *options, struct dtr_error *error) {
  const struct dtr_transform *transform = &data->dataset->transforms[index];
  const char *name = transform->kind == DTR_TRANSFORM_TAKE ? "take" : "skip";
  if (transform->kind == DTR_TRANSFORM_SHUFFLE) {
    data->shuffled = true;
    data->shuffle_seed = transform->has_seed ? transform->value : options->seed;
    return is_last_choice(data->dataset, index) || members_shuffle(data, index, error);
  }
  if (transform->value < 0 || transform->value > data->count) {
    dtr_error_set(error, DTR_STATUS_DATA,
                  "data %s: %s(%" PRId64 "), but there are %" PRId64 " examples",
                  data->dataset->name, name, transform->value, data->count);
    return dtr_error_hint(error, "say %s with a smaller number, or take a larger file", name);
  }
  if (transform->kind == DTR_TRANSFORM_SKIP) {
    data->first += transform->value;
    data->count -= transform->value;
  } else {
    data->count = transform->value;
  }
  return true;
}

static bool transforms_apply(struct dtr_data *data, const struct dtr_data_options *options,
                             struct dtr_error *error) {
  const struct dtr_dataset *dataset = data->dataset;
  data->count = data->rows;
  for (uint32_t i = 0; i < dataset->transform_count; i++)
    if (!transform_apply(data, i, options, error))
      return dtr_error_where(error, dataset->where);
  if (data->count > 0)
    return true;
  dtr_error_set(error, DTR_STATUS_DATA, "data %s has no examples%s", dataset->name,
                data->rows > 0 ? " left after take and skip" : "");
  dtr_error_hint(error, data->rows > 0 ? "leave some for it" : "name files that have examples");
  return dtr_error_where(error, dataset->where);
}

/* ---- opening ---- */

bool dtr_data_open(const struct dtr_env *env, const struct dtr_dataset *dataset,
                   const struct dtr_data_options *options, struct dtr_data **data,
                   struct dtr_error *error) {
  struct dtr_data *opened = calloc(1, sizeof *opened);
  if (!opened)
    return dtr_error_memory(error, sizeof *opened, dataset->name);
  opened->dataset = dataset;
  opened->input_count = options->input_count;
  opened->inputs = calloc(options->input_count + 1, sizeof *opened->inputs);
  opened->row_bytes = calloc(options->input_count + 1, sizeof *opened->row_bytes);
  opened->step_bytes = calloc(options->input_count + 1, sizeof *opened->step_bytes);
  if (!opened->inputs || !opened->row_bytes) {
    dtr_error_memory(error, options->input_count * (int64_t)sizeof *opened->inputs, dataset->name);
  } else if (columns_read(env, options, opened, error) &&
             transforms_apply(opened, options, error)) {
    *data = opened;
    return true;
  }
  dtr_data_close(opened);
  return false;
}

void dtr_data_close(struct dtr_data *data) {
  if (!data)
    return;
  for (uint32_t i = 0; data->inputs && i < data->input_count; i++)
    dtr_values_free(&data->inputs[i]);
  free(data->inputs);
  free(data->row_bytes);
  free(data->step_bytes);
  free(data->members);
  free(data);
}

const char *dtr_data_name(const struct dtr_data *data) {
  return data->dataset->name;
}

uint32_t dtr_data_input_count(const struct dtr_data *data) {
  return data->input_count;
}

int64_t dtr_data_count(const struct dtr_data *data) {
  return data->count;
}

/* ---- examples ---- */

static int64_t natural_example(const struct dtr_data *data, int64_t position) {
  int64_t index = data->first + position;
  return data->members ? data->members[index] : index;
}

int64_t dtr_data_example(const struct dtr_data *data, int64_t epoch, int64_t position) {
  if (epoch >= 0 && data->shuffled) {
    struct dtr_permutation permutation =
        dtr_permutation_make(data->shuffle_seed, epoch, data->count);
    position = dtr_permutation_at(&permutation, position);
  }
  return natural_example(data, position);
}

bool dtr_data_contiguous(const struct dtr_data *data, int64_t epoch) {
  return !data->members && (epoch < 0 || !data->shuffled);
}

static int64_t line_round(int64_t bytes) {
  return (bytes + DTR_ALIGN - 1) / DTR_ALIGN * DTR_ALIGN;
}

int64_t dtr_data_scratch(const struct dtr_data *data, int64_t count) {
  int64_t bytes = line_round(count * (int64_t)sizeof(int64_t));
  for (uint32_t i = 0; i < data->input_count; i++)
    bytes += line_round(count * data->row_bytes[i]);
  return bytes;
}

static void examples_list(const struct dtr_data *data, int64_t epoch, int64_t first, int64_t count,
                          int64_t *examples) {
  if (epoch < 0 || !data->shuffled) {
    for (int64_t i = 0; i < count; i++)
      examples[i] = natural_example(data, first + i);
    return;
  }
  struct dtr_permutation permutation = dtr_permutation_make(data->shuffle_seed, epoch, data->count);
  dtr_permutation_fill(&permutation, first, count, examples);
  for (int64_t i = 0; i < count; i++)
    examples[i] = natural_example(data, examples[i]);
}

/* Rows lie anywhere in a large array, so the first line of a row to come is asked for early. */
static void rows_gather(const char *from, int64_t row_bytes, int64_t step_bytes,
                        const int64_t *examples, int64_t count, char *to) {
  enum { AHEAD = 8 };
  if (row_bytes == 1) {
    for (int64_t i = 0; i < count; i++)
      to[i] = from[examples[i] * step_bytes];
    return;
  }
  for (int64_t i = 0; i < count; i++) {
    if (i + AHEAD < count)
      for (int64_t line = 0; line < row_bytes && line < 1024; line += DTR_ALIGN)
        __builtin_prefetch(from + examples[i + AHEAD] * step_bytes + line);
    memcpy(to + i * row_bytes, from + examples[i] * step_bytes, (size_t)row_bytes);
  }
}

static void rows_copy(const char *from, int64_t row_bytes, int64_t step_bytes, int64_t count,
                      char *to) {
  if (row_bytes == step_bytes) {
    memcpy(to, from, (size_t)(count * row_bytes));
    return;
  }
  for (int64_t i = 0; i < count; i++)
    memcpy(to + i * row_bytes, from + i * step_bytes, (size_t)row_bytes);
}

void dtr_data_view(const struct dtr_data *data, int64_t epoch, int64_t first, int64_t count,
                   char *scratch, char **feeds) {
  bool contiguous = dtr_data_contiguous(data, epoch);
  int64_t *examples = (int64_t *)scratch;
  char *to = scratch + line_round(count * (int64_t)sizeof(int64_t));
  if (!contiguous)
    examples_list(data, epoch, first, count, examples);
  for (uint32_t i = 0; i < data->input_count; i++) {
    int64_t row_bytes = data->row_bytes[i], step_bytes = data->step_bytes[i];
    char *rows = data->inputs[i].bytes + (data->first + first) * step_bytes;
    feeds[i] = to;
    if (contiguous && row_bytes == step_bytes && (uintptr_t)rows % DTR_ALIGN == 0)
      feeds[i] = rows;
    else if (contiguous)
      rows_copy(rows, row_bytes, step_bytes, count, to);
    else
      rows_gather(data->inputs[i].bytes, row_bytes, step_bytes, examples, count, to);
    to += line_round(count * row_bytes);
  }
}
