// The seam between lexer.c and the scanner that flex makes from dtg.l.
// Ownership: the scanner's state belongs to the lexer. Thread rule: that of the lexer.
#ifndef DTG_GRAMMAR_SCANNER_H
#define DTG_GRAMMAR_SCANNER_H

#include "grammar/lexer.h"

void dtg_scanner_init(struct dtg_lexer *lexer);
void dtg_scanner_free(struct dtg_lexer *lexer);
// Sets token, span and value of `out`; comments go to lexer->comments.
void dtg_scanner_next(struct dtg_lexer *lexer, struct dtg_lexed *out);

#endif
