/* The checks that hold for every op: operand count and attribute schema. */
#include "compiler/base/strbuf.h"
#include "compiler/ops/support.h"

#include <inttypes.h>
#include <string.h>

static const char *const kind_names[] = {
    [DTG_ATTR_INT] = "int",       [DTG_ATTR_FLOAT] = "float", [DTG_ATTR_BOOL] = "bool",
    [DTG_ATTR_STRING] = "string", [DTG_ATTR_INTS] = "ints",   [DTG_ATTR_DTYPE] = "dtype",
};

static int kind_from_name(const char *name, size_t length) {
  for (int kind = 0; kind <= DTG_ATTR_DTYPE; kind++) {
    if (strlen(kind_names[kind]) == length && memcmp(kind_names[kind], name, length) == 0)
      return kind;
  }
  return -1;
}

bool dtg_attr_schema_next(const char **cursor, struct dtg_attr_schema *out) {
  const char *text = *cursor + strspn(*cursor, " ");
  if (*text == '\0')
    return false;
  size_t length = strcspn(text, " "), name = strcspn(text, ":");
  size_t kind_length = strcspn(text + name + 1, " =");
  out->name = text;
  out->name_length = name;
  out->kind = kind_from_name(text + name + 1, kind_length);
  out->required = text[name + 1 + kind_length] != '=';
  *cursor = text + length;
  return true;
}

static bool schema_find(const struct dtg_op_def *op, const char *name,
                        struct dtg_attr_schema *out) {
  const char *cursor = op->attributes ? op->attributes : "";
  while (dtg_attr_schema_next(&cursor, out)) {
    if (strlen(name) == out->name_length && memcmp(name, out->name, out->name_length) == 0)
      return true;
  }
  return false;
}

static bool check_attr(const struct dtg_infer_call *call, uint32_t index) {
  const struct dtg_attr *attr = &call->attrs[index];
  struct dtg_attr_schema schema;
  if (!schema_find(call->op, attr->name, &schema))
    return dtg_fail(call, "`%s` has no attribute `%s`", call->op->name, attr->name);
  if (dtg_attrs_find(call->attrs, index, attr->name))
    return dtg_fail(call, "`%s` has attribute `%s` twice", call->op->name, attr->name);
  bool fits = schema.kind < 0 ? attr->kind <= DTG_ATTR_BOOL : (int)attr->kind == schema.kind;
  if (!fits)
    return dtg_fail(call, "attribute `%s` of `%s` is of kind %s, but must be %s", attr->name,
                    call->op->name, kind_names[attr->kind],
                    schema.kind < 0 ? "int, float or bool" : kind_names[schema.kind]);
  return true;
}

static bool check_required(const struct dtg_infer_call *call) {
  const char *cursor = call->op->attributes ? call->op->attributes : "";
  struct dtg_attr_schema schema;
  while (dtg_attr_schema_next(&cursor, &schema)) {
    bool found = !schema.required;
    for (uint32_t i = 0; i < call->attr_count && !found; i++)
      found = strlen(call->attrs[i].name) == schema.name_length &&
              memcmp(call->attrs[i].name, schema.name, schema.name_length) == 0;
    if (!found)
      return dtg_fail(call, "`%s` needs attribute `%.*s`", call->op->name, (int)schema.name_length,
                      schema.name);
  }
  return true;
}

static bool check_count(const struct dtg_infer_call *call) {
  const struct dtg_op_def *op = call->op;
  if (call->input_count >= op->min_inputs && call->input_count <= op->max_inputs)
    return true;
  return dtg_fail(call, "`%s` takes %s%" PRIu32 " operand%s, got %" PRIu32, op->name,
                  op->min_inputs == op->max_inputs ? "" : "at least ", op->min_inputs,
                  op->min_inputs == 1 ? "" : "s", call->input_count);
}

bool dtg_op_infer(const struct dtg_op_def *op, const struct dtg_infer_call *call,
                  struct dtg_type *out) {
  struct dtg_infer_call full = *call;
  struct dtg_type type = {0};
  full.op = op;
  if (!check_count(&full) || !check_required(&full))
    return false;
  for (uint32_t i = 0; i < full.attr_count; i++) {
    if (!check_attr(&full, i))
      return false;
  }
  if (!op->infer)
    return true;
  if (!op->infer(&full, &type) || !dtg_check_shape(&full, &type))
    return false;
  *out = type;
  return true;
}
