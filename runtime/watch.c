#include "runtime/watch.h"

#include <math.h>
#include <string.h>

static int64_t scan_f32(const float *values, int64_t elements) {
  for (int64_t i = 0; i < elements; i++)
    if (!isfinite(values[i]))
      return i;
  return -1;
}

static int64_t scan_f64(const double *values, int64_t elements) {
  for (int64_t i = 0; i < elements; i++)
    if (!isfinite(values[i]))
      return i;
  return -1;
}

/* The upper half of a float. */
static float bf16_value(uint16_t bits) {
  uint32_t wide = (uint32_t)bits << 16;
  float value;
  memcpy(&value, &wide, sizeof value);
  return value;
}

static int64_t scan_bf16(const uint16_t *values, int64_t elements) {
  for (int64_t i = 0; i < elements; i++)
    if (!isfinite(bf16_value(values[i])))
      return i;
  return -1;
}

int64_t dtr_watch_scan(enum dtr_dtype dtype, const void *values, int64_t elements, double *value) {
  int64_t at = -1;
  if (dtype == DTR_F32 && (at = scan_f32(values, elements)) >= 0)
    *value = (double)((const float *)values)[at];
  else if (dtype == DTR_F64 && (at = scan_f64(values, elements)) >= 0)
    *value = ((const double *)values)[at];
  else if (dtype == DTR_BF16 && (at = scan_bf16(values, elements)) >= 0)
    *value = (double)bf16_value(((const uint16_t *)values)[at]);
  return at;
}

void dtr_watch_kernel(struct dtr_watch *watch, const struct dtr_program *program, uint32_t kernel,
                      char *const *buffers, const struct dtr_fault *fault) {
  const struct dtr_kernel_desc *desc = &program->kernels[kernel];
  if (fault->code != DTR_FAULT_NONE && !watch->found_fault) {
    watch->found_fault = true;
    watch->fault_kernel = kernel;
  }
  if (watch->found_value)
    return;
  for (uint32_t i = 0; i < desc->output_count; i++) {
    const struct dtr_kernel_output *output = &desc->outputs[i];
    watch->element =
        dtr_watch_scan(output->dtype, buffers[output->buffer], output->elements, &watch->value);
    if (watch->element >= 0) {
      watch->found_value = true;
      watch->kernel = kernel;
      watch->output = i;
      return;
    }
  }
}
