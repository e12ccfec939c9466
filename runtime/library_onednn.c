/* Matrix products by oneDNN (the C API of version 2, known here and in library_window.c alone).
 *
 * Each gemm has one primitive for whole tiles and, if the last tile is short, one for that. Scratch
 * is the caller's (user mode), so it is planned like any other buffer. The matmul primitive was
 * chosen over dnnl_sgemm: equal in speed within a few per cent for AVX-512, 0.1 to 0.4 us slower on
 * tiny products, but sgemm allocates its packing buffers on every call, where they cannot be
 * planned.
 */
#include "runtime/library_parts.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int64_t rows_of(const struct dtr_gemm *gemm, int kind) {
  if (kind == TILE_LAST)
    return gemm->m % gemm->tile_rows;
  return gemm->m >= gemm->tile_rows ? gemm->tile_rows : 0;
}

/* The library fixes its limit at the first use in the process; a later call is fine if it agrees.
 * On a processor below `cpu_arch` (cross compilation) the effective limit is that of the processor.
 */
bool dtr_library_limit_isa(const char *cpu_arch) {
  dnnl_cpu_isa_t isa;
  if (strcmp(cpu_arch, "x86-64-v2") == 0)
    isa = dnnl_cpu_isa_sse41;
  else if (strcmp(cpu_arch, "x86-64-v3") == 0)
    isa = dnnl_cpu_isa_avx2;
  else if (strcmp(cpu_arch, "x86-64-v4") == 0)
    isa = dnnl_cpu_isa_avx512_core;
  else
    return false;
  return dnnl_set_max_cpu_isa(isa) == dnnl_success || (dnnl_get_effective_cpu_isa() & ~isa) == 0;
}

/* OpenMP is the library's, not ours: looked up at run time so that any OpenMP library it was built
 * with will do and none need be linked. */
void dtr_library_enter_thread(void) {
  void (*set_threads)(int);
  *(void **)&set_threads = dlsym(RTLD_DEFAULT, "omp_set_num_threads");
  if (set_threads)
    set_threads(1);
}

/* `leading`: elements between two stored rows, or columns if transposed. The library's cache takes
 * layouts for the same that differ only in the stride of an axis of one element, and then answers
 * with the needs of whichever product came first: such an axis has one stride here. */
static dnnl_status_t describe(dnnl_memory_desc_t *desc, int64_t rows, int64_t columns,
                              bool transpose, int64_t leading) {
  dnnl_dims_t dims = {rows, columns};
  dnnl_dims_t strides = {transpose ? 1 : leading, transpose ? leading : 1};
  if (columns == 1)
    strides[1] = 1;
  if (rows == 1)
    strides[0] = strides[1] == 1 ? columns : 1;
  return dnnl_memory_desc_init_by_strides(desc, 2, dims, dnnl_f32, strides);
}

static dnnl_status_t attributes(const struct dtr_gemm *gemm, dnnl_primitive_attr_t *attr) {
  dnnl_status_t status = dnnl_primitive_attr_create(attr);
  if (status != dnnl_success)
    return status;
  status = dnnl_primitive_attr_set_scratchpad_mode(*attr, dnnl_scratchpad_mode_user);
  if (status == dnnl_success && gemm->beta != 0) {
    dnnl_post_ops_t sum;
    status = dnnl_post_ops_create(&sum);
    if (status == dnnl_success) {
      status = dnnl_post_ops_append_sum(sum, gemm->beta);
      if (status == dnnl_success)
        status = dnnl_primitive_attr_set_post_ops(*attr, sum);
      dnnl_post_ops_destroy(sum);
    }
  }
  if (status != dnnl_success)
    dnnl_primitive_attr_destroy(*attr);
  return status;
}

/* `leading`: elements between two stored rows of A. */
static dnnl_status_t describe_matmul(dnnl_engine_t engine, const struct dtr_gemm *gemm,
                                     int64_t rows, int64_t leading, dnnl_primitive_desc_t *desc) {
  dnnl_memory_desc_t a, b, c;
  dnnl_matmul_desc_t matmul;
  dnnl_primitive_attr_t attr;
  dnnl_status_t status = describe(&a, rows, gemm->k, gemm->transpose_a, leading);
  if (status == dnnl_success)
    status =
        describe(&b, gemm->k, gemm->n, gemm->transpose_b, gemm->transpose_b ? gemm->k : gemm->n);
  if (status == dnnl_success)
    status = describe(&c, rows, gemm->n, false, gemm->n);
  if (status == dnnl_success)
    status = dnnl_matmul_desc_init(&matmul, &a, &b, NULL, &c);
  if (status == dnnl_success)
    status = attributes(gemm, &attr);
  if (status != dnnl_success)
    return status;
  status = dnnl_primitive_desc_create(desc, &matmul, attr, engine, NULL);
  dnnl_primitive_attr_destroy(attr);
  return status;
}

/* The library's older driver: it allocates on every call, and its first call in a process compiles
 * all its kernels (12 ms for AVX2, 35 to 40 ms for AVX-512). */
