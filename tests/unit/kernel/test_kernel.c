// Kernel IR alone: its text, what the verifier refuses, and what the interpreter computes.
#include "compiler/base/arena.h"
#include "compiler/base/strbuf.h"
#include "compiler/ir/kernel.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>

#include <setjmp.h>

#include <cmocka.h>

struct fixture {
  struct dtg_arena arena;
  struct dtg_strbuf text;
  struct cg_kernel *kernel;
  struct cg_builder b;
};

static void open_fixture(struct fixture *f, const char *name) {
  *f = (struct fixture){0};
  dtg_arena_init(&f->arena);
  f->kernel = cg_kernel_new(&f->arena, name, "a test", DTG_SPAN_NONE);
  cg_builder_init(&f->b, f->kernel);
}

static void close_fixture(struct fixture *f) {
  dtg_strbuf_free(&f->text);
  dtg_arena_free(&f->arena);
}

static struct cg_address at(uint32_t buffer, uint32_t loop, int64_t coef) {
  struct cg_address address = {.buffer = buffer, .dynamic = CG_NO_VALUE};
  if (coef) {
    address.term_count = 1;
    address.terms[0] = (struct cg_term){loop, coef};
  }
  return address;
}

static void valid(struct fixture *f) {
  if (!cg_kernel_verify(f->kernel, &f->text))
    fail_msg("%s", dtg_strbuf_text(&f->text));
}

static void refused(struct fixture *f, const char *reason) {
  assert_false(cg_kernel_verify(f->kernel, &f->text));
  assert_string_equal(dtg_strbuf_text(&f->text), reason);
}

// Every form that the text has.
static void make_all_forms(struct fixture *f) {
  struct cg_builder *b = &f->b;
  uint32_t x = cg_buffer_add(f->kernel, "x", DTG_F32, 1000, true, false);
  uint32_t rows = cg_buffer_add(f->kernel, "rows", DTG_I32, 10, true, false);
  uint32_t y = cg_buffer_add(f->kernel, "y", DTG_F32, 1000, false, true);
  uint32_t best = cg_buffer_add(f->kernel, "best", DTG_I64, 10, false, true);
  f->kernel->buffers.data[y].may_alias = x;
  uint32_t outer = cg_loop_begin(b, CG_LOOP_PARALLEL, 10);
  struct cg_address address = at(rows, outer, 1);
  uint32_t row = cg_cast(b, cg_load(b, &address), DTG_I64);
  uint32_t limit = cg_const_i(b, DTG_I64, 9);
  uint32_t inside = cg_binary(b, CG_LE, row, limit);
  cg_check(b, inside, cg_index(b, outer), row, 7);
  row = cg_binary(b, CG_MIN, row, limit);
  uint32_t acc = cg_acc_new(b, CG_ACCUMULATE_ARGMAX, DTG_F32);
  uint32_t inner = cg_loop_begin(b, CG_LOOP_VECTOR, 100);
  address = at(x, inner, 1);
  address.dynamic = row;
  address.dynamic_coef = 100;
  uint32_t value = cg_load(b, &address);
  cg_acc_add(b, acc, value, cg_index(b, inner));
  cg_loop_end(b);
  address = at(best, outer, 1);
  cg_store(b, &address, cg_acc_read(b, acc));
  uint32_t block = cg_loop_begin_block(b, CG_LOOP_SEQUENTIAL, 7, outer, 65);
  address = at(x, block, -2);
  address.base = 130;
  uint32_t element = cg_load(b, &address);
  cg_fma(b, element, cg_const_f(b, DTG_F32, 0.1), value);
  cg_loop_end(b);
  cg_loop_end(b);
}

