#include "runtime/process/process_parts.h"

#include "runtime/control/secret.h"
#include "runtime/cpu.h"
#include "runtime/signals.h"

#include <stdlib.h>
#include <string.h>

static const int64_t spin_limit = 30000; /* ns: a round trip on one host takes less */

/* ---- what joins the groups ---- */

static void broken(void *context, uint32_t task, const char *why) {
  struct dtr_process *process = context;
  dtr_control_drop(process->control, task, why);
}

/* Pairs of ends that share an edge and are in different tasks, one of them in this. */
static bool find_pairs(struct dtr_process *process, uint32_t ends, const uint32_t *tasks,
                       const struct dtr_edge *edges, uint32_t edge_count) {
  bool *seen = calloc((size_t)ends * ends + 1, sizeof *seen);
  process->pairs = calloc((size_t)ends * ends + 1, sizeof *process->pairs);
  if (!seen || !process->pairs) {
    free(seen);
    return false;
  }
  for (uint32_t e = 0; e < edge_count; e++) {
    uint32_t end = edges[e].from, other = edges[e].to, own = process->options.task;
    if (tasks[end] == tasks[other] || (tasks[end] != own && tasks[other] != own))
      continue;
    if (tasks[end] != own) {
      end = edges[e].to;
      other = edges[e].from;
    }
    if (seen[(size_t)end * ends + other])
      continue;
    seen[(size_t)end * ends + other] = true;
    process->pairs[process->pair_count++] = (struct dtr_control_pair){end, other, tasks[other]};
    process->peers[tasks[other]] = process->states[tasks[other]].is_wanted = true;
  }
  free(seen);
  return true;
}

static bool open_control(struct dtr_process *process, struct dtr_error *error) {
  process->events = dtr_process_events(process);
  struct dtr_control_options options = {.env = process->options.env,
                                        .plan_id = process->options.program->plan_id,
                                        .run = process->options.run,
                                        .incarnation = process->options.incarnation,
                                        .task = process->options.task,
                                        .task_count = process->map->task_count,
                                        .names = process->names,
                                        .addresses =
                                            (const char *const *)process->options.addresses,
                                        .peers = process->peers,
                                        .listener = process->options.listener,
                                        .secret = process->has_secret ? process->secret : NULL,
                                        .pairs = process->pairs,
                                        .pair_count = process->pair_count,
                                        .events = &process->events};
  return dtr_control_new(&options, &process->control, error);
}

/* Where each task of this host has a processor of its own, nobody computes less for it. */
static int64_t spin_time(const struct dtr_process *process) {
  char own[DTR_HOST_BYTES], other[DTR_HOST_BYTES];
  int port, neighbours = 0;
  char *const *addresses = process->options.addresses;
  dtr_address_split(addresses[process->options.task], own, &port);
  for (uint32_t t = 0; t < process->map->task_count; t++)
    neighbours += dtr_address_split(addresses[t], other, &port) && strcmp(own, other) == 0;
  return neighbours <= dtr_cpu_count() ? spin_limit : 0;
}

static bool join(void *context, uint32_t ends, const uint32_t *tasks, const struct dtr_edge *edges,
                 uint32_t edge_count, struct dtr_error *error) {
  struct dtr_process *process = context;
  struct dtr_net_options options = {.env = process->options.env,
                                    .task = process->options.task,
                                    .ends = ends,
                                    .tasks = tasks,
                                    .edges = edges,
                                    .edge_count = edge_count,
                                    .spin = spin_time(process),
                                    .context = process,
                                    .broken = broken};
  if (!find_pairs(process, ends, tasks, edges, edge_count))
    return dtr_error_memory(error, (int64_t)ends * ends, "the connections");
  return dtr_net_new(&options, &process->net, error) && open_control(process, error) &&
         dtr_process_start_control(process, error);
}

static struct dtr_endpoint endpoint(void *context, uint32_t end) {
  return dtr_net_endpoint(((struct dtr_process *)context)->net, end);
}

static void look(void *context, struct dtr_job_run *job) {
  struct dtr_process *process = context;
  pthread_mutex_lock(&process->lock);
  struct dtr_error error = process->error;
  pthread_mutex_unlock(&process->lock);
  if (dtr_error_is_set(&error) && !process->has_failed) {
    process->has_failed = true;
    dtr_job_abandon(job, &error);
  } else if (!process->has_failed) {
    dtr_process_poll_recovery(process);
    if (dtr_recovery_is_over(process->recovery)) /* it has given up */
      dtr_job_abandon(job, dtr_recovery_error(process->recovery));
  }
}

