// The dumps of the stages `tokens` and `ast`.
#include "grammar/flat.h"
#include "grammar/lexer.h"
#include "grammar/print.h"

struct dump {
  struct dtg_strbuf *out;
  bool with_spans;
  int depth;
};

static void dump_expr(struct dump *dump, const struct dtg_ast_expr *expr);
static void dump_body(struct dump *dump, const char *head, const struct dtg_ast_body *body);

// ---- pieces ----

static void open_node(struct dump *dump, const char *head, struct dtg_span span) {
  dtg_strbuf_printf(dump->out, "(%s", head);
  if (dump->with_spans)
    dtg_strbuf_printf(dump->out, "@%u-%u", span.begin, span.end);
}

static void close_node(struct dump *dump) {
  dtg_strbuf_putc(dump->out, ')');
}

static void space(struct dump *dump) {
  dtg_strbuf_putc(dump->out, ' ');
}

static void new_line(struct dump *dump) {
  dtg_strbuf_putc(dump->out, '\n');
  dtg_strbuf_repeat(dump->out, ' ', (size_t)(2 * dump->depth));
}

static void put_name(struct dump *dump, struct dtg_ast_name name) {
  dtg_strbuf_printf(dump->out, " %s", name.text);
}

static void put_child(struct dump *dump, const char *head, const struct dtg_ast_expr *expr) {
  if (!expr)
    return;
  dtg_strbuf_printf(dump->out, " (%s ", head);
  dump_expr(dump, expr);
  close_node(dump);
}

static void dump_string(struct dump *dump, const struct dtg_ast_string *string) {
  open_node(dump, "string", string->span);
  for (size_t i = 0; i < string->parts.len; i++) {
    const struct dtg_ast_string_part *part = &string->parts.data[i];
    space(dump);
    if (part->is_name) {
      dtg_strbuf_printf(dump->out, "$%s", part->text);
    } else {
      size_t size = 0;
      while (part->text[size])
        size++;
      dtg_strbuf_quote(dump->out, part->text, size);
    }
  }
  close_node(dump);
}

static void dump_label(struct dump *dump, const struct dtg_ast_label *label) {
  open_node(dump, "label", label->span);
  for (size_t i = 0; i < label->parts.len; i++) {
    const struct dtg_ast_label_part *part = &label->parts.data[i];
    space(dump);
    if (part->kind == DTG_LABEL_NAME) {
      dtg_strbuf_puts(dump->out, part->name);
    } else {
      dtg_strbuf_putc(dump->out, '[');
      dump_expr(dump, part->index);
      dtg_strbuf_putc(dump->out, ']');
    }
  }
  close_node(dump);
}

static void dump_type(struct dump *dump, const struct dtg_ast_type *type) {
  open_node(dump, type->has_shape ? "tensor" : "type", type->span);
  put_name(dump, type->name);
  for (size_t i = 0; i < type->dims.len; i++) {
    space(dump);
    if (type->dims.data[i].is_ellipsis)
      dtg_strbuf_puts(dump->out, "...");
    else
      dump_expr(dump, type->dims.data[i].size);
  }
  close_node(dump);
}

// ---- expressions ----

static void dump_subscript(struct dump *dump, const struct dtg_ast_expr *expr) {
  open_node(dump, "subscript", expr->span);
  space(dump);
  dump_expr(dump, expr->subscript.object);
  for (size_t i = 0; i < expr->subscript.parts.len; i++) {
    const struct dtg_ast_subscript_part *part = &expr->subscript.parts.data[i];
    space(dump);
    if (part->kind == DTG_SUBSCRIPT_ELLIPSIS) {
      dtg_strbuf_puts(dump->out, "...");
    } else if (part->kind == DTG_SUBSCRIPT_INDEX) {
      dump_expr(dump, part->index);
    } else {
      open_node(dump, "slice", part->span);
      put_child(dump, "begin", part->begin);
      put_child(dump, "end", part->end);
      put_child(dump, "stride", part->stride);
      close_node(dump);
    }
  }
  close_node(dump);
}

static void dump_call(struct dump *dump, const struct dtg_ast_expr *expr) {
  open_node(dump, "call", expr->span);
  space(dump);
  dump_expr(dump, expr->call.callee);
  for (size_t i = 0; i < expr->call.arguments.len; i++) {
    const struct dtg_ast_argument *argument = &expr->call.arguments.data[i];
    space(dump);
    if (argument->name.text)
      dtg_strbuf_printf(dump->out, "%s=", argument->name.text);
    dump_expr(dump, argument->value);
  }
  close_node(dump);
}

