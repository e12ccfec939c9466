#include "compiler/prove/internal.h"

#include <stdarg.h>

bool dtg_proof_fail(const struct dtg_proof *proof, const char *format, ...) {
  va_list args;
  va_start(args, format);
  dtg_strbuf_vprintf(proof->why, format, args);
  va_end(args);
  return false;
}

bool dtg_prove(const struct dtg_partition *partition, const struct dtg_plan *plan,
               struct dtg_strbuf *why) {
  struct dtg_proof proof = {.p = partition, .r = partition->replication, .plan = plan, .why = why};
  bool good = dtg_prove_replicas(&proof) && dtg_prove_slices(&proof) && dtg_prove_matches(&proof) &&
              dtg_prove_waits(&proof) && dtg_prove_control(&proof) && dtg_prove_updates(&proof) &&
              (!plan || dtg_prove_memory(&proof));
  dtg_arena_free(&proof.scratch);
  return good;
}

void dtg_prove_extras(const struct dtg_partition *partition, struct dtg_strbuf *out) {
  const struct dtg_replication *r = partition->replication;
  const struct dtg_train *train = &r->model->train;
  dtg_strbuf_puts(out,
                  "begins the run: initial values, or those of a checkpoint, for every owner\n");
  if (train->evaluate.epochs || train->evaluate.steps)
    dtg_strbuf_puts(out, "orders evaluations and combines their values\n");
  if (train->checkpoint.epochs || train->checkpoint.steps)
    dtg_strbuf_puts(out, "gathers slices and writes checkpoints\n");
  dtg_strbuf_puts(out, "writes progress and the log\n");
  if (r->clients > 1)
    dtg_strbuf_puts(out, "finishes the tree of loss and metrics\n");
}
