// Tokens of one file, with what the grammar cannot know without context: words of strategies, the
// two meanings of `[` and `:`, lines that begin with a bracket, and where to go on after an error.
//
// Ownership: the lexer borrows the context and the source; texts and values live in the context.
// Lifetime: init to free. Thread rule: one thread at a time per context.
#ifndef DTG_GRAMMAR_LEXER_H
#define DTG_GRAMMAR_LEXER_H

#include "compiler/base/ctx.h"
#include "grammar/ast.h"
#include "grammar/token.h"

// Brackets of all kinds may be open at most this deep.
#define DTG_LEX_MAX_NESTING 200

struct dtg_lexed {
  enum dtg_token token;
  struct dtg_span span;
  bool is_first_on_line;
  union {
    const char *name; // NAME and all words: interned
    int64_t int_value;
    double float_value;
    struct dtg_ast_string *string;
  } value;
};

enum dtg_bracket_kind {
  DTG_BRACKET_PAREN,
  DTG_BRACKET_LIST,
  DTG_BRACKET_SUBSCRIPT,
  DTG_BRACKET_IMPORT,
  DTG_BRACKET_BODY,
  DTG_BRACKET_STRATEGY,
};

struct dtg_bracket {
  enum dtg_bracket_kind kind;
  struct dtg_span span; // of the opening bracket
};

// What the tokens so far say about the next one.
struct dtg_lex_context {
  size_t open; // brackets in use of dtg_lexer.brackets
  struct dtg_lexed previous;
  bool in_import;        // since the word `import`
  int strategy_progress; // 1 after `strategy` outside brackets, 2 after its name
};

struct dtg_lexer {
  struct dtg_ctx *ctx;
  const struct dtg_source *source;
  uint32_t file;
  void *scanner;   // flex
  uint32_t offset; // of the scanner, in bytes
  DTG_VEC(struct dtg_ast_comment) comments;

  struct dtg_bracket brackets[DTG_LEX_MAX_NESTING + 1];
  struct dtg_lex_context now;
  struct dtg_lex_context before_last; // `now` as it was before the last token
  struct dtg_bracket closed;          // what the last token closed, to take it back
  struct dtg_lexed last;              // as the scanner gave it

  bool gave_up; // nested too deeply: the file ends here
  bool recovering;
  bool skipping;          // in search of the next statement: bad tokens are no news
  uint32_t synced_at;     // offset of the token where the last recovery ended
  size_t closers_pending; // closing brackets to be made up
  bool is_made_up;        // the last token was
  bool has_held;          // `held` comes before the scanner's next token
  struct dtg_lexed held;
};

void dtg_lexer_init(struct dtg_lexer *lexer, struct dtg_ctx *ctx, uint32_t file);
void dtg_lexer_free(struct dtg_lexer *lexer);

struct dtg_lexed dtg_lex_next(struct dtg_lexer *lexer);

// After a syntax error at the last token: the next token is RESYNC, and the one after it begins a
// statement, clause or item, or closes a body. Closing brackets that seem forgotten are made up.
void dtg_lex_recover(struct dtg_lexer *lexer);

// The innermost bracket that is still open, or NULL.
const struct dtg_bracket *dtg_lex_open_bracket(const struct dtg_lexer *lexer);

// ---- used by dtg.l ----

// Values of literals; a bad one is reported and replaced by a harmless one.
int64_t dtg_literal_int(struct dtg_lexer *lexer, struct dtg_span span);
double dtg_literal_float(struct dtg_lexer *lexer, struct dtg_span span);
// `128MiB`, or a number with letters behind it that mean nothing (INVALID).
enum dtg_token dtg_literal_size(struct dtg_lexer *lexer, struct dtg_span span, int64_t *bytes);
struct dtg_ast_string *dtg_literal_string(struct dtg_lexer *lexer, struct dtg_span span,
                                          bool is_terminated);
void dtg_lex_bad_number(struct dtg_lexer *lexer, struct dtg_span span);
void dtg_lex_bad_character(struct dtg_lexer *lexer, struct dtg_span span);

#endif
