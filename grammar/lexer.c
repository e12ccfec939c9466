#include "grammar/lexer.h"

#include "compiler/base/bug.h"
#include "grammar/scanner.h"

#include <string.h>

#define NO_OFFSET UINT32_MAX

void dtg_lexer_init(struct dtg_lexer *lexer, struct dtg_ctx *ctx, uint32_t file) {
  *lexer = (struct dtg_lexer){.ctx = ctx, .file = file, .synced_at = NO_OFFSET};
  lexer->source = dtg_source_get(&ctx->sources, file);
  lexer->now.previous.span = (struct dtg_span){file, 0, 0};
  lexer->now.previous.token = DTG_TOKEN_EOF;
  lexer->last = lexer->now.previous;
  lexer->before_last = lexer->now;
  dtg_scanner_init(lexer);
}

void dtg_lexer_free(struct dtg_lexer *lexer) {
  dtg_scanner_free(lexer);
}

const struct dtg_bracket *dtg_lex_open_bracket(const struct dtg_lexer *lexer) {
  return lexer->now.open ? &lexer->brackets[lexer->now.open - 1] : NULL;
}

static bool in_strategy(const struct dtg_lexer *lexer) {
  return lexer->now.open && lexer->brackets[0].kind == DTG_BRACKET_STRATEGY;
}

static bool is_body(const struct dtg_bracket *bracket) {
  return bracket->kind == DTG_BRACKET_BODY || bracket->kind == DTG_BRACKET_STRATEGY;
}

static struct dtg_lexed end_of_file(const struct dtg_lexer *lexer) {
  uint32_t end = (uint32_t)lexer->source->size;
  return (struct dtg_lexed){.token = DTG_TOKEN_EOF, .span = {lexer->file, end, end}};
}

static struct dtg_lexed next_raw(struct dtg_lexer *lexer) {
  if (lexer->has_held) {
    lexer->has_held = false;
    return lexer->held;
  }
  uint32_t begin = lexer->offset;
  struct dtg_lexed lexed = {0};
  dtg_scanner_next(lexer, &lexed);
  if (lexed.token == DTG_TOKEN_EOF)
    return end_of_file(lexer);
  lexed.is_first_on_line =
      begin == 0 || memchr(lexer->source->text + begin, '\n', lexed.span.begin - begin) != NULL;
  return lexed;
}

// ---- brackets ----

static enum dtg_bracket_kind kind_of_opener(const struct dtg_lexer *lexer, enum dtg_token token) {
  switch (token) {
  case DTG_TOKEN_LPAREN:
    return DTG_BRACKET_PAREN;
  case DTG_TOKEN_SUBSCRIPT:
    return DTG_BRACKET_SUBSCRIPT;
  case DTG_TOKEN_LBRACKET:
    return DTG_BRACKET_LIST;
  default:
    if (lexer->now.in_import)
      return DTG_BRACKET_IMPORT;
    return lexer->now.strategy_progress ? DTG_BRACKET_STRATEGY : DTG_BRACKET_BODY;
  }
}

static bool closes(enum dtg_token token, enum dtg_bracket_kind kind) {
  switch (token) {
  case DTG_TOKEN_RPAREN:
    return kind == DTG_BRACKET_PAREN;
  case DTG_TOKEN_RBRACKET:
    return kind == DTG_BRACKET_LIST || kind == DTG_BRACKET_SUBSCRIPT;
  case DTG_TOKEN_RBRACE:
    return kind >= DTG_BRACKET_IMPORT;
  default:
    return false;
  }
}

static void track_brackets(struct dtg_lexer *lexer, const struct dtg_lexed *lexed) {
  size_t *open = &lexer->now.open;
  switch (lexed->token) {
  case DTG_TOKEN_LPAREN:
  case DTG_TOKEN_LBRACKET:
  case DTG_TOKEN_SUBSCRIPT:
  case DTG_TOKEN_LBRACE:
    if (*open >= DTG_LEX_MAX_NESTING) {
      struct dtg_diag *diag =
          dtg_error(&lexer->ctx->diags, lexed->span, "brackets are nested more than %d deep",
                    DTG_LEX_MAX_NESTING);
      dtg_diag_hint(diag, "give parts of this names of their own");
      lexer->gave_up = true;
      return;
    }
    lexer->brackets[*open] = (struct dtg_bracket){kind_of_opener(lexer, lexed->token), lexed->span};
    ++*open;
    break;
  case DTG_TOKEN_RPAREN:
  case DTG_TOKEN_RBRACKET:
  case DTG_TOKEN_RBRACE:
    if (*open && closes(lexed->token, lexer->brackets[*open - 1].kind)) {
      --*open;
      lexer->closed = lexer->brackets[*open];
    }
    break;
  default:
    break;
  }
}

// ---- what the words before say about a token ----

