// The proof on families and the unfolded one agree, over many small clusters and strategies.
#include "tests/unit/prove/plan_case.h"

#include "compiler/base/strbuf.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static const char *const strategies[] = {
    "",
    "replicate in_graph over cpu params on cpu:0",
    "replicate in_graph over cpu params mirrored",
    "replicate in_graph over worker params on ps",
    "replicate in_graph over worker params on ps balance bytes split >= 32KiB",
    "replicate in_graph over worker params mirrored",
    "replicate between_graph over worker params on ps balance round_robin",
    "replicate between_graph over worker params on ps balance bytes split >= 32KiB",
    "replicate between_graph over worker params mirrored",
    "replicate between_graph over worker params sharded",
    "replicate between_graph over worker params \"a.**\" on ps params mirrored",
    "replicate between_graph over worker, in_graph over cpu params on ps",
    "replicate between_graph over worker, in_graph over cpu params mirrored",
    "replicate between_graph over worker params on ps update async",
    "replicate between_graph over worker params on ps update sync backup 1",
};
static const char *const clusters[] = {
    "ps=1,worker=1",       "ps=2,worker=2",       "ps=3,worker=3",
    "ps=1,worker=4",       "ps=2,worker=2:cpu=2", "ps=1:cpu=2,worker=3:cpu=2",
    "worker=2:cpu=2,ps=1", "ps=2,worker=6",
};
static const struct {
  int shards;
  const char *optimizer;
} trainings[] = {
    {1, "sgd(lr = 0.1)"},
    {6, "momentum(lr = 0.1, mu = 0.9)"},
    {8, "adam(lr = 0.01)\n  gradient = clip_by_global_norm(1.0)"},
    {12, "sgd(lr = 0.1)\n  gradient = clip_by_global_norm(1.0)"},
};

static bool both_agree(const char *strategy, const char *cluster, size_t training) {
  struct plan_case made;
  struct dtg_strbuf folded = {0}, unfolded = {0};
  plan_case_open(&made, trainings[training].shards, trainings[training].optimizer, strategy,
                 cluster);
  if (!made.model) { // what is refused is refused by the cluster
    dtg_diags_render(&made.ctx.diags, &folded);
    fail_msg("%s", dtg_strbuf_text(&folded));
  }
  bool planned = made.partition != NULL;
  if (planned && (!dtg_prove(made.partition, made.plan, &folded) ||
                  !dtg_prove_unfolded(made.partition, made.plan, &unfolded)))
    fail_msg("%s on %s with %d shards: on families \"%s\", unfolded \"%s\"", strategy, cluster,
             trainings[training].shards, dtg_strbuf_text(&folded), dtg_strbuf_text(&unfolded));
  dtg_strbuf_free(&folded);
  dtg_strbuf_free(&unfolded);
  plan_case_close(&made);
  return planned;
}

static void proofs_agree(void **state) {
  (void)state;
  size_t planned = 0;
  for (size_t s = 0; s < sizeof strategies / sizeof *strategies; s++)
    for (size_t c = 0; c < sizeof clusters / sizeof *clusters; c++)
      for (size_t t = 0; t < sizeof trainings / sizeof *trainings; t++)
        planned += both_agree(strategies[s], clusters[c], t);
  printf("%zu plans proved both ways\n", planned);
  assert_true(planned >= 200);
}

// Chief-only work is what the file asks for.
static void extras(void **state) {
  (void)state;
  struct plan_case made;
  struct dtg_strbuf text = {0};
  plan_case_open(&made, 4, "sgd(lr = 0.1)", "replicate between_graph over worker params mirrored",
                 "worker=2");
  assert_non_null(made.partition);
  dtg_prove_extras(made.partition, &text);
  assert_string_equal(dtg_strbuf_text(&text),
                      "begins the run: initial values, or those of a checkpoint, for every owner\n"
                      "orders evaluations and combines their values\n"
                      "writes progress and the log\n"
                      "finishes the tree of loss and metrics\n");
  dtg_strbuf_free(&text);
  plan_case_close(&made);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(proofs_agree), cmocka_unit_test(extras)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
