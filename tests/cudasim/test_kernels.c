/* Kernels as CUDA C, compiled by NVRTC to PTX and run on the simulated GPU, against the meaning of
 * their IR: seeded random kernels of every family, and products of many forms. */
#include "sample_memory.h"

#include "codegen/cuda/cuda.h"
#include "codegen/cuda/nvrtc.h"
#include "compiler/base/strbuf.h"
#include "tests/cudasim/device.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static uint64_t first_seed = 1;
static uint32_t seeds_per_family = 2;

static struct cg_nvrtc *open_or_skip(void) {
  struct cg_nvrtc *nvrtc = NULL;
  struct dtg_strbuf why = {0};
  if (!cg_nvrtc_open(&nvrtc, &why))
    print_message("%s\n", dtg_strbuf_text(&why));
  dtg_strbuf_free(&why);
  if (!nvrtc)
    skip();
  return nvrtc;
}

/* ---- a compiled module on a device ---- */

struct loaded {
  struct dtg_arena arena;
  struct ptx_module *module;
  struct sim_device *device;
  struct cg_cuda_shape *shapes;
};

static void load(const struct cg_nvrtc *nvrtc, const struct cg_kernel *const *kernels, size_t count,
                 const char *arch, struct loaded *loaded) {
  struct dtg_strbuf text = {0}, why = {0};
  struct cg_nvrtc_output ptx;
  char trouble[PTX_TEXT];
  dtg_arena_init(&loaded->arena);
  loaded->shapes = DTG_NEW_ARRAY(&loaded->arena, struct cg_cuda_shape, count);
  if (!cg_cuda_module(&loaded->arena, kernels, count, loaded->shapes, &text, &why))
    fail_msg("%s", dtg_strbuf_text(&why));
  struct cg_nvrtc_input input = {dtg_strbuf_text(&text), "kernels.cu", arch};
  if (!cg_nvrtc_compile(nvrtc, &loaded->arena, &input, &ptx, &why))
    fail_msg("%s\n%s", dtg_strbuf_text(&why), dtg_strbuf_text(&text));
  if (!ptx_parse(ptx.code, &loaded->module, trouble))
    fail_msg("PTX for %s: %s", arch, trouble);
  loaded->device = sim_device_new((int64_t)1 << 30);
  assert_non_null(loaded->device);
  assert_true(sim_load(loaded->device, loaded->module));
  dtg_strbuf_free(&text);
  dtg_strbuf_free(&why);
}

static void unload(struct loaded *loaded) {
  sim_unload(loaded->device, loaded->module);
  assert_int_equal(sim_allocation_count(loaded->device), 0);
  sim_device_free(loaded->device);
  ptx_free(loaded->module);
  dtg_arena_free(&loaded->arena);
}

/* Runs one kernel on copies of the buffers; the fault record comes back in `fault`. */
static void launch(struct loaded *loaded, const struct cg_kernel *kernel,
                   const struct cg_cuda_shape *shape, char *const *data, const size_t *size,
                   int64_t fault[3]) {
  uint64_t addresses[SAMPLE_BUFFERS + 1];
  const void *arguments[SAMPLE_BUFFERS + 1];
  uint32_t count = (uint32_t)kernel->buffers.len;
  struct sim_launch l = {.module = loaded->module,
                         .function = ptx_find(loaded->module, kernel->name),
                         .grid = {(uint32_t)shape->blocks, 1, 1},
                         .block = {shape->block_x, shape->block_y, 1},
                         .arguments = arguments};
  assert_non_null(l.function);
  for (uint32_t i = 0; i <= count; i++) {
    int64_t bytes = i < count ? (int64_t)size[i] : 24;
    addresses[i] = sim_malloc(loaded->device, bytes);
    arguments[i] = &addresses[i];
    assert_true(
        sim_write(loaded->device, addresses[i], i < count ? data[i] : (char *)fault, bytes));
  }
  if (!sim_run(loaded->device, &l)) {
    struct dtg_strbuf text = {0}, why = {0};
    struct cg_cuda_shape again;
    cg_cuda_kernel(&loaded->arena, kernel, &again, &text, &why);
    fail_msg("%s\n%s", sim_error(loaded->device), dtg_strbuf_text(&text));
  }
  for (uint32_t i = 0; i <= count; i++) {
    assert_true(sim_read(loaded->device, addresses[i], i < count ? data[i] : (char *)fault,
                         i < count ? (int64_t)size[i] : 24));
    assert_true(sim_release(loaded->device, addresses[i]));
  }
}

/* ---- random kernels ---- */

