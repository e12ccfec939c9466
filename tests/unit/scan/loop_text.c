#include "loop_text.h"

#include "codegen/lower/lower.h"
#include "compiler/base/strbuf.h"
#include "compiler/grad/grad.h"
#include "compiler/ir/graph_text.h"
#include "compiler/ir/verify.h"
#include "compiler/opt/opt.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static void verify(const struct dtg_module *module, const char *stage) {
  struct dtg_strbuf why = {0};
  struct dtg_module alone = *module;
  alone.update = NULL;
  if (!dtg_module_verify(&alone, DTG_VERIFY_BUILD, &why))
    fail_msg("after %s: %s", stage, dtg_strbuf_text(&why));
  dtg_strbuf_free(&why);
}

void loop_bench_open(struct loop_bench *bench, const char *text, const char *word) {
  struct dtg_strbuf source = {0};
  const char *at;
  memset(bench, 0, sizeof *bench);
  for (; (at = strstr(text, "LOOP")); text = at + 4) {
    dtg_strbuf_printf(&source, "%.*s%s", (int)(at - text), text, word);
  }
  dtg_strbuf_puts(&source, text);
  model_text_build(&bench->text, dtg_strbuf_text(&source));
  if (!bench->text.module)
    fail_msg("%s", dtg_strbuf_text(&source));
  model_text_expect(&bench->text, NULL);
  dtg_strbuf_free(&source);
  bench->module = bench->text.module;
  bench->forward_nodes = bench->module->train->nodes.len;
  if (!dtg_grad(&bench->text.ctx, bench->module))
    model_text_expect(&bench->text, NULL);
  verify(bench->module, "grad");
}

void loop_bench_close(struct loop_bench *bench) {
  model_text_close(&bench->text);
}

const struct dtg_ref_tensor *loop_bench_values(struct loop_bench *bench,
                                               const struct dtg_graph *graph, uint64_t *seed) {
  return dtg_evaluate(graph, &bench->text.ctx.arena, plan_leaf, seed);
}

struct dtg_plan *loop_bench_plan(struct loop_bench *bench, bool fused) {
  struct dtg_ctx *ctx = &bench->text.ctx;
  struct dtg_module *module = DTG_NEW(&ctx->arena, struct dtg_module);
  static const struct dtg_schedule_options options;
  struct dtg_strbuf why = {0};
  *module = *bench->module;
  module->tail = module->update = NULL;
  module->train =
      fused ? dtg_opt_graph(module->train) : dtg_opt_unfused(dtg_opt_dce(module->train));
  module->eval = fused ? dtg_opt_graph(module->eval) : dtg_opt_unfused(dtg_opt_dce(module->eval));
  verify(module, "opt");
  struct dtg_plan *plan = dtg_schedule(ctx, module, &options);
  if (!dtg_plan_verify(plan, &why))
    fail_msg("%s", dtg_strbuf_text(&why));
  dtg_strbuf_free(&why);
  cg_lower(ctx, plan);
  return plan;
}
