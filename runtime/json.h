/* A JSON text built piece by piece in a buffer and written through the environment.
 *
 * Purpose: the log and the trace, which write many small records and may not allocate. A full
 * buffer is written out; the first failure is kept and later pieces are dropped. Ownership: the
 * file handle and the buffer are the writer's. Threads: one at a time.
 */
#ifndef DTR_JSON_H
#define DTR_JSON_H

#include "runtime/env.h"
#include "runtime/error.h"

struct dtr_json {
  const struct dtr_env *env;
  int file;
  int failure; /* negative errno of the first failed write, or 0 */
  size_t used, size;
  char *buffer;
};

bool dtr_json_open(const struct dtr_env *env, const char *path, struct dtr_json *json,
                   struct dtr_error *error);
void dtr_json_raw(struct dtr_json *json, const char *text);
/* With quotes and escapes. */
void dtr_json_string(struct dtr_json *json, const char *text);
void dtr_json_integer(struct dtr_json *json, int64_t value);
/* `digits` significant digits; what is no number in JSON (NaN, infinities) becomes null. */
void dtr_json_number(struct dtr_json *json, double value, int digits);
bool dtr_json_flush(struct dtr_json *json);
/* Flushes and closes; false if any write has failed, with the path in the message. */
bool dtr_json_close(struct dtr_json *json, const char *path, struct dtr_error *error);

#endif
