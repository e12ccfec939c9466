#include "runtime/report.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static int64_t input_elements(const struct dtr_input *input) {
  int64_t elements = 1;
  for (uint32_t i = 0; i < input->rank; i++)
    elements *= input->dims[i];
  return elements;
}

static const struct dtr_input *find_input(const struct dtr_program *program, const char *name) {
  for (uint32_t i = 0; i < program->input_count; i++)
    if (strcmp(program->inputs[i].name, name) == 0)
      return &program->inputs[i];
  return NULL;
}

/* ---- failed checks ---- */

static bool report_range(const struct dtr_program *program, const struct dtr_kernel_desc *desc,
                         const struct dtr_fault *fault, const struct dtr_rows *rows,
                         struct dtr_error *error) {
  int64_t number = fault->code / DTR_FAULT_STEP;
  if (number >= desc->check_count)
    return dtr_error_set(error, DTR_STATUS_BUG, "%s has no range check %lld", desc->name,
                         (long long)number);
  const struct dtr_check *check = &desc->checks[number];
  const struct dtr_input *input = check->input ? find_input(program, check->input) : NULL;
  char place[160];
  int64_t row = check->row > 0 ? fault->position / check->row : 0;
  bool by_example = input && check->row > 0 && row < rows->count;
  if (by_example && !rows->data)
    snprintf(place, sizeof place, "of example %lld", (long long)(rows->first + row));
  else if (by_example)
    snprintf(place, sizeof place, "of example %lld of %s",
             (long long)dtr_data_example(rows->data, rows->epoch, rows->first + row),
             dtr_data_name(rows->data));
  else
    snprintf(place, sizeof place, "at position %lld", (long long)fault->position);
  dtr_error_set(error, DTR_STATUS_RANGE, "%s %lld %s is out of range 0..%lld", check->what,
                (long long)fault->value, place, (long long)check->limit - 1);
  dtr_error_where(error, input ? input->where : check->where);
  return dtr_error_hint(error,
                        "%s takes it as an index: correct the data, or make the model's size fit "
                        "its values",
                        check->where);
}

bool dtr_report_fault(const struct dtr_program *program, const struct dtr_watch *watch,
                      const struct dtr_fault *fault, const struct dtr_rows *rows,
                      struct dtr_error *error) {
  if (!watch->found_fault)
    return dtr_error_set(error, DTR_STATUS_BUG, "a check failed and did not fail again");
  const struct dtr_kernel_desc *desc = &program->kernels[watch->fault_kernel];
  if (fault->code % DTR_FAULT_STEP == DTR_FAULT_RANGE)
    return report_range(program, desc, fault, rows, error);
  dtr_error_set(error, DTR_STATUS_MEMORY, "oneDNN failed in the matrix product %s (status %lld)",
                desc->name, (long long)fault->value);
  return dtr_error_where(error, desc->where);
}

/* ---- not a number ---- */

static const char *value_text(double value) {
  return isnan(value) ? "NaN" : value > 0 ? "infinite" : "-infinite";
}

bool dtr_report_not_finite(const struct dtr_program *program, double loss,
                           const struct dtr_finding *finding, struct dtr_error *error) {
  char what[400];
  const char *where = NULL, *hint = "lower the learning rate, clip the gradients, or look for a "
                                    "division, logarithm or root of zero there";
  const char *value = value_text(finding->value);
  long long element = (long long)finding->element;
  switch (finding->origin) {
  case DTR_ORIGIN_VARIABLE: {
    const struct dtr_variable *variable = &program->variables[finding->index];
    snprintf(what, sizeof what, "the variable %s, %s at element %lld: an earlier update made it so",
             variable->path, value, element);
    where = variable->where;
    break;
  }
  case DTR_ORIGIN_INPUT:
    snprintf(what, sizeof what, "the input %s, %s at element %lld of example %lld",
             program->inputs[finding->index].name, value, element, (long long)finding->example);
    where = program->inputs[finding->index].where;
    hint = "remove the example from the data";
    break;
  case DTR_ORIGIN_KERNEL: {
    const struct dtr_kernel_desc *desc = &program->kernels[finding->index];
    snprintf(what, sizeof what, "%s, %s at element %lld, made by %s (%s)",
             desc->outputs[finding->output].name, value, element, desc->name, desc->comment);
    where = desc->where;
    break;
  }
  case DTR_ORIGIN_SUM:
    snprintf(what, sizeof what, "the sum over the shards, each of which is finite");
    break;
  }
  dtr_error_set(error, DTR_STATUS_NUMERIC,
                "the loss is %s; the first tensor that is not finite is %s", value_text(loss),
                what);
  if (where)
    dtr_error_where(error, where);
  return dtr_error_hint(error, "%s", hint);
}

