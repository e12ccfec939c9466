/* A replica's share of an evaluation. */
#include "runtime/replicate/replica_parts.h"

#include <string.h>

int64_t dtr_replica_chunks(const struct dtr_map *map, uint32_t replica, int64_t wave,
                           int64_t wave_size, int64_t chunks) {
  struct dtr_span shards = map->replicas[replica].shards;
  int64_t left = chunks - (wave * wave_size + shards.first);
  return left < 0 ? 0 : left < shards.count ? left : shards.count;
}

struct dtr_span dtr_chunk_rows(const struct dtr_program *program, int64_t whole, int64_t chunk) {
  int64_t batch = program->eval.batch;
  if (chunk < whole)
    return (struct dtr_span){chunk * batch, batch};
  return (struct dtr_span){whole * batch + (chunk - whole), 1};
}

static int64_t first_chunk(const struct dtr_replica *replica) {
  return replica->wave * replica->order.wave_size + replica->map->shards.first;
}

static const struct dtr_part *part_of(const struct dtr_replica *replica, int64_t chunk) {
  const struct dtr_program *program = replica->party.program;
  return chunk < replica->order.whole_chunks ? &program->eval : &program->tail;
}

static char *const *feeds_of(struct dtr_replica *replica, int thread, int64_t index) {
  const struct dtr_program *program = replica->party.program;
  if (!replica->is_local)
    return replica->feeds + index * program->input_count;
  struct dtr_span rows =
      dtr_chunk_rows(program, replica->order.whole_chunks, first_chunk(replica) + index);
  char **views = replica->views + (size_t)thread * program->input_count;
  dtr_data_view(replica->data, DTR_NATURAL_ORDER, rows.first, rows.count,
                replica->scratch + thread * replica->scratch_bytes, views);
  return views;
}

static char *values_of(struct dtr_replica *replica, int64_t index) {
  return replica->values + index * (1 + replica->party.program->metric_count) * DTR_ALIGN;
}

static void note_failure(struct dtr_replica *replica, int64_t index) {
  int64_t lowest = atomic_load(&replica->failed);
  while (index < lowest && !atomic_compare_exchange_weak(&replica->failed, &lowest, index))
    ;
}

static void run_chunks(void *context, int thread) {
  struct dtr_replica *replica = context;
  for (;;) {
    int64_t index = atomic_fetch_add_explicit(&replica->dealt, 1, memory_order_relaxed);
    struct dtr_fault fault;
    if (index >= replica->chunk_count)
      return;
    if (!dtr_executor_call(replica->executor, thread,
                           part_of(replica, first_chunk(replica) + index),
                           feeds_of(replica, thread, index), values_of(replica, index),
                           &replica->order.scalars, &fault))
      note_failure(replica, index);
  }
}

static void explain(struct dtr_replica *replica, int64_t index) {
  struct dtr_fault_report *report = &replica->report;
  int64_t chunk = first_chunk(replica) + index;
  *report = (struct dtr_fault_report){
      .evaluation = true,
      .index = chunk,
      .rows = dtr_chunk_rows(replica->party.program, replica->order.whole_chunks, chunk).count};
  dtr_executor_examine(replica->executor, part_of(replica, chunk), feeds_of(replica, 0, index),
                       replica->values, &replica->order.scalars, &report->watch, &report->fault);
}

bool dtr_replica_run_wave(struct dtr_replica *replica) {
  uint32_t width = 1 + replica->party.program->metric_count;
  atomic_store(&replica->dealt, 0);
  atomic_store(&replica->failed, INT64_MAX);
  dtr_pool_share(replica->executor->pool, run_chunks, replica);
  if (atomic_load(&replica->failed) != INT64_MAX) {
    explain(replica, atomic_load(&replica->failed));
    return false;
  }
  for (int64_t i = 0; i < replica->chunk_count; i++)
    for (uint32_t v = 0; v < width; v++)
      memcpy(&replica->packed[i * width + v], values_of(replica, i) + v * DTR_ALIGN, sizeof(float));
  return true;
}