static const char *const all_forms_text = "kernel all_forms ; a test\n"
                                          "  b0 x f32[1000] read\n"
                                          "  b1 rows i32[10] read\n"
                                          "  b2 y f32[1000] written alias b0\n"
                                          "  b3 best i64[10] written\n"
                                          "  %0 = parallel 10 {\n"
                                          "    %1 = load b1[%0] : i32\n"
                                          "    %2 = cast %1 : i64\n"
                                          "    %3 = const 9 : i64\n"
                                          "    %4 = le %2, %3 : bool\n"
                                          "    %5 = index %0 : i64\n"
                                          "    check %4, %5, %2 code 7\n"
                                          "    %7 = min %2, %3 : i64\n"
                                          "    %8 = acc_new argmax : f32\n"
                                          "    %9 = vector 100 {\n"
                                          "      %10 = load b0[%9 + 100*%7] : f32\n"
                                          "      %11 = index %9 : i64\n"
                                          "      acc_add %8, %10, %11\n"
                                          "    }\n"
                                          "    %13 = acc_read %8 : i64\n"
                                          "    store %13 -> b3[%0]\n"
                                          "    %15 = sequential 7 block %0 of 65 {\n"
                                          "      %16 = load b0[-2*%15 + 130] : f32\n"
                                          "      %17 = const 0.1 : f32\n"
                                          "      %18 = fma %16, %17, %10 : f32\n"
                                          "    }\n"
                                          "  }\n";

static void test_text(void **state) {
  (void)state;
  struct fixture f;
  open_fixture(&f, "all_forms");
  make_all_forms(&f);
  cg_kernel_print(f.kernel, &f.text);
  assert_string_equal(dtg_strbuf_text(&f.text), all_forms_text);
  close_fixture(&f);
}

// %18 of the text above uses a value of a loop that is closed.
static void test_scope(void **state) {
  (void)state;
  struct fixture f;
  open_fixture(&f, "all_forms");
  make_all_forms(&f);
  refused(&f, "kernel all_forms, %18 (fma): operand %10 is not visible here");
  close_fixture(&f);
}

// y[coef * i + base] = op(x[i], x[i]) in a loop of `kind` and `extent`.
static void make_simple(struct fixture *f, enum cg_loop_kind kind, int64_t extent, int64_t coef,
                        int64_t base, enum cg_op op, enum dtg_dtype dtype) {
  uint32_t x = cg_buffer_add(f->kernel, "x", dtype, 8, true, false);
  uint32_t y = cg_buffer_add(f->kernel, "y", dtype, 8, false, true);
  cg_loop_begin(&f->b, CG_LOOP_PARALLEL, 1);
  uint32_t loop = cg_loop_begin(&f->b, kind, extent);
  struct cg_address address = at(x, loop, 1);
  uint32_t value = cg_load(&f->b, &address);
  value = cg_binary(&f->b, op, value, value);
  address = at(y, loop, coef);
  address.base = base;
  cg_store(&f->b, &address, value);
  cg_loop_end(&f->b);
  cg_loop_end(&f->b);
}

static void test_addresses(void **state) {
  (void)state;
  struct fixture f;
  open_fixture(&f, "k");
  make_simple(&f, CG_LOOP_VECTOR, 8, -1, 7, CG_ADD, DTG_F32);
  valid(&f);
  close_fixture(&f);
  open_fixture(&f, "k");
  make_simple(&f, CG_LOOP_VECTOR, 8, 1, 1, CG_ADD, DTG_F32);
  refused(&f, "kernel k, %4 (store): elements 1 to 8 of buffer y, which has 8");
  close_fixture(&f);
  open_fixture(&f, "k");
  make_simple(&f, CG_LOOP_VECTOR, 9, 0, 0, CG_ADD, DTG_F32);
  refused(&f, "kernel k, %2 (load): elements 0 to 8 of buffer x, which has 8");
  close_fixture(&f);
  open_fixture(&f, "k");
  make_simple(&f, CG_LOOP_VECTOR, 8, INT64_MAX, 0, CG_ADD, DTG_F32);
  refused(&f, "kernel k, %4 (store): the address overflows");
  close_fixture(&f);
  open_fixture(&f, "k");
  make_simple(&f, CG_LOOP_VECTOR, 8, 0, 0, CG_ADD, DTG_F32);
  refused(&f, "kernel k, %4 (store): every iteration of a vector loop writes one element");
  close_fixture(&f);
}

