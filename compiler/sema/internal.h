// What the files of stage 3 share. Private to compiler/sema/.
//
// Ownership and thread rule: those of the context. Functions that return bool have reported an
// error when they return false.
#ifndef DTG_SEMA_INTERNAL_H
#define DTG_SEMA_INTERNAL_H

#include "compiler/sema/model.h"
#include "compiler/sema/scope.h"
#include "compiler/sema/sema.h"
#include "grammar/ast.h"

struct dtg_sema {
  struct dtg_ctx *ctx;
  const struct dtg_sema_options *options;
  struct dtg_model *model;
  DTG_VEC(struct dtg_scope_file *) files; // all that were loaded, in that order
};

// The errors that come again and again. `what`: "name", "key", ...
void dtg_sema_unknown(struct dtg_sema *sema, struct dtg_span span, const char *what,
                      const char *name, const char *const *candidates, size_t count);
void dtg_sema_twice(struct dtg_sema *sema, struct dtg_span span, const char *name,
                    struct dtg_span first);

// files.c: the tree of imports. NULL after an error.
struct dtg_scope_file *dtg_sema_load(struct dtg_sema *sema, const struct dtg_ast_file *ast);

// constants.c: -D, then every constant of every file; and the value of any static expression, whose
// names are those of `file`.
void dtg_sema_defines(struct dtg_sema *sema);
void dtg_sema_constants(struct dtg_sema *sema);
struct dtg_value dtg_sema_eval(struct dtg_sema *sema, struct dtg_scope_file *file,
                               const struct dtg_ast_expr *expr);

// call.c: calls whose arguments are static or data: `every(...)`, `idx("...")`, `shuffle()`.
// The callee's name, the arguments that it got, checked against what it takes.
struct dtg_sema_parameter {
  const char *name;
  enum dtg_value_kind kind; // FLOAT takes ints too; ERROR: any expression, not evaluated
  bool required;
};
struct dtg_sema_argument {
  bool given;
  const struct dtg_ast_expr *expr;
  struct dtg_value value;
};
enum { DTG_SEMA_MAX_PARAMETERS = 8 };
bool dtg_sema_arguments(struct dtg_sema *sema, struct dtg_scope_file *file,
                        const struct dtg_ast_expr *call, const char *name,
                        const struct dtg_sema_parameter *parameters, size_t count,
                        struct dtg_sema_argument *out);
// Static value of a kind, else an error that says what `what` must be.
bool dtg_sema_expect(struct dtg_sema *sema, struct dtg_scope_file *file,
                     const struct dtg_ast_expr *expr, enum dtg_value_kind kind, const char *what,
                     struct dtg_value *out);
// A positive int, at most `limit`.
bool dtg_sema_expect_count(struct dtg_sema *sema, struct dtg_scope_file *file,
                           const struct dtg_ast_expr *expr, const char *what, int64_t lowest,
                           int64_t *out);

// names.c: resolves every name of every body of a file.
void dtg_sema_names(struct dtg_sema *sema, struct dtg_scope_file *file);

// sources.c: what the call of a data source gives for the column `out`, whose name is set. The
// examples of a column, or 0 while the file that has them is not known.
bool dtg_sema_source(struct dtg_sema *sema, struct dtg_scope_file *file,
                     const struct dtg_ast_expr *expr, struct dtg_column *out);
int64_t dtg_column_examples(const struct dtg_column *column);

// data.c: index of the data set that an expression gives (`train_set`, a pipeline), or
// DTG_NO_DATASET after an error. All `data` items of the main file are read by dtg_sema_data.
void dtg_sema_data(struct dtg_sema *sema);
uint32_t dtg_sema_dataset(struct dtg_sema *sema, struct dtg_scope_file *file,
                          const struct dtg_ast_expr *expr);

// inputs.c: the model's inputs, and whether the columns of a data set feed them.
void dtg_sema_inputs(struct dtg_sema *sema);
void dtg_sema_bind(struct dtg_sema *sema, uint32_t dataset, struct dtg_span span);

// train.c, strategy.c
void dtg_sema_train(struct dtg_sema *sema);
void dtg_sema_strategies(struct dtg_sema *sema);

#endif
