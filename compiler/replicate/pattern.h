// Patterns of `place`, `prefer` and `params` over paths such as `block[3].attn.q.w`.
//
// `*` stays within one path component (no `.`), `**` crosses, `?` is one character but `.`, `{a,b}`
// is either; brackets are literal. Thread rule: pure.
#ifndef DTG_REPLICATE_PATTERN_H
#define DTG_REPLICATE_PATTERN_H

#include <stdbool.h>

bool dtg_pattern_match(const char *pattern, const char *path);

#endif
