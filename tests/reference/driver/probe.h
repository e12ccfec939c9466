/* Asks dtgc what it knows, so that cases of what is not built yet are listed and not failed. */
#ifndef REF_PROBE_H
#define REF_PROBE_H

#include "driver.h"

/* Whether dtgc knows this function, layer or optimizer: in every file, or in the standard library.
 * Asks once a name; a dry run asks nothing and takes all as known. */
bool ref_knows(struct ref_driver *driver, const char *name);

#endif
