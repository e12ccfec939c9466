// What the random kernels do not reach: streamed stores, buffers on each other's memory, the exact
// fault record, lengths around every vector boundary, and what the object contains.
#include "compiled.h"

#include "compiler/base/arena.h"
#include "compiler/base/strbuf.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>

#include <cmocka.h>

static struct cg_address at(uint32_t buffer, uint32_t loop, int64_t coef) {
  struct cg_address address = {
      .buffer = buffer, .term_count = 1, .terms = {{loop, coef}}, .dynamic = CG_NO_VALUE};
  return address;
}

// y = 3 x + 1 in blocks of `extent`; `alias`: y may lie on x.
static struct cg_kernel *make_affine(struct dtg_arena *arena, const char *name, int64_t count,
                                     int64_t extent, bool alias) {
  struct cg_kernel *kernel = cg_kernel_new(arena, name, "", DTG_SPAN_NONE);
  struct cg_builder b;
  cg_builder_init(&b, kernel);
  uint32_t x = cg_buffer_add(kernel, "x", DTG_F32, count, true, false);
  uint32_t y = cg_buffer_add(kernel, "y", DTG_F32, count, false, true);
  if (alias)
    kernel->buffers.data[y].may_alias = x;
  uint32_t block = cg_loop_begin(&b, CG_LOOP_PARALLEL, (count + extent - 1) / extent);
  uint32_t loop = cg_loop_begin_block(&b, CG_LOOP_VECTOR, extent, block, count);
  struct cg_address address = at(x, loop, 1);
  uint32_t value = cg_load(&b, &address);
  value = cg_binary(&b, CG_MUL, value, cg_const_f(&b, DTG_F32, 3));
  value = cg_binary(&b, CG_ADD, value, cg_const_f(&b, DTG_F32, 1));
  address = at(y, loop, 1);
  cg_store(&b, &address, value);
  cg_loop_end(&b);
  cg_loop_end(&b);
  return kernel;
}

static void check_affine(dtr_kernel_fn *function, const struct cg_kernel *kernel, bool in_place) {
  size_t count = (size_t)kernel->buffers.data[0].elements;
  struct dtr_fault fault = {0, 0, 0};
  float *x = cg_guarded_new(count * sizeof *x);
  float *y = in_place ? x : cg_guarded_new(count * sizeof *y);
  for (size_t i = 0; i < count; i++)
    x[i] = (float)(i % 1000);
  char *buffers[] = {(char *)x, (char *)y};
  function(buffers, &fault, 0, kernel->tiles);
  for (size_t i = 0; i < count; i++)
    if (y[i] != 3 * (float)(i % 1000) + 1)
      fail_msg("%s: element %zu is %g", kernel->name, i, (double)y[i]);
  cg_guarded_free(x, count * sizeof *x);
  if (!in_place)
    cg_guarded_free(y, count * sizeof *y);
}

static bool text_has(const struct cg_kernel *kernel, const char *arch, const char *what) {
  struct dtg_arena arena;
  struct dtg_strbuf why = {0};
  struct cg_llvm_output output;
  dtg_arena_init(&arena);
  assert_true(cg_llvm_emit(&arena, &kernel, 1, arch, 2, &output, &why));
  bool found = strstr(output.text, what) != NULL;
  dtg_arena_free(&arena);
  return found;
}

// 32 MiB and more go past the caches, in whole aligned vectors only, and a fence follows.
static void test_streamed(void **state) {
  (void)state;
  struct dtg_arena arena;
  dtg_arena_init(&arena);
  int64_t large = (8 << 20) + 5;
  const struct cg_kernel *kernels[] = {
      make_affine(&arena, "streamed", large, 4096, false),
      make_affine(&arena, "unaligned", large, 4099, false),
      make_affine(&arena, "on_input", large, 4096, true),
      make_affine(&arena, "small", 4096, 4096, false),
  };
  const char *native = cg_llvm_native_arch();
  assert_true(text_has(kernels[0], native, "!nontemporal"));
  assert_true(text_has(kernels[0], native, "sfence"));
  for (int i = 1; i < 4; i++)
    assert_false(text_has(kernels[i], native, "!nontemporal"));
  for (const char *const *arch = cg_runnable_archs(); *arch; arch++) {
    struct cg_compiled compiled = cg_compile(kernels, 4, *arch);
    for (int i = 0; i < 4; i++)
      check_affine(cg_compiled_find(&compiled, kernels[i]->name), kernels[i], i == 2);
    cg_compiled_free(&compiled);
  }
  dtg_arena_free(&arena);
}

