/* What the environment says, as text and as numbers.
 *
 * Ownership: texts are the environment's. Threads: any that the environment allows.
 */
#ifndef DTR_START_WORDS_H
#define DTR_START_WORDS_H

#include "runtime/env.h"

/* NULL: not set, or empty, which is the same to launchers. */
const char *dtr_variable(const struct dtr_env *env, const char *name);
/* Decimal digits and nothing else, from 0 to INT64_MAX. */
bool dtr_parse_number(const char *text, int64_t *number);

#endif
