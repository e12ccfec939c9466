// The syntax tree of a .dtg file: what was written, nothing of what it means.
//
// Ownership: nodes live in the context's arena; names are interned in the context's table, so two
// names are equal when their pointers are. Lifetime: that of the context. Read-only after parsing.
// Every node carries the span of its source text. A tree made in spite of errors is well-formed: a
// part that could not be parsed is missing from its list, or is an expression of kind
// DTG_EXPR_ERROR. Expressions are at most DTG_AST_MAX_DEPTH nodes deep, bodies at most a few
// hundred, so plain recursion over the tree is safe.
#ifndef DTG_GRAMMAR_AST_H
#define DTG_GRAMMAR_AST_H

#include "compiler/base/source.h"
#include "compiler/base/vec.h"

#include <stdbool.h>
#include <stdint.h>

#define DTG_AST_MAX_DEPTH 500

struct dtg_ast_expr;
struct dtg_ast_stmt;

// text == NULL: no name was written.
struct dtg_ast_name {
  const char *text; // interned
  struct dtg_span span;
};

// ---- labels: `fc1`, `block[i].attn` ----

enum dtg_ast_label_part_kind { DTG_LABEL_NAME, DTG_LABEL_INDEX };

struct dtg_ast_label_part {
  enum dtg_ast_label_part_kind kind;
  struct dtg_span span;
  const char *name;           // DTG_LABEL_NAME; always the first part
  struct dtg_ast_expr *index; // DTG_LABEL_INDEX
};

struct dtg_ast_label {
  struct dtg_span span;
  DTG_VEC(struct dtg_ast_label_part) parts;
};

// ---- expressions ----

enum dtg_ast_expr_kind {
  DTG_EXPR_ERROR, // stands where an error was reported
  DTG_EXPR_INT,
  DTG_EXPR_FLOAT,
  DTG_EXPR_BOOL,
  DTG_EXPR_STRING,
  DTG_EXPR_SIZE, // 1MiB
  DTG_EXPR_NAME,
  DTG_EXPR_MEMBER,    // object.name
  DTG_EXPR_CALL,      // callee(arguments)
  DTG_EXPR_LABELED,   // label: call, or label: name on the right of |>
  DTG_EXPR_SUBSCRIPT, // object[parts]
  DTG_EXPR_UNARY,
  DTG_EXPR_BINARY,
  DTG_EXPR_IF, // if condition then a else b
  DTG_EXPR_LIST,
  DTG_EXPR_LAMBDA, // parameter -> body
  DTG_EXPR_PIPE,   // left |> right: `left` becomes the first argument of `right`
};

enum dtg_ast_unary_op { DTG_UNARY_NEG, DTG_UNARY_NOT };

enum dtg_ast_binary_op {
  DTG_BINARY_OR,
  DTG_BINARY_AND,
  DTG_BINARY_LT,
  DTG_BINARY_LE,
  DTG_BINARY_GT,
  DTG_BINARY_GE,
  DTG_BINARY_EQ,
  DTG_BINARY_NE,
  DTG_BINARY_ADD,
  DTG_BINARY_SUB,
  DTG_BINARY_MUL,
  DTG_BINARY_DIV,
  DTG_BINARY_MOD,
  DTG_BINARY_MATMUL,
  DTG_BINARY_POW,
};

// A string is a sequence of parts: text with its escapes resolved (it may hold any byte but NUL),
// or the name of a constant written `${name}`.
struct dtg_ast_string_part {
  struct dtg_span span;
  bool is_name;
  const char *text;
};

struct dtg_ast_string {
  struct dtg_span span;
  DTG_VEC(struct dtg_ast_string_part) parts; // "" has none; never two texts in a row
};

struct dtg_ast_argument {
  struct dtg_span span;
  struct dtg_ast_name name; // name.text == NULL: positional. Positional ones come first.
  struct dtg_ast_expr *value;
};

enum dtg_ast_subscript_kind { DTG_SUBSCRIPT_INDEX, DTG_SUBSCRIPT_SLICE, DTG_SUBSCRIPT_ELLIPSIS };

struct dtg_ast_subscript_part {
  enum dtg_ast_subscript_kind kind;
  struct dtg_span span;
  struct dtg_ast_expr *index;                // INDEX
  struct dtg_ast_expr *begin, *end, *stride; // SLICE: each may be NULL
};

