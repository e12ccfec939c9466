#include "grammar/token.h"

#include <string.h>

struct row {
  const char *name;
  const char *text;
  size_t size; // of the text
  enum dtg_token_class class;
};

static const struct row rows[] = {
#define DTG_TOKEN(name, class, text) {#name, text, sizeof(text) - 1, DTG_CLASS_##class},
#include "grammar/tokens.def"
#undef DTG_TOKEN
};

#define FIRST (DTG_TOKEN_BEFORE_FIRST + 1)
#define ROWS (sizeof rows / sizeof rows[0])

static const struct row *row_of(enum dtg_token token) {
  static const struct row end = {"EOF", "end of file", 11, DTG_CLASS_END};
  size_t index = (size_t)token - FIRST;
  return token >= FIRST && index < ROWS ? &rows[index] : &end;
}

enum dtg_token_class dtg_token_class(enum dtg_token token) {
  return row_of(token)->class;
}
const char *dtg_token_name(enum dtg_token token) {
  return row_of(token)->name;
}
const char *dtg_token_text(enum dtg_token token) {
  return row_of(token)->text;
}

enum dtg_token dtg_token_of_word(const char *text, size_t size, bool in_strategy) {
  for (size_t i = 0; i < ROWS; i++) {
    if (rows[i].size != size || memcmp(rows[i].text, text, size) != 0)
      continue;
    if (rows[i].class == DTG_CLASS_WORD || rows[i].class == DTG_CLASS_SOFT ||
        (in_strategy && rows[i].class == DTG_CLASS_CLAUSE))
      return (enum dtg_token)(FIRST + i);
  }
  return DTG_TOKEN_NAME;
}

bool dtg_token_is_name(enum dtg_token token) {
  return token == DTG_TOKEN_NAME || dtg_token_class(token) == DTG_CLASS_SOFT;
}

bool dtg_token_begins_item(enum dtg_token token) {
  switch (token) {
  case DTG_TOKEN_IMPORT:
  case DTG_TOKEN_CONST:
  case DTG_TOKEN_FN:
  case DTG_TOKEN_LAYER:
  case DTG_TOKEN_MODEL:
  case DTG_TOKEN_OPTIMIZER:
  case DTG_TOKEN_DATA:
  case DTG_TOKEN_TRAIN:
  case DTG_TOKEN_STRATEGY:
    return true;
  default:
    return false;
  }
}

bool dtg_token_begins_stmt(enum dtg_token token) {
  return dtg_token_is_name(token) || token == DTG_TOKEN_FOR || token == DTG_TOKEN_IF ||
         token == DTG_TOKEN_RETURN;
}

bool dtg_token_begins_clause(enum dtg_token token) {
  switch (token) {
  case DTG_TOKEN_REPLICATE:
  case DTG_TOKEN_PARAMS:
  case DTG_TOKEN_UPDATE:
  case DTG_TOKEN_PLACE:
  case DTG_TOKEN_PREFER:
    return true;
  default:
    return false;
  }
}

bool dtg_token_ends_expression(enum dtg_token token) {
  switch (token) {
  case DTG_TOKEN_RPAREN:
  case DTG_TOKEN_RBRACKET:
  case DTG_TOKEN_TRUE:
  case DTG_TOKEN_FALSE:
    return true;
  default:
    return dtg_token_class(token) == DTG_CLASS_VALUE || dtg_token_is_name(token);
  }
}
