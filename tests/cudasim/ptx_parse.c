#include "tests/cudasim/ptx_parse.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- small things ---- */

void *ptx_grow(void *array, uint32_t count, size_t size) {
  if (count & (count - 1)) /* doubles at powers of two */
    return array;
  void *grown = realloc(array, (count ? 2 * (size_t)count : 1) * size);
  if (!grown)
    abort();
  return grown;
}

bool ptx_fail(struct ptx_parser *p, const char *format, ...) {
  char text[PTX_TEXT - 24];
  va_list args;
  if (p->why[0])
    return false;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  snprintf(p->why, PTX_TEXT, "line %u: %s", p->line, text);
  return false;
}

/* ---- tokens ---- */

static bool is_word_char(char c) {
  return isalnum((unsigned char)c) || c == '_' || c == '$' || c == '%' || c == '.' || c == ':';
}

static void skip_blanks(struct ptx_parser *p) {
  while (true) {
    if (*p->at == '\n')
      p->line++;
    if (isspace((unsigned char)*p->at))
      p->at++;
    else if (p->at[0] == '/' && p->at[1] == '/')
      p->at += strcspn(p->at, "\n");
    else
      return;
  }
}

/* The next token into p->token: a word, or one other character. "" at the end. */
void ptx_next(struct ptx_parser *p) {
  size_t length = 0;
  skip_blanks(p);
  while (is_word_char(p->at[length]))
    length++;
  if (length == 0 && *p->at)
    length = 1;
  if (length > 1 && p->at[length - 1] == ':')
    length--; /* a label */
  if (length >= sizeof p->token) {
    ptx_fail(p, "a word of %zu letters", length);
    length = sizeof p->token - 1;
  }
  memcpy(p->token, p->at, length);
  p->token[length] = '\0';
  p->at += length;
}

bool ptx_is(const struct ptx_parser *p, const char *token) {
  return strcmp(p->token, token) == 0;
}

bool ptx_take(struct ptx_parser *p, const char *token) {
  if (!ptx_is(p, token))
    return false;
  ptx_next(p);
  return true;
}

bool ptx_expect(struct ptx_parser *p, const char *token) {
  return ptx_take(p, token) || ptx_fail(p, "expected `%s`, found `%s`", token, p->token);
}

int64_t ptx_number(struct ptx_parser *p) {
  bool negative = ptx_take(p, "-");
  char *end;
  const char *text = p->token;
  int64_t value;
  if (text[0] == '0' && (text[1] == 'f' || text[1] == 'd' || text[1] == 'F' || text[1] == 'D'))
    value = (int64_t)strtoull(text + 2, &end, 16);
  else
    value = (int64_t)strtoull(text, &end, 0);
  if (end == text || (*end && *end != 'U'))
    ptx_fail(p, "`%s` is no number", text);
  ptx_next(p);
  return negative ? (int64_t)(0 - (uint64_t)value) : value;
}

/* ---- types and variables ---- */

bool ptx_type_of(const char *word, struct ptx_type *type) {
  if (strcmp(word, "pred") == 0) {
    *type = (struct ptx_type){'p', 1};
    return true;
  }
  if (!strchr("busf", word[0]) || !isdigit((unsigned char)word[1]))
    return false;
  int bits = atoi(word + 1);
  if (bits != 8 && bits != 16 && bits != 32 && bits != 64)
    return false;
  *type = (struct ptx_type){word[0], (uint8_t)bits};
  return true;
}

static uint32_t add_symbol(struct ptx_parser *p, struct ptx_symbol symbol) {
  struct ptx_module *m = p->module;
  m->symbols = ptx_grow(m->symbols, m->symbol_count, sizeof symbol);
  m->symbols[m->symbol_count] = symbol;
  return m->symbol_count++;
}

static void parse_initial(struct ptx_parser *p, struct ptx_symbol *symbol, int64_t element) {
  ptx_expect(p, "{");
  symbol->initial = calloc((size_t)symbol->size + 8, 1);
  if (!symbol->initial)
    abort();
  for (int64_t at = 0; !ptx_is(p, "}") && !p->why[0]; at += element) {
    int64_t value = ptx_number(p);
    if (at + element > symbol->size)
      ptx_fail(p, "more values than `%s` has room for", symbol->name);
    else
      memcpy(symbol->initial + at, &value, (size_t)element);
    ptx_take(p, ",");
  }
  ptx_expect(p, "}");
}

