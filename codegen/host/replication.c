// The tables of replication in the host program.
#include "codegen/host/internal.h"

#include <stdarg.h>
#include <string.h>

__attribute__((format(printf, 2, 3))) static void put(const struct cg_host *h, const char *format,
                                                      ...) {
  va_list args;
  va_start(args, format);
  dtg_strbuf_vprintf(h->out, format, args);
  va_end(args);
}

static const char *variable_name(const struct cg_host *h, uint32_t variable) {
  return variable == UINT32_MAX ? "every owner" : h->in->tables->variables[variable].path;
}

static void put_index(const struct cg_host *h, uint32_t index) {
  if (index == UINT32_MAX)
    put(h, "UINT32_MAX");
  else
    put(h, "%u", index);
}

static void put_jobs(const struct cg_host *h, const struct dtr_replication *r) {
  put(h, "\n/* name, tasks, CPU and GPU devices of a task, threads */\n"
         "static const struct dtr_job jobs[] = {\n");
  for (uint32_t i = 0; i < r->job_count; i++) {
    const struct dtr_job *job = &r->jobs[i];
    put(h, "    {\"%s\", %u, %u, %u, %u},\n", job->name, job->tasks, job->cpu, job->gpu,
        job->threads);
  }
  put(h, "};\n");
}

static void put_families(const struct cg_host *h, const struct dtr_replication *r) {
  put(h, "/* first replica, tasks, devices of a task, first device, strides */\n"
         "static const struct dtr_replica_family replica_families[] = {\n");
  for (uint32_t i = 0; i < r->replica_family_count; i++) {
    const struct dtr_replica_family *f = &r->replica_families[i];
    put(h, "    {%u, %u, %u, %u, %u, %u},\n", f->first, f->outer, f->inner, f->base,
        f->outer_stride, f->inner_stride);
  }
  put(h, "};\n/* first client, clients, task, stride, first replica, replicas of each */\n"
         "static const struct dtr_client_family client_families[] = {\n");
  for (uint32_t i = 0; i < r->client_family_count; i++) {
    const struct dtr_client_family *f = &r->client_families[i];
    put(h, "    {%u, %u, %u, %u, %u, %u},\n", f->first, f->count, f->task, f->task_stride,
        f->first_replica, f->replicas_each);
  }
  put(h, "};\n");
}

static void put_slices(const struct cg_host *h, const struct dtr_replication *r) {
  static const char *const kinds[] = {"DTR_OWNER_ON", "DTR_OWNER_MIRRORED", "DTR_OWNER_SHARDED"};
  if (r->slice_count == 0)
    return;
  put(h, "/* variable, first element, elements, elements of a block, owning device */\n"
         "static const struct dtr_slice slices[] = {\n");
  for (uint32_t i = 0; i < r->slice_count; i++) {
    const struct dtr_slice *s = &r->slices[i];
    put(h, "    {%u, %lld, %lld, %lld, %u, %s}, /* %s */\n", s->variable, (long long)s->first,
        (long long)s->elements, (long long)s->block, s->owner, kinds[s->kind],
        variable_name(h, s->variable));
  }
  put(h, "};\n");
}

static void put_buffers(const struct cg_host *h, const struct dtr_update_launch *l,
                        uint32_t index) {
  static const char *const spaces[] = {"DTR_SPACE_ARENA", "DTR_SPACE_VARIABLE",
                                       "DTR_SPACE_CONTRIBUTION", "DTR_SPACE_SCALAR"};
  put(h, "static const struct dtr_update_buffer update_buffers_%u[] = {\n", index);
  for (uint32_t i = 0; i < l->buffer_count; i++) {
    const struct dtr_update_buffer *b = &l->buffers[i];
    put(h, "    {%s, %u, %lld, %s, %s},\n", spaces[b->space], b->index, (long long)b->offset,
        b->by_block ? "true" : "false", b->written ? "true" : "false");
  }
  put(h, "};\n");
}