static void test_types(void **state) {
  (void)state;
  struct fixture f;
  open_fixture(&f, "k");
  make_simple(&f, CG_LOOP_SEQUENTIAL, 8, 1, 0, CG_ADD, DTG_BF16);
  refused(&f, "kernel k, %3 (add): operands of type bf16");
  close_fixture(&f);
  open_fixture(&f, "k");
  make_simple(&f, CG_LOOP_SEQUENTIAL, 8, 1, 0, CG_SHL, DTG_F32);
  refused(&f, "kernel k, %3 (shl): operands of type f32");
  close_fixture(&f);
  open_fixture(&f, "k");
  make_simple(&f, CG_LOOP_SEQUENTIAL, 8, 1, 0, CG_LT, DTG_F32);
  refused(&f, "kernel k, %4 (store): type bool, but buffer y holds f32");
  close_fixture(&f);
}

static void test_nests(void **state) {
  (void)state;
  struct fixture f;
  open_fixture(&f, "k");
  cg_loop_begin(&f.b, CG_LOOP_SEQUENTIAL, 3);
  refused(&f, "kernel k, %0 (loop): the parallel loop is the outermost and no other is");
  close_fixture(&f);
  open_fixture(&f, "k");
  cg_loop_begin(&f.b, CG_LOOP_PARALLEL, 3);
  cg_loop_begin(&f.b, CG_LOOP_VECTOR, 3);
  cg_loop_begin(&f.b, CG_LOOP_VECTOR, 3);
  refused(&f, "kernel k, %2 (loop): a vector loop inside a vector loop");
  close_fixture(&f);
  open_fixture(&f, "k");
  cg_loop_begin(&f.b, CG_LOOP_PARALLEL, 3);
  uint32_t vector = cg_loop_begin(&f.b, CG_LOOP_VECTOR, 3);
  cg_loop_begin_block(&f.b, CG_LOOP_SEQUENTIAL, 3, vector, 9);
  refused(&f, "kernel k, %2 (loop): blocks of a loop that is not open or is a vector loop");
  close_fixture(&f);
}

static void test_accumulators(void **state) {
  (void)state;
  struct fixture f;
  open_fixture(&f, "k");
  cg_loop_begin(&f.b, CG_LOOP_PARALLEL, 3);
  uint32_t acc = cg_acc_new(&f.b, CG_ACCUMULATE_ARGMIN, DTG_F32);
  cg_loop_begin(&f.b, CG_LOOP_VECTOR, 3);
  cg_acc_add(&f.b, acc, cg_const_f(&f.b, DTG_F32, 1), CG_NO_VALUE);
  cg_loop_end(&f.b);
  refused(&f, "kernel k, %4 (acc_add): an index is missing");
  close_fixture(&f);
  open_fixture(&f, "k");
  cg_loop_begin(&f.b, CG_LOOP_PARALLEL, 3);
  acc = cg_acc_new(&f.b, CG_ACCUMULATE_SUM, DTG_F32);
  cg_loop_begin(&f.b, CG_LOOP_VECTOR, 3);
  cg_acc_read(&f.b, acc);
  cg_loop_end(&f.b);
  refused(&f, "kernel k, %3 (acc_read): read outside the scope of the accumulator");
  close_fixture(&f);
}

// out[i] = op(x[i], y[i]) on `count` elements.
static void run_binary(enum cg_op op, enum dtg_dtype dtype, const void *x, const void *y, void *out,
                       int64_t count) {
  struct fixture f;
  open_fixture(&f, "k");
  uint32_t a = cg_buffer_add(f.kernel, "a", dtype, count, true, false);
  uint32_t b = cg_buffer_add(f.kernel, "b", dtype, count, true, false);
  uint32_t c = cg_buffer_add(f.kernel, "c", dtype, count, false, true);
  uint32_t loop = cg_loop_begin(&f.b, CG_LOOP_PARALLEL, count);
  struct cg_address address = at(a, loop, 1);
  uint32_t left = cg_load(&f.b, &address);
  address = at(b, loop, 1);
  uint32_t right = cg_load(&f.b, &address);
  address = at(c, loop, 1);
  cg_store(&f.b, &address, cg_binary(&f.b, op, left, right));
  cg_loop_end(&f.b);
  valid(&f);
  void *buffers[] = {(void *)x, (void *)y, out};
  cg_kernel_interpret(f.kernel, buffers);
  close_fixture(&f);
}

