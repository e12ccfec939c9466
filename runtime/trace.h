/* A trace of a run for chrome://tracing and Perfetto: kernels by thread, phases of the task, waits.
 *
 * Purpose: --trace. Events go into rings of fixed size, one per thread, allocated at the start;
 * when a thread's is full, later events are counted and dropped, and the file says so. Ownership:
 * names must outlive the trace. Threads: each thread adds to its own ring only; write when no
 * thread runs.
 */
#ifndef DTR_TRACE_H
#define DTR_TRACE_H

#include "runtime/env.h"
#include "runtime/error.h"

struct dtr_trace;

enum { DTR_TRACE_EVENTS = 1 << 16 }; /* per thread: 2 MiB */

/* Opens the file at once, so that a path that cannot be written is told before the run. `path` must
 * outlive the trace. */
bool dtr_trace_new(const struct dtr_env *env, const char *path, int threads,
                   struct dtr_trace **trace, struct dtr_error *error);
void dtr_trace_free(struct dtr_trace *trace);

/* Nanoseconds of env->now. */
int64_t dtr_trace_now(const struct dtr_trace *trace);
/* An interval from `begin` to now. `comment` and `step`: shown as arguments (NULL, -1: not). */
void dtr_trace_add(struct dtr_trace *trace, int thread, const char *name, const char *comment,
                   int64_t step, int64_t begin);

/* Writes and closes the file, once. `process`: its name in the viewer, "fashion_mlp worker/0". */
bool dtr_trace_write(struct dtr_trace *trace, const char *process, struct dtr_error *error);

#endif
