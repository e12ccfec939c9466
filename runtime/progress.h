/* What a run shows while it runs, and its results.
 *
 * Purpose: on a terminal one line that is written over ten times a second at most, on stderr;
 * otherwise plain lines on stdout, a bounded number of them. Results go to stdout in both cases,
 * also when quiet. Ownership: borrows program and environment. Threads: the task's. Allocates
 * nothing.
 */
#ifndef DTR_PROGRESS_H
#define DTR_PROGRESS_H

#include "dtr_abi.h"
#include "runtime/env.h"

/* One finished step, or one evaluation. */
struct dtr_record {
  int64_t step;          /* steps done */
  int64_t epoch;         /* of the step, from 0 */
  const double *results; /* loss, then metrics */
  const char *set;       /* evaluation: the data set */
  int64_t examples;      /* evaluation: how many */
};

struct dtr_progress {
  const struct dtr_program *program;
  const struct dtr_env *env;
  bool quiet, terminal;
  bool line_open; /* the terminal's line is not ended */
  int failure;    /* of showing a result: a negative errno */
  int64_t first_step, end_step;
  int64_t last_time; /* of the line before, and its step: rates are since then */
  int64_t last_step;
  int64_t next_time; /* terminal: not before */
  int64_t next_step; /* plain lines: not before */
  int64_t stride;    /* steps between plain lines */
  int64_t lines;     /* plain lines of evaluations so far */
};

void dtr_progress_init(struct dtr_progress *progress, const struct dtr_program *program,
                       const struct dtr_env *env, bool quiet, bool terminal);
/* Training begins at `first_step` (steps done) and goes to `end_step`. */
void dtr_progress_begin(struct dtr_progress *progress, int64_t first_step, int64_t end_step,
                        int64_t now);

void dtr_progress_show(struct dtr_progress *progress, const struct dtr_record *record, int64_t now);
/* Called for every step: cheap when there is nothing to show. */
static inline void dtr_progress_step(struct dtr_progress *progress, const struct dtr_record *record,
                                     int64_t now) {
  if (now >= progress->next_time && record->step >= progress->next_step)
    dtr_progress_show(progress, record, now);
}
/* An evaluation during training. */
void dtr_progress_evaluation(struct dtr_progress *progress, const struct dtr_record *record);
/* "test_set: loss 0.3441, accuracy 0.8774 (10,000 examples)": always shown. */
void dtr_progress_result(struct dtr_progress *progress, const struct dtr_record *record);
/* A remark, such as where a checkpoint went; not when quiet. */
void dtr_progress_note(struct dtr_progress *progress, const char *text);
/* What the user should know also when quiet: on stderr. */
void dtr_progress_warn(struct dtr_progress *progress, const char *text);
/* Ends an open line, before anything else writes to the terminal. */
void dtr_progress_close(struct dtr_progress *progress);

#endif
