// Kinds of tokens, from tokens.def. Stateless; callable from any thread.
#ifndef DTG_GRAMMAR_TOKEN_H
#define DTG_GRAMMAR_TOKEN_H

#include <stdbool.h>
#include <stddef.h>

// The numbers are those that bison gives: 0 is the end of the file, the first declared token 258.
enum dtg_token {
  DTG_TOKEN_EOF = 0,
  DTG_TOKEN_BEFORE_FIRST = 257,
#define DTG_TOKEN(name, class, text) DTG_TOKEN_##name,
#include "grammar/tokens.def"
#undef DTG_TOKEN
};

enum dtg_token_class {
  DTG_CLASS_END,
  DTG_CLASS_VALUE,
  DTG_CLASS_MARK,
  DTG_CLASS_WORD,
  DTG_CLASS_SOFT,
  DTG_CLASS_CLAUSE,
  DTG_CLASS_OTHER,
};

enum dtg_token_class dtg_token_class(enum dtg_token token);
const char *dtg_token_name(enum dtg_token token); // `NAME`, `LPAREN`, `EOF`
const char *dtg_token_text(enum dtg_token token); // `a name`, `(`, `end of file`

// The token of the word `text`; DTG_TOKEN_NAME if it is none. Clause words count only in a
// strategy.
enum dtg_token dtg_token_of_word(const char *text, size_t size, bool in_strategy);

bool dtg_token_is_name(enum dtg_token token);         // may stand where a name may
bool dtg_token_begins_item(enum dtg_token token);     // import, const, model, ...
bool dtg_token_begins_stmt(enum dtg_token token);     // a name, for, if, return, ...
bool dtg_token_begins_clause(enum dtg_token token);   // replicate, params, ...
bool dtg_token_ends_expression(enum dtg_token token); // a name, a literal, a closing bracket

#endif
