#include "compiler/launch/launch.h"

#include "compiler/base/strbuf.h"

#include <string.h>

// "10.0.0.1:2222" without the port; an IPv6 address stands in brackets, which mpirun does not want.
static void put_host(const char *address, struct dtg_strbuf *out) {
  const char *colon = strrchr(address, ':');
  size_t length = colon ? (size_t)(colon - address) : strlen(address);
  if (length >= 2 && address[0] == '[' && address[length - 1] == ']')
    dtg_strbuf_write(out, address + 1, length - 2);
  else
    dtg_strbuf_write(out, address, length);
}

static bool has_addresses(struct dtg_ctx *ctx, const struct dtg_cluster *cluster) {
  for (uint32_t j = 0; j < cluster->job_count; j++) {
    if (cluster->jobs[j].addresses)
      continue;
    struct dtg_diag *diag = dtg_error(&ctx->diags, cluster->jobs[j].span,
                                      "the tasks of job `%s` have no addresses, so there are no "
                                      "hosts to name",
                                      cluster->jobs[j].name);
    dtg_diag_hint(diag, "give a cluster file with `tasks = [ \"host:port\", ... ]`; `dtgc run "
                        "--processes` starts the tasks on this machine");
    return false;
  }
  return true;
}

bool dtg_launch_hostfile(struct dtg_ctx *ctx, const struct dtg_launch_input *in,
                         struct dtg_strbuf *out) {
  const struct dtg_cluster *cluster = in->cluster;
  if (!has_addresses(ctx, cluster))
    return false;
  dtg_strbuf_printf(out, "# mpirun --app THIS: one process per task of %s\n", in->report->name);
  for (uint32_t j = 0; j < cluster->job_count; j++)
    for (uint32_t t = 0; t < cluster->jobs[j].task_count; t++) {
      dtg_strbuf_puts(out, "-np 1 --host ");
      put_host(cluster->jobs[j].addresses[t], out);
      dtg_strbuf_putc(out, ' ');
      dtg_launch_quote(in->program, out);
      dtg_strbuf_puts(out, " --cluster ");
      dtg_launch_quote(cluster->spec, out);
      dtg_strbuf_printf(out, " --task %s/%u\n", cluster->jobs[j].name, t);
    }
  return true;
}
