/* Words for people: what failed in which tensor, and results.
 *
 * Ownership: nothing is kept. Threads: any.
 */
#ifndef DTR_REPORT_H
#define DTR_REPORT_H

#include "runtime/data/data.h"
#include "runtime/error.h"
#include "runtime/watch.h"

/* The examples that one call worked on: positions first .. first+count-1 of an epoch's order. */
struct dtr_rows {
  const struct dtr_data *data; /* NULL: findings name positions, not examples */
  int64_t epoch;               /* or DTR_NATURAL_ORDER */
  int64_t first, count;
};

/* After a watched run: a failed check ("label 12 of example 317 of train_set is out of range 0..9")
 * or a failed library call. Always returns false. */
bool dtr_report_fault(const struct dtr_program *program, const struct dtr_watch *watch,
                      const struct dtr_fault *fault, const struct dtr_rows *rows,
                      struct dtr_error *error);

/* Where a NaN or an infinity was first seen. */
enum dtr_origin { DTR_ORIGIN_VARIABLE, DTR_ORIGIN_INPUT, DTR_ORIGIN_KERNEL, DTR_ORIGIN_SUM };
struct dtr_finding {
  enum dtr_origin origin;
  uint32_t index; /* variable, input or kernel */
  uint32_t output;
  int64_t element;
  double value;
  int64_t example; /* input: which */
};
/* "the loss is nan: the first tensor that is not finite is ...". Always returns false. */
bool dtr_report_not_finite(const struct dtr_program *program, double loss,
                           const struct dtr_finding *finding, struct dtr_error *error);
/* The same for a variable that an update has spoilt although the loss was finite. */
bool dtr_report_variable(const struct dtr_program *program, const struct dtr_finding *finding,
                         struct dtr_error *error);

/* First variable, or first fed input value, that is not finite. False: all are. */
bool dtr_find_variable(const struct dtr_program *program, const char *variables,
                       struct dtr_finding *finding);
bool dtr_find_input(const struct dtr_program *program, char *const *feeds,
                    const struct dtr_rows *rows, struct dtr_finding *finding);

/* "10,000"; returns `text`. */
const char *dtr_count_text(int64_t count, char *text, size_t size);
/* "loss 0.3441, accuracy 0.8774": loss first, then the program's metrics. Returns the length. */
int dtr_results_text(const struct dtr_program *program, const double *results, char *text,
                     size_t size);
/* "12s", "3m05s", "2h10m". */
const char *dtr_duration_text(double seconds, char *text, size_t size);

#endif
