/* Random loop bodies: as a `scan` they compute what they compute as a `for`, which is unrolled.
 *
 * Forward the bits are the same; gradients agree with those of the unrolled loop in double
 * precision, and the fused program with both. */
#include "loop_text.h"

#include "compiler/base/strbuf.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { BODIES = 60 };

static uint64_t first_seed = 1;
static uint64_t body_count = BODIES;

struct draw {
  uint64_t state;
  struct dtg_strbuf out;
  int locals; /* names v0, v1, ... that can be used */
  bool inner; /* inside a loop in the loop */
};

static unsigned below(struct draw *draw, unsigned limit) {
  draw->state = draw->state * 6364136223846793005u + 1442695040888963407u;
  return (unsigned)(draw->state >> 33) % limit;
}

static void expression(struct draw *draw, int depth);

static void put_leaf(struct draw *draw) {
  static const char *const leaves[] = {
      "h", "c", "x[:, t]", "x[:, t]", "x[:, 5 - t]", "x[:, 2 * t + 1]", "xs[t]", "k"};
  if (draw->locals > 0 && below(draw, 3) == 0)
    dtg_strbuf_printf(&draw->out, "v%u", below(draw, (unsigned)draw->locals));
  else
    dtg_strbuf_puts(&draw->out, leaves[below(draw, sizeof leaves / sizeof *leaves)]);
}

static void put(struct draw *draw, const char *before, int depth, const char *after) {
  dtg_strbuf_puts(&draw->out, before);
  expression(draw, depth);
  dtg_strbuf_puts(&draw->out, after);
}

/* f32[B, 4], of moderate size. */
static void expression(struct draw *draw, int depth) {
  switch (depth <= 0 ? 0 : below(draw, 11)) {
  case 0:
  case 1:
    put_leaf(draw);
    break;
  case 2:
    put(draw, "tanh(", depth - 1, ")");
    break;
  case 3:
    put(draw, "0.5 * (", depth - 1, "");
    put(draw, " + ", depth - 1, ")");
    break;
  case 4:
    put(draw, "(", depth - 1, "");
    put(draw, " * sigmoid(", depth - 1, "))");
    break;
  case 5:
    put(draw, "(", depth - 1, " @ w)");
    break;
  case 6:
    put(draw, "(b + ", depth - 1, ")");
    break;
  case 7:
    put(draw, "(", depth - 1, " @ transpose(w))");
    break;
  case 8:
    put(draw, "(", depth - 1, " - mean(");
    put(draw, "", depth - 1, ", axis = 1, keepdims = true))");
    break;
  case 9:
    put(draw, "(0.1 * cast(t, f32) * ", depth - 1, ")");
    break;
  default:
    put(draw, "softmax(", depth - 1, ")");
    break;
  }
}

static void statement(struct draw *draw, const char *name) {
  dtg_strbuf_printf(&draw->out, "    %s = ", name);
  expression(draw, 3);
  dtg_strbuf_putc(&draw->out, '\n');
}

static void inner_loop(struct draw *draw) {
  int locals = draw->locals;
  dtg_strbuf_puts(&draw->out, "    q = 0.5 * h\n    LOOP s in 0..3 {\n");
  put(draw, "    q = 0.5 * (q + ", 2, ")\n");
  if (below(draw, 2))
    put(draw, "    q = tanh(q + x[:, s] * ", 1, ")\n");
  dtg_strbuf_puts(&draw->out, "    collect qs = q\n    }\n    h = h + qs[1] * q\n");
  draw->locals = locals;
}

static void body(struct draw *draw) {
  unsigned count = 1 + below(draw, 3);
  for (unsigned i = 0; i < count; i++) {
    char name[16];
    snprintf(name, sizeof name, "v%d", draw->locals);
    statement(draw, name);
    draw->locals++;
    if (below(draw, 3) == 0)
      statement(draw, below(draw, 2) ? "h" : "c");
  }
  if (below(draw, 4) == 0)
    inner_loop(draw);
  dtg_strbuf_printf(&draw->out, "    c = 0.5 * (c + v%u)\n", below(draw, (unsigned)draw->locals));
  put(draw, "    h = tanh(h + ", 2, ")\n");
  put(draw, "    total = total + mean(", 2, ")\n");
  put(draw, "    collect us = h * ", 2, "\n");
  put(draw, "    collect ws = ", 2, "\n");
}

static void model(struct draw *draw) {
  int64_t batch = 1 + below(draw, 3);
  dtg_strbuf_printf(&draw->out,
                    "layer loop(x: f32[B, 6, 4], h0: f32[B, 4]) {\n"
                    "  param w: f32[4, 4] ~ zeros()\n  param b: f32[4] ~ zeros()\n"
                    "  h = h0\n  c = zeros([B, 4])\n  k = tanh(x[:, 0] @ w)\n  total = 0.0\n"
                    "  xs = transpose(x, [1, 0, 2])\n"
                    "  LOOP t in 0..3 %s{\n",
                    "");
  body(draw);
  dtg_strbuf_printf(
      &draw->out,
      "  }\n  return mean(h * c) + total + mean(us * us) + mean(ws[2] * b + ws[0] @ w) * "
      "mean(k)\n}\n"
      "model m(x: f32[B, 6, 4], h: f32[B, 4]) {\n"
      "  p = loop: loop(x, h)\n  loss = p\n  output p = p\n}\n"
      "optimizer o() { param = param - grad }\n"
      "data d = table(x = random_normal([8, 6, 4], seed = 1), h = random_normal([8, "
      "4], seed = 2))\n"
      "train { model = m data = d batch = %d shards = 1 steps = 1 optimizer = o() }\n",
      (int)batch);
}

