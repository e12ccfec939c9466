/* --log: one JSON object a line for every step and every evaluation.
 *
 *   {"step": 1, "epoch": 1, "loss": 2.31, "metrics": {"accuracy": 0.1}, "examples_per_second":
 * 51234}
 *   {"step": 700, "epoch": 3, "evaluation": "test_set", "loss": 0.34, "metrics": {...}, "examples":
 * 10000}
 *
 * `step` is the number of steps done, so the first record has 1; `epoch` is that of the step, from
 * 1 as on the terminal, and 0 in an evaluation before the first step. Ownership: the log owns its
 * file. Threads: the task's. Allocates in open only.
 */
#ifndef DTR_LOG_H
#define DTR_LOG_H

#include "runtime/json.h"
#include "runtime/progress.h"

struct dtr_log {
  const struct dtr_program *program;
  const char *path; /* NULL: off */
  struct dtr_json json;
  int64_t last_time;
  int64_t flush_time; /* when the file was last brought up to date */
};

/* `path` NULL: a log that does nothing. */
bool dtr_log_open(const struct dtr_env *env, const struct dtr_program *program, const char *path,
                  struct dtr_log *log, struct dtr_error *error);
void dtr_log_begin(struct dtr_log *log, int64_t now);
void dtr_log_step(struct dtr_log *log, const struct dtr_record *record, int64_t now);
void dtr_log_evaluation(struct dtr_log *log, const struct dtr_record *record, int64_t now);
bool dtr_log_close(struct dtr_log *log, struct dtr_error *error);

#endif
