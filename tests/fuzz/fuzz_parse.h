// The front of the compiler on arbitrary bytes: must end without a crash, and what parses must
// print, parse again to the same tree, and print the same text. Breaking this is a dtg_bug.
// Thread rule: callable from any thread.
#ifndef DTG_TESTS_FUZZ_FUZZ_PARSE_H
#define DTG_TESTS_FUZZ_FUZZ_PARSE_H

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#endif
