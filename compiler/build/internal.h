// What the files of stage 4 share. Private to compiler/build/.
//
// Ownership: the context's arena. Thread rule: that of the context.
//
// Errors: a function that gives a value reports what is wrong and gives DTG_VALUE_ERROR; whatever
// takes such a value stays silent and gives it on. One place in the source is reported once,
// however often it is elaborated.
#ifndef DTG_BUILD_INTERNAL_H
#define DTG_BUILD_INTERNAL_H

#include "compiler/build/build.h"
#include "compiler/ir/op.h"
#include "compiler/sema/scope.h"

// ---- functions, instances, environments ----

enum dtg_function_kind {
  DTG_FUNCTION_ITEM,   // fn, layer or optimizer
  DTG_FUNCTION_LAMBDA, // with the names that it saw
  DTG_FUNCTION_OP,     // a row of the op table
  DTG_FUNCTION_BUILTIN // compiler/sema/builtins.def
};

struct dtg_build_function {
  enum dtg_function_kind kind;
  const char *name;
  const struct dtg_symbol *symbol;   // ITEM
  const struct dtg_ast_expr *lambda; // LAMBDA
  struct dtg_build_env *env;         // LAMBDA
  const struct dtg_op_def *op;       // OP
};

// What a parameter was given; value ERROR: nothing.
struct dtg_build_given {
  struct dtg_value value;
  struct dtg_span span;
};

// A layer with a name, attributes and, once applied, parameters.
struct dtg_build_instance {
  const struct dtg_symbol *symbol;
  const char *path;
  struct dtg_span span;
  struct dtg_build_given *given; // one per parameter of the layer
};

// Names used by the instances and parameters of one application of a layer (or of the model): what
// an automatic name can clash with.
struct dtg_build_activation {
  const char *path; // "" for the model
  struct {
    const char *name;
    struct dtg_span span;
  } * names;
  size_t name_count, name_cap;
};

struct dtg_binding {
  const char *name;
  struct dtg_value value;
};

// The names of one body in progress. A `for` cuts the list back after each iteration.
struct dtg_build_env {
  struct dtg_scope_file *file;
  enum dtg_ast_item_kind item;
  struct dtg_build_activation *activation; // NULL in a function: it can own no layers
  const struct dtg_build_frame *frame;     // the call that it belongs to
  DTG_VEC(struct dtg_binding) bindings;
  bool has_leading; // a signature has bound `...` to `leading`
  struct dtg_shape leading;
  const struct dtg_build_slots *slots; // optimizers
};

struct dtg_build_frame {
  const struct dtg_build_frame *parent;
  const struct dtg_symbol *symbol;
  struct dtg_span call;
};

// ---- loops ----

// A `scan` whose body is being evaluated.
struct dtg_build_scan {
  struct dtg_build_scan *around;
  uint32_t leaf, index; // the number of the iteration, from 0
  int64_t count;
};

// What the loop at hand collects, by name.
struct dtg_build_collected {
  const char *name;
  struct dtg_span span;
  bool failed;
  DTG_VEC(uint32_t) nodes; // one an evaluated iteration
};
struct dtg_build_collection {
  DTG_VEC(struct dtg_build_collected) entries;
};

// ---- the state of a build ----

// A parameter or state in the graph under construction.
struct dtg_build_leaf {
  const char *path;
  uint32_t node;
  uint32_t variable;
  const struct dtg_ast_stmt *stmt; // its declaration
  const char *owner;               // path of the instance that declared it
};

// Where a message points to, and the place in the library that it came from (or the same).
struct dtg_build_report {
  struct dtg_span shown, origin;
};

struct dtg_build {
  struct dtg_ctx *ctx;
  const struct dtg_model *model;
  struct dtg_module *module;
  struct dtg_graph *graph;
  bool training;
  bool updating; // the update graph: reductions are over whole tensors, run-time scalars are known
  int64_t batch; // value of B
  const struct dtg_build_frame *frame;
  uint32_t depth;
  int64_t iterations;
  struct dtg_build_scan *scan;             // innermost, or NULL
  struct dtg_build_collection *collection; // of the innermost loop, or NULL
  bool scanned;                            // the graph has a scan
  bool stopped;                            // a limit was reached
  bool may_declare; // false in the evaluation graphs: training has declared every variable
  DTG_VEC(struct dtg_build_leaf) leaves;
  DTG_VEC(struct dtg_build_report) reported;
  DTG_VEC(uint32_t) batch_axes; // batch.c: of the first nodes of `batch_graph`
  const struct dtg_graph *batch_graph;
  struct {
    const char *path;
    uint32_t count;
  } * random_paths; // random nodes so far, by path
  size_t random_count, random_cap;
  // updating: parameters in path order and their gradients
  uint32_t param_count;
  const uint32_t *gradients;
  uint32_t gradient;    // of the parameter at hand
  uint32_t global_norm; // DTG_NO_NODE until it is asked for
};