static void dump_two(struct dump *dump, const char *head, const struct dtg_ast_expr *expr,
                     const struct dtg_ast_expr *left, const struct dtg_ast_expr *right) {
  open_node(dump, head, expr->span);
  space(dump);
  dump_expr(dump, left);
  space(dump);
  dump_expr(dump, right);
  close_node(dump);
}

static void dump_leaf(struct dump *dump, const char *head, const struct dtg_ast_expr *expr) {
  open_node(dump, head, expr->span);
  space(dump);
  switch (expr->kind) {
  case DTG_EXPR_FLOAT:
    dtg_strbuf_f64(dump->out, expr->float_value);
    break;
  case DTG_EXPR_BOOL:
    dtg_strbuf_puts(dump->out, expr->bool_value ? "true" : "false");
    break;
  case DTG_EXPR_NAME:
    dtg_strbuf_puts(dump->out, expr->name);
    break;
  case DTG_EXPR_ERROR:
    dtg_strbuf_puts(dump->out, "error");
    break;
  default:
    dtg_strbuf_printf(dump->out, "%lld", (long long)expr->int_value);
  }
  close_node(dump);
}

static void dump_list(struct dump *dump, const struct dtg_ast_expr *expr) {
  open_node(dump, "list", expr->span);
  for (size_t i = 0; i < expr->list.elements.len; i++) {
    space(dump);
    dump_expr(dump, expr->list.elements.data[i]);
  }
  close_node(dump);
}

static void dump_if(struct dump *dump, const struct dtg_ast_expr *expr) {
  open_node(dump, "if", expr->span);
  space(dump);
  dump_expr(dump, expr->if_else.condition);
  put_child(dump, "then", expr->if_else.then_value);
  put_child(dump, "else", expr->if_else.else_value);
  close_node(dump);
}

static void dump_named(struct dump *dump, const char *head, const struct dtg_ast_expr *expr,
                       struct dtg_ast_name name, const struct dtg_ast_expr *child) {
  open_node(dump, head, expr->span);
  put_name(dump, name);
  space(dump);
  dump_expr(dump, child);
  close_node(dump);
}

static void dump_labeled(struct dump *dump, const struct dtg_ast_expr *expr) {
  open_node(dump, "labeled", expr->span);
  space(dump);
  dump_label(dump, expr->labeled.label);
  space(dump);
  dump_expr(dump, expr->labeled.value);
  close_node(dump);
}

static void dump_unary(struct dump *dump, const struct dtg_ast_expr *expr) {
  open_node(dump, expr->unary.op == DTG_UNARY_NOT ? "not" : "neg", expr->span);
  space(dump);
  dump_expr(dump, expr->unary.operand);
  close_node(dump);
}

static void dump_expr(struct dump *dump, const struct dtg_ast_expr *expr) {
  switch (expr->kind) {
  case DTG_EXPR_ERROR:
    dump_leaf(dump, "error", expr);
    break;
  case DTG_EXPR_INT:
    dump_leaf(dump, "int", expr);
    break;
  case DTG_EXPR_FLOAT:
    dump_leaf(dump, "float", expr);
    break;
  case DTG_EXPR_BOOL:
    dump_leaf(dump, "bool", expr);
    break;
  case DTG_EXPR_SIZE:
    dump_leaf(dump, "size", expr);
    break;
  case DTG_EXPR_NAME:
    dump_leaf(dump, "name", expr);
    break;
  case DTG_EXPR_STRING:
    dump_string(dump, &expr->string);
    break;
  case DTG_EXPR_MEMBER:
    dump_named(dump, "member", expr, expr->member.name, expr->member.object);
    break;
  case DTG_EXPR_CALL:
    dump_call(dump, expr);
    break;
  case DTG_EXPR_LABELED:
    dump_labeled(dump, expr);
    break;
  case DTG_EXPR_SUBSCRIPT:
    dump_subscript(dump, expr);
    break;
  case DTG_EXPR_UNARY:
    dump_unary(dump, expr);
    break;
  case DTG_EXPR_BINARY:
    dump_two(dump, dtg_ast_binary_text(expr->binary.op), expr, expr->binary.left,
             expr->binary.right);
    break;
  case DTG_EXPR_IF:
    dump_if(dump, expr);
    break;
  case DTG_EXPR_LIST:
    dump_list(dump, expr);
    break;
  case DTG_EXPR_LAMBDA:
    dump_named(dump, "lambda", expr, expr->lambda.parameter, expr->lambda.body);
    break;
  case DTG_EXPR_PIPE:
    dump_two(dump, "pipe", expr, expr->pipe.left, expr->pipe.right);
    break;
  }
}

