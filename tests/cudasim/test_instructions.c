/* Each instruction against its definition in NVIDIA's PTX manual, on chosen values. */
#include "tests/cudasim/run_cuda.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* `a`, `b`, `c`, `d` are 64-bit registers' worth of bits; the result is in %rd0. In the text %0 is
 * the result, %1 to %3 are the inputs, of the width of the case. */
struct instruction {
  const char *text; /* with R0 R1 R2 R3 as registers, P1 as a predicate */
  char width;       /* 'h' 16, 'w' 32, 'l' 64 bits, 'f' float, 'd' double */
  uint64_t a, b, c, want;
};

static uint32_t f(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}
static uint64_t d(double value) {
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

static const char *prefix(char width) {
  return width == 'h'   ? "%h"
         : width == 'w' ? "%w"
         : width == 'l' ? "%l"
         : width == 'f' ? "%f"
                        : "%d";
}

static void put_text(char *to, size_t size, const struct instruction *i) {
  size_t at = 0;
  for (const char *c = i->text; *c && at + 8 < size; c++)
    if (*c == 'R' && c[1] >= '0' && c[1] <= '3')
      at += (size_t)snprintf(to + at, size - at, "%s%c", prefix(i->width), *++c);
    else
      to[at++] = *c;
  to[at] = '\0';
}

static uint64_t run(const struct instruction *i) {
  char body[512], text[2048];
  uint64_t values[4] = {0, i->a, i->b, i->c};
  struct run_buffer buffer = {values, sizeof values, false};
  const char *type = i->width == 'h'   ? "u16"
                     : i->width == 'w' ? "u32"
                     : i->width == 'l' ? "u64"
                     : i->width == 'f' ? "f32"
                                       : "f64";
  put_text(body, sizeof body, i);
  const char *p = prefix(i->width);
  snprintf(text, sizeof text,
           ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 a)\n{\n"
           ".reg .pred %%p<4>;\n.reg .b16 %%h<8>;\n.reg .b32 %%w<8>;\n.reg .b64 %%l<8>;\n"
           ".reg .f32 %%f<8>;\n.reg .f64 %%d<8>;\n.reg .b64 %%base;\n"
           "ld.param.u64 %%base, [a];\n"
           "ld.global.%s %s1, [%%base+8];\nld.global.%s %s2, [%%base+16];\n"
           "ld.global.%s %s3, [%%base+24];\n%s\nst.global.%s [%%base], %s0;\nret;\n}\n",
           type, p, type, p, type, p, body, type, p);
  const char *error = run_ptx(text, "k", 1, 1, &buffer, 1);
  if (*error)
    fail_msg("%s: %s", i->text, error);
  return values[0];
}

static void check(const struct instruction *cases, size_t count) {
  for (size_t i = 0; i < count; i++) {
    uint64_t got = run(&cases[i]);
    if (got != cases[i].want)
      fail_msg("%s of %llx, %llx, %llx: want %llx, got %llx", cases[i].text,
               (unsigned long long)cases[i].a, (unsigned long long)cases[i].b,
               (unsigned long long)cases[i].c, (unsigned long long)cases[i].want,
               (unsigned long long)got);
  }
}
#define CHECK(cases) check(cases, sizeof cases / sizeof *cases)

static void integers(void **state) {
  (void)state;
  static const struct instruction cases[] = {
      {"add.s32 R0, R1, R2;", 'w', 0xffffffff, 2, 0, 1},
      {"sub.s64 R0, R1, R2;", 'l', 1, 2, 0, UINT64_MAX},
      {"mul.lo.s32 R0, R1, R2;", 'w', 0x10001, 0x10001, 0, 0x20001},
      {"mul.hi.u32 R0, R1, R2;", 'w', 0xffffffff, 0xffffffff, 0, 0xfffffffe},
      {"mul.hi.s32 R0, R1, R2;", 'w', 0xffffffff, 2, 0, 0xffffffff},
      {"mul.wide.s32 %l0, %w4, %w5; mov.u64 R0, %l0;", 'l', 0, 0, 0, 0},
      {"mad.lo.s32 R0, R1, R2, R3;", 'w', 3, 5, 7, 22},
      {"div.s32 R0, R1, R2;", 'w', (uint32_t)-7, 2, 0, (uint32_t)-3},
      {"rem.s32 R0, R1, R2;", 'w', (uint32_t)-7, 2, 0, (uint32_t)-1},
      {"div.u32 R0, R1, R2;", 'w', (uint32_t)-7, 2, 0, 0x7ffffffc},
      {"min.s32 R0, R1, R2;", 'w', (uint32_t)-7, 2, 0, (uint32_t)-7},
      {"min.u32 R0, R1, R2;", 'w', (uint32_t)-7, 2, 0, 2},
      {"max.s64 R0, R1, R2;", 'l', (uint64_t)-7, 2, 0, 2},
      {"neg.s32 R0, R1;", 'w', 5, 0, 0, (uint32_t)-5},
      {"abs.s32 R0, R1;", 'w', (uint32_t)-5, 0, 0, 5},
      {"and.b32 R0, R1, R2;", 'w', 0xf0f0, 0xff00, 0, 0xf000},
      {"or.b64 R0, R1, R2;", 'l', 0xf0f0, 0xff00, 0, 0xfff0},
      {"xor.b32 R0, R1, R2;", 'w', 0xf0f0, 0xff00, 0, 0x0ff0},
      {"not.b32 R0, R1;", 'w', 0xf0f0, 0, 0, 0xffff0f0f},
      {"shl.b32 R0, R1, 4;", 'w', 0xf0000001, 0, 0, 0x10},
      {"shl.b32 R0, R1, 32;", 'w', 1, 0, 0, 0},
      {"shr.u32 R0, R1, 4;", 'w', 0xf0000001, 0, 0, 0x0f000000},
      {"shr.s32 R0, R1, 4;", 'w', 0xf0000001, 0, 0, 0xff000000},
      {"shr.s32 R0, R1, 40;", 'w', 0xf0000001, 0, 0, 0xffffffff},
      {"clz.b32 R0, R1;", 'w', 0x00010000, 0, 0, 15},
      {"clz.b32 R0, R1;", 'w', 0, 0, 0, 32},
      {"popc.b32 R0, R1;", 'w', 0xf0f0, 0, 0, 8},
      {"brev.b32 R0, R1;", 'w', 1, 0, 0, 0x80000000},
      {"bfe.u32 R0, R1, 4, 8;", 'w', 0xabcd, 0, 0, 0xbc},
      {"bfe.s32 R0, R1, 4, 8;", 'w', 0xabcd, 0, 0, 0xffffffbc},
      {"bfi.b32 R0, R1, R2, 4, 8;", 'w', 0xee, 0xabcd, 0, 0xaeed},
      {"prmt.b32 R0, R1, R2, 0x5410;", 'w', 0x33221100, 0x77665544, 0, 0x55441100},
      {"shf.l.wrap.b32 R0, R1, R2, 8;", 'w', 0x11223344, 0x55667788, 0, 0x66778811},
      {"shf.r.wrap.b32 R0, R1, R2, 8;", 'w', 0x11223344, 0x55667788, 0, 0x88112233},
      {"add.cc.u32 R0, R1, R2; addc.u32 R0, 0, 0;", 'w', 0xffffffff, 1, 0, 1},
      {"sub.cc.u32 R0, R1, R2; subc.u32 R0, 5, 0;", 'w', 1, 2, 0, 4},
      {"mad.lo.cc.u32 R0, R1, R2, R3; madc.hi.u32 R0, R1, R2, 0;", 'w', 0x10000, 0x10000, 5, 1},
      {"add.s16 R0, R1, R2;", 'h', 0xffff, 2, 0, 1},
  };
  CHECK(cases);
}

static void comparisons_and_choices(void **state) {
  (void)state;
  const struct instruction cases[] = {
      {"setp.lt.s32 %p1, R1, R2; selp.b32 R0, 1, 0, %p1;", 'w', (uint32_t)-1, 0, 0, 1},
      {"setp.lt.u32 %p1, R1, R2; selp.b32 R0, 1, 0, %p1;", 'w', (uint32_t)-1, 0, 0, 0},
      {"setp.hi.u32 %p1, R1, R2; selp.b32 R0, 1, 0, %p1;", 'w', (uint32_t)-1, 0, 0, 1},
      {"setp.eq.s32 %p1|%p2, R1, R2; selp.b32 R0, 1, 0, %p2;", 'w', 3, 3, 0, 0},
      {"setp.eq.s32 %p2, R1, 4; setp.ne.or.s32 %p1, R1, R2, %p2; selp.b32 R0, 1, 0, %p1;", 'w', 4,
       4, 0, 1},
      {"setp.eq.s32 %p1, R1, 3; @!%p1 bra $no; mov.u32 R0, 7; bra $end; $no: mov.u32 R0, 8; $end:",
       'w', 3, 0, 0, 7},
      {"setp.lt.f32 %p1, R1, R2; selp.f32 R0, R1, R2, %p1;", 'f', f(1), f(2), 0, f(1)},
      {"setp.lt.f32 %p1, R1, R2; selp.f32 R0, 0f3F800000, 0f00000000, %p1;", 'f', 0x7fc00000, f(2),
       0, 0},
      {"setp.ltu.f32 %p1, R1, R2; selp.f32 R0, 0f3F800000, 0f00000000, %p1;", 'f', 0x7fc00000, f(2),
       0, f(1)},
      {"setp.nan.f32 %p1, R1, R2; selp.f32 R0, 0f3F800000, 0f00000000, %p1;", 'f', 0x7fc00000, f(2),
       0, f(1)},
      {"setp.neu.f64 %p1, R1, R2; selp.f64 R0, R2, R1, %p1;", 'd', d(1), d(2), 0, d(2)},
      {"setp.gt.s32 %p1, R1, 0; setp.lt.s32 %p2, R1, 9; and.pred %p3, %p1, %p2; not.pred %p3, %p3; "
       "selp.b32 R0, 1, 0, %p3;",
       'w', 5, 0, 0, 0},
  };
  CHECK(cases);
}

static void floats(void **state) {
  (void)state;
  const struct instruction cases[] = {
      {"add.rn.f32 R0, R1, R2;", 'f', f(0.1f), f(0.2f), 0, f(0.1f + 0.2f)},
      {"add.rz.f32 R0, R1, R2;", 'f', f(1), f(0x1.8p-24f), 0, f(1)},
      {"add.rp.f32 R0, R1, R2;", 'f', f(1), f(0x1p-30f), 0, f(0x1.000002p0f)},
      {"sub.f32 R0, R1, R2;", 'f', f(1), f(3), 0, f(-2)},
      {"mul.rn.f32 R0, R1, R2;", 'f', f(1.1f), f(1.1f), 0, f(1.1f * 1.1f)},
      {"mul.ftz.f32 R0, R1, R2;", 'f', f(0x1p-100f), f(0x1p-30f), 0, 0},
      {"fma.rn.f32 R0, R1, R2, R3;", 'f', f(0x1.000002p0f), f(0x1.000002p0f), f(-1), f(0x1p-22f)},
      {"fma.rm.f32 R0, R1, R2, R3;", 'f', f(1), f(-0x1p-30f), f(1), f(0x1.fffffep-1f)},
      {"div.rn.f32 R0, R1, R2;", 'f', f(1), f(3), 0, f(1.0f / 3)},
      {"sqrt.rn.f32 R0, R1;", 'f', f(2), 0, 0, f(0x1.6a09e6p0f)},
      {"rcp.rn.f32 R0, R1;", 'f', f(3), 0, 0, f(1.0f / 3)},
      {"ex2.approx.ftz.f32 R0, R1;", 'f', f(3), 0, 0, f(8)},
      {"lg2.approx.f32 R0, R1;", 'f', f(8), 0, 0, f(3)},
      {"neg.f32 R0, R1;", 'f', f(3), 0, 0, f(-3)},
      {"abs.f32 R0, R1;", 'f', f(-3), 0, 0, f(3)},
      {"min.f32 R0, R1, R2;", 'f', 0x7fc00000, f(2), 0, f(2)},
      {"max.f32 R0, R1, R2;", 'f', f(-1), f(2), 0, f(2)},
      {"copysign.f32 R0, R1, R2;", 'f', f(-1), f(2), 0, f(-2)},
      {"add.rn.f64 R0, R1, R2;", 'd', d(0.1), d(0.2), 0, d(0.1 + 0.2)},
      {"fma.rn.f64 R0, R1, R2, R3;", 'd', d(3), d(5), d(7), d(22)},
      {"div.rn.f64 R0, R1, R2;", 'd', d(1), d(3), 0, d(1.0 / 3)},
      {"sqrt.rn.f64 R0, R1;", 'd', d(9), 0, 0, d(3)},
  };
  CHECK(cases);
}

static void conversions(void **state) {
  (void)state;
  const struct instruction cases[] = {
      {"cvt.rn.f32.s32 R0, %w4;", 'f', 0, 0, 0, 0},
      {"mov.b32 %w4, R1; cvt.rn.f32.s32 R0, %w4;", 'f', (uint32_t)-5, 0, 0, f(-5)},
      {"mov.b32 %w4, R1; cvt.rn.f32.u32 R0, %w4;", 'f', (uint32_t)-1, 0, 0, f(0x1p32f)},
      {"cvt.rzi.s32.f32 %w4, R1; cvt.rn.f32.s32 R0, %w4;", 'f', f(-2.7f), 0, 0, f(-2)},
      {"cvt.rni.s32.f32 %w4, R1; cvt.rn.f32.s32 R0, %w4;", 'f', f(2.5f), 0, 0, f(2)},
      {"cvt.rmi.f32.f32 R0, R1;", 'f', f(-2.1f), 0, 0, f(-3)},
      {"cvt.sat.f32.f32 R0, R1;", 'f', f(1.5f), 0, 0, f(1)},
      {"cvt.f64.f32 %d4, R1; cvt.rn.f32.f64 R0, %d4;", 'f', f(1.1f), 0, 0, f(1.1f)},
      {"cvt.rzi.s64.f64 %l4, R1; cvt.rn.f64.s64 R0, %l4;", 'd', d(-1e18), 0, 0, d(-1e18)},
      {"cvt.rzi.s32.f64 %w4, R1; cvt.rn.f64.s32 R0, %w4;", 'd', d(1e12), 0, 0, d(2147483647)},
      {"cvt.s64.s32 %l4, R1; cvt.u32.u64 R0, %l4;", 'w', (uint32_t)-5, 0, 0, (uint32_t)-5},
      {"cvt.u16.u32 %h4, R1; cvt.u32.u16 R0, %h4;", 'w', 0x12345678, 0, 0, 0x5678},
      {"cvt.s8.s32 %h4, R1; cvt.s32.s16 R0, %h4;", 'w', 0x7f, 0, 0, 0x7f},
      {"mov.b64 {%w4, %w5}, R1; mov.b64 R0, {%w5, %w4};", 'l', 0x1122334455667788, 0, 0,
       0x5566778811223344},
      {"mov.b64 R0, R1;", 'd', d(2.5), 0, 0, d(2.5)},
  };
  CHECK(cases);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(integers),
      cmocka_unit_test(comparisons_and_choices),
      cmocka_unit_test(floats),
      cmocka_unit_test(conversions),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
