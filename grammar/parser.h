// The seam between parse.c and the parser that bison makes from dtg.y.
// Ownership: the parser's state belongs to the caller. Thread rule: that of the context.
#ifndef DTG_GRAMMAR_PARSER_H
#define DTG_GRAMMAR_PARSER_H

#include "grammar/node.h"

// 0 at the end of the file, else parsing stopped early; errors are in the diagnostics either way.
int dtg_bison_parse(struct dtg_parser *parser);

#endif
