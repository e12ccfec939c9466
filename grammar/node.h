// Making tree nodes, with the checks that a grammar rule cannot make. Used by dtg.y alone.
//
// Ownership: nodes live in the context's arena. Each maker reports its own errors and then returns
// a usable node. Thread rule: that of the context.
#ifndef DTG_GRAMMAR_NODE_H
#define DTG_GRAMMAR_NODE_H

#include "grammar/ast.h"
#include "grammar/lexer.h"

struct dtg_parser {
  struct dtg_ctx *ctx;
  struct dtg_lexer lexer;
  struct dtg_ast_file *ast;
  bool reported_depth; // one message about depth is enough
};

// Lists while they grow; their vectors are moved into the finished node.
struct dtg_list_dims {
  DTG_VEC(struct dtg_ast_dim) vec;
};
struct dtg_list_parameters {
  DTG_VEC(struct dtg_ast_parameter) vec;
};
struct dtg_list_entries {
  DTG_VEC(struct dtg_ast_entry) vec;
};
struct dtg_list_clauses {
  DTG_VEC(struct dtg_ast_clause) vec;
};
struct dtg_list_levels {
  DTG_VEC(struct dtg_ast_replicate_level) vec;
};
struct dtg_list_names {
  DTG_VEC(struct dtg_ast_name) vec;
};
struct dtg_list_imports {
  DTG_VEC(struct dtg_ast_import_name) vec;
};

// `/job:ps`, `gpu:1`, `device:CPU:0`, as written; judged when all parts of a device are there.
struct dtg_device_part {
  struct dtg_span span;
  const char *name;
  const char *word;     // name after the colon, or NULL
  int64_t number;       // integer after the (last) colon, or -1
  bool has_slash;       // `/` before it
  bool has_second_mark; // `:number` behind `:word`
};
struct dtg_list_device_parts {
  DTG_VEC(struct dtg_device_part) vec;
};

#define DTG_MOVE_VEC(target, source) \
  ((target).data = (source).data, (target).len = (source).len, (target).cap = (source).cap)

// ---- expressions (node_expr.c) ----

struct dtg_ast_expr *dtg_node_literal(struct dtg_parser *parser, struct dtg_lexed token);
struct dtg_ast_expr *dtg_node_name(struct dtg_parser *parser, struct dtg_ast_name name);
struct dtg_ast_expr *dtg_node_member(struct dtg_parser *parser, struct dtg_span span,
                                     struct dtg_ast_expr *object, struct dtg_ast_name name);
struct dtg_ast_expr *dtg_node_call(struct dtg_parser *parser); // without callee and span yet
void dtg_node_add_argument(struct dtg_parser *parser, struct dtg_ast_expr *call,
                           struct dtg_ast_argument argument);
struct dtg_ast_expr *dtg_node_finish_call(struct dtg_parser *parser, struct dtg_span span,
                                          struct dtg_ast_expr *callee, struct dtg_ast_expr *call);
struct dtg_ast_expr *dtg_node_subscript(struct dtg_parser *parser); // without object and span yet
void dtg_node_add_part(struct dtg_parser *parser, struct dtg_ast_expr *subscript,
                       struct dtg_ast_subscript_part part);
struct dtg_ast_expr *dtg_node_finish_subscript(struct dtg_parser *parser, struct dtg_span span,
                                               struct dtg_ast_expr *object,
                                               struct dtg_ast_expr *subscript);
struct dtg_ast_expr *dtg_node_list(struct dtg_parser *parser);
void dtg_node_add_element(struct dtg_parser *parser, struct dtg_ast_expr *list,
                          struct dtg_ast_expr *element);
struct dtg_ast_expr *dtg_node_unary(struct dtg_parser *parser, struct dtg_span span,
                                    enum dtg_ast_unary_op op, struct dtg_ast_expr *operand);
struct dtg_ast_expr *dtg_node_binary(struct dtg_parser *parser, struct dtg_span span,
                                     enum dtg_ast_binary_op op, struct dtg_span op_span,
                                     struct dtg_ast_expr *left, struct dtg_ast_expr *right);
struct dtg_ast_expr *dtg_node_if(struct dtg_parser *parser, struct dtg_span span,
                                 struct dtg_ast_expr *condition, struct dtg_ast_expr *then_value,
                                 struct dtg_ast_expr *else_value);
struct dtg_ast_expr *dtg_node_lambda(struct dtg_parser *parser, struct dtg_span span,
                                     struct dtg_ast_name parameter, struct dtg_ast_expr *body);
struct dtg_ast_expr *dtg_node_pipe(struct dtg_parser *parser, struct dtg_span span,
                                   struct dtg_ast_expr *left, struct dtg_ast_expr *right);
// `label_expr` is an expression of the shape of a label; the label has yet to be checked.
struct dtg_ast_expr *dtg_node_labeled(struct dtg_parser *parser, struct dtg_span span,
                                      struct dtg_ast_expr *label_expr, struct dtg_ast_expr *value);
