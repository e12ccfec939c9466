/* One member of a zip archive, read from its beginning to its end: stored or deflated, with its
 * checksum looked at.
 *
 * Ownership: made and freed by the pair below; `path` is kept by pointer. Threads: one at a time.
 */
#ifndef DTR_DATA_ZIP_H
#define DTR_DATA_ZIP_H

#include "runtime/env.h"
#include "runtime/error.h"

struct dtr_zip;

/* The member NAME.npy of an archive. Errors: no archive, damaged, no such member (with the nearest
 * name and those that there are), encrypted, or compressed in another way. */
bool dtr_zip_open(const struct dtr_env *env, const char *path, const char *name,
                  struct dtr_zip **zip, struct dtr_error *error);
void dtr_zip_close(struct dtr_zip *zip);

/* Bytes that the member can have at most: what it claims, if the file is large enough for that. */
int64_t dtr_zip_size(const struct dtr_zip *zip);
/* Reads `size` bytes, less only at the end of the member, whose checksum was right then. */
bool dtr_zip_read(struct dtr_zip *zip, void *bytes, int64_t size, int64_t *got,
                  struct dtr_error *error);

#endif
