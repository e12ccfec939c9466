// Starts the tasks of a plan as processes of this machine, and cleans up after them.
//
// Purpose: what a site's scheduler does on many hosts. Each task gets its name, a listening socket
// and the addresses of all (runtime/start/inherit.h). The chief writes to the launcher's own
// standard streams, so its progress line is the only one; lines of the others are passed on behind
// their names. Signals that ask for an end go to the chief, which tells the others; who is still
// there after the grace gets SIGTERM, and then SIGKILL. No task outlives the launcher, however it
// ends. Ownership: frees what it made. Thread rule: one thread; it blocks and uses signals while it
// runs.
#ifndef DTG_RUN_PROCESSES_H
#define DTG_RUN_PROCESSES_H

#include "compiler/cluster/cluster.h"

struct dtg_run_input {
  const struct dtg_cluster *cluster;
  const char *const *argv; // of every task; argv[0] is the program; NULL at the end
  int64_t restarts;        // how often a task that was killed is started again
  int64_t grace;           // ms for tasks to end once they should; 0: 35 s, and 3 s after a signal
};

enum { DTG_RUN_MAX_TASKS = 512 };

// Errors: a cluster with addresses of other machines, or more tasks than one machine is given.
bool dtg_run_check(struct dtg_ctx *ctx, const struct dtg_run_input *input);
// Returns when all have ended: the chief's exit status; 3 if it was killed. Trouble of the launcher
// itself is an error in ctx->diags and status 1.
int dtg_run_processes(struct dtg_ctx *ctx, const struct dtg_run_input *input);

#endif