/* ".align 16 .b8 name[128] = {...}" after the space; with PTX_NONE when it fails. */
static uint32_t parse_variable(struct ptx_parser *p, enum ptx_space space) {
  struct ptx_symbol symbol = {.space = space, .align = 1};
  struct ptx_type type = {0, 0};
  while (p->token[0] == '.') {
    if (ptx_take(p, ".align"))
      symbol.align = ptx_number(p);
    else if (ptx_type_of(p->token + 1, &type))
      ptx_next(p);
    else
      ptx_next(p); /* .ptr and the like say nothing about the layout */
  }
  symbol.size = type.bits / 8;
  if (symbol.align < symbol.size)
    symbol.align = symbol.size;
  symbol.name = strdup(p->token);
  ptx_next(p);
  if (ptx_take(p, "[")) {
    symbol.size *= ptx_number(p);
    ptx_expect(p, "]");
  }
  if (ptx_take(p, "="))
    parse_initial(p, &symbol, type.bits / 8);
  return add_symbol(p, symbol);
}

static int64_t place(int64_t *bytes, const struct ptx_symbol *symbol) {
  int64_t at = (*bytes + symbol->align - 1) / symbol->align * symbol->align;
  *bytes = at + symbol->size;
  return at;
}

static bool parse_space(struct ptx_parser *p, enum ptx_space *space) {
  static const struct {
    const char *word;
    enum ptx_space space;
  } spaces[] = {{".global", PTX_GLOBAL},
                {".const", PTX_GLOBAL},
                {".shared", PTX_SHARED},
                {".local", PTX_LOCAL},
                {".param", PTX_PARAM}};
  for (size_t i = 0; i < sizeof spaces / sizeof *spaces; i++)
    if (ptx_take(p, spaces[i].word)) {
      *space = spaces[i].space;
      return true;
    }
  return false;
}

/* A variable of the module (`f` NULL) or of a function. */
static bool parse_declaration(struct ptx_parser *p, struct ptx_function *f) {
  enum ptx_space space;
  while (ptx_take(p, ".visible") || ptx_take(p, ".extern") || ptx_take(p, ".weak"))
    ;
  if (!parse_space(p, &space))
    return ptx_fail(p, "unknown directive `%s`", p->token);
  uint32_t number = parse_variable(p, space);
  struct ptx_symbol *symbol = &p->module->symbols[number];
  symbol->in_function = f != NULL;
  if (space == PTX_SHARED)
    symbol->offset = place(f ? &f->shared_bytes : &p->module->shared_bytes, symbol);
  if (space == PTX_LOCAL && f)
    symbol->offset = place(&f->local_bytes, symbol);
  if (space == PTX_PARAM && f)
    symbol->offset = place(&f->param_bytes, symbol);
  if (f)
    ptx_scope_symbol(p, number);
  return ptx_expect(p, ";");
}

/* ---- functions ---- */

/* (.param .b64 a, ...): numbers of the symbols, placed in the function's parameters. */
static bool parse_params(struct ptx_parser *p, struct ptx_function *f, uint32_t **list,
                         uint32_t *count) {
  if (!ptx_expect(p, "("))
    return false;
  while (!ptx_is(p, ")") && !p->why[0]) {
    if (!ptx_expect(p, ".param"))
      return false;
    uint32_t number = parse_variable(p, PTX_PARAM);
    p->module->symbols[number].offset = place(&f->param_bytes, &p->module->symbols[number]);
    *list = ptx_grow(*list, *count, sizeof **list);
    (*list)[(*count)++] = number;
    ptx_scope_symbol(p, number);
    ptx_take(p, ",");
  }
  return ptx_expect(p, ")");
}

/* .reg .b32 %r<11>, or names with commas. */
static bool parse_registers(struct ptx_parser *p, struct ptx_function *f) {
  struct ptx_type type;
  if (!ptx_type_of(p->token + 1, &type))
    return ptx_fail(p, "unknown type `%s`", p->token);
  ptx_next(p);
  do {
    char name[sizeof p->token];
    int64_t count = -1;
    snprintf(name, sizeof name, "%s", p->token);
    ptx_next(p);
    if (ptx_take(p, "<")) {
      count = ptx_number(p);
      ptx_expect(p, ">");
    }
    ptx_scope_registers(p, name, count, f->register_count);
    f->register_count += count < 0 ? 1 : (uint32_t)count;
  } while (ptx_take(p, ","));
  return ptx_expect(p, ";");
}

static bool parse_block(struct ptx_parser *p, struct ptx_function *f);

static bool parse_statement(struct ptx_parser *p, struct ptx_function *f) {
  if (ptx_is(p, "{"))
    return parse_block(p, f);
  if (ptx_take(p, ".reg"))
    return parse_registers(p, f);
  if (ptx_is(p, ".loc") || ptx_is(p, ".pragma") || ptx_is(p, ".file")) {
    while (!ptx_is(p, ";") && p->token[0])
      ptx_next(p);
    return ptx_expect(p, ";");
  }
  if (p->token[0] == '.')
    return parse_declaration(p, f);
  if (*p->at == ':') {
    p->at++;
    ptx_define_label(p, p->token, f->inst_count);
    ptx_next(p);
    return !p->why[0];
  }
  return ptx_parse_instruction(p, f);
}

