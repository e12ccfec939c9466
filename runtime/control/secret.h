/* The cluster secret, from the file of --secret-file.
 *
 * Ownership: nothing is kept. Threads: any.
 */
#ifndef DTR_CONTROL_SECRET_H
#define DTR_CONTROL_SECRET_H

#include "runtime/control/handshake.h"
#include "runtime/env.h"
#include "runtime/error.h"

enum { DTR_SECRET_LEAST = 16, DTR_SECRET_MOST = 4096 }; /* bytes of the file */

/* A hash of the file's bytes, whatever they are. Errors (status CONFIG): a file that cannot be
 * read, is too short or too long, or that others than its user may read. */
bool dtr_secret_read(const struct dtr_env *env, const char *path, unsigned char *secret,
                     struct dtr_error *error);
void dtr_secret_forget(unsigned char *secret);

#endif
