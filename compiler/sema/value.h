// Values of expressions: what is known at compile time, and (in stage 4) tensors and functions.
//
// Ownership: plain values; lists and texts live in the context's arena. Thread rule: that of the
// context.
//
// Numbers are 64-bit ints and doubles. Arithmetic is checked: what leaves the range of int is an
// error, never a wrong number. `/` of two ints is the int quotient where the division leaves
// nothing, else the float: a size that must be whole is then refused where it is used.
#ifndef DTG_SEMA_VALUE_H
#define DTG_SEMA_VALUE_H

#include "compiler/base/ctx.h"
#include "compiler/base/strbuf.h"
#include "compiler/ir/type.h"
#include "grammar/ast.h"

struct dtg_build_function; // compiler/build/internal.h
struct dtg_build_instance;

enum dtg_value_kind {
  DTG_VALUE_ERROR, // an error was reported; whatever uses it stays silent
  DTG_VALUE_INT,
  DTG_VALUE_FLOAT,
  DTG_VALUE_BOOL,
  DTG_VALUE_STRING,
  DTG_VALUE_LIST,
  DTG_VALUE_DTYPE,
  // stage 4 only
  DTG_VALUE_FUNCTION, // fn, lambda, layer, built-in
  DTG_VALUE_INSTANCE, // a layer with its attributes and parameters
  DTG_VALUE_TENSOR    // a node of the graph under construction
};

struct dtg_value {
  enum dtg_value_kind kind;
  bool weak; // TENSOR: a run-time scalar, which takes the other side's type as a literal does
  union {
    int64_t i;
    double f;
    bool b;
    const char *s; // interned
    struct {
      size_t count;
      struct dtg_value *items;
    } list;
    enum dtg_dtype dtype;
    const struct dtg_build_function *function;
    struct dtg_build_instance *instance;
    uint32_t node;
  };
};

struct dtg_value dtg_value_error(void);
struct dtg_value dtg_value_int(int64_t value);
struct dtg_value dtg_value_float(double value);
struct dtg_value dtg_value_bool(bool value);
struct dtg_value dtg_value_string(const char *interned);

// int, float, bool, string, list of such, element type.
bool dtg_value_is_static(const struct dtg_value *value);
bool dtg_value_is_number(const struct dtg_value *value); // int or float
double dtg_value_number(const struct dtg_value *value);
bool dtg_value_equal(const struct dtg_value *a, const struct dtg_value *b);
// "an int", "a list", ...
const char *dtg_value_kind_text(const struct dtg_value *value);
void dtg_value_print(const struct dtg_value *value, struct dtg_strbuf *out);

// Operators on static operands. An error is reported at `span` and gives DTG_VALUE_ERROR, as does
// an operand of that kind.
struct dtg_value dtg_value_unary(struct dtg_ctx *ctx, enum dtg_ast_unary_op op,
                                 const struct dtg_value *a, struct dtg_span span);
struct dtg_value dtg_value_binary(struct dtg_ctx *ctx, enum dtg_ast_binary_op op,
                                  const struct dtg_value *a, const struct dtg_value *b,
                                  struct dtg_span span);
// list[index], negative from the end.
struct dtg_value dtg_value_index(struct dtg_ctx *ctx, const struct dtg_value *list,
                                 const struct dtg_value *index, struct dtg_span span);

// How the parts of a value are evaluated: constants and bodies see other names.
struct dtg_value_reader {
  struct dtg_ctx *ctx;
  void *scope; // handed to the functions
  struct dtg_value (*name)(void *scope, const char *name, struct dtg_span span);
  struct dtg_value (*expression)(void *scope, const struct dtg_ast_expr *expr);
};
// A string with its ${name} parts put in, and a list; DTG_VALUE_ERROR if a part is one. All parts
// are evaluated, so that each reports its own error.
struct dtg_value dtg_value_of_string(const struct dtg_value_reader *reader,
                                     const struct dtg_ast_string *string);
struct dtg_value dtg_value_of_list(const struct dtg_value_reader *reader,
                                   const struct dtg_ast_expr *list);

// Functions of static arguments: those of <math.h> that exist as ops too, min and max of two
// numbers or a list, len, int, float. False if `name` is none of them or an argument is not static;
// the caller then tries something else.
bool dtg_value_call(struct dtg_ctx *ctx, const char *name, const struct dtg_value *arguments,
                    size_t count, struct dtg_span span, struct dtg_value *out);
// Whether dtg_value_call knows the name.
bool dtg_value_is_function(const char *name);

#endif
