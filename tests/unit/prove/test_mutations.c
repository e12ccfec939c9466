// Plans that are wrong by construction: both proofs refuse each one, and the one on families gives
// the right reason.
#include "tests/unit/prove/mutations.h"

#include "compiler/base/strbuf.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { SEEDS = 6, WANTED = 1000 };

static const struct {
  int shards;
  const char *optimizer, *strategy, *cluster;
} cases[] = {
    {8, "momentum(lr = 0.1, mu = 0.9)", "", "worker=1"},
    {8, "momentum(lr = 0.1, mu = 0.9)", "replicate in_graph over cpu params on cpu:0",
     "worker=1:cpu=4"},
    {6, "sgd(lr = 0.1)", "replicate in_graph over worker params on ps", "ps=2,worker=2"},
    {12, "adam(lr = 0.01)\n  gradient = clip_by_global_norm(1.0)",
     "replicate in_graph over worker params on ps balance bytes split >= 32KiB", "ps=3,worker=4"},
    {12, "adam(lr = 0.01)\n  gradient = clip_by_global_norm(1.0)",
     "replicate between_graph over worker params on ps balance bytes split >= 32KiB",
     "ps=3,worker=4"},
    {6, "adam(lr = 0.01)\n  gradient = clip_by_global_norm(1.0)",
     "replicate between_graph over worker params mirrored", "worker=2"},
    {8, "momentum(lr = 0.1, mu = 0.9)",
     "replicate between_graph over worker, in_graph over cpu params \"a.**\" on ps params mirrored",
     "ps=1,worker=2:cpu=2"},
    {12, "sgd(lr = 0.1)", "replicate between_graph over worker params on ps update sync backup 1",
     "ps=2,worker=4"},
    {12, "adam(lr = 0.01)\n  gradient = clip_by_global_norm(1.0)",
     "replicate between_graph over worker params on ps balance bytes split >= 32KiB "
     "update async staleness <= 2",
     "ps=3,worker=3"},
};

static bool is_right(const struct mutation_kind *kind, const char *reason) {
  for (size_t i = 0; i < sizeof kind->reasons / sizeof *kind->reasons && kind->reasons[i]; i++)
    if (strstr(reason, kind->reasons[i]))
      return true;
  return false;
}

static bool reject(struct plan_case *made, const struct mutation_kind *kind, uint64_t seed) {
  struct mutation m;
  struct dtg_strbuf folded = {0}, unfolded = {0};
  mutation_open(&m, made, seed);
  bool applied = kind->apply(&m);
  if (applied) {
    if (dtg_prove(&m.partition, &m.plan, &folded))
      fail_msg("\"%s\" with seed %llu passes", kind->name, (unsigned long long)seed);
    if (!is_right(kind, dtg_strbuf_text(&folded)))
      fail_msg("\"%s\" with seed %llu has the wrong reason: %s", kind->name,
               (unsigned long long)seed, dtg_strbuf_text(&folded));
    if (dtg_prove_unfolded(&m.partition, &m.plan, &unfolded))
      fail_msg("\"%s\" with seed %llu passes unfolded; on families: %s", kind->name,
               (unsigned long long)seed, dtg_strbuf_text(&folded));
  }
  mutation_undo(&m);
  dtg_strbuf_free(&folded);
  dtg_strbuf_free(&unfolded);
  return applied;
}

static void mutations_are_rejected(void **state) {
  (void)state;
  size_t total = 0, of_kind[128] = {0};
  assert_true(mutation_kind_count() <= sizeof of_kind / sizeof *of_kind);
  for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
    struct plan_case made;
    struct dtg_strbuf why = {0};
    plan_case_open(&made, cases[c].shards, cases[c].optimizer, cases[c].strategy, cases[c].cluster);
    if (!made.partition) {
      dtg_diags_render(&made.ctx.diags, &why);
      fail_msg("%s", dtg_strbuf_text(&why));
    }
    for (size_t k = 0; k < mutation_kind_count(); k++)
      for (uint64_t seed = 1; seed <= SEEDS; seed++)
        of_kind[k] += reject(&made, mutation_kind_at(k), c * 1000 + k * 20 + seed);
    // What was changed has been put back.
    if (!dtg_prove(made.partition, made.plan, &why))
      fail_msg("%s", dtg_strbuf_text(&why));
    dtg_strbuf_free(&why);
    plan_case_close(&made);
  }
  for (size_t k = 0; k < mutation_kind_count(); k++) {
    if (of_kind[k] == 0)
      fail_msg("\"%s\" was never possible", mutation_kind_at(k)->name);
    total += of_kind[k];
  }
  printf("%zu mutations of %zu kinds rejected\n", total, mutation_kind_count());
  assert_true(total >= WANTED);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(mutations_are_rejected)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
