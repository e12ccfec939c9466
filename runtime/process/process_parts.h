/* Inside of a task's process; for the files process*.c only. Threads and ownership: process.h. */
#ifndef DTR_PROCESS_PARTS_H
#define DTR_PROCESS_PARTS_H

#include "runtime/control/control.h"
#include "runtime/net/net.h"
#include "runtime/process/process.h"

#include <pthread.h>
#include <stdatomic.h>

/* What the control thread has for the recovery machine, which is the main thread's. */
enum dtr_mail_kind { DTR_MAIL_PRESENT, DTR_MAIL_LOST, DTR_MAIL_SILENT, DTR_MAIL_MESSAGE };
struct dtr_mail {
  struct dtr_mail *next;
  enum dtr_mail_kind kind;
  uint32_t task;
  uint64_t incarnation;
  int64_t since;
  struct dtr_recovery_message message;
};

/* How a peer stands, as the control channel has told it. */
struct dtr_process_peer {
  bool is_wanted; /* shares an edge with this task */
  bool has_come, is_lost, has_left;
  uint64_t incarnation;
  int exit_status;      /* has_left */
  int64_t silent_since; /* INT64_MAX: it is heard */
  char why[160];
};

struct dtr_process {
  struct dtr_process_options options;
  const struct dtr_map *map;
  uint32_t main_end;
  struct dtr_net *net;
  struct dtr_control *control;
  struct dtr_control_events events;
  struct dtr_control_pair *pairs;
  uint32_t pair_count;
  bool *peers;
  const char **names;
  unsigned char secret[DTR_SECRET_BYTES];
  bool has_secret;
  pthread_t thread;
  bool has_thread;
  int64_t begun;
  _Atomic bool is_ending, has_ended;
  _Atomic int exit_status; /* to tell, when it is ending */
  /* Written by the control thread, read by others. */
  pthread_mutex_t lock;
  struct dtr_process_peer *states; /* [task] */
  struct dtr_error error;          /* ends this process */
  bool is_told;                    /* by another: nobody needs to hear it from here */
  bool all_have_come;
  struct dtr_traffic *traffic; /* [kind][from][to] of other tasks */
  struct dtr_mail *first_mail, **last_mail;
  pthread_cond_t has_mail;
  /* The main thread's. */
  struct dtr_recovery *recovery; /* NULL: until the job is made */
  struct dtr_recovery_actions actions;
  bool has_failed;
};

/* ---- messages between processes, on the control channel (process_message.c) ---- */
void dtr_process_tell_error(struct dtr_process *process, const struct dtr_error *error);
void dtr_process_send_recovery(void *context, uint32_t task,
                               const struct dtr_recovery_message *message);
void dtr_process_tell_traffic(struct dtr_process *process, const struct dtr_job_run *job);
void dtr_process_hear(struct dtr_process *process, uint32_t from, const unsigned char *bytes,
                      size_t size);
struct dtr_traffic *dtr_process_traffic(struct dtr_process *process, uint32_t kind, uint32_t from,
                                        uint32_t to);

/* ---- recovery (process_recovery.c) ---- */
bool dtr_process_make_recovery(struct dtr_process *process, struct dtr_job_run *job,
                               struct dtr_error *error);
void dtr_process_free_recovery(struct dtr_process *process);
/* Tells the machine what has happened, and lets it do what is due. */
void dtr_process_poll_recovery(struct dtr_process *process);
/* The chief's, when its groups have ended: until the others have, too. */
void dtr_process_end_recovery(struct dtr_process *process);
/* Any thread. */
void dtr_process_post(struct dtr_process *process, const struct dtr_mail *mail);

/* ---- the control thread (process_control.c) ---- */
struct dtr_control_events dtr_process_events(struct dtr_process *process);
bool dtr_process_start_control(struct dtr_process *process, struct dtr_error *error);
/* Tells all that this process ends, and waits until they do, too, or the deadline has passed. */
void dtr_process_stop_control(struct dtr_process *process, int exit_status);
/* Keeps the first error; wakes the main thread. */
void dtr_process_fail(struct dtr_process *process, const struct dtr_error *error, bool is_told);
/* A line on standard error: "worker/0: ps/0 is silent". */
void dtr_process_note(const struct dtr_process *process, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
