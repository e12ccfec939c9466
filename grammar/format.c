// The canonical source text of a file: `dtgc fmt`.
#include "grammar/format.h"
#include "grammar/print.h"

#include <string.h>

static void put_body(struct dtg_format *format, const struct dtg_ast_body *body);

// ---- text and comments ----

struct dtg_flat dtg_format_flat(const struct dtg_format *format, struct dtg_strbuf *out) {
  return (struct dtg_flat){out, SIZE_MAX, false, format->source ? format->source->text : NULL};
}

void dtg_format_puts(struct dtg_format *format, const char *text) {
  dtg_strbuf_puts(format->out, text);
}

void dtg_format_newline(struct dtg_format *format) {
  dtg_strbuf_putc(format->out, '\n');
  dtg_strbuf_repeat(format->out, ' ', format->indent);
}

size_t dtg_format_column(const struct dtg_format *format) {
  size_t column = 0;
  for (size_t at = format->out->len; at > 0 && format->out->data[at - 1] != '\n'; at--)
    column += (format->out->data[at - 1] & 0xc0) != 0x80;
  return column;
}

const struct dtg_ast_comment *dtg_format_next_comment(struct dtg_format *format) {
  if (!format->source)
    return NULL;
  while (format->comment < format->ast->comments.len &&
         format->ast->comments.data[format->comment].is_doc)
    format->comment++;
  return format->comment < format->ast->comments.len ? &format->ast->comments.data[format->comment]
                                                     : NULL;
}

bool dtg_format_has_comment_before(struct dtg_format *format, uint32_t offset) {
  const struct dtg_ast_comment *comment = dtg_format_next_comment(format);
  return comment && comment->span.begin < offset;
}

static void advance_to(struct dtg_format *format, uint32_t offset) {
  if (format->last_end < offset)
    format->last_end = offset;
}

static void put_comment(struct dtg_format *format) {
  const struct dtg_ast_comment *comment = &format->ast->comments.data[format->comment++];
  dtg_strbuf_write(format->out, format->source->text + comment->span.begin,
                   comment->span.end - comment->span.begin);
  advance_to(format, comment->span.end);
}

void dtg_format_comments_before(struct dtg_format *format, uint32_t offset) {
  while (dtg_format_has_comment_before(format, offset)) {
    put_comment(format);
    dtg_format_newline(format);
  }
}

void dtg_format_comments_after(struct dtg_format *format, uint32_t offset) {
  while (dtg_format_has_comment_before(format, offset)) {
    dtg_format_newline(format);
    put_comment(format);
  }
}

void dtg_format_trailing_comment(struct dtg_format *format, uint32_t end, uint32_t limit) {
  const struct dtg_ast_comment *comment = dtg_format_next_comment(format);
  if (!comment || comment->is_own_line || comment->span.begin < end ||
      comment->span.begin >= limit ||
      memchr(format->source->text + end, '\n', comment->span.begin - end))
    return;
  dtg_format_puts(format, "  ");
  put_comment(format);
}

// ---- lines of a block ----

// Whether the source has an empty line before `begin`.
static bool has_gap(const struct dtg_format *format, uint32_t begin) {
  size_t breaks = 0;
  for (uint32_t at = format->last_end; format->source && at < begin; at++)
    breaks += format->source->text[at] == '\n';
  return breaks >= 2;
}

// Begins a line of the block for what stands at `begin` in the source; one empty line is kept.
static void begin_line(struct dtg_format *format, uint32_t begin, bool wants_gap) {
  if (!format->is_block_start && (wants_gap || has_gap(format, begin)))
    dtg_strbuf_putc(format->out, '\n');
  format->is_block_start = false;
  dtg_strbuf_repeat(format->out, ' ', format->indent);
}

// Comments before `offset` as lines of the block. Returns whether there were any.
static bool put_comment_lines(struct dtg_format *format, uint32_t offset, bool wants_gap) {
  bool any = false;
  while (dtg_format_has_comment_before(format, offset)) {
    begin_line(format, dtg_format_next_comment(format)->span.begin, wants_gap && !any);
    put_comment(format);
    dtg_strbuf_putc(format->out, '\n');
    any = true;
  }
  return any;
}

