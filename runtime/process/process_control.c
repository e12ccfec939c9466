/* The thread of the control channel: what it hears, and what it tells the others. */
#include "runtime/process/process_parts.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const int64_t look_around = 100000000; /* ns: how late a deadline may be noticed */

void dtr_process_note(const struct dtr_process *process, const char *format, ...) {
  char text[768];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  fprintf(stderr, "%s: %s\n", process->names[process->options.task], text);
}

void dtr_process_fail(struct dtr_process *process, const struct dtr_error *error, bool is_told) {
  pthread_mutex_lock(&process->lock);
  if (!dtr_error_is_set(&process->error)) {
    process->error = *error;
    process->is_told = is_told;
  }
  pthread_mutex_unlock(&process->lock);
  dtr_net_wake(process->net, process->main_end);
}

/* ---- events ---- */

static void present(void *context, uint32_t task, uint64_t incarnation) {
  struct dtr_process *process = context;
  struct dtr_mail mail = {.kind = DTR_MAIL_PRESENT, .task = task, .incarnation = incarnation};
  pthread_mutex_lock(&process->lock);
  struct dtr_process_peer *peer = &process->states[task];
  peer->has_come = true;
  peer->is_lost = peer->has_left = false;
  peer->silent_since = INT64_MAX;
  peer->incarnation = incarnation;
  pthread_mutex_unlock(&process->lock);
  dtr_process_post(process, &mail);
}

static void lost(void *context, uint32_t task, uint64_t incarnation, const char *why) {
  struct dtr_process *process = context;
  struct dtr_mail mail = {.kind = DTR_MAIL_LOST, .task = task, .incarnation = incarnation};
  pthread_mutex_lock(&process->lock);
  struct dtr_process_peer *peer = &process->states[task];
  peer->is_lost = true;
  snprintf(peer->why, sizeof peer->why, "%s", why);
  pthread_mutex_unlock(&process->lock);
  if (!atomic_load(&process->is_ending))
    dtr_process_note(process, "%s is lost: %s", process->names[task], why);
  dtr_net_lose(process->net, task);
  dtr_process_post(process, &mail);
}

static void silent(void *context, uint32_t task, int64_t since) {
  struct dtr_process *process = context;
  pthread_mutex_lock(&process->lock);
  process->states[task].silent_since = since;
  pthread_mutex_unlock(&process->lock);
  dtr_process_post(process,
                   &(struct dtr_mail){.kind = DTR_MAIL_SILENT, .task = task, .since = since});
  if (atomic_load(&process->is_ending))
    return;
  if (since == INT64_MAX)
    dtr_process_note(process, "%s is heard again", process->names[task]);
  else
    dtr_process_note(process, "%s is silent for 2 s; it counts as lost after %lld s",
                     process->names[task],
                     (long long)(process->options.deadlines.step / 1000000000));
}

static void message(void *context, uint32_t from, const void *bytes, size_t size) {
  dtr_process_hear(context, from, bytes, size);
}

static void bye(void *context, uint32_t task, int exit_status) {
  struct dtr_process *process = context;
  pthread_mutex_lock(&process->lock);
  process->states[task].has_left = true;
  process->states[task].exit_status = exit_status;
  uint64_t incarnation = process->states[task].incarnation;
  pthread_mutex_unlock(&process->lock);
  if (exit_status == 0)
    return;
  /* It may be started again, as one that was killed. */
  dtr_net_lose(process->net, task);
  dtr_process_post(
      process, &(struct dtr_mail){.kind = DTR_MAIL_LOST, .task = task, .incarnation = incarnation});
}

static void data(void *context, const struct dtr_control_pair *pair, int socket) {
  struct dtr_process *process = context;
  dtr_net_connect(process->net, pair->end, pair->other, socket);
}

static void refused(void *context, const char *who, const char *why, bool is_fatal) {
  struct dtr_process *process = context;
  struct dtr_error error;
  if (!is_fatal) {
    dtr_process_note(process, "refused %s: %s", who, why);
    return;
  }
  dtr_error_clear(&error);
  dtr_error_set(&error, DTR_STATUS_REFUSED, "%s and %s do not belong together: %s",
                process->names[process->options.task], who, why);
  dtr_error_hint(&error, "start every task once, from the same build, with the same cluster, run "
                         "and secret");
  dtr_process_fail(process, &error, false);
}

/* ---- deadlines ---- */

