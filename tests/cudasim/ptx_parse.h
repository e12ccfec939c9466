/* State of the parser of PTX. Private to this folder. */
#ifndef CUDASIM_PTX_PARSE_H
#define CUDASIM_PTX_PARSE_H

#include "tests/cudasim/ptx.h"

struct ptx_name {
  char *text;
  uint32_t number; /* first register, or symbol */
  int64_t count;   /* registers text0 .. text(count - 1); -1: one; -2: a symbol */
};

struct ptx_label {
  char *text;
  uint32_t at;
};

struct ptx_parser {
  const char *at;
  uint32_t line;
  char token[512];
  char *why;
  struct ptx_module *module;
  uint32_t name_count, label_count, use_count;
  struct ptx_name *names;   /* of the open scopes */
  struct ptx_label *labels; /* of the open function */
  struct ptx_label *uses;   /* instructions that jump to a label */
};

/* ptx_parse.c */
void *ptx_grow(void *array, uint32_t count, size_t size);
bool ptx_fail(struct ptx_parser *p, const char *format, ...) __attribute__((format(printf, 2, 3)));
void ptx_next(struct ptx_parser *p);
bool ptx_is(const struct ptx_parser *p, const char *token);
bool ptx_take(struct ptx_parser *p, const char *token);
bool ptx_expect(struct ptx_parser *p, const char *token);
int64_t ptx_number(struct ptx_parser *p);
bool ptx_type_of(const char *word, struct ptx_type *type);

/* ptx_names.c: scopes of registers and symbols, labels of a function. */
uint32_t ptx_scope_begin(const struct ptx_parser *p);
void ptx_scope_end(struct ptx_parser *p, uint32_t scope);
void ptx_scope_free(struct ptx_parser *p);
void ptx_scope_symbol(struct ptx_parser *p, uint32_t symbol);
void ptx_scope_registers(struct ptx_parser *p, const char *name, int64_t count, uint32_t first);
/* PTX_NONE: there is none of this name. */
uint32_t ptx_find_register(const struct ptx_parser *p, const char *name);
uint32_t ptx_find_symbol(const struct ptx_parser *p, const char *name);
void ptx_define_label(struct ptx_parser *p, const char *name, uint32_t at);
void ptx_use_label(struct ptx_parser *p, const char *name, uint32_t instruction);
bool ptx_resolve_labels(struct ptx_parser *p, struct ptx_function *f);

/* ptx_instruction.c */
bool ptx_parse_instruction(struct ptx_parser *p, struct ptx_function *f);

#endif
