/* Status codes of the runtime and the exit status that each one means; the list is status.def. */
#ifndef DTR_STATUS_H
#define DTR_STATUS_H

enum dtr_status {
#define X(name, exit_status, text) DTR_STATUS_##name,
#include "runtime/status.def"
#undef X
  DTR_STATUS_COUNT
};

const char *dtr_status_name(enum dtr_status status); /* "DATA" */
const char *dtr_status_text(enum dtr_status status); /* "the data cannot be used" */
int dtr_status_exit(enum dtr_status status);         /* 0, 1, 2, 3, 4 or 70 */

#endif