static void wake(void *context) {
  struct dtr_process *process = context;
  for (uint32_t i = 0; i < process->pair_count; i++)
    dtr_net_wake(process->net, process->pairs[i].end);
}

static void leave(void *context, uint32_t end) {
  struct dtr_process *process = context;
  int64_t now = dtr_env_now(process->options.env);
  if (!dtr_net_drain(process->net, end, now + process->options.deadlines.shutdown))
    dtr_process_note(process, "not all messages could be sent within %lld s",
                     (long long)(process->options.deadlines.shutdown / 1000000000));
}

static void abandon(void *context) {
  dtr_net_abandon(((struct dtr_process *)context)->net);
}

static void describe(void *context, FILE *stream) {
  struct dtr_process *process = context;
  int64_t now = dtr_env_now(process->options.env);
  char text[512];
  dtr_recovery_describe(process->recovery, now, text, sizeof text);
  fprintf(stream, "%s: %s\n", process->names[process->options.task], text);
  for (uint32_t t = 0; t < process->map->task_count; t++) {
    const struct dtr_process_peer *peer = &process->states[t];
    if (!peer->is_wanted)
      continue;
    if (!peer->has_come)
      fprintf(stream, "%s: has not come: %s\n", process->names[t],
              dtr_control_reason(process->control, t));
    else if (peer->is_lost)
      fprintf(stream, "%s: is lost: %s\n", process->names[t], peer->why);
    else if (peer->silent_since != INT64_MAX)
      fprintf(stream, "%s: is silent for %.1f s\n", process->names[t],
              (double)(now - peer->silent_since) * 1e-9);
  }
}

static struct dtr_traffic traffic(void *context, uint32_t kind, uint32_t from, uint32_t to) {
  struct dtr_process *process = context;
  pthread_mutex_lock(&process->lock);
  struct dtr_traffic told = *dtr_process_traffic(process, kind, from, to);
  pthread_mutex_unlock(&process->lock);
  return told;
}

/* ---- a run ---- */

static bool make_states(struct dtr_process *process, struct dtr_error *error) {
  uint32_t tasks = process->map->task_count;
  process->peers = calloc((size_t)tasks + 1, sizeof *process->peers);
  process->states = calloc((size_t)tasks + 1, sizeof *process->states);
  process->names = calloc((size_t)tasks + 1, sizeof *process->names);
  process->traffic =
      calloc((size_t)DTR_CHANNEL_PAYLOADS * tasks * tasks + 1, sizeof *process->traffic);
  if (!process->peers || !process->states || !process->names || !process->traffic)
    return dtr_error_memory(error, tasks, "the tasks");
  for (uint32_t t = 0; t < tasks; t++) {
    process->names[t] = process->map->tasks[t].name;
    process->states[t].silent_since = INT64_MAX;
  }
  return true;
}

static struct dtr_job_options job_options(struct dtr_process *process,
                                          const struct dtr_job_network *network) {
  const struct dtr_process_options *options = &process->options;
  const struct dtr_flags *flags = options->flags;
  return (struct dtr_job_options){.program = options->program,
                                  .env = options->env,
                                  .flags = flags,
                                  .model_dir = options->model_dir,
                                  .threads =
                                      flags->threads == DTR_FLAG_UNSET ? 0 : (int)flags->threads,
                                  .terminal = options->terminal,
                                  .network = network,
                                  .task = &options->task,
                                  .run = options->checkpoints};
}

/* A task that a signal has ended may be started again: the others wait for it. */
static bool must_tell(const struct dtr_process *process, const struct dtr_error *error) {
  return dtr_error_is_set(error) && error->status != DTR_STATUS_STOPPED && !process->is_told &&
         process->has_failed;
}

