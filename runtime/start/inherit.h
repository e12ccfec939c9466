/* What a process gets from the launcher that started it on this machine (`dtgc run --processes`).
 *
 * Purpose: a local cluster has no fixed ports. The launcher binds a listening socket on the
 * loopback interface for every task, keeps it while a dead task is started again, and hands it
 * down; so no port is guessed, taken twice or lost, and who connects to a task that is just
 * starting waits instead of being refused. Ownership: self-contained; free with dtr_inherit_free;
 * the socket is the caller's to close. Threads: one.
 *
 * Variables: DTG_LISTEN_FD, the number of the socket; DTG_ADDRESSES, "host:port" of every task in
 * the order of the plan, with commas; DTG_GENERATION, how often this task was started before, from
 * 0. Which task it is stands in DTG_TASK (identity.h).
 */
#ifndef DTR_START_INHERIT_H
#define DTR_START_INHERIT_H

#include "dtr_abi.h"
#include "runtime/env.h"
#include "runtime/error.h"

struct dtr_inherit {
  int socket;         /* listens already; -1: there is no launcher */
  int64_t generation; /* 0 without a launcher */
  char **addresses;   /* NULL: no launcher */
  uint32_t address_count;
};

enum { DTR_INHERIT_LIMIT = 1 << 26 }; /* bytes of DTG_ADDRESSES */

/* Errors (status CONFIG): a variable that is malformed or missing beside the others, other numbers
 * of addresses than the plan has tasks, a descriptor that is no listening socket. */
bool dtr_inherit_read(const struct dtr_env *env, const struct dtr_replication *replication,
                      struct dtr_inherit *inherit, struct dtr_error *error);
void dtr_inherit_free(struct dtr_inherit *inherit);

#endif
