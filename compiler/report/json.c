#include "compiler/base/bug.h"
#include "compiler/base/strbuf.h"
#include "compiler/ir/sparse.h"
#include "compiler/report/report.h"

#include <jansson.h>
#include <stdlib.h>

struct json {
  const struct dtg_report_input *in;
  struct dtg_arena arena;
};

static void set(json_t *object, const char *key, json_t *value) {
  if (json_object_set_new(object, key, value) != 0)
    dtg_bug("JSON key `%s` has no value", key);
}

static json_t *text(const char *value) {
  return value ? json_string(value) : json_null();
}

static json_t *device(struct json *j, uint32_t index) {
  return text(dtg_cluster_device_name(&j->arena, j->in->replication->cluster, index));
}

static json_t *span(struct json *j, struct dtg_span at) {
  const char *where = dtg_span_text(&j->arena, &j->in->ctx->sources, at);
  return *where ? json_string(where) : json_null();
}

static json_t *cause(struct json *j, struct dtg_cause why) {
  json_t *out = json_object();
  set(out, "rule", text(why.rule));
  set(out, "source", span(j, why.span));
  return out;
}

static json_t *type(const struct dtg_type *value) {
  json_t *out = json_object(), *shape = json_array();
  for (uint32_t i = 0; i < value->shape.rank; i++)
    json_array_append_new(shape, json_integer(value->shape.dims[i]));
  set(out, "dtype", text(dtg_dtype_name(value->dtype)));
  set(out, "shape", shape);
  return out;
}

static json_t *train(const struct dtg_train *t) {
  json_t *out = json_object();
  set(out, "batch", json_integer(t->batch));
  set(out, "shards", json_integer(t->shards));
  set(out, "epochs", json_integer(t->epochs));
  set(out, "steps", json_integer(t->steps));
  set(out, "seed", json_integer(t->seed));
  return out;
}

static json_t *jobs(struct json *j) {
  json_t *out = json_array();
  const struct dtg_cluster *cluster = j->in->replication->cluster;
  for (uint32_t i = 0; i < cluster->job_count; i++) {
    const struct dtg_job *job = &cluster->jobs[i];
    json_t *row = json_object();
    set(row, "job", text(job->name));
    set(row, "tasks", json_integer(job->task_count));
    set(row, "cpu", json_integer(job->cpu));
    set(row, "gpu", json_integer(job->gpu));
    set(row, "devices", json_integer((json_int_t)job->task_count * dtg_job_devices(job)));
    set(row, "used", json_integer(dtg_job_used(j->in->replication, job)));
    json_array_append_new(out, row);
  }
  return out;
}

static json_t *replicas(struct json *j) {
  json_t *out = json_array();
  const struct dtg_replication *r = j->in->replication;
  for (size_t i = 0; i < r->families.len; i++) {
    const struct dtg_replica_family *f = &r->families.data[i];
    json_t *row = json_object();
    set(row, "first", json_integer(f->first));
    set(row, "count", json_integer(dtg_device_set_count(&f->devices)));
    set(row, "device", device(j, f->devices.base));
    set(row, "tasks", json_integer(f->devices.outer));
    set(row, "devices_each", json_integer(f->devices.inner));
    set(row, "task_stride", json_integer(f->devices.outer_stride));
    set(row, "device_stride", json_integer(f->devices.inner_stride));
    set(row, "shards_each", json_integer(r->shards / r->replicas));
    set(row, "cause", cause(j, f->cause));
    json_array_append_new(out, row);
  }
  return out;
}

static json_t *task(struct json *j, uint32_t number) {
  return text(dtg_task_name(&j->arena, j->in->replication->cluster, number));
}

static json_t *clients(struct json *j) {
  json_t *out = json_array();
  const struct dtg_replication *r = j->in->replication;
  for (size_t i = 0; i < r->client_families.len; i++) {
    const struct dtg_client_family *c = &r->client_families.data[i];
    json_t *row = json_object();
    set(row, "first", json_integer(c->first));
    set(row, "count", json_integer(c->count));
    set(row, "task", task(j, c->task));
    set(row, "task_stride", json_integer(c->task_stride));
    set(row, "first_replica", json_integer(c->first_replica));
    set(row, "replicas_each", json_integer(c->replicas_each));
    set(row, "chief", json_boolean(c->first == 0));
    set(row, "cause", cause(j, c->cause));
    json_array_append_new(out, row);
  }
  return out;
}

