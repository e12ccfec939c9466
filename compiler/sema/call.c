// Calls with static arguments in `data` and `train`.
#include "compiler/base/bug.h"
#include "compiler/sema/internal.h"

#include <inttypes.h>

static const char *wanted_text(enum dtg_value_kind kind) {
  struct dtg_value value = {.kind = kind};
  return kind == DTG_VALUE_FLOAT ? "a number" : dtg_value_kind_text(&value);
}

static bool convert(struct dtg_value *value, enum dtg_value_kind kind) {
  if (kind == DTG_VALUE_FLOAT && value->kind == DTG_VALUE_INT)
    *value = dtg_value_float((double)value->i);
  return value->kind == kind;
}

bool dtg_sema_expect(struct dtg_sema *sema, struct dtg_scope_file *file,
                     const struct dtg_ast_expr *expr, enum dtg_value_kind kind, const char *what,
                     struct dtg_value *out) {
  struct dtg_value value = dtg_sema_eval(sema, file, expr);
  if (value.kind == DTG_VALUE_ERROR)
    return false;
  if (!convert(&value, kind)) {
    dtg_error(&sema->ctx->diags, expr->span, "%s must be %s, not %s", what, wanted_text(kind),
              dtg_value_kind_text(&value));
    return false;
  }
  *out = value;
  return true;
}

bool dtg_sema_expect_count(struct dtg_sema *sema, struct dtg_scope_file *file,
                           const struct dtg_ast_expr *expr, const char *what, int64_t lowest,
                           int64_t *out) {
  struct dtg_value value;
  if (!dtg_sema_expect(sema, file, expr, DTG_VALUE_INT, what, &value))
    return false;
  if (value.i < lowest) {
    dtg_error(&sema->ctx->diags, expr->span, "%s must be at least %" PRId64 ", not %" PRId64, what,
              lowest, value.i);
    return false;
  }
  *out = value.i;
  return true;
}

static size_t parameter_named(const struct dtg_sema_parameter *parameters, size_t count,
                              const char *name) {
  size_t i = 0;
  while (i < count && __builtin_strcmp(parameters[i].name, name) != 0)
    i++;
  return i;
}

// The parameter that an argument is for, or `count` after an error.
static size_t parameter_for(struct dtg_sema *sema, const struct dtg_ast_argument *argument,
                            size_t position, const char *name,
                            const struct dtg_sema_parameter *parameters, size_t count) {
  if (!argument->name.text) {
    if (position >= count)
      dtg_error(&sema->ctx->diags, argument->span, "`%s` takes at most %zu argument%s", name, count,
                count == 1 ? "" : "s");
    return position < count ? position : count;
  }
  size_t index = parameter_named(parameters, count, argument->name.text);
  if (index == count) {
    const char *names[DTG_SEMA_MAX_PARAMETERS];
    for (size_t i = 0; i < count; i++)
      names[i] = parameters[i].name;
    const char *what = dtg_arena_printf(&sema->ctx->arena, "argument of `%s`:", name);
    dtg_sema_unknown(sema, argument->name.span, what, argument->name.text, names, count);
  }
  return index;
}

static bool take_argument(struct dtg_sema *sema, struct dtg_scope_file *file,
                          const struct dtg_ast_argument *argument,
                          const struct dtg_sema_parameter *parameter, const char *name,
                          struct dtg_sema_argument *out) {
  if (out->given) {
    dtg_error(&sema->ctx->diags, argument->span, "`%s` is given twice", parameter->name);
    return false;
  }
  out->given = true;
  out->expr = argument->value;
  if (parameter->kind == DTG_VALUE_ERROR)
    return true;
  const char *what = dtg_arena_printf(&sema->ctx->arena, "`%s` of `%s`", parameter->name, name);
  return dtg_sema_expect(sema, file, argument->value, parameter->kind, what, &out->value);
}

bool dtg_sema_arguments(struct dtg_sema *sema, struct dtg_scope_file *file,
                        const struct dtg_ast_expr *call, const char *name,
                        const struct dtg_sema_parameter *parameters, size_t count,
                        struct dtg_sema_argument *out) {
  bool good = true;
  DTG_ASSERT(count <= DTG_SEMA_MAX_PARAMETERS);
  for (size_t i = 0; i < count; i++)
    out[i] = (struct dtg_sema_argument){0};
  for (size_t i = 0; i < call->call.arguments.len; i++) {
    const struct dtg_ast_argument *argument = &call->call.arguments.data[i];
    size_t index = parameter_for(sema, argument, i, name, parameters, count);
    good &=
        index < count && take_argument(sema, file, argument, &parameters[index], name, &out[index]);
  }
  for (size_t i = 0; good && i < count; i++) {
    if (parameters[i].required && !out[i].given) {
      dtg_error(&sema->ctx->diags, call->span, "`%s` needs `%s`", name, parameters[i].name);
      good = false;
    }
  }
  return good;
}
