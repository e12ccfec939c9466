// Built-in functions by name, and ops called by name.
#include "compiler/build/functions.h"

#include <inttypes.h>
#include <string.h>

// ---- arguments by name ----

static size_t index_of(const char *const *names, size_t count, const char *name) {
  size_t i = 0;
  while (i < count && strcmp(names[i], name) != 0)
    i++;
  return i;
}

bool dtg_arguments_read(struct dtg_build *b, const char *name, const struct dtg_build_call *call,
                        const char *const *names, size_t required, size_t count,
                        struct dtg_build_given *out) {
  size_t position = 0;
  for (size_t i = 0; i < call->count; i++) {
    const struct dtg_build_argument *argument = &call->arguments[i];
    size_t index = argument->name ? index_of(names, count, argument->name) : position++;
    if (index >= count && argument->name) {
      struct dtg_diag *diag =
          dtg_build_error(b, argument->span, "`%s` has no argument `%s`", name, argument->name);
      const char *near = dtg_suggest(argument->name, names, count);
      if (near)
        dtg_diag_hint(diag, "did you mean `%s`?", near);
      return false;
    }
    if (index >= count || out[index].value.kind != DTG_VALUE_ERROR) {
      dtg_build_error(b, argument->span,
                      index >= count ? "`%s` takes at most %zu argument%s"
                                     : "`%s` is given an argument twice",
                      name, count, count == 1 ? "" : "s");
      return false;
    }
    out[index] = (struct dtg_build_given){argument->value, argument->span};
  }
  for (size_t i = 0; i < required; i++) {
    if (out[i].value.kind == DTG_VALUE_ERROR) {
      dtg_build_error(b, call->span, "`%s` needs `%s`", name, names[i]);
      return false;
    }
  }
  return true;
}

bool dtg_argument_int(struct dtg_build *b, const char *what, const struct dtg_build_given *given,
                      int64_t *out) {
  if (given->value.kind == DTG_VALUE_INT) {
    *out = given->value.i;
    return true;
  }
  dtg_build_error(b, given->span, "`%s` must be an int known at compile time, not %s", what,
                  dtg_value_kind_text(&given->value));
  return false;
}

bool dtg_argument_ints(struct dtg_build *b, const char *what, const struct dtg_build_given *given,
                       int64_t out[DTG_MAX_RANK], uint32_t *count) {
  const struct dtg_value *list = &given->value;
  struct dtg_value one = {.kind = DTG_VALUE_LIST, .list = {1, (struct dtg_value *)list}};
  if (list->kind == DTG_VALUE_INT)
    list = &one;
  bool good = list->kind == DTG_VALUE_LIST && list->list.count <= DTG_MAX_RANK;
  for (size_t i = 0; good && i < list->list.count; i++) {
    good = list->list.items[i].kind == DTG_VALUE_INT;
    out[i] = list->list.items[i].i;
  }
  if (!good) {
    dtg_build_error(b, given->span, "`%s` must be a list of at most %d ints", what, DTG_MAX_RANK);
    return false;
  }
  *count = (uint32_t)list->list.count;
  return true;
}

bool dtg_argument_axis(struct dtg_build *b, int64_t axis, uint32_t rank, struct dtg_span span,
                       int64_t *out) {
  if (axis < -(int64_t)rank || axis >= rank) {
    dtg_build_error(b, span, "there is no axis %" PRId64 ": the tensor has %" PRIu32 " ax%s", axis,
                    rank, rank == 1 ? "is" : "es");
    return false;
  }
  *out = axis < 0 ? axis + rank : axis;
  return true;
}

bool dtg_argument_tensor(struct dtg_build *b, const char *name, const struct dtg_build_given *given,
                         uint32_t *out) {
  const char *what = dtg_arena_printf(&b->ctx->arena, "the operand of `%s`", name);
  return dtg_build_as_tensor(b, &given->value, what, given->span, out);
}

// ---- ops by name ----

static bool attr_value(struct dtg_build *b, const struct dtg_attr_schema *schema,
                       const struct dtg_build_argument *argument, struct dtg_attr *out) {
  const struct dtg_value *value = &argument->value;
  struct dtg_build_given given = {*value, argument->span};
  int64_t ints[DTG_MAX_RANK];
  uint32_t count;
  const char *name = dtg_intern(&b->ctx->names, schema->name, schema->name_length);
  switch (schema->kind) {
  case DTG_ATTR_INT:
    *out = dtg_attr_int(name, value->i);
    if (value->kind == DTG_VALUE_INT)
      return true;
    break;
  case DTG_ATTR_FLOAT:
    if (!dtg_value_is_number(value))
      break;
    *out = dtg_attr_float(name, dtg_value_number(value));
    return true;
  case DTG_ATTR_BOOL:
    *out = dtg_attr_bool(name, value->b);
    if (value->kind == DTG_VALUE_BOOL)
      return true;
    break;
  case DTG_ATTR_STRING:
    *out = dtg_attr_string(name, value->s);
    if (value->kind == DTG_VALUE_STRING)
      return true;
    break;
  case DTG_ATTR_DTYPE:
    *out = dtg_attr_dtype(name, value->dtype);
    if (value->kind == DTG_VALUE_DTYPE)
      return true;
    break;
  case DTG_ATTR_INTS: {
    if (!dtg_argument_ints(b, name, &given, ints, &count))
      return false;
    int64_t *copy = DTG_NEW_ARRAY(&b->ctx->arena, int64_t, count);
    memcpy(copy, ints, count * sizeof *copy);
    *out = dtg_attr_ints(name, count, copy);
    return true;
  }
  default:
    break;
  }
  dtg_build_error(b, argument->span, "the attribute `%s` does not take %s", name,
                  dtg_value_kind_text(value));
  return false;
}

