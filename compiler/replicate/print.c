#include "compiler/base/strbuf.h"
#include "compiler/replicate/replicate.h"

static const char *const kind_names[DTG_ROOT_KIND_COUNT] = {"loss", "metric", "output",
                                                            "grad", "state",  "update"};
static const char *const reduce_names[] = {"mean", "sum", "max"};

static void print_maps(const struct dtg_replication *r, struct dtg_arena *arena,
                       struct dtg_strbuf *out) {
  for (size_t i = 0; i < r->families.len; i++) {
    const struct dtg_replica_family *f = &r->families.data[i];
    dtg_strbuf_printf(out, "replicas %u..%u on %s, %lld shards each !%s\n", f->first,
                      f->first + f->count, dtg_cluster_device_name(arena, r->cluster, f->device),
                      (long long)f->shards_each, f->cause.rule);
  }
  for (size_t i = 0; i < r->clients.len; i++) {
    const struct dtg_client *c = &r->clients.data[i];
    dtg_strbuf_printf(out, "client %zu at /job:%s/task:%u drives replicas %u..%u\n", i,
                      r->cluster->jobs[c->job].name, c->task, c->first_replica,
                      c->first_replica + c->replica_count);
  }
  for (size_t i = 0; i < r->owners.len; i++) {
    const struct dtg_owner *o = &r->owners.data[i];
    dtg_strbuf_printf(out, "owner of %s is %s !%s\n",
                      r->module->variables.data[o->variable].path,
                      dtg_cluster_device_name(arena, r->cluster, o->device), o->cause.rule);
  }
}

void dtg_replication_print(const struct dtg_replication *r, struct dtg_strbuf *out) {
  struct dtg_arena arena = {0};
  dtg_strbuf_printf(out, "strategy %s: %u replica%s, %lld shard%s, update %s\n", r->strategy->name,
                    r->replicas, r->replicas == 1 ? "" : "s", (long long)r->shards,
                    r->shards == 1 ? "" : "s", r->relaxed ? "async" : "sync");
  print_maps(r, &arena, out);
  for (size_t i = 0; i < r->reductions.len; i++) {
    const struct dtg_reduction *d = &r->reductions.data[i];
    char type[128];
    dtg_type_format(&d->type, type, sizeof type);
    dtg_strbuf_printf(out, "reduce %s%s%s %s by %s over %lld shards at %s\n", kind_names[d->kind],
                      *d->name ? " " : "", d->name, type, reduce_names[d->reduce],
                      (long long)r->shards, dtg_cluster_device_name(&arena, r->cluster, d->owner));
  }
  dtg_arena_free(&arena);
}
