// Loading the files that a file imports, and collecting what each defines.
#include "compiler/sema/internal.h"
#include "grammar/parse.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct import_step {
  struct dtg_span span;
  const char *title;
  const char *key;
};

struct loader {
  struct dtg_sema *sema;
  DTG_VEC(const char *) keys;        // real paths, parallel to sema->files
  DTG_VEC(struct import_step) chain; // the imports that led here
  struct dtg_scope_file *prelude;
  bool failed; // something was not loaded: the names of a file are not complete
};

static struct dtg_scope_file *load_file(struct loader *loader, const struct dtg_ast_file *ast,
                                        const char *title, const char *key, bool is_std);

// ---- finding a file ----

static const char *folder_of(struct dtg_ctx *ctx, uint32_t file) {
  const char *path = dtg_source_get(&ctx->sources, file)->path;
  const char *slash = strrchr(path, '/');
  return slash ? dtg_arena_strndup(&ctx->arena, path, (size_t)(slash - path)) : ".";
}

static const char *join(struct dtg_ctx *ctx, const char *folder, const char *name) {
  if (name[0] == '/' || strcmp(folder, ".") == 0)
    return name;
  return dtg_arena_printf(&ctx->arena, "%s/%s", folder, name);
}

static const char *probe(struct dtg_ctx *ctx, const char *folder, const char *name,
                         struct dtg_strbuf *looked) {
  const char *path = join(ctx, folder, name);
  if (access(path, F_OK) == 0)
    return path;
  dtg_strbuf_printf(looked, "%s%s", looked->len > 0 ? ", " : "", folder);
  return NULL;
}

// The first existing file in search order, or NULL with an error.
static const char *find_file(struct loader *loader, const char *name, uint32_t importer,
                             struct dtg_span span, bool *is_std) {
  struct dtg_ctx *ctx = loader->sema->ctx;
  const struct dtg_sema_options *options = loader->sema->options;
  struct dtg_strbuf looked = {0};
  const char *path = probe(ctx, folder_of(ctx, importer), name, &looked);
  for (size_t i = 0; !path && i < options->include_count; i++)
    path = probe(ctx, options->include_dirs[i], name, &looked);
  *is_std = !path && options->std_dir;
  if (*is_std)
    path = probe(ctx, options->std_dir, name, &looked);
  if (!path) {
    struct dtg_diag *diag = dtg_error(&ctx->diags, span, "cannot find `%s`", name);
    dtg_diag_hint(diag, "looked in: %s; add a folder with -I", dtg_strbuf_text(&looked));
  }
  dtg_strbuf_free(&looked);
  return path;
}

static const char *real_path(struct dtg_ctx *ctx, const char *path) {
  char *real = realpath(path, NULL);
  const char *copy = dtg_arena_strdup(&ctx->arena, real ? real : path);
  free(real);
  return copy;
}

// ---- what an import names ----

static const char *import_title(struct dtg_ctx *ctx, const struct dtg_ast_item *item,
                                char separator) {
  if (item->import.file)
    return item->import.file->parts.len > 0 ? item->import.file->parts.data[0].text : "";
  struct dtg_strbuf text = {0};
  for (size_t i = 0; i < item->import.module.len; i++) {
    if (i > 0)
      dtg_strbuf_putc(&text, separator);
    dtg_strbuf_puts(&text, item->import.module.data[i].text);
  }
  const char *copy = dtg_arena_strdup(&ctx->arena, dtg_strbuf_text(&text));
  dtg_strbuf_free(&text);
  return copy;
}

static struct dtg_span import_span(const struct dtg_ast_item *item) {
  if (item->import.file)
    return item->import.file->span;
  return dtg_span_join(item->import.module.data[0].span, dtg_vec_last(&item->import.module).span);
}

// The last step of the chain is the import that closes the cycle.
static void report_cycle(struct loader *loader, const char *key, struct dtg_span span,
                         const char *title) {
  struct dtg_diag *diag =
      dtg_error(&loader->sema->ctx->diags, span, "`%s` imports itself through a cycle", title);
  size_t first = 0;
  for (size_t i = 0; i + 1 < loader->chain.len; i++) {
    if (strcmp(loader->chain.data[i].key, key) == 0)
      first = i + 1;
  }
  for (size_t i = first; i + 1 < loader->chain.len; i++)
    dtg_diag_note(diag, loader->chain.data[i].span, "`%s` is imported here",
                  loader->chain.data[i].title);
  dtg_diag_hint(diag, "move what both files need into a third one");
}

static struct dtg_scope_file *already_loaded(struct loader *loader, const char *key,
                                             const char *title, struct dtg_span span, bool *cycle) {
  for (size_t i = 0; i < loader->keys.len; i++) {
    if (strcmp(loader->keys.data[i], key) != 0)
      continue;
    struct dtg_scope_file *file = loader->sema->files.data[i];
    *cycle = file->loading;
    if (*cycle)
      report_cycle(loader, key, span, title);
    return file;
  }
  return NULL;
}

