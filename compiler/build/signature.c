// Values against written types, and dims that bind on use.
#include "compiler/build/internal.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>

bool dtg_build_is_tensor_type(const struct dtg_ast_type *type) {
  enum dtg_dtype dtype;
  // `bool` alone is the attribute type, `bool[]` a tensor.
  return type->name.text && dtg_dtype_from_name(type->name.text, strlen(type->name.text), &dtype) &&
         (dtype != DTG_BOOL || type->has_shape);
}

// The type as it stands in the source.
static const char *written(struct dtg_build *b, const struct dtg_ast_type *type) {
  const struct dtg_source *source = dtg_source_get(&b->ctx->sources, type->span.file);
  char *text = dtg_arena_strndup(&b->ctx->arena, source->text + type->span.begin,
                                 type->span.end - type->span.begin);
  for (char *c = text; *c; c++)
    *c = *c == '\n' || *c == '\t' ? ' ' : *c;
  return text;
}

// ---- attributes ----

static bool attribute_fits(const char *type, struct dtg_value *value) {
  bool run_time = value->kind == DTG_VALUE_TENSOR && value->weak;
  if (strcmp(type, "int") == 0)
    return value->kind == DTG_VALUE_INT;
  if (strcmp(type, "float") == 0)
    return dtg_value_is_number(value) || run_time;
  if (strcmp(type, "bool") == 0)
    return value->kind == DTG_VALUE_BOOL;
  if (strcmp(type, "str") == 0)
    return value->kind == DTG_VALUE_STRING;
  if (strcmp(type, "list") == 0)
    return value->kind == DTG_VALUE_LIST;
  return value->kind == DTG_VALUE_FUNCTION || value->kind == DTG_VALUE_INSTANCE;
}

static bool check_attribute(struct dtg_build *b, const struct dtg_ast_type *type,
                            struct dtg_value *value, const char *what, struct dtg_span span) {
  struct dtg_strbuf text = {0};
  if (attribute_fits(type->name.text, value))
    return true;
  if (dtg_value_is_number(value))
    dtg_value_print(value, &text);
  else
    dtg_strbuf_puts(&text, dtg_value_kind_text(value));
  struct dtg_diag *diag = dtg_build_error(b, span, "%s must be of type %s, not %s", what,
                                          type->name.text, dtg_strbuf_text(&text));
  dtg_strbuf_free(&text);
  dtg_diag_note(diag, type->span, "the type is written here");
  return false;
}

// ---- tensors ----

// Index of `...`, or -1.
static int ellipsis_at(const struct dtg_ast_type *type) {
  for (size_t i = 0; i < type->dims.len; i++) {
    if (type->dims.data[i].is_ellipsis)
      return (int)i;
  }
  return -1;
}

// "[32, 10]".
static const char *leading_text(struct dtg_build *b, const struct dtg_shape *leading) {
  struct dtg_strbuf text = {0};
  for (uint32_t i = 0; i < leading->rank; i++)
    dtg_strbuf_printf(&text, "%s%" PRId64, i > 0 ? ", " : "", leading->dims[i]);
  const char *copy = dtg_arena_printf(&b->ctx->arena, "[%s]", dtg_strbuf_text(&text));
  dtg_strbuf_free(&text);
  return copy;
}

static bool mismatch(struct dtg_build *b, const struct dtg_build_env *env,
                     const struct dtg_ast_type *type, const struct dtg_value *value,
                     const char *what, struct dtg_span span) {
  struct dtg_diag *diag = dtg_build_error(b, span, "%s must be %s, but it is %s", what,
                                          written(b, type), dtg_build_node_text(b, value->node));
  if (env->has_leading && ellipsis_at(type) >= 0)
    dtg_diag_note(diag, type->span, "the type is written here; `...` stands for %s",
                  leading_text(b, &env->leading));
  else
    dtg_diag_note(diag, type->span, "the type is written here");
  dtg_build_note(b, diag, value->node);
  return false;
}

static bool bind_leading(struct dtg_build_env *env, const struct dtg_shape *leading) {
  if (env->has_leading)
    return dtg_shape_equal(&env->leading, leading);
  env->has_leading = true;
  env->leading = *leading;
  return true;
}

// Visits every written dim but `...` with the size that it stands for.
struct dim_pair {
  const struct dtg_ast_dim *written;
  int64_t size;
};

static bool pair_dims(struct dtg_build_env *env, const struct dtg_ast_type *type,
                      const struct dtg_shape *shape, struct dim_pair pairs[DTG_MAX_RANK],
                      uint32_t *count) {
  int dots = ellipsis_at(type);
  uint32_t fixed = (uint32_t)type->dims.len - (dots >= 0);
  if (shape->rank < fixed || (dots < 0 && shape->rank != fixed))
    return false;
  uint32_t extra = shape->rank - fixed;
  if (dots >= 0) {
    struct dtg_shape leading = dtg_shape_make(extra, shape->dims + dots);
    if (!bind_leading(env, &leading))
      return false;
  }
  *count = 0;
  for (uint32_t i = 0; i < type->dims.len; i++) {
    if ((int)i == dots)
      continue;
    uint32_t at = dots >= 0 && (int)i > dots ? i - 1 + extra : i;
    pairs[(*count)++] = (struct dim_pair){&type->dims.data[i], shape->dims[at]};
  }
  return true;
}

