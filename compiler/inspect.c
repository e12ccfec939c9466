#include "compiler/inspect.h"

#include "compiler/prove/prove.h"
#include "compiler/tools/compare.h"
#include "compiler/tools/task_views.h"
#include "compiler/tools/why.h"

bool dtg_inspect_why(struct dtg_pipeline *p, struct dtg_strbuf *out) {
  return dtg_pipeline_run(p, DTG_STAGE_PLACE) &&
         dtg_why(p->ctx, p->replication, p->options->name, out);
}

bool dtg_inspect_task(struct dtg_pipeline *p, struct dtg_strbuf *out) {
  const struct dtg_options *options = p->options;
  uint32_t client = 0, expand = 0;
  if (!dtg_pipeline_run(p, DTG_STAGE_SCHEDULE) ||
      (options->client && !dtg_task_expect(p->ctx, &p->cluster, options->client, &client)) ||
      (options->expand && !dtg_task_expect(p->ctx, &p->cluster, options->expand, &expand)))
    return false;
  struct dtg_strbuf extras = {0};
  dtg_prove_extras(p->partition, &extras);
  if (options->client)
    dtg_client_view(p->ctx, p->partition, client, dtg_strbuf_text(&extras), out);
  if (options->client && options->expand)
    dtg_strbuf_putc(out, '\n');
  if (options->expand)
    dtg_task_view(p->ctx, p->partition, expand, out);
  dtg_strbuf_free(&extras);
  return true;
}

// ---- compare ----

// The largest need of a device in each role.
static struct dtg_compare_memory measure(const struct dtg_pipeline *p) {
  const struct dtg_replication *r = p->replication;
  struct dtg_compare_memory out = {.replica = dtg_report_memory(&p->report).total};
  int64_t owned = 0;
  for (uint32_t i = 0; i < r->owners.len && !r->single; i++) {
    int64_t bytes = dtg_report_owner_memory(&p->report, i).total;
    uint32_t number;
    bool replica = dtg_device_set_find(&r->families.data[0].devices, r->owners.data[i], &number);
    int64_t *most = replica ? &owned : &out.owner;
    if (bytes > *most)
      *most = bytes;
  }
  out.replica += owned;
  return out;
}

static const char *first_error(struct dtg_arena *arena, const struct dtg_ctx *ctx) {
  for (size_t i = 0; i < ctx->diags.list.len; i++) {
    const struct dtg_diag *diag = ctx->diags.list.data[i];
    if (diag->severity != DTG_ERROR)
      continue;
    const char *where = dtg_span_text(arena, &ctx->sources, diag->span);
    return dtg_arena_printf(arena, "%s%s%s%s%s", diag->message, *where ? " (" : "", where,
                            *where ? ")" : "",
                            diag->hint ? dtg_arena_printf(arena, "\n  hint: %s", diag->hint) : "");
  }
  return "it cannot be planned";
}

// Every strategy goes through the stages on its own.
static void fill(struct dtg_arena *arena, const struct dtg_options *given, const char *name,
                 struct dtg_compare_column *out) {
  struct dtg_options options = *given;
  struct dtg_ctx ctx;
  struct dtg_pipeline p;
  options.strategy = name;
  dtg_ctx_init(&ctx);
  dtg_pipeline_init(&p, &ctx, &options);
  out->name = name;
  if (dtg_pipeline_run(&p, DTG_STAGE_SCHEDULE))
    dtg_compare_fill(arena, p.partition, measure(&p), out);
  else
    out->refused = first_error(arena, &ctx);
  dtg_pipeline_free(&p);
  dtg_ctx_free(&ctx);
}

bool dtg_inspect_compare(struct dtg_pipeline *p, struct dtg_strbuf *out) {
  struct dtg_arena *arena = &p->ctx->arena;
  if (!dtg_pipeline_run(p, DTG_STAGE_GRAD))
    return false;
  size_t count = p->model->strategies.len, refused = 0;
  struct dtg_compare_column *columns = DTG_NEW_ARRAY(arena, struct dtg_compare_column, count);
  for (size_t i = 0; i < count; i++) {
    fill(arena, p->options, p->model->strategies.data[i].name, &columns[i]);
    refused += columns[i].refused != NULL;
  }
  dtg_compare_print(columns, count, out);
  return refused < count;
}
