/* What went wrong, told by the first function that knows the cause.
 *
 * A caller makes one `struct dtr_error` on its stack, clears it and passes it down as the last
 * parameter. Functions that can fail return bool; false means that the error is filled in. The
 * first text wins: callers on the way up add the step, task or place they know, never a second
 * message. `dtr_error_report` prints it once, however often it is called.
 * Ownership: self-contained, no allocation. Threads: one at a time.
 */
#ifndef DTR_ERROR_H
#define DTR_ERROR_H

#include "runtime/status.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct dtr_error {
  enum dtr_status status;
  bool reported;
  int64_t step;       /* from 1, as progress and log count; -1 = not in a step */
  char task[64];      /* "worker/0"; "" = unknown */
  char where[192];    /* source span, "fashion.dtg:14:12"; "" = none */
  char message[1024]; /* what happened, and to what */
  char hint[1024];    /* what to do; "" = nothing to say */
};

void dtr_error_clear(struct dtr_error *error);
static inline bool dtr_error_is_set(const struct dtr_error *error) {
  return error->status != DTR_STATUS_OK;
}

/* Records status and message unless an error is there already. Always returns false, so that
 * `return dtr_error_set(...)` reads well. Texts too long are cut and end in "...". */
bool dtr_error_set(struct dtr_error *error, enum dtr_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* The message followed by ": " and the text of `error_number` (errno or its negative). */
bool dtr_error_system(struct dtr_error *error, enum dtr_status status, int error_number,
                      const char *format, ...) __attribute__((format(printf, 4, 5)));
bool dtr_error_memory(struct dtr_error *error, int64_t bytes, const char *what);

/* Add what the caller knows; each keeps a value that is there. All return false. */
bool dtr_error_hint(struct dtr_error *error, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
bool dtr_error_where(struct dtr_error *error, const char *where);
bool dtr_error_step(struct dtr_error *error, int64_t step);
bool dtr_error_task(struct dtr_error *error, const char *task);

/* The whole text, one line per part:
 *   fashion.dtg:14:12: error: MESSAGE (step 7, task worker/0)
 *     hint: HINT
 * Returns its length, as snprintf does. */
int dtr_error_format(const struct dtr_error *error, char *text, size_t size);
void dtr_error_report(struct dtr_error *error, FILE *stream);

#endif
