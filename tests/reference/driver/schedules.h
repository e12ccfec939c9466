/* Rates of schedules, by step, as compiled programs see them. */
#ifndef REF_SCHEDULES_H
#define REF_SCHEDULES_H

#include "tensors.h"

enum { REF_MAX_SCHEDULES = 16 };

struct ref_schedules {
  const json_t *descriptions[REF_MAX_SCHEDULES]; /* "kind" and its numbers */
  size_t count;
  int steps;
  bool with_total; /* the schedules are told the number of steps; else they use total_steps */
};

/* Whether the standard library has this kind. */
bool ref_schedule_known(const json_t *description);
/* The call of a schedule. */
void ref_schedule_put(struct dtg_strbuf *out, const json_t *description, bool with_total);
/* "import" lines for all of them. */
void ref_schedule_imports(struct dtg_strbuf *out, const struct ref_schedules *schedules);
/* Runs a program in `folder` of the work folder; slot "t:atI" of `saved` has the rates of schedule
 * I. In a dry run only the model is written, and the result is false. */
bool ref_schedule_run(struct ref_driver *driver, const char *folder,
                      const struct ref_schedules *schedules, struct ref_tensors *saved,
                      const char **why);

#endif
