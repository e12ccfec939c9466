#include "report.h"

#include <stdio.h>
#include <string.h>

struct ref_verdict ref_begin(struct ref_driver *driver, const char *name) {
  return (struct ref_verdict){.driver = driver, .name = name};
}

void ref_fail(struct ref_verdict *verdict, const char *format, ...) {
  va_list args;
  va_start(args, format);
  printf("FAIL %s: ", verdict->name);
  vprintf(format, args);
  printf("\n");
  va_end(args);
  verdict->failed = true;
}

void ref_end(struct ref_verdict *verdict) {
  unsigned *count = verdict->failed ? &verdict->driver->failed : &verdict->driver->passed;
  *count += 1;
}

void ref_not_covered(struct ref_driver *driver, const char *group, const char *name,
                     const char *why) {
  if (driver->uncovered_count == driver->uncovered_cap) {
    size_t cap = driver->uncovered_cap ? 2 * driver->uncovered_cap : 64;
    struct ref_uncovered *grown = DTG_NEW_ARRAY(&driver->arena, struct ref_uncovered, cap);
    if (driver->uncovered_count > 0)
      memcpy(grown, driver->uncovered, driver->uncovered_count * sizeof *grown);
    driver->uncovered = grown;
    driver->uncovered_cap = cap;
  }
  driver->uncovered[driver->uncovered_count++] = (struct ref_uncovered){group, name, why};
}

static bool is_first_of_group(const struct ref_driver *driver, size_t index) {
  size_t i = 0;
  while (strcmp(driver->uncovered[i].group, driver->uncovered[index].group) != 0)
    i++;
  return i == index;
}

/* One line for each group. */
static void print_uncovered(const struct ref_driver *driver) {
  if (driver->uncovered_count > 0)
    printf("not covered yet, %zu cases:\n", driver->uncovered_count);
  for (size_t i = 0; i < driver->uncovered_count; i++) {
    const struct ref_uncovered *first = &driver->uncovered[i];
    if (!is_first_of_group(driver, i))
      continue;
    printf("  %s (%s):", first->group, first->why);
    for (size_t k = i; k < driver->uncovered_count; k++) {
      if (strcmp(driver->uncovered[k].group, first->group) == 0)
        printf(" %s", driver->uncovered[k].name);
    }
    printf("\n");
  }
}

int ref_finish(struct ref_driver *driver) {
  print_uncovered(driver);
  printf("%u passed, %u failed\n", driver->passed, driver->failed);
  return driver->failed > 0 || driver->passed == 0;
}
