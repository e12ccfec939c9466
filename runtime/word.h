/* A 32-bit word that one thread changes and another waits for: a short spin, then the kernel.
 *
 * Purpose: the only blocking primitive of the team and the tree. A waiter that finds its word
 * changed within the spin never enters the kernel, and a writer enters it only if somebody sleeps.
 * Ownership: inside another object. Threads: any.
 */
#ifndef DTR_WORD_H
#define DTR_WORD_H

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { DTR_SPINS_A_YIELD = 64 };

struct dtr_word {
  _Atomic uint32_t value;
  _Atomic uint32_t sleepers;
};

static inline void dtr_spin_pause(void) {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

static inline uint32_t dtr_word_get(struct dtr_word *word) {
  return atomic_load_explicit(&word->value, memory_order_acquire);
}

/* Adds one and wakes all sleepers. Everything written before is seen by who sees the new value. */
static inline void dtr_word_advance(struct dtr_word *word) {
  atomic_fetch_add_explicit(&word->value, 1, memory_order_seq_cst);
  if (atomic_load_explicit(&word->sleepers, memory_order_seq_cst) != 0)
    syscall(SYS_futex, &word->value, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

/* Returns the value once it differs from `seen`; looks `spins` times before it sleeps. */
static inline uint32_t dtr_word_wait(struct dtr_word *word, uint32_t seen, int spins) {
  uint32_t value;
  /* Now and then the processor is offered to others: one of them may be who we wait for. */
  while ((value = dtr_word_get(word)) == seen && spins-- > 0)
    if (spins % DTR_SPINS_A_YIELD == 0)
      sched_yield();
    else
      dtr_spin_pause();
  if (value != seen)
    return value;
  atomic_fetch_add_explicit(&word->sleepers, 1, memory_order_seq_cst);
  while ((value = atomic_load_explicit(&word->value, memory_order_seq_cst)) == seen)
    syscall(SYS_futex, &word->value, FUTEX_WAIT_PRIVATE, seen, NULL, NULL, 0);
  atomic_fetch_sub_explicit(&word->sleepers, 1, memory_order_relaxed);
  return value;
}

/* The same without a spin, and no longer than until `deadline` (nanoseconds of the monotonic clock;
 * INT64_MAX: none). A signal ends it early. */
static inline void dtr_word_wait_until(struct dtr_word *word, uint32_t seen, int64_t deadline) {
  struct timespec at = {.tv_sec = deadline / 1000000000, .tv_nsec = deadline % 1000000000};
  atomic_fetch_add_explicit(&word->sleepers, 1, memory_order_seq_cst);
  while (atomic_load_explicit(&word->value, memory_order_seq_cst) == seen)
    if (syscall(SYS_futex, &word->value, FUTEX_WAIT_BITSET_PRIVATE, seen,
                deadline == INT64_MAX ? NULL : &at, NULL, FUTEX_BITSET_MATCH_ANY) != 0 &&
        errno != EAGAIN)
      break;
  atomic_fetch_sub_explicit(&word->sleepers, 1, memory_order_relaxed);
}

#endif
