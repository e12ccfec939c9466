/* Flags of a built program; the table is flags.def.
 *
 * Ownership: texts point into argv. Threads: any.
 */
#ifndef DTR_FLAGS_H
#define DTR_FLAGS_H

#include "dtr_abi.h"
#include "runtime/error.h"

#include <stdio.h>

enum { DTR_FLAG_UNSET = -1 };

struct dtr_flags {
#define DTR_FIELD_ON(name) bool name;
#define DTR_FIELD_TEXT(name) const char *name;
#define DTR_FIELD_COUNT(name) int64_t name;
#define DTR_FIELD_WHOLE(name) int64_t name;
#define X(name, argument, kind, help) DTR_FIELD_##kind(name)
#include "runtime/flags.def"
#undef X
};

/* Reads `--flag value` and `--flag=value`. Unset: false, NULL, DTR_FLAG_UNSET. Errors (status
 * USAGE): an unknown flag, with the nearest one; a missing, empty or unwanted argument; a count
 * that is none; a flag twice; flags that exclude each other. */
bool dtr_flags_parse(int argc, char **argv, struct dtr_flags *flags, struct dtr_error *error);
void dtr_flags_help(const struct dtr_program *program, FILE *stream);

#endif