static bool is_old_driver(const_dnnl_primitive_desc_t desc) {
  const char *name = "";
  dnnl_primitive_desc_query(desc, dnnl_query_impl_info_str, 0, &name);
  return strncmp(name, "gemm", 4) == 0;
}

/* A tile of a transposed A is a strip of columns, which the newer driver takes only if it is dense:
 * it is packed first, where that gets us the newer driver. `packed`: bytes for it, or 0. */
static dnnl_status_t describe_product(dnnl_engine_t engine, const struct dtr_gemm *gemm,
                                      int64_t rows, int64_t *packed, dnnl_primitive_desc_t *desc) {
  dnnl_primitive_desc_t dense;
  *packed = 0;
  dnnl_status_t status =
      describe_matmul(engine, gemm, rows, gemm->transpose_a ? gemm->m : gemm->k, desc);
  if (status != dnnl_success || !gemm->transpose_a || rows == gemm->m || !is_old_driver(*desc))
    return status;
  if (describe_matmul(engine, gemm, rows, rows, &dense) != dnnl_success)
    return status;
  if (is_old_driver(dense)) {
    dnnl_primitive_desc_destroy(dense);
    return status;
  }
  dnnl_primitive_desc_destroy(*desc);
  *desc = dense;
  *packed = (rows * gemm->k * (int64_t)sizeof(float) + DTR_ALIGN - 1) / DTR_ALIGN * DTR_ALIGN;
  return dnnl_success;
}

static int64_t scratch_of(const_dnnl_primitive_desc_t desc) {
  return (int64_t)dnnl_memory_desc_get_size(
      dnnl_primitive_desc_query_md(desc, dnnl_query_scratchpad_md, 0));
}

int64_t dtr_library_gemm_scratch(const struct dtr_gemm *gemm, const char *cpu_arch) {
  dnnl_engine_t engine;
  int64_t bytes = 0;
  dtr_library_enter_thread();
  if (!dtr_library_limit_isa(cpu_arch) || dnnl_engine_create(&engine, dnnl_cpu, 0) != dnnl_success)
    return -1;
  for (int kind = 0; kind < TILE_KINDS && bytes >= 0; kind++) {
    dnnl_primitive_desc_t desc;
    int64_t rows = rows_of(gemm, kind);
    if (rows == 0)
      continue;
    int64_t packed;
    if (describe_product(engine, gemm, rows, &packed, &desc) != dnnl_success) {
      bytes = -1;
      break;
    }
    int64_t need = packed + scratch_of(desc);
    if (need > bytes)
      bytes = need;
    dnnl_primitive_desc_destroy(desc);
  }
  dnnl_engine_destroy(engine);
  return bytes;
}

static dnnl_status_t create_memory(dnnl_engine_t engine, const_dnnl_primitive_desc_t desc,
                                   dnnl_query_t what, dnnl_memory_t *memory) {
  return dnnl_memory_create(memory, dnnl_primitive_desc_query_md(desc, what, 0), engine,
                            DNNL_MEMORY_NONE);
}

static dnnl_status_t create_product(struct dtr_library *library, const_dnnl_primitive_desc_t desc,
                                    struct dtr_library_product *product) {
  dnnl_engine_t engine = library->engine;
  dnnl_status_t status = create_memory(engine, desc, dnnl_query_src_md, &product->a);
  if (status == dnnl_success)
    status = create_memory(engine, desc, dnnl_query_weights_md, &product->b);
  if (status == dnnl_success)
    status = create_memory(engine, desc, dnnl_query_dst_md, &product->c);
  if (status == dnnl_success)
    status = create_memory(engine, desc, dnnl_query_scratchpad_md, &product->scratch);
  if (status == dnnl_success)
    status = dnnl_primitive_create(&product->primitive, desc);
  return status;
}

/* False with a reason in `why`. */
static bool add_product(struct dtr_library *library, uint32_t index, int kind, char *why,
                        size_t why_size) {
  const struct dtr_gemm *gemm = &library->calls.gemms[index];
  dnnl_primitive_desc_t desc;
  int64_t rows = rows_of(gemm, kind);
  if (rows == 0)
    return true;
  struct dtr_library_product *product = &library->products[index][kind];
  dnnl_status_t status = describe_product(library->engine, gemm, rows, &product->packed, &desc);
  if (status != dnnl_success) {
    snprintf(why, why_size,
             "oneDNN refuses the matrix product %u of %lld x %lld x %lld (status %d)", index,
             (long long)rows, (long long)gemm->n, (long long)gemm->k, (int)status);
    return false;
  }
  int64_t need = product->packed + scratch_of(desc);
  bool fits = need <= gemm->scratch_bytes;
  status = fits ? create_product(library, desc, product) : dnnl_success;
  dnnl_primitive_desc_destroy(desc);
  if (!fits)
    snprintf(
        why, why_size,
        "oneDNN needs %lld bytes of scratch for the matrix product %u, the plan has %lld: it was "
        "planned with another version of the library or on another processor",
        (long long)need, index, (long long)gemm->scratch_bytes);
  else if (status != dnnl_success)
    snprintf(why, why_size, "oneDNN cannot create the matrix product %u (status %d)", index,
             (int)status);
  return fits && status == dnnl_success;
}

