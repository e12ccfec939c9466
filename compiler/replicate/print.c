#include "compiler/base/strbuf.h"
#include "compiler/replicate/replicate.h"

static const char *const kind_names[DTG_ROOT_KIND_COUNT] = {
    "loss", "metric", "output", "grad", "state", "update", "carry", "stack", "rows"};
static const char *const reduce_names[] = {"mean", "sum", "max"};
static const char *const owner_names[] = {"on", "mirrored", "sharded"};

static void print_families(const struct dtg_replication *r, struct dtg_arena *arena,
                           struct dtg_strbuf *out) {
  for (size_t i = 0; i < r->families.len; i++) {
    const struct dtg_replica_family *f = &r->families.data[i];
    dtg_strbuf_printf(out, "replicas %u..%u on %s", f->first,
                      f->first + dtg_device_set_count(&f->devices),
                      dtg_cluster_device_name(arena, r->cluster, f->devices.base));
    if (f->devices.outer > 1)
      dtg_strbuf_printf(out, ", x%u by %u", f->devices.outer, f->devices.outer_stride);
    if (f->devices.inner > 1)
      dtg_strbuf_printf(out, ", x%u by %u", f->devices.inner, f->devices.inner_stride);
    dtg_strbuf_printf(out, ", %lld shards each !%s\n", (long long)(r->shards / r->replicas),
                      f->cause.rule);
  }
  for (size_t i = 0; i < r->client_families.len; i++) {
    const struct dtg_client_family *c = &r->client_families.data[i];
    dtg_strbuf_printf(out, "clients %u..%u from %s by %u, %u replicas each from %u !%s\n", c->first,
                      c->first + c->count, dtg_task_name(arena, r->cluster, c->task),
                      c->task_stride, c->replicas_each, c->first_replica, c->cause.rule);
  }
}

static void print_slices(const struct dtg_replication *r, struct dtg_arena *arena,
                         struct dtg_strbuf *out) {
  for (size_t i = 0; i < r->slices.len; i++) {
    const struct dtg_slice *s = &r->slices.data[i];
    dtg_strbuf_printf(out, "slice %s [%lld, %lld) %s %s !%s\n",
                      r->module->variables.data[s->variable].path, (long long)s->first,
                      (long long)(s->first + s->elements), owner_names[s->kind],
                      dtg_cluster_device_name(arena, r->cluster, s->owner), s->cause.rule);
  }
}

void dtg_replication_print(const struct dtg_replication *r, struct dtg_strbuf *out) {
  struct dtg_arena arena = {0};
  dtg_strbuf_printf(out, "strategy %s: %u replica%s, %lld shard%s, update %s\n", r->strategy->name,
                    r->replicas, r->replicas == 1 ? "" : "s", (long long)r->shards,
                    r->shards == 1 ? "" : "s", r->strategy->update.is_async ? "async" : "sync");
  print_families(r, &arena, out);
  print_slices(r, &arena, out);
  for (size_t i = 0; i < r->reductions.len; i++) {
    const struct dtg_reduction *d = &r->reductions.data[i];
    char type[128];
    dtg_type_format(&d->type, type, sizeof type);
    dtg_strbuf_printf(out, "reduce %s%s%s %s by %s over %lld shards\n", kind_names[d->kind],
                      *d->name ? " " : "", d->name, type, reduce_names[d->reduce],
                      (long long)r->shards);
  }
  dtg_strbuf_printf(out, "partial sums: %u at most of a replica, %lld in all\n",
                    r->partial_sums.most, (long long)r->partial_sums.all);
  dtg_arena_free(&arena);
}
