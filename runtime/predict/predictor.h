/* Outputs of a model for rows of its inputs: every row exactly once, whatever the number of
 * threads.
 *
 * Rows are taken in chunks of batch/shards and then one by one, like those of an evaluation.
 * Ownership: borrows the executor and the source; allocates in new only. Threads: called by the
 * executor's thread; the source is asked by all threads of the executor.
 */
#ifndef DTR_PREDICT_PREDICTOR_H
#define DTR_PREDICT_PREDICTOR_H

#include "runtime/executor.h"
#include "runtime/report.h"

/* Where rows come from. */
struct dtr_row_source {
  void *context;
  /* Fills in one pointer for each input of the program, to `count` rows from `first` on, 64-byte
   * aligned. `scratch` has `scratch_bytes` and is 64-byte aligned. Inputs that are not `needed` may
   * be left as they are: they are zeros then. */
  void (*view)(void *context, int64_t first, int64_t count, char *scratch, char **feeds);
  int64_t scratch_bytes;
};

struct dtr_predictor;

bool dtr_predictor_new(struct dtr_executor *executor, const struct dtr_row_source *source,
                       struct dtr_predictor **predictor, struct dtr_error *error);
void dtr_predictor_free(struct dtr_predictor *predictor);

/* Computes the outputs of `count` rows. outputs[i] gets count * row_bytes bytes of output i if it
 * is by example; NULL: not wanted. False if a check failed: explain says which. */
bool dtr_predictor_run(struct dtr_predictor *predictor, const struct dtr_scalars *scalars,
                       int64_t count, char *const *outputs);
/* After false: explains the first chunk whose check failed. `data` may be NULL: rows are then named
 * by their number. Always returns false. */
bool dtr_predictor_explain(struct dtr_predictor *predictor, const struct dtr_data *data,
                           struct dtr_error *error);

#endif
