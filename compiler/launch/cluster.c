#include "compiler/launch/launch.h"

#include "compiler/base/strbuf.h"

#include <ctype.h>
#include <string.h>

uint32_t dtg_launch_task_count(const struct dtg_cluster *cluster) {
  uint32_t count = 0;
  for (uint32_t j = 0; j < cluster->job_count; j++)
    count += cluster->jobs[j].task_count;
  return count;
}

static void put_job(const struct dtg_job *job, struct dtg_strbuf *out) {
  dtg_strbuf_printf(out, " ]; cpu = %u;", job->cpu);
  if (job->threads > 0)
    dtg_strbuf_printf(out, " threads = %u;", job->threads);
  if (job->memory > 0)
    dtg_strbuf_printf(out, " memory = \"%lldB\";", (long long)job->memory);
  if (job->gpu > 0)
    dtg_strbuf_printf(out, " gpu = %u;", job->gpu);
  if (job->gpu > 0 && job->gpu_memory > 0)
    dtg_strbuf_printf(out, " gpu_memory = \"%lldB\";", (long long)job->gpu_memory);
  dtg_strbuf_puts(out, " };\n");
}

void dtg_launch_cluster(const struct dtg_cluster *cluster, const char *indent,
                        void (*addresses)(void *context, uint32_t job, struct dtg_strbuf *out),
                        void *context, struct dtg_strbuf *out) {
  dtg_strbuf_printf(out, "%sjobs: {\n", indent);
  for (uint32_t j = 0; j < cluster->job_count; j++) {
    dtg_strbuf_printf(out, "%s  %s: { tasks = [ ", indent, cluster->jobs[j].name);
    addresses(context, j, out);
    put_job(&cluster->jobs[j], out);
  }
  dtg_strbuf_printf(out, "%s};\n", indent);
  dtg_strbuf_printf(out, "%schief = \"/job:%s/task:%u\";\n", indent,
                    cluster->jobs[cluster->chief_job].name, cluster->chief_task);
  dtg_strbuf_printf(out, "%scpu_arch = \"%s\";\n", indent, cluster->cpu_arch);
}

void dtg_launch_quote(const char *text, struct dtg_strbuf *out) {
  static const char plain[] = "-_./:=,+@%";
  bool is_plain = text[0] != '\0';
  for (const char *c = text; *c; c++)
    is_plain = is_plain && (isalnum((unsigned char)*c) || strchr(plain, *c));
  if (is_plain) {
    dtg_strbuf_puts(out, text);
    return;
  }
  dtg_strbuf_putc(out, '\'');
  for (const char *c = text; *c; c++)
    if (*c == '\'')
      dtg_strbuf_puts(out, "'\\''");
    else
      dtg_strbuf_putc(out, *c);
  dtg_strbuf_putc(out, '\'');
}
