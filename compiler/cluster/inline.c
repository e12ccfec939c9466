// The inline form for one machine, `ps=1,worker=2:cpu=2:gpu=1`, and the cluster made from nothing.
#include "compiler/cluster/finish.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_INLINE_JOBS = 64 };

struct inline_reader {
  struct dtg_ctx *ctx;
  const char *text;
  uint32_t file; // the text as a source, so that errors can point into it
};

static struct dtg_span span_of(const struct inline_reader *r, const char *begin, const char *end) {
  return (struct dtg_span){r->file, (uint32_t)(begin - r->text), (uint32_t)(end - r->text)};
}

static const char *field_end(const char *p) {
  return p + strcspn(p, ",:");
}

// `name=number` in [begin, end).
static bool read_pair(struct inline_reader *r, const char *begin, const char *end,
                      const char **name, uint32_t *number) {
  const char *equals = memchr(begin, '=', (size_t)(end - begin));
  if (!equals) {
    struct dtg_diag *diag = dtg_error(&r->ctx->diags, span_of(r, begin, end),
                                      "expected `name=number` in the cluster spec");
    dtg_diag_hint(diag, "the inline form is `ps=1,worker=2:cpu=2:gpu=1`; a file is named by its "
                        "path");
    return false;
  }
  *name = dtg_intern(&r->ctx->names, begin, (size_t)(equals - begin));
  char *stop;
  errno = 0;
  unsigned long value = strtoul(equals + 1, &stop, 10);
  if (stop != end || stop == equals + 1 || errno || equals[1] == '-' || equals[1] == '+' ||
      value > DTG_CLUSTER_MAX_TASKS) {
    struct dtg_diag *diag =
        dtg_error(&r->ctx->diags, span_of(r, equals + 1, end), "`%.*s` is no number of %s",
                  (int)(end - equals - 1), equals + 1, *name);
    dtg_diag_hint(diag, "write a whole number up to %d", DTG_CLUSTER_MAX_TASKS);
    return false;
  }
  *number = (uint32_t)value;
  return true;
}

static bool read_option(struct inline_reader *r, const char *begin, const char *end,
                        struct dtg_job *job) {
  static const char *const keys[] = {"cpu", "gpu", "threads"};
  const char *name;
  uint32_t value;
  if (!read_pair(r, begin, end, &name, &value))
    return false;
  if (strcmp(name, "cpu") == 0) {
    job->cpu = value;
  } else if (strcmp(name, "gpu") == 0) {
    job->gpu = value;
  } else if (strcmp(name, "threads") == 0) {
    job->threads = value;
  } else {
    struct dtg_diag *diag =
        dtg_error(&r->ctx->diags, span_of(r, begin, end), "unknown key `%s` of a job", name);
    const char *near = dtg_suggest(name, keys, 3);
    if (near)
      dtg_diag_hint(diag, "did you mean `%s`?", near);
    else
      dtg_diag_hint(diag, "a job takes cpu, gpu and threads here; a spec file takes more");
    return false;
  }
  return true;
}

static bool read_job(struct inline_reader *r, const char **cursor, struct dtg_job *job) {
  const char *begin = *cursor, *end = field_end(begin);
  *job = (struct dtg_job){.cpu = 1, .span = span_of(r, begin, end)};
  if (!read_pair(r, begin, end, &job->name, &job->task_count))
    return false;
  if (!dtg_cluster_valid_name(job->name) || job->task_count == 0) {
    dtg_error(&r->ctx->diags, job->span,
              job->task_count ? "`%s` is no name of a job" : "job `%s` has no tasks", job->name);
    return false;
  }
  while (*end == ':') {
    begin = end + 1;
    end = field_end(begin);
    if (!read_option(r, begin, end, job))
      return false;
  }
  *cursor = end;
  return true;
}

static void default_gpu_archs(struct dtg_ctx *ctx, struct dtg_job *job) {
  const char **archs = DTG_NEW_ARRAY(&ctx->arena, const char *, 2);
  archs[0] = "sm_80";
  archs[1] = "sm_90";
  job->gpu_archs = archs;
  job->gpu_arch_count = 2;
}

static bool known_job(struct dtg_ctx *ctx, const struct dtg_cluster *cluster,
                      const struct dtg_job *job) {
  for (uint32_t i = 0; i < cluster->job_count; i++)
    if (cluster->jobs[i].name == job->name) {
      dtg_error(&ctx->diags, job->span, "job `%s` is given twice", job->name);
      return true;
    }
  return false;
}

bool dtg_cluster_inline(struct dtg_ctx *ctx, const char *text, const char *native_arch,
                        struct dtg_cluster *out) {
  struct inline_reader reader = {ctx, text, 0};
  if (!dtg_source_add(&ctx->sources, &ctx->diags, "--cluster", text, strlen(text), &reader.file))
    return false;
  struct dtg_cluster cluster = {.cpu_arch = native_arch, .local = true, .spec = text};
  cluster.jobs = DTG_NEW_ARRAY(&ctx->arena, struct dtg_job, MAX_INLINE_JOBS);
  for (const char *cursor = text;; cursor++) {
    struct dtg_job job;
    if (!read_job(&reader, &cursor, &job) || known_job(ctx, &cluster, &job))
      return false;
    if (cluster.job_count == MAX_INLINE_JOBS) {
      dtg_error(&ctx->diags, job.span, "more than %d jobs", MAX_INLINE_JOBS);
      return false;
    }
    if (job.gpu > 0)
      default_gpu_archs(ctx, &job);
    cluster.jobs[cluster.job_count++] = job;
    if (*cursor != ',')
      break;
  }
  dtg_cluster_default_chief(&cluster);
  if (!dtg_cluster_finish(ctx, &cluster))
    return false;
  *out = cluster;
  return true;
}

bool dtg_cluster_default(struct dtg_ctx *ctx, const char *native_arch, struct dtg_cluster *out) {
  struct dtg_cluster cluster = {.cpu_arch = native_arch, .local = true, .spec = "", .job_count = 1};
  cluster.jobs = DTG_NEW(&ctx->arena, struct dtg_job);
  *cluster.jobs = (struct dtg_job){.name = dtg_intern_z(&ctx->names, "worker"),
                                   .task_count = 1,
                                   .cpu = 1,
                                   .span = DTG_SPAN_NONE};
  if (!dtg_cluster_finish(ctx, &cluster))
    return false;
  *out = cluster;
  return true;
}
