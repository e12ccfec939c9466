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
  int threads; /* of all groups */
};

enum { DTR_PARTIES_OF_GROUP = 4 };
/* Party 0 .. 3 of a group: client, replica, owner, arbiter; NULL: it has none (here, or yet). */
struct dtr_party *dtr_group_party(struct dtr_group *group, uint32_t which);

#endif
