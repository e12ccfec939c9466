/* How each op of the reference data is written in the language.
 *
 * A row's expression is a template:
 *   in_NAME     the input NAME
 *   $ATTR       ", ATTR = value"; nothing where the attribute is null
 *   %ATTR       the value of the attribute
 *   %%          all inputs, separated by commas
 *   #NAME:AXIS  the size of an axis of the input NAME
 *   #part       the index of the output among several
 * Rows that have no expression are ops that the compiler cannot do yet: as soon as dtgc knows one
 * of the names they wait for, their cases count as failed until somebody writes the expression.
 */
#ifndef REF_EXPRESSIONS_H
#define REF_EXPRESSIONS_H

#include "driver.h"

struct ref_row {
  const char *op;
  const char *expression;
  const char *import; /* "std.layers { dense }", or NULL */
  const char *owned;  /* "w=w b=b": inputs that are parameters of the layer `it`, by its names */
  const char *waits;  /* for this name, if dtgc need not know it yet; NULL: it must */
};

/* NULL if there is none. */
const struct ref_row *ref_row_find(const char *op);
/* The path below the case of an input that the layer owns, in the arena; NULL if it is not one. */
const char *ref_row_owned(struct ref_driver *driver, const struct ref_row *row, const char *input);
/* `file` is the case's entry of index.json; `part` the output. */
void ref_row_write(struct dtg_strbuf *out, const struct ref_row *row, const json_t *file,
                   size_t part);

#endif
