// The one place where "expected X after Y, saw Z" is made.
#include "grammar/node.h"

#include "compiler/base/strbuf.h"

#include <string.h>

#define MAX_SHOWN 40

// What the parser would take, in the reader's words.
struct expectation {
  bool has[1024]; // by token
  const char *words[8];
  size_t count;
};

static bool has(const struct expectation *expected, enum dtg_token token) {
  return expected->has[token];
}

static void add_words(struct expectation *expected, const char *words) {
  if (expected->count < sizeof expected->words / sizeof expected->words[0])
    expected->words[expected->count++] = words;
}

static void drop(struct expectation *expected, const enum dtg_token *tokens, size_t count) {
  for (size_t i = 0; i < count; i++)
    expected->has[tokens[i]] = false;
}

static void drop_matching(struct expectation *expected, bool (*matches)(enum dtg_token)) {
  for (size_t i = 0; i < sizeof expected->has; i++)
    if (expected->has[i] && matches((enum dtg_token)i))
      expected->has[i] = false;
}

static const enum dtg_token expression_starts[] = {
    DTG_TOKEN_INT,  DTG_TOKEN_FLOAT, DTG_TOKEN_SIZE,     DTG_TOKEN_STRING,
    DTG_TOKEN_TRUE, DTG_TOKEN_FALSE, DTG_TOKEN_LBRACKET, DTG_TOKEN_MINUS,
    DTG_TOKEN_NOT,  DTG_TOKEN_IF,    DTG_TOKEN_LPAREN,
};

