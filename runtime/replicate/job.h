/* The tasks of a replicated program that run in this process: all, joined by the `loop` row, or
 * one, joined to the others by a network.
 *
 * Purpose: makes the parties of every task that is here, gives each device a thread, and runs them
 * to the end. A *group* is what one thread polls: the owner and the replica of a device, and with a
 * task's first device its client. All groups of the plan are numbered, so that every process gives
 * an edge the same ends. Whoever wants another order of polls (tests, a simulation) polls the
 * groups itself. Ownership: owns everything but program, environment and flags. Threads: made, run
 * and freed by one thread.
 */
#ifndef DTR_REPLICATE_JOB_H
#define DTR_REPLICATE_JOB_H

#include "runtime/replicate/client.h"

struct dtr_job_run;

/* What joins the groups, if not the row `loop`. */
struct dtr_job_network {
  void *context;
  /* An endpoint per group; `tasks`: of each; `edges` stay as they are until the job is freed. */
  bool (*join)(void *context, uint32_t ends, const uint32_t *tasks, const struct dtr_edge *edges,
               uint32_t edge_count, struct dtr_error *error);
  struct dtr_endpoint (*endpoint)(void *context, uint32_t end); /* of groups that are here */
  /* The rest may be NULL. Called now and then by the thread that drives the job, and after every
   * event of its group: the place to call dtr_job_lose and dtr_job_abandon. */
  void (*look)(void *context, struct dtr_job_run *job);
  void (*leave)(void *context, uint32_t end); /* by the end's thread: it will not poll any more */
  void (*abandon)(void *context);             /* wakes all ends: nobody waits any more */
  void (*wake)(void *context);                /* ends the waits of all ends, once */
  void (*describe)(void *context, FILE *stream);
  /* What other processes have told that they have sent. */
  struct dtr_traffic (*traffic)(void *context, uint32_t kind, uint32_t from, uint32_t to);
};

struct dtr_job_options {
  const struct dtr_program *program;
  const struct dtr_env *env;
  const struct dtr_flags *flags;
  const char *model_dir;
  int threads; /* of a task; 0: what the cluster says, or this machine's share */
  bool terminal, always_share;
  bool synchronous;                      /* no thread reads ahead */
  const struct dtr_job_network *network; /* NULL: loop */
  const uint32_t *task;                  /* the one that runs here; NULL: all */
  /* Number of a run that goes on when tasks are lost: no group is polled before the first go of
   * dtr_job_actions. 0: it does not. */
  uint64_t run;
};

bool dtr_job_new(const struct dtr_job_options *options, struct dtr_job_run **job,
                 struct dtr_error *error);
void dtr_job_free(struct dtr_job_run *job);

/* To the end, with a thread a group; signals end or report it. */
void dtr_job_drive(struct dtr_job_run *job);
/* What remains when all have ended: results, log and trace. Both ways of driving end with it; a run
 * that recovers does it by itself. */
void dtr_job_finish(struct dtr_job_run *job);

/* One poll of a group; true if anything was done. */
uint32_t dtr_job_groups(const struct dtr_job_run *job);
bool dtr_job_poll(struct dtr_job_run *job, uint32_t group);
bool dtr_job_is_over(const struct dtr_job_run *job, uint32_t group);
uint32_t dtr_job_group_task(const struct dtr_job_run *job, uint32_t group);
/* A task is gone for good: the others end, with who waited for it as the cause. Its own groups are
 * not to be polled any more. Where the chief is in another process, it ends the run. The thread
 * that drives the job. */
void dtr_job_lose(struct dtr_job_run *job, uint32_t task);
/* The run cannot go on: the chief ends it for all; elsewhere this process abandons it. The same
 * thread. */
void dtr_job_fail(struct dtr_job_run *job, const struct dtr_error *error);
/* The first failure of a party that is here, if there was one. */
void dtr_job_own_error(struct dtr_job_run *job, struct dtr_error *error);
/* The group that the thread polls which drives the job. */
uint32_t dtr_job_main_group(const struct dtr_job_run *job);
/* All groups that are here end at once, and nobody is told. The thread that drives the job. */
void dtr_job_abandon(struct dtr_job_run *job, const struct dtr_error *error);

/* What recovery orders (recovery.h), for the groups that are here; `job` is their context. The
 * thread that drives the job, which polls the recovery in `look`. */
void dtr_job_actions(struct dtr_job_run *job, struct dtr_recovery_actions *actions);

/* The bookkeeping that speaks for this process: the chief's steps, results and error; where the
 * chief is elsewhere, one with nothing but an error. */
struct dtr_task *dtr_job_chief(struct dtr_job_run *job);
/* What a channel has carried. */
struct dtr_traffic dtr_job_traffic(const struct dtr_job_run *job, enum dtr_channel_kind kind,
                                   uint32_t from_task, uint32_t to_task);
/* Bounded staleness: the largest lead of a client over the slowest live one. */
int64_t dtr_job_lead(const struct dtr_job_run *job);
const struct dtr_map *dtr_job_map(const struct dtr_job_run *job);
/* Writes the file of --traffic, if there is to be one. */
void dtr_job_write_traffic(struct dtr_job_run *job);
uint32_t dtr_job_edges(const struct dtr_job_run *job);
enum dtr_channel_kind dtr_job_edge_kind(const struct dtr_job_run *job, uint32_t edge);
/* "push of replica 1 on worker/1 to the owner on ps/0". */
void dtr_job_edge_text(const struct dtr_job_run *job, uint32_t edge, char *text, size_t size);
void dtr_job_describe(const struct dtr_job_run *job, FILE *stream);

#endif
