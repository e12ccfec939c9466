#include "compiler/base/strbuf.h"
#include "compiler/tools/task_views.h"
#include "compiler/tools/traffic.h"

struct view {
  struct dtg_ctx *ctx;
  const struct dtg_partition *p;
  const struct dtg_replication *r;
  uint32_t task;
  struct dtg_strbuf *out;
  uint64_t messages;
  int64_t sent, received, inside;
};

static const char *device_text(const struct view *v, uint32_t device) {
  return dtg_cluster_device_name(&v->ctx->arena, v->r->cluster, device);
}

static bool find_replica(const struct view *v, uint32_t device, uint32_t *replica) {
  for (size_t i = 0; i < v->r->families.len; i++) {
    uint32_t number;
    if (!dtg_device_set_find(&v->r->families.data[i].devices, device, &number))
      continue;
    *replica = v->r->families.data[i].first + number;
    return true;
  }
  return false;
}

static void put_replica(const struct view *v, uint32_t replica) {
  int64_t each = v->r->shards / v->r->replicas;
  uint32_t sums = dtg_replica_sums(v->r, replica);
  dtg_strbuf_printf(v->out, "    replica %u: shards %lld to %lld, %u partial sum%s\n", replica,
                    (long long)(replica * each), (long long)((replica + 1) * each - 1), sums,
                    sums == 1 ? "" : "s");
}

// Parts that this class of devices runs.
static void put_parts(const struct view *v, bool computes, bool owns) {
  for (size_t i = 0; i < v->p->parts.len; i++) {
    const struct dtg_part *part = &v->p->parts.data[i];
    bool update = part->graph == v->r->module->update;
    if (update ? owns : computes)
      dtg_strbuf_printf(v->out, "    part %s: %zu nodes\n", part->graph->name, part->nodes.len);
  }
}

static void put_slices(const struct view *v, uint32_t owner) {
  const struct dtg_owner_load *load = &v->p->loads.data[owner];
  dtg_strbuf_printf(v->out, "    owner %u: %u slice%s, %lld bytes and %lld of slots\n", owner,
                    load->slices, load->slices == 1 ? "" : "s", (long long)load->values,
                    (long long)load->slots);
  for (size_t i = 0; i < v->r->slices.len; i++) {
    const struct dtg_slice *s = &v->r->slices.data[i];
    const struct dtg_variable *variable = &v->r->module->variables.data[s->variable];
    if (s->owner != load->device)
      continue;
    dtg_strbuf_printf(v->out, "      %-26s elements %lld to %lld, %lld bytes\n", variable->path,
                      (long long)s->first, (long long)(s->first + s->elements - 1),
                      (long long)(s->elements * (int64_t)dtg_dtype_size(variable->type.dtype)));
  }
}

static void put_device(const struct view *v, uint32_t device) {
  uint32_t replica;
  size_t owner;
  bool computes = find_replica(v, device, &replica), owns = dtg_owner_find(v->r, device, &owner);
  dtg_strbuf_printf(v->out, "  %s\n", device_text(v, device));
  if (computes)
    put_replica(v, replica);
  if (owns)
    put_slices(v, (uint32_t)owner);
  put_parts(v, computes, owns);
  if (!computes && !owns)
    dtg_strbuf_puts(v->out, "    nothing runs here\n");
}

static void put_clients(const struct view *v) {
  for (uint32_t c = 0; c < v->r->clients; c++)
    if (dtg_client_task(v->r, c) == v->task)
      dtg_strbuf_printf(v->out, "  client %u%s\n", c, c == 0 ? ", the chief" : "");
}

static const char *end_text(const struct view *v, enum dtg_role role, uint32_t index) {
  uint32_t task = dtg_end_task(v->p, role, index);
  return dtg_arena_printf(&v->ctx->arena, "%s %u at %s", dtg_role_name(role), index,
                          dtg_task_name(&v->ctx->arena, v->r->cluster, task));
}

static void put_message(void *context, const struct dtg_transfer *t, uint32_t from, uint32_t to) {
  struct view *v = context;
  bool sends = dtg_end_task(v->p, t->from.role, from) == v->task;
  bool receives = dtg_end_task(v->p, t->to.role, to) == v->task;
  v->messages++;
  *(sends && receives ? &v->inside : sends ? &v->sent : &v->received) += t->bytes;
  dtg_strbuf_printf(v->out, "    %-8s %-8s %-32s -> %-32s %12lld\n",
                    sends && receives ? "inside"
                    : sends           ? "sends"
                                      : "receives",
                    dtg_transfer_name(t->kind), end_text(v, t->from.role, from),
                    end_text(v, t->to.role, to), (long long)t->bytes);
}

// In the order of a step: rows stand by owner.
static void put_moment(struct view *v, enum dtg_moment moment, const char *title) {
  size_t before = v->out->len;
  v->messages = 0;
  v->sent = v->received = v->inside = 0;
  dtg_strbuf_printf(v->out, "  %s\n", title);
  for (int kind = 0; kind < DTG_TRANSFER_KINDS; kind++)
    for (size_t i = 0; i < v->p->sends.len; i++)
      if ((int)v->p->sends.data[i].kind == kind && v->p->sends.data[i].moment == moment)
        dtg_transfer_each(v->p, &v->p->sends.data[i], v->task, put_message, v);
  if (v->messages == 0 && moment != DTG_MOMENT_STEP) {
    v->out->len = before;
    return;
  }
  dtg_strbuf_printf(v->out,
                    "  %llu messages: %lld bytes sent, %lld received, %lld inside the task\n",
                    (unsigned long long)v->messages, (long long)v->sent, (long long)v->received,
                    (long long)v->inside);
}

static void put_messages(struct view *v) {
  put_moment(v, DTG_MOMENT_STEP, "messages of a step, with their bytes");
  put_moment(v, DTG_MOMENT_BEGIN, "once, to begin (scatter: only with saved values)");
  put_moment(v, DTG_MOMENT_EVALUATION, "a wave of an evaluation, at most");
  put_moment(v, DTG_MOMENT_CHECKPOINT, "a checkpoint");
}

void dtg_task_view(struct dtg_ctx *ctx, const struct dtg_partition *p, uint32_t task,
                   struct dtg_strbuf *out) {
  struct view v = {.ctx = ctx, .p = p, .r = p->replication, .task = task, .out = out};
  const struct dtg_cluster *cluster = v.r->cluster;
  uint32_t j = 0, index = task;
  for (; index >= cluster->jobs[j].task_count; j++)
    index -= cluster->jobs[j].task_count;
  uint32_t each = dtg_job_devices(&cluster->jobs[j]);
  dtg_strbuf_printf(out, "%s in full, strategy `%s`\n", dtg_task_name(&ctx->arena, cluster, task),
                    v.r->strategy->name);
  put_clients(&v);
  for (uint32_t d = 0; d < each; d++)
    put_device(&v, cluster->jobs[j].first_device + index * each + d);
  put_messages(&v);
}
