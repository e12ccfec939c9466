/* Evaluation: every example of a data set exactly once (semantics.md 2).
 *
 * Chunks of batch/shards examples, then one call an example for the tail; a result is the
 * example-weighted mean of the chunks' values in the fixed tree over chunks, in double. The work is
 * cut into waves, so that whoever drives it can stop in between; the bits depend neither on the
 * size of a wave nor on the number of threads. Ownership: borrows executor and data; allocates in
 * new only. Threads: called by the executor's thread.
 */
#ifndef DTR_EVAL_H
#define DTR_EVAL_H

#include "runtime/executor.h"

enum dtr_eval_state { DTR_EVAL_MORE, DTR_EVAL_DONE, DTR_EVAL_FAULT };

struct dtr_evaluator;

bool dtr_evaluator_new(struct dtr_executor *executor, const struct dtr_data *data,
                       struct dtr_evaluator **evaluator, struct dtr_error *error);
void dtr_evaluator_free(struct dtr_evaluator *evaluator);

void dtr_evaluator_begin(struct dtr_evaluator *evaluator, const struct dtr_scalars *scalars);
/* Runs one wave. */
enum dtr_eval_state dtr_evaluator_advance(struct dtr_evaluator *evaluator);

/* After DONE: the loss, then the metrics; 1 + metric_count values, valid until the next begin. */
const double *dtr_evaluator_results(const struct dtr_evaluator *evaluator);
int64_t dtr_evaluator_examples(const struct dtr_evaluator *evaluator);
/* After FAULT: explains the first chunk whose check failed. Always returns false. */
bool dtr_evaluator_explain(struct dtr_evaluator *evaluator, struct dtr_error *error);

#endif
