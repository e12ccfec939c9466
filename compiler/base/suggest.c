#include "compiler/base/diag.h"

#include <ctype.h>
#include <string.h>

// Longer names are never mistyped into one another within the allowed distance; the bound keeps
// the table on the stack.
#define MAX_NAME 63

static unsigned change_cost(char a, char b) {
  if (a == b)
    return 0;
  return tolower((unsigned char)a) == tolower((unsigned char)b) ? 1 : 2;
}

static unsigned min2(unsigned a, unsigned b) {
  return a < b ? a : b;
}

// Optimal string alignment distance in half edits: insert, delete, change and swap cost 2, a change
// of case 1.
static unsigned distance(const char *a, size_t a_len, const char *b, size_t b_len) {
  unsigned table[3][MAX_NAME + 1];
  for (size_t j = 0; j <= b_len; j++)
    table[0][j] = (unsigned)(2 * j);
  for (size_t i = 1; i <= a_len; i++) {
    unsigned *row = table[i % 3];
    const unsigned *above = table[(i + 2) % 3];
    const unsigned *above2 = table[(i + 1) % 3];
    row[0] = (unsigned)(2 * i);
    for (size_t j = 1; j <= b_len; j++) {
      row[j] = min2(above[j] + 2, row[j - 1] + 2);
      row[j] = min2(row[j], above[j - 1] + change_cost(a[i - 1], b[j - 1]));
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[j] = min2(row[j], above2[j - 2] + 2);
    }
  }
  return table[a_len % 3][b_len];
}

const char *dtg_suggest(const char *name, const char *const *candidates, size_t count) {
  size_t length = strlen(name);
  if (length == 0 || length > MAX_NAME)
    return NULL;
  // A third of the letters may differ, at least one in a name of two letters or more.
  unsigned limit = length < 2 ? 1 : 2 * (unsigned)((length + 2) / 3);
  const char *best = NULL;
  unsigned best_distance = limit + 1;
  for (size_t i = 0; i < count; i++) {
    if (!candidates[i])
      continue;
    size_t candidate_length = strlen(candidates[i]);
    if (candidate_length > MAX_NAME || candidate_length == 0)
      continue;
    unsigned d = distance(name, length, candidates[i], candidate_length);
    // A two-letter name must share a letter with what is proposed.
    if (d < best_distance && d < 2 * min2((unsigned)length, (unsigned)candidate_length)) {
      best = candidates[i];
      best_distance = d;
    }
  }
  return best;
}
