#include "runtime/status.h"

struct dtr_status_row {
  const char *name, *text;
  int exit_status;
};

static const struct dtr_status_row status_rows[] = {
#define X(name, exit_status, text) {#name, text, exit_status},
#include "runtime/status.def"
#undef X
};

const char *dtr_status_name(enum dtr_status status) {
  return status_rows[status].name;
}

const char *dtr_status_text(enum dtr_status status) {
  return status_rows[status].text;
}

int dtr_status_exit(enum dtr_status status) {
  return status_rows[status].exit_status;
}