static void check_sample(struct loaded *loaded, const struct cg_sample *sample,
                         const struct cg_cuda_shape *shape, uint64_t seed) {
  struct sample_memory want, got;
  struct cg_tolerance tolerance = sample->tolerance;
  int64_t want_fault[3] = {0, 0, 0}, fault[3] = {0, 0, 0};
  sample_memory_make(&want, sample, seed);
  sample_memory_make(&got, sample, seed);
  cg_kernel_interpret_fault(sample->kernel, (void *const *)want.data, want_fault);
  launch(loaded, sample->kernel, shape, got.data, got.size, fault);
  sample_compare(sample, &want, &got, &tolerance, "the simulated GPU", seed);
  assert_int_equal(fault[0] != 0, want_fault[0] != 0);
  sample_memory_free(&want);
  sample_memory_free(&got);
}

static void random_kernels(const char *arch) {
  struct cg_nvrtc *nvrtc = open_or_skip();
  uint32_t count = cg_family_count() * seeds_per_family;
  struct dtg_arena arena;
  struct loaded loaded;
  dtg_arena_init(&arena);
  struct cg_sample *samples = DTG_NEW_ARRAY(&arena, struct cg_sample, count);
  const struct cg_kernel **kernels = DTG_NEW_ARRAY(&arena, const struct cg_kernel *, count);
  print_message("%s: seeds %llu to %llu of each family\n", arch, (unsigned long long)first_seed,
                (unsigned long long)first_seed + seeds_per_family - 1);
  for (uint32_t i = 0; i < count; i++) {
    uint32_t family = i / seeds_per_family;
    const char *name = dtg_arena_printf(&arena, "k%u_%s", i, cg_family_name(family));
    samples[i] = cg_generate(&arena, family, first_seed + i % seeds_per_family, name);
    kernels[i] = samples[i].kernel;
  }
  load(nvrtc, kernels, count, arch, &loaded);
  for (uint32_t i = 0; i < count; i++)
    check_sample(&loaded, &samples[i], &loaded.shapes[i], first_seed + i % seeds_per_family);
  unload(&loaded);
  dtg_arena_free(&arena);
  cg_nvrtc_close(nvrtc);
}

static void random_kernels_of_sm_80(void **state) {
  (void)state;
  random_kernels("compute_80");
}
static void random_kernels_of_sm_100(void **state) {
  (void)state;
  random_kernels("compute_100");
}

/* ---- products ---- */

static struct cg_kernel *product(struct dtg_arena *arena, int number, const struct cg_gemm *g) {
  struct cg_kernel *kernel =
      cg_kernel_new(arena, dtg_arena_printf(arena, "gemm_%d", number), "", (struct dtg_span){0});
  kernel->kind = CG_KERNEL_GEMM;
  kernel->gemm = *g;
  kernel->tiles = g->batch;
  cg_buffer_add(kernel, "a", DTG_F32, g->batch * g->m * g->k, true, false);
  cg_buffer_add(kernel, "b", DTG_F32, g->batch * g->k * g->n, true, false);
  cg_buffer_add(kernel, "c", DTG_F32, g->batch * g->m * g->n, g->beta != 0, true);
  return kernel;
}

static void products_of_many_forms(void **state) {
  (void)state;
  static const int64_t sizes[][4] = {{1, 1, 1, 1},    {1, 3, 5, 7},   {2, 17, 64, 16},
                                     {1, 65, 63, 33}, {3, 8, 70, 20}, {1, 64, 128, 48}};
  enum { SIZES = sizeof sizes / sizeof *sizes, FORMS = 8 };
  struct cg_nvrtc *nvrtc = open_or_skip();
  struct dtg_arena arena;
  struct loaded loaded;
  const struct cg_kernel *kernels[SIZES * FORMS];
  dtg_arena_init(&arena);
  for (int i = 0; i < SIZES * FORMS; i++) {
    const int64_t *s = sizes[i / FORMS];
    struct cg_gemm g = {.batch = s[0],
                        .m = s[1],
                        .n = s[2],
                        .k = s[3],
                        .stride_a = s[1] * s[3],
                        .stride_b = s[3] * s[2],
                        .stride_c = s[1] * s[2],
                        .transpose_a = i & 1,
                        .transpose_b = i & 2,
                        .beta = i & 4 ? 0.5f : 0,
                        .tile_rows = s[1],
                        .row_tiles = 1};
    kernels[i] = product(&arena, i, &g);
  }
  load(nvrtc, kernels, SIZES * FORMS, "compute_90", &loaded);
  for (int i = 0; i < SIZES * FORMS; i++) {
    struct cg_sample sample = {
        (struct cg_kernel *)(uintptr_t)kernels[i], {.relative = 1e-5}, .index_limit = 1};
    check_sample(&loaded, &sample, &loaded.shapes[i], (uint64_t)i + 1);
  }
  unload(&loaded);
  dtg_arena_free(&arena);
  cg_nvrtc_close(nvrtc);
}

int main(int argc, char **argv) {
  if (argc > 1)
    first_seed = strtoull(argv[1], NULL, 10);
  if (argc > 2)
    seeds_per_family = (uint32_t)strtoul(argv[2], NULL, 10);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(random_kernels_of_sm_80),
      cmocka_unit_test(random_kernels_of_sm_100),
      cmocka_unit_test(products_of_many_forms),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
