// Names of files: what each file defines and imports.
//
// Ownership: the context's arena. Lifetime: that of the context. Built by stage 3, read by stage 4.
// Thread rule: that of the context.
//
// A name in an expression means, in this order: a local name, an item or import of the file in
// which it is written, an item of the prelude (std/prelude.dtg), a built-in. So every one can be
// shadowed.
#ifndef DTG_SEMA_SCOPE_H
#define DTG_SEMA_SCOPE_H

#include "compiler/sema/value.h"

enum dtg_symbol_kind {
  DTG_SYMBOL_CONST,
  DTG_SYMBOL_FN,
  DTG_SYMBOL_LAYER,
  DTG_SYMBOL_MODEL,
  DTG_SYMBOL_OPTIMIZER,
  DTG_SYMBOL_DATA,
  DTG_SYMBOL_MODULE, // `import ... as name`
};

struct dtg_symbol {
  enum dtg_symbol_kind kind;
  const char *name;
  struct dtg_span span;            // of the name where it is defined
  const struct dtg_ast_item *item; // NULL: MODULE
  struct dtg_scope_file *home;     // the file that defines it; MODULE: the file that it names
  struct dtg_value value;          // CONST
  enum { DTG_CONST_NEW, DTG_CONST_RUNNING, DTG_CONST_DONE } progress;
  bool overridden; // by -D
  bool failed;     // DATA: its error has been reported
};

struct dtg_scope_entry {
  const char *name; // as this file calls it
  struct dtg_symbol *symbol;
  struct dtg_span span; // where this file defines or imports it
  bool imported;
  bool used;
};

struct dtg_scope_file {
  const char *title; // "std.layers" or the path as written, for messages
  const struct dtg_ast_file *ast;
  bool is_std;  // found in the standard library: trusted not to warn
  bool loading; // on the stack of imports
  DTG_VEC(struct dtg_scope_entry) entries;
  const struct dtg_scope_file *prelude; // NULL for the prelude itself
};

// Names that no file defines.
enum dtg_builtin {
  DTG_BUILTIN_NONE,
  DTG_BUILTIN_OP,       // a row of the op table
  DTG_BUILTIN_FUNCTION, // one of compiler/sema/builtins.def
  DTG_BUILTIN_DTYPE,    // f32, ...
  DTG_BUILTIN_SCALAR,   // step, updates, total_steps, training
};
enum dtg_builtin dtg_builtin_find(const char *name);

// The file's own entry, or NULL.
struct dtg_scope_entry *dtg_scope_find(const struct dtg_scope_file *file, const char *name);
// The same, then the prelude's items. NULL: perhaps a built-in.
struct dtg_symbol *dtg_scope_lookup(const struct dtg_scope_file *file, const char *name);
// Items that the file itself defines.
struct dtg_symbol *dtg_scope_item(const struct dtg_scope_file *file, const char *name);
// All visible names, `locals` first, for suggestions.
struct dtg_name_list {
  DTG_VEC(const char *) names;
};
void dtg_scope_candidates(struct dtg_arena *arena, const struct dtg_scope_file *file,
                          struct dtg_name_list *out);

const char *dtg_symbol_kind_text(enum dtg_symbol_kind kind); // "a function", ...

#endif