// Work that only client 0 does.
static json_t *chief_only(void) {
  static const char *const work[] = {"initial values or restore", "checkpoints", "evaluation",
                                     "summaries"};
  json_t *out = json_array();
  for (size_t i = 0; i < sizeof work / sizeof *work; i++)
    json_array_append_new(out, text(work[i]));
  return out;
}

static json_t *slices(struct json *j, uint32_t variable) {
  json_t *out = json_array();
  size_t count;
  const struct dtg_slice *slice = dtg_variable_slices(j->in->replication, variable, &count);
  static const char *const kinds[] = {"on", "mirrored", "sharded"};
  for (size_t i = 0; i < count; i++, slice++) {
    json_t *row = json_object();
    set(row, "first", json_integer(slice->first));
    set(row, "elements", json_integer(slice->elements));
    set(row, "owner", device(j, slice->owner));
    set(row, "kind", text(kinds[slice->kind]));
    set(row, "cause", cause(j, slice->cause));
    json_array_append_new(out, row);
  }
  return out;
}

static json_t *owners(struct json *j) {
  json_t *out = json_array();
  const struct dtg_partition *p = j->in->partition;
  for (uint32_t i = 0; i < p->loads.len; i++) {
    const struct dtg_owner_load *load = &p->loads.data[i];
    json_t *row = json_object();
    set(row, "device", device(j, load->device));
    set(row, "slices", json_integer(load->slices));
    set(row, "values", json_integer(load->values));
    set(row, "slots", json_integer(load->slots));
    set(row, "push", json_integer(load->push));
    set(row, "publish", json_integer(load->publish));
    set(row, "first", json_integer(load->first));
    json_array_append_new(out, row);
  }
  return out;
}

static json_t *transfer_ends(struct json *j, const struct dtg_ends *ends) {
  json_t *out = json_object();
  (void)j;
  set(out, "role", text(dtg_role_name(ends->role)));
  set(out, "first", json_integer(ends->first));
  set(out, "count", json_integer(ends->count));
  set(out, "partial_sums", json_integer(ends->sums));
  return out;
}

static json_t *transfers(struct json *j) {
  json_t *out = json_array();
  for (size_t i = 0; i < j->in->partition->sends.len; i++) {
    const struct dtg_transfer *t = &j->in->partition->sends.data[i];
    json_t *row = json_object();
    set(row, "kind", text(dtg_transfer_name(t->kind)));
    set(row, "moment", text(dtg_moment_name(t->moment)));
    set(row, "phase", json_integer(t->phase));
    set(row, "from", transfer_ends(j, &t->from));
    set(row, "to", transfer_ends(j, &t->to));
    set(row, "messages", json_integer((json_int_t)t->messages));
    set(row, "bytes", json_integer(t->bytes));
    set(row, "at_most", json_boolean(t->at_most));
    json_array_append_new(out, row);
  }
  return out;
}

static json_t *partial_sums(struct json *j) {
  const struct dtg_partial_sums *sums = &j->in->replication->partial_sums;
  json_t *out = json_object(), *rows = json_array();
  for (size_t i = 0; i < sums->classes.len; i++) {
    json_t *row = json_object();
    set(row, "sums", json_integer(sums->classes.data[i].sums));
    set(row, "replicas", json_integer(sums->classes.data[i].replicas));
    json_array_append_new(rows, row);
  }
  set(out, "of_replicas", rows);
  set(out, "suggested_shards",
      sums->suggested_shards ? json_integer(sums->suggested_shards) : json_null());
  return out;
}

static json_t *variables(struct json *j) {
  static const char *const kinds[] = {"parameter", "state", "slot"};
  json_t *out = json_array();
  const struct dtg_module *module = j->in->plan->module;
  for (size_t v = 0; v < module->variables.len; v++) {
    const struct dtg_variable *variable = &module->variables.data[v];
    json_t *row = json_object();
    set(row, "path", text(variable->path));
    set(row, "kind", text(kinds[variable->kind]));
    set(row, "type", type(&variable->type));
    set(row, "bytes", json_integer(dtg_type_bytes(&variable->type)));
    set(row, "offset", json_integer(j->in->plan->variable_offsets[v]));
    set(row, "slices", slices(j, (uint32_t)v));
    set(row, "source", span(j, variable->span));
    json_array_append_new(out, row);
  }
  return out;
}