static bool within_limits(struct loader *loader, struct dtg_span span) {
  struct dtg_diags *diags = &loader->sema->ctx->diags;
  if (loader->chain.len >= DTG_IMPORT_MAX_DEPTH)
    dtg_error(diags, span, "imports are nested more than %d deep", DTG_IMPORT_MAX_DEPTH);
  else if (loader->sema->files.len >= DTG_IMPORT_MAX_FILES)
    dtg_error(diags, span, "more than %d files are imported", DTG_IMPORT_MAX_FILES);
  else
    return true;
  return false;
}

static struct dtg_scope_file *load_path(struct loader *loader, const char *path, const char *title,
                                        struct dtg_span span, bool is_std) {
  struct dtg_ctx *ctx = loader->sema->ctx;
  const char *key = real_path(ctx, path);
  bool cycle = false;
  struct dtg_scope_file *file = already_loaded(loader, key, title, span, &cycle);
  if (file)
    return cycle ? NULL : file;
  uint32_t source;
  if (!within_limits(loader, span) ||
      !dtg_source_load(&ctx->sources, &ctx->diags, path, span, &source))
    return NULL;
  size_t errors = ctx->diags.errors;
  const struct dtg_ast_file *ast = dtg_parse(ctx, source);
  loader->failed |= ctx->diags.errors > errors;
  return load_file(loader, ast, title, key, is_std);
}

static struct dtg_scope_file *load_import(struct loader *loader, const struct dtg_ast_item *item) {
  struct dtg_ctx *ctx = loader->sema->ctx;
  struct dtg_span span = import_span(item);
  const char *name = import_title(ctx, item, '/');
  if (!item->import.file)
    name = dtg_arena_printf(&ctx->arena, "%s.dtg", name);
  bool is_std = false;
  const char *path = find_file(loader, name, item->span.file, span, &is_std);
  if (!path)
    return NULL;
  struct import_step step = {span, import_title(ctx, item, '.'), real_path(ctx, path)};
  dtg_vec_push(&ctx->arena, &loader->chain, step);
  struct dtg_scope_file *file = load_path(loader, path, step.title, span, is_std);
  loader->chain.len--;
  return file;
}

// ---- entries ----

static void define(struct dtg_sema *sema, struct dtg_scope_file *file, struct dtg_ast_name name,
                   struct dtg_symbol *symbol, bool imported) {
  struct dtg_scope_entry *first = dtg_scope_find(file, name.text);
  if (first) {
    dtg_sema_twice(sema, name.span, name.text, first->span);
    return;
  }
  struct dtg_scope_entry entry = {
      .name = name.text, .symbol = symbol, .span = name.span, .imported = imported};
  dtg_vec_push(&sema->ctx->arena, &file->entries, entry);
}

static bool import_one(struct dtg_sema *sema, struct dtg_scope_file *file,
                       struct dtg_scope_file *module, const struct dtg_ast_import_name *wanted) {
  struct dtg_symbol *symbol = dtg_scope_item(module, wanted->name.text);
  if (symbol) {
    define(sema, file, wanted->alias.text ? wanted->alias : wanted->name, symbol, true);
    return true;
  }
  struct dtg_name_list list = {0};
  for (size_t i = 0; i < module->entries.len; i++) {
    if (!module->entries.data[i].imported)
      dtg_vec_push(&sema->ctx->arena, &list.names, module->entries.data[i].name);
  }
  const char *what = dtg_arena_printf(&sema->ctx->arena, "name in `%s`:", module->title);
  dtg_sema_unknown(sema, wanted->name.span, what, wanted->name.text, list.names.data,
                   list.names.len);
  return false;
}

// "parts/blocks.dtg" is called `blocks`, if that can be a name.
static const char *file_stem(struct dtg_ctx *ctx, const char *path) {
  const char *stem = dtg_base_name(path);
  size_t length = strcspn(stem, ".");
  bool good = length > 0 && !isdigit((unsigned char)stem[0]);
  for (size_t i = 0; i < length; i++)
    good = good && (isalnum((unsigned char)stem[i]) || stem[i] == '_');
  return good ? dtg_intern(&ctx->names, stem, length) : NULL;
}

