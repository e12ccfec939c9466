#include "compiler/tools/peak.h"

#include <stdlib.h>

enum { BUFFERS_SHOWN = 6 };

static const struct dtg_plan_function *largest(const struct dtg_plan *plan) {
  const struct dtg_plan_function *best = NULL;
  for (int i = 0; i < DTG_PLAN_FUNCTIONS; i++) {
    const struct dtg_plan_function *f = &plan->functions[i];
    if (f->graph && f->arena_bytes > 0 && (!best || f->arena_bytes > best->arena_bytes))
      best = f;
  }
  return best;
}

// Largest first; equal ones in the order in which they are made.
static int by_bytes(const void *left, const void *right) {
  const struct dtg_plan_buffer *a = *(const struct dtg_plan_buffer *const *)left;
  const struct dtg_plan_buffer *b = *(const struct dtg_plan_buffer *const *)right;
  if (a->bytes != b->bytes)
    return a->bytes > b->bytes ? -1 : 1;
  return (a > b) - (a < b);
}

// The buffers that live at the peak; memory that is handed over in that step counts for the giver.
static size_t live_at_peak(const struct dtg_plan_function *f, const struct dtg_plan_buffer **out) {
  uint32_t step = f->live_peak_step;
  size_t count = 0;
  for (size_t i = 0; i < f->buffers.len; i++) {
    const struct dtg_plan_buffer *b = &f->buffers.data[i];
    bool taken_over = b->in_place_of != DTG_NO_NODE && b->first_step == step;
    if (b->at.space == DTG_SPACE_ARENA && b->first_step <= step && step <= b->last_step &&
        !taken_over)
      out[count++] = b;
  }
  qsort(out, count, sizeof *out, by_bytes);
  return count;
}

static void note_buffer(struct dtg_ctx *ctx, struct dtg_diag *diag, const struct dtg_graph *graph,
                        const struct dtg_plan_buffer *buffer) {
  char type[128];
  if (buffer->node == DTG_NO_NODE) {
    dtg_diag_note(diag, DTG_SPAN_NONE, "%lld bytes are scratch of a library product",
                  (long long)buffer->bytes);
    return;
  }
  const struct dtg_node *node = dtg_graph_node(graph, buffer->node);
  const char *path = *node->path ? dtg_arena_printf(&ctx->arena, " of `%s`", node->path) : "";
  dtg_type_format(&node->type, type, sizeof type);
  dtg_diag_note(diag, node->span, "%lld bytes are the %s made here%s", (long long)buffer->bytes,
                type, path);
}

void dtg_peak_notes(struct dtg_ctx *ctx, struct dtg_diag *diag, const struct dtg_plan *plan) {
  const struct dtg_plan_function *f = largest(plan);
  if (!f)
    return;
  const struct dtg_plan_buffer **live =
      DTG_NEW_ARRAY(&ctx->arena, const struct dtg_plan_buffer *, f->buffers.len);
  size_t count = live_at_peak(f, live);
  dtg_diag_note(
      diag, DTG_SPAN_NONE,
      "the arena of the %s graph takes %lld bytes a thread; at its peak, launch %u of %zu, "
      "%zu buffer%s live",
      f->name, (long long)f->arena_bytes, f->live_peak_step + 1, f->steps.len, count,
      count == 1 ? "" : "s");
  for (size_t i = 0; i < count && i < BUFFERS_SHOWN; i++)
    note_buffer(ctx, diag, f->graph, live[i]);
}