static bool fill(struct dtr_library *library, const char *cpu_arch, char *why, size_t why_size) {
  if (!dtr_library_limit_isa(cpu_arch)) {
    snprintf(why, why_size, "oneDNN cannot be limited to %s any more", cpu_arch);
    return false;
  }
  if (dnnl_engine_create(&library->engine, dnnl_cpu, 0) != dnnl_success ||
      dnnl_stream_create(&library->stream, library->engine, dnnl_stream_default_flags) !=
          dnnl_success) {
    snprintf(why, why_size, "oneDNN cannot open the processor");
    return false;
  }
  for (uint32_t i = 0; i < library->calls.gemm_count; i++)
    for (int kind = 0; kind < TILE_KINDS; kind++)
      if (!add_product(library, i, kind, why, why_size))
        return false;
  return dtr_library_add_windows(library, why, why_size);
}

struct dtr_library_calls dtr_library_calls_of(const struct dtr_program *program) {
  return (struct dtr_library_calls){.gemms = program->gemms,
                                    .gemm_count = program->gemm_count,
                                    .windows = program->windows,
                                    .window_count = program->window_count};
}

struct dtr_library *dtr_library_new(const struct dtr_library_calls *calls, const char *cpu_arch,
                                    char *why, size_t why_size) {
  dtr_library_enter_thread();
  struct dtr_library *library = calloc(1, sizeof *library);
  if (library) {
    library->calls = *calls;
    library->products = calloc(calls->gemm_count + 1, sizeof *library->products);
    library->windows = calloc(calls->window_count + 1, sizeof *library->windows);
  }
  if (!library || !library->products || !library->windows) {
    snprintf(why, why_size, "no memory for the library's handles");
    dtr_library_free(library);
    return NULL;
  }
  bool any = calls->gemm_count > 0 || calls->window_count > 0;
  if (any && !fill(library, cpu_arch, why, why_size)) {
    dtr_library_free(library);
    return NULL;
  }
  return library;
}

void dtr_library_free(struct dtr_library *library) {
  if (!library)
    return;
  for (uint32_t i = 0; library->products && i < library->calls.gemm_count; i++)
    for (int kind = 0; kind < TILE_KINDS; kind++) {
      struct dtr_library_product *product = &library->products[i][kind];
      dnnl_memory_t memories[] = {product->a, product->b, product->c, product->scratch};
      for (size_t j = 0; j < sizeof memories / sizeof *memories; j++)
        if (memories[j])
          dnnl_memory_destroy(memories[j]);
      if (product->primitive)
        dnnl_primitive_destroy(product->primitive);
    }
  if (library->windows)
    dtr_library_free_windows(library);
  if (library->stream)
    dnnl_stream_destroy(library->stream);
  if (library->engine)
    dnnl_engine_destroy(library->engine);
  free(library->products);
  free(library->windows);
  free(library);
}

/* The first `columns` of each stored row, without gaps. */
static void pack(const float *a, int64_t rows, int64_t columns, int64_t leading, float *into) {
  for (int64_t i = 0; i < rows; i++)
    memcpy(into + i * columns, a + i * leading, (size_t)columns * sizeof *into);
}

int64_t dtr_library_gemm_tiles(const struct dtr_gemm *gemm) {
  return gemm->batch * gemm->row_tiles;
}

int dtr_library_gemm(struct dtr_library *library, uint32_t gemm, int64_t tile, const char *a,
                     const char *b, char *c, char *scratch) {
  const struct dtr_gemm *g = &library->calls.gemms[gemm];
  int64_t entry = g->row_tiles == 1 ? tile : tile / g->row_tiles;
  int64_t row = (tile - entry * g->row_tiles) * g->tile_rows;
  bool last = g->m - row < g->tile_rows;
  struct dtr_library_product *product = &library->products[gemm][last ? TILE_LAST : TILE_WHOLE];
  const float *first_a =
      (const float *)a + entry * g->stride_a + (g->transpose_a ? row : row * g->k);
  const float *first_b = (const float *)b + entry * g->stride_b;
  float *first_c = (float *)c + entry * g->stride_c + row * g->n;
  if (product->packed > 0) {
    pack(first_a, g->k, last ? g->m - row : g->tile_rows, g->m, (float *)scratch);
    first_a = (const float *)scratch;
  }
  dnnl_memory_set_data_handle(product->a, (void *)first_a);
  dnnl_memory_set_data_handle(product->b, (void *)first_b);
  dnnl_memory_set_data_handle(product->c, first_c);
  dnnl_memory_set_data_handle(product->scratch, scratch + product->packed);
  dnnl_exec_arg_t args[] = {{DNNL_ARG_SRC, product->a},
                            {DNNL_ARG_WEIGHTS, product->b},
                            {DNNL_ARG_DST, product->c},
                            {DNNL_ARG_SCRATCHPAD, product->scratch}};
  return (int)dnnl_primitive_execute(product->primitive, library->stream, 4, args);
}