// Ends the line of what spans to `end`. Comments that are left from inside it go to the next line.
static void end_line(struct dtg_format *format, uint32_t end) {
  if (!dtg_format_has_comment_before(format, end))
    dtg_format_trailing_comment(format, end, UINT32_MAX);
  dtg_strbuf_putc(format->out, '\n');
  advance_to(format, end);
}

static void open_block(struct dtg_format *format, struct dtg_span braces, uint32_t first) {
  dtg_format_puts(format, "{");
  if (format->source) {
    const char *brace = memchr(format->source->text + braces.begin, '{', braces.end - braces.begin);
    uint32_t at = brace ? (uint32_t)(brace - format->source->text) + 1 : braces.begin;
    dtg_format_trailing_comment(format, at, first);
    advance_to(format, at);
  }
  dtg_strbuf_putc(format->out, '\n');
  format->indent += 2;
  format->is_block_start = true;
}

static void close_block(struct dtg_format *format, uint32_t end) {
  put_comment_lines(format, end, false);
  format->indent -= 2;
  format->is_block_start = false;
  dtg_strbuf_repeat(format->out, ' ', format->indent);
  dtg_format_puts(format, "}");
  advance_to(format, end);
}

// ---- statements ----

static void put_label(struct dtg_format *format, const struct dtg_ast_label *label) {
  struct dtg_flat flat = dtg_format_flat(format, format->out);
  dtg_flat_label(&flat, label);
}

static void put_type(struct dtg_format *format, const struct dtg_ast_type *type) {
  struct dtg_flat flat = dtg_format_flat(format, format->out);
  dtg_flat_type(&flat, type);
}

static void put_value(struct dtg_format *format, const char *word, const char *name,
                      const struct dtg_ast_expr *value) {
  dtg_format_puts(format, word);
  dtg_format_puts(format, name);
  dtg_format_puts(format, " = ");
  dtg_format_expr(format, value, DTG_LEVEL_ANY, 0);
}

static void put_declare(struct dtg_format *format, const char *word,
                        const struct dtg_ast_stmt *stmt) {
  dtg_format_puts(format, word);
  dtg_format_puts(format, stmt->name.text);
  if (stmt->declare.type) {
    dtg_format_puts(format, ": ");
    put_type(format, stmt->declare.type);
  }
  if (stmt->declare.initializer) {
    dtg_format_puts(format, " ~ ");
    dtg_format_expr(format, stmt->declare.initializer, DTG_LEVEL_ANY, 0);
  }
}

static void put_update(struct dtg_format *format, const struct dtg_ast_stmt *stmt) {
  static const char *const rules[] = {"", " by mean", " by sum", " by max"};
  dtg_format_puts(format, "update ");
  dtg_format_puts(format, stmt->name.text);
  dtg_format_puts(format, " = ");
  const char *rule = rules[stmt->update.by];
  dtg_format_expr(format, stmt->update.value, DTG_LEVEL_ANY, strlen(rule));
  dtg_format_puts(format, rule);
}

static void put_for(struct dtg_format *format, const struct dtg_ast_stmt *stmt) {
  dtg_format_puts(format, stmt->kind == DTG_STMT_SCAN ? "scan " : "for ");
  dtg_format_puts(format, stmt->name.text);
  dtg_format_puts(format, " in ");
  dtg_format_expr(format, stmt->for_in.first, DTG_LEVEL_ANY, 2);
  dtg_format_puts(format, "..");
  const char *rest = stmt->for_in.recompute ? " recompute " : " ";
  dtg_format_expr(format, stmt->for_in.end, DTG_LEVEL_ANY, strlen(rest) + 1);
  dtg_format_puts(format, rest);
  put_body(format, stmt->for_in.body);
}

static void put_if(struct dtg_format *format, const struct dtg_ast_stmt *stmt) {
  for (;;) {
    dtg_format_puts(format, "if ");
    dtg_format_expr(format, stmt->if_else.condition, DTG_LEVEL_ANY, 2);
    dtg_format_puts(format, " ");
    put_body(format, stmt->if_else.then_body);
    if (!stmt->if_else.else_body)
      return;
    dtg_format_puts(format, " else ");
    if (!stmt->if_else.is_else_if)
      break;
    stmt = stmt->if_else.else_body->stmts.data[0];
  }
  put_body(format, stmt->if_else.else_body);
}

