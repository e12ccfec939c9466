// The built-in functions, one C function each, and how they read their arguments. Private to
// compiler/build/.
//
// Ownership and thread rule: those of the context. Functions that return bool have reported an
// error when they return false.
#ifndef DTG_BUILD_FUNCTIONS_H
#define DTG_BUILD_FUNCTIONS_H

#include "compiler/build/internal.h"

typedef struct dtg_value dtg_function(struct dtg_build *b, const char *name,
                                      const struct dtg_build_call *call);

#define DTG_FUNCTION(name) dtg_function dtg_function_##name;
#include "compiler/sema/builtins.def"
#undef DTG_FUNCTION

// Arguments by position or name into `out`, which the caller has zeroed; the first `required` ones
// must be there.
bool dtg_arguments_read(struct dtg_build *b, const char *name, const struct dtg_build_call *call,
                        const char *const *names, size_t required, size_t count,
                        struct dtg_build_given *out);
// Declares `given`, the arguments of a call by the names that follow.
#define DTG_ARGUMENTS(count_, required_, ...)                              \
  static const char *const names[] = {__VA_ARGS__};                        \
  struct dtg_build_given given[count_] = {0};                              \
  if (!dtg_arguments_read(b, name, call, names, required_, count_, given)) \
    return dtg_value_error();

static inline bool dtg_is_given(const struct dtg_build_given *given) {
  return given->value.kind != DTG_VALUE_ERROR;
}
bool dtg_argument_int(struct dtg_build *b, const char *what, const struct dtg_build_given *given,
                      int64_t *out);
// A list of ints, or one int.
bool dtg_argument_ints(struct dtg_build *b, const char *what, const struct dtg_build_given *given,
                       int64_t out[DTG_MAX_RANK], uint32_t *count);
// An axis counted from the end where it is negative.
bool dtg_argument_axis(struct dtg_build *b, int64_t axis, uint32_t rank, struct dtg_span span,
                       int64_t *out);
bool dtg_argument_tensor(struct dtg_build *b, const char *name, const struct dtg_build_given *given,
                         uint32_t *out);

#endif