struct dtg_ast_expr {
  enum dtg_ast_expr_kind kind;
  struct dtg_span span;
  uint16_t depth;     // 1 for a leaf
  bool parenthesized; // in parentheses, which lie outside the span; matters to printing alone
  union {
    int64_t int_value; // DTG_EXPR_INT; DTG_EXPR_SIZE: bytes. Never negative.
    double float_value;
    bool bool_value;
    struct dtg_ast_string string;
    const char *name; // DTG_EXPR_NAME, interned
    struct {
      struct dtg_ast_expr *object;
      struct dtg_ast_name name;
    } member;
    struct {
      struct dtg_ast_expr *callee;
      DTG_VEC(struct dtg_ast_argument) arguments;
    } call;
    struct {
      struct dtg_ast_label *label;
      struct dtg_ast_expr *value; // CALL; or NAME or MEMBER on the right of a pipe
    } labeled;
    struct {
      struct dtg_ast_expr *object;
      DTG_VEC(struct dtg_ast_subscript_part) parts; // at least one
    } subscript;
    struct {
      enum dtg_ast_unary_op op;
      struct dtg_ast_expr *operand;
    } unary;
    struct {
      enum dtg_ast_binary_op op;
      struct dtg_span op_span;
      struct dtg_ast_expr *left, *right;
    } binary;
    struct {
      struct dtg_ast_expr *condition, *then_value, *else_value;
    } if_else;
    struct {
      DTG_VEC(struct dtg_ast_expr *) elements;
    } list;
    struct {
      struct dtg_ast_name parameter;
      struct dtg_ast_expr *body;
    } lambda;
    struct {
      struct dtg_ast_expr *left;
      struct dtg_ast_expr *right; // CALL, NAME, MEMBER or SUBSCRIPT of names, or LABELED
    } pipe;
  };
};

// ---- types and parameters ----

// `...` in a shape.
struct dtg_ast_dim {
  struct dtg_span span;
  bool is_ellipsis;
  struct dtg_ast_expr *size; // NULL if is_ellipsis
};

// `f32[B, 28]`, `int`, `fn`. `f32` and `f32[]` both have no dims; has_shape tells them apart.
struct dtg_ast_type {
  struct dtg_span span;
  struct dtg_ast_name name;
  bool has_shape;
  DTG_VEC(struct dtg_ast_dim) dims;
};

struct dtg_ast_parameter {
  struct dtg_span span;
  struct dtg_ast_name name;
  struct dtg_ast_type *type;          // NULL: not written
  struct dtg_ast_expr *default_value; // NULL: none
};

// ---- bodies ----

enum dtg_ast_stmt_kind {
  DTG_STMT_ASSIGN,  // name = value
  DTG_STMT_LABEL,   // label: call
  DTG_STMT_PARAM,   // param name: type ~ initializer
  DTG_STMT_STATE,   // state name: type ~ initializer
  DTG_STMT_UPDATE,  // update name = value by rule
  DTG_STMT_FOR,     // for name in first..end { body }
  DTG_STMT_SCAN,    // scan name in first..end [recompute] { body }: a loop at run time
  DTG_STMT_COLLECT, // collect name = value: in a loop; stacks the values of its iterations
  DTG_STMT_IF,      // if condition { } else { }
  DTG_STMT_RETURN,  // return value
  DTG_STMT_LOSS,    // loss = value: in a model; elsewhere `loss` is a plain name (ASSIGN)
  DTG_STMT_METRIC,  // metric name = value
  DTG_STMT_OUTPUT,  // output name = value
};

enum dtg_ast_update_by {
  DTG_UPDATE_BY_DEFAULT,
  DTG_UPDATE_BY_MEAN,
  DTG_UPDATE_BY_SUM,
  DTG_UPDATE_BY_MAX
};

struct dtg_ast_body {
  struct dtg_span span; // with the braces
  DTG_VEC(struct dtg_ast_stmt *) stmts;
};

struct dtg_ast_stmt {
  enum dtg_ast_stmt_kind kind;
  struct dtg_span span;
  // ASSIGN, PARAM, STATE, UPDATE, METRIC, OUTPUT, COLLECT; FOR, SCAN: the loop variable; LOSS: the
  // word itself
  struct dtg_ast_name name;
  union {
    struct dtg_ast_expr *value; // ASSIGN, COLLECT, RETURN, LOSS, METRIC, OUTPUT
    struct {
      struct dtg_ast_label *label;
      struct dtg_ast_expr *call; // kind CALL
    } label;
    struct {                            // PARAM, STATE
      struct dtg_ast_type *type;        // NULL: not written (a slot of an optimizer)
      struct dtg_ast_expr *initializer; // NULL: not written
    } declare;
    struct {
      struct dtg_ast_expr *value;
      enum dtg_ast_update_by by;
    } update;
    struct {                            // FOR, SCAN
      struct dtg_ast_expr *first, *end; // end is exclusive
      struct dtg_ast_body *body;
      bool recompute; // SCAN: the backward pass computes the body again
    } for_in;
    struct {
      struct dtg_ast_expr *condition;
      struct dtg_ast_body *then_body;
      struct dtg_ast_body *else_body; // NULL: none. `else if` is a body of one DTG_STMT_IF
      bool is_else_if;
    } if_else;
  };
};

// ---- strategies ----

