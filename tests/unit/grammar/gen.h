// Random valid syntax trees, for property tests.
//
// The same seed gives the same tree. Nodes live in the context; spans are empty and the tree's file
// is DTG_NO_FILE. Thread rule: that of the context.
#ifndef DTG_TESTS_UNIT_GRAMMAR_GEN_H
#define DTG_TESTS_UNIT_GRAMMAR_GEN_H

#include "compiler/base/ctx.h"
#include "grammar/ast.h"

struct dtg_random {
  uint64_t state;
};

uint64_t dtg_random_next(struct dtg_random *random);
// 0 <= result < bound
uint32_t dtg_random_below(struct dtg_random *random, uint32_t bound);

// A file of about `items` items of every kind, with bodies and expressions of moderate depth.
struct dtg_ast_file *dtg_gen_file(struct dtg_ctx *ctx, uint64_t seed, uint32_t items);

#endif
