// dtgc diff: what differs between two plans.
//
// Purpose: says it in lines of their own, so that two builds can be compared without reading two
// files. Works on any version of the schema: rows of a list are matched by the key that names them
// (path, device, name, ...), not by position. Thread rule: pure.
#ifndef DTG_TOOLS_DIFF_H
#define DTG_TOOLS_DIFF_H

#include "compiler/base/strbuf.h"

enum dtg_diff_result { DTG_DIFF_EQUAL = 0, DTG_DIFF_DIFFERENT = 1, DTG_DIFF_UNREADABLE = 2 };

// `a` and `b`: files as written by `dtgc plan --format=json`. The differences go to `out`, in the
// order of file a, what only b has behind it; a file that is no plan is explained in `why`.
enum dtg_diff_result dtg_diff_files(const char *a, const char *b, struct dtg_strbuf *out,
                                    struct dtg_strbuf *why);

#endif