static void track_words(struct dtg_lexer *lexer, const struct dtg_lexed *lexed) {
  struct dtg_lex_context *now = &lexer->now;
  if (lexed->token == DTG_TOKEN_IMPORT)
    now->in_import = true;
  else if (lexed->token == DTG_TOKEN_LBRACE ||
           (lexed->is_first_on_line && dtg_token_begins_item(lexed->token)))
    now->in_import = false;
  if (now->open == 0 && lexed->token == DTG_TOKEN_STRATEGY && now->strategy_progress != 1)
    now->strategy_progress = 1;
  else if (now->strategy_progress == 1 && dtg_token_is_name(lexed->token))
    now->strategy_progress = 2;
  else
    now->strategy_progress = 0;
}

static void check_line_start(struct dtg_lexer *lexer, const struct dtg_lexed *lexed) {
  const struct dtg_lexed *previous = &lexer->now.previous;
  if (!lexed->is_first_on_line || !dtg_token_ends_expression(previous->token))
    return;
  const char *bracket = dtg_token_text(lexed->token);
  struct dtg_diag *diag =
      dtg_error(&lexer->ctx->diags, lexed->span,
                "`%s` at the start of a line after a complete expression", bracket);
  dtg_diag_hint(diag, "join the lines: `%s` belongs behind `%.*s`", bracket,
                (int)(previous->span.end - previous->span.begin > 40
                          ? 40
                          : previous->span.end - previous->span.begin),
                lexer->source->text + previous->span.begin);
}

static void classify(struct dtg_lexer *lexer, struct dtg_lexed *lexed) {
  switch (lexed->token) {
  case DTG_TOKEN_NAME:
    lexed->token = dtg_token_of_word(lexed->value.name, lexed->span.end - lexed->span.begin,
                                     in_strategy(lexer));
    break;
  case DTG_TOKEN_LBRACKET:
    check_line_start(lexer, lexed);
    if (dtg_token_ends_expression(lexer->now.previous.token))
      lexed->token = DTG_TOKEN_SUBSCRIPT;
    break;
  case DTG_TOKEN_LPAREN:
    check_line_start(lexer, lexed);
    break;
  case DTG_TOKEN_COLON:
    if (lexer->now.open && lexer->brackets[lexer->now.open - 1].kind == DTG_BRACKET_SUBSCRIPT)
      lexed->token = DTG_TOKEN_SLICE_COLON;
    break;
  default:
    break;
  }
}

// ---- items ----

static bool is_at_column_1(const struct dtg_lexer *lexer, const struct dtg_lexed *lexed) {
  return lexed->span.begin == 0 || lexer->source->text[lexed->span.begin - 1] == '\n';
}

static enum dtg_token word_of(const struct dtg_lexed *raw, bool with_clauses) {
  if (raw->token != DTG_TOKEN_NAME)
    return raw->token;
  return dtg_token_of_word(raw->value.name, raw->span.end - raw->span.begin, with_clauses);
}

// A word of items followed by a name, a brace or a string; `data = 3` is no item.
static bool begins_item(const struct dtg_lexer *lexer, const struct dtg_lexed *raw) {
  if (!raw->is_first_on_line || !dtg_token_begins_item(word_of(raw, false)))
    return false;
  const char *next = lexer->source->text + raw->span.end;
  next += strspn(next, " \t");
  return strchr("_{\"", *next) || (*next >= 'a' && *next <= 'z') || (*next >= 'A' && *next <= 'Z');
}

// An item at the left edge of the file: whatever is open there was not closed.
static bool is_next_item(const struct dtg_lexer *lexer, const struct dtg_lexed *raw) {
  return is_at_column_1(lexer, raw) && begins_item(lexer, raw);
}

static struct dtg_lexed made_up_closer(struct dtg_lexer *lexer) {
  static const enum dtg_token closers[] = {
      [DTG_BRACKET_PAREN] = DTG_TOKEN_RPAREN,       [DTG_BRACKET_LIST] = DTG_TOKEN_RBRACKET,
      [DTG_BRACKET_SUBSCRIPT] = DTG_TOKEN_RBRACKET, [DTG_BRACKET_IMPORT] = DTG_TOKEN_RBRACE,
      [DTG_BRACKET_BODY] = DTG_TOKEN_RBRACE,        [DTG_BRACKET_STRATEGY] = DTG_TOKEN_RBRACE,
  };
  lexer->closers_pending--;
  lexer->now.open--;
  lexer->is_made_up = true;
  uint32_t at = lexer->held.span.begin;
  return (struct dtg_lexed){.token = closers[lexer->brackets[lexer->now.open].kind],
                            .span = {lexer->file, at, at}};
}

