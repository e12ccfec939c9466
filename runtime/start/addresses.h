/* Where the tasks listen, from the file of --cluster: the cluster file that dtgc reads, too.
 *
 * Purpose: `jobs: { ps: { tasks = [ "10.0.0.1:2222" ]; }; };`, of which only the addresses matter
 * here; they must be as many as the plan has tasks. Ownership: the caller frees the list with
 * dtr_addresses_free. Threads: one.
 */
#ifndef DTR_START_ADDRESSES_H
#define DTR_START_ADDRESSES_H

#include "dtr_abi.h"
#include "runtime/env.h"
#include "runtime/error.h"

enum { DTR_CLUSTER_FILE_LIMIT = 1 << 24 }; /* bytes */

/* "host:port" of every task, in the plan's order. Errors (status CONFIG; USAGE if the file cannot
 * be read) name file, line and key. */
bool dtr_addresses_read(const struct dtr_env *env, const char *path,
                        const struct dtr_replication *replication, char ***addresses,
                        struct dtr_error *error);
/* The same from text, for tests. */
bool dtr_addresses_parse(const char *text, const char *path,
                         const struct dtr_replication *replication, char ***addresses,
                         struct dtr_error *error);
void dtr_addresses_free(char **addresses, uint32_t count);

#endif