// Attribute by name, or the next one that has none yet.
static bool find_schema(const struct dtg_op_def *op, const char *name, uint32_t position,
                        struct dtg_attr_schema *out) {
  const char *cursor = op->attributes ? op->attributes : "";
  for (uint32_t i = 0; dtg_attr_schema_next(&cursor, out); i++) {
    bool same =
        name && strlen(name) == out->name_length && memcmp(name, out->name, out->name_length) == 0;
    if (same || (!name && i == position))
      return true;
  }
  return false;
}

// Axes count from the end where they are negative.
static bool normalise_axes(struct dtg_build *b, struct dtg_attr *attr, uint32_t operand,
                           struct dtg_span span) {
  uint32_t rank = dtg_build_type(b, operand)->shape.rank;
  if (attr->kind == DTG_ATTR_INT && strcmp(attr->name, "axis") == 0)
    return dtg_argument_axis(b, attr->value.i, rank, span, &attr->value.i);
  if (attr->kind != DTG_ATTR_INTS || strcmp(attr->name, "axes") != 0)
    return true;
  int64_t *axes = DTG_NEW_ARRAY(&b->ctx->arena, int64_t, attr->value.ints.count);
  for (uint32_t i = 0; i < attr->value.ints.count; i++) {
    if (!dtg_argument_axis(b, attr->value.ints.values[i], rank, span, &axes[i]))
      return false;
  }
  attr->value.ints.values = axes;
  return true;
}

static struct dtg_value call_static(struct dtg_build *b, const char *name,
                                    const struct dtg_build_call *call) {
  struct dtg_value values[4], out = dtg_value_error();
  if (call->count > 4)
    return out;
  for (size_t i = 0; i < call->count; i++) {
    if (call->arguments[i].name)
      return out;
    values[i] = call->arguments[i].value;
  }
  dtg_value_call(b->ctx, name, values, call->count, call->span, &out);
  return out;
}

struct dtg_value dtg_build_call_op(struct dtg_build *b, const struct dtg_op_def *op,
                                   const struct dtg_build_call *call) {
  enum { MOST = 8 };
  struct dtg_value operands[MOST];
  struct dtg_attr attrs[MOST];
  uint32_t operand_count = 0, attr_count = 0, nodes[MOST];
  size_t errors = b->ctx->diags.errors;
  struct dtg_value folded = call_static(b, op->name, call);
  if (folded.kind != DTG_VALUE_ERROR || b->ctx->diags.errors > errors)
    return folded;
  for (size_t i = 0; i < call->count; i++) {
    const struct dtg_build_argument *argument = &call->arguments[i];
    if (!argument->name && operand_count < op->max_inputs && operand_count < MOST) {
      operands[operand_count++] = argument->value;
      continue;
    }
    struct dtg_attr_schema schema;
    if (attr_count == MOST || !find_schema(op, argument->name, attr_count, &schema))
      return dtg_build_fail(b, argument->span, "`%s` does not take this argument", op->name);
    if (!attr_value(b, &schema, argument, &attrs[attr_count++]))
      return dtg_value_error();
  }
  if (operand_count < op->min_inputs)
    return dtg_build_fail(b, call->span, "`%s` takes %s%" PRIu32 " operand%s, not %" PRIu32,
                          op->name, op->min_inputs == op->max_inputs ? "" : "at least ",
                          op->min_inputs, op->min_inputs == 1 ? "" : "s", operand_count);
  if (op->class == DTG_CLASS_ELEMENTWISE)
    return dtg_build_elementwise(b, op, operands, operand_count, attrs, attr_count, call->span);
  for (uint32_t i = 0; i < operand_count; i++) {
    if (!dtg_build_as_tensor(b, &operands[i], "an operand", call->span, &nodes[i]))
      return dtg_value_error();
  }
  for (uint32_t i = 0; i < attr_count && operand_count > 0; i++) {
    if (!normalise_axes(b, &attrs[i], nodes[0], call->span))
      return dtg_value_error();
  }
  return dtg_build_add(b, op->name, nodes, operand_count, attrs, attr_count, call->span);
}

// ---- functions by name ----

static const struct {
  const char *name;
  dtg_function *function;
} table[] = {
#define DTG_FUNCTION(name) {#name, dtg_function_##name},
#include "compiler/sema/builtins.def"
#undef DTG_FUNCTION
};

struct dtg_value dtg_build_call_builtin(struct dtg_build *b, const char *name,
                                        const struct dtg_build_call *call) {
  size_t errors = b->ctx->diags.errors;
  struct dtg_value folded = call_static(b, name, call);
  if (folded.kind != DTG_VALUE_ERROR || b->ctx->diags.errors > errors)
    return folded;
  size_t i = 0;
  while (strcmp(table[i].name, name) != 0)
    i++;
  return table[i].function(b, name, call);
}
