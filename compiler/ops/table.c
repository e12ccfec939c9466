#include "compiler/ops/support.h"

#include <string.h>

static const struct dtg_op_def *const rows[] = {
#define DTG_OP(name) &dtg_row_##name,
#include "compiler/ops/ops.def"
#undef DTG_OP
};

const struct dtg_op_def *dtg_op_find(const char *name) {
  for (uint32_t i = 0; i < dtg_op_count(); i++) {
    if (strcmp(rows[i]->name, name) == 0)
      return rows[i];
  }
  return NULL;
}

uint32_t dtg_op_count(void) {
  return sizeof rows / sizeof *rows;
}

const struct dtg_op_def *dtg_op_at(uint32_t index) {
  return rows[index];
}