static void import_module(struct dtg_sema *sema, struct dtg_scope_file *file,
                          struct dtg_scope_file *module, const struct dtg_ast_item *item) {
  struct dtg_ast_name name = item->import.alias;
  if (!name.text && item->import.has_names)
    return;
  if (!name.text && item->import.file)
    name = (struct dtg_ast_name){file_stem(sema->ctx, import_title(sema->ctx, item, '/')),
                                 item->import.file->span};
  else if (!name.text)
    name = dtg_vec_last(&item->import.module);
  if (!name.text) {
    struct dtg_diag *diag = dtg_error(&sema->ctx->diags, item->span,
                                      "the name of this file cannot be that of a module");
    dtg_diag_hint(diag, "add a list of names in braces, or `as name`");
    return;
  }
  struct dtg_symbol *symbol = DTG_NEW(&sema->ctx->arena, struct dtg_symbol);
  *symbol = (struct dtg_symbol){
      .kind = DTG_SYMBOL_MODULE, .name = name.text, .span = name.span, .home = module};
  define(sema, file, name, symbol, true);
}

static bool symbol_kind(enum dtg_ast_item_kind item, enum dtg_symbol_kind *out) {
  switch (item) {
  case DTG_ITEM_CONST:
    *out = DTG_SYMBOL_CONST;
    return true;
  case DTG_ITEM_FN:
    *out = DTG_SYMBOL_FN;
    return true;
  case DTG_ITEM_LAYER:
    *out = DTG_SYMBOL_LAYER;
    return true;
  case DTG_ITEM_MODEL:
    *out = DTG_SYMBOL_MODEL;
    return true;
  case DTG_ITEM_OPTIMIZER:
    *out = DTG_SYMBOL_OPTIMIZER;
    return true;
  case DTG_ITEM_DATA:
    *out = DTG_SYMBOL_DATA;
    return true;
  default: // imports, train and strategies have no name in expressions
    return false;
  }
}

static void collect(struct dtg_sema *sema, struct dtg_scope_file *file) {
  for (size_t i = 0; i < file->ast->items.len; i++) {
    const struct dtg_ast_item *item = file->ast->items.data[i];
    enum dtg_symbol_kind kind;
    if (!symbol_kind(item->kind, &kind) || !item->name.text)
      continue;
    struct dtg_symbol *symbol = DTG_NEW(&sema->ctx->arena, struct dtg_symbol);
    *symbol = (struct dtg_symbol){
        .kind = kind, .name = item->name.text, .span = item->name.span, .item = item, .home = file};
    define(sema, file, item->name, symbol, false);
  }
}

static struct dtg_scope_file *load_file(struct loader *loader, const struct dtg_ast_file *ast,
                                        const char *title, const char *key, bool is_std) {
  struct dtg_sema *sema = loader->sema;
  struct dtg_arena *arena = &sema->ctx->arena;
  struct dtg_scope_file *file = DTG_NEW(arena, struct dtg_scope_file);
  *file = (struct dtg_scope_file){
      .title = title, .ast = ast, .is_std = is_std, .loading = true, .prelude = loader->prelude};
  dtg_vec_push(arena, &sema->files, file);
  dtg_vec_push(arena, &loader->keys, key);
  collect(sema, file);
  for (size_t i = 0; i < ast->items.len; i++) {
    const struct dtg_ast_item *item = ast->items.data[i];
    if (item->kind != DTG_ITEM_IMPORT || (!item->import.file && item->import.module.len == 0))
      continue;
    struct dtg_scope_file *module = load_import(loader, item);
    loader->failed |= !module;
    if (!module)
      continue;
    for (size_t j = 0; j < item->import.names.len; j++)
      loader->failed |= !import_one(sema, file, module, &item->import.names.data[j]);
    import_module(sema, file, module, item);
  }
  file->loading = false;
  return file;
}

static struct dtg_scope_file *load_prelude(struct loader *loader) {
  struct dtg_ctx *ctx = loader->sema->ctx;
  const char *folder = loader->sema->options->std_dir;
  if (!folder)
    return NULL;
  const char *path = join(ctx, folder, "std/prelude.dtg");
  if (access(path, F_OK) != 0) {
    struct dtg_diag *diag = dtg_error(&ctx->diags, DTG_SPAN_NONE,
                                      "the standard library is missing: there is no `%s`", path);
    dtg_diag_hint(diag, "install dtg again, or name the folder that holds `std`");
    return NULL;
  }
  return load_path(loader, path, "std.prelude", DTG_SPAN_NONE, true);
}

struct dtg_scope_file *dtg_sema_load(struct dtg_sema *sema, const struct dtg_ast_file *ast) {
  struct loader loader = {.sema = sema};
  size_t before = sema->ctx->diags.errors;
  loader.prelude = load_prelude(&loader);
  if (sema->ctx->diags.errors > before)
    return NULL;
  const char *path = dtg_source_get(&sema->ctx->sources, ast->file)->path;
  struct dtg_scope_file *file = load_file(&loader, ast, path, real_path(sema->ctx, path), false);
  // Without all its imports a file would seem full of unknown names.
  return loader.failed ? NULL : file;
}
