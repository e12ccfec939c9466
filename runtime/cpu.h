/* The processor's level: which x86-64-v1 .. v4 it implements.
 *
 * Threads: any.
 */
#ifndef DTR_CPU_H
#define DTR_CPU_H

#include "runtime/error.h"

/* 1 .. 4. `lacks` gets the first feature that the next level would need, or NULL at 4. */
int dtr_cpu_level(const char **lacks);
/* Refuses (status CONFIG) an architecture above `level`, naming both. */
bool dtr_cpu_check(const char *cpu_arch, int level, const char *lacks, struct dtr_error *error);
/* Processors that this process may use, at least 1. */
int dtr_cpu_count(void);

#endif