static void test_integer_meaning(void **state) {
  (void)state;
  const int32_t x[] = {7, -7, 7, INT32_MIN, INT32_MIN, 5, 1, -1};
  const int32_t y[] = {2, 2, 0, -1, 1, -3, 33, 4};
  int32_t out[8];
  const int32_t quotients[] = {3, -3, 0, INT32_MIN, INT32_MIN, -1, 0, 0};
  run_binary(CG_DIV, DTG_I32, x, y, out, 8);
  assert_memory_equal(out, quotients, sizeof out);
  const int32_t remainders[] = {1, -1, 0, 0, 0, 2, 1, -1};
  run_binary(CG_REM, DTG_I32, x, y, out, 8);
  assert_memory_equal(out, remainders, sizeof out);
  const int32_t shifted[] = {28, -28, 7, 0, 0, -1610612736, 2, -16};
  run_binary(CG_SHL, DTG_I32, x, y, out, 8);
  assert_memory_equal(out, shifted, sizeof out);
  const int32_t down[] = {1, 0x3ffffffe, 7, 1, 0x40000000, 0, 0, 0x0fffffff};
  run_binary(CG_SHR, DTG_I32, x, y, out, 8);
  assert_memory_equal(out, down, sizeof out);
  const uint8_t small[] = {250, 3}, large[] = {10, 200};
  uint8_t bytes[2];
  run_binary(CG_ADD, DTG_U8, small, large, bytes, 2);
  assert_int_equal(bytes[0], 4);
  assert_int_equal(bytes[1], 203);
  run_binary(CG_MAX, DTG_U8, small, large, bytes, 2);
  assert_int_equal(bytes[0], 250);
}

static void test_float_meaning(void **state) {
  (void)state;
  const float x[] = {1.0f, NAN, 2.0f, -0.0f, 5.5f};
  const float y[] = {NAN, 1.0f, 3.0f, 0.0f, -2.0f};
  float out[5];
  run_binary(CG_MAX, DTG_F32, x, y, out, 5);
  assert_true(isnan(out[0]) && isnan(out[1]));
  assert_true(out[2] == 3.0f && signbit(out[3]) && out[4] == 5.5f);
  run_binary(CG_REM, DTG_F32, x, y, out, 5);
  assert_true(out[2] == 2.0f && out[4] == 1.5f);
}

static void test_casts(void **state) {
  (void)state;
  struct fixture f;
  float in[] = {2.9f, -2.9f, 3e9f, -3e9f, NAN, 300.0f, 1.00390625f, 1.01171875f};
  int32_t integers[8];
  uint8_t bytes[8];
  uint16_t halves[8];
  open_fixture(&f, "k");
  uint32_t x = cg_buffer_add(f.kernel, "x", DTG_F32, 8, true, false);
  uint32_t i = cg_buffer_add(f.kernel, "i", DTG_I32, 8, false, true);
  uint32_t u = cg_buffer_add(f.kernel, "u", DTG_U8, 8, false, true);
  uint32_t h = cg_buffer_add(f.kernel, "h", DTG_BF16, 8, false, true);
  uint32_t loop = cg_loop_begin(&f.b, CG_LOOP_PARALLEL, 8);
  struct cg_address address = at(x, loop, 1);
  uint32_t value = cg_load(&f.b, &address);
  address = at(i, loop, 1);
  cg_store(&f.b, &address, cg_cast(&f.b, value, DTG_I32));
  address = at(u, loop, 1);
  cg_store(&f.b, &address, cg_cast(&f.b, value, DTG_U8));
  address = at(h, loop, 1);
  cg_store(&f.b, &address, cg_cast(&f.b, value, DTG_BF16));
  cg_loop_end(&f.b);
  valid(&f);
  void *buffers[] = {in, integers, bytes, halves};
  cg_kernel_interpret(f.kernel, buffers);
  const int32_t want_integers[] = {2, -2, INT32_MAX, INT32_MIN, 0, 300, 1, 1};
  const uint8_t want_bytes[] = {2, 0, 255, 0, 0, 255, 1, 1};
  assert_memory_equal(integers, want_integers, sizeof integers);
  assert_memory_equal(bytes, want_bytes, sizeof bytes);
  assert_int_equal(halves[6], 0x3f80); // a tie goes to the even neighbour, down here
  assert_int_equal(halves[7], 0x3f82); // and up here
  assert_int_equal(halves[4] & 0x7fc0, 0x7fc0);
  close_fixture(&f);
}

