// Broken invariants and exhausted resources: the two ways in which the compiler stops at once.
//
// A user's mistake is neither: it goes through diag.h. `dtg_bug` means that this program is wrong
// (exit 70); `dtg_fatal` that the machine has nothing left to give (exit 1).
// Thread rule: callable from any thread.
#ifndef DTG_BASE_BUG_H
#define DTG_BASE_BUG_H

#define DTG_EXIT_BUG 70

_Noreturn void dtg_bug_at(const char *file, int line, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
_Noreturn void dtg_fatal(const char *format, ...) __attribute__((format(printf, 1, 2)));

#define dtg_bug(...) dtg_bug_at(__FILE_NAME__, __LINE__, __VA_ARGS__)

#define DTG_ASSERT(condition)                         \
  do {                                                \
    if (!(condition))                                 \
      dtg_bug("%s", "assertion failed: " #condition); \
  } while (0)

#endif
