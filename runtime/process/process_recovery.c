/* The recovery machine of this task, driven by the main thread. */
#include "runtime/process/process_parts.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

/* The control channel gives up first: it knows why a task has not come. */
static const int64_t grace = INT64_C(2000000000);

/* ---- mail ---- */

void dtr_process_post(struct dtr_process *process, const struct dtr_mail *mail) {
  struct dtr_mail *copy = malloc(sizeof *copy);
  if (!copy) {
    struct dtr_error error;
    dtr_error_clear(&error);
    dtr_error_memory(&error, (int64_t)sizeof *copy, "a message");
    dtr_process_fail(process, &error, false);
    return;
  }
  *copy = *mail;
  copy->next = NULL;
  pthread_mutex_lock(&process->lock);
  *process->last_mail = copy;
  process->last_mail = &copy->next;
  pthread_cond_signal(&process->has_mail);
  pthread_mutex_unlock(&process->lock);
  dtr_net_wake(process->net, process->main_end);
}

static struct dtr_mail *take_all(struct dtr_process *process) {
  pthread_mutex_lock(&process->lock);
  struct dtr_mail *first = process->first_mail;
  process->first_mail = NULL;
  process->last_mail = &process->first_mail;
  pthread_mutex_unlock(&process->lock);
  return first;
}

static void tell(struct dtr_process *process, const struct dtr_mail *mail, int64_t now) {
  struct dtr_recovery *recovery = process->recovery;
  switch (mail->kind) {
  case DTR_MAIL_PRESENT:
    dtr_recovery_present(recovery, mail->task, mail->incarnation, now);
    break;
  case DTR_MAIL_LOST:
    dtr_recovery_lost(recovery, mail->task, mail->incarnation, now);
    break;
  case DTR_MAIL_SILENT:
    dtr_recovery_silent(recovery, mail->task, mail->since, now);
    break;
  case DTR_MAIL_MESSAGE:
    dtr_recovery_hear(recovery, mail->task, &mail->message, now);
    break;
  }
}

/* ---- the machine ---- */

bool dtr_process_make_recovery(struct dtr_process *process, struct dtr_job_run *job,
                               struct dtr_error *error) {
  struct dtr_recovery_options options = {.map = process->map,
                                         .task = process->options.task,
                                         .incarnation = process->options.incarnation,
                                         .deadlines = process->options.deadlines,
                                         .actions = &process->actions,
                                         .context = process,
                                         .send = dtr_process_send_recovery};
  options.deadlines.start += grace;
  dtr_job_actions(job, &process->actions);
  return dtr_recovery_new(&options, dtr_env_now(process->options.env), &process->recovery, error);
}

void dtr_process_free_recovery(struct dtr_process *process) {
  struct dtr_mail *next;
  for (struct dtr_mail *mail = take_all(process); mail; mail = next) {
    next = mail->next;
    free(mail);
  }
  dtr_recovery_free(process->recovery);
  process->recovery = NULL;
}

void dtr_process_poll_recovery(struct dtr_process *process) {
  struct dtr_mail *next;
  int64_t now = dtr_env_now(process->options.env);
  for (struct dtr_mail *mail = take_all(process); mail; mail = next) {
    next = mail->next;
    tell(process, mail, now);
    free(mail);
  }
  dtr_recovery_poll(process->recovery, now);
}

static void wait_for_mail(struct dtr_process *process) {
  struct timespec until;
  clock_gettime(CLOCK_REALTIME, &until);
  until.tv_nsec += 50000000;
  until.tv_sec += until.tv_nsec / 1000000000;
  until.tv_nsec %= 1000000000;
  pthread_mutex_lock(&process->lock);
  if (!process->first_mail)
    pthread_cond_timedwait(&process->has_mail, &process->lock, &until);
  pthread_mutex_unlock(&process->lock);
}

void dtr_process_end_recovery(struct dtr_process *process) {
  while (!process->has_failed && !dtr_recovery_is_over(process->recovery)) {
    dtr_process_poll_recovery(process);
    if (!dtr_recovery_is_over(process->recovery))
      wait_for_mail(process);
  }
}