/* Why the run has ended; told to the user, and if the others cannot know it, to them. */
static int conclude(struct dtr_process *process, struct dtr_job_run *job) {
  struct dtr_error *error = dtr_task_error(dtr_job_chief(job));
  bool is_chief = process->map->clients[0].task == process->options.task;
  if (is_chief)
    dtr_process_end_recovery(process);
  if (!dtr_error_is_set(error))
    *error = *dtr_recovery_error(process->recovery);
  if (must_tell(process, error))
    dtr_process_tell_error(process, error);
  if (!is_chief)
    dtr_process_tell_traffic(process, job);
  int status = dtr_error_is_set(error) ? dtr_status_exit(error->status) : 0;
  dtr_process_stop_control(process, status);
  if (is_chief) {
    dtr_job_finish(job); /* unless it is done */
    dtr_job_write_traffic(job);
  }
  if (dtr_error_is_set(error))
    dtr_error_report(error, stderr);
  return dtr_error_is_set(error) ? dtr_status_exit(error->status) : 0;
}

static void free_process(struct dtr_process *process) {
  dtr_process_stop_control(process, 1);
  dtr_control_free(process->control);
  dtr_process_free_recovery(process);
  dtr_net_free(process->net);
  pthread_cond_destroy(&process->has_mail);
  pthread_mutex_destroy(&process->lock);
  dtr_secret_forget(process->secret);
  free(process->pairs);
  free(process->peers);
  free(process->states);
  free(process->names);
  free(process->traffic);
}

static bool check_addresses(const struct dtr_process *process, struct dtr_error *error) {
  char host[DTR_HOST_BYTES];
  int port;
  for (uint32_t t = 0; t < process->map->task_count; t++)
    if (!dtr_address_split(process->options.addresses[t], host, &port)) {
      dtr_error_set(error, DTR_STATUS_CONFIG, "%s has `%.80s`, which is no address",
                    process->names[t], process->options.addresses[t]);
      return dtr_error_hint(error, "an address is \"HOST:PORT\" with a port from 1 to 65535");
    }
  return true;
}

static bool read_secret(struct dtr_process *process, struct dtr_error *error) {
  const char *path = process->options.flags->secret_file;
  process->has_secret = path != NULL;
  return !path || dtr_secret_read(process->options.env, path, process->secret, error);
}

static bool run_job(struct dtr_process *process, int *status, struct dtr_error *error) {
  const struct dtr_job_network network = {.context = process,
                                          .join = join,
                                          .endpoint = endpoint,
                                          .look = look,
                                          .leave = leave,
                                          .abandon = abandon,
                                          .wake = wake,
                                          .describe = describe,
                                          .traffic = traffic};
  struct dtr_job_options options = job_options(process, &network);
  struct dtr_job_run *job;
  if (!dtr_job_new(&options, &job, error))
    return false;
  process->main_end = dtr_job_main_group(job);
  if (!dtr_process_make_recovery(process, job, error)) {
    dtr_job_free(job);
    return false;
  }
  dtr_signals_install();
  dtr_job_drive(job);
  *status = conclude(process, job);
  dtr_process_free_recovery(process);
  dtr_job_free(job);
  return true;
}

/* Launchers start every task of the cluster, and a strategy may not use them all. */
static int end_idle(const struct dtr_process *process) {
  if (!process->options.flags->quiet)
    fprintf(stderr, "the plan has no work for %s: it ends\n",
            process->map->tasks[process->options.task].name);
  return 0;
}

int dtr_process_run(const struct dtr_process_options *options) {
  struct dtr_process process = {.options = *options, .begun = dtr_env_now(options->env)};
  struct dtr_error error;
  struct dtr_map *map = NULL;
  int status = 0;
  dtr_error_clear(&error);
  dtr_error_clear(&process.error);
  pthread_mutex_init(&process.lock, NULL);
  pthread_cond_init(&process.has_mail, NULL);
  process.last_mail = &process.first_mail;
  bool good = dtr_map_new(options->program, &map, &error);
  process.map = map;
  if (good && !dtr_map_has_work(map, options->task)) {
    status = end_idle(&process);
    pthread_mutex_destroy(&process.lock);
    dtr_map_free(map);
    return status;
  }
  good = good && make_states(&process, &error) && check_addresses(&process, &error) &&
         read_secret(&process, &error) && run_job(&process, &status, &error);
  if (!good) {
    if (process.has_thread)
      dtr_process_tell_error(&process, &error);
    status = dtr_status_exit(error.status);
    dtr_process_stop_control(&process, status);
    dtr_error_report(&error, stderr);
  }
  free_process(&process);
  dtr_map_free(map);
  return status;
}
