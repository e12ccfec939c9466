// Stage 3, model: imports, names, constants, and the blocks `train`, `data` and `strategy`.
//
// Requires: a parsed main file. Guarantees: without errors, a complete `struct dtg_model`; every
// name in every body of every loaded file resolves. Cost: linear in the size of the files.
// Thread rule: that of the context.
#ifndef DTG_SEMA_SEMA_H
#define DTG_SEMA_SEMA_H

#include "compiler/base/strbuf.h"
#include "compiler/sema/model.h"

struct dtg_ast_file;

// Limits on what a file may import, checked before anything is read.
enum { DTG_IMPORT_MAX_FILES = 256, DTG_IMPORT_MAX_DEPTH = 64 };

struct dtg_sema_options {
  const char *const *defines; // "name=value", from -D
  size_t define_count;
  const char *const *include_dirs; // from -I, searched in order after the file's own folder
  size_t include_count;
  const char *std_dir;  // the folder that holds `std/`; searched last
  const char *strategy; // NULL: the first of the file
};

// NULL if there were errors (all are in ctx->diags). Reads the files that `ast` imports.
struct dtg_model *dtg_sema(struct dtg_ctx *ctx, const struct dtg_ast_file *ast,
                           const struct dtg_sema_options *options);

// --emit=model: everything above in words and numbers; deterministic.
void dtg_model_print(const struct dtg_model *model, struct dtg_strbuf *out);

#endif
