/* Inside of a simulated run; for the files sim*.c only. Threads and ownership: see sim.h. */
#ifndef DTR_SIM_PARTS_H
#define DTR_SIM_PARTS_H

#include "runtime/replicate/job.h"
#include "runtime/replicate/recovery.h"
#include "runtime/sim/scenario.h"
#include "runtime/sim/sim.h"

/* How a group stands. */
struct dtr_sim_group {
  int64_t busy_until;
  bool is_idle; /* until something happens to it */
};

/* A task and its process. */
struct dtr_sim_task {
  uint32_t number;
  bool is_used, is_up;
  uint64_t incarnation;
  int64_t returns_at; /* INT64_MAX: it does not */
  int64_t poll_at;    /* its recovery, at the latest */
  struct dtr_job_run *job;
  struct dtr_recovery_actions actions;
  struct dtr_recovery *recovery;
  struct dtr_sim_run *run;
};

/* What passes on control channels. */
enum dtr_sim_news { DTR_SIM_PRESENT, DTR_SIM_LOST, DTR_SIM_MESSAGE };
struct dtr_sim_letter {
  struct dtr_sim_letter *next; /* later, or of the same time and sent later */
  int64_t time;
  enum dtr_sim_news news;
  uint32_t from, to;
  uint64_t from_incarnation, to_incarnation;
  struct dtr_recovery_message message;
};

struct dtr_sim_run {
  const struct dtr_sim_options *options;
  struct dtr_sim_result *result;
  struct dtr_sim_world world;
  struct dtr_sim_scenario scenario;
  struct dtr_flags flags;
  struct dtr_sim_disk *disk;
  struct dtr_sim_random random;

  /* Replicated programs. */
  struct dtr_map *map;
  struct dtr_job_network network;
  struct dtr_sim_net *net;
  struct dtr_sim_task *tasks; /* [task] */
  struct dtr_sim_group *groups;
  uint32_t *ready; /* groups that can be polled */
  uint32_t *group_tasks;
  uint32_t group_count, chief;
  struct dtr_sim_letter *letters;                       /* the earliest first */
  int64_t *free_at;                                     /* [from, to] of the control channels */
  int64_t progress_step, progress_polls, progress_time; /* when the chief last got on */
  uint32_t progress_generation;
  int64_t crash_polls[DTR_SIM_CRASHES];
  bool has_crashed[DTR_SIM_CRASHES];
  int64_t stop_since, stop_limit; /* not all stand still yet; -1: nobody has to */
};

/* The outcome is WRONG, if it is not yet. */
void dtr_sim_wrong(struct dtr_sim_run *run, const char *what);
bool dtr_sim_is_wrong(const struct dtr_sim_run *run);
void dtr_sim_take_error(struct dtr_sim_run *run, const struct dtr_error *error);

/* A replicated program, from its start to its end, through all crashes. */
void dtr_sim_run_job(struct dtr_sim_run *run);

/* Control channels. */
void dtr_sim_send(void *task, uint32_t to, const struct dtr_recovery_message *message);
/* All others hear that it is there, and it hears of them; or, each in its time, that it is lost. */
void dtr_sim_announce(struct dtr_sim_run *run, uint32_t task);
void dtr_sim_bury(struct dtr_sim_run *run, uint32_t task, int64_t detection);
int64_t dtr_sim_next_letter(const struct dtr_sim_run *run); /* INT64_MAX: none */
/* Delivers what is due. */
void dtr_sim_deliver(struct dtr_sim_run *run);
void dtr_sim_free_letters(struct dtr_sim_run *run);
void dtr_sim_poll_recovery(struct dtr_sim_run *run, uint32_t task);

#endif
