// Numbers of devices, tasks, replicas and clients.
#include "compiler/base/bug.h"
#include "compiler/replicate/replicate.h"

uint32_t dtg_device_set_count(const struct dtg_device_set *set) {
  return set->outer * set->inner;
}

uint32_t dtg_device_set_at(const struct dtg_device_set *set, uint32_t number) {
  return set->base + number / set->inner * set->outer_stride +
         number % set->inner * set->inner_stride;
}

bool dtg_device_set_find(const struct dtg_device_set *set, uint32_t device, uint32_t *number) {
  if (device < set->base)
    return false;
  uint32_t rest = device - set->base;
  uint32_t outer = set->outer > 1 ? rest / set->outer_stride : 0;
  if (outer >= set->outer)
    outer = set->outer - 1;
  rest -= outer * (set->outer > 1 ? set->outer_stride : 0);
  uint32_t inner = set->inner > 1 ? rest / set->inner_stride : 0;
  rest -= inner * (set->inner > 1 ? set->inner_stride : 0);
  if (inner >= set->inner || rest != 0)
    return false;
  *number = outer * set->inner + inner;
  return true;
}

uint32_t dtg_replica_device(const struct dtg_replication *r, uint32_t replica) {
  for (size_t i = r->families.len; i-- > 0;) {
    const struct dtg_replica_family *family = &r->families.data[i];
    if (family->first <= replica)
      return dtg_device_set_at(&family->devices, replica - family->first);
  }
  dtg_bug("there is no replica %u", replica);
}

uint32_t dtg_replica_client(const struct dtg_replication *r, uint32_t replica) {
  for (size_t i = 0; i < r->client_families.len; i++) {
    const struct dtg_client_family *family = &r->client_families.data[i];
    uint32_t count = family->count * family->replicas_each;
    if (replica >= family->first_replica && replica - family->first_replica < count)
      return family->first + (replica - family->first_replica) / family->replicas_each;
  }
  dtg_bug("replica %u has no client", replica);
}

uint32_t dtg_client_task(const struct dtg_replication *r, uint32_t client) {
  for (size_t i = r->client_families.len; i-- > 0;) {
    const struct dtg_client_family *family = &r->client_families.data[i];
    if (family->first <= client)
      return family->task + (client - family->first) * family->task_stride;
  }
  dtg_bug("there is no client %u", client);
}

uint32_t dtg_device_task(const struct dtg_cluster *cluster, uint32_t device) {
  uint32_t first = 0;
  for (uint32_t j = 0; j < cluster->job_count; j++) {
    const struct dtg_job *job = &cluster->jobs[j];
    uint32_t each = dtg_job_devices(job);
    if (device < job->first_device + each * job->task_count)
      return first + (device - job->first_device) / each;
    first += job->task_count;
  }
  dtg_bug("there is no device %u", device);
}

const char *dtg_task_name(struct dtg_arena *arena, const struct dtg_cluster *cluster,
                          uint32_t task) {
  uint32_t first = 0;
  for (uint32_t j = 0; j < cluster->job_count; j++) {
    const struct dtg_job *job = &cluster->jobs[j];
    if (task < first + job->task_count)
      return dtg_arena_printf(arena, "/job:%s/task:%u", job->name, task - first);
    first += job->task_count;
  }
  dtg_bug("there is no task %u", task);
}

const struct dtg_slice *dtg_variable_slices(const struct dtg_replication *r, uint32_t variable,
                                            size_t *count) {
  const struct dtg_variable *v = &r->module->variables.data[variable];
  if (v->kind == DTG_VARIABLE_SLOT)
    variable = v->param;
  size_t low = 0, high = r->slices.len;
  while (low < high) {
    size_t middle = (low + high) / 2;
    if (r->slices.data[middle].variable < variable)
      low = middle + 1;
    else
      high = middle;
  }
  *count = 0;
  while (low + *count < r->slices.len && r->slices.data[low + *count].variable == variable)
    ++*count;
  return r->slices.data + low;
}

bool dtg_owner_find(const struct dtg_replication *r, uint32_t device, size_t *index) {
  size_t low = 0, high = r->owners.len;
  while (low < high) {
    size_t middle = (low + high) / 2;
    if (r->owners.data[middle] < device)
      low = middle + 1;
    else
      high = middle;
  }
  *index = low;
  return low < r->owners.len && r->owners.data[low] == device;
}

// Replicas of the job, and its owners that are no replicas.
uint32_t dtg_job_used(const struct dtg_replication *r, const struct dtg_job *job) {
  const struct dtg_device_set *replicas = &r->families.data[0].devices;
  uint32_t end = job->first_device + job->task_count * dtg_job_devices(job), used = 0, number;
  if (replicas->base >= job->first_device && replicas->base < end)
    used = dtg_device_set_count(replicas);
  for (size_t i = 0; i < r->owners.len; i++)
    used += r->owners.data[i] >= job->first_device && r->owners.data[i] < end &&
            !dtg_device_set_find(replicas, r->owners.data[i], &number);
  return used;
}