static void put_stmt(struct dtg_format *format, const struct dtg_ast_stmt *stmt) {
  switch (stmt->kind) {
  case DTG_STMT_ASSIGN:
    put_value(format, "", stmt->name.text, stmt->value);
    break;
  case DTG_STMT_LABEL:
    put_label(format, stmt->label.label);
    dtg_format_puts(format, ": ");
    dtg_format_expr(format, stmt->label.call, DTG_LEVEL_ANY, 0);
    break;
  case DTG_STMT_PARAM:
    put_declare(format, "param ", stmt);
    break;
  case DTG_STMT_STATE:
    put_declare(format, "state ", stmt);
    break;
  case DTG_STMT_UPDATE:
    put_update(format, stmt);
    break;
  case DTG_STMT_FOR:
  case DTG_STMT_SCAN:
    put_for(format, stmt);
    break;
  case DTG_STMT_IF:
    put_if(format, stmt);
    break;
  case DTG_STMT_RETURN:
    dtg_format_puts(format, "return ");
    dtg_format_expr(format, stmt->value, DTG_LEVEL_ANY, 0);
    break;
  case DTG_STMT_LOSS:
    put_value(format, "", "loss", stmt->value);
    break;
  case DTG_STMT_COLLECT:
    put_value(format, "collect ", stmt->name.text, stmt->value);
    break;
  case DTG_STMT_METRIC:
    put_value(format, "metric ", stmt->name.text, stmt->value);
    break;
  case DTG_STMT_OUTPUT:
    put_value(format, "output ", stmt->name.text, stmt->value);
    break;
  }
}

static void put_body(struct dtg_format *format, const struct dtg_ast_body *body) {
  if (body->stmts.len == 0 && !dtg_format_has_comment_before(format, body->span.end)) {
    dtg_format_puts(format, "{ }");
    return;
  }
  open_block(format, body->span,
             body->stmts.len ? body->stmts.data[0]->span.begin : body->span.end);
  for (size_t i = 0; i < body->stmts.len; i++) {
    const struct dtg_ast_stmt *stmt = body->stmts.data[i];
    put_comment_lines(format, stmt->span.begin, false);
    begin_line(format, stmt->span.begin, false);
    put_stmt(format, stmt);
    end_line(format, stmt->span.end);
  }
  close_block(format, body->span.end);
}

// ---- items ----

static void put_parameter(struct dtg_format *format, const struct dtg_ast_parameter *parameter,
                          size_t reserve) {
  dtg_format_puts(format, parameter->name.text);
  if (parameter->type) {
    dtg_format_puts(format, ": ");
    put_type(format, parameter->type);
  }
  if (parameter->default_value) {
    dtg_format_puts(format, " = ");
    dtg_format_expr(format, parameter->default_value, DTG_LEVEL_ANY, reserve);
  }
}

static void put_result(struct dtg_format *format, const struct dtg_ast_item *item) {
  if (!item->function.result)
    return;
  dtg_format_puts(format, " -> ");
  put_type(format, item->function.result);
}

// What follows the parameters begins here; comments before it go to the parameters.
static uint32_t signature_end(const struct dtg_ast_item *item) {
  if (item->function.result)
    return item->function.result->span.begin;
  return item->function.body ? item->function.body->span.begin : item->function.value->span.begin;
}

static bool put_flat_signature(struct dtg_format *format, const struct dtg_ast_item *item) {
  if (item->function.parameters.len == 0) {
    dtg_format_puts(format, "()");
    put_result(format, item);
    return true;
  }
  if (dtg_format_has_comment_before(format, signature_end(item)))
    return false;
  size_t begin = format->out->len;
  dtg_format_puts(format, "(");
  for (size_t i = 0; i < item->function.parameters.len; i++) {
    const struct dtg_ast_parameter *parameter = &item->function.parameters.data[i];
    dtg_format_puts(format, i ? ", " : "");
    put_parameter(format, parameter, 0);
  }
  dtg_format_puts(format, ")");
  put_result(format, item);
  if (dtg_format_column(format) + 2 <= DTG_FMT_COLUMNS &&
      !memchr(format->out->data + begin, '\n', format->out->len - begin))
    return true;
  format->out->len = begin;
  format->out->data[begin] = '\0';
  return false;
}

