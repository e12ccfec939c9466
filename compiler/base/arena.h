// Arena: memory that is released all at once.
//
// Ownership: everything allocated belongs to the arena; nothing is freed alone.
// Lifetime: until dtg_arena_free. Memory is zeroed. Running out ends the process (dtg_fatal).
// Thread rule: one thread at a time per arena.
#ifndef DTG_BASE_ARENA_H
#define DTG_BASE_ARENA_H

#include <stdarg.h>
#include <stddef.h>

struct dtg_arena_block;

struct dtg_arena {
  struct dtg_arena_block *block; // newest block, linked to the older ones
  char *next;                    // first free byte of the newest block
  char *end;
  size_t used; // bytes handed out, alignment included
};

// A zeroed struct is an initialised arena; init says so in words.
void dtg_arena_init(struct dtg_arena *arena);
void dtg_arena_free(struct dtg_arena *arena);

// Zeroed memory aligned to 16 bytes. A size of 0 gives a valid unique pointer.
void *dtg_alloc(struct dtg_arena *arena, size_t size) __attribute__((returns_nonnull));
// count * size bytes, the product checked.
void *dtg_alloc_array(struct dtg_arena *arena, size_t count, size_t size)
    __attribute__((returns_nonnull));

char *dtg_arena_strdup(struct dtg_arena *arena, const char *text);
// Copies `size` bytes and appends a NUL.
char *dtg_arena_strndup(struct dtg_arena *arena, const char *text, size_t size);
char *dtg_arena_printf(struct dtg_arena *arena, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
char *dtg_arena_vprintf(struct dtg_arena *arena, const char *format, va_list args)
    __attribute__((format(printf, 2, 0)));

#define DTG_NEW(arena, type) ((type *)dtg_alloc((arena), sizeof(type)))
#define DTG_NEW_ARRAY(arena, type, count) \
  ((type *)dtg_alloc_array((arena), (size_t)(count), sizeof(type)))

#endif
