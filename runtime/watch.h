/* Looks for the first NaN or infinity, and for the kernel whose check failed.
 *
 * Purpose: kernels run unexamined. Only when a loss is not a number or a check has failed, the same
 * shard is run again with a watch in its frame, and every kernel's outputs are examined as they are
 * made. Ownership: on the caller's stack. Threads: one.
 */
#ifndef DTR_WATCH_H
#define DTR_WATCH_H

#include "dtr_abi.h"

struct dtr_watch {
  bool found_value;        /* a NaN or an infinity */
  uint32_t kernel, output; /* that made it */
  bool found_fault;        /* a failed check; the frame's fault tells which */
  uint32_t fault_kernel;
  int64_t element;
  double value;
};

/* First element of `values` that is not finite, or -1; integers always are. Stores it in `value`.
 */
int64_t dtr_watch_scan(enum dtr_dtype dtype, const void *values, int64_t elements, double *value);

/* Examines the outputs of a kernel that has just run; remembers the first finding. */
void dtr_watch_kernel(struct dtr_watch *watch, const struct dtr_program *program, uint32_t kernel,
                      char *const *buffers, const struct dtr_fault *fault);

#endif
