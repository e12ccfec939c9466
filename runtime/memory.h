/* Large blocks of memory, aligned for kernels, taken at the start only.
 *
 * Ownership: the caller's, freed with dtr_memory_free. Threads: any.
 */
#ifndef DTR_MEMORY_H
#define DTR_MEMORY_H

#include "dtr_abi.h"
#include "runtime/env.h"
#include "runtime/error.h"

/* Up to the next multiple of DTR_ALIGN; INT64_MAX stays. */
int64_t dtr_memory_round(int64_t bytes);
/* Zeroed, DTR_ALIGN-aligned, touched by the calling thread. NULL if there is none. */
void *dtr_memory_new(int64_t bytes);
void dtr_memory_free(void *memory);

/* Bytes the system says are available, or -1 where it does not say. */
int64_t dtr_memory_available(const struct dtr_env *env);
/* Refuses with both numbers if fewer than `bytes` are available. `who`: the program's name. */
bool dtr_memory_check(const struct dtr_env *env, int64_t bytes, const char *who,
                      struct dtr_error *error);
/* The same against a limit of the address space (ulimit -v), of which threads and the library take
 * their share, too: oneDNN does not survive without memory. True where there is no limit. */
bool dtr_memory_check_limit(const struct dtr_env *env, int64_t bytes, int threads, const char *who,
                            struct dtr_error *error);
/* "3.1 GB"; returns `text`. */
const char *dtr_memory_text(int64_t bytes, char *text, size_t size);

#endif
