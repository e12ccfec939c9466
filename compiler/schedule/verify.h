/* What the parts of the plan's verifier share. Private to compiler/schedule/. */
#ifndef DTG_SCHEDULE_VERIFY_H
#define DTG_SCHEDULE_VERIFY_H

#include "compiler/schedule/internal.h"

struct dtg_plan_check {
  const struct dtg_plan *plan;
  const struct dtg_plan_function *function;
  int index;
  struct dtg_strbuf *why;
  struct dtg_arena scratch;
  uint32_t *step_of;                  /* per group; DTG_NO_NODE: none */
  uint32_t *buffer_of;                /* per node */
  const struct dtg_plan_loop *loop;   /* the function is its body; or NULL */
  int64_t arena_bytes;                /* of the outermost function around */
  int64_t counts[DTG_MAX_LOOP_DEPTH]; /* iterations of the loops around, by depth */
};

bool dtg_plan_check_fail(struct dtg_plan_check *check, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* A loop of the function. */
bool dtg_plan_check_loop(struct dtg_plan_check *check, const struct dtg_plan_step *step);

#endif