// ---- statements ----

static void dump_value_stmt(struct dump *dump, const char *head, const struct dtg_ast_stmt *stmt,
                            bool has_name) {
  open_node(dump, head, stmt->span);
  if (has_name)
    put_name(dump, stmt->name);
  space(dump);
  dump_expr(dump, stmt->value);
}

static void dump_declare(struct dump *dump, const char *head, const struct dtg_ast_stmt *stmt) {
  open_node(dump, head, stmt->span);
  put_name(dump, stmt->name);
  if (stmt->declare.type) {
    space(dump);
    dump_type(dump, stmt->declare.type);
  }
  put_child(dump, "init", stmt->declare.initializer);
}

static void dump_update(struct dump *dump, const struct dtg_ast_stmt *stmt) {
  static const char *const rules[] = {"", " by=mean", " by=sum", " by=max"};
  open_node(dump, "update", stmt->span);
  put_name(dump, stmt->name);
  space(dump);
  dump_expr(dump, stmt->update.value);
  dtg_strbuf_puts(dump->out, rules[stmt->update.by]);
}

static void dump_label_stmt(struct dump *dump, const struct dtg_ast_stmt *stmt) {
  open_node(dump, "bind", stmt->span);
  space(dump);
  dump_label(dump, stmt->label.label);
  space(dump);
  dump_expr(dump, stmt->label.call);
}

static void dump_for(struct dump *dump, const struct dtg_ast_stmt *stmt) {
  open_node(dump, stmt->kind == DTG_STMT_SCAN ? "scan" : "for", stmt->span);
  put_name(dump, stmt->name);
  space(dump);
  dump_expr(dump, stmt->for_in.first);
  space(dump);
  dump_expr(dump, stmt->for_in.end);
  dump_body(dump, stmt->for_in.recompute ? "recompute" : "do", stmt->for_in.body);
}

static void dump_if_stmt(struct dump *dump, const struct dtg_ast_stmt *stmt) {
  open_node(dump, "if", stmt->span);
  space(dump);
  dump_expr(dump, stmt->if_else.condition);
  dump_body(dump, "then", stmt->if_else.then_body);
  if (stmt->if_else.else_body)
    dump_body(dump, stmt->if_else.is_else_if ? "else-if" : "else", stmt->if_else.else_body);
}

static void dump_stmt(struct dump *dump, const struct dtg_ast_stmt *stmt) {
  switch (stmt->kind) {
  case DTG_STMT_ASSIGN:
    dump_value_stmt(dump, "assign", stmt, true);
    break;
  case DTG_STMT_LABEL:
    dump_label_stmt(dump, stmt);
    break;
  case DTG_STMT_PARAM:
    dump_declare(dump, "param", stmt);
    break;
  case DTG_STMT_STATE:
    dump_declare(dump, "state", stmt);
    break;
  case DTG_STMT_UPDATE:
    dump_update(dump, stmt);
    break;
  case DTG_STMT_FOR:
  case DTG_STMT_SCAN:
    dump_for(dump, stmt);
    break;
  case DTG_STMT_IF:
    dump_if_stmt(dump, stmt);
    break;
  case DTG_STMT_RETURN:
    dump_value_stmt(dump, "return", stmt, false);
    break;
  case DTG_STMT_LOSS:
    dump_value_stmt(dump, "loss", stmt, false);
    break;
  case DTG_STMT_COLLECT:
    dump_value_stmt(dump, "collect", stmt, true);
    break;
  case DTG_STMT_METRIC:
    dump_value_stmt(dump, "metric", stmt, true);
    break;
  case DTG_STMT_OUTPUT:
    dump_value_stmt(dump, "output", stmt, true);
    break;
  }
  close_node(dump);
}

