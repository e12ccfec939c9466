// Diagnostics: what is wrong with the user's input, where, why, and what to do.
//
//   model.dtg:12:7: error: unknown name `sofmax`
//      12 |   y = sofmax(x)
//         |       ^~~~~~
//     hint: did you mean `softmax`?
//     note: model.dtg:3:1: the names of `std.losses` are imported here
//
// Ownership: the object owns its texts; it reads the source set, which must outlive it.
// At most DTG_DIAGS_MAX errors are kept; the renderer ends with how many more there were.
// Thread rule: one thread at a time.
#ifndef DTG_BASE_DIAG_H
#define DTG_BASE_DIAG_H

#include "compiler/base/arena.h"
#include "compiler/base/source.h"
#include "compiler/base/strbuf.h"
#include "compiler/base/vec.h"

#include <stdbool.h>
#include <stddef.h>

#define DTG_DIAGS_MAX 50

enum dtg_severity { DTG_NOTE, DTG_WARNING, DTG_ERROR };

struct dtg_diag_note {
  struct dtg_span span;
  const char *message;
};

struct dtg_diag {
  struct dtg_diags *owner;
  enum dtg_severity severity;
  struct dtg_span span; // DTG_SPAN_NONE: the message stands alone
  const char *message;
  const char *hint; // or NULL
  DTG_VEC(struct dtg_diag_note) notes;
};

struct dtg_diags {
  struct dtg_arena arena;
  const struct dtg_source_set *sources;
  DTG_VEC(struct dtg_diag *) list;
  bool errors_only; // warnings are counted and not shown
  size_t errors;    // all errors, also those not kept
  size_t warnings;  // all warnings, also those not kept
};

void dtg_diags_init(struct dtg_diags *diags, const struct dtg_source_set *sources);
void dtg_diags_free(struct dtg_diags *diags);

// The result is never NULL, also past the cap; it takes notes and a hint.
struct dtg_diag *dtg_error(struct dtg_diags *diags, struct dtg_span span, const char *format, ...)
    __attribute__((format(printf, 3, 4), returns_nonnull));
struct dtg_diag *dtg_warning(struct dtg_diags *diags, struct dtg_span span, const char *format, ...)
    __attribute__((format(printf, 3, 4), returns_nonnull));
void dtg_diag_note(struct dtg_diag *diag, struct dtg_span span, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
// One hint per diagnostic; the last one stays.
void dtg_diag_hint(struct dtg_diag *diag, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

bool dtg_diags_failed(const struct dtg_diags *diags); // at least one error
void dtg_diags_render(const struct dtg_diags *diags, struct dtg_strbuf *out);

// The candidate nearest to `name` by edit distance (insert, delete, change, swap neighbours; case
// counts half), or NULL if none is near enough to be what was meant. NULL candidates are skipped.
const char *dtg_suggest(const char *name, const char *const *candidates, size_t count);

#endif
