#include "sample_memory.h"

#include "compiled.h"

#include "compiler/base/strbuf.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static float draw_float(struct cg_random *random) {
  static const float edges[] = {0.0f,    -0.0f, 1.0f,        -1.0f,      INFINITY, -INFINITY,
                                NAN,     0.5f,  1e-40f,      -3e-45f,    3e38f,    2147483648.0f,
                                -2.5e9f, 1e20f, 0.99999994f, 16777216.0f};
  if (cg_random_below(random, 12) == 0)
    return edges[cg_random_below(random, 16)];
  return ((float)(int32_t)cg_random_next(random)) * 0x1p-28f;
}

// Reductions are compared relative to the largest input, so these stay tame.
static float draw_tame(struct cg_random *random) {
  return ((float)(int32_t)cg_random_next(random)) * 0x1p-31f;
}

static void fill_element(struct cg_random *random, const struct cg_sample *sample,
                         enum dtg_dtype dtype, char *to) {
  float f = sample->tolerance.exact || sample->tolerance.relative == 0 ? draw_float(random)
                                                                       : draw_tame(random);
  double d = (double)f * (1 + 0x1p-40);
  uint32_t bits;
  uint64_t any = cg_random_next(random);
  int64_t l = (int64_t)(any % (uint64_t)sample->index_limit);
  int32_t i = (int32_t)l;
  uint8_t u = (uint8_t)any;
  switch (dtype) {
  case DTG_F32:
    memcpy(to, &f, 4);
    break;
  case DTG_F64:
    memcpy(to, &d, 8);
    break;
  case DTG_BF16:
    memcpy(&bits, &f, 4);
    bits >>= 16;
    memcpy(to, &bits, 2);
    break;
  case DTG_I32:
    memcpy(to, &i, 4);
    break;
  case DTG_I64:
    memcpy(to, &l, 8);
    break;
  case DTG_U8:
    *to = (char)u;
    break;
  default:
    *to = (char)(u & 1);
    break;
  }
}

void sample_memory_make(struct sample_memory *memory, const struct cg_sample *sample,
                        uint64_t seed) {
  struct cg_random random = {seed};
  memory->count = (uint32_t)sample->kernel->buffers.len;
  assert_true(memory->count <= SAMPLE_BUFFERS);
  for (uint32_t i = 0; i < memory->count; i++) {
    const struct cg_buffer *buffer = &sample->kernel->buffers.data[i];
    size_t element = dtg_dtype_size(buffer->dtype);
    memory->size[i] = (size_t)buffer->elements * element;
    memory->data[i] = cg_guarded_new(memory->size[i]);
    for (int64_t j = 0; j < buffer->elements; j++)
      fill_element(&random, sample, buffer->dtype, memory->data[i] + (size_t)j * element);
  }
}

void sample_memory_free(struct sample_memory *memory) {
  for (uint32_t i = 0; i < memory->count; i++)
    cg_guarded_free(memory->data[i], memory->size[i]);
}

static double read_float(enum dtg_dtype dtype, const char *from) {
  float f = 0;
  double d = 0;
  uint16_t h;
  uint32_t bits;
  switch (dtype) {
  case DTG_F32:
    memcpy(&f, from, 4);
    return (double)f;
  case DTG_F64:
    memcpy(&d, from, 8);
    return d;
  default:
    memcpy(&h, from, 2);
    bits = (uint32_t)h << 16;
    memcpy(&f, &bits, 4);
    return (double)f;
  }
}

static double ulp_of(enum dtg_dtype dtype, double value) {
  int exponent;
  frexp(value, &exponent);
  int least = dtype == DTG_F32 ? -149 : -1074;
  int ulp = exponent - (dtype == DTG_F32 ? 24 : 53);
  return ldexp(1, ulp < least ? least : ulp);
}

static bool near(const struct cg_tolerance *tolerance, enum dtg_dtype dtype, const char *want,
                 const char *got) {
  size_t size = dtg_dtype_size(dtype);
  if (memcmp(want, got, size) == 0)
    return true;
  if (!dtg_dtype_is_float(dtype))
    return false;
  double w = read_float(dtype, want), g = read_float(dtype, got);
  if (isnan(w) || isnan(g))
    return isnan(w) && isnan(g);
  if (tolerance->exact)
    return false;
  if (isinf(w) || isinf(g))
    return w == g;
  if (tolerance->relative > 0)
    return fabs(w - g) <= tolerance->relative * (1 + fabs(w));
  return fabs(w - g) <= 5 * ulp_of(dtype, w); // bound of the interpreter's and of ours
}

void sample_compare(const struct cg_sample *sample, const struct sample_memory *want,
                    const struct sample_memory *got, const struct cg_tolerance *tolerance,
                    const char *what, uint64_t seed) {
  for (uint32_t i = 0; i < want->count; i++) {
    enum dtg_dtype dtype = sample->kernel->buffers.data[i].dtype;
    size_t size = dtg_dtype_size(dtype);
    for (size_t at = 0; at < want->size[i]; at += size) {
      if (near(tolerance, dtype, want->data[i] + at, got->data[i] + at))
        continue;
      struct dtg_strbuf text = {0};
      cg_kernel_print(sample->kernel, &text);
      fail_msg("seed %llu, %s: buffer %u element %zu: want %a, got %a\n%s",
               (unsigned long long)seed, what, i, at / size,
               dtg_dtype_is_float(dtype) ? read_float(dtype, want->data[i] + at) : 0.0,
               dtg_dtype_is_float(dtype) ? read_float(dtype, got->data[i] + at) : 0.0,
               dtg_strbuf_text(&text));
    }
  }
}
