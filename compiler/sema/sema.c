#include "compiler/sema/sema.h"

#include "compiler/base/bug.h"
#include "compiler/sema/internal.h"

void dtg_sema_unknown(struct dtg_sema *sema, struct dtg_span span, const char *what,
                      const char *name, const char *const *candidates, size_t count) {
  struct dtg_diag *diag = dtg_error(&sema->ctx->diags, span, "unknown %s `%s`", what, name);
  const char *near = dtg_suggest(name, candidates, count);
  struct dtg_strbuf list = {0};
  for (size_t i = 0; !near && count <= 16 && i < count; i++)
    dtg_strbuf_printf(&list, "%s`%s`", i > 0 ? ", " : "", candidates[i]);
  if (near)
    dtg_diag_hint(diag, "did you mean `%s`?", near);
  else if (list.len > 0)
    dtg_diag_hint(diag, "the choices are %s", dtg_strbuf_text(&list));
  dtg_strbuf_free(&list);
}

void dtg_sema_twice(struct dtg_sema *sema, struct dtg_span span, const char *name,
                    struct dtg_span first) {
  struct dtg_diag *diag = dtg_error(&sema->ctx->diags, span, "`%s` is defined twice", name);
  dtg_diag_note(diag, first, "the first definition");
}

static void warn_unused_imports(struct dtg_sema *sema) {
  const struct dtg_scope_file *file = sema->model->scope;
  for (size_t i = 0; i < file->entries.len && sema->ctx->diags.errors == 0; i++) {
    const struct dtg_scope_entry *entry = &file->entries.data[i];
    if (entry->imported && !entry->used)
      dtg_warning(&sema->ctx->diags, entry->span, "`%s` is imported but never used", entry->name);
  }
}

static const struct dtg_ast_stmt *find_loss(const struct dtg_ast_body *body) {
  for (size_t i = 0; body && i < body->stmts.len; i++) {
    const struct dtg_ast_stmt *stmt = body->stmts.data[i];
    if (stmt->kind == DTG_STMT_LOSS)
      return stmt;
    if (stmt->kind != DTG_STMT_IF)
      continue;
    const struct dtg_ast_stmt *found = find_loss(stmt->if_else.then_body);
    if (!found)
      found = find_loss(stmt->if_else.else_body);
    if (found)
      return found;
  }
  return NULL;
}

static void check_model(struct dtg_sema *sema) {
  struct dtg_model *model = sema->model;
  const struct dtg_symbol *body = model->body;
  model->name = body->name;
  model->span = body->span;
  dtg_sema_inputs(sema);
  if (model->train.present && !find_loss(body->item->function.body)) {
    struct dtg_diag *diag =
        dtg_error(&sema->ctx->diags, model->span, "the model `%s` has no loss", model->name);
    dtg_diag_note(diag, model->train.span, "training needs one");
    dtg_diag_hint(diag, "add a line such as loss = mean(...) to the model");
  }
  if (model->train.data != DTG_NO_DATASET)
    dtg_sema_bind(sema, model->train.data, model->train.span);
  if (model->train.evaluate.data != DTG_NO_DATASET &&
      model->train.evaluate.data != model->train.data)
    dtg_sema_bind(sema, model->train.evaluate.data, model->train.evaluate.span);
}

struct dtg_model *dtg_sema(struct dtg_ctx *ctx, const struct dtg_ast_file *ast,
                           const struct dtg_sema_options *options) {
  size_t before = ctx->diags.errors;
  struct dtg_sema sema = {.ctx = ctx, .options = options};
  struct dtg_model *model = sema.model = DTG_NEW(&ctx->arena, struct dtg_model);
  model->file = ast->file;
  model->span = DTG_SPAN_NONE;
  model->scope = dtg_sema_load(&sema, ast);
  if (!model->scope)
    return NULL;
  model->prelude = model->scope->prelude;
  dtg_sema_defines(&sema);
  dtg_sema_constants(&sema);
  for (size_t i = 0; i < sema.files.len; i++)
    dtg_sema_names(&sema, sema.files.data[i]);
  dtg_sema_data(&sema);
  dtg_sema_train(&sema);
  dtg_sema_strategies(&sema);
  if (model->body)
    check_model(&sema);
  warn_unused_imports(&sema);
  return ctx->diags.errors > before ? NULL : model;
}