static const struct dtg_root *root_at(const struct dtg_graph *graph, size_t index) {
  return &graph->roots.data[index];
}

static void compare(uint64_t seed, const char *text, const struct dtg_graph *one,
                    const struct dtg_graph *other, const struct dtg_ref_tensor *left,
                    const struct dtg_ref_tensor *right) {
  assert_int_equal(one->roots.len, other->roots.len);
  for (size_t i = 0; i < one->roots.len; i++) {
    const struct dtg_ref_tensor *a = &left[root_at(one, i)->node];
    const struct dtg_ref_tensor *b = &right[root_at(other, i)->node];
    assert_true(dtg_type_equal(&a->type, &b->type));
    for (int64_t k = 0; k < dtg_shape_count(&a->type.shape); k++) {
      if (!(fabs(a->data[k] - b->data[k]) <= 1e-9 * (1 + fabs(b->data[k]))))
        fail_msg("seed %llu: root `%s`[%lld] is %.15g as a scan, %.15g as a for\n%s",
                 (unsigned long long)seed, root_at(one, i)->name, (long long)k, a->data[k],
                 b->data[k], text);
    }
  }
}

static void check_program(uint64_t seed, const char *text, struct loop_bench *bench, bool fused,
                          uint64_t *leaf_seed) {
  struct dtg_arena *arena = &bench->text.ctx.arena;
  struct dtg_plan *plan = loop_bench_plan(bench, fused);
  struct plan_memory *memory = plan_run(arena, plan, DTG_PLAN_TRAIN, plan_leaf, leaf_seed);
  const struct dtg_graph *graph = plan->module->train;
  const struct dtg_ref_tensor *expected = loop_bench_values(bench, graph, leaf_seed);
  for (size_t i = 0; i < graph->roots.len; i++) {
    const struct dtg_ref_tensor *wanted = &expected[root_at(graph, i)->node];
    const double *found = plan_run_root(arena, memory, i);
    double scale = 1;
    for (int64_t k = 0; k < dtg_shape_count(&wanted->type.shape); k++)
      scale = fmax(scale, fabs(wanted->data[k]));
    for (int64_t k = 0; k < dtg_shape_count(&wanted->type.shape); k++) {
      if (!(fabs(found[k] - wanted->data[k]) <= 1e-3 * scale))
        fail_msg("seed %llu, %s: root `%s`[%lld] is %.9g, not %.9g\n%s", (unsigned long long)seed,
                 fused ? "fused" : "unfused", root_at(graph, i)->name, (long long)k, found[k],
                 wanted->data[k], text);
    }
  }
}

static const void *forward_bits(struct loop_bench *bench, uint64_t *leaf_seed, size_t *size) {
  struct dtg_plan *plan = loop_bench_plan(bench, false);
  struct plan_memory *memory =
      plan_run(&bench->text.ctx.arena, plan, DTG_PLAN_EVAL, plan_leaf, leaf_seed);
  return plan_run_root_bytes(memory, 0, size);
}

static void test_bodies(void **state) {
  (void)state;
  for (uint64_t seed = first_seed; seed < first_seed + body_count; seed++) {
    struct draw draw = {.state = seed * 0x9E3779B97F4A7C15u};
    struct loop_bench rolled, unrolled;
    uint64_t leaf_seed = seed;
    size_t size, same;
    model(&draw);
    const char *text = dtg_strbuf_text(&draw.out);
    loop_bench_open(&rolled, text, "scan");
    loop_bench_open(&unrolled, text, "for");
    compare(seed, text, rolled.module->train, unrolled.module->train,
            loop_bench_values(&rolled, rolled.module->train, &leaf_seed),
            loop_bench_values(&unrolled, unrolled.module->train, &leaf_seed));
    const void *bits = forward_bits(&rolled, &leaf_seed, &size);
    const void *wanted = forward_bits(&unrolled, &leaf_seed, &same);
    if (size != same || memcmp(bits, wanted, size) != 0)
      fail_msg("seed %llu: other bits than unrolled\n%s", (unsigned long long)seed, text);
    check_program(seed, text, &rolled, false, &leaf_seed);
    check_program(seed, text, &rolled, true, &leaf_seed);
    loop_bench_close(&rolled);
    loop_bench_close(&unrolled);
    dtg_strbuf_free(&draw.out);
  }
}

/* usage: test_scan_random [FIRST_SEED [COUNT]] */
int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_bodies)};
  if (argc > 1)
    first_seed = strtoull(argv[1], NULL, 10);
  if (argc > 2)
    body_count = strtoull(argv[2], NULL, 10);
  printf("seeds %llu to %llu\n", (unsigned long long)first_seed,
         (unsigned long long)(first_seed + body_count - 1));
  return cmocka_run_group_tests(tests, NULL, NULL);
}