static json_t *reductions(struct json *j) {
  static const char *const kinds[DTG_ROOT_KIND_COUNT] = {
      "loss", "metric", "output", "grad", "state", "update", "carry", "stack", "rows"};
  static const char *const how[] = {"mean", "sum", "max"};
  json_t *out = json_array();
  const struct dtg_replication *r = j->in->replication;
  for (size_t i = 0; i < r->reductions.len; i++) {
    const struct dtg_reduction *d = &r->reductions.data[i];
    json_t *row = json_object();
    set(row, "kind", text(kinds[d->kind]));
    set(row, "name", text(d->name));
    set(row, "type", type(&d->type));
    set(row, "reduce", text(how[d->reduce]));
    json_array_append_new(out, row);
  }
  return out;
}

static json_t *sparse(struct json *j) {
  const struct dtg_replication *r = j->in->replication;
  const struct dtg_module *module = j->in->plan->module;
  json_t *out = json_array();
  for (size_t i = 0; i < module->sparse.len; i++) {
    const struct dtg_sparse *table = &module->sparse.data[i];
    json_t *row = json_object();
    set(row, "path", text(module->variables.data[table->variable].path));
    set(row, "rows", json_integer(table->rows));
    set(row, "row_bytes", json_integer(4 * table->width));
    set(row, "id_bytes", json_integer(DTG_ROW_ID_BYTES));
    set(row, "count_bytes", json_integer(DTG_ROW_COUNT_BYTES));
    set(row, "gathered_by_shard", json_integer(table->picks));
    set(row, "rows_of_replica",
        json_integer(dtg_sparse_most(table, r->shards / r->replicas, table->rows)));
    set(row, "rows_of_step", json_integer(dtg_sparse_most(table, r->shards, table->rows)));
    set(row, "update", text(table->touched ? "touched" : "pass"));
    set(row, "publish", text(dtg_publishes_rows(r, table) ? "touched" : "all"));
    set(row, "lazy", json_boolean(table->lazy));
    json_array_append_new(out, row);
  }
  return out;
}

static json_t *densified(struct json *j) {
  const struct dtg_module *module = j->in->plan->module;
  json_t *out = json_array();
  for (size_t i = 0; i < module->densified.len; i++) {
    const struct dtg_densified *dense = &module->densified.data[i];
    json_t *row = json_object();
    set(row, "path", text(module->variables.data[dense->variable].path));
    set(row, "why", text(dense->why));
    set(row, "bytes", json_integer(dtg_type_bytes(&module->variables.data[dense->variable].type)));
    set(row, "source", span(j, dense->span));
    json_array_append_new(out, row);
  }
  return out;
}

static const char *const kernel_kinds[] = {
    [CG_KERNEL_LOOPS] = "loops", [CG_KERNEL_GEMM] = "product", [CG_KERNEL_WINDOW] = "window"};

static json_t *launches(struct json *j, const struct dtg_plan_function *f) {
  json_t *out = json_array();
  for (size_t s = 0; s < f->steps.len; s++) {
    const struct dtg_plan_loop *loop = f->steps.data[s].loop;
    json_t *row = json_object();
    if (loop) {
      set(row, "loop", json_integer(loop->count));
      set(row, "arena_bytes", json_integer(loop->body.arena_bytes));
      set(row, "launches", launches(j, &loop->body));
      json_array_append_new(out, row);
      continue;
    }
    const struct cg_kernel *kernel = j->in->plan->kernels.data[f->steps.data[s].kernel];
    set(row, "kernel", text(kernel->name));
    set(row, "comment", text(kernel->comment));
    set(row, "kind", text(kernel_kinds[kernel->kind]));
    set(row, "tiles", json_integer(kernel->tiles));
    json_array_append_new(out, row);
  }
  return out;
}

static json_t *functions(struct json *j) {
  json_t *out = json_array();
  for (int i = 0; i < DTG_PLAN_FUNCTIONS; i++) {
    const struct dtg_plan_function *f = &j->in->plan->functions[i];
    if (!f->graph)
      continue;
    json_t *row = json_object();
    set(row, "name", text(f->name));
    set(row, "nodes", json_integer((json_int_t)dtg_graph_size(f->graph)));
    set(row, "arena_bytes", json_integer(f->arena_bytes));
    set(row, "live_peak_bytes", json_integer(f->live_peak_bytes));
    set(row, "launches", launches(j, f));
    json_array_append_new(out, row);
  }
  return out;
}