// At the end of the file or at the next item with brackets open. No statement or argument looks
// like an item, so the mistake is the bracket: it is reported, and all are closed as if it were
// there.
static struct dtg_lexed close_all(struct dtg_lexer *lexer, struct dtg_lexed raw) {
  const struct dtg_bracket *bracket = dtg_lex_open_bracket(lexer);
  bool is_end = raw.token == DTG_TOKEN_EOF;
  struct dtg_diag *diag = dtg_error(&lexer->ctx->diags, bracket->span, "this `%c` is not closed",
                                    lexer->source->text[bracket->span.begin]);
  dtg_diag_note(diag, raw.span, is_end ? "the file ends here" : "the next item begins here");
  lexer->closers_pending = lexer->now.open;
  lexer->held = raw;
  lexer->has_held = true;
  return made_up_closer(lexer);
}

static struct dtg_lexed accept(struct dtg_lexer *lexer, struct dtg_lexed lexed) {
  lexer->last = lexed;
  lexer->before_last = lexer->now;
  if (lexer->now.open && (lexed.token == DTG_TOKEN_EOF || is_next_item(lexer, &lexed)))
    return close_all(lexer, lexed);
  classify(lexer, &lexed);
  track_brackets(lexer, &lexed);
  if (lexer->gave_up) {
    lexed = end_of_file(lexer);
    lexed.token = DTG_TOKEN_INVALID;
    return lexed;
  }
  track_words(lexer, &lexed);
  lexer->now.previous = lexed;
  return lexed;
}

// ---- recovery ----

void dtg_lex_recover(struct dtg_lexer *lexer) {
  lexer->recovering = true;
}

// Forgets the last token, so that it is judged again as a place to go on.
static void take_back_last(struct dtg_lexer *lexer) {
  if (lexer->now.open < lexer->before_last.open)
    lexer->brackets[lexer->now.open] = lexer->closed;
  lexer->now = lexer->before_last;
}

static void skip(struct dtg_lexer *lexer, struct dtg_lexed lexed) {
  classify(lexer, &lexed);
  track_brackets(lexer, &lexed);
  track_words(lexer, &lexed);
  lexer->now.previous = lexed;
}

static void drop_expression_brackets(struct dtg_lexer *lexer, size_t floor) {
  while (lexer->now.open > floor && !is_body(&lexer->brackets[lexer->now.open - 1]))
    lexer->now.open--;
}

// Whether parsing can go on at `raw`, with `base` bodies open around the error.
static bool is_resume_point(struct dtg_lexer *lexer, const struct dtg_lexed *raw, size_t base) {
  if (raw->token == DTG_TOKEN_RBRACE && base > 0) {
    drop_expression_brackets(lexer, base);
    return lexer->now.open == base;
  }
  if (lexer->now.open > base)
    return false;
  if (base == 0)
    return begins_item(lexer, raw);
  enum dtg_token word = word_of(raw, in_strategy(lexer));
  if (in_strategy(lexer))
    return dtg_token_begins_clause(word);
  return raw->is_first_on_line && dtg_token_begins_stmt(word);
}

static struct dtg_lexed resync(struct dtg_lexer *lexer) {
  lexer->recovering = false;
  struct dtg_lexed raw = lexer->last;
  if (lexer->has_held)
    lexer->has_held = false; // the error is at RESYNC or at a made-up `}`: `held` was not read yet
  else
    take_back_last(lexer);
  drop_expression_brackets(lexer, 0);
  size_t base = lexer->now.open;
  lexer->closers_pending = 0;
  lexer->skipping = true;
  if (raw.span.begin == lexer->synced_at && raw.token != DTG_TOKEN_EOF) {
    skip(lexer, raw);
    raw = next_raw(lexer);
  }
  while (raw.token != DTG_TOKEN_EOF && !lexer->gave_up) {
    if (is_next_item(lexer, &raw)) {
      lexer->now.open = base;
      lexer->closers_pending = base;
      break;
    }
    if (is_resume_point(lexer, &raw, base))
      break;
    skip(lexer, raw);
    raw = next_raw(lexer);
  }
  lexer->skipping = false;
  if (raw.token == DTG_TOKEN_EOF || lexer->gave_up) {
    raw = end_of_file(lexer);
    if (lexer->synced_at == raw.span.begin)
      return raw;
    lexer->now.open = base;
    lexer->closers_pending = base;
  }
  lexer->synced_at = raw.span.begin;
  lexer->held = raw;
  lexer->has_held = true;
  lexer->last = raw;
  lexer->before_last = lexer->now;
  return (struct dtg_lexed){.token = DTG_TOKEN_RESYNC,
                            .span = {raw.span.file, raw.span.begin, raw.span.begin}};
}

struct dtg_lexed dtg_lex_next(struct dtg_lexer *lexer) {
  lexer->is_made_up = false;
  if (lexer->recovering)
    return resync(lexer);
  if (lexer->closers_pending)
    return made_up_closer(lexer);
  if (lexer->gave_up)
    return end_of_file(lexer);
  return accept(lexer, next_raw(lexer));
}