static void dump_body(struct dump *dump, const char *head, const struct dtg_ast_body *body) {
  dump->depth++;
  new_line(dump);
  open_node(dump, head, body->span);
  dump->depth++;
  for (size_t i = 0; i < body->stmts.len; i++) {
    new_line(dump);
    dump_stmt(dump, body->stmts.data[i]);
  }
  dump->depth -= 2;
  close_node(dump);
}

// ---- strategies ----

static void dump_device(struct dump *dump, const struct dtg_ast_device *device) {
  space(dump);
  open_node(dump, "on", device->span);
  space(dump);
  dtg_ast_device_print(device, dump->out);
  close_node(dump);
}

static void dump_replicate(struct dump *dump, const struct dtg_ast_clause *clause) {
  for (size_t i = 0; i < clause->replicate.levels.len; i++) {
    const struct dtg_ast_replicate_level *level = &clause->replicate.levels.data[i];
    space(dump);
    open_node(dump, level->kind == DTG_REPLICATE_IN_GRAPH ? "in_graph" : "between_graph",
              level->span);
    put_name(dump, level->scope);
    close_node(dump);
  }
}

static void dump_pattern(struct dump *dump, const struct dtg_ast_string *pattern) {
  if (!pattern)
    return;
  space(dump);
  dump_string(dump, pattern);
}

static void dump_params(struct dump *dump, const struct dtg_ast_clause *clause) {
  static const char *const balances[] = {"", " balance=bytes", " balance=round_robin"};
  dump_pattern(dump, clause->params.pattern);
  switch (clause->params.owner) {
  case DTG_OWNER_ON:
    dump_device(dump, &clause->params.device);
    dtg_strbuf_puts(dump->out, balances[clause->params.balance]);
    put_child(dump, "split", clause->params.split);
    break;
  case DTG_OWNER_MIRRORED:
    dtg_strbuf_puts(dump->out, " mirrored");
    break;
  case DTG_OWNER_SHARDED:
    dtg_strbuf_puts(dump->out, " sharded");
    break;
  }
}

static void dump_clause(struct dump *dump, const struct dtg_ast_clause *clause) {
  static const char *const heads[] = {"replicate", "params", "update", "place", "prefer"};
  open_node(dump, heads[clause->kind], clause->span);
  switch (clause->kind) {
  case DTG_CLAUSE_REPLICATE:
    dump_replicate(dump, clause);
    break;
  case DTG_CLAUSE_PARAMS:
    dump_params(dump, clause);
    break;
  case DTG_CLAUSE_UPDATE:
    dtg_strbuf_puts(dump->out, clause->update.is_async ? " async" : " sync");
    put_child(dump, "backup", clause->update.backup);
    put_child(dump, "staleness", clause->update.staleness);
    break;
  case DTG_CLAUSE_PLACE:
  case DTG_CLAUSE_PREFER:
    dump_pattern(dump, clause->place.pattern);
    dump_device(dump, &clause->place.device);
    break;
  }
  close_node(dump);
}

// ---- items ----

static void dump_parameters(struct dump *dump, const struct dtg_ast_item *item) {
  for (size_t i = 0; i < item->function.parameters.len; i++) {
    const struct dtg_ast_parameter *parameter = &item->function.parameters.data[i];
    new_line(dump);
    open_node(dump, "in", parameter->span);
    put_name(dump, parameter->name);
    if (parameter->type) {
      space(dump);
      dump_type(dump, parameter->type);
    }
    put_child(dump, "default", parameter->default_value);
    close_node(dump);
  }
}

static void dump_function(struct dump *dump, const struct dtg_ast_item *item) {
  put_name(dump, item->name);
  dump->depth++;
  dump_parameters(dump, item);
  if (item->function.result) {
    new_line(dump);
    dtg_strbuf_puts(dump->out, "(result ");
    dump_type(dump, item->function.result);
    close_node(dump);
  }
  if (item->function.value) {
    new_line(dump);
    dump_expr(dump, item->function.value);
  }
  dump->depth--;
  if (item->function.body)
    dump_body(dump, "body", item->function.body);
}