// What may follow any expression: true, but of no help as long as something else may, too.
static const enum dtg_token continuations[] = {
    DTG_TOKEN_PIPE,  DTG_TOKEN_OR,   DTG_TOKEN_AND,       DTG_TOKEN_LT,      DTG_TOKEN_LE,
    DTG_TOKEN_GT,    DTG_TOKEN_GE,   DTG_TOKEN_EQ,        DTG_TOKEN_NE,      DTG_TOKEN_PLUS,
    DTG_TOKEN_MINUS, DTG_TOKEN_STAR, DTG_TOKEN_SLASH,     DTG_TOKEN_PERCENT, DTG_TOKEN_AT,
    DTG_TOKEN_POWER, DTG_TOKEN_DOT,  DTG_TOKEN_SUBSCRIPT, DTG_TOKEN_ARROW,
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static bool is_word(enum dtg_token token) {
  enum dtg_token_class class = dtg_token_class(token);
  return class == DTG_CLASS_WORD || class == DTG_CLASS_SOFT || class == DTG_CLASS_CLAUSE;
}

// Replaces whole groups of tokens by one word each.
static void name_groups(struct expectation *expected) {
  if (has(expected, DTG_TOKEN_INT) && has(expected, DTG_TOKEN_LPAREN)) {
    add_words(expected, "an expression");
    drop(expected, expression_starts, COUNT(expression_starts));
    drop_matching(expected, dtg_token_is_name);
  }
  if (has(expected, DTG_TOKEN_IMPORT) && has(expected, DTG_TOKEN_CONST)) {
    add_words(expected, "an item");
    drop_matching(expected, dtg_token_begins_item);
    expected->has[DTG_TOKEN_EOF] = false;
  }
  if (has(expected, DTG_TOKEN_FN) && has(expected, DTG_TOKEN_NAME)) {
    add_words(expected, "a type");
    expected->has[DTG_TOKEN_FN] = false;
    drop_matching(expected, dtg_token_is_name);
  }
  if (has(expected, DTG_TOKEN_RETURN) && has(expected, DTG_TOKEN_FOR)) {
    add_words(expected, "a statement");
    drop_matching(expected, dtg_token_begins_stmt);
  }
  if (has(expected, DTG_TOKEN_REPLICATE) && has(expected, DTG_TOKEN_PLACE)) {
    add_words(expected, "a clause");
    drop_matching(expected, dtg_token_begins_clause);
  }
  if (has(expected, DTG_TOKEN_NAME)) {
    add_words(expected, "a name");
    drop_matching(expected, dtg_token_is_name);
  }
}

static size_t count_tokens(const struct expectation *expected) {
  size_t count = 0;
  for (size_t i = 0; i < sizeof expected->has; i++)
    count += expected->has[i];
  return count;
}

static void drop_continuations(struct expectation *expected) {
  if (has(expected, DTG_TOKEN_BALANCE))
    drop(expected, (enum dtg_token[]){DTG_TOKEN_COLON, DTG_TOKEN_SLASH}, 2);
  if (!has(expected, DTG_TOKEN_PLUS)) {
    // After a label: `=` and `:` say more than its further parts.
    if (has(expected, DTG_TOKEN_ASSIGN))
      drop(expected, (enum dtg_token[]){DTG_TOKEN_DOT, DTG_TOKEN_SUBSCRIPT}, 2);
    return;
  }
  struct expectation rest = *expected;
  drop(&rest, continuations, COUNT(continuations));
  drop(&rest, (enum dtg_token[]){DTG_TOKEN_LPAREN, DTG_TOKEN_COLON}, 2);
  if (has(&rest, DTG_TOKEN_COMMA))
    rest.has[DTG_TOKEN_ASSIGN] = false; // the name of an argument
  if (rest.count || count_tokens(&rest))
    *expected = rest;
}

static void put_list(struct dtg_strbuf *out, const char *const *words, size_t count) {
  for (size_t i = 0; i < count; i++)
    dtg_strbuf_printf(out, "%s%s", i == 0 ? "" : i + 1 == count ? " or " : ", ", words[i]);
}

static void put_expected(struct dtg_parser *parser, struct expectation expected,
                         struct dtg_strbuf *out) {
  name_groups(&expected);
  drop_continuations(&expected);
  for (size_t i = 0; i < sizeof expected.has; i++) {
    if (!expected.has[i])
      continue;
    enum dtg_token token = (enum dtg_token)i;
    bool is_spelled = is_word(token) || dtg_token_class(token) == DTG_CLASS_MARK;
    add_words(&expected, dtg_arena_printf(&parser->ctx->arena, is_spelled ? "`%s`" : "%s",
                                          dtg_token_text(token)));
  }
  if (expected.count == 0)
    dtg_strbuf_puts(out, "nothing more");
  put_list(out, expected.words, expected.count);
}

static void put_quoted(struct dtg_parser *parser, struct dtg_span span, struct dtg_strbuf *out) {
  const char *text = parser->lexer.source->text + span.begin;
  size_t size = span.end - span.begin, shown = size;
  if (size > MAX_SHOWN) {
    shown = 0;
    while (shown < MAX_SHOWN - 4)
      shown += dtg_utf8_length(text + shown, size - shown);
  }
  dtg_strbuf_puts(out, "`");
  dtg_strbuf_write(out, text, shown);
  dtg_strbuf_puts(out, shown < size ? "...`" : "`");
}

static bool is_closer(enum dtg_token token) {
  return token == DTG_TOKEN_RPAREN || token == DTG_TOKEN_RBRACKET || token == DTG_TOKEN_RBRACE;
}

static bool matches(char opener, enum dtg_token closer) {
  return (opener == '(' && closer == DTG_TOKEN_RPAREN) ||
         (opener == '[' && closer == DTG_TOKEN_RBRACKET) ||
         (opener == '{' && closer == DTG_TOKEN_RBRACE);
}

// The bracket that was open when the token at fault was read, if it seems to be the matter.
static void note_open_bracket(struct dtg_parser *parser, struct dtg_diag *diag,
                              enum dtg_token saw) {
  const struct dtg_lex_context *before = &parser->lexer.before_last;
  if (before->open == 0)
    return;
  const struct dtg_bracket *bracket = &parser->lexer.brackets[before->open - 1];
  char opener = parser->lexer.source->text[bracket->span.begin];
  bool is_wrong_closer = is_closer(saw) && !matches(opener, saw);
  bool is_cut_off =
      parser->lexer.last.is_first_on_line && bracket->kind < DTG_BRACKET_BODY && !is_closer(saw);
  if (is_wrong_closer || is_cut_off)
    dtg_diag_note(diag, bracket->span, "`%c` was opened here", opener);
}

static const char *near_word(const struct expectation *expected, const char *name) {
  const char *words[128];
  size_t count = 0;
  for (size_t i = 0; i < sizeof expected->has && count < COUNT(words); i++)
    if (expected->has[i] && is_word((enum dtg_token)i))
      words[count++] = dtg_token_text((enum dtg_token)i);
  return dtg_suggest(name, words, count);
}

static bool is_augmented(const struct dtg_lexed *previous, struct dtg_span at) {
  enum dtg_token op = previous->token;
  return previous->span.end == at.begin && (op == DTG_TOKEN_PLUS || op == DTG_TOKEN_MINUS ||
                                            op == DTG_TOKEN_STAR || op == DTG_TOKEN_SLASH);
}

static void add_hint(struct dtg_parser *parser, struct dtg_diag *diag,
                     const struct expectation *expected, struct dtg_span at, enum dtg_token saw) {
  const struct dtg_lexed *previous = &parser->lexer.before_last.previous;
  if (saw == DTG_TOKEN_NAME && !has(expected, DTG_TOKEN_NAME)) {
    const char *near = near_word(expected, parser->lexer.last.value.name);
    if (near)
      dtg_diag_hint(diag, "did you mean `%s`?", near);
  } else if (saw == DTG_TOKEN_ASSIGN && is_augmented(previous, at)) {
    dtg_diag_hint(diag, "write `name = name %s value`", dtg_token_text(previous->token));
  } else if (has(expected, DTG_TOKEN_ASSIGN) && parser->lexer.source->text[at.end] == '=' &&
             strchr("+-*/", dtg_token_text(saw)[0])) {
    dtg_diag_hint(diag, "write `name = name %s value`", dtg_token_text(saw));
  } else if (saw == DTG_TOKEN_ASSIGN && has(expected, DTG_TOKEN_EQ)) {
    dtg_diag_hint(diag, "equality is written `==`");
  } else if (saw == DTG_TOKEN_LPAREN && has(expected, DTG_TOKEN_ASSIGN) &&
             has(expected, DTG_TOKEN_COLON) && !has(expected, DTG_TOKEN_PLUS)) {
    dtg_diag_hint(diag, "a statement is `name = value` or `label: call`");
  } else if (is_closer(saw) && parser->lexer.before_last.open == 0) {
    dtg_diag_hint(diag, "nothing is open here that `%s` could close", dtg_token_text(saw));
  } else if (dtg_token_class(saw) == DTG_CLASS_WORD && has(expected, DTG_TOKEN_NAME) &&
             (!has(expected, DTG_TOKEN_INT) || saw == DTG_TOKEN_BY)) {
    dtg_diag_hint(diag, "`%s` is a reserved word", dtg_token_text(saw));
  } else if (has(expected, DTG_TOKEN_NAME) && dtg_token_class(saw) == DTG_CLASS_CLAUSE) {
    dtg_diag_hint(diag, "`%s` is a reserved word inside a strategy", dtg_token_text(saw));
  }
}

void dtg_report_syntax_error(struct dtg_parser *parser, struct dtg_span at, enum dtg_token saw,
                             const enum dtg_token *tokens, size_t count) {
  if (saw == DTG_TOKEN_INVALID || saw == DTG_TOKEN_RESYNC || parser->lexer.gave_up ||
      parser->lexer.is_made_up)
    return; // reported where it arose
  struct expectation expected = {0};
  for (size_t i = 0; i < count; i++)
    if (dtg_token_class(tokens[i]) != DTG_CLASS_OTHER)
      expected.has[tokens[i]] = true;
  const struct dtg_lexed *previous = &parser->lexer.before_last.previous;
  bool is_first = previous->token == DTG_TOKEN_EOF;
  struct dtg_strbuf text = {0};
  dtg_strbuf_puts(&text, "expected ");
  put_expected(parser, expected, &text);
  if (is_first) {
    dtg_strbuf_puts(&text, " at the start of the file");
  } else {
    dtg_strbuf_puts(&text, " after ");
    put_quoted(parser, previous->span, &text);
  }
  dtg_strbuf_puts(&text, ", saw ");
  if (saw == DTG_TOKEN_EOF) {
    dtg_strbuf_puts(&text, "the end of the file");
    at = (struct dtg_span){at.file, previous->span.end, previous->span.end};
  } else {
    put_quoted(parser, at, &text);
  }
  struct dtg_diag *diag = dtg_error(&parser->ctx->diags, at, "%s", dtg_strbuf_text(&text));
  dtg_strbuf_free(&text);
  add_hint(parser, diag, &expected, at, saw);
  note_open_bracket(parser, diag, saw);
}