// After `on` and in `over`. Exactly one form:
//   ps                              JOB or TYPE alone: only `name`; cpu and gpu are types
//   gpu:1                           relative to the task: `type` and `index`
//   /job:ps/task:1/device:CPU:0     `job`, then `task`, then `type` and `index`, from the left
struct dtg_ast_device {
  struct dtg_span span;
  const char *name; // NULL unless the form is one word
  const char *job;  // NULL unless absolute
  const char *type; // "cpu" or "gpu", interned; NULL: not written
  int32_t task;     // -1: not written
  int32_t index;    // -1: not written
};

enum dtg_ast_replicate_kind { DTG_REPLICATE_IN_GRAPH, DTG_REPLICATE_BETWEEN_GRAPH };

struct dtg_ast_replicate_level {
  struct dtg_span span;
  enum dtg_ast_replicate_kind kind;
  struct dtg_ast_name scope; // a job or a device type
};

enum dtg_ast_clause_kind {
  DTG_CLAUSE_REPLICATE,
  DTG_CLAUSE_PARAMS,
  DTG_CLAUSE_UPDATE,
  DTG_CLAUSE_PLACE,  // must
  DTG_CLAUSE_PREFER, // may
};

enum dtg_ast_owner_kind { DTG_OWNER_ON, DTG_OWNER_MIRRORED, DTG_OWNER_SHARDED };

enum dtg_ast_balance { DTG_BALANCE_DEFAULT, DTG_BALANCE_BYTES, DTG_BALANCE_ROUND_ROBIN };

struct dtg_ast_clause {
  enum dtg_ast_clause_kind kind;
  struct dtg_span span;
  union {
    struct {
      DTG_VEC(struct dtg_ast_replicate_level) levels; // outermost first, at least one
    } replicate;
    struct {
      struct dtg_ast_string *pattern; // NULL: all parameters
      enum dtg_ast_owner_kind owner;
      struct dtg_ast_device device; // DTG_OWNER_ON only, as are the two below
      enum dtg_ast_balance balance;
      struct dtg_ast_expr *split; // NULL: not written
    } params;
    struct {
      bool is_async;
      struct dtg_ast_expr *backup;    // sync only; NULL: not written
      struct dtg_ast_expr *staleness; // async only; NULL: not written
    } update;
    struct { // PLACE, PREFER
      struct dtg_ast_string *pattern;
      struct dtg_ast_device device;
    } place;
  };
};

// ---- items ----

enum dtg_ast_item_kind {
  DTG_ITEM_IMPORT,
  DTG_ITEM_CONST,
  DTG_ITEM_FN,
  DTG_ITEM_LAYER,
  DTG_ITEM_MODEL,
  DTG_ITEM_OPTIMIZER,
  DTG_ITEM_DATA,
  DTG_ITEM_TRAIN,
  DTG_ITEM_STRATEGY,
};

struct dtg_ast_import_name {
  struct dtg_ast_name name;
  struct dtg_ast_name alias; // alias.text == NULL: none
};

struct dtg_ast_entry { // key = value
  struct dtg_span span;
  struct dtg_ast_name key;
  struct dtg_ast_expr *value;
};

struct dtg_ast_item {
  enum dtg_ast_item_kind kind;
  struct dtg_span span;
  const char *doc;          // text of the `##` lines above, without the marks; NULL: none
  struct dtg_ast_name name; // text NULL for IMPORT and TRAIN
  union {
    struct {
      DTG_VEC(struct dtg_ast_name) module; // `std.layers`; empty for a file
      struct dtg_ast_string *file;         // `"blocks.dtg"`; NULL for a module; no ${}
      struct dtg_ast_name alias;           // text NULL: none
      bool has_names;                      // a list in braces was written
      DTG_VEC(struct dtg_ast_import_name) names;
    } import;
    struct dtg_ast_expr *value; // CONST, DATA
    struct {                    // FN, LAYER, MODEL, OPTIMIZER
      DTG_VEC(struct dtg_ast_parameter) parameters;
      struct dtg_ast_type *result; // FN, LAYER; NULL: not written
      struct dtg_ast_expr *value;  // FN written with `=`; then body is NULL
      struct dtg_ast_body *body;
    } function;
    struct {
      DTG_VEC(struct dtg_ast_entry) entries;
    } train;
    struct {
      DTG_VEC(struct dtg_ast_clause) clauses;
    } strategy;
  };
};

struct dtg_ast_comment {
  struct dtg_span span; // from # to the end of the line, without trailing blanks
  bool is_own_line;     // nothing but blanks before it on its line
  bool is_doc;          // belongs to the `doc` of an item
};

struct dtg_ast_file {
  uint32_t file;
  struct dtg_span span;
  DTG_VEC(struct dtg_ast_item *) items;
  DTG_VEC(struct dtg_ast_comment) comments; // in source order
};

#endif