static void dump_import(struct dump *dump, const struct dtg_ast_item *item) {
  space(dump);
  for (size_t i = 0; i < item->import.module.len; i++)
    dtg_strbuf_printf(dump->out, "%s%s", i ? "." : "", item->import.module.data[i].text);
  if (item->import.file)
    dump_string(dump, item->import.file);
  if (item->import.alias.text)
    dtg_strbuf_printf(dump->out, " as=%s", item->import.alias.text);
  if (!item->import.has_names)
    return;
  dtg_strbuf_puts(dump->out, " (names");
  for (size_t i = 0; i < item->import.names.len; i++) {
    const struct dtg_ast_import_name *name = &item->import.names.data[i];
    put_name(dump, name->name);
    if (name->alias.text)
      dtg_strbuf_printf(dump->out, "=%s", name->alias.text);
  }
  close_node(dump);
}

static void dump_train(struct dump *dump, const struct dtg_ast_item *item) {
  dump->depth++;
  for (size_t i = 0; i < item->train.entries.len; i++) {
    const struct dtg_ast_entry *entry = &item->train.entries.data[i];
    new_line(dump);
    open_node(dump, entry->key.text, entry->span);
    space(dump);
    dump_expr(dump, entry->value);
    close_node(dump);
  }
  dump->depth--;
}

static void dump_strategy(struct dump *dump, const struct dtg_ast_item *item) {
  put_name(dump, item->name);
  dump->depth++;
  for (size_t i = 0; i < item->strategy.clauses.len; i++) {
    new_line(dump);
    dump_clause(dump, &item->strategy.clauses.data[i]);
  }
  dump->depth--;
}

static void dump_item(struct dump *dump, const struct dtg_ast_item *item) {
  static const char *const heads[] = {
      [DTG_ITEM_IMPORT] = "import", [DTG_ITEM_CONST] = "const", [DTG_ITEM_FN] = "fn",
      [DTG_ITEM_LAYER] = "layer",   [DTG_ITEM_MODEL] = "model", [DTG_ITEM_OPTIMIZER] = "optimizer",
      [DTG_ITEM_DATA] = "data",     [DTG_ITEM_TRAIN] = "train", [DTG_ITEM_STRATEGY] = "strategy",
  };
  open_node(dump, heads[item->kind], item->span);
  if (item->doc) {
    size_t size = 0;
    while (item->doc[size])
      size++;
    dtg_strbuf_puts(dump->out, " doc=");
    dtg_strbuf_quote(dump->out, item->doc, size);
  }
  switch (item->kind) {
  case DTG_ITEM_IMPORT:
    dump_import(dump, item);
    break;
  case DTG_ITEM_CONST:
  case DTG_ITEM_DATA:
    put_name(dump, item->name);
    space(dump);
    dump_expr(dump, item->value);
    break;
  case DTG_ITEM_FN:
  case DTG_ITEM_LAYER:
  case DTG_ITEM_MODEL:
  case DTG_ITEM_OPTIMIZER:
    dump_function(dump, item);
    break;
  case DTG_ITEM_TRAIN:
    dump_train(dump, item);
    break;
  case DTG_ITEM_STRATEGY:
    dump_strategy(dump, item);
    break;
  }
  close_node(dump);
}

void dtg_ast_dump(const struct dtg_ast_file *ast, bool with_spans, struct dtg_strbuf *out) {
  struct dump dump = {out, with_spans, 0};
  for (size_t i = 0; i < ast->items.len; i++) {
    dump_item(&dump, ast->items.data[i]);
    dtg_strbuf_putc(out, '\n');
  }
}

void dtg_tokens_dump(struct dtg_ctx *ctx, uint32_t file, struct dtg_strbuf *out) {
  struct dtg_lexer *lexer = DTG_NEW(&ctx->arena, struct dtg_lexer);
  dtg_lexer_init(lexer, ctx, file);
  for (;;) {
    struct dtg_lexed lexed = dtg_lex_next(lexer);
    struct dtg_position at = dtg_source_position(&ctx->sources, file, lexed.span.begin);
    bool is_end = lexed.token == DTG_TOKEN_EOF;
    dtg_strbuf_printf(out, "%u:%u %s", at.line, at.column, dtg_token_name(lexed.token));
    if (!is_end) {
      dtg_strbuf_putc(out, ' ');
      dtg_strbuf_write(out, lexer->source->text + lexed.span.begin,
                       lexed.span.end - lexed.span.begin);
    }
    dtg_strbuf_putc(out, '\n');
    if (is_end)
      break;
  }
  dtg_lexer_free(lexer);
}
