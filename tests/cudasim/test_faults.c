/* Mistakes that a GPU makes in silence are found by the simulated one, with kernel, thread, line.
 */
#include "tests/cudasim/run_cuda.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define HEAD(name)                                                                  \
  ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry " name            \
  "(.param .u64 a)\n{\n.reg .pred %p<4>;\n.reg .b32 %r<8>;\n.reg .b64 %rd<8>;\n"    \
  ".shared .align 4 .b8 cells[256];\n"                                              \
  "ld.param.u64 %rd1, [a];\ncvta.to.global.u64 %rd2, %rd1;\nmov.u32 %r1, %tid.x;\n" \
  "mul.wide.u32 %rd3, %r1, 4;\nadd.s64 %rd4, %rd2, %rd3;\n"                         \
  "mov.u64 %rd5, cells;\nadd.s64 %rd6, %rd5, %rd3;\n"
#define TAIL "ret;\n}\n"

static const char *run(const char *body, uint32_t blocks, uint32_t threads, bool is_blank) {
  static uint32_t words[64];
  struct run_buffer buffer = {words, sizeof words, is_blank};
  memset(words, 0, sizeof words);
  return run_ptx(body, "k", blocks, threads, &buffer, 1);
}

#define CONTAINS(text, part)                        \
  do {                                              \
    const char *found = text;                       \
    if (!strstr(found, part))                       \
      fail_msg("\"%s\" lacks \"%s\"", found, part); \
  } while (0)

static void good_kernels_pass(void **state) {
  (void)state;
  assert_string_equal(run(HEAD("k") "st.global.u32 [%rd4], %r1;\n" TAIL, 1, 64, true), "");
  assert_string_equal(
      run(HEAD("k") "st.shared.u32 [%rd6], %r1;\nbar.sync 0;\n"
                    "ld.shared.u32 %r2, [cells+8];\nst.global.u32 [%rd4], %r2;\n" TAIL,
          1, 64, true),
      "");
}

static void accesses_outside_of_an_allocation(void **state) {
  (void)state;
  CONTAINS(run(HEAD("k") "st.global.u32 [%rd4], %r1;\n" TAIL, 1, 65, false),
           "kernel k, block 0, thread 64, line 17 (st): writes 4 bytes at 0x");
  CONTAINS(run(HEAD("k") "st.global.u32 [%rd4], %r1;\n" TAIL, 1, 65, false),
           "outside of every allocation (just past one)");
  CONTAINS(run(HEAD("k") "ld.global.u32 %r2, [%rd4+-4];\n" TAIL, 1, 1, false), "reads 4 bytes");
  CONTAINS(run(HEAD("k") "ld.shared.u32 %r2, [cells+256];\n" TAIL, 1, 1, false),
           "reads 4 bytes at 0x100, outside of every allocation");
}

static void misaligned_accesses(void **state) {
  (void)state;
  CONTAINS(run(HEAD("k") "ld.global.u32 %r2, [%rd4+2];\n" TAIL, 1, 1, false), "not aligned");
}

static void reads_of_what_was_never_written(void **state) {
  (void)state;
  CONTAINS(run(HEAD("k") "ld.global.u32 %r2, [%rd4];\n" TAIL, 1, 1, true),
           "reads 4 bytes at 0x7f0000000000, which were never written");
  CONTAINS(run(HEAD("k") "ld.shared.u32 %r2, [cells];\n" TAIL, 1, 1, false), "never written");
}

static void races_in_shared_and_global_memory(void **state) {
  (void)state;
  const char *missing_barrier = HEAD("k") "st.shared.u32 [%rd6], %r1;\n"
                                          "ld.shared.u32 %r2, [cells];\n" TAIL;
  CONTAINS(run(missing_barrier, 1, 64, false), "without a barrier between them");
  CONTAINS(run(HEAD("k") "st.global.u32 [%rd2], %r1;\n" TAIL, 1, 2, false),
           "thread 1, line 17 (st): writes byte 0x7f0000000000, which thread 0 of block 0 wrote");
  CONTAINS(
      run(HEAD("k") "st.global.u32 [%rd4], %r1;\n" TAIL, 2, 4, false),
      "block 1, thread 0, line 17 (st): writes byte 0x7f0000000000, which thread 0 of block 0");
  /* Within a warp, its own synchronisation is enough. */
  assert_string_equal(run(HEAD("k") "st.shared.u32 [%rd6], %r1;\nbar.warp.sync -1;\n"
                                    "ld.shared.u32 %r2, [cells];\n" TAIL,
                          1, 32, false),
                      "");
  CONTAINS(run(HEAD("k") "st.shared.u32 [%rd6], %r1;\nbar.warp.sync -1;\n"
                         "ld.shared.u32 %r2, [cells];\n" TAIL,
               1, 64, false),
           "without a barrier between them");
}

static void barriers_that_not_all_threads_reach(void **state) {
  (void)state;
  CONTAINS(run(HEAD("k") "setp.eq.u32 %p1, %r1, 3;\n@%p1 bra $end;\nbar.sync 0;\n$end:\n" TAIL, 1,
               8, false),
           "waits at a barrier that 1 threads of the block have ended without");
  CONTAINS(run(HEAD("k") "setp.eq.u32 %p1, %r1, 3;\n@%p1 bra $other;\nbar.sync 0;\nret;\n$other:\n"
                         "bar.sync 0;\n" TAIL,
               1, 8, false),
           "waits at this barrier, and thread 0 at the one of line 19");
}

static void shuffles_that_lanes_miss(void **state) {
  (void)state;
  CONTAINS(
      run(HEAD("k") "setp.eq.u32 %p1, %r1, 3;\n@%p1 bra $wait;\n"
                    "shfl.sync.bfly.b32 %r2|%p2, %r1, 1, 31, -1;\nret;\n$wait:\nbar.sync 0;\n" TAIL,
          1, 32, false),
      "never come");
}

static void text_that_is_no_ptx(void **state) {
  (void)state;
  assert_string_equal(run(HEAD("k") "frob.s32 %r1, %r2;\n" TAIL, 1, 1, false),
                      "line 17: unknown instruction `frob.s32`");
  assert_string_equal(run(HEAD("k") "add.s32 %r1, %r2, %r9;\n" TAIL, 1, 1, false),
                      "line 17: `%r9` is not known");
  assert_string_equal(run(HEAD("k") "bra $nowhere;\n" TAIL, 1, 1, false),
                      "line 20: no label `$nowhere` in k");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(good_kernels_pass),
      cmocka_unit_test(accesses_outside_of_an_allocation),
      cmocka_unit_test(misaligned_accesses),
      cmocka_unit_test(reads_of_what_was_never_written),
      cmocka_unit_test(races_in_shared_and_global_memory),
      cmocka_unit_test(barriers_that_not_all_threads_reach),
      cmocka_unit_test(shuffles_that_lanes_miss),
      cmocka_unit_test(text_that_is_no_ptx),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
