#include "runtime/nearest.h"

#include <string.h>

enum { MOST_EDITS = 2 };

static size_t least(size_t a, size_t b, size_t c) {
  size_t less = a < b ? a : b;
  return less < c ? less : c;
}

/* Edits between two words, by the row of the table of prefixes. */
static size_t distance(const char *a, size_t a_length, const char *b, size_t b_length) {
  size_t row[DTR_NEAREST_SIZE];
  for (size_t j = 0; j <= b_length; j++)
    row[j] = j;
  for (size_t i = 1; i <= a_length; i++) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b_length; j++) {
      size_t best = least(diagonal + (a[i - 1] != b[j - 1]), row[j] + 1, row[j - 1] + 1);
      diagonal = row[j];
      row[j] = best;
    }
  }
  return row[b_length];
}

void dtr_nearest_begin(struct dtr_nearest *nearest, const char *word, size_t length) {
  *nearest = (struct dtr_nearest){.word = word, .length = length, .edits = MOST_EDITS + 1};
}

void dtr_nearest_try(struct dtr_nearest *nearest, const char *candidate) {
  size_t length = strlen(candidate);
  if (length >= DTR_NEAREST_SIZE || nearest->length >= DTR_NEAREST_SIZE)
    return;
  size_t edits = distance(nearest->word, nearest->length, candidate, length);
  if (edits >= nearest->edits || 2 * edits >= nearest->length)
    return;
  nearest->edits = edits;
  memcpy(nearest->best, candidate, length + 1);
}