static void put_signature(struct dtg_format *format, const struct dtg_ast_item *item) {
  if (put_flat_signature(format, item))
    return;
  dtg_format_puts(format, "(");
  format->indent += 2;
  for (size_t i = 0; i < item->function.parameters.len; i++) {
    const struct dtg_ast_parameter *parameter = &item->function.parameters.data[i];
    dtg_format_newline(format);
    dtg_format_comments_before(format, parameter->span.begin);
    put_parameter(format, parameter, 1);
    dtg_format_puts(format, ",");
    dtg_format_trailing_comment(format, parameter->span.end, signature_end(item));
  }
  dtg_format_comments_after(format, signature_end(item));
  format->indent -= 2;
  dtg_format_newline(format);
  dtg_format_puts(format, ")");
  put_result(format, item);
}

static void put_function(struct dtg_format *format, const struct dtg_ast_item *item,
                         const char *word) {
  dtg_format_puts(format, word);
  dtg_format_puts(format, item->name.text);
  put_signature(format, item);
  if (item->function.body) {
    dtg_format_puts(format, " ");
    put_body(format, item->function.body);
    return;
  }
  dtg_format_puts(format, " = ");
  dtg_format_expr(format, item->function.value, DTG_LEVEL_ANY, 0);
}

static void put_import_name(struct dtg_format *format, const struct dtg_ast_import_name *name) {
  dtg_format_puts(format, name->name.text);
  if (name->alias.text) {
    dtg_format_puts(format, " as ");
    dtg_format_puts(format, name->alias.text);
  }
}

static bool put_flat_imports(struct dtg_format *format, const struct dtg_ast_item *item) {
  if (dtg_format_has_comment_before(format, item->span.end))
    return false;
  size_t begin = format->out->len;
  dtg_format_puts(format, " { ");
  for (size_t i = 0; i < item->import.names.len; i++) {
    dtg_format_puts(format, i ? ", " : "");
    put_import_name(format, &item->import.names.data[i]);
  }
  dtg_format_puts(format, " }");
  if (dtg_format_column(format) <= DTG_FMT_COLUMNS)
    return true;
  format->out->len = begin;
  format->out->data[begin] = '\0';
  return false;
}

static void put_import(struct dtg_format *format, const struct dtg_ast_item *item) {
  dtg_format_puts(format, "import ");
  struct dtg_flat flat = dtg_format_flat(format, format->out);
  for (size_t i = 0; i < item->import.module.len; i++) {
    dtg_format_puts(format, i ? "." : "");
    dtg_format_puts(format, item->import.module.data[i].text);
  }
  if (item->import.file)
    dtg_flat_string(&flat, item->import.file);
  if (item->import.alias.text) {
    dtg_format_puts(format, " as ");
    dtg_format_puts(format, item->import.alias.text);
  }
  if (!item->import.has_names || put_flat_imports(format, item))
    return;
  dtg_format_puts(format, " {");
  format->indent += 2;
  for (size_t i = 0; i < item->import.names.len; i++) {
    const struct dtg_ast_import_name *name = &item->import.names.data[i];
    dtg_format_newline(format);
    dtg_format_comments_before(format, name->name.span.begin);
    put_import_name(format, name);
    dtg_format_puts(format, ",");
    dtg_format_trailing_comment(format, name->name.span.end, item->span.end);
  }
  dtg_format_comments_after(format, item->span.end);
  format->indent -= 2;
  dtg_format_newline(format);
  dtg_format_puts(format, "}");
}

static void put_train(struct dtg_format *format, const struct dtg_ast_item *item) {
  dtg_format_puts(format, "train ");
  if (item->train.entries.len == 0 && !dtg_format_has_comment_before(format, item->span.end)) {
    dtg_format_puts(format, "{ }");
    return;
  }
  open_block(format, item->span,
             item->train.entries.len ? item->train.entries.data[0].span.begin : item->span.end);
  for (size_t i = 0; i < item->train.entries.len; i++) {
    const struct dtg_ast_entry *entry = &item->train.entries.data[i];
    put_comment_lines(format, entry->span.begin, false);
    begin_line(format, entry->span.begin, false);
    put_value(format, "", entry->key.text, entry->value);
    end_line(format, entry->span.end);
  }
  close_block(format, item->span.end);
}

