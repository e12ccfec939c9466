#include "compiler/cluster/cluster.h"

#include "compiler/base/bug.h"

uint32_t dtg_job_devices(const struct dtg_job *job) {
  return job->cpu + job->gpu;
}

uint32_t dtg_cluster_device_count(const struct dtg_cluster *cluster) {
  const struct dtg_job *last = &cluster->jobs[cluster->job_count - 1];
  return last->first_device + last->task_count * dtg_job_devices(last);
}

const char *dtg_cluster_device_name(struct dtg_arena *arena, const struct dtg_cluster *cluster,
                                    uint32_t device) {
  for (uint32_t j = 0; j < cluster->job_count; j++) {
    const struct dtg_job *job = &cluster->jobs[j];
    uint32_t per_task = dtg_job_devices(job);
    uint32_t local = device - job->first_device;
    if (device < job->first_device || local >= job->task_count * per_task)
      continue;
    uint32_t index = local % per_task;
    bool gpu = index >= job->cpu;
    return dtg_arena_printf(arena, "/job:%s/task:%u/device:%s:%u", job->name, local / per_task,
                            gpu ? "GPU" : "CPU", gpu ? index - job->cpu : index);
  }
  dtg_bug("device %u is not in the cluster", device);
}

uint32_t dtg_cluster_default_device(const struct dtg_cluster *cluster) {
  const struct dtg_job *job = &cluster->jobs[cluster->chief_job];
  uint32_t first = job->first_device + cluster->chief_task * dtg_job_devices(job);
  return job->gpu > 0 ? first + job->cpu : first;
}
