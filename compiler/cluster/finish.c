#include "compiler/cluster/finish.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const char *const cpu_archs[] = {"x86-64", "x86-64-v2", "x86-64-v3", "x86-64-v4", "native"};

bool dtg_cluster_valid_name(const char *name) {
  if (!isalpha((unsigned char)*name) && *name != '_')
    return false;
  for (; *name; name++)
    if (!isalnum((unsigned char)*name) && *name != '_')
      return false;
  return true;
}

bool dtg_cluster_parse_size(const char *text, int64_t *bytes) {
  static const struct {
    const char *unit;
    int64_t factor;
  } units[] = {{"B", 1},           {"KB", 1000},          {"MB", 1000000},
               {"GB", 1000000000}, {"TB", 1000000000000}, {"KiB", 1 << 10},
               {"MiB", 1 << 20},   {"GiB", 1 << 30},      {"TiB", (int64_t)1 << 40}};
  char *end;
  errno = 0;
  long long number = strtoll(text, &end, 10);
  if (end == text || errno || number <= 0)
    return false;
  while (*end == ' ')
    end++;
  for (size_t i = 0; i < sizeof units / sizeof *units; i++)
    if (strcmp(end, units[i].unit) == 0)
      return !__builtin_mul_overflow((int64_t)number, units[i].factor, bytes);
  return false;
}

bool dtg_cluster_check_arch(struct dtg_ctx *ctx, struct dtg_span span, const char *arch) {
  size_t count = sizeof cpu_archs / sizeof *cpu_archs;
  for (size_t i = 0; i < count; i++)
    if (strcmp(arch, cpu_archs[i]) == 0)
      return true;
  struct dtg_diag *diag = dtg_error(&ctx->diags, span, "unknown cpu_arch `%s`", arch);
  const char *near = dtg_suggest(arch, cpu_archs, count);
  dtg_diag_hint(diag, "%s%s%sknown are x86-64, x86-64-v2, x86-64-v3, x86-64-v4 and native",
                near ? "did you mean `" : "", near ? near : "", near ? "`? " : "");
  return false;
}

bool dtg_cluster_check_gpu_arch(struct dtg_ctx *ctx, struct dtg_span span, const char *arch) {
  if (strncmp(arch, "sm_", 3) == 0 && isdigit((unsigned char)arch[3]) && strlen(arch) < 8)
    return true;
  struct dtg_diag *diag = dtg_error(&ctx->diags, span, "`%s` is no gpu_arch", arch);
  dtg_diag_hint(diag, "write it as NVIDIA does, such as \"sm_90\"");
  return false;
}

void dtg_cluster_default_chief(struct dtg_cluster *cluster) {
  cluster->chief_job = 0;
  cluster->chief_task = 0;
  for (uint32_t j = 0; j < cluster->job_count; j++)
    if (strcmp(cluster->jobs[j].name, "worker") == 0)
      cluster->chief_job = j;
}

static bool check_job(struct dtg_ctx *ctx, const struct dtg_job *job) {
  if (dtg_job_devices(job) == 0) {
    dtg_error(&ctx->diags, job->span, "the tasks of job `%s` have no device", job->name);
    return false;
  }
  if (job->cpu == 0) {
    struct dtg_diag *diag =
        dtg_error(&ctx->diags, job->span, "the tasks of job `%s` have no CPU", job->name);
    dtg_diag_hint(diag, "a task's host work runs on its CPU: leave `cpu` at 1");
    return false;
  }
  if (job->cpu > DTG_CLUSTER_MAX_DEVICES || job->gpu > DTG_CLUSTER_MAX_DEVICES) {
    dtg_error(&ctx->diags, job->span, "job `%s` asks for %u CPU and %u GPU devices a task",
              job->name, job->cpu, job->gpu);
    return false;
  }
  return true;
}

bool dtg_cluster_finish(struct dtg_ctx *ctx, struct dtg_cluster *cluster) {
  uint64_t devices = 0, tasks = 0;
  for (uint32_t j = 0; j < cluster->job_count; j++) {
    struct dtg_job *job = &cluster->jobs[j];
    if (!check_job(ctx, job))
      return false;
    job->first_device = (uint32_t)devices;
    tasks += job->task_count;
    devices += (uint64_t)job->task_count * dtg_job_devices(job);
    if (tasks > DTG_CLUSTER_MAX_TASKS || devices > UINT32_MAX / 2) {
      struct dtg_diag *diag = dtg_error(&ctx->diags, job->span, "the cluster is too large");
      dtg_diag_hint(diag, "the limit is %d tasks", DTG_CLUSTER_MAX_TASKS);
      return false;
    }
  }
  return true;
}
