// Reporting: each place once, with the calls that led to it.
#include "compiler/build/internal.h"

#include <stdarg.h>

enum { NOTED_CALLS = 4 };

static bool same(struct dtg_span a, struct dtg_span b) {
  return a.file == b.file && a.begin == b.begin && a.end == b.end;
}

static bool reported_before(struct dtg_build *b, struct dtg_build_report report) {
  for (size_t i = 0; i < b->reported.len; i++) {
    const struct dtg_build_report *old = &b->reported.data[i];
    if (same(old->shown, report.shown) && same(old->origin, report.origin))
      return true;
  }
  dtg_vec_push(&b->ctx->arena, &b->reported, report);
  return false;
}

static bool contains(struct dtg_span outer, struct dtg_span inner) {
  return outer.file == inner.file && outer.begin <= inner.begin && outer.end >= inner.end;
}

static bool is_library(const struct dtg_build_frame *frame, struct dtg_span span) {
  return frame->symbol->home->is_std && frame->symbol->home->ast->file == span.file;
}

// Out of the library to the call that led into it: the writer of a model knows that line. `frame`
// becomes the one that the call is made from, and `library` the function that was called.
static struct dtg_span users_place(const struct dtg_build_frame **frame, struct dtg_span span,
                                   const char **library) {
  for (; *frame && is_library(*frame, span); *frame = (*frame)->parent) {
    *library = (*frame)->symbol->name;
    span = (*frame)->call;
  }
  return span;
}

// The calls that led to the place; a call that the message points into needs no mention.
static void note_calls(const struct dtg_build_frame *frame, struct dtg_diag *diag) {
  for (int i = 0; frame && i < NOTED_CALLS; i++, frame = frame->parent)
    if (!contains(frame->call, diag->span))
      dtg_diag_note(diag, frame->call, "in this call of `%s`", frame->symbol->name);
}

static struct dtg_diag *report(struct dtg_build *b, bool is_error, struct dtg_span span,
                               const char *format, va_list args) {
  const struct dtg_build_frame *frame = b->frame;
  const char *library = NULL;
  struct dtg_span shown = users_place(&frame, span, &library);
  if (reported_before(b, (struct dtg_build_report){shown, span})) {
    struct dtg_diag *unseen = DTG_NEW(&b->ctx->arena, struct dtg_diag);
    unseen->owner = &b->ctx->diags;
    return unseen;
  }
  const char *message = dtg_arena_vprintf(&b->ctx->arena, format, args);
  struct dtg_diag *diag = is_error ? dtg_error(&b->ctx->diags, shown, "%s", message)
                                   : dtg_warning(&b->ctx->diags, shown, "%s", message);
  if (library)
    dtg_diag_note(diag, span, "found here, inside of `%s`", library);
  note_calls(frame, diag);
  return diag;
}

struct dtg_diag *dtg_build_error(struct dtg_build *b, struct dtg_span span, const char *format,
                                 ...) {
  va_list args;
  va_start(args, format);
  struct dtg_diag *diag = report(b, true, span, format, args);
  va_end(args);
  return diag;
}

struct dtg_diag *dtg_build_warning(struct dtg_build *b, struct dtg_span span, const char *format,
                                   ...) {
  va_list args;
  va_start(args, format);
  struct dtg_diag *diag = report(b, false, span, format, args);
  va_end(args);
  return diag;
}

struct dtg_value dtg_build_fail(struct dtg_build *b, struct dtg_span span, const char *format,
                                ...) {
  va_list args;
  va_start(args, format);
  report(b, true, span, format, args);
  va_end(args);
  return dtg_value_error();
}

const struct dtg_type *dtg_build_type(const struct dtg_build *b, uint32_t node) {
  return &dtg_graph_node(b->graph, node)->type;
}

const char *dtg_build_type_text(struct dtg_build *b, const struct dtg_type *type) {
  char text[256];
  dtg_type_format(type, text, sizeof text);
  return dtg_arena_strdup(&b->ctx->arena, text);
}

void dtg_build_note(struct dtg_build *b, struct dtg_diag *diag, uint32_t id) {
  const struct dtg_node *node = dtg_graph_node(b->graph, id);
  const char *type = dtg_build_node_text(b, id);
  if (node->op->class == DTG_CLASS_CONST)
    return;
  if (node->name)
    dtg_diag_note(diag, node->span, "`%s` is %s and comes from here", node->name, type);
  else
    dtg_diag_note(diag, node->span, "this is %s", type);
}

struct dtg_value dtg_build_tensor(uint32_t node, bool weak) {
  return (struct dtg_value){.kind = DTG_VALUE_TENSOR, .weak = weak, .node = node};
}
