#include "tests/unit/prove/plan_case.h"

#include "compiler/build/build.h"
#include "compiler/grad/grad.h"
#include "compiler/ir/sparse.h"
#include "compiler/opt/opt.h"
#include "compiler/place/place.h"
#include "compiler/schedule/schedule.h"
#include "compiler/sema/sema.h"
#include "grammar/parse.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

// `a.w` has three blocks, so that it can be cut, and so has the sparse `tok.table`.
static const char *const network =
    "import std.layers { dense, embedding }\n"
    "import std.losses { softmax_cross_entropy }\n"
    "import std.optimizers { sgd, momentum, adam, clip_by_global_norm }\n"
    "layer centred(x: f32[N, C]) -> f32[N, C] {\n"
    "  state mean_of: f32[C] ~ zeros()\n"
    "  m = mean(x, axis = 0)\n"
    "  update mean_of = 0.9 * mean_of + 0.1 * m\n"
    "  return x - (if training then m else mean_of)\n"
    "}\n"
    "model net(x: f32[B, 300], label: i32[B]) {\n"
    "  near = label |> tok: embedding(vocab = 2000, dim = 20)\n"
    "  h = x |> norm: centred() |> a: dense(out = 128, act = relu)\n"
    "  y = (h |> b: dense(out = 10)) + (near |> c: dense(out = 10))\n"
    "  loss = mean(softmax_cross_entropy(y, label))\n"
    "  metric accuracy = mean(argmax(y) == label)\n"
    "}\n";

static struct dtg_model *read_model(struct dtg_ctx *ctx, int shards, const char *optimizer,
                                    const char *strategy) {
  uint32_t file;
  const char *root = getenv("DTG_SOURCE_DIR");
  const char *source = dtg_arena_printf(
      &ctx->arena,
      "%sdata d = table(x = random_normal([512, 300]), label = random_int([512], high = 10))\n"
      "train {\n  model = net\n  data = d\n  steps = 2\n  batch = %d\n  shards = %d\n"
      "  evaluate = every(steps = 1, data = d)\n"
      "  optimizer = %s\n}\nstrategy s { %s }\n",
      network, 4 * shards, shards, optimizer, strategy);
  struct dtg_sema_options options = {
      .std_dir = dtg_arena_printf(&ctx->arena, "%s/stdlib-models", root ? root : ".")};
  assert_true(
      dtg_source_add(&ctx->sources, &ctx->diags, "test.dtg", source, strlen(source), &file));
  struct dtg_ast_file *ast = dtg_parse(ctx, file);
  return dtg_diags_failed(&ctx->diags) ? NULL : dtg_sema(ctx, ast, &options);
}

static void run_stages(struct plan_case *made) {
  static const char *const inputs[] = {"x", "label"};
  struct dtg_schedule_options options = {.inputs = inputs, .input_count = 2};
  made->module = dtg_build(&made->ctx, made->model);
  if (!made->module || dtg_diags_failed(&made->ctx.diags))
    return;
  assert_true(dtg_grad(&made->ctx, made->module));
  dtg_grad_sparse(made->module);
  dtg_opt(&made->ctx, made->module);
  uint32_t trouble;
  assert_true(dtg_sparse_decide(made->module, &trouble));
  made->replication = dtg_replicate(&made->ctx, made->model, &made->cluster, made->module);
  if (!made->replication || !dtg_place(&made->ctx, made->replication))
    return;
  options.shards = made->replication->shards / made->replication->replicas;
  made->plan = dtg_schedule(&made->ctx, made->module, &options);
  made->partition = dtg_partition(&made->ctx, made->replication);
  assert_non_null(made->plan);
}

void plan_case_open(struct plan_case *made, int shards, const char *optimizer, const char *strategy,
                    const char *cluster) {
  memset(made, 0, sizeof *made);
  dtg_ctx_init(&made->ctx);
  if (dtg_cluster_inline(&made->ctx, cluster, "x86-64-v2", &made->cluster)) {
    made->model = read_model(&made->ctx, shards, optimizer, strategy);
    if (made->model)
      run_stages(made);
  }
  if (made->partition || dtg_diags_failed(&made->ctx.diags))
    return;
  fail_msg("no result and no error");
}

void plan_case_close(struct plan_case *made) {
  dtg_ctx_free(&made->ctx);
}
