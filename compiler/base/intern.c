#include "compiler/base/intern.h"

#include <stdint.h>
#include <string.h>

struct dtg_intern_slot {
  const char *text;
  size_t size;
  uint64_t hash;
};

void dtg_intern_init(struct dtg_intern *names) {
  *names = (struct dtg_intern){0};
}

void dtg_intern_free(struct dtg_intern *names) {
  dtg_arena_free(&names->arena);
  *names = (struct dtg_intern){0};
}

// FNV-1a, 64 bits (offset basis and prime of its authors' page).
static uint64_t hash_bytes(const char *text, size_t size) {
  uint64_t hash = UINT64_C(14695981039346656037);
  for (size_t i = 0; i < size; i++)
    hash = (hash ^ (unsigned char)text[i]) * UINT64_C(1099511628211);
  return hash;
}

static struct dtg_intern_slot *find_slot(struct dtg_intern *names, const char *text, size_t size,
                                         uint64_t hash) {
  size_t at = hash & (names->cap - 1);
  for (;;) {
    struct dtg_intern_slot *slot = &names->slots[at];
    if (!slot->text)
      return slot;
    if (slot->hash == hash && slot->size == size && memcmp(slot->text, text, size) == 0)
      return slot;
    at = (at + 1) & (names->cap - 1);
  }
}

static void grow(struct dtg_intern *names) {
  struct dtg_intern_slot *old = names->slots;
  size_t old_cap = names->cap;
  names->cap = old_cap ? old_cap * 2 : 256;
  names->slots = DTG_NEW_ARRAY(&names->arena, struct dtg_intern_slot, names->cap);
  for (size_t i = 0; i < old_cap; i++)
    if (old[i].text)
      *find_slot(names, old[i].text, old[i].size, old[i].hash) = old[i];
}

const char *dtg_intern(struct dtg_intern *names, const char *text, size_t size) {
  if (names->len * 4 >= names->cap * 3)
    grow(names);
  uint64_t hash = hash_bytes(text, size);
  struct dtg_intern_slot *slot = find_slot(names, text, size, hash);
  if (!slot->text) {
    *slot = (struct dtg_intern_slot){dtg_arena_strndup(&names->arena, text, size), size, hash};
    names->len++;
  }
  return slot->text;
}

const char *dtg_intern_z(struct dtg_intern *names, const char *text) {
  return dtg_intern(names, text, strlen(text));
}