// ---- strategies ----

static void flat_replicate(struct dtg_flat *flat, const struct dtg_ast_clause *clause) {
  dtg_strbuf_puts(flat->out, "replicate ");
  for (size_t i = 0; i < clause->replicate.levels.len; i++) {
    const struct dtg_ast_replicate_level *level = &clause->replicate.levels.data[i];
    dtg_strbuf_printf(flat->out, "%s%s over %s", i ? ", " : "",
                      level->kind == DTG_REPLICATE_IN_GRAPH ? "in_graph" : "between_graph",
                      level->scope.text);
  }
}

static void flat_params(struct dtg_flat *flat, const struct dtg_ast_clause *clause) {
  static const char *const balances[] = {"", " balance bytes", " round_robin"};
  dtg_strbuf_puts(flat->out, "params ");
  if (clause->params.pattern) {
    dtg_flat_string(flat, clause->params.pattern);
    dtg_strbuf_putc(flat->out, ' ');
  }
  if (clause->params.owner != DTG_OWNER_ON) {
    dtg_strbuf_puts(flat->out, clause->params.owner == DTG_OWNER_MIRRORED ? "mirrored" : "sharded");
    return;
  }
  dtg_strbuf_puts(flat->out, "on ");
  dtg_ast_device_print(&clause->params.device, flat->out);
  dtg_strbuf_puts(flat->out, balances[clause->params.balance]);
  if (clause->params.split) {
    dtg_strbuf_puts(flat->out, " split >= ");
    dtg_flat_expr(flat, clause->params.split, DTG_LEVEL_SUM);
  }
}

static void flat_update(struct dtg_flat *flat, const struct dtg_ast_clause *clause) {
  dtg_strbuf_puts(flat->out, clause->update.is_async ? "update async" : "update sync");
  if (clause->update.backup) {
    dtg_strbuf_puts(flat->out, " backup ");
    dtg_flat_expr(flat, clause->update.backup, DTG_LEVEL_SUM);
  }
  if (clause->update.staleness) {
    dtg_strbuf_puts(flat->out, " staleness <= ");
    dtg_flat_expr(flat, clause->update.staleness, DTG_LEVEL_SUM);
  }
}

static void flat_clause(struct dtg_flat *flat, const struct dtg_ast_clause *clause) {
  switch (clause->kind) {
  case DTG_CLAUSE_REPLICATE:
    flat_replicate(flat, clause);
    break;
  case DTG_CLAUSE_PARAMS:
    flat_params(flat, clause);
    break;
  case DTG_CLAUSE_UPDATE:
    flat_update(flat, clause);
    break;
  case DTG_CLAUSE_PLACE:
  case DTG_CLAUSE_PREFER:
    dtg_strbuf_puts(flat->out, clause->kind == DTG_CLAUSE_PLACE ? "place " : "prefer ");
    dtg_flat_string(flat, clause->place.pattern);
    dtg_strbuf_puts(flat->out, " on ");
    dtg_ast_device_print(&clause->place.device, flat->out);
    break;
  }
}

// One line if it fits and says nothing of single devices.
static bool put_flat_strategy(struct dtg_format *format, const struct dtg_ast_item *item) {
  if (dtg_format_has_comment_before(format, item->span.end))
    return false;
  size_t begin = format->out->len;
  struct dtg_flat flat = dtg_format_flat(format, format->out);
  dtg_format_puts(format, "{ ");
  for (size_t i = 0; i < item->strategy.clauses.len; i++) {
    const struct dtg_ast_clause *clause = &item->strategy.clauses.data[i];
    dtg_format_puts(format, i ? "  " : "");
    flat_clause(&flat, clause);
    if (clause->kind == DTG_CLAUSE_PLACE || clause->kind == DTG_CLAUSE_PREFER)
      dtg_strbuf_repeat(format->out, ' ', DTG_FMT_COLUMNS);
  }
  dtg_format_puts(format, item->strategy.clauses.len ? " }" : "}");
  if (dtg_format_column(format) <= DTG_FMT_COLUMNS)
    return true;
  format->out->len = begin;
  format->out->data[begin] = '\0';
  return false;
}

