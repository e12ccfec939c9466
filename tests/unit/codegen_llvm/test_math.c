// Measures the math functions against long double and fails above the bounds of math.h.
#include "compiled.h"

#include "compiler/base/arena.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>

#include <cmocka.h>

typedef long double real;

#define SIGMOID(exponential) \
  x < 0 ? exponential(x) / (1 + exponential(x)) : 1 / (1 + exponential(-x))

static real sigmoid_real(real x, real y) {
  (void)y;
  return SIGMOID(expl);
}
static double sigmoid_double(double x, double y) {
  (void)y;
  return SIGMOID(exp);
}

// f64 is compared with long double, f32 with double.
#define UNARY(name)                                 \
  static real name##_real(real x, real y) {         \
    (void)y;                                        \
    return name##l(x);                              \
  }                                                 \
  static double name##_double(double x, double y) { \
    (void)y;                                        \
    return name(x);                                 \
  }
UNARY(exp)
UNARY(log)
UNARY(tanh)
UNARY(erf)
UNARY(sin)
UNARY(cos)
UNARY(log1p)
UNARY(expm1)

struct row {
  enum cg_op op;
  const char *name;
  real (*reference)(real x, real y);
  double (*reference_f32)(double x, double y);
  double bound_f32, bound_f64; // ulp
  double low, high;            // where samples are dense
};

static const struct row rows[] = {
    {CG_EXP, "exp", exp_real, exp_double, 2, 2, -110, 100},
    {CG_LOG, "log", log_real, log_double, 2, 2, 0, 4},
    {CG_TANH, "tanh", tanh_real, tanh_double, 2, 4, -12, 12},
    {CG_SIGMOID, "sigmoid", sigmoid_real, sigmoid_double, 2, 4, -110, 40},
    {CG_ERF, "erf", erf_real, erf_double, 2, 4, -6.5, 6.5},
    {CG_SIN, "sin", sin_real, sin_double, 2, 2, -100000, 100000},
    {CG_COS, "cos", cos_real, cos_double, 2, 2, -100000, 100000},
    {CG_POW, "pow", powl, pow, 4, 4, 0, 8},
    {CG_LOG1P, "log1p", log1p_real, log1p_double, 2, 4, -1, 4},
    {CG_EXPM1, "expm1", expm1_real, expm1_double, 2, 4, -30, 100},
};
enum { ROWS = sizeof rows / sizeof *rows, SAMPLES = 60000 };

static const double specials[] = {0.0,
                                  -0.0,
                                  1.0,
                                  -1.0,
                                  0.5,
                                  -0.5,
                                  2.0,
                                  -2.0,
                                  3.0,
                                  -3.0,
                                  INFINITY,
                                  -INFINITY,
                                  NAN,
                                  0x1p-149,
                                  -0x1p-149,
                                  0x1p-126,
                                  -0x1p-126,
                                  0x1p-130,
                                  0x1.fffffep127,
                                  -0x1.fffffep127,
                                  0x1p-1074,
                                  -0x1p-1074,
                                  0x1p-1022,
                                  0x1.fffffffffffffp1023,
                                  -0x1.fffffffffffffp1023,
                                  88.72283,
                                  88.72284,
                                  -87.33655,
                                  -103.97207,
                                  -103.97208,
                                  -104.0,
                                  709.782712893384,
                                  709.7827128933841,
                                  -708.3964185322641,
                                  -745.1332191019411,
                                  -745.1332191019412,
                                  1e-5,
                                  -1e-5,
                                  1e-10,
                                  -1e-10,
                                  1e-20,
                                  1e5,
                                  1e6,
                                  -1e6,
                                  1e10,
                                  1e22,
                                  1e30,
                                  -1e30,
                                  0.6931472,
                                  1.5707964,
                                  3.1415927,
                                  6.2831855,
                                  1e300,
                                  16777216.0,
                                  16777215.0,
                                  -16777215.0,
                                  9007199254740993.0,
                                  0.99999994,
                                  1.0000001,
                                  -0.99999994,
                                  16367173.0,
                                  0x1.921fb6p+0,
                                  0x1.2d97c8p+1,
                                  6381956970095103.0 * 0x1p797};
enum { SPECIALS = sizeof specials / sizeof *specials };

