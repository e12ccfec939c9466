// Growable arrays in an arena, for any element type.
//
// `DTG_VEC(type)` declares the struct { data, len, cap }; a zeroed one is empty.
// Ownership: elements live in the arena; growing leaves the old array to it, so pointers to
// elements stay readable but stale after a push. Thread rule: that of the arena.
#ifndef DTG_BASE_VEC_H
#define DTG_BASE_VEC_H

#include "compiler/base/arena.h"

#include <stddef.h>

#define DTG_VEC(type) \
  struct {            \
    type *data;       \
    size_t len;       \
    size_t cap;       \
  }

// The array with room for `len` + 1 elements: `data` itself, or a larger copy.
void *dtg_vec_grow(struct dtg_arena *arena, void *data, size_t len, size_t *cap, size_t size);

#define dtg_vec_push(arena, vec, value)                                                   \
  do {                                                                                    \
    (vec)->data =                                                                         \
        dtg_vec_grow((arena), (vec)->data, (vec)->len, &(vec)->cap, sizeof *(vec)->data); \
    (vec)->data[(vec)->len] = (value);                                                    \
    (vec)->len++;                                                                         \
  } while (0)

#define dtg_vec_last(vec) ((vec)->data[(vec)->len - 1])

#endif