// The kernel of a launch of the update: launches are numbered over the functions in order.
static const char *kernel_name(const struct cg_host *h, uint32_t launch) {
  const struct dtg_plan *plan = h->in->plan;
  for (int i = 0; i < DTG_PLAN_UPDATE; i++)
    if (plan->functions[i].graph)
      launch -= (uint32_t)dtg_plan_launch_count(&plan->functions[i]);
  return plan->kernels.data[plan->functions[DTG_PLAN_UPDATE].steps.data[launch].kernel]->name;
}

static void put_launches(const struct cg_host *h, const struct dtr_replication *r) {
  static const char *const rows[] = {"DTR_LAUNCH_ALL", "DTR_LAUNCH_TOUCHED", "DTR_LAUNCH_BLOCKS"};
  if (r->update_launch_count == 0)
    return;
  for (uint32_t i = 0; i < r->update_launch_count; i++)
    put_buffers(h, &r->update_launches[i], i);
  put(h, "/* launch, kernel, tiles, variable, phase, as a whole, rows, buffers */\n"
         "static const struct dtr_update_launch update_launches[] = {\n");
  for (uint32_t i = 0; i < r->update_launch_count; i++) {
    const struct dtr_update_launch *l = &r->update_launches[i];
    put(h, "    {%u, %s, %lld, ", l->launch, kernel_name(h, l->launch), (long long)l->tiles);
    put_index(h, l->variable);
    put(h, ", %u, %s, %s, %u, update_buffers_%u}, /* %s */\n", l->phase,
        l->whole ? "true" : "false", rows[l->rows], l->buffer_count, i,
        variable_name(h, l->variable));
  }
  put(h, "};\n");
  if (r->exchange_count == 0)
    return;
  put(h, "/* phase, variable, offset of the block sums, blocks */\n"
         "static const struct dtr_exchange exchanges[] = {\n");
  for (uint32_t i = 0; i < r->exchange_count; i++) {
    const struct dtr_exchange *e = &r->exchanges[i];
    put(h, "    {%u, %u, %lld, %lld}, /* %s */\n", e->phase, e->variable, (long long)e->offset,
        (long long)e->blocks, variable_name(h, e->variable));
  }
  put(h, "};\n");
}

static void put_table(const struct cg_host *h, const char *count, const char *field,
                      uint32_t length, const char *name) {
  put(h, "    .%s = %u,\n", count, length);
  if (length)
    put(h, "    .%s = %s,\n", field, name);
}

void cg_host_put_replication(const struct cg_host *h) {
  const struct dtr_replication *r = h->in->tables->replication;
  if (!r)
    return;
  put_jobs(h, r);
  put_families(h, r);
  put_slices(h, r);
  put_launches(h, r);
  put(h,
      "static const struct dtr_replication replication = {\n    .strategy = \"%s\",\n"
      "    .is_single = %s,\n",
      r->strategy, r->is_single ? "true" : "false");
  put_table(h, "job_count", "jobs", r->job_count, "jobs");
  put(h, "    .replicas = %u,\n", r->replicas);
  put_table(h, "replica_family_count", "replica_families", r->replica_family_count,
            "replica_families");
  put_table(h, "client_family_count", "client_families", r->client_family_count, "client_families");
  put_table(h, "slice_count", "slices", r->slice_count, "slices");
  put_table(h, "update_launch_count", "update_launches", r->update_launch_count, "update_launches");
  put(h, "    .update_arena_bytes = %lld,\n    .phase_count = %u,\n",
      (long long)r->update_arena_bytes, r->phase_count);
  put_table(h, "exchange_count", "exchanges", r->exchange_count, "exchanges");
  put(h, "    .is_async = %s,\n    .backup = %lld,\n    .staleness = %lld,\n};\n",
      r->is_async ? "true" : "false", (long long)r->backup, (long long)r->staleness);
}