// Every length up to past a group of the widest vectors, whole and in blocks.
static void test_lengths(void **state) {
  (void)state;
  enum { LENGTHS = 70 };
  struct dtg_arena arena;
  const struct cg_kernel *kernels[2 * LENGTHS];
  dtg_arena_init(&arena);
  for (int i = 0; i < LENGTHS; i++) {
    kernels[2 * i] =
        make_affine(&arena, dtg_arena_printf(&arena, "whole%d", i + 1), i + 1, i + 1, i & 1);
    kernels[2 * i + 1] =
        make_affine(&arena, dtg_arena_printf(&arena, "cut%d", i + 1), i + 1, 1 + i * 2 / 3, i & 1);
  }
  for (const char *const *arch = cg_runnable_archs(); *arch; arch++) {
    struct cg_compiled compiled = cg_compile(kernels, 2 * LENGTHS, *arch);
    for (int i = 0; i < 2 * LENGTHS; i++)
      check_affine(cg_compiled_find(&compiled, kernels[i]->name), kernels[i], i / 2 & 1);
    cg_compiled_free(&compiled);
  }
  dtg_arena_free(&arena);
}

// check(x[i] < 100) in blocks of 50 over 130 elements.
static struct cg_kernel *make_check(struct dtg_arena *arena) {
  struct cg_kernel *kernel = cg_kernel_new(arena, "check", "", DTG_SPAN_NONE);
  struct cg_builder b;
  cg_builder_init(&b, kernel);
  uint32_t x = cg_buffer_add(kernel, "x", DTG_U8, 130, true, false);
  uint32_t block = cg_loop_begin(&b, CG_LOOP_PARALLEL, 3);
  uint32_t loop = cg_loop_begin_block(&b, CG_LOOP_VECTOR, 50, block, 130);
  struct cg_address address = at(x, loop, 1);
  uint32_t value = cg_cast(&b, cg_load(&b, &address), DTG_I64);
  uint32_t fits = cg_binary(&b, CG_LT, value, cg_const_i(&b, DTG_I64, 100));
  cg_check(&b, fits, cg_index(&b, loop), value, DTR_FAULT_RANGE);
  cg_loop_end(&b);
  cg_loop_end(&b);
  return kernel;
}

// Wherever it lies, the first bad element is the one recorded, and a record is never overwritten.
static void test_fault_record(void **state) {
  (void)state;
  struct dtg_arena arena;
  dtg_arena_init(&arena);
  const struct cg_kernel *kernel = make_check(&arena);
  for (const char *const *arch = cg_runnable_archs(); *arch; arch++) {
    struct cg_compiled compiled = cg_compile(&kernel, 1, *arch);
    dtr_kernel_fn *function = cg_compiled_find(&compiled, "check");
    for (int bad = 0; bad < 130; bad++) {
      unsigned char *x = cg_guarded_new(130);
      struct dtr_fault fault = {0, 0, 0};
      char *buffers[] = {(char *)x};
      memset(x, 99, 130);
      function(buffers, &fault, 0, 3);
      assert_int_equal(fault.code, 0);
      x[bad] = 200;
      x[129] = bad == 129 ? 200 : 255;
      function(buffers, &fault, 0, 3);
      assert_int_equal(fault.code, DTR_FAULT_RANGE);
      assert_int_equal(fault.position, bad);
      assert_int_equal(fault.value, 200);
      x[0] = 150;
      function(buffers, &fault, 0, 3);
      assert_int_equal(fault.value, 200);
      cg_guarded_free(x, 130);
    }
    cg_compiled_free(&compiled);
  }
  dtg_arena_free(&arena);
}

// GEMM kernels are the host program's business; a kernel that is not valid is refused with its
// reason.
static void test_refusals(void **state) {
  (void)state;
  struct dtg_arena arena;
  struct dtg_strbuf why = {0};
  struct cg_llvm_output output;
  dtg_arena_init(&arena);
  struct cg_kernel *kernel = make_affine(&arena, "k", 64, 64, false);
  kernel->buffers.data[1].elements = 63;
  assert_false(cg_llvm_emit(&arena, (const struct cg_kernel *const[]){kernel}, 1, "native", 2,
                            &output, &why));
  assert_string_equal(dtg_strbuf_text(&why),
                      "kernel k, %7 (store): elements 0 to 63 of buffer y, which has 63");
  dtg_strbuf_free(&why);
  dtg_arena_free(&arena);
}

// On the widest level vectors are used in full, without calls into libm.
static void test_code(void **state) {
  (void)state;
  struct dtg_arena arena;
  dtg_arena_init(&arena);
  const struct cg_kernel *kernel = make_affine(&arena, "k", 4096, 4096, false);
  assert_true(text_has(kernel, "x86-64-v4", "load <16 x float>"));
  assert_true(text_has(kernel, "x86-64-v3", "load <8 x float>"));
  assert_true(text_has(kernel, "x86-64", "load <4 x float>"));
  assert_false(text_has(kernel, "x86-64-v3", "llvm.fmuladd"));
  assert_false(text_has(kernel, "x86-64-v3", "llvm.fma"));
  dtg_arena_free(&arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_streamed),     cmocka_unit_test(test_lengths),
      cmocka_unit_test(test_fault_record), cmocka_unit_test(test_refusals),
      cmocka_unit_test(test_code),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
