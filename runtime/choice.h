/* Alone or together: whether a phase of a step is worth sharing between threads.
 *
 * Purpose: waking threads costs 10 to 50 us, more than a whole step of a small model. Sharing never
 * changes results, so the faster way is found by trying both while steps are short. Ownership:
 * inside another object. Threads: one.
 */
#ifndef DTR_CHOICE_H
#define DTR_CHOICE_H

#include <stdbool.h>
#include <stdint.h>

enum {
  DTR_CHOICE_TRIALS = 8,        /* of both, alternating */
  DTR_CHOICE_AGAIN = 512,       /* then the slower one again, once in so many */
  DTR_CHOICE_LONG = 1000 * 1000 /* ns: phases that take longer are always shared */
};

struct dtr_choice {
  int64_t time[2]; /* ns: alone, together; 0 = not known */
  uint32_t count;
};

static inline bool dtr_choice_together(struct dtr_choice *choice) {
  uint32_t count = choice->count++;
  if (choice->time[1] == 0 || choice->time[1] > DTR_CHOICE_LONG)
    return true;
  bool faster = choice->time[0] == 0 || choice->time[1] <= choice->time[0];
  if (count < DTR_CHOICE_TRIALS)
    return count % 2 == 0;
  return count % DTR_CHOICE_AGAIN == 0 ? !faster : faster;
}

/* The shortest of the trials, then a moving average, as the machine's load changes. */
static inline void dtr_choice_note(struct dtr_choice *choice, bool together, int64_t nanoseconds) {
  int64_t *time = &choice->time[together];
  if (nanoseconds < 1)
    nanoseconds = 1;
  if (*time == 0 || (choice->count <= DTR_CHOICE_TRIALS && nanoseconds < *time))
    *time = nanoseconds;
  else if (choice->count > DTR_CHOICE_TRIALS)
    *time += (nanoseconds - *time) / 4;
}

#endif
