/* Results: what failed is printed at once, what is not covered at the end. */
#ifndef REF_REPORT_H
#define REF_REPORT_H

#include "driver.h"

/* One case. It passes unless something was reported against it. */
struct ref_verdict {
  struct ref_driver *driver;
  const char *name;
  bool failed;
};

struct ref_verdict ref_begin(struct ref_driver *driver, const char *name);
void ref_fail(struct ref_verdict *verdict, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void ref_end(struct ref_verdict *verdict);

void ref_not_covered(struct ref_driver *driver, const char *group, const char *name,
                     const char *why);
/* Prints the list and the totals; the exit status of the test. */
int ref_finish(struct ref_driver *driver);

#endif
