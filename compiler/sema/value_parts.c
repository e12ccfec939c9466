// Values made of parts: strings with names in them, and lists.
#include "compiler/sema/value.h"

struct dtg_value dtg_value_of_string(const struct dtg_value_reader *reader,
                                     const struct dtg_ast_string *string) {
  struct dtg_strbuf text = {0};
  bool failed = false;
  for (size_t i = 0; i < string->parts.len; i++) {
    const struct dtg_ast_string_part *part = &string->parts.data[i];
    if (!part->is_name) {
      dtg_strbuf_puts(&text, part->text);
      continue;
    }
    struct dtg_value value = reader->name(reader->scope, part->text, part->span);
    failed |= value.kind == DTG_VALUE_ERROR;
    if (value.kind == DTG_VALUE_STRING)
      dtg_strbuf_puts(&text, value.s);
    else
      dtg_value_print(&value, &text);
  }
  const char *interned = dtg_intern_z(&reader->ctx->names, dtg_strbuf_text(&text));
  dtg_strbuf_free(&text);
  return failed ? dtg_value_error() : dtg_value_string(interned);
}

struct dtg_value dtg_value_of_list(const struct dtg_value_reader *reader,
                                   const struct dtg_ast_expr *list) {
  struct dtg_value out = {.kind = DTG_VALUE_LIST, .list.count = list->list.elements.len};
  out.list.items = DTG_NEW_ARRAY(&reader->ctx->arena, struct dtg_value, out.list.count);
  bool failed = false;
  for (size_t i = 0; i < out.list.count; i++) {
    out.list.items[i] = reader->expression(reader->scope, list->list.elements.data[i]);
    failed |= out.list.items[i].kind == DTG_VALUE_ERROR;
  }
  return failed ? dtg_value_error() : out;
}