static json_t *memory_row(struct json *j, uint32_t index, const char *role, uint32_t devices_count,
                          const struct dtg_report_memory *m) {
  json_t *out = json_object();
  set(out, "device", device(j, index));
  set(out, "role", text(role));
  set(out, "devices", json_integer(devices_count));
  set(out, "threads", json_integer(j->in->threads));
  set(out, "parameters", json_integer(m->parameters));
  set(out, "states", json_integer(m->states));
  set(out, "slots", json_integer(m->slots));
  set(out, "variables", json_integer(m->variables));
  set(out, "arena_per_thread", json_integer(m->arena));
  set(out, "sorting_per_thread", json_integer(m->sorting));
  set(out, "rows", json_integer(m->rows));
  set(out, "arena_update", json_integer(m->update_arena));
  set(out, "tree_block", json_integer(m->contribution));
  set(out, "tree_blocks", json_integer(m->contribution_blocks));
  set(out, "pushed", json_integer(m->staging));
  set(out, "messages", json_integer(m->messages));
  set(out, "evaluation", json_integer(m->evaluation));
  set(out, "inputs", json_integer(m->feeds));
  set(out, "total", json_integer(m->total));
  return out;
}

static json_t *replica_memory(struct json *j, const struct dtg_report_class *class) {
  const struct dtg_replication *r = j->in->replication;
  struct dtg_report_memory m = dtg_report_class_memory(j->in, class);
  json_t *out = memory_row(j, dtg_replica_device(r, class->first),
                           r->single ? "replica and owner" : "replica", class->replicas, &m);
  set(out, "partial_sums", json_integer(class->sums));
  set(out, "fed", json_boolean(class->fed));
  return out;
}

static json_t *memory(struct json *j) {
  const struct dtg_replication *r = j->in->replication;
  size_t count;
  const struct dtg_report_class *classes = dtg_report_classes(&j->arena, j->in, &count);
  json_t *out = json_array();
  for (size_t i = 0; i < count; i++)
    json_array_append_new(out, replica_memory(j, &classes[i]));
  for (uint32_t i = 0; i < r->owners.len && !r->single; i++) {
    struct dtg_report_memory m = dtg_report_owner_memory(j->in, i);
    json_array_append_new(out, memory_row(j, r->owners.data[i], "owner", 1, &m));
  }
  return out;
}

void dtg_report_json(const struct dtg_report_input *input, const char *plan_id,
                     const char *model_id, struct dtg_strbuf *out) {
  struct json j = {.in = input};
  const struct dtg_replication *r = input->replication;
  json_t *root = json_object();
  set(root, "schema", json_integer(2));
  set(root, "program", text(input->name));
  set(root, "model", text(r->model->name));
  set(root, "strategy", text(r->strategy->name));
  set(root, "plan_id", text(plan_id));
  set(root, "model_id", text(model_id));
  set(root, "results_depend_on", text(input->results));
  set(root, "exact", json_boolean(!r->relaxed && !dtg_module_is_lazy(r->module)));
  set(root, "cpu_arch", text(r->cluster->cpu_arch));
  set(root, "train", train(&r->model->train));
  set(root, "jobs", jobs(&j));
  set(root, "replicas", replicas(&j));
  set(root, "clients", clients(&j));
  set(root, "chief_only", chief_only());
  set(root, "variables", variables(&j));
  set(root, "reductions", reductions(&j));
  set(root, "sparse", sparse(&j));
  set(root, "densified", densified(&j));
  set(root, "partial_sums", partial_sums(&j));
  set(root, "owners", owners(&j));
  set(root, "imbalance", json_real(dtg_report_imbalance(input)));
  set(root, "transfers", transfers(&j));
  set(root, "transfer_bytes", json_integer(dtg_report_traffic(input)));
  set(root, "transfer_bytes_at_most", json_boolean(dtg_report_is_bound(input)));
  set(root, "start_bytes", json_integer(dtg_report_start_traffic(input)));
  set(root, "functions", functions(&j));
  set(root, "memory", memory(&j));
  char *dumped = json_dumps(root, JSON_INDENT(1) | JSON_PRESERVE_ORDER);
  if (!dumped)
    dtg_bug("the plan is not valid JSON text");
  dtg_strbuf_puts(out, dumped);
  dtg_strbuf_putc(out, '\n');
  free(dumped);
  json_decref(root);
  dtg_arena_free(&j.arena);
}