static uint64_t next_random(uint64_t *state) {
  uint64_t z = (*state += 0x9e3779b97f4a7c15);
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
  z = (z ^ z >> 27) * 0x94d049bb133111eb;
  return z ^ z >> 31;
}

static double any_double(uint64_t *state, bool wide) {
  uint64_t bits = next_random(state);
  uint32_t narrow_bits = (uint32_t)bits;
  float narrow;
  double value;
  memcpy(&narrow, &narrow_bits, sizeof narrow);
  memcpy(&value, &bits, sizeof value);
  return wide ? value : (double)narrow;
}

// A third dense in the range that matters, a third near zero, a third of any bits.
static double draw(const struct row *row, uint64_t *state, uint32_t i, bool wide) {
  double unit = (double)(next_random(state) >> 11) * 0x1p-53;
  double value = row->low + (row->high - row->low) * unit;
  if (i % 3 == 1)
    value = ldexp(value, -(int)(next_random(state) % (wide ? 60 : 30)));
  if (i % 3 == 2)
    value = any_double(state, wide);
  return wide ? value : (double)(float)value;
}

static void fill(const struct row *row, bool wide, double *x, double *y, uint32_t count,
                 uint64_t seed) {
  uint64_t state = seed;
  for (uint32_t i = 0; i < count; i++) {
    bool special = i < SPECIALS * SPECIALS;
    x[i] = special ? specials[i % SPECIALS] : draw(row, &state, i, wide);
    y[i] = special ? specials[i / SPECIALS] : any_double(&state, wide);
    if (!special && i % 4)
      y[i] =
          (double)(float)(((double)(next_random(&state) >> 11) * 0x1p-52 - 1) * (i % 4 == 1   ? 10
                                                                                 : i % 4 == 2 ? 400
                                                                                              : 1));
    if (!wide) {
      x[i] = (double)(float)x[i];
      y[i] = (double)(float)y[i];
    }
  }
}

// y = op(x0, x1) over `count` elements, in a VECTOR loop or one by one.
static struct cg_kernel *make_kernel(struct dtg_arena *arena, const struct row *row, bool wide,
                                     enum cg_loop_kind kind, int64_t count) {
  enum dtg_dtype dtype = wide ? DTG_F64 : DTG_F32;
  char name[32];
  snprintf(name, sizeof name, "%s_%d_%d", row->name, wide, kind == CG_LOOP_VECTOR);
  struct cg_kernel *kernel = cg_kernel_new(arena, name, "", DTG_SPAN_NONE);
  uint32_t x = cg_buffer_add(kernel, "x", dtype, count, true, false);
  uint32_t y = cg_buffer_add(kernel, "y", dtype, count, true, false);
  uint32_t z = cg_buffer_add(kernel, "z", dtype, count, false, true);
  struct cg_builder b;
  cg_builder_init(&b, kernel);
  cg_loop_begin(&b, CG_LOOP_PARALLEL, 1);
  uint32_t loop = cg_loop_begin(&b, kind, count);
  struct cg_address at = {
      .buffer = x, .term_count = 1, .terms = {{loop, 1}}, .dynamic = CG_NO_VALUE};
  uint32_t a = cg_load(&b, &at), result;
  at.buffer = y;
  if (row->op == CG_POW)
    result = cg_binary(&b, CG_POW, a, cg_load(&b, &at));
  else
    result = cg_unary(&b, row->op, a);
  at.buffer = z;
  cg_store(&b, &at, result);
  cg_loop_end(&b);
  cg_loop_end(&b);
  return kernel;
}

static double ulp_error(double got, real want, bool wide) {
  if (isnan(want) || isnan(got))
    return isnan(want) && isnan(got) ? 0 : INFINITY;
  real rounded = wide ? (real)(double)want : (real)(float)want;
  if (isinf(rounded) || isinf(got))
    return (real)got == rounded ? 0 : INFINITY;
  if (want == 0)
    return got == 0 && !signbit(got) == !signbit(want) ? 0 : INFINITY;
  int exponent;
  frexpl(want, &exponent);
  int digits = wide ? 53 : 24, least = wide ? -1074 : -149;
  int ulp = exponent - digits < least ? least : exponent - digits;
  return (double)fabsl(ldexpl((real)got - want, -ulp));
}

