/* What a job tells: traffic, where it stands, who waits for whom. */
#include "runtime/replicate/job_parts.h"

#include "runtime/json.h"

#include <stdlib.h>

struct dtr_party *dtr_group_party(struct dtr_group *group, uint32_t which) {
  if (!group->is_here)
    return NULL;
  if (which == 0)
    return group->client != DTR_NONE ? dtr_client_party(group->job->clients[group->client]) : NULL;
  if (which == 1)
    return group->replica ? dtr_replica_party(group->replica) : NULL;
  if (which == 2)
    return group->owner ? dtr_owner_party(group->owner) : NULL;
  return group->arbiter ? dtr_arbiter_party(group->arbiter) : NULL;
}

int64_t dtr_job_lead(const struct dtr_job_run *job) {
  for (uint32_t g = 0; g < job->group_count; g++)
    if (job->groups[g].arbiter)
      return dtr_arbiter_lead(job->groups[g].arbiter);
  return 0;
}

uint32_t dtr_job_main_group(const struct dtr_job_run *job) {
  return job->main_group;
}

void dtr_job_own_error(struct dtr_job_run *job, struct dtr_error *error) {
  for (uint32_t i = 0; i < job->group_count * DTR_PARTIES_OF_GROUP; i++) {
    struct dtr_group *group = &job->groups[i / DTR_PARTIES_OF_GROUP];
    const struct dtr_party *party = dtr_group_party(group, i % DTR_PARTIES_OF_GROUP);
    if (!dtr_error_is_set(error) && party && dtr_error_is_set(&party->error))
      *error = party->error;
    if (!dtr_error_is_set(error) && group->is_here && dtr_error_is_set(&group->failed.error))
      *error = group->failed.error;
  }
}

const struct dtr_map *dtr_job_map(const struct dtr_job_run *job) {
  return job->map;
}

struct dtr_traffic dtr_job_traffic(const struct dtr_job_run *job, enum dtr_channel_kind kind,
                                   uint32_t from_task, uint32_t to_task) {
  struct dtr_traffic sum = {0, 0};
  struct dtr_endpoint end = job->groups[job->main_group].end;
  const struct dtr_job_network *network = job->options.network;
  if (network && network->traffic && from_task != *job->options.task)
    return network->traffic(network->context, kind, from_task, to_task);
  for (uint32_t e = 0; e < job->channels->count; e++) {
    const struct dtr_channel *channel = &job->channels->channels[e];
    if (channel->kind != kind || !channel->is_counted ||
        dtr_party_task(job->map, channel->from) != from_task ||
        dtr_party_task(job->map, channel->to) != to_task)
      continue;
    struct dtr_traffic traffic = dtr_transport_traffic(&end, e);
    sum.messages += traffic.messages;
    sum.bytes += traffic.bytes;
  }
  return sum;
}

static void write_link(const struct dtr_job_run *job, struct dtr_json *json, uint32_t from,
                       uint32_t to, bool *any) {
  for (uint32_t kind = 0; kind < DTR_CHANNEL_PAYLOADS; kind++) {
    struct dtr_traffic traffic = dtr_job_traffic(job, (enum dtr_channel_kind)kind, from, to);
    if (traffic.messages == 0)
      continue;
    dtr_json_raw(json, *any ? ",\n  {\"from\": " : "\n  {\"from\": ");
    *any = true;
    dtr_json_string(json, job->map->tasks[from].name);
    dtr_json_raw(json, ", \"to\": ");
    dtr_json_string(json, job->map->tasks[to].name);
    dtr_json_raw(json, ", \"kind\": ");
    dtr_json_string(json, dtr_channel_name((enum dtr_channel_kind)kind));
    dtr_json_raw(json, ", \"messages\": ");
    dtr_json_integer(json, traffic.messages);
    dtr_json_raw(json, ", \"bytes\": ");
    dtr_json_integer(json, traffic.bytes);
    dtr_json_raw(json, "}");
  }
}

void dtr_job_write_traffic(struct dtr_job_run *job) {
  struct dtr_task *chief = dtr_job_chief(job);
  const char *path = job->options.flags->traffic;
  struct dtr_json json;
  bool any = false;
  if (!path || !dtr_json_open(job->options.env, path, &json, &chief->error))
    return;
  dtr_json_raw(&json, "{\"steps\": ");
  dtr_json_integer(&json, chief->step - chief->first_step);
  dtr_json_raw(&json, ", \"links\": [");
  for (uint32_t from = 0; from < job->map->task_count; from++)
    for (uint32_t to = 0; to < job->map->task_count; to++)
      write_link(job, &json, from, to, &any);
  dtr_json_raw(&json, "]}\n");
  dtr_json_close(&json, path, &chief->error);
}

/* Of the devices in this process. */
static void write_memory(struct dtr_job_run *job) {
  struct dtr_task *chief = dtr_job_chief(job);
  const char *path = job->options.flags->memory;
  struct dtr_json json;
  bool any = false;
  if (!path || !dtr_json_open(job->options.env, path, &json, &chief->error))
    return;
  dtr_json_raw(&json, "{\"devices\": [");
  for (uint32_t g = 0; g < job->group_count; g++) {
    struct dtr_group *group = &job->groups[g];
    const struct dtr_device_map *device = &job->map->devices[group->device];
    char name[128];
    if (!group->executor)
      continue;
    snprintf(name, sizeof name, "%s/%u", job->map->tasks[device->task].name, device->index);
    dtr_json_raw(&json, any ? ",\n  " : "\n  ");
    any = true;
    dtr_ledger_write(&group->ledger, &json, name);
  }
  dtr_json_raw(&json, "]}\n");
  dtr_json_close(&json, path, &chief->error);
}

void dtr_job_finish(struct dtr_job_run *job) {
  if (job->is_finished)
    return;
  job->is_finished = true;
  dtr_job_write_traffic(job);
  write_memory(job);
  dtr_task_finish(dtr_job_chief(job));
}

uint32_t dtr_job_edges(const struct dtr_job_run *job) {
  return job->channels->count;
}

enum dtr_channel_kind dtr_job_edge_kind(const struct dtr_job_run *job, uint32_t edge) {
  return job->channels->channels[edge].kind;
}

void dtr_job_edge_text(const struct dtr_job_run *job, uint32_t edge, char *text, size_t size) {
  const struct dtr_channel *channel = &job->channels->channels[edge];
  char from[96], to[96];
  dtr_party_text(job->map, channel->from, from, sizeof from);
  dtr_party_text(job->map, channel->to, to, sizeof to);
  snprintf(text, size, "%s of %s to %s", dtr_channel_name(channel->kind), from, to);
}

static void describe(const struct dtr_party *party, FILE *stream) {
  char text[512];
  dtr_party_describe(party, text, sizeof text);
  fprintf(stream, "%s\n", text);
}

void dtr_job_describe(const struct dtr_job_run *job, FILE *stream) {
  for (uint32_t c = 0; c < job->map->client_count; c++)
    if (job->clients[c])
      describe(dtr_client_party(job->clients[c]), stream);
  for (uint32_t g = 0; g < job->group_count; g++) {
    if (job->groups[g].replica)
      describe(dtr_replica_party(job->groups[g].replica), stream);
    if (job->groups[g].owner)
      describe(dtr_owner_party(job->groups[g].owner), stream);
    if (job->groups[g].arbiter)
      describe(dtr_arbiter_party(job->groups[g].arbiter), stream);
  }
}