/* Whoever has not come, and why. */
static void look_for_missing(struct dtr_process *process, int64_t now) {
  char list[512] = "";
  uint32_t missing = 0;
  if (process->all_have_come)
    return;
  for (uint32_t t = 0; t < process->map->task_count; t++) {
    if (!process->states[t].is_wanted || process->states[t].has_come)
      continue;
    size_t length = strlen(list);
    if (missing++ < 4)
      snprintf(list + length, sizeof list - length, "%s%s at %s (%s)", length > 0 ? ", " : "",
               process->names[t], process->options.addresses[t],
               dtr_control_reason(process->control, t));
  }
  process->all_have_come = missing == 0;
  if (missing == 0 || now - process->begun < process->options.deadlines.start)
    return;
  struct dtr_error error;
  dtr_error_clear(&error);
  dtr_error_set(&error, DTR_STATUS_DEADLINE,
                "%u of the tasks that %s waits for did not come within "
                "%g s: %s%s",
                missing, process->names[process->options.task],
                (double)process->options.deadlines.start * 1e-9, list, missing > 4 ? ", ..." : "");
  dtr_error_hint(&error, "start every task of the plan; --deadline start=10m waits longer");
  dtr_process_fail(process, &error, false);
  process->all_have_come = true;
}

static void look_for_silent(struct dtr_process *process, int64_t now) {
  for (uint32_t t = 0; t < process->map->task_count; t++) {
    int64_t since = process->states[t].silent_since;
    if (!process->states[t].is_wanted || since == INT64_MAX ||
        now - since < process->options.deadlines.step)
      continue;
    char why[96];
    snprintf(why, sizeof why, "it was silent for %lld s",
             (long long)(process->options.deadlines.step / 1000000000));
    pthread_mutex_lock(&process->lock);
    process->states[t].silent_since = INT64_MAX;
    pthread_mutex_unlock(&process->lock);
    dtr_control_drop(process->control, t, why);
  }
}

/* ---- the thread ---- */

static const struct dtr_control_events event_functions = {.present = present,
                                                          .lost = lost,
                                                          .silent = silent,
                                                          .message = message,
                                                          .bye = bye,
                                                          .data = data,
                                                          .refused = refused};

static void say_bye(struct dtr_process *process) {
  struct dtr_control *control = process->control;
  const struct dtr_env *env = process->options.env;
  int64_t now = dtr_env_now(env), deadline = now + process->options.deadlines.shutdown;
  dtr_control_bye(control, atomic_load(&process->exit_status));
  while (!dtr_control_is_quiet(control) && (now = dtr_env_now(env)) < deadline) {
    int64_t next = dtr_control_poll(control, now);
    if (!dtr_control_is_quiet(control))
      dtr_control_wait(control, next < deadline ? next : deadline);
  }
  for (uint32_t t = 0; t < process->map->task_count; t++)
    if (dtr_control_is_present(control, t) && !process->states[t].has_left)
      dtr_process_note(process, "%s has not ended within %lld s", process->names[t],
                       (long long)(process->options.deadlines.shutdown / 1000000000));
}

static void *drive_control(void *context) {
  struct dtr_process *process = context;
  while (!atomic_load(&process->is_ending)) {
    int64_t now = dtr_env_now(process->options.env);
    int64_t next = dtr_control_poll(process->control, now);
    look_for_missing(process, now);
    look_for_silent(process, now);
    if (atomic_load(&process->is_ending))
      break;
    dtr_control_wait(process->control, next < now + look_around ? next : now + look_around);
  }
  say_bye(process);
  return NULL;
}

bool dtr_process_start_control(struct dtr_process *process, struct dtr_error *error) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  int status = pthread_create(&process->thread, NULL, drive_control, process);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  process->has_thread = status == 0;
  return status == 0 || dtr_error_system(error, DTR_STATUS_MEMORY, status,
                                         "a thread for the control channel cannot be started");
}

void dtr_process_stop_control(struct dtr_process *process, int exit_status) {
  if (!process->has_thread)
    return;
  atomic_store(&process->exit_status, exit_status);
  atomic_store(&process->is_ending, true);
  dtr_control_wake(process->control);
  pthread_join(process->thread, NULL);
  process->has_thread = false;
}

struct dtr_control_events dtr_process_events(struct dtr_process *process) {
  struct dtr_control_events events = event_functions;
  events.context = process;
  return events;
}
