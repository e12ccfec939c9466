// Interned strings: equal texts give the same pointer, so names compare with `==`.
//
// Ownership: the texts belong to the table. Lifetime: until dtg_intern_free.
// Thread rule: one thread at a time per table.
#ifndef DTG_BASE_INTERN_H
#define DTG_BASE_INTERN_H

#include "compiler/base/arena.h"

#include <stddef.h>

struct dtg_intern_slot;

struct dtg_intern {
  struct dtg_arena arena;
  struct dtg_intern_slot *slots; // open addressing, capacity a power of two
  size_t len;
  size_t cap;
};

void dtg_intern_init(struct dtg_intern *names);
void dtg_intern_free(struct dtg_intern *names);

// The unique NUL-terminated copy of the `size` bytes at `text`.
const char *dtg_intern(struct dtg_intern *names, const char *text, size_t size);
const char *dtg_intern_z(struct dtg_intern *names, const char *text);

#endif