bool dtr_report_variable(const struct dtr_program *program, const struct dtr_finding *finding,
                         struct dtr_error *error) {
  const struct dtr_variable *variable = &program->variables[finding->index];
  dtr_error_set(error, DTR_STATUS_NUMERIC,
                "the variable %s is %s at element %lld, so nothing is saved: the loss was finite, "
                "but the update made it so",
                variable->path, value_text(finding->value), (long long)finding->element);
  dtr_error_where(error, variable->where);
  return dtr_error_hint(error, "lower the learning rate, clip the gradients, or look for a root or "
                               "logarithm whose slope at zero is infinite");
}

bool dtr_find_variable(const struct dtr_program *program, const char *variables,
                       struct dtr_finding *finding) {
  for (uint32_t i = 0; i < program->variable_count; i++) {
    const struct dtr_variable *variable = &program->variables[i];
    double value;
    int64_t element =
        dtr_watch_scan(variable->dtype, variables + variable->offset, variable->elements, &value);
    if (element >= 0) {
      *finding = (struct dtr_finding){
          .origin = DTR_ORIGIN_VARIABLE, .index = i, .element = element, .value = value};
      return true;
    }
  }
  return false;
}

bool dtr_find_input(const struct dtr_program *program, char *const *feeds,
                    const struct dtr_rows *rows, struct dtr_finding *finding) {
  for (uint32_t i = 0; i < program->input_count; i++) {
    const struct dtr_input *input = &program->inputs[i];
    int64_t width = input_elements(input);
    double value;
    int64_t element = dtr_watch_scan(input->dtype, feeds[i], width * rows->count, &value);
    if (element >= 0) {
      *finding = (struct dtr_finding){
          .origin = DTR_ORIGIN_INPUT,
          .index = i,
          .element = element % width,
          .value = value,
          .example = rows->data
                         ? dtr_data_example(rows->data, rows->epoch, rows->first + element / width)
                         : rows->first + element / width};
      return true;
    }
  }
  return false;
}

/* ---- texts ---- */

const char *dtr_count_text(int64_t count, char *text, size_t size) {
  char digits[24];
  int length = snprintf(digits, sizeof digits, "%lld", (long long)count);
  size_t used = 0;
  for (int i = 0; i < length && used + 2 < size; i++) {
    if (i > 0 && (length - i) % 3 == 0 && digits[i - 1] != '-')
      text[used++] = ',';
    text[used++] = digits[i];
  }
  text[used] = 0;
  return text;
}

static int result_text(double value, char *text, size_t size) {
  bool small = value != 0 && fabs(value) < 0.001;
  return snprintf(text, size, small ? "%.3e" : "%.4f", value);
}

int dtr_results_text(const struct dtr_program *program, const double *results, char *text,
                     size_t size) {
  size_t used = 0;
  for (uint32_t i = 0; i <= program->metric_count; i++) {
    char value[40];
    result_text(results[i], value, sizeof value);
    int added = snprintf(text + used, size - used, "%s%s %s", i == 0 ? "" : ", ",
                         i == 0 ? "loss" : program->metrics[i - 1], value);
    if (added < 0 || used + (size_t)added >= size)
      break;
    used += (size_t)added;
  }
  return (int)used;
}

const char *dtr_duration_text(double seconds, char *text, size_t size) {
  long long whole = seconds < 1e12 ? (long long)(seconds + 0.5) : 0;
  if (whole < 60)
    snprintf(text, size, "%llds", whole);
  else if (whole < 3600)
    snprintf(text, size, "%lldm%02llds", whole / 60, whole % 60);
  else
    snprintf(text, size, "%lldh%02lldm", whole / 3600, whole / 60 % 60);
  return text;
}
