#include "compiler/sema/scope.h"

#include "compiler/ir/op.h"

#include <string.h>

struct dtg_scope_entry *dtg_scope_find(const struct dtg_scope_file *file, const char *name) {
  for (size_t i = 0; i < file->entries.len; i++) {
    if (file->entries.data[i].name == name)
      return &file->entries.data[i];
  }
  return NULL;
}

struct dtg_symbol *dtg_scope_item(const struct dtg_scope_file *file, const char *name) {
  struct dtg_scope_entry *entry = dtg_scope_find(file, name);
  return entry && !entry->imported ? entry->symbol : NULL;
}

struct dtg_symbol *dtg_scope_lookup(const struct dtg_scope_file *file, const char *name) {
  struct dtg_scope_entry *entry = dtg_scope_find(file, name);
  if (entry) {
    entry->used = true;
    return entry->symbol;
  }
  return file->prelude ? dtg_scope_item(file->prelude, name) : NULL;
}

static const char *const functions[] = {
#define DTG_FUNCTION(name) #name,
#include "compiler/sema/builtins.def"
#undef DTG_FUNCTION
};

static const char *const scalars[] = {"step", "updates", "total_steps", "training"};

static bool listed(const char *const *list, size_t count, const char *name) {
  for (size_t i = 0; i < count; i++) {
    if (strcmp(list[i], name) == 0)
      return true;
  }
  return false;
}

static bool op_is_visible(const struct dtg_op_def *op) {
  return op->class != DTG_CLASS_LEAF && op->class != DTG_CLASS_CONST && op->class != DTG_CLASS_SCAN;
}

enum dtg_builtin dtg_builtin_find(const char *name) {
  enum dtg_dtype dtype;
  if (listed(functions, sizeof functions / sizeof *functions, name))
    return DTG_BUILTIN_FUNCTION;
  if (dtg_dtype_from_name(name, strlen(name), &dtype))
    return DTG_BUILTIN_DTYPE;
  if (listed(scalars, sizeof scalars / sizeof *scalars, name))
    return DTG_BUILTIN_SCALAR;
  const struct dtg_op_def *op = dtg_op_find(name);
  return op && op_is_visible(op) ? DTG_BUILTIN_OP : DTG_BUILTIN_NONE;
}

static void add_all(struct dtg_arena *arena, const char *const *list, size_t count,
                    struct dtg_name_list *out) {
  for (size_t i = 0; i < count; i++)
    dtg_vec_push(arena, &out->names, list[i]);
}

void dtg_scope_candidates(struct dtg_arena *arena, const struct dtg_scope_file *file,
                          struct dtg_name_list *out) {
  for (size_t i = 0; i < file->entries.len; i++)
    dtg_vec_push(arena, &out->names, file->entries.data[i].name);
  if (file->prelude) {
    for (size_t i = 0; i < file->prelude->entries.len; i++)
      dtg_vec_push(arena, &out->names, file->prelude->entries.data[i].name);
  }
  add_all(arena, functions, sizeof functions / sizeof *functions, out);
  add_all(arena, scalars, sizeof scalars / sizeof *scalars, out);
  for (enum dtg_dtype dtype = 0; dtype < DTG_DTYPE_COUNT; dtype++)
    dtg_vec_push(arena, &out->names, dtg_dtype_name(dtype));
  for (uint32_t i = 0; i < dtg_op_count(); i++) {
    if (op_is_visible(dtg_op_at(i)))
      dtg_vec_push(arena, &out->names, dtg_op_at(i)->name);
  }
}

const char *dtg_symbol_kind_text(enum dtg_symbol_kind kind) {
  switch (kind) {
  case DTG_SYMBOL_CONST:
    return "a constant";
  case DTG_SYMBOL_FN:
    return "a function";
  case DTG_SYMBOL_LAYER:
    return "a layer";
  case DTG_SYMBOL_MODEL:
    return "a model";
  case DTG_SYMBOL_OPTIMIZER:
    return "an optimizer";
  case DTG_SYMBOL_DATA:
    return "a data set";
  case DTG_SYMBOL_MODULE:
    return "an imported file";
  }
  return "nothing";
}
