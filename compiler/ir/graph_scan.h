/* Scanner of the graph text. Private to compiler/ir/.
 *
 * The first failure is kept with its line; after it every function returns false, so that callers
 * may chain. Ownership: the text is the caller's; names and strings are interned.
 */
#ifndef DTG_IR_GRAPH_SCAN_H
#define DTG_IR_GRAPH_SCAN_H

#include "compiler/ir/graph.h"

struct dtg_strbuf;

struct dtg_scan {
  const char *text;
  size_t size;
  size_t at;
  uint32_t line;
  bool failed;
  uint32_t depth; /* bodies around */
  struct dtg_arena *arena;
  struct dtg_intern *names;
  struct dtg_strbuf *why;
};

bool dtg_scan_fail(struct dtg_scan *scan, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Skips white space and comments; false at the end of the text. */
bool dtg_scan_more(struct dtg_scan *scan);
/* Takes the byte if it is next. */
bool dtg_scan_try(struct dtg_scan *scan, char c);
/* Takes the word if it is next and ends there. */
bool dtg_scan_try_word(struct dtg_scan *scan, const char *word);
/* The byte must be next; `where` ends the sentence "expected `x` ...". */
bool dtg_scan_expect(struct dtg_scan *scan, char c, const char *where);
/* Letters, digits, `_` and `-`. Not empty; interned. */
bool dtg_scan_word(struct dtg_scan *scan, const char *what, const char **out);
bool dtg_scan_string(struct dtg_scan *scan, const char *what, const char **out);
bool dtg_scan_u32(struct dtg_scan *scan, const char *what, uint32_t *out);
bool dtg_scan_float(struct dtg_scan *scan, double *out);
bool dtg_scan_span(struct dtg_scan *scan, struct dtg_span *out);
bool dtg_scan_type(struct dtg_scan *scan, struct dtg_type *out);
/* One attribute: name=value. */
bool dtg_scan_attr(struct dtg_scan *scan, struct dtg_attr *out);

#endif