static bool parse_block(struct ptx_parser *p, struct ptx_function *f) {
  uint32_t scope = ptx_scope_begin(p);
  ptx_expect(p, "{");
  while (!ptx_is(p, "}")) {
    if (p->token[0] == '\0')
      return ptx_fail(p, "a block has no end");
    if (!parse_statement(p, f))
      return false;
  }
  ptx_scope_end(p, scope);
  ptx_next(p);
  return true;
}

/* A function may be declared before it is defined. */
static uint32_t add_function(struct ptx_parser *p, const char *name) {
  struct ptx_module *m = p->module;
  for (uint32_t i = 0; i < m->function_count; i++)
    if (strcmp(m->functions[i].name, name) == 0)
      return i;
  m->functions = ptx_grow(m->functions, m->function_count, sizeof *m->functions);
  m->functions[m->function_count] = (struct ptx_function){.name = strdup(name)};
  return m->function_count++;
}

static void clear_function(struct ptx_function *f) {
  free(f->params);
  free(f->results);
  free(f->insts);
  *f = (struct ptx_function){.name = f->name, .is_entry = f->is_entry};
}

static bool parse_limits(struct ptx_parser *p, struct ptx_function *f) {
  while (p->token[0] == '.') {
    bool threads = ptx_is(p, ".maxntid");
    int64_t count = 1;
    ptx_next(p);
    while (isdigit((unsigned char)p->token[0])) {
      count *= ptx_number(p);
      ptx_take(p, ",");
    }
    if (threads)
      f->max_threads = (uint32_t)count;
  }
  return true;
}

static bool parse_function(struct ptx_parser *p, bool is_entry) {
  struct ptx_function scratch = {0};
  uint32_t scope = ptx_scope_begin(p);
  if (!is_entry && ptx_is(p, "(") &&
      !parse_params(p, &scratch, &scratch.results, &scratch.result_count))
    return false;
  uint32_t number = add_function(p, p->token);
  ptx_next(p);
  if (ptx_is(p, "(") && !parse_params(p, &scratch, &scratch.params, &scratch.param_count))
    return false;
  struct ptx_function *f = &p->module->functions[number];
  clear_function(f);
  scratch.name = f->name;
  scratch.is_entry = is_entry;
  *f = scratch;
  parse_limits(p, f);
  bool good = ptx_take(p, ";") || (parse_block(p, f) && ptx_resolve_labels(p, f));
  ptx_scope_end(p, scope);
  return good;
}

static bool parse_directive(struct ptx_parser *p) {
  if (ptx_is(p, ".version") || ptx_is(p, ".target") || ptx_is(p, ".address_size")) {
    ptx_next(p);
    ptx_next(p);
    return true;
  }
  const char *before = p->at;
  char token[sizeof p->token];
  memcpy(token, p->token, sizeof token);
  while (ptx_take(p, ".visible") || ptx_take(p, ".extern") || ptx_take(p, ".weak"))
    ;
  if (ptx_take(p, ".entry"))
    return parse_function(p, true);
  if (ptx_take(p, ".func"))
    return parse_function(p, false);
  p->at = before;
  memcpy(p->token, token, sizeof token);
  return parse_declaration(p, NULL);
}

bool ptx_parse(const char *text, struct ptx_module **module, char *why) {
  struct ptx_parser p = {.at = text, .line = 1, .why = why};
  why[0] = '\0';
  p.module = calloc(1, sizeof *p.module);
  if (!p.module)
    abort();
  ptx_next(&p);
  while (p.token[0] && !why[0] && parse_directive(&p))
    ;
  ptx_scope_free(&p);
  if (!why[0]) {
    *module = p.module;
    return true;
  }
  ptx_free(p.module);
  return false;
}

void ptx_free(struct ptx_module *module) {
  for (uint32_t i = 0; i < module->function_count; i++) {
    clear_function(&module->functions[i]);
    free(module->functions[i].name);
  }
  for (uint32_t i = 0; i < module->symbol_count; i++) {
    free(module->symbols[i].name);
    free(module->symbols[i].initial);
  }
  free(module->functions);
  free(module->symbols);
  free(module);
}

const struct ptx_function *ptx_find(const struct ptx_module *module, const char *name) {
  for (uint32_t i = 0; i < module->function_count; i++)
    if (module->functions[i].is_entry && strcmp(module->functions[i].name, name) == 0)
      return &module->functions[i];
  return NULL;
}
