#include "compiler/base/vec.h"

#include <string.h>

void *dtg_vec_grow(struct dtg_arena *arena, void *data, size_t len, size_t *cap, size_t size) {
  if (len < *cap)
    return data;
  size_t grown = *cap ? *cap * 2 : 4;
  void *copy = dtg_alloc_array(arena, grown, size);
  if (len)
    memcpy(copy, data, len * size);
  *cap = grown;
  return copy;
}
