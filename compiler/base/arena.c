#include "compiler/base/arena.h"

#include "compiler/base/bug.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ALIGNMENT 16
#define BLOCK_SIZE ((size_t)64 * 1024)

struct dtg_arena_block {
  struct dtg_arena_block *older;
  _Alignas(ALIGNMENT) char data[];
};

void dtg_arena_init(struct dtg_arena *arena) {
  *arena = (struct dtg_arena){0};
}

void dtg_arena_free(struct dtg_arena *arena) {
  struct dtg_arena_block *block = arena->block;
  while (block) {
    struct dtg_arena_block *older = block->older;
    free(block);
    block = older;
  }
  *arena = (struct dtg_arena){0};
}

static struct dtg_arena_block *new_block(size_t size) {
  struct dtg_arena_block *block = calloc(1, sizeof *block + size);
  if (!block)
    dtg_fatal("out of memory (%zu bytes asked for)", size);
  return block;
}

void *dtg_alloc(struct dtg_arena *arena, size_t size) {
  if (size > SIZE_MAX / 2)
    dtg_fatal("out of memory (%zu bytes asked for)", size);
  size_t rounded = (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
  if (rounded == 0)
    rounded = ALIGNMENT;
  arena->used += rounded;
  if (rounded <= (size_t)(arena->end - arena->next)) {
    char *result = arena->next;
    arena->next += rounded;
    return result;
  }
  if (rounded > BLOCK_SIZE / 4 && arena->block) {
    // A large request gets a block of its own, so that the open block stays in use.
    struct dtg_arena_block *own = new_block(rounded);
    own->older = arena->block->older;
    arena->block->older = own;
    return own->data;
  }
  size_t block_size = rounded > BLOCK_SIZE ? rounded : BLOCK_SIZE;
  struct dtg_arena_block *block = new_block(block_size);
  block->older = arena->block;
  arena->block = block;
  arena->next = block->data + rounded;
  arena->end = block->data + block_size;
  return block->data;
}

void *dtg_alloc_array(struct dtg_arena *arena, size_t count, size_t size) {
  size_t bytes;
  if (__builtin_mul_overflow(count, size, &bytes))
    dtg_fatal("out of memory (%zu elements of %zu bytes asked for)", count, size);
  return dtg_alloc(arena, bytes);
}

char *dtg_arena_strndup(struct dtg_arena *arena, const char *text, size_t size) {
  char *copy = dtg_alloc(arena, size + 1);
  if (size)
    memcpy(copy, text, size);
  return copy;
}

char *dtg_arena_strdup(struct dtg_arena *arena, const char *text) {
  return dtg_arena_strndup(arena, text, strlen(text));
}

char *dtg_arena_vprintf(struct dtg_arena *arena, const char *format, va_list args) {
  va_list again;
  va_copy(again, args);
  int length = vsnprintf(NULL, 0, format, again);
  va_end(again);
  DTG_ASSERT(length >= 0);
  char *text = dtg_alloc(arena, (size_t)length + 1);
  vsnprintf(text, (size_t)length + 1, format, args);
  return text;
}

char *dtg_arena_printf(struct dtg_arena *arena, const char *format, ...) {
  va_list args;
  va_start(args, format);
  char *text = dtg_arena_vprintf(arena, format, args);
  va_end(args);
  return text;
}
