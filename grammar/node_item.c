#include "grammar/node.h"

#include <string.h>

struct dtg_ast_type *dtg_node_type(struct dtg_parser *parser, struct dtg_span span,
                                   struct dtg_ast_name name, struct dtg_list_dims *dims) {
  struct dtg_ast_type *type = DTG_NEW(&parser->ctx->arena, struct dtg_ast_type);
  type->span = span;
  type->name = name;
  type->has_shape = dims != NULL;
  if (dims)
    DTG_MOVE_VEC(type->dims, dims->vec);
  return type;
}

struct dtg_ast_item *dtg_node_item(struct dtg_parser *parser, enum dtg_ast_item_kind kind,
                                   struct dtg_span span, struct dtg_ast_name name) {
  struct dtg_ast_item *item = DTG_NEW(&parser->ctx->arena, struct dtg_ast_item);
  item->kind = kind;
  item->span = span;
  item->name = name;
  return item;
}

struct dtg_ast_item *dtg_node_value_item(struct dtg_parser *parser, enum dtg_ast_item_kind kind,
                                         struct dtg_span span, struct dtg_ast_name name,
                                         struct dtg_ast_expr *value) {
  struct dtg_ast_item *item = dtg_node_item(parser, kind, span, name);
  item->value = value;
  return item;
}

// In a model `loss = e` is the loss; the word is a plain name everywhere else.
static void find_losses(struct dtg_ast_body *body) {
  for (size_t i = 0; i < body->stmts.len; i++) {
    struct dtg_ast_stmt *stmt = body->stmts.data[i];
    if (stmt->kind == DTG_STMT_ASSIGN && strcmp(stmt->name.text, "loss") == 0) {
      stmt->kind = DTG_STMT_LOSS;
    } else if (stmt->kind == DTG_STMT_FOR || stmt->kind == DTG_STMT_SCAN) {
      find_losses(stmt->for_in.body);
    } else if (stmt->kind == DTG_STMT_IF) {
      find_losses(stmt->if_else.then_body);
      if (stmt->if_else.else_body)
        find_losses(stmt->if_else.else_body);
    }
  }
}

struct dtg_ast_item *dtg_node_function(struct dtg_parser *parser, enum dtg_ast_item_kind kind,
                                       struct dtg_span span, struct dtg_ast_name name,
                                       struct dtg_list_parameters *parameters,
                                       struct dtg_ast_type *result, struct dtg_ast_expr *value,
                                       struct dtg_ast_body *body) {
  struct dtg_ast_item *item = dtg_node_item(parser, kind, span, name);
  DTG_MOVE_VEC(item->function.parameters, parameters->vec);
  item->function.result = result;
  item->function.value = value;
  item->function.body = body;
  if (kind == DTG_ITEM_MODEL)
    find_losses(body);
  return item;
}

struct dtg_ast_item *dtg_node_import(struct dtg_parser *parser, struct dtg_span span,
                                     struct dtg_list_names *module, struct dtg_ast_string *file,
                                     struct dtg_ast_name alias, struct dtg_list_imports *names) {
  struct dtg_ast_item *item =
      dtg_node_item(parser, DTG_ITEM_IMPORT, span, (struct dtg_ast_name){0});
  if (module)
    DTG_MOVE_VEC(item->import.module, module->vec);
  item->import.file = file;
  item->import.alias = alias;
  item->import.has_names = names != NULL;
  if (names)
    DTG_MOVE_VEC(item->import.names, names->vec);
  for (size_t i = 0; file && i < file->parts.len; i++)
    if (file->parts.data[i].is_name)
      dtg_error(&parser->ctx->diags, file->parts.data[i].span,
                "a constant cannot stand in the name of an imported file");
  return item;
}

void dtg_node_add_item(struct dtg_parser *parser, struct dtg_ast_item *item) {
  struct dtg_ast_file *ast = parser->ast;
  const struct dtg_ast_item *before = ast->items.len ? ast->items.data[ast->items.len - 1] : NULL;
  if (item->kind != DTG_ITEM_STRATEGY && before && before->kind == DTG_ITEM_STRATEGY) {
    struct dtg_diag *diag =
        dtg_error(&parser->ctx->diags, item->span, "strategies stand last in a file");
    dtg_diag_hint(diag, "move this before the first strategy");
    dtg_diag_note(diag, before->span, "a strategy is declared here");
  }
  dtg_vec_push(&parser->ctx->arena, &ast->items, item);
}
