/* Inside of a job; for the files job*.c only. Threads and ownership: see job.h. */
#ifndef DTR_REPLICATE_JOB_PARTS_H
#define DTR_REPLICATE_JOB_PARTS_H

#include "runtime/replicate/arbiter.h"
#include "runtime/replicate/job.h"
#include "runtime/replicate/owner.h"
#include "runtime/replicate/replica.h"
#include "runtime/task_parts.h"

#include <pthread.h>
#include <stdatomic.h>

/* What one thread polls. */
struct dtr_group {
  struct dtr_job_run *job;
  uint32_t device;
  uint32_t client; /* or DTR_NONE */
  int threads, trace_first;
  struct dtr_endpoint end;
  bool is_here; /* its task runs in this process */
  bool is_started;
  struct dtr_party failed;  /* says why it could not start */
  struct dtr_ledger ledger; /* of the device */
  struct dtr_executor *executor;
  struct dtr_replica *replica;
  struct dtr_owner *owner;
  struct dtr_arbiter *arbiter;
  pthread_t thread;
};

struct dtr_job_run {
  struct dtr_job_options options;
  struct dtr_map *map;
  struct dtr_channels *channels;
  struct dtr_loop *loop;
  struct dtr_task *opener;     /* owns the data; speaks where the chief is not */
  struct dtr_client **clients; /* NULL: in another process */
  struct dtr_group *groups;
  uint32_t group_count, chief_group;
  uint32_t main_group; /* that the thread polls which drives the job */
  bool has_groups;     /* here */
  _Atomic bool is_abandoned;
  /* Threads but the main one stand still while it is held. */
  _Atomic bool is_holding;
  bool is_finished;
  bool has_gone; /* parties are of some generation */
  uint32_t pollers, parked;
  pthread_mutex_t lock; /* of these two */
  pthread_cond_t go_on;
  int threads; /* of all groups */
};

enum { DTR_PARTIES_OF_GROUP = 4 };
/* Waits while the job is held; false: it is not. A thread that polls, but not the main one. */
bool dtr_job_park(struct dtr_job_run *job);
void dtr_job_unpark(struct dtr_job_run *job);
void dtr_job_count_poller(struct dtr_job_run *job, int change);
/* A party here that waits for a message of the task or to be read by it; NULL: none. */
struct dtr_party *dtr_job_find_waiting(struct dtr_job_run *job, uint32_t task);
/* Parts of dtr_job_new, again. */
struct dtr_party dtr_group_party_at(struct dtr_group *group, uint32_t number);
bool dtr_job_make_client(struct dtr_job_run *job, uint32_t client, struct dtr_error *error);
bool dtr_group_make_replica(struct dtr_group *group, struct dtr_error *error);
bool dtr_group_make_arbiter(struct dtr_group *group, struct dtr_error *error);
/* Makes what a device needs; a failure is the group's. Always returns true. */
bool dtr_group_start(struct dtr_group *group);
void dtr_group_fail(struct dtr_group *group, const struct dtr_error *error);
/* Party 0 .. 3 of a group: client, replica, owner, arbiter; NULL: it has none (here, or yet). */
struct dtr_party *dtr_group_party(struct dtr_group *group, uint32_t which);

#endif
