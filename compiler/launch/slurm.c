#include "compiler/launch/launch.h"

#include "compiler/base/strbuf.h"

static uint32_t first_rank(const struct dtg_cluster *cluster, uint32_t job) {
  uint32_t first = 0;
  for (uint32_t j = 0; j < job; j++)
    first += cluster->jobs[j].task_count;
  return first;
}

// A call of the script's function, which knows the hosts.
static void put_addresses(void *context, uint32_t job, struct dtg_strbuf *out) {
  const struct dtg_cluster *cluster = context;
  dtg_strbuf_printf(out, "$(addresses %u %u)", first_rank(cluster, job),
                    cluster->jobs[job].task_count);
}

static void put_requests(const struct dtg_launch_input *in, struct dtg_strbuf *out) {
  const struct dtg_cluster *cluster = in->cluster;
  uint32_t threads = 0, gpus = 0;
  int64_t memory = 0;
  for (uint32_t j = 0; j < cluster->job_count; j++) {
    const struct dtg_job *job = &cluster->jobs[j];
    int64_t bytes = dtg_report_task_memory(in->report, job);
    threads = job->threads > threads ? job->threads : threads;
    gpus = job->gpu > gpus ? job->gpu : gpus;
    memory = bytes > memory ? bytes : memory;
  }
  dtg_strbuf_puts(out, "#!/bin/bash\n#SBATCH --job-name=");
  dtg_launch_quote(in->report->name, out);
  dtg_strbuf_printf(out, "\n#SBATCH --ntasks=%u\n", dtg_launch_task_count(cluster));
  if (threads > 0)
    dtg_strbuf_printf(out, "#SBATCH --cpus-per-task=%u\n", threads);
  if (gpus > 0)
    dtg_strbuf_printf(out, "#SBATCH --gpus-per-task=%u\n", gpus);
  dtg_strbuf_printf(out,
                    "# The plan takes %lld bytes of memory in the largest task; data sets that are "
                    "read come on top.\n",
                    (long long)memory);
}

static void put_ranks(const struct dtg_cluster *cluster, struct dtg_strbuf *out) {
  dtg_strbuf_puts(out, "# A rank is a task of the plan:");
  for (uint32_t j = 0; j < cluster->job_count; j++) {
    uint32_t first = first_rank(cluster, j), count = cluster->jobs[j].task_count;
    dtg_strbuf_puts(out, j > 0 ? ", " : " ");
    if (count == 1)
      dtg_strbuf_printf(out, "%u is %s/0", first, cluster->jobs[j].name);
    else
      dtg_strbuf_printf(out, "%u-%u are %s/0-%u", first, first + count - 1, cluster->jobs[j].name,
                        count - 1);
  }
  dtg_strbuf_puts(out, ".\n");
}

static void put_hosts(uint32_t tasks, struct dtg_strbuf *out) {
  dtg_strbuf_printf(
      out,
      "\n"
      "# Slurm places the ranks of every step of a job alike: the first step asks where they are.\n"
      "mapfile -t hosts < <(srun --distribution=block bash -c 'echo \"$SLURM_PROCID $(hostname)\"' "
      "|\n"
      "  sort -n | cut -d ' ' -f 2)\n"
      "if [ ${#hosts[@]} -ne %u ]; then\n"
      "  echo \"the plan has %u tasks, and srun started ${#hosts[@]}\" >&2\n"
      "  exit 2\n"
      "fi\n"
      "# addresses FIRST COUNT: of these ranks. Ranks of one host differ in their ports.\n"
      "addresses() {\n"
      "  local rank separator=\n"
      "  for ((rank = $1; rank < $1 + $2; rank++)); do\n"
      "    printf '%%s\"%%s:%%d\"' \"$separator\" \"${hosts[rank]}\" $((port + rank))\n"
      "    separator=', '\n"
      "  done\n"
      "}\n",
      tasks, tasks);
}

void dtg_launch_slurm(const struct dtg_launch_input *in, struct dtg_strbuf *out) {
  const struct dtg_cluster *cluster = in->cluster;
  put_requests(in, out);
  dtg_strbuf_puts(out, "#\n# sbatch THIS [FLAGS OF THE PROGRAM]: in a folder that all hosts share. "
                       "DTG_PROGRAM and DTG_PORT\n# change what is run and the first port.\n");
  put_ranks(cluster, out);
  dtg_strbuf_puts(out, "set -euo pipefail\nprogram=");
  dtg_launch_quote(in->program, out);
  dtg_strbuf_printf(out, "\nprogram=${DTG_PROGRAM:-$program}\nport=${DTG_PORT:-%d}\n",
                    DTG_LAUNCH_PORT);
  dtg_strbuf_puts(out, "cluster=$PWD/");
  dtg_launch_quote(in->report->name, out);
  dtg_strbuf_puts(out, ".$SLURM_JOB_ID.cfg\n");
  put_hosts(dtg_launch_task_count(cluster), out);
  dtg_strbuf_puts(out, "cat >\"$cluster\" <<END\n");
  dtg_launch_cluster(cluster, "", put_addresses, (void *)(uintptr_t)cluster, out);
  dtg_strbuf_puts(out, "END\n\n"
                       "srun --distribution=block --kill-on-bad-exit=1 \"$program\" --cluster "
                       "\"$cluster\" \"$@\"\n");
}