// Known answers of the generator's authors (Random123, kat_vectors).
static void test_philox(void **state) {
  (void)state;
  static const struct {
    uint64_t key, low, high;
    uint32_t words[4];
  } answers[] = {
      {0, 0, 0, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
      {UINT64_MAX, UINT64_MAX, UINT64_MAX, {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
      {0x299f31d0a4093822,
       0x85a308d3243f6a88,
       0x0370734413198a2e,
       {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
  };
  for (size_t i = 0; i < sizeof answers / sizeof *answers; i++) {
    struct fixture f;
    uint32_t words[4];
    open_fixture(&f, "k");
    uint32_t out = cg_buffer_add(f.kernel, "out", DTG_I32, 4, false, true);
    cg_loop_begin(&f.b, CG_LOOP_PARALLEL, 1);
    uint32_t key = cg_const_i(&f.b, DTG_I64, (int64_t)answers[i].key);
    uint32_t low = cg_const_i(&f.b, DTG_I64, (int64_t)answers[i].low);
    uint32_t high = cg_const_i(&f.b, DTG_I64, (int64_t)answers[i].high);
    for (int word = 0; word < 4; word++) {
      struct cg_address address = at(out, 0, 0);
      address.base = word;
      cg_store(&f.b, &address, cg_philox(&f.b, key, low, high, word));
    }
    cg_loop_end(&f.b);
    valid(&f);
    void *buffers[] = {words};
    cg_kernel_interpret(f.kernel, buffers);
    assert_memory_equal(words, answers[i].words, sizeof words);
    close_fixture(&f);
  }
}

// index[0] = argmax, index[1] = argmin of three values.
static void run_arg(const float values[3], int64_t index[2]) {
  struct fixture f;
  open_fixture(&f, "k");
  uint32_t x = cg_buffer_add(f.kernel, "x", DTG_F32, 3, true, false);
  uint32_t out = cg_buffer_add(f.kernel, "out", DTG_I64, 2, false, true);
  cg_loop_begin(&f.b, CG_LOOP_PARALLEL, 1);
  uint32_t most = cg_acc_new(&f.b, CG_ACCUMULATE_ARGMAX, DTG_F32);
  uint32_t least = cg_acc_new(&f.b, CG_ACCUMULATE_ARGMIN, DTG_F32);
  uint32_t loop = cg_loop_begin(&f.b, CG_LOOP_VECTOR, 3);
  struct cg_address address = at(x, loop, 1);
  uint32_t value = cg_load(&f.b, &address), position = cg_index(&f.b, loop);
  cg_acc_add(&f.b, most, value, position);
  cg_acc_add(&f.b, least, value, position);
  cg_loop_end(&f.b);
  address = at(out, 0, 0);
  cg_store(&f.b, &address, cg_acc_read(&f.b, most));
  address.base = 1;
  cg_store(&f.b, &address, cg_acc_read(&f.b, least));
  cg_loop_end(&f.b);
  valid(&f);
  void *buffers[] = {(void *)values, index};
  cg_kernel_interpret(f.kernel, buffers);
  close_fixture(&f);
}

static void test_arg(void **state) {
  (void)state;
  int64_t index[2];
  run_arg((const float[]){1, 2, 2}, index);
  assert_int_equal(index[0], 1);
  assert_int_equal(index[1], 0);
  run_arg((const float[]){1, NAN, 3}, index);
  assert_int_equal(index[0], 1);
  assert_int_equal(index[1], 1);
  run_arg((const float[]){-INFINITY, -INFINITY, -INFINITY}, index);
  assert_int_equal(index[0], 0);
  assert_int_equal(index[1], 0);
}

static void test_fault(void **state) {
  (void)state;
  struct fixture f;
  open_fixture(&f, "k");
  uint32_t x = cg_buffer_add(f.kernel, "x", DTG_I64, 4, true, false);
  uint32_t loop = cg_loop_begin(&f.b, CG_LOOP_PARALLEL, 4);
  struct cg_address address = at(x, loop, 1);
  uint32_t value = cg_load(&f.b, &address);
  uint32_t fits = cg_binary(&f.b, CG_LT, value, cg_const_i(&f.b, DTG_I64, 10));
  cg_check(&f.b, fits, cg_index(&f.b, loop), value, 3);
  cg_loop_end(&f.b);
  valid(&f);
  int64_t values[] = {1, 10, 2, 99}, fault[3] = {0, 0, 0};
  void *buffers[] = {values};
  cg_kernel_interpret_fault(f.kernel, buffers, fault);
  assert_int_equal(fault[0], 3);
  assert_int_equal(fault[1], 1);
  assert_int_equal(fault[2], 10);
  close_fixture(&f);
}

static void test_gemm(void **state) {
  (void)state;
  struct fixture f;
  open_fixture(&f, "k");
  cg_buffer_add(f.kernel, "a", DTG_F32, 6, true, false);
  cg_buffer_add(f.kernel, "b", DTG_F32, 6, true, false);
  cg_buffer_add(f.kernel, "c", DTG_F32, 4, true, true);
  f.kernel->kind = CG_KERNEL_GEMM;
  f.kernel->gemm = (struct cg_gemm){.batch = 1,
                                    .m = 2,
                                    .n = 2,
                                    .k = 3,
                                    .transpose_b = true,
                                    .beta = 1,
                                    .tile_rows = 2,
                                    .row_tiles = 1};
  f.kernel->tiles = 1;
  valid(&f);
  float a[] = {1, 2, 3, 4, 5, 6}, b[] = {1, 0, 1, 0, 2, 0}, c[] = {10, 20, 30, 40};
  void *buffers[] = {a, b, c};
  cg_kernel_interpret(f.kernel, buffers);
  const float want[] = {14, 24, 40, 50};
  assert_memory_equal(c, want, sizeof c);
  cg_kernel_print(f.kernel, &f.text);
  assert_non_null(strstr(dtg_strbuf_text(&f.text),
                         "  gemm batch 1 m 2 n 2 k 3 strides 0 0 0 transpose_b beta 1.0 tiles 1 "
                         "of 2 rows\n"));
  f.kernel->gemm.m = 3;
  dtg_strbuf_clear(&f.text);
  refused(&f, "kernel k: gemm reaches past a buffer, or one is not f32");
  close_fixture(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_text),
      cmocka_unit_test(test_scope),
      cmocka_unit_test(test_addresses),
      cmocka_unit_test(test_types),
      cmocka_unit_test(test_nests),
      cmocka_unit_test(test_accumulators),
      cmocka_unit_test(test_integer_meaning),
      cmocka_unit_test(test_float_meaning),
      cmocka_unit_test(test_casts),
      cmocka_unit_test(test_philox),
      cmocka_unit_test(test_arg),
      cmocka_unit_test(test_fault),
      cmocka_unit_test(test_gemm),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
