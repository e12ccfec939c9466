/* The nearest of some words to a misspelt one, for hints.
 *
 * Ownership: self-contained; `word` is borrowed. Threads: one at a time. Words of more than 63
 * bytes have no near ones.
 */
#ifndef DTR_NEAREST_H
#define DTR_NEAREST_H

#include <stddef.h>

enum { DTR_NEAREST_SIZE = 64 };

struct dtr_nearest {
  const char *word;
  size_t length, edits;        /* of the best so far */
  char best[DTR_NEAREST_SIZE]; /* "" = none is near */
};

/* `length` bytes of `word`. */
void dtr_nearest_begin(struct dtr_nearest *nearest, const char *word, size_t length);
/* At most two edits (insert, delete, replace) and less than half of the word; the first of equals
 * wins. */
void dtr_nearest_try(struct dtr_nearest *nearest, const char *candidate);

#endif
