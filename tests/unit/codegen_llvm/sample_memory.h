// The buffers of a random kernel, filled from a seed, and how two results are compared.
#ifndef TESTS_CODEGEN_LLVM_SAMPLE_MEMORY_H
#define TESTS_CODEGEN_LLVM_SAMPLE_MEMORY_H

#include "generate.h"

enum { SAMPLE_BUFFERS = 24 };

struct sample_memory {
  char *data[SAMPLE_BUFFERS]; // between pages that fault
  size_t size[SAMPLE_BUFFERS];
  uint32_t count;
};

void sample_memory_make(struct sample_memory *memory, const struct cg_sample *sample,
                        uint64_t seed);
void sample_memory_free(struct sample_memory *memory);
// Fails the test at the first element that is not near what it should be.
void sample_compare(const struct cg_sample *sample, const struct sample_memory *want,
                    const struct sample_memory *got, const struct cg_tolerance *tolerance,
                    const char *what, uint64_t seed);

#endif
