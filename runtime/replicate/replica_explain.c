/* Runs shards and chunks again, watched, to find what is wrong. */
#include "runtime/replicate/replica_parts.h"

static bool examine(struct dtr_replica *replica, int64_t shard, struct dtr_watch *watch,
                    struct dtr_fault *fault) {
  struct dtr_scalars scalars = replica->order.scalars;
  scalars.shard = shard;
  return dtr_executor_examine(replica->executor, &replica->party.program->shard,
                              dtr_batch_feeds(&replica->batch, shard), NULL, &scalars, watch,
                              fault);
}

static void begin(struct dtr_replica *replica, bool numeric) {
  replica->report = (struct dtr_fault_report){.numeric = numeric, .rows = replica->batch.rows};
}

void dtr_replica_explain_fault(struct dtr_replica *replica) {
  struct dtr_fault_report *report = &replica->report;
  struct dtr_span shards = replica->map->shards;
  begin(replica, false);
  for (int64_t shard = shards.first; shard < shards.first + shards.count; shard++) {
    report->index = shard;
    examine(replica, shard, &report->watch, &report->fault);
    if (report->watch.found_fault)
      return;
  }
}

static bool find_input(struct dtr_replica *replica) {
  const struct dtr_span shards = replica->map->shards;
  for (int64_t shard = shards.first; shard < shards.first + shards.count; shard++) {
    struct dtr_rows rows = {.first = shard * replica->batch.rows, .count = replica->batch.rows};
    if (dtr_find_input(replica->party.program, dtr_batch_feeds(&replica->batch, shard), &rows,
                       &replica->report.finding))
      return true;
  }
  return false;
}

void dtr_replica_explain_loss(struct dtr_replica *replica, double loss) {
  struct dtr_fault_report *report = &replica->report;
  const struct dtr_span shards = replica->map->shards;
  begin(replica, true);
  report->loss = loss;
  if (dtr_find_variable(replica->party.program, replica->executor->variables, &report->finding) ||
      find_input(replica))
    return;
  for (int64_t shard = shards.first; shard < shards.first + shards.count; shard++) {
    struct dtr_watch *watch = &report->watch;
    if (examine(replica, shard, watch, &report->fault) && watch->found_value) {
      report->finding = (struct dtr_finding){.origin = DTR_ORIGIN_KERNEL,
                                             .index = watch->kernel,
                                             .output = watch->output,
                                             .element = watch->element,
                                             .value = watch->value};
      return;
    }
  }
  report->finding = (struct dtr_finding){.origin = DTR_ORIGIN_SUM, .value = loss};
}
