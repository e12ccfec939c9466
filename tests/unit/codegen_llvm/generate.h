// Random kernels for tests: a family, and sizes and operations drawn from a seed.
#ifndef TESTS_CODEGEN_LLVM_GENERATE_H
#define TESTS_CODEGEN_LLVM_GENERATE_H

#include "compiler/ir/kernel.h"

struct cg_random {
  uint64_t state;
};

uint64_t cg_random_next(struct cg_random *random);
// 0 .. bound-1
uint32_t cg_random_below(struct cg_random *random, uint32_t bound);

// How the compiled code may differ from the interpreter: not at all; or, where sums are made in
// another order, by so much of 1 plus the result (inputs are below 1); or else by 5 ulp.
struct cg_tolerance {
  bool exact;
  double relative;
};

struct cg_sample {
  struct cg_kernel *kernel;
  struct cg_tolerance tolerance;
  int64_t index_limit; // integer inputs are drawn from [0, index_limit)
};

// Families cover: element-wise chains with broadcasts, strides and every type; row and column
// reductions; argmax and argmin; gathers and scatters; whole-array reductions in blocks; checks;
// Philox.
uint32_t cg_family_count(void);
const char *cg_family_name(uint32_t family);
struct cg_sample cg_generate(struct dtg_arena *arena, uint32_t family, uint64_t seed,
                             const char *name);

#endif