struct dtg_diag *dtg_build_error(struct dtg_build *b, struct dtg_span span, const char *format, ...)
    __attribute__((format(printf, 3, 4), returns_nonnull));
struct dtg_diag *dtg_build_warning(struct dtg_build *b, struct dtg_span span, const char *format,
                                   ...) __attribute__((format(printf, 3, 4), returns_nonnull));
struct dtg_value dtg_build_fail(struct dtg_build *b, struct dtg_span span, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
// "note: `x` is f32[3, 5], computed here".
void dtg_build_note(struct dtg_build *b, struct dtg_diag *diag, uint32_t node);
const char *dtg_build_type_text(struct dtg_build *b, const struct dtg_type *type);
const struct dtg_type *dtg_build_type(const struct dtg_build *b, uint32_t node);
struct dtg_value dtg_build_tensor(uint32_t node, bool weak);

// batch.c: bit i is set where axis i of the node is the batch, as far as the ops that made it tell.
uint32_t dtg_build_batch_axes(struct dtg_build *b, uint32_t node);
// "f32[B=32, 28, 28]".
const char *dtg_build_node_text(struct dtg_build *b, uint32_t node);
// The text of an op with the types of its operands written like that.
const char *dtg_build_name_batches(struct dtg_build *b, const uint32_t *inputs, uint32_t count,
                                   const char *text);
// Warns where an op of two sides of different rank brings the batch of one beside that of the
// other.
void dtg_build_warn_batches(struct dtg_build *b, const char *op, uint32_t left, uint32_t right,
                            struct dtg_span span);

// ---- eval.c ----

// How a layer called by the expression is named: by a label, else by the name that it is assigned
// to.
struct dtg_build_naming {
  const struct dtg_ast_label *label;
  const char *name;
};
struct dtg_value dtg_build_eval(struct dtg_build *b, struct dtg_build_env *env,
                                const struct dtg_ast_expr *expr);
struct dtg_value dtg_build_eval_named(struct dtg_build *b, struct dtg_build_env *env,
                                      const struct dtg_ast_expr *expr,
                                      const struct dtg_build_naming *naming);
// An int; false after an error. `what`: "a dim", ...
bool dtg_build_int(struct dtg_build *b, struct dtg_build_env *env, const struct dtg_ast_expr *expr,
                   const char *what, int64_t *out);

// env.c
struct dtg_build_env *dtg_env_new(struct dtg_build *b, struct dtg_scope_file *file,
                                  enum dtg_ast_item_kind item);
struct dtg_binding *dtg_env_find(struct dtg_build_env *env, const char *name);
void dtg_env_bind(struct dtg_build *b, struct dtg_build_env *env, const char *name,
                  struct dtg_value value);
// A copy, for a lambda: later bindings do not change what it saw.
struct dtg_build_env *dtg_env_snapshot(struct dtg_build *b, const struct dtg_build_env *env);

// ---- calls ----

struct dtg_build_argument {
  const char *name; // NULL: positional
  struct dtg_span span;
  struct dtg_value value;
};

struct dtg_build_call {
  struct dtg_build_env *env; // of the caller
  struct dtg_span span;
  const struct dtg_build_naming *naming; // or NULL
  size_t count;
  struct dtg_build_argument *arguments;
};

// call.c
struct dtg_value dtg_build_call_expr(struct dtg_build *b, struct dtg_build_env *env,
                                     const struct dtg_ast_expr *expr,
                                     const struct dtg_build_argument *piped,
                                     const struct dtg_build_naming *naming);
struct dtg_value dtg_build_call_value(struct dtg_build *b, const struct dtg_value *callee,
                                      const struct dtg_build_call *call);
// Sorts the arguments by parameter; `given` is zeroed by the caller. False after an error.
bool dtg_build_match(struct dtg_build *b, const struct dtg_symbol *symbol,
                     const struct dtg_build_call *call, struct dtg_build_given *given);
// Binds the parameters of `symbol` in the callee's environment, checked against their types;
// defaults are evaluated there.
bool dtg_build_bind_parameters(struct dtg_build *b, struct dtg_build_env *env,
                               const struct dtg_symbol *symbol, const struct dtg_build_given *given,
                               struct dtg_span span);
bool dtg_build_enter(struct dtg_build *b, struct dtg_build_frame *frame);
void dtg_build_leave(struct dtg_build *b, const struct dtg_build_frame *frame);

// signature.c: a value against a written type, binding the dims that are free.
bool dtg_build_check_type(struct dtg_build *b, struct dtg_build_env *env,
                          const struct dtg_ast_type *type, struct dtg_value *value,
                          const char *what, struct dtg_span span);
bool dtg_build_check_dims(struct dtg_build *b, struct dtg_build_env *env,
                          const struct dtg_ast_type *type, const struct dtg_value *value,
                          const char *what, struct dtg_span span);
// The concrete type of a declaration.
bool dtg_build_declared_type(struct dtg_build *b, struct dtg_build_env *env,
                             const struct dtg_ast_type *type, struct dtg_type *out);
bool dtg_build_is_tensor_type(const struct dtg_ast_type *type);

// layer.c
struct dtg_value dtg_build_call_layer(struct dtg_build *b, const struct dtg_symbol *symbol,
                                      const struct dtg_build_call *call);
struct dtg_value dtg_build_apply(struct dtg_build *b, struct dtg_build_instance *instance,
                                 const struct dtg_build_call *call);
struct dtg_value dtg_build_member(struct dtg_build *b, struct dtg_build_instance *instance,
                                  const struct dtg_ast_name *name);
const char *dtg_build_label_text(struct dtg_build *b, struct dtg_build_env *env,
                                 const struct dtg_ast_label *label);

// variable.c
struct dtg_value dtg_build_declare(struct dtg_build *b, struct dtg_build_env *env,
                                   const struct dtg_ast_stmt *stmt);
bool dtg_build_initializer(struct dtg_build *b, struct dtg_build_env *env,
                           const struct dtg_ast_expr *expr, struct dtg_initializer *out);
bool dtg_build_claim(struct dtg_build *b, struct dtg_build_activation *activation, const char *name,
                     struct dtg_span span, bool automatic);
const struct dtg_build_leaf *dtg_build_find_leaf(const struct dtg_build *b, const char *path);

// body.c: runs a body; the returned value, or ERROR where there is none.
struct dtg_value dtg_build_body(struct dtg_build *b, struct dtg_build_env *env,
                                const struct dtg_ast_body *body, bool *returned);

void dtg_build_bind(struct dtg_build *b, struct dtg_build_env *env, const char *name,
                    struct dtg_value value);

// scan.c
void dtg_build_run_scan(struct dtg_build *b, struct dtg_build_env *env,
                        const struct dtg_ast_stmt *stmt, int64_t first, int64_t count);
// A subscript that is a tensor: made of the variable of a scan, it gives the position along an axis
// of `size` as i64[]; false after an error.
bool dtg_build_scan_subscript(struct dtg_build *b, uint32_t value, uint32_t axis, int64_t size,
                              struct dtg_span span, uint32_t *index);

// collect.c
void dtg_build_collect(struct dtg_build *b, struct dtg_build_env *env,
                       const struct dtg_ast_stmt *stmt);
// After a `for`: its collected values become tensors; after one without iterations: errors.
void dtg_build_bind_collected(struct dtg_build *b, struct dtg_build_env *env,
                              const struct dtg_build_collection *all);
void dtg_build_miss_collected(struct dtg_build *b, struct dtg_build_env *env,
                              const struct dtg_ast_body *body, bool report);

// ---- operators and functions ----

// operate.c
struct dtg_value dtg_build_unary(struct dtg_build *b, enum dtg_ast_unary_op op,
                                 const struct dtg_value *a, struct dtg_span span);
struct dtg_value dtg_build_binary(struct dtg_build *b, enum dtg_ast_binary_op op,
                                  const struct dtg_value *left, const struct dtg_value *right,
                                  struct dtg_span span);
// An element-wise op on operands of any mix: promoted to one type and one shape.
struct dtg_value dtg_build_elementwise(struct dtg_build *b, const struct dtg_op_def *op,
                                       const struct dtg_value *operands, size_t count,
                                       const struct dtg_attr *attrs, uint32_t attr_count,
                                       struct dtg_span span);
struct dtg_value dtg_build_matmul(struct dtg_build *b, const struct dtg_value *left,
                                  const struct dtg_value *right, struct dtg_span span);
// The only way into the graph for what a user wrote: checks operands, the update graph's rules,
// limits.
struct dtg_value dtg_build_add(struct dtg_build *b, const char *op, const uint32_t *inputs,
                               uint32_t input_count, const struct dtg_attr *attrs,
                               uint32_t attr_count, struct dtg_span span);
// A tensor of the type that the value stands for: consts become nodes. f32 for a literal.
bool dtg_build_as_tensor(struct dtg_build *b, const struct dtg_value *value, const char *what,
                         struct dtg_span span, uint32_t *out);

// function.c, shape.c, reduce.c: built-in functions by name.
struct dtg_value dtg_build_call_builtin(struct dtg_build *b, const char *name,
                                        const struct dtg_build_call *call);
struct dtg_value dtg_build_call_op(struct dtg_build *b, const struct dtg_op_def *op,
                                   const struct dtg_build_call *call);
struct dtg_value dtg_build_subscript(struct dtg_build *b, struct dtg_build_env *env,
                                     const struct dtg_ast_expr *expr);

// update.c
struct dtg_graph *dtg_build_update(struct dtg_build *b);
// A run-time scalar by name, where the graph has it.
struct dtg_value dtg_build_scalar(struct dtg_build *b, const char *name, struct dtg_span span);

#endif
