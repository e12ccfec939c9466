// Source files: loaded once, checked, and addressed by (file, byte range) from token to the
// emitted program.
//
// Ownership: the set owns paths and texts. Lifetime: that of the set (usually the compilation).
// Limits: DTG_SOURCE_MAX_SIZE bytes a file, DTG_SOURCE_MAX_LINE bytes a line; both are checked
// before anything is read into memory or handed on. Thread rule: one thread at a time per set.
#ifndef DTG_BASE_SOURCE_H
#define DTG_BASE_SOURCE_H

#include "compiler/base/arena.h"
#include "compiler/base/vec.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DTG_SOURCE_MAX_SIZE ((size_t)16 << 20)
#define DTG_SOURCE_MAX_LINE ((size_t)1 << 20)
#define DTG_SOURCE_MAX_FILES 65536

struct dtg_diags;

// Bytes [begin, end) of a file. `file` is an index into the source set.
struct dtg_span {
  uint32_t file;
  uint32_t begin;
  uint32_t end;
};

#define DTG_NO_FILE UINT32_MAX
#define DTG_SPAN_NONE ((struct dtg_span){DTG_NO_FILE, 0, 0})

struct dtg_source {
  const char *path;
  const char *text; // NUL-terminated, without a byte order mark
  size_t size;
  DTG_VEC(uint32_t) line_starts; // offsets of the first byte of each line; at least one
};

struct dtg_source_set {
  struct dtg_arena arena;
  DTG_VEC(struct dtg_source *) files;
};

// Lines and columns count from 1; a column is a character, not a byte.
struct dtg_position {
  uint32_t line;
  uint32_t column;
};

void dtg_source_set_init(struct dtg_source_set *set);
void dtg_source_set_free(struct dtg_source_set *set);

// Reads the file at `path`. False, with errors in `diags` at `origin` (the import that asked for
// it, or DTG_SPAN_NONE), if it is missing, unreadable, a directory or too large, or not clean text:
// those errors point into the file itself.
bool dtg_source_load(struct dtg_source_set *set, struct dtg_diags *diags, const char *path,
                     struct dtg_span origin, uint32_t *file);
// The same for a text in memory; `path` is what messages show.
bool dtg_source_add(struct dtg_source_set *set, struct dtg_diags *diags, const char *path,
                    const char *text, size_t size, uint32_t *file);

const struct dtg_source *dtg_source_get(const struct dtg_source_set *set, uint32_t file);
struct dtg_position dtg_source_position(const struct dtg_source_set *set, uint32_t file,
                                        uint32_t offset);
// "path:line:column" of the span's start in the arena; "" for DTG_SPAN_NONE.
const char *dtg_span_text(struct dtg_arena *arena, const struct dtg_source_set *set,
                          struct dtg_span span);
// The same with the file's name alone, for texts that must not depend on where the tree lies.
const char *dtg_span_short(struct dtg_arena *arena, const struct dtg_source_set *set,
                           struct dtg_span span);
// What follows the last slash of a path; points into it.
const char *dtg_base_name(const char *path);

// The smallest span holding both; a NONE side is ignored.
struct dtg_span dtg_span_join(struct dtg_span first, struct dtg_span second);

// Length in bytes (1..4) of the well-formed UTF-8 character at `text`, 0 if there is none
// (Unicode 15, table 3-7: no overlong forms, no surrogates).
size_t dtg_utf8_length(const char *text, size_t size);

#endif
