#include "tests/unit/replicate/strategy_text.h"

#include "compiler/base/strbuf.h"
#include "compiler/build/build.h"
#include "compiler/grad/grad.h"
#include "compiler/opt/opt.h"
#include "compiler/place/place.h"
#include "compiler/sema/sema.h"
#include "grammar/parse.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const char *const network =
    "import std.layers { dense }\n"
    "import std.losses { softmax_cross_entropy }\n"
    "import std.optimizers { sgd, momentum, adam, clip_by_global_norm }\n"
    "layer centred(x: f32[N, C]) -> f32[N, C] {\n"
    "  state mean_of: f32[C] ~ zeros()\n"
    "  m = mean(x, axis = 0)\n"
    "  update mean_of = 0.9 * mean_of + 0.1 * m\n"
    "  return x - (if training then m else mean_of)\n"
    "}\n"
    "model net(x: f32[B, 784], label: i32[B]) {\n"
    "  y = x |> norm: centred() |> a: dense(out = 256, act = relu) |> b: dense(out = 10)\n"
    "  loss = mean(softmax_cross_entropy(y, label))\n"
    "}\n";

static const char *source_of(struct dtg_ctx *ctx, const char *train, const char *strategy) {
  return dtg_arena_printf(
      &ctx->arena,
      "%sdata d = table(x = random_normal([512, 784]), label = random_int([512], low = 0, high = "
      "10))\n"
      "train {\n  model = net\n  data = d\n  steps = 2\n%s}\nstrategy s { %s }\n",
      network, train, strategy);
}

static struct dtg_model *read_model(struct dtg_ctx *ctx, const char *source) {
  uint32_t file;
  const char *root = getenv("DTG_SOURCE_DIR");
  struct dtg_sema_options options = {
      .std_dir = dtg_arena_printf(&ctx->arena, "%s/stdlib-models", root ? root : ".")};
  assert_true(
      dtg_source_add(&ctx->sources, &ctx->diags, "test.dtg", source, strlen(source), &file));
  struct dtg_ast_file *ast = dtg_parse(ctx, file);
  return dtg_diags_failed(&ctx->diags) ? NULL : dtg_sema(ctx, ast, &options);
}

static void must(bool good, struct dtg_strbuf *why) {
  if (!good)
    fail_msg("%s", dtg_strbuf_text(why));
}

static void run_stages(struct strategy_text *text) {
  struct dtg_strbuf why = {0};
  text->module = dtg_build(&text->ctx, text->model);
  if (!text->module || dtg_diags_failed(&text->ctx.diags))
    return;
  assert_true(dtg_grad(&text->ctx, text->module));
  dtg_opt(&text->ctx, text->module);
  text->replication = dtg_replicate(&text->ctx, text->model, &text->cluster, text->module);
  if (!text->replication)
    return;
  must(dtg_replication_verify(text->replication, &why), &why);
  if (!dtg_place(&text->ctx, text->replication))
    return;
  must(dtg_place_verify(text->replication, &why), &why);
  text->partition = dtg_partition(&text->ctx, text->replication);
  must(dtg_partition_verify(text->partition, &why), &why);
}

void strategy_open(struct strategy_text *text, const char *train, const char *strategy,
                   const char *cluster) {
  struct dtg_strbuf messages = {0};
  memset(text, 0, sizeof *text);
  dtg_ctx_init(&text->ctx);
  if (dtg_cluster_inline(&text->ctx, cluster, "x86-64-v2", &text->cluster)) {
    text->model = read_model(&text->ctx, source_of(&text->ctx, train, strategy));
    if (text->model)
      run_stages(text);
  }
  dtg_diags_render(&text->ctx.diags, &messages);
  if (!text->partition && !dtg_diags_failed(&text->ctx.diags))
    fail_msg("no result and no error:\n%s", dtg_strbuf_text(&messages));
  dtg_strbuf_free(&messages);
}

void strategy_close(struct strategy_text *text) {
  dtg_ctx_free(&text->ctx);
}

uint32_t strategy_device(const struct strategy_text *text, const char *name) {
  struct dtg_arena arena = {0};
  uint32_t count = dtg_cluster_device_count(&text->cluster), device = 0;
  while (device < count &&
         strcmp(dtg_cluster_device_name(&arena, &text->cluster, device), name) != 0)
    device++;
  dtg_arena_free(&arena);
  assert_true(device < count);
  return device;
}

void strategy_expect(struct strategy_text *text, const char *message, const char *hint) {
  struct dtg_strbuf seen = {0};
  bool found = false;
  for (size_t i = 0; i < text->ctx.diags.list.len; i++) {
    const struct dtg_diag *diag = text->ctx.diags.list.data[i];
    found |= diag->severity == DTG_ERROR && strcmp(diag->message, message) == 0 &&
             (!hint || (diag->hint && strcmp(diag->hint, hint) == 0));
  }
  dtg_diags_render(&text->ctx.diags, &seen);
  if (!found)
    fail_msg("expected: %s\nhint: %s\ngot:\n%s", message, hint ? hint : "", dtg_strbuf_text(&seen));
  dtg_strbuf_free(&seen);
}

void strategy_slices(const struct strategy_text *text, struct dtg_strbuf *out) {
  const struct dtg_replication *r = text->replication;
  for (size_t i = 0; i < r->slices.len; i++) {
    const struct dtg_slice *s = &r->slices.data[i];
    dtg_strbuf_printf(out, "%s[%lld,%lld)@%u ", r->module->variables.data[s->variable].path,
                      (long long)s->first, (long long)(s->first + s->elements), s->owner);
  }
}