static bool is_free_dim(struct dtg_build_env *env, const struct dtg_ast_dim *dim) {
  return dim->size->kind == DTG_EXPR_NAME && isupper((unsigned char)dim->size->name[0]) &&
         !dtg_env_find(env, dim->size->name) && !dtg_scope_lookup(env->file, dim->size->name);
}

static bool check_tensor(struct dtg_build *b, struct dtg_build_env *env,
                         const struct dtg_ast_type *type, struct dtg_value *value, const char *what,
                         struct dtg_span span) {
  enum dtg_dtype dtype = DTG_F32;
  struct dim_pair pairs[DTG_MAX_RANK];
  uint32_t count = 0;
  dtg_dtype_from_name(type->name.text, strlen(type->name.text), &dtype);
  if (dtg_value_is_number(value) && dtg_dtype_is_float(dtype))
    *value = dtg_build_tensor(
        dtg_add_const(b->graph, dtg_value_number(value), dtype, &(struct dtg_shape){0}), false);
  if (value->kind != DTG_VALUE_TENSOR || value->weak) {
    struct dtg_diag *diag = dtg_build_error(b, span, "%s must be %s, but it is %s", what,
                                            written(b, type), dtg_value_kind_text(value));
    dtg_diag_note(diag, type->span, "the type is written here");
    return false;
  }
  const struct dtg_type *have = dtg_build_type(b, value->node);
  if (have->dtype != dtype || !pair_dims(env, type, &have->shape, pairs, &count))
    return mismatch(b, env, type, value, what, span);
  for (uint32_t i = 0; i < count; i++) {
    if (is_free_dim(env, pairs[i].written))
      dtg_env_bind(b, env, pairs[i].written->size->name, dtg_value_int(pairs[i].size));
  }
  return true;
}

bool dtg_build_check_type(struct dtg_build *b, struct dtg_build_env *env,
                          const struct dtg_ast_type *type, struct dtg_value *value,
                          const char *what, struct dtg_span span) {
  return dtg_build_is_tensor_type(type) ? check_tensor(b, env, type, value, what, span)
                                        : check_attribute(b, type, value, what, span);
}

// The dims that are expressions, once all names are bound.
bool dtg_build_check_dims(struct dtg_build *b, struct dtg_build_env *env,
                          const struct dtg_ast_type *type, const struct dtg_value *value,
                          const char *what, struct dtg_span span) {
  struct dim_pair pairs[DTG_MAX_RANK];
  uint32_t count = 0;
  if (!dtg_build_is_tensor_type(type))
    return true;
  const struct dtg_type have = *dtg_build_type(b, value->node);
  pair_dims(env, type, &have.shape, pairs, &count);
  for (uint32_t i = 0; i < count; i++) {
    int64_t size;
    if (!dtg_build_int(b, env, pairs[i].written->size, "a dim", &size))
      return false;
    if (size == pairs[i].size)
      continue;
    struct dtg_diag *diag =
        dtg_build_error(b, span, "%s must be %s, but it is %s: %" PRId64 " is not %" PRId64, what,
                        written(b, type), dtg_build_node_text(b, value->node), pairs[i].size, size);
    dtg_diag_note(diag, pairs[i].written->span, "this dim is %" PRId64 " here", size);
    dtg_build_note(b, diag, value->node);
    return false;
  }
  return true;
}

// ---- declarations ----

static bool too_large(struct dtg_build *b, const struct dtg_ast_type *type) {
  dtg_build_error(b, type->span, "this tensor has more bytes than 64 bits can count");
  return false;
}

bool dtg_build_declared_type(struct dtg_build *b, struct dtg_build_env *env,
                             const struct dtg_ast_type *type, struct dtg_type *out) {
  struct dtg_type result = {0};
  if (!dtg_build_is_tensor_type(type)) {
    dtg_build_error(b, type->span, "`%s` is not the type of a tensor", written(b, type));
    return false;
  }
  dtg_dtype_from_name(type->name.text, strlen(type->name.text), &result.dtype);
  if (type->dims.len > DTG_MAX_RANK) {
    dtg_build_error(b, type->span, "a tensor has at most %d dims", DTG_MAX_RANK);
    return false;
  }
  for (size_t i = 0; i < type->dims.len; i++) {
    int64_t size;
    if (!dtg_build_int(b, env, type->dims.data[i].size, "a dim", &size))
      return false;
    if (size < 1) {
      dtg_build_error(b, type->dims.data[i].span, "a dim must be at least 1, not %" PRId64, size);
      return false;
    }
    result.shape.dims[result.shape.rank++] = size;
  }
  int64_t count, bytes;
  if (!dtg_shape_count_checked(&result.shape, &count) ||
      __builtin_mul_overflow(count, (int64_t)dtg_dtype_size(result.dtype), &bytes))
    return too_large(b, type);
  *out = result;
  return true;
}
