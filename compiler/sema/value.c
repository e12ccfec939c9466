#include "compiler/sema/value.h"

#include <inttypes.h>

struct dtg_value dtg_value_error(void) {
  return (struct dtg_value){.kind = DTG_VALUE_ERROR};
}

struct dtg_value dtg_value_int(int64_t value) {
  return (struct dtg_value){.kind = DTG_VALUE_INT, .i = value};
}

struct dtg_value dtg_value_float(double value) {
  return (struct dtg_value){.kind = DTG_VALUE_FLOAT, .f = value};
}

struct dtg_value dtg_value_bool(bool value) {
  return (struct dtg_value){.kind = DTG_VALUE_BOOL, .b = value};
}

struct dtg_value dtg_value_string(const char *interned) {
  return (struct dtg_value){.kind = DTG_VALUE_STRING, .s = interned};
}

bool dtg_value_is_static(const struct dtg_value *value) {
  if (value->kind != DTG_VALUE_LIST)
    return value->kind >= DTG_VALUE_INT && value->kind <= DTG_VALUE_DTYPE;
  for (size_t i = 0; i < value->list.count; i++) {
    if (!dtg_value_is_static(&value->list.items[i]))
      return false;
  }
  return true;
}

bool dtg_value_is_number(const struct dtg_value *value) {
  return value->kind == DTG_VALUE_INT || value->kind == DTG_VALUE_FLOAT;
}

double dtg_value_number(const struct dtg_value *value) {
  return value->kind == DTG_VALUE_INT ? (double)value->i : value->f;
}

static bool lists_equal(const struct dtg_value *a, const struct dtg_value *b) {
  if (a->list.count != b->list.count)
    return false;
  for (size_t i = 0; i < a->list.count; i++) {
    if (!dtg_value_equal(&a->list.items[i], &b->list.items[i]))
      return false;
  }
  return true;
}

bool dtg_value_equal(const struct dtg_value *a, const struct dtg_value *b) {
  if (dtg_value_is_number(a) && dtg_value_is_number(b)) {
    if (a->kind == DTG_VALUE_INT && b->kind == DTG_VALUE_INT)
      return a->i == b->i;
    return dtg_value_number(a) == dtg_value_number(b);
  }
  if (a->kind != b->kind)
    return false;
  switch (a->kind) {
  case DTG_VALUE_BOOL:
    return a->b == b->b;
  case DTG_VALUE_STRING:
    return a->s == b->s;
  case DTG_VALUE_DTYPE:
    return a->dtype == b->dtype;
  case DTG_VALUE_LIST:
    return lists_equal(a, b);
  default:
    return false;
  }
}

const char *dtg_value_kind_text(const struct dtg_value *value) {
  switch (value->kind) {
  case DTG_VALUE_INT:
    return "an int";
  case DTG_VALUE_FLOAT:
    return "a float";
  case DTG_VALUE_BOOL:
    return "a bool";
  case DTG_VALUE_STRING:
    return "a string";
  case DTG_VALUE_LIST:
    return "a list";
  case DTG_VALUE_DTYPE:
    return "an element type";
  case DTG_VALUE_FUNCTION:
    return "a function";
  case DTG_VALUE_INSTANCE:
    return "a layer instance";
  case DTG_VALUE_TENSOR:
    return value->weak ? "a number known at run time" : "a tensor";
  case DTG_VALUE_ERROR:
    break;
  }
  return "nothing";
}

static void list_print(const struct dtg_value *value, struct dtg_strbuf *out) {
  dtg_strbuf_putc(out, '[');
  for (size_t i = 0; i < value->list.count; i++) {
    if (i > 0)
      dtg_strbuf_puts(out, ", ");
    dtg_value_print(&value->list.items[i], out);
  }
  dtg_strbuf_putc(out, ']');
}

void dtg_value_print(const struct dtg_value *value, struct dtg_strbuf *out) {
  switch (value->kind) {
  case DTG_VALUE_INT:
    dtg_strbuf_printf(out, "%" PRId64, value->i);
    break;
  case DTG_VALUE_FLOAT:
    dtg_strbuf_f64(out, value->f);
    break;
  case DTG_VALUE_BOOL:
    dtg_strbuf_puts(out, value->b ? "true" : "false");
    break;
  case DTG_VALUE_STRING:
    dtg_strbuf_quote(out, value->s, __builtin_strlen(value->s));
    break;
  case DTG_VALUE_DTYPE:
    dtg_strbuf_puts(out, dtg_dtype_name(value->dtype));
    break;
  case DTG_VALUE_LIST:
    list_print(value, out);
    break;
  default:
    dtg_strbuf_puts(out, dtg_value_kind_text(value));
    break;
  }
}