static void put_strategy(struct dtg_format *format, const struct dtg_ast_item *item) {
  dtg_format_puts(format, "strategy ");
  dtg_format_puts(format, item->name.text);
  dtg_format_puts(format, " ");
  if (put_flat_strategy(format, item))
    return;
  open_block(format, item->span,
             item->strategy.clauses.len ? item->strategy.clauses.data[0].span.begin
                                        : item->span.end);
  struct dtg_flat flat = dtg_format_flat(format, format->out);
  for (size_t i = 0; i < item->strategy.clauses.len; i++) {
    const struct dtg_ast_clause *clause = &item->strategy.clauses.data[i];
    put_comment_lines(format, clause->span.begin, false);
    begin_line(format, clause->span.begin, false);
    flat_clause(&flat, clause);
    end_line(format, clause->span.end);
  }
  close_block(format, item->span.end);
}

// ---- files ----

static void put_doc(struct dtg_format *format, const char *doc) {
  for (;;) {
    size_t size = strcspn(doc, "\n");
    dtg_format_puts(format, size ? "## " : "##");
    dtg_strbuf_write(format->out, doc, size);
    dtg_strbuf_putc(format->out, '\n');
    if (!doc[size])
      return;
    doc += size + 1;
  }
}

static void put_item(struct dtg_format *format, const struct dtg_ast_item *item) {
  switch (item->kind) {
  case DTG_ITEM_IMPORT:
    put_import(format, item);
    break;
  case DTG_ITEM_CONST:
    put_value(format, "const ", item->name.text, item->value);
    break;
  case DTG_ITEM_DATA:
    put_value(format, "data ", item->name.text, item->value);
    break;
  case DTG_ITEM_FN:
    put_function(format, item, "fn ");
    break;
  case DTG_ITEM_LAYER:
    put_function(format, item, "layer ");
    break;
  case DTG_ITEM_MODEL:
    put_function(format, item, "model ");
    break;
  case DTG_ITEM_OPTIMIZER:
    put_function(format, item, "optimizer ");
    break;
  case DTG_ITEM_TRAIN:
    put_train(format, item);
    break;
  case DTG_ITEM_STRATEGY:
    put_strategy(format, item);
    break;
  }
}

// Items with bodies stand apart.
static bool is_block(const struct dtg_ast_item *item) {
  switch (item->kind) {
  case DTG_ITEM_FN:
    return item->function.body != NULL;
  case DTG_ITEM_LAYER:
  case DTG_ITEM_MODEL:
  case DTG_ITEM_OPTIMIZER:
  case DTG_ITEM_TRAIN:
    return true;
  default:
    return false;
  }
}

// Where the item begins with the documentation above it; `*comment` runs over the comments once.
static uint32_t begin_with_doc(const struct dtg_format *format, const struct dtg_ast_item *item,
                               size_t *comment) {
  const struct dtg_ast_comment *comments = format->ast->comments.data;
  while (*comment < format->ast->comments.len && comments[*comment].span.begin < item->span.begin)
    ++*comment;
  uint32_t begin = item->span.begin;
  for (size_t i = *comment; i > 0 && comments[i - 1].is_doc; i--) {
    if (comments[i - 1].span.begin < format->last_end)
      break;
    begin = comments[i - 1].span.begin;
  }
  return begin;
}

void dtg_ast_format(struct dtg_ctx *ctx, const struct dtg_ast_file *ast, struct dtg_strbuf *out) {
  struct dtg_format format = {.ast = ast, .out = out, .is_block_start = true};
  if (ast->file != DTG_NO_FILE)
    format.source = dtg_source_get(&ctx->sources, ast->file);
  size_t comment = 0;
  for (size_t i = 0; i < ast->items.len; i++) {
    const struct dtg_ast_item *item = ast->items.data[i];
    uint32_t begin = begin_with_doc(&format, item, &comment);
    bool apart = i > 0 && (is_block(item) || is_block(ast->items.data[i - 1]));
    if (put_comment_lines(&format, item->span.begin, apart))
      apart = false;
    begin_line(&format, begin, apart);
    if (item->doc)
      put_doc(&format, item->doc);
    put_item(&format, item);
    end_line(&format, item->span.end);
  }
  put_comment_lines(&format, UINT32_MAX, false);
  dtg_strbuf_free(&format.scratch);
}
