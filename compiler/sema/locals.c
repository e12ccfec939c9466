#include "compiler/sema/locals.h"

#include <string.h>

void dtg_locals_enter(struct dtg_locals *locals) {
  dtg_vec_push(&locals->sema->ctx->arena, &locals->open, locals->next);
  locals->next++;
}

void dtg_locals_close(struct dtg_locals *locals) {
  locals->open.len--;
}

static void report_unused(struct dtg_locals *locals, const struct dtg_local *local) {
  struct dtg_diags *diags = &locals->sema->ctx->diags;
  if (local->kind == DTG_LOCAL_PARAM || local->kind == DTG_LOCAL_STATE) {
    const char *what = local->kind == DTG_LOCAL_PARAM ? "parameter" : "state";
    struct dtg_diag *diag =
        dtg_error(diags, local->span, "the %s `%s` is never used", what, local->name);
    dtg_diag_hint(diag, "use it in the result, or remove the line");
    return;
  }
  bool reported = local->kind == DTG_LOCAL_NAME || local->kind == DTG_LOCAL_PARAMETER;
  // Beside errors, which often explain it, the warning would be noise.
  if (reported && !locals->silent && local->name[0] != '_' && diags->errors == 0)
    dtg_warning(diags, local->span, "`%s` is never used", local->name);
}

void dtg_locals_leave(struct dtg_locals *locals, size_t first) {
  for (size_t i = first; i < locals->list.len; i++) {
    if (!locals->list.data[i].used)
      report_unused(locals, &locals->list.data[i]);
  }
  locals->list.len = first;
  dtg_locals_close(locals);
}

struct dtg_local *dtg_locals_find(struct dtg_locals *locals, const char *name) {
  for (size_t i = locals->list.len; i > 0; i--) {
    if (locals->list.data[i - 1].name == name)
      return &locals->list.data[i - 1];
  }
  return NULL;
}

void dtg_locals_merge(struct dtg_locals *locals, size_t first, const struct dtg_local *other,
                      size_t other_count) {
  uint32_t region = dtg_vec_last(&locals->open);
  for (size_t i = first; i < locals->list.len; i++)
    locals->list.data[i].region = region;
  size_t end = locals->list.len;
  for (size_t i = 0; i < other_count; i++) {
    size_t same = first;
    while (same < end && locals->list.data[same].name != other[i].name)
      same++;
    if (same < end) {
      locals->list.data[same].used |= other[i].used;
      continue;
    }
    struct dtg_local copy = other[i];
    copy.region = region;
    dtg_vec_push(&locals->sema->ctx->arena, &locals->list, copy);
  }
}

static bool may_rebind(const struct dtg_locals *locals, const struct dtg_local *local,
                       enum dtg_local_kind kind) {
  if (kind != DTG_LOCAL_NAME)
    return false;
  if (local->kind == DTG_LOCAL_GIVEN)
    return true;
  return local->kind == DTG_LOCAL_NAME && local->region != dtg_vec_last(&locals->open);
}

static void not_again(struct dtg_locals *locals, struct dtg_ast_name name,
                      const struct dtg_local *first, enum dtg_local_kind kind) {
  struct dtg_diags *diags = &locals->sema->ctx->diags;
  if (kind == DTG_LOCAL_NAME && first->kind == DTG_LOCAL_STATE) {
    struct dtg_diag *diag = dtg_error(diags, name.span, "a state cannot be assigned");
    dtg_diag_note(diag, first->span, "`%s` is declared here", name.text);
    dtg_diag_hint(diag, "write update %s = ...", name.text);
    return;
  }
  dtg_sema_twice(locals->sema, name.span, name.text, first->span);
}

void dtg_locals_bind(struct dtg_locals *locals, struct dtg_ast_name name,
                     enum dtg_local_kind kind) {
  if (!name.text)
    return;
  struct dtg_local *first = dtg_locals_find(locals, name.text);
  if (first) {
    if (!may_rebind(locals, first, kind))
      not_again(locals, name, first, kind);
    return;
  }
  struct dtg_local local = {
      .name = name.text, .span = name.span, .kind = kind, .region = dtg_vec_last(&locals->open)};
  dtg_vec_push(&locals->sema->ctx->arena, &locals->list, local);
}
