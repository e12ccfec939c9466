/* Replication tables for the sample, as the compiler would make them. */
#include "sample.h"

#include <string.h>

enum { MOST_SLICES = 64, MOST_UPDATES = 8, MOST_BUFFERS = 4 };

static struct {
  struct dtr_replication tables;
  struct dtr_job jobs[2];
  struct dtr_replica_family replicas;
  struct dtr_client_family clients;
  struct dtr_slice slices[MOST_SLICES];
  struct dtr_update_launch launches[MOST_UPDATES];
  struct dtr_update_buffer buffers[MOST_UPDATES][MOST_BUFFERS];
} r;

static uint32_t owner_device(const struct sample_strategy *strategy, uint32_t index) {
  return strategy->mirrored ? strategy->ps + index : index;
}

static void add_slice(const struct sample_strategy *strategy, uint32_t variable, int64_t first,
                      int64_t elements, int64_t block, uint32_t owner) {
  r.slices[r.tables.slice_count++] =
      (struct dtr_slice){.variable = variable,
                         .first = first,
                         .elements = elements,
                         .block = block,
                         .owner = owner_device(strategy, owner),
                         .kind = strategy->mirrored ? DTR_OWNER_MIRRORED : DTR_OWNER_ON};
}

/* Block by block over the owners, neighbours of one owner in one slice; or variable by variable. */
static void set_slices(const struct dtr_program *program, const struct sample_strategy *strategy,
                       const struct sample_update *update, uint32_t number, int64_t block) {
  uint32_t owners = strategy->mirrored ? strategy->workers * strategy->cpu : strategy->ps;
  int64_t elements = program->variables[update->variable].elements;
  int64_t blocks = (elements + block - 1) / block;
  if (!strategy->split || blocks < owners) {
    add_slice(strategy, update->variable, 0, elements, block, number % owners);
    return;
  }
  for (uint32_t o = 0; o < owners; o++) {
    int64_t begin = o * blocks / owners * block, end = (o + 1) * blocks / owners * block;
    end = end < elements ? end : elements;
    add_slice(strategy, update->variable, begin, end - begin, block, o);
  }
}

static void set_launch(const struct dtr_program *program, const struct sample_update *update,
                       uint32_t number, int64_t block) {
  bool has_slot = update->slot != UINT32_MAX;
  uint32_t count = 0;
  struct dtr_update_buffer *buffers = r.buffers[number];
  buffers[count++] =
      (struct dtr_update_buffer){.space = DTR_SPACE_VARIABLE, .index = update->variable};
  if (has_slot)
    buffers[count++] =
        (struct dtr_update_buffer){.space = DTR_SPACE_VARIABLE, .index = update->slot};
  buffers[count++] =
      (struct dtr_update_buffer){.space = DTR_SPACE_CONTRIBUTION, .index = update->contribution};
  buffers[count++] = (struct dtr_update_buffer){.space = DTR_SPACE_SCALAR, .index = 0};
  int64_t elements = program->variables[update->variable].elements;
  r.launches[number] = (struct dtr_update_launch){.launch = update->kernel,
                                                  .fn = update->fn,
                                                  .tiles = (elements + block - 1) / block,
                                                  .variable = update->variable,
                                                  .whole = !has_slot,
                                                  .buffer_count = count,
                                                  .buffers = buffers};
}

static void set_maps(const struct sample_strategy *strategy) {
  uint32_t workers = strategy->workers, cpu = strategy->cpu, ps = strategy->ps;
  r.jobs[0] = (struct dtr_job){.name = "ps", .tasks = ps, .cpu = 1};
  r.jobs[1] = (struct dtr_job){.name = "worker", .tasks = workers, .cpu = cpu};
  r.replicas = (struct dtr_replica_family){
      .outer = workers, .inner = cpu, .base = ps, .outer_stride = cpu, .inner_stride = 1};
  r.clients = (struct dtr_client_family){
      .count = workers, .task = ps, .task_stride = 1, .replicas_each = cpu};
  if (strategy->in_graph) {
    r.clients.count = 1;
    r.clients.replicas_each = workers * cpu;
  }
}

const struct dtr_replication *sample_replication(const struct dtr_program *program,
                                                 const struct sample_strategy *strategy,
                                                 const struct sample_update *updates,
                                                 uint32_t count, int64_t block) {
  if (strategy->workers == 0)
    return NULL;
  memset(&r, 0, sizeof r);
  set_maps(strategy);
  for (uint32_t i = 0; i < count; i++) {
    set_slices(program, strategy, &updates[i], i, block);
    set_launch(program, &updates[i], i, block);
  }
  r.tables.strategy = "by hand";
  r.tables.job_count = 2;
  r.tables.jobs = r.jobs;
  r.tables.replicas = strategy->workers * strategy->cpu;
  r.tables.replica_family_count = r.tables.client_family_count = 1;
  r.tables.replica_families = &r.replicas;
  r.tables.client_families = &r.clients;
  r.tables.slices = r.slices;
  r.tables.update_launch_count = count;
  r.tables.update_launches = r.launches;
  r.tables.phase_count = 1;
  r.tables.is_async = strategy->is_async;
  r.tables.backup = strategy->backup;
  r.tables.staleness = strategy->staleness;
  return &r.tables;
}