struct worst {
  double error, x, y, got;
};

static void look(struct worst *worst, const struct row *row, bool wide, double x, double y,
                 double got) {
  real want = wide ? row->reference((real)x, (real)y) : (real)row->reference_f32(x, y);
  double error = ulp_error(got, want, wide);
  if (!(error <= worst->error))
    *worst = (struct worst){error, x, y, got};
}

static void run(dtr_kernel_fn *function, bool wide, const double *x, const double *y, double *z,
                uint32_t count) {
  struct dtr_fault fault = {0, 0, 0};
  size_t size = wide ? sizeof(double) : sizeof(float);
  char *buffers[3];
  for (int i = 0; i < 3; i++)
    buffers[i] = cg_guarded_new(count * size);
  for (uint32_t i = 0; i < count; i++) {
    float a = (float)x[i], b = (float)y[i];
    memcpy(buffers[0] + i * size, wide ? (const void *)&x[i] : &a, size);
    memcpy(buffers[1] + i * size, wide ? (const void *)&y[i] : &b, size);
  }
  function(buffers, &fault, 0, 1);
  for (uint32_t i = 0; i < count; i++) {
    float a;
    memcpy(wide ? (void *)&z[i] : &a, buffers[2] + i * size, size);
    if (!wide)
      z[i] = (double)a;
  }
  for (int i = 0; i < 3; i++)
    cg_guarded_free(buffers[i], count * size);
}

static void measure_row(const struct cg_compiled *compiled, const char *arch, const struct row *row,
                        bool wide, double *memory, uint32_t count) {
  double *x = memory, *y = memory + count, *z = memory + 2 * count, *one = memory + 3 * count;
  char name[32];
  struct worst worst = {0, 0, 0, 0};
  fill(row, wide, x, y, count, 20240607);
  snprintf(name, sizeof name, "%s_%d_1", row->name, wide);
  run(cg_compiled_find(compiled, name), wide, x, y, z, count);
  snprintf(name, sizeof name, "%s_%d_0", row->name, wide);
  run(cg_compiled_find(compiled, name), wide, x, y, one, count);
  for (uint32_t i = 0; i < count; i++) {
    look(&worst, row, wide, x[i], y[i], z[i]);
    if (memcmp(&z[i], &one[i], sizeof z[i]) && !(isnan(z[i]) && isnan(one[i])))
      fail_msg("%s %s: vector %a and scalar %a differ at %a, %a", arch, name, z[i], one[i], x[i],
               y[i]);
  }
  double bound = wide ? row->bound_f64 : row->bound_f32;
  print_message("%-10s %-8s f%d  %7.3f ulp (bound %g) at %a, %a: %a\n", arch, row->name,
                wide ? 64 : 32, worst.error, bound, worst.x, worst.y, worst.got);
  assert_true(worst.error <= bound);
}

static void measure_arch(const char *arch, uint32_t count) {
  struct dtg_arena arena;
  const struct cg_kernel *kernels[4 * ROWS];
  dtg_arena_init(&arena);
  for (uint32_t i = 0; i < ROWS; i++)
    for (uint32_t j = 0; j < 4; j++)
      kernels[4 * i + j] =
          make_kernel(&arena, &rows[i], j & 1, j & 2 ? CG_LOOP_VECTOR : CG_LOOP_SEQUENTIAL, count);
  struct cg_compiled compiled = cg_compile(kernels, 4 * ROWS, arch);
  double *memory = calloc((size_t)count * 4, sizeof *memory);
  assert_non_null(memory);
  for (uint32_t i = 0; i < ROWS; i++)
    for (int wide = 0; wide < 2; wide++)
      measure_row(&compiled, arch, &rows[i], wide, memory, count);
  free(memory);
  cg_compiled_free(&compiled);
  dtg_arena_free(&arena);
}

static uint32_t sample_count = SAMPLES;

static void test_bounds(void **state) {
  (void)state;
  for (const char *const *arch = cg_runnable_archs(); *arch; arch++)
    measure_arch(*arch, sample_count);
}

// An argument gives another number of samples.
int main(int argc, char **argv) {
  if (argc > 1)
    sample_count = (uint32_t)strtoul(argv[1], NULL, 10);
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_bounds)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
