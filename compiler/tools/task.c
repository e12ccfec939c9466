// Tasks by name.
#include "compiler/tools/why.h"

#include <stdlib.h>
#include <string.h>

uint32_t dtg_task_count(const struct dtg_cluster *cluster) {
  uint32_t count = 0;
  for (uint32_t j = 0; j < cluster->job_count; j++)
    count += cluster->jobs[j].task_count;
  return count;
}

// A decimal number without sign that ends the text.
static bool parse_index(const char *text, uint32_t *index) {
  uint64_t value = 0;
  if (!*text || strlen(text) > 9)
    return false;
  for (; *text; text++) {
    if (*text < '0' || *text > '9')
      return false;
    value = value * 10 + (uint64_t)(*text - '0');
  }
  *index = (uint32_t)value;
  return true;
}

bool dtg_task_find(const struct dtg_cluster *cluster, const char *name, uint32_t *task) {
  bool full = strncmp(name, "/job:", 5) == 0;
  const char *job = full ? name + 5 : name;
  const char *slash = strchr(job, '/');
  uint32_t index, first = 0;
  if (!slash || (full && strncmp(slash, "/task:", 6) != 0))
    return false;
  if (!parse_index(slash + (full ? 6 : 1), &index))
    return false;
  size_t length = (size_t)(slash - job);
  for (uint32_t j = 0; j < cluster->job_count; j++) {
    const struct dtg_job *row = &cluster->jobs[j];
    if (strlen(row->name) == length && memcmp(row->name, job, length) == 0) {
      if (index >= row->task_count)
        return false;
      *task = first + index;
      return true;
    }
    first += row->task_count;
  }
  return false;
}

bool dtg_task_expect(struct dtg_ctx *ctx, const struct dtg_cluster *cluster, const char *name,
                     uint32_t *task) {
  if (dtg_task_find(cluster, name, task))
    return true;
  struct dtg_diag *diag =
      dtg_error(&ctx->diags, DTG_SPAN_NONE, "the cluster has no task `%s`", name);
  const char *list = "";
  for (uint32_t j = 0; j < cluster->job_count; j++) {
    const struct dtg_job *job = &cluster->jobs[j];
    list = dtg_arena_printf(&ctx->arena, "%s%s%s/0", list, j ? ", " : "", job->name);
    if (job->task_count > 1)
      list = dtg_arena_printf(&ctx->arena, "%s .. %s/%u", list, job->name, job->task_count - 1);
  }
  dtg_diag_hint(diag, "its tasks are %s", list);
  return false;
}
