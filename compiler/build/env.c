#include "compiler/build/internal.h"

struct dtg_build_env *dtg_env_new(struct dtg_build *b, struct dtg_scope_file *file,
                                  enum dtg_ast_item_kind item) {
  struct dtg_build_env *env = DTG_NEW(&b->ctx->arena, struct dtg_build_env);
  env->file = file;
  env->item = item;
  env->frame = b->frame;
  return env;
}

struct dtg_binding *dtg_env_find(struct dtg_build_env *env, const char *name) {
  for (size_t i = env->bindings.len; i > 0; i--) {
    if (env->bindings.data[i - 1].name == name)
      return &env->bindings.data[i - 1];
  }
  return NULL;
}

void dtg_env_bind(struct dtg_build *b, struct dtg_build_env *env, const char *name,
                  struct dtg_value value) {
  struct dtg_binding binding = {name, value};
  dtg_vec_push(&b->ctx->arena, &env->bindings, binding);
}

struct dtg_build_env *dtg_env_snapshot(struct dtg_build *b, const struct dtg_build_env *env) {
  struct dtg_build_env *copy = DTG_NEW(&b->ctx->arena, struct dtg_build_env);
  *copy = *env;
  copy->bindings.data = NULL;
  copy->bindings.len = copy->bindings.cap = 0;
  for (size_t i = 0; i < env->bindings.len; i++)
    dtg_vec_push(&b->ctx->arena, &copy->bindings, env->bindings.data[i]);
  return copy;
}
