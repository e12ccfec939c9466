#include "compiler/base/strbuf.h"
#include "compiler/partition/partition.h"

const char *dtg_transfer_name(enum dtg_transfer_kind kind) {
  static const char *const names[DTG_TRANSFER_KINDS] = {
      [DTG_TRANSFER_ASK] = "ask",         [DTG_TRANSFER_GRANT] = "grant",
      [DTG_TRANSFER_START] = "start",     [DTG_TRANSFER_FEED] = "feed",
      [DTG_TRANSFER_PUSH] = "push",       [DTG_TRANSFER_STAGED] = "staged",
      [DTG_TRANSFER_DECIDE] = "decide",   [DTG_TRANSFER_NORM] = "norm",
      [DTG_TRANSFER_PUBLISH] = "publish", [DTG_TRANSFER_FETCH] = "fetch",
      [DTG_TRANSFER_REPORT] = "report",   [DTG_TRANSFER_BEGIN] = "begin",
      [DTG_TRANSFER_COMMAND] = "command", [DTG_TRANSFER_SCATTER] = "scatter",
      [DTG_TRANSFER_GATHER] = "gather",   [DTG_TRANSFER_CHUNK] = "chunk"};
  return names[kind];
}

const char *dtg_moment_name(enum dtg_moment moment) {
  static const char *const names[DTG_MOMENTS] = {"step", "begin", "evaluation", "checkpoint"};
  return names[moment];
}

const char *dtg_role_name(enum dtg_role role) {
  static const char *const names[] = {"replica", "client", "owner", "arbiter"};
  return names[role];
}

int64_t dtg_transfer_total(const struct dtg_transfer *transfer) {
  int64_t total;
  if (__builtin_mul_overflow(transfer->bytes, transfer->messages, &total))
    return INT64_MAX;
  return total;
}

static void print_ends(const struct dtg_partition *p, struct dtg_arena *arena,
                       const struct dtg_ends *ends, struct dtg_strbuf *out) {
  if (ends->role == DTG_ROLE_OWNER && ends->count == 1) {
    dtg_strbuf_printf(
        out, "owner %s",
        dtg_cluster_device_name(arena, p->replication->cluster, p->loads.data[ends->first].device));
    return;
  }
  if (ends->role == DTG_ROLE_ARBITER) {
    dtg_strbuf_puts(out, "arbiter");
    return;
  }
  dtg_strbuf_printf(out, "%s%s %u", dtg_role_name(ends->role), ends->count == 1 ? "" : "s",
                    ends->first);
  if (ends->count > 1)
    dtg_strbuf_printf(out, "..%u", ends->first + ends->count);
  if (ends->sums > 0 && p->replication->partial_sums.classes.len > 1)
    dtg_strbuf_printf(out, " (%u with %u sums)", ends->members, ends->sums);
}

void dtg_partition_print(const struct dtg_partition *p, struct dtg_strbuf *out) {
  struct dtg_arena arena = {0};
  for (size_t i = 0; i < p->parts.len; i++) {
    const struct dtg_part *part = &p->parts.data[i];
    dtg_strbuf_printf(out, "part %s of %s, x%u: %zu nodes\n",
                      dtg_cluster_device_name(&arena, p->replication->cluster, part->device),
                      part->graph->name, part->devices, part->nodes.len);
  }
  for (size_t i = 0; i < p->sends.len; i++) {
    const struct dtg_transfer *t = &p->sends.data[i];
    if (t->moment != DTG_MOMENT_STEP)
      dtg_strbuf_printf(out, "%s: ", dtg_moment_name(t->moment));
    dtg_strbuf_printf(out, "%s ", dtg_transfer_name(t->kind));
    if (t->kind == DTG_TRANSFER_NORM)
      dtg_strbuf_printf(out, "%u ", t->phase);
    print_ends(p, &arena, &t->from, out);
    dtg_strbuf_puts(out, " -> ");
    print_ends(p, &arena, &t->to, out);
    dtg_strbuf_printf(out, ": %llu x %s%lld bytes\n", (unsigned long long)t->messages,
                      t->at_most ? "at most " : "", (long long)t->bytes);
  }
  dtg_strbuf_printf(out, "%zu parts, %zu families of transfers\n", p->parts.len, p->sends.len);
  dtg_arena_free(&arena);
}
