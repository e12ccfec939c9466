#include "compiler/base/diag.h"

#include "compiler/base/bug.h"

void dtg_diags_init(struct dtg_diags *diags, const struct dtg_source_set *sources) {
  *diags = (struct dtg_diags){.sources = sources};
}

void dtg_diags_free(struct dtg_diags *diags) {
  dtg_arena_free(&diags->arena);
  *diags = (struct dtg_diags){0};
}

bool dtg_diags_failed(const struct dtg_diags *diags) {
  return diags->errors > 0;
}

static struct dtg_diag *add(struct dtg_diags *diags, enum dtg_severity severity,
                            struct dtg_span span, const char *format, va_list args) {
  struct dtg_diag *diag = DTG_NEW(&diags->arena, struct dtg_diag);
  diag->owner = diags;
  diag->severity = severity;
  diag->span = span;
  diag->message = dtg_arena_vprintf(&diags->arena, format, args);
  size_t *counter = severity == DTG_ERROR ? &diags->errors : &diags->warnings;
  if ((*counter)++ < DTG_DIAGS_MAX)
    dtg_vec_push(&diags->arena, &diags->list, diag);
  return diag;
}

struct dtg_diag *dtg_error(struct dtg_diags *diags, struct dtg_span span, const char *format, ...) {
  va_list args;
  va_start(args, format);
  struct dtg_diag *diag = add(diags, DTG_ERROR, span, format, args);
  va_end(args);
  return diag;
}

struct dtg_diag *dtg_warning(struct dtg_diags *diags, struct dtg_span span, const char *format,
                             ...) {
  va_list args;
  va_start(args, format);
  struct dtg_diag *diag = add(diags, DTG_WARNING, span, format, args);
  va_end(args);
  return diag;
}

void dtg_diag_note(struct dtg_diag *diag, struct dtg_span span, const char *format, ...) {
  struct dtg_arena *arena = &diag->owner->arena;
  va_list args;
  va_start(args, format);
  struct dtg_diag_note note = {span, dtg_arena_vprintf(arena, format, args)};
  va_end(args);
  dtg_vec_push(arena, &diag->notes, note);
}

void dtg_diag_hint(struct dtg_diag *diag, const char *format, ...) {
  va_list args;
  va_start(args, format);
  diag->hint = dtg_arena_vprintf(&diag->owner->arena, format, args);
  va_end(args);
}