// The span stays that of what stands inside the parentheses.
struct dtg_ast_expr *dtg_node_parenthesized(struct dtg_ast_expr *expr);
// A labelled name without arguments stands only behind `|>`; anywhere else it lacks its call.
struct dtg_ast_expr *dtg_node_check_labeled(struct dtg_parser *parser, struct dtg_ast_expr *expr);

// ---- labels and statements (node_stmt.c) ----

struct dtg_ast_label *dtg_node_label(struct dtg_parser *parser, struct dtg_ast_name name);
void dtg_node_label_name(struct dtg_parser *parser, struct dtg_ast_label *label,
                         struct dtg_span span, struct dtg_ast_name name);
void dtg_node_label_index(struct dtg_parser *parser, struct dtg_ast_label *label,
                          struct dtg_span span, struct dtg_ast_expr *index);

struct dtg_ast_body *dtg_node_body(struct dtg_parser *parser);
void dtg_node_add_stmt(struct dtg_parser *parser, struct dtg_ast_body *body,
                       struct dtg_ast_stmt *stmt);
struct dtg_ast_stmt *dtg_node_stmt(struct dtg_parser *parser, enum dtg_ast_stmt_kind kind,
                                   struct dtg_span span, struct dtg_ast_name name);
struct dtg_ast_stmt *dtg_node_value_stmt(struct dtg_parser *parser, enum dtg_ast_stmt_kind kind,
                                         struct dtg_span span, struct dtg_ast_name name,
                                         struct dtg_ast_expr *value);
// `label = value`; only a plain name can be assigned.
struct dtg_ast_stmt *dtg_node_assign(struct dtg_parser *parser, struct dtg_span span,
                                     struct dtg_ast_label *label, struct dtg_ast_expr *value);
struct dtg_ast_stmt *dtg_node_label_stmt(struct dtg_parser *parser, struct dtg_span span,
                                         struct dtg_ast_label *label, struct dtg_ast_expr *call);
struct dtg_ast_stmt *dtg_node_declare(struct dtg_parser *parser, enum dtg_ast_stmt_kind kind,
                                      struct dtg_span span, struct dtg_ast_name name,
                                      struct dtg_ast_type *type, struct dtg_ast_expr *initializer);
struct dtg_ast_stmt *dtg_node_update(struct dtg_parser *parser, struct dtg_span span,
                                     struct dtg_ast_name name, struct dtg_ast_expr *value,
                                     struct dtg_ast_name by);
struct dtg_ast_stmt *dtg_node_for(struct dtg_parser *parser, struct dtg_span span,
                                  struct dtg_ast_name name, struct dtg_ast_expr *first,
                                  struct dtg_ast_expr *end, struct dtg_ast_body *body);
struct dtg_ast_stmt *dtg_node_if_stmt(struct dtg_parser *parser, struct dtg_span span,
                                      struct dtg_ast_expr *condition,
                                      struct dtg_ast_body *then_body,
                                      struct dtg_ast_body *else_body);
// `else if`: a body that holds the inner statement alone.
struct dtg_ast_body *dtg_node_else_if(struct dtg_parser *parser, struct dtg_ast_stmt *inner);

// ---- types, items, strategies (node_item.c, device.c) ----

struct dtg_ast_type *dtg_node_type(struct dtg_parser *parser, struct dtg_span span,
                                   struct dtg_ast_name name, struct dtg_list_dims *dims);
struct dtg_ast_item *dtg_node_item(struct dtg_parser *parser, enum dtg_ast_item_kind kind,
                                   struct dtg_span span, struct dtg_ast_name name);
struct dtg_ast_item *dtg_node_value_item(struct dtg_parser *parser, enum dtg_ast_item_kind kind,
                                         struct dtg_span span, struct dtg_ast_name name,
                                         struct dtg_ast_expr *value);
struct dtg_ast_item *dtg_node_function(struct dtg_parser *parser, enum dtg_ast_item_kind kind,
                                       struct dtg_span span, struct dtg_ast_name name,
                                       struct dtg_list_parameters *parameters,
                                       struct dtg_ast_type *result, struct dtg_ast_expr *value,
                                       struct dtg_ast_body *body);
struct dtg_ast_item *dtg_node_import(struct dtg_parser *parser, struct dtg_span span,
                                     struct dtg_list_names *module, struct dtg_ast_string *file,
                                     struct dtg_ast_name alias, struct dtg_list_imports *names);
void dtg_node_add_item(struct dtg_parser *parser, struct dtg_ast_item *item);

struct dtg_ast_device dtg_node_device(struct dtg_parser *parser, struct dtg_span span,
                                      struct dtg_list_device_parts *parts);

// ---- syntax errors (syntax_error.c) ----

// "expected X after Y, saw Z" at `saw`; `expected` are the tokens that the parser would take.
void dtg_report_syntax_error(struct dtg_parser *parser, struct dtg_span at, enum dtg_token saw,
                             const enum dtg_token *expected, size_t count);
void dtg_report_depth(struct dtg_parser *parser, struct dtg_span span);

#endif
