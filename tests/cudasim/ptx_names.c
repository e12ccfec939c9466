#include "tests/cudasim/ptx_parse.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

uint32_t ptx_scope_begin(const struct ptx_parser *p) {
  return p->name_count;
}

void ptx_scope_end(struct ptx_parser *p, uint32_t scope) {
  while (p->name_count > scope)
    free(p->names[--p->name_count].text);
}

static void clear_labels(struct ptx_parser *p) {
  for (uint32_t i = 0; i < p->label_count; i++)
    free(p->labels[i].text);
  for (uint32_t i = 0; i < p->use_count; i++)
    free(p->uses[i].text);
  p->label_count = p->use_count = 0;
}

void ptx_scope_free(struct ptx_parser *p) {
  ptx_scope_end(p, 0);
  clear_labels(p);
  free(p->names);
  free(p->labels);
  free(p->uses);
}

static void add_name(struct ptx_parser *p, const char *text, uint32_t number, int64_t count) {
  p->names = ptx_grow(p->names, p->name_count, sizeof *p->names);
  p->names[p->name_count++] = (struct ptx_name){strdup(text), number, count};
}

void ptx_scope_symbol(struct ptx_parser *p, uint32_t symbol) {
  add_name(p, p->module->symbols[symbol].name, symbol, -2);
}

void ptx_scope_registers(struct ptx_parser *p, const char *name, int64_t count, uint32_t first) {
  add_name(p, name, first, count);
}

/* Inner scopes hide outer ones. */
uint32_t ptx_find_register(const struct ptx_parser *p, const char *name) {
  size_t stem = strlen(name);
  while (stem > 0 && isdigit((unsigned char)name[stem - 1]))
    stem--;
  for (uint32_t i = p->name_count; i-- > 0;) {
    const struct ptx_name *n = &p->names[i];
    if (n->count == -1 && strcmp(n->text, name) == 0)
      return n->number;
    if (n->count >= 0 && strlen(n->text) == stem && memcmp(n->text, name, stem) == 0 &&
        name[stem] && atoll(name + stem) < n->count)
      return n->number + (uint32_t)atoll(name + stem);
  }
  return PTX_NONE;
}

uint32_t ptx_find_symbol(const struct ptx_parser *p, const char *name) {
  for (uint32_t i = p->name_count; i-- > 0;)
    if (p->names[i].count == -2 && strcmp(p->names[i].text, name) == 0)
      return p->names[i].number;
  for (uint32_t i = 0; i < p->module->symbol_count; i++) {
    const struct ptx_symbol *symbol = &p->module->symbols[i];
    if (symbol->space != PTX_PARAM && symbol->space != PTX_LOCAL && strcmp(symbol->name, name) == 0)
      return i;
  }
  return PTX_NONE;
}

void ptx_define_label(struct ptx_parser *p, const char *name, uint32_t at) {
  p->labels = ptx_grow(p->labels, p->label_count, sizeof *p->labels);
  p->labels[p->label_count++] = (struct ptx_label){strdup(name), at};
}

void ptx_use_label(struct ptx_parser *p, const char *name, uint32_t instruction) {
  p->uses = ptx_grow(p->uses, p->use_count, sizeof *p->uses);
  p->uses[p->use_count++] = (struct ptx_label){strdup(name), instruction};
}

bool ptx_resolve_labels(struct ptx_parser *p, struct ptx_function *f) {
  for (uint32_t i = 0; i < p->use_count; i++) {
    uint32_t found = PTX_NONE;
    for (uint32_t k = 0; k < p->label_count; k++)
      if (strcmp(p->labels[k].text, p->uses[i].text) == 0)
        found = p->labels[k].at;
    if (found == PTX_NONE)
      return ptx_fail(p, "no label `%s` in %s", p->uses[i].text, f->name);
    f->insts[p->uses[i].at].operands[0].value = found;
  }
  clear_labels(p);
  return true;
}
